"""Limits of a gradient, such as clipping, and the gradient without them.

A limit is part of training, not of the derivative: a limited gradient is not linear in ``dout``.
No limit acts on a tiny ``dout``, and every limit on a huge one.  Two values of ``dout`` therefore
show a limit in any form of code: by ``np.clip``, by a largest norm, or by a condition.
"""

import numpy as np

from ibpcl.verify.adapters.pair import Adapted
from ibpcl.verify.derivative.contract import nonlinear_inputs
from ibpcl.verify.reports.kinds import Finding

# Powers of two, which multiply without rounding: no limit acts on the first, and all on the second.
TINY = 2.0**-60
HUGE = 2.0**50
ROUNDING = 1e-13  # relative error of a product


def without_limits(problem, w, bent):
    """Return a pair without limits of its gradient, such as clipping.

    For a tiny ``dout``, the gradient must be linear; for a huge one, it must be constant and have
    the same signs.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    w : ndarray, shape (M,)
        A cotangent of all outputs.
    bent : dict of int to str
        From :func:`~ibpcl.verify.derivative.contract.nonlinear_inputs` for the same cotangent.

    Returns
    -------
    problem : Problem
        The same problem if its gradient is linear in ``dout``, or has more than limits.
    limit : Finding or None
        A note on the limit; None if the problem is the same.
    """
    free = problem.with_gradient(Adapted(problem.f_vjp, _of_a_tiny_dout))
    if not bent or not _is_limited(problem, free, w):
        return problem, None
    words = "the gradient is limited, as by clipping: it is linear in dout only for a small dout"
    return free, Finding("not_linear", words, inputs=tuple(bent))


def _of_a_tiny_dout(f_vjp, dout, cache):
    """Return the gradients for a tiny ``dout``, enlarged again."""
    gradients = f_vjp(_times(dout, TINY), cache)
    if isinstance(gradients, dict):
        return {key: _times(gradient, 1 / TINY) for key, gradient in gradients.items()}
    return _times(gradients, 1 / TINY)


def _times(value, factor):
    """Return an array, or each array of a tuple, times a factor."""
    if isinstance(value, (tuple, list)):
        return tuple(_times(item, factor) for item in value)
    return None if value is None else value * factor


def _is_limited(problem, free, w):
    """Return whether a gradient is linear for a tiny ``dout``, and constant for a huge one."""
    with np.errstate(all="ignore"):
        try:
            if nonlinear_inputs(free, w):
                return False
            scaled = [problem.gradients(scale * w) for scale in (1.0, HUGE, 2 * HUGE)]
            return all(
                np.all(np.abs(here) <= (1 + ROUNDING) * np.abs(linear))
                and np.array_equal(np.sign(far), np.sign(linear))
                and np.allclose(far, farther, rtol=1e-9, atol=0)
                for linear, here, far, farther in zip(free.gradients(w), *scaled, strict=True)
                if linear is not None and not np.allclose(far, HUGE * linear, rtol=1e-9, atol=0)
            )
        except Exception:  # code under check may raise anything
            return False
