"""Second step of a check: compare gradients with reference derivatives."""

import sys
from typing import NamedTuple

import numpy as np

from ibpcl.verify.comparison import Claim, by_entries, undecided
from ibpcl.verify.derivative.symmetric import for_symmetric_changes, mirrored
from ibpcl.verify.large_inputs import by_directions
from ibpcl.verify.reports.words import Note

# The mode "auto" uses random directions if an input has more entries than this,
FULL_ENTRIES = 1000
# if its Jacobian has more numbers than this,
FULL_NUMBERS = 2_000_000
# or if one forward call per entry would run more lines of Python than this.
FULL_STEPS = 2_000_000
LEADING_ONES = (
    "right numbers in the shape {got}, but the input has the shape {shape}: an update such as "
    "b -= rate * db broadcasts them as meant, other code may not"
)
KEEPDIMS = "sum with keepdims=True, or reshape the gradient to the shape of its input"
NOT_RETURNED = "return it, or say with wrt (--wrt) which inputs the gradient is for"


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
    candidates : dict of str to ndarray
        The user's own expressions: arrays that a missing factor or term may be made of.
    """

    w: np.ndarray
    rng: np.random.Generator
    rtol: float | None
    mode: str
    candidates: dict

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
        references : dict
            The measured derivatives, by position of the input.
        verdicts : dict of int to InputVerdict
        """
        agreement = compared(pair, inputs, self)
        return agreement.references, agreement.verdicts


class Agreement(NamedTuple):
    """The result of comparing gradients with reference derivatives at one point.

    Attributes
    ----------
    problem : Problem or None
        The pair at this point; None without a point.
    references : dict of int to Reference
        The measured derivatives by position of the input, where single entries were compared.
    verdicts : dict of int to InputVerdict
        The verdicts by position of the input.  Kinds: "ok", "wrong", "undecided", "missing_term",
        "wrong_shape", "kink" and "non_finite".  The diagnosis of a mistake comes later.
    notes : list of Note
        Remarks on the forward, and on what was compared.
    reasons : ibpcl.verify.explain.reasons.Reasons or None
        Reasons of differences other than the derivation; None if all gradients are right.
    """

    problem: object
    references: dict
    verdicts: dict
    notes: list
    reasons: object = None

    @property
    def known(self):
        """The known reasons by position of the input."""
        return {} if self.reasons is None else self.reasons.known


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
        References, verdicts and notes.
    """
    result = Agreement(problem, {}, {}, [])
    if not inputs:
        return result
    gradients = [problem.gradients(row) for row in terms.w[:2]]
    steps = None
    for j in inputs:
        claim = Claim(problem, j, [row[problem.wrt.index(j)] for row in gradients], terms)
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
        result.verdicts[j], reference = _judged(claim, full)
        if reference is not None:
            result.references[j] = reference
            result.notes.extend(reference.notes)
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
    triangles = {
        j: reference.triangle for j, reference in here.references.items() if reference.triangle
    }
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
        {**plain.references, **folded.references},
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

    problem, references, verdicts, *_ = agreement
    return agreement._replace(reasons=explain(problem, verdicts, references, terms, limit, known))


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
    if any(g.dtype.kind not in "fiub" for g in claim.arrays):
        return claim.verdict("wrong_shape", numbers=numbers), None
    shapes = {g.shape for g in claim.arrays}
    if shapes == {shape}:
        return _values_judged(claim, full)
    if all(_lacks_leading_ones(got, shape) for got in shapes):
        reshaped = claim._replace(arrays=[g.reshape(shape) for g in claim.arrays])
        verdict, reference = _values_judged(reshaped, full)
        if verdict.kind == "ok":
            words = LEADING_ONES.format(got=claim.arrays[0].shape, shape=shape)
            return undecided(verdict, words, KEEPDIMS), reference
    return claim.verdict("wrong_shape", numbers=numbers), None


def _lacks_leading_ones(got, shape):
    """Return whether NumPy's broadcasting turns one shape into another by leading axes of one."""
    missing = len(shape) - len(got)
    return missing > 0 and shape == (1,) * missing + got


def _values_judged(claim, full):
    """Return the verdict on gradients of the right shape, and the measured derivatives or None."""
    if not full:
        return by_directions(claim)
    reference = claim.measured(np.arange(claim.x.size))
    name = claim.problem.names[claim.j]
    reference = for_symmetric_changes(reference, claim.x, name, claim.arrays)
    return by_entries(claim, reference), reference
