r"""The masked prior: yesterday's posterior where some task uses a weight, the initial prior elsewhere.

Kumar et al. (2021), Eq. 11: :math:`p_t(V_{dk}) = B^o_{dk}\, q_{t-1}(V_{dk}) + (1 - B^o_{dk})\, p_0(V_{dk})`, a choice
between the two (the combined mask is binary), not a mixture.  What holds for a bias is not printed: here it follows its
unit, which is used as soon as one of its weights is.
"""

import numpy as np

from ibpcl.continual.expansion import embed
from ibpcl.models.elbo import Prior
from ibpcl.models.layers import GAUSSIAN
from ibpcl.models.parameters import write


def select(used, chosen, other):
    """Take one layer's Gaussian parameters from ``chosen`` where ``used`` (D, K) says so, from ``other`` elsewhere.

    >>> layer = {name: np.ones((2, 2) if name.startswith("weight") else 2) for name in GAUSSIAN}
    >>> zero = {name: 0 * value for name, value in layer.items()}
    >>> select(np.array([[True, False], [True, False]]), layer, zero)["bias.mu"]
    array([1., 0.])
    """
    unit = used.any(axis=0)
    return {name: np.where(used if name.startswith("weight") else unit, chosen[name], other[name])
            for name in GAUSSIAN}


def standard(shape, sigma, dtype=np.float32):
    r"""Return the initial prior :math:`p_0 = \mathcal N(0, \sigma_0^2)` of a layer whose weights are of ``shape``."""
    return {
        "weight.mu": np.zeros(shape, dtype), "weight.log_sigma": np.full(shape, np.log(sigma), dtype),
        "bias.mu": np.zeros(shape[1], dtype), "bias.log_sigma": np.full(shape[1], np.log(sigma), dtype),
    }


def assemble(network, posterior, known, sigma, sticks, gaussian=True, others=None):
    r"""Return the prior of a network's next task by Eq. 11: :math:`q_{t-1}` of known weights, else :math:`p_0`.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        Whose prior it is, as large as ``posterior`` or larger.
    posterior : dict of str to dict
        Means and log standard deviations of layers, by name, that earlier tasks left.
    known : dict of str to ndarray of bool, shape (D, K)
        Which weights some task uses, of the layers of ``posterior``, and with them their units' biases.
    sigma : float
        The standard deviation of p_0.
    sticks : dict of str
        What the prior of each masked layer's sticks has.
    gaussian : bool
        Whether weights of masked layers that no task uses have p_0; without, they have the prior ``others``.
    others : object, optional
        See :class:`ibpcl.models.elbo.Prior`.
    """
    values, informative = np.zeros(network.layout.size, np.float32), np.zeros(network.layout.size, bool)
    views, flags = network.layout.layers(values), network.layout.layers(informative)
    for name, layer in network.layers.items():
        used, initial = known.get(name, np.zeros(layer.shape, bool)), standard(layer.shape, sigma)
        write(views[name], select(used, grown(posterior[name], initial), initial) if name in known else initial)
        if name not in network.masked:
            used = np.ones(layer.shape, bool)
        write(flags[name], {"weight.mu": used, "bias.mu": used.any(axis=0)})
    informative = None if gaussian else np.flatnonzero(informative[network.layout.block("mu")])
    return Prior.at(network.layout, values, sticks, informative, others)


def grown(layer, like):
    """Return a layer's Gaussian parameters in the corners of arrays like those of ``like``; that of one it has not."""
    return {name: embed(layer[name], like[name].shape) if name in layer else like[name] for name in GAUSSIAN}
