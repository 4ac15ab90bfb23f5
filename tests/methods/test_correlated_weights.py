"""Correlated posteriors of VCL and NPBCL: the mean field as a limit, and exact posteriors."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from ibpcl.continual.task import Task
from ibpcl.exact import linear
from ibpcl.inference.backend import backend
from ibpcl.methods import npbcl, vcl
from ibpcl.methods.npbcl_settings import Settings as MaskedSettings
from ibpcl.methods.vcl import VCL, Settings
from ibpcl.models import likelihoods, prediction, subnetwork
from ibpcl.models.correlated import FullCovariance, LowRank
from ibpcl.models.elbo import GRADIENT, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Drawn, Gaussian, Pass
from ibpcl.models.network import Network, classifier
from ibpcl.noise import Key

NUMPY = backend("numpy")
SMALL = {"hidden": (6,), "epochs": 2, "batch": 8, "likelihood_epochs": 1, "prediction_samples": 5}
MASKED = {"hidden": (8,), "epochs": 2, "finetune_epochs": 2, "batch": 20, "prediction_samples": 5}


def tasks(count=3):
    rng = np.random.default_rng(0)
    found = []
    for t in range(count):
        x = rng.normal(size=(40, 3))
        x[:, 2] *= t > 0  # an input that is always 0 in the first task
        y = (x[:, t % 2] > 0).astype(int)
        found.append(Task(f"task {t}", x, y, x[:5], y[:5]))
    return found


def learned(learner, count=3):
    for task in tasks(count):
        learner.learn(task, progress=False)
    return learner


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
def test_rank_zero_is_the_mean_field_bit_for_bit(monkeypatch, local, backend_name):
    """Even if the layers of common parts evaluate it: without parts, they are Gaussian layers."""

    def network(self, inputs, hidden, outputs, kind=Gaussian):
        options = {"rank": 0, "local": kind is Gaussian}

        def head(*shape):
            return LowRank(*shape, **options)

        return classifier(
            inputs, hidden, likelihoods.Softmax(), outputs, LowRank, "relu", head, **options
        )

    settings = Settings(**SMALL, local=local)
    plain = learned(VCL(settings, 3, backend_name))
    if not local:  # the streams of a layer are counted per kind
        monkeypatch.setattr(LowRank, "streams", Drawn.streams, raising=False)
    monkeypatch.setattr(vcl.GaussianClassifier, "network", network)
    ours = learned(VCL(settings, 3, backend_name))
    np.testing.assert_array_equal(ours.knowledge.shared, plain.knowledge.shared)
    for one, other in zip(ours.knowledge.own, plain.knowledge.own, strict=True):
        np.testing.assert_array_equal(one, other)
    x = tasks()[0].x_train
    np.testing.assert_array_equal(ours.predict(x, 1), plain.predict(x, 1))


@pytest.mark.parametrize("kind", [Gaussian, Drawn])
def test_without_correlations_a_layer_is_the_independent_one(kind):
    """The same noise gives the same bits, with a factor of 0 and with a lower part of 0."""
    shape = ("layer", 4, 3, "tanh")
    plain = kind(*shape)
    ours = LowRank(*shape, rank=2, local=kind is Gaussian)
    rng = np.random.default_rng(1)
    views = {"layer": {}}
    for entry in ours.entries():
        name = entry.name.partition(".")[2]
        views["layer"][name] = rng.normal(size=entry.shape) * (entry.block != "factor")
    x = rng.normal(size=(2, 5, 4))
    noise = {
        name: rng.normal(size=draw.shape)
        for name, draw in ours.noise(Key(0, 0, 0, 0), 2, 5, False).items()
    }
    (found, _), _ = ours.forward(views, x, {"layer": noise}, Pass(NUMPY))
    (expected, _), _ = plain.forward(views, x, {"layer": noise}, Pass(NUMPY))
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    if kind is Drawn:
        full = FullCovariance(*shape)
        views["layer"]["lower"] = np.zeros(full.size * (full.size - 1) // 2)
        noise["global"] = np.concatenate([noise["bias"], noise["weight"].reshape(2, -1)], axis=1)
        (found, _), _ = full.forward(views, x, {"layer": noise}, Pass(NUMPY))
        np.testing.assert_array_equal(found, expected)


def sigma_points(size):
    """Noise whose mean is 0 and whose covariance is 1: averages of squares are exact."""
    eye = np.sqrt(size) * np.eye(size)
    return np.concatenate([eye, -eye])


def test_a_full_head_of_a_linear_gaussian_model_finds_the_exact_posterior():
    """Task by task, by the package's ELBO; the mean field and a diagonal control do not."""
    rng = np.random.default_rng(2)
    head = FullCovariance("head", 2, 1)
    network = Network((head,), likelihoods.Gaussian(0.7, False))
    prior_vector = np.zeros(network.layout.size)
    belief = linear.prior(3, 1, 1.0, 0.7)
    noise = {"head": {"global": sigma_points(head.size)}}
    for t in range(2):
        x = rng.normal(loc=t, size=(12, 2))
        y = x @ np.array([[1.0], [-0.5]]) + 0.3 + 0.7 * rng.normal(size=(12, 1))
        prior = Prior.at(network.layout, prior_vector)

        def negative_elbo(vector, prior=prior, x=x, y=y):
            parts, cache = elbo(network, vector, prior, x, y, noise, len(x), NUMPY, {})
            return -parts.total, -elbo_vjp(GRADIENT, cache)

        options = {"gtol": 1e-9}
        found = minimize(negative_elbo, prior_vector, jac=True, method="BFGS", options=options)
        prior_vector = found.x
        belief = linear.update(belief, np.column_stack([np.ones(12), x]), y)
        views = network.layout.layers(found.x)["head"]
        mean = np.concatenate([views["bias.mu"], views["weight.mu"].ravel()])
        sigma = np.concatenate([views["bias.log_sigma"], views["weight.log_sigma"].ravel()])
        root = head.lower(views) + np.diag(np.exp(sigma))
        np.testing.assert_allclose(mean, linear.mean(belief)[:, 0], atol=1e-5)
        exact = np.linalg.inv(belief.precision)
        np.testing.assert_allclose(root @ root.T, exact, atol=1e-6)
    assert np.abs(exact - np.diag(np.diag(exact))).max() > 0.01  # there is a correlation to find


CORRELATED = [{"rank": 2}, {"rank": 2, "local": False}, {"full_head": True}]
CORRELATED += [{"rank": 1, "full_head": True, "single_head": True}]


@pytest.mark.parametrize("changes", CORRELATED)
def test_correlations_are_learned_and_become_the_next_prior(changes):
    learner = learned(VCL(Settings(**SMALL | {"epochs": 20}, **changes), 1, "numpy"), 1)
    context = learner.context
    network, vector = context.assemble(0)
    assert np.abs(vector[network.layout.block("factor")]).max() > 1e-4
    prior = vcl.last_posterior(context, network)
    views = network.layout.layers(vector)
    shared = set(network.layers) if context.settings.single_head else {"hidden0"}
    for name, parameters in prior.correlations.items():
        for part, values in parameters.items():
            if part.partition(".")[2].startswith("factor") or part == "lower":
                expected = views[name][part] if name in shared else np.zeros_like(values)
                np.testing.assert_array_equal(values, expected, err_msg=f"{name}.{part}")


def test_predictions_do_not_depend_on_how_examples_are_cut():
    """All examples of a sample share the common parts, in whatever chunk they are."""
    learner = learned(VCL(Settings(**SMALL | {"epochs": 30}, rank=2), 1, "numpy"), 1)
    network, vector = learner.context.assemble(0)
    views = network.layout.layers(vector)
    for layer in views.values():
        for name, view in layer.items():
            if name.endswith("log_sigma"):
                view[...] = -30  # only the common parts remain random
    x = tasks()[0].x_train
    key = Key(0, 0, 0, 0)
    found = [
        prediction.predict(network, vector, {}, x, 5, key, NUMPY, chunk).probabilities
        for chunk in (5, 10_000)
    ]
    np.testing.assert_allclose(*found, atol=1e-6)


@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
def test_npbcl_learns_a_full_head(backend_name):
    settings = MaskedSettings(**MASKED | {"epochs": 10}, full_head=True)
    learner = npbcl.NPBCL(settings, 1, backend_name)
    for task in tasks()[:2]:
        learner.learn(task, progress=False)
    network, vector, _ = learner.context.assemble(1)
    assert np.abs(network.layout.layers(vector)["head"]["lower"]).max() > 1e-3


def test_a_full_head_that_stays_without_correlations_has_the_diagonal_divergence():
    """NPBCL's whole head is trained, so units that a mask leaves empty do not cut it."""
    settings = MaskedSettings(**MASKED, full_head=True)
    learner = learned(npbcl.NPBCL(settings, 1, "numpy"), 1)
    network, _, masks = learner.context.assemble(0)
    subnet = subnetwork.usable(network, tasks()[0].x_train, masks)
    assert subnet.network.layers["head"].inputs == network.layers["head"].inputs
    plain = replace(network, stages=(*network.stages[:-1], Gaussian("head", 8, 2)))
    masks = {name: np.zeros_like(mask) for name, mask in masks.items()}
    masks["hidden0"][0, 0] = True
    cut = subnetwork.usable(plain, tasks()[0].x_train, masks)
    assert cut.network.layers["head"].inputs == 1  # the control


@pytest.mark.parametrize("wrong", [{"single_head": True}, {"expand": True}])
def test_npbcl_refuses_a_full_head_that_is_shared_or_grows(wrong):
    with pytest.raises(ValueError, match="npbcl: full_head needs"):
        MaskedSettings(full_head=True, **wrong)


def test_vcl_refuses_a_negative_rank():
    with pytest.raises(ValueError, match="vcl: rank must"):
        Settings(rank=-1)
    assert replace(Settings(), rank=2).rank == 2


def test_convolutions_take_common_parts():
    """All positions of an image share the weights, and so their common parts."""
    rng = np.random.default_rng(5)
    x = rng.random((20, 64)).astype(np.float32)
    task = Task("images", x, rng.integers(0, 2, 20), x[:3], [0, 1, 0])
    settings = Settings(**SMALL, network="conv:3;dense:4", rank=1)
    learner = VCL(settings, 0, "numpy")
    learner.learn(task, progress=False)
    assert learner.predict(x, 0).shape == (20, 2)
