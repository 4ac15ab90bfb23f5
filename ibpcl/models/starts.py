"""Where the means of a network's weights start, layer by layer: for
:meth:`ibpcl.models.network.Network.initial`.
"""

import numpy as np

# Factors of the spread in an autoencoder.  Codes start near their prior, pixels near their biases:
# else all the decoder gets at first is noise of the width of its inputs, it learns not to listen,
# and the codes are never used.
QUIET = {"mean": 0.1, "scale": 0.1, "pixels": 0.3}


def normal(rng, spread):
    """Return the start whose weights are normal with standard deviation ``spread``; biases are
    0.
    """

    def start(layer, parameters):
        parameters["weight.mu"][...] = rng.normal(0.0, spread, parameters["weight.mu"].shape)

    return start


def he(rng, spread=1.0, factors=None):
    r"""Return the start whose weights are normal with standard deviation :math:`\sqrt{2 / D}`,
    times ``spread``.

    With 1 it keeps the size of ReLU activations from layer to layer (He, Zhang, Ren and Sun, 2015,
    "Delving deep into rectifiers"); ``factors`` are of the layers that are named.  Biases are 0.
    """

    def start(layer, parameters):
        factor = (factors or {}).get(layer.name, 1.0)
        parameters["weight.mu"][...] = rng.normal(
            0.0, factor * spread * np.sqrt(2 / layer.inputs), parameters["weight.mu"].shape
        )

    return start


def uniform(rng):
    r"""Return the start with weights and biases from :math:`U(-1/\sqrt D, 1/\sqrt D)`, usual for
    plain layers today.
    """

    def start(layer, parameters):
        widest = 1 / np.sqrt(layer.inputs)
        for name in ("weight.mu", "bias.mu"):
            parameters[name][...] = rng.uniform(-widest, widest, parameters[name].shape)

    return start


# The starts of plain layers by their names.
STARTS = {"uniform": uniform, "he": he}
