r"""The value that one place of the gradient function needs, for the gradient to be right.

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

from ibpcl.codeview.syntax import is_array, items_of

MOST_ENTRIES = 80  # largest number of entries of a place, over all its calls
FITS = 1e-6  # relative error up to which a value fits


class Hole(NamedTuple):
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


def holes(bench, code, recordings, wrong, most, suspects):
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
    measured : list of Hole
        The places where some value makes the gradients right.
    innocent : set of ast.stmt
        The innocent statements.
    """
    start = bench.runs
    measured = []
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
                    return measured, innocent
                hole = _hole(bench, make, code.places[n], n, wrong, recordings)
                if hole is False and whole_statements and not isinstance(statement, ast.Return):
                    innocent.add(statement)
                elif hole:
                    measured.append(
                        hole._replace(
                            views=[view_at(code, recording, n) for recording in recordings]
                        )
                    )
    return measured, innocent


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
        other: np.stack(recorded[other])
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


def _hole(bench, make, place, number, wrong, recordings):
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
        claimed = _stacked(evidence, evidence.gradients[trial], wrong)
        right_gradient = np.concatenate([evidence.expected(j, trial)[0].ravel() for j in wrong])
        measured = ~np.isnan(right_gradient)
        lack = (right_gradient - claimed)[measured]
        step = np.max(np.abs(value), initial=0.0) or 1.0

        def moved(change, trial=trial, value=value, claimed=claimed, measured=measured):
            result = bench.gradients(make(_put(number, value + change)), trial)
            return (
                None if result is None else (_stacked(evidence, result, wrong) - claimed)[measured]
            )

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
            np.max(np.abs(right_gradient[measured]), initial=0.0)
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
    return Hole(
        place, values, maps, lacks, [], size, telling, solutions if len(solutions) > 1 else None
    )


def _numbers(items):
    """Yield those pairs (text, value) whose values are arrays or numbers, as arrays."""
    for text, value in items:
        if isinstance(value, (np.ndarray, np.generic, int, float)) and not isinstance(value, bool):
            yield text, np.array(value)


def _put(place, values):
    """Return a hook that replaces the values of one place, one value for each call."""
    values = iter(values)

    def hook(number, value, scope):
        if number != place:
            return value
        new = next(values, value)
        return np.array(new) if isinstance(value, np.ndarray) else new

    return hook


def _stacked(evidence, gradients, wrong):
    """Return the gradients of some inputs as one vector."""
    return np.concatenate(
        [np.asarray(gradients[evidence.problem.wrt.index(j)], dtype=float).ravel() for j in wrong]
    )
