"""Compare the matrix that a wrong gradient implements with the true Jacobian, and name what is between them."""

import numpy as np

from ibpcl.verify.candidates import MOST_PAIRS, Dictionary, placements, pool
from ibpcl.verify.edits import Edit
from ibpcl.verify.problem import is_float
from ibpcl.verify.repair import FAILURES
from ibpcl.verify.trace import Recorder, wrap
from ibpcl.verify.witness import refusals

MOST_NODES = 40
MOST_KNOWN = 25         # arrays that are tried inside single steps
MOST_SUSPECTS = 12
MOST_UNIT_ROWS = 60


def known_arrays(evidence, runner):
    """Return for each point the arrays a mistake may be made of: inputs, cache, outputs, intermediate results.

    Intermediate results that depend on the cotangent are left out: they differ between two cotangents.
    """
    views, intermediate = [], []
    for problem in evidence.problems:
        view = {name: np.asarray(value) for name, value in zip(problem.names, problem.point, strict=True)
                if is_float(value) or isinstance(value, np.ndarray)}
        outputs, several, _ = problem.call()
        view.update({f"out[{o}]" if several else "out": out for o, out in enumerate(outputs)})
        recorder = Recorder()
        with np.errstate(all="ignore"):
            try:
                problem.f(*(wrap(v, recorder, n) if is_float(v) else v
                            for n, v in zip(problem.names, problem.point, strict=True)))
            except (*refusals(), *FAILURES):
                recorder = Recorder()
        views.append(view)
        intermediate.append([(step.label, step.result) for step in recorder.steps[:MOST_NODES]])
    trials = [t for t, (p, _) in enumerate(evidence.trials) if p == 0]
    firsts = [runner.run(t, keep=True)[1] for t in trials]
    others = [runner.run(t, keep=True)[1] for t, (p, _) in enumerate(evidence.trials) if p == 1]
    for name, value in firsts[0].roots.items():
        if not name.startswith("dout"):
            views[0].setdefault(name, value)
            if others:
                views[1].setdefault(name, others[0].roots.get(name))
    fixed = [s for s, r in zip(firsts[0].steps, firsts[1].steps, strict=False)
             if np.array_equal(s.result, r.result, equal_nan=np.asarray(s.result).dtype.kind == "f")]
    for step in fixed[:MOST_NODES]:
        views[0].setdefault(step.label, step.result)
        if others and step.index < len(others[0].steps):
            views[1].setdefault(step.label, others[0].steps[step.index].result)
    for view, nodes in zip(views, intermediate, strict=True):
        for label, value in nodes:
            view.setdefault(label, value)
    return pool(views, evidence.extra)


def compare(evidence, j, arrays, most=3):
    """Look for a factor (A = J h or A h = J) and for a term (J = A + h) of at most ``most`` known functions.

    Returns
    -------
    tuple or None
        ("missing", "extra" or "term"), and the Match: the simplest finding.
    """
    pairs = evidence.matrices(j)
    if not all(np.all(np.isfinite(a)) for a, _ in pairs):
        return None
    free = free_of_cotangent(evidence, j)
    if free and np.any(np.count_nonzero(pairs[0][1], axis=0) > 1):
        return None                                                 # a sum over outputs cannot be seen through
    words, (k, i) = _dictionary(evidence, j, arrays, *(pairs[0][1:] if free else pairs[0]))
    if words is None:
        return None
    claimed, true = [pair[0][k, i] for pair in pairs], [pair[1][k, i] for pair in pairs]
    tolerance = 1e-6 if evidence.truth(j).method == "complex step" else 1e-5
    found = []
    with np.errstate(all="ignore"):
        for kind, goal in (("missing", [t / c for c, t in zip(claimed, true, strict=True)]),
                           ("extra", [c / t for c, t in zip(claimed, true, strict=True)]),
                           ("term", [t - c for c, t in zip(claimed, true, strict=True)])):
            match = words.match(goal, tolerance, most, inverse=kind == "term")
            if match is not None and kind != "term" and match.factors == 0 and abs(match.constant - 1) < tolerance:
                return None                                         # A = J: what is wrong is not in these rows
            if match is not None and not (free and kind == "term"):
                found.append((kind, match))
    found.sort(key=lambda item: (item[1].factors > 0, item[1].complexity))      # stable: a factor before a term
    return found[0] if found else None


def free_of_cotangent(evidence, j):
    """Tell whether the gradient is the same whatever the cotangent."""
    return np.array_equal(evidence.got(j, 0), evidence.got(j, 1))


def _dictionary(evidence, j, arrays, *matrices):
    """Return the known functions at the pairs (k, i) where any of the matrices is not zero, and the pairs."""
    size = sum(np.max(np.abs(m), initial=0.0) for m in matrices)
    k, i = np.nonzero(np.any([np.abs(m) > 1e-13 * size for m in matrices], axis=0))
    if size == 0 or len(k) == 0:
        return None, (k, i)
    if len(k) > MOST_PAIRS:
        chosen = np.sort(np.random.default_rng(0).choice(len(k), MOST_PAIRS, replace=False))
        k, i = k[chosen], i[chosen]
    key = (j, k.tobytes(), i.tobytes())
    if key not in evidence.dictionaries:
        entries = evidence.truth(j).entries[evidence.usable(j)]
        shapes = [np.shape(out) for out in evidence.problem.call()[0]]
        evidence.dictionaries[key] = Dictionary(arrays, shapes, evidence.problem.shape(j),
                                                (evidence.rows()[k], entries[i]))
    return evidence.dictionaries[key], (k, i)


def step_factor(evidence, j, arrays, runner, steps):
    r"""Look for a factor that is missing or extra in one step: (step, "missing" or "extra", Match) or None.

    Doubling the result of a step adds its contribution S to the matrix A.  If the step lacks a factor h, then
    :math:`J - A = S \odot (h - 1)`, which gives h.
    """
    best = None
    pairs = evidence.matrices(j)
    rows = evidence.rows()[:MOST_UNIT_ROWS]
    pairs = [(a[:len(rows)], b[:len(rows)]) for a, b in pairs]
    for step in _covering(evidence, j, runner, steps)[:MOST_SUSPECTS]:
        doubled = [_claimed(evidence, j, runner, p, rows, step.index) for p in range(len(pairs))]
        if any(d is None or d.shape != a.shape for d, (a, _) in zip(doubled, pairs, strict=True)):
            continue
        shares = [d - a for d, (a, _) in zip(doubled, pairs, strict=True)]
        words, (k, i) = _dictionary(evidence, j, arrays, shares[0])
        off = [np.abs(b - a) > 1e-9 * np.max(np.abs(b), initial=0.0) for a, b in pairs]
        if words is None or np.any(off[0] & (np.abs(shares[0]) <= 1e-13 * np.max(np.abs(shares[0])))):
            continue
        with np.errstate(all="ignore"):
            factor = [1 + (b - a)[k, i] / s[k, i] for s, (a, b) in zip(shares, pairs, strict=True)]
            for kind, goal in (("missing", factor), ("extra", [1 / h for h in factor])):
                match = words.match(goal, 1e-6, 2)
                if match is not None and (best is None or match.factors < best[2].factors):
                    best = (step, kind, match)
    return best


def _covering(evidence, j, runner, steps):
    """Return the steps that reach every wrong entry, latest first: only in them can a single mistake be."""
    value, allowed = evidence.expected(j, 0)
    plain, position = evidence.got(j, 0), evidence.problem.wrt.index(j)
    off = np.abs(plain - value) > allowed                           # False where the truth is not known
    found = []
    for step in reversed(steps):
        result, _ = runner.run(0, step.index, _doubled)
        if result is not None and len(result) == len(evidence.problem.wrt) and result[position].shape == plain.shape \
                and np.all(result[position][off] != plain[off]):
            found.append(step)
    return found


def _doubled(compute, operands, options, recorder):
    return 2 * compute(*operands, **options)


def _claimed(evidence, j, runner, p, rows, target):
    """Return the matrix that the gradient function implements when the result of one step is doubled."""
    lines = []
    for row in rows:
        unit = np.zeros(evidence.w.shape[1])
        unit[row] = 1.0
        result, _ = runner.pull_back(p, unit, target, _doubled)
        if result is None or len(result) != len(evidence.problem.wrt):
            return None
        array = result[evidence.problem.wrt.index(j)]
        if array.shape != evidence.problem.shape(j):
            return None
        lines.append(array.ravel())
    return np.stack(lines)[:, evidence.truth(j).entries[evidence.usable(j)]]


def factor_edits(steps, arrays, runner, free=False):
    """Yield edits that multiply a recorded result or operand by a known array, divide it by one, or add one.

    With ``free`` the gradient lacks the cotangent, and perhaps a known array beside it.
    """
    known = [(name, lambda r, n=name: r.roots[n]) for name in runner.cotangents] + \
        [(f"-{name}", lambda r, n=name: -r.roots[n]) for name in runner.cotangents]
    arrays = list(arrays.items())[:MOST_KNOWN]
    if free:
        known += [(f"{sign}{dout} * {name}", lambda r, n=dout, v=values, s=sign: (-1 if s else 1) * r.roots[n] * v[
            runner.point]) for dout in runner.cotangents for name, values in arrays for sign in ("", "-")]
    else:
        known += [(name, lambda r, v=values: v[runner.point]) for name, values in arrays]
    made = {step.label for step in steps}
    for step in steps:
        if np.asarray(step.result).dtype.kind != "f" or step.name == "setitem":
            continue
        for name, value in known:
            if name == step.label:
                continue
            for sign, word in ((1, "missing"), (-1, "extra")):
                yield Edit(0, step, _Result(value, sign), "elementwise_factor",
                           f"the factor `{name}` is {word} in `{step.label}`")
            for sign, word in ((2, "+"), (-2, "-")):
                yield Edit(2, step, _Result(value, sign), "missing_term",
                           f"the term `{word} {name}` is missing after `{step.label}`")
            for at, operand in enumerate(step.operands):
                # What another suspect has made was changed there already.
                simple = isinstance(operand, (int, float, np.ndarray)) and step.labels[at] not in made
                if step.name == "getitem" or not simple or isinstance(operand, bool) or step.labels[at] == name:
                    continue
                for sign, word in ((1, "missing"), (-1, "extra")):
                    yield Edit(1, step, _Result(value, sign, at), "elementwise_factor",
                               f"the factor `{name}` is {word} beside `{step.labels[at]}` in `{step.label}`")
                for sign, word in ((2, "+"), (-2, "-")):
                    yield Edit(3, step, _Result(value, sign, at), "missing_term",
                               f"the term `{word} {name}` is missing beside `{step.labels[at]}` in `{step.label}`")


class _Result:
    """Combine the result of a step, or one of its operands, with a known array.

    ``sign`` is 1 to multiply, -1 to divide, 2 to add, -2 to subtract.
    """

    def __init__(self, value, sign, at=None):
        self.value, self.sign, self.at = value, sign, at

    def __call__(self, compute, operands, options, recorder):
        value = self.value(recorder)
        if self.at is not None:
            changed = self._combined(np.asarray(operands[self.at]), value)
            return compute(*operands[:self.at], changed, *operands[self.at + 1:], **options)
        return self._combined(np.asarray(compute(*operands, **options)), value)

    def _combined(self, array, value):
        if array.ndim > np.ndim(value) > 0:
            value = next(placements(value, array.shape), value)
        return {1: np.multiply, -1: np.divide, 2: np.add, -2: np.subtract}[self.sign](array, value)


def is_missing_pattern(evidence, j):
    """Tell whether the gradient is right where it is not zero, and zero in places where it must not be."""
    claimed, true = evidence.matrices(j)[0]
    size = np.max(np.abs(true), initial=0.0)
    off = np.abs(claimed - true) > 1e-7 * size
    zero_there = np.all(np.abs(claimed[off]) <= 1e-13 * size)
    return bool(np.any(off) and zero_there and not np.all(off[np.abs(true) > 1e-13 * size]))


def varying_factor(evidence, j):
    """Return all A / J where both have the same zeros and each output feeds one entry or the reverse, or None."""
    claimed, true = evidence.matrices(j)[0]
    size = np.max(np.abs(true), initial=0.0)
    live, filled = np.abs(true) > 1e-13 * size, np.abs(claimed) > 1e-13 * size
    if not np.any(live) or np.any(live != filled) or min(live.sum(axis=0).max(), live.sum(axis=1).max()) > 1:
        return None
    return claimed[live] / true[live], claimed[live]
