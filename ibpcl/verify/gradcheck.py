"""Check of a hand-written gradient against the forward function that it should differentiate."""

import contextlib
import inspect
import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters.expression import kind_of
from ibpcl.verify.adapters.forms import opened
from ibpcl.verify.arguments import check_numbers
from ibpcl.verify.derivative.clock import Clock, TimeUp
from ibpcl.verify.derivative.contract import breaches, nonlinear_inputs
from ibpcl.verify.derivative.curves import Curves
from ibpcl.verify.derivative.problem import make_problem
from ibpcl.verify.diagnosis.evidence import Evidence, neighbour
from ibpcl.verify.diagnosis.symmetric import mirrored
from ibpcl.verify.diagnosis.uses import inspect_uses
from ibpcl.verify.judging import judge, kink_verdict
from ibpcl.verify.reports.kinds import UNFIT, Finding
from ibpcl.verify.reports.readings import Case, agreed
from ibpcl.verify.reports.report import InputVerdict, Report
from ibpcl.verify.running import state as form
from ibpcl.verify.running.restoring import State

# The mode "auto" uses random directions if an input has more entries than this,
FULL_ENTRIES = 1000
# if its Jacobian has more numbers than this,
FULL_NUMBERS = 2_000_000
# or if one forward call per entry would run more lines of Python than this.
FULL_STEPS = 2_000_000
# Separates the cotangents from inputs that the user has drawn with the same seed.
STREAM = 20_211
# Kinds that are not mistakes. The kind is compared, not a property: a file under check might have
# replaced the property.
NOT_WRONG = ("ok", "undecided")
# Non-deterministic gradients. Their values change from call to call and are not diagnosed further.
NON_DETERMINISTIC = ("noisy_gradient", "accumulates")
# Seconds after which a progress bar appears on a terminal.
PATIENCE = 2.0


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
    report.notes += pair.notes
    report.unjudged += pair.unjudged
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
    with _progress() as progress:
        problem = make_problem(f, f_vjp, inputs, wrt, names, Clock(timeout, progress))
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
            report.notes.append(f"{up}: the undecided inputs were not compared")
    return report


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


def _check(problem, report, wrt, rtol, seed, mode, candidates):
    state = State(problem.f, problem.f_vjp)
    drawn = State(problem.f, problem.f_vjp, draws=True)
    form.refuse_outputs(problem.call()[0])
    rng = np.random.default_rng([seed, STREAM])
    w = rng.standard_normal((3, problem.vector().size))
    raised = form.require_gradients(problem, w[0], wrt)
    if raised is not None:
        _explain_raised(problem, report, raised, (w, rng, rtol, mode))
        return
    near = neighbour(problem, rng)
    uses = inspect_uses(problem, w[0], near, state, drawn)
    problem = uses.problem
    side_effects = list(uses.mistakes)
    near = near and replace(near, f=problem.f, renewed=problem.renewed)
    report.problems = list(map(_plain, side_effects))
    report.habits = [_habit(problem, item) for item in uses.habits]
    if side_effects and side_effects[0].kind in UNFIT:
        report.inputs = [
            InputVerdict(problem.names[j], "undecided", "not judged: the forward cannot be checked")
            for j in problem.wrt
        ]
        return
    report.notes = list(filter(None, [form.in_native_precision(problem, w[0])]))
    limit = None if side_effects else _limit(problem, report, w[0])
    pair = free = problem if limit is None else limit[0]
    truths, verdicts = _judged(problem, problem.wrt, report, w, rng, rtol, mode)
    known = {}
    if any(verdict.kind != "ok" for verdict in verdicts.values()):
        # imported only for gradients that are not right
        from ibpcl.verify.diagnosis.reasons import explain

        reasons = explain(problem, verdicts, truths, Terms(w, rng, rtol, mode), limit)
        pair = reasons.problem
        known = reasons.known
    report.inputs = [verdicts[j] for j in problem.wrt]
    non_deterministic = {
        j for item in side_effects if item.kind in NON_DETERMINISTIC for j in item.inputs
    }
    wrong = [
        j
        for j, verdict in verdicts.items()
        if verdict.kind not in NOT_WRONG and not verdict.words and j not in non_deterministic
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
        there = pair.at(near.point)
        folded = [j for j in right if j in halves]
        hidden, elsewhere = _judged(
            there, [j for j in right if j not in folded], report, w, rng, rtol, "directional"
        )
        for both, verdicts_there in zip(
            (hidden, elsewhere),
            _judged(there, folded, report, w, rng, rtol, "full"),
            strict=True,
        ):
            both.update(verdicts_there)
        if any(verdict.kind != "ok" for verdict in elsewhere.values()):
            from ibpcl.verify.diagnosis.reasons import explain

            explain(there, elsewhere, hidden, Terms(w, rng, rtol, "directional"), known=known)
        fresh = [j for j in right if elsewhere[j].kind not in NOT_WRONG]
        _tested_elsewhere(there, w[0], [verdicts[j] for j in right if elsewhere[j].ok])
        report.inputs = [elsewhere[j] if j in fresh else verdicts[j] for j in problem.wrt]
    report.notes += _blind_spots(problem, near)
    if wrong:
        if reasons.note:
            note = Finding("guard", reasons.note, inputs=tuple(wrong))
            report.habits.append(_habit(problem, note))
        evidence = Evidence(reasons.bare, w, reasons.truths, rng, rtol, candidates)
        _explain(report, problem, evidence, wrong, "")
        unnamed = [j for j in wrong if verdicts[j].kind == "wrong"]
        unguarded = reasons.unguarded() if unnamed else None
        if unguarded is not None:
            pair, note = unguarded
            evidence = Evidence(pair, w, {}, rng, rtol, candidates)
            _explain(report, problem, evidence, unnamed, "", note)
    stale = (
        form.kept_between_calls(problem.f) + form.kept_between_calls(problem.f_vjp) if fresh else []
    )
    if stale:
        words = (
            f"right at the inputs given first, wrong at others: {', '.join(dict.fromkeys(stale))} "
            "is kept from the first call (stale), not computed again"
        )
        side_effects.append(Finding("stale", words, inputs=tuple(fresh)))
        report.problems.append(_plain(side_effects[-1]))
    elif fresh:
        prefix = "right at the inputs given, wrong near by (your inputs hide it): "
        named = [j for j in fresh if not elsewhere[j].words]
        for j in set(fresh) - set(named):
            elsewhere[j].words = prefix + elsewhere[j].words
        if named:
            _explain(
                report, there, Evidence(there, w, hidden, rng, rtol, candidates), named, prefix
            )
    _blame(problem, report, side_effects)
    if not side_effects:
        _contract(free, report, w)
        _at_made_kinks(free, report, w, rng)
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


def _limit(problem, report, w):
    """Return the pair without limits of its gradient, such as clipping, and note them; or None."""
    if not nonlinear_inputs(problem, w):
        return None
    from ibpcl.verify.diagnosis.limits import without_limits  # reads the source

    free, finding = without_limits(problem, w)
    if finding is None:
        return None
    report.habits.append(_habit(problem, finding))
    return free, finding


def _at_made_kinks(problem, report, w, rng):
    """Judge gradients that are right so far at kinks that are constructed on purpose."""
    right = [j for j, verdict in zip(problem.wrt, report.inputs, strict=True) if verdict.ok]
    if not right:
        return
    from ibpcl.verify.derivative.probes import at_made_kinks  # reads the source

    for j, (made, bad) in at_made_kinks(problem, right, w[:2], rng).items():
        at = problem.wrt.index(j)
        x = np.asarray(made.point[j])
        verdict = report.inputs[at]
        where = f"right at the inputs given, but for {problem.names[j]} = {x.flat[bad[0]]:g} there "
        report.inputs[at] = kink_verdict(
            verdict.name, x.shape, [bad], verdict.error, {**verdict.numbers, "wrong": 1}, where
        )


def _contract(problem, report, w):
    """Put violations of the contract of a vector-Jacobian product first in the verdicts."""
    for item in breaches(problem, w[0]):
        for j in item.inputs:
            verdict = report.inputs[problem.wrt.index(j)]
            if verdict.verdict != "wrong":
                verdict.kind = item.kind
                verdict.hint = item.hint
            verdict.words = f"{item.words}; {verdict.words}".rstrip("; ")


def _habit(problem, finding):
    return {**_plain(finding), "inputs": [problem.names[j] for j in finding.inputs]}


def _judged(problem, inputs, report, w, rng, rtol, mode):
    """Judge inputs at one point; return the measured derivatives and a verdict for each."""
    gradients = [problem.gradients(row) for row in w[:2]]
    truths = {}
    verdicts = {}
    steps = None
    for j in inputs:
        pulled = [row[problem.wrt.index(j)] for row in gradients]
        entries = int(np.prod(problem.shape(j)))
        full = mode == "full"
        if mode == "auto" and entries <= FULL_ENTRIES and entries * w.shape[1] <= FULL_NUMBERS:
            steps = _steps(problem) if steps is None else steps
            full = entries * steps <= FULL_STEPS
            if not full:
                report.notes.append(
                    f"{problem.names[j]}: the forward takes {steps} steps, so random directions "
                    f"replace its {entries} entries (mode='full' compares each entry)"
                )
        verdicts[j] = judge(problem, j, w, pulled, rng, rtol, full, truths)
        notes = truths[j].notes if j in truths else ()
        report.notes += [note for note in notes if note not in report.notes]
    return truths, verdicts


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
        return _judged(pair, inputs, Report("", []), self.w, self.rng, self.rtol, self.mode)


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


def _explain(report, problem, evidence, wrong, prefix, suffix=""):
    """Put the diagnosis into the verdicts; if it fails, leave the verdicts as they are.

    With a suffix, only mistakes that have a name are put there.
    """
    # imported only for wrong gradients: it loads half of the package
    from ibpcl.verify.diagnosis.naming import diagnose

    try:
        findings = diagnose(evidence, wrong)
    except TimeUp:
        findings = {j: Finding("wrong", "wrong; no diagnosis within the time limit") for j in wrong}
    # an error in the diagnosis must not change the verdict
    except Exception as error:
        findings = {
            j: Finding("wrong", f"wrong; no diagnosis ({type(error).__name__} in the checker)")
            for j in wrong
        }
    for j, finding in findings.items():
        if suffix and finding.kind == "wrong":
            continue
        verdict = report.inputs[problem.wrt.index(j)]
        verdict.kind = finding.kind
        verdict.words = prefix + finding.words + suffix
        verdict.hint = finding.hint
        if finding.where:
            verdict.numbers["where"] = finding.where
        if finding.factor:
            verdict.numbers["factor"] = dict(
                zip(("relation", "smallest", "largest"), finding.factor, strict=True)
            )


def _explain_raised(problem, report, error, terms):
    """Judge a gradient function that raises: every input is wrong, and a repair is named.

    If the repair leaves other gradients wrong, the repaired function is checked for them.
    """
    from ibpcl.verify.diagnosis.raising import repair_of, verdict_on_raising

    w, rng, rtol, mode = terms
    report.inputs = [verdict_on_raising(problem.names[j], error) for j in problem.wrt]
    try:
        repair = repair_of(problem, error, w, rng, rtol)
    except Exception:  # an error in the diagnosis must not change the verdict
        return
    if repair is None:
        return
    others = {}
    if len(repair.right) < len(problem.wrt):
        second = Report("", [])
        with contextlib.suppress(Exception):  # the report says enough without it
            _check(problem.with_gradient(repair.f_vjp), second, None, rtol, 0, mode, None)
            others = dict(zip(problem.wrt, second.inputs, strict=True))
    report.inputs = [
        verdict_on_raising(problem.names[j], error, repair, j, others.get(j)) for j in problem.wrt
    ]


def _plain(finding):
    return {"kind": finding.kind, "words": finding.words, "hint": finding.hint}


def _blame(problem, report, side_effects):
    """Label the inputs that a side effect changes, and append other findings."""
    for item in side_effects:
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


def _tested_elsewhere(there, w, verdicts):
    """Remove the warning about a zero gradient if the gradient is right and not zero elsewhere."""
    gradients = dict(zip((there.names[j] for j in there.wrt), there.gradients(w), strict=True))
    for verdict in verdicts:
        if verdict.numbers.pop("zero", False):
            if np.any(gradients[verdict.name]):
                verdict.words = ""
            else:
                verdict.numbers["zero"] = True


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
            notes.append(f"{name} is symmetric: a missing transpose can't be seen there")
        elif x.size and np.all(x == 1) and np.all(other == 1):
            notes.append(
                f"{name} is 1 everywhere: a missing factor or power of it can't be seen there"
            )
        single = [
            axis for axis, n in enumerate(x.shape) if n == 1 and _is_free(problem, j, x, axis)
        ]
        if single and x.size > 1:
            axes = ", ".join(map(str, single))
            notes.append(
                f"{name} has size 1 along axis {axes}: a missing sum or mean over it can't be seen"
            )
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
