"""Comparison of a hand-in's values with the right ones, and names for the difference."""

import numpy as np

from ibpcl.verify.distributions.slips import multiple

HINTS = {
    "wrong_shape": "write down the shapes of all inputs and of the output first",
    "wrong_type": (
        "keep the type of the inputs: a float64 array turns float32 into float64, and a complex "
        "number turns everything into complex numbers"
    ),
    "lost_imaginary_part": "np.abs, np.hypot and np.linalg.norm drop the imaginary part",
    "non_finite": (
        "look for an exp that overflows, the log of zero, or a division by zero; use the stable "
        "form"
    ),
    "sign": "look for a minus sign that was lost or added",
    "constant_factor": (
        "look for a constant factor: a half, the base of a logarithm, a mean in place of a sum"
    ),
    "missing_term": "look for a term that is missing or counted too often",
    "noisy_forward": "make the noise an argument, and draw it outside of the function",
    "transposed": "check the order of the axes: two of them are exchanged",
    "precision": (
        "nearly right: look for digits that cancel in a difference of nearly equal numbers, for "
        "arrays of type float32, or for a small number that was added"
    ),
    "zero": "the result does not depend on the inputs yet",
    "wrong": "try one example that you can compute by hand",
}
FLOAT32_RTOL = 1e-4
FEW_DIGITS = 1e-3


def compare(out, expected, rtol, names=(), exact=False):
    """Return the kind and a description of the difference between an output and the right one.

    Parameters
    ----------
    out : object
        An array or number, or a tuple of these; from a hand-in, so possibly of any type.
    expected : ndarray or tuple of ndarray
        The right output; non-finite entries are not compared.
    rtol : float
        Largest error allowed, relative to each entry or to a thousandth of the largest entry.
    names : sequence of str, optional
        Names of the results, if there are several.
    exact : bool
        Whether an array with one entry is wrong where a number is right.

    Returns
    -------
    kind : str
        ``"ok"`` or the kind of the mistake.
    words : str
        The description; empty if the output is right.

    Examples
    --------
    >>> compare(np.array([2.0, 4.0]), np.array([1.0, 2.0]), 1e-9)
    ('constant_factor', 'off by the constant factor 2')
    """
    if isinstance(expected, (tuple, list)):
        out = tuple(out) if isinstance(out, np.ndarray) and out.ndim else out
        if not isinstance(out, (tuple, list)) or len(out) != len(expected):
            listed = f": {', '.join(names)}" if names else ""
            return "wrong_shape", f"the function must return {len(expected)} results{listed}"
        kinds = [compare(a, b, rtol, (), exact) for a, b in zip(out, expected, strict=True)]
        return next(
            (
                (kind, f"{names[at] if names else f'result {at + 1}'}: {words}")
                for at, (kind, words) in enumerate(kinds)
                if kind != "ok"
            ),
            ("ok", ""),
        )
    expected = np.asarray(expected)
    if not exact and expected.ndim == 0 and isinstance(out, np.ndarray) and out.size == 1:
        out = out.reshape(())  # one number, whatever its shape
    if not isinstance(out, (np.ndarray, np.generic, float, int)):
        return (
            "wrong_shape",
            f"the result must be an array of shape {expected.shape}, not {type(out).__name__}",
        )
    out = np.asarray(out)
    if (
        out.ndim == 2
        and out.shape != expected.shape == out.T.shape
        and compare(out.T, expected, rtol)[0] == "ok"
    ):
        return (
            "transposed",
            f"two axes are exchanged: the shape is {out.shape}, it should be {expected.shape}",
        )
    if out.shape != expected.shape:
        return "wrong_shape", f"the shape is {out.shape}, it should be {expected.shape}"
    if expected.dtype.kind == "c":
        if out.dtype.kind != "c":
            words = "the result is real at a complex input: its imaginary part is lost"
            return "lost_imaginary_part", words
        # each part by its own size: the imaginary one is tiny after a complex step
        parts = [compare(get(out), get(expected), rtol) for get in (np.real, np.imag)]
        return next((part for part in parts if part[0] != "ok"), ("ok", ""))
    if out.dtype.kind not in "biuf":
        return "wrong_type", f"the type is {out.dtype}, it should be {expected.dtype}"
    known = np.isfinite(expected)
    out = out[known].astype(float)
    expected = expected[known].astype(float)
    if not np.all(np.isfinite(out)):
        return "non_finite", f"not finite at {np.sum(~np.isfinite(out))} of {out.size} entries"
    if _equal(out, expected, rtol):
        return "ok", ""
    return _named(out, expected, rtol)


def worst_error(out, expected):
    """Return the largest relative error of an array.

    Parameters
    ----------
    out, expected : ndarray or tuple of ndarray
        The output and the right one, of equal shapes.

    Returns
    -------
    float
        Largest error relative to each entry, or to a thousandth of the largest entry; infinite if
        the output is not finite.

    Examples
    --------
    >>> worst_error(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    0.5
    """
    if isinstance(expected, tuple):
        return max(worst_error(a, b) for a, b in zip(out, expected, strict=True))
    known = np.isfinite(expected)
    out = np.asarray(out, dtype=float)[known]
    expected = np.asarray(expected, dtype=float)[known]
    size = np.maximum(np.abs(expected), 1e-3 * np.max(np.abs(expected), initial=0.0))
    with np.errstate(all="ignore"):
        gap = np.abs(out - expected)
        return (
            float(np.max(np.where(gap == 0, 0.0, gap / size), initial=0.0))
            if np.all(np.isfinite(gap))
            else np.inf
        )


def beside(out, expected):
    """Return each result beside the right one.

    Parameters
    ----------
    out : object
        The output; from a hand-in, so possibly of any type.
    expected : ndarray, number or tuple of these
        The right output.

    Returns
    -------
    list of (object, ndarray or number), or None
        None if the number of results is not the right one.

    Examples
    --------
    >>> beside(1.0, 2.0), beside([1.0, 2.0], (3.0, 4.0)), beside(1.0, (3.0, 4.0))
    ([(1.0, 2.0)], [(1.0, 3.0), (2.0, 4.0)], None)
    """
    if not isinstance(expected, tuple):
        return [(out, expected)]
    if not isinstance(out, (tuple, list)) or len(out) != len(expected):
        return None
    return list(zip(out, expected, strict=True))


def is_same(own, other, rtol):
    """Return whether two results are finite, of one structure and shape, and equal within a
    relative error.

    Parameters
    ----------
    own, other : object
        Numbers, arrays, or tuples of these; from a hand-in, so possibly of any type.
    rtol : float
        Largest relative error allowed, as in :func:`worst_error`.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_same(1.0, 1.0 + 1e-9, 1e-7), is_same((1.0, 2.0), [1.0, 2.0], 0.0), is_same(1.0, None, 1)
    (True, True, False)
    """
    if isinstance(own, (tuple, list)) or isinstance(other, (tuple, list)):
        several = all(isinstance(each, (tuple, list)) for each in (own, other))
        return (
            several
            and len(own) == len(other)
            and all(is_same(a, b, rtol) for a, b in zip(own, other, strict=True))
        )
    if not is_real(own) or not is_real(other) or np.shape(own) != np.shape(other):
        return False
    finite = np.all(np.isfinite(own)) and np.all(np.isfinite(other))
    return bool(finite) and worst_error(own, other) <= rtol


def _equal(out, expected, rtol):
    return worst_error(out, expected) <= rtol


def _named(out, expected, rtol):
    loose = max(rtol, 1e-7)
    with np.errstate(all="ignore"):
        gap = np.abs(out - expected)
        relative = float(np.max(gap)) / (float(np.max(np.abs(expected))) or 1.0)
        if not np.any(out):
            return "zero", "it is zero everywhere"
        if relative < FEW_DIGITS and worst_error(out, expected) < FEW_DIGITS:
            return "precision", f"right to {-np.log10(relative):.0f} digits only"
        if _equal(-out, expected, loose):
            return "sign", "the sign is wrong: it is minus the right value"
        square = float(out @ out) if out.ndim == 1 else 0.0
        factor = float(out @ expected) / square if square else 0.0
        if (
            out.size > 1
            and np.isfinite(factor)
            and factor
            and _equal(factor * out, expected, loose)
        ):
            return "constant_factor", f"off by the constant factor {number_in_words(1 / factor)}"
        shift = float(np.mean(out - expected))
        if out.size > 1 and np.isfinite(shift) and _equal(out - shift, expected, loose):
            return "missing_term", f"off by the constant {number_in_words(shift)}"
        wrong = int(np.sum(gap > loose * np.abs(expected)))
        return "wrong", f"wrong at {wrong} of {out.size} entries"


def number_in_words(value):
    """Return a number as text, with its formula if it is a multiple of a known constant.

    Parameters
    ----------
    value : float
        Any number.

    Returns
    -------
    str

    Examples
    --------
    >>> number_in_words(1.0001), number_in_words(1 / np.log(2)), number_in_words(0.7134)
    ('1.0001', '1.443, that is 1 / log 2', '0.7134')
    """
    name = multiple(value)
    plain = f"{value:.4g}"
    if plain in ("1", "-1", "0"):
        plain = f"{value:.8g}"  # 1.0001, not 1
    return f"{plain}, that is {name}" if name and not name.lstrip("-").isdigit() else plain


def as_tuple(results):
    """Return results as a tuple, also a single one.

    Parameters
    ----------
    results : object
        A tuple or list of results, or one result.

    Returns
    -------
    tuple

    Examples
    --------
    >>> as_tuple(1.0), as_tuple([1.0, 2.0])
    ((1.0,), (1.0, 2.0))
    """
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def is_real(value):
    """Return whether a value is a real number or an array of real numbers.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_real(1.0), is_real(1j), is_real("1"), is_real(None)
    (True, False, False, False)
    """
    return (
        isinstance(value, (np.ndarray, np.generic, float, int))
        and np.asarray(value).dtype.kind in "biuf"
    )


def over_points(results):
    """Return the kind of mistake that wrong scalar results at several points share.

    One number is always proportional to another.  So a constant factor or shift counts only if it
    is the same at every point.

    Parameters
    ----------
    results : list of (object, object)
        The output and the right one at each point where the output is wrong.

    Returns
    -------
    (str, str) or None
        Kind and description; None if the results are not scalars or share no kind.
    """
    pairs = [
        (float(a), float(b))
        for a, b in results
        if is_real(a) and np.ndim(a) == 0 and np.ndim(b) == 0
    ]
    if len(pairs) < 2 or len(pairs) < len(results):
        return None
    out, expected = np.array(pairs).T
    with np.errstate(all="ignore"):
        factor = out / expected
        shift = out - expected
    for values, kind, words in (
        (factor, "constant_factor", "off by the constant factor {}"),
        (shift, "missing_term", "off by the constant {}"),
    ):
        if np.all(np.isfinite(values)) and np.ptp(values) <= 1e-7 * np.max(np.abs(values)):
            return kind, words.format(number_in_words(values[0]))
    return None
