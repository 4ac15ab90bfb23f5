"""Examples: one wrong entry of each public task, with the hand-in's value and the right one.

The inputs are those of ``ibpcl class check``, so a student can look at the same entry at home.
The inputs at which a hand-in is judged stay secret, and nothing about hidden tasks is shown.
Examples do not affect the points.
"""

import numpy as np

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.judging.comparing import as_tuple, is_real

SIZES = ("small", "odd", "small", "odd")
KINDS = ("forward", "proof", "vjp")
DIGITS = 6


def add_examples(case, verdicts):
    """Add examples to the wrong public tasks: one per forward, one per input of a gradient.

    Parameters
    ----------
    case : ibpcl.classroom.judging.judge.Case
        The hand-in, with an open session.
    verdicts : list of Verdict
        Changed in place.
    """
    for verdict in verdicts:
        judged_wrong = verdict.state in ("wrong", "partial")
        if verdict.visibility != "public" or verdict.kind not in KINDS or not judged_wrong:
            continue
        task = case.assignment.task(verdict.task)
        try:
            if task.kind == "vjp":
                _gradient(case, task, verdict)
            else:
                _forward(case, task, verdict)
        except Exception:  # an example must not cost the grade
            continue


def wrong_entry(out, expected, rtol=1e-9):
    """Return the entry with the largest error, or None.

    Parameters
    ----------
    out, expected : array_like
        The hand-in's value and the right one.
    rtol : float
        Largest error allowed, relative to the largest entry.

    Returns
    -------
    dict or None
        ``place``, ``got`` and ``expected``, all texts; None if the two are equal or not
        comparable.

    Examples
    --------
    >>> wrong_entry([1.0, 2.0], [1.0, 4.0])
    {'place': '[1]', 'got': '2', 'expected': '4'}
    """
    if not is_real(out) and not isinstance(out, list):
        return None
    out = np.asarray(out)
    expected = np.asarray(expected)
    if out.shape != expected.shape or out.dtype.kind not in "biuf" or not expected.size:
        return None
    out = out.astype(float)
    expected = expected.astype(float)
    with np.errstate(all="ignore"):
        gap = np.abs(out - expected)
        gap = np.where(np.isfinite(expected), np.where(np.isnan(gap), np.inf, gap), 0.0)
    largest = np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0)
    if not np.max(gap) > rtol * largest:
        return None
    at = np.unravel_index(int(np.argmax(gap)), gap.shape)
    got = float(out[at])
    right = float(expected[at])
    digits = DIGITS if f"{got:.{DIGITS}g}" != f"{right:.{DIGITS}g}" else 15
    return {
        "place": f"[{', '.join(map(str, at))}]" if at else "",
        "got": f"{got:.{digits}g}",
        "expected": f"{right:.{digits}g}",
    }


def _forward(case, task, verdict):
    """Find a public point at which a forward, or a proof, is wrong."""
    part = next(part for part in verdict.parts if part.kind != "ok")
    for at, size in enumerate(SIZES):
        inputs = _public(case, task, size, at)
        expected = case.expected(task, inputs)
        pairs = zip(as_tuple(case.returned(task, inputs)), as_tuple(expected), strict=True)
        for number, (came, right) in enumerate(pairs):
            entry = wrong_entry(came, right, task.rtol)
            if entry is not None:
                name = f"result {number + 1}" if isinstance(expected, tuple) else task.function
                part.example = _told(entry, name, inputs)
                return


def _gradient(case, task, verdict):
    """Find an entry of each wrong gradient, for a cotangent of ones or, if that is right,
    another.
    """
    wrong = {part.name: part for part in verdict.parts if part.kind != "ok" and not part.follows}
    for at, size in enumerate(SIZES):
        inputs = _public(case, task, size, at)
        out, cache = _reference(case, task.forward, *inputs.values())
        rng = variants.generator(variants.PUBLIC, "", task.id, "example", at)
        for words, make in (("an array of ones", np.ones), ("random numbers", rng.standard_normal)):
            dout = cotangent_like(out, make)
            right = as_tuple(_reference(case, task.function, dout, cache))
            came = as_tuple(
                case.session.pull(task.function, task.forward, inputs.values(), dout)[0]
            )
            for name, gradient, truth in zip(task.wrt, came, right, strict=False):
                part = wrong.get(name)
                if part is None or part.example is not None:
                    continue
                entry = wrong_entry(gradient, truth, task.rtol)
                if entry is not None:
                    part.example = _told(entry, f"d{name}", inputs, f"dout: {words}")
        if all(part.example is not None for part in wrong.values()):
            return


def _public(case, task, size, at):
    """Return the inputs of ``ibpcl class check`` at one point."""
    rng = variants.generator(variants.PUBLIC, "", case.assignment.name, task.id, size, at)
    return case.assignment.maker(task.inputs)(rng, size)


def _reference(case, function, *arguments):
    with np.errstate(all="ignore"):
        return getattr(case.reference, function)(*arguments)


def cotangent_like(out, make):
    """Return a cotangent of the shapes of an output.

    Parameters
    ----------
    out : ndarray, number or tuple of these
        The output of a forward.
    make : callable
        ``make(shape)`` returns an array.

    Returns
    -------
    ndarray, number or tuple of these

    Examples
    --------
    >>> [part.shape for part in cotangent_like((np.zeros(3), np.zeros((2, 2))), np.ones)]
    [(3,), (2, 2)]
    """
    if isinstance(out, tuple):
        return tuple(cotangent_like(part, make) for part in out)
    array = np.asarray(make(np.shape(out)))
    return array if array.ndim else array[()]


def _told(entry, name, inputs, more=""):
    """Return an example with the name of its array and the shapes of the inputs."""
    shapes = ", ".join(
        f"{key} {np.shape(value)}"
        for key, value in inputs.items()
        if isinstance(value, (np.ndarray, np.generic, float, int))
    )
    words = f"public inputs, {shapes}" + (f"; {more}" if more else "")
    return {**entry, "place": name + entry["place"], "inputs": words}
