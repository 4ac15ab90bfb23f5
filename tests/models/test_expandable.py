"""Growing networks: reached units, new parameters, and changes that preserve the function."""

from itertools import product

import numpy as np
import pytest

from ibpcl.inference.backend import backend
from ibpcl.models import expandable
from ibpcl.models.layers import Pass
from ibpcl.models.plain import network as plain_network

NUMPY = backend("numpy")


def random_network(seed=0, hidden=(5, 4), density=1.0):
    rng = np.random.default_rng(seed)
    network = plain_network(6, hidden, 3)
    vector = rng.normal(size=network.layout.size) * (rng.random(network.layout.size) < density)
    return network, vector, rng.normal(size=(9, 6))


def logits(network, vector, x):
    return network.forward(vector, x, {}, Pass(NUMPY, {}))[0][0][0]


@pytest.mark.parametrize("seed", range(5))
def test_a_unit_is_reached_where_a_path_leads_to_the_head(seed):
    network, vector, _ = random_network(seed, (4, 3, 4), density=0.25)
    layers = network.weights(vector)
    units = expandable.reached(layers)
    for i, found in enumerate(units):
        for k, reached in enumerate(found):
            paths = product([k], *(range(width) for width in network.hidden[i + 1 :]), range(3))
            weights = [weight for weight, _ in layers[i + 1 :]]
            assert reached == any(
                all(
                    weight[here, there] != 0
                    for weight, here, there in zip(weights, path, path[1:], strict=False)
                )
                for path in paths
            )


def test_between_selects_weights_and_biases_of_units():
    network, _, _ = random_network()
    units = np.array([1, 0, 1, 0, 0], bool), np.array([0, 1, 0, 0], bool)
    (w0, b0), (w1, b1), (w2, b2) = network.weights(expandable.between(network, units))
    np.testing.assert_array_equal(w0, np.broadcast_to(units[0], w0.shape))
    assert w1.sum() == 2 and w1[0, 1] and w1[2, 1] and w2.sum() == 3 and w2[1].all()
    for bias, expected in ((b0, units[0]), (b1, units[1]), (b2, np.ones(3))):
        np.testing.assert_array_equal(bias, expected)


def test_a_unit_that_nothing_enters_can_be_cut_out():
    network, vector, x = random_network()
    for places, silent in zip(expandable.incoming(network, (2, 3)), ([0, 2], [0]), strict=True):
        vector[places[:, silent]] = 0
    keep = np.array([1, 1, 0, 1, 0], bool), np.array([1, 1, 1, 0], bool)
    smaller, cut = expandable.kept_units(network, vector, keep)
    assert smaller.hidden == (2 + 1, 3)
    np.testing.assert_allclose(logits(smaller, cut, x), logits(network, vector, x), rtol=1e-12)


def moved_network(hidden, moved, new=(1, 1)):
    """A network, that before some units moved and one was added to each layer, and the parameters
    of that.
    """
    network, vector, x = random_network(1, hidden)
    old = network.resized(tuple(width - extra for width, extra in zip(hidden, new, strict=False)))
    before = vector[old.layout.within(network.layout)]
    for (weight, bias), units in zip(network.weights(vector), moved, strict=False):
        weight[:, units] += 0.5
        bias[units] -= 0.25
    return network, vector, old, before, x


def test_drift_is_the_distance_of_incoming_weights():
    network, vector, old, before, _ = moved_network((5, 4), [[0], [1, 2]])
    first, second = expandable.drift(network, vector, old, before)
    np.testing.assert_allclose(
        first, np.sqrt(6 * 0.25 + 0.0625) * np.array([1, 0, 0, 0]), atol=1e-15
    )
    np.testing.assert_allclose(second, np.sqrt(4 * 0.25 + 0.0625) * np.array([0, 1, 1]), atol=1e-15)


@pytest.mark.parametrize(
    "hidden, moved", [((5,), [[0, 3]]), ((5, 4), [[1, 2], [0, 1, 2]]), ((5, 4), [[], [1]])]
)
def test_a_split_keeps_the_function_and_puts_units_back(hidden, moved):
    """It is exact if every unit behind a copied unit is new or also a copy."""
    moved = [np.array(units, int) for units in moved]
    network, vector, old, before, x = moved_network(hidden, moved)
    # the unit that stays reads no moved unit
    if len(hidden) == 2 and len(moved[0]):
        network.weights(vector)[1][0][:, 3] = 0
    larger, grown = expandable.split(network, vector, old, before, moved)
    assert larger.hidden == tuple(
        width + len(units) for width, units in zip(hidden, moved, strict=True)
    )
    np.testing.assert_allclose(
        logits(larger, grown, x), logits(network, vector, x), rtol=1e-9, atol=1e-12
    )
    distances = expandable.drift(larger, grown, old, before)
    assert max(map(np.max, distances)) == 0


def test_only_copies_read_copies():
    moved = [np.array([1, 2]), np.array([0])]
    network, vector, old, before, _ = moved_network((5, 4), moved)
    larger, grown = expandable.split(network, vector, old, before, moved)
    weight = larger.weights(grown)[1][0] != 0
    # the first unit was restored
    np.testing.assert_array_equal(weight[:, :4], np.arange(7)[:, None] < [4, 5, 5, 5])
    np.testing.assert_array_equal(weight[:, 4], [1, 0, 0, 1, 1, 1, 1])


def test_without_units_to_split_nothing_changes():
    network, vector, _ = random_network()
    larger, same = expandable.split(network, vector, network, vector, [np.zeros(0, int)] * 2)
    assert larger == network
    np.testing.assert_array_equal(same, vector)
