"""Gradients of an ELBO with binary masks: each estimator against the sum over all masks."""

from dataclasses import replace
from functools import cache
from itertools import cycle, product

import numpy as np
import pytest
from quick import quick

from ibpcl.continual.task import Task
from ibpcl.inference import binary_masks
from ibpcl.inference.backend import backend
from ibpcl.inference.binary_masks import Estimator
from ibpcl.methods.npbcl import NPBCL, Settings
from ibpcl.methods.npbcl_settings import ImageSettings
from ibpcl.models import binary, starts
from ibpcl.models.convolution import Convolution
from ibpcl.models.depth import Blocks
from ibpcl.models.elbo import Elbo, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Gaussian, Pass
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked, MaskModel
from ibpcl.models.network import Network, classifier
from ibpcl.noise import Key
from ibpcl.numerics import sigmoid
from ibpcl.primitives import concrete, sticks

NUMPY = backend("numpy")
KEY = Key(3, 0, 0, 0)
TAU = 0.7
DOWNHILL = Elbo(-0.1, 0.1, 0.1, 0.1, 0.1)
DRAWS = 50_000
UNBIASED = ("score", "arm", "disarm", "rebar")


def dense(**model):
    return classifier(3, (2,), Softmax(), 2, Masked, "tanh", model=MaskModel(**model))


def deep():
    blocks = Blocks(tuple(Masked(f"block{i}", 1, 1, "tanh") for i in range(2)))
    return Network((Masked("hidden0", 3, 1, "tanh"), blocks, Gaussian("head", 1, 2)), Softmax())


def sharing():
    layer = Masked("hidden0", 4, 2, "tanh", sharing=2)
    return Network((layer, Gaussian("head", 2, 2)), Softmax())


NETWORKS = {
    "dense": dense(),
    "concrete divergence": dense(kl="concrete", link="log"),
    "mean field": dense(structured=False),
    "row sticks": dense(row_sticks=True),
    "inherited prior": dense(inherits=True),
    "shared masks": sharing(),
    "blocks": deep(),
}


def problem(net, samples, seed=0):
    """Return parameters, data, a prior, and noise of which only that of the masks varies."""
    rng = np.random.default_rng(seed)
    vector = net.initial(starts.he(rng), 0.3, (2.0,) * len(net.masked), np.float64)
    vector += rng.normal(scale=0.4, size=vector.size)
    vector[net.layout.block("mu")] *= 4  # so that the masks matter
    x = rng.normal(size=(4, net.inputs))
    prior = Prior.at(net.layout, vector, sticks=dict.fromkeys(net.masked, 2.0))
    noise = net.noise(KEY, samples, len(x), NUMPY, np.float64)
    for drawn in noise.values():
        for name, values in drawn.items():
            if name != "mask":
                drawn[name] = np.broadcast_to(values[:1], values.shape)
    return vector, x, prior, noise


LABELS = np.array([0, 1, 1, 0])


def evaluate(net, vector, x, prior, tau=TAU):
    def evaluated(noise, draw=None):
        return elbo(net, vector, prior, x, LABELS, noise, 40, NUMPY, None, tau, draw)

    return evaluated


def log_odds(net, vector, noise):
    """Return the log-odds of all masks, given the sticks of the noise, in the order of layers."""
    views = net.layout.layers(vector)
    found = {}
    for name, part in net.masked.items():
        p = views[name]
        prior = sticks.log_odds(noise[name]["stick"][:1], p["raw_a"], p["raw_b"], part.model.link)[
            0
        ]
        prior = prior if part.model.row_sticks else prior[:, None, :]
        prior = prior + (p["prior_rho"] if part.model.inherits else 0)
        found[name] = (p["rho"] + (prior if part.model.structured else 0)) * np.ones(
            (1, *part.mask_shape)
        )
    return found


def exact_loss(net, vector, x, prior, noise):
    """Return the loss of an ELBO with binary masks: the likelihood's mean is a sum over them."""
    phi = log_odds(net, vector, noise)
    sizes = [values.size for values in phi.values()]
    every = np.array(list(product((0.0, 1.0), repeat=sum(sizes))))
    given = {
        name: {kind: np.repeat(values[:1], len(every), axis=0) for kind, values in drawn.items()}
        for name, drawn in noise.items()
    }
    flat = np.concatenate([values.ravel() for values in phi.values()])
    parts = np.split(every, np.cumsum(sizes)[:-1], axis=1)
    for (name, values), part in zip(phi.items(), parts, strict=True):
        far = np.where(part == 1, 1e3, -1e3).reshape(-1, *values.shape[1:])
        given[name]["mask"] = far
    found, cache = evaluate(net, vector, x, prior)(given, binary.Binary("score"))
    weights = np.prod(np.where(every == 1, sigmoid(flat), sigmoid(-flat)), axis=1)
    likelihood = 10 * weights @ cache.log_p.sum(axis=1)
    return np.dot(DOWNHILL, found._replace(log_likelihood=likelihood))


def exact_gradient(net, vector, *rest):
    step = 1e-5
    return np.array(
        [
            (exact_loss(net, vector + d, *rest) - exact_loss(net, vector - d, *rest)) / (2 * step)
            for d in step * np.eye(vector.size)
        ]
    )


def estimate(net, name, samples, seed=0, eta=1.0):
    vector, x, prior, noise = problem(net, samples, seed)
    again = binary_masks.draw_again(noise, KEY, NUMPY)
    return binary_masks.estimate(
        Estimator(name, eta), evaluate(net, vector, x, prior), noise, DOWNHILL, again
    )


@cache
def exact_of(kind):
    net = NETWORKS[kind]
    return exact_gradient(net, *problem(net, 1))


def errors(kind, name, eta=1.0):
    """Return the largest error of an estimate in each block, relative to its largest gradient."""
    net = NETWORKS[kind]
    vector, x, prior, noise = problem(net, DRAWS)
    exact = exact_of(kind)
    if name == "concrete":
        gradient = elbo_vjp(DOWNHILL, evaluate(net, vector, x, prior)(noise)[1])
    else:
        _, gradient = estimate(net, name, DRAWS, eta=eta)
    blocks = [net.layout.block(name) for name in ("rho", "sticks", "mu", "log_sigma")]
    return [np.abs(gradient - exact)[one].max() / np.abs(exact[one]).max() for one in blocks]


# Each estimator in one network, and each network with one estimator.
EACH = [*(f"dense-{name}" for name in UNBIASED)]
EACH += [f"{kind}-{name}" for kind, name in zip(list(NETWORKS)[1:], cycle(UNBIASED))]


@pytest.mark.parametrize(
    ("kind", "name"),
    quick(
        EACH,
        product(NETWORKS, UNBIASED),
        "an estimator sees of a network its masks and its loss only",
        name="-".join,
    ),
)
def test_an_unbiased_estimator_has_the_gradient_of_the_sum_over_all_masks(kind, name):
    # what remains is the error of the mean over the draws
    assert max(errors(kind, name)) < 0.04


def test_rebar_has_the_same_mean_for_every_weight_of_its_control_variate():
    assert max(errors("dense", "rebar", eta=0.5)) < 0.04


@pytest.mark.parametrize("name", ["score", "arm", "disarm"])
def test_an_estimator_that_is_wrong_by_a_tenth_is_seen(name, monkeypatch):
    right = getattr(binary.binary_gradients, name)
    monkeypatch.setattr(binary.binary_gradients, name, lambda *args: 1.1 * right(*args))
    assert errors("shared masks", name)[0] > 0.06


@pytest.mark.parametrize(
    ("kind", "name"),
    quick(
        ["dense-straight_through", "dense-concrete", "blocks-straight_through"],
        product(NETWORKS, ["straight_through", "concrete"]),
        "an estimator sees of a network its masks and its loss only",
        name="-".join,
    ),
)
def test_the_other_two_estimators_are_biased(kind, name):
    assert errors(kind, name)[0] > 0.06


def test_rebar_without_its_control_variate_is_the_score_function_bit_for_bit():
    for kind in ("dense", "blocks"):
        (parts, gradient), (others, score) = (
            estimate(NETWORKS[kind], name, 7, eta=eta)
            for name, eta in (("rebar", 0.0), ("score", 1.0))
        )
        assert parts == others
        np.testing.assert_array_equal(gradient, score)


class Relaxed:
    """Relaxed masks as an object of Pass.draw."""

    def sample(self, drawn, logit_theta, tau):
        return concrete.sample(drawn["mask"], logit_theta, tau)

    def gradient(self, dz, dloss, cache):
        return concrete.sample_vjp(dz, cache)


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_pass_with_relaxed_masks_is_that_of_the_masked_layer(kind):
    net = NETWORKS[kind]
    rng = np.random.default_rng(1)
    vector, x, _, _ = problem(net, 3)
    noise = net.noise(KEY, 3, len(x), NUMPY, np.float64)
    dout = rng.normal(size=(3, len(x), 2))
    found = []
    for draw in (None, Relaxed()):
        (out, divergences), cache = net.forward(vector, x, noise, Pass(NUMPY, tau=TAU, draw=draw))
        gradient = net.forward_vjp((dout, {"kl_masks": np.ones(3)}), cache)
        found.append((out, divergences["kl_masks"], gradient))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_a_convolution_has_the_gradient_of_its_layer():
    # a kernel as large as the image is a dense layer
    layer = Masked("hidden0", 4, 2, "tanh", sharing=2)
    image = Network((Convolution(layer, (2, 1, 2), (2, 1)), Gaussian("head", 2, 2)), Softmax())
    for name in UNBIASED:
        (parts, one), (others, other) = (estimate(net, name, 5) for net in (sharing(), image))
        assert parts == pytest.approx(others, rel=1e-12)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def xor_task():
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 8, float)
    y = (x.sum(axis=1) == 1).astype(int)
    return Task("xor", x, y, x, y)


SMALL = Settings(hidden=(6,), epochs=3, finetune_epochs=1, batch=16, samples=2)


@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
@pytest.mark.parametrize("name", binary_masks.ESTIMATORS)
def test_every_estimator_trains_the_learner(name, backend_name):
    learner = NPBCL(replace(SMALL, mask_gradient=name), backend_name=backend_name)
    before = NPBCL(SMALL, backend_name=backend_name)
    for one in (learner, before):
        history = one.learn(xor_task(), progress=False)
    taus = {record.tau for record in history if record.phase == "masked"}
    assert taus != {0.0}
    learned = learner.context.state.shared
    assert np.isfinite(learned).all()
    assert np.array_equal(learned, before.context.state.shared) == (name == "concrete")


def test_what_cannot_work_is_refused():
    with pytest.raises(ValueError, match="samples"):
        replace(SMALL, mask_gradient="score", samples=1)
    with pytest.raises(ValueError, match="samples"):
        replace(SMALL, mask_gradient="rebar", rebar_eta=0.0, samples=1)
    with pytest.raises(ValueError, match="shared_mask"):
        replace(SMALL, mask_gradient="disarm", shared_mask="ones")
    with pytest.raises(ValueError, match="samples"):
        ImageSettings(mask_gradient="score", samples=1)
    with pytest.raises(ValueError, match="disarm"):
        replace(SMALL, mask_gradient="disharm")
