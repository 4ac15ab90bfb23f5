"""Name the mistake in a gradient that is wrong: hypotheses in the order of their simplicity."""

from fractions import Fraction

import numpy as np

from ibpcl.verify import shapes
from ibpcl.verify.edits import LATE, edits_of
from ibpcl.verify.kinds import Finding
from ibpcl.verify.repair import Runner, find_edit, suspects
from ibpcl.verify.search import (
    compare,
    factor_edits,
    is_missing_pattern,
    known_arrays,
    step_factor,
    varying_factor,
)
from ibpcl.verify.trace import bracketed

FEW = 1 / 3             # at most this share of wrong entries counts as "a few"


def diagnose(evidence, wrong):
    """Name the mistake for each wrong input.

    Parameters
    ----------
    evidence : Evidence
    wrong : sequence of int
        Positions of the inputs whose gradients are wrong.

    Returns
    -------
    dict of int to Finding
    """
    findings = {}
    for j in wrong:
        findings[j] = _plain_mistake(evidence, j, wrong)
    left = [j for j in wrong if findings[j] is None]
    if left:
        runner = Runner(evidence)
        recorder = runner.record()
        steps = suspects(runner, recorder, wrong) if recorder is not None else []
        edits = [edit for step in steps for edit in edits_of(step, recorder)]
        mended = find_edit(runner, left, [edit for edit in edits if edit.rank < LATE])
        if len(mended) < len(left):
            arrays = known_arrays(evidence, runner)
        for j in left:
            findings[j] = _from_edit(evidence, j, mended[j]) if j in mended else _searched(
                evidence, j, arrays, runner, steps, [edit for edit in edits if edit.rank >= LATE])
    return findings


def _plain_mistake(evidence, j, wrong):
    """Try the mistakes that concern the whole gradient; None if it is none of them."""
    got, shape = evidence.got(j, 0), evidence.problem.shape(j)
    if got is None or got.dtype.kind not in "fiub" or got.shape != shape:
        return Finding(*shapes.wrong_shape(evidence, j))
    bad = ~np.isfinite(got.astype(float))
    if np.any(bad):
        return Finding("non_finite", f"not finite at {bad.sum()} of {got.size} entries, first at "
                       f"{shapes.place(np.flatnonzero(bad)[0], shape)}; the true gradient is finite there")
    if all(not np.any(evidence.got(j, t)) for t in range(len(evidence.trials))):
        return Finding("missing_term", "the gradient is zero everywhere: the whole of it is missing")
    if evidence.explains(j, evidence.each(lambda t: -evidence.got(j, t))):
        return Finding("sign", "the sign is wrong: it is minus the true gradient")
    other = shapes.swapped(evidence, j)
    if other in wrong:
        return Finding("swapped", "gradients of two inputs are swapped: this is the gradient of "
                       f"{evidence.problem.names[other]}")
    for attempt in (_constant, shapes.rearranged, _outputs, shapes.resummed):
        found = attempt(evidence, j)
        if found is not None:
            return Finding(*found)
    return None


def _constant(evidence, j):
    """Find one constant that relates the gradient to the true one in all trials."""
    value, _ = evidence.expected(j, 0)
    known = ~np.isnan(value)
    got = evidence.got(j, 0)
    square = float(np.sum(value[known] ** 2))
    factor = float(np.sum(got[known] * value[known])) / square if square > 0 else 0.0
    if factor == 0 or not evidence.explains(j, evidence.each(lambda t: evidence.got(j, t) / factor)):
        return None
    name, sizes = constant_name(factor), _sizes(evidence, j)
    shape, outputs = evidence.problem.shape(j), evidence.problem.call()[0]
    for n, words in sizes:
        if n > 1 and abs(factor * n - 1) < 1e-6:
            if n not in shape or any(out.shape.count(n) > shape.count(n) for out in outputs):
                return "mean", f"mean where the sum belongs: off by {factor:.4g} (= 1/{n}, {words})"
            return "constant_factor", f"constant factor {factor:.4g} (= 1/{n}, {words}?)"
        if n > 1 and abs(abs(factor) / n - 1) < 1e-6:
            return "constant_factor", f"constant factor {factor:.4g} (= {words}: a sum where a mean belongs?)"
    digits = 4 if abs(factor - 1) > 1e-3 else 12
    return "constant_factor", f"constant factor {factor:.{digits}g}{name}"


def _sizes(evidence, j):
    """Return (number, words) for sizes that a mean may have divided by: outputs' axes, inputs' axes, totals."""
    sizes = []
    for out in evidence.problem.call()[0]:
        sizes += [(n, f"the size of axis {axis} of the output") for axis, n in enumerate(out.shape)]
        sizes.append((out.size, "the size of the output"))
    sizes += [(n, f"the size of axis {axis}") for axis, n in enumerate(evidence.problem.shape(j))]
    sizes.append((int(np.prod(evidence.problem.shape(j))), "the size of this input"))
    for name, value in zip(evidence.problem.names, evidence.problem.point, strict=True):
        sizes += [(n, f"the size of axis {axis} of {name}") for axis, n in enumerate(np.shape(value))]
    return sizes


def constant_name(factor):
    """Return a short name of a constant, such as " (= 1/6)" or " (= 2 pi)"; empty if it has none."""
    for value, name in ((np.pi, "pi"), (np.sqrt(2 * np.pi), "sqrt(2 pi)"), (np.log(2), "log 2"),
                        (np.sqrt(2), "sqrt 2"), (np.e, "e")):
        for power, text in ((1, name), (-1, f"1/{name}")):
            ratio = Fraction(factor / value ** power).limit_denominator(12)
            if ratio != 0 and abs(float(ratio) * value ** power / factor - 1) < 1e-7 and abs(ratio) <= 12:
                return f" (= {text})" if ratio == 1 else f" (= {ratio} * {text})"
    ratio = Fraction(factor).limit_denominator(1000)
    if ratio != 0 and abs(float(ratio) / factor - 1) < 1e-7 and ratio.denominator > 1:
        return f" (= {ratio})"
    return ""


def _outputs(evidence, j):
    weights = shapes.by_output(evidence, j)
    if weights is None:
        return None
    o = int(np.argmax(np.abs(weights - 1)))
    if weights[o] == 0:
        return "missing_term", f"one term missing: what flows back from output {o} is ignored"
    if weights[o] == -1:
        return "sign", f"what flows back from output {o} has the wrong sign"
    return "constant_factor", f"what flows back from output {o} is off by the factor {weights[o]:.4g}" \
        f"{constant_name(weights[o])}"


def _from_edit(evidence, j, edit):
    """Turn a change that mends the gradient into words; a shifted slice that hurts few entries is named so."""
    kind, where = edit.kind, edit.step.line
    few = few_entries(evidence, j)
    if kind in ("shifted", "missing_term", "constant_factor") and few is not None:
        return Finding("few_entries", f"{few}; {edit.words}", where)
    article = {"missing_term": "", "elementwise_factor": "an elementwise factor is wrong: ",
               "summed": "", "constant_factor": "a constant is wrong: "}.get(kind, "")
    return Finding(kind, article + edit.words, where)


def _searched(evidence, j, arrays, runner, steps, late):
    """Try known expressions as factor or term, of the whole gradient and of single steps, the simplest first."""
    linear = _linear(evidence, j)
    match = compare(evidence, j, arrays, most=1) if linear else None
    if match is not None:
        return Finding(*_match_words(*match))
    few = few_entries(evidence, j)
    if few is not None:
        return Finding("few_entries", few)
    other = shapes.swapped(evidence, j)
    if other is not None:
        return Finding("swapped", f"this is the gradient of another input, {evidence.problem.names[other]}")
    inner = find_edit(runner, [j], factor_edits(steps, arrays, runner))
    if j in inner:
        return _from_edit(evidence, j, inner[j])
    match = compare(evidence, j, arrays, most=2) if linear else None
    if match is not None and match[0] != "term":
        return Finding(*_match_words(*match))
    step = step_factor(evidence, j, arrays, runner, steps) if linear else None
    if step is not None:
        kind, words = _match_words(*step[1:])
        return Finding(kind, f"{words}, in `{step[0].label}`", step[0].line)
    inner = find_edit(runner, [j], late)
    if j in inner:
        return _from_edit(evidence, j, inner[j])
    match = compare(evidence, j, arrays, most=3) if linear else None
    return Finding(*(_match_words(*match) if match is not None else _unnamed(evidence, j, linear)))


def _unnamed(evidence, j, linear):
    """Say what can be said of a mistake for which no expression was found."""
    if linear and is_missing_pattern(evidence, j):
        return "missing_term", "one term missing: the gradient is right where it is not zero, but some " \
            "outputs do not flow back to some entries"
    value, _ = evidence.expected(j, 0)
    known = ~np.isnan(value)
    size = np.linalg.norm(value[known])
    ratio = np.linalg.norm(evidence.got(j, 0)[known]) / size if size > 0 else np.inf
    if np.array_equal(evidence.got(j, 0), evidence.got(j, 1)):
        return "elementwise_factor", "the gradient does not depend on dout: the factor dout is missing, if not more"
    if not linear:
        return "wrong", f"wrong everywhere: its norm is {ratio:.3g} times the true one's; it is not linear in dout, " \
            "which every right one is"
    factor = varying_factor(evidence, j)
    if factor is not None and value.size > 1:
        return "elementwise_factor", f"off by a factor that varies from {factor[0]:.3g} to {factor[1]:.3g}, whatever " \
            "the cotangent: a factor is wrong, or a term inside one; no expression known here fits"
    return "wrong", f"wrong everywhere: its norm is {ratio:.3g} times the true one's"


def _match_words(kind, match):
    if match.factors == 0:
        if kind == "term":
            return "missing_term", f"one term missing: what is left over is dout times {match.constant:.6g}"
        factor = match.constant if kind == "extra" else 1 / match.constant
        return "constant_factor", f"constant factor {factor:.6g}{constant_name(factor)}"
    words = match.words
    if abs(match.constant - 1) > 1e-6:
        words = f"-{bracketed(words)}" if abs(match.constant + 1) < 1e-6 else \
            f"{match.constant:.6g} * {bracketed(words)}"
    if kind in ("missing", "extra"):
        inverse = f", or a division by {words} is missing" if kind == "extra" and match.factors == 1 else ""
        return "elementwise_factor", f"an elementwise factor is {kind}: {words}{inverse}"
    return "missing_term", f"one term missing: what is left over is proportional to dout times {words}"


def _linear(evidence, j):
    """Tell whether the gradient is what its own matrix says, that is, linear in the cotangent."""
    if len(evidence.rows()) < evidence.w.shape[1]:
        return True
    claimed, _ = evidence.matrices(j)[0]
    got = np.asarray(evidence.got(j, 0), dtype=float).ravel()[evidence.truth(j).entries[evidence.usable(j)]]
    scale = np.abs(evidence.w[0]) @ np.abs(claimed)
    return bool(np.all(np.abs(evidence.w[0] @ claimed - got) <= 1e-8 * (scale + np.max(scale, initial=0.0))))


def few_entries(evidence, j):
    """Return words on where the gradient is wrong if that is at few entries, else None."""
    value, allowed = evidence.expected(j, 0)
    second, allowed_second = evidence.expected(j, 1)
    known = ~np.isnan(value)
    off = known & ~((np.abs(evidence.got(j, 0) - value) <= allowed)
                    & (np.abs(evidence.got(j, 1) - second) <= allowed_second))
    count, total = int(off.sum()), int(known.sum())
    if total < 3 or count == 0 or count > max(1, FEW * total):
        return None
    gap = np.where(off, np.abs(evidence.got(j, 0) - value), -1)
    words = f"wrong at {count} of {total} entries, worst at {shapes.place(int(np.argmax(gap)), value.shape)}"
    for axis, places in enumerate(np.nonzero(off)):
        if len(set(places.tolist())) == 1 and value.ndim > 1 and count > 1:
            words += f", all at index {places[0]} of axis {axis}"
    return words
