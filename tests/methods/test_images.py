"""Methods on images without labels: exact limits, shared parameters, and saved learners."""

import numpy as np
import pytest

from ibpcl.continual import fisher
from ibpcl.inference import objectives
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import GENERATIVE, method
from ibpcl.methods.sequential import accept, start
from ibpcl.methods.vcl import last_posterior
from ibpcl.models.elbo import Elbo, Prior
from ibpcl.models.likelihoods import Bernoulli
from ibpcl.models.network import autoencoder
from ibpcl.noise import generator

NAMES = [name for name in GENERATIVE if name != "vae_npbcl"]
SMALL = {"hidden": (9, 8), "latent": 3, "epochs": 6, "batch": 32, "rate": 0.01}


def learn(name, tasks, make_images, seed=1, **changes):
    found = method(name)
    learner = found.learner(found.settings(**{**SMALL, **changes}), seed)
    for t in range(tasks):
        learner.learn(make_images(t), progress=False)
    return learner


def same(one, other, only=""):
    for name, value in one.state().items():
        if name.startswith(only):
            np.testing.assert_array_equal(value, other.state()[name], err_msg=name)


def layers(learner, task_id):
    network, vector = learner.assemble(task_id)
    return network.layout.layers(vector)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("vae_ewc", {"weight": 0.0}),
        ("vae_ewc", {"weight": 0.0, "variant": "separate"}),
        ("vae_si", {"weight": 0.0}),
        ("vae_laplace", {"weight": 0.0}),
        ("vae_imm", {"transfer": 0.0}),
    ],
)
def test_without_its_weight_a_method_trains_as_naive_training_does(name, changes, make_images):
    same(learn("vae_naive", 3, make_images), learn(name, 3, make_images, **changes))


def test_with_one_task_all_penalties_are_naive_training(make_images):
    for name in ("vae_ewc", "vae_si"):
        same(learn("vae_naive", 1, make_images), learn(name, 1, make_images, weight=1e6), "shared")


@pytest.mark.parametrize(
    ("name", "weights"),
    [("vae_ewc", (1e4, 1.0)), ("vae_si", (1e4, 10.0)), ("vae_laplace", (10.0, 0.1))],
)
def test_a_heavy_weight_holds_what_mattered(name, weights, make_images):
    def drift(weight):
        first, second = (learn(name, tasks, make_images, weight=weight) for tasks in (1, 2))
        return (
            first.knowledge.memory[
                {"vae_ewc": "fisher", "vae_si": "importance", "vae_laplace": "precision"}[name]
            ]
            * (second.knowledge.shared - first.knowledge.shared) ** 2
        ).sum()

    heavy, light = weights
    assert drift(heavy) < drift(light) < drift(0.0)


def test_the_online_sum_decays(make_images):
    """The information of the first task counts gamma times; with 0, only the second one remains."""

    def information(decay):
        return learn("vae_ewc", 2, make_images, weight=0.0, decay=decay).knowledge.memory["fisher"]

    first = learn("vae_ewc", 1, make_images, weight=0.0).knowledge.memory["fisher"]
    assert first.max() > 0
    np.testing.assert_allclose(
        information(0.4), information(0.0) + np.float32(0.4) * first, rtol=1e-5
    )
    np.testing.assert_allclose(information(1.0), information(0.0) + first, rtol=1e-5)


def test_merged_decoders_are_the_mean_of_the_tasks(make_images):
    learner = learn("vae_imm", 2, make_images, merge="mean")
    merged = (learner.knowledge.memory["solution0"] + learner.knowledge.memory["solution1"]) / 2
    for t in range(2):
        network, vector = learner.assemble(t)
        np.testing.assert_allclose(vector[learner.context.places(network)], merged, rtol=1e-6)


def test_laplace_adds_the_information_of_all_images(make_images):
    learner = learn("vae_laplace", 1, make_images, prior_sigma=0.5, fisher_examples=None)
    network, vector = learner.assemble(0)
    x = make_images(0).x_train
    rng = generator(learner.context.key("fisher", 0))
    found = fisher.diagonal(network, vector, x, x, "sampled", rng)[learner.context.places(network)]
    np.testing.assert_allclose(learner.knowledge.memory["precision"], 4 + len(x) * found, rtol=1e-6)


def test_a_prediction_is_the_reconstruction(make_images):
    learner = learn("vae_naive", 1, make_images)
    x = make_images(0).x_test
    model = learner.latent_model(0)
    np.testing.assert_array_equal(learner.predict(x, 0), model.decode(model.encode(x)[0]))
    with pytest.raises(ValueError, match=r"vae_naive.predict: x must have shape \(N, 25\)"):
        learner.predict(x[:, 1:], 0)


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_vcl_with_one_task_is_bayes_by_backprop(make_images, weight):
    """The same ELBO, fitted by hand: a Gaussian decoder end under N(0, 1), plain layers before
    it.
    """
    task = make_images(0)
    found = method("vae_vcl")
    learner = found.learner(found.settings(**SMALL, prior_sigma=0.7, weight_kl_weight=weight), 1)
    model = autoencoder(
        25, (9, 8), 3, Bernoulli(), ("plain",) * 5 + ("gaussian",) * 2, "leaky_relu"
    )
    context = accept(learner.context, task)
    begin = start(context, context.next_network(25), task)
    begin[model.layout.block("log_sigma")] = np.log(learner.settings.start_sigma)
    key = learner.context.key("train")
    count = len(begin[model.layout.block("mu")])
    prior = Prior(np.zeros(count, np.float32), np.full(count, np.log(0.7), np.float32), {})
    plan = Fit("fit", 6, 32, 1, key, backend(), False, rate_end=0.1)
    _, vector, _ = objectives.train(
        model,
        begin,
        prior,
        Data(task.x_train, task.x_train),
        plan,
        {"plain": 0.01, "mu": 0.01, "log_sigma": 0.01},
        Weighted(Elbo(1.0, -weight, kl_latent=-1.0), learner.settings.warm_up),
        {},
    )
    learner.learn(task, progress=False)
    np.testing.assert_array_equal(learner.assemble(0)[1], vector)


def test_vcl_s_prior_is_its_last_posterior_and_scales_start_again(make_images):
    learner = learn("vae_vcl", 2, make_images)
    model = learner.context.next_network(25)
    prior = last_posterior(learner.context, model)
    other = learn("vae_vcl", 0, make_images, epochs=0)
    other.load_state(learner.state())
    other.learn(make_images(2), progress=False)
    begin = model.layout.views(other.assemble(2)[1])
    last = layers(learner, 1)
    np.testing.assert_array_equal(
        prior.mu,
        np.concatenate(
            [
                last[name][f"{kind}.mu"].ravel()
                for name in ("decoder1", "pixels")
                for kind in ("weight", "bias")
            ]
        ),
    )
    np.testing.assert_array_equal(begin["pixels.weight.mu"], last["pixels"]["weight.mu"])
    np.testing.assert_allclose(begin["pixels.weight.log_sigma"], -6, rtol=1e-6)
    assert (last["pixels"]["weight.log_sigma"] != begin["pixels.weight.log_sigma"]).any()


@pytest.mark.parametrize("name", NAMES)
def test_encoders_and_first_layers_are_each_task_s_own(name, make_images):
    for changes, shared in (
        ({}, {"decoder1", "pixels"}),
        ({"shared_layers": 3}, {"decoder0", "decoder1", "pixels"}),
    ):
        one, two = (learn(name, tasks, make_images, **changes) for tasks in (1, 2))
        np.testing.assert_array_equal(one.knowledge.own[0], two.knowledge.own[0])
        before = layers(one, 0)
        after = layers(two, 0)
        assert shared == {
            layer
            for layer, parts in before.items()
            if any(not np.array_equal(value, after[layer][part]) for part, value in parts.items())
        }


@pytest.mark.parametrize("name", NAMES)
def test_it_repeats_itself(name, make_images):
    learner = learn(name, 2, make_images)
    same(learner, learn(name, 2, make_images))
    x = make_images(0).x_test
    model = learner.latent_model(0)
    np.testing.assert_array_equal(model.encode(x), learner.latent_model(0).encode(x))
    assert model.decode(model.encode(x)[0]).shape == x.shape


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("vae_ewc", {"weight": -1.0}),
        ("vae_ewc", {"fisher": "exact"}),
        ("vae_ewc", {"variant": "one"}),
        ("vae_ewc", {"fisher_examples": 0}),
        ("vae_vcl", {"prior_sigma": 0.0}),
        ("vae_vcl", {"start_sigma": -1.0}),
    ],
)
def test_a_method_s_own_settings_are_checked(name, change):
    with pytest.raises(ValueError, match=f"{name}: {next(iter(change))}"):
        method(name).settings(**change)
