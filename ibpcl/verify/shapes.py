"""Mistakes that a rearrangement or a sum undoes: transposed, swapped, summed or not, averaged, shifted."""

from itertools import combinations, pairwise, permutations

import numpy as np

from ibpcl.verify.evidence import close
from ibpcl.verify.words import axis_words

MOST_AXES = 5


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
        for word, reduce in (("summed", np.sum), ("averaged", np.mean)):
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
    if got.size == int(np.prod(shape)) and equals(evidence, j, lambda true: true):
        return "wrong_shape", f"right numbers in the wrong shape: {base}"
    if got.ndim <= MOST_AXES and len(shape) <= MOST_AXES:
        for axes in permutations(range(len(shape))):
            if tuple(shape[a] for a in axes) == got.shape and equals(
                    evidence, j, lambda true, axes=axes: np.transpose(true, axes)):
                return "transposed", f"transposed: {base}"
        for axes in axis_sets(got.ndim):
            kept = tuple(n for axis, n in enumerate(got.shape) if axis not in axes)
            if int(np.prod(kept)) == int(np.prod(shape)) < got.size and evidence.explains(
                    j, evidence.each(lambda t, axes=axes: evidence.got(j, t).sum(axis=axes).reshape(shape))):
                return "not_summed", f"not summed over {axis_words(axes)}: this input was broadcast ({base})"
        for axes in axis_sets(len(shape)):
            for word, reduce in (("summed", np.sum), ("averaged", np.mean)):
                if equals(evidence, j, lambda true, axes=axes, reduce=reduce: reduce(true, axis=axes)):
                    return "summed", f"{word} over {axis_words(axes)}, where nothing must be: {base}"
        found = of_one_output(evidence, j, got.shape)
        if found is not None:
            return found[0], f"{found[1]}: {base}"
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
    return permuted(evidence, j)


def permuted(evidence, j):
    """Find an order along one axis in which the gradient is right, or blocks exchanged: (kind, words) or None."""
    shape = evidence.problem.shape(j)
    value, allowed = evidence.expected(j, 0)
    if np.any(np.isnan(value)):
        return None
    for axis in range(len(shape)):
        rows, true, room = (np.moveaxis(part, axis, 0).reshape(shape[axis], -1)
                            for part in (evidence.got(j, 0), value, allowed))
        fits = [[n for n in range(shape[axis]) if close(row, true[n], room[n])] for row in rows]
        order = [found[0] if len(found) == 1 else -1 for found in fits]
        if sorted(order) == list(range(shape[axis])) and order != sorted(order) and equals(
                evidence, j, lambda true, axis=axis, order=order: np.take(true, order, axis)):
            moved = ", ".join(f"at {n} stands what belongs to {m}" for n, m in enumerate(order) if n != m)
            return "shifted", f"right numbers in another order along axis {axis} (permuted; blocks, gates?): {moved}"
        if all(close(np.sort(evidence.got(j, t), axis), np.sort(evidence.expected(j, t)[0], axis),
                     evidence.expected(j, t)[1]) for t in range(len(evidence.trials))):
            return "shifted", f"right numbers in another order along axis {axis} (permuted, as by a sort that was " \
                "not undone)"
    return None


def by_cotangent(evidence, j):
    """Find what was done to the cotangent of one output or two that explains the gradient: (kind, words) or None."""
    outputs = evidence.problem.call()[0]
    edges = np.cumsum([0] + [out.size for out in outputs])
    spans = [slice(*edge) for edge in pairwise(edges)]

    def explained(change):
        def changed(w):
            w = w.copy()
            change(w)
            return w
        return all(close(evidence.got(j, t), *evidence.expected(j, t, changed(evidence.w[row])))
                   for t, (_, row) in enumerate(evidence.trials))

    for o, out in enumerate(outputs):
        name = f"dout[{o}]" if len(outputs) > 1 else "dout"
        done = [(kind, f"{name} is {words}", change) for kind, words, change in ways(out.shape)]
        if len(outputs) > 1:
            done += [("missing_term", f"one term missing: what flows back from output {o} is ignored ({name})",
                      lambda part: 0 * part),
                     ("sign", f"what flows back from output {o} has the wrong sign", lambda part: -part)]
        for kind, words, change in done:
            def apply(w, o=o, shape=out.shape, change=change):
                w[spans[o]] = change(w[spans[o]].reshape(shape)).ravel()
            if explained(apply):
                return kind, words
    for a, b in combinations(range(len(outputs)), 2):
        def exchange(w, a=a, b=b):
            w[spans[a]], w[spans[b]] = w[spans[b]].copy(), w[spans[a]].copy()
        if outputs[a].shape == outputs[b].shape and explained(exchange):
            return "swapped", f"dout[{a}] and dout[{b}] are exchanged (swapped)"
    return None


def of_one_output(evidence, j, shape=None):
    """Find an output and axes over which its contributions to input ``j`` were summed: (kind, words) or None."""
    shape = evidence.problem.shape(j) if shape is None else shape
    trials = [t for t in range(len(evidence.trials)) if not np.any(np.isnan(evidence.expected(j, t)[0]))]
    for o, parts in enumerate(zip(*(_contributions(evidence, j, t) for t in trials), strict=True)):
        for axes in axis_sets(min(parts[0].ndim, MOST_AXES)):
            for word, reduce in (("summed", np.sum), ("averaged", np.mean)):
                reduced = [reduce(part, axis=axes) for part in parts]
                if reduced[0].size == int(np.prod(shape)) and all(
                        close(evidence.got(j, t).ravel(), part.ravel(), np.full(part.size, np.nanmax(
                            evidence.expected(j, t)[1]))) for t, part in zip(trials, reduced, strict=True)):
                    return "summed", f"{word} over {axis_words(axes)} of output {o}, which is the wrong one"
    return None


def _contributions(evidence, j, t):
    """Return, shaped like each output, what its entries contribute to the gradient of input ``j``."""
    p, row = evidence.trials[t]
    total = (evidence.w[row][:, None] * evidence.truth(j, p).jacobian).sum(axis=1)
    outputs = evidence.problem.call()[0]
    edges = np.cumsum([out.size for out in outputs])[:-1]
    return [part.reshape(out.shape) for part, out in zip(np.split(total, edges), outputs, strict=True)]
