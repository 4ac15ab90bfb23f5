"""Checks of a change of variables: the transform, its inverse and its log Jacobian."""

from functools import partial

import numpy as np

from ibpcl.verify.derivative.differences import richardson
from ibpcl.verify.distributions.calling import CallError, first, quiet, real
from ibpcl.verify.distributions.samplers import compared
from ibpcl.verify.distributions.slips import Slip, agree
from ibpcl.verify.distributions.verdicts import ForwardVerdict

PROBES = (-1.7, -0.6, 0.23, 0.41, 0.66, 0.89, 1.3, 2.2)
EXACT = 1e-6  # error that counts as right
# Largest step, and one tableau of four differences.
DIFFERENCES = {"h": 1e-3, "levels": 4, "restarts": 1, "noise": 0.0}


def check_change(family):
    """Check the inverse and the log Jacobian of a transform.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        With ``transform``, and ``inverse`` or ``log_jacobian``.

    Returns
    -------
    verdicts : list of ibpcl.verify.distributions.verdicts.ForwardVerdict
        One verdict for each function.
    """
    transform = family.parts["transform"]
    x = _inside(family, transform)
    if x is None:
        words = "it is not finite at any of the points that were tried: give parameters with x"
        return [ForwardVerdict(transform.name, "undecided", words, "undecided")]
    found = []
    if "inverse" in family:
        found.append(_inverse(family, transform, family.parts["inverse"], x))
    if "log_jacobian" in family:
        found.append(_jacobian(family, transform, family.parts["log_jacobian"], x))
    return found


def check_pushed(family, density):
    r"""Check the density of a transformed variable against that of the original one.

    .. math:: \log p_y(T(x)) = \log p_x(x) - \log |\det \partial T / \partial x|

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        With ``transform`` and ``base``, the log density of x.
    density : ibpcl.verify.distributions.roles.Part
        The log density of y.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    transform = family.parts["transform"]
    x = _inside(family, transform)
    if x is None:
        words = "the transform is not finite at any of the points that were tried"
        return ForwardVerdict(density.name, "undecided", words, "undecided")
    ys = [_values(family, transform, x, point) for point in family.points]
    base = family.values_over(family.parts["base"], [x] * len(family.points))
    jacobian = np.concatenate(
        [_log_det(slope(family, transform, x, point)) for point in family.points]
    )

    values = partial(family.values_over, density, ys)
    given = values()
    right = base - jacobian
    if agree(given, right, atol=EXACT):
        return ForwardVerdict(density.name, "ok", "log p(x) - log |det dy/dx|")
    others = {
        Slip("inverted_jacobian", "the log Jacobian is added, not subtracted"): base + jacobian,
        Slip("jacobian", "the Jacobian is missing"): base,
    }
    return compared(density, given, right, values, others, {}, family.points, "wrong")


def _inside(family, transform):
    """Return points (K,) or (K, d) at which the transform is finite."""
    given = family.points[0].get(transform.variable)
    if given is not None and np.ndim(given) == 1:
        rng = np.random.default_rng(0)
        return np.asarray(given) + 0.1 * rng.normal(size=(6, len(given)))
    x = np.array(PROBES)
    for chosen in (x, x[x > 0], x[(x > 0) & (x < 1)]):
        values = _values(family, transform, chosen, family.points[0])
        if values.shape == chosen.shape and np.all(np.isfinite(values)):
            return chosen
    return None


def _values(family, part, x, point, function=None):
    """Return the values of a function at single points, (K,) or (K, d); NaN where it raises."""
    bound = family.bound(part, point, function)
    options = family.arguments(part, point)
    found = []
    for each in x:
        value = float(each) if np.ndim(each) == 0 else each
        try:
            found.append(real(first(quiet(bound, value, **options))))
        except CallError:
            found.append(np.full(np.shape(each), np.nan))
    try:
        return np.array(found)
    except ValueError as error:
        raise CallError(f"its results have several shapes: {error}") from error


def slope(family, part, x, point, function=None):
    """Return the Jacobians of a function at many points, by differences.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    part : ibpcl.verify.distributions.roles.Part
        The function with its role.
    x : ndarray, shape (K,) or (K, d)
        Values of the variable.
    point : dict of str to object
        Arguments by name.
    function : callable, optional
        Changed version of the function.

    Returns
    -------
    jacobians : ndarray, shape (K,) or (K, d, d)
        Derivatives, or Jacobians for a vector.
    """

    def values(y):
        return _values(family, part, y, point, function)

    if x.ndim == 1:
        return richardson(values, x, np.ones_like(x), **DIFFERENCES).value
    directions = [np.broadcast_to(axis, x.shape) for axis in np.eye(x.shape[1])]
    columns = [richardson(values, x, axis, **DIFFERENCES).value for axis in directions]
    return np.stack(columns, axis=-1)


def _inverse(family, transform, part, x):
    """Check that an inverse brings every point back."""
    right = []
    given = []
    ys = []
    for point in family.points:
        y = _values(family, transform, x, point)
        ys.append(y)
        given.append(_values(family, part, y, point).ravel())
        right.append(x.ravel())
    given = np.concatenate(given)
    right = np.concatenate(right)
    if agree(given, right, atol=EXACT):
        worst = float(np.max(np.abs(given - right)))
        words = f"brings every point back, to {max(worst, 1e-16):.0e}"
        return ForwardVerdict(part.name, "ok", words)

    def values(function=None, every=None):
        return np.concatenate(
            [
                _values(family, part, y, point, function).ravel()
                for y, point in zip(ys, every or family.points, strict=False)
            ]
        )

    again = np.concatenate(
        [_values(family, transform, y, p).ravel() for y, p in zip(ys, family.points, strict=True)]
    )
    others = {Slip("not_the_inverse", "it is the transform itself, not its inverse"): again}
    return compared(part, given, right, values, others, {}, family.points, "not_the_inverse")


def _jacobian(family, transform, part, x):
    """Check the logarithm of the absolute determinant of the Jacobian."""
    right = []
    at_image = []
    for point in family.points:
        right.append(_log_det(slope(family, transform, x, point)))
        with np.errstate(all="ignore"):
            y = _values(family, transform, x, point)
            at_image.append(_log_det(slope(family, transform, y, point)))
    right = np.concatenate(right)
    at_image = np.concatenate(at_image)

    def values(function=None, every=None):
        return np.concatenate(
            [
                _values(family, part, x, point, function).reshape(-1)
                for point in every or family.points
            ]
        )

    given = values()
    if given.shape != right.shape:
        each = given.size / len(family.points)
        words = f"it returns {each:g} numbers for {len(x)} points, expected one for each"
        if given.size == right.size * x.shape[-1] and x.ndim > 1:
            summed = given.reshape(len(right), -1).sum(axis=1)
            words += ": sum over the last axis" if agree(summed, right, atol=EXACT) else ""
        return ForwardVerdict(part.name, "wrong", words, "jacobian")
    if agree(given, right, atol=EXACT):
        worst = float(np.max(np.abs(given - right)))
        words = f"log |det dy/dx| to {max(worst, 1e-16):.0e}"
        return ForwardVerdict(part.name, "ok", words)
    with np.errstate(all="ignore"):
        others = {
            Slip("inverted_jacobian", "the Jacobian of the inverse: the sign is wrong"): -right,
            Slip("other_scale", "the determinant, not its logarithm"): np.exp(right),
            Slip("jacobian", "it is 0: the Jacobian is missing"): 0.0 * right,
        }
        if np.all(np.isfinite(at_image)):
            words = "the Jacobian at y instead of x"
            others[Slip("other_quantity", words)] = at_image
    return compared(part, given, right, values, others, {}, family.points, "jacobian")


def _log_det(jacobian):
    with np.errstate(all="ignore"):
        if jacobian.ndim == 1:
            return np.log(np.abs(jacobian))
        return np.linalg.slogdet(jacobian)[1]
