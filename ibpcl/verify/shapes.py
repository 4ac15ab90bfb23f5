"""Mistakes that a rearrangement or a sum undoes: transposed, swapped, summed or not, averaged, shifted."""

from itertools import combinations, permutations

import numpy as np

from ibpcl.verify.evidence import close
from ibpcl.verify.words import axis_words

MOST_AXES = 5
REDUCTIONS = (("summed", np.sum), ("averaged", np.mean))


def axis_sets(ndim):
    """Yield every non-empty set of axes, small sets first."""
    for count in range(1, ndim + 1):
        yield from combinations(range(ndim), count)


def ways(shape, border=None):
    """Yield (kind, words, change): what may have been done to an array by mistake that leaves its shape as it is.

    ``border`` is what a shift brings in; by default what it has moved out at the other end.
    """
    def shifted(array, axis, step):
        moved = np.roll(array, step, axis)
        if border is not None:
            np.moveaxis(moved, axis, 0)[0 if step > 0 else -1] = border
        return moved

    ndim = len(shape)
    if ndim > MOST_AXES or int(np.prod(shape)) < 2:
        return
    for axes in permutations(range(ndim)):
        if axes != tuple(range(ndim)) and tuple(shape[a] for a in axes) == shape:
            yield "transposed", "transposed", lambda array, axes=axes: np.transpose(array, axes)
    for axis in range(ndim):
        yield "shifted", f"in reversed order along axis {axis} (flipped)", lambda array, axis=axis: np.flip(array, axis)
        for step in (1, -1) if shape[axis] > 2 else ():
            yield "shifted", f"shifted by one along axis {axis}: entry i holds what belongs to entry i {-step:+d}", \
                lambda array, axis=axis, step=step: shifted(array, axis, step)
    for axes in axis_sets(ndim):
        for word, reduce in REDUCTIONS:
            if all(shape[a] > 1 for a in axes):
                yield "summed", f"{word} over {axis_words(axes)}, where nothing must be", \
                    lambda array, axes=axes, reduce=reduce: np.broadcast_to(reduce(array, axes, keepdims=True), shape)


def wrong_shape(evidence, j):
    """Name the mistake in a gradient whose shape is not its input's: returns (kind, words)."""
    shape, got = evidence.problem.shape(j), evidence.got(j, 0)
    if got is None or got.dtype.kind not in "fiub":
        return "wrong_shape", f"the gradient is {'None' if got is None else got.dtype}, not an array of numbers"
    other = swapped(evidence, j)
    if other is not None:
        return "swapped", f"this is the gradient of another input, {evidence.problem.names[other]}"
    base = f"shape {got.shape}, but the input has shape {shape}"
    if max(got.ndim, len(shape)) <= MOST_AXES:
        tries = [("wrong_shape", "right numbers in the wrong shape", np.asarray)]
        tries += [("transposed", "transposed", lambda true, axes=axes: np.transpose(true, axes))
                  for axes in permutations(range(len(shape))) if tuple(shape[a] for a in axes) == got.shape]
        tries += [("summed", f"{word} over {axis_words(axes)}, where nothing must be",
                   lambda true, axes=axes, reduce=reduce: reduce(true, axis=axes))
                  for axes in axis_sets(len(shape)) for word, reduce in REDUCTIONS]
        for kind, words, change in tries:
            if equals(evidence, j, change):
                return kind, f"{words}: {base}"
        for axes in axis_sets(got.ndim):
            kept = tuple(n for axis, n in enumerate(got.shape) if axis not in axes)
            if int(np.prod(kept)) == int(np.prod(shape)) < got.size and evidence.explains(
                    j, evidence.each(lambda t, axes=axes: evidence.got(j, t).sum(axis=axes).reshape(shape))):
                return "not_summed", f"not summed over {axis_words(axes)}: this input was broadcast ({base})"
    if got.ndim > len(shape) and got.shape[got.ndim - len(shape):] == shape:
        return "wrong_shape", f"wrong shape: {base}; an axis is not summed, and the numbers are wrong too"
    return "wrong_shape", f"wrong shape: {base}"


def equals(evidence, j, change):
    """Return whether a change of the true gradient gives the one under test, in every trial."""
    for t in range(len(evidence.trials)):
        true, allowed = evidence.expected(j, t)
        got, value = evidence.got(j, t), np.asarray(change(true))
        if t and np.all(np.isnan(value)):               # of some entries there may be no sum
            continue
        largest = np.max(allowed[~np.isnan(allowed)], initial=0.0) * max(1, allowed.size / max(1, value.size))
        if got.size != value.size or not close(got.reshape(value.shape), value, np.full(value.shape, largest)):
            return False
    return True


def swapped(evidence, j):
    """Return the input whose gradient was returned for input ``j``, or None."""
    for other in evidence.problem.wrt:
        if other != j and evidence.problem.shape(other) == evidence.got(j, 0).shape and all(
                close(evidence.got(j, t), *evidence.expected(other, t)) for t in range(len(evidence.trials))):
            return other
    return None


def rearranged(evidence, j):
    """Find what was done to the whole gradient of input ``j``, its shape apart: (kind, words) or None."""
    for kind, words, change in ways(evidence.problem.shape(j), np.nan):
        if equals(evidence, j, change):
            return kind, words
    return None
