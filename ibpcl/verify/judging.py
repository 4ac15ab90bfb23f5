"""Verdict on the gradient of one input: right, wrong or undecided, with its error."""

from functools import partial

import numpy as np

from ibpcl.verify.derivative.differences import central, first_step
from ibpcl.verify.derivative.kinks import kinks
from ibpcl.verify.derivative.onesided import outside
from ibpcl.verify.derivative.witness import NORMWISE, along_directions, approached, measure, slope
from ibpcl.verify.diagnosis.symmetric import for_symmetric_changes
from ibpcl.verify.reports.kinds import HINTS
from ibpcl.verify.reports.report import InputVerdict
from ibpcl.verify.reports.words import place

# Random directions for a large input.
DIRECTIONS = 5
# Directions that change only a few entries each; they confirm the complex step near kinks,
SPARSE = 12
# and the number of entries that each of them changes.
FEW = 16
# Entries whose failure is confirmed with plain differences, at most,
SUSPECTS = 40
# and the number of confirmed failures after which no more are examined.
CONFIRMED_FAILURES = 4
# Relative step within which a forward must not change to confirm that a derivative is zero.  It is
# larger than the spacing of float16.
FLAT_STEP = 1e-2
# Entries at kinks of a large input that are examined.
MOST_KINKS = 40
# Blocks of entries that the search for wrong entries tries.
PROBES = 200
# If the witnesses' own error may exceed this share of the gradient, the verdict is undecided.
RESOLVED = 1e-3
# Entries of a large input that are compared one by one,
MOST_ENTRIES = 60
# and numbers in their columns of the Jacobian, at most.
MOST_NUMBERS = 2_000_000
NOT_RETURNED = "return it, or pass wrt=(...) with the names of the inputs that the gradient is for"


def judge(problem, j, w, pulled, rng, rtol, full, truths):
    """Return the verdict on one input; the diagnosis of a mistake comes later.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input in ``problem.point``.
    w : ndarray, shape (R, M)
        Cotangents of the M outputs.
    pulled : list of ndarray
        The gradients that the pair returned for this input, one for each of the first rows of
        ``w``. None stands for a missing gradient.
    rng : numpy.random.Generator
        Draws directions and samples of entries.
    rtol : float or None
        Relative tolerance; None for the default of the witness.
    full : bool
        Whether to compare every entry instead of random directions.
    truths : dict
        Receives the measured derivatives as ``truths[j]`` where single entries are compared.

    Returns
    -------
    InputVerdict
        Its kind is "ok", "wrong", "undecided", "missing_term", "wrong_shape", "kink" or
        "non_finite".
    """
    shape = problem.shape(j)
    name = problem.names[j]
    size = int(np.prod(shape))
    if pulled[0] is None:
        return InputVerdict(
            name,
            "missing_term",
            f"no gradient was returned for {name}",
            NOT_RETURNED,
            numbers={"compared": size, "wrong": size},
        )
    arrays = list(map(np.asarray, pulled))
    if any(g.dtype.kind not in "fiub" or g.shape != shape for g in arrays):
        return InputVerdict(name, "wrong_shape", "", numbers={"compared": size, "wrong": size})
    if not full:
        return _judge_large(problem, j, w, arrays, rng, rtol, truths)
    truth = measure(problem, j, np.arange(int(np.prod(shape))), rng, rtol)
    truth = for_symmetric_changes(truth, np.asarray(problem.point[j]), name, arrays)
    return _judge_entries(problem, j, w, arrays, truth, truths, rtol, rng)


def _judge_entries(problem, j, w, arrays, truth, truths, rtol, rng):
    """Return the verdict from the entries that were measured."""
    shape = problem.shape(j)
    name = problem.names[j]
    entries = truth.entries
    off, errors, coarse, gap = _compare(problem, j, truth, list(zip(w, arrays, strict=False)))
    truths[j] = truth
    usable = truth.usable
    coarse = float(np.max(coarse[usable], initial=0.0))
    error = float(np.max(errors[usable], initial=0.0))
    if not np.all(np.isfinite([g.ravel()[entries[usable]] for g in arrays])):
        error = float("inf")
    bad, judged = at_kinks(problem, j, w, arrays, entries[~usable], rng)
    numbers = {
        "entries": int(np.prod(shape)),
        "compared": int(usable.sum()) + judged,
        "wrong": int(off.sum()) + len(bad),
        "kinks": int((~usable).sum()),
        "skipped": int((~usable).sum()) - judged,
        "witness": truth.method,
        "rtol": max(truth.rtol, coarse),
        "agreement": truth.agreement,
    }
    if np.any(off):
        worst = int(np.argmax(np.where(off, np.nan_to_num(gap, nan=np.inf), -1.0)))
        numbers.update(
            worst=place(int(entries[worst]), shape),
            got=float(arrays[0].ravel()[entries[worst]]),
            expected=float(truth.gradient(w[0])[0][worst]),
        )
        return InputVerdict(name, "wrong", "", "", error, numbers)
    if bad:
        return kink_verdict(name, shape, bad, error, numbers)
    if truth.jacobian.size and not numbers["compared"]:
        return InputVerdict(
            name,
            "undecided",
            "the forward jumps at every entry, so nothing could be compared",
            "move the inputs a little",
            error,
            numbers,
        )
    refused = int(np.sum(~np.all(np.isfinite(truth.jacobian), axis=0)))
    if refused:
        return InputVerdict(
            name,
            "undecided",
            f"the forward is not finite or raises when {refused} of {len(entries)} entries are "
            "changed",
            HINTS["undecided"],
            error,
            numbers,
        )
    words = ""
    if not truth.jacobian.size:
        words = "no entries, so nothing was compared: try other inputs"
    elif not np.any(truth.jacobian):
        words = "the outputs do not depend on it here, which is a weak test: try other inputs"
        numbers["zero"] = True
    return _unless_coarse(name, words, error, coarse, numbers, rtol, "the witnesses are")


def at_kinks(problem, j, w, arrays, entries, rng):
    """Compare entries at kinks with the range of derivatives that is valid there.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.
    w : ndarray, shape (R, M)
        Cotangents.
    arrays : list of ndarray
        The gradients for the first rows of ``w``.
    entries : ndarray of int
        Flat positions at which the forward has a kink.
    rng : numpy.random.Generator
        Draws neighbouring points.

    Returns
    -------
    bad : list of (int, ndarray, Range)
        Entries outside their range: flat position, gradient for each cotangent, and the range.
    judged : int
        Number of entries that could be judged; those at jumps are left out.
    """
    rows = np.array([row for row, _ in zip(w, arrays, strict=False)])
    return outside(problem, j, entries, rows, arrays, rng) if len(entries) else ([], 0)


def kink_verdict(name, shape, bad, error, numbers, words=""):
    """Return the verdict on an input whose gradient is outside the valid range at a kink.

    Parameters
    ----------
    name : str
        Name of the input.
    shape : tuple of int
        Shape of the input.
    bad : list of (int, ndarray, Range)
        Entries outside their range; see :func:`at_kinks`.
    error : float
        Largest relative error among the other entries.
    numbers : dict
        Numbers for the verdict.
    words : str
        Beginning of the sentence.

    Returns
    -------
    InputVerdict
        Its kind is "kink", or "non_finite" if the gradient is NaN or infinite.
    """
    entry, got, allowed = bad[0]
    row = int(np.argmax(np.maximum(allowed.low - got, got - allowed.high)))
    left, right = allowed.sides[:, row]
    words = (
        f"{words}wrong at a kink, at {place(entry, shape)}: {got[row]:.4g} is not between the "
        f"derivatives on both sides, {left:.4g} and {right:.4g}"
    )
    kind = "kink" if np.all(np.isfinite(got)) else "non_finite"
    return InputVerdict(name, kind, words, HINTS[kind], error, numbers)


def _unless_coarse(name, words, error, coarse, numbers, rtol, witnesses):
    """Return the verdict "ok", or "undecided" if the witnesses are too coarse to see an error."""
    if coarse <= max(RESOLVED, 2 * (rtol or 0.0)):
        return InputVerdict(name, "ok", words, "", error, numbers)
    return InputVerdict(
        name,
        "undecided",
        f"{witnesses} only good to {coarse:.0e} here: the forward is noisy, "
        "ill-conditioned, jumps near by, or computes in float32",
        HINTS["undecided"],
        error,
        numbers,
    )


def _compare(problem, j, seen, rows, spread=1.0):
    """Compare gradients with measured derivatives.

    ``rows`` holds pairs of a cotangent and a gradient. Returns four arrays of shape (n,): whether
    an entry is wrong, its error and the allowed error (relative, largest of all rows), and its
    absolute difference in the first row.
    """
    off = False
    errors = 0.0
    coarse = 0.0
    gaps = []
    func = problem.function_of(j)
    x = np.asarray(problem.point[j])
    for row, array in rows:
        got, value, scale, allowed = seen.compare(row, array)
        gap = np.abs(got - value)
        floor = spread * _vanishing(problem, j, row, scale / spread)
        fails = ~(gap <= allowed + floor)
        vague = np.zeros(len(gap))
        if seen.method != "complex step":
            failures = 0
            for n in np.flatnonzero(fails & seen.usable)[:SUSPECTS]:
                if failures == CONFIRMED_FAILURES:
                    break
                room = min(RESOLVED * abs(got[n]), 0.1 * gap[n])
                direction = seen.direction(n, x.shape)
                reach = first_step(x, direction) / 0.05
                along = partial(_weighted, func, row)
                if got[n] == 0:
                    # a forward that rounds does not change with small steps
                    met = central(along, x, direction, FLAT_STEP * reach) == 0
                else:
                    met = approached(along, x, direction, reach, got[n], room)
                if met:
                    # the extrapolated derivative was wrong, not the gradient
                    fails[n] = False
                    vague[n] = RESOLVED
                failures += fails[n]
        size = scale + floor / seen.rtol
        largest = np.max(size, initial=0.0)
        off = off | fails
        gaps = [*gaps, gap]
        errors = np.maximum(errors, gap / np.where(size > 0, size, np.where(gap > 0, gap, 1.0)))
        coarse = np.maximum(np.maximum(coarse, vague), allowed / largest if largest > 0 else 0.0)
    return off & seen.usable, errors, coarse, gaps[0]


def _weighted(func, row, value):
    """Return the sum of outputs with the weights of a cotangent."""
    return row @ func(value)


def _vanishing(problem, j, w, scale):
    """Return the absolute error allowed if the forward depends on the input only by rounding."""
    reference = (
        1e-12
        * np.abs(w)
        @ np.abs(problem.vector())
        / (1 + np.max(np.abs(problem.point[j]), initial=0.0))
    )
    return reference if np.max(scale, initial=0.0) <= reference else 0.0


def _judge_large(problem, j, w, arrays, rng, rtol, truths):
    """Return the verdict from random directions, and from single entries if a direction fails."""
    x = np.asarray(problem.point[j])
    name = problem.names[j]
    smooth = _away_from_kinks(problem, j, rng)
    sharp = np.flatnonzero(smooth == 0)
    some = sharp if len(sharp) <= MOST_KINKS else rng.choice(sharp, MOST_KINKS, replace=False)
    bad, judged = at_kinks(problem, j, w, arrays, some, rng)
    numbers = {
        "entries": x.size,
        "directions": DIRECTIONS,
        "compared": DIRECTIONS,
        "wrong": 0,
        "kinks": len(sharp),
        "skipped": 0 if judged == len(some) else len(sharp),
    }
    if bad:
        return kink_verdict(
            name, x.shape, bad, float("nan"), {**numbers, "compared": judged, "wrong": len(bad)}
        )
    if not np.any(smooth) and not judged:
        return InputVerdict(
            name,
            "undecided",
            "the forward has a kink at every entry that was examined",
            "move the inputs a little",
            numbers=numbers,
        )
    if not np.any(smooth):
        return InputVerdict(
            name, "ok", "every entry is at a kink", "", 0.0, {**numbers, "compared": judged}
        )
    seen = along_directions(problem, j, rng, rtol, DIRECTIONS, smooth)
    if not seen.trusted and seen.method == "complex step":
        agreement = _sparsely_confirmed(problem, j, rng, smooth)
        if agreement is not None:
            seen = seen._replace(trusted=True, agreement=agreement)
    looks = [(seen, list(zip(w, arrays, strict=False)))]
    # a forward that loses the imaginary part, or noise
    if seen.method != "complex step" or not seen.trusted:
        seen = along_directions(problem, j, rng, rtol, DIRECTIONS, smooth, "Richardson differences")
        aimed = along_directions(
            problem,
            j,
            rng,
            rtol,
            DIRECTIONS,
            smooth,
            "Richardson differences",
            _aimed(arrays[0].astype(float) * smooth, rng),
        )
        looks = [(seen, looks[0][1]), (aimed, [(w[0], arrays[0])])]
    comparisons = [_compare(problem, j, look, rows, np.sqrt(x.size)) for look, rows in looks]
    failed, error, coarse = (
        sum(int(np.sum(off)) for off, *_ in comparisons),
        *(float(np.max(n)) for n in comparisons[0][1:3]),
    )
    numbers.update(witness=seen.method, agreement=seen.agreement, rtol=max(seen.rtol, coarse))
    if not failed:
        return _unless_coarse(name, "", error, coarse, numbers, rtol, "random directions are")
    entries = entries_to_look_at(
        x.shape, w.shape[1], rng, _probe(problem, j, w[0], arrays[0], seen, smooth, rng)
    )
    verdict = _judge_entries(
        problem, j, w, arrays, measure(problem, j, entries, rng, rtol), truths, rtol, rng
    )
    if verdict.kind == "wrong" or len(entries) == x.size:
        return verdict
    # Differences may fail by chance where a kink or a pole is near by, but not where the complex
    # step is right.
    sure = seen.method == "complex step" or verdict.numbers.get("witness") == seen.method
    words = (
        f"wrong along {failed} of {DIRECTIONS * len(looks)} random directions, but the wrong "
        f"entries were not found: the {verdict.numbers['compared']} that were compared are right"
    )
    kind = "wrong" if sure else "undecided"
    return InputVerdict(name, kind, words, HINTS[kind], error, {**verdict.numbers, "wrong": 0})


def _aimed(gradient, rng):
    """Return directions along the gradient with random weights.

    A wrong factor shows along them even if the forward is noisy.
    """
    size = np.max(np.abs(gradient), initial=0.0) or 1.0
    return [gradient / size * rng.uniform(0.5, 1.5, gradient.shape) for _ in range(DIRECTIONS)]


def _away_from_kinks(problem, j, rng):
    """Return a mask with zeros at entries where the forward has a kink, such as repeated zeros.

    Only values that occur several times in the input are examined.
    """
    x = np.asarray(problem.point[j])
    values, counts = np.unique(x, return_counts=True)
    smooth = np.ones(x.shape)
    repeated = values[counts > 1]
    for value in repeated[np.argsort(-counts[counts > 1])][:8]:
        same = np.flatnonzero(x == value)
        if np.any(kinks(problem, j, rng.choice(same, min(4, len(same)), replace=False))):
            smooth[x == value] = 0.0
    return smooth


def _sparsely_confirmed(problem, j, rng, smooth):
    """Confirm the complex step by differences along directions that change a few entries each.

    A direction through all entries of a large input meets a kink of some entry nearby; most
    directions through a few entries do not. Returns the largest relative disagreement. Returns None
    if fewer than half of the directions confirm the complex step, or the forward refuses it.
    """
    x = np.asarray(problem.point[j])
    open_entries = np.flatnonzero(smooth)
    good = 0
    worst = 0.0
    for _ in range(SPARSE):
        mask = np.zeros(x.size)
        mask[rng.choice(open_entries, min(FEW, len(open_entries)), replace=False)] = 1.0
        seen = along_directions(problem, j, rng, None, 1, mask.reshape(x.shape))
        if seen.method != "complex step":
            return None
        good += seen.trusted
        worst = max(worst, seen.agreement if seen.trusted else 0.0)
    return worst if good >= SPARSE // 2 else None


def _probe(problem, j, w, gradient, seen, mask, rng):
    """Return flat positions of wrong entries, found by repeatedly halving the blocks that fail."""
    func = problem.function_of(j)
    x = np.asarray(problem.point[j])
    failing = []
    blocks = [(0, gradient.size)]
    # an entry with a smaller error does not make a direction fail
    floor = NORMWISE * np.min(seen.compare(w, gradient)[3])
    # leave room for right entries in the comparison that follows
    most = most_entries(w.size) // 4
    for _ in range(PROBES):
        if not blocks or len(failing) == most:
            break
        start, stop = blocks.pop()
        direction = np.zeros(x.size)
        direction[start:stop] = mask.ravel()[start:stop] * rng.uniform(0.5, 1.0, stop - start)
        direction = direction.reshape(x.shape)
        quick = {"h": 1e-4 * first_step(x, direction), "levels": 3, "restarts": 1}
        value, error = slope(func, x, direction, seen.method, **quick)
        look = seen._replace(directions=[direction], jacobian=value[:, None], error=error[:, None])
        got, value, _, allowed = look.compare(w, gradient)
        if abs(got[0] - value[0]) <= allowed[0] + floor:
            continue
        if stop - start == 1:
            failing.append(start)
        else:
            blocks += [((start + stop) // 2, stop), (start, (start + stop) // 2)]
    return failing


def most_entries(outputs):
    """Return how many entries are compared one by one.

    Parameters
    ----------
    outputs : int
        Number of outputs M. The Jacobian, of shape (M, entries), must fit into memory.

    Returns
    -------
    int
        Between 8 and :data:`MOST_ENTRIES`.
    """
    return int(max(8, min(MOST_ENTRIES, MOST_NUMBERS // max(1, outputs))))


def entries_to_look_at(shape, outputs, rng, wrong=()):
    """Return the entries of a large input that are compared one by one.

    Parameters
    ----------
    shape : tuple of int
        Shape of the input.
    outputs : int
        Number of outputs, which limits the number of entries.
    rng : numpy.random.Generator
        Draws the sample.
    wrong : sequence of int
        Flat positions that must be included, such as those of wrong entries.

    Returns
    -------
    ndarray of int
        Sorted flat positions: all of them for a small input, else ``wrong``, the ends of every
        axis, and a random sample.
    """
    size = int(np.prod(shape))
    most = most_entries(outputs)
    if size <= most:
        return np.arange(size)
    corners = np.unique(
        np.ravel_multi_index(np.meshgrid(*[[0, n - 1] for n in shape], indexing="ij"), shape)
    )
    first = np.concatenate([np.asarray(wrong, dtype=int)[:most], corners[: most // 4]])
    rest = rng.choice(size, most, replace=False)
    return np.unique(np.concatenate([first, rest])[:most])
