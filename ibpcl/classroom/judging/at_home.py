"""The check on a student's machine, which has no solutions: recorded values take their place.

The teacher's program records the right values of its public tasks at the public inputs,
in the student's variant, in a file beside the stub.  Forwards and proofs are compared with them.  A
gradient is compared with the derivative of the student's own forward, once that is right.
"""

import json

import numpy as np

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.judging.forwards import SIZES, judge_step
from ibpcl.classroom.judging.gradients import Forward, conclude, wrong_parts_of
from ibpcl.classroom.judging.partial_credit import PartialCredit
from ibpcl.errors import UserError
from ibpcl.storage import read_text

FILE = "public_values.json"


def tasks_with_values(assignment):
    """Return the tasks whose values are recorded.

    Parameters
    ----------
    assignment : Assignment
        The assignment.

    Returns
    -------
    list of Task
    """
    return [
        task
        for task in assignment.tasks
        if task.visibility == "public" and task.kind in ("forward", "proof")
    ]


def _points(assignment, task):
    """Return the public inputs of a task, point by point."""
    for at, size in enumerate(SIZES):
        rng = variants.generator(variants.PUBLIC, "", assignment.name, task.id, size, at)
        yield list(assignment.maker(task.inputs)(rng, size).values())


def recorded(assignment, variant):
    """Return the right values of the public tasks at the public inputs.

    Parameters
    ----------
    assignment : Assignment
        The assignment, with its solution.
    variant : str
        Name of the variant.

    Returns
    -------
    dict
        Plain values for JSON: the assignment, the variant, and for each task its values.
    """
    reference = assignment.reference(variant)
    values = {}
    for task in tasks_with_values(assignment):
        with np.errstate(all="ignore"):
            outs = [
                getattr(reference, task.function)(*inputs) for inputs in _points(assignment, task)
            ]
        values[task.id] = [_packed(out if task.is_plain else out[0]) for out in outs]
    return {"assignment": assignment.name, "variant": variant, "values": values}


def _packed(value):
    if isinstance(value, tuple):
        return {"parts": [_packed(part) for part in value]}
    return {"shape": np.shape(value), "numbers": np.ravel(value).tolist()}


def _unpacked(value):
    if "parts" in value:
        return tuple(map(_unpacked, value["parts"]))
    array = np.array(value["numbers"], dtype=float).reshape(value["shape"])
    return array if array.ndim else array[()]


class Recorded:
    """The recorded values in place of a solution: functions that know the public inputs.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    values : dict
        What :func:`recorded` returned, perhaps on another machine.
    """

    def __init__(self, assignment, values):
        for task in tasks_with_values(assignment):
            # Inputs are made again here: their last digits may depend on the machine.
            known = {
                _digest(inputs): _unpacked(value)
                for inputs, value in zip(
                    _points(assignment, task), values["values"][task.id], strict=True
                )
            }
            setattr(self, task.function, self._function(known, task.is_plain))

    @staticmethod
    def _function(known, is_plain):
        def function(*inputs):
            out = known[_digest(inputs)]
            return out if is_plain else (out, None)

        return function


def _digest(inputs):
    return tuple((np.shape(value), np.asarray(value).tobytes()) for value in inputs)


def read(path, assignment, variant):
    """Return the recorded values beside a student's file.

    Parameters
    ----------
    path : pathlib.Path
        The student's file.
    assignment : Assignment
        The assignment.
    variant : str
        Name of the variant.

    Returns
    -------
    dict or None
        None if the solution is here, or no task needs values.

    Raises
    ------
    UserError
        If the values are missing or damaged, or belong to another assignment or variant.
    """
    tasks = tasks_with_values(assignment)
    if assignment.has_solution or not tasks:
        return None
    place = path.with_name(FILE)
    if not place.is_file():
        raise UserError(
            f"class: {FILE} is missing beside {path.name}: it came with the stub, and has the "
            "values that the check compares with"
        )
    try:
        values = json.loads(read_text(place))
        belongs = values["assignment"], values["variant"]
        for task in tasks:
            if len(list(map(_unpacked, values["values"][task.id]))) != len(SIZES):
                raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"class: {FILE} is damaged: get it again") from None
    if belongs != (assignment.name, variant):
        raise UserError(
            f"class: {FILE} is for {belongs[0]}, variant {belongs[1]}, and {path.name} for "
            f"{assignment.name}, variant {variant}"
        )
    return values


def judge_values(task, verdict, case):
    """Judge a forward or a proof: right at every recorded point or not.

    Parameters
    ----------
    task : Task
        A task of kind ``forward`` or ``proof``.
    verdict : Verdict
        Receives the parts and points.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    judge_step(task, verdict, case)
    if verdict.state != "right":
        case.wrong[task.function] = PartialCredit(task.id, None, False)


def judge_own_gradient(task, verdict, case):
    """Judge a gradient by the derivative of the student's own forward, if that is right.

    Parameters
    ----------
    task : Task
        A task of kind ``vjp``.
    verdict : Verdict
        Receives the parts and points.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    if task.forward in case.wrong:
        verdict.state = "not judged"
        verdict.words = [f"not judged because {task.forward} is not right yet"]
        return
    own = Forward(lambda *values: case.session.forward(task.forward, values)[:2])
    parts = wrong_parts_of(own, task, verdict, case)
    if parts is not None:
        conclude(task, parts, verdict, case)


JUDGES = {"forward": judge_values, "proof": judge_values, "vjp": judge_own_gradient}
