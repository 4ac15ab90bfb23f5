"""Judge the gradient of one input: right or wrong, how far off, and at how many entries."""

import numpy as np

from ibpcl.verify.report import InputVerdict
from ibpcl.verify.sampling import entries_to_look_at
from ibpcl.verify.shapes import place
from ibpcl.verify.witness import along_directions, kinks, measure

DIRECTIONS = 5


def judge(problem, j, w, pulled, rng, rtol, full, truths):
    """Return the verdict on one input, with kind ``"ok"`` or ``"wrong"``; the diagnosis comes later."""
    shape, name = problem.shape(j), problem.names[j]
    arrays = [None if g is None else np.asarray(g) for g in pulled]
    if any(g is None or g.dtype.kind not in "fiub" or g.shape != shape for g in arrays):
        return InputVerdict(name, "wrong_shape", "", numbers={"compared": int(np.prod(shape)),
                                                              "wrong": int(np.prod(shape))})
    if not full:
        verdict = _judge_along_directions(problem, j, w, arrays, rng, rtol)
        if verdict is not None:
            return verdict
    entries = np.arange(int(np.prod(shape))) if full else entries_to_look_at(
        shape, w.shape[1], rng, wrong=_probe(problem, j, w[0], arrays[0], rng, rtol))
    truth = truths[j] = measure(problem, j, entries, rng, rtol)
    truth, off, errors, gaps = _compare(problem, j, w, arrays, truth)
    truths[j] = truth
    numbers = {"entries": int(np.prod(shape)), "compared": int(truth.usable.sum()), "wrong": int(off.sum()),
               "kinks": int((~truth.usable).sum()), "witness": truth.method, "rtol": truth.rtol,
               "agreement": truth.agreement, "notes": truth.notes}
    error = float(np.max(errors[truth.usable], initial=0.0))
    if not np.all(np.isfinite(np.concatenate([g.ravel()[entries] for g in arrays])[np.tile(truth.usable, 2)])):
        error = float("inf")
    if not np.any(off):
        if not full:                                    # directions failed, but only because of kinks
            numbers["directional"] = "failed at kinks"
        words = "zero everywhere here, so this proves little: try other inputs" if truth.jacobian.size and not \
            np.any(truth.jacobian) else ""
        return InputVerdict(name, "ok", words, "", error, numbers)
    worst = int(np.argmax(np.where(off, np.nan_to_num(gaps[0], nan=np.inf), -1.0)))
    numbers.update(worst=place(int(truth.entries[worst]), shape), got=float(arrays[0].ravel()[truth.entries[worst]]),
                   expected=float(truth.gradient(w[0])[0][worst]))
    return InputVerdict(name, "wrong", "", "", error, numbers)


def _compare(problem, j, w, arrays, truth):
    """Lay gradient and truth side by side; an entry that fails at a kink is skipped, not blamed."""
    off, errors, gaps = np.zeros(len(truth.entries), dtype=bool), np.zeros(len(truth.entries)), []
    for row, array in zip(w, arrays, strict=False):
        value, scale, allowed = truth.gradient(row)
        gap = np.abs(array.ravel()[truth.entries].astype(float) - value)
        floor = _vanishing(problem, j, row, scale)
        off |= ~(gap <= allowed + floor)
        size = scale + floor / truth.rtol
        errors = np.maximum(errors, gap / np.where(size > 0, size, np.where(gap > 0, gap, 1.0)))
        gaps.append(gap)
    off &= truth.usable
    suspects = np.flatnonzero(off)
    if len(suspects):
        usable = truth.usable.copy()
        usable[suspects] &= ~kinks(problem, j, truth.entries[suspects])
        truth = truth._replace(usable=usable)
    return truth, off & truth.usable, errors, gaps


def _vanishing(problem, j, w, scale):
    """Return the absolute error allowed where the forward does not depend on the input, up to rounding."""
    reference = 1e-12 * np.abs(w) @ np.abs(problem.vector()) / (1 + np.max(np.abs(problem.point[j]), initial=0.0))
    return reference if np.max(scale, initial=0.0) <= reference else 0.0


def _judge_along_directions(problem, j, w, arrays, rng, rtol):
    """Return a verdict if the random directions settle it, None if entries must be looked at."""
    seen = along_directions(problem, j, rng, rtol, DIRECTIONS)
    if not seen.trusted:
        return None
    compared = [seen.compare(row, array) for row, array in zip(w, arrays, strict=False)]
    if not all(np.all(gap <= allowed) for gap, allowed, _ in compared):
        return None
    error = max(float(np.max(gap / np.where(scale > 0, scale, 1.0))) for gap, _, scale in compared)
    numbers = {"entries": arrays[0].size, "directions": DIRECTIONS, "compared": DIRECTIONS, "wrong": 0, "kinks": 0,
               "witness": seen.method, "agreement": seen.agreement}
    return InputVerdict(problem.names[j], "ok", "", "", error, numbers)


def _probe(problem, j, w, gradient, rng, rtol):
    """Return flat positions in whose neighbourhood directional comparisons fail, narrowed down by halving."""
    size, found, blocks = gradient.size, [], [(0, gradient.size)]
    while blocks and len(found) < 64:
        start, stop = blocks.pop(0)
        mask = np.zeros(size)
        mask[start:stop] = 1.0
        gap, allowed, _ = along_directions(problem, j, rng, rtol, 1, mask.reshape(gradient.shape)).compare(w, gradient)
        if np.all(gap <= allowed):
            continue
        if stop - start <= 16:
            found += range(start, stop)
        else:
            blocks += [(start, (start + stop) // 2), ((start + stop) // 2, stop)]
        if len(blocks) > 8:                             # wrong in many places: a random sample will do
            break
    return found
