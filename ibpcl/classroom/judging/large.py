"""Gradients at large inputs, where not only their running time but also their values count."""

import numpy as np

from ibpcl.classroom.judging.comparing import as_tuple, compare
from ibpcl.classroom.judging.marking import settle
from ibpcl.classroom.judging.own_parts import gradients_with_own_parts, wrong_parts

RTOL = 1e-6  # sums over many entries lose digits
WORDS = "right at small shapes, wrong at large ones"
HINT = "does the code depend on the shape of its inputs, or skip large ones?"


def judge_at_large(task, verdict, case, inputs, dout, gradients):
    """Withdraw the points of gradients that are right at small inputs and wrong at large ones.

    Parameters
    ----------
    task : Task
        A task of kind ``vjp``.
    verdict : Verdict
        Verdict on the task; changed in place.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    inputs : dict of str to ndarray or number
        Large inputs of the forward.
    dout : ndarray or number
        Gradient at the output.
    gradients : object
        The hand-in's gradients; possibly of any type.
    """
    if wrong_parts(case, task.function) or wrong_parts(case, task.forward):
        truths, _ = gradients_with_own_parts(task, case, inputs, dout)
        if truths is None:
            return
        truths = as_tuple(truths)
    else:
        with np.errstate(all="ignore"):
            _, cache = getattr(case.reference, task.forward)(*inputs.values())
            truths = as_tuple(getattr(case.reference, task.function)(dout, cache))
    returned = as_tuple(gradients)
    returned += (None,) * (len(task.wrt) - len(returned))
    rtol = max(task.rtol, RTOL)
    wrong = [
        name
        for name, gradient, truth in zip(task.wrt, returned, truths, strict=False)
        if compare(gradient, truth, rtol)[0] != "ok"
    ]
    parts = [part for part in verdict.parts if part.name in wrong and part.kind == "ok"]
    for part in parts:
        part.kind = "wrong"
        part.words = WORDS
        part.hint = HINT
        case.marking.earn(part, "wrong_at_large_inputs")
        verdict.words = [line for line in verdict.words if line != f"{part.name}: right"]
        verdict.words.append(f"{part.name}: {WORDS}")
        verdict.details.append(f"{part.name}: {WORDS}")
    if parts:
        settle(verdict)
