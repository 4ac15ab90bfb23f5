"""Judges for functions that are compared by value: forwards, proofs, steps, extreme inputs."""

import numpy as np

from ibpcl.classroom.judging.comparing import (
    FLOAT32_RTOL,
    HINTS,
    as_tuple,
    beside,
    compare,
    is_real,
    worst_error,
)
from ibpcl.classroom.judging.examples import cotangent_like, wrong_entry
from ibpcl.classroom.judging.marking import UNNAMED, settle
from ibpcl.classroom.judging.naming.naming_forwards import Explanation, Seen
from ibpcl.classroom.judging.own_parts import right_with_own_parts
from ibpcl.classroom.judging.partial_credit import PartialCredit, partial_credit
from ibpcl.classroom.judging.results import names_of_results
from ibpcl.classroom.judging.running.client import SubmissionError
from ibpcl.classroom.judging.running.session import described
from ibpcl.classroom.judging.verdict import Part, in_words

DRAWS = "two calls with equal inputs give different results: it draws random numbers"
SIZES = ("small", "odd", "small", "odd")
EXTREMES = 12  # points: enough that each of three cases drawn at random almost surely occurs
LEEWAY = 10  # in float32, this multiple of the reference's own error is allowed
# Below this multiple of the smallest normal number, intermediate products underflow.
NEXT_TO_ZERO = 1e4
STEP = 1e-20  # relative size of the complex step
SMALLEST_STEP = 1e-200
FEWEST_DIGITS = 1e-2  # points where the reference's own relative error is larger are skipped


def judge_forward(task, verdict, case):
    """Judge a forward or a proof at several points.

    Points with an axis of length one can hide a mistake, so they earn points only if the usual
    points are right.

    Parameters
    ----------
    task : Task
        A task of kind ``forward`` or ``proof``.
    verdict : Verdict
        Receives the parts and points.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    hidden = task.visibility == "hidden"
    seen = []
    comparisons = []
    for at, size in enumerate(SIZES):
        inputs = case.inputs(task, size, at)
        expected = case.expected(task, inputs)
        seen.append(Seen(size, inputs, case.returned(task, inputs), expected))
        names = _names(task, case, expected)
        exact = case.assignment.exact_shapes
        comparisons.append(compare(seen[-1].out, expected, task.rtol, names, exact))
    right = all(kind == "ok" for kind, _ in comparisons)
    own_parts = [] if right else right_with_own_parts(task, case, seen)
    if right or own_parts:
        verdict.parts = [Part(_point(at, size), "ok") for at, size in enumerate(SIZES)]
        for part in verdict.parts:
            case.marking.earn(part, "right" if right else "right_with_own_parts")
        verdict.words += own_parts
    else:
        finding = (
            PartialCredit(task.id, Explanation("noisy_forward", DRAWS))
            if _is_random(task, case, seen[0])
            else partial_credit(task, case, seen)
        )
        case.wrong[task.function] = finding
        if task.kind == "proof":
            case.seen[task.function] = seen
        named = _named(comparisons, finding.explanation, _wrong_results(task, case, seen))
        for at, (size, (kind, words)) in enumerate(zip(SIZES, named, strict=True)):
            verdict.parts.append(Part(_point(at, size), kind, words, HINTS.get(kind, "")))
        _share(verdict.parts, finding.recognized, case.marking)
    if task.function in case.session.overwritten:
        verdict.words.append(f"{task.function} overwrites its input: work on a copy")
        for part in verdict.parts:
            case.marking.limit(part, "overwrites_its_argument")
    settle(verdict)
    _tell(verdict, task, hidden)


def follow_proof(task, verdict, case):
    """Give a proof its points if only the functions that it calls are wrong.

    Proofs that must not use a function are judged first, before the verdicts on the functions that
    they call are known.

    Parameters
    ----------
    task : Task
        Any task; others than wrong proofs are left as they are.
    verdict : Verdict
        Changed in place.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    seen = case.seen.get(task.function)
    own_parts = right_with_own_parts(task, case, seen) if seen else []
    if own_parts:
        del case.wrong[task.function]
        verdict.parts = [Part(part.name, "ok") for part in verdict.parts]
        for part in verdict.parts:
            case.marking.earn(part, "right_with_own_parts")
        settle(verdict)
        verdict.words = own_parts


def judge_step(task, verdict, case):
    """Judge a step of a derivation: an intermediate quantity, which is right or not.

    A derivation that is right has a right step, so there is no partial credit.

    Parameters
    ----------
    task : Task
        A task of kind ``step``.
    verdict : Verdict
        Receives the parts and points.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    for at, size in enumerate(SIZES):
        inputs = case.inputs(task, size, at)
        expected = case.expected(task, inputs)
        names = _names(task, case, expected)
        kind, words = compare(case.returned(task, inputs), expected, task.rtol, names)
        verdict.parts.append(Part(_point(at, size), kind, words, HINTS.get(kind, "")))
    right = all(part.kind == "ok" for part in verdict.parts)
    for part in verdict.parts:
        case.marking.earn(part, "right" if right else "wrong_step")
    settle(verdict)
    _tell(verdict, task, task.visibility == "hidden")


def _names(task, case, expected):
    """Return the names of several results, as the reference's docstring gives them."""
    if not isinstance(expected, (tuple, list)):
        return []
    return names_of_results(getattr(case.reference, task.function, None), len(expected))


def _is_random(task, case, seen):
    """Return whether a second call with the same inputs gives another result."""
    again = case.returned(task, seen.inputs)
    return any(
        is_real(one) and is_real(other) and not np.array_equal(one, other, equal_nan=True)
        for one, other in zip(as_tuple(seen.out), as_tuple(again), strict=False)
    )


def _wrong_results(task, case, seen):
    """Return the names of the wrong results of several, "" if all are wrong or there is one."""
    pairs = [beside(each.out, each.expected) for each in seen]
    names = _names(task, case, seen[0].expected)
    if not names or None in pairs:
        return ""
    wrong = [
        name
        for at, name in enumerate(names)
        if any(compare(*results[at], task.rtol)[0] != "ok" for results in pairs)
    ]
    return ", ".join(wrong) if len(wrong) < len(names) else ""


def _point(at, size):
    return f"point {at + 1} ({size} shapes)"


def _named(comparisons, explanation, wrong):
    """Return kind and description for every point; one name for all wrong points, if known.

    A name stands behind those of the results that are wrong, if only some are.
    """
    if any(kind not in ("ok", "zero") for kind, _ in comparisons):
        # a result that is not zero elsewhere does depend on the inputs
        comparisons = [
            ("wrong", "it is zero, which is wrong") if kind == "zero" else (kind, words)
            for kind, words in comparisons
        ]
    if explanation is None:
        kinds = {kind for kind, _ in comparisons if kind not in ("ok", *UNNAMED)}
        agree = len(kinds) == 1 and all(kind in ("ok", *kinds) for kind, _ in comparisons)
        return [
            (kind, words) if agree or kind in ("ok", *UNNAMED) else ("wrong", "wrong")
            for kind, words in comparisons
        ]
    shaped = [
        f"{words}; {explanation.words}" if explanation.kind != "summed" else words
        for kind, words in comparisons
        if kind == "wrong_shape"
    ]
    # A result of another shape was summed over other axes, not over the wrong one.
    words = explanation.words
    if wrong and not words.startswith("your "):
        words = f"{wrong}: {words}"
    name = (explanation.kind, shaped[0] if shaped else words)
    return [(kind, words) if kind == "ok" else name for kind, words in comparisons]


def _share(parts, recognized, marking):
    """Set the share of each point; if a usual point is wrong, points that hide the mistake earn no
    more than that one.
    """
    for part in parts:
        if part.kind == "ok":
            marking.earn(part, "right")
        elif part.kind not in UNNAMED:
            marking.earn(part, "named_mistake_in_a_forward" if recognized else "no_substance")
    usual = [part for part, size in zip(parts, SIZES, strict=True) if size == "small"]
    if any(part.kind != "ok" for part in usual):
        worst = min((part for part in parts if part.kind != "ok"), key=lambda part: part.share)
        for part in parts:
            marking.limit(part, worst.evidence)


def judge_extremes(task, verdict, case):
    """Judge a forward, and its gradient if ``wrt`` is given, at extreme inputs and in float32.

    The gradient is compared with the reference's, because differences fail near an overflow.

    Parameters
    ----------
    task : Task
        A task of kind ``extremes``.
    verdict : Verdict
        Receives the parts and points.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    names = [task.function, *(f"the gradient of {name}" for name in task.wrt)]
    kinds = {name: [] for name in names}
    for at in range(EXTREMES):
        inputs = case.inputs(task, "extreme", at)
        rng = case.rng(task, "cotangent", at)
        for name, (kind, words) in _at_extreme(task, case, inputs, rng).items():
            if kind == "zero":  # "it does not depend on the inputs" is true of this point only
                kind = "wrong"
            kinds[name].append((kind, words))
    for name, comparisons in kinds.items():
        if not comparisons:
            continue
        right = sum(kind == "ok" for kind, _ in comparisons)
        kind, words = next((item for item in comparisons if item[0] != "ok"), ("ok", ""))
        words = f"right at {right} of {len(comparisons)} extreme points: {words}" if words else ""
        wrong = task.function if name == task.function else f"{task.function}_vjp"
        usual = bool(words) and wrong in case.wrong
        if usual:
            kind = "wrong"
            words = f"wrong at extreme points, too: correct {wrong} at the usual ones first"
        far = kind in ("wrong", "missing_term", "constant_factor")
        hint = (
            ""
            if usual
            else "look for the largest and the smallest intermediate result"
            if far
            else HINTS.get(kind, "")
        )
        verdict.parts.append(Part(name, kind, words, hint))
        case.marking.earn(verdict.parts[-1], "right_at_extreme_points", right / len(comparisons))
    known = case.wrong.get(task.function)
    if known is not None and not known.recognized:
        for part in verdict.parts:
            case.marking.earn(part, "no_substance")
    if not verdict.parts:
        verdict.words = [
            f"the result of your {task.function} is too small to compare at every extreme point: "
            "correct its values first"
        ]
        return
    settle(verdict)
    _tell(verdict, task, task.visibility == "hidden")


def _at_extreme(task, case, inputs, rng):
    """Return {name: (kind, description)} for the forward and each gradient at one point."""
    wide = {name: _double(value) for name, value in inputs.items()}
    single = any(
        isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.float32
        for value in inputs.values()
    )
    expected, cache = _reference(case, task.function, *wide.values())
    own_truth = _own_truth(task, case)
    kind = np.float32 if single else np.float64
    dout = cotangent_like(expected, lambda shape: rng.standard_normal(shape).astype(kind))
    names = [task.function, *(f"the gradient of {name}" for name in task.wrt)]
    truths = [
        expected,
        *(
            as_tuple(_reference(case, f"{task.function}_vjp", _double(dout), cache))
            if task.wrt
            else ()
        ),
    ]
    rtols = [task.rtol] * len(names)
    if single:
        out, cache = _reference(case, task.function, *inputs.values())
        own = [
            out,
            *(as_tuple(_reference(case, f"{task.function}_vjp", dout, cache)) if task.wrt else ()),
        ]
        # The right algorithm, too, changes its results if each input is rounded once.
        rounded = {name: _rounded_once(value) for name, value in wide.items()}
        out, cache = _reference(case, task.function, *rounded.values())
        pulled = _reference(case, f"{task.function}_vjp", _double(dout), cache) if task.wrt else ()
        rtols = [
            _allowed(task.rtol, worst_error(a, b), worst_error(c, b))
            for a, b, c in zip(own, truths, [out, *as_tuple(pulled)], strict=True)
        ]
    right = truths
    if own_truth is not None:
        with np.errstate(all="ignore"):
            truths = [
                own_truth(*wide.values()),
                *pulled_back(own_truth, wide, task.wrt, _double(dout)),
            ]
    got, typed, failed = _called(task, case, inputs, dout)

    def judged(at):
        if at >= len(got) and failed:
            return failed
        shown = inputs if task.visibility == "public" else {}
        out = got[at] if at < len(got) else None
        # a gradient may fit the student's own forward, or the right one
        found = [
            _typed(out, truth[at], rtols[at], single and typed[at > 0], shown)
            for truth in ((truths, right) if at else (truths,))
        ]
        return found[0] if found[-1][0] != "ok" else found[-1]

    return {
        name: judged(at)
        for at, name in enumerate(names)
        if rtols[at] < FEWEST_DIGITS and not _underflows(truths[at], single)
    }


def _own_truth(task, case):
    """Return the function that a wrong but recognized forward computes, or None if unknown."""
    known = case.wrong.get(task.function)
    if known is None or not known.recognized or known.explanation is None:
        return None
    return known.explanation.function


def pulled_back(function, inputs, wrt, dout):
    """Return the gradients of a trusted function by the complex step, entry by entry.

    Parameters
    ----------
    function : callable
        Takes the inputs in order and returns an array; must accept complex numbers.
    inputs : dict of str to ndarray or number
        The inputs by name.
    wrt : sequence of str
        The inputs with respect to which the gradient is taken.
    dout : ndarray
        Gradient at the output.

    Returns
    -------
    list of ndarray
        One gradient per name in ``wrt``, in the shape of its input.

    Examples
    --------
    >>> pulled_back(lambda x: x**3, {"x": np.array([2.0])}, ["x"], np.array([1.0]))
    [array([12.])]
    """
    gradients = []
    for name in wrt:
        value = np.asarray(inputs[name], dtype=float)
        gradient = np.zeros(value.size)
        for at in range(value.size):
            step = max(STEP * abs(value.flat[at]), SMALLEST_STEP)
            moved = value.astype(complex)
            moved.flat[at] += 1j * step
            out = np.asarray(function(*{**inputs, name: moved}.values()))
            gradient[at] = float(np.sum(dout * out.imag)) / step
        gradients.append(gradient.reshape(value.shape))
    return gradients


def _underflows(truth, single):
    """Return whether a value is so close to zero in its precision that zero is accepted, too."""
    if isinstance(truth, tuple):
        return False
    smallest = NEXT_TO_ZERO * np.finfo(np.float32 if single else np.float64).tiny
    return not np.any(np.abs(np.where(np.isfinite(truth), truth, 0)) >= smallest)


def _called(task, case, inputs, dout):
    """Return the output and gradients of the hand-in up to the first exception, whether output and
    gradients have a type, and a description of the exception or None.
    """
    got = []
    typed = [True, True]
    try:
        out, number, _ = case.session.forward(task.function, inputs.values())
        got.append(out)
        typed[0] = not case.session.accepted.untyped
        if task.wrt:
            got += as_tuple(
                case.session.pull(
                    f"{task.function}_vjp", task.function, inputs.values(), dout, number
                )[0]
            )
            typed[1] = not case.session.accepted.untyped
    except SubmissionError as error:
        return (
            got,
            typed,
            ("raises", described(error, task.visibility == "hidden", case.submission.file)),
        )
    return got, typed, None


def _allowed(rtol, error, change):
    """Return the error allowed in float32, from the reference's own and its change by rounding.

    A change that leaves too few digits is not counted: the reference may do better there.
    """
    change = change if LEEWAY * change < FEWEST_DIGITS else 0.0
    return max(rtol, FLOAT32_RTOL, LEEWAY * error, LEEWAY * change)


def _rounded_once(value):
    """Return an input with its numbers moved up or down at random, by half a unit of float32."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    signs = np.random.default_rng(value.size).choice([1.0, -1.0], value.shape)
    return value * (1 + signs * np.finfo(np.float32).eps / 2)


def _reference(case, function, *arguments):
    with np.errstate(all="ignore"):
        return getattr(case.reference, function)(*arguments)


def _typed(out, expected, rtol, single, inputs):
    """Return the result of a comparison with one entry, or that single precision was lost."""
    result = compare(out, expected, rtol)
    entry = wrong_entry(out, expected, rtol) if result[0] != "ok" and inputs else None
    if entry is not None:
        at = entry["place"]
        place = tuple(int(n) for n in at.strip("[]").split(", ") if n)
        # inputs with one entry for each of the result
        here = [
            f"{name} = {float(value[place]):.4g}"
            for name, value in inputs.items()
            if np.shape(value) == np.shape(expected) and np.asarray(value).dtype.kind == "f"
        ]
        where = f" at {at}" * bool(at) + (f" ({', '.join(here)})" if here and at else "")
        words = f"{result[1]}; for instance {entry['got']}{where}, not {entry['expected']}"
        result = (result[0], words)
    dtype = getattr(out, "dtype", None)
    if result[0] == "ok" and single and dtype is not None and dtype != np.float32:
        return "wrong_type", f"float32 inputs give {dtype}"
    return result


def _double(value):
    if isinstance(value, tuple):
        return tuple(map(_double, value))
    small = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f"
    return value.astype(np.float64) if small else value


def _tell(verdict, task, hidden):
    """Write the sentences for the student: on hidden tasks the kinds only.

    Points with the same description share a sentence.
    """
    places = {}
    for part in verdict.parts:
        if part.kind != "ok":
            verdict.details.append(f"{part.name}: {part.kind}: {part.words}")
            words = in_words(part.kind) if hidden else part.words or in_words(part.kind)
            places.setdefault(words, []).append(part.name)
    for words, names in places.items():
        everywhere = len(names) == len(verdict.parts) > 1 and all(
            name.startswith("point ") for name in names
        )
        place = f"all {len(names)} points" if everywhere else ", ".join(dict.fromkeys(names))
        verdict.words.append(f"{place}: {words}")
    if not verdict.words:
        verdict.words.append("right")
