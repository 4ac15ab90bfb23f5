"""Plain networks: predictions are the softmax of the logits, and widths can change."""

import numpy as np

from ibpcl.inference.backend import backend
from ibpcl.models.plain import network


def test_predictions_are_the_softmax_of_the_logits():
    plain = network(4, (6,), 3)
    vector = plain.start(np.random.default_rng(0), "he")
    x = np.random.default_rng(1).normal(size=(5, 4))
    p = plain.predict(vector, x, backend("numpy"))
    (w0, b0), (w1, b1) = plain.weights(vector)
    logits = np.maximum(x @ w0 + b0, 0) @ w1 + b1
    np.testing.assert_allclose(
        np.log(p[:, 1] / p[:, 0]), logits[:, 1] - logits[:, 0], rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)


def test_the_head_is_the_end_of_the_vector():
    plain = network(4, (6, 5), 3)
    assert plain.hidden == (6, 5) and plain.resized((7, 5)).hidden == (7, 5)
    head = plain.layout.views(np.arange(plain.layout.size))["head.weight.mu"]
    assert head.min() == plain.layout.size - plain.head_size
