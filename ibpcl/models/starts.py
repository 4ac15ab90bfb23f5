"""Initializations of the means of a network's weights and biases, layer by layer.

Each function returns a ``start`` for :meth:`ibpcl.models.network.Network.initial`.
"""

import numpy as np

# Factors of the spread in an autoencoder.  Codes start near their prior, and pixels near their
# biases.  Otherwise the decoder's inputs are mostly noise at first, it learns to ignore them, and
# the codes are never used.
QUIET = {"mean": 0.1, "scale": 0.1, "pixels": 0.3}


def normal(rng, spread):
    """Return an initialization with normal weights; the biases are 0.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the random numbers.
    spread : float
        Standard deviation of the weights, >= 0.

    Returns
    -------
    start : callable
        ``start(layer, parameters)`` writes the means of a layer into ``parameters[name]``.
    """

    def start(layer, parameters):
        parameters["weight.mu"][...] = rng.normal(0.0, spread, parameters["weight.mu"].shape)

    return start


def he(rng, spread=1.0, factors=None):
    r"""Return an initialization with normal weights that depend on the width; the biases are 0.

    The standard deviation is :math:`\sqrt{2 / D}` times ``spread``.  With ``spread`` 1, the size of
    ReLU activations stays the same from layer to layer (He, Zhang, Ren and Sun, 2015, "Delving deep
    into rectifiers").

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the random numbers.
    spread : float
        Factor of the standard deviation, >= 0.
    factors : dict of str to float, optional
        Further factors for single layers, by name; 1 for all others.

    Returns
    -------
    start : callable
        ``start(layer, parameters)`` writes the means of a layer into ``parameters[name]``.

    Examples
    --------
    >>> from ibpcl.models.layers import Plain
    >>> parameters = {"weight.mu": np.zeros((4, 3)), "bias.mu": np.zeros(3)}
    >>> he(np.random.default_rng(0))(Plain("hidden0", 4, 3), parameters)
    >>> bool(parameters["weight.mu"].all())
    True
    """

    def start(layer, parameters):
        factor = (factors or {}).get(layer.name, 1.0)
        parameters["weight.mu"][...] = rng.normal(
            0.0, factor * spread * np.sqrt(2 / layer.inputs), parameters["weight.mu"].shape
        )

    return start


def uniform(rng):
    r"""Return an initialization with weights and biases from :math:`U(-1/\sqrt D, 1/\sqrt D)`.

    It is common for plain layers today.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the random numbers.

    Returns
    -------
    start : callable
        ``start(layer, parameters)`` writes weights and biases of a layer into ``parameters[name]``.
    """

    def start(layer, parameters):
        widest = 1 / np.sqrt(layer.inputs)
        for name in ("weight.mu", "bias.mu"):
            parameters[name][...] = rng.uniform(-widest, widest, parameters[name].shape)

    return start


# The initializations of plain layers by name.
STARTS = {"uniform": uniform, "he": he}
