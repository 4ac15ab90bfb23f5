"""Judge the gradient of one input: right or wrong, how far off, and at how many entries."""

import numpy as np

from ibpcl.verify.differences import first_step
from ibpcl.verify.kinds import HINTS
from ibpcl.verify.report import InputVerdict
from ibpcl.verify.sampling import entries_to_look_at, most_entries
from ibpcl.verify.shapes import place
from ibpcl.verify.witness import NORMWISE, along_directions, kinks, measure, slope

DIRECTIONS = 5
ROUNDS = 4              # of directions, each without the kinks that the one before has met
PROBES = 200            # blocks of entries that are tried in the search for those that fail


def judge(problem, j, w, pulled, rng, rtol, full, truths):
    """Return the verdict on one input, with kind ``"ok"`` or ``"wrong"``; the diagnosis comes later."""
    shape, name = problem.shape(j), problem.names[j]
    arrays = [None if g is None else np.asarray(g) for g in pulled]
    if any(g is None or g.dtype.kind not in "fiub" or g.shape != shape for g in arrays):
        return InputVerdict(name, "wrong_shape", "", numbers={"compared": int(np.prod(shape)),
                                                              "wrong": int(np.prod(shape))})
    if not full:
        return _judge_large(problem, j, w, arrays, rng, rtol, truths)
    return _judge_entries(problem, j, w, arrays, measure(problem, j, np.arange(int(np.prod(shape))), rng, rtol), truths)


def _judge_entries(problem, j, w, arrays, truth, truths):
    """Judge by the entries that were measured."""
    shape, name, entries = problem.shape(j), problem.names[j], truth.entries
    truth, off, errors, gaps = _compare(problem, j, w, arrays, truth)
    truths[j] = truth
    numbers = {"entries": int(np.prod(shape)), "compared": int(truth.usable.sum()), "wrong": int(off.sum()),
               "kinks": int((~truth.usable).sum()), "witness": truth.method, "rtol": truth.rtol,
               "agreement": truth.agreement, "notes": truth.notes}
    error = float(np.max(errors[truth.usable], initial=0.0))
    if not np.all(np.isfinite(np.concatenate([g.ravel()[entries] for g in arrays])[np.tile(truth.usable, 2)])):
        error = float("inf")
    if not np.any(off):
        words = ""
        if not truth.jacobian.size:
            words = "no entries, so nothing was compared and nothing is proved: try other inputs"
        elif not np.any(truth.jacobian):
            words = "zero everywhere here, so this proves little: try other inputs"
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


def _judge_large(problem, j, w, arrays, rng, rtol, truths):
    """Judge along random directions; where they fail, at single entries, of which those at kinks are then left out."""
    x, smooth = np.asarray(problem.point[j]), np.ones(problem.shape(j))
    for trial in range(ROUNDS):
        seen = along_directions(problem, j, rng, rtol, DIRECTIONS, smooth)
        if not seen.trusted:                            # a kink, or a forward that loses the imaginary part
            seen = along_directions(problem, j, rng, rtol, DIRECTIONS, smooth, "Richardson differences")
        compared = [seen.compare(row, array) for row, array in zip(w, arrays, strict=False)]
        floors = [np.sqrt(x.size) * _vanishing(problem, j, row, scale / np.sqrt(x.size))
                  for row, (_, _, scale) in zip(w, compared, strict=False)]
        failed = int(np.any([~(gap <= allowed + floor) for (gap, allowed, _), floor in zip(
            compared, floors, strict=True)], axis=0).sum())
        if seen.trusted and not failed:
            error = max(float(np.max(gap / np.where(scale > 0, scale + floor / seen.rtol, 1.0)))
                        for (gap, _, scale), floor in zip(compared, floors, strict=True))
            numbers = {"entries": x.size, "directions": DIRECTIONS, "compared": DIRECTIONS, "wrong": 0,
                       "kinks": int(np.sum(smooth == 0)), "witness": seen.method, "agreement": seen.agreement}
            return InputVerdict(problem.names[j], "ok", "", "", error, numbers)
        entries = entries_to_look_at(x.shape, w.shape[1], rng, _probe(problem, j, w[0], arrays[0], rng, seen, smooth))
        verdict = _judge_entries(problem, j, w, arrays, measure(problem, j, entries, rng, rtol), truths)
        kinky = truths[j].entries[~truths[j].usable & (smooth.ravel()[truths[j].entries] > 0)]
        if not verdict.ok or not len(kinky):
            break
        smooth.ravel()[kinky] = 0.0
        if trial:                                       # there are many: those at the same values are kinks as well
            smooth[np.isin(x, x.ravel()[kinky])] = 0.0
        if not np.any(smooth):
            break
    if not verdict.ok:
        return verdict
    # Differences may fail by chance at a kink near by, but not all of them, and not where the complex step is right.
    sure = seen.method == "complex step" or (failed == DIRECTIONS and verdict.numbers["witness"] == seen.method)
    if seen.trusted and sure and not len(kinky):
        verdict.kind, verdict.hint = "wrong", HINTS["wrong"]
        verdict.words = f"wrong along {failed} of {DIRECTIONS} random directions; the entries were not found: " \
            f"{verdict.numbers['compared']} that were compared are right"
        return verdict
    verdict.numbers["directional"] = "failed at kinks" if len(kinky) else "not trusted"
    verdict.words = "random directions meet kinks or noise here, so this proves nothing for the other entries"
    return verdict


def _probe(problem, j, w, gradient, rng, seen, mask):
    """Return flat positions of entries that fail by themselves, found by halving the input where it fails."""
    func, x, found, blocks = problem.function_of(j), np.asarray(problem.point[j]), [], [(0, gradient.size)]
    floor = NORMWISE * np.min(seen.compare(w, gradient)[1])         # below it an entry makes no direction fail
    most = most_entries(w.size) // 4                                # so that right ones are seen beside them
    for _ in range(PROBES):
        if not blocks or len(found) == most:
            break
        start, stop = blocks.pop()
        direction = np.zeros(x.size)
        direction[start:stop] = mask.ravel()[start:stop] * rng.uniform(0.5, 1.0, stop - start)
        direction = direction.reshape(x.shape)
        quick = {"h": 1e-4 * first_step(x, direction), "levels": 3, "restarts": 1}
        value, error = slope(func, x, direction, seen.method, **quick)
        gap, allowed, _ = seen._replace(directions=[direction], values=[value], errors=[error]).compare(w, gradient)
        if gap[0] <= allowed[0] + floor:
            continue
        if stop - start == 1:
            found.append(start)
        else:
            blocks += [((start + stop) // 2, stop), (start, (start + stop) // 2)]
    return found
