r"""Find the path that a gradient leaves out, by holding single values of the forward constant.

A gradient that forgets a path (a mean taken as a constant, a second use of a shared parameter, the
state of earlier steps) is the right gradient of *another* forward: one in which some value does not
move with the input.  The forward is run with its values watched
(:mod:`ibpcl.verify.diagnosis.source`); if holding the value of one place at what it was takes away
exactly what the gradient lacks,

.. math::

    \langle g - \bar x, v \rangle = c \, \bigl(\langle \bar x, v \rangle
        - D_v f_{\text{held}}\bigr),
          \qquad c = -1,

for two directions :math:`v` in every trial, that place is where the path was lost.  With :math:`c =
-2` the path has the wrong sign, with :math:`c = 1` it was counted twice.
"""

import ast
import inspect
from dataclasses import replace
from itertools import combinations

import numpy as np

from ibpcl.verify.diagnosis.bench import Recording, affordable
from ibpcl.verify.diagnosis.source import Code, executed_by, is_array
from ibpcl.verify.reports.kinds import Finding
from ibpcl.verify.reports.words import constant_name
from ibpcl.verify.witnesses.differences import central, complex_step, first_step, random_direction

MOST_PLACES = 150
MOST_CLASSES = 24  # sets of places that take away the same, of which pairs are tried
SECONDS = 0.6  # that the search may take, about
MOST_WHOLE = 20  # of the factors of a single number that say anything
TIGHT = 3e-6  # relative agreement; differences give eight digits or so
WORDS = {  # by what the gradient lacks, as a multiple of what a path gives
    -1: (
        "missing_term",
        "a term is missing, one path of several: {what} was held constant, so nothing flows back "
        "through it",
    ),
    -2: ("sign", "one term has the wrong sign: what flows back through {what}"),
    1: ("missing_term", "a term too many: what flows back through {what} is counted twice"),
}


class Forward:
    """The forward with its values watched, at both points.

    Raises ``ValueError`` if there is no source, or if running it again does not repeat the forward.
    """

    def __init__(self, evidence):
        self.evidence = evidence
        self.code = Code(inspect.unwrap(evidence.problem.f), executed_by(evidence.problem.call))
        self.recordings = []
        for problem in evidence.problems:
            again = []
            self.recordings.append(
                Recording(
                    self.code,
                    lambda f, problem=problem, again=again: again.append(
                        replace(problem, f=f).vector()
                    ),
                )
            )
            if not np.allclose(again, problem.vector(), rtol=1e-12, atol=0, equal_nan=True):
                raise ValueError("the forward does not repeat itself")
        self.left = affordable(SECONDS, self.recordings[0].executed, 0.0)  # runs
        self.holding, self.point, self.calls, self.held = (), 0, {}, self.code.watched()(self._hold)
        self.places = [
            n
            for n, place in enumerate(self.code.places)
            if place.watched
            and place.inside == "formula"
            and any(
                is_array(value) and np.size(value) for value in self.recordings[0].series.get(n, ())
            )
        ]
        del self.places[MOST_PLACES:]

    def _hold(self, place, value, scope):
        if place not in self.holding:
            return value
        n = self.calls[place] = self.calls.get(place, -1) + 1
        known = self.recordings[self.point].series.get(place, ())
        if n >= len(known) or not is_array(known[n]) or np.shape(known[n]) != np.shape(value):
            return value
        return np.array(known[n]) if isinstance(value, np.ndarray) else known[n]

    def derivative(self, t, j, v, holding):
        """Return the derivative of trial ``t`` along ``v`` with some places held; None where it
        can't be had.
        """
        p, row = self.evidence.trials[t]
        self.left -= 1
        self.holding = holding
        self.point = p
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
        # a forward with held values may do anything at all
        except Exception:
            return None
        slope = float(self.evidence.w[row] @ slopes)
        return slope if np.isfinite(slope) else None


def watched_forward(evidence):
    """Return the :class:`Forward`, or None if its source can't be read or does not repeat it."""
    try:
        return Forward(evidence)
    except (
        ValueError,
        SyntaxError,
        NameError,
        TypeError,
        LookupError,
        ArithmeticError,
        RecursionError,
    ):
        return None


def forgotten_path(forward, wrong):
    """Return a finding for each wrong input whose gradient misses a path, counts one twice or has
    its sign wrong.
    """
    found = {}
    for done, j in enumerate(wrong):
        lacks = _lacking(forward.evidence, j)
        classes = []
        fits = []
        # runs for the inputs after this one
        rest = forward.left - forward.left // (len(wrong) - done)
        for n in forward.places:
            if forward.left < rest:
                break
            constant, paths = _share(forward, lacks, j, (n,))
            if constant is not None:
                fits.append(((n,), constant))
            elif paths and not any(np.allclose(paths, other, rtol=1e-6) for _, other in classes):
                classes.append((n, paths))
        fits = fits or _pair(forward, lacks, j, classes)
        if fits:
            found[j] = fits
    common = (
        set.intersection(*({(n, round(c, 4)) for n, c in fits} for fits in found.values()))
        if found
        else ()
    )
    return {
        j: _finding(forward, [fit for fit in fits if (fit[0], round(fit[1], 4)) in common] or fits)
        for j, fits in found.items()
    }


def _lacking(evidence, j):
    """Return (trial, direction, true derivative, what the gradient adds to it) for two directions
    in every trial.
    """
    rng = np.random.default_rng(5)
    rows = []
    for t in range(len(evidence.trials)):
        value, _ = evidence.expected(j, t)
        known = ~np.isnan(value)
        for _ in range(2):
            v = np.where(known, random_direction(value.shape, rng), 0.0)
            true, claimed = (np.where(known, part, 0.0) * v for part in (value, evidence.got(j, t)))
            rows.append(
                (
                    t,
                    v,
                    float(true.sum()),
                    float(claimed.sum() - true.sum()),
                    float(np.abs(true).sum()),
                )
            )
    return rows


def _share(forward, rows, j, holding):
    """Return (c, paths) of places held: c None if they do not explain the gradient, no paths if
    they hold nothing.
    """
    constant = None
    paths = []
    for n, (t, v, true, lacking, size) in enumerate(rows):
        held = forward.derivative(t, j, v, holding)
        if held is None:
            return None, ()
        path = true - held
        slack = TIGHT * (size + abs(lacking) + abs(true - held))
        paths.append(path)
        if n == 0:
            if abs(path) <= slack:
                return None, ()
            constant = lacking / path
        elif abs(lacking - constant * path) > slack * max(1.0, abs(constant)):
            return None, paths[:2]
    # A single number is always some multiple of the path: only a plain multiple says anything.
    if abs(constant) < 1e-5 or (rows[0][1].size == 1 and not _is_plain(1 + constant)):
        return None, paths[:2]
    return constant, paths[:2]


def _is_plain(factor):
    """Return whether a factor is a small whole number, or a number with a short name."""
    whole = abs(factor - round(factor)) < 1e-4 and abs(factor) <= MOST_WHOLE
    return whole or (bool(constant_name(factor)) and 1 / MOST_WHOLE <= abs(factor) <= MOST_WHOLE)


def _pair(forward, rows, j, classes):
    """Return two places that together take away what the gradient lacks, as a list of one fit or
    none.
    """
    lacking = np.array([row[3] for row in rows[:2]])
    for (a, x), (b, y) in combinations(
        [(n, paths) for n, paths in classes if len(paths) == 2][:MOST_CLASSES], 2
    ):
        # if their paths are apart, both take away the sum
        apart = np.max(np.abs(lacking + np.add(x, y)))
        if forward.left >= 0 and apart <= 0.5 * np.max(np.abs(lacking)):
            constant, _ = _share(forward, rows, j, (a, b))
            if constant is not None and abs(constant + 1) < 1e-4:
                return [((a, b), -1.0)]
    return []


def _finding(forward, fits):
    """Return the finding for the places that explain one input: the plainest text, and the path
    beside it.
    """

    def plainness(fit):
        places = [forward.code.places[n] for n in fit[0]]
        usual = (
            [-1, -2, 1].index(round(fit[1]))
            if abs(fit[1] - round(fit[1])) < 1e-4 and round(fit[1]) in WORDS
            else 3
        )
        return (
            usual > 0,
            usual > 2,
            not isinstance(places[0].node, ast.Name),
            len(places[0].text),
            fit[0],
        )

    numbers, constant = min(fits, key=plainness)
    places = [forward.code.places[n] for n in numbers]
    what = " and ".join(
        f"`{place.text}` in `{_shown(place)}` (line {place.node.lineno} of the forward)"
        for place in places
    )
    names = dict.fromkeys(
        forward.code.places[n].text
        for others, c in fits
        for n in others
        if abs(c - constant) < 1e-4 and isinstance(forward.code.places[n].node, ast.Name)
    )
    others = ", ".join(
        f"`{name}`" for name in names if name not in [place.text for place in places]
    )
    kind, words = WORDS.get(
        round(constant) if abs(constant - round(constant)) < 1e-4 else 0,
        (
            "constant_factor",
            "one term is off by the constant factor "
            f"{1 + constant:.6g}{constant_name(1 + constant)}: what flows back through {{what}}",
        ),
    )
    return Finding(
        kind,
        words.format(what=what) + (f"; the same path runs through {others}" if others else ""),
        forward.code.line(places[0].node),
    )


def _shown(place):
    """Return the statement of a place, or what is around it where its text stands there more than
    once.
    """
    whole = ast.unparse(place.statement)
    several = sum(ast.dump(node) == ast.dump(place.node) for node in ast.walk(place.statement)) > 1
    return ast.unparse(place.parent) if several or "\n" in whole or len(whole) > 90 else whole
