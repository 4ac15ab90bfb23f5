"""Last step of a check: name the mistakes, and test what single gradients do not show."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.comparison import at_kink
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.derivative.contract import breaches
from ibpcl.verify.explain.evidence import Evidence
from ibpcl.verify.reports.kinds import Factor, Finding

# Kinds that are not mistakes. The kind is compared, not a property: a file under check might have
# replaced the property.
NOT_WRONG = ("ok", "undecided")
# Non-deterministic gradients. Their values change from call to call and are not diagnosed further.
NON_DETERMINISTIC = ("noisy_gradient", "accumulates")
ELSEWHERE = "right at the inputs given, wrong near by (your inputs hide it): "


class Conclusion(NamedTuple):
    """The verdicts with the names of mistakes.

    Attributes
    ----------
    verdicts : dict of int to InputVerdict
        The verdicts by position of the input.
    mistakes : list of Finding
        Side effects that change numbers in normal use.
    habits : list of Finding
        Side effects, limits and guards that do not.
    """

    verdicts: dict
    mistakes: list
    habits: list


def conclude(prepared, here, near):
    """Name the mistake in every wrong gradient.

    Parameters
    ----------
    prepared : ibpcl.verify.prepare.Prepared
        The pair.
    here, near : ibpcl.verify.agreement.Agreement
        The verdicts at the given inputs and at the point near by.

    Returns
    -------
    Conclusion
        Verdicts, side effects and notes.
    """
    terms = prepared.terms
    mistakes = list(prepared.mistakes)
    habits = list(prepared.habits)
    fresh = [j for j, verdict in near.verdicts.items() if verdict.kind not in NOT_WRONG]
    verdicts = {
        j: near.verdicts[j] if j in fresh else _tested_again(verdict, j, near, terms)
        for j, verdict in here.verdicts.items()
    }
    unsteady = {j for item in mistakes if item.kind in NON_DETERMINISTIC for j in item.inputs}
    wrong = [j for j in _unnamed(here.verdicts) if j not in unsteady]
    if wrong:
        findings = _findings(Evidence(here.reasons.bare, here.reasons.references, terms), wrong)
        verdicts.update({j: _with(verdicts[j], finding) for j, finding in findings.items()})
    changed = prepared.state.changed() if fresh else []
    stale = [holder.name for holder in changed if not holder.owned]
    if stale:
        words = (
            f"right at the inputs given first, wrong at others: {', '.join(stale)} is kept from "
            "the first call (stale), not computed again"
        )
        mistakes.append(Finding("stale", words, inputs=tuple(fresh)))
    elif fresh:
        unnamed = _unnamed({j: verdicts[j] for j in fresh})
        evidence = Evidence(near.problem, near.references, terms)
        findings = _findings(evidence, unnamed) if unnamed else {}
        for j in fresh:
            verdict = _with(verdicts[j], findings[j]) if j in findings else verdicts[j]
            verdicts[j] = replace(verdict, words=ELSEWHERE + verdict.words)
    for item in mistakes:
        for j in item.inputs:
            verdicts[j] = _blamed(verdicts[j], item)
    return Conclusion(verdicts, mistakes, habits)


def _unnamed(verdicts):
    """Return the inputs with a wrong gradient that has no name yet."""
    return [
        j for j, verdict in verdicts.items() if verdict.kind not in NOT_WRONG and not verdict.words
    ]


def _tested_again(verdict, j, near, terms):
    """Return a verdict without the warning about a zero gradient if it is not zero elsewhere."""
    if not verdict.weak or j not in near.verdicts or near.verdicts[j].kind != "ok":
        return verdict
    there = near.problem
    gradient = there.gradients(terms.w[0])[there.wrt.index(j)]
    return replace(verdict, words="", weak=False) if np.any(gradient) else verdict


def _findings(evidence, wrong):
    """Return the diagnosis by position of the input; if it fails, the mistakes stay unnamed."""
    # imported only for wrong gradients: it loads half of the package
    from ibpcl.verify.explain.naming import diagnose

    try:
        return diagnose(evidence, wrong)
    except TimeUp:
        words = "wrong; no diagnosis within the time limit"
    # an error in the diagnosis must not change the verdict
    except Exception as error:
        words = f"wrong; no diagnosis ({type(error).__name__} in the checker)"
    return {j: Finding("wrong", words) for j in wrong}


def _with(verdict, finding):
    """Return a verdict with the name of its mistake."""
    return replace(
        verdict,
        kind=finding.kind,
        words=finding.words,
        hint=finding.hint,
        where=finding.where,
        factor=finding.factor and Factor(*finding.factor),
        repair=finding.repair,
    )


def _blamed(verdict, finding):
    """Return the verdict on an input that a side effect changes."""
    words = finding.words
    if verdict.verdict == "wrong" and verdict.words:
        words += f"; its numbers are wrong, too: {verdict.words}"
    return replace(verdict, kind=finding.kind, words=words, hint=finding.hint)


def confirm(prepared, verdicts):
    """Test the contract of a vector-Jacobian product, and right gradients at made kinks.

    Both are tested without limits of the gradient.

    Parameters
    ----------
    prepared : ibpcl.verify.prepare.Prepared
        The pair.
    verdicts : dict of int to InputVerdict
        The verdicts so far.

    Returns
    -------
    dict of int to InputVerdict
        The verdicts after these tests.
    """
    return _at_made_kinks(prepared.free, _by_contract(prepared, verdicts), prepared.terms)


def _by_contract(prepared, verdicts):
    """Return verdicts with violations of the contract of a vector-Jacobian product first."""
    verdicts = dict(verdicts)
    for item in breaches(prepared.free, prepared.terms.w[0], prepared.bent):
        for j in item.inputs:
            verdict = verdicts[j]
            words = f"{item.words}; {verdict.words}" if verdict.words else item.words
            if verdict.verdict != "wrong":
                verdict = replace(verdict, kind=item.kind, hint=item.hint)
            verdicts[j] = replace(verdict, words=words)
    return verdicts


def _at_made_kinks(problem, verdicts, terms):
    """Return verdicts in which gradients that are right so far are judged at made kinks."""
    right = [j for j in problem.wrt if verdicts[j].ok]
    if not right:
        return verdicts
    from ibpcl.verify.derivative.probes import at_made_kinks  # reads the source

    verdicts = dict(verdicts)
    for j, (made, bad) in at_made_kinks(problem, right, terms.w[:2], terms.rng).items():
        x = np.asarray(made.point[j])
        words = f"right at the inputs given, but for {problem.names[j]} = {x.flat[bad[0]]:g} there "
        verdict = replace(verdicts[j], numbers={**verdicts[j].numbers, "wrong": 1})
        verdicts[j] = at_kink(verdict, x.shape, [bad], words)
    return verdicts
