"""Plain networks that grow (:mod:`ibpcl.methods.growing`): which units a task reaches, what is new,
and copies.

Yoon, Yang, Lee and Hwang (2018), "Lifelong Learning with Dynamically Expandable Networks".
"""

import numpy as np


def reached(layers):
    """Return which units (K,) of each hidden layer a path of weights that are not zero leads from
    to the outputs.

    Yoon et al. (2018), Algorithm 2: breadth-first search from the outputs, here over ``layers``, a
    list of pairs of weights (D, K) and biases (K,), the head last.

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
    """Return which parameters (P,) lie between units: their weights and biases, and the head's from
    the last of them.

    The head's biases are always among them, and every input counts as a unit.
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
    """Return where the new units' weights and biases stand: an array (D + 1, K) a hidden layer, the
    bias last.
    """
    places = network.weights(np.arange(network.layout.size))[:-1]
    return tuple(
        np.vstack([weight[:, width:], bias[width:]])
        for (weight, bias), width in zip(places, widths, strict=True)
    )


def kept_units(network, vector, keep):
    """Cut units out of a network: ``keep`` has a boolean array (K,) a hidden layer; return the
    network and its vector.

    A unit without incoming weights and bias outputs 0, so without it the network is the same
    function.
    """
    smaller = network.resized(tuple(int(kept.sum()) for kept in keep))
    return smaller, vector[between(network, keep)]


def drift(network, vector, old, before):
    r"""Measure how far the incoming weights and the bias of each unit of an ``old`` network have
    moved.

    .. math:: \rho_k = \sqrt{\textstyle\sum_d (w_{dk} - w'_{dk})^2 + (b_k - b'_k)^2}

    Yoon et al. (2018), Algorithm 4; a list of distances (K,), one a hidden layer, in the units of
    the weights.  The parameters are ``vector`` now, and were ``before``.
    """
    moved = vector[old.layout.within(network.layout)] - before
    return [
        np.sqrt((weight * weight).sum(axis=0) + bias * bias)
        for weight, bias in old.weights(moved)[:-1]
    ]


def split(network, vector, old, before, moved):
    """Put units back where they were ``before`` in the ``old`` network, and let copies go on from
    where they are now.

    A copy has the incoming weights and the bias that its unit has now, and takes over its place in
    the head and in other copies.  Its weights into units that stay are 0: those units listen to the
    one that was put back.  With one hidden layer the new network is the same function.

    ``moved`` has, for each hidden layer, which units are put back, an array of int.  Returns the
    network with a unit more for each of them, behind all others, and its parameters (P',).
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
        # to copies: other copies, and the head
        listens = np.arange(len(units)) >= (columns if i < len(moved) else 0)
        weight[np.ix_(sources, listens)] = 0
        weight[rows:, ~listens] = 0
        was, was_bias = old_layers[i]
        weight[:, targets] = 0
        weight[: len(was), targets] = was[:, targets]
        bias[targets] = was_bias[targets]
    return larger, split_vector
