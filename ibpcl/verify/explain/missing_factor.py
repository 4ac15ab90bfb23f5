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


class Trial(NamedTuple):
    """How the wrong gradients of one trial depend on the value of a place.

    Attributes
    ----------
    value : ndarray
        The value.  The first axis counts the calls: a place in a loop has several.
    slopes : ndarray, shape (R, E)
        Derivatives of the R measured entries of the gradients by the E entries of the value.
    lack : ndarray, shape (R,)
        The true gradients minus those under test.
    size : float
        Scale of the gradients.
    telling : bool
        Whether most errors of the gradients could not come from this place, so that the fit is no
        coincidence.
    right : ndarray or None
        The value that belongs there; None if it is not unique.
    """

    value: np.ndarray
    slopes: np.ndarray
    lack: np.ndarray
    size: float
    telling: bool
    right: np.ndarray | None

    def constants(self, relation, arrays):
        """Return the constant with which each array explains the gradients.

        Parameters
        ----------
        relation : str
            Relation of the arrays to the value, a key of :data:`WORDS`.
        arrays : ndarray, shape (N, E)
            The arrays.

        Returns
        -------
        ndarray, shape (N,)
            Zero for arrays that do not explain them.
        """
        own = self.value.ravel()
        changes = arrays
        if relation in ("missing", "extra"):
            changes = own * arrays if relation == "missing" else own / arrays
        good = np.all(np.isfinite(changes), axis=1)
        effect = np.where(good[:, None], changes, 0.0) @ self.slopes.T
        # A term adds the missing gradient.  A new value must also give what the old value gave.
        goal = self.lack + {"term": 0.0, "less": 2.0}.get(relation, 1.0) * (self.slopes @ own)
        norm = np.sum(effect * effect, axis=1)
        constants = np.divide(effect @ goal, norm, out=np.zeros(len(norm)), where=norm > 0)
        gap = np.max(np.abs(goal - constants[:, None] * effect), axis=1, initial=0.0)
        return np.where(good & (gap <= FITS * self.size), constants, 0.0)


class MeasuredPlace(NamedTuple):
    """A place that can contain the mistake, and its measurements.

    Attributes
    ----------
    place : Place
        The expression.
    trials : list of Trial
        Its measurements in each trial.
    known : Known
        The variables and expressions that can be read at the place, and background arrays.
    """

    place: object
    trials: list
    known: object

    @property
    def telling(self):
        """Whether the place explains errors that other places could not, in some trial."""
        return any(trial.telling for trial in self.trials)

    @property
    def values(self):
        """The pairs of the value and the right value, where it is unique; none if that is rare."""
        pairs = [(trial.value, trial.right) for trial in self.trials if trial.right is not None]
        return pairs if len(pairs) > 1 else []

    @property
    def text(self):
        """Source text of the place, cut if it is long."""
        text = self.place.text
        return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


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
        view.update(evidence.terms.candidates)
        views.append({name: value for name, value in view.items() if value is not None})
    return views


def measured_places(bench, code, recordings, wrong, end, suspects, views):
    """Measure the places in which one mistake can explain several wrong gradients.

    The last statement comes first, and in each statement its whole value.  The places inside follow
    unless the gradients depend linearly on the whole value and no value makes them right.

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
    end : int
        Number of runs of the bench after which no further place is measured.
    suspects : Suspects
        Restricts the places, if it has any.
    views : list of dict
        Background arrays for each trial; see :func:`background`.

    Returns
    -------
    list of MeasuredPlace
        The places where some value makes the gradients right.
    """
    found = []
    innocent = set()
    make = code.watched()
    values = recordings[0].values
    open_places = [
        n
        for n, place in enumerate(code.places)
        if place.watched
        and place.inside == "formula"
        and is_array(values.get(n))
        and np.asarray(values[n]).dtype.kind == "f"
        and (not suspects.any or n in suspects.places)
        and 0 < np.size(values[n]) * recordings[0].counts[n] <= MOST_ENTRIES
    ]
    open_places.sort(key=lambda n: (not code.places[n].whole, -n))
    for n in open_places:
        place = code.places[n]
        if bench.runs > end:
            break
        if place.statement in innocent:
            continue
        trials, impossible = _trials_of(n, bench, make, wrong, recordings)
        if impossible and place.whole and not isinstance(place.statement, ast.Return):
            innocent.add(place.statement)
        elif trials:
            known = known_at([view_at(code, recording, n) for recording in recordings], views)
            found.append(MeasuredPlace(place, trials, known))
    return found


def view_at(code, recording, number):
    """Return the values that are known at a place in one run, by source text.

    These are expressions and variables, and their items.

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
    near = [
        other
        for other, candidate in enumerate(code.places)
        if candidate.function == place.function
        and len(recorded.get(other, ())) in (1, calls)
        and len(set(map(np.shape, recorded[other]))) == 1
    ]

    # the nearest first, those before the place before the others: a variable's latest value counts
    near.sort(key=lambda other: (other > number, abs(other - number)))
    read = [(code.places[n], _stacked(recorded[n])) for n in near]
    pairs = [(place.text, value) for place, value in read if isinstance(place.node, ast.Name)]
    pairs += [(name, value[None]) for name, value in _numbers(scope.items())]
    pairs += [(place.text, value) for place, value in read]
    pairs += [
        (text, value[None])
        for name, holder in scope.items()
        for text, value in _numbers(items_of(name, holder))
    ]
    by_text = {}
    for text, value in pairs:  # the first value of each text counts
        by_text.setdefault(text, value)
    return by_text


def _trials_of(number, bench, make, wrong, recordings):
    """Measure how the gradients depend on a place.

    Returns (trials, impossible).  There are no trials if the place cannot be measured or cannot
    contain the mistake.  It is impossible that it does if the gradients depend linearly on it and
    no value makes them right.
    """
    trials = []
    for trial, recording in enumerate(recordings):
        series = recording.series.get(number, ())
        alike = len(set(map(np.shape, series))) == 1
        if not alike or (trials and len(trials[0].value) != len(series)):
            return [], False
        value = _stacked(series).astype(float)

        def gradients(change, trial=trial, value=value):
            return bench.gradients(make(putting({number: value + change})), trial)

        measured, impossible = _trial_of(value, gradients, bench.evidence, trial, wrong)
        if measured is None:
            return [], impossible
        trials.append(measured)
    return trials, False


def _trial_of(value, gradients, evidence, trial, wrong):
    """Return (the measurement of a place in one trial or None, whether a mistake is impossible)."""
    claimed = _joined(evidence, evidence.gradients[trial], wrong)
    true = np.concatenate([evidence.expected(j, trial)[0].ravel() for j in wrong])
    known = ~np.isnan(true)
    lack = (true - claimed)[known]
    step = np.max(np.abs(value), initial=0.0) or 1.0

    def moved(change):
        result = gradients(change.reshape(value.shape))
        return None if result is None else (_joined(evidence, result, wrong) - claimed)[known]

    columns = []
    for entry in np.eye(value.size):
        column = moved(step * entry)
        if column is None or column.shape != lack.shape or not np.all(np.isfinite(column)):
            return None, False
        columns.append(column / step)
    slopes = np.stack(columns, axis=1)
    if not np.any(slopes):
        return None, True
    solution, _, rank, _ = np.linalg.lstsq(slopes, lack, rcond=1e-10)
    size = float(np.max(np.abs(true[known]), initial=0.0) + np.max(np.abs(claimed), initial=0.0))
    if np.max(np.abs(slopes @ solution - lack), initial=0.0) > FITS * size:
        change = step * np.random.default_rng(0).standard_normal(value.size)
        result = moved(change)
        is_linear = result is not None and np.allclose(
            result, slopes @ change, rtol=1e-7, atol=1e-9 * size
        )
        return None, is_linear
    right = value + solution.reshape(value.shape) if rank == value.size else None
    return Trial(value, slopes, lack, size, rank < len(lack), right), False


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
    array : Expression
        The array.
    constant : float
        The constant factor that it needs.
    cost : float
        How far-fetched the match is: longer texts, later relations and constants cost more.
    """

    relation: str
    array: Expression
    constant: float
    cost: float


def known_at(own_views, views):
    """Return the known arrays at a place.

    Parameters
    ----------
    own_views : list of dict
        The arrays that can be read at the place in each trial; their first axis counts its calls.
    views : list of dict
        Background arrays for each trial; see :func:`background`.

    Returns
    -------
    Known
        The arrays at the place, and the background arrays that have other names.
    """
    joined = []
    for own, view in zip(own_views, views, strict=True):
        calls = max(map(len, own.values()), default=1)
        more = {name: np.asarray(v)[None] for name, v in view.items() if name not in own}
        arrays = {**own, **more}
        joined.append({n: np.broadcast_to(v, (calls, *v.shape[1:])) for n, v in arrays.items()})
    return Known(joined)


def candidates(measured, stage):
    """Return the arrays that one stage of :data:`STAGES` looks up for a measured place.

    Parameters
    ----------
    measured : MeasuredPlace
        A place that can contain the mistake.
    stage : str
        A key of :data:`STAGES`.

    Returns
    -------
    list of Expression
        For the stage "plain", the number 1 is one of them.
    """
    values = [trial.value for trial in measured.trials]
    arrays = getattr(measured.known, stage)(values[0].shape)
    return arrays + ([Expression("1", np.ones_like, values)] if stage == "plain" else [])


def best_match(measured, columns, relations):
    """Return the match of the lowest cost among known arrays.

    Parameters
    ----------
    measured : MeasuredPlace
        A place that can contain the mistake.
    columns : list of Expression
        The arrays.
    relations : sequence of str
        Relations to the value of the place to try.

    Returns
    -------
    Match or None
        None if no array explains the gradients with one plausible constant in all trials.
    """
    first, *others = measured.trials
    matches = []

    def row(array, number):
        return np.broadcast_to(array[number], measured.trials[number].value.shape).ravel()

    arrays = np.array([row(array, 0) for array in columns])
    for order, relation in enumerate(relations if columns else ()):
        constants = first.constants(relation, arrays)
        for n in np.flatnonzero(_plausible(constants)):
            array = columns[n]
            constant = float(constants[n])
            again = [
                trial.constants(relation, row(array, number)[None])[0]
                for number, trial in enumerate(others, 1)
            ]
            if np.all(np.abs(np.array(again) - constant) <= 1e-5 * abs(constant)):
                cost = len(array.text) + 4 * order + 3 * (abs(abs(constant) - 1) > 1e-6)
                matches.append(Match(relation, array, constant, cost))
    return min(matches, key=lambda match: match.cost, default=None)


def _plausible(constants):
    """Return which constants a person would have written.

    These are simple fractions, or simple multiples of pi and the other units.
    """
    parts = [
        unit**power / whole
        for unit in (1.0, *UNITS.values())
        for power in (1, -1)
        for whole in range(1, 13)
    ]
    multiples = np.abs(constants)[:, None] / parts
    is_whole = np.abs(multiples - np.round(multiples)) < 1e-6 * multiples
    return np.any(is_whole & (multiples > 0.5) & (multiples < 100), axis=1)


def named(measured, match):
    """Return the mistake that a match names.

    Parameters
    ----------
    measured : MeasuredPlace
        The place that contains the mistake.
    match : Match
        The array that belongs there.

    Returns
    -------
    Finding
    """
    own = measured.text
    text = match.array.text
    constant = match.constant
    times = {1.0: "", -1.0: "-"}.get(round(constant, 6), f"{constant:.6g} * ")
    factor = f"{times}{bracketed(text) if times else text}"
    if match.relation == "term":
        factor = f"- {factor[1:]}" if constant < 0 else f"+ {factor}"
    kind, words = WORDS[_relation(measured, match)]
    words = words.format(
        own=own,
        bracketed=bracketed(own),
        text=text,
        factor=factor,
        more=f" and multiplied by {constant:.6g}" if times else "",
        constant=f"{constant:.6g}",
        name=constant_name(constant),
    )
    extremes = None
    if match.relation in ("missing", "extra"):
        values = constant * match.array[0]
        extremes = match.relation, float(values.min()), float(values.max())
    return Finding(kind, words, factor=extremes)


def _relation(measured, match):
    """Return the relation of a match, a key of :data:`WORDS`, with its special cases."""
    if match.array.text == "1":
        return "constant"
    if match.relation == "sum" and not match.array.text.startswith("sum("):
        return "centred"
    if match.relation == "instead" and measured.values:
        value, right = measured.values[0]
        kept = value != 0
        if not np.all(kept) and np.allclose(value[kept], right[kept], rtol=FITS):
            return "zero"
    return match.relation


def patterned(measured):
    """Return the mistake of a place whose right values have a pattern: zeros, or another order.

    Parameters
    ----------
    measured : MeasuredPlace
        A place that can contain the mistake.

    Returns
    -------
    Finding or None
        None without a pattern.
    """
    off = [np.abs(right - own) > FITS * np.max(np.abs(right)) for own, right in measured.values]
    if not off or not all(map(np.any, off)) or off[0].size < 2:
        return None
    pairs = list(zip(measured.values, off, strict=True))
    if all(
        np.allclose(right[at], 0, atol=FITS * np.max(np.abs(right))) for (_, right), at in pairs
    ):
        words = (
            "an elementwise factor of zeros and ones (a mask) is missing: "
            f"`{measured.text}` must be zero at {off[0].sum()} of {off[0].size} entries"
        )
        return Finding("elementwise_factor", words)
    if all(
        np.allclose(
            np.sort(own, None), np.sort(right, None), rtol=FITS, atol=FITS * np.max(np.abs(right))
        )
        for own, right in measured.values
    ):
        words = f"right numbers in another order (permuted) in `{measured.text}`"
        return Finding("shifted", words)
    return None
