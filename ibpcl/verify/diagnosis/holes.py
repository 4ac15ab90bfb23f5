r"""What one place of the gradient function would have to be, for the gradient to be right.

A vector-Jacobian product is linear in whatever carries the cotangent.  At a place with the value
:math:`e` the gradient is :math:`g = g_0 + L e`, and :math:`L` is measured by moving the entries of
:math:`e` one after another. The place can hold the mistake only if :math:`L x = \bar x - g` has a
solution; and then the value that belongs there is sought among :math:`c\,e\,h`, :math:`c\,e / h`,
:math:`c\,h`, :math:`e + c\,h` and :math:`c\,h - e` with known arrays :math:`h`.
"""

import ast
from typing import NamedTuple

import numpy as np

from ibpcl.verify.diagnosis.source import is_array, items_of

MOST_ENTRIES = 80  # of a place
FITS = 1e-6


class Hole(NamedTuple):
    """A place and what is known about it; the lists have an item for each trial."""

    place: object
    # its values, with a first axis for the calls (a place in a loop has several)
    values: list
    maps: list  # the map from it to the gradients
    lacks: list  # what these lack
    views: list  # the variables there
    size: float  # of the gradients
    telling: bool  # whether most changes of the gradients could not be made here
    # what belongs there in the first trials, if nothing else makes the gradients right
    right: list | None


def background(evidence, forward):
    """Return for each trial what a missing factor may be made of besides local variables, by
    name.
    """
    views = []
    for p, _ in evidence.trials:
        problem = evidence.problems[p]
        view = dict(zip(problem.names, problem.point, strict=True))
        outputs, several, _ = problem.call()
        view.update({f"out[{o}]" if several else "out": out for o, out in enumerate(outputs)})
        for n, values in forward.recordings[p].series.items() if forward is not None else ():
            view.setdefault(forward.code.places[n].text, values[-1])
        view.update(evidence.extra)
        views.append({name: value for name, value in view.items() if value is not None})
    return views


def holes(bench, code, recordings, wrong, most, suspects):
    """Measure the places in which one mistake may be that explains the inputs ``wrong``, in so many
    runs at most.

    The value of each statement is looked at first, the latest one before the others; the places
    inside it follow only if no measurement shows that the statement is innocent: the gradients
    depend linearly on its value, and no value makes them right.  Returns the holes, and the
    innocent statements.
    """
    start = bench.runs
    found = []
    innocent = set()
    make = code.watched()
    first = recordings[0]
    # statements, the latest first, and the places in them
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
    # statements first, then what is inside those left
    for whole in (True, False):
        for statement, places in latest.items():
            for n in places:
                if code.places[n].whole != whole or statement in innocent:
                    continue
                if bench.runs - start > most:
                    return found, innocent
                hole = _hole(bench, make, code.places[n], n, wrong, recordings)
                if hole is False and whole and not isinstance(statement, ast.Return):
                    innocent.add(statement)
                elif hole:
                    found.append(
                        hole._replace(
                            views=[view_at(code, recording, n) for recording in recordings]
                        )
                    )
    return found, innocent


def view_at(code, recording, n):
    """Return what is known at a place in one run by its text: expressions, variables, their items
    and rows.

    The first axis of a value counts the calls of the place, or is 1.
    """
    place = code.places[n]
    calls = recording.counts[n]
    series = recording.series
    scope = recording.scopes[place.function]
    near = sorted(
        (
            m
            for m, other in enumerate(code.places)
            if other.function == place.function and m in series
        ),
        # of a variable that has several values, the latest one
        key=lambda m: (m > n, abs(m - n)),
    )
    read = {
        m: np.stack(series[m])
        for m in near
        if len(series[m]) in (1, calls) and len(set(map(np.shape, series[m]))) == 1
    }
    found = [
        (code.places[m].text, value)
        for m, value in read.items()
        if isinstance(code.places[m].node, ast.Name)
    ]
    found += [(name, value[None]) for name, value in _numbers(scope.items())]
    found += [(code.places[m].text, value) for m, value in read.items()]
    found += [
        (text, value[None])
        for name, holder in scope.items()
        for text, value in _numbers(items_of(name, holder))
    ]
    for m in near if calls > 1 else ():  # rows of arrays, in a loop
        if (
            code.places[m].inside == "index"
            and m in read
            and read[m].dtype.kind == "i"
            and len(read[m]) == calls
        ):
            found += [
                (f"{name}[{code.places[m].text}]", value[read[m]])
                for name, value in scope.items()
                if isinstance(value, np.ndarray) and value.ndim and len(value) > np.max(read[m])
            ]
    known = {}
    for text, value in found:  # of equal texts the first
        known.setdefault(text, value)
    return known


def _hole(bench, make, place, n, wrong, recordings):
    """Measure what a place does to the gradients, in every trial.

    None if that can't be measured, False if they depend linearly on it and no value makes them
    right.
    """
    evidence = bench.evidence
    values = []
    maps = []
    lacks = []
    size = 0.0
    telling = False
    right = []
    for t, recording in enumerate(recordings):
        shapes = {np.shape(v) for v in recording.series.get(n, ())}
        if len(shapes) != 1 or (values and np.shape(values[0])[0] != len(recording.series[n])):
            return None
        value = np.stack([np.asarray(v, dtype=float) for v in recording.series[n]])
        plain = _stacked(evidence, evidence.gradients[t], wrong)
        true = np.concatenate([evidence.expected(j, t)[0].ravel() for j in wrong])
        known = ~np.isnan(true)
        lack = (true - plain)[known]
        step = np.max(np.abs(value), initial=0.0) or 1.0

        def moved(change, t=t, value=value, plain=plain, known=known):
            result = bench.gradients(make(_put(n, value + change)), t)
            return None if result is None else (_stacked(evidence, result, wrong) - plain)[known]

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
        scale = float(np.max(np.abs(true[known]), initial=0.0) + np.max(np.abs(plain), initial=0.0))
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
        right += (
            [value + solution.reshape(value.shape)]
            if rank == value.size and len(right) == t
            else []
        )
        values.append(value)
        maps.append(linear)
        lacks.append(lack)
        size = max(size, scale)
    return Hole(place, values, maps, lacks, [], size, telling, right if len(right) > 1 else None)


def _numbers(items):
    """Yield those of (text, value) that are arrays or numbers, as arrays."""
    for text, value in items:
        if isinstance(value, (np.ndarray, np.generic, int, float)) and not isinstance(value, bool):
            yield text, np.array(value)


def _put(place, values):
    """Return a hook that puts values in one place, one for each call."""
    values = iter(values)

    def hook(number, value, scope):
        if number != place:
            return value
        new = next(values, value)
        return np.array(new) if isinstance(value, np.ndarray) else new

    return hook


def _stacked(evidence, gradients, wrong):
    return np.concatenate(
        [np.asarray(gradients[evidence.problem.wrt.index(j)], dtype=float).ravel() for j in wrong]
    )
