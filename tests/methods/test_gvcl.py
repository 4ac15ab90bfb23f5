"""Generalized VCL: exact limits, closed forms, gains and shifts per task."""

from dataclasses import replace

import numpy as np
import pytest

from ibpcl.continual.task import Task
from ibpcl.exact import approximations, tiny
from ibpcl.inference.backend import backend
from ibpcl.methods import gvcl, vcl
from ibpcl.methods.gvcl import GVCL, Settings, Update
from ibpcl.models import film
from ibpcl.models.elbo import GRADIENT, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Gaussian
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.noise import Key
from ibpcl.primitives import gaussian

NUMPY = backend("numpy")
SMALL = {"hidden": (6,), "epochs": 2, "batch": 8, "likelihood_epochs": 1}
VCL = {"beta": 1.0, "weight": 1.0}


def tasks(count=3):
    rng = np.random.default_rng(0)
    found = []
    for t in range(count):
        x = rng.normal(size=(40, 3))
        y = (x[:, t % 3] > 0).astype(int)
        found.append(Task(f"task {t}", x, y, x[:5], y[:5]))
    return found


def learned(learner, count=3):
    for task in tasks(count):
        learner.learn(task, progress=False)
    return learner


def shared_and_heads(learner):
    state = learner.context.state
    return [state.shared, *state.own]


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("single_head", [True, False])
def test_both_weights_at_one_are_vcl_bit_for_bit(local, single_head):
    common = {**SMALL, "local": local, "single_head": single_head}
    ours = learned(GVCL(Settings(**common, **VCL), 3, "numpy"))
    theirs = learned(vcl.VCL(vcl.Settings(**common), 3, "numpy"))
    for one, other in zip(shared_and_heads(ours), shared_and_heads(theirs), strict=True):
        np.testing.assert_array_equal(one, other)
    x = tasks()[0].x_train
    np.testing.assert_array_equal(ours.predict(x, 1), theirs.predict(x, 1))


@pytest.mark.parametrize("changed", [{"beta": 0.5}, {"weight": 2.0}])
def test_each_weight_changes_the_solution(changed):
    ours = learned(GVCL(Settings(**SMALL, **(VCL | changed)), 3, "numpy"))
    theirs = learned(vcl.VCL(vcl.Settings(**SMALL), 3, "numpy"))
    assert not np.array_equal(ours.context.state.shared, theirs.context.state.shared)


@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
@pytest.mark.parametrize("local", [True, False])
def test_film_that_stays_at_one_and_zero_is_vcl_bit_for_bit(local, backend_name):
    settings = Settings(**SMALL, **VCL, film=True, film_rate=0.0, local=local)
    ours = learned(GVCL(settings, 3, backend_name))
    theirs = learned(vcl.VCL(vcl.Settings(**SMALL, local=local), 3, backend_name))
    np.testing.assert_array_equal(ours.context.state.shared, theirs.context.state.shared)
    x = tasks()[0].x_train
    for t in range(3):
        np.testing.assert_array_equal(ours.predict(x, t), theirs.predict(x, t))


def test_gains_and_shifts_belong_to_a_task():
    learner = GVCL(Settings(**SMALL, film=True, film_rate=0.05), 0, "numpy")
    first, second = tasks(2)
    learner.learn(first, progress=False)
    network, vector = learner.context.assemble(0)
    before = {
        name: values.copy() for name, values in network.layout.layers(vector)["film0"].items()
    }
    assert not np.array_equal(before["gain"], np.ones(6))
    learner.learn(second, progress=False)
    for t, is_same in ((0, True), (1, False)):
        network, vector = learner.context.assemble(t)
        after = network.layout.layers(vector)["film0"]
        assert all(np.array_equal(after[name], before[name]) == is_same for name in before)


def test_film_works_behind_convolutions_and_blocks_and_is_stored():
    rng = np.random.default_rng(0)
    x = rng.random((24, 64))
    task = Task("images", x, np.arange(24) % 2, x[:4], np.zeros(4, int))
    line = "image:8x8x1;conv:2;dense:3;blocks:1"
    settings = Settings(network=line, epochs=1, likelihood_epochs=0, film=True)
    learner = GVCL(settings, 0, "numpy")
    learner.learn(task, progress=False)
    names = [stage.name for stage in learner.context.network_of(0).stages]
    assert [name for name in names if name.startswith("film")] == ["film0", "film1", "film2"]
    again = GVCL(settings, 0, "numpy")
    again.load_state(learner.state())
    np.testing.assert_array_equal(again.predict(x, 0), learner.predict(x, 0))


def test_the_gradient_of_a_network_with_film_is_the_slope_of_its_elbo():
    network = film.with_films(classifier(3, (4, 3), Softmax(), 2, Gaussian, "tanh"))
    rng = np.random.default_rng(0)
    vector = rng.normal(scale=0.4, size=network.layout.size)
    prior = Prior.at(network.layout, rng.normal(size=vector.size))
    x, y = rng.normal(size=(5, 3)), np.array([0, 1, 1, 0, 1])
    noise = network.noise(Key(0, 0, 0, 0), 2, 5, NUMPY, np.float64)

    def value(v):
        return elbo(network, v, prior, x, y, noise, 50, NUMPY, {})

    gradient = elbo_vjp(GRADIENT, value(vector)[1])
    for direction in rng.normal(size=(4, vector.size)):
        step = 1e-6 * direction
        change = (value(vector + step)[0].total - value(vector - step)[0].total) / 2
        assert change == pytest.approx(1e-6 * gradient @ direction, rel=1e-6)


# A quadratic likelihood: the closed form, its limits.


def quadratic_problem(size=3, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    return root @ root.T, rng.normal(size=size)


@pytest.mark.parametrize(("beta", "weight"), [(1.0, 1.0), (0.1, 1.0), (0.3, 20.0), (2.0, 0.0)])
def test_the_objective_has_no_slope_at_the_closed_form(beta, weight):
    rng = np.random.default_rng(1)
    before = Update(rng.normal(size=3), np.exp(rng.normal(size=3)) + 0.5)
    curvature, optimum = quadratic_problem()
    after = gvcl.exact_update(before, curvature, optimum, 1.0, beta, weight)
    pull = gvcl.tempered(before.precision, 1.0, weight) - before.precision

    def objective(mu, log_sigma):
        off = mu - optimum
        likelihood = -(np.diag(curvature) * np.exp(2 * log_sigma)).sum() / 2
        likelihood -= off @ curvature @ off / 2
        kl, _ = gaussian.kl(mu, log_sigma, before.mean, -np.log(before.precision) / 2)
        return likelihood - beta * (kl + (pull * (mu - before.mean) ** 2).sum() / 2)

    at = np.concatenate([after.mean, -np.log(after.precision) / 2])
    slopes = [
        (objective(*np.split(at + d, 2)) - objective(*np.split(at - d, 2))) / 2e-5
        for d in 1e-5 * np.eye(6)
    ]
    np.testing.assert_allclose(slopes, 0, atol=1e-7)
    moved = at + 0.1 * rng.normal(size=6)
    assert objective(*np.split(moved, 2)) < objective(*np.split(at, 2))


def test_towards_beta_zero_the_means_are_those_of_online_ewc():
    weight, initial = 3.0, 1.0
    problems = [quadratic_problem(seed=seed) for seed in range(4)]
    gaps = []
    for beta in (1e-2, 1e-4, 1e-6):
        belief = Update(np.zeros(3), np.full(3, initial))
        anchor, information = np.zeros(3), np.zeros(3)
        for curvature, optimum in problems:
            belief = gvcl.exact_update(belief, curvature, optimum, initial, beta, weight)
            # online EWC: the loss of the task, and lambda / 2 sum F (w - anchor)^2
            pull = np.diag(weight * information)
            anchor = np.linalg.solve(curvature + pull, curvature @ optimum + pull @ anchor)
            information = information + np.diag(curvature)
        np.testing.assert_allclose(beta * belief.precision, beta * initial + information)
        gaps.append(np.abs(belief.mean - anchor).max())
    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2]
    assert gaps[2] < 1e-4


def test_with_both_weights_at_one_the_closed_form_is_exact_for_a_diagonal_curvature():
    before = Update(np.array([0.5, -1.0]), np.array([2.0, 3.0]))
    h, optimum = np.array([4.0, 0.7]), np.array([1.0, 2.0])
    after = gvcl.exact_update(before, np.diag(h), optimum, 1.0)
    np.testing.assert_allclose(after.precision, before.precision + h)
    bayes = (before.precision * before.mean + h * optimum) / after.precision
    np.testing.assert_allclose(after.mean, bayes)


def test_the_recursion_on_a_linear_network_is_the_closed_form():
    network = tiny.TinyNetwork(1, likelihood="gaussian", noise_sigma=0.5)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 1))
    y = 1.5 * x + 0.3 + 0.5 * rng.normal(size=(30, 1))
    wide = np.concatenate([x, np.ones((30, 1))], axis=1)
    curvature = wide.T @ wide / 0.25
    optimum = np.linalg.lstsq(wide, y, rcond=None)[0][:, 0]
    found = approximations.initial(network)
    belief = Update(found.mean, 1 / np.diag(found.covariance))
    for _ in range(2):
        found = approximations.gvcl(network, found, x, y, beta=0.3, weight=4.0)
        belief = gvcl.exact_update(belief, curvature, optimum, 1.0, 0.3, 4.0)
        np.testing.assert_allclose(found.mean, belief.mean, rtol=1e-5)
        np.testing.assert_allclose(np.diag(found.covariance), 1 / belief.precision, rtol=1e-5)


def test_the_learner_trains_on_the_objective_of_the_closed_form():
    network = classifier(2, (2,), Softmax(), 2, Gaussian)
    settings = Settings(beta=0.4, weight=5.0, prior_sigma=0.7)
    rng = np.random.default_rng(0)
    vector, last = rng.normal(size=(2, network.layout.size))
    prior = Prior.at(network.layout, last)
    value, slope = gvcl.pull_back(settings, network, prior)(vector, None)
    mu = network.layout.block("mu")
    precision = np.exp(-2 * prior.log_sigma)
    extra = gvcl.tempered(precision, 0.7**-2, 5.0) - precision
    expected = 0.4 * (extra * (vector[mu] - prior.mu) ** 2).sum() / 2
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(slope[mu], 0.4 * extra * (vector[mu] - prior.mu))
    assert not np.delete(slope, np.arange(vector.size)[mu]).any()


def test_a_posterior_wider_than_the_first_prior_is_never_repelled():
    precision = np.array([0.1, 1.0, 10.0])
    assert np.all(gvcl.tempered(precision, 1.0, 1000.0) > 0)
    np.testing.assert_array_equal(gvcl.tempered(precision, 1.0, 1.0), precision)
    np.testing.assert_array_equal(gvcl.tempered(precision, 1.0, 0.0), [0.1, 1.0, 1.0])


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"film": True, "single_head": True}, "film"),
        ({"beta": 0.0}, "beta"),
        ({"weight": -1.0}, "weight"),
        ({"network": "dense"}, "network"),
    ],
)
def test_what_cannot_work_is_refused(changed, name):
    with pytest.raises(ValueError, match=name):
        replace(Settings(), **changed)
