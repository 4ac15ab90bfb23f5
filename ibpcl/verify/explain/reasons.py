"""Reasons for a difference that come from how code computes, not from how it was derived.

The verdict is that of the user's code: its gradient is compared with derivatives of its forward as
it is written, and all numbers of the report are those.  If the gradient differs, the pair is run
again without its limits, casts and guards, or with longer constants.  If the gradient is right
then, this explains the whole difference, and the reason stands beside the verdict.

The verdict follows from the relative error at the user's inputs:

- Up to :data:`SINGLE`, it is ok: a program in float32 cannot show the difference.
- Above, it is wrong.
- A guard of at most :data:`SAFETY` is written for safety, and may be no part of the function.  If
  it explains an error of up to :data:`DEBATABLE`, the verdict is undecided: the user can say which
  function is meant.

So ``-log(p + 1e-8)`` with the gradient of ``-log(p)`` is ok at ``p = 0.1`` and undecided at
``p = 1e-4``, and ``-log(p + 1e-3)`` is wrong at both.  A difference without such a reason is wrong
at any size above the tolerance.

A forward that rounds, as with a cast to float32, is a function of steps.  Its differences are
coarse, so they cannot confirm a right gradient.  Such a forward is also measured in float64, which
decides if the differences leave it open.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.problem import is_float
from ibpcl.verify.explain.evidence import Evidence
from ibpcl.verify.explain.guards import Guards
from ibpcl.verify.explain.numbers import Numbers, claims, directions_of, lack, rounded
from ibpcl.verify.reports.kinds import HINTS, Reason

# Eight units in the last place of float32.
SINGLE = 2.0**-20
# Largest guard that is written for safety, and largest difference by it that may be meant.
SAFETY = 1e-6
DEBATABLE = 1e-3
# Differences of a forward that rounds may be off by this much in small entries.  Its gradient may
# be off by DEBATABLE.
ROUNDED = 0.2
# Largest difference that rounded constants of three digits can explain.
LAST_DIGITS = 1e-2
# Two errors that agree to this share are one measurement.
SAME = 0.1
# A choice of guards must explain this share of a difference before every entry is compared.
EXPLAINED = 0.5
# Largest relative change of a number by rounding, and of one that is a difference.
UNCHANGED = 1e-13
BLURRED = 1e-7
# The kind of a wrong gradient by the kind of its reason.
KINDS = {"guard": "guard", "constant": "constant_factor", "limit": "not_linear"}


class Explained(NamedTuple):
    """What the reasons of a pair tell about it.

    Attributes
    ----------
    problem : Problem
        The pair without its limits, and in float64 if the forward rounds.
    known : dict
        For each input with a reason, the pair for which its gradient is right, and the reason.  The
        pair is None for rounded constants.
    bare : Problem
        The pair also without guards that only one of its functions takes into account.  Mistakes
        are named with it.
    references : dict
        The derivatives that were measured for ``bare``, by position of the input.
    note : str
        A sentence on these guards; empty if there are none.
    guards : Guards or None
        All guards of the pair; None if they were not needed.
    """

    problem: object
    known: dict
    bare: object
    references: dict
    note: str = ""
    guards: object = None

    def unguarded(self):
        """Return the pair without any guard, and a note on it; None without guards.

        Values that differ by a guard alone are equal there, such as the two forms of a normalized
        input.
        """
        if self.guards is None or not self.guards.found:
            return None
        pair = self.guards.without(range(len(self.guards.found)))
        return pair and (pair, f" (found without {_named(self.guards.found)})")


def explain(problem, verdicts, references, terms, limit=None, known=None):
    """Find the reasons of gradients that are not right, and settle their verdicts.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    verdicts : dict of int to InputVerdict
        The verdicts on the pair.  Those with a reason are changed.
    references : dict
        The derivatives of the pair, by position of the input.
    terms : ibpcl.verify.agreement.Terms
        How pairs are compared.
    limit : tuple of (Problem, Finding), optional
        The pair without the limits of its gradient, and the note on them.
    known : dict, optional
        Reasons that were found at another point.  There, the size of the difference was judged.

    Returns
    -------
    Explained
    """
    known = known or {}
    result = Explained(problem, {}, problem, dict(references))
    left = [
        j
        for j, verdict in verdicts.items()
        if verdict.kind in ("wrong", "undecided", "kink") and verdict.numbers.get("compared")
    ]
    for j in [j for j in left if j in known]:
        pair, reason = known[j]
        if pair is not None and _is_right(pair.at(problem.point), terms, j):
            settle(verdicts[j], reason, 0.0)
    left = [
        j
        for j in left
        if verdicts[j].kind != "ok" and not _in_single(problem, verdicts[j], j, terms.w)
    ]
    errors = {j: verdicts[j].error for j in left}
    if limit is not None:
        free, finding = limit
        result = result._replace(problem=free, bare=free)
        left = _by_limit(result, verdicts, finding, terms, left, errors)
    if not left:
        return result
    guards = Guards(result.problem, terms.w[0])
    result = result._replace(guards=guards)
    exact = guards.without(guards.casts) if guards.casts else None
    rounding = guards.casts if exact is not None else []
    if exact is not None:
        result = _in_double(result, verdicts, exact, guards, terms, left, errors)
        left = [j for j in left if verdicts[j].kind == "wrong"]
    for j in left:
        along = _along(result.problem, verdicts, [j])
        found = _explaining(result.problem, guards, rounding, terms, j, along)
        if found is not None:
            pair, reason, safe = found
            result.known[j] = pair, reason
            settle(verdicts[j], reason, errors[j], safe)
    left = [j for j in left if j not in result.known]
    left = _by_constants(result, verdicts, terms, left, errors, known)
    return _without_one_sided(result, verdicts, guards, rounding, terms, left)


def _without_one_sided(result, verdicts, guards, rounding, terms, inputs):
    """Return what is known, with a pair to name the mistakes of some inputs with."""
    directions, safe = _along(result.problem, verdicts, inputs)
    try:
        chosen = (
            guards.one_sided(
                lambda pair: claims(pair, terms.w, directions, safe),
                UNCHANGED if len(safe) == len(inputs) else BLURRED,
            )
            if inputs
            else []
        )
    except Exception:  # a modified function may raise anything
        chosen = []
    bare = guards.without([*rounding, *chosen]) if chosen else None
    if bare is None:
        return result
    named = _named([guards.found[n] for n in chosen])
    note = f"the gradient does not fit the guard {named} either; its mistake is named without it"
    return result._replace(bare=bare, references={}, note=note)


def _along(problem, verdicts, inputs):
    """Return directions for some inputs, and those whose forward is right with complex numbers."""
    safe = {j for j in inputs if verdicts[j].witness == "complex step"}
    return directions_of(problem, inputs), safe


def _by_constants(result, verdicts, terms, inputs, errors, known):
    """Settle the verdicts on gradients that rounded constants, such as 3.14, explain.

    Returns the inputs that are left.
    """
    slightly = [j for j in inputs if errors[j] <= LAST_DIGITS]
    if not slightly:
        return inputs
    evidence = Evidence(result.problem, terms.w, result.references, terms.rng, terms.rtol)
    left = list(inputs)
    for group in [slightly] + ([[j] for j in slightly] if len(slightly) > 1 else []):
        if not set(group) <= set(left):
            continue
        try:
            numbers = rounded(Numbers(evidence, group))
        except Exception:  # a modified function may raise anything
            continue
        if not numbers:
            continue
        places = " and ".join(
            dict.fromkeys(f"{number.written} in {number.line.position}" for number in numbers)
        )
        words = (
            f"the {'constants' if len(numbers) > 1 else 'constant'} {places} "
            f"{'are' if len(numbers) > 1 else 'is'} rounded; with more digits, the gradient is "
            "right"
        )
        reason = Reason("constant", words, numbers[0].line)
        for j in group:
            result.known[j] = None, reason
            settle(verdicts[j], reason, 0.0 if j in known else errors[j])
        left = [j for j in left if j not in group]
    return left


def settle(verdict, reason, size, safe=False):
    """Put a reason beside a verdict, and let the size of the difference decide on it.

    Parameters
    ----------
    verdict : InputVerdict
        The verdict on the user's code.  An undecided one stays so.
    reason : Reason
        What explains the whole difference.
    size : float
        Relative error of the gradient at the user's inputs.
    safe : bool
        Whether the reason is a guard that is written for safety.
    """
    verdict.reason = reason
    if verdict.kind != "wrong":
        return
    if size <= SINGLE:
        _accept(verdict, SINGLE)
    elif safe and size <= DEBATABLE:
        verdict.kind = "undecided"
        verdict.words = f"{reason.words}; the difference of {size:.0e} may be meant"
        verdict.hint = (
            "differentiate the guard, too; or, if it is no part of the function, say so with "
            f"check(..., rtol={DEBATABLE:.0e})"
        )
    else:
        verdict.kind = KINDS[reason.kind]
        verdict.words = reason.words
        verdict.hint = HINTS[verdict.kind]
        verdict.where = reason.where


def _accept(verdict, rtol):
    """Turn a verdict into "ok" with a tolerance."""
    verdict.kind = "ok"
    verdict.words = ""
    verdict.hint = ""
    verdict.numbers.update(wrong=0, rtol=max(rtol, verdict.numbers.get("rtol", 0.0)))
    for key in ("worst", "got", "expected"):
        verdict.numbers.pop(key, None)


def _in_single(problem, verdict, j, w):
    """Settle the verdict on a float32 input whose gradient is stored in float32.

    Returns whether float32 explains the difference.
    """
    gradient = np.asarray(problem.gradients(w[0])[problem.wrt.index(j)])
    small = [
        is_float(value) and np.asarray(value).dtype.itemsize < 8
        for value in (problem.native[j], gradient)
    ]
    if not all(small) or verdict.kind != "wrong" or verdict.error > SINGLE:
        return False
    words = f"the gradient is stored in {gradient.dtype}, as the input is"
    settle(verdict, Reason("cast", words), verdict.error)
    return True


def _by_limit(result, verdicts, finding, terms, inputs, errors):
    """Settle the verdicts on gradients that are right without a limit.

    Returns the inputs that are left, whose ``errors`` become those without the limit.
    """
    words = (
        f"the limit in {finding.where.position} acts at these inputs; without it, the gradient is "
        "right"
    )
    reason = Reason("limit", words, finding.where)
    for j, verdict in terms.judged(result.problem, inputs)[1].items():
        if verdict.kind == "ok":
            result.known[j] = result.problem, reason
            settle(verdicts[j], reason, errors[j])
        else:
            errors[j] = verdict.error
    return [j for j in inputs if j not in result.known]


def _in_double(result, verdicts, exact, guards, terms, inputs, errors):
    """Let derivatives in float64 decide on a forward that rounds.

    Parameters
    ----------
    result : Explained
        What is known so far.
    verdicts : dict of int to InputVerdict
        The verdicts on the pair; they change.
    exact : Problem
        The pair without its casts.
    guards : Guards
        The guards of the pair.
    terms : ibpcl.verify.agreement.Terms
        How pairs are compared.
    inputs : list of int
        Positions of inputs that are not right.
    errors : dict of int to float
        Relative errors of their gradients; they change to those in float64.

    Returns
    -------
    Explained
        With the pair in float64 if its casts matter.
    """
    references, again = terms.judged(exact, inputs)
    names = _named([guards.found[n] for n in guards.casts if guards.found[n].side == 0])
    for j, verdict in again.items():
        before = verdicts[j]
        if verdict.kind == "ok":
            reason = Reason("cast", f"the forward rounds ({names}); in float64 it is right")
            result.known[j] = exact, reason
            before.reason = reason
            own = terms.judged(_measured_in_double(exact, result.problem), [j])[1][j].error
            if before.error <= ROUNDED and own <= DEBATABLE:
                _accept(before, before.error)
            else:
                before.kind = "undecided"
                before.words = f"{reason.words}, but as it is, it differs by {before.error:.0e}"
                before.hint = HINTS["undecided"]
        elif verdict.kind == "wrong" and not (
            before.kind == "wrong" and abs(verdict.error - before.error) <= SAME * before.error
        ):
            before.kind = "wrong"
            before.words = before.hint = ""
            before.numbers["wrong"] = verdict.numbers["wrong"]
            # differences that disagree with float64 do not say what the gradient should be
            for key in ("worst", "got", "expected"):
                before.numbers.pop(key, None)
            words = (
                f"the forward rounds ({names}), so its differences are coarse; in float64, the "
                f"gradient is off by {verdict.error:.0e}"
            )
            before.reason = Reason("cast", words)
        errors[j] = verdict.error
    return result._replace(
        problem=exact, bare=exact, references={**result.references, **references}
    )


def _measured_in_double(exact, problem):
    """Return a pair with the outputs of one forward, and the cache of another."""

    def forward(*inputs, **options):
        given = [np.array(v) if isinstance(v, np.ndarray) else v for v in inputs]
        out, cache = exact.f(*given, **options)
        real = not any(map(np.iscomplexobj, (*inputs, *options.values())))
        return out, problem.f(*inputs, **options)[1] if real else cache

    return problem.with_forward(forward)


def _explaining(problem, guards, rounding, terms, j, along):
    """Return what explains the difference of an input by guards, or None.

    Returns the pair without these guards, the reason, and whether they are written for safety.
    """
    size = np.max(np.abs(lack(problem, terms.w, *along)), initial=0.0)
    for chosen in guards.choices():
        pair = guards.without([*rounding, *chosen])
        if pair is None:
            continue
        try:
            remaining = np.max(np.abs(lack(pair, terms.w, *along)), initial=0.0)
        except Exception:  # a modified function may raise anything
            continue
        if remaining <= (1 - EXPLAINED) * size and _is_right(pair, terms, j):
            found = [guards.found[n] for n in chosen]
            return pair, _reason(found), all(guard.value <= SAFETY for guard in found)
    return None


def _is_right(pair, terms, j):
    """Return whether the gradient of an input is right for a pair."""
    return terms.judged(pair, [j])[1][j].kind == "ok"


def _reason(guards):
    """Return the reason that some guards make."""
    names = _named(guards)
    sides = {guard.side for guard in guards}
    shown = " and ".join(dict.fromkeys(f"`{guard.without}`" for guard in guards if guard.without))
    if sides == {1}:
        words = f"without the guard {names}, which the forward does not have, the gradient is right"
    elif sides == {0} and shown:
        words = f"the gradient is that of {shown}: it leaves out the guard {names}"
    elif sides == {0}:
        words = f"the gradient leaves out the guard {names}"
    else:
        words = (
            f"the gradient does not fit the guard of the forward: {names}; without it in both, the "
            "gradient is right"
        )
    return Reason("guard", words, guards[0].line)


def _named(guards):
    """Return the names and lines of guards in words."""
    return " and ".join(dict.fromkeys(f"{guard.name} in {guard.place}" for guard in guards))
