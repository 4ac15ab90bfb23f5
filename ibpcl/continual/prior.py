r"""The prior of the next task: the previous posterior for weights in use, else the initial prior.

Kumar et al. (2021), Eq. 11: :math:`p_t(V_{dk}) = B^o_{dk}\, q_{t-1}(V_{dk}) + (1 - B^o_{dk})\,
p_0(V_{dk})`.  The combined mask is binary, so this is a choice between two distributions, not a
mixture.  The paper does not define the prior of a bias.  Here a bias follows its unit, which is in
use as soon as one of its weights is.
"""

import numpy as np

from ibpcl.models.elbo import Prior
from ibpcl.models.layers import GAUSSIAN
from ibpcl.models.parameters import corner, write


def select(used, chosen, other, groups=1):
    """Combine two sets of a layer's Gaussian parameters according to a mask.

    A bias follows its unit: it is taken from ``chosen`` if any weight of the unit is.

    Parameters
    ----------
    used : ndarray of bool, shape (D, K)
        Which weights to take from ``chosen``; the others are taken from ``other``.
    chosen : dict of str to ndarray
        Parameters by name.  The arrays may be smaller than those of ``other``; they then occupy the
        corner with the lowest indices.  A name may be missing.
    other : dict of str to ndarray
        Parameters by name, with weights (D, K) and biases (K,).
    groups : int
        Number of groups of the rows of weights, see :func:`ibpcl.models.parameters.corner`.

    Returns
    -------
    parameters : dict of str to ndarray
        New arrays with means and log standard deviations of weights and biases, by name.

    Examples
    --------
    >>> layer = {name: np.ones((2, 1) if name.startswith("weight") else 1) for name in GAUSSIAN}
    >>> zero = {name: np.zeros((2, 2) if name.startswith("weight") else 2) for name in GAUSSIAN}
    >>> select(np.array([[True, False], [False, False]]), layer, zero)["weight.mu"].tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    parameters = {name: other[name].copy() for name in GAUSSIAN}
    for name in chosen.keys() & GAUSSIAN:
        place = corner(chosen[name].shape, other[name].shape, groups)
        which = (used if name.startswith("weight") else used.any(axis=0))[place]
        parameters[name][place] = np.where(which, chosen[name], parameters[name][place])
    return parameters


def assemble(network, posterior, known, sigma, sticks, gaussian=True, others=None):
    r"""Return the prior of the next task.

    By Eq. 11 it is :math:`q_{t-1}` for the weights that an earlier task uses, and otherwise

    .. math:: p_0(V_{dk}) = \mathcal N(0, \sigma_0^2)

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network of the next task, at least as large as the ones before.
    posterior : dict of str to dict
        Gaussian parameters of the previous posterior, by layer and name.
    known : dict of str to ndarray of bool, shape (D, K)
        Which weights some earlier task uses, for the layers of ``posterior``.
    sigma : float
        Standard deviation of p_0, > 0.
    sticks : dict of str to object
        Prior of each masked layer's sticks, see :class:`ibpcl.models.elbo.Prior`.
    gaussian : bool
        Whether the unused weights of masked layers have the prior p_0.  If False, they have the
        prior ``others``.
    others : object, optional
        Prior of these weights if not ``gaussian``, see :class:`ibpcl.models.elbo.Prior`; by default
        they have none.

    Returns
    -------
    prior : ibpcl.models.elbo.Prior
        The prior.
    """
    values = np.zeros(network.layout.size, np.float32)
    informative = np.ones(network.layout.size, bool)
    values[network.layout.block("log_sigma")] = np.log(sigma)
    views = network.layout.layers(values)
    flags = network.layout.layers(informative)
    for name, used in known.items():
        groups = network.layers[name].row_groups
        write(views[name], select(used, posterior[name], views[name], groups))
    # the switches of residual blocks have no weights
    layers = {name: part for name, part in network.masked.items() if name in network.layers}
    for name, layer in layers.items():
        used = known.get(name, np.zeros(layer.shape, bool))
        write(flags[name], {"weight.mu": used, "bias.mu": used.any(axis=0)})
    informative = None if gaussian else np.flatnonzero(informative[network.layout.block("mu")])
    return Prior.at(network.layout, values, sticks, informative, others)
