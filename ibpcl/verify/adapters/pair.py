"""The form that the checker judges: a forward, its gradient, and the user's functions behind them.

An adapter turns code of another form into a :class:`Pair`.  Its two functions are
:class:`Adapted`: they call the user's function. :class:`ibpcl.codeview.syntax.Code` reads,
modifies and compiles the user's function, so verdicts name lines of the user's file.
"""

from collections.abc import Callable
from dataclasses import dataclass


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
    inputs : tuple
        Values of the inputs, in the order of ``names``.
    wrt : tuple of str
        Names of the inputs that ``backward`` differentiates, in the order of its gradients.
    notes : tuple of str
        Sentences about assumptions, for the report.
    unjudged : tuple of str
        Sentences about gradients that are not judged: returned arrays that belong to no input, and
        inputs without a gradient.  A pair with such sentences is never "ok".
    assumed : str
        What this reading of the code assumes; empty if no other reading is possible.
    declare : str
        What the user writes so that only this reading remains.
    mode : str
        Of what the gradients are the gradient, a key of
        :data:`ibpcl.verify.adapters.meaning.MODES`.
    alternatives : tuple of Pair
        The same code in other readings.  The pair is right or wrong if all readings agree.
    excuses : tuple of Pair
        The same code in less likely readings.  If the pair is wrong, but right in one of these, it
        is undecided.
    special : tuple of Pair
        The same code at special inputs, such as a symmetric matrix or one example.  If the pair is
        wrong, but right there, it is undecided: the author may have meant just these.
    guessed : str
        The guessed inputs in words; empty if the user has given all of them.
    raised : BaseException or None
        What the gradient function raised when it was called first.
    """

    forward: Callable
    backward: Callable
    names: tuple
    source_functions: tuple = ()
    inputs: tuple = ()
    wrt: tuple = ()
    notes: tuple = ()
    unjudged: tuple = ()
    assumed: str = ""
    declare: str = ""
    mode: str = "vjp"
    alternatives: tuple = ()
    excuses: tuple = ()
    special: tuple = ()
    guessed: str = ""
    raised: BaseException | None = None
