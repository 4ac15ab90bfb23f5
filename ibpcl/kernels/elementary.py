"""Elementary functions of float32 that can be vectorized, computed by polynomials.

The vectorized mathematics library that compilers use elsewhere is not part of Numba's packages, and
a single call of the C library's ``expf`` keeps a whole loop from being vectorized.  Here each
function is straight-line code, which the compiler executes for eight or sixteen numbers at a time.
"""

import math

import numpy as np

from ibpcl.kernels.compilation import inlined

ONE = np.float32(1)
HALF = np.float32(0.5)
LOG_2 = np.float32(math.log(2))
LOG2_E = np.float32(1 / math.log(2))
# it has 9 bits, so that its multiples by n are exact
LOG_2_HIGH = np.float32(0.693359375)
LOG_2_LOW = np.float32(math.log(2) - 0.693359375)
# the square root of one half, as a bit pattern
SQRT_HALF_BITS = np.int32(0x3F3504F3)
# number of bits of the mantissa, below those of the exponent
MANTISSA = np.int32(23)
BIAS = np.int32(127)  # bias of the exponent
# Beyond these limits, e^x counts as the largest or smallest normal number, so that the scale 2^n
# stays inside the range of the exponent.
EXP_MAX = np.float32(88.0)
EXP_MIN = np.float32(-87.0)
# Minimax polynomials for |r| <= log(2) / 2 and for sqrt(1/2) ... sqrt(2), from Moshier's Cephes
# (expf, logf).
E2, E3, E4, E5, E6, E7 = (
    np.float32(c)
    for c in (
        5.0000001201e-1,
        1.6666665459e-1,
        4.1665795894e-2,
        8.3334519073e-3,
        1.3981999507e-3,
        1.9875691500e-4,
    )
)
L3, L4, L5, L6, L7, L8, L9, L10, L11 = (
    np.float32(c)
    for c in (
        3.3333331174e-1,
        -2.4999993993e-1,
        2.0000714765e-1,
        -1.6668057665e-1,
        1.4249322787e-1,
        -1.2420140846e-1,
        1.1676998740e-1,
        -1.1514610310e-1,
        7.0376836292e-2,
    )
)


@inlined
def _parts(x):
    r"""Return :math:`e^r - 1` and :math:`2^n`.

    Here n is the integer nearest to :math:`x / \log 2`, and r is the remainder.
    """
    # NaN passes through these comparisons
    x = EXP_MAX if x > EXP_MAX else x
    x = EXP_MIN if x < EXP_MIN else x
    n = np.floor(x * LOG2_E + HALF)
    r = (x - n * LOG_2_HIGH) - n * LOG_2_LOW
    e = (((((E7 * r + E6) * r + E5) * r + E4) * r + E3) * r + E2) * r * r + r
    scale = np.int32(np.int32(np.int32(n) + BIAS) << MANTISSA)
    return e, np.int32(scale).view(np.float32)


@inlined
def exp(x):
    r"""Compute :math:`e^x = 2^n e^r`."""
    e, power = _parts(x)
    return (e + ONE) * power


@inlined
def expm1(x):
    r"""Compute :math:`e^x - 1 = 2^n (e^r - 1) + (2^n - 1)`.

    For n = 0 it keeps all digits near zero.
    """
    e, power = _parts(x)
    return e * power + (power - ONE)


@inlined
def log_terms(r, complement):
    r"""Return f, d and :math:`n \log 2`, whose sum is :math:`\log r` for normal r > 0.

    Here :math:`r = 2^n (1 + f)`, :math:`\sqrt{1/2} \le 1 + f < \sqrt 2` and :math:`d = \log(1 + f)
    - f`.  For n = 0, f is minus the complement :math:`1 - r`.  The caller may know the complement
    more accurately than r, which keeps all digits of a logarithm near zero.

    Parameters
    ----------
    r : float32
        A normal number > 0.
    complement : float32
        1 - r, as accurate as possible.

    Returns
    -------
    f, d, whole : float32
        The three terms.
    """
    bits = np.float32(r).view(np.int32)
    n = np.int32(np.int32(bits - SQRT_HALF_BITS) >> MANTISSA)
    f = np.int32(bits - np.int32(n << MANTISSA)).view(np.float32) - ONE
    f = f if n != 0 else -complement
    p = (((((((L11 * f + L10) * f + L9) * f + L8) * f + L7) * f + L6) * f + L5) * f + L4) * f + L3
    return f, f * f * (f * p - HALF), np.float32(n) * LOG_2


@inlined
def log_of(r, complement):
    r"""Compute :math:`\log r`, given :math:`1 - r` more accurately than r determines it.

    Parameters
    ----------
    r : float32
        A normal number > 0.
    complement : float32
        1 - r, as accurate as possible.

    Returns
    -------
    log_r : float32
        The logarithm.
    """
    f, rest, whole = log_terms(r, complement)
    return f + rest + whole
