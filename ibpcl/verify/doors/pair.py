"""The form that the checker judges: a forward, its gradient, and the user's functions behind them.

A door turns code of another form into a :class:`Pair`.  Its two functions are :class:`Adapted`:
they call the user's function, and :class:`ibpcl.verify.diagnosis.source.Code` reads, changes and
compiles that function, not the one around it.  So a verdict names lines of the user's file.
"""

from collections.abc import Callable
from dataclasses import dataclass, field


class Adapted:
    """A function of the user's, called in the way that the checker calls.

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

    def __call__(self, *arguments):
        """Call the user's function."""
        return self.call(self.source, *arguments)

    def around(self, source):
        """Return the same adapter around another version of the user's function."""
        return Adapted(source, self.call, self.owner)


@dataclass(frozen=True)
class Pair:
    """A forward and its gradient, ready for the checker.

    Each call of ``forward`` of a class works on a new copy of the object, and that copy is the
    cache.  So one backward per forward sees the object as a training step sees it.  A second
    ``backward`` with the same cache shows what the object keeps: a gradient that is added up, a
    cache that is freed.
    """

    forward: Callable  # out, cache = forward(*inputs)
    # gradients = backward(dout, cache): a tuple, one item for each of wrt, in its order
    backward: Callable
    names: tuple  # of the inputs as the report shows them: "x", "W", 'params["w"][0]'
    source_functions: tuple = ()  # the user's functions that ``forward`` and ``backward`` call
    fresh: Callable | None = (
        None  # fresh() returns an equal Pair that shares no state; None if nothing keeps state
    )
    inputs: tuple = ()  # the values, in the order of ``names``
    # names of the inputs that ``backward`` differentiates, in the order of its gradients
    wrt: tuple = ()
    notes: tuple = field(default=())  # sentences about what was assumed, for the report
