"""HAT: a plain network with gates at one, fixed used weights, and the factors of the paper."""

import numpy as np
import pytest

from ibpcl.inference.backend import backend
from ibpcl.methods.hat import HAT, LARGEST_EMBEDDING, Settings, compensation, scale_at
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp
from ibpcl.models.gated import Gated, freedom, gates, gates_vjp, prices
from ibpcl.models.plain import network as plain_network
from ibpcl.numerics import sigmoid

NUMPY = backend("numpy")
SMALL = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}


def test_with_gates_at_one_the_network_is_plain():
    rng = np.random.default_rng(0)
    model = plain_network(5, (6, 4), 3, Gated)
    plain = plain_network(5, (6, 4), 3)
    vector = np.append(rng.normal(size=plain.layout.size), np.full(10, 6.0))
    gates_block = model.layout.block("gates")
    x = rng.normal(size=(7, 5))
    y = rng.integers(0, 3, 7)
    parts, cache = elbo(model, vector, None, x, y, {}, 7, NUMPY, {}, 1 / 400)
    total, plain_cache = plain.log_likelihood(vector[:-10], x, y, NUMPY)
    assert parts.log_likelihood == total
    assert gates(vector[gates_block], 400.0)[0] @ prices(np.zeros(10)) == pytest.approx(1)
    gradient = elbo_vjp(Elbo(1.0), cache)
    np.testing.assert_array_equal(gradient[:-10], plain.log_likelihood_vjp(1.0, plain_cache))
    np.testing.assert_array_equal(gradient[-10:], 0)  # a saturated gate has no gradient


def test_training_with_gates_at_one_is_naive(make_task, monkeypatch):
    """The gates are held open, and no unit is marked as used."""
    monkeypatch.setattr("ibpcl.methods.hat.scale_at", lambda *arguments: 400.0)
    monkeypatch.setattr("ibpcl.methods.hat.used_gates", lambda context: np.zeros(8, np.float32))
    monkeypatch.setattr("ibpcl.methods.hat.generator", lambda key: Sixes())
    one = HAT(Settings(**SMALL, sparsity=0.0, embedding_rate=0.0), 3, "numpy")
    other = Naive(NaiveSettings(**SMALL), 3, "numpy")
    for t in range(2):
        for learner in (one, other):
            learner.learn(make_task(t), progress=False)
    np.testing.assert_array_equal(one.knowledge.shared, other.knowledge.shared)
    for a, b in zip(
        one.knowledge.own, other.knowledge.own, strict=True
    ):  # a head, then eight gates
        np.testing.assert_array_equal(a[:-8], b)
    x = make_task(0).x_test
    np.testing.assert_array_equal(one.predict(x, 0), other.predict(x, 0))


class Sixes:
    """A generator of open gates."""

    def normal(self, size):
        return np.full(size, 6.0)


def test_used_weights_do_not_move(make_task):
    learner = HAT(Settings(**{**SMALL, "hidden": (8, 7), "epochs": 10, "sparsity": 0.1}))
    learner.learn(make_task(0), progress=False)
    used = learner.used
    before = learner.knowledge.shared
    x = make_task(0).x_test
    first = learner.predict(x, 0)
    assert ((used > 0.999) | (used < 0.001)).mean() > 0.8 and used.max() > 0.999
    learner.learn(make_task(1), progress=False)
    hidden = [
        view
        for name, view in learner.context.next_network(2)
        .layout.views(
            np.append(
                learner.knowledge.shared == before, np.ones(len(learner.knowledge.own[0]), bool)
            )
        )
        .items()
    ]
    open_first = used[:8] == 1
    open_second = used[8:] == 1
    assert hidden[0][:, open_first].all() and hidden[1][open_first].all()
    assert hidden[2][np.ix_(open_first, open_second)].all() and hidden[3][open_second].all()
    assert (learner.used >= used).all()
    assert not (learner.knowledge.shared == before).all()
    np.testing.assert_allclose(learner.predict(x, 0), first, atol=0.05)


def test_freedom_is_one_minus_the_smaller_gate():
    model = plain_network(2, (2, 1), 2, Gated)
    used = np.array([0.3, 1.0, 0.6])
    views = model.layout.views(freedom(model, used))
    np.testing.assert_allclose(views["hidden0.weight.mu"], [[0.7, 0.0], [0.7, 0.0]])
    np.testing.assert_allclose(views["hidden0.bias.mu"], [0.7, 0.0])
    np.testing.assert_allclose(views["hidden1.weight.mu"], [[0.7], [0.4]])
    np.testing.assert_allclose(views["hidden1.bias.mu"], [0.4])
    assert (views["head.weight.mu"] == 1).all() and (views["head.bias.mu"] == 1).all()


def test_compensation_turns_the_slope_at_one_scale_into_that_of_another():
    """A gate's slope s a (1 - a) times the factor is s_max a' (1 - a') at scale one."""
    e = np.array([-2.0, 0.1, 1.5])
    scale = 3.0
    largest = 20.0
    slope = scale * sigmoid(scale * e) * sigmoid(-scale * e)
    np.testing.assert_allclose(
        slope * compensation(e, scale, largest), largest * sigmoid(e) * sigmoid(-e), rtol=1e-12
    )
    assert np.isfinite(compensation(np.array([6.0, -6.0]), 400.0, 400.0)).all()


def test_the_scale_rises_in_every_epoch():
    scales = [scale_at(step, 5, 400.0) for step in range(10)]
    assert scales[:5] == scales[5:] and (np.diff(scales[:5]) > 0).all()
    assert scales[0] == 1 / 400 and scales[4] == 400.0
    assert scale_at(3, 1, 400.0) == 400.0


def test_embeddings_stay_in_their_range(make_task):
    learner = HAT(Settings(**SMALL, embedding_rate=50.0))
    learner.learn(make_task(0), progress=False)
    network, vector = learner.assemble(0)
    assert np.abs(vector[network.layout.block("gates")]).max() <= LARGEST_EMBEDDING


def test_a_full_network_has_no_capacity_left():
    assert not prices(np.ones(3)).any()
    assert gates(np.zeros(2), 5.0)[0].tolist() == [0.5, 0.5]


def test_sparsity_opens_fewer_gates(make_task):
    opened = []
    for sparsity in (0.0, 20.0):
        learner = HAT(Settings(**{**SMALL, "hidden": (20,)}, sparsity=sparsity, embedding_rate=0.2))
        learner.learn(make_task(0), progress=False)
        opened.append(learner.used.sum())
    assert opened[1] < opened[0]


@pytest.mark.parametrize("scale", [1.0, 25.0, 100.0, 400.0])
def test_float32_gates_open_and_closed_have_the_slope_of_the_paper(scale):
    r"""Eq. 4: slope times compensation is s_max / (4 cosh^2(e / 2)) on both sides, up to where it
    is clipped.
    """
    e = np.linspace(-49, 49, 99, dtype=np.float32) / np.float32(scale)
    slope = gates_vjp(np.ones_like(e), gates(e, np.float32(scale))[1])
    assert slope.dtype == np.float32
    np.testing.assert_allclose(
        slope * compensation(e, np.float32(scale), 400.0),
        400 / (4 * np.cosh(e.astype(float) / 2) ** 2),
        rtol=2e-5,
    )
