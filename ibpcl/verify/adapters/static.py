"""Classes with static ``forward(ctx, x)`` and ``backward(ctx, dout)``, as in PyTorch."""

import inspect

from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.function import pair_of
from ibpcl.verify.adapters.pair import Adapted
from ibpcl.verify.adapters.signatures import parameters_of

NAMES = {"ctx", "context", "self"}


class Context:
    """The first argument of a static forward and backward; it stores values for the backward."""

    def __init__(self):
        self.saved_values = ()

    def save_for_backward(self, *values):
        """Store values for the backward.

        Parameters
        ----------
        *values : object
            The values.
        """
        self.saved_values = values

    @property
    def saved_tensors(self):
        """The stored values as a tuple."""
        return self.saved_values


def is_function(kind):
    """Return whether a class has a static forward and backward with a context as first argument.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    bool
        True if both are static or class methods whose first parameter is a usual name of a context.
    """
    for name in ("forward", "backward"):
        method = inspect.getattr_static(kind, name, None)
        if not isinstance(method, (staticmethod, classmethod)):
            return False
        every = parameters_of(getattr(kind, name)).every
        if not every or words.plain(every[0]) not in NAMES:
            return False
    return True


def recognise(code):
    """Return the pair of a class with a static forward and backward.

    Parameters
    ----------
    code : Code
        The user's code.

    Returns
    -------
    Pair or None
        None for other forms.

    Raises
    ------
    FormError
        If the forward raises, or the backward cannot be called.
    """
    kind = code.forward
    if not inspect.isclass(kind) or not is_function(kind):
        return None
    given, _ = code.named(parameters_of(kind.forward, skip=1))
    forward, forward_kind = _function(kind, "forward")
    backward, backward_kind = _function(kind, "backward")

    def with_context(source, *values):
        context = Context()
        return source(*forward_kind, context, *values), context

    f = Adapted(forward, with_context)
    g = Adapted(backward, lambda source, dout, cache: source(*backward_kind, cache, dout))
    g.__signature__ = inspect.signature(lambda dout, cache: None)
    f.__name__, g.__name__ = f"{kind.__name__}.forward", f"{kind.__name__}.backward"
    return pair_of(f, g, given)


def _function(kind, name):
    """Return the function of a static or class method, and the class if the function takes it."""
    method = inspect.getattr_static(kind, name)
    return method.__func__, (kind,) if isinstance(method, classmethod) else ()
