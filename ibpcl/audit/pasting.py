"""An input and a cotangent at which a mistake shows, as lines of Python to paste into a test."""

import contextlib

import numpy as np

from ibpcl.audit.comparing import SAME, Result, gaps
from ibpcl.audit.points import PATIENCE, SHORT, Point, cut, gradients_at
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.running.trap import limit

SHOWS = 0.01  # error at which a mistake shows clearly
SHOWN = 4  # significant digits of the gradients that a reader sees


def wrong_in(result):
    """Return the input, the right and the wrong gradient, for each that differs.

    Parameters
    ----------
    result : Result
        The gradients at a point.

    Returns
    -------
    list of (str, ndarray, ndarray)
    """
    problem = result.point.problem
    far = gaps(result.found, result.point)
    return [
        (problem.names[j], true, got)
        for j, true, got, gap in zip(
            problem.wrt, result.point.right, result.found, far, strict=False
        )
        if gap > SAME
    ]


def small(result):
    """Return the result at a point with shorter axes if the mistake shows there as well.

    Parameters
    ----------
    result : Result
        The gradients at a point.

    Returns
    -------
    Result
    """
    point = result.point
    for longest in SHORT:
        problem = point.problem.at([cut(value, longest) for value in point.problem.point])
        try:
            with limit(PATIENCE):
                w = np.resize(point.w, problem.value.size)
                near = Point(problem, w, gradients_at(problem, w), point.sizes)
                found = gradients_at(result.changed(problem), w)
        except (TimeUp, Exception, SystemExit):  # these sizes do not fit each other
            continue
        far = max(gaps(found, near), default=0.0)
        finite = all(np.all(np.isfinite(each)) for each in near.right if each.dtype.kind == "f")
        if w.size and finite and far > SHOWS and not _vanishes(near):
            return Result(near, result.changed, found, far)
    return result


def _vanishes(point):
    """Return whether a right gradient is zero up to rounding, though it is not at other points."""
    return any(
        each.dtype.kind == "f" and np.abs(each).max(initial=0.0) <= SHOWS * size
        for each, size in zip(point.right, point.sizes, strict=True)
        if size > 0
    )


def to_paste(shown):
    """Return an input and a cotangent at which a mistake shows, as lines of Python.

    Parameters
    ----------
    shown : Result
        The gradients at a point.

    Returns
    -------
    list of str
    """
    problem = shown.point.problem
    lines = [
        f"{variable(name)} = {_text(value)}"
        for name, value in zip(problem.names, problem.point, strict=True)
    ]
    outputs, several, _ = problem.call()
    start = 0
    cotangents = []
    for out in outputs:
        cotangents.append(_text(shown.point.w[start : start + out.size].reshape(out.shape)))
        start += out.size
    if not _is_one(shown.point.w):
        lines.append(f"dout = ({', '.join(cotangents)},)" if several else f"dout = {cotangents[0]}")
    for name, true, got in wrong_in(shown):
        lines.append(f"# right:            d{variable(name)} = {_text(true, SHOWN)}")
        lines.append(f"# with the mistake: d{variable(name)} = {_text(got, SHOWN)}")
    return lines


def _is_one(w):
    """Return whether a cotangent is that of a loss that takes none."""
    return w.size == 1 and w[0] == 1


def variable(name):
    """Return the name of an input as one of Python.

    Parameters
    ----------
    name : str
        Name of the input, such as ``params["w"]``.

    Returns
    -------
    str

    Examples
    --------
    >>> variable('params["w"]')
    'params_w'
    """
    kept = "".join(letter if letter.isalnum() else " " for letter in name)
    return "_".join(kept.split())


def _text(value, digits=None):
    """Return a value as Python."""
    if isinstance(value, np.ndarray) and value.ndim:
        numbers = (
            value if digits is None or value.dtype.kind != "f" else _significant(value, digits)
        )
        with contextlib.suppress(ValueError):
            text = np.array2string(
                numbers, separator=", ", threshold=10**9, floatmode="unique", max_line_width=88
            )
            is_single = digits is None and value.dtype == np.float32  # decides which code runs
            kind = ", dtype=np.float32" if is_single else ""
            return f"np.array({' '.join(text.split())}{kind})"
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    return f"{value:.{digits}g}" if digits and isinstance(value, float) else repr(value)


def _significant(values, digits):
    """Return numbers rounded to significant digits of the largest."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return np.round(values, digits - 1 - int(np.floor(np.log10(largest)))) if largest else values
