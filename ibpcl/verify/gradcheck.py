"""Check a hand-written gradient against the forward function it claims to differentiate."""

import numpy as np

from ibpcl.verify.curves import Curves
from ibpcl.verify.diagnosis import HINTS, diagnose, place
from ibpcl.verify.evidence import Evidence
from ibpcl.verify.forward import inspect_pair
from ibpcl.verify.problem import make_problem
from ibpcl.verify.report import InputVerdict, Report
from ibpcl.verify.sampling import entries_to_look_at
from ibpcl.verify.witness import along_directions, kinks, measure

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
        verdict = _judge(problem, j, w, pulled, rng, rtol, full, truths)
        report.inputs.append(verdict)
        report.notes += [note for note in verdict.numbers.pop("notes", ()) if note not in report.notes]
        if not verdict.ok:
            wrong.append(j)
    if wrong:
        for j in problem.wrt:
            if j not in truths:
                truths[j] = measure(problem, j, entries_to_look_at(problem.shape(j), size, rng), rng, rtol)
        findings = diagnose(Evidence(problem, w, truths, rng, rtol, candidates), wrong)
        for j, finding in findings.items():
            verdict = report.inputs[problem.wrt.index(j)]
            verdict.kind, verdict.words, verdict.hint = finding.kind, finding.words, HINTS[finding.kind]
            if finding.where:
                verdict.numbers["where"] = finding.where
    for j, verdict in zip(problem.wrt, report.inputs, strict=True):
        if np.size(problem.point[j]) and verdict.kind not in ("wrong_shape", "non_finite") and _fits(problem, j, gradients):
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


def _judge(problem, j, w, pulled, rng, rtol, full, truths):
    """Return the verdict on one input, with kind ``"ok"`` or ``"wrong"``; the diagnosis comes later."""
    shape, name = problem.shape(j), problem.names[j]
    arrays = [None if g is None else np.asarray(g) for g in pulled]
    if any(g is None or g.dtype.kind not in "fiub" or g.shape != shape for g in arrays):
        return InputVerdict(name, "wrong_shape", "", numbers={"compared": int(np.prod(shape)),
                                                              "wrong": int(np.prod(shape))})
    if not full:
        verdict = _judge_along_directions(problem, j, w, arrays, rng, rtol)
        if verdict is not None:
            return verdict
    entries = np.arange(int(np.prod(shape))) if full else entries_to_look_at(
        shape, w.shape[1], rng, wrong=_probe(problem, j, w[0], arrays[0], rng, rtol))
    truth = truths[j] = measure(problem, j, entries, rng, rtol)
    truth, off, errors, gaps = _compare(problem, j, w, arrays, truth)
    truths[j] = truth
    numbers = {"entries": int(np.prod(shape)), "compared": int(truth.usable.sum()), "wrong": int(off.sum()),
               "kinks": int((~truth.usable).sum()), "witness": truth.method, "rtol": truth.rtol,
               "agreement": truth.agreement, "notes": truth.notes}
    error = float(np.max(errors[truth.usable], initial=0.0))
    if not np.all(np.isfinite(np.concatenate([g.ravel()[entries] for g in arrays])[np.tile(truth.usable, 2)])):
        error = float("inf")
    if not np.any(off):
        if not full:                                    # directions failed, but only because of kinks
            numbers["directional"] = "failed at kinks"
        words = "zero everywhere here, so this proves little: try other inputs" if truth.jacobian.size and not \
            np.any(truth.jacobian) else ""
        return InputVerdict(name, "ok", words, "", error, numbers)
    worst = int(np.argmax(np.where(off, np.nan_to_num(gaps[0], nan=np.inf), -1.0)))
    numbers.update(worst=place(int(truth.entries[worst]), shape), got=float(arrays[0].ravel()[truth.entries[worst]]),
                   expected=float(truth.gradient(w[0])[0][worst]))
    return InputVerdict(name, "wrong", "", "", error, numbers)


def _compare(problem, j, w, arrays, truth):
    """Lay gradient and truth side by side; an entry that fails at a kink is skipped, not blamed."""
    off, errors, gaps = np.zeros(len(truth.entries), dtype=bool), np.zeros(len(truth.entries)), []
    for row, array in zip(w, arrays, strict=False):
        value, scale, allowed = truth.gradient(row)
        gap = np.abs(array.ravel()[truth.entries].astype(float) - value)
        floor = 1e-13 * np.abs(row) @ np.abs(problem.vector()) / (1 + np.max(np.abs(problem.point[j]), initial=0.0))
        off |= ~(gap <= allowed + floor)
        errors = np.maximum(errors, np.where(gap > floor, gap / np.where(scale > 0, scale, 1.0), 0.0))
        gaps.append(gap)
    off &= truth.usable
    suspects = np.flatnonzero(off)
    if 0 < len(suspects):
        usable = truth.usable.copy()
        usable[suspects] &= ~kinks(problem, j, truth.entries[suspects])
        truth = truth._replace(usable=usable)
    return truth, off & truth.usable, errors, gaps


def _judge_along_directions(problem, j, w, arrays, rng, rtol):
    """Return a verdict if the random directions settle it, None if entries must be looked at."""
    error, numbers = 0.0, {}
    for row, array in zip(w, arrays, strict=False):
        compared, method, agreement, trusted = along_directions(problem, j, row, array, rng, rtol)
        if not trusted or not all(abs(c.got - c.expected) <= c.allowed for c in compared):
            return None
        error = max([error] + [abs(c.got - c.expected) / c.scale for c in compared if c.scale > 0])
        numbers = {"entries": array.size, "directions": numbers.get("directions", 0) + len(compared), "compared": 1,
                   "wrong": 0, "kinks": 0, "witness": method, "agreement": agreement}
    return InputVerdict(problem.names[j], "ok", "", "", error, numbers)


def _probe(problem, j, w, gradient, rng, rtol):
    """Return blocks of flat positions in which directional comparisons fail, narrowed down by halving."""
    size = gradient.size

    def fails(start, stop):
        mask = np.zeros(size)
        mask[start:stop] = 1.0
        compared = along_directions(problem, j, w, gradient, rng, rtol, count=1, mask=mask.reshape(gradient.shape))[0]
        return not all(abs(c.got - c.expected) <= c.allowed for c in compared)

    blocks, found = [(0, size)], []
    while blocks and len(found) < 6:
        start, stop = blocks.pop(0)
        if not fails(start, stop):
            continue
        if stop - start <= 16:
            found += range(start, stop)
        else:
            blocks += [(start, (start + stop) // 2), ((start + stop) // 2, stop)]
        if len(blocks) > 16:
            break
    return found
