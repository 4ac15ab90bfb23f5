"""Known arrays that fit a place: as a factor or term that is missing there, too many, or another one."""

import ast
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ibpcl.verify.known import LONGEST, MOST_PLAIN, Known, Lazy, bracketed
from ibpcl.verify.words import constant_name

FITS = 1e-6
ALL = ("missing", "extra", "term", "instead", "less")


class Match(NamedTuple):
    """A value that fits: what it is beside the place's own, the text of the known array, a constant, its extremes."""

    relation: str           # "missing", "extra", "instead", "term" or "less"
    text: str
    constant: float
    smallest: float
    largest: float
    cost: float = 0.0       # how far-fetched it is


def known_at(hole, views):
    """Return the :class:`Known` arrays at a place: its variables, and the background of each trial."""
    calls = hole.values[0].shape[0]
    return Known([{**own, **{name: np.broadcast_to(value, (calls, *np.shape(value))) for name, value in view.items()
                             if name not in own and isinstance(value, (np.ndarray, np.generic, float, int))}}
                  for own, view in zip(hole.views, views, strict=True)])


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
        if hole.right is not None:
            yield known.triples(shape), ("instead",)
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
    """Return the :class:`Match` of the shortest column that fits in one of the relations, or None."""
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
                cost = len(text) + 4 * late + 3 * (abs(abs(first[n]) - 1) > 1e-6)
                found.append(Match(relation, text, float(first[n]), float(factor.min()), float(factor.max()), cost))
    return min(found, key=lambda match: match.cost) if found else None


def match_in_part(hole, known):
    """Return the :class:`Match` of a known factor that is missing, or too many, in a part of the entries only."""
    if hole.right is None:
        return None
    off = [np.abs(true - own) > FITS * np.max(np.abs(true)) for own, true in zip(hole.values, hole.right, strict=True)]
    if not all(0 < np.sum(at) < at.size for at in off):
        return None
    shape = hole.values[0].shape
    for relation, columns in (("missing", known.plain(shape)), ("extra", known.plain(shape)),
                              ("instead", known.plain(shape) + known.functions(shape))):
        for text, values in columns:
            made = [np.broadcast_to(_change(relation, own, values[t]), own.shape)[off[t]]
                    for t, own in enumerate(hole.values)]
            constant = _ratio(made[0], hole.right[0][off[0]]) if relation == "instead" else 1.0
            if constant and all(np.allclose(constant * new, true[at], rtol=FITS, atol=0)
                                for new, true, at in zip(made, hole.right, off, strict=True)):
                return Match(f"{relation} at {off[0].sum()} of {off[0].size} entries", text, constant, 0.0, 0.0,
                             len(text))
    return None


def _ratio(made, right):
    """Return the constant by which an array has to be multiplied to come to another, 0 if there is none."""
    with np.errstate(all="ignore"):
        ratio = right / made
    return float(ratio[0]) if ratio.size > 1 and np.allclose(ratio, ratio[0], rtol=FITS) else 0.0


def patterned(hole):
    """Return (kind, words) for what the right values of a place have in common with its own, or None."""
    pairs = list(zip(hole.values, hole.right, strict=True)) if hole.right is not None else []
    off = [np.abs(true - own) > FITS * np.max(np.abs(true)) for own, true in pairs]
    if not off or not all(map(np.any, off)) or (
            isinstance(hole.place.node, ast.Call) and not np.any(pairs[0][0])):
        return None
    small = [FITS * np.max(np.abs(true)) for _, true in pairs]
    own, name = hole.values[0], _short(hole)
    if own.size < 2:
        return None
    where = f"at {off[0].sum()} of {own.size} entries"
    if all(np.all(np.abs(true[at]) <= s) for (_, true), at, s in zip(pairs, off, small, strict=True)):
        return "elementwise_factor", f"an elementwise factor of zeros and ones (a mask) is missing: `{name}` must be " \
            f"zero {where}"
    if all(np.all(np.abs(value[at]) <= s) for (value, _), at, s in zip(pairs, off, small, strict=True)):
        return "missing_term", f"a term is missing: `{name}` is zero {where}, where it must not be"
    if all(np.all(np.abs(true + value)[at] <= s)
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
    if match.relation.startswith("instead at"):
        return "elementwise_factor", f"an elementwise factor is wrong: `{c:.6g} * {bracketed(match.text)}` belongs " \
            f"where `{own}` stands{match.relation.removeprefix('instead')}"
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
    if match.relation == "instead" and " - sum(" in match.text:
        return "missing_term", f"a term is missing, what flows back through the sum: `{factor}` belongs where " \
            f"`{own}` stands"
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
