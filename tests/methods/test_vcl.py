"""VCL: NPBCL with an all-ones mask, Bayes by Backprop on one task, and the learner's interface."""

import dataclasses

import numpy as np
import pytest

from ibpcl.continual import coresets
from ibpcl.continual.loop import learn_stream
from ibpcl.errors import TrainingError
from ibpcl.inference import objectives
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data
from ibpcl.methods.npbcl import NPBCL, masked_prior
from ibpcl.methods.npbcl import Settings as NPBCLSettings
from ibpcl.methods.sequential import accept, start
from ibpcl.methods.vcl import VCL, Settings, last_posterior
from ibpcl.models.elbo import Elbo, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Drawn
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked
from ibpcl.models.network import classifier
from ibpcl.models.plain import network as plain_network
from ibpcl.noise import Key, generator
from ibpcl.primitives import gaussian

NUMPY = backend("numpy")
SMALL = Settings(
    hidden=(8,), epochs=4, likelihood_epochs=3, batch=20, rate=0.02, prediction_samples=10
)


def learner_of(seed=1, **changes):
    return VCL(dataclasses.replace(SMALL, **changes), seed, "numpy")


def random_model(seed=0, examples=7):
    rng = np.random.default_rng(seed)
    model = classifier(6, (5, 4), Softmax(), 3, Drawn, head=Drawn)
    vector = rng.normal(scale=0.5, size=model.layout.size)
    count = model.layout.block("mu").stop
    prior = Prior(rng.normal(size=count), rng.normal(scale=0.3, size=count), {})
    return model, vector, prior, rng.normal(size=(examples, 6)), rng.integers(0, 3, examples)


def test_npbcl_with_all_masks_on_is_vcl_when_weights_are_sampled():
    """The whole relaxed ELBO, masks saturated at one: same likelihood, divergence of the weights,
    and gradients.
    """
    plain, gaussians, prior, x, y = random_model()
    model = classifier(6, (5, 4), Softmax(), 3, Masked)
    vector = np.zeros(model.layout.size)
    vector[: len(gaussians)] = gaussians
    vector[model.layout.block("rho")] = 200.0  # sigmoid(200) is 1
    vector[model.layout.block("sticks")] = 3.0
    # NPBCL draws the head's outputs, not weights
    for own in (vector, gaussians):
        for side in ("weight", "bias"):
            (model if own is vector else plain).layout.view(own, f"head.{side}.log_sigma")[
                ...
            ] = -60.0
    noise = model.noise(Key(0, 0, 0, 0), 2, len(x), NUMPY, np.float64)
    weights = {
        name: {part: noise[name][part] for part in ("weight", "bias")} for name in model.masked
    }
    weights["head"] = {"weight": np.zeros((2, 4, 3)), "bias": np.zeros((2, 3))}
    sticks = dict.fromkeys(model.masked, 3.0)
    masked, masked_cache = elbo(
        model, vector, prior._replace(sticks=sticks), x, y, noise, 70, NUMPY, None, 0.5
    )
    drawn, drawn_cache = elbo(plain, gaussians, prior, x, y, weights, 70, NUMPY, {})
    np.testing.assert_allclose(masked[:2], drawn[:2], rtol=1e-9)
    down = Elbo(-1.0, 1.0)
    np.testing.assert_allclose(
        elbo_vjp(down, masked_cache)[: len(gaussians)],
        elbo_vjp(down, drawn_cache),
        rtol=1e-9,
        atol=1e-9,
    )


def context_of(task, **settings):
    """Return the context of NPBCL's steps before its first task, with eight hidden units."""
    context = NPBCL(NPBCLSettings(hidden=(8,), **settings), 1, "numpy").context
    return dataclasses.replace(context, state=context.model.accept(task, context.state)[1])


def test_npbcls_own_objective_with_all_masks_on_is_vcls(make_task):
    """The prior of the first task, all parts of the ELBO, and its gradient are the same, bit by
    bit.
    """
    task = make_task(0)
    vcl = learner_of(likelihood_epochs=0, epochs=0)
    context = context_of(
        task, epochs=0, finetune_epochs=0, prior_sigma=1.0, unused_prior="gaussian", alpha=4.0
    )
    other = accept(vcl.context, task)
    ours = context.next_network(2)
    theirs = other.next_network(2)
    prior = last_posterior(other, theirs)
    for a, b in zip(masked_prior(context, ours)[:2], prior[:2], strict=True):
        np.testing.assert_array_equal(a, b)
    vector = start(other, theirs, task)
    noise = ours.noise(Key(1, 0, 0, 0), 2, 120, NUMPY, relaxed=False)
    masked = np.concatenate([vector, np.zeros(ours.layout.size - len(vector), np.float32)])
    found = [
        elbo(model, own, prior, task.x_train, task.y_train, noise, 120, NUMPY, masks)
        for model, own, prior, masks in (
            (ours, masked, masked_prior(context, ours), {"hidden0": np.ones((6, 8), bool)}),
            (theirs, vector, prior, {}),
        )
    ]
    assert found[0][0] == found[1][0]
    ours, theirs = (elbo_vjp(Elbo(-1.0, 1.0), cache) for _, cache in found)
    np.testing.assert_array_equal(ours[: len(theirs)], theirs)


def test_npbcls_finetuning_with_all_masks_on_is_vcls_training(make_task):
    task = make_task(0)
    learner = learner_of(likelihood_epochs=0)
    learner.learn(task, progress=False)
    fresh = accept(learner_of().context, task)
    plan = Fit("finetune", 4, 20, 1, fresh.key("train", 0), NUMPY, False)
    context = context_of(task, prior_sigma=1.0)
    network = context.next_network(2)
    begin = start(fresh, fresh.next_network(2), task)
    begin = np.concatenate([begin, np.zeros(network.layout.size - len(begin), np.float32)])
    prior = last_posterior(fresh, fresh.next_network(2))
    masks = {"hidden0": np.ones((6, 8), bool)}
    _, vector, _ = objectives.train(
        network,
        begin,
        prior,
        Data(task.x_train, task.y_train),
        plan,
        dict.fromkeys(("mu", "log_sigma"), SMALL.rate),
        context.model.weighted(network, {}),
        masks,
    )
    _, expected = learner.assemble(0)
    np.testing.assert_array_equal(vector[: len(expected)], expected)


def test_one_task_is_bayes_by_backprop():
    """Blundell et al. (2015), Sec. 3.2: the gradient of a plain network at sampled weights, plus
    the prior's pull.
    """
    model, vector, _, x, y = random_model(3)
    learner = VCL(Settings(hidden=(5, 4), prior_sigma=0.7), 0, "numpy")
    prior = last_posterior(learner.context, model)
    prior = prior._replace(mu=prior.mu.astype(float), log_sigma=prior.log_sigma.astype(float))
    noise = model.noise(Key(0, 0, 0, 0), 1, len(x), NUMPY, np.float64)
    parts, cache = elbo(model, vector, prior, x, y, noise, len(x), NUMPY, {})
    layers, gradient = (
        model.layout.layers(own) for own in (vector, elbo_vjp(Elbo(-1.0, 1.0), cache))
    )

    plain = plain_network(6, (5, 4), 3)
    flat = []
    for name, layer in layers.items():
        for kind, one in noise[name].items():
            flat.append((layer[f"{kind}.mu"] + np.exp(layer[f"{kind}.log_sigma"]) * one[0]).ravel())
    total, plain_cache = plain.log_likelihood(np.concatenate(flat), x, y, NUMPY)
    assert parts.log_likelihood == pytest.approx(total, rel=1e-12)
    block = model.layout.block
    divergence, _ = gaussian.kl(
        vector[block("mu")], vector[block("log_sigma")], 0.0, np.log(np.float32(0.7))
    )
    assert parts.kl_weights == pytest.approx(divergence, rel=1e-6)
    slopes = plain.weights(plain.log_likelihood_vjp(-1.0, plain_cache))
    for name, slope in zip(layers, slopes, strict=True):
        layer = layers[name]
        found = gradient[name]
        for kind, one, dw in zip(("weight", "bias"), noise[name].values(), slope, strict=True):
            mu = layer[f"{kind}.mu"]
            sigma = np.exp(layer[f"{kind}.log_sigma"])
            np.testing.assert_allclose(found[f"{kind}.mu"], dw + mu / 0.49, rtol=1e-6)
            np.testing.assert_allclose(
                found[f"{kind}.log_sigma"],
                dw * sigma * one[0] + sigma**2 / 0.49 - 1,
                rtol=1e-6,
                atol=1e-8,
            )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"local": False, "samples": 2},
        {"coreset": "k_center", "coreset_size": 10, "coreset_epochs": 5},
    ],
)
def test_it_learns_and_keeps(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=8, **changes), [make_task(t) for t in range(2)], progress=False
    )
    assert last.accuracy[1].min() > 0.9


def test_the_posterior_is_the_next_prior(make_task):
    learner = learner_of()
    learner.learn(make_task(0), progress=False)
    model = learner.context.next_network(2)
    prior = last_posterior(learner.context, model)
    vector = start(learner.context, model, make_task(1))
    shared = (6 + 1) * 8
    for block, values in (("mu", prior.mu), ("log_sigma", prior.log_sigma)):
        np.testing.assert_array_equal(values[:shared], vector[model.layout.block(block)][:shared])
    np.testing.assert_array_equal(prior.mu[shared:], 0)
    np.testing.assert_array_equal(prior.log_sigma[shared:], 0)


def test_a_coreset_is_taken_out_of_the_training_data(make_task):
    learner = learner_of(coreset="random", coreset_size=10, epochs=0, likelihood_epochs=0)
    task = make_task(0)
    learner.learn(task, progress=False)
    data, _ = coresets.take_out(
        "vcl", task, "random", 10, generator(learner_of().context.key("coreset"))
    )
    coreset = learner.knowledge.memory["x0"]
    assert (len(data.x), len(coreset)) == (110, 10)
    rows = np.concatenate([data.x, coreset])
    np.testing.assert_array_equal(np.sort(rows, axis=0), np.sort(task.x_train, axis=0))
    with pytest.raises(TrainingError, match="takes all 120 examples"):
        learner_of(coreset="random", coreset_size=120).learn(task)
