r"""A layer of any of three kinds: ``masked`` (:math:`W = B \odot V`), ``gaussian`` (V alone) or ``plain`` (numbers).

A masked layer samples sticks, relaxed masks and weights, or is given its hard mask; where nothing but weights is random
pre-activations are drawn (:mod:`ibpcl.models.layers`).  A plain one has the parameters ``weight.mu`` and ``bias.mu``
alone.  Any of them may have an activation.
"""

from ibpcl.models import layers

KINDS = ("masked", "gaussian", "plain")


def evaluate(kind, parameters, x, noise, mask, tau, mask_model, backend, activation=None):
    """Evaluate a layer.

    Parameters
    ----------
    kind : {"masked", "gaussian", "plain"}
        What its weights are.
    parameters : dict
        The layer's parameters.
    x : ndarray, shape (S, N, D) or (N, D)
        Inputs; (N, D) when all samples share them.
    noise : ibpcl.models.layers.Noise, ndarray (S, N, K), or None
        For sampled masks; for sampled pre-activations; for a plain layer.
    mask : ndarray of bool, shape (D, K), or None
        The hard mask of a masked layer; None to sample it.
    tau : float or None
        Temperature of sampled masks, > 0.
    mask_model : MaskModel
        How masks are modelled.
    backend : Backend
        Who computes.
    activation : str, optional
        The name of the layer's activation (:mod:`ibpcl.primitives.activations`), if it has one.

    Returns
    -------
    out : tuple
        What the layer puts out, (S, N, K) or, of a plain layer with inputs (N, D), (N, K); and the divergence of
        sampled masks (S,), nats, else 0.
    cache : tuple
        What :func:`evaluate_vjp` needs.
    """
    if kind == "gaussian" or (kind == "masked" and mask is not None):
        h, cache = layers.fixed(parameters, mask if kind == "masked" else None, x, noise, backend, activation)
        return (h, 0), ("fixed", cache, None)
    divergence = 0
    if kind == "masked":
        kind = "relaxed"
        (h, divergence), cache = layers.relaxed(parameters, x, noise, tau, mask_model, backend)
    else:                                                    # one matrix for all samples: join their axes
        h, cache = backend.linear(_rows(x), parameters["weight.mu"][None], parameters["bias.mu"][None])
        h, cache = h.reshape(*x.shape[:-1], h.shape[-1]), (cache, x.shape, backend)
    active = None
    if activation is not None:
        h, active = getattr(backend.activations, activation)(h)
        active = getattr(backend.activations, activation + "_vjp"), active
    return (h, divergence), (kind, cache, active)


def evaluate_vjp(dout, cache, needs_dx=True, out=None):
    """Pull the gradients at the outputs and the divergence back to ``x`` and the parameters (a dict).

    ``out`` are arrays, a dict too, of which some may become the gradients.
    """
    (dh, ddivergence), (kind, inner, active) = dout, cache
    if kind == "fixed":
        return layers.fixed_vjp(dh, inner, needs_dx, out)
    if active is not None:
        pull_back, activation_cache = active
        dh = pull_back(dh, activation_cache)
    if kind == "relaxed":
        return layers.relaxed_vjp((dh, ddivergence), inner, needs_dx, out)
    linear_cache, shape, backend = inner
    dx, dweight, dbias = backend.linear_vjp(_rows(dh)[None], linear_cache, needs_dx)
    return dx.reshape(shape) if needs_dx else None, {"weight.mu": dweight[0], "bias.mu": dbias[0]}


def _rows(x):
    return x if x.ndim == 2 else x.reshape(x.shape[0] * x.shape[1], x.shape[2])
