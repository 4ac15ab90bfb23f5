r"""What one place of the gradient function would have to be, for the gradient to be right.

A vector-Jacobian product is linear in whatever carries the cotangent.  At a place with the value :math:`e` the
gradient is :math:`g = g_0 + L e`, and :math:`L` is measured by moving the entries of :math:`e` one after another.
The place can hold the mistake only if :math:`L x = \bar x - g` has a solution; and then the value that belongs there
is sought among :math:`c\,e\,h`, :math:`c\,e / h`, :math:`c\,h`, :math:`e + c\,h` and :math:`c\,h - e` with known arrays
:math:`h`.
"""

import ast
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ibpcl.verify.bench import Recording
from ibpcl.verify.edits import is_pure
from ibpcl.verify.known import LONGEST, MOST_PLAIN, Known, Lazy, bracketed
from ibpcl.verify.source import is_array
from ibpcl.verify.words import constant_name

MOST_ENTRIES = 80       # of a place
MOST_PLACES = 60
MOST_TEXTS = 40         # expressions of the function that may be factors, beside its variables
FITS = 1e-6


class Hole(NamedTuple):
    """A place and what is known about it in every trial.

    Attributes
    ----------
    place : Place
    values : list of ndarray
        Its values, with a first axis for the calls (a place in a loop has several).
    maps : list of ndarray
        The map from it to the gradients.
    lacks : list of ndarray
        What these lack.
    views : list of dict
        The variables there.
    size : float
        Of the gradients.
    telling : bool
        Whether most changes of the gradients could not be made here.
    right : list of ndarray or None
        The values that belong there, if there are no others that make the gradients right.
    """

    place: object
    values: list
    maps: list
    lacks: list
    views: list
    size: float
    telling: bool
    right: list | None


class Match(NamedTuple):
    """A value that fits: what it is beside the place's own, the text of the known array, a constant, its extremes."""

    relation: str           # "missing", "extra", "instead", "term" or "less"
    text: str
    constant: float
    smallest: float
    largest: float


def background(evidence, forward):
    """Return for each trial what a missing factor may be made of besides local variables, by name."""
    views = []
    for p, _ in evidence.trials:
        problem = evidence.problems[p]
        view = dict(zip(problem.names, problem.point, strict=True))
        outputs, several, _ = problem.call()
        view.update({f"out[{o}]" if several else "out": out for o, out in enumerate(outputs)})
        for n, values in forward.recorded[p].items() if forward is not None else ():
            view.setdefault(forward.code.places[n].text, values[-1])
        view.update(evidence.extra)
        views.append({name: value for name, value in view.items() if value is not None})
    return views


def holes(bench, code, recordings, wrong, most, suspects):
    """Yield the places of the gradient function in which a single mistake may be, latest first.

    Parameters
    ----------
    bench : Bench
    code : Code
    recordings : list of Recording
        One for each trial.
    wrong : list of int
        Inputs that one mistake has to explain.
    most : int
        Runs at most.
    suspects : Suspects
    """
    start = bench.runs
    make, first = code.watched(), recordings[0]
    texts = {name: expressions(code, name) for name in code.trees}
    order = [n for n, place in enumerate(code.places) if place.watched and place.inside == "formula"
             and is_array(first.values.get(n)) and np.asarray(first.values[n]).dtype.kind == "f"
             and (not suspects.any or n in suspects.places)
             and 0 < np.size(first.values[n]) * first.counts[n] <= MOST_ENTRIES]
    for n in list(reversed(order))[:MOST_PLACES]:
        if bench.runs - start > most:
            return
        hole = _hole(bench, make, code.places[n], n, wrong, texts[code.places[n].function])
        if hole is not None:
            yield hole


def expressions(code, function):
    """Return the expressions of a function that can be evaluated anywhere in it, compiled, by their text."""
    found = {place.text: place.node for place in code.places if place.function == function and place.inside == "formula"
             and not isinstance(place.node, (ast.Name, ast.Constant)) and is_pure(place.node)}
    return {text: compile(text, "<expression>", "eval") for text in list(found)[:MOST_TEXTS] if len(text) <= LONGEST}


def _hole(bench, make, place, n, wrong, texts):
    """Measure what a place does to the gradients, in every trial; None if no value of it makes them right."""
    evidence, values, maps, lacks, views, size, telling, right = bench.evidence, [], [], [], [], 0.0, False, []
    for t in range(len(evidence.trials)):
        watch = _Watch(n, texts, bench.evidence.problem.f_vjp)
        bench.gradients(make(watch), t)
        shapes = {np.shape(v) for v in watch.values}
        if len(shapes) != 1 or (values and np.shape(values[0])[0] != len(watch.values)):
            return None
        value = np.stack([np.asarray(v, dtype=float) for v in watch.values])
        plain = _stacked(evidence, evidence.gradients[t], wrong)
        true = [evidence.expected(j, t)[0] for j in wrong]
        lack = np.concatenate([(value - evidence.got(j, t)).ravel() for j, value in zip(wrong, true, strict=True)])
        known = ~np.isnan(lack)
        step = np.max(np.abs(value), initial=0.0) or 1.0
        columns = []
        for entry in range(value.size):
            moved = value.copy()
            moved.reshape(-1)[entry] += step
            result = bench.gradients(make(_Put(n, moved)), t)
            if result is None:
                return None
            columns.append((_stacked(evidence, result, wrong) - plain)[known] / step)
            if columns[-1].shape != lack[known].shape or not np.all(np.isfinite(columns[-1])):
                return None
        linear = np.stack(columns, axis=1)
        if not np.any(linear):
            return None
        solution, _, rank, _ = np.linalg.lstsq(linear, lack[known], rcond=1e-10)
        scale = max(float(np.max(np.abs(value[~np.isnan(value)]), initial=0.0)) for value in true) \
            + float(np.max(np.abs(plain), initial=0.0))
        if np.max(np.abs(linear @ solution - lack[known]), initial=0.0) > FITS * scale:
            return None
        telling |= rank < int(known.sum())
        right += [value + solution.reshape(value.shape)] if rank == value.size else []
        values.append(value)
        maps.append(linear)
        lacks.append(lack[known])
        views.append(watch.view())
        size = max(size, scale)
    return Hole(place, values, maps, lacks, views, size, telling, right if len(right) == len(values) else None)


class _Watch:
    """A hook that keeps the values of one place, and the variables and expressions there, at each of its calls."""

    def __init__(self, place, texts, function):
        self.place, self.texts, self.values, self.scopes = place, texts, [], []
        self.globals = getattr(function, "__globals__", {})

    def __call__(self, place, value, scope):
        if place == self.place:
            self.values.append(np.array(value))
            found = dict(_numbers(scope))
            for text, code in self.texts.items():
                try:
                    found.setdefault(text, eval(code, self.globals, scope))
                except Exception:                       # a variable that is not there yet
                    continue
            nested = {f"{name}[{n}]": item for name, items in scope.items() if isinstance(items, (tuple, list))
                      for n, item in enumerate(items[:8])}
            found = {**found, **{name: item for name, item in nested.items() if name not in found}}
            self.scopes.append({name: np.array(v) for name, v in _numbers(found)})
        return value

    def view(self):
        """Return the variables by name, with a first axis for the calls."""
        names = [name for name, first in self.scopes[0].items()
                 if all(name in scope and scope[name].shape == first.shape for scope in self.scopes)]
        return {name: np.stack([scope[name] for scope in self.scopes]) for name in names}


def _numbers(scope):
    """Yield the arrays and numbers of a scope by name."""
    for name, value in scope.items():
        if isinstance(value, (np.ndarray, np.generic, int, float)) and not isinstance(value, bool):
            yield name, value


class _Put:
    """A hook that puts values in one place, one for each call."""

    def __init__(self, place, values):
        self.place, self.values = place, iter(values)

    def __call__(self, place, value, scope):
        if place != self.place:
            return value
        new = next(self.values, value)
        return np.array(new) if isinstance(value, np.ndarray) else new


def _stacked(evidence, gradients, wrong):
    return np.concatenate([np.asarray(gradients[evidence.problem.wrt.index(j)], dtype=float).ravel() for j in wrong])


def known_at(hole, views):
    """Return the :class:`Known` arrays at a place: its variables, and the background of each trial."""
    calls = hole.values[0].shape[0]
    return Known([{**own, **{name: np.broadcast_to(value, (calls, *np.shape(value))) for name, value in view.items()
                             if name not in own and isinstance(value, (np.ndarray, np.generic, float, int))}}
                  for own, view in zip(hole.views, views, strict=True)])


ALL = ("missing", "extra", "term", "instead", "less")


def attempts(hole, known, stage):
    """Yield (columns, relations): known arrays by their texts, and how each may stand to the value of a hole.

    Parameters
    ----------
    hole : Hole
    known : Known
        From :func:`known_at`.
    stage : {"plain", "one", "matrix", "sum", "two"}
        A constant or a known array, functions of one, products of matrices, sums, products of two.
    """
    shape, given = hole.values[0].shape, hole.values
    if stage == "plain":
        yield known.plain(shape), ALL
        yield [("1", [np.ones(value.shape) for value in given])], ("missing",)
    elif stage == "one":
        yield [(text, values) for text, values in known.functions(shape) + known.winners(shape)
               if not np.array_equal(values[0], given[0])], ALL
    elif stage == "matrix":
        yield known.products(given), ("instead",)
        yield known.pairs(shape), ("term", "instead")
    elif stage == "sum":
        yield known.sums(shape), ("term", "instead")
    else:
        made = []
        for (a, x), (b, y) in combinations((known.plain(shape) + known.winners(shape))[:MOST_PLAIN], 2):
            made.append((f"{bracketed(a)} * {bracketed(b)}", Lazy(np.multiply, x, y)))
            made.append((f"{bracketed(a)} / {bracketed(b)}", Lazy(np.divide, x, y)))
            made.append((f"{a} - {bracketed(b)}", Lazy(np.subtract, x, y)))
        yield made, ALL


def best_match(hole, columns, relations):
    """Return the :class:`Match` of the shortest column that fits in one of the relations, looked at in the first trial before the others."""
    if not columns:
        return None
    found, own = [], hole.values[0]
    arrays = np.stack([np.broadcast_to(values[0], own.shape).ravel() for _, values in columns])
    for late, relation in enumerate(relations):
        first = _fitting(hole, 0, _change(relation, own.ravel(), arrays), relation)
        for n in np.flatnonzero(_plausible(first)):
            text, values = columns[n]
            if all(abs(_constant(hole, t, relation, values[t]) - first[n]) <= 1e-5 * abs(first[n])
                   for t in range(1, len(values))):
                factor = first[n] * values[0]
                found.append((len(text) + 4 * late, Match(relation, text, float(first[n]), float(factor.min()),
                                                          float(factor.max()))))
    return min(found, key=lambda item: item[0])[1] if found else None


def match_in_part(hole, known):
    """Return the :class:`Match` of a known factor that is missing, or too many, in a part of the entries only."""
    if hole.right is None:
        return None
    off = [np.abs(true - own) > FITS * np.max(np.abs(true)) for own, true in zip(hole.values, hole.right, strict=True)]
    if not all(0 < np.sum(at) < at.size for at in off):
        return None
    for relation in ("missing", "extra"):
        for text, values in known.plain(hole.values[0].shape):
            made = [_change(relation, own, array)[at] for own, array, at in zip(hole.values, values, off, strict=True)]
            if all(np.allclose(new, true[at], rtol=FITS, atol=0)
                   for new, true, at in zip(made, hole.right, off, strict=True)):
                return Match(f"{relation} at {off[0].sum()} of {off[0].size} entries", text, 1.0, 0.0, 0.0)
    return None


def patterned(hole):
    """Return (kind, words) for what the right values of a place have in common with its own, or None."""
    pairs = list(zip(hole.values, hole.right, strict=True)) if hole.right is not None else []
    off = [np.abs(true - own) > FITS * np.max(np.abs(true)) for own, true in pairs]
    if not off or not all(np.any(at) and np.any(own) for at, (own, _) in zip(off, pairs, strict=True)):
        return None
    small = [FITS * np.max(np.abs(true)) for _, true in pairs]
    own, name = hole.values[0], _short(hole)
    where = f"at {off[0].sum()} of {own.size} entries"
    if all(np.all(np.abs(true[at]) <= s) for (_, true), at, s in zip(pairs, off, small, strict=True)):
        return "elementwise_factor", f"an elementwise factor of zeros and ones (a mask) is missing: `{name}` must be " \
            f"zero {where}"
    if all(np.all(np.abs(value[at]) <= s) for (value, _), at, s in zip(pairs, off, small, strict=True)):
        return "missing_term", f"a term is missing: `{name}` is zero {where}, where it must not be"
    if own.size > 1 and all(np.all(np.abs(true + value)[at] <= s)
                            for (value, true), at, s in zip(pairs, off, small, strict=True)):
        return "sign", f"the sign of `{name}` is wrong {where}"
    if own.size > 2 and all(np.allclose(np.sort(value, None), np.sort(true, None), rtol=FITS, atol=s)
                            for (value, true), s in zip(pairs, small, strict=True)):
        return "shifted", f"right numbers in another order (permuted) in `{name}`"
    if own.size > 2 and all(at.sum() <= at.size / 3 for at in off):
        return "few_entries", f"`{name}` is wrong {where}, first at {tuple(map(int, np.argwhere(off[0])[0][1:]))}"
    return None


def _change(relation, value, array):
    """Return what is put in the place, up to a constant: a product, a quotient, the array itself."""
    if relation == "missing":
        return value * array
    return value / array if relation == "extra" else array + 0 * value


def _fitting(hole, t, changes, relation):
    """Return for each row the constant with which it gives what the gradients lack in trial ``t``; 0 if none does."""
    good = np.all(np.isfinite(changes), axis=1)
    effect = np.where(good[:, None], changes, 0.0) @ hole.maps[t].T
    goal = _goal(hole, t, relation)
    norm = np.sum(effect * effect, axis=1)
    constant = np.where(norm > 0, effect @ goal / np.where(norm > 0, norm, 1.0), 0.0)
    gap = np.max(np.abs(goal - constant[:, None] * effect), axis=1, initial=0.0)
    return np.where(good & (gap <= FITS * hole.size), constant, 0.0)


def _goal(hole, t, relation):
    """Return the effect that the known array must have: with a term what is lacking, else what the place gives, too."""
    times = {"term": 0.0, "less": 2.0}.get(relation, 1.0)
    return hole.lacks[t] + times * (hole.maps[t] @ hole.values[t].ravel())


def _constant(hole, t, relation, array):
    return float(_fitting(hole, t, _change(relation, hole.values[t], array).reshape(1, -1), relation)[0])


def _plausible(constants):
    """Return which constants a person would have written: small fractions, alone or of pi, log 2 or a root of two."""
    found = np.zeros(np.shape(constants), dtype=bool)
    for unit in (1.0, np.pi, np.sqrt(2 * np.pi), np.log(2), np.sqrt(2)):
        for k in range(1, 13):
            for multiple in (np.abs(constants) * k / unit, np.abs(constants) * k * unit):
                found |= (np.abs(multiple - np.round(multiple)) < 1e-6 * multiple) & (multiple > 0.5) & (multiple < 100)
    return found


def match_words(hole, match):
    """Return (kind, words) for a match."""
    own, c = _short(hole), match.constant
    times = "" if abs(c - 1) < 1e-6 else "-" if abs(c + 1) < 1e-6 else f"{c:.6g} * "
    factor = f"{times}{bracketed(match.text) if times else match.text}"
    if match.text == "1":
        return "constant_factor", f"a constant factor is missing: `{c:.6g}`{constant_name(c)} beside `{own}`"
    if match.relation.startswith("missing at"):
        return "elementwise_factor", f"an elementwise factor is {match.relation}: `{match.text}` beside `{own}`"
    if match.relation.startswith("extra at"):
        return "elementwise_factor", f"an elementwise factor is wrong: `{own}` must be divided by `{match.text}`" \
            f"{match.relation.removeprefix('extra')}"
    if match.relation == "missing":
        return "elementwise_factor", f"an elementwise factor is missing: `{factor}` beside `{own}`"
    if match.relation == "extra":
        more = "" if abs(c - 1) < 1e-6 else f" and multiplied by {c:.6g}"
        return "elementwise_factor", f"an elementwise factor is wrong: `{own}` must be divided by `{match.text}`{more}"
    if match.relation == "instead" and "..." in match.text:
        factor = factor.replace("...", bracketed(own))
        return "elementwise_factor", f"a factor is missing in a matrix product: `{factor}` belongs where `{own}` stands"
    if match.relation == "instead" and match.text.startswith("sum("):
        return "not_summed", f"a sum is missing: `{own}` stands where `{factor}` belongs"
    if match.relation == "instead" and match.text.startswith("cumsum"):
        return "summed", f"a cumulative sum is wrong: `{own}` stands where {factor} belongs"
    value, instead = hole.values[0], hole.right[0] if hole.right is not None else None
    if match.relation == "instead" and instead is not None and not np.all(value) and np.allclose(
            value[value != 0], instead[value != 0], rtol=FITS):
        return "missing_term", f"terms are missing: `{own}` is zero where `{factor}` is not, which belongs there"
    if match.relation == "instead":
        return "elementwise_factor", f"an elementwise factor is wrong: `{own}` stands where `{factor}` belongs"
    if match.relation == "less":
        return "missing_term", f"a term is missing: `{factor} - {bracketed(own)}` belongs where `{own}` stands"
    sign = "-" if c < 0 else "+"
    size = "" if abs(abs(c) - 1) < 1e-6 else f"{abs(c):.6g} * "
    return "missing_term", f"a term is missing: `{sign} {size}{bracketed(match.text)}` after `{own}`"


def _short(hole):
    own = ast.unparse(hole.place.node)
    return own if len(own) <= LONGEST else own[:LONGEST - 3] + "..."


def recorded(bench, code):
    """Return one :class:`Recording` of the gradient function for each trial."""
    return [Recording(code, lambda f_vjp, t=t: bench.gradients(f_vjp, t)) for t in range(len(bench.evidence.trials))]
