r"""Elementary functions that neither overflow nor cancel, and that accept complex numbers.

Every function is analytic on both sides of its branch, and the *real* part selects the branch.  So
the complex step, :math:`f'(x) = \operatorname{Im} f(x + ih) / h` (Squire and Trapp, 1998), can be
used with all of them.  This is why the derivations do not use ``scipy.special.expit`` or
``numpy.logaddexp``, which accept real numbers only.  The functions accept float32, float64 and
complex128 and return the same type.
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
# Coefficients of series; the highest power comes first.  KL_SERIES: logistic_kl / d^2 in powers of
# d^2.  KL_SLOPE_SERIES: its derivative / d.  EXPM1_REST_SERIES and ARTANH_REST_SERIES: see
# expm1_rest and log1p_rest.
KL_SERIES = np.array([2 * b / factorial(2 * n) for n, b in enumerate(BERNOULLI, 1)])[::-1]
EXPM1_REST_SERIES = np.array([1 / factorial(n) for n in range(2, 16)])[::-1]
ARTANH_REST_SERIES = np.array([2 / (2 * n + 3) for n in range(10)])[::-1]
KL_SLOPE_SERIES = np.array([4 * n * b / factorial(2 * n) for n, b in enumerate(BERNOULLI, 1)])[::-1]


def inexact(x):
    """Return numbers as an array of floating-point or complex type.

    Parameters
    ----------
    x : array_like
        Numbers of any shape.

    Returns
    -------
    x : ndarray
        The same numbers; integers become float64, other types are unchanged.

    Examples
    --------
    >>> inexact([1, 2]).dtype, inexact(np.float32(1)).dtype
    (dtype('float64'), dtype('float32'))
    """
    x = np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def log1mexp(x):
    r"""Compute :math:`\log(1 - e^x)` for :math:`x < 0`, element by element.

    Both forms in the code are exact in exact arithmetic.  The first keeps its digits while
    :math:`e^x` is near one, the second while it is small (Maechler, 2012, "Accurately computing
    ``log(1 - exp(-|a|))``").

    Parameters
    ----------
    x : array_like
        Numbers < 0 of any shape.  The result is :math:`-\infty` at 0 and NaN above.

    Returns
    -------
    out : ndarray
        Values <= 0, of the shape of ``x``.

    Examples
    --------
    >>> float(log1mexp(-1e-20))
    -46.051701859880914
    """
    x = np.asarray(x)
    # each form may fail where the other one is used; and log 0 = -inf
    with np.errstate(all="ignore"):
        return np.where(x.real > -LOG_2, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))[()]


def softplus(x):
    r"""Compute :math:`\log(1 + e^x) = \max(x, 0) + \log(1 + e^{-|x|})`, element by element.

    Parameters
    ----------
    x : array_like
        Any numbers, of any shape.

    Returns
    -------
    out : ndarray
        Values >= 0, of the shape of ``x``.

    Examples
    --------
    >>> float(softplus(1000.0)), float(softplus(-1000.0))
    (1000.0, 0.0)
    """
    x = np.asarray(x)
    positive = x.real > 0
    return (np.where(positive, x, 0) + np.log1p(np.exp(np.where(positive, -x, x))))[()]


def expm1_rest(x):
    r"""Compute :math:`e^x - 1 - x`, element by element.

    Near 0 it is about :math:`x^2 / 2`; there a series is used, because the difference loses all
    digits.

    Parameters
    ----------
    x : array_like
        Any numbers, of any shape.

    Returns
    -------
    out : ndarray
        Values >= 0, of the shape of ``x``.

    Examples
    --------
    >>> float(expm1_rest(1e-10))
    5.000000000166667e-21
    """
    x = inexact(x)
    near_zero = np.abs(x.real) < 0.5
    small = np.where(near_zero, x, 0)
    series = small * small * np.polyval(EXPM1_REST_SERIES.astype(x.dtype), small)
    return np.where(near_zero, series, np.expm1(x) - x)[()]


def log1p_rest(u):
    r"""Compute :math:`u - \log(1 + u)`, element by element.

    Near 0 it is about :math:`u^2 / 2`.  There, with :math:`r = \frac{u}{2 + u}`, :math:`\log(1 + u)
    = 2 \operatorname{artanh} r` and :math:`u - 2 r = u r`, so the difference is :math:`u r - 2 r^3
    \bigl(\tfrac13 + \tfrac{r^2}5 + \tfrac{r^4}7 + \dots\bigr)`.

    Parameters
    ----------
    u : array_like
        Numbers > -1 of any shape.

    Returns
    -------
    out : ndarray
        Values >= 0, of the shape of ``u``.

    Examples
    --------
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
    r"""Compute the x with softplus(x) = y, element by element.

    .. math:: x = \log(e^y - 1) = y + \log(1 - e^{-y})

    Parameters
    ----------
    y : array_like
        Numbers > 0 of any shape.

    Returns
    -------
    x : ndarray
        Values of any sign, of the shape of ``y``.

    Examples
    --------
    >>> float(inverse_softplus(softplus(-30.0)))
    -30.0
    """
    y = np.asarray(y)
    return y + log1mexp(-y)


@np.errstate(under="ignore")  # a tiny result may become 0, whatever the user's np.seterr
def sigmoid(x):
    r"""Compute :math:`1 / (1 + e^{-x})`, with full relative precision in both tails.

    Parameters
    ----------
    x : array_like
        Any numbers, of any shape.

    Returns
    -------
    out : ndarray
        Values in [0, 1], of the shape of ``x``.

    Examples
    --------
    >>> float(sigmoid(-700.0))
    9.85967654375977e-305
    """
    x = np.asarray(x)
    positive = x.real > 0
    e = np.exp(np.where(positive, -x, x))  # |e| <= 1 on both sides
    return (np.where(positive, 1, e) / (1 + e))[()]


def log_sigmoid(x):
    r"""Compute :math:`\log \sigma(x) = -\log(1 + e^{-x})`, element by element.

    Parameters
    ----------
    x : array_like
        Any numbers, of any shape.

    Returns
    -------
    out : ndarray
        Values <= 0, of the shape of ``x``.

    Examples
    --------
    >>> float(log_sigmoid(-1000.0))
    -1000.0
    """
    return -softplus(-np.asarray(x))


def logit(p):
    r"""Compute :math:`\log\frac{p}{1 - p}`, element by element.

    Around one half, where the two logarithms would cancel, :math:`\log(1 + \frac{2p - 1}{1 - p})`
    is used, whose numerator is exact.

    Parameters
    ----------
    p : array_like
        Probabilities in [0, 1], of any shape.

    Returns
    -------
    out : ndarray
        Log-odds, of the shape of ``p``; infinite at 0 and 1.

    Examples
    --------
    >>> float(logit(0.5 + 2.0**-40) * 2.0**38)
    1.0
    """
    p = np.asarray(p)
    central = (p.real > 0.25) & (p.real < 0.75)
    inner = np.where(central, p, 0.5).astype(p.dtype)
    # p = 0 and p = 1 give -inf and inf, as they should
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(central, np.log1p((2 * inner - 1) / (1 - inner)), np.log(p) - np.log1p(-p))[
            ()
        ]


def within_normal(x):
    """Bound positive numbers by the smallest and the largest normal number of their type.

    Parameters
    ----------
    x : array_like
        Floating-point numbers >= 0 of any shape, possibly infinite.

    Returns
    -------
    out : ndarray
        Normal, finite numbers > 0, of the shape of ``x``.

    Examples
    --------
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

    The sum of squares shows it without an array of booleans, unless the sum overflows.

    Parameters
    ----------
    x : ndarray
        Numbers of any shape.

    Returns
    -------
    finite : bool
        False if an element is NaN or infinite.

    Examples
    --------
    >>> finite(np.array([1.0, -2.0])), finite(np.array([1.0, np.nan])), finite(np.array([np.inf,
    ...     -np.inf]))
    (True, False, False)
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(np.vdot(x, x)) or np.isfinite(x).all())


def logsumexp(x, axis=None, keepdims=False):
    r"""Compute :math:`\log \sum_i e^{x_i}` without overflow, by subtracting the largest real part.

    Parameters
    ----------
    x : array_like
        Any numbers, of any shape.
    axis : int or tuple of int, optional
        Axes to sum over; all of them by default.
    keepdims : bool
        Whether the summed axes remain, with length 1.

    Returns
    -------
    out : ndarray
        The logarithms of the sums; :math:`-\infty` for a sum of zeros.

    Examples
    --------
    >>> float(logsumexp(np.array([1000.0, 1000.0])))
    1000.6931471805599
    """
    x = inexact(x)
    largest = np.max(x.real, axis=axis, keepdims=True, initial=-np.inf).astype(x.real.dtype)
    # a row of -inf gives -inf instead of NaN
    shift = np.where(np.isfinite(largest), largest, 0)
    with np.errstate(divide="ignore"):
        out = np.log(np.sum(np.exp(x - shift), axis=axis, keepdims=True)) + shift
    return out if keepdims else np.squeeze(out, axis=axis)[()]


def _stirling_remainder(x):
    r"""Compute the remainder of Stirling's formula, for a real part of at least 10.

    .. math:: \log\Gamma(x) - (x - \tfrac12)\log x + x - \tfrac12\log 2\pi
    """
    t = 1 / (x * x)
    # Bernoulli numbers B_2k / (2k (2k - 1)); at x = 10 the first neglected term is below 1e-16.
    series = 1 / 12 - t * (
        1 / 360 - t * (1 / 1260 - t * (1 / 1680 - t * (1 / 1188 - t * (691 / 360360 - t / 156))))
    )
    return series / x


def log_beta(a, b):
    r"""Compute :math:`\log B(a, b) = \log\Gamma(a) + \log\Gamma(b) - \log\Gamma(a + b)`.

    This difference loses all digits if an argument is large.  With a as the smaller argument,
    :math:`b \ge 10`, and the remainder :math:`\Delta(x)` of Stirling's formula, it is computed from

    .. math:: \log\Gamma(b) - \log\Gamma(a + b)
        = -(a + b - \tfrac12) \log(1 + \tfrac ab) - a \log b + a + \Delta(b) - \Delta(a + b).

    Parameters
    ----------
    a, b : array_like
        Numbers > 0 that broadcast together.

    Returns
    -------
    out : ndarray
        Logarithms of the Beta function, element by element.

    Examples
    --------
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
    # If both are large, log Gamma(a) is also a large number that cancels: expand it as well.
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
    r"""Compute :math:`d \coth(d / 2) - 2`, the KL divergence of two shifted logistic distributions.

    Both have unit scale, and d is the difference of their means.  The function is even.  It is
    about :math:`d^2 / 6` near 0, where a series is used, and about :math:`|d| - 2` for large
    :math:`|d|`.

    Parameters
    ----------
    d : array_like
        Any numbers, of any shape.

    Returns
    -------
    divergence : ndarray
        Nats, >= 0, of the shape of ``d``.

    Examples
    --------
    >>> round(float(logistic_kl(2.197224577)), 4)
    0.7465
    """
    d = inexact(d)
    d = np.where(d.real < 0, -d, d)
    near_zero = d.real < 1
    x = np.where(near_zero, d, 0)
    s = x * x
    # 2 sum_n B_2n d^2n / (2n)!, n = 1 ... 10.  Successive terms shrink by (2 pi)^-2, so the rest is
    # below 1e-16 of the sum.
    series = s * np.polyval(KL_SERIES.astype(s.dtype), s)
    far = np.where(near_zero, 1, d).astype(d.dtype)
    # coth(d/2) = 1 + 2 / (e^d - 1) = 1 + 2 e^-d / (1 - e^-d)
    direct = far - 2 + 2 * far * np.exp(-far) / -np.expm1(-far)
    return np.where(near_zero, series, direct).astype(d.dtype)[()]
