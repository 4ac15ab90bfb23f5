"""Verdict on a large input: random directions first, single entries if a direction fails."""

from dataclasses import replace

import numpy as np

from ibpcl.verify.comparison import (
    DIRECTIONS,
    MOVE,
    at_kink,
    by_entries,
    compare,
    undecided,
    unless_coarse,
)
from ibpcl.verify.derivative.differences import first_step
from ibpcl.verify.derivative.kinks import kinks
from ibpcl.verify.derivative.reference import NORMWISE, slope
from ibpcl.verify.reports.kinds import HINTS

# Entries at kinks of a large input that are examined.
MOST_KINKS = 40
# Blocks of entries that the search for wrong entries tries.
PROBES = 200
# Entries of a large input that are compared one by one,
MOST_ENTRIES = 60
# and numbers in their columns of the Jacobian, at most.
MOST_NUMBERS = 2_000_000


def by_directions(claim):
    """Return the verdict from random directions, and from single entries if a direction fails.

    Parameters
    ----------
    claim : Claim
        The gradients of the input.

    Returns
    -------
    verdict : InputVerdict
        The verdict.
    reference : Reference or None
        The derivatives by single entries, if these were measured.
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
        return undecided(verdict, words, MOVE), None
    if not np.any(smooth):
        numbers.update(compared=judged)
        return replace(verdict, words="every entry is at a kink", error=0.0), None
    looks = _looks(claim, smooth)
    seen = looks[0][0]
    comparisons = [compare(claim, look, rows, np.sqrt(x.size)) for look, rows in looks]
    failed = sum(int(np.sum(comparison.off)) for comparison in comparisons)
    verdict.error = float(np.max(comparisons[0].errors))
    coarse = float(np.max(comparisons[0].allowed))
    verdict.witness = seen.method
    numbers.update(agreement=seen.agreement, rtol=max(seen.rtol, coarse))
    if not failed:
        return unless_coarse(verdict, coarse, terms.rtol, "random directions are"), None
    probed = _probe(claim, seen, smooth)
    reference = claim.measured(entries_to_look_at(x.shape, terms.w.shape[1], terms.rng, probed))
    found = by_entries(claim, reference)
    if found.kind == "wrong" or len(reference.entries) == x.size:
        return found, reference
    # Differences may fail by chance where a kink or a pole is near by, but not where the complex
    # step is right.
    sure = seen.method == "complex step" or found.witness == seen.method
    words = (
        f"wrong along {failed} of {DIRECTIONS * len(looks)} random directions, but the wrong "
        f"entries were not found: the {found.numbers['compared']} that were compared are right"
    )
    kind = "wrong" if sure else "undecided"
    numbers = {**found.numbers, "wrong": 0}
    return claim.verdict(kind, words, HINTS[kind], verdict.error, numbers, found.witness), reference


def _looks(claim, smooth):
    """Return derivatives along directions, each with the cotangents and gradients to compare."""
    seen = claim.along(smooth)
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
