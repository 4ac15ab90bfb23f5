"""Judge the gradient of one input: right, wrong or undecided; how far off, and at how many
entries.
"""

import numpy as np

from ibpcl.verify.diagnosis.symmetric import for_symmetric_changes
from ibpcl.verify.reports.kinds import HINTS
from ibpcl.verify.reports.report import InputVerdict
from ibpcl.verify.reports.words import place
from ibpcl.verify.witnesses.differences import first_step
from ibpcl.verify.witnesses.kinks import kinks
from ibpcl.verify.witnesses.onesided import outside
from ibpcl.verify.witnesses.witness import NORMWISE, along_directions, approached, measure, slope

DIRECTIONS = 5
# directions of a few entries each, which confirm the complex step where kinks are near
SPARSE = 12
# entries that are looked at with plain differences before they are blamed, until
SUSPECTS = 40
GUILTY = 4  # ... so many of them are
MOST_KINKS = 40  # entries at kinks of a large input that are looked at
FEW = 16  # entries of such a direction
PROBES = 200  # blocks of entries that are tried in the search for those that fail
# an error that may be larger than this share of the gradient leaves the verdict undecided
PROVED = 1e-3
MOST_ENTRIES = 60  # of a large input that are looked at one by one
MOST_NUMBERS = 2_000_000
NOT_RETURNED = (
    "return it, or pass --wrt (in Python wrt=...) with the names of the inputs that the gradient "
    "is for"
)


def judge(problem, j, w, pulled, rng, rtol, full, truths):
    """Return the verdict on one input, with kind "ok", "wrong" or "undecided"; the diagnosis comes
    later.
    """
    shape = problem.shape(j)
    name = problem.names[j]
    size = int(np.prod(shape))
    if problem.partial and pulled[0] is None:
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
    """Judge by the entries that were measured."""
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
        "notes": truth.notes,
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
            f"the forward is not finite, or refuses to be called, when {refused} of "
            f"{len(entries)} entries are moved",
            HINTS["undecided"],
            error,
            numbers,
        )
    words = ""
    if not truth.jacobian.size:
        words = "no entries, so nothing was compared and nothing is proved: try other inputs"
    elif not np.any(truth.jacobian):
        words = "zero everywhere here, so this proves little: try other inputs"
    return _unless_coarse(name, words, error, coarse, numbers, rtol, "the witnesses are")


def at_kinks(problem, j, w, arrays, entries, rng):
    """Return (entries outside the range that their kink allows, number of entries judged)."""
    rows = np.array([row for row, _ in zip(w, arrays, strict=False)])
    return outside(problem, j, entries, rows, arrays, rng) if len(entries) else ([], 0)


def kink_verdict(name, shape, bad, error, numbers, words=""):
    """Return the verdict on an input whose gradient is outside its range at a kink."""
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
    """Return the verdict "ok", or "undecided" if an error that matters could not have been seen."""
    if coarse <= max(PROVED, 2 * (rtol or 0.0)):
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
    """Lay gradients beside what a witness has seen: (wrong, error, error allowed, how far the first
    is off), each (n,).

    ``rows`` are pairs of a cotangent and a gradient; the errors are relative, the largest of all
    rows.
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
            guilty = 0
            for n in np.flatnonzero(fails & seen.usable)[:SUSPECTS]:
                if guilty == GUILTY:
                    break
                room = min(PROVED * abs(got[n]), 0.1 * gap[n])
                direction = seen.direction(n, x.shape)
                reach = first_step(x, direction) / 0.05
                if approached(
                    lambda value, row=row: row @ func(value), x, direction, reach, got[n], room
                ):
                    # which is not to be blamed on the gradient
                    fails[n] = False
                    vague[n] = PROVED
                guilty += fails[n]
        size = scale + floor / seen.rtol
        largest = np.max(size, initial=0.0)
        off = off | fails
        gaps = [*gaps, gap]
        errors = np.maximum(errors, gap / np.where(size > 0, size, np.where(gap > 0, gap, 1.0)))
        coarse = np.maximum(np.maximum(coarse, vague), allowed / largest if largest > 0 else 0.0)
    return off & seen.usable, errors, coarse, gaps[0]


def _vanishing(problem, j, w, scale):
    """Return the absolute error allowed where the forward does not depend on the input, up to
    rounding.
    """
    reference = (
        1e-12
        * np.abs(w)
        @ np.abs(problem.vector())
        / (1 + np.max(np.abs(problem.point[j]), initial=0.0))
    )
    return reference if np.max(scale, initial=0.0) <= reference else 0.0


def _judge_large(problem, j, w, arrays, rng, rtol, truths):
    """Judge along random directions; where they fail, at single entries."""
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
            "the forward has a kink at every entry that was looked at",
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
    found = [_compare(problem, j, look, rows, np.sqrt(x.size)) for look, rows in looks]
    failed, error, coarse = (
        sum(int(np.sum(off)) for off, *_ in found),
        *(float(np.max(n)) for n in found[0][1:3]),
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
        f"wrong along {failed} of {DIRECTIONS * len(looks)} random directions; the entries were "
        f"not found: {verdict.numbers['compared']} that were compared are right"
    )
    kind = "wrong" if sure else "undecided"
    return InputVerdict(name, kind, words, HINTS[kind], error, {**verdict.numbers, "wrong": 0})


def _aimed(gradient, rng):
    """Return directions along the gradient, up to random weights: a wrong factor shows there
    through any noise.
    """
    size = np.max(np.abs(gradient), initial=0.0) or 1.0
    return [gradient / size * rng.uniform(0.5, 1.5, gradient.shape) for _ in range(DIRECTIONS)]


def _away_from_kinks(problem, j, rng):
    """Return ones, and zeros where an entry has a value that many have (an exact zero) and the
    forward a kink there.
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
    """Return how well differences along directions of a few entries confirm the complex step; None
    if one does not.

    A direction through all entries of a large input meets the kink of some entry near by; most
    directions of a few entries do not.
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
    """Return flat positions of entries that fail by themselves, found by halving the input where it
    fails.
    """
    func = problem.function_of(j)
    x = np.asarray(problem.point[j])
    found = []
    blocks = [(0, gradient.size)]
    # below it an entry makes no direction fail
    floor = NORMWISE * np.min(seen.compare(w, gradient)[3])
    # so that right ones are seen beside them
    most = most_entries(w.size) // 4
    for _ in range(PROBES):
        if not blocks or len(found) == most:
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
            found.append(start)
        else:
            blocks += [((start + stop) // 2, stop), (start, (start + stop) // 2)]
    return found


def most_entries(outputs):
    """Return how many entries are looked at: their columns of the Jacobian must fit into memory."""
    return int(max(8, min(MOST_ENTRIES, MOST_NUMBERS // max(1, outputs))))


def entries_to_look_at(shape, outputs, rng, wrong=()):
    """Return sorted flat positions: all if few, else ``wrong`` ones, the ends of every axis, and a
    random sample.

    ``outputs`` is the size of the vector of outputs: the Jacobian's columns must fit into memory.
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
