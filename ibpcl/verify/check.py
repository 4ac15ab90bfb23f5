"""Check of a hand-written gradient against the forward function that it should differentiate.

Each step is one function whose result has a name::

    object    opened          -> Pair
    Pair      prepare         -> Prepared       inputs, cotangents, side effects of the calls
    Prepared  agree           -> Agreement      gradients beside reference derivatives
              agree_elsewhere -> Agreement      the same at a point near by
    both      conclude        -> Conclusion     names of the mistakes
    all       _report         -> Report

The steps are in :mod:`~ibpcl.verify.prepare`, :mod:`~ibpcl.verify.agreement` and
:mod:`~ibpcl.verify.conclusion`.
"""

import contextlib
import inspect
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ibpcl.codeview.location import defined
from ibpcl.verify.adapters.expression import kind_of
from ibpcl.verify.adapters.forms import opened
from ibpcl.verify.agreement import agree, agree_elsewhere
from ibpcl.verify.arguments import check_numbers
from ibpcl.verify.conclusion import conclude, confirm
from ibpcl.verify.derivative.clock import Clock, TimeUp
from ibpcl.verify.derivative.curves import Curves
from ibpcl.verify.derivative.problem import Problem, make_problem
from ibpcl.verify.prepare import blind_spots, prepare
from ibpcl.verify.reports.readings import Case, agreed
from ibpcl.verify.reports.report import InputVerdict, Report
from ibpcl.verify.reports.words import sentences
from ibpcl.verify.restoring import State

# Seconds after which a progress bar appears on a terminal.
PATIENCE = 2.0


def check(
    f: Any,
    f_vjp: Any = None,
    inputs: Any = None,
    wrt: Sequence[int | str] | None = None,
    *,
    names: Sequence[str] | None = None,
    rtol: float | None = None,
    seed: int = 0,
    mode: str = "auto",
    candidates: dict[str, Any] | None = None,
    timeout: float | None = None,
    output: bool | None = None,
) -> Report:
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
    """Return the report on a pair in all its readings.

    If the inputs were guessed and the gradient is wrong, it may be right for the inputs that its
    author had in mind, such as a symmetric matrix.  Then the verdict is undecided.
    """
    cases = [_case(each, options) for each in (pair, *pair.alternatives)]
    report = agreed(cases) if len(cases) > 1 else cases[0].report
    for other in pair.special if report.verdict == "wrong" else ():
        elsewhere = _read(other, options)
        if elsewhere.ok:
            declare = "provide the inputs that you mean by check_inputs() or --shape"
            return agreed(
                [Case(pair.guessed, declare, report), Case(other.guessed, declare, elsewhere)]
            )
    return report


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
    late = None
    with _progress() as progress:
        problem = make_problem(f, f_vjp, inputs, wrt, names, Clock(timeout, progress))
        known = Known(problem)
        try:
            for step in _steps(prepare(problem, wrt, rtol, seed, mode, candidates)):
                known = step
        except TimeUp as up:
            late = up
    return _report(known, late, f_vjp, seed)


class Known(NamedTuple):
    """Intermediate result: the verdicts and remarks on a pair after a step of the check.

    Attributes
    ----------
    problem : Problem
        The pair and the point.
    verdicts : dict of int to InputVerdict, or None
        The verdicts by position of the input; None before the first comparison.
    mistakes : sequence of Finding
        Side effects that change numbers in normal use.
    habits : sequence of Finding
        Side effects and limits that do not.
    notes : list of Note
        Remarks that are not mistakes.
    curves : dict of int to Curves, or None
        The curves by position of the input; None before the last step.
    """

    problem: Problem
    verdicts: dict | None = None
    mistakes: tuple = ()
    habits: tuple = ()
    notes: tuple = ()
    curves: dict | None = None


def _steps(prepared):
    """Yield the intermediate result of each step; a time limit may end the check after any step."""
    problem = prepared.problem
    known = Known(problem, None, prepared.mistakes, prepared.habits, prepared.notes)
    yield known
    if prepared.raised is not None:
        for verdicts in _of_raising(prepared):
            yield known._replace(verdicts=verdicts)
        return
    if prepared.is_unfit:
        words = "not judged: the forward cannot be checked"
        yield known._replace(verdicts=_undecided(problem, words))
        return
    here = agree(prepared)
    known = known._replace(verdicts=here.verdicts, notes=(*known.notes, *here.notes))
    yield known
    near = agree_elsewhere(prepared, here)
    notes = (*known.notes, *near.notes, *blind_spots(problem, near.problem))
    known = Known(problem, *conclude(prepared, here, near), notes)
    yield known
    if not known.mistakes:
        known = known._replace(verdicts=confirm(prepared, known.verdicts))
        yield known
    curves = _curves(problem, known.verdicts, prepared.terms.w[0], prepared.terms.rng)
    verdicts = dict(known.verdicts)
    for j, curve in curves.items():
        if (
            curve.comparable and not verdicts[j].ok
        ):  # evidence that a report shows beside a wrong gradient
            numbers = {**verdicts[j].numbers, "taylor_slope": curve.taylor().slope}
            verdicts[j] = replace(verdicts[j], numbers=numbers)
    yield known._replace(verdicts=verdicts, curves=curves)


def _report(known, late, f_vjp, seed):
    """Return the report on a pair; inputs that were not reached in time are undecided."""
    problem = known.problem
    notes = sentences(known.notes)
    verdicts = known.verdicts
    if late is not None:
        notes.append(f"{late}: the undecided inputs were not compared")
        advice = "give it more time, or smaller inputs"
        verdicts = verdicts or _undecided(problem, str(late), advice)
    return Report(
        getattr(f_vjp, "__name__", "f_vjp"),
        [verdicts[j] for j in problem.wrt],
        problems=_named(problem, known.mistakes),
        notes=notes,
        numbers={"seed": seed},
        habits=_named(problem, known.habits),
        curves={verdicts[j].name: curve for j, curve in (known.curves or {}).items()},
        where=defined(f_vjp),
    )


def _undecided(problem, words, hint=""):
    return {j: InputVerdict(problem.names[j], "undecided", words, hint) for j in problem.wrt}


def _named(problem, findings):
    """Return findings with the names of their inputs instead of positions."""
    return [
        finding._replace(inputs=tuple(problem.names[j] for j in finding.inputs))
        for finding in findings
    ]


def _of_raising(prepared):
    """Yield the verdicts on a gradient function that raises, then those with a repair.

    If the repair leaves other gradients wrong, the repaired function is checked for them.
    """
    from ibpcl.verify.explain.raising import repair_of, verdict_on_raising

    problem = prepared.problem
    error = prepared.raised
    terms = prepared.terms
    yield {j: verdict_on_raising(problem.names[j], error) for j in problem.wrt}
    try:
        repair = repair_of(problem, error, terms)
    except Exception:  # an error in the diagnosis must not change the verdict
        return
    if repair is None:
        return
    others = {}
    if len(repair.right) < len(problem.wrt):
        repaired = problem.with_gradient(repair.f_vjp)
        with contextlib.suppress(Exception):  # the report says enough without it
            *_, known = _steps(prepare(repaired, rtol=terms.rtol, mode=terms.mode))
            others = known.verdicts
    yield {
        j: verdict_on_raising(problem.names[j], error, repair, j, others.get(j))
        for j in problem.wrt
    }


def _curves(problem, verdicts, w, rng):
    """Return the curves of all inputs that have entries."""
    curves = {}
    for j, gradient in zip(problem.wrt, problem.gradients(w), strict=True):
        if not problem.size(j):
            continue
        comparable = (
            verdicts[j].kind != "non_finite"
            and gradient is not None
            and np.shape(gradient) == problem.shape(j)
        )
        curves[j] = Curves(problem, j, w, rng, comparable)
    return curves


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
