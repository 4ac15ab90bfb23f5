r"""Jacobian-vector and Hessian-vector products.

A Jacobian-vector product :math:`v \mapsto J v` is judged column by column.  Unit vectors for
:math:`v` give :math:`J`, and :math:`J^\top w` must be the gradient.  A Hessian-vector product is
the Jacobian-vector product of the gradient function.
"""

import numpy as np

from ibpcl.verify.adapters import function, leaves
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.arguments import Arguments, named
from ibpcl.verify.adapters.build import evaluated
from ibpcl.verify.adapters.pair import Adapted, Pair
from ibpcl.verify.adapters.reading import is_moved
from ibpcl.verify.adapters.refusals import FormError
from ibpcl.verify.adapters.signatures import parameters_of
from ibpcl.verify.derivative.differences import complex_step, unit_direction

MOST = 1000  # entries of an input, each of which needs one product


def recognise(code):
    """Return the pair of a product with a Jacobian or Hessian, which its name tells.

    Parameters
    ----------
    code : Code
        The user's code.

    Returns
    -------
    Pair or None
        None for other forms.

    Raises
    ------
    FormError
        If a function raises, or the product returns no tangent.
    """
    if code.gradient is None:
        return None
    kind = kind_of(function.title_of(code.gradient))
    if kind == "jvp":
        return jvp_pair(code.forward, code.gradient, code.inputs)
    if kind == "hvp":
        return hvp_pair(code.forward, code.gradient, code.inputs, code.beside)
    return None


def kind_of(name):
    """Return whether a name is usual for a Jacobian-vector or a Hessian-vector product.

    Parameters
    ----------
    name : str
        Name of a function.

    Returns
    -------
    str or None
        "jvp", "hvp" or None.

    Examples
    --------
    >>> kind_of("softmax_jvp"), kind_of("loss_hvp"), kind_of("softmax_vjp")
    ('jvp', 'hvp', None)
    """
    parts = words.tokens(name)
    if not words.JVP_WORDS.isdisjoint(parts):
        return "jvp"
    return None if words.HVP_WORDS.isdisjoint(parts) else "hvp"


def jvp_pair(f, f_jvp, inputs):
    """Return the pair of a forward and its Jacobian-vector product.

    Parameters
    ----------
    f : callable
        ``f(*inputs)`` returns the output, or ``(out, cache)``.
    f_jvp : callable
        ``f_jvp(*inputs, *tangents)`` or ``f_jvp(*tangents, cache)`` returns the tangent of the
        output.
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
    takes_cache = _takes_cache(f_jvp, given, moved)

    def evaluate(source, made):
        result = arguments.passed_to(source, made)
        is_pair = isinstance(result, tuple) and len(result) == 2
        has_cache = is_pair and (takes_cache or not leaves.is_array(result[1]))
        return result if has_cache else (result, None)

    def push(source, made, cache, tangents):
        if takes_cache:
            return source(*tangents.values(), cache)
        return source(*made.values(), *tangents.values())

    def forward(source, *values):
        made = arguments.rebuilt(values)
        out, cache = evaluate(source, made)
        return out, (made, cache)

    def backward(source, dout, held):
        made, cache = held
        return tuple(
            _columns(lambda tangents: push(source, made, cache, tangents), made, moved, name, dout)
            for name in moved
        )

    usage = _usage(f_jvp, given)
    copies = leaves.duplicate(given)
    out, cache = evaluated(lambda: evaluate(f, copies), function.title_of(f), usage)
    ones = {name: np.ones(np.shape(given[name])) for name in moved}
    tangent = evaluated(lambda: push(f_jvp, copies, cache, ones), function.title_of(f_jvp), usage)
    if np.shape(tangent) != np.shape(out):
        raise FormError(f"{function.title_of(f_jvp)} returns no tangent of the output", usage)
    title = function.title_of(f_jvp)
    return Pair(
        Adapted(f, forward),
        Adapted(f_jvp, backward),
        tuple(leaf.name for leaf in arguments.spread),
        (f, f_jvp),
        tuple(leaf.value for leaf in arguments.spread),
        tuple(moved),
        (f"{title} was called with unit vectors; the gradient consists of its columns",),
    )


def _takes_cache(f_jvp, inputs, moved):
    """Return whether a Jacobian-vector product takes tangents and a cache, and no inputs."""
    required = parameters_of(f_jvp).required
    named_so = bool(required) and words.plain(required[-1]) in words.CACHES
    of_inputs = len(required) == len(inputs) + len(moved)
    return len(required) == len(moved) + 1 and (named_so or not of_inputs)


def _columns(product, made, moved, name, dout):
    """Return the gradient of one input, computed from products with the unit vectors."""
    shape = np.shape(made[name])
    size = int(np.prod(shape))
    if size > MOST:
        raise FormError(
            f"{name} has {size} entries, but a product is checked for at most {MOST}: give "
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
        pair = function.pair_of(f, gradient, {first: x, **others})
        out, cache = pair.forward(x, *pair.inputs[1:])
        return pair.backward(np.ones(np.shape(out))[()], cache)[0]

    adapted = Adapted(f_hvp, lambda source, x, v: source(x, v, *others.values()))
    pair = jvp_pair(slope, adapted, {first: given[first]})
    by = "the gradient by the complex step" if gradient is None else function.title_of(gradient)
    return Pair(
        pair.forward,
        pair.backward,
        (first,),
        (f, f_hvp),
        (given[first],),
        (first,),
        (f"the Hessian-vector product is compared with the derivative of {by}",),
    )


def _by_complex_step(f, x, others):
    """Return the gradient of the sum of a function's output with respect to its first input."""

    def value(point):
        result = f(point, *others.values())
        return np.sum(result[0] if isinstance(result, tuple) else result)

    x = np.asarray(x)
    return np.reshape(
        [complex_step(value, x, unit_direction(x.shape, n)) for n in range(x.size)], x.shape
    )


def _usage(f_jvp, given):
    inputs = ", ".join(given)
    tangents = ", ".join(f"d{name}" for name in given)
    return f"expected: dout = {function.title_of(f_jvp)}({inputs}, {tangents})"
