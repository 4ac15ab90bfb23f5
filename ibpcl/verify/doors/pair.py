"""The form that the checker judges: a forward, its gradient, and the user's functions behind them.

An adapter turns code of another form into a :class:`Pair`.  Its two functions are
:class:`Adapted`: they call the user's function. :class:`ibpcl.verify.diagnosis.source.Code` reads,
modifies and compiles the user's function, so verdicts name lines of the user's file.
"""

from collections.abc import Callable
from dataclasses import dataclass, field


class Adapted:
    """A user's function that is called with the checker's arguments.

    Parameters
    ----------
    source : callable
        The user's function, an unbound method, or another :class:`Adapted`.
    call : callable
        ``call(source, *arguments)`` takes the checker's arguments and returns what the checker
        expects.
    owner : type, optional
        The class if ``source`` is an unbound method; other methods that it calls on ``self`` are
        looked up there.

    Examples
    --------
    >>> shifted = Adapted(abs, lambda source, x: source(x) + 1)
    >>> shifted(-2), shifted.around(float)(-2)
    (3, -1.0)
    """

    def __init__(self, source, call, owner=None):
        self.source = source
        self.call = call
        self.owner = owner
        self.__name__ = getattr(source, "__name__", "f")

    def __call__(self, *arguments, **options):
        """Call the user's function with the checker's arguments."""
        return self.call(self.source, *arguments, **options)

    def around(self, source):
        """Return the same adapter for another version of the user's function.

        Parameters
        ----------
        source : callable
            The other version.

        Returns
        -------
        Adapted
            The adapter.
        """
        return Adapted(source, self.call, self.owner)


@dataclass(frozen=True)
class Pair:
    """A forward and its gradient in the standard form.

    For a class, each call of ``forward`` works on a new copy of the object, and this copy is the
    cache.  One backward call per forward call therefore sees the object as in a training step.  A
    second backward call with the same cache shows state in the object, such as a gradient that
    accumulates or a cache that is freed.

    Attributes
    ----------
    forward : callable
        ``out, cache = forward(*inputs)``.
    backward : callable
        ``gradients = backward(dout, cache)`` returns a tuple with one gradient for each name in
        ``wrt``.
    names : tuple of str
        Names of the inputs as in the report: ``x``, ``W``, ``params["w"][0]``.
    source_functions : tuple of callable
        The user's functions that ``forward`` and ``backward`` call.
    fresh : callable or None
        ``fresh()`` returns an equal pair that shares no state.  None if the pair has no state.
    inputs : tuple
        Values of the inputs, in the order of ``names``.
    wrt : tuple of str
        Names of the inputs that ``backward`` differentiates, in the order of its gradients.
    notes : tuple of str
        Sentences about assumptions, for the report.
    """

    forward: Callable
    backward: Callable
    names: tuple
    source_functions: tuple = ()
    fresh: Callable | None = None
    inputs: tuple = ()
    wrt: tuple = ()
    notes: tuple = field(default=())
