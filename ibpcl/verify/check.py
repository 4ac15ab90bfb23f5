"""Check of a hand-written gradient against the forward function that it should differentiate.

The steps are: object -> :class:`~ibpcl.verify.adapters.pair.Pair` -> inputs (:class:`Prepared`) ->
reference derivatives and agreement (:class:`~ibpcl.verify.agreement.Agreement`) -> explanation
(:class:`Explanation`) -> :class:`~ibpcl.verify.reports.report.Report`.
"""

import contextlib
import inspect
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters.expression import kind_of
from ibpcl.verify.adapters.forms import opened
from ibpcl.verify.agreement import Agreement, Terms, at_kink, compared
from ibpcl.verify.arguments import check_numbers
from ibpcl.verify.derivative.clock import Clock, TimeUp
from ibpcl.verify.derivative.contract import breaches, nonlinear_inputs
from ibpcl.verify.derivative.curves import Curves
from ibpcl.verify.derivative.problem import Problem, make_problem
from ibpcl.verify.diagnosis.evidence import Evidence, neighbour
from ibpcl.verify.diagnosis.symmetric import mirrored
from ibpcl.verify.diagnosis.uses import inspect_uses
from ibpcl.verify.reports.kinds import UNFIT, Factor, Finding
from ibpcl.verify.reports.location import defined
from ibpcl.verify.reports.readings import Case, agreed
from ibpcl.verify.reports.report import InputVerdict, Report
from ibpcl.verify.reports.words import Note, sentences
from ibpcl.verify.running import state as form
from ibpcl.verify.running.restoring import State

# Separates the cotangents from inputs that the user has drawn with the same seed.
STREAM = 20_211
# Kinds that are not mistakes. The kind is compared, not a property: a file under check might have
# replaced the property.
NOT_WRONG = ("ok", "undecided")
# Non-deterministic gradients. Their values change from call to call and are not diagnosed further.
NON_DETERMINISTIC = ("noisy_gradient", "accumulates")
# Seconds after which a progress bar appears on a terminal.
PATIENCE = 2.0
ELSEWHERE = "right at the inputs given, wrong near by (your inputs hide it): "


def check(
    f,
    f_vjp=None,
    inputs=None,
    wrt=None,
    *,
    names=None,
    rtol=None,
    seed=0,
    mode="auto",
    candidates=None,
    timeout=None,
    output=None,
):
    r"""Compare a vector-Jacobian product with two numerical derivatives, and diagnose mistakes.

    .. math:: \bar x = J^\top w, \qquad J = \partial f / \partial x, \quad w \sim N(0, I)

    Parameters
    ----------
    f : callable, object or class
        Forward function: ``out, cache = f(*inputs)``, where ``out`` is an array, a number or a
        tuple of them.  Code in other forms is accepted, too: a forward that returns its output
        alone, an object with ``forward`` and ``backward``, a function that returns ``loss,
        gradients``.  The page "Checking your code" lists all forms.
    f_vjp : callable, optional
        Gradient function: ``f_vjp(dout, cache)`` returns the gradients of ``sum(dout * out)`` as a
        tuple, as a dict with the names of the inputs as keys, or as one array if there is one
        input.  A gradient function with other arguments is called according to the names of its
        parameters. Leave it out for an object, and for a function that returns its own gradient:
        ``check(layer, x)``.
    inputs : tuple, list, dict or ndarray
        The inputs of ``f`` at which to compare.  The keys of a dict are their names.  float32
        arrays are converted to float64, and arrays may lie in nested lists, tuples and dicts.  A
        gradient that is right at these inputs is compared once more at slightly different ones.
        Objects of a class that records how they were computed, and models with such parameters,
        are inputs of a function that returns such an object.
    wrt : sequence of int or str, optional
        The inputs whose gradients ``f_vjp`` returns, in its order.  By default, all floating-point
        inputs.
    names : sequence of str, optional
        Names of the inputs.  By default, the parameter names of ``f``.
    rtol : float, optional
        Relative tolerance, at least 0.  By default 1e-9 with the complex step and 1e-7 with
        differences, and more where the forward is ill-conditioned.
    seed : int
        Seed for the random cotangents and directions, at least 0.
    mode : {"auto", "full", "directional"}
        Whether to compare every entry ("full") or derivatives along random directions
        ("directional", for large inputs and slow forwards, where single entries are compared only
        after a direction has failed).  "auto" decides from the size of the input and the cost of
        the forward.
    candidates : dict of str to ndarray, optional
        Further arrays that a missing term or factor might consist of.
    timeout : float, optional
        Time limit in seconds.  Inputs that are not reached in time are undecided.
    output : bool, optional
        Whether the gradient function takes the output of the forward (True), as ``tanh_prime`` may,
        or its input (False).  It is needed only if the names leave both: the verdict is then
        "undecided" unless both readings agree.

    Returns
    -------
    Report
        With ``.verdict`` ("ok", "wrong" or "undecided"), ``.score`` and ``.inputs``.  Printing it
        shows the verdict in words.

    Raises
    ------
    ValueError
        If the number of gradients does not fit the inputs, ``mode`` is unknown, or a number is out
        of its range.
    TypeError
        If the pair cannot be checked: complex or integer outputs, arguments in the wrong order, a
        generator instead of a tuple, or a form that is not recognized.

    Examples
    --------
    >>> report = check(lambda x: (x ** 2, x), lambda dout, x: -2 * x * dout,
    ...     (np.array([1.0, 2.0]),))
    >>> report.ok, report.inputs[0].kind
    (False, 'sign')
    """
    if mode not in ("auto", "full", "directional"):
        raise ValueError(f"check: mode must be 'auto', 'full' or 'directional', got {mode!r}")
    check_numbers(rtol, seed, timeout)
    # check(layer, x), check(loss, model): the second argument holds the inputs
    if inputs is None and (not callable(f_vjp) or kind_of(f_vjp) is not None):
        f_vjp, inputs = None, f_vjp
    before = State(*filter(inspect.isroutine, (f, f_vjp)), draws=True)
    pair = opened(f, f_vjp, inputs, wrt, names, output)
    # Undo side effects of the calls that found the form.
    before.restore()
    options = {
        "rtol": rtol,
        "seed": seed,
        "mode": mode,
        "candidates": candidates,
        "timeout": timeout,
    }
    try:
        if pair is not None:
            return _read(pair, options)
        if not isinstance(inputs, (tuple, list, dict)):  # one bare array
            inputs = (inputs,)
        return check_pair(f, f_vjp, inputs, wrt, names=names, **options)
    finally:
        before.restore(arrays=True)


def _read(pair, options):
    """Return the report on a pair in all its readings."""
    cases = [_case(each, options) for each in (pair, *pair.alternatives)]
    return agreed(cases) if len(cases) > 1 else cases[0].report


def _case(pair, options):
    """Return the report on one reading of a pair; undecided if it is wrong, but has an excuse."""
    report = check_pair(
        pair.forward, pair.backward, pair.inputs, pair.wrt, names=pair.names, **options
    )
    report = replace(
        report,
        notes=[*report.notes, *pair.notes],
        unjudged=[*report.unjudged, *pair.unjudged],
    )
    case = Case(pair.assumed, pair.declare, report)
    for other in pair.excuses if report.verdict == "wrong" else ():
        excused = _case(other, options)
        if excused.report.ok:
            return case._replace(report=agreed([case, excused]))
    return case


def check_pair(
    f,
    f_vjp,
    inputs,
    wrt=None,
    *,
    names=None,
    rtol=None,
    seed=0,
    mode="auto",
    candidates=None,
    timeout=None,
):
    """Check a pair that has the standard form, without looking for other forms.

    Neither function is called to find out its form.  A gradient function that raises is wrong;
    exceptions of the forward are not caught.

    Parameters
    ----------
    f : callable
        Forward function, ``out, cache = f(*inputs)``.
    f_vjp : callable
        Gradient function, ``f_vjp(dout, cache)``.
    inputs : tuple, list or dict of ndarray
        The inputs of ``f`` at which to compare.
    wrt : sequence of int or str, optional
        The inputs whose gradients ``f_vjp`` returns, in its order.  By default, all floating-point
        inputs.
    names : sequence of str, optional
        Names of the inputs.  By default, the parameter names of ``f``.
    rtol : float, optional
        Relative tolerance; chosen by the method and the forward's conditioning if not given.
    seed : int
        Seed for the random cotangents and directions.
    mode : {"auto", "full", "directional"}
        Every entry, random directions, or a choice by size and cost.
    candidates : dict of str to ndarray, optional
        Further arrays that a missing term or factor might consist of.
    timeout : float, optional
        Time limit in seconds.

    Returns
    -------
    Report
        The verdict on each input and on the pair.

    Raises
    ------
    ValueError
        If names, ``wrt``, inputs and gradients do not fit together.
    TypeError
        If the outputs are complex or have no floating-point numbers, or the arguments of ``f_vjp``
        are in the wrong order.
    """
    settings = Settings(wrt, rtol, seed, mode, candidates)
    known = Report(getattr(f_vjp, "__name__", "f_vjp"), [], numbers={"seed": seed})
    known = replace(known, where=defined(f_vjp))
    with _progress() as progress:
        problem = make_problem(f, f_vjp, inputs, wrt, names, Clock(timeout, progress))
        try:
            for report in _reports(problem, settings, known):
                known = report
        except TimeUp as up:
            return _late(known, problem, up)
    return known


@contextlib.contextmanager
def _progress():
    """Yield a function that counts forward calls on a terminal, or None elsewhere."""
    try:
        terminal = sys.stderr.isatty()
    # standard error is missing, closed, or replaced by a notebook or a logger
    except (AttributeError, ValueError):
        terminal = False
    if not terminal:
        yield None
        return
    from tqdm import tqdm  # slow to import

    with tqdm(desc="check", unit=" calls", delay=PATIENCE, leave=False, file=sys.stderr) as bar:
        yield bar.update


class Settings(NamedTuple):
    """The options of a check.

    Attributes
    ----------
    wrt : sequence of int or str, or None
        The inputs that the user has selected.
    rtol : float or None
        Relative tolerance; None for the default.
    seed : int
        Seed for the random cotangents and directions.
    mode : {"auto", "full", "directional"}
        Every entry, random directions, or a choice by size and cost.
    candidates : dict of str to ndarray, or None
        Further arrays that a missing term or factor might consist of.
    """

    wrt: object = None
    rtol: float | None = None
    seed: int = 0
    mode: str = "auto"
    candidates: dict | None = None


def _reports(problem, settings, report):
    """Yield what is known after each step as a report, the last one complete.

    A time limit may end the check after any step.
    """
    state = State(problem.f, problem.f_vjp)
    drawn = State(problem.f, problem.f_vjp, draws=True)
    form.refuse_outputs(problem.call()[0])
    rng = np.random.default_rng([settings.seed, STREAM])
    w = rng.standard_normal((3, problem.vector().size))
    terms = Terms(w, rng, settings.rtol, settings.mode)
    raised = form.require_gradients(problem, w[0], settings.wrt)
    if raised is not None:
        for inputs in _of_raising(problem, raised, terms):
            yield replace(report, inputs=inputs)
        return

    prepared = prepare(problem, terms, state, drawn)
    problem = prepared.problem
    report = replace(
        report,
        problems=_named(problem, prepared.mistakes),
        habits=_named(problem, prepared.habits),
        notes=sentences(prepared.notes),
    )
    yield report
    if prepared.is_unfit:
        words = "not judged: the forward cannot be checked"
        yield replace(report, inputs=_undecided(problem, problem.wrt, words))
        return

    here = agree(prepared, terms)
    notes = [*prepared.notes, *here.agreement.notes]
    verdicts = here.agreement.verdicts
    report = replace(report, inputs=_in_order(problem, verdicts), notes=sentences(notes))
    yield report

    near = agree_elsewhere(prepared, here, terms)
    notes += [*near.agreement.notes, *_blind_spots(problem, near.point)]
    explanation = explain(prepared, here, near, terms, settings.candidates)
    verdicts = explanation.verdicts
    report = replace(
        report,
        inputs=_in_order(problem, verdicts),
        notes=sentences(notes),
        problems=_named(problem, explanation.mistakes),
        habits=_named(problem, explanation.habits),
    )
    yield report

    if not explanation.mistakes:
        verdicts = _at_made_kinks(prepared.free, _by_contract(prepared.free, verdicts, w), terms)
        report = replace(report, inputs=_in_order(problem, verdicts))
        yield report
    curves = _curves(problem, verdicts, w[0], rng)
    slopes = {name: curve.taylor().slope for name, curve in curves.items()}
    inputs = [
        replace(item, numbers={**item.numbers, "taylor_slope": slopes[item.name]})
        if item.name in slopes
        else item
        for item in report.inputs
    ]
    yield replace(report, inputs=inputs, curves=curves)


def _late(report, problem, up):
    """Return what is known when the time is up; inputs without a verdict are undecided."""
    left = problem.wrt[len(report.inputs) :]
    advice = "give it more time, or smaller inputs"
    return replace(
        report,
        inputs=[*report.inputs, *_undecided(problem, left, str(up), advice)],
        notes=[*report.notes, f"{up}: the undecided inputs were not compared"],
    )


def _undecided(problem, inputs, words, hint=""):
    return [InputVerdict(problem.names[j], "undecided", words, hint) for j in inputs]


def _in_order(problem, verdicts):
    return [verdicts[j] for j in problem.wrt]


def _named(problem, findings):
    """Return findings with the names of their inputs instead of positions."""
    return [
        finding._replace(inputs=tuple(problem.names[j] for j in finding.inputs))
        for finding in findings
    ]


class Prepared(NamedTuple):
    """A pair with its inputs, after it has been called in several ways.

    Attributes
    ----------
    problem : Problem
        The pair and the point, called in a way in which its numbers can be judged.
    near : Problem or None
        The pair at a second point.
    mistakes : list of Finding
        Side effects that change numbers in normal use.
    habits : list of Finding
        Side effects and limits that do not.
    notes : list of Note
        Remarks on the inputs.
    limit : tuple of (Problem, Finding) or None
        The pair without limits of its gradient, such as clipping, and the finding on them.
    """

    problem: Problem
    near: Problem | None
    mistakes: list
    habits: list
    notes: list
    limit: tuple | None

    @property
    def is_unfit(self):
        """Whether the forward cannot be checked."""
        return bool(self.mistakes) and self.mistakes[0].kind in UNFIT

    @property
    def free(self):
        """The pair without limits of its gradient."""
        return self.problem if self.limit is None else self.limit[0]


def prepare(problem, terms, state, drawn):
    """Call a pair in several ways: the step before any derivative.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    terms : Terms
        The terms of the comparison.
    state, drawn : State
        The state of the pair before its first call, without and with that of random generators.

    Returns
    -------
    Prepared
        The pair, how it is called, and its side effects.
    """
    w = terms.w[0]
    near = neighbour(problem, terms.rng)
    uses = inspect_uses(problem, w, near, state, drawn)
    problem = uses.problem
    prepared = Prepared(problem, near, list(uses.mistakes), list(uses.habits), [], None)
    if prepared.is_unfit:
        return prepared
    near = near and replace(near, f=problem.f, renewed=problem.renewed)
    notes = [Note(words) for words in [form.in_native_precision(problem, w)] if words]
    limit = None
    if not prepared.mistakes and nonlinear_inputs(problem, w):
        from ibpcl.verify.diagnosis.limits import without_limits  # reads the source

        limit = without_limits(problem, w)
        limit = limit if limit[1] is not None else None
    habits = [*prepared.habits, *([limit[1]] if limit else [])]
    return prepared._replace(near=near, notes=notes, limit=limit, habits=habits)


class Settled(NamedTuple):
    """The agreement at one point, after differences with a known reason are settled.

    Attributes
    ----------
    point : Problem or None
        The pair at this point; None if there is none.
    agreement : Agreement
        The verdicts, and what was measured.
    reasons : ibpcl.verify.diagnosis.reasons.Explained or None
        What the reasons tell about the pair; None if all gradients are right.
    """

    point: Problem | None
    agreement: Agreement
    reasons: object = None


def agree(prepared, terms):
    """Compare all gradients with reference derivatives at the given inputs.

    Parameters
    ----------
    prepared : Prepared
        The pair.
    terms : Terms
        The terms of the comparison.

    Returns
    -------
    Settled
        The verdicts.
    """
    problem = prepared.problem
    agreement = compared(problem, problem.wrt, terms)
    return Settled(problem, agreement, _reasons(problem, agreement, terms, prepared.limit))


def agree_elsewhere(prepared, here, terms):
    """Compare right gradients once more at a point near by, where other mistakes show.

    Parameters
    ----------
    prepared : Prepared
        The pair.
    here : Settled
        The verdicts at the given inputs.
    terms : Terms
        The terms of the comparison.

    Returns
    -------
    Settled
        The verdicts on the gradients that are right at the given inputs.
    """
    near = prepared.near
    if near is None:
        return Settled(None, Agreement({}, {}, []))
    pair = prepared.problem if here.reasons is None else here.reasons.problem
    triangles = {j: truth.triangle for j, truth in here.agreement.truths.items() if truth.triangle}
    for j, triangle in triangles.items():
        near = near.at(near.with_input(j, mirrored(near.point[j], triangle)))
    there = pair.at(near.point)
    right = [
        j
        for j, verdict in here.agreement.verdicts.items()
        if verdict.kind == "ok" and np.size(prepared.problem.point[j])
    ]
    plain = [j for j in right if j not in triangles]
    folded = [j for j in right if j in triangles]
    terms = terms._replace(mode="directional")
    first = compared(there, plain, terms)
    second = compared(there, folded, terms._replace(mode="full"))
    agreement = Agreement(
        {**first.truths, **second.truths},
        {**first.verdicts, **second.verdicts},
        first.notes + second.notes,
    )
    known = {} if here.reasons is None else here.reasons.known
    return Settled(there, agreement, _reasons(there, agreement, terms, None, known))


def _reasons(problem, agreement, terms, limit, known=None):
    """Settle verdicts that are not ok by reasons other than the derivation."""
    if all(verdict.kind == "ok" for verdict in agreement.verdicts.values()):
        return None
    # imported only for gradients that are not right
    from ibpcl.verify.diagnosis import reasons

    return reasons.explain(
        problem, agreement.verdicts, agreement.truths, terms, limit, known=known or {}
    )


class Explanation(NamedTuple):
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


def explain(prepared, here, near, terms, candidates=None):
    """Name the mistake in every wrong gradient.

    Parameters
    ----------
    prepared : Prepared
        The pair.
    here, near : Settled
        The verdicts at the given inputs and at the point near by.
    terms : Terms
        The terms of the comparison.
    candidates : dict of str to ndarray, optional
        Further arrays that a missing term or factor might consist of.

    Returns
    -------
    Explanation
        Verdicts, side effects and notes.
    """
    problem = prepared.problem
    mistakes = list(prepared.mistakes)
    habits = list(prepared.habits)
    elsewhere = near.agreement.verdicts
    fresh = [j for j, verdict in elsewhere.items() if verdict.kind not in NOT_WRONG]
    verdicts = {
        j: elsewhere[j] if j in fresh else _tested_again(verdict, near.point, j, elsewhere, terms)
        for j, verdict in here.agreement.verdicts.items()
    }
    unsteady = {j for item in mistakes if item.kind in NON_DETERMINISTIC for j in item.inputs}
    wrong = [j for j in _unnamed(here.agreement.verdicts) if j not in unsteady]
    if wrong:
        if here.reasons.note:
            habits.append(Finding("guard", here.reasons.note, inputs=tuple(wrong)))
        verdicts.update(_diagnosed(verdicts, here.reasons, terms, candidates, wrong))
    stale = (
        form.kept_between_calls(problem.f) + form.kept_between_calls(problem.f_vjp) if fresh else []
    )
    if stale:
        words = (
            f"right at the inputs given first, wrong at others: {', '.join(dict.fromkeys(stale))} "
            "is kept from the first call (stale), not computed again"
        )
        mistakes.append(Finding("stale", words, inputs=tuple(fresh)))
    elif fresh:
        evidence = Evidence(
            near.point, terms.w, near.agreement.truths, terms.rng, terms.rtol, candidates
        )
        unnamed = [j for j in fresh if not verdicts[j].words]
        findings = _findings(evidence, unnamed) if unnamed else {}
        for j in fresh:
            verdict = _with(verdicts[j], findings[j]) if j in findings else verdicts[j]
            verdicts[j] = replace(verdict, words=ELSEWHERE + verdict.words)
    for item in mistakes:
        for j in item.inputs:
            verdicts[j] = _blamed(verdicts[j], item)
    return Explanation(verdicts, mistakes, habits)


def _unnamed(verdicts):
    """Return the inputs with a wrong gradient that has no name yet."""
    return [
        j for j, verdict in verdicts.items() if verdict.kind not in NOT_WRONG and not verdict.words
    ]


def _tested_again(verdict, there, j, elsewhere, terms):
    """Return a verdict without the warning about a zero gradient if it is not zero elsewhere."""
    if not verdict.weak or j not in elsewhere or elsewhere[j].kind != "ok":
        return verdict
    gradient = there.gradients(terms.w[0])[there.wrt.index(j)]
    return replace(verdict, words="", weak=False) if np.any(gradient) else verdict


def _diagnosed(verdicts, reasons, terms, candidates, wrong):
    """Return verdicts with the names of their mistakes, by position of the input."""
    rest = terms.rng, terms.rtol, candidates
    findings = _findings(Evidence(reasons.bare, terms.w, reasons.truths, *rest), wrong)
    unnamed = [j for j in wrong if findings.get(j, Finding("wrong", "")).kind == "wrong"]
    unguarded = reasons.unguarded() if unnamed else None
    if unguarded is not None:
        pair, note = unguarded
        for j, finding in _findings(Evidence(pair, terms.w, {}, *rest), unnamed).items():
            if finding.kind != "wrong":
                findings[j] = finding._replace(words=finding.words + note)
    return {j: _with(verdicts[j], finding) for j, finding in findings.items()}


def _findings(evidence, wrong):
    """Return the diagnosis by position of the input; if it fails, the mistakes stay unnamed."""
    # imported only for wrong gradients: it loads half of the package
    from ibpcl.verify.diagnosis.naming import diagnose

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


def _of_raising(problem, error, terms):
    """Yield the verdicts on a gradient function that raises, then those with a repair.

    If the repair leaves other gradients wrong, the repaired function is checked for them.
    """
    from ibpcl.verify.diagnosis.raising import repair_of, verdict_on_raising

    yield [verdict_on_raising(problem.names[j], error) for j in problem.wrt]
    try:
        repair = repair_of(problem, error, terms.w, terms.rng, terms.rtol)
    except Exception:  # an error in the diagnosis must not change the verdict
        return
    if repair is None:
        return
    others = {}
    if len(repair.right) < len(problem.wrt):
        repaired = problem.with_gradient(repair.f_vjp)
        settings = Settings(rtol=terms.rtol, mode=terms.mode)
        with contextlib.suppress(Exception):  # the report says enough without it
            *_, second = _reports(repaired, settings, Report("", []))
            others = dict(zip(problem.wrt, second.inputs, strict=True))
    yield [
        verdict_on_raising(problem.names[j], error, repair, j, others.get(j)) for j in problem.wrt
    ]


def _by_contract(problem, verdicts, w):
    """Return verdicts with violations of the contract of a vector-Jacobian product first."""
    verdicts = dict(verdicts)
    for item in breaches(problem, w[0]):
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


def _curves(problem, verdicts, w, rng):
    """Return the curves of the gradients that are finite arrays in the shape of their inputs."""
    return {
        verdicts[j].name: Curves(problem, j, w, rng)
        for j, gradient in zip(problem.wrt, problem.gradients(w), strict=True)
        if np.size(problem.point[j])
        and verdicts[j].kind != "non_finite"
        and gradient is not None
        and np.shape(gradient) == problem.shape(j)
    }


def _blind_spots(problem, near):
    """Return warnings about inputs that hide certain mistakes.

    Right gradients are compared once more at a point nearby. A pattern that the point nearby does
    not have hides nothing.
    """
    notes = []
    for j in problem.wrt:
        x, other = (np.asarray(at.point[j]) for at in (problem, problem if near is None else near))
        name = problem.names[j]
        if (
            x.ndim == 2
            and x.shape[0] == x.shape[1] > 1
            and np.array_equal(x, x.T)
            and np.array_equal(other, other.T)
        ):
            notes.append(Note(f"{name} is symmetric: a missing transpose can't be seen there"))
        elif x.size and np.all(x == 1) and np.all(other == 1):
            words = "is 1 everywhere: a missing factor or power of it can't be seen there"
            notes.append(Note(f"{name} {words}"))
        single = [
            axis for axis, n in enumerate(x.shape) if n == 1 and _is_free(problem, j, x, axis)
        ]
        if single and x.size > 1:
            axes = ", ".join(map(str, single))
            words = f"has size 1 along axis {axes}: a missing sum or mean over it can't be seen"
            notes.append(Note(f"{name} {words}"))
    return notes


def _is_free(problem, j, x, axis):
    """Return whether an axis of size 1 may be longer, and the outputs are then longer as well.

    The size-1 axis of a bias that is added to every row of a batch is not free.
    """
    try:
        with np.errstate(all="ignore"):
            longer = problem.at(problem.with_input(j, np.repeat(x, 2, axis))).vector()
    except Exception:  # a function that needs its shapes may raise anything
        return False
    return longer.size != problem.vector().size


def assert_correct(f, f_vjp, inputs, wrt=None, **options):
    """Run :func:`check` and raise ``AssertionError`` unless every gradient is right.

    Parameters
    ----------
    f : callable, object or class
        Forward function, in any form that :func:`check` accepts.
    f_vjp : callable
        Gradient function.
    inputs : tuple, list, dict or ndarray
        The inputs of ``f`` at which to compare.
    wrt : sequence of int or str, optional
        The inputs whose gradients ``f_vjp`` returns.  By default, all floating-point inputs.
    **options
        Further arguments of :func:`check`, such as ``seed`` and ``rtol``.

    Returns
    -------
    Report
        The report, whose verdict is "ok".

    Raises
    ------
    AssertionError
        If a gradient is wrong or undecided.  The message is the text of the report.
    """
    report = check(f, f_vjp, inputs, wrt, **options)
    if not report.ok:
        raise AssertionError("\n" + str(report))
    return report
