r"""A layer of any of three kinds: ``masked`` (:math:`W = B \odot V`), ``gaussian`` (V alone) or ``plain`` (numbers).

A masked layer samples sticks, relaxed masks and weights, or is given its hard mask; where nothing but weights is random
pre-activations are drawn (:mod:`ibpcl.models.layers`).  A plain one has the parameters ``weight.mu`` and ``bias.mu``
alone.
"""

from ibpcl.models import layers

KINDS = ("masked", "gaussian", "plain")


def evaluate(kind, parameters, x, noise, mask, tau, mask_model, backend):
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

    Returns
    -------
    out : tuple
        Pre-activations, (S, N, K) or, of a plain layer with inputs (N, D), (N, K); and the divergence of sampled masks
        (S,), nats, else 0.
    cache : tuple
        What :func:`evaluate_vjp` needs.
    """
    if kind == "plain":                                      # one matrix for all samples: join their axes
        h, cache = backend.linear(_rows(x), parameters["weight.mu"][None], parameters["bias.mu"][None])
        return (h.reshape(*x.shape[:-1], h.shape[-1]), 0), (kind, (cache, x.shape, backend))
    if kind == "masked" and mask is None:
        out, cache = layers.relaxed(parameters, x, noise, tau, mask_model, backend)
        return out, ("relaxed", cache)
    h, cache = layers.fixed(parameters, mask if kind == "masked" else None, x, noise, backend)
    return (h, 0), ("fixed", cache)


def evaluate_vjp(dout, cache, needs_dx=True, out=None):
    """Pull the gradients at the pre-activations and the divergence back to ``x`` and the parameters (a dict).

    ``out`` are arrays, a dict too, of which some may become the gradients.
    """
    kind, inner = cache
    if kind == "relaxed":
        return layers.relaxed_vjp(dout, inner, needs_dx, out)
    if kind == "fixed":
        return layers.fixed_vjp(dout[0], inner, needs_dx, out)
    linear_cache, shape, backend = inner
    dx, dweight, dbias = backend.linear_vjp(_rows(dout[0])[None], linear_cache, needs_dx)
    return dx.reshape(shape) if needs_dx else None, {"weight.mu": dweight[0], "bias.mu": dbias[0]}


def _rows(x):
    return x if x.ndim == 2 else x.reshape(x.shape[0] * x.shape[1], x.shape[2])
