"""IBP-VCL: VCL when all masks are one, Bayes' rule for sticks as for weights, and what a learner promises."""

import dataclasses

import numpy as np
import pytest

from ibpcl.continual.loop import learn_stream
from ibpcl.continual.task import RegressionTask
from ibpcl.inference.backend import backend
from ibpcl.methods import method
from ibpcl.methods import vcl as vcl_method
from ibpcl.methods.ibp_vcl import IBPVCL, Settings
from ibpcl.models.layers import MaskModel
from ibpcl.models.mean_field import MeanField
from ibpcl.models.stochastic_units import StochasticUnits
from ibpcl.models.supervised import Elbo, Prior
from ibpcl.noise import Key
from ibpcl.numerics import inverse_softplus, softplus
from ibpcl.primitives import concrete, kumaraswamy, stick_divergence

NUMPY = backend("numpy")
COMMON = {"hidden": (8,), "epochs": 4, "likelihood_epochs": 3, "batch": 20, "rate": 0.02, "prediction_samples": 10}
SMALL = Settings(**COMMON, alpha=20.0, mask_rate=0.05)


def learner_of(seed=1, **changes):
    return IBPVCL(dataclasses.replace(SMALL, **changes), seed, "numpy")


def same(one, other):
    assert one.state().keys() == other.state().keys()
    for name, value in one.state().items():
        np.testing.assert_array_equal(value, other.state()[name], err_msg=name)


def all_on(logistic, logit_theta, tau):
    """Masks at one, whatever the noise: the limit of large log-odds."""
    ones = np.ones_like(logistic)
    return ones, (ones, tau)


def test_with_all_masks_at_one_the_elbo_is_vcls():
    """The same noise, the same likelihood, divergence and gradient of the weights, bit for bit."""
    rng, model, plain = np.random.default_rng(0), StochasticUnits(6, (5, 4), 3), MeanField(6, (5, 4), 3)
    count = model.layout.block("log_sigma").stop
    assert count == plain.layout.block("log_sigma").stop
    vector, other = (rng.normal(scale=0.5, size=network.layout.size) for network in (model, plain))
    other[:count] = vector[:count]
    for layer in model.layers(vector)[:-1]:
        layer["rho"][...], layer["raw_a"][...], layer["raw_b"][...] = 200.0, 3.0, 3.0    # sigmoid(200) is 1
    prior = Prior(rng.normal(size=count // 2), rng.normal(scale=0.3, size=count // 2), np.ones(2))
    x, y, noise = rng.normal(size=(7, 6)), rng.integers(0, 3, 7), model.unit_noise(Key(0, 0, 0, 0), 2, 7, NUMPY, float)
    first = [(np.full(width, 3.0), np.ones(width)) for width in (5, 4)]
    masked, cache = model.unit_elbo(vector, prior, first, x, y, noise, 0.5, 70, NUMPY)
    expected, plain_cache = plain.fixed_elbo(other, prior, plain.all_ones, x, y, noise.eps, 70, NUMPY)
    assert masked[:2] == expected[:2]
    down = Elbo(-1.0, 1.0, 0.0, 0.0)
    np.testing.assert_array_equal(model.unit_elbo_vjp(down, cache)[:count],
                                  plain.fixed_elbo_vjp(down, plain_cache)[:count])


def test_training_with_all_masks_at_one_is_vcl(make_task, monkeypatch):
    """Two tasks, maximum-likelihood start and all, bit for bit."""
    monkeypatch.setattr(concrete, "sample", all_on)
    ours, theirs = learner_of(), vcl_method.VCL(vcl_method.Settings(**COMMON), 1, "numpy")
    for t in range(2):
        for learner in (ours, theirs):
            learner.learn(make_task(t), progress=False)
    for layer, expected in zip((*ours.posterior, *ours.heads), (*theirs.posterior, *theirs.heads), strict=True):
        for name, value in expected.items():
            np.testing.assert_array_equal(layer[name], value, err_msg=name)


def test_the_first_prior_of_a_stick_is_the_buffets_and_the_next_one_the_posterior(make_task):
    learner = learner_of()
    learner.inputs = 6
    model = learner._model(2)
    a, b = np.full(8, 3.0), np.full(8, 2.0)
    divergence, _ = stick_divergence.kl(a, b, *learner.sticks_prior(model)[0])
    assert divergence == pytest.approx(kumaraswamy.kl_to_beta(a, b, 20.0)[0], rel=1e-6)
    learner.learn(make_task(0), progress=False)
    layer = model.layers(learner.start(model))[0]
    moved = np.abs(layer["raw_a"] - inverse_softplus(20.0)) + np.abs(layer["raw_b"] - inverse_softplus(1.0))
    assert moved.min() > 0.001
    for prior, raw in zip(learner.sticks_prior(model)[0], ("raw_a", "raw_b"), strict=True):
        np.testing.assert_allclose(prior, softplus(layer[raw]), rtol=1e-6)
    history = learner.learn(make_task(1), progress=False)
    assert 0 <= history[0].kl_sticks < 0.5                   # it begins at 0: q is its own prior
    prior = learner.prior(model)
    np.testing.assert_array_equal(prior.mu[: 7 * 8], np.concatenate(
        [learner.posterior[0][name].ravel() for name in ("weight.mu", "bias.mu")]))


def test_masks_drawn_as_the_sticks_say_cost_nothing_and_offsets_do(make_task):
    for offsets in (False, True):
        learner = learner_of(offsets=offsets)
        history = [record for t in range(2) for record in learner.learn(make_task(t), progress=False)
                   if record.phase == "ibp_vcl"]
        # Each step's divergence, but for what rounding leaves of 0.
        assert (max(record.kl_masks for record in history) > 0.01) == offsets
        assert all(np.any(rho) == offsets for rhos in learner.offsets for rho in rhos)
    assert not np.array_equal(learner.offsets[0][0], learner.offsets[1][0])


@pytest.mark.parametrize("mask_kl", ["bernoulli", "concrete"])
def test_the_masks_divergence_counts_once_an_example(mask_kl):
    """For log-odds 1 beside 0: the divergence of one mask, times units, times examples, whatever the minibatch."""
    model = StochasticUnits(2, (3,), 2, "relu", MaskModel(mask_kl))
    vector = np.zeros(model.layout.size)
    layer = model.layers(vector)[0]
    layer["rho"][...] = 1.0
    layer["raw_a"][...] = layer["raw_b"][...] = inverse_softplus(1.0)
    half = [(np.ones(3), np.ones(3))]
    prior = Prior(np.zeros(17), np.zeros(17), np.ones(1))
    expected = {"bernoulli": np.log(2) - 0.5822, "concrete": 0.164}[mask_kl] * 3 * 70
    for batch in (2, 5):
        noise = model.unit_noise(Key(0, 0, 0, 0), 1, batch, NUMPY, float)
        tiny = np.array([[0.5, 1e-12, 1e-12]])               # v = 1 - u: pi is one half for every unit
        parts, _ = model.unit_elbo(vector, prior, half, np.zeros((batch, 2)),
                                   np.zeros(batch, int), noise._replace(stick=(tiny,)), 0.5, 70, NUMPY)
        assert parts.kl_masks == pytest.approx(expected, rel=1e-3)


def test_predictions_average_over_binary_masks():
    """A network that says class 1 where its only unit is on: the probability is the unit's, (alpha / (alpha + 1))."""
    model = StochasticUnits(1, (1,), 2)
    vector = model.initial(np.random.default_rng(0), [3.0], 1e-9, 1e-9, np.float64)
    layer, head = model.layers(vector)
    layer["bias.mu"][...] = 1.0                              # active for sure, at 1
    head["weight.mu"][...], head["bias.mu"][...] = [[-200.0, 200.0]], [100.0, -100.0]
    samples = 4000
    found = model.predict_units(vector, np.ones((3, 1)), samples, Key(0, 0, 0, 0), NUMPY)
    np.testing.assert_allclose(found.probabilities[:, 1], 0.75, atol=4 * np.sqrt(0.75 * 0.25 / samples))
    np.testing.assert_allclose(found.mutual_information, found.entropy, rtol=1e-6)    # each sample is sure


def test_no_examples_have_no_predictions(make_task):
    learner = learner_of(epochs=1)
    learner.learn(make_task(0), progress=False)
    found = learner.predict_classes(np.zeros((0, 6)), 0)
    assert found.probabilities.shape == (0, 2) and found.entropy.shape == found.mutual_information.shape == (0,)


def test_one_draw_of_the_sticks_serves_all_examples():
    """With one sample the share of examples whose unit is on is that sample's probability, not the mean's, 1 / 3."""
    model = StochasticUnits(1, (1,), 2)
    vector = model.initial(np.random.default_rng(0), [0.5], 1e-9, 1e-9, np.float64)
    layer, head = model.layers(vector)
    layer["bias.mu"][...] = 1.0
    head["weight.mu"][...], head["bias.mu"][...] = [[-200.0, 200.0]], [100.0, -100.0]
    key, x = Key(2, 0, 0, 0), np.ones((400, 1))
    (u,), = model.unit_noise(key, 1, 1, NUMPY, float).stick
    pi, error = (1 - u[0]) ** 2, 4 * np.sqrt(0.25 / len(x))
    assert abs(pi - 1 / 3) > 2 * error, "choose another key"
    for chunk in (1, 50, 1000):
        found = model.predict_units(vector, x, 1, key, NUMPY, chunk=chunk)
        assert abs(found.probabilities[:, 1].mean() - pi) < error


def test_sticks_that_round_to_one_leave_everything_finite():
    model = StochasticUnits(2, (3,), 2)
    vector = model.initial(np.random.default_rng(0), [30.0], 0.1, 0.1)
    model.layers(vector)[0]["raw_b"][...] = -5.0             # b = 0.007: e^s underflows in float32
    prior = Prior(np.zeros(17, np.float32), np.zeros(17, np.float32), np.ones(1))
    sticks_prior = [(np.full(3, 30, np.float32), np.full(3, 2, np.float32))]
    noise = model.unit_noise(Key(0, 0, 0, 0), 2, 5, NUMPY)
    parts, cache = model.unit_elbo(vector, prior, sticks_prior, np.ones((5, 2), np.float32), np.zeros(5, int), noise,
                                   0.5, 70, NUMPY)
    gradient = model.unit_elbo_vjp(Elbo(-1.0, 1.0, 1.0, 1.0), cache)
    assert np.isfinite(parts).all() and np.isfinite(gradient).all() and gradient.dtype == np.float32


@pytest.mark.parametrize("changes", [{}, {"offsets": True, "samples": 2, "mask_kl": "concrete"}, {"hidden": (10, 9)}])
def test_it_learns_and_keeps(make_task, changes):
    *_, last = learn_stream(learner_of(epochs=10, **changes), [make_task(t) for t in range(2)], progress=False)
    assert last.accuracy[1].min() > 0.9
    assert {record.phase for record in last.history} == {"ibp_vcl"}


@pytest.mark.parametrize("changes", [{}, {"offsets": True, "single_head": True}])
def test_it_is_saved_and_goes_on_bit_for_bit(make_task, tmp_path, changes):
    whole = learner_of(**changes)
    phases = [record.phase for record in whole.learn(make_task(0), progress=False)]
    assert phases == ["likelihood"] * 3 + ["ibp_vcl"] * 4
    whole.save(tmp_path / "ibp_vcl.npz")
    copy = IBPVCL.load(tmp_path / "ibp_vcl.npz")
    for learner in (whole, copy):
        learner.learn(make_task(1), progress=False)
    same(copy, whole)
    x = make_task(0).x_test
    np.testing.assert_array_equal(copy.predict(x, 0), whole.predict(x, 0))
    np.testing.assert_allclose(copy.predict(x, 1).sum(axis=1), 1, rtol=1e-5)
    if changes:                                              # one head, one network: tasks are predicted alike
        np.testing.assert_array_equal(copy.predict(x, 0), copy.predict(x, 1))
    fresh = learner_of()
    fresh.load_state(fresh.state())
    assert fresh.heads == [] and fresh.inputs is None


def test_both_backends_learn_the_same(make_task):
    first, second = (IBPVCL(SMALL, 1, name) for name in ("numpy", "numba"))
    for learner in (first, second):
        learner.learn(make_task(0), progress=False)
    for name, value in first.state().items():
        np.testing.assert_allclose(second.state()[name], value, rtol=2e-2, atol=2e-3, err_msg=name)


def test_it_refuses_what_it_cannot_learn(make_task):
    learner = learner_of(epochs=0, single_head=True)
    with pytest.raises(ValueError, match=r"ibp_vcl\.predict: unknown task_id 0"):
        learner.predict(np.zeros((1, 6)), 0)
    with pytest.raises(TypeError, match="RegressionTask"):
        learner.learn(RegressionTask("r", [[0.0]], [[0.0]], [[1.0]], [[1.0]]))
    learner.learn(make_task(0), progress=False)
    with pytest.raises(ValueError, match="5 inputs, the network 6"):
        learner.learn(make_task(1, inputs=5))
    with pytest.raises(ValueError, match="3 outputs, the one head 2"):
        learner.learn(make_task(1, classes=3))
    for wrong in ({"hidden": ()}, {"samples": 0}, {"mask_rate": -1.0}, {"alpha": 0.0}, {"tau_end": 0.0},
                  {"mask_kl": "other"}):
        with pytest.raises(ValueError, match=f"ibp_vcl: {next(iter(wrong))} must"):
            Settings(**wrong)
    assert method("ibp_vcl").learner is IBPVCL
