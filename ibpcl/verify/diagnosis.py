"""Name the mistake in a gradient that is wrong: hypotheses in the order of their simplicity."""

import numpy as np

from ibpcl.verify import shapes
from ibpcl.verify.edits import LATE, edits_of
from ibpcl.verify.joint import joint_edits
from ibpcl.verify.kinds import Finding
from ibpcl.verify.repair import Runner, find_edit, suspects
from ibpcl.verify.search import compare, factor_edits, free_of_cotangent, known_arrays, step_factor
from ibpcl.verify.wording import constant_name, match_words, unnamed

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
    left = [j for j in wrong if findings[j] is None or findings[j].kind == "wrong_shape"]
    if left:
        runner = Runner(evidence)
        recorder = runner.record()
        steps = suspects(runner, recorder, wrong) if recorder is not None else []
        edits = [edit for step in steps for edit in edits_of(step, recorder)]
        mended = find_edit(runner, left, [edit for edit in edits if edit.rank < LATE])
        late = [edit for edit in edits if edit.rank >= LATE] + (list(joint_edits(steps, recorder)) if recorder else [])
        unknown = [j for j in left if j not in mended and findings[j] is None]
        arrays = known_arrays(evidence, runner) if unknown else {}
        searched = _searched(evidence, unknown, arrays, runner, steps, late)
        for j in left:
            if j in mended:
                findings[j] = _from_edit(evidence, j, mended[j], findings[j])
            elif j in searched:
                findings[j] = searched[j]
            else:
                findings[j] = _of_another_shape(evidence, j, findings[j])
    return findings


def _of_another_shape(evidence, j, finding):
    """Look at a gradient that broadcasts to the shape of its input as if it had been written in full."""
    got, shape = evidence.got(j, 0), evidence.problem.shape(j)
    if got is None or got.dtype.kind != "f" or got.ndim > len(shape) or not all(
            a in (1, b) for a, b in zip(reversed(got.shape), reversed(shape), strict=False)):
        return finding
    full = evidence.broadcast(j)
    if full.explains(j, full.each(lambda t: full.got(j, t))):
        return finding                                  # nothing is wrong but the shape
    inner = diagnose(full, [j])[j]
    return finding if inner.kind in ("wrong", "wrong_shape") else inner._replace(
        words=f"{inner.words}; {finding.words}")


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
    if evidence.explains(j, evidence.each(lambda t: evidence.got(j, t))):
        few = few_entries(evidence, j)                  # so little is off that every hypothesis would fit
        return Finding("few_entries", few) if few else unnamed(evidence, j, True)
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
            minus, turned = ("minus ", "; the sign is wrong too") if factor < 0 else ("", "")
            return "constant_factor", f"constant factor {factor:.4g} (= {minus}{words}: a sum where a mean belongs?)" \
                f"{turned}"
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


def _from_edit(evidence, j, edit, wrong_shape=None):
    """Turn a change that mends the gradient into words; a shifted slice that hurts few entries is named so."""
    kind, where = edit.kind, edit.step.line
    if wrong_shape is not None:
        return Finding(kind, f"{edit.words}; {wrong_shape.words}", where)
    few = few_entries(evidence, j)
    if kind in ("shifted", "missing_term", "constant_factor") and few is not None:
        return Finding("few_entries", f"{few}; {edit.words}", where)
    article = {"missing_term": "", "elementwise_factor": "an elementwise factor is wrong: ",
               "summed": "", "constant_factor": "a constant is wrong: "}.get(kind, "")
    return Finding(kind, article + edit.words, where)


def _searched(evidence, inputs, arrays, runner, steps, late):
    """Look further where no change of a single operation mends the gradients: what is simple and certain first.

    A change is tried on all inputs at once, since to make it is what takes the time.
    """
    found, matches = {}, {}

    def mend(left, edits):
        if left:
            found.update({j: _from_edit(evidence, j, edit) for j, edit in find_edit(runner, left, edits).items()})

    for j in inputs:
        matches[j] = compare(evidence, j, arrays, most=1) if _linear(evidence, j) else None
        few = few_entries(evidence, j)
        if matches[j] is not None and (matches[j][0] != "term" or matches[j][1].complexity < 2):
            found[j] = match_words(*matches[j])
        elif few is not None:
            found[j] = Finding("few_entries", few)
    for free in (False, True):
        mend([j for j in inputs if j not in found and free_of_cotangent(evidence, j) == free],
             factor_edits(steps, arrays, runner, free))
    for j in inputs:
        if j not in found and matches[j] is not None:
            step, *located = step_factor(evidence, j, arrays, runner, steps) or (None, None)
            found[j] = match_words(*matches[j]) if step is None or located[1].factors else _in_step(located, step)
    mend([j for j in inputs if j not in found], late)
    return {j: found[j] if j in found else _composed(evidence, j, arrays, runner, steps) for j in inputs}


def _composed(evidence, j, arrays, runner, steps):
    """Look for a factor or a term of two or three known functions, in the whole gradient or in one step."""
    linear, free = _linear(evidence, j), free_of_cotangent(evidence, j)
    match = compare(evidence, j, arrays, most=2) if linear or free else None
    if match is not None and (free or (match[0] != "term" and match[1].complexity < 3)):
        return match_words(*match, free)
    if not linear:
        return unnamed(evidence, j, linear)
    step, *located = step_factor(evidence, j, arrays, runner, steps) or (None, None)
    found = [pair for pair in (match, located if step else None, compare(evidence, j, arrays, most=3)) if pair]
    if not found:
        return unnamed(evidence, j, linear)
    best = min(found, key=lambda pair: pair[1].complexity)          # the first of equals
    return _in_step(best, step) if best is located else match_words(*best)


def _in_step(match, step):
    found = match_words(*match)
    return found._replace(words=f"{found.words}, in `{step.label}`", where=step.line)


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
    (off, known), value = evidence.off(j), evidence.expected(j, 0)[0]
    count, total = int(off.sum()), int(known.sum())
    if total < 3 or count == 0 or count > max(1, FEW * total):
        return None
    gap = np.where(off, np.abs(evidence.got(j, 0) - value), -1)
    words = f"wrong at {count} of {total} entries, worst at {shapes.place(int(np.argmax(gap)), value.shape)}"
    for axis, places in enumerate(np.nonzero(off)):
        if len(set(places.tolist())) == 1 and value.ndim > 1 and count > 1:
            words += f", all at index {places[0]} of axis {axis}"
    return words
