"""Check a hand-written gradient against the forward function it claims to differentiate."""

import numpy as np

from ibpcl.verify.curves import Curves
from ibpcl.verify.diagnosis import diagnose
from ibpcl.verify.evidence import Evidence
from ibpcl.verify.forward import inspect_pair
from ibpcl.verify.judging import judge
from ibpcl.verify.kinds import HINTS
from ibpcl.verify.problem import make_problem, refuse_without_slope
from ibpcl.verify.report import InputVerdict, Report

FULL_ENTRIES = 1000         # above this many entries of an input, "auto" looks along random directions
FULL_NUMBERS = 2_000_000    # ... or above this many numbers in its Jacobian


def check(f, f_vjp, inputs, wrt=None, *, names=None, rtol=None, seed=0, mode="auto", candidates=None):
    r"""Compare a vector-Jacobian product with independent witnesses and say in words what is wrong with it.

    .. math:: \bar x = J^\top w, \qquad J = \partial f / \partial x, \quad w \sim N(0, I)

    Parameters
    ----------
    f : callable
        ``out, cache = f(*inputs)``; ``out`` is an array, a number or a tuple of them.
    f_vjp : callable
        ``f_vjp(dout, cache)`` returns the gradients of ``sum(dout * out)``: a tuple, or a bare array if one.
    inputs : tuple, list or dict
        Where to compare.  A dict gives names; float32 arrays are promoted to float64.
    wrt : sequence of int or str, optional
        The inputs whose gradients ``f_vjp`` returns, in its order; by default all floating-point inputs.
    names : sequence of str, optional
        Names of the inputs; by default the parameter names of ``f``.
    rtol : float, optional
        Relative tolerance.  By default 1e-9 with the complex step, 1e-7 with differences, more where the
        forward is ill-conditioned.
    seed : int
        For cotangents and directions.
    mode : {"auto", "full", "directional"}
        Every entry, or random directions (for large inputs; entries are then looked at only where it fails).
    candidates : dict of str to array, optional
        Further arrays that a missing term or factor may be made of.

    Returns
    -------
    Report
        ``.ok``, ``.score``, ``.inputs``; printing it gives the verdict in words.

    Raises
    ------
    ValueError
        If the number of gradients does not fit the inputs, or ``mode`` is unknown.

    Examples
    --------
    >>> report = check(lambda x: (x ** 2, x), lambda dout, x: -2 * x * dout, (np.array([1.0, 2.0]),))
    >>> report.ok, report.inputs[0].kind
    (False, 'sign')
    """
    if mode not in ("auto", "full", "directional"):
        raise ValueError(f"check: mode must be 'auto', 'full' or 'directional', got {mode!r}")
    problem = make_problem(f, f_vjp, inputs, wrt, names)
    report = Report(getattr(f_vjp, "__name__", "f_vjp"), [], numbers={"seed": seed})
    refuse_without_slope(problem.call()[0])
    rng = np.random.default_rng(seed)
    size = problem.vector().size
    w = rng.standard_normal((3, size))
    _require_right_count(problem, w[0], wrt)
    found = inspect_pair(problem, w[0])
    report.problems += found.problems
    report.notes += found.notes
    if any(item["kind"] in ("noisy_forward", "non_finite_forward") for item in found.problems):
        report.inputs = [InputVerdict(problem.names[j], "wrong", "not judged: the forward cannot be checked")
                         for j in problem.wrt]
        return report
    gradients = [problem.gradients(row) for row in w[:2]]
    truths, wrong = {}, []
    for position, j in enumerate(problem.wrt):
        pulled = [part[position] for part in gradients]
        entries = int(np.prod(problem.shape(j)))
        full = mode == "full" or (mode == "auto" and entries <= FULL_ENTRIES and entries * size <= FULL_NUMBERS)
        verdict = judge(problem, j, w, pulled, rng, rtol, full, truths)
        report.inputs.append(verdict)
        report.notes += [note for note in verdict.numbers.pop("notes", ()) if note not in report.notes]
        if verdict.numbers.get("kinks") and not verdict.numbers["compared"]:
            report.problems.append({"kind": "only_kinks", "words": f"the forward has a kink at every entry of "
                                    f"{verdict.name}: nothing could be compared", "hint": "move the inputs a little"})
        if not verdict.ok and not verdict.words:
            wrong.append(j)
    if wrong:
        findings = diagnose(Evidence(problem, w, truths, rng, rtol, candidates), wrong)
        for j, finding in findings.items():
            verdict = report.inputs[problem.wrt.index(j)]
            verdict.kind, verdict.words, verdict.hint = finding.kind, finding.words, HINTS[finding.kind]
            if finding.where:
                verdict.numbers["where"] = finding.where
            if finding.factor:
                verdict.numbers["factor"] = dict(zip(("relation", "smallest", "largest"), finding.factor, strict=True))
    for j, verdict in zip(problem.wrt, report.inputs, strict=True):
        if np.size(problem.point[j]) and verdict.kind != "non_finite" and _fits(problem, j, gradients):
            curves = report.curves[verdict.name] = Curves(problem, j, w[0], rng)
            verdict.numbers["taylor_slope"] = curves.taylor().slope
    return report


def assert_correct(f, f_vjp, inputs, wrt=None, **options):
    """Run :func:`check` and raise ``AssertionError`` with the report as its text if anything is wrong.

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


def _fits(problem, j, gradients):
    gradient = gradients[0][problem.wrt.index(j)]
    return gradient is not None and np.shape(gradient) == problem.shape(j)


def _require_right_count(problem, w, wrt):
    count = len(problem.gradients(w))
    chosen = [problem.names[j] for j in problem.wrt]
    if count == len(chosen):
        return
    if wrt is None:
        raise ValueError(f"check: f_vjp returned {count} gradient{'s' * (count != 1)}, but f has {len(chosen)} "
                         f"floating-point inputs ({', '.join(chosen)}); pass wrt=(...) with the names of those that "
                         "f_vjp differentiates, in its order")
    raise ValueError(f"check: wrt names {len(chosen)} inputs ({', '.join(chosen)}), but f_vjp returned {count} "
                     f"gradient{'s' * (count != 1)}")
