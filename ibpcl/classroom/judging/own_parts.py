"""Tasks that build on other tasks: judged with the student's own functions if those are wrong.

The reference's function is computed in the judge's process, with the hand-in's functions in place
of those that it calls.  So a right function earns its points even if it calls a wrong one, and
nothing of the reference reaches the hand-in.
"""

import ast
import functools
import inspect
import types

import numpy as np

from ibpcl.classroom.judging.comparing import as_tuple, compare, is_real
from ibpcl.classroom.judging.running.client import Ended

# relative: rounding differs where the same formula is written in another way
LOOSE = 1e-6


def parts_of(case, function):
    """Return the other tasks' functions that a function of the reference calls.

    Parameters
    ----------
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    function : str
        Name of the function.

    Returns
    -------
    list of str
    """
    names = {task.function for task in case.assignment.tasks if task.function}
    used = _names_used(case.assignment.source(case.variant)).get(function, set())
    return sorted((used & names) - {function})


@functools.lru_cache(maxsize=64)
def _names_used(source):
    """Return the names that each function of a text uses."""
    return {
        node.name: {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }


def wrong_parts(case, function):
    """Return the wrong functions of the hand-in that a function calls, directly or indirectly.

    Parameters
    ----------
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    function : str
        Name of the function.

    Returns
    -------
    list of str
    """
    wrong = []
    waiting = [function]
    met = set()
    while waiting:
        for name in parts_of(case, waiting.pop()):
            if name not in met:
                met.add(name)
                waiting.append(name)
                wrong += [name] if name in case.wrong else []
    return wrong


def _may_count(case, wrong, parts):
    """Return whether a function may be right for wrong parts.

    Each of these is recognizably the function asked for, or its mistake is known and another part
    is right.  So a composition of guesses earns nothing.
    """
    if case.assignment.any_own_parts:
        return True
    recognized = [case.wrong[name].recognized for name in wrong]
    named = all(case.wrong[name].explanation for name in wrong)
    return all(recognized) or (named and bool(set(parts) - set(case.wrong)))


def right_with_own_parts(task, case, seen):
    """Return a sentence if a function is wrong only because of the functions that it calls.

    Parameters
    ----------
    task : ibpcl.classroom.assignments.assignment.Task
        A forward or a proof.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    seen : list of ibpcl.classroom.judging.naming.naming_forwards.Seen
        Inputs and outputs at several points.

    Returns
    -------
    list of str
        One sentence; empty if the function itself is wrong.
    """
    wrong = wrong_parts(case, task.function)
    if not wrong or not _may_count(case, wrong, parts_of(case, task.function)):
        return []
    module = with_own_parts(case, task.function)
    made = getattr(module, task.function)
    for each in seen:
        try:
            with np.errstate(all="ignore"):
                out = made(*each.inputs.values())
        except Ended:
            raise
        except Exception:  # the student's functions may return anything
            return []
        expected = out if task.kind == "proof" else out[0]
        if compare(each.out, expected, max(task.rtol, LOOSE))[0] != "ok":
            return []
    return [_sentence(case, wrong)]


def gradients_with_own_parts(task, case, inputs, dout):
    """Return the reference's gradients with the student's own functions in place of its parts.

    Parameters
    ----------
    task : ibpcl.classroom.assignments.assignment.Task
        A task of kind ``vjp``.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    inputs : dict of str to ndarray or number
        Inputs of the forward.
    dout : ndarray, number or tuple of these
        The cotangent.

    Returns
    -------
    gradients : tuple of ndarray, ndarray or None
        None if they cannot be computed.
    words : str
        Sentence for a gradient that agrees with them.
    """
    wrong = wrong_parts(case, task.function) + wrong_parts(case, task.forward)
    if not wrong or not _may_count(case, wrong, parts_of(case, task.forward)):
        return None, ""
    module = with_own_parts(case, task.function, task.forward)
    try:
        with np.errstate(all="ignore"):
            _, cache = getattr(module, task.forward)(*inputs.values())
            gradients = getattr(module, task.function)(dout, cache)
    except Ended:
        raise
    except Exception:
        return None, ""
    return gradients, _sentence(case, dict.fromkeys(wrong))


def _sentence(case, wrong):
    tasks = ", ".join(sorted({case.wrong[name].task for name in wrong}))
    names = ", ".join(wrong)
    return (
        f"right for your own {names}, which {'is' if len(wrong) == 1 else 'are'} not right yet: "
        f"correct {tasks} first"
    )


def with_own_parts(case, *functions):
    """Return the reference as a module with some functions replaced by the hand-in's.

    A forward and its gradient are replaced together, because they share a cache.

    Parameters
    ----------
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    *functions : str
        Functions that stay; the tasks' functions that they call are replaced.

    Returns
    -------
    types.ModuleType
    """
    source = case.assignment.source(case.variant)
    module = types.ModuleType("own_parts")
    exec(compile(source, "<own parts>", "exec"), module.__dict__)
    pairs = {task.function: task.forward for task in case.assignment.tasks if task.kind == "vjp"}
    plain = {task.function for task in case.assignment.tasks if task.kind == "proof"}
    for name in {part for function in functions for part in parts_of(case, function)}:
        forward = pairs.get(name, name)
        if name in plain:
            vars(module)[name] = _plain(case, name)
            continue
        vars(module)[forward] = _forward(case, forward)
        for gradient, own in pairs.items():
            if own == forward:
                vars(module)[gradient] = _gradient(case, gradient, forward)
    return module


def _plain(case, name):
    return lambda *inputs: case.session.plain(name, inputs)


def _forward(case, name):
    def function(*inputs):
        out, cache, _ = case.session.forward(name, inputs)
        with np.errstate(all="ignore"):
            expected, _ = getattr(case.reference, name)(*inputs)
        _refuse_other_shapes(out, expected)
        return out, (inputs, cache)

    return function


def _gradient(case, name, forward):
    def function(dout, cache):
        inputs, number = cache
        dout = tuple(dout) if isinstance(dout, tuple) else np.asarray(dout, dtype=float)
        dout = dout if isinstance(dout, tuple) or dout.ndim else dout[()]
        gradients, _ = case.session.pull(name, forward, inputs, dout, number)
        places = list(inspect.signature(getattr(case.reference, forward)).parameters)
        names = next(task.wrt for task in case.assignment.tasks if task.function == name)
        wanted = tuple(inputs[places.index(each)] for each in names)
        _refuse_other_shapes(as_tuple(gradients), wanted)
        return tuple(gradients) if isinstance(gradients, list) else gradients

    return function


def _refuse_other_shapes(out, expected):
    """Raise ValueError for a result that could make the judge's own arrays large."""
    pairs = zip(out, expected, strict=True) if isinstance(expected, tuple) else ((out, expected),)
    for value, other in pairs:
        if not is_real(value) or np.shape(value) != np.shape(other):
            raise ValueError("a result of another shape")
