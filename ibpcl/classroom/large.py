"""Gradients at large inputs: their values count there, too, not only the time that they take."""

import numpy as np

from ibpcl.classroom.comparing import as_tuple, compare
from ibpcl.classroom.own_parts import gradients_with_own_parts, wrong_parts

RTOL = 1e-6  # sums over many entries lose digits
WORDS = "right at small shapes, wrong at large ones"
HINT = "does it depend on the shape of its inputs, or leave large ones out?"


def judge_at_large(task, verdict, case, inputs, dout, gradients):
    """Take the points of gradients that were right at small inputs and are wrong at large ones.

    Parameters
    ----------
    task : Task
    verdict : Verdict
        Of the same task; changed here.
    case : ibpcl.classroom.judge.Case
    inputs : dict
        Large ones.
    dout : ndarray or number
    gradients : object
        From the hand-in, so anything.
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
    found = as_tuple(gradients)
    wrong = [
        name
        for at, name in enumerate(task.wrt)
        if compare(found[at] if at < len(found) else None, truths[at], max(task.rtol, RTOL))[0]
        != "ok"
    ]
    parts = [part for part in verdict.parts if part.name in wrong and part.kind == "ok"]
    for part in parts:
        verdict.points -= task.points * part.share / len(verdict.parts)
        part.kind = "wrong"
        part.words = WORDS
        part.hint = HINT
        part.share = 0.0
        verdict.words = [line for line in verdict.words if line != f"{part.name}: right"]
        verdict.words.append(f"{part.name}: {WORDS}")
        verdict.details.append(f"{part.name}: {WORDS}")
    if parts:
        verdict.points = round(max(0.0, verdict.points), 2)
        verdict.state = "partial" if verdict.points else "wrong"
