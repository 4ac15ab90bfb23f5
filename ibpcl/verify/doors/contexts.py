"""Classes with static ``forward(ctx, x)`` and ``backward(ctx, dout)``, as in PyTorch's and
minitorch's functions.
"""

import inspect

from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.pairs import pair_of
from ibpcl.verify.doors.signatures import parameters_of

NAMES = {"ctx", "context", "self"}


class Context:
    """Context of a static function, where no framework makes one: it keeps values for the
    backward.
    """

    needs_input_grad = (True,) * 20

    def __init__(self):
        self.saved_values = ()

    def save_for_backward(self, *values):
        """Keep values for the backward."""
        self.saved_values = values

    def mark_non_differentiable(self, *values):
        """Do nothing: which outputs are differentiated is seen from the gradients."""

    @property
    def saved_tensors(self):
        """The values that were saved; a tuple, as in PyTorch."""
        return self.saved_values

    saved_variables = saved_tensors


def is_function(kind):
    """Return whether a class has a static forward and backward whose first argument is a
    context.
    """
    for name in ("forward", "backward"):
        found = inspect.getattr_static(kind, name, None)
        if not isinstance(found, (staticmethod, classmethod)):
            return False
        every = parameters_of(getattr(kind, name)).every
        if not every or words.plain(every[0]) not in NAMES:
            return False
    return True


def pair_of_function(kind, given):
    """Return the :class:`~ibpcl.verify.doors.pair.Pair` of such a class.

    ``given`` has the arguments after the context, by name.
    """

    def f(*values):
        context = Context()
        return kind.forward(context, *values), context

    def g(dout, cache):
        return kind.backward(cache, dout)

    f.__name__, g.__name__ = f"{kind.__name__}.forward", f"{kind.__name__}.backward"
    return pair_of(f, g, given)
