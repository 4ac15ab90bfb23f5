"""Plain networks: heads share the hidden layers, and deltas times inputs are the gradient."""

import numpy as np

from ibpcl.inference.backend import backend
from ibpcl.models.plain import Group, MultiHead, Network

NUMPY = backend("numpy")


def groups(rng, plain, sizes):
    return [Group(rng.normal(size=(n, plain.inputs)), rng.integers(0, plain.outputs[head], n), head)
            for head, n in enumerate(sizes)]


def test_one_head_of_many_is_a_network():
    rng, plain = np.random.default_rng(0), MultiHead(4, (3,), (2, 3, 2))
    vector = rng.normal(size=plain.size)
    group = groups(rng, plain, (0, 5, 0))[1]
    (total,), cache = plain.log_likelihoods(vector, [group], NUMPY)
    one = plain.select(vector, 1)
    alone, alone_cache = plain.network(1).log_likelihood(one, group.x, group.labels, NUMPY)
    assert total == alone
    gradient = plain.log_likelihoods_vjp((1.0,), cache)
    np.testing.assert_array_equal(plain.select(gradient, 1), plain.network(1).log_likelihood_vjp(1.0, alone_cache))
    for other in (0, 2):                                     # a head without examples has no gradient
        assert not gradient[plain.parts(other)[1]].any()


def test_the_parts_fill_the_vector():
    plain = MultiHead(4, (3, 5), (2, 3))
    covered = np.zeros(plain.size, int)
    for head in range(2):
        shared, own = plain.parts(head)
        covered[own] += 1
        assert own.stop - own.start + shared.stop == plain.network(head).layout.size
    covered[shared] += 1
    assert (covered == 1).all()


def test_deltas_times_inputs_are_the_gradient():
    rng, network = np.random.default_rng(1), Network(4, (6, 5), 3)
    vector = rng.normal(size=network.layout.size)
    x, y = rng.normal(size=(7, 4)), rng.integers(0, 3, 7)
    inputs, logits = network.layer_inputs(vector, x)
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    deltas = network.deltas(vector, inputs, np.eye(3)[y] - p)
    _, cache = network.log_likelihood(vector, x, y, NUMPY)
    for (weight, bias), h, delta in zip(network.layers(network.log_likelihood_vjp(1.0, cache)), inputs, deltas,
                                        strict=True):
        np.testing.assert_allclose(h.T @ delta, weight, atol=1e-12)
        np.testing.assert_allclose(delta.sum(axis=0), bias, atol=1e-12)


def test_predictions_are_the_softmax_of_the_logits():
    network = Network(4, (6,), 3)
    vector = network.initial(np.random.default_rng(0), "he")
    x = np.random.default_rng(1).normal(size=(5, 4))
    p = network.predict(vector, x, NUMPY)
    logits = network.layer_inputs(vector, x.astype(np.float32))[1]
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), logits[:, 1] - logits[:, 0], rtol=1e-4, atol=1e-6)
