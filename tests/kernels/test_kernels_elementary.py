"""The polynomials for float32 against float64, over their whole range and at its ends."""

import numba
import numpy as np

from ibpcl.kernels import elementary

exp = numba.vectorize(nopython=True)(lambda x: elementary.exp(x))
expm1 = numba.vectorize(nopython=True)(lambda x: elementary.expm1(x))
log_of = numba.vectorize(nopython=True)(lambda r, c: elementary.log_of(r, c))
FINE = np.linspace(-86.9, 87.9, 200_001)


def test_exponentials(dtype=np.float32, ulps=2):
    x = np.concatenate([FINE, FINE / 100, FINE / 1e5, [0]]).astype(dtype)
    for f, exact in ((exp, np.exp), (expm1, np.expm1)):
        y = f(x)
        oracle = exact(x.astype(np.float64))
        assert y.dtype == dtype
        assert (np.abs(y - oracle) <= ulps * np.finfo(dtype).eps * np.abs(oracle)).all()
    assert expm1(dtype(0)) == 0 and exp(dtype(0)) == 1


def test_logarithm_with_its_complement(dtype=np.float32):
    x = np.logspace(-37, 37, 100_001).astype(dtype)
    assert (
        np.abs(log_of(x, 1 - x) - np.log(x.astype(np.float64)))
        <= 2 * np.finfo(dtype).eps * np.maximum(np.abs(np.log(x.astype(np.float64))), 1)
    ).all()
    complement = np.logspace(-37, -0.6, 10_001).astype(dtype)
    exact = np.log1p(-complement.astype(np.float64))
    near = log_of(1 - complement, complement)
    assert (np.abs(near - exact) <= 2 * np.finfo(dtype).eps * np.abs(exact)).all()


def test_nothing_overflows_and_nan_is_propagated():
    x = np.array([-np.inf, -1e30, -200, 200, 1e30, np.inf], np.float32)
    assert np.isfinite(exp(x)).all() and (exp(x) > 0).all()
    assert (expm1(x[:3]) == -1).all() and np.isfinite(expm1(x)).all()
    with np.errstate(invalid="ignore"):
        assert np.isnan(exp(np.float32(np.nan))) and np.isnan(expm1(np.float32(np.nan)))
