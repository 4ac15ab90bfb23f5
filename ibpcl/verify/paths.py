r"""Find the path that a gradient leaves out, by holding single values of the forward constant.

A gradient that forgets a path (a mean taken as a constant, a second use of a shared parameter, the state of earlier
steps) is the right gradient of *another* forward: one in which some value does not move with the input.  The forward
is run with its values watched (:mod:`ibpcl.verify.source`); if holding the value of one place at what it was takes
away exactly what the gradient lacks,

.. math:: \langle g - \bar x, v \rangle = c \, \bigl(\langle \bar x, v \rangle - D_v f_{\text{held}}\bigr),
          \qquad c = -1,

for two directions :math:`v` in every trial, that place is where the path was lost.  With :math:`c = -2` the path has
the wrong sign, with :math:`c = 1` it was counted twice.
"""

import ast
import inspect
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from ibpcl.verify.bench import affordable
from ibpcl.verify.differences import central, complex_step, first_step, random_direction
from ibpcl.verify.kinds import Finding
from ibpcl.verify.source import Code, is_array

MOST_PLACES = 150
MOST_PAIRS = 150
SECONDS = 1.0           # that the search may take, about
TIGHT = 3e-6            # relative agreement; differences give eight digits or so
WAYS = {"": lambda n, last: True, "in all steps but the last": lambda n, last: n < last,
        "in all steps but the first": lambda n, last: n > 0, "in the last step": lambda n, last: n == last,
        "in the first step": lambda n, last: n == 0}


class Forward:
    """The forward with its values watched, at both points.

    Parameters
    ----------
    evidence : Evidence

    Raises
    ------
    ValueError
        If there is no source, or running it again does not repeat the forward.
    """

    def __init__(self, evidence):
        self.evidence, self.code = evidence, Code(inspect.unwrap(evidence.problem.f))
        self.make = self.code.watched()
        self.recorded, self.point = [], 0
        for problem in evidence.problems:
            values = {}

            def hook(place, value, scope, values=values):
                values.setdefault(place, []).append(np.array(value) if is_array(value) else None)
                return value

            again = replace(problem, f=self.make(hook)).vector()
            if not np.allclose(again, problem.vector(), rtol=1e-12, atol=0, equal_nan=True):
                raise ValueError("the forward does not repeat itself")
            self.recorded.append(values)
        executed = sum(len(values) for values in self.recorded[0].values())
        self.left = affordable(SECONDS, executed, 0.0)       # runs
        self.holding, self.way = (), WAYS[""]
        self.held = self.make(self._hold)
        self.calls = {}

    def places(self):
        """Return the numbers of the places that hold numbers that may move, each with its number of calls."""
        first = self.recorded[0]
        found = [n for n, place in enumerate(self.code.places) if place.watched and place.inside == "formula"
                 and any(value is not None and value.size for value in first.get(n, ()))]
        return found[:MOST_PLACES]

    def _hold(self, place, value, scope):
        if place not in self.holding:
            return value
        n = self.calls.get(place, 0)
        self.calls[place] = n + 1
        known = self.recorded[self.point].get(place, ())
        if n >= len(known) or known[n] is None or not self.way(n, len(known) - 1) \
                or np.shape(known[n]) != np.shape(value):
            return value
        return known[n].copy() if isinstance(value, np.ndarray) else known[n][()]

    def derivative(self, t, j, v, holding=(), way=WAYS[""]):
        """Return the derivative of trial ``t`` along ``v`` with some places held; None where it can't be had."""
        p, row = self.evidence.trials[t]
        self.left -= 1
        self.holding, self.way, self.point = holding, way, p
        problem = replace(self.evidence.problems[p], f=self.held)

        def func(value):
            self.calls = {}
            return problem.vector(problem.with_input(j, value))

        x = np.asarray(problem.point[j])
        try:
            if self.evidence.truth(j).method == "complex step":
                slopes = complex_step(func, x, v)
            else:
                slopes = central(func, x, v, 1e-4 * first_step(x, v))
        except Exception:                               # a forward with held values may do anything at all
            return None
        return float(self.evidence.w[row] @ slopes)


def watched_forward(evidence):
    """Return the :class:`Forward`, or None if its source can't be read or does not repeat it."""
    try:
        return Forward(evidence)
    except (ValueError, SyntaxError, NameError, TypeError, LookupError, ArithmeticError, RecursionError):
        return None


def forgotten_path(forward, wrong):
    """Return the findings for inputs whose gradients miss a path, count one twice, or give one the wrong sign.

    Parameters
    ----------
    forward : Forward
    wrong : list of int
        Inputs whose gradients are wrong, of the right shape and finite.

    Returns
    -------
    dict of int to Finding
    """
    found, classes = {}, {j: [] for j in wrong}
    lacks = {j: _lacking(forward.evidence, j) for j in wrong}
    repeated = [n for n in forward.places() if len(forward.recorded[0][n]) > 1]
    for way, accepts in WAYS.items():
        for n in forward.places() if not way else repeated:
            for j in wrong:
                if forward.left < 0 or (j in found and found[j][0][2] != way):
                    continue
                share = _share(forward, lacks[j], j, (n,), accepts)
                if share is None:
                    continue
                if not way:
                    _keep_class(classes[j], n, share[1])
                if share[0] is not None:
                    found.setdefault(j, []).append((n, share[0], way))
    for j in wrong:
        if j not in found:
            pair = _pair(forward, lacks[j], j, classes[j])
            if pair:
                found[j] = [(pair, -1.0, "")]
    common = _common(found)
    return {j: _finding(forward, items, common) for j, items in found.items()}


def _lacking(evidence, j):
    """Return (trial, direction, true derivative, what the gradient adds to it) for two directions in every trial."""
    rng, rows = np.random.default_rng(5), []
    for t in range(len(evidence.trials)):
        value, _ = evidence.expected(j, t)
        known = ~np.isnan(value)
        for _ in range(2):
            v = np.where(known, random_direction(value.shape, rng), 0.0)
            true = float(np.sum(np.where(known, value, 0.0) * v))
            claimed = float(np.sum(np.where(known, evidence.got(j, t), 0.0) * v))
            rows.append((t, v, true, claimed - true, float(np.sum(np.abs(np.where(known, value, 0.0) * v)))))
    return rows


def _share(forward, rows, j, holding, way):
    """Return (c, signature) of places held, c None if they do not explain the gradient; None if they hold nothing."""
    constant, signature = None, []
    for n, (t, v, true, lacking, size) in enumerate(rows):
        held = forward.derivative(t, j, v, holding, way)
        if held is None or not np.isfinite(held):
            return None
        path, slack = true - held, TIGHT * (size + abs(lacking) + abs(true - held))
        signature.append(path)
        if n == 0:
            if abs(path) <= slack:
                return None
            constant = lacking / path
        elif constant is not None and abs(lacking - constant * path) > slack * max(1.0, abs(constant)):
            constant = None
        if constant is None and n >= 1:
            break
    if constant is not None and abs(constant) < 1e-5:
        constant = None
    return constant, tuple(signature[:2])


def _keep_class(classes, n, signature):
    """Keep one place of each set that takes away the same."""
    if not any(np.allclose(signature, other, rtol=1e-6) for _, other in classes):
        classes.append((n, signature))


def _pair(forward, rows, j, classes):
    """Return two places that together take away what the gradient lacks, or None."""
    lacking = np.array([row[3] for row in rows])
    for (a, x), (b, y) in list(combinations(classes[:24], 2))[:MOST_PAIRS]:
        together = np.array([x, y]).sum(axis=0)         # what both take away, if their paths are apart
        if forward.left < 0:
            break
        near = np.max(np.abs(lacking[:2] + together)) <= 0.5 * np.max(np.abs(lacking[:2]))
        if not near:
            continue
        share = _share(forward, rows, j, (a, b), WAYS[""])
        if share is not None and share[0] is not None and abs(share[0] + 1) < 1e-4:
            return a, b
    return None


def _common(found):
    """Return the places that explain every input that is explained at all."""
    every = [{(n, round(c, 4), way) for n, c, way in items} for items in found.values()]
    return set.intersection(*every) if every else set()


def _finding(forward, items, common):
    """Return the finding for the places that explain one input: the plainest text, and the path beside it."""
    shared = [item for item in items if (item[0], round(item[1], 4), item[2]) in common] or items
    whole = [item for item in shared if abs(item[1] + 1) < 1e-4] or [
        item for item in shared if any(abs(item[1] - c) < 1e-4 for c in (-2, 1))] or shared
    n, constant, way = min(whole, key=lambda item: (_plainness(forward, item[0]), item[0] if isinstance(
        item[0], int) else item[0][0]))
    places = [forward.code.places[m] for m in (n if isinstance(n, tuple) else (n,))]
    what = " and ".join(f"`{place.text}` in `{_shown(place)}` (line {place.node.lineno} of the forward)"
                        for place in places)
    when = f" {way}" if way else ""
    others = dict.fromkeys(forward.code.places[m].text for m, _, _ in whole if isinstance(m, int)
                           and isinstance(forward.code.places[m].node, ast.Name))
    others = [name for name in others if name not in [place.text for place in places]][:4]
    beside = f"; the same path runs through {', '.join(f'`{name}`' for name in others)}" if others else ""
    where = forward.code.line(places[0].node)
    if abs(constant + 1) < 1e-4:
        return Finding("missing_term", f"a term is missing, one path of several: {what} was held constant{when}, so "
                       f"nothing flows back through it{beside}", where)
    if abs(constant + 2) < 1e-4:
        return Finding("sign", f"one term has the wrong sign: what flows back through {what}{when}{beside}", where)
    if abs(constant - 1) < 1e-4:
        return Finding("missing_term",
                       f"a term too many: what flows back through {what}{when} is counted twice{beside}", where)
    factor = 1 + constant
    ratio = Fraction(factor).limit_denominator(100)
    named = f" (= {ratio})" if abs(float(ratio) / factor - 1) < 1e-6 and ratio.denominator > 1 else ""
    return Finding("constant_factor", f"one term is off by the constant factor {factor:.6g}{named}: what flows back "
                   f"through {what}{when}{beside}", where)


def _plainness(forward, n):
    if isinstance(n, tuple):
        return 0
    place = forward.code.places[n]
    return (not isinstance(place.node, ast.Name)) * 1000 + len(place.text)


def _shown(place):
    """Return the statement of a place, or what is around it where its text stands there more than once."""
    whole = ast.unparse(place.statement)
    several = sum(ast.dump(node) == ast.dump(place.node) for node in ast.walk(place.statement)) > 1
    return ast.unparse(place.parent) if several or "\n" in whole or len(whole) > 90 else whole
