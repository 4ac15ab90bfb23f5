"""Side effects of a pair, and whether they change numbers in normal use.

In normal use, a program runs one backward pass after each forward pass, again and again, and keeps
using its arrays.  A gradient function may accumulate in its own object, free or overwrite its
cache, or write into ``dout``.  Such a side effect is a note if the numbers stay right in normal
use.  It is a mistake if they do not: in the second training step, or with two forward passes before
the first backward pass.
"""

from dataclasses import replace

import numpy as np

from ibpcl.codeview.syntax import items_of
from ibpcl.verify.derivative.problem import as_tuple, copied, gradients_in_order, shaped_like
from ibpcl.verify.reports.kinds import Finding
from ibpcl.verify.restoring import restored, same_bits

# Rounding differences of sums in another order, as from threads and BLAS, relative to the largest
# number.
ROUNDING = 1e-12
DEPTH = 6  # levels of nested tuples, lists, dicts and objects in a cache
LOOPS = (
    "two forward passes before the first backward pass, as in a recurrent network or a layer "
    "used twice, give wrong gradients"
)
STEPS = "every training step after the first gets a wrong gradient"


class Uses:
    """Calls of a pair in several ways, and the side effects that they show.

    Parameters
    ----------
    problem : Problem
        The pair at the given point.
    w : ndarray, shape (M,)
        A cotangent of all outputs.

    Attributes
    ----------
    problem : Problem
        The pair, called in a way in which its numbers can be judged.
    mistakes : list of Finding
        Side effects that change numbers in normal use.
    habits : list of Finding
        Side effects that do not.
    keeps_cache : bool
        Whether several backward passes have left the arrays of a cache as they were.
    """

    def __init__(self, problem, w):
        self.problem = problem
        self.w = w
        self.mistakes = []
        self.habits = []
        self.keeps_cache = False

    def mistake(self, kind, words, inputs=()):
        """Add a side effect that changes numbers in normal use.

        Parameters
        ----------
        kind, words, inputs
            As in ``habit``.
        """
        self.mistakes.append(Finding(kind, words, inputs=inputs))

    def habit(self, kind, words, inputs=()):
        """Add a side effect that does not.

        Parameters
        ----------
        kind : str
            A key of ``KINDS``.
        words : str
            What happens, as a sentence.
        inputs : sequence of int
            Positions of the inputs whose gradients it changes.
        """
        self.habits.append(Finding(kind, words, inputs=inputs))

    def inspect_forward(self, state, fresh_state):
        """Find a forward that does not repeat its output, or whose output is not finite.

        Parameters
        ----------
        state, fresh_state : State
            What the pair keeps between calls, and the state of the random numbers.
        """
        outputs = self.problem.call()[0]
        if not _repeats(self.problem, outputs):
            self._restore_forward(restored(self.problem, state), state, fresh_state)
        finite = all(np.all(np.isfinite(array)) for array in outputs if array.dtype.kind in "fc")
        if not self.mistakes and not finite:
            self.mistake("non_finite_forward", "the forward itself is not finite at these inputs")

    def _restore_forward(self, steady, state, fresh_state):
        """Let every call of the forward start from the same state."""
        drawn = restored(self.problem, fresh_state)
        if _repeats(steady):
            names = _names(state) or "something that outlives a call"
            self.habit(
                "stale",
                f"the output of the forward depends on earlier calls ({names}); this state was "
                "restored before each call",
            )
            self.problem = steady
        elif _repeats(drawn):
            words = "the forward draws random numbers; it got the same draws in every call"
            self.habit("noisy_forward", words)
            self.problem = drawn
        else:
            words = "the forward draws random numbers: two calls with equal inputs differ"
            self.mistake("noisy_forward", words)

    def overwrite(self):
        """Find the arrays that the pair overwrites in one call."""
        problem = self.problem
        point = [np.array(v) if isinstance(v, np.ndarray) else v for v in problem.point]
        outputs, several, cache = problem.forward(point)
        dout = shaped_like(self.w, outputs, several)
        before = copied(dout)
        values = copied(outputs)
        first = copied(gradients_in_order(problem.f_vjp(dout, cache), problem))
        pairs = zip(problem.names, problem.point, point, strict=True)
        moved = [name for name, a, b in pairs if not same_bits(a, b)]
        if moved:
            words = f"the pair overwrites its input {', '.join(moved)} in place"
            if self._is_same_again(point, values, first):
                self.habit("changes_input", words, problem.wrt)
            else:
                words += ": the next call with the same arrays gets other numbers"
                self.mistake("changes_input", words, problem.wrt)
        if not all(map(same_bits, as_tuple(before), as_tuple(dout))):
            words = "the gradient function overwrites its argument dout in place"
            self.habit("changes_cotangent", words, problem.wrt)
        if not moved and not all(map(same_bits, values, outputs)):
            words = "the gradient function overwrites the output of the forward in place"
            self.habit("changes_cache", words, problem.wrt)

    def _is_same_again(self, point, values, first):
        """Return whether a second call with overwritten inputs gives the same numbers."""
        try:
            outputs, several, cache = self.problem.forward(point)
            again = self._called(self.problem, outputs, several, cache)
        except Exception:  # code under check may raise anything
            return False
        return all(map(alike, values, outputs)) and all(map(alike, first, again))

    def next_step(self, state):
        """Find differences between calls with a forward each, as in training.

        Parameters
        ----------
        state : State
            What the pair keeps between calls.
        """
        problem = self.problem
        # two draws may be the same by chance
        runs = [self._called(problem, *problem.call()) for _ in range(3)]
        differing = self._differing(*runs[:2]) or self._differing(*runs[1:])
        if not differing:
            return
        grows = self._grow(runs, differing)
        names = _names(state)
        steady = restored(problem, state)
        still = self._differing(*(self._called(steady, *steady.call()) for _ in range(2)))
        if still and not grows:
            words = (
                "the gradient function draws random numbers: two calls with equal arguments differ "
                "(a mask drawn again?)"
            )
            self.mistake("noisy_gradient", words, differing)
            return
        kind, words = (
            (
                "accumulates",
                "the gradient grows from call to call: it accumulates in a buffer that outlives "
                "the call",
            )
            if grows
            else (
                "stale",
                "the gradient depends on earlier calls: the pair keeps something between them",
            )
        )
        words += f" ({names})" if names and not still else ""
        if still or not all(holder.owned for holder in state.changed()):
            self.mistake(kind, f"{words}; {STEPS}", differing)
        else:
            self.habit(kind, words, differing)
            self.problem = steady

    def second_backward(self):
        """Find the effects of a second backward pass with the same cache."""
        problem = self.problem
        call = problem.call()
        before = _arrays(copied(call[2]))
        runs = [self._called(problem, *call)]
        after = _arrays(call[2])
        changed = [name for name, a in before.items() if not same_bits(a, after.get(name))]
        noted = {item.kind for item in (*self.habits, *self.mistakes)}
        is_noted = "changes_cache" in noted
        try:
            runs += [self._called(problem, *call) for _ in range(2)]
        except Exception as error:  # code under check may raise anything
            words = (
                "the gradient function uses up its cache: a second call with the same cache raises "
                f"{type(error).__name__}"
            )
            self.habit("changes_cache", words, problem.wrt)
            return
        differing = self._differing(*runs[:2])
        self.keeps_cache = not differing and not changed
        grows = differing and self._grow(runs, differing)
        # a cache that loses the same amount in each call grows, too, but from the right gradient
        if grows and ("accumulates" in noted or not changed or self._doubles(runs, differing)):
            words = (
                "the gradient accumulates in the cache: a second backward pass doubles it, unless "
                "a new forward pass comes first or it is set to zero"
            )
            self.habit("accumulates", words, differing)
        elif differing and changed and not is_noted:
            arrays = ", ".join(name.rpartition(".")[2] for name in changed[:4])
            words = (
                f"the gradient function overwrites its cache in place ({arrays}), "
                "so a second call with the same cache goes wrong"
            )
            self.habit("changes_cache", words, problem.wrt)
        elif differing and not is_noted:
            words = (
                "a second call with the same cache gives another result: the gradient function "
                "keeps something between its calls"
            )
            self.habit("stale", words, differing)

    def two_forwards(self, near):
        """Find the effects of a second forward, at another point, before the backward.

        Parameters
        ----------
        near : Problem or None
            The pair at another point; None skips the test.
        """
        if near is None:
            return
        problem = self.problem
        first = self._called(problem, *problem.call())
        call = problem.call()
        near.call()
        try:
            differing = self._differing(first, self._called(problem, *call))
        except Exception:  # code under check may raise anything
            differing = problem.wrt
        words = (
            "after another call of the forward the gradient changes: it uses values that the last "
            "forward left in a global, an attribute or a shared buffer (stale state)"
        )
        if differing and _plain_arrays(call[2]):
            self.mistake("stale", f"{words}, not its own cache; {LOOPS}", differing)
        elif differing:
            words += "; one backward pass after each forward pass is right"
            self.habit("stale", words, differing)
            self.problem = replace(problem, renewed=True)
        elif self.keeps_cache and not self.habits:
            self.problem = replace(problem, shared=True)

    def _called(self, problem, outputs, several, cache):
        """Return copies of the gradients for given outputs and a given cache."""
        dout = shaped_like(self.w, outputs, several)
        return copied(gradients_in_order(problem.f_vjp(dout, cache), problem))

    def _differing(self, a, b):
        """Return the positions of the inputs whose gradients differ between two calls."""
        return tuple(j for j, x, y in zip(self.problem.wrt, a, b, strict=False) if not alike(x, y))

    def _grow(self, runs, inputs):
        """Return whether gradients grow by the same amount from run to run."""
        series = ([run[self.problem.wrt.index(j)] for run in runs] for j in inputs)
        return all(
            np.allclose(
                np.asarray(third, float) - second,
                np.asarray(second, float) - first,
                rtol=1e-7,
                atol=0,
            )
            for first, second, third in series
            if np.shape(first) == np.shape(second) == np.shape(third)
        )

    def _doubles(self, runs, inputs):
        """Return whether the second run gives twice the gradients of the first."""
        places = [self.problem.wrt.index(j) for j in inputs]
        return all(
            np.allclose(runs[1][place], 2 * np.asarray(runs[0][place], float), rtol=1e-7, atol=0)
            for place in places
            if np.shape(runs[0][place]) == np.shape(runs[1][place])
        )


def inspect_uses(problem, w, near, state, fresh_state):
    """Call a pair in several ways, as programs do, and report its side effects.

    Parameters
    ----------
    problem : Problem
        The pair at the given point.
    w : ndarray, shape (M,)
        A cotangent of all outputs.
    near : Problem or None
        The pair at another point.  None skips the test with two forward passes.
    state, fresh_state : State
        The state that the pair keeps, as it was before its first call.  The second one includes the
        global random generators.

    Returns
    -------
    Uses
    """
    uses = Uses(problem, w)
    for test in (
        lambda: uses.inspect_forward(state, fresh_state),
        uses.overwrite,
        lambda: uses.next_step(state),
        uses.second_backward,
        lambda: uses.two_forwards(near),
    ):
        if not uses.mistakes:
            test()
    return uses


def alike(a, b, room=ROUNDING):
    """Return whether two arrays are equal up to rounding, relative to their largest number.

    Parameters
    ----------
    a, b : array_like
        The arrays.  NaN equals NaN, and two arrays of objects count as equal.
    room : float
        Difference that is allowed, relative to the largest number of ``a``.  For float32 and
        smaller types it is at least four times their machine epsilon.

    Returns
    -------
    bool
        False if the shapes or types differ.

    Examples
    --------
    >>> alike(np.array([1.0, 1e-14]), np.array([1.0, 0.0])), alike(np.ones(2), np.ones(2) + 1e-9)
    (True, False)
    """
    a = np.asarray(a)
    b = np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.kind == "O":
        return a.dtype.kind == b.dtype.kind == "O"
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    eps = max(room, 4 * float(np.finfo(a.dtype).eps)) if a.dtype.itemsize < 8 else room
    finite = np.abs(a[np.isfinite(a)])
    return bool(np.allclose(a, b, rtol=0, atol=eps * np.max(finite, initial=0.0), equal_nan=True))


def _repeats(problem, outputs=None):
    """Return whether a forward repeats its outputs in two more calls.

    Two calls, because draws of few numbers may agree by chance.
    """
    outputs = problem.call()[0] if outputs is None else outputs
    return all(all(map(alike, outputs, problem.call()[0])) for _ in range(2))


def _names(state):
    """Return the names of the objects that keep state between calls."""
    return ", ".join(dict.fromkeys(holder.name for holder in state.changed()))


def _plain_arrays(cache):
    """Return whether a cache holds arrays in plain containers: a backward should use them."""
    if isinstance(cache, np.ndarray):
        return cache.size > 0
    items = (
        cache.values()
        if isinstance(cache, dict)
        else cache
        if isinstance(cache, (tuple, list))
        else ()
    )
    return any(map(_plain_arrays, items))


def _arrays(value, name="cache", depth=0):
    """Return the arrays in a cache by their source texts, with those in attributes of objects."""
    if isinstance(value, np.ndarray):
        return {name: value}
    nested = depth < DEPTH and not isinstance(value, type)
    return {
        key: array
        for inner, item in (items_of(name, value, None) if nested else ())
        for key, array in _arrays(item, inner, depth + 1).items()
    }
