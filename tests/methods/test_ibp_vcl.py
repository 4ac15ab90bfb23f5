"""IBP-VCL: VCL with all masks at one, Bayes' rule for sticks and weights, and the interface."""

import dataclasses

import numpy as np
import pytest

from ibpcl.continual.loop import learn_stream
from ibpcl.inference.backend import backend
from ibpcl.methods import vcl as vcl_method
from ibpcl.methods.ibp_vcl import IBPVCL, Settings
from ibpcl.methods.sequential import accept
from ibpcl.methods.sequential import start as start_of
from ibpcl.methods.vcl import last_posterior
from ibpcl.models import starts
from ibpcl.models.elbo import Elbo, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Gaussian
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.models.prediction import predict
from ibpcl.models.units import Units
from ibpcl.noise import Key
from ibpcl.numerics import inverse_softplus, softplus
from ibpcl.primitives import concrete, kumaraswamy, stick_divergence

NUMPY = backend("numpy")
COMMON = {
    "hidden": (8,),
    "epochs": 4,
    "likelihood_epochs": 3,
    "batch": 20,
    "rate": 0.02,
    "prediction_samples": 10,
}
SMALL = Settings(**COMMON, alpha=20.0, mask_rate=0.05)


def learner_of(seed=1, **changes):
    return IBPVCL(dataclasses.replace(SMALL, **changes), seed, "numpy")


def units(inputs, hidden, outputs, **options):
    return classifier(inputs, hidden, Softmax(), outputs, Units, **options)


def start(model, alpha, sigma=1e-9, spread=1e-9, dtype=np.float64):
    vector = model.initial(starts.normal(np.random.default_rng(0), spread), sigma, dtype=dtype)
    for name, view in model.layout.views(vector).items():
        if ".raw" in name:
            view[...] = inverse_softplus(alpha if name.endswith("a") else 1.0)
    return vector


def all_on(logistic, logit_theta, tau):
    """Masks at one, whatever the noise: the limit of large log-odds."""
    ones = np.ones_like(logistic)
    return ones, (ones, np.zeros_like(ones), tau)


def test_with_all_masks_at_one_the_elbo_is_vcls():
    """The same noise, the same likelihood, divergence and gradient of the weights, bit for bit."""
    rng = np.random.default_rng(0)
    model = units(6, (5, 4), 3)
    plain = classifier(6, (5, 4), Softmax(), 3, Gaussian)
    vector = rng.normal(scale=0.5, size=model.layout.size)
    count = plain.layout.size
    # sigmoid(200) is 1
    vector[model.layout.block("rho")] = 200.0
    vector[model.layout.block("sticks")] = 3.0
    first = {f"hidden{i}": (np.full(width, 3.0), np.ones(width)) for i, width in enumerate((5, 4))}
    prior = Prior(rng.normal(size=count // 2), rng.normal(scale=0.3, size=count // 2), first)
    x = rng.normal(size=(7, 6))
    y = rng.integers(0, 3, 7)
    noise = model.noise(Key(0, 0, 0, 0), 2, 7, NUMPY, float)
    eps = {name: {"eps": drawn["eps"]} for name, drawn in noise.items()}
    masked, cache = elbo(model, vector, prior, x, y, noise, 70, NUMPY, None, 0.5)
    expected, plain_cache = elbo(plain, vector[:count], prior, x, y, eps, 70, NUMPY, {})
    assert masked[:2] == expected[:2]
    down = Elbo(-1.0, 1.0)
    np.testing.assert_array_equal(elbo_vjp(down, cache)[:count], elbo_vjp(down, plain_cache))


def test_training_with_all_masks_at_one_is_vcl(make_task, monkeypatch):
    """Two tasks, maximum-likelihood start and all, bit for bit."""
    monkeypatch.setattr(concrete, "sample", all_on)
    ours = learner_of()
    theirs = vcl_method.VCL(vcl_method.Settings(**COMMON), 1, "numpy")
    for t in range(2):
        for learner in (ours, theirs):
            learner.learn(make_task(t), progress=False)
    for t in range(2):
        (network, vector), (plain, expected) = ours.assemble(t), theirs.assemble(t)
        for name, value in plain.layout.views(expected).items():
            np.testing.assert_array_equal(network.layout.view(vector, name), value, err_msg=name)


def test_the_first_prior_of_a_stick_is_the_buffets_and_the_next_one_the_posterior(make_task):
    learner = learner_of()
    context = accept(learner.context, make_task(0))
    model = context.next_network(2)
    a = np.full(8, 3.0)
    b = np.full(8, 2.0)
    divergence, _ = stick_divergence.kl(a, b, *last_posterior(context, model).sticks["hidden0"])
    assert divergence == pytest.approx(kumaraswamy.kl_to_beta(a, b, 20.0)[0], rel=1e-6)
    learner.learn(make_task(0), progress=False)
    layer = model.layout.layers(start_of(learner.context, model, make_task(1)))["hidden0"]
    moved = np.abs(layer["raw_a"] - inverse_softplus(20.0)) + np.abs(
        layer["raw_b"] - inverse_softplus(1.0)
    )
    assert moved.min() > 0.001
    for prior, raw in zip(
        last_posterior(learner.context, model).sticks["hidden0"], ("raw_a", "raw_b"), strict=True
    ):
        np.testing.assert_allclose(prior, softplus(layer[raw]), rtol=1e-6)
    history = learner.learn(make_task(1), progress=False)
    assert 0 <= history[0].kl_sticks < 0.5  # it begins at 0: q is its own prior
    prior = last_posterior(learner.context, model)
    np.testing.assert_array_equal(prior.mu[: 7 * 8], learner.knowledge.shared[: 7 * 8])


def test_masks_drawn_as_the_sticks_say_cost_nothing_and_offsets_do(make_task):
    for offsets in (False, True):
        learner = learner_of(offsets=offsets)
        history = [
            record
            for t in range(2)
            for record in learner.learn(make_task(t), progress=False)
            if record.phase == "ibp_vcl"
        ]
        # KL divergence of each step; 0 up to rounding
        assert (max(record.kl_masks for record in history) > 0.01) == offsets
        models = [learner.assemble(t) for t in range(2)]
        first, second = (
            network.layout.layers(vector)["hidden0"]["rho"] for network, vector in models
        )
        assert np.any(first) == np.any(second) == offsets
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("mask_kl", ["bernoulli", "concrete"])
def test_the_masks_divergence_counts_once_an_example(mask_kl):
    """For log-odds 1 against 0: the KL divergence of one mask, times units, times examples."""
    model = units(2, (3,), 2, kl=mask_kl)
    vector = np.zeros(model.layout.size)
    layer = model.layout.layers(vector)["hidden0"]
    layer["rho"][...] = 1.0
    layer["raw_a"][...] = layer["raw_b"][...] = inverse_softplus(1.0)
    prior = Prior(np.zeros(17), np.zeros(17), {"hidden0": (np.ones(3), np.ones(3))})
    expected = {"bernoulli": np.log(2) - 0.5822, "concrete": 0.164}[mask_kl] * 3 * 70
    for batch in (2, 5):
        noise = model.noise(Key(0, 0, 0, 0), 1, batch, NUMPY, float)
        # v = 1 - u: pi is one half for every unit
        tiny = np.array([[0.5, 1e-12, 1e-12]])
        noise["hidden0"] = noise["hidden0"] | {"stick": tiny}
        parts, _ = elbo(
            model,
            vector,
            prior,
            np.zeros((batch, 2)),
            np.zeros(batch, int),
            noise,
            70,
            NUMPY,
            None,
            0.5,
        )
        assert parts.kl_masks == pytest.approx(expected, rel=1e-3)


def test_predictions_average_over_binary_masks():
    """The network predicts class 1 if its only unit is on, with the probability of that unit."""
    model = units(1, (1,), 2)
    vector = start(model, 3.0)
    layer, head = model.layout.layers(vector).values()
    layer["bias.mu"][...] = 1.0  # active for sure, at 1
    head["weight.mu"][...] = [[-200.0, 200.0]]
    head["bias.mu"][...] = [100.0, -100.0]
    samples = 4000
    found = predict(model, vector, None, np.ones((3, 1)), samples, Key(0, 0, 0, 0), NUMPY)
    np.testing.assert_allclose(
        found.probabilities[:, 1], 0.75, atol=4 * np.sqrt(0.75 * 0.25 / samples)
    )
    # each sample is sure
    np.testing.assert_allclose(found.mutual_information, found.entropy, rtol=1e-6)


def test_no_examples_have_no_predictions(make_task):
    learner = learner_of(epochs=1)
    learner.learn(make_task(0), progress=False)
    found = learner.predict_classes(np.zeros((0, 6)), 0)
    assert found.probabilities.shape == (
        0,
        2,
    ) and found.entropy.shape == found.mutual_information.shape == (0,)


def test_one_draw_of_the_sticks_serves_all_examples():
    """With one sample the share of examples whose unit is on is that sample's probability, not the
    mean's, 1 / 3.
    """
    model = units(1, (1,), 2)
    vector = start(model, 0.5)
    layer, head = model.layout.layers(vector).values()
    layer["bias.mu"][...] = 1.0
    head["weight.mu"][...] = [[-200.0, 200.0]]
    head["bias.mu"][...] = [100.0, -100.0]
    key = Key(2, 0, 0, 0)
    x = np.ones((400, 1))
    (u,) = model.noise(key, 1, 1, NUMPY, float)["hidden0"]["stick"]
    pi = (1 - u[0]) ** 2
    error = 4 * np.sqrt(0.25 / len(x))
    assert abs(pi - 1 / 3) > 2 * error, "choose another key"
    for chunk in (1, 50, 1000):
        found = predict(model, vector, None, x, 1, key, NUMPY, chunk=chunk)
        assert abs(found.probabilities[:, 1].mean() - pi) < error


def test_sticks_that_round_to_one_leave_everything_finite():
    model = units(2, (3,), 2)
    vector = start(model, 30.0, 0.1, 0.1, np.float32)
    model.layout.view(vector, "hidden0.raw_b")[...] = -5.0  # b = 0.007: e^s underflows in float32
    prior = Prior(
        np.zeros(17, np.float32),
        np.zeros(17, np.float32),
        {"hidden0": (np.full(3, 30, np.float32), np.full(3, 2, np.float32))},
    )
    noise = model.noise(Key(0, 0, 0, 0), 2, 5, NUMPY)
    parts, cache = elbo(
        model,
        vector,
        prior,
        np.ones((5, 2), np.float32),
        np.zeros(5, int),
        noise,
        70,
        NUMPY,
        None,
        0.5,
    )
    gradient = elbo_vjp(Elbo(-1.0, 1.0, 1.0, 1.0), cache)
    assert np.isfinite(parts).all() and np.isfinite(gradient).all() and gradient.dtype == np.float32


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, marks=pytest.mark.slow(reason="the others do this and more")),
        {"offsets": True, "samples": 2, "mask_kl": "concrete"},
        {"hidden": (10, 9)},
    ],
)
def test_it_learns_and_keeps(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=10, **changes), [make_task(t) for t in range(2)], progress=False
    )
    assert last.accuracy[1].min() > 0.9
    assert {record.phase for record in last.history} == {"ibp_vcl"}


def test_both_backends_learn_the_same(make_task):
    first, second = (IBPVCL(SMALL, 1, name) for name in ("numpy", "numba"))
    for learner in (first, second):
        learner.learn(make_task(0), progress=False)
    for name, value in first.state().items():
        np.testing.assert_allclose(second.state()[name], value, rtol=2e-2, atol=2e-3, err_msg=name)
