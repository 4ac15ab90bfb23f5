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


def wrong_shape(evidence, j):
    """Name the mistake in a gradient whose shape is not its input's: returns (kind, words)."""
    shape, got = evidence.problem.shape(j), evidence.got(j, 0)
    if got is None or got.dtype.kind not in "fiub":
        return "wrong_shape", f"the gradient is {'None' if got is None else got.dtype}, not an array of numbers"
    other = swapped(evidence, j)
    if other is not None:
        return "swapped", f"this is the gradient of another input, {evidence.problem.names[other]}"
    base = f"shape {got.shape}, but the input has shape {shape}"
    if got.size == int(np.prod(shape)) and evidence.explains(
            j, evidence.each(lambda t: evidence.got(j, t).reshape(shape))):
        return "wrong_shape", f"right numbers in the wrong shape: {base}"
    if got.ndim <= MOST_AXES and len(shape) <= MOST_AXES:
        for axes in permutations(range(got.ndim)):
            if axes != tuple(range(got.ndim)) and evidence.explains(
                    j, evidence.each(lambda t, axes=axes: np.transpose(evidence.got(j, t), axes))):
                return "transposed", f"transposed: {base}"
        for axes in axis_sets(got.ndim):
            kept = tuple(n for axis, n in enumerate(got.shape) if axis not in axes)
            if int(np.prod(kept)) == int(np.prod(shape)) < got.size and evidence.explains(
                    j, evidence.each(lambda t, axes=axes: evidence.got(j, t).sum(axis=axes).reshape(shape))):
                return "not_summed", f"not summed over {axis_words(axes)}: this input was broadcast ({base})"
        for axes in axis_sets(len(shape)):
            for word, reduce in (("summed", np.sum), ("averaged", np.mean)):
                if evidence_equals(evidence, j, lambda t, axes=axes, reduce=reduce: reduce(
                        evidence.expected(j, t)[0], axis=axes)):
                    return "summed", f"{word} over {axis_words(axes)}, where nothing must be: {base}"
        found = _sum_of_contributions(evidence, j, got.shape)
        if found is not None:
            return found[0], f"{found[1]}: {base}"
    if got.ndim > len(shape) and got.shape[got.ndim - len(shape):] == shape:
        return "wrong_shape", f"wrong shape: {base}; an axis is not summed, and the numbers are wrong too"
    return "wrong_shape", f"wrong shape: {base}"


def evidence_equals(evidence, j, prediction):
    """Return whether ``prediction(t)`` is what the gradient under test is, in every trial."""
    for t in range(len(evidence.trials)):
        value, allowed = np.asarray(prediction(t)), evidence.expected(j, t)[1]
        got = evidence.got(j, t)
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
    """Find a transposition, flip or shift of the right shape that mends input ``j``: (kind, words) or None."""
    shape = evidence.problem.shape(j)
    if len(shape) > MOST_AXES or int(np.prod(shape)) < 2:
        return None
    for axes in permutations(range(len(shape))):
        if axes != tuple(range(len(shape))) and tuple(shape[a] for a in axes) == shape and evidence.explains(
                j, evidence.each(lambda t, axes=axes: np.transpose(evidence.got(j, t), axes))):
            return "transposed", "transposed"
    for axis in range(len(shape)):
        if evidence.explains(j, evidence.each(lambda t, axis=axis: np.flip(evidence.got(j, t), axis))):
            return "shifted", f"in reversed order along axis {axis}"
        for step in (1, -1):
            if shape[axis] > 2 and _shifted(evidence, j, axis, step):
                return "shifted", f"shifted by one along axis {axis}: entry i holds what belongs to entry i {-step:+d}"
    return None


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
        if sorted(order) == list(range(shape[axis])) and order != sorted(order) and evidence.explains(
                j, evidence.each(lambda t, axis=axis, order=order: np.take(
                    evidence.got(j, t), np.argsort(order), axis))):
            return "shifted", f"right numbers in another order along axis {axis} (permuted): {_order_words(order)}"
        if all(close(np.sort(evidence.got(j, t), axis), np.sort(evidence.expected(j, t)[0], axis),
                     evidence.expected(j, t)[1]) for t in range(len(evidence.trials))):
            return "shifted", f"right numbers in another order along axis {axis} (permuted, as by a sort that was " \
                "not undone)"
    if len(shape) > 1:
        for words, way in (("columns before rows", lambda g: g.T.reshape(shape)),
                           ("columns before rows", lambda g: g.ravel().reshape(shape[::-1]).T)):
            if evidence.explains(j, evidence.each(lambda t, way=way: way(evidence.got(j, t)))):
                return "transposed", f"right numbers in another order ({words}): transposed before or after a reshape"
    return None


def _order_words(order):
    """Return an order in words: of blocks if it keeps them together."""
    size = len(order)
    for blocks in range(2, size):
        width = size // blocks
        if size % blocks or width < 2:
            continue
        starts = [order[block * width:(block + 1) * width] for block in range(blocks)]
        if all(s[0] % width == 0 and s == list(range(s[0], s[0] + width)) for s in starts):
            moved = [(n, s[0] // width) for n, s in enumerate(starts) if n != s[0] // width]
            return f"{blocks} blocks (gates?) are exchanged, " + ", ".join(
                f"in place of block {n} stands block {m}" for n, m in moved)
    return ", ".join(f"at {n} stands what belongs to {m}" for n, m in enumerate(order) if n != m)


def by_cotangent(evidence, j):
    """Find a rearranged cotangent that explains the gradient: (kind, words) or None."""
    outputs = evidence.problem.call()[0]
    starts = np.cumsum([0] + [out.size for out in outputs])

    def explained(way):
        return all(close(evidence.got(j, t), *evidence.expected(j, t, way(evidence.w[row])))
                   for t, (_, row) in enumerate(evidence.trials))

    def within(o, change):
        def way(w):
            moved = w.copy()
            moved[starts[o]:starts[o + 1]] = change(w[starts[o]:starts[o + 1]].reshape(outputs[o].shape)).ravel()
            return moved
        return way

    for o, out in enumerate(outputs):
        name = f"dout[{o}]" if len(outputs) > 1 else "dout"
        if out.ndim > MOST_AXES or out.size < 2:
            continue
        for axes in permutations(range(out.ndim)):
            if axes != tuple(range(out.ndim)) and tuple(out.shape[a] for a in axes) == out.shape and explained(
                    within(o, lambda part, axes=axes: np.transpose(part, axes))):
                return "transposed", f"{name} is transposed on the way"
        for axis in range(out.ndim):
            if out.shape[axis] < 2:
                continue
            if explained(within(o, lambda part, axis=axis: np.flip(part, axis))):
                return "shifted", f"{name} is taken in reversed order along axis {axis} (flipped)"
            for step in (1, -1):
                if explained(within(o, lambda part, axis=axis, step=step: np.roll(part, step, axis))):
                    return "shifted", f"{name} is shifted by one along axis {axis} (rolled)"
            for word, reduce in (("summed", np.sum), ("averaged (mean)", np.mean)):
                if explained(within(o, lambda part, axis=axis, reduce=reduce: np.broadcast_to(
                        reduce(part, axis=axis, keepdims=True), part.shape))):
                    return "summed", f"{name} is {word} over axis {axis}, where nothing must be"
    for a, b in combinations(range(len(outputs)), 2):
        if outputs[a].shape == outputs[b].shape:
            def exchanged(w, a=a, b=b):
                moved = w.copy()
                moved[starts[a]:starts[a + 1]], moved[starts[b]:starts[b + 1]] = \
                    w[starts[b]:starts[b + 1]], w[starts[a]:starts[a + 1]]
                return moved
            if explained(exchanged):
                return "swapped", f"dout[{a}] and dout[{b}] are exchanged (swapped)"
    return None


def _shifted(evidence, j, axis, step):
    """Return whether all entries but the one at the border are those of a neighbour along ``axis``."""
    for t in range(len(evidence.trials)):
        value, allowed = (np.moveaxis(np.roll(part, step, axis), axis, 0) for part in evidence.expected(j, t))
        inner = slice(1, None) if step > 0 else slice(None, -1)
        if not close(np.moveaxis(evidence.got(j, t), axis, 0)[inner], value[inner], allowed[inner]):
            return False
    return True


def resummed(evidence, j):
    """Find sums over the wrong axes of an input that keeps its shape: (kind, words) or None."""
    shape = evidence.problem.shape(j)
    for axes in axis_sets(min(len(shape), MOST_AXES)):
        for word, reduce in (("summed", np.sum), ("averaged", np.mean)):
            def prediction(t, axes=axes, reduce=reduce):
                return np.broadcast_to(reduce(evidence.expected(j, t)[0], axis=axes, keepdims=True), shape)
            if all(shape[a] > 1 for a in axes) and evidence_equals(evidence, j, prediction):
                return "summed", f"{word} over {axis_words(axes)}, where nothing must be"
    return _sum_of_contributions(evidence, j, shape)


def _sum_of_contributions(evidence, j, shape):
    """Find an output and axes over which its contributions to input ``j`` were summed: (kind, words) or None."""
    found = None
    for o, parts in enumerate(zip(*evidence.each(lambda t: _contributions(evidence, j, t)), strict=True)):
        for axes in axis_sets(min(parts[0].ndim, MOST_AXES)):
            kept = tuple(n for axis, n in enumerate(parts[0].shape) if axis not in axes)
            for word, reduce in (("summed", np.sum), ("averaged", np.mean)):
                reduced = [reduce(part, axis=axes) for part in parts]
                if found is None and int(np.prod(kept)) == int(np.prod(shape)) and evidence_equals(
                        evidence, j, lambda t, reduced=reduced: reduced[t].reshape(shape)):
                    found = ("summed", f"{word} over {axis_words(axes)} of output {o}, which is the wrong one")
    return found


def _contributions(evidence, j, t):
    """Return, shaped like each output, what its entries contribute to the gradient of input ``j``."""
    p, row = evidence.trials[t]
    truth, w = evidence.truth(j, p), evidence.w[row]
    total = (w[:, None] * truth.jacobian).sum(axis=1)
    parts, start = [], 0
    for out in evidence.problem.call()[0]:
        parts.append(total[start:start + out.size].reshape(out.shape))
        start += out.size
    return parts


def by_output(evidence, j):
    """Explain the gradient as a sum over the outputs with wrong weights: returns the weights or None."""
    outputs = evidence.problem.call()[0]
    if len(outputs) < 2:
        return None
    edges = np.cumsum([0] + [out.size for out in outputs])
    weights = None
    for t, (_, row) in enumerate(evidence.trials):
        parts = []
        for a, b in pairwise(edges):
            w = np.zeros_like(evidence.w[row])
            w[a:b] = evidence.w[row][a:b]
            parts.append(evidence.expected(j, t, w)[0].ravel())
        value, allowed = evidence.expected(j, t)
        known = ~np.isnan(value).ravel()
        system = np.stack(parts, axis=1)[known]
        live = np.any(system != 0, axis=0)
        if weights is None:
            if live.sum() < 2 or known.sum() <= live.sum():
                return None
            weights = np.where(live, 0.0, 1.0)
            weights[live] = np.linalg.lstsq(system[:, live], evidence.got(j, t).ravel()[known], rcond=None)[0]
            weights = np.where(np.abs(weights - np.round(weights)) < 1e-6, np.round(weights), weights)
        if not close(evidence.got(j, t).ravel()[known], system @ weights, allowed.ravel()[known]):
            return None
    return weights

