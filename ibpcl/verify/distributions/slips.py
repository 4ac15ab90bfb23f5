r"""Name the slip that leads from right values to given ones.

The values are compared at several points, such as several parameters of a density.  A slip is
named only if it explains all of them.
"""

import math
from fractions import Fraction
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ibpcl.codeview.location import NOWHERE, Location
from ibpcl.verify.distributions.report import ForwardVerdict

RTOL = 1e-6
# Usual constants of formulas by name.
CONSTANTS = {
    "log 2": math.log(2),
    "log 10": math.log(10),
    "log pi": math.log(math.pi),
    "log 2 pi": math.log(2 * math.pi),
    "pi": math.pi,
    "sqrt(2 pi)": math.sqrt(2 * math.pi),
    "sqrt(2)": math.sqrt(2),
    "Euler's gamma": float(np.euler_gamma),
}
MULTIPLES = (1, 0.5, 2)
MOVED = 1.1  # a function whose value at this multiple of the right one is the same says nothing


# Functions of the right value that often stand in its place, with the kind of the slip.
SCALE = "other_scale"
INSTEAD = {
    "the logarithm of the right value": (np.log, SCALE),
    "the exponential of the right value": (np.exp, SCALE),
    "minus the logarithm of the right value": (lambda x: -np.log(x), SCALE),
    "the log-odds of the right value": (lambda x: np.log(x) - np.log1p(-x), SCALE),
    "the sigmoid of the right value": (lambda x: 1 / (1 + np.exp(-x)), SCALE),
    "the reciprocal of the right value": (lambda x: 1 / x, SCALE),
    "the square of the right value": (np.square, SCALE),
    "the square root of the right value": (np.sqrt, SCALE),
    "the absolute value of the right value": (np.abs, SCALE),
    "minus the right value": (np.negative, "sign"),
    "1 minus the right value": (lambda x: 1 - x, "complement"),
}


class Slip(NamedTuple):
    """A mistake with its name.

    Attributes
    ----------
    kind : str
        One of :data:`ibpcl.verify.distributions.report.HINTS`.
    words : str
        The mistake as a sentence.
    where : ibpcl.codeview.location.Location
        Its place in the source; false if unknown.
    repair : tuple of ibpcl.codeview.location.Replacement
        The text that repairs the source; empty if unknown.
    """

    kind: str
    words: str
    where: Location = NOWHERE
    repair: tuple = ()


def agree(given, right, rtol=RTOL, atol=0.0):
    r"""Return whether values agree everywhere.

    .. math:: |given - right| \le rtol \, (10^{-9} + |right|) + atol

    Parameters
    ----------
    given, right : array_like
        The values to compare.
    rtol : float
        Relative tolerance.
    atol : float or array_like
        Absolute tolerance.

    Returns
    -------
    agree : bool
        False if the shapes differ or a given value is not finite.
    """
    given = np.asarray(given, float)
    right = np.asarray(right, float)
    if given.shape != right.shape or not np.all(np.isfinite(given)):
        return False
    scale = 1e-9 + np.abs(right)
    return bool(np.all(np.abs(given - right) <= rtol * scale + np.asarray(atol)))


def multiple(value):
    """Return a number as a plain fraction, possibly of a constant such as log 2 or pi.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    text : str or None
        None if the number is neither.

    Examples
    --------
    >>> multiple(0.5), multiple(-2.0), multiple(1 / math.log(2)), multiple(0.7134)
    ('1/2', '-2', '1 / log 2', None)
    """
    if value == 0 or not math.isfinite(value):
        return None
    for name, constant in {"": 1.0, **CONSTANTS}.items():
        for power, sign in ((1, ""), (-1, "1 / ")):
            ratio = value / constant**power
            fraction = Fraction(ratio).limit_denominator(24)
            if (
                fraction
                and abs(fraction.numerator) <= 24
                and math.isclose(ratio, fraction, rel_tol=RTOL)
            ):
                if not name:
                    return str(fraction)
                plain = {1: "", -1: "-"}.get(fraction, f"{fraction} ")
                return f"{plain}{sign}{name}" if sign == "" or plain in ("", "-") else None
    return None


def explain(given, right, alternatives=None, atol=0.0):
    """Name the slip that leads from right values to given ones.

    Parameters
    ----------
    given, right : array_like, shape (N,)
        At N points; at one point only plain slips are named.
    alternatives : dict of Slip to array_like, optional
        Other quantities that may stand in place of the right one.
    atol : float or array_like
        Absolute error of the right values.

    Returns
    -------
    slip : Slip or None
        None if the values agree or no slip explains all of them.

    Examples
    --------
    >>> explain([1.0, 2.0, 5.0], [-1.0, -2.0, -5.0]).kind
    'sign'
    >>> explain([1.0, 2.5, 5.0], [0.3, 1.8, 4.3]).words
    'too large by 7/10'
    """
    given = np.atleast_1d(np.asarray(given, float))
    right = np.atleast_1d(np.asarray(right, float))
    if given.shape != right.shape or not np.all(np.isfinite(given)):
        return None
    if agree(given, right, atol=atol):
        return None
    searches = (
        lambda: _alternative(given, alternatives or {}, atol),
        lambda: _instead(given, right, ("sign",), atol=atol),
        lambda: _constant_factor(given, right, atol),
        lambda: _constant_term(given, right, atol) if len(given) > 1 else None,
        lambda: _instead(given, right, ("complement",), atol=atol),
        lambda: _instead(given, right, (SCALE,)),
    )
    with np.errstate(all="ignore"):
        return next((slip for search in searches if (slip := search()) is not None), None)


def missing_term(gap, sets):
    """Name the constant, or the term of the parameters, that equals a difference at all sets.

    Parameters
    ----------
    gap : ndarray, shape (N,)
        Given minus right values.
    sets : sequence of dict of str to object
        The N sets of parameters.

    Returns
    -------
    slip : Slip or None
        None if there is no such term.
    """
    from scipy.special import betaln, gammaln  # the checker in the browser starts without it

    slip = _constant_term(gap, np.zeros(len(gap)), RTOL)
    if slip is not None or len(gap) < 3:
        return slip
    terms = {
        1: {"log {}": np.log, "{}": np.positive, "log Gamma({})": gammaln},
        2: {"log B({}, {})": betaln, "{} log {}": lambda a, b: a * np.log(b)},
    }
    names = [name for name, value in sets[0].items() if np.isscalar(value)]
    for chosen in (*permutations(names, 1), *permutations(names, 2)):
        values = [np.array([float(each[name]) for each in sets]) for name in chosen]
        for form, of in terms[len(chosen)].items():
            with np.errstate(all="ignore"):
                term = of(*values)
            for factor in MULTIPLES:
                label = (
                    form.format(*chosen) if factor == 1 else f"{factor:g} {form.format(*chosen)}"
                )
                if agree(gap, factor * term, 1e-5, RTOL):
                    return Slip("extra_term", f"too large by {label}")
                if agree(gap, -factor * term, 1e-5, RTOL):
                    return Slip("missing_term", f"short by {label}")
    return None


def _alternative(given, alternatives, atol):
    for slip, values in alternatives.items():
        if agree(given, np.broadcast_to(np.asarray(values, float), given.shape), atol=atol):
            return slip
    return None


def _constant_factor(given, right, atol):
    if np.any(right == 0):
        return None
    ratio = given / right
    constant = float(np.median(ratio))
    if not agree(given, constant * right, atol=atol):
        return None
    name = multiple(constant)
    if name is None or (len(given) == 1 and not _is_plain(constant)):
        return None
    for base, number in (("bits", 2), ("bans", 10)):
        if math.isclose(abs(constant), 1 / math.log(number), rel_tol=RTOL):
            return Slip("log_base", f"in {base}, not in nats: off by the factor {name}")
    return Slip("constant_factor", f"off by the constant factor {name}")


def _is_plain(factor):
    """Return whether a single number is likely to be off by a factor: 2, 1/4, 10, log 2.

    >>> _is_plain(0.5), _is_plain(-100.0), _is_plain(1 / math.log(2)), _is_plain(3 / 7)
    (True, True, True, False)
    """
    size = abs(factor)
    plain = [2, 3, 4, 10, 100, 1000, math.log(2), math.log(10), math.pi, 2 * math.pi]
    return any(
        math.isclose(size, value, rel_tol=RTOL) or math.isclose(size, 1 / value, rel_tol=RTOL)
        for value in plain
    )


def _constant_term(given, right, atol):
    gap = given - right
    constant = float(np.median(gap))
    if not agree(given, right + constant, atol=atol):
        return None
    name = multiple(constant)
    if name is None:
        return None
    if constant > 0:
        return Slip("extra_term", f"too large by {name}")
    return Slip("missing_term", f"short by {name.removeprefix('-')}")


def _closely(given, values, rtol, atol=0.0):
    """Return whether values agree relative to their own sizes, also those next to zero."""
    gap = np.abs(given - values)
    return agree(given, values, rtol, atol) and bool(np.all(gap <= rtol * np.abs(values) + atol))


def _instead(given, right, kinds, rtol=RTOL, atol=0.0):
    """Name the function of the right value that is given in its place.

    A value that says nothing about the right one gets no name: zero, and a limit such as the 1 that
    the sigmoid has for every large number.
    """
    if not np.any(given):
        return None
    for words, (function, kind) in INSTEAD.items():
        # 1 minus a value is the other tail of a probability only
        fits = kind != "complement" or np.all((right >= 0) & (right <= 1))
        if kind not in kinds or not fits:
            continue
        values = function(right)
        fits = np.all(np.isfinite(values)) and _closely(given, values, rtol, atol)
        if fits and not _closely(given, function(MOVED * right), rtol, atol):
            return Slip(kind, words)
    return None


def check_value(
    got: Any,
    expected: ArrayLike,
    candidates: dict[str, Any] | None = None,
    *,
    name: str = "value",
    rtol: float = RTOL,
) -> ForwardVerdict:
    """Compare a number, or an array, with the right one, and name the slip between them.

    Parameters
    ----------
    got : float or array_like
        The answer.
    expected : float or array_like
        The right value.
    candidates : dict of str to float, optional
        Known wrong answers by the words that explain them, such as
        ``{"the reversed divergence": 0.81}``.
    name : str
        Name of the value in the verdict.
    rtol : float
        Relative tolerance.

    Returns
    -------
    verdict : ibpcl.verify.distributions.report.ForwardVerdict
        ``ok``, ``kind`` and ``words``.

    Examples
    --------
    >>> print(check_value(1.4427, 1.0, rtol=1e-4))
    value: WRONG: in bits, not in nats: off by the factor 1 / log 2
        hint: use the natural logarithm: nats, not bits or bans
    >>> check_value(2.0, 2.0).ok, check_value(2e-8, 1e-8).ok
    (True, False)
    """
    try:
        given = np.asarray("None" if got is None else got, float)
    except (TypeError, ValueError):
        return ForwardVerdict(name, "wrong", f"not a number: {got!r:.60}", "raises")
    right = np.asarray(expected, float)
    if given.shape != right.shape:
        if given.size == 1 and right.size > 1 and agree(given.ravel()[0], right.mean(), rtol):
            return ForwardVerdict(name, "wrong", "the mean of the right values", "other_quantity")
        if given.size == 1 and right.size > 1 and agree(given.ravel()[0], right.sum(), rtol):
            return ForwardVerdict(name, "wrong", "the sum of the right values", "other_quantity")
        words = f"shape {given.shape}, expected {right.shape}"
        return ForwardVerdict(name, "wrong", words, "wrong")
    if not np.all(np.isfinite(given)):
        return ForwardVerdict(name, "wrong", "not finite", "non_finite")
    # entries that are tiny beside the largest may differ by more than rtol
    size = float(np.max(np.abs(right), initial=0.0)) or 1.0
    if agree(given, right, rtol, rtol * 1e-3 * size):
        return ForwardVerdict(name, "ok", "as expected")
    for words, value in (candidates or {}).items():
        if _closely(given, np.broadcast_to(np.asarray(value, float), given.shape), rtol):
            return ForwardVerdict(name, "wrong", words, "other_quantity")
    slip = _rounded(given.ravel(), right.ravel(), rtol)
    if slip is None:
        off = float(np.max(np.abs(given - right)))
        return ForwardVerdict(name, "wrong", f"off by {off:.6g}", "wrong")
    return ForwardVerdict(name, "wrong", slip.words, slip.kind)


def _rounded(given, right, rtol):
    """Explain values that may be rounded to a few digits."""
    allowed = rtol * np.abs(given)
    sure = explain(given, right, atol=allowed)
    if sure is not None or rtol <= RTOL:
        return sure
    for factor in (2, 0.5, 4, 0.25, 1 / math.log(2), math.log(2), 1 / math.log(10), math.log(10)):
        if agree(given, factor * right, rtol):
            name = multiple(factor)
            if math.isclose(factor, 1 / math.log(2)):
                return Slip("log_base", f"in bits, not in nats: off by the factor {name}")
            return Slip("constant_factor", f"off by the constant factor {name}")
    with np.errstate(all="ignore"):
        return _instead(given, right, (SCALE,), rtol)
