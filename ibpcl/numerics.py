r"""Elementary functions that neither overflow nor cancel, and that accept complex numbers.

Every function here is analytic on both sides of its branch, with the branch chosen by the *real*
part.  So the complex step, :math:`f'(x) = \operatorname{Im} f(x + ih) / h` (Squire and Trapp,
1998), passes through all of them, which is why ``scipy.special.expit`` or ``numpy.logaddexp`` (real
only) are not used in the derivations.  float32, float64 and complex128 go in, and the same type
comes out.
"""

from math import factorial

import numpy as np
from scipy.special import loggamma

__all__ = [
    "expm1_rest",
    "finite",
    "inexact",
    "inverse_softplus",
    "log1mexp",
    "log1p_rest",
    "log_beta",
    "log_sigmoid",
    "logistic_kl",
    "logit",
    "logsumexp",
    "sigmoid",
    "softplus",
    "within_normal",
]

LOG_2 = float(np.log(2.0))
BERNOULLI = (  # B_2 ... B_20
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
# Of logistic_kl, a series in d^2 times d^2, and of its slope, one times d; the highest power first.
KL_SERIES = np.array([2 * b / factorial(2 * n) for n, b in enumerate(BERNOULLI, 1)])[::-1]
EXPM1_REST_SERIES = np.array([1 / factorial(n) for n in range(2, 16)])[::-1]
ARTANH_REST_SERIES = np.array([2 / (2 * n + 3) for n in range(10)])[::-1]
KL_SLOPE_SERIES = np.array([4 * n * b / factorial(2 * n) for n, b in enumerate(BERNOULLI, 1)])[::-1]


def inexact(x):
    """Return an array of the same numbers that may have a fraction: whole ones become float64,
    others stay.

    >>> inexact([1, 2]).dtype, inexact(np.float32(1)).dtype
    (dtype('float64'), dtype('float32'))
    """
    x = np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def log1mexp(x):
    r"""Compute :math:`\log(1 - e^x)` for :math:`x < 0`.

    Both forms below are exact in exact arithmetic; the first keeps its digits while :math:`e^x` is
    near one, the second while it is small (Maechler, 2012, "Accurately computing ``log(1 -
    exp(-|a|))``").  At zero it is :math:`-\infty`, above zero it is not a number.

    >>> float(log1mexp(-1e-20))
    -46.051701859880914
    """
    x = np.asarray(x)
    # each form where the other one is taken; and log 0 = -inf
    with np.errstate(all="ignore"):
        return np.where(x.real > -LOG_2, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))[()]


def softplus(x):
    r"""Compute :math:`\log(1 + e^x) = \max(x, 0) + \log(1 + e^{-|x|})`.

    >>> float(softplus(1000.0)), float(softplus(-1000.0))
    (1000.0, 0.0)
    """
    x = np.asarray(x)
    positive = x.real > 0
    return (np.where(positive, x, 0) + np.log1p(np.exp(np.where(positive, -x, x))))[()]


def expm1_rest(x):
    r"""Compute :math:`e^x - 1 - x \ge 0`, about :math:`x^2 / 2` near zero, where the difference has
    no digits left.

    Elementwise, for arrays of any shape.

    >>> float(expm1_rest(1e-10))
    5.000000000166667e-21
    """
    x = inexact(x)
    near_zero = np.abs(x.real) < 0.5
    small = np.where(near_zero, x, 0)
    series = small * small * np.polyval(EXPM1_REST_SERIES.astype(x.dtype), small)
    return np.where(near_zero, series, np.expm1(x) - x)[()]


def log1p_rest(u):
    r"""Compute :math:`u - \log(1 + u) \ge 0` for :math:`u > -1`, about :math:`u^2 / 2` near zero.

    There, with :math:`r = \frac{u}{2 + u}`, :math:`\log(1 + u) = 2 \operatorname{artanh} r` and
    :math:`u - 2 r = u r`, so that the difference is :math:`u r - 2 r^3 \bigl(\tfrac13 +
    \tfrac{r^2}5 + \tfrac{r^4}7 + \dots\bigr)`. Elementwise, for arrays of any shape.

    >>> float(log1p_rest(1e-10))
    4.999999999666667e-21
    """
    u = inexact(u)
    near_zero = np.abs(u.real) < 0.25
    small = np.where(near_zero, u, 0).astype(u.dtype)
    large = np.where(near_zero, 1, u).astype(u.dtype)
    r = small / (2 + small)
    series = r * (small - r * r * np.polyval(ARTANH_REST_SERIES.astype(u.dtype), r * r))
    return np.where(near_zero, series, large - np.log1p(large))[()]


def inverse_softplus(y):
    r"""Compute the x with softplus(x) = y > 0: :math:`\log(e^y - 1) = y + \log(1 - e^{-y})`.

    >>> float(inverse_softplus(softplus(-30.0)))
    -30.0
    """
    y = np.asarray(y)
    return y + log1mexp(-y)


def sigmoid(x):
    r"""Compute :math:`1 / (1 + e^{-x})`, keeping the relative precision of both tails.

    >>> float(sigmoid(-700.0))
    9.85967654375977e-305
    """
    x = np.asarray(x)
    positive = x.real > 0
    e = np.exp(np.where(positive, -x, x))  # |e| <= 1 on either side
    return (np.where(positive, 1, e) / (1 + e))[()]


def log_sigmoid(x):
    r"""Compute :math:`\log \sigma(x) = -\log(1 + e^{-x})`.

    >>> float(log_sigmoid(-1000.0))
    -1000.0
    """
    return -softplus(-np.asarray(x))


def logit(p):
    r"""Compute :math:`\log\frac{p}{1 - p}` for :math:`0 \le p \le 1`.

    Around one half the two logarithms would cancel; there :math:`\log(1 + \frac{2p - 1}{1 - p})` is
    used, whose numerator is exact.

    >>> float(logit(0.5 + 2.0**-40) * 2.0**38)
    1.0
    """
    p = np.asarray(p)
    central = (p.real > 0.25) & (p.real < 0.75)
    inner = np.where(central, p, 0.5).astype(p.dtype)
    # p = 0 and p = 1 rightly give -inf and inf
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(central, np.log1p((2 * inner - 1) / (1 - inner)), np.log(p) - np.log1p(-p))[
            ()
        ]


def within_normal(x):
    """Bound positive numbers by the smallest and the largest normal number of their type.

    >>> within_normal(np.float32([0.0, 2.0, np.inf])).tolist()
    [1.1754943508222875e-38, 2.0, 3.4028234663852886e+38]
    """
    x = np.asarray(x)
    limits = np.finfo(x.dtype)
    return np.where(
        x.real < limits.tiny, limits.tiny, np.where(x.real > limits.max, limits.max, x)
    )[()]


def finite(x):
    """Return whether all elements are finite.

    The sum of squares tells without an array of flags, unless it overflows.

    >>> finite(np.array([1.0, -2.0])), finite(np.array([1.0, np.nan])), finite(np.array([np.inf,
    ...     -np.inf]))
    (True, False, False)
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(np.vdot(x, x)) or np.isfinite(x).all())


def logsumexp(x, axis=None, keepdims=False):
    r"""Compute :math:`\log \sum_i e^{x_i}` along ``axis``, shifted by the largest real part.

    >>> float(logsumexp(np.array([1000.0, 1000.0])))
    1000.6931471805599
    """
    x = inexact(x)
    largest = np.max(x.real, axis=axis, keepdims=True, initial=-np.inf).astype(x.real.dtype)
    # a row of -inf stays -inf instead of nan
    shift = np.where(np.isfinite(largest), largest, 0)
    with np.errstate(divide="ignore"):
        out = np.log(np.sum(np.exp(x - shift), axis=axis, keepdims=True)) + shift
    return out if keepdims else np.squeeze(out, axis=axis)[()]


def _stirling_remainder(x):
    r"""Compute :math:`\log\Gamma(x) - (x - \frac12)\log x + x - \frac12\log 2\pi` for real part at
    least 10.
    """
    t = 1 / (x * x)
    # Bernoulli numbers B_2k / (2k (2k - 1)); at x = 10 the first term left out is below 1e-16.
    series = 1 / 12 - t * (
        1 / 360 - t * (1 / 1260 - t * (1 / 1680 - t * (1 / 1188 - t * (691 / 360360 - t / 156))))
    )
    return series / x


def log_beta(a, b):
    r"""Compute :math:`\log B(a, b) = \log\Gamma(a) + \log\Gamma(b) - \log\Gamma(a + b)` for a, b >
    0.

    The plain difference loses all digits when an argument is large.  With a the smaller one and
    :math:`\Delta(x)` Stirling's remainder, for :math:`b \ge 10`,

    .. math:: \log\Gamma(b) - \log\Gamma(a + b)
        = -(a + b - \tfrac12) \log(1 + \tfrac ab) - a \log b + a + \Delta(b) - \Delta(a + b).

    >>> round(float(log_beta(1e10, 1.0)), 10)
    -23.0258509299
    """
    a = inexact(a)
    b = inexact(b)
    swap = a.real > b.real
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    dtype = np.result_type(a, b)
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    a = a.astype(wide)
    b = b.astype(wide)
    large = b.real >= 10
    big = np.where(large, b, 10.0)
    # With both large, log Gamma(a) itself is a big number to be cancelled: expand it as well.
    both = a.real >= 10
    big_a = np.where(both, a, 10.0)
    ratio = np.log1p(a / big)
    tail = _stirling_remainder(big) - _stirling_remainder(a + big)
    one_large = loggamma(a) - (a + big - 0.5) * ratio - a * np.log(big) + a + tail
    two_large = (
        -(a + big - 0.5) * ratio
        + (a - 0.5) * np.log(big_a / big)
        - 0.5 * np.log(big)
        + 0.5 * np.log(2 * np.pi)
        + _stirling_remainder(big_a)
        + tail
    )
    small = loggamma(a) + loggamma(b) - loggamma(a + b)
    return np.where(large, np.where(both, two_large, one_large), small).astype(dtype)[()]


def logistic_kl(d):
    r"""Compute :math:`d \coth(d / 2) - 2`, the KL divergence of two unit logistics that are ``d``
    apart.

    Even in d, about :math:`d^2 / 6` near zero (series below) and :math:`|d| - 2` far out.  Nats.

    >>> round(float(logistic_kl(2.197224577)), 4)
    0.7465
    """
    d = inexact(d)
    d = np.where(d.real < 0, -d, d)
    near_zero = d.real < 1
    x = np.where(near_zero, d, 0)
    s = x * x
    # 2 sum_n B_2n d^2n / (2n)!, n = 1 ... 10; the terms fall by (2 pi)^-2, so the rest is below
    # 1e-16 of the sum.
    series = s * np.polyval(KL_SERIES.astype(s.dtype), s)
    far = np.where(near_zero, 1, d).astype(d.dtype)
    # coth(d/2) = 1 + 2 / (e^d - 1) = 1 + 2 e^-d / (1 - e^-d)
    direct = far - 2 + 2 * far * np.exp(-far) / -np.expm1(-far)
    return np.where(near_zero, series, direct).astype(d.dtype)[()]
