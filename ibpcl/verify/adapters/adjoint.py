"""Adjoint identity between a Jacobian-vector product and a vector-Jacobian product."""

import numpy as np

from ibpcl.verify.adapters.arguments import named
from ibpcl.verify.adapters.function import pair_of
from ibpcl.verify.adapters.product import jvp_pair
from ibpcl.verify.adapters.signatures import parameters_of
from ibpcl.verify.reports.report import InputVerdict, Report

TIGHT = 1e-9  # relative tolerance: the two products are equal up to rounding


def check_adjoint(f, f_jvp, f_vjp, inputs, *, rtol=TIGHT, seed=0):
    r"""Compare a Jacobian-vector product with a vector-Jacobian product by the adjoint identity.

    .. math:: \langle w, J v \rangle = \langle J^\top w, v \rangle

    No numerical derivative is needed.  Either the two products agree up to rounding, or one of them
    is wrong.  If both contain the same mistake, they agree.

    Parameters
    ----------
    f : callable
        Forward function.
    f_jvp : callable
        Jacobian-vector product, in any form that :func:`jvp_pair` accepts.
    f_vjp : callable
        Gradient function, in any form that :func:`ibpcl.verify.check` accepts.
    inputs : dict, sequence or ndarray
        The inputs of ``f``.
    rtol : float
        Allowed relative difference.
    seed : int
        Seed for :math:`v` and :math:`w`.

    Returns
    -------
    Report
        With one entry for each input.

    Raises
    ------
    FormError
        If a function raises, or its form is not recognized.
    """
    forward = jvp_pair(f, f_jvp, inputs)
    given, keywords = named(inputs, parameters_of(f))
    backward = pair_of(f, f_vjp, given, keywords)
    rng = np.random.default_rng(seed)
    out, cache = forward.forward(*forward.inputs)
    dout = rng.standard_normal(np.shape(out)) if np.ndim(out) else float(rng.standard_normal())
    columns = dict(zip(forward.wrt, forward.backward(dout, cache), strict=True))
    _, cache = backward.forward(*backward.inputs)
    rows = dict(zip(backward.wrt, backward.backward(dout, cache), strict=True))
    report = Report(f_jvp.__name__, [], numbers={"seed": seed})
    for name in forward.wrt:
        v = rng.standard_normal(np.shape(columns[name]))
        a = float(np.sum(columns[name] * v))
        b = float(np.sum(np.asarray(rows.get(name, np.nan)) * v))
        size = float(np.sum(np.abs(columns[name] * v))) + 1e-300
        error = abs(a - b) / size
        if error <= rtol:
            report.inputs.append(
                InputVerdict(name, "ok", "", error=error, numbers={"rtol": rtol, "compared": 1})
            )
        else:
            report.inputs.append(
                InputVerdict(
                    name,
                    "wrong",
                    f"<w, Jv> = {a:.6g}, but <J'w, v> = {b:.6g}: the two products are not "
                    "adjoint, so one of them is wrong",
                    "check each of them with the forward: ibpcl.check(f, f_vjp, inputs)",
                    error,
                )
            )
    return report
