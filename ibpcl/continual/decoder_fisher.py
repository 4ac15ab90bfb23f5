r"""The diagonal of the Fisher information of a decoder's last layers, image by image.

.. math:: F_i = \frac1N \sum_n \mathbb E_{z \sim q(z | x_n)}\, \mathbb E_{x}
          \bigl[\bigl(\partial_{\theta_i} \log p(x | z, \theta)\bigr)^2\bigr]

with one z an image.  ``sampled``: one x is drawn from :math:`p(x | z, \theta)`, which is the definition, with noise.
``empirical``: the image itself stands for x, as in the public code of VCL.  The slope of one image with respect to a
weight is the product of the layer's input and of what comes back to its output, so squares need two products a layer,
as in :mod:`ibpcl.continual.fisher`.
"""

import numpy as np

from ibpcl.errors import NonFiniteError
from ibpcl.models.likelihoods import Bernoulli
from ibpcl.openblas import on_one_thread
from ibpcl.primitives import activations

DEFINITIONS = ("sampled", "empirical")
CHUNK = 512                                                  # images at once: bounds the memory


@on_one_thread
def diagonal(point, x, layers, definition, rng):
    """Compute the information of the decoder's last layers, the mean over images.

    Parameters
    ----------
    point : PointAutoencoder
        The model.
    x : ndarray, shape (N, D)
        Images.
    layers : int
        How many of the decoder's layers, counted from the pixels.
    definition : {"sampled", "empirical"}
        Which pixels the squared slopes are of.
    rng : numpy.random.Generator
        Source of codes and pixels.

    Returns
    -------
    information : list of (ndarray (D, K), ndarray (K,))
        Of weights and biases, in the decoder's order; squared nats a squared unit, for one image.

    Raises
    ------
    ValueError
        For an unknown definition, or no images.
    """
    if definition not in DEFINITIONS:
        raise ValueError(f"decoder_fisher.diagonal: definition must be one of {', '.join(DEFINITIONS)}, "
                         f"got {definition!r}")
    if len(x) == 0:
        raise ValueError("decoder_fisher.diagonal: x must hold at least one image")
    totals = [(np.zeros_like(weight), np.zeros_like(bias)) for weight, bias in point.decoder[-layers:]]
    for start in range(0, len(x), CHUNK):
        some = x[start:start + CHUNK]
        mean, log_sigma = point.encode(some)
        z = mean + np.exp(log_sigma) * rng.standard_normal(mean.shape, dtype=np.float32)
        inputs, caches, outputs = _forward(point, z)
        delta = _slope(point, outputs, some, definition, rng)
        for depth in range(1, layers + 1):
            weight, bias = totals[-depth]
            squares = delta * delta
            weight += (inputs[-depth] * inputs[-depth]).T @ squares
            bias += squares.sum(axis=0)
            if depth < layers:
                delta = getattr(activations, point.activation + "_vjp")(delta @ point.decoder[-depth][0].T,
                                                                        caches[-depth])
    if not all(np.isfinite(part).all() for pair in totals for part in pair):
        raise NonFiniteError("the Fisher information is not finite: lower the learning rate, or check the scale of the "
                             "images")
    return [(weight / len(x), bias / len(x)) for weight, bias in totals]


def _forward(point, z):
    """Decode: each layer's input, the caches of the activations between them, and the outputs."""
    inputs, caches = [z], []
    for weight, bias in point.decoder[:-1]:
        h, cache = getattr(activations, point.activation)(inputs[-1] @ weight + bias)
        inputs.append(h)
        caches.append(cache)
    weight, bias = point.decoder[-1]
    return inputs, caches, inputs[-1] @ weight + bias


def _slope(point, outputs, x, definition, rng):
    """Return the slope of log p(x) at the outputs, (N, D)."""
    noise = rng.random(outputs.shape, dtype=np.float32)
    if isinstance(point.likelihood, Bernoulli):
        p = point.mean_of(outputs)
        return (x if definition == "empirical" else (noise < p).astype(p.dtype)) - p
    if definition == "empirical":
        return (x - outputs) / point.likelihood.sigma**2
    return rng.standard_normal(outputs.shape, dtype=np.float32) / np.float32(point.likelihood.sigma)
