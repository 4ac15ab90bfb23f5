"""Partial credit for a wrong forward: its mistake, and whether it is still recognizable."""

from dataclasses import dataclass

import numpy as np

from ibpcl.classroom.judging.comparing import beside, is_real
from ibpcl.classroom.judging.knowledge import Columns, gain, is_trivial, left_over, stacked
from ibpcl.classroom.judging.naming.naming_forwards import Explanation, Seen, explain
from ibpcl.classroom.judging.running.client import SubmissionError

ROWS = 60  # entries that are compared before a result counts as knowledge
LEAST_POINTS = 8  # additional points, so that small inputs take many values
MOST_POINTS = 30  # largest number of calls of the hand-in for these points
NEARLY = 0.97  # gain at which an unexplained forward is recognizably the required function
SETTLED = 1e-9  # relative change below which a difference does not depend on an input
TINY = 1e-6  # relative error below which the verdict does not name what the error depends on
STEP = 0.01


@dataclass
class PartialCredit:
    """Findings about a wrong function of the hand-in.

    Attributes
    ----------
    task : str
        Id of the task in which the function is judged.
    explanation : Explanation or None
        The mistake, if it is known.
    recognized : bool
        Whether it is recognizably the required function, so that tasks that build on it can earn
        points.
    """

    task: str
    explanation: Explanation | None = None
    recognized: bool = False


def partial_credit(task, case, seen):
    """Return the mistake of a forward or proof that is wrong at some points, if it has a name.

    Parameters
    ----------
    task : ibpcl.classroom.assignments.assignment.Task
        A forward or a proof.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    seen : list of ibpcl.classroom.judging.naming.naming_forwards.Seen
        Values at all points that were judged.

    Returns
    -------
    PartialCredit
    """
    explanation = explain(task, case, seen)
    if not _alike(seen):
        return PartialCredit(task.id, explanation, False)
    usual = [each for each in seen if each.size == "small"]
    seen = usual + _more(task, case, usual)
    flat = not isinstance(seen[0].expected, tuple)
    if not flat:
        return PartialCredit(
            task.id, explanation, explanation is not None and not _trivial_results(seen)
        )
    points = [Columns(each.inputs, np.shape(each.expected)) for each in seen]
    answer = np.concatenate([np.ravel(np.asarray(each.out, dtype=float)) for each in seen])
    truth = np.concatenate([np.ravel(each.expected) for each in seen])
    if is_trivial(answer, points):
        if explanation is None:
            explanation = dependence(task, case, seen[0])
        return PartialCredit(task.id, explanation, False)
    if explanation is not None:
        return PartialCredit(task.id, explanation, True)
    explanation = dependence(task, case, seen[0])
    known = explanation is not None and _knows_the_rest(task, case, seen[0], explanation)
    nearly = gain(answer, truth, points, beyond_one=True) >= NEARLY
    return PartialCredit(task.id, explanation, known or nearly)


def _alike(seen):
    """Return whether all results have the right shape and are finite."""
    pairs = [beside(each.out, each.expected) for each in seen]
    return None not in pairs and all(
        is_real(out)
        and np.shape(out) == np.shape(expected)
        and np.all(np.isfinite(np.asarray(out, dtype=float)))
        for at_point in pairs
        for out, expected in at_point
    )


def _more(task, case, seen):
    """Return additional points, so that enough entries are compared; none for slow proofs."""
    first = seen[0]
    if isinstance(first.expected, tuple) or task.kind == "proof":
        return []
    entries = sum(np.size(each.expected) for each in seen)
    missing = max(0, ROWS - entries)
    count = max(LEAST_POINTS, min(MOST_POINTS, -(-missing // max(1, np.size(first.expected)))))
    points = []
    for at in range(count):
        inputs = case.inputs(task, "small", f"standing {at}")
        try:
            out = case.session.forward(task.function, inputs.values())[0]
        except SubmissionError:
            break
        each = Seen("small", inputs, out, case.expected(task, inputs))
        if not _alike([each]):
            break
        points.append(each)
    return points


def _trivial_results(seen):
    """Return whether all of several results are trivial."""
    found = []
    for place in range(len(seen[0].expected)):
        points = [Columns(each.inputs, np.shape(each.expected[place])) for each in seen]
        answer = np.concatenate(
            [np.ravel(np.asarray(each.out[place], dtype=float)) for each in seen]
        )
        found.append(is_trivial(answer, points))
    return all(found)


def dependence(task, case, seen):
    """Return the explanation of an error that depends on some inputs only, or None.

    The hand-in is called once for each input, which is changed slightly.

    Parameters
    ----------
    task : ibpcl.classroom.assignments.assignment.Task
        A forward.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    seen : ibpcl.classroom.judging.naming.naming_forwards.Seen
        Values at one point.

    Returns
    -------
    Explanation or None
    """
    if isinstance(seen.expected, tuple) or task.kind == "proof":
        return None
    own = np.asarray(seen.out, dtype=float)
    truth = np.asarray(seen.expected, dtype=float)
    gap = own - truth
    floating = [name for name, value in seen.inputs.items() if np.asarray(value).dtype.kind == "f"]
    if float(np.max(np.abs(gap), initial=0.0)) <= TINY * float(np.max(np.abs(truth), initial=0.0)):
        return None  # what a tiny error depends on cannot be seen
    depends = {"own": set(), "truth": set(), "gap": set(), "ratio": set()}
    size = float(np.max(np.abs(truth))) + float(np.max(np.abs(own)))
    with np.errstate(all="ignore"):
        ratio = own / truth
    lost = np.any((own == 0) & (truth != 0))  # what is set to zero is not off by a factor
    for name in floating:
        moved = _moved(task, case, seen, (name,))
        if moved is None:
            return None
        with np.errstate(all="ignore"):
            changes = {
                "own": moved[0] - own,
                "truth": moved[1] - truth,
                "gap": (moved[0] - moved[1]) - gap,
                "ratio": moved[0] / moved[1] - ratio,
            }
        for what, change in changes.items():
            limit = SETTLED * (size if what != "ratio" else float(np.max(np.abs(ratio))))
            if not np.max(np.abs(change)) <= limit:
                depends[what].add(name)
    return _in_words(depends, floating, ("gap",) if lost else ("gap", "ratio"))


def _in_words(depends, floating, errors):
    """Return the explanation by the inputs on which a result or its error depends, or None."""
    ignored = [name for name in floating if name in depends["truth"] - depends["own"]]
    if ignored:
        return Explanation(
            "ignored_input", f"your result does not depend on {' and '.join(ignored)}; it should"
        )
    extra = [name for name in floating if name in depends["own"] - depends["truth"]]
    if extra:
        return Explanation(
            "extra_input", f"your result depends on {' and '.join(extra)}; it should not"
        )
    for what, kind, words in (
        ("gap", "missing_term", "off by an amount that depends only on {}"),
        ("ratio", "elementwise_factor", "off by a factor that depends only on {}"),
    ):
        if what not in errors:
            continue
        some = [name for name in floating if name in depends[what]]
        if set(some) < depends["truth"]:
            on = " and ".join(some) or "the sizes of the inputs"
            return Explanation(kind, words.format(on), inputs=(what, *some))
    return None


def _moved(task, case, seen, names):
    """Return the student's result and the right one after a slight change of inputs, or None."""
    rng = np.random.default_rng(len(names[0]))
    inputs = dict(seen.inputs)
    for name in names:
        value = np.asarray(inputs[name])
        changed = value * (1 + STEP * rng.uniform(0.5, 1, value.shape))
        inputs[name] = float(changed) if isinstance(inputs[name], float) else np.asarray(changed)
    try:
        out = case.session.forward(task.function, inputs.values())[0]
    except SubmissionError:
        return None
    truth = case.expected(task, inputs)
    if not is_real(out) or np.shape(out) != np.shape(truth):
        return None
    if not np.all(np.isfinite(np.asarray(out, dtype=float))):
        return None
    return np.asarray(out, dtype=float), np.asarray(truth, dtype=float)


def _knows_the_rest(task, case, seen, explanation):
    """Return whether the inputs that do not affect the error form a non-trivial part of the
    truth.
    """
    if not explanation.inputs or explanation.inputs[0] != "gap":
        return False
    rest = [
        name
        for name, value in seen.inputs.items()
        if np.asarray(value).dtype.kind == "f" and name not in explanation.inputs
    ]
    rng = np.random.default_rng(1)
    changes = []
    columns = []
    here = Columns(seen.inputs, np.shape(seen.expected))
    for _ in range(MOST_POINTS if np.size(seen.expected) < ROWS else 2):
        inputs = dict(seen.inputs)
        for name in rest:
            value = np.asarray(inputs[name])
            moved = value * (1 + 0.3 * rng.uniform(0.2, 1, value.shape))
            inputs[name] = float(moved) if isinstance(inputs[name], float) else np.asarray(moved)
        there = Columns(inputs, np.shape(seen.expected))
        changes.append(np.ravel(case.expected(task, inputs) - seen.expected))
        point = Columns.__new__(Columns)
        point.combined = [a - b for a, b in zip(there.combined, here.combined, strict=True)]
        point.single = [a - b for a, b in zip(there.single, here.single, strict=True)]
        columns.append(point)
    change = np.concatenate(changes)
    if not np.all(np.isfinite(change)):
        return False
    everything = np.hstack(
        [
            stacked(columns, "combined", change.size),
            stacked(columns, "single", change.size)[:, : change.size // 3],
        ]
    )
    return float(np.linalg.norm(left_over(change, everything))) > 1e-3 * float(
        np.linalg.norm(change)
    )
