"""Compare the matrix that a wrong gradient implements with the true Jacobian, and name what is between them."""

import numpy as np

from ibpcl.verify.candidates import MOST_PAIRS, Dictionary, pool
from ibpcl.verify.edits import Edit
from ibpcl.verify.problem import is_float
from ibpcl.verify.repair import FAILURES
from ibpcl.verify.trace import Recorder, wrap
from ibpcl.verify.witness import refusals

MOST_NODES = 40


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
    for view, nodes in zip(views, intermediate, strict=True):
        for label, value in nodes:
            view.setdefault(label, value)
    fixed = [s for s, r in zip(firsts[0].steps, firsts[1].steps, strict=False)
             if np.array_equal(s.result, r.result, equal_nan=np.asarray(s.result).dtype.kind == "f")]
    for step in fixed[:MOST_NODES]:
        views[0].setdefault(step.label, step.result)
        if others and step.index < len(others[0].steps):
            views[1].setdefault(step.label, others[0].steps[step.index].result)
    return pool(views, evidence.extra)


def compare(evidence, j, arrays):
    """Look for a factor (A = J h or A h = J) and for a term (J = A + h); return the simplest finding or None.

    Returns
    -------
    tuple or None
        ("missing" or "extra" factor, or "term"), and the Match.
    """
    pairs = evidence.matrices(j)
    claimed, true = pairs[0]
    size = np.max(np.abs(true), initial=0.0) + np.max(np.abs(claimed), initial=0.0)
    if size == 0 or not all(np.all(np.isfinite(a)) for a, _ in pairs):
        return None
    here = (np.abs(true) > 1e-13 * size) | (np.abs(claimed) > 1e-13 * size)
    k, i = np.nonzero(here)
    if len(k) > MOST_PAIRS:
        chosen = np.sort(np.random.default_rng(0).choice(len(k), MOST_PAIRS, replace=False))
        k, i = k[chosen], i[chosen]
    truth = evidence.truth(j)
    entries = truth.entries[truth.usable]
    shapes = [np.shape(out) for out in evidence.problem.call()[0]]
    words = Dictionary(arrays, shapes, evidence.problem.shape(j), (evidence.rows()[k], entries[i]))
    a, true = [pair[0][k, i] for pair in pairs], [pair[1][k, i] for pair in pairs]
    tolerance = 1e-6 if truth.method == "complex step" else 1e-5
    found = []
    with np.errstate(all="ignore"):
        for kind, goal in (("missing", [t / c for c, t in zip(a, true, strict=True)]),
                           ("extra", [c / t for c, t in zip(a, true, strict=True)]),
                           ("term", [t - c for c, t in zip(a, true, strict=True)]),
                           ("term of it", [(t - c) / c for c, t in zip(a, true, strict=True)])):
            match = words.match(goal, tolerance)
            if match is not None:
                found.append((kind, match))
    found.sort(key=lambda item: item[1].factors + (0.5 if item[0].startswith("term") else 0))
    return found[0] if found else None


def factor_edits(runner, recorder, arrays):
    """Yield edits that multiply one recorded result by a known array, divide it by one, or add one."""
    for step in recorder.steps:
        if not isinstance(step.result, (np.ndarray, np.generic)) or np.asarray(step.result).dtype.kind != "f":
            continue
        shape = np.shape(step.result)
        for name, values in arrays.items():
            try:
                if np.broadcast_shapes(values[0].shape, shape) != shape or name == step.label:
                    continue
            except ValueError:                      # shapes do not broadcast
                continue
            for sign, word in ((1, "missing"), (-1, "extra")):
                yield Edit(0, step, _Scale(values, sign, runner), "elementwise_factor",
                           f"the factor `{name}` is {word} in `{step.label}`")
            yield Edit(1, step, _Scale(values, 0, runner), "missing_term",
                       f"the term `{name}` is missing in `{step.label}`")


class _Scale:
    """Multiply, divide by, or add a known array, taking its value at the point of the trial that runs."""

    def __init__(self, values, sign, runner):
        self.values, self.sign, self.runner = values, sign, runner

    def __call__(self, compute, operands, options, recorder):
        value = self.values[self.runner.point]
        result = compute(*operands, **options)
        return result * value if self.sign > 0 else result / value if self.sign < 0 else result + value


def is_missing_pattern(evidence, j):
    """Tell whether the gradient is right where it is not zero, and zero in places where it must not be."""
    claimed, true = evidence.matrices(j)[0]
    size = np.max(np.abs(true), initial=0.0)
    off = np.abs(claimed - true) > 1e-7 * size
    zero_there = np.all(np.abs(claimed[off]) <= 1e-13 * size)
    return bool(np.any(off) and zero_there and not np.all(off[np.abs(true) > 1e-13 * size]))
