"""Refuse pairs that can't be judged: outputs without a gradient, exchanged arguments, another number of gradients."""

import numpy as np

from ibpcl.verify.problem import gradients_in_order, shaped_like, tuple_of


def refuse_outputs(outputs):
    """Raise ``TypeError`` for outputs without a gradient of this kind: complex ones, or no floating-point one."""
    kinds = ", ".join(sorted({str(out.dtype) for out in outputs}))
    if outputs and not any(out.dtype.kind in "fc" for out in outputs):
        raise TypeError(f"check: f returns {kinds} alone, which has no derivative; return floats")
    if any(out.dtype.kind == "c" for out in outputs):
        raise TypeError(f"check: f returns {kinds}; a complex output has no gradient of this kind: return its real and "
                        "imaginary parts as two outputs (out.real, out.imag)")


def require_gradients(problem, w, wrt):
    """Call ``f_vjp`` once and refuse what can't be judged.

    Raises
    ------
    ValueError
        If the number of gradients does not fit the inputs.
    TypeError
        If ``f_vjp`` takes its arguments in the wrong order, or returns something else than arrays.
    """
    outputs, several, cache = problem.call()
    dout = shaped_like(w, outputs, several)
    try:
        gradients = gradients_in_order(problem.f_vjp(dout, cache), problem)
    except Exception as error:
        if _works_exchanged(problem, dout, cache):
            raise TypeError("check: the arguments of f_vjp are in the wrong order: it takes (cache, dout), but is "
                            "called as f_vjp(dout, cache)") from error
        raise
    chosen, count = [problem.names[j] for j in problem.wrt], sum(g is not None for g in gradients)
    stacked = _stacked(problem, gradients)
    if len(gradients) == len(chosen) and not stacked:
        return
    words = f"f_vjp returned {count} gradient{'s' * (count != 1)}"
    hint = f"; it returned one array of shape {gradients[0].shape}, in which gradients are stacked: return a tuple " \
        f"{tuple_of(chosen)}" if stacked else ""
    if wrt is not None:
        raise ValueError(f"check: wrt names {len(chosen)} inputs ({', '.join(chosen)}), but {words}{hint}")
    hint = hint or "; pass wrt=(...) with the names of those that f_vjp differentiates, in its order"
    raise ValueError(f"check: {words}, but f has {len(chosen)} floating-point inputs ({', '.join(chosen)}){hint}")


def _stacked(problem, gradients):
    """Return whether the only array returned has an axis along which there is a gradient for each of several inputs."""
    first, *others = gradients or (None,)
    return isinstance(first, np.ndarray) and first.ndim > 0 and len(first) == len(problem.wrt) > 1 \
        and all(g is None for g in others) and {first.shape[1:]} == {problem.shape(j) for j in problem.wrt}


def _works_exchanged(problem, dout, cache):
    try:
        gradients = gradients_in_order(problem.f_vjp(cache, dout), problem)
        return len(gradients) == len(problem.wrt) and all(
            np.shape(g) == problem.shape(j) for g, j in zip(gradients, problem.wrt, strict=True))
    except Exception:                                   # code under check may raise anything
        return False
