"""Known arrays that fit a place as a missing factor or term, an extra factor, or its value."""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.explain.known import LONGEST, Known, bracketed
from ibpcl.verify.reports.words import constant_name

FITS = 1e-6  # relative error up to which a value fits
# The stages of the search in their order: the method of Known that makes the arrays, and the
# relations to the value of the place that are tried for each array.
STAGES = {
    "plain": ("missing", "extra", "term", "instead", "less"),
    "functions": ("missing", "extra", "term", "instead", "less"),
    "pairs": ("term", "instead"),
    "sums": ("term", "sum"),
    "two": ("missing", "extra", "term", "instead", "less"),
}
WORDS = {  # kind and sentence for each relation of a known array to a place
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
        "an elementwise factor is wrong: `{own}` should be `{factor}`",
    ),
    "sum": ("not_summed", "a sum is missing: `{own}` should be `{factor}`"),
    "centred": (
        "missing_term",
        "a term is missing, the gradient that flows back through the sum: `{own}` should be "
        "`{factor}`",
    ),
    "zero": (
        "missing_term",
        "terms are missing: `{own}` is zero at some entries and should be `{factor}`",
    ),
    "term": ("missing_term", "a term is missing: `{factor}` after `{own}`"),
    "less": (
        "missing_term",
        "a term is missing: `{own}` should be `{factor} - {bracketed}`",
    ),
}


class Match(NamedTuple):
    """A known array that explains the gradients at a place.

    Attributes
    ----------
    relation : {"missing", "extra", "term", "instead", "less", "sum"}
        Relation of the array to the value of the place.
    text : str
        Source text of the array.
    constant : float
        The constant factor that it needs.
    smallest, largest : float
        Extremes of the array times the constant, in the first trial.
    cost : float
        How far-fetched the match is: longer texts, later relations and constants cost more.
    """

    relation: str
    text: str
    constant: float
    smallest: float
    largest: float
    cost: float


def known_at(hole, views):
    """Return the known arrays at a hole.

    Parameters
    ----------
    hole : Hole
        A place that can contain the mistake.
    views : list of dict
        Background arrays for each trial; see :func:`ibpcl.verify.explain.holes.background`.

    Returns
    -------
    Known
        The variables at the place, and the background arrays that have other names.
    """
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
    """Return the arrays that one stage of :data:`STAGES` looks up for a hole.

    Parameters
    ----------
    hole : Hole
        A place that can contain the mistake.
    known : Known
        The known arrays there.
    stage : str
        Key of :data:`STAGES`.

    Returns
    -------
    list of tuple
        Pairs of a source text and its values for each trial.  The stage "plain" adds the number 1.
    """
    arrays = getattr(known, stage)(hole.values[0].shape)
    return arrays + (
        [("1", [np.ones(value.shape) for value in hole.values])] if stage == "plain" else []
    )


def best_match(hole, columns, relations):
    """Return the match of the lowest cost among known arrays.

    Parameters
    ----------
    hole : Hole
        A place that can contain the mistake.
    columns : sequence of tuple
        Pairs of a source text and its values for each trial; see :func:`candidates`.
    relations : sequence of str
        The relations to try.

    Returns
    -------
    Match or None
        None if no array fits in every trial with the same plausible constant.
    """
    if not columns:
        return None
    matches = []
    own = hole.values[0]
    arrays = np.array(
        [
            (array if array.shape == own.shape else np.broadcast_to(array, own.shape)).ravel()
            for array in (values[0] for _, values in columns)
        ]
    )
    for order, relation in enumerate(relations):
        constants = _fitting(hole, 0, _change(relation, own.ravel(), arrays), relation)
        for n in np.flatnonzero(_plausible(constants)):
            text, values = columns[n]
            if all(
                abs(_constant(hole, trial, relation, values[trial]) - constants[n])
                <= 1e-5 * abs(constants[n])
                for trial in range(1, len(values))
            ):
                factor = constants[n] * values[0]
                cost = len(text) + 4 * order + 3 * (abs(abs(constants[n]) - 1) > 1e-6)
                matches.append(
                    Match(
                        relation,
                        text,
                        float(constants[n]),
                        float(factor.min()),
                        float(factor.max()),
                        cost,
                    )
                )
    return min(matches, key=lambda match: match.cost) if matches else None


def _change(relation, value, array):
    """Return the value that a relation puts in the place, up to a constant."""
    if relation == "missing":
        return value * array
    return value / array if relation == "extra" else array + 0 * value


def _fitting(hole, trial, changes, relation):
    """Return the constant with which each row explains the gradient in one trial, or 0."""
    good = np.all(np.isfinite(changes), axis=1)
    effect = np.where(good[:, None], changes, 0.0) @ hole.maps[trial].T
    offset = {"term": 0.0, "less": 2.0}.get(relation, 1.0) * (
        hole.maps[trial] @ hole.values[trial].ravel()
    )
    # A term adds the missing gradient.  A new value must also give what the old value gave.
    goal = hole.lacks[trial] + offset
    norm = np.sum(effect * effect, axis=1)
    constant = np.where(norm > 0, effect @ goal / np.where(norm > 0, norm, 1.0), 0.0)
    gap = np.max(np.abs(goal - constant[:, None] * effect), axis=1, initial=0.0)
    return np.where(good & (gap <= FITS * hole.size), constant, 0.0)


def _constant(hole, trial, relation, array):
    """Return the constant of one array in one trial, 0 if it does not fit."""
    return float(
        _fitting(
            hole, trial, _change(relation, hole.values[trial], array).reshape(1, -1), relation
        )[0]
    )


def _plausible(constants):
    """Return which constants a person would have written.

    These are small fractions, alone or times pi, log 2, a root of 2 or a root of 2 pi.
    """
    plausible = np.zeros(np.shape(constants), dtype=bool)
    nonzero = np.flatnonzero(constants)
    units = np.array([1.0, np.pi, np.sqrt(2 * np.pi), np.log(2), np.sqrt(2)])
    units = np.concatenate([units, 1 / units]) / np.arange(1, 13)[:, None]
    multiple = (
        np.abs(constants[nonzero])[:, None] / units.ravel() if nonzero.size else np.zeros((0, 1))
    )
    whole = np.abs(multiple - np.round(multiple)) < 1e-6 * multiple
    plausible[nonzero] = np.any(whole & (multiple > 0.5) & (multiple < 100), axis=1)
    return plausible


def named(hole, match):
    """Return the mistake that a match names.

    Parameters
    ----------
    hole : Hole
        The place of the mistake.
    match : Match
        The array that belongs there.

    Returns
    -------
    cost : float
        Cost of the match.
    kind : str
        Kind of the mistake.
    words : str
        Description of the mistake.
    factor : tuple or None
        As in :class:`ibpcl.verify.reports.kinds.Finding`: for a missing or extra factor only.
    """
    own = short(hole)
    constant = match.constant
    relation = match.relation
    times = (
        ""
        if abs(constant - 1) < 1e-6
        else "-"
        if abs(constant + 1) < 1e-6
        else f"{constant:.6g} * "
    )
    factor = f"{times}{bracketed(match.text) if times else match.text}"
    if match.text == "1":
        relation = "constant"
    elif relation == "term":
        factor = f"- {factor[1:]}" if constant < 0 else f"+ {factor}"
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
    more = "" if abs(constant - 1) < 1e-6 else f" and multiplied by {constant:.6g}"
    words = words.format(
        own=own,
        bracketed=bracketed(own),
        text=match.text,
        factor=factor,
        more=more,
        constant=f"{constant:.6g}",
        name=constant_name(constant),
    )
    is_factor = match.relation in ("missing", "extra")
    return (
        match.cost,
        kind,
        words,
        (match.relation, match.smallest, match.largest) if is_factor else None,
    )


def patterned(hole):
    """Return the mistake of a place whose right values have a pattern: zeros, or another order.

    Parameters
    ----------
    hole : Hole
        A place that can contain the mistake.

    Returns
    -------
    tuple or None
        (0, kind, words, None) in the form of :func:`named`, None if there is no such pattern.
    """
    pairs = list(zip(hole.values, hole.right, strict=False)) if hole.right is not None else []
    off = [np.abs(right - own) > FITS * np.max(np.abs(right)) for own, right in pairs]
    if not off or not all(map(np.any, off)) or off[0].size < 2:
        return None
    own = short(hole)
    where = f"at {off[0].sum()} of {off[0].size} entries"
    if all(
        np.allclose(right[at], 0, atol=FITS * np.max(np.abs(right)))
        for (_, right), at in zip(pairs, off, strict=True)
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
            np.sort(value, None), np.sort(right, None), rtol=FITS, atol=FITS * np.max(np.abs(right))
        )
        for value, right in pairs
    ):
        return 0, "shifted", f"right numbers in another order (permuted) in `{own}`", None
    return None


def short(hole):
    """Return the source text of a place, cut if it is long.

    Parameters
    ----------
    hole : Hole
        The place.

    Returns
    -------
    str
        At most 60 characters.
    """
    text = hole.place.text
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
