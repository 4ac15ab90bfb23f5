r"""Jacobian-vector and Hessian-vector products.

A Jacobian-vector product :math:`v \mapsto J v` is judged column by column.  Unit vectors for
:math:`v` give :math:`J`, and :math:`J^\top w` must be the gradient.  A Hessian-vector product is
the Jacobian-vector product of the gradient function.  Two identities need no numerical derivative:
the adjoint identity :math:`\langle w, J v\rangle = \langle J^\top w, v\rangle` and the symmetry
:math:`\langle u, H v\rangle = \langle v, H u\rangle`.
"""

import numpy as np

from ibpcl.verify.adapters import leaves
from ibpcl.verify.adapters.arguments import Arguments, is_moved, named
from ibpcl.verify.adapters.forms import opened
from ibpcl.verify.adapters.pair import Adapted, Pair
from ibpcl.verify.adapters.refusals import FormError, raised
from ibpcl.verify.adapters.signatures import parameters_of

MOST = 1000  # entries of an input, each of which needs one product
SKEWED = 1e-9  # relative asymmetry of a Hessian above which the report has a note


def jvp_pair(f, f_jvp, inputs):
    """Return the pair of a forward and its Jacobian-vector product.

    Parameters
    ----------
    f : callable
        ``f(*inputs)`` returns the output, or ``(out, cache)``.
    f_jvp : callable
        ``f_jvp(*inputs, *tangents)``, ``f_jvp(inputs, tangents)`` or ``f_jvp(*tangents, cache)``.
        It returns the tangent of the output, or ``(out, tangent)``.
    inputs : dict, sequence or ndarray
        The inputs of ``f``.

    Returns
    -------
    Pair
        A forward and a gradient, for :func:`ibpcl.verify.check`.

    Raises
    ------
    FormError
        If a function raises, or ``f_jvp`` returns no tangent.
    """
    given, keywords = named(inputs, parameters_of(f))
    arguments = Arguments(given, tuple(keywords))
    moved = [leaf.name for leaf in arguments.spread if is_moved(leaf) and len(leaf.keys) == 1]
    try:
        result = arguments.passed_to(f, leaves.duplicate(given))
    except (Exception, SystemExit) as error:
        raise FormError(f"check: {raised(error, 'the forward')}; {_usage(f_jvp, given)}") from error
    cached = (
        isinstance(result, tuple) and len(result) == 2 and not leaves.is_array(result[1])
    ) or (
        isinstance(result, tuple)
        and len(result) == 2
        and len(parameters_of(f_jvp).required) == len(moved) + 1
    )
    call = None
    errors = []
    for way in _tangent_calls(cached):
        try:
            tangents = {name: np.ones(np.shape(given[name])) for name in moved}
            value = way(f_jvp, leaves.duplicate(given), tangents, result[1] if cached else None)
            out = result[0] if cached else result
            if np.shape(_tangent_of(value, out)) == np.shape(out):
                call = way
                break
        except Exception as error:  # another way may work
            errors.append(error)
    if call is None:
        why = (
            raised(errors[0], f_jvp.__name__)
            if errors
            else f"{f_jvp.__name__} returns no tangent of the output"
        )
        raise FormError(f"check: {why}; {_usage(f_jvp, given)}")

    def forward(source, *values):
        made = arguments.rebuilt(values)
        returned = arguments.passed_to(source, made)
        out, cache = returned if cached else (returned, None)
        return out, (made, out, cache)

    def backward(source, dout, cache):
        made, out, kept = cache
        return tuple(
            _columns(
                lambda tangents: _tangent_of(call(source, made, tangents, kept), out),
                made,
                moved,
                name,
                dout,
            )
            for name in moved
        )

    every = arguments.spread
    return Pair(
        Adapted(f, forward),
        Adapted(f_jvp, backward),
        tuple(leaf.name for leaf in every),
        (f, f_jvp),
        None,
        tuple(leaf.value for leaf in every),
        tuple(moved),
        (f"{f_jvp.__name__} was called with unit vectors; the gradient consists of its columns",),
    )


def _tangent_calls(cached):
    """Return the possible ways to call a Jacobian-vector product."""
    ways = [
        lambda f, given, tangents, cache: f(*given.values(), *tangents.values()),
        lambda f, given, tangents, cache: f(tuple(given.values()), tuple(tangents.values())),
        lambda f, given, tangents, cache: f(*tangents.values(), *given.values()),
    ]
    with_cache = [
        lambda f, given, tangents, cache: f(*tangents.values(), cache),
        lambda f, given, tangents, cache: f(cache, *tangents.values()),
    ]
    return with_cache + ways if cached else ways


def _tangent_of(value, out):
    """Return the tangent in the result of a product: all of it, or the second of two items."""
    if isinstance(value, (tuple, list)) and len(value) == 2 and np.shape(out) == np.shape(value[1]):
        return value[1]
    return value


def _columns(product, made, moved, name, dout):
    """Return the gradient of one input, computed from products with the unit vectors."""
    shape = np.shape(made[name])
    size = int(np.prod(shape))
    if size > MOST:
        raise FormError(
            f"check: {name} has {size} entries, but a product is checked for at most {MOST}: give "
            "smaller inputs"
        )
    gradient = np.zeros(size)
    for n in range(size):
        tangents = {other: np.zeros(np.shape(made[other])) for other in moved}
        unit = np.zeros(size)
        unit[n] = 1.0
        tangents[name] = unit.reshape(shape) if shape else 1.0
        gradient[n] = np.sum(np.asarray(dout) * np.asarray(product(tangents)))
    return gradient.reshape(shape)


def hvp_pair(f, f_hvp, inputs, gradient=None):
    """Return the pair of a gradient and a Hessian-vector product, its Jacobian-vector product.

    Parameters
    ----------
    f : callable
        A function that returns one number, or ``(out, cache)``.
    f_hvp : callable
        ``f_hvp(x, v)`` returns :math:`H v` for the first input.  Further inputs of ``f`` follow
        ``v``.
    inputs : dict, sequence or ndarray
        The inputs of ``f``.
    gradient : callable, optional
        The gradient function of ``f``, in any form that :func:`ibpcl.verify.check` accepts.  By
        default, the gradient is computed by the complex step.

    Returns
    -------
    Pair
        A forward and a gradient, for :func:`ibpcl.verify.check`.

    Raises
    ------
    FormError
        If a function raises, or ``f_hvp`` returns no tangent.
    """
    given, _ = named(inputs, parameters_of(f))
    first = next(iter(given))
    others = {name: value for name, value in given.items() if name != first}

    def slope(x):
        if gradient is None:
            return _by_complex_step(f, x, others)
        pair = opened(f, gradient, {first: x, **others})
        if pair is None:
            out, cache = f(x, *others.values())
            gradients = gradient(np.ones(np.shape(out))[()], cache)
        else:
            out, cache = pair.forward(x, *pair.inputs[1:])
            gradients = pair.backward(np.ones(np.shape(out))[()], cache)
        return gradients[0] if isinstance(gradients, (tuple, list)) else gradients

    def product(source, x, v):
        return source(x, v, *others.values())

    adapted = Adapted(f_hvp, product)
    pair = jvp_pair(slope, adapted, {first: given[first]})
    notes = [
        "the Hessian-vector product is compared with the derivative of "
        + ("the gradient by the complex step" if gradient is None else gradient.__name__)
    ]
    skew = asymmetry(lambda v: adapted(given[first], v), np.asarray(given[first], dtype=float))
    if skew > SKEWED:
        notes.append(
            f"the Hessian is not symmetric: u.Hv and v.Hu have a relative difference of {skew:.1e}"
        )
    return Pair(
        pair.forward,
        pair.backward,
        (first,),
        (f, f_hvp),
        None,
        (given[first],),
        (first,),
        tuple(notes),
    )


def _by_complex_step(f, x, others):
    def value(point):
        result = f(point, *others.values())
        out = result[0] if isinstance(result, tuple) else result
        return np.asarray(out).sum()

    x = np.asarray(x)
    gradient = np.zeros(x.size, dtype=x.dtype)
    step = 1e-30
    for n in range(x.size):
        moved = x.astype(complex).ravel()
        moved[n] += 1j * step
        gradient[n] = value(moved.reshape(x.shape)).imag / step
    return gradient.reshape(x.shape)


def asymmetry(product, x, seed=0):
    """Return the relative asymmetry of a Hessian-vector product, ``|u.Hv - v.Hu|``.

    Parameters
    ----------
    product : callable
        ``product(v)`` returns :math:`H v`.
    x : ndarray
        Array with the shape of ``v``.
    seed : int
        Seed for three pairs of random vectors.

    Returns
    -------
    float
        The largest asymmetry of the three, relative to ``|u.Hv| + |v.Hu|``.
    """
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(3):
        u, v = rng.standard_normal((2, *x.shape))
        a = float(np.sum(u * product(v)))
        b = float(np.sum(v * product(u)))
        worst = max(worst, abs(a - b) / (abs(a) + abs(b) + 1e-300))
    return worst


def _usage(f_jvp, given):
    inputs = ", ".join(given)
    tangents = ", ".join(f"d{name}" for name in given)
    return f"expected: dout = {f_jvp.__name__}({inputs}, {tangents})"
