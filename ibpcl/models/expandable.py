"""Growing plain networks: which units a task uses, which parameters are new, and copies of units.

Used by :mod:`ibpcl.methods.den`.  Yoon, Yang, Lee and Hwang (2018), "Lifelong Learning with
Dynamically Expandable Networks".
"""

import numpy as np


def reached(layers):
    """Return the units that a path of nonzero weights connects to the outputs.

    Yoon et al. (2018), Algorithm 2: breadth-first search, starting from the outputs.

    Parameters
    ----------
    layers : list of (ndarray, ndarray)
        Weights (D, K) and biases (K,) of each layer; the head is last.

    Returns
    -------
    units : tuple of ndarray of bool, shape (K,)
        Which units are reached, one array per hidden layer.

    Examples
    --------
    >>> head = (np.array([[0.0], [2.0]]), np.zeros(1))
    >>> reached([(np.ones((3, 2)), np.zeros(2)), head])[0].tolist()
    [False, True]
    """
    *_, (head, _) = layers
    units = [(head != 0).any(axis=1)]
    for weight, _ in layers[-2:0:-1]:
        units.insert(0, (weight[:, units[0]] != 0).any(axis=1))
    return tuple(units)


def between(network, units):
    """Return the parameters that connect chosen units.

    These are the weights between chosen units of neighbouring layers and the biases of chosen
    units.  All inputs and all outputs count as chosen, so the biases of the head are always
    included.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        The network.
    units : sequence of ndarray of bool, shape (K,)
        Which units are chosen, one array per hidden layer.

    Returns
    -------
    chosen : ndarray of bool, shape (P,)
        Which parameters are included.
    """
    chosen = np.zeros(network.layout.size, bool)
    incoming = (np.ones(network.inputs, bool), *units)
    outgoing = (*units, np.ones(network.outputs, bool))
    for (weight, bias), sources, targets in zip(
        network.weights(chosen), incoming, outgoing, strict=True
    ):
        weight[...] = np.outer(sources, targets)
        bias[...] = targets
    return chosen


def incoming(network, widths):
    """Return the positions of the new units' weights and biases in the parameter vector.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        The network after growing.
    widths : sequence of int
        Number of units of each hidden layer before growing.

    Returns
    -------
    positions : tuple of ndarray of int, shape (D + 1, K)
        One array per hidden layer, for its K new units; the bias is the last row.
    """
    places = network.weights(np.arange(network.layout.size))[:-1]
    return tuple(
        np.vstack([weight[:, width:], bias[width:]])
        for (weight, bias), width in zip(places, widths, strict=True)
    )


def kept_units(network, vector, keep):
    """Remove units from a network.

    A unit without incoming weights and without bias outputs 0, so removing it does not change the
    function of the network.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        The network.
    vector : ndarray, shape (P,)
        Its parameters.
    keep : sequence of ndarray of bool, shape (K,)
        Which units to keep, one array per hidden layer.

    Returns
    -------
    smaller : ibpcl.models.plain.PlainNetwork
        The network with the kept units.
    vector : ndarray, shape (P',)
        Its parameters.
    """
    smaller = network.resized(tuple(int(kept.sum()) for kept in keep))
    return smaller, vector[between(network, keep)]


def drift(network, vector, old, before):
    r"""Measure how far the incoming weights and the bias of each unit have moved.

    .. math:: \rho_k = \sqrt{\textstyle\sum_d (w_{dk} - w'_{dk})^2 + (b_k - b'_k)^2}

    Yoon et al. (2018), Algorithm 4.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        The network now, at least as large as the old one.
    vector : ndarray, shape (P,)
        Its parameters.
    old : ibpcl.models.plain.PlainNetwork
        The network before.
    before : ndarray, shape (P',)
        Its parameters.

    Returns
    -------
    distances : list of ndarray, shape (K,)
        Distances of the units of the old network, one array per hidden layer.
    """
    moved = vector[old.layout.within(network.layout)] - before
    return [
        np.sqrt((weight * weight).sum(axis=0) + bias * bias)
        for weight, bias in old.weights(moved)[:-1]
    ]


def split(network, vector, old, before, moved):
    """Restore units to their old parameters and add copies with their present parameters.

    A copy has the present incoming weights and bias of its unit.  It replaces the unit as an input
    of the head and of other copies.  Its weights into units that are not copies are 0: these units
    read the restored unit.  With one hidden layer, the new network computes the same function.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        The network now, at least as large as the old one.
    vector : ndarray, shape (P,)
        Its parameters.
    old : ibpcl.models.plain.PlainNetwork
        The network before.
    before : ndarray, shape (P',)
        Its parameters.
    moved : sequence of ndarray of int
        Indices of the units to restore, all of them units of the old network, one array per hidden
        layer.

    Returns
    -------
    larger : ibpcl.models.plain.PlainNetwork
        The network with one more unit for each restored one, behind all others of its layer.
    vector : ndarray
        Its parameters.
    """
    larger = network.resized(
        tuple(width + len(units) for width, units in zip(network.hidden, moved, strict=True))
    )
    split_vector = np.zeros(larger.layout.size, vector.dtype)
    none = np.zeros(0, int)
    layers = network.weights(vector)
    old_layers = old.weights(before)
    for i, (weight, bias) in enumerate(larger.weights(split_vector)):
        (now, now_bias), sources, targets = layers[i], [none, *moved][i], [*moved, none][i]
        rows, columns = now.shape
        units = np.r_[:columns, targets]
        weight[...] = now[np.ix_(np.r_[:rows, sources], units)]
        bias[...] = now_bias[units]
        # the units that read copies: other copies, and all units of the head
        listens = np.arange(len(units)) >= (columns if i < len(moved) else 0)
        weight[np.ix_(sources, listens)] = 0
        weight[rows:, ~listens] = 0
        was, was_bias = old_layers[i]
        weight[:, targets] = 0
        weight[: len(was), targets] = was[:, targets]
        bias[targets] = was_bias[targets]
    return larger, split_vector
