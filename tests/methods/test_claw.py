"""CLAW: VCL without adaptation, scaled weights with it, and coins between them."""

import dataclasses

import numpy as np
import pytest

from ibpcl.continual.loop import learn_stream
from ibpcl.inference.backend import backend
from ibpcl.methods import method
from ibpcl.methods import vcl as vcl_method
from ibpcl.methods.claw import CLAW, Settings
from ibpcl.methods.sequential import accept
from ibpcl.methods.vcl import last_posterior
from ibpcl.models import starts
from ibpcl.models.adapted import Adapted
from ibpcl.models.elbo import GRADIENT, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Gaussian, Pass
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.models.prediction import predict
from ibpcl.noise import Key
from ibpcl.numerics import logit

NUMPY = backend("numpy")
COMMON = {
    "hidden": (8, 5),
    "epochs": 4,
    "likelihood_epochs": 2,
    "batch": 20,
    "rate": 0.02,
    "prediction_samples": 10,
}


def learner_of(seed=1, **changes):
    return CLAW(dataclasses.replace(Settings(**COMMON), **changes), seed, "numpy")


def network_of(inputs=6, hidden=(5, 4), outputs=3, activation="tanh"):
    return classifier(inputs, hidden, Softmax(), outputs, Adapted, activation)


def random_vector(network, rng):
    vector = network.initial(starts.normal(rng, 0.5), 0.3, dtype=float)
    for name in ("rho", "film"):
        vector[network.layout.block(name)] = rng.normal(size=len(vector))[: block(network, name)]
    return vector


def block(network, name):
    places = network.layout.block(name)
    return places.stop - places.start


@pytest.mark.parametrize("single_head", [False, True])
@pytest.mark.parametrize(
    "limit",
    [{"probability": 1e-300, "mask_rate": 0.0}, {"adaptation_rate": 0.0}],
    ids=["no mask is on", "no change"],
)
def test_without_adaptation_it_is_vcl_bit_for_bit(make_task, limit, single_head):
    ours = learner_of(**limit, single_head=single_head)
    theirs = vcl_method.VCL(vcl_method.Settings(**COMMON, single_head=single_head), 1, "numpy")
    for t in range(2):
        histories = [learner.learn(make_task(t), progress=False) for learner in (ours, theirs)]
        for one, other in zip(*histories, strict=True):
            assert one.log_likelihood == other.log_likelihood
            assert one.kl_weights == other.kl_weights
    for t in range(2):
        (network, vector), (plain, expected) = ours.assemble(t), theirs.assemble(t)
        for name, value in plain.layout.views(expected).items():
            np.testing.assert_array_equal(network.layout.view(vector, name), value, err_msg=name)
    x = make_task(0).x_test
    np.testing.assert_array_equal(ours.predict(x, 0), theirs.predict(x, 0))


def test_with_adaptation_it_is_not_vcl(make_task):
    ours = learner_of(adaptation_rate=0.1)
    theirs = vcl_method.VCL(vcl_method.Settings(**COMMON), 1, "numpy")
    for learner in (ours, theirs):
        learner.learn(make_task(0), progress=False)
    x = make_task(0).x_test
    assert np.abs(ours.predict(x, 0) - theirs.predict(x, 0)).max() > 1e-3


def test_units_that_are_always_adapted_have_scaled_weights():
    """With z = 1 and 1 + a > 0 the layer is Gaussian, with means and deviations times 1 + a."""
    rng = np.random.default_rng(0)
    adapted = network_of()
    plain = classifier(6, (5, 4), Softmax(), 3, Gaussian, "tanh")
    vector = random_vector(adapted, rng)
    vector[adapted.layout.block("rho")] = 1000.0
    gains = np.exp(rng.normal(scale=0.3, size=9))
    vector[adapted.layout.block("film")] = gains - 1
    scaled = vector[: plain.layout.size].copy()
    views = plain.layout.layers(scaled)
    for name, gain in (("hidden0", gains[:5]), ("hidden1", gains[5:])):
        for side in ("weight", "bias"):
            views[name][f"{side}.mu"][...] *= gain
            views[name][f"{side}.log_sigma"][...] += np.log(gain)
    x = rng.normal(size=(7, 6))
    noise = adapted.noise(Key(0, 0, 0, 0), 2, 7, NUMPY, float)
    for tau in (0.5, 0.0):
        (found, _), _ = adapted.forward(vector, x, noise, Pass(NUMPY, None, tau))
        (expected, _), _ = plain.forward(scaled, x, noise, Pass(NUMPY, {}))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_the_gradient_of_the_bound_is_right_by_the_complex_step(activation):
    rng = np.random.default_rng(1)
    network = network_of(activation=activation)
    vector = random_vector(network, rng)
    size = block(network, "mu")
    odds = {"hidden0": rng.normal(size=5), "hidden1": rng.normal(size=4)}
    prior = Prior(rng.normal(size=size), rng.normal(scale=0.3, size=size), odds)
    x = rng.normal(size=(7, 6))
    y = rng.integers(0, 3, 7)
    noise = network.noise(Key(0, 0, 0, 0), 2, 7, NUMPY, float)

    def bound(vector):
        parts, cache = elbo(network, vector, prior, x, y, noise, 70, NUMPY, None, 0.5)
        return parts, cache

    gradient = elbo_vjp(GRADIENT, bound(vector)[1])
    for _ in range(3):
        direction = rng.normal(size=vector.size)
        step = 1e-20
        value = bound(vector + 1j * step * direction)[0].total.imag / step
        assert gradient @ direction == pytest.approx(value, rel=1e-9)
    # every kind of parameter takes part
    for name in ("mu", "log_sigma", "rho", "film"):
        assert np.abs(gradient[network.layout.block(name)]).max() > 1e-3


def test_predictions_average_over_binary_masks():
    """The network predicts class 1 if its only unit is adapted, with the probability of that."""
    network = network_of(1, (1,), 2, "relu")
    vector = np.zeros(network.layout.size)
    vector[network.layout.block("log_sigma")] = -20
    layer, head = network.layout.layers(vector).values()
    layer["bias.mu"][...] = 1.0
    layer["adaptation"][...] = -1.0  # the adapted unit is 0, the other one 1
    layer["rho"][...] = logit(0.3)
    head["weight.mu"][...] = [[200.0, -200.0]]
    head["bias.mu"][...] = [-100.0, 100.0]
    samples = 4000
    found = predict(network, vector, None, np.ones((3, 1)), samples, Key(0, 0, 0, 0), NUMPY)
    np.testing.assert_allclose(
        found.probabilities[:, 1], 0.3, atol=4 * np.sqrt(0.3 * 0.7 / samples)
    )


def test_a_mask_costs_the_divergence_of_two_coins_once(make_task):
    network = network_of()
    rho = np.array([2.0, -1.0, 0.5, 0.0, 3.0])
    odds = np.full(5, logit(0.1))
    theta = 1 / (1 + np.exp(-rho))
    expected = np.sum(theta * np.log(theta / 0.1) + (1 - theta) * np.log((1 - theta) / 0.9))
    (found, _), _ = network.layers["hidden0"].kl_sticks({"rho": rho}, odds, NUMPY)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("single_head", [False, True])
def test_a_task_has_its_own_masks_unless_there_is_a_single_head(make_task, single_head):
    learner = learner_of(single_head=single_head, mask_rate=0.05)
    for t in range(2):
        learner.learn(make_task(t), progress=False)
    (network, first), (_, second) = (learner.assemble(t) for t in range(2))
    for name in ("hidden0.rho", "hidden0.adaptation"):
        one, other = (network.layout.view(vector, name) for vector in (first, second))
        assert np.array_equal(one, other) == single_head
    context = accept(learner.context, make_task(2))
    following = context.next_network(2)
    odds = last_posterior(context, following).sticks["hidden0"]
    expected = network.layout.view(second, "hidden0.rho") if single_head else logit(0.1)
    np.testing.assert_allclose(odds, np.broadcast_to(expected, odds.shape), rtol=1e-6)


def test_adaptations_alone_can_learn_a_task():
    """The shared weights are held, and the masks are on."""
    rng = np.random.default_rng(0)
    network = network_of(2, (4,), 2, "tanh")
    vector = random_vector(network, rng)
    layer = network.layout.layers(vector)["hidden0"]
    layer["rho"][...] = 50.0
    x = rng.normal(size=(40, 2))
    target = network.forward(
        vector, x, network.noise(Key(0, 0, 0, 0), 0, 40, NUMPY, float), Pass(NUMPY, None, 0.0)
    )[0][0][0]
    y = target.argmax(axis=1)
    goal = layer["adaptation"].copy()
    layer["adaptation"][...] = 0
    noise = network.noise(Key(0, 0, 0, 0), 0, 40, NUMPY, float)
    places = network.layout.block("film")
    first = last = None
    for _ in range(200):
        parts, cache = elbo(network, vector, None, x, y, noise, 40, NUMPY, None, 1.0)
        vector[places] += 0.05 * elbo_vjp(GRADIENT, cache)[places]
        first = parts.log_likelihood if first is None else first
        last = parts.log_likelihood
    assert np.any(goal) and last > first + 0.5


@pytest.mark.parametrize("changes", [{}, {"samples": 2, "single_head": True}])
def test_it_learns_and_keeps(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=10, **changes), [make_task(t) for t in range(2)], progress=False
    )
    assert last.accuracy[1].min() > 0.9
    assert {record.phase for record in last.history} == {"claw"}


def test_both_backends_learn_the_same(make_task):
    first, second = (CLAW(Settings(**COMMON), 1, name) for name in ("numpy", "numba"))
    for learner in (first, second):
        learner.learn(make_task(0), progress=False)
    for name, value in first.state().items():
        np.testing.assert_allclose(second.state()[name], value, rtol=2e-2, atol=2e-3, err_msg=name)


def test_it_refuses_what_it_cannot_do(make_task):
    for wrong in (
        {"probability": 0.0},
        {"probability": 1.0},
        {"mask_rate": -1.0},
        {"adaptation_rate": -1.0},
        {"tau_end": 0.0},
    ):
        with pytest.raises(ValueError, match=f"claw: {next(iter(wrong))} must"):
            Settings(**wrong)
    with pytest.raises(ValueError, match="local must be True"):
        Adapted("hidden0", 2, 3, local=False)
    with pytest.raises(ValueError, match=r"claw\.predict: unknown task_id 0"):
        learner_of().predict(np.zeros((1, 6)), 0)
    assert method("claw").learner is CLAW
