r"""Plain networks that grow: which units a task reaches, what is new, which units moved, and their copies.

Yoon, Yang, Lee and Hwang (2018), "Lifelong Learning with Dynamically Expandable Networks".  Units are only ever added
behind those that are there, so the network that a task knew is the leading block of every weight matrix: the stamp of a
unit is its place.

Hidden layers are a list of pairs, weights (D, K) and biases (K,); a task's head is one such pair.
"""

import numpy as np


def reached(layers):
    """Follow the weights that are not zero from the outputs down to the units of each hidden layer.

    Yoon et al. (2018), Algorithm 2: breadth-first search from the outputs.

    Parameters
    ----------
    layers : list of pair of ndarray
        Hidden layers and the head.

    Returns
    -------
    units : tuple of ndarray of bool, shape (K,)
        One array a hidden layer.

    Examples
    --------
    >>> head = (np.array([[0.0], [2.0]]), np.zeros(1))
    >>> reached([(np.ones((3, 2)), np.zeros(2)), head])[0].tolist()
    [False, True]
    """
    *_, (head, _) = layers
    found = [(head != 0).any(axis=1)]
    for weight, _ in layers[-2:0:-1]:
        found.insert(0, (weight[:, found[0]] != 0).any(axis=1))
    return tuple(found)


def between(network, units):
    """Return which parameters (P,) lie between units: their weights and biases, and the head's from the last of them.

    The head's biases are always among them, and every input counts as a unit.
    """
    chosen = np.zeros(network.layout.size, bool)
    incoming = (np.ones(network.inputs, bool), *units)
    outgoing = (*units, np.ones(network.outputs, bool))
    for (weight, bias), sources, targets in zip(network.weights(chosen), incoming, outgoing, strict=True):
        weight[...], bias[...] = np.outer(sources, targets), targets
    return chosen


def incoming(network, widths):
    """Return where the new units' weights and biases stand: an array (D + 1, K) a hidden layer, the bias last."""
    places = network.weights(np.arange(network.layout.size))[:-1]
    return tuple(np.vstack([weight[:, width:], bias[width:]])
                 for (weight, bias), width in zip(places, widths, strict=True))


def kept_units(network, vector, keep):
    """Cut units out of a network: ``keep`` has a boolean array (K,) a hidden layer; return the network and its vector.

    A unit without incoming weights and bias outputs 0, so without it the network is the same function.
    """
    smaller = network.resized(tuple(int(kept.sum()) for kept in keep))
    return smaller, vector[between(network, keep)]


def drift(layers, before):
    r"""Measure how far the incoming weights and the bias of each unit have moved.

    .. math:: \rho_k = \sqrt{\textstyle\sum_d (w_{dk} - w'_{dk})^2 + (b_k - b'_k)^2}

    Yoon et al. (2018), Algorithm 4.

    Parameters
    ----------
    layers, before : list of pair of ndarray
        Hidden layers now and then; those of then may be smaller.

    Returns
    -------
    distances : list of ndarray, shape (K,)
        For the units of then.
    """
    found = []
    for (weight, bias), (old_weight, old_bias) in zip(layers, before, strict=True):
        rows, columns = old_weight.shape
        moved = np.vstack([weight[:rows, :columns] - old_weight, bias[:columns] - old_bias])
        found.append(np.sqrt((moved * moved).sum(axis=0)))
    return found


def split(network, vector, before, moved):
    """Put units back where they were, and let copies go on from where they are now.

    A copy has the incoming weights and the bias that its unit has now, and takes over its place in the head and in
    other copies.  Its weights into units that stay are 0: those units listen to the one that was put back.  With one
    hidden layer the new network is the same function.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        The network.
    vector : ndarray, shape (P,)
        Its parameters.
    before : list of pair of ndarray
        The hidden layers as they were; they may be smaller.
    moved : sequence of ndarray of int
        For each hidden layer, which of the units of ``before`` are put back.

    Returns
    -------
    network : ibpcl.models.plain.PlainNetwork
        With a unit more for each of them, behind all others.
    vector : ndarray, shape (P',)
        Its parameters.
    """
    larger = network.resized(tuple(width + len(units) for width, units in zip(network.hidden, moved, strict=True)))
    split_vector = np.zeros(larger.layout.size, vector.dtype)
    split_vector[network.layout.within(larger.layout)] = vector
    none = np.zeros(0, int)
    for i, (weight, bias) in enumerate(larger.weights(split_vector)):
        rows, columns = network.weights(vector)[i][0].shape
        sources = moved[i - 1] if i else none
        targets = moved[i] if i < len(moved) else none
        weight[:rows, columns:], bias[columns:] = weight[:rows, targets], bias[targets]
        taken = np.arange(columns, weight.shape[1]) if i < len(moved) else np.arange(columns)
        weight[rows:, taken] = weight[np.ix_(sources, taken)]
        weight[np.ix_(sources, taken)] = 0
        if i < len(moved):
            old_weight, old_bias = before[i]
            weight[:, targets] = 0
            weight[: len(old_weight), targets], bias[targets] = old_weight[:, targets], old_bias[targets]
    return larger, split_vector
