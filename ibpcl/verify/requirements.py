"""Requirements on a pair before its gradient can be judged."""

from numbers import Number

import numpy as np

from ibpcl.errors import UserError
from ibpcl.verify.adapters.refusals import passes_users_code
from ibpcl.verify.derivative.problem import gradients_in_order, shaped_like, tuple_of


def refuse_outputs(outputs):
    """Raise an error for outputs without a real gradient.

    Parameters
    ----------
    outputs : sequence of ndarray
        The outputs of a forward.

    Raises
    ------
    TypeError
        If an output is complex, or none is floating-point.
    """
    kinds = ", ".join(sorted({str(out.dtype) for out in outputs}))
    if outputs and not any(out.dtype.kind in "fc" for out in outputs):
        raise TypeError(f"check: f returns only {kinds}, which has no derivative; return floats")
    if any(out.dtype.kind == "c" for out in outputs):
        raise TypeError(
            f"check: f returns {kinds}, but outputs must be real: return the real and the "
            "imaginary part as two outputs (out.real, out.imag)"
        )


def require_gradients(problem, w, wrt):
    """Call the gradient function once, and raise an error if its result cannot be judged.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    w : ndarray, shape (M,)
        Cotangent of all outputs.
    wrt : sequence of int or str, or None
        The inputs that the user has selected, for the message.

    Returns
    -------
    BaseException or None
        What the user's code raises; None if it returns gradients.

    Raises
    ------
    ValueError
        If the number of gradients does not fit the inputs.
    TypeError
        If the arguments of the gradient function are in the wrong order, or a gradient is not
        numeric.
    """
    outputs, several, cache = problem.call()
    dout = shaped_like(w, outputs, several)
    try:
        gradients = gradients_in_order(problem.f_vjp(dout, cache), problem)
    except (Exception, SystemExit) as error:
        if _works_exchanged(problem, dout, cache):
            raise TypeError(
                "check: the arguments of f_vjp are in the wrong order: it takes (cache, dout), "
                "but is called as f_vjp(dout, cache)"
            ) from error
        if isinstance(error, (NotImplementedError, UserError)) or not passes_users_code(error):
            raise
        return error
    chosen = [problem.names[j] for j in problem.wrt]
    count = sum(g is not None for g in gradients)
    stacked = _stacked(problem, gradients)
    for name, gradient in zip(chosen, gradients, strict=False):
        _refuse_objects(name, gradient)
    if len(gradients) == len(chosen) and not stacked:
        return None
    words = f"f_vjp returned {count} gradient{'s' * (count != 1)}"
    hint = (
        f"; it returned one array of shape {gradients[0].shape}, in which gradients are stacked: "
        f"return a tuple {tuple_of(chosen)}"
        if stacked
        else ""
    )
    if wrt is not None:
        raise ValueError(
            f"check: wrt names {len(chosen)} inputs ({', '.join(chosen)}), but {words}{hint}"
        )
    hint = hint or "; say with wrt (--wrt) which of them f_vjp differentiates, in its order"
    raise ValueError(
        f"check: {words}, but f has {len(chosen)} floating-point inputs ({', '.join(chosen)}){hint}"
    )


def _refuse_objects(name, gradient):
    """Raise an error for an array of Python objects that are not numbers."""
    if not isinstance(gradient, np.ndarray) or gradient.dtype.kind not in "OUSV":
        return
    try:
        gradient.astype(complex)
    except (TypeError, ValueError):
        other = next(
            (item for item in gradient.flat if not isinstance(item, Number)), gradient.flat[0]
        )
        raise TypeError(
            f"check: f_vjp must return numbers, but its gradient of {name} is an array of "
            f"{gradient.dtype} with {other!r} in it"
        ) from None


def _stacked(problem, gradients):
    """Return whether the only returned array has one gradient per input along axis 0."""
    first, *others = gradients or (None,)
    return (
        isinstance(first, np.ndarray)
        and first.ndim > 0
        and len(first) == len(problem.wrt) > 1
        and all(g is None for g in others)
        and {first.shape[1:]} == {problem.shape(j) for j in problem.wrt}
    )


def _works_exchanged(problem, dout, cache):
    try:
        gradients = gradients_in_order(problem.f_vjp(cache, dout), problem)
        return len(gradients) == len(problem.wrt) and all(
            np.shape(g) == problem.shape(j) for g, j in zip(gradients, problem.wrt, strict=True)
        )
    except Exception:  # code under check may raise anything
        return False
