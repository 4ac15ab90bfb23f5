r"""The masked prior: yesterday's posterior where some task uses a weight, the initial prior
elsewhere.

Kumar et al. (2021), Eq. 11: :math:`p_t(V_{dk}) = B^o_{dk}\, q_{t-1}(V_{dk}) + (1 - B^o_{dk})\,
p_0(V_{dk})`, a choice between the two (the combined mask is binary), not a mixture.  What holds for
a bias is not printed: here it follows its unit, which is used as soon as one of its weights is.
"""

import numpy as np

from ibpcl.models.elbo import Prior
from ibpcl.models.layers import GAUSSIAN
from ibpcl.models.parameters import write


def select(used, chosen, other):
    """Take one layer's Gaussian parameters from ``chosen`` where ``used`` (D, K) says so, from
    ``other`` elsewhere.

    A bias follows its unit.  Arrays of ``chosen`` may be smaller, in the corner of those of
    ``other``, or missing.

    >>> layer = {name: np.ones((2, 1) if name.startswith("weight") else 1) for name in GAUSSIAN}
    >>> zero = {name: np.zeros((2, 2) if name.startswith("weight") else 2) for name in GAUSSIAN}
    >>> select(np.array([[True, False], [False, False]]), layer, zero)["weight.mu"].tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    found = {name: other[name].copy() for name in GAUSSIAN}
    for name in chosen.keys() & GAUSSIAN:
        corner = tuple(map(slice, chosen[name].shape))
        which = (used if name.startswith("weight") else used.any(axis=0))[corner]
        found[name][corner][which] = chosen[name][which]
    return found


def assemble(network, posterior, known, sigma, sticks, gaussian=True, others=None):
    r"""Return the prior of a network's next task by Eq. 11: :math:`q_{t-1}` of known weights, else
    :math:`p_0`.

    .. math:: p_0(V_{dk}) = \mathcal N(0, \sigma_0^2)

    Parameters
    ----------
    network : ibpcl.models.network.Network
        Whose prior it is, as large as ``posterior`` or larger.
    posterior : dict of str to dict
        Means and log standard deviations of layers, by name, that earlier tasks left.
    known : dict of str to ndarray of bool, shape (D, K)
        Which weights some task uses, of the layers of ``posterior``, and with them their units'
        biases.
    sigma : float
        The standard deviation of p_0.
    sticks : dict of str
        What the prior of each masked layer's sticks has.
    gaussian : bool
        Whether weights of masked layers that no task uses have p_0; without, they have the prior
        ``others``.
    others : object, optional
        See :class:`ibpcl.models.elbo.Prior`.
    """
    values = np.zeros(network.layout.size, np.float32)
    informative = np.ones(network.layout.size, bool)
    values[network.layout.block("log_sigma")] = np.log(sigma)
    views = network.layout.layers(values)
    flags = network.layout.layers(informative)
    for name, used in known.items():
        write(views[name], select(used, posterior[name], views[name]))
    for name, layer in network.masked.items():
        used = known.get(name, np.zeros(layer.shape, bool))
        write(flags[name], {"weight.mu": used, "bias.mu": used.any(axis=0)})
    informative = None if gaussian else np.flatnonzero(informative[network.layout.block("mu")])
    return Prior.at(network.layout, values, sticks, informative, others)
