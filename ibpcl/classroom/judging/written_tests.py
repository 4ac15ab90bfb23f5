"""Judge tests that students write for gradients: right ones must pass, and wrong ones must not.

A hand-in runs in its own process, and no function is sent to it.  It returns the points of its
test, the judge computes gradients there, and the hand-in accepts or rejects these numbers.  So a
test cannot recognize a function, only its numbers.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ibpcl.classroom.judging.comparing import is_real
from ibpcl.classroom.judging.naming.mutants import mutants_of, quietly
from ibpcl.classroom.judging.running import bounds
from ibpcl.codeview.planting import SENTENCES

WRONG = 24  # wrong gradients for each function, and one that is nearly right
MOST_POINTS = 20
MOST_NUMBERS = 10_000  # in all points of a test
MOST_QUESTIONS = 500  # inputs at which an unknown function is evaluated
MEMORY_MB = 256
TRIALS = 3  # inputs at which wrong gradients are compared with the right one
OFF = 1e-2  # error of a wrong gradient, relative to its largest entry: well above differences
SLIGHT = 1e-3  # relative error of the least wrong gradient, for tests with a large tolerance
UNKNOWN = "unknown"


class Wrong(NamedTuple):
    """A wrong gradient function.

    Attributes
    ----------
    kind : str
        Kind of its mistake, or words about it.
    function : callable
        ``function(dout, cache)`` returns the gradients.
    """

    kind: str
    function: Callable


class Unfit(Exception):
    """The reason why the points of a test cannot be used."""


def judge_test(task, verdict, case):
    """Judge a test: the share of the wrong gradients that it rejects, if it accepts the right ones.

    Parameters
    ----------
    task : Task
        A task of kind ``test``, whose function accepts or rejects gradients of ``forward``.
    verdict : Verdict
        Receives the points.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    names = functions_of(task, case.reference)
    try:
        tests = {name: _test_of(name, task, case) for name in names}
        for name in names:
            for right in rights_of(name, case.reference):
                if not tests[name](right):
                    verdict.state = "wrong"
                    verdict.words = ["it rejects a right gradient, so it earns nothing"]
                    return
        missed = Counter()
        total = 0
        for name in names:
            for wrong in wrongs_of(name, task, case):
                total += 1
                missed[wrong.kind] += tests[name](wrong.function)
    except Unfit as reason:
        verdict.state = "wrong"
        verdict.words = [str(reason)]
        return
    rejected = total - sum(missed.values())
    share = rejected / total
    verdict.points = round(task.points * share, 2)
    verdict.state = "right" if share == 1 else "partial" if share else "wrong"
    words = f"it rejects {rejected} of {total} wrong gradients"
    kinds = "; ".join(
        f"{SENTENCES.get(kind, kind)} ({count})" for kind, count in missed.most_common() if count
    )
    verdict.words = [f"{words}; not seen: {kinds}" if kinds else words]


def functions_of(task, reference):
    """Return the names of the functions whose gradients a test meets.

    Parameters
    ----------
    task : Task
        A task of kind ``test``.
    reference : module
        The reference solution.

    Returns
    -------
    list of str
        The forward of the task, or all unknown functions.
    """
    if task.forward != UNKNOWN:
        return [task.forward]
    return sorted(
        name
        for name in vars(reference)
        if name.startswith(f"{UNKNOWN}_") and hasattr(reference, f"{name}_vjp")
    )


def rights_of(name, reference):
    """Return the right gradient functions of a forward, written in several ways.

    Parameters
    ----------
    name : str
        The forward.
    reference : module
        The reference solution.

    Returns
    -------
    list of callable
    """
    return [f for key, f in vars(reference).items() if key.startswith(f"{name}_vjp")]


def wrongs_of(name, task, case):
    """Return wrong gradient functions of a forward, other ones for each student.

    A mistake that gives right numbers is left out, and one that raises an exception.  One gradient
    is off by a thousandth only, which a test with a large tolerance accepts.

    Parameters
    ----------
    name : str
        The forward.
    task : Task
        The task, whose maker makes inputs.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.

    Returns
    -------
    list of Wrong
    """
    reference = case.reference
    right = getattr(reference, f"{name}_vjp")
    rng = np.random.default_rng(10)
    trials = []
    for _ in range(TRIALS):
        inputs = case.assignment.maker(task.inputs)(rng, "small")
        out, cache = getattr(reference, name)(*inputs.values())
        dout = rng.normal(size=np.shape(out))[()]
        trials.append((dout, cache, right(dout, cache)))
    source = case.assignment.source(case.variant)
    found = {}
    for mutant in quietly(mutants_of(source, f"{name}_vjp", reference)):
        try:
            with np.errstate(all="ignore"), bounds.memory(MEMORY_MB):
                numbers = [mutant.function(dout, _copied(cache)) for dout, cache, _ in trials]
                far = [_far(got, true) for got, (_, _, true) in zip(numbers, trials, strict=True)]
        except Exception:  # a mistake may do anything
            continue
        if min(far) > OFF:
            key = tuple(
                np.round(np.asarray(part, dtype=float), 6).tobytes()
                for got in numbers
                for part in got
            )
            found.setdefault(key, Wrong(mutant.kind, mutant.function))
    wrongs = list(found.values())
    order = case.rng(task, "wrong", name).permutation(len(wrongs))
    slight = Wrong(
        f"all gradients times {1 + SLIGHT:g}, so the tolerance is too large",
        lambda dout, cache: tuple(part * (1 + SLIGHT) for part in right(dout, cache)),
    )
    return [*(wrongs[n] for n in order[:WRONG]), slight]


def _copied(cache):
    return tuple(map(np.copy, cache)) if isinstance(cache, tuple) else np.copy(cache)


def _far(got, true):
    """Return the largest error of gradients relative to their largest entry."""
    if not isinstance(got, tuple) or len(got) != len(true):
        raise TypeError("another number of gradients")
    return max(
        np.inf
        if np.shape(a) != np.shape(b) or not np.all(np.isfinite(a))
        else np.abs(a - b).max() / np.abs(b).max()
        for a, b in zip(got, true, strict=True)
    )


def _test_of(name, task, case):
    """Return the test of a hand-in: a function that returns whether a gradient function passes."""
    make = _questions if task.forward == UNKNOWN else _points
    rounds = make(name, task, case)

    def passes(gradient):
        for arguments, dout, cache in rounds:
            try:
                with np.errstate(all="ignore"), bounds.memory(MEMORY_MB):
                    found = gradient(dout, _copied(cache))
            except Exception:  # a test that calls it sees the exception
                return False
            answer = case.session.plain(task.function, (*arguments, *map(np.asarray, found)))
            if not isinstance(answer, (bool, np.bool_)):
                raise Unfit(f"{task.function} must return True or False")
            if not answer:
                return False
        return True

    return passes


def _points(name, task, case):
    """Return the arguments, the cotangent and the cache at each point of a hand-in."""
    function = f"points_{name}"
    points = case.session.plain(function, ())
    if not isinstance(points, (list, tuple)) or not 0 < len(points) <= MOST_POINTS:
        raise Unfit(f"{function} must return a list of 1 to {MOST_POINTS} tuples")
    rounds = []
    total = 0
    for point in points:
        given = point if isinstance(point, (list, tuple)) else ()
        total += sum(map(np.size, given)) if all(map(is_real, given)) else MOST_NUMBERS + 1
        if not given or total > MOST_NUMBERS:
            raise Unfit(
                f"{function} must return tuples of real arrays, at most {MOST_NUMBERS} numbers"
            )
        *inputs, dout = given
        try:
            with np.errstate(all="ignore"), bounds.memory(MEMORY_MB):
                out, cache = getattr(case.reference, name)(*map(np.copy, inputs))
        except Exception as error:  # the point is the student's: anything may be wrong with it
            raise Unfit(f"{name} cannot be evaluated there: {type(error).__name__}") from None
        if np.shape(out) != np.shape(dout) or not np.all(np.isfinite(out)):
            raise Unfit(f"{function}: dout must have the shape of the output, {np.shape(out)}")
        rounds.append((given, np.asarray(dout, dtype=float)[()], cache))
    return rounds


def _questions(name, task, case):
    """Return the same at an input of the judge, with the values that the hand-in has asked for."""
    rng = case.rng(task, "input", name)
    (x,) = case.assignment.maker(task.inputs)(rng, "small").values()
    forward = getattr(case.reference, name)
    out, cache = forward(x)
    dout = rng.normal(size=np.shape(out))
    function = f"points_{UNKNOWN}"
    points = case.session.plain(function, (x,))
    usable = is_real(points) and np.shape(points)[1:] == x.shape
    if not usable or not 0 < len(points) <= MOST_QUESTIONS:
        raise Unfit(f"{function} must return 1 to {MOST_QUESTIONS} inputs of the shape of x")
    with np.errstate(all="ignore"):
        values = np.array(
            [np.sum(dout * forward(np.array(point, dtype=float))[0]) for point in points]
        )
    return [((x, values), dout, cache)]
