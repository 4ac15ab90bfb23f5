"""Names for the mistake in a forward, from its values alone.

The following explanations are tried one after another: too few digits, a mistake that the
assignment's own list describes in words, the answer to another variant of the assignment, a change
of the whole result, a change of an input, an error that is a ratio of sizes, the reference with one
slip, and an error that depends on some inputs only.  All but the first and the last are exact: they
must reproduce the same numbers at every point that was judged.
"""

from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from ibpcl.classroom.judging.comparing import (
    beside,
    is_real,
    is_same,
    number_in_words,
    over_points,
    worst_error,
)
from ibpcl.classroom.judging.naming.changes import (
    IGNORED,
    OF_INPUTS,
    OF_RESULTS,
    Change,
    of_axes,
    of_result_axes,
)
from ibpcl.classroom.judging.naming.mutants import called, listed, mutants_of, quietly
from ibpcl.classroom.judging.results import names_of_results

EXACT = 1e-7  # relative error at which two functions count as the same
SINGLE = 1e-6  # relative error from computing in single precision
# An explanation must be closer to the student's values than the right ones are, by this factor.
CLOSER = 1e-2
LEAST = 1e-12  # relative error of rounding
# mutants of a function that calls other tasks' functions many times
MOST_OF_A_LOOP = 60
MOST_INPUTS = 12  # inputs whose pairs are changed together


class Seen(NamedTuple):
    """The values of a forward at one point.

    Attributes
    ----------
    size : str
        Kind of the point, such as ``"small"``.
    inputs : dict of str to ndarray or number
        The inputs by name.
    out : object
        The hand-in's output; possibly of any type.
    expected : ndarray, number or tuple of these
        The right output.
    """

    size: str
    inputs: dict
    out: object
    expected: object


class Explanation(NamedTuple):
    """A mistake in a forward.

    Attributes
    ----------
    kind : str
        Kind of the mistake.
    words : str
        Description of the mistake.
    function : callable or None
        Function of the inputs that returns the same values as the student's; None if unknown.
    inputs : tuple of str
        Names of the inputs that the error depends on, if that is the explanation.
    variant : str
        Name of the variant that was answered, if that is the explanation.
    """

    kind: str
    words: str
    function: object = None
    inputs: tuple = ()
    variant: str = ""


def explain(task, case, seen):
    """Return the explanation of a wrong forward, or None.

    Parameters
    ----------
    task : ibpcl.classroom.assignments.assignment.Task
        A forward or a proof.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    seen : list of Seen
        Values at all points that were judged.

    Returns
    -------
    Explanation or None
    """
    if not all(_comparable(each) for each in seen):
        return None
    reference = case.function(task)
    searches = (
        _of_digits,
        _of_own_list,
        _of_whole,
        _of_other_variants,
        _of_results,
        _of_inputs,
        _of_sizes,
        _of_ignored,
        _of_slips,
    )
    for search in SEARCHES_OF_LOOPS if is_loop(task) else searches:
        explanation = next(search(task, case, seen, reference), None)
        if explanation is not None:
            return explanation
    return None


def is_loop(task):
    """Return whether a task is a proof that builds on other tasks, whose calls are slow.

    Parameters
    ----------
    task : ibpcl.classroom.assignments.assignment.Task
        The task.

    Returns
    -------
    bool
    """
    return task.kind == "proof" and bool(task.needs)


def fits(function, seen, rtol=EXACT):
    """Return whether a function reproduces the student's values at every point.

    Parameters
    ----------
    function : callable
        Takes the inputs in order.
    seen : list of Seen
        Values at several points.
    rtol : float
        Largest relative error allowed.

    Returns
    -------
    bool
    """
    outs = []
    for each in seen:
        outs.append(called(function, tuple(each.inputs.values())))
        if not is_same(each.out, outs[-1], rtol):
            return False
    limit = max(LEAST, CLOSER * _largest_error(seen))
    return limit >= rtol or all(
        is_same(each.out, out, limit) for each, out in zip(seen, outs, strict=True)
    )


def _largest_error(seen):
    """Return the largest relative error of the student's values, infinite if shapes differ."""
    errors = []
    for each in seen:
        if isinstance(each.expected, tuple):
            pairs = list(zip(each.out, each.expected, strict=True))
        else:
            pairs = [(each.out, each.expected)]
        for own, right in pairs:
            same = np.shape(own) == np.shape(right)
            errors.append(worst_error(own, right) if same else np.inf)
    return max(errors, default=np.inf)


def _comparable(seen):
    """Return whether a result has the structure of the right one; shapes may differ."""
    pairs = beside(seen.out, seen.expected)
    return pairs is not None and all(is_real(out) for out, _ in pairs)


def _of_digits(task, case, seen, reference):
    """Yield too few digits: no other explanation differs from rounding then."""
    if all(is_same(each.out, each.expected, SINGLE) for each in seen):
        words = (
            "right to seven digits only, as in single precision (float32) or after a small number "
            "was added"
        )
        yield Explanation("precision", words, reference)


def _of_own_list(task, case, seen, reference):
    """Yield a mistake that the assignment's own list describes in words."""
    yield from _fitting(quietly(listed(case.assignment, task, case.variant)), task, seen)


def _fitting(mutants, task, seen):
    """Yield the mutants that give these results."""
    for mutant in mutants:
        function = _without_cache(mutant.function, task)
        if fits(function, seen):
            yield Explanation(mutant.kind, mutant.words, function)


def _without_cache(function, task):
    """Return a function of the reference that returns its value alone."""
    return function if task.is_plain else lambda *inputs: function(*inputs)[0]


def _of_whole(task, case, seen, reference):
    """Yield the kind of mistake that scalar results at all points share."""
    wrong = [
        (each.out, each.expected)
        for each in seen
        if not is_same(each.out, each.expected, max(task.rtol, 1e-12))
    ]
    agreed = over_points(wrong)
    if agreed is None:
        return
    kind, words = agreed
    factor = float(wrong[0][0]) / float(wrong[0][1]) if kind == "constant_factor" else 1.0
    shift = float(wrong[0][0]) - float(wrong[0][1]) if kind == "missing_term" else 0.0
    if len(wrong) == len(seen):
        if np.isclose(factor, -1):
            kind = "sign"
            words = "the sign is wrong: it is the negative of the right value"
        yield Explanation(kind, words, lambda *inputs: factor * reference(*inputs) + shift)


def _of_other_variants(task, case, seen, reference):
    """Yield another variant of the assignment that gives these results."""
    for variant in case.assignment.variants:
        if variant != case.variant:
            other = case.function(task, variant)
            if other is not None and fits(other, seen):
                words = (
                    "this is the answer to another variant of the assignment: its parametrization, "
                    "direction or unit are not those of your variant"
                )
                yield Explanation("other_variant", words, other, variant=variant)


def _of_results(task, case, seen, reference):
    """Yield a change of the whole result, or of one result of several."""
    first = seen[0].expected
    several = isinstance(first, tuple)
    names = [f"result {at + 1}" for at in range(len(first))] if several else []
    names = names_of_results(getattr(case.reference, task.function), len(names)) or names
    for place in range(len(first)) if several else (None,):
        sample = first if place is None else first[place]
        changes = [("other_result", change) for change in (*OF_RESULTS, *of_result_axes(sample))]
        for kind, change in (*_by_a_number(seen, place), *changes):

            def changed(*inputs, change=change, place=place):
                out = reference(*inputs)
                if place is None:
                    return change.function(np.asarray(out))
                return (*out[:place], change.function(np.asarray(out[place])), *out[place + 1 :])

            if fits(changed, seen):
                which = "result" if place is None else names[place]
                yield Explanation(kind, f"your {which} is {change.words}", changed)
    if several and len(first) == 2:

        def exchanged(*inputs):
            return tuple(reference(*inputs))[::-1]

        if fits(exchanged, seen):
            yield Explanation("swapped", "the two results are exchanged", exchanged)


def _by_a_number(seen, place):
    """Return (kind, change) for the factor and the shift by which the first result differs."""
    out = seen[0].out
    expected = seen[0].expected
    if place is not None:
        out = out[place]
        expected = expected[place]
    out = np.asarray(out, dtype=float)
    expected = np.asarray(expected, dtype=float)
    changes = []
    if out.shape != expected.shape or out.size < 2:
        return changes
    at = int(np.argmax(np.abs(expected)))
    with np.errstate(all="ignore"):
        factor = out.flat[at] / expected.flat[at]
        shift = out.flat[at] - expected.flat[at]
    if np.isclose(factor, -1):
        changes.append(("sign", Change("minus the right result", lambda x: -x)))
    elif np.isfinite(factor) and factor:
        words = f"off by the constant factor {number_in_words(factor)}"
        changes.append(("constant_factor", Change(words, lambda x: factor * x)))
    if np.isfinite(shift) and shift:
        words = f"off by the constant {number_in_words(shift)}"
        changes.append(("missing_term", Change(words, lambda x: x + shift)))
    return changes


def _of_inputs(task, case, seen, reference):
    """Yield a change of one input or of two together, or an exchange of two."""
    names = [name for name, value in seen[0].inputs.items() if np.asarray(value).dtype.kind == "f"]
    order = list(seen[0].inputs)

    for name in names:
        for change in (*OF_INPUTS, *of_axes(name, seen[0].inputs[name])):
            function = _with(reference, order, [(name, change)])
            if fits(function, seen):
                words = f"your result is right for {change.words.format(name)} in place of {name}"
                yield Explanation("other_input", words, function)
    for a, b in combinations(list(seen[0].inputs), 2):
        if _is_mask(seen[0].inputs[a]) != _is_mask(seen[0].inputs[b]):
            continue  # a mask is not mistaken for a number

        def exchanged(*inputs, a=a, b=b):
            values = dict(zip(order, inputs, strict=True))
            values[a], values[b] = values[b], values[a]
            return reference(*values.values())

        if fits(exchanged, seen):
            yield Explanation(
                "swapped", f"your result is right with {a} and {b} exchanged", exchanged
            )
    for a, b in combinations(names[:MOST_INPUTS], 2):
        for change in OF_INPUTS:
            function = _with(reference, order, [(a, change), (b, change)])
            if fits(function, seen):
                words = (
                    f"your result is right for {change.words.format(a)} and "
                    f"{change.words.format(b)} in place of {a} and {b}"
                )
                yield Explanation("other_input", words, function)


def _is_mask(value):
    return np.asarray(value).dtype.kind == "b"


def _with(reference, order, changes):
    """Return the reference after changes of inputs."""

    def function(*inputs):
        values = dict(zip(order, inputs, strict=True))
        for name, change in changes:
            values[name] = change.function(np.asarray(values[name]))
        return reference(*values.values())

    return function


def _of_ignored(task, case, seen, reference):
    """Yield one or two inputs that the result ignores."""
    order = list(seen[0].inputs)
    names = [name for name in order if np.asarray(seen[0].inputs[name]).dtype.kind == "f"]
    for number in (1, 2):
        for chosen in combinations(names[:MOST_INPUTS], number):
            for change in IGNORED:
                function = _with(reference, order, [(name, change) for name in chosen])
                if fits(function, seen):
                    words = f"your result does not depend on {' and '.join(chosen)}; it should"
                    yield Explanation("ignored_input", words, function)


def _of_sizes(task, case, seen, reference):
    """Yield a factor made of the sizes of the inputs: a mean in place of a sum, or the reverse."""
    places = [
        (name, axis) for name, value in seen[0].inputs.items() for axis in range(np.ndim(value))
    ]
    for number in (1, 2):
        for chosen in combinations(places, number):
            for power in (-1, 1):

                def scaled(*inputs, chosen=chosen, power=power):
                    values = dict(zip(seen[0].inputs, inputs, strict=True))
                    sizes = [np.shape(values[name])[axis] for name, axis in chosen]
                    return reference(*inputs) * float(np.prod(sizes)) ** power

                if not isinstance(seen[0].expected, tuple) and fits(scaled, seen):
                    words = (
                        "a mean stands where a sum belongs"
                        if power < 0
                        else "a sum stands where a mean belongs, or an axis is counted twice"
                    )
                    yield Explanation("mean", words, scaled)


def _of_slips(task, case, seen, reference):
    """Yield the reference with one slip that gives these results."""
    source = case.assignment.source(case.variant)
    mutants = quietly(mutants_of(source, task.function, case.reference))
    most = MOST_OF_A_LOOP if is_loop(task) else None
    yield from _fitting(islice(mutants, most), task, seen)


SEARCHES_OF_LOOPS = (
    _of_digits,
    _of_own_list,
    _of_whole,
    _of_other_variants,
    _of_results,
    _of_slips,
)
