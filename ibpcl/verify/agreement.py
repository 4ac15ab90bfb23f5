"""Agreement of a gradient with the reference derivatives: right, wrong or undecided."""

import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.differences import central, first_step, reach
from ibpcl.verify.derivative.kinks import kinks
from ibpcl.verify.derivative.onesided import outside
from ibpcl.verify.derivative.witness import (
    NORMWISE,
    along_directions,
    approached,
    measure,
    sensitivity,
    slope,
)
from ibpcl.verify.explain.symmetric import for_symmetric_changes, mirrored
from ibpcl.verify.reports.kinds import HINTS
from ibpcl.verify.reports.report import InputVerdict
from ibpcl.verify.reports.words import Note, place

# The mode "auto" uses random directions if an input has more entries than this,
FULL_ENTRIES = 1000
# if its Jacobian has more numbers than this,
FULL_NUMBERS = 2_000_000
# or if one forward call per entry would run more lines of Python than this.
FULL_STEPS = 2_000_000
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
NOT_RETURNED = "return it, or say with wrt (--wrt) which inputs the gradient is for"
MOVE = "move the inputs a little"


class Terms(NamedTuple):
    """The terms on which a pair and its changed versions are compared.

    Attributes
    ----------
    w : ndarray, shape (R, M)
        Cotangents.
    rng : numpy.random.Generator
        Draws directions and points.
    rtol : float or None
        Relative tolerance; None for the default.
    mode : {"auto", "full", "directional"}
        Every entry, random directions, or a choice by size and cost.
    """

    w: np.ndarray
    rng: np.random.Generator
    rtol: float | None
    mode: str

    def judged(self, pair, inputs):
        """Judge some inputs of a changed pair.

        Parameters
        ----------
        pair : Problem
            The changed pair.
        inputs : list of int
            Positions of inputs.

        Returns
        -------
        truths : dict
            The measured derivatives, by position of the input.
        verdicts : dict of int to InputVerdict
        """
        agreement = compared(pair, inputs, self)
        return agreement.truths, agreement.verdicts


class Agreement(NamedTuple):
    """The result of comparing gradients with reference derivatives at one point.

    Attributes
    ----------
    problem : Problem or None
        The pair at this point; None without a point.
    truths : dict of int to Truth
        The measured derivatives by position of the input, where single entries were compared.
    verdicts : dict of int to InputVerdict
        The verdicts by position of the input.  Kinds: "ok", "wrong", "undecided", "missing_term",
        "wrong_shape", "kink" and "non_finite".  The diagnosis of a mistake comes later.
    notes : list of Note
        Remarks on the forward, and on what was compared.
    reasons : ibpcl.verify.explain.reasons.Explained or None
        Reasons of differences other than the derivation; None if all gradients are right.
    """

    problem: object
    truths: dict
    verdicts: dict
    notes: list
    reasons: object = None

    @property
    def known(self):
        """The known reasons by position of the input."""
        return {} if self.reasons is None else self.reasons.known


class _Claim(NamedTuple):
    """The gradients of one input as the pair returns them, and the terms of the comparison.

    Attributes
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input in ``problem.point``.
    arrays : list of ndarray
        The gradients under test, one for each of the first rows of ``terms.w``.
    terms : Terms
        The terms of the comparison.
    """

    problem: object
    j: int
    arrays: list
    terms: Terms

    @property
    def x(self):
        """Value of the input."""
        return np.asarray(self.problem.point[self.j])

    @property
    def rows(self):
        """Pairs of a cotangent and the gradient for it."""
        return list(zip(self.terms.w, self.arrays, strict=False))

    def verdict(self, kind, words="", hint="", error=float("nan"), numbers=None, witness=""):
        """Return a verdict on the input."""
        name = self.problem.names[self.j]
        return InputVerdict(name, kind, words, hint, error, numbers or {}, witness=witness)

    def outside(self, entries):
        """Return the entries at kinks that are outside their range, and how many were judged."""
        if not len(entries):
            return [], 0
        rows = self.terms.w[: len(self.arrays)]
        return outside(self.problem, self.j, entries, rows, self.arrays, self.terms.rng)

    def measured(self, entries):
        """Return the reference derivatives by single entries."""
        return measure(self.problem, self.j, entries, self.terms.rng, self.terms.rtol)

    def along(self, mask, method="complex step", given=None):
        """Return the reference derivatives along directions."""
        rng = self.terms.rng
        rtol = self.terms.rtol
        return along_directions(self.problem, self.j, rng, rtol, DIRECTIONS, mask, method, given)


def compared(problem, inputs, terms):
    """Compare the gradients of some inputs with reference derivatives at one point.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    inputs : sequence of int
        Positions of the inputs in ``problem.point``.
    terms : Terms
        The terms of the comparison.

    Returns
    -------
    Agreement
        Truths, verdicts and notes.
    """
    gradients = [problem.gradients(row) for row in terms.w[:2]]
    result = Agreement(problem, {}, {}, [])
    steps = None
    for j in inputs:
        claim = _Claim(problem, j, [row[problem.wrt.index(j)] for row in gradients], terms)
        entries = int(np.prod(problem.shape(j)))
        small = entries <= FULL_ENTRIES and entries * terms.w.shape[1] <= FULL_NUMBERS
        full = terms.mode == "full"
        if terms.mode == "auto" and small:
            steps = _steps(problem) if steps is None else steps
            full = entries * steps <= FULL_STEPS
            if not full:
                words = (
                    f"{problem.names[j]}: the forward takes {steps} steps, so random directions "
                    f"replace its {entries} entries (mode='full' compares each entry)"
                )
                result.notes.append(Note(words))
        result.verdicts[j], truth = _judged(claim, full)
        if truth is not None:
            result.truths[j] = truth
            result.notes.extend(truth.notes)
    return result


def agree(prepared):
    """Compare all gradients at the given inputs, and settle differences that have a reason.

    Parameters
    ----------
    prepared : ibpcl.verify.prepare.Prepared
        The pair.

    Returns
    -------
    Agreement
        The verdicts.
    """
    agreement = compared(prepared.problem, prepared.problem.wrt, prepared.terms)
    return _settled(agreement, prepared.terms, prepared.limit, {})


def agree_elsewhere(prepared, here):
    """Compare right gradients once more at a point near by, where other mistakes show.

    Parameters
    ----------
    prepared : ibpcl.verify.prepare.Prepared
        The pair.
    here : Agreement
        The verdicts at the given inputs.

    Returns
    -------
    Agreement
        The verdicts on the gradients that are right at the given inputs.
    """
    near = prepared.near
    if near is None:
        return Agreement(None, {}, {}, [])
    triangles = {j: truth.triangle for j, truth in here.truths.items() if truth.triangle}
    for j, triangle in triangles.items():
        near = near.at(near.with_input(j, mirrored(near.point[j], triangle)))
    pair = prepared.problem if here.reasons is None else here.reasons.problem
    there = pair.at(near.point)
    right = [j for j, item in here.verdicts.items() if item.kind == "ok" and there.size(j)]
    terms = prepared.terms._replace(mode="directional")
    plain = compared(there, [j for j in right if j not in triangles], terms)
    # a symmetric input has no random directions
    folded = compared(there, [j for j in right if j in triangles], terms._replace(mode="full"))
    agreement = Agreement(
        there,
        {**plain.truths, **folded.truths},
        {**plain.verdicts, **folded.verdicts},
        plain.notes + folded.notes,
    )
    return _settled(agreement, terms, None, here.known)


def _settled(agreement, terms, limit, known):
    """Return an agreement after differences with another reason than the derivation are settled."""
    if all(verdict.kind == "ok" for verdict in agreement.verdicts.values()):
        return agreement
    # imported only for gradients that are not right
    from ibpcl.verify.explain.reasons import explain

    problem, truths, verdicts, *_ = agreement
    return agreement._replace(reasons=explain(problem, verdicts, truths, terms, limit, known))


def _steps(problem):
    """Return how many lines of Python one forward call runs.

    This measures cost independently of the machine. A measured time would make the report depend on
    the machine and its load.
    """
    count = 0
    before = sys.gettrace()

    def step(frame, event, argument):
        nonlocal count
        count += event == "line"
        return step

    sys.settrace(step)
    try:
        problem.call()
    finally:
        sys.settrace(before)
    return count


def _judged(claim, full):
    """Return the verdict on one input, and the measured derivatives by its entries or None."""
    shape = claim.x.shape
    numbers = {"compared": claim.x.size, "wrong": claim.x.size}
    if claim.arrays[0] is None:
        words = f"no gradient was returned for {claim.problem.names[claim.j]}"
        return claim.verdict("missing_term", words, NOT_RETURNED, numbers=numbers), None
    claim = claim._replace(arrays=list(map(np.asarray, claim.arrays)))
    if any(g.dtype.kind not in "fiub" or g.shape != shape for g in claim.arrays):
        return claim.verdict("wrong_shape", numbers=numbers), None
    if not full:
        return _by_directions(claim)
    truth = claim.measured(np.arange(claim.x.size))
    name = claim.problem.names[claim.j]
    truth = for_symmetric_changes(truth, claim.x, name, claim.arrays)
    return _by_entries(claim, truth), truth


def _by_entries(claim, truth):
    """Return the verdict from the entries that were measured."""
    shape = claim.x.shape
    entries = truth.entries
    usable = truth.usable
    seen = _compare(claim, truth, claim.rows)
    coarse = float(np.max(seen.allowed[usable], initial=0.0))
    error = float(np.max(seen.errors[usable], initial=0.0))
    if not np.all(np.isfinite([g.ravel()[entries[usable]] for g in claim.arrays])):
        error = float("inf")
    bad, judged = claim.outside(entries[~usable])
    sharp = int((~usable).sum())
    numbers = {
        "entries": claim.x.size,
        "compared": int(usable.sum()) + judged,
        "wrong": int(seen.off.sum()) + len(bad),
        "kinks": sharp,
        "skipped": sharp - judged,
        "rtol": max(truth.rtol, coarse),
        "agreement": truth.agreement,
    }
    verdict = claim.verdict("ok", "", "", error, numbers, truth.method)
    if np.any(seen.off):
        worst = int(np.argmax(np.where(seen.off, np.nan_to_num(seen.gap, nan=np.inf), -1.0)))
        numbers.update(
            worst=place(int(entries[worst]), shape),
            got=float(claim.arrays[0].ravel()[entries[worst]]),
            expected=float(truth.gradient(claim.terms.w[0])[0][worst]),
        )
        return replace(verdict, kind="wrong")
    if bad:
        return at_kink(verdict, shape, bad)
    if truth.jacobian.size and not numbers["compared"]:
        words = "the forward jumps at every entry, so nothing could be compared"
        return _undecided(verdict, words, MOVE)
    refused = int(np.sum(~np.all(np.isfinite(truth.jacobian), axis=0)))
    if refused:
        words = (
            f"the forward is not finite or raises when {refused} of {len(entries)} entries are "
            "changed"
        )
        return _undecided(verdict, words)
    if not truth.jacobian.size:
        verdict.words = "no entries, so nothing was compared: try other inputs"
    elif not np.any(truth.jacobian):
        verdict.words = (
            "the outputs do not depend on it here, which is a weak test: try other inputs"
        )
        verdict.weak = True
    return _unless_coarse(verdict, coarse, claim.terms.rtol, "the witnesses are")


def at_kink(verdict, shape, bad, words=""):
    """Return the verdict on an input whose gradient is outside the valid range at a kink.

    Parameters
    ----------
    verdict : InputVerdict
        The verdict on the other entries.
    shape : tuple of int
        Shape of the input.
    bad : list of (int, ndarray, Range)
        Entries outside their range; see :func:`ibpcl.verify.derivative.onesided.outside`.
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
    words += (
        f"wrong at a kink, at {place(entry, shape)}: {got[row]:.4g} is not between the "
        f"derivatives on both sides, {left:.4g} and {right:.4g}"
    )
    kind = "kink" if np.all(np.isfinite(got)) else "non_finite"
    return replace(verdict, kind=kind, words=words, hint=HINTS[kind])


def _undecided(verdict, words, hint=HINTS["undecided"]):
    return replace(verdict, kind="undecided", words=words, hint=hint)


def _unless_coarse(verdict, coarse, rtol, witnesses):
    """Return a verdict, or "undecided" if the witnesses are too coarse to see an error."""
    if coarse <= max(RESOLVED, 2 * (rtol or 0.0)):
        return verdict
    words = (
        f"{witnesses} only good to {coarse:.0e} here: the forward is noisy, ill-conditioned, jumps "
        "near by, or computes in float32"
    )
    return _undecided(verdict, words)


class Comparison(NamedTuple):
    """Gradients beside n measured derivatives.

    Attributes
    ----------
    off : ndarray of bool, shape (n,)
        Whether a gradient is wrong there.
    errors : ndarray, shape (n,)
        Relative error, the largest of all cotangents.
    allowed : ndarray, shape (n,)
        Relative error that is allowed, the largest of all cotangents.
    gap : ndarray, shape (n,)
        Absolute difference for the first cotangent.
    """

    off: np.ndarray
    errors: np.ndarray
    allowed: np.ndarray
    gap: np.ndarray


def _compare(claim, seen, rows, spread=1.0):
    """Return the comparison of gradients with measured derivatives.

    ``rows`` holds pairs of a cotangent and a gradient, and ``spread`` is the size of a direction.
    """
    off = False
    errors = 0.0
    coarse = 0.0
    gaps = []
    for row, array in rows:
        got, value, scale, allowed = seen.compare(row, array)
        gap = np.abs(got - value)
        floor = spread * _vanishing(claim, row, scale / spread)
        fails = ~(gap <= allowed + floor)
        vague = np.zeros(len(gap))
        if seen.method != "complex step":
            failures = 0
            for n in np.flatnonzero(fails & seen.usable)[:SUSPECTS]:
                if failures == CONFIRMED_FAILURES:
                    break
                if _met(claim, seen.direction(n, claim.x.shape), row, got[n], gap[n]):
                    # the extrapolated derivative was wrong, not the gradient
                    fails[n] = False
                    vague[n] = RESOLVED
                failures += fails[n]
        size = scale + floor / seen.rtol
        largest = np.max(size, initial=0.0)
        off = off | fails
        gaps.append(gap)
        errors = np.maximum(errors, gap / np.where(size > 0, size, np.where(gap > 0, gap, 1.0)))
        coarse = np.maximum(np.maximum(coarse, vague), allowed / largest if largest > 0 else 0.0)
    return Comparison(off & seen.usable, errors, coarse, gaps[0])


def _met(claim, direction, row, got, gap):
    """Return whether plain differences come close to a gradient along a direction."""
    func, x = claim.problem.restricted(claim.j)
    size = reach(x, direction)

    def along(value):
        return row @ func(value)

    if got == 0:
        # a forward that rounds does not change with small steps
        return central(along, x, direction, FLAT_STEP * size) == 0
    return approached(along, x, direction, size, got, min(RESOLVED * abs(got), 0.1 * gap))


def _vanishing(claim, row, scale):
    """Return the absolute error allowed if the forward depends on the input only by rounding."""
    reference = 1e-12 * np.abs(row) @ sensitivity(claim.problem, claim.j)
    return reference if np.max(scale, initial=0.0) <= reference else 0.0


def _by_directions(claim):
    """Return the verdict from random directions, and from single entries if a direction fails.

    The second result is as for :func:`_judged`.
    """
    x = claim.x
    terms = claim.terms
    smooth = _away_from_kinks(claim)
    sharp = np.flatnonzero(smooth == 0)
    some = sharp if len(sharp) <= MOST_KINKS else terms.rng.choice(sharp, MOST_KINKS, replace=False)
    bad, judged = claim.outside(some)
    numbers = {
        "entries": x.size,
        "directions": DIRECTIONS,
        "compared": DIRECTIONS,
        "wrong": 0,
        "kinks": len(sharp),
        "skipped": 0 if judged == len(some) else len(sharp),
    }
    verdict = claim.verdict("ok", numbers=numbers)
    if bad:
        numbers.update(compared=judged, wrong=len(bad))
        return at_kink(verdict, x.shape, bad), None
    if not np.any(smooth) and not judged:
        words = "the forward has a kink at every entry that was examined"
        return _undecided(verdict, words, MOVE), None
    if not np.any(smooth):
        numbers.update(compared=judged)
        return replace(verdict, words="every entry is at a kink", error=0.0), None
    looks = _looks(claim, smooth)
    seen = looks[0][0]
    comparisons = [_compare(claim, look, rows, np.sqrt(x.size)) for look, rows in looks]
    failed = sum(int(np.sum(comparison.off)) for comparison in comparisons)
    verdict.error = float(np.max(comparisons[0].errors))
    coarse = float(np.max(comparisons[0].allowed))
    verdict.witness = seen.method
    numbers.update(agreement=seen.agreement, rtol=max(seen.rtol, coarse))
    if not failed:
        return _unless_coarse(verdict, coarse, terms.rtol, "random directions are"), None
    probed = _probe(claim, seen, smooth)
    truth = claim.measured(entries_to_look_at(x.shape, terms.w.shape[1], terms.rng, probed))
    found = _by_entries(claim, truth)
    if found.kind == "wrong" or len(truth.entries) == x.size:
        return found, truth
    # Differences may fail by chance where a kink or a pole is near by, but not where the complex
    # step is right.
    sure = seen.method == "complex step" or found.witness == seen.method
    words = (
        f"wrong along {failed} of {DIRECTIONS * len(looks)} random directions, but the wrong "
        f"entries were not found: the {found.numbers['compared']} that were compared are right"
    )
    kind = "wrong" if sure else "undecided"
    numbers = {**found.numbers, "wrong": 0}
    return claim.verdict(kind, words, HINTS[kind], verdict.error, numbers, found.witness), truth


def _looks(claim, smooth):
    """Return derivatives along directions, each with the cotangents and gradients to compare."""
    seen = claim.along(smooth)
    if not seen.trusted and seen.method == "complex step":
        agreement = _sparsely_confirmed(claim, smooth)
        if agreement is not None:
            seen = seen._replace(trusted=True, agreement=agreement)
    if seen.method == "complex step" and seen.trusted:
        return [(seen, claim.rows)]
    # a forward that loses the imaginary part, or noise
    differences = "Richardson differences"
    seen = claim.along(smooth, differences)
    directions = _aimed(claim.arrays[0].astype(float) * smooth, claim.terms.rng)
    aimed = claim.along(smooth, differences, directions)
    return [(seen, claim.rows), (aimed, claim.rows[:1])]


def _aimed(gradient, rng):
    """Return directions along the gradient with random weights.

    A wrong factor shows along them even if the forward is noisy.
    """
    size = np.max(np.abs(gradient), initial=0.0) or 1.0
    return [gradient / size * rng.uniform(0.5, 1.5, gradient.shape) for _ in range(DIRECTIONS)]


def _away_from_kinks(claim):
    """Return a mask with zeros at entries where the forward has a kink, such as repeated zeros.

    Only values that occur several times in the input are examined.
    """
    x = claim.x
    values, counts = np.unique(x, return_counts=True)
    smooth = np.ones(x.shape)
    repeated = values[counts > 1]
    for value in repeated[np.argsort(-counts[counts > 1])][:8]:
        same = np.flatnonzero(x == value)
        some = claim.terms.rng.choice(same, min(4, len(same)), replace=False)
        if np.any(kinks(claim.problem, claim.j, some)):
            smooth[x == value] = 0.0
    return smooth


def _sparsely_confirmed(claim, smooth):
    """Confirm the complex step by differences along directions that change a few entries each.

    A direction through all entries of a large input meets a kink of some entry nearby; most
    directions through a few entries do not. Returns the largest relative disagreement. Returns None
    if fewer than half of the directions confirm the complex step, or the forward refuses it.
    """
    rng = claim.terms.rng
    open_entries = np.flatnonzero(smooth)
    good = 0
    worst = 0.0
    for _ in range(SPARSE):
        mask = np.zeros(claim.x.size)
        mask[rng.choice(open_entries, min(FEW, len(open_entries)), replace=False)] = 1.0
        mask = mask.reshape(claim.x.shape)
        seen = along_directions(claim.problem, claim.j, rng, None, 1, mask)
        if seen.method != "complex step":
            return None
        good += seen.trusted
        worst = max(worst, seen.agreement if seen.trusted else 0.0)
    return worst if good >= SPARSE // 2 else None


def _probe(claim, seen, mask):
    """Return flat positions of wrong entries, found by repeatedly halving the blocks that fail."""
    func, x = claim.problem.restricted(claim.j)
    w = claim.terms.w[0]
    gradient = claim.arrays[0]
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
        sizes = claim.terms.rng.uniform(0.5, 1.0, stop - start)
        direction = np.zeros(x.size)
        direction[start:stop] = mask.ravel()[start:stop] * sizes
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
