r"""Changes of variables: a transform, its inverse, its log Jacobian, the density of the image.

.. math:: \log p_y(T(x)) = \log p_x(x) - \log |\det \partial T / \partial x|
"""

from functools import partial

import numpy as np

from ibpcl.verify.derivative.differences import richardson
from ibpcl.verify.distributions.calls import CallError, first, quiet, real
from ibpcl.verify.distributions.comparing import EXACT, Comparison, undecided, wrong
from ibpcl.verify.distributions.slips import Slip, agree

PROBES = np.array([-1.7, -0.6, 0.23, 0.41, 0.66, 0.89, 1.3, 2.2])
# Intervals in which x may lie, the widest first, as a file can declare them.
DOMAINS = {
    "(-np.inf, np.inf)": (-np.inf, np.inf),
    "(0, np.inf)": (0.0, np.inf),
    "(0, 1)": (0.0, 1.0),
}
# Largest step, and one tableau of four differences.
DIFFERENCES = {"h": 1e-3, "levels": 4, "restarts": 1, "noise": 0.0}
NOWHERE = "the transform is not finite at any of the points that were tried: give parameters with x"


def _domains(model):
    """Return points at which a transform is compared, by domain, the one that counts first.

    This is the domain that the file declares, otherwise the widest one in which the transform is
    finite and the density of x, if there is one, has mass.  No other
    function decides it.
    """
    given = model.sets[0].get(model.parts["transform"].variable) if model.sets else None
    if given is not None and np.ndim(given) == 1:
        rng = np.random.default_rng(0)
        return {"the given x": np.asarray(given) + 0.1 * rng.normal(size=(6, len(given)))}
    declared = model.values.get("support")
    domains = {"the declared support": declared} if isinstance(declared, tuple) else DOMAINS
    points = {words: _within(*domain) for words, domain in domains.items()}
    return {words: x for words, x in points.items() if _is_inside(model, x)}


def _within(low, high):
    """Return points inside an interval: probes, or shares of an interval that has few of them."""
    inside = PROBES[(low < PROBES) & (high > PROBES)]
    if len(inside) >= 4 or not np.isfinite([low, high]).any():
        return inside
    shares = np.linspace(0.08, 0.93, 8)
    if np.isfinite([low, high]).all():
        return low + (high - low) * shares
    return low + 3 * shares if np.isfinite(low) else high - 3 * shares


def _is_inside(model, x):
    """Return whether the transform is finite at all points, and the density of x is positive."""
    finite = [np.isfinite(_values(model, model.parts["transform"], x, model.sets[0]))]
    if "base" in model.parts:
        finite.append(np.isfinite(model.values_over(model.parts["base"], [x] * len(model.sets))))
    return all(len(each) % len(x) == 0 and each.all() for each in finite)


def _over_domain(compare):
    """Return a law that compares a function over the domain of the transform."""

    def law(model, part):
        """Compare a function at points inside the domain of the transform.

        Agreement over a narrower domain leaves the function undecided.

        Parameters
        ----------
        model : ibpcl.verify.distributions.model.Model
            With ``transform``.
        part : ibpcl.verify.distributions.reading.Part
            The function.

        Returns
        -------
        comparison : ibpcl.verify.distributions.comparing.Comparison
            Or an undecided outcome, if the transform is finite nowhere, or the function is right
            only over a part of the domain.
        """
        domains = _domains(model)
        if not domains:
            return undecided(part, NOWHERE)
        (_, widest), *narrower = domains.items()
        found = compare(model, part, widest)
        if _agrees(found):
            return found
        for words, x in narrower:
            if _agrees(compare(model, part, x)):
                return undecided(
                    part,
                    f"it is right for x in {words}, and not for all numbers; if x lies there, "
                    f"add the line: support = {words}",
                )
        return found

    return law


def _agrees(found):
    """Return whether a comparison finds no difference."""
    return isinstance(found, Comparison) and agree(found.values(), found.right, atol=EXACT)


def _values(model, part, x, values, function=None):
    """Return the values of a function at single points, (K,) or (K, d); NaN where it raises."""
    called = model.callable_of(part, values, function)
    options = model.options(part, values)
    found = []
    for each in x:
        try:
            given = float(each) if np.ndim(each) == 0 else each
            found.append(real(first(quiet(called, given, **options))))
        except CallError:
            found.append(np.full(np.shape(each), np.nan))
    try:
        return np.array(found)
    except ValueError as error:
        raise CallError(f"its results have several shapes: {error}") from error


def _log_det(model, part, x, values):
    """Return log |det| of the Jacobian of a function at many points, by differences."""

    def at(y):
        return _values(model, part, y, values)

    with np.errstate(all="ignore"):
        if x.ndim == 1:
            return np.log(np.abs(richardson(at, x, np.ones_like(x), **DIFFERENCES).value))
        axes = [np.broadcast_to(axis, x.shape) for axis in np.eye(x.shape[1])]
        columns = [richardson(at, x, axis, **DIFFERENCES).value for axis in axes]
        return np.linalg.slogdet(np.stack(columns, axis=-1))[1]


def _over(model, part, grids, function=None, sets=None):
    """Return the values of a function at the points of each set, one after another."""
    pairs = zip(grids, sets or model.sets, strict=False)
    return np.concatenate(
        [_values(model, part, x, values, function).ravel() for x, values in pairs]
    )


@_over_domain
def inverse(model, part, x):
    """Compare what an inverse brings back with the points themselves.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With ``transform``.
    part : ibpcl.verify.distributions.reading.Part
        The inverse.
    x : ndarray, shape (K,) or (K, d)
        Points inside the domain of the transform.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        At several points for each set.
    """
    transform = model.parts["transform"]
    images = [_values(model, transform, x, values) for values in model.sets]
    again = _over(model, transform, images)
    return Comparison(
        partial(_over, model, part, images),
        np.tile(x.ravel(), len(model.sets)),
        EXACT,
        model.sets,
        others={Slip("not_the_inverse", "it is the transform itself, not its inverse"): again},
        witness="every point",
        kind="not_the_inverse",
    )


@_over_domain
def jacobian(model, part, x):
    """Compare a log Jacobian with that of the transform, by differences.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With ``transform``.
    part : ibpcl.verify.distributions.reading.Part
        The log Jacobian, a function of x.
    x : ndarray, shape (K,) or (K, d)
        Points inside the domain of the transform.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        One number for each point.
    """
    transform = model.parts["transform"]
    right = np.concatenate([_log_det(model, transform, x, values) for values in model.sets])
    images = [_values(model, transform, x, values) for values in model.sets]
    pairs = zip(images, model.sets, strict=True)
    at_image = np.concatenate([_log_det(model, transform, y, values) for y, values in pairs])
    values_of = partial(_over, model, part, [x] * len(model.sets))
    given = values_of()
    if given.shape != right.shape:
        words = f"it returns {given.size / len(model.sets):g} numbers for {len(x)} points"
        if given.size == right.size * x.shape[-1] and x.ndim > 1:
            summed = given.reshape(len(right), -1).sum(axis=1)
            words += ": sum over the last axis" if agree(summed, right, atol=EXACT) else ""
        return wrong(part, f"{words}, expected one for each", "jacobian")
    with np.errstate(all="ignore"):
        others = {
            Slip("inverted_jacobian", "the Jacobian of the inverse: the sign is wrong"): -right,
            Slip("other_scale", "the determinant, not its logarithm"): np.exp(right),
            Slip("jacobian", "it is 0: the Jacobian is missing"): 0.0 * right,
            Slip("other_quantity", "the Jacobian at y instead of x"): at_image,
        }
    # a log Jacobian of the image y is that of the inverse, by another convention
    return Comparison(
        values_of,
        right,
        EXACT,
        model.sets,
        others=others,
        witness="log |det dy/dx|",
        kind="jacobian",
    )


@_over_domain
def pushed(model, part, x):
    """Compare the density of a transformed variable with that of the original one.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With ``transform`` and ``base``, the log density of x.
    part : ibpcl.verify.distributions.reading.Part
        The log density of y.
    x : ndarray, shape (K,) or (K, d)
        Points inside the domain of the transform.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        At the images of several points.
    """
    transform = model.parts["transform"]
    images = [_values(model, transform, x, values) for values in model.sets]
    base = model.values_over(model.parts["base"], [x] * len(model.sets))
    slope = np.concatenate([_log_det(model, transform, x, values) for values in model.sets])
    others = {
        Slip("inverted_jacobian", "the log Jacobian is added, not subtracted"): base + slope,
        Slip("jacobian", "the Jacobian is missing"): base,
    }
    values_of = partial(model.values_over, part, images)
    witness = "log p(x) - log |det dy/dx|"
    return Comparison(values_of, base - slope, EXACT, model.sets, others=others, witness=witness)
