"""The contract of a vector-Jacobian product: linear in ``dout``, for every memory layout of it."""

import numpy as np

from ibpcl.verify.reports.kinds import Finding

# About 1e-8 and 1e8: powers of two, which multiply without rounding.
SCALES = (2.0**-27, 2.0**27)
# Allowed difference, relative to the largest entry.
ROOM = 1e-9


def breaches(problem, w, bent):
    """Return how a gradient function violates the contract, at most once per input.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    w : ndarray, shape (M,)
        A cotangent of all outputs.
    bent : dict of int to str
        From :func:`nonlinear_inputs` for the same pair and cotangent.

    Returns
    -------
    list of Finding
        Violations, of kind "not_linear" or "layout".
    """
    findings = {j: Finding("not_linear", words, inputs=(j,)) for j, words in bent.items()}
    for j, words in _by_layout(problem, w, problem.gradients(w)).items():
        findings.setdefault(j, Finding("layout", words, inputs=(j,)))
    return list(findings.values())


def nonlinear_inputs(problem, w):
    """Return a sentence for each input whose gradient is not linear in the scale of ``dout``.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    w : ndarray, shape (M,)
        A cotangent of all outputs.

    Returns
    -------
    dict of int to str
        By input; empty if all gradients are linear.
    """
    first = problem.gradients(w)
    words_by_input = {}
    with np.errstate(all="ignore"):
        zero = _attempt(problem, np.zeros_like(w))
    for j, got in _of_inputs(problem, zero):
        if not np.all(np.isfinite(got)):
            words_by_input[j] = (
                "not linear in dout: for dout = 0 it is not finite, where it must be zero"
            )
        elif np.any(got):
            words_by_input[j] = "not linear in dout: for dout = 0 it is not zero"
    for scale in SCALES:
        with np.errstate(all="ignore"):
            moved = _attempt(problem, scale * w)
        expected = dict(_of_inputs(problem, first))
        for j, got in _of_inputs(problem, moved):
            plain = expected.get(j)
            if plain is not None and j not in words_by_input and not _close(got / scale, plain):
                words_by_input[j] = (
                    f"not linear in dout: for {scale:.0e} times the dout it is not {scale:.0e} "
                    "times as large"
                )
    return words_by_input


def _by_layout(problem, w, first):
    """Return a sentence for each input whose gradient depends on the memory layout of ``dout``."""
    words_by_input = {}
    expected = dict(_of_inputs(problem, first))
    for words, change in (
        ("not contiguous in memory (a slice or a transpose)", _strided),
        ("in column order (as a transpose is)", _in_columns),
    ):
        try:
            with np.errstate(all="ignore"):
                moved = dict(_of_inputs(problem, problem.pulled(w, change)))
        except Exception as error:  # code under check may raise anything
            return {j: f"raises {type(error).__name__} if dout is {words}" for j in expected}
        for j, got in moved.items():
            if j in expected and not _close(got, expected[j]):
                words_by_input.setdefault(j, f"gives different numbers if dout is {words}")
    return words_by_input


def _attempt(problem, w):
    try:
        return problem.gradients(w)
    except Exception:  # code under check may raise anything
        return ()


def _of_inputs(problem, gradients):
    for j, gradient in zip(problem.wrt, gradients, strict=False):
        array = None if gradient is None else np.asarray(gradient)
        if array is not None and array.dtype.kind in "fiu" and array.shape == problem.shape(j):
            yield j, array.astype(float)


def _close(a, b):
    if not np.all(np.isfinite(b)):
        return True
    return bool(np.allclose(a, b, rtol=0, atol=ROOM * np.max(np.abs(b), initial=0.0)))


def _strided(array):
    """Return an array of equal values that is not contiguous in memory."""
    if np.ndim(array) == 0:
        return array
    wide = np.zeros((*array.shape, 2))
    wide[..., 0] = array
    return wide[..., 0]


def _in_columns(array):
    # asfortranarray would turn a number into an array with one entry
    return np.asfortranarray(array) if np.ndim(array) else array
