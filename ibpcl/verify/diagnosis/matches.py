"""Known arrays that fit a place: as a factor or term that is missing there, too many, or another
one.
"""

import ast
from typing import NamedTuple

import numpy as np

from ibpcl.verify.diagnosis.known import LONGEST, Known, bracketed
from ibpcl.verify.reports.words import constant_name

FITS = 1e-6
# what is looked up, one after the other: the method of Known, and what it may be to the place
STAGES = {
    "plain": ("missing", "extra", "term", "instead", "less"),
    "functions": ("missing", "extra", "term", "instead", "less"),
    "pairs": ("term", "instead"),
    "sums": ("term", "sum"),
    "two": ("missing", "extra", "term", "instead", "less"),
}
WORDS = {  # kind and sentence by what a known array is to a place
    "constant": (
        "constant_factor",
        "a constant factor is missing: `{constant}`{name} beside `{own}`",
    ),
    "missing": (
        "elementwise_factor",
        "an elementwise factor is missing: `{factor}` beside `{own}`",
    ),
    "extra": (
        "elementwise_factor",
        "an elementwise factor is wrong: `{own}` must be divided by `{text}`{more}",
    ),
    "instead": (
        "elementwise_factor",
        "an elementwise factor is wrong: `{own}` stands where `{factor}` belongs",
    ),
    "sum": ("not_summed", "a sum is missing: `{own}` stands where `{factor}` belongs"),
    "centred": (
        "missing_term",
        "a term is missing, what flows back through the sum: `{factor}` belongs where `{own}` "
        "stands",
    ),
    "zero": (
        "missing_term",
        "terms are missing: `{own}` is zero where `{factor}` is not, which belongs there",
    ),
    "term": ("missing_term", "a term is missing: `{factor}` after `{own}`"),
    "less": (
        "missing_term",
        "a term is missing: `{factor} - {bracketed}` belongs where `{own}` stands",
    ),
}


class Match(NamedTuple):
    """A value that fits: what it is beside the place's own, the text of the known array, a
    constant, its extremes.
    """

    relation: str
    text: str
    constant: float
    smallest: float
    largest: float
    cost: float  # how far-fetched it is


def known_at(hole, views):
    """Return the :class:`Known` arrays at a place: its own, and the background of each trial."""
    calls = hole.values[0].shape[0]
    joined = [
        {
            **own,
            **{name: np.asarray(value)[None] for name, value in view.items() if name not in own},
        }
        for own, view in zip(hole.views, views, strict=True)
    ]
    return Known(
        [
            {
                name: np.broadcast_to(value, (calls, *value.shape[1:]))
                for name, value in view.items()
            }
            for view in joined
        ]
    )


def candidates(hole, known, stage):
    """Return (text, values): what a stage of :data:`STAGES` looks up for a hole."""
    found = getattr(known, stage)(hole.values[0].shape)
    return found + (
        [("1", [np.ones(value.shape) for value in hole.values])] if stage == "plain" else []
    )


def best_match(hole, columns, relations):
    """Return the :class:`Match` of the shortest column that fits in one of the relations, or
    None.
    """
    if not columns:
        return None
    found = []
    own = hole.values[0]
    arrays = np.array(
        [
            (first if first.shape == own.shape else np.broadcast_to(first, own.shape)).ravel()
            for first in (values[0] for _, values in columns)
        ]
    )
    for late, relation in enumerate(relations):
        first = _fitting(hole, 0, _change(relation, own.ravel(), arrays), relation)
        for n in np.flatnonzero(_plausible(first)):
            text, values = columns[n]
            if all(
                abs(_constant(hole, t, relation, values[t]) - first[n]) <= 1e-5 * abs(first[n])
                for t in range(1, len(values))
            ):
                factor = first[n] * values[0]
                cost = len(text) + 4 * late + 3 * (abs(abs(first[n]) - 1) > 1e-6)
                found.append(
                    Match(
                        relation,
                        text,
                        float(first[n]),
                        float(factor.min()),
                        float(factor.max()),
                        cost,
                    )
                )
    return min(found, key=lambda match: match.cost) if found else None


def _change(relation, value, array):
    """Return what is put in the place, up to a constant: a product, a quotient, the array
    itself.
    """
    if relation == "missing":
        return value * array
    return value / array if relation == "extra" else array + 0 * value


def _fitting(hole, t, changes, relation):
    """Return for each row the constant with which it gives what the gradients lack in trial ``t``;
    0 if none does.
    """
    good = np.all(np.isfinite(changes), axis=1)
    effect = np.where(good[:, None], changes, 0.0) @ hole.maps[t].T
    own = {"term": 0.0, "less": 2.0}.get(relation, 1.0) * (hole.maps[t] @ hole.values[t].ravel())
    # with a term what is lacking, else what the place gives, too
    goal = hole.lacks[t] + own
    norm = np.sum(effect * effect, axis=1)
    constant = np.where(norm > 0, effect @ goal / np.where(norm > 0, norm, 1.0), 0.0)
    gap = np.max(np.abs(goal - constant[:, None] * effect), axis=1, initial=0.0)
    return np.where(good & (gap <= FITS * hole.size), constant, 0.0)


def _constant(hole, t, relation, array):
    return float(
        _fitting(hole, t, _change(relation, hole.values[t], array).reshape(1, -1), relation)[0]
    )


def _plausible(constants):
    """Return which constants a person would have written: small fractions, alone or of pi, log 2 or
    a root of two.
    """
    found = np.zeros(np.shape(constants), dtype=bool)
    at = np.flatnonzero(constants)
    units = np.array([1.0, np.pi, np.sqrt(2 * np.pi), np.log(2), np.sqrt(2)])
    units = np.concatenate([units, 1 / units]) / np.arange(1, 13)[:, None]
    multiple = np.abs(constants[at])[:, None] / units.ravel() if at.size else np.zeros((0, 1))
    whole = np.abs(multiple - np.round(multiple)) < 1e-6 * multiple
    found[at] = np.any(whole & (multiple > 0.5) & (multiple < 100), axis=1)
    return found


def named(hole, match):
    """Return (cost, kind, words, factor) for a match; the factor is as in
    :class:`ibpcl.verify.reports.kinds.Finding`.
    """
    own = short(hole)
    c = match.constant
    relation = match.relation
    times = "" if abs(c - 1) < 1e-6 else "-" if abs(c + 1) < 1e-6 else f"{c:.6g} * "
    factor = f"{times}{bracketed(match.text) if times else match.text}"
    if match.text == "1":
        relation = "constant"
    elif relation == "term":
        factor = f"- {factor[1:]}" if c < 0 else f"+ {factor}"
    elif relation == "sum" and not match.text.startswith("sum("):
        relation = "centred"
    elif (
        relation == "instead"
        and hole.right is not None
        and not np.all(hole.values[0])
        and np.allclose(
            *(array[hole.values[0] != 0] for array in (hole.values[0], hole.right[0])), rtol=FITS
        )
    ):
        relation = "zero"
    kind, words = WORDS[relation]
    more = "" if abs(c - 1) < 1e-6 else f" and multiplied by {c:.6g}"
    words = words.format(
        own=own,
        bracketed=bracketed(own),
        text=match.text,
        factor=factor,
        more=more,
        constant=f"{c:.6g}",
        name=constant_name(c),
    )
    missing = match.relation in ("missing", "extra")
    return (
        match.cost,
        kind,
        words,
        (match.relation, match.smallest, match.largest) if missing else None,
    )


def patterned(hole):
    """Return as :func:`named` what the right values of a place have in common with its own, or
    None.
    """
    pairs = list(zip(hole.values, hole.right, strict=False)) if hole.right is not None else []
    off = [np.abs(true - own) > FITS * np.max(np.abs(true)) for own, true in pairs]
    if not off or not all(map(np.any, off)) or off[0].size < 2:
        return None
    own = short(hole)
    where = f"at {off[0].sum()} of {off[0].size} entries"
    if all(
        np.allclose(true[at], 0, atol=FITS * np.max(np.abs(true)))
        for (_, true), at in zip(pairs, off, strict=True)
    ):
        return (
            0,
            "elementwise_factor",
            "an elementwise factor of zeros and ones (a mask) is missing: "
            f"`{own}` must be zero {where}",
            None,
        )
    if all(
        np.allclose(
            np.sort(value, None), np.sort(true, None), rtol=FITS, atol=FITS * np.max(np.abs(true))
        )
        for value, true in pairs
    ):
        return 0, "shifted", f"right numbers in another order (permuted) in `{own}`", None
    return None


def short(hole):
    """Return the text of a place, cut if it is long."""
    own = ast.unparse(hole.place.node)
    return own if len(own) <= LONGEST else own[: LONGEST - 3] + "..."
