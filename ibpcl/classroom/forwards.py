"""Judge functions by their values: forwards, proofs, and both at extreme inputs."""

import numpy as np

from ibpcl.classroom.client import HandInError
from ibpcl.classroom.comparing import FLOAT32_RTOL, HINTS, as_tuple, compare, is_real, over_points, worst_error
from ibpcl.classroom.marking import forward_share
from ibpcl.classroom.session import described
from ibpcl.classroom.verdict import Part, in_words

SIZES = ("small", "odd", "small", "odd")
ALIKE = 0.8                 # correlation of a wrong forward that is still recognizably the one asked for
EXTREMES = 12               # so that each of three cases drawn at random is hardly ever left out
LEEWAY = 10                 # times the reference's own error in single precision is allowed
NEXT_TO_ZERO = 1e4          # times the smallest normal number: on the way to such a result products underflow
FEWEST_DIGITS = 1e-2        # a point where the reference itself keeps fewer is passed over


def judge_forward(task, verdict, case):
    """Judge a forward at several points, or a proof, which returns its value alone.

    Parameters
    ----------
    task : Task
    verdict : Verdict
        What is found is written here.
    case : ibpcl.classroom.judge.Case
    """
    hidden, wrong, found = task.visibility == "hidden", [], []
    for at, size in enumerate(SIZES):
        inputs = case.inputs(task, size, at)
        expected = case.expected(task, inputs)
        if task.kind == "proof":
            out = case.session.plain(task.function, inputs.values(), task.independent_of)
        else:
            out = case.session.forward(task.function, inputs.values())[0]
        kind, words = compare(out, expected, task.rtol)
        found.append((size, kind, words))
        if kind != "ok":
            wrong.append((out, expected))
    agreed = over_points(wrong) if {kind for _, kind, _ in found} & {"wrong"} else None
    for at, (size, kind, words) in enumerate(found):
        if kind == "wrong" and agreed:
            kind, words = agreed
        verdict.parts.append(Part(f"point {at + 1} ({size} shapes)", kind, words, HINTS.get(kind, "")))
    share = forward_share([part.kind for part in verdict.parts])
    for part in verdict.parts:
        part.share = forward_share([part.kind])
    if task.function in case.session.overwritten:
        verdict.words.append(f"{task.function} overwrites its input: work on a copy")
        share = min(share, 0.6)
    verdict.points, verdict.state = share * task.points, _state(share)
    if wrong and task.kind == "forward":
        case.near[task.function] = _near(wrong)
    _tell(verdict, task, hidden)


def judge_extremes(task, verdict, case):
    """Judge a forward, and its gradient where ``wrt`` is given, at extreme inputs and in single precision.

    The truth of the gradient is the reference's: differences of a function fail where it overflows nearby.
    """
    names = [task.function, *(f"the gradient of {name}" for name in task.wrt)]
    kinds = {name: [] for name in names}
    for at in range(EXTREMES):
        inputs = case.inputs(task, "extreme", at)
        rng = case.rng(task, "cotangent", at)
        for name, (kind, words) in _at_extreme(task, case, inputs, rng).items():
            kinds[name].append((kind, words))
    for name, found in kinds.items():
        if not found:
            continue
        right = sum(kind == "ok" for kind, _ in found)
        kind, words = next((item for item in found if item[0] != "ok"), ("ok", ""))
        words = f"right at {right} of {len(found)} extreme points: {words}" if words else ""
        hint = "look for the largest and the smallest number on the way" if kind == "wrong" else HINTS.get(kind, "")
        verdict.parts.append(Part(name, kind, words, hint, right / len(found)))
    share = float(np.mean([part.share for part in verdict.parts]))
    verdict.points, verdict.state = share * task.points, _state(share)
    _tell(verdict, task, task.visibility == "hidden")


def _at_extreme(task, case, inputs, rng):
    """Return name to (kind, words) for the forward and each gradient at one point."""
    wide = {name: _double(value) for name, value in inputs.items()}
    single = any(isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.float32 for value in inputs.values())
    expected, cache = _reference(case, task.function, *wide.values())
    dout = rng.standard_normal(np.shape(expected))
    dout = dout.astype(np.float32) if single else dout
    names = [task.function, *(f"the gradient of {name}" for name in task.wrt)]
    truths = [expected, *(as_tuple(_reference(case, f"{task.function}_vjp", _double(dout), cache)) if task.wrt else ())]
    rtols = [task.rtol] * len(names)
    if single:
        out, cache = _reference(case, task.function, *inputs.values())
        own = [out, *(as_tuple(_reference(case, f"{task.function}_vjp", dout, cache)) if task.wrt else ())]
        rtols = [max(task.rtol, FLOAT32_RTOL, LEEWAY * worst_error(a, b)) for a, b in zip(own, truths, strict=True)]
    got, failed = _called(task, case, inputs, dout)
    return {name: failed if at >= len(got) and failed else
            _typed(got[at] if at < len(got) else None, truths[at], rtols[at], single)
            for at, name in enumerate(names) if rtols[at] < FEWEST_DIGITS and not _underflows(truths[at], single)}


def _underflows(truth, single):
    """Return whether a value is zero or next to it in its precision, where a right function may return zero, too."""
    if isinstance(truth, tuple):
        return False
    smallest = NEXT_TO_ZERO * np.finfo(np.float32 if single else np.float64).tiny
    return not np.any(np.abs(np.where(np.isfinite(truth), truth, 0)) >= smallest)


def _called(task, case, inputs, dout):
    """Return the output and the gradients of the hand-in, as far as they came, and what ended them."""
    got = []
    try:
        out, number, _ = case.session.forward(task.function, inputs.values())
        got.append(out)
        if task.wrt:
            got += as_tuple(case.session.pull(f"{task.function}_vjp", task.function, inputs.values(), dout, number)[0])
    except HandInError as error:
        return got, ("raises", described(error, task.visibility == "hidden", case.handin.file))
    return got, None


def _reference(case, function, *arguments):
    with np.errstate(all="ignore"):
        return getattr(case.reference, function)(*arguments)


def _typed(out, expected, rtol, single):
    """Return the result of a comparison, or that single precision was lost."""
    result, dtype = compare(out, expected, rtol), getattr(out, "dtype", None)
    if result[0] == "ok" and single and dtype is not None and dtype != np.float32:
        return "wrong_type", f"float32 inputs give {dtype}"
    return result


def _double(value):
    small = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f"
    return value.astype(np.float64) if small else value


def _near(wrong):
    """Return whether wrong outputs are recognizably the ones asked for: same shape, finite, and correlated."""
    for out, expected in wrong:
        if isinstance(expected, tuple) or not is_real(out) or np.shape(out) != np.shape(expected):
            return False
        a, b = np.asarray(out, dtype=float).ravel(), np.asarray(expected, dtype=float).ravel()
        if not np.all(np.isfinite(a)) or not np.any(a):
            return False
        a, b = (a - a.mean(), b - b.mean()) if a.size > 2 else (a, b)
        if abs(a @ b) < ALIKE * np.sqrt((a @ a) * (b @ b)) or not np.any(a):
            return False
    return True


def _state(share):
    return "right" if share == 1 else "partial" if share > 0 else "wrong"


def _tell(verdict, task, hidden):
    """Write what the student reads: on hidden tasks the kinds only."""
    for part in verdict.parts:
        if part.kind != "ok":
            verdict.details.append(f"{part.name}: {part.kind}: {part.words}")
            told = f"{part.name}: {in_words(part.kind) if hidden else part.words or in_words(part.kind)}"
            if told not in verdict.words:
                verdict.words.append(told)
    if not verdict.words:
        verdict.words.append("right")
