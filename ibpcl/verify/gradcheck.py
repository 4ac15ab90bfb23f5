"""Check a hand-written gradient against the forward function it claims to differentiate."""

import contextlib
import inspect
import sys
from dataclasses import replace

import numpy as np

from ibpcl.verify.arguments import check_numbers
from ibpcl.verify.diagnosis.evidence import Evidence, neighbour
from ibpcl.verify.diagnosis.symmetric import mirrored
from ibpcl.verify.diagnosis.uses import inspect_uses
from ibpcl.verify.doors.forms import opened
from ibpcl.verify.judging import judge, kink_verdict
from ibpcl.verify.reports.kinds import HINTS, UNFIT, Finding
from ibpcl.verify.reports.report import InputVerdict, Report
from ibpcl.verify.running import state as form
from ibpcl.verify.running.restoring import State
from ibpcl.verify.witnesses.clock import Clock, TimeUp
from ibpcl.verify.witnesses.contract import breaches
from ibpcl.verify.witnesses.curves import Curves
from ibpcl.verify.witnesses.problem import make_problem

# above this many entries of an input, "auto" looks along random directions
FULL_ENTRIES = 1000
FULL_NUMBERS = 2_000_000  # ... or above this many numbers in its Jacobian
# ... or above this many steps of Python to call the forward once for each entry
FULL_STEPS = 2_000_000
# so that no cotangent equals inputs that the user has drawn with the same seed
STREAM = 20_211
# relative tolerance of a second look at covariances, which are ill-conditioned
COARSE = 1e-5
# by kinds alone, whatever a file under check has put in the place of properties
SOUND = ("ok", "undecided")
# what returns other numbers at every call; its numbers explain nothing
RESTLESS = ("noisy_gradient", "accumulates")
GUARDED = 1e-2  # relative error above which a guard is not small beside the gradient
PATIENCE = 2.0  # seconds after which progress is shown on a terminal


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
    partial=False,
):
    r"""Compare a vector-Jacobian product with independent witnesses, and name what is wrong with
    it.

    .. math:: \bar x = J^\top w, \qquad J = \partial f / \partial x, \quad w \sim N(0, I)

    Parameters
    ----------
    f : callable, object or class
        ``out, cache = f(*inputs)``; ``out`` is an array, a number or a tuple of them.  Code in
        other forms is taken as it is: a forward that returns its output alone, an object with
        ``forward`` and ``backward``, a function that returns ``loss, gradients``.  See the page
        "Checking your code".
    f_vjp : callable, optional
        ``f_vjp(dout, cache)`` returns the gradients of ``sum(dout * out)``: a tuple, a dict by the
        inputs' names, or a bare array if one.  A gradient function of another form is called by the
        names of its parameters.  It is left out for an object and for a function that returns its
        own gradient: ``check(layer, x)``.
    inputs : tuple, list, dict or array
        Where to compare.  A dict gives names; float32 arrays are promoted to float64.  A gradient
        that is right there is compared again near by.  Arrays may lie in nested lists, tuples and
        dicts.
    wrt : sequence of int or str, optional
        The inputs whose gradients ``f_vjp`` returns, in its order; by default all floating-point
        inputs.
    names : sequence of str, optional
        Names of the inputs; by default the parameter names of ``f``.
    rtol : float, optional
        Relative tolerance.  By default 1e-9 with the complex step, 1e-7 with differences, more
        where the forward is ill-conditioned.
    seed : int
        For cotangents and directions.
    mode : {"auto", "full", "directional"}
        Every entry, or random directions (for large inputs and slow forwards; entries are then
        looked at only where it fails).
    candidates : dict of str to array, optional
        Further arrays that a missing term or factor may be made of.
    timeout : float, optional
        Seconds; what has not been reached by then is undecided.
    partial : bool
        Judge the gradients that are there if some are missing, without ``wrt``, instead of raising
        ``ValueError``.

    Returns
    -------
    Report
        ``.verdict`` ("ok", "wrong" or "undecided"), ``.score``, ``.inputs``; printing it gives the
        verdict in words.

    Raises
    ------
    ValueError
        If the number of gradients does not fit the inputs, or ``mode`` is unknown.
    TypeError
        If the pair does not have this form: complex or integer outputs, arguments exchanged, a
        generator returned.

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
    # check(layer, x): there is no gradient function
    if inputs is None and not callable(f_vjp):
        f_vjp, inputs = None, f_vjp
    before = State(*filter(inspect.isroutine, (f, f_vjp)), draws=True)
    pair = opened(f, f_vjp, inputs, wrt, names)
    # a call that finds out the form leaves no traces
    before.restore()
    if pair is not None:
        f = pair.forward
        f_vjp = pair.backward
        inputs = pair.inputs
        names = pair.names
        wrt = pair.wrt
    elif not isinstance(inputs, (tuple, list, dict)):  # one bare array
        inputs = (inputs,)
    report = check_pair(
        f,
        f_vjp,
        inputs,
        wrt,
        names=names,
        rtol=rtol,
        seed=seed,
        mode=mode,
        candidates=candidates,
        timeout=timeout,
        partial=partial,
    )
    report.notes += pair.notes if pair is not None else ()
    return report


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
    partial=False,
):
    """Check a pair that has the standard form already; what it raises is not caught.

    Parameters, Returns and Raises as in :func:`check`.  ``f`` returns ``out, cache``, and
    ``inputs`` is a tuple, a list or a dict of arrays.  Neither function is called to find out its
    form.
    """
    with _progress() as progress:
        problem = make_problem(f, f_vjp, inputs, wrt, names, Clock(timeout, progress), partial)
        report = Report(getattr(f_vjp, "__name__", "f_vjp"), [], numbers={"seed": seed})
        try:
            _check(problem, report, wrt, rtol, seed, mode, candidates)
        except TimeUp as up:
            report.curves.clear()
            for j in problem.wrt[len(report.inputs) :]:
                report.inputs.append(
                    InputVerdict(
                        problem.names[j],
                        "undecided",
                        str(up),
                        "give it more time, or smaller inputs",
                    )
                )
            report.notes.append(f"{up}: what is undecided was not looked at")
    return report


@contextlib.contextmanager
def _progress():
    """Yield what counts the calls of the forward on a terminal, None elsewhere."""
    try:
        terminal = sys.stderr.isatty()
    # absent, closed, or an object of a notebook or a logger
    except (AttributeError, ValueError):
        terminal = False
    if not terminal:
        yield None
        return
    from tqdm import tqdm  # slow to import

    with tqdm(desc="check", unit=" calls", delay=PATIENCE, leave=False, file=sys.stderr) as bar:
        yield bar.update


def _check(problem, report, wrt, rtol, seed, mode, candidates):
    state = State(problem.f, problem.f_vjp)
    drawn = State(problem.f, problem.f_vjp, draws=True)
    form.refuse_outputs(problem.call()[0])
    rng = np.random.default_rng([seed, STREAM])
    w = rng.standard_normal((3, problem.vector().size))
    form.require_gradients(problem, w[0], wrt)
    near = neighbour(problem, rng)
    uses = inspect_uses(problem, w[0], near, state, drawn)
    problem = uses.problem
    found = list(uses.mistakes)
    near = near and replace(near, f=problem.f, renewed=problem.renewed)
    report.problems = list(map(_plain, found))
    report.habits = [_habit(problem, item) for item in uses.habits]
    if found and found[0].kind in UNFIT:
        report.inputs = [
            InputVerdict(problem.names[j], "wrong", "not judged: the forward cannot be checked")
            for j in problem.wrt
        ]
        return
    report.notes = list(
        filter(None, [form.in_native_precision(problem, w[0]), *_blind_spots(problem)])
    )
    truths, verdicts = _judged(problem, problem.wrt, report, w, rng, rtol, mode)
    clean, truths = _forgiven(problem, verdicts, truths, report, w, rng, rtol, mode)
    report.inputs = [verdicts[j] for j in problem.wrt]
    restless = {j for item in found if item.kind in RESTLESS for j in item.inputs}
    wrong = [
        j
        for j, verdict in verdicts.items()
        if verdict.kind not in SOUND and not verdict.words and j not in restless
    ]
    fresh = []
    hidden = {}
    there = None
    if near is not None:
        right = [
            j
            for j, verdict in verdicts.items()
            if verdict.kind == "ok" and np.size(problem.point[j])
        ]
        halves = {j: truth.triangle for j, truth in truths.items() if truth.triangle}
        for j, triangle in halves.items():
            near = near.at(near.with_input(j, mirrored(near.point[j], triangle)))
        there = clean.at(near.point)
        folded = [j for j in right if j in halves]
        hidden, elsewhere = _judged(
            there, [j for j in right if j not in folded], report, w, rng, rtol, "directional"
        )
        for both, found_there in zip(
            (hidden, elsewhere),
            _judged(there, folded, report, w, rng, max(rtol or 0.0, COARSE), "full"),
            strict=True,
        ):
            both.update(found_there)
        there, hidden = _forgiven(there, elsewhere, hidden, report, w, rng, rtol, "directional")
        fresh = [j for j in right if elsewhere[j].kind not in SOUND]
        report.inputs = [elsewhere[j] if j in fresh else verdicts[j] for j in problem.wrt]
    if wrong:
        evidence = Evidence(clean, w, truths, rng, rtol, candidates)
        wrong = _unless_rounded(report, problem, evidence, wrong)
        if wrong:
            _explain(report, problem, evidence, wrong, "")
    stale = (
        form.kept_between_calls(problem.f) + form.kept_between_calls(problem.f_vjp) if fresh else []
    )
    if stale:
        words = (
            f"right at the inputs given first, wrong at others: {', '.join(dict.fromkeys(stale))} "
            "is kept from the first call (stale), not computed anew"
        )
        found.append(Finding("stale", words, inputs=tuple(fresh)))
        report.problems.append(_plain(found[-1]))
    elif fresh:
        prefix = "right at the inputs given, wrong near by (your inputs hide it): "
        named = [j for j in fresh if not elsewhere[j].words]
        for j in set(fresh) - set(named):
            elsewhere[j].words = prefix + elsewhere[j].words
        if named:
            _explain(
                report, there, Evidence(there, w, hidden, rng, rtol, candidates), named, prefix
            )
    _blame(problem, report, found)
    if not found:
        _contract(problem, report, w)
        _at_made_kinks(problem, report, w, rng)
    for j, verdict, gradient in zip(
        problem.wrt, report.inputs, problem.gradients(w[0]), strict=True
    ):
        if (
            np.size(problem.point[j])
            and verdict.kind != "non_finite"
            and gradient is not None
            and np.shape(gradient) == problem.shape(j)
        ):
            curves = report.curves[verdict.name] = Curves(problem, j, w[0], rng)
            verdict.numbers["taylor_slope"] = curves.taylor().slope


def _at_made_kinks(problem, report, w, rng):
    """Judge right gradients at kinks that are made on purpose."""
    right = [j for j, verdict in zip(problem.wrt, report.inputs, strict=True) if verdict.ok]
    if not right:
        return
    from ibpcl.verify.witnesses.probes import at_made_kinks  # reads the source

    for j, (made, bad) in at_made_kinks(problem, right, w[:2], rng).items():
        at = problem.wrt.index(j)
        x = np.asarray(made.point[j])
        verdict = report.inputs[at]
        where = f"right at the inputs given, but for {problem.names[j]} = {x.flat[bad[0]]:g} there "
        report.inputs[at] = kink_verdict(
            verdict.name, x.shape, [bad], verdict.error, {**verdict.numbers, "wrong": 1}, where
        )


def _forgiven(problem, verdicts, truths, report, w, rng, rtol, mode):
    """Judge inputs that are not right once more without the guards of the pair.

    Returns the pair without guards, and what its witnesses found; both as given where there are
    none.  A verdict that the guards explain becomes "ok", with a note, or "undecided" where they
    matter too much.
    """
    inputs = [
        j
        for j, verdict in verdicts.items()
        if not verdict.ok and verdict.kind != "kink" and verdict.numbers.get("compared")
    ]
    if not inputs:
        return problem, truths
    from ibpcl.verify.diagnosis.guards import (  # for gradients that are not right only
        Cleaned,
        in_words,
    )

    cleaned = Cleaned(problem, w[0])
    if cleaned.problem is None:
        return problem, truths
    scrap = Report("", [])
    better_truths, better = _judged(cleaned.problem, inputs, scrap, w, rng, rtol, mode)
    for j, verdict in better.items():
        before = verdicts[j]
        if not verdict.ok:
            if before.kind != "wrong" or verdict.kind == "wrong":
                verdicts[j] = verdict
            continue
        gap = before.error * np.max(
            np.abs(np.asarray(problem.gradients(w[0])[problem.wrt.index(j)])), initial=0.0
        )
        words = in_words(cleaned.that_matter(j, gap))
        if before.error <= GUARDED:
            before.kind = "ok"
            before.words = ""
            before.numbers = {
                **before.numbers,
                "wrong": 0,
                "rtol": max(before.error, before.numbers.get("rtol", 0.0)),
            }
            for key in ("worst", "got", "expected"):
                before.numbers.pop(key, None)
            _add_habit(
                report, problem, Finding("guard", f"right up to {words}", inputs=(j,)), before.error
            )
        else:
            before.kind = "undecided"
            before.hint = HINTS["guard"]
            before.words = (
                f"{words} explains the whole difference, but it is as large as {before.error:.0e} "
                "here"
            )
    return cleaned.problem, {**truths, **better_truths}


def _unless_rounded(report, problem, evidence, wrong):
    """Return the inputs whose gradients are not right up to rounded constants; the others become
    "ok".
    """
    slightly = [j for j in wrong if report.inputs[problem.wrt.index(j)].error <= GUARDED]
    if not slightly:
        return wrong
    from ibpcl.verify.diagnosis.numbers import (  # for gradients that are slightly wrong only
        Numbers,
        rounded,
    )

    for group in [slightly] + ([[j] for j in slightly] if len(slightly) > 1 else []):
        try:
            numbers = rounded(Numbers(evidence, group))
        except Exception:  # a changed function may do anything at all
            numbers = []
        if not numbers:
            continue
        places = " and ".join(
            dict.fromkeys(f"{n.value:.10g} in {n.line.split(':')[0]}" for n in numbers)
        )
        words = (
            f"right up to the rounded {'constants' if len(numbers) > 1 else 'constant'} {places}"
        )
        for j in group:
            verdict = report.inputs[problem.wrt.index(j)]
            verdict.kind = "ok"
            verdict.numbers.update(
                wrong=0, rtol=max(verdict.error, verdict.numbers.get("rtol", 0.0))
            )
            for key in ("worst", "got", "expected"):
                verdict.numbers.pop(key, None)
            _add_habit(report, problem, Finding("guard", words, inputs=(j,)), verdict.error)
        wrong = [j for j in wrong if j not in group]
        if group is slightly:
            break
    return wrong


def _add_habit(report, problem, finding, error):
    """Add a note on a guard, or the input to the note that is there already."""
    for habit in report.habits:
        if habit["kind"] == finding.kind and habit["words"].startswith(finding.words):
            habit["inputs"] = list(
                dict.fromkeys(habit["inputs"] + [problem.names[j] for j in finding.inputs])
            )
            return
    report.habits.append(
        _habit(problem, finding._replace(words=f"{finding.words} (off by {error:.0e})"))
    )


def _contract(problem, report, w):
    """Put what breaks the contract of a vector-Jacobian product first in the verdicts."""
    findings, habits = breaches(problem, w[0])
    report.habits += [_habit(problem, item) for item in habits]
    for item in findings:
        for j in item.inputs:
            verdict = report.inputs[problem.wrt.index(j)]
            if verdict.verdict != "wrong":
                verdict.kind = item.kind
                verdict.hint = item.hint
            verdict.words = f"{item.words}; {verdict.words}".rstrip("; ")


def _habit(problem, finding):
    return {**_plain(finding), "inputs": [problem.names[j] for j in finding.inputs]}


def _judged(problem, inputs, report, w, rng, rtol, mode):
    """Judge inputs at one point: what the witnesses found, and a verdict for each."""
    gradients = [problem.gradients(row) for row in w[:2]]
    truths = {}
    verdicts = {}
    steps = None
    for j in inputs:
        pulled = [part[problem.wrt.index(j)] for part in gradients]
        entries = int(np.prod(problem.shape(j)))
        full = mode == "full"
        if mode == "auto" and entries <= FULL_ENTRIES and entries * w.shape[1] <= FULL_NUMBERS:
            steps = _steps(problem) if steps is None else steps
            full = entries * steps <= FULL_STEPS
            if not full:
                report.notes.append(
                    f"{problem.names[j]}: the forward takes {steps} steps, so random directions "
                    f"stand for its {entries} entries (mode='full' looks at each)"
                )
        verdicts[j] = judge(problem, j, w, pulled, rng, rtol, full, truths)
        report.notes += [
            note for note in verdicts[j].numbers.pop("notes", ()) if note not in report.notes
        ]
    return truths, verdicts


def _steps(problem):
    """Count the lines of Python that a forward call runs: its cost on a slow machine as on a fast
    one.

    A measured time would make the report depend on the machine and on what else it does.
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


def _explain(report, problem, evidence, wrong, prefix):
    """Put the diagnosis into the verdicts; if it fails itself, the verdict stands."""
    from ibpcl.verify.diagnosis.naming import (
        diagnose,  # half of the package, for wrong gradients only
    )

    try:
        findings = diagnose(evidence, wrong)
    except TimeUp:
        findings = {j: Finding("wrong", "wrong; there was no time to find out why") for j in wrong}
    # a failure of ours must not cost the verdict
    except Exception as error:
        findings = {
            j: Finding("wrong", f"wrong; no diagnosis ({type(error).__name__} in the checker)")
            for j in wrong
        }
    for j, finding in findings.items():
        verdict = report.inputs[problem.wrt.index(j)]
        verdict.kind = finding.kind
        verdict.words = prefix + finding.words
        verdict.hint = finding.hint
        if finding.where:
            verdict.numbers["where"] = finding.where
        if finding.factor:
            verdict.numbers["factor"] = dict(
                zip(("relation", "smallest", "largest"), finding.factor, strict=True)
            )


def _plain(finding):
    return {"kind": finding.kind, "words": finding.words, "hint": finding.hint}


def _blame(problem, report, found):
    """Give the inputs that a side effect spoils its name; what else is wrong with their numbers
    stands behind it.
    """
    for item in found:
        for j in item.inputs:
            verdict = report.inputs[problem.wrt.index(j)]
            numbers = (
                f"; its numbers are wrong, too: {verdict.words}"
                if verdict.verdict == "wrong" and verdict.words
                else ""
            )
            verdict.kind = item.kind
            verdict.words = item.words + numbers
            verdict.hint = item.hint


def _blind_spots(problem):
    """Return warnings about inputs at which mistakes can't be seen."""
    notes = []
    for j in problem.wrt:
        x = np.asarray(problem.point[j])
        name = problem.names[j]
        if x.ndim == 2 and x.shape[0] == x.shape[1] > 1 and np.array_equal(x, x.T):
            notes.append(f"{name} is symmetric: a missing transpose can't be seen there")
        elif x.size and np.all(x == 1):
            notes.append(
                f"{name} is 1 everywhere: a missing factor or power of it can't be seen there"
            )
        if 1 in x.shape and x.size > 1:
            axes = ", ".join(str(axis) for axis, n in enumerate(x.shape) if n == 1)
            notes.append(
                f"{name} has size 1 along axis {axes}: a missing sum or mean over it can't be seen"
            )
    return notes


def assert_correct(f, f_vjp, inputs, wrt=None, **options):
    """Run :func:`check` and raise ``AssertionError`` with the report as its text unless everything
    is proved right.

    Returns
    -------
    Report

    Raises
    ------
    AssertionError
        With the text of the report.
    """
    report = check(f, f_vjp, inputs, wrt, **options)
    if not report.ok:
        raise AssertionError("\n" + str(report))
    return report
