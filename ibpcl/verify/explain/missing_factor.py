r"""A missing factor or term: the value that one place of the gradient function needs.

A vector-Jacobian product is linear in every value that carries the cotangent.  If a place has the
value :math:`e`, the gradient is :math:`g = g_0 + L e`.  The matrix :math:`L` is measured by moving
the entries of :math:`e` one after another.  The place can contain the mistake only if :math:`L x =
\bar x - g` has a solution, where :math:`\bar x` is the true gradient.  The value that belongs there
is then sought among :math:`c\,e\,h`, :math:`c\,e / h`, :math:`c\,h`, :math:`e + c\,h` and
:math:`c\,h - e` with known arrays :math:`h` and constants :math:`c`.
"""

import ast
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.syntax import is_array, items_of, putting
from ibpcl.verify.explain.known_arrays import LONGEST, Expression, Known, bracketed
from ibpcl.verify.reports.kinds import Finding
from ibpcl.verify.reports.words import UNITS, constant_name

MOST_ENTRIES = 80  # largest number of entries of a place, over all its calls
FITS = 1e-6  # relative error up to which a value fits


class MeasuredPlace(NamedTuple):
    """A place that can contain the mistake, and its measurements.

    The lists have one item for each trial.

    Attributes
    ----------
    place : Place
        The expression.
    values : list of ndarray
        Its values.  The first axis counts the calls: a place in a loop has several.
    maps : list of ndarray, shape (R, E)
        Derivatives of the R measured entries of the wrong gradients by the E entries of the values.
    lacks : list of ndarray, shape (R,)
        The true gradients minus those under test.
    views : list of dict
        The variables and expressions that can be read at the place, by their source text.
    size : float
        Scale of the gradients.
    telling : bool
        Whether most errors of the gradients could not come from this place, so that the fit is no
        coincidence.
    right : list of ndarray or None
        The values that belong there in the first trials.  None if they are not unique in at least
        two trials.
    """

    place: object
    values: list
    maps: list
    lacks: list
    views: list
    size: float
    telling: bool
    right: list | None


def background(evidence, forward):
    """Return the arrays beyond local variables that a missing factor or term may be made of.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    forward : Forward or None
        The watched forward, whose values are included.

    Returns
    -------
    list of dict
        For each trial the inputs, the outputs, the last value of each place of the forward, and the
        user's candidates, by name.
    """
    views = []
    for point, _ in evidence.trials:
        problem = evidence.problems[point]
        view = dict(zip(problem.names, problem.point, strict=True))
        outputs, several, _ = problem.call()
        view.update({f"out[{n}]" if several else "out": out for n, out in enumerate(outputs)})
        for n, values in forward.recordings[point].series.items() if forward is not None else ():
            view.setdefault(forward.code.places[n].text, values[-1])
        view.update(evidence.extra)
        views.append({name: value for name, value in view.items() if value is not None})
    return views


def measured_places(bench, code, recordings, wrong, most, suspects):
    """Measure the places in which one mistake can explain several wrong gradients.

    The value of each statement is measured first, from the last statement to the first.  The places
    inside a statement follow only if it is not innocent.  A statement is innocent if the gradients
    depend linearly on its value and no value makes them right.

    Parameters
    ----------
    bench : Bench
        Runs changed versions of the gradient function.
    code : Code
        Source of the gradient function.
    recordings : list of Recording
        The values of its places in each trial.
    wrong : list of int
        Positions of the inputs whose gradients one mistake must explain.
    most : int
        Number of runs after which no further place is measured.
    suspects : Suspects
        Restricts the places, if it has any.

    Returns
    -------
    found : list of MeasuredPlace
        The places where some value makes the gradients right.
    innocent : set of ast.stmt
        The innocent statements.
    """
    start = bench.runs
    found = []
    innocent = set()
    make = code.watched()
    first = recordings[0]
    # the places in each statement, the last statement first
    latest = {}
    for n, place in reversed(list(enumerate(code.places))):
        if (
            place.watched
            and place.inside == "formula"
            and is_array(first.values.get(n))
            and np.asarray(first.values[n]).dtype.kind == "f"
            and (not suspects.any or n in suspects.places)
            and 0 < np.size(first.values[n]) * first.counts[n] <= MOST_ENTRIES
        ):
            latest.setdefault(place.statement, []).append(n)
    # whole statements first, then the places inside the statements that are not innocent
    for whole_statements in (True, False):
        for statement, places in latest.items():
            for n in places:
                if code.places[n].whole != whole_statements or statement in innocent:
                    continue
                if bench.runs - start > most:
                    return found, innocent
                measured = _measured_place(bench, make, code.places[n], n, wrong, recordings)
                if measured is False and whole_statements and not isinstance(statement, ast.Return):
                    innocent.add(statement)
                elif measured:
                    found.append(
                        measured._replace(
                            views=[view_at(code, recording, n) for recording in recordings]
                        )
                    )
    return found, innocent


def view_at(code, recording, number):
    """Return the values that are known at a place in one run, by source text.

    These are expressions and variables, their items, and in a loop the rows of arrays.

    Parameters
    ----------
    code : Code
        Source of the gradient function.
    recording : Recording
        The values of its places in one run.
    number : int
        Number of the place.

    Returns
    -------
    dict
        Arrays by their text.  Their first axis counts the calls of the place, or has length 1.
    """
    place = code.places[number]
    calls = recording.counts[number]
    recorded = recording.series
    scope = recording.scopes[place.function]
    near = sorted(
        (
            other
            for other, candidate in enumerate(code.places)
            if candidate.function == place.function and other in recorded
        ),
        # earlier places first, the nearest before the others: a variable gets its latest value
        key=lambda other: (other > number, abs(other - number)),
    )
    read = {
        other: _stacked(recorded[other])
        for other in near
        if len(recorded[other]) in (1, calls) and len(set(map(np.shape, recorded[other]))) == 1
    }
    pairs = [
        (code.places[other].text, value)
        for other, value in read.items()
        if isinstance(code.places[other].node, ast.Name)
    ]
    pairs += [(name, value[None]) for name, value in _numbers(scope.items())]
    pairs += [(code.places[other].text, value) for other, value in read.items()]
    pairs += [
        (text, value[None])
        for name, holder in scope.items()
        for text, value in _numbers(items_of(name, holder))
    ]
    for other in near if calls > 1 else ():  # rows of arrays in a loop
        if (
            code.places[other].inside == "index"
            and other in read
            and read[other].dtype.kind == "i"
            and len(read[other]) == calls
        ):
            pairs += [
                (f"{name}[{code.places[other].text}]", value[read[other]])
                for name, value in scope.items()
                if isinstance(value, np.ndarray) and value.ndim and len(value) > np.max(read[other])
            ]
    by_text = {}
    for text, value in pairs:  # the first value of each text counts
        by_text.setdefault(text, value)
    return by_text


def _measured_place(bench, make, place, number, wrong, recordings):
    """Measure how the gradients depend on a place in every trial.

    The result is None if this cannot be measured, and False if the gradients depend linearly on the
    place and no value makes them right.
    """
    evidence = bench.evidence
    values = []
    maps = []
    lacks = []
    size = 0.0
    telling = False
    solutions = []
    for trial, recording in enumerate(recordings):
        shapes = {np.shape(v) for v in recording.series.get(number, ())}
        if len(shapes) != 1 or (values and np.shape(values[0])[0] != len(recording.series[number])):
            return None
        value = np.stack([np.asarray(v, dtype=float) for v in recording.series[number]])
        claimed = _joined(evidence, evidence.gradients[trial], wrong)
        right_gradient = np.concatenate([evidence.expected(j, trial)[0].ravel() for j in wrong])
        known = ~np.isnan(right_gradient)
        lack = (right_gradient - claimed)[known]
        step = np.max(np.abs(value), initial=0.0) or 1.0

        def moved(change, trial=trial, value=value, claimed=claimed, known=known):
            result = bench.gradients(make(putting({number: value + change})), trial)
            return None if result is None else (_joined(evidence, result, wrong) - claimed)[known]

        columns = []
        for entry in np.eye(value.size):
            column = moved(step * entry.reshape(value.shape))
            if column is None or column.shape != lack.shape or not np.all(np.isfinite(column)):
                return None
            columns.append(column / step)
        linear = np.stack(columns, axis=1)
        if not np.any(linear):
            return False
        solution, _, rank, _ = np.linalg.lstsq(linear, lack, rcond=1e-10)
        scale = float(
            np.max(np.abs(right_gradient[known]), initial=0.0)
            + np.max(np.abs(claimed), initial=0.0)
        )
        if np.max(np.abs(linear @ solution - lack), initial=0.0) > FITS * scale:
            change = step * np.random.default_rng(0).standard_normal(value.shape)
            result = moved(change)
            return (
                False
                if result is not None
                and np.allclose(result, linear @ change.ravel(), rtol=1e-7, atol=1e-9 * scale)
                else None
            )
        telling |= rank < len(lack)
        solutions += (
            [value + solution.reshape(value.shape)]
            if rank == value.size and len(solutions) == trial
            else []
        )
        values.append(value)
        maps.append(linear)
        lacks.append(lack)
        size = max(size, scale)
    return MeasuredPlace(
        place, values, maps, lacks, [], size, telling, solutions if len(solutions) > 1 else None
    )


def _numbers(items):
    """Yield those pairs (text, value) whose values are arrays or numbers, as arrays."""
    for text, value in items:
        if isinstance(value, (np.ndarray, np.generic, int, float)) and not isinstance(value, bool):
            yield text, np.asarray(value)


def _stacked(values):
    """Return the values of a place as one array, a single one without a copy."""
    return np.stack(values) if len(values) > 1 else np.asarray(values[0])[None]


def _joined(evidence, gradients, wrong):
    """Return the gradients of some inputs as one vector."""
    return np.concatenate(
        [np.asarray(gradients[evidence.problem.wrt.index(j)], dtype=float).ravel() for j in wrong]
    )


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


def known_at(measured, views):
    """Return the known arrays at a measured place.

    Parameters
    ----------
    measured : MeasuredPlace
        A place that can contain the mistake.
    views : list of dict
        Background arrays for each trial; see :func:`background`.

    Returns
    -------
    Known
        The variables at the place, and the background arrays that have other names.
    """
    calls = measured.values[0].shape[0]
    joined = [
        {
            **own,
            **{name: np.asarray(value)[None] for name, value in view.items() if name not in own},
        }
        for own, view in zip(measured.views, views, strict=True)
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


def candidates(measured, known, stage):
    """Return the arrays that one stage of :data:`STAGES` looks up for a measured place.

    Parameters
    ----------
    measured : MeasuredPlace
        A place that can contain the mistake.
    known : Known
        The known arrays there.
    stage : str
        Key of :data:`STAGES`.

    Returns
    -------
    list of Expression
        The stage "plain" adds the number 1.
    """
    arrays = getattr(known, stage)(measured.values[0].shape)
    return arrays + ([Expression("1", np.ones_like, measured.values)] if stage == "plain" else [])


def best_match(measured, columns, relations):
    """Return the match of the lowest cost among known arrays.

    Parameters
    ----------
    measured : MeasuredPlace
        A place that can contain the mistake.
    columns : sequence of Expression
        The arrays; see :func:`candidates`.
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
    own = measured.values[0]
    arrays = np.array(
        [
            (array if array.shape == own.shape else np.broadcast_to(array, own.shape)).ravel()
            for array in (expression[0] for expression in columns)
        ]
    )
    for order, relation in enumerate(relations):
        constants = _fitting(measured, 0, _change(relation, own.ravel(), arrays), relation)
        for n in np.flatnonzero(_plausible(constants)):
            values = columns[n]
            if all(
                abs(_constant(measured, trial, relation, values[trial]) - constants[n])
                <= 1e-5 * abs(constants[n])
                for trial in range(1, len(values))
            ):
                factor = constants[n] * values[0]
                cost = len(values.text) + 4 * order + 3 * (abs(abs(constants[n]) - 1) > 1e-6)
                matches.append(
                    Match(
                        relation,
                        values.text,
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


def _fitting(measured, trial, changes, relation):
    """Return the constant with which each row explains the gradient in one trial, or 0."""
    good = np.all(np.isfinite(changes), axis=1)
    effect = np.where(good[:, None], changes, 0.0) @ measured.maps[trial].T
    offset = {"term": 0.0, "less": 2.0}.get(relation, 1.0) * (
        measured.maps[trial] @ measured.values[trial].ravel()
    )
    # A term adds the missing gradient.  A new value must also give what the old value gave.
    goal = measured.lacks[trial] + offset
    norm = np.sum(effect * effect, axis=1)
    constant = np.where(norm > 0, effect @ goal / np.where(norm > 0, norm, 1.0), 0.0)
    gap = np.max(np.abs(goal - constant[:, None] * effect), axis=1, initial=0.0)
    return np.where(good & (gap <= FITS * measured.size), constant, 0.0)


def _constant(measured, trial, relation, array):
    """Return the constant of one array in one trial, 0 if it does not fit."""
    return float(
        _fitting(
            measured,
            trial,
            _change(relation, measured.values[trial], array).reshape(1, -1),
            relation,
        )[0]
    )


def _plausible(constants):
    """Return which constants a person would have written.

    These are small fractions, alone or times pi, log 2, a root of 2 or a root of 2 pi.
    """
    plausible = np.zeros(np.shape(constants), dtype=bool)
    nonzero = np.flatnonzero(constants)
    units = np.array([1.0, *UNITS.values()])
    units = np.concatenate([units, 1 / units]) / np.arange(1, 13)[:, None]
    multiple = (
        np.abs(constants[nonzero])[:, None] / units.ravel() if nonzero.size else np.zeros((0, 1))
    )
    whole = np.abs(multiple - np.round(multiple)) < 1e-6 * multiple
    plausible[nonzero] = np.any(whole & (multiple > 0.5) & (multiple < 100), axis=1)
    return plausible


def named(measured, match):
    """Return the mistake that a match names.

    Parameters
    ----------
    measured : MeasuredPlace
        The place of the mistake.
    match : Match
        The array that belongs there.

    Returns
    -------
    Finding
        With a factor if one is missing or extra.
    """
    own = short(measured)
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
        and measured.right is not None
        and not np.all(measured.values[0])
        and np.allclose(
            *(array[measured.values[0] != 0] for array in (measured.values[0], measured.right[0])),
            rtol=FITS,
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
    factor = (match.relation, match.smallest, match.largest) if is_factor else None
    return Finding(kind, words, factor=factor)


def patterned(measured):
    """Return the mistake of a place whose right values have a pattern: zeros, or another order.

    Parameters
    ----------
    measured : MeasuredPlace
        A place that can contain the mistake.

    Returns
    -------
    Finding or None
        None if there is no such pattern.
    """
    pairs = (
        list(zip(measured.values, measured.right, strict=False))
        if measured.right is not None
        else []
    )
    off = [np.abs(right - own) > FITS * np.max(np.abs(right)) for own, right in pairs]
    if not off or not all(map(np.any, off)) or off[0].size < 2:
        return None
    own = short(measured)
    where = f"at {off[0].sum()} of {off[0].size} entries"
    if all(
        np.allclose(right[at], 0, atol=FITS * np.max(np.abs(right)))
        for (_, right), at in zip(pairs, off, strict=True)
    ):
        words = (
            "an elementwise factor of zeros and ones (a mask) is missing: "
            f"`{own}` must be zero {where}"
        )
        return Finding("elementwise_factor", words)
    if all(
        np.allclose(
            np.sort(value, None), np.sort(right, None), rtol=FITS, atol=FITS * np.max(np.abs(right))
        )
        for value, right in pairs
    ):
        return Finding("shifted", f"right numbers in another order (permuted) in `{own}`")
    return None


def short(measured):
    """Return the source text of a place, cut if it is long.

    Parameters
    ----------
    measured : MeasuredPlace
        The place.

    Returns
    -------
    str
        At most 60 characters.
    """
    text = measured.place.text
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
