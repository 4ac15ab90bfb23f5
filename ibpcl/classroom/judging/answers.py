"""Judge answers that are not derivations: numbers, choices, predictions and counterexamples."""

from inspect import signature

import numpy as np

from ibpcl.classroom.assignments.assignment import Task
from ibpcl.classroom.judging.comparing import as_tuple, is_real
from ibpcl.classroom.judging.examples import cotangent_like
from ibpcl.classroom.judging.referee import PROOF_MB, refutes
from ibpcl.classroom.judging.running import bounds
from ibpcl.classroom.judging.running.accepting import as_array
from ibpcl.verify import check_value


def judge_number(task, verdict, case):
    """Judge a number, and name the slip in a wrong one.

    Parameters
    ----------
    task : Task
        Its function takes no arguments and returns the number.  ``FUNCTION_slips`` of the
        reference, if present, returns common wrong answers by the words that explain them.
    verdict : ibpcl.classroom.judging.verdict.Verdict
        Changed in place.
    case : ibpcl.classroom.judging.judge.Case
    """
    given = _number(case.session.plain(task.function, ()))
    right = getattr(case.reference, task.function)()
    if np.ndim(given):
        verdict.state = "wrong"
        shape = np.shape(given)
        verdict.words = [f"{task.function} must return a number, not an array of shape {shape}"]
        return
    try:
        slips = getattr(case.reference, f"{task.function}_slips", dict)()
        found = check_value(given, right, slips, rtol=task.rtol)
    except (TypeError, ValueError) as error:
        verdict.state = "wrong"
        verdict.words = [f"{task.function} must return a number: {error}"]
        return
    verdict.state = "right" if found.ok else "wrong"
    verdict.points = task.points if found.ok else 0.0
    words = _side(float(given), right) if found.kind == "wrong" else found.words
    verdict.words = [_ended(task, "right")] if found.ok else [words]


def judge_choice(task, verdict, case):
    """Judge the choice of one of several answers.

    Parameters
    ----------
    task : Task
        Its function returns the letter of the answer; ``choices`` lists the answers from "a" on.
    verdict : ibpcl.classroom.judging.verdict.Verdict
        Changed in place.
    case : ibpcl.classroom.judging.judge.Case
    """
    letter = _letter(task, verdict, case)
    if letter is None:
        return
    right = getattr(case.reference, task.function)()
    verdict.state = "right" if letter == right else "wrong"
    verdict.points = task.points if letter == right else 0.0
    verdict.words = [_ended(task, "right")] if letter == right else [f"{letter} is not the answer"]


def judge_prediction(task, verdict, case):
    """Show the answer to a question once a prediction has been made; any prediction counts.

    Parameters
    ----------
    task : Task
        Its function returns the letter of the prediction.
    verdict : ibpcl.classroom.judging.verdict.Verdict
        Changed in place.
    case : ibpcl.classroom.judging.judge.Case
    """
    letter = _letter(task, verdict, case)
    if letter is None:
        return
    right = getattr(case.reference, task.function)()
    verdict.state = "right"
    verdict.points = task.points
    came = "and that is what happens" if letter == right else f"the answer is {right}"
    verdict.words = [_ended(task, f"you predicted {letter}, {came}")]


def judge_counterexample(task, verdict, case):
    """Judge an input that is to refute a given gradient, by evaluating the gradient there.

    Parameters
    ----------
    task : Task
        Its function returns the inputs of ``forward`` as a tuple.  ``exhibit`` is the gradient
        that is wrong somewhere, ``forward + "_vjp"`` the right one.
    verdict : ibpcl.classroom.judging.verdict.Verdict
        Changed in place.
    case : ibpcl.classroom.judging.judge.Case
    """
    reference = case.reference
    names = list(signature(getattr(reference, task.forward)).parameters)
    given = case.session.plain(task.function, ())
    # a list in the place of the only input is an array
    given = (given,) if len(names) == 1 and isinstance(given, list) else as_tuple(given)
    inputs = tuple(as_array(each) if isinstance(each, (list, tuple)) else each for each in given)
    if len(inputs) != len(names) or not all(map(is_real, inputs)):
        verdict.state = "wrong"
        asked = f"a tuple ({', '.join(names)})" if len(names) > 1 else names[0]
        verdict.words = [f"{task.function} must return {asked}: numbers or arrays of numbers"]
        return
    try:
        with np.errstate(all="ignore"), bounds.memory(PROOF_MB):
            out = getattr(reference, task.forward)(*map(np.copy, inputs))[0]
    except Exception as error:  # the point is the student's: anything may be wrong with it
        verdict.state = "wrong"
        message = f"{type(error).__name__}: {error}"
        verdict.words = [f"{task.forward} cannot be evaluated there: {message:.200}"]
        return
    dout = cotangent_like(out, np.ones)
    forward = getattr(reference, task.forward)
    pulls = [getattr(reference, name) for name in (f"{task.forward}_vjp", task.exhibit)]
    reason = refutes([(forward, pull) for pull in pulls], inputs, dout, "the inputs")
    verdict.state = "wrong" if reason else "right"
    verdict.points = 0.0 if reason else task.points
    verdict.words = [f"{task.exhibit}: {reason}"] if reason else [_ended(task, "right")]


def _side(given, right):
    """Return on which side of the right number a wrong one is, and in which order of magnitude.

    The difference would give the right number away.

    Examples
    --------
    >>> _side(0.3, 0.25), _side(0.3, -0.25), _side(0.001, 0.25)
    ('too large', 'the sign is wrong', 'too small: less than a tenth of the right number')
    """
    if given * right < 0:
        return "the sign is wrong"
    if abs(given) > 10 * abs(right) > 0:
        return "too large: more than ten times the right number"
    if 10 * abs(given) < abs(right):
        return "too small: less than a tenth of the right number"
    return "too large" if given > right else "too small"


def _number(given):
    """Return a single number as a scalar, also if it comes in a list or an array."""
    value = as_array(given) if isinstance(given, (list, tuple)) else given
    is_single = isinstance(value, np.ndarray) and value.size == 1 and np.ndim(value)
    return value.reshape(()) if is_single else given


def _letter(task, verdict, case):
    """Return the letter of an answer, or write into the verdict why there is none."""
    letters = [chr(ord("a") + at) for at in range(len(task.choices))]
    given = case.session.plain(task.function, ())
    letter = given.strip().lower() if isinstance(given, str) else None
    if letter == "":
        verdict.state = "missing"
        verdict.words = ["not filled in yet"]
        return None
    if letter not in letters:
        verdict.state = "wrong"
        verdict.words = [f"{task.function} must return one of {', '.join(letters)}"]
        return None
    return letter


def _ended(task: Task, words):
    """Return words with the reason of the answer."""
    return f"{words}. {task.because}" if task.because else words
