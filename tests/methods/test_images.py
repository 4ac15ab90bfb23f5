"""The methods that the autoencoder with masks is compared with: exact limits, what is shared, and going on."""

import dataclasses

import numpy as np
import pytest

from ibpcl.continual.task import Task
from ibpcl.inference import objectives
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import method
from ibpcl.models.elbo import Elbo, Prior
from ibpcl.models.likelihoods import Bernoulli
from ibpcl.models.network import autoencoder

NAMES = ("vae_naive", "vae_ewc", "vae_vcl")
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


def test_elastic_weights_without_weight_are_naive(make_images):
    naive = learn("vae_naive", 3, make_images)
    for variant in ("online", "separate"):
        ewc = learn("vae_ewc", 3, make_images, weight=0.0, variant=variant)
        for name, value in naive.state().items():
            np.testing.assert_array_equal(value, ewc.state()[name], err_msg=name)


def test_with_one_task_all_penalties_are_naive_training(make_images):
    same(learn("vae_naive", 1, make_images), learn("vae_ewc", 1, make_images, weight=1e6), "shared")


def test_a_heavy_weight_holds_the_shared_layers(make_images):
    def drift(**changes):
        first, second = learn("vae_ewc", 1, make_images, **changes), learn("vae_ewc", 2, make_images, **changes)
        return np.abs(second.shared - first.shared).sum()

    assert drift(weight=1e4) < drift(weight=1.0) < drift(weight=0.0)


def test_vcl_with_one_task_is_bayes_by_backprop(make_images):
    """The same ELBO, fitted by hand: a Gaussian decoder end under N(0, 1), plain layers before it."""
    task, found = make_images(0), method("vae_vcl")
    learner = found.learner(found.settings(**SMALL, prior_sigma=0.7), 1)
    model = autoencoder(25, (9, 8), 3, Bernoulli(), ("plain",) * 5 + ("gaussian",) * 2, "leaky_relu")
    learner.inputs = 25
    start, key = learner.begin(task), learner.key("train")
    count = len(start[model.layout.block("mu")])
    prior = Prior(np.zeros(count, np.float32), np.full(count, np.log(0.7), np.float32), {})
    how = Fit("fit", 6, 32, 1, key, backend(), False, rate_end=0.1)
    vector, _ = objectives.train_fixed(model, start, prior, {}, Data(task.x_train, task.x_train), how,
                                       {"plain": 0.01, "mu": 0.01, "log_sigma": 0.01},
                                       Weighted(Elbo(1.0, -1.0, kl_latent=-1.0), learner.settings.warm_up))
    learner.learn(task, progress=False)
    np.testing.assert_array_equal(learner.assemble(0)[1], vector)


def test_vcl_s_prior_is_its_last_posterior_and_scales_start_again(make_images):
    learner = learn("vae_vcl", 2, make_images)
    model = learner.network(25)
    prior, start = learner.prior(model), model.layout.views(learner.begin(make_images(2)))
    last = layers(learner, 1)
    np.testing.assert_array_equal(prior.mu, np.concatenate([
        last[name][f"{kind}.mu"].ravel() for name in ("decoder1", "pixels") for kind in ("weight", "bias")]))
    np.testing.assert_array_equal(start["pixels.weight.mu"], last["pixels"]["weight.mu"])
    np.testing.assert_allclose(start["pixels.weight.log_sigma"], -6, rtol=1e-6)
    assert (last["pixels"]["weight.log_sigma"] != start["pixels.weight.log_sigma"]).any()


@pytest.mark.parametrize("name", NAMES)
def test_encoders_and_first_layers_are_each_task_s_own(name, make_images):
    for changes, shared in (({}, {"decoder1", "pixels"}), ({"shared_layers": 3}, {"decoder0", "decoder1", "pixels"})):
        one, two = (learn(name, tasks, make_images, **changes) for tasks in (1, 2))
        np.testing.assert_array_equal(one.own[0], two.own[0])
        before, after = layers(one, 0), layers(two, 0)
        assert shared == {layer for layer, parts in before.items() if any(
            not np.array_equal(value, after[layer][part]) for part, value in parts.items())}


@pytest.mark.parametrize("name", NAMES)
def test_it_repeats_itself_and_comes_back_from_a_file(name, make_images, tmp_path):
    learner = learn(name, 2, make_images)
    same(learner, learn(name, 2, make_images))
    learner.save(tmp_path / "learner.npz")
    copy = method(name).learner.load(tmp_path / "learner.npz")
    for one in (learner, copy):
        one.learn(make_images(2), progress=False)
    same(learner, copy)
    x = make_images(0).x_test
    model = learner.latent_model(0)
    np.testing.assert_array_equal(model.encode(x), learner.latent_model(0).encode(x))
    assert model.decode(model.encode(x)[0]).shape == x.shape


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_fit_is_refused(name, make_images, make_task):
    learner = learn(name, 1, make_images, epochs=1)
    with pytest.raises(TypeError, match="must be of kind images, got classification"):
        learner.learn(make_task(0))
    with pytest.raises(ValueError, match="task 'wide' has 9 inputs, the network 25"):
        learner.learn(Task("wide", x_train=np.zeros((4, 9)), x_test=np.zeros((2, 9))))
    with pytest.raises(ValueError, match=f"{name}.latent_model: unknown task_id 1"):
        learner.latent_model(1)
    for change in ({"hidden": ()}, {"shared_layers": 0}, {"activation": "gelu"}, {"rate": -1.0}, {"batch": 0}):
        with pytest.raises(ValueError, match=f"{name}: {next(iter(change))}"):
            dataclasses.replace(learner.settings, **change)


@pytest.mark.parametrize(("name", "change"), [
    ("vae_ewc", {"weight": -1.0}), ("vae_ewc", {"fisher": "exact"}), ("vae_ewc", {"variant": "one"}),
    ("vae_ewc", {"fisher_examples": 0}), ("vae_vcl", {"prior_sigma": 0.0}), ("vae_vcl", {"start_sigma": -1.0})])
def test_a_method_s_own_settings_are_checked(name, change):
    with pytest.raises(ValueError, match=f"{name}: {next(iter(change))}"):
        method(name).settings(**change)
