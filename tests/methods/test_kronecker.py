"""Kronecker Laplace: the exact block of one example, the exact posterior of a linear layer."""

import dataclasses

import numpy as np
import pytest

from ibpcl.continual import fisher
from ibpcl.continual.loop import learn_stream
from ibpcl.continual.task import Task
from ibpcl.exact import approximations
from ibpcl.exact.tiny import TinyNetwork
from ibpcl.inference.backend import backend
from ibpcl.methods import kronecker, method
from ibpcl.methods.kronecker import KroneckerLaplace, Settings
from ibpcl.methods.laplace import Laplace
from ibpcl.methods.laplace import Settings as LaplaceSettings
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings
from ibpcl.models import plain
from ibpcl.primitives.kronecker import penalty, penalty_vjp

COMMON = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}
SMALL = Settings(**COMMON)
NUMPY = backend("numpy")


def learner_of(seed=1, **changes):
    return KroneckerLaplace(dataclasses.replace(SMALL, **changes), seed, "numpy")


def problem(examples, seed=0, **options):
    rng = np.random.default_rng(seed)
    network = plain.network(4, (3,), 3, **options)
    return network, network.start(rng).astype(float), rng.normal(size=(examples, network.inputs))


def gauss_newton_block(network, vector, x, layer):
    """The Fisher information of a layer's weights and biases, from the gradients of all labels."""
    total = 0.0
    probabilities = network.predict(vector, x, NUMPY)
    for row in range(len(x)):
        for label in range(network.outputs):
            _, cache = network.log_likelihood(vector, x[[row]], np.array([label]), NUMPY)
            views = network.layout.layers(network.log_likelihood_vjp(1.0, cache))[layer]
            slope = kronecker.together(views["weight.mu"], views["bias.mu"]).ravel()
            total = total + probabilities[row, label] * np.outer(slope, slope)
    return total / len(x)


@pytest.mark.parametrize("layer", ["hidden0", "head"])
def test_one_example_has_the_full_gauss_newton_block(layer):
    network, vector, x = problem(1)
    found = fisher.factors(network, vector, x, None, "exact", None)[layer]
    block = gauss_newton_block(network, vector, x, layer)
    np.testing.assert_allclose(np.kron(*found), block, rtol=1e-5, atol=1e-9)
    assert np.abs(block - np.diag(np.diag(block))).max() > 1e-3


def test_of_many_examples_the_product_of_means_is_no_mean_of_products():
    """The control; and it is one if all examples are the same."""
    network, vector, x = problem(6)
    gaps = []
    for inputs in (x, np.repeat(x[:1], 6, axis=0)):
        found = fisher.factors(network, vector, inputs, None, "exact", None)["head"]
        block = gauss_newton_block(network, vector, inputs, "head")
        gaps.append(np.abs(np.kron(*found) - block).max() / block.max())
    assert gaps[0] > 0.01 and gaps[1] < 1e-5


@pytest.mark.parametrize("definition", fisher.DEFINITIONS)
def test_the_product_of_the_diagonals_is_the_diagonal_of_one_example(definition):
    network, vector, x = problem(1)
    inputs = (network, vector, x, np.array([2]), definition)
    found = fisher.factors(*inputs, np.random.default_rng(0))
    diagonal = network.layout.layers(fisher.diagonal(*inputs, np.random.default_rng(0)))
    for layer, (of_inputs, of_slopes) in found.items():
        outer = np.outer(np.diag(of_inputs), np.diag(of_slopes))
        np.testing.assert_allclose(outer[:-1], diagonal[layer]["weight.mu"], rtol=1e-12)
        np.testing.assert_allclose(outer[-1], diagonal[layer]["bias.mu"], rtol=1e-12)


def test_a_convolution_adds_its_positions():
    """Images of 2 x 2 pixels have four positions, and the pool passes the slope of one of them."""
    rng = np.random.default_rng(2)
    images = rng.normal(size=(5, 4))
    network = plain.network(4, (), 3, line="conv:3")
    vector = network.start(rng).astype(float)
    found = fisher.factors(network, vector, images, None, "exact", None)["conv0"]
    padded = np.pad(images.reshape(5, 2, 2), ((0, 0), (1, 1), (1, 1)))
    rows = [padded[:, i : i + 3, j : j + 3].reshape(5, 9) for i in range(2) for j in range(2)]
    rows = np.concatenate([np.concatenate(rows), np.ones((20, 1))], axis=1)
    np.testing.assert_allclose(found.inputs, rows.T @ rows / 5, rtol=1e-10, atol=1e-14)
    diagonal = fisher.diagonal(network, vector, images, None, "exact", None)
    of_bias = network.layout.layers(diagonal)["conv0"]["bias.mu"]
    np.testing.assert_allclose(4 * np.diag(found.slopes), of_bias, rtol=1e-10)


def test_for_a_linear_layer_with_gaussian_noise_sequential_is_joint():
    """The penalty of all earlier tasks around the last solution is their exact likelihood."""
    rng = np.random.default_rng(3)
    sigma = 0.7
    tasks = [(rng.normal(size=(n, 4)), rng.normal(size=(n, 2))) for n in (5, 9, 3)]
    w = np.zeros((4, 2))
    earlier = [(np.eye(4), np.eye(2))]  # the first prior
    for x, y in tasks:
        moment = x.T @ x / len(x)
        step = sum(a for a, _ in earlier) + x.T @ x / sigma**2
        new = w + np.linalg.solve(step, x.T @ (y - x @ w) / sigma**2)
        slope = x.T @ (x @ new - y) / sigma**2
        for pair in earlier:
            slope = slope + penalty_vjp(1.0, penalty(new - w, *pair)[1])[0]
        np.testing.assert_allclose(slope, 0, atol=1e-12)  # the minimum of loss and penalties
        earlier.append((moment * len(x) / sigma**2, np.eye(2)))
        w = new
    x, y = (np.concatenate(parts) for parts in zip(*tasks, strict=True))
    joint = np.linalg.solve(x.T @ x / sigma**2 + np.eye(4), x.T @ y / sigma**2)
    np.testing.assert_allclose(w, joint, rtol=1e-10)


def test_on_few_weights_the_rule_is_the_full_laplace_where_its_factors_are_exact():
    """For one example, and for Gaussian noise; not for many examples of a logistic regression."""
    rng = np.random.default_rng(5)
    gaps = {}
    for name, likelihood, examples in (
        ("one", "logistic", 1),
        ("line", "gaussian", 9),
        ("many", "logistic", 9),
    ):
        network = TinyNetwork(1, likelihood=likelihood)
        tasks = []
        for t in range(2):
            x = rng.normal(t, 1, (examples, 1))
            y = x + 1 if likelihood == "gaussian" else rng.integers(0, 2, examples)
            tasks.append((x, y))
        ours, full = (
            approximations.carry(approximations.RULES[rule], network, tasks)[-1]
            for rule in ("Kronecker Laplace", "full Laplace")
        )
        gaps[name] = np.abs(ours.covariance - full.covariance).max()
    assert max(gaps["one"], gaps["line"]) < 1e-8 < 1e-3 < gaps["many"]


@pytest.mark.parametrize("single_head", [False, True])
def test_without_weight_it_is_naive_training_bit_for_bit(make_task, single_head):
    keys = COMMON | {"single_head": single_head}
    ours = KroneckerLaplace(Settings(**keys, weight=0.0), 1, "numpy")
    theirs = Naive(NaiveSettings(**keys), 1, "numpy")
    for t in range(3):
        for learner in (ours, theirs):
            learner.learn(make_task(t), progress=False)
    for t in range(3):
        np.testing.assert_array_equal(ours.assemble(t)[1], theirs.assemble(t)[1])


@pytest.mark.parametrize(("single_head", "copies"), [(False, 1), (True, 1), (False, 5)])
def test_diagonal_factors_of_tasks_with_one_example_are_the_diagonal_laplace(single_head, copies):
    """Copies of the example count as often as there are."""
    rng = np.random.default_rng(0)
    tasks = [
        Task(
            f"task {t}",
            np.repeat(rng.normal(size=(1, 6)), copies, axis=0),
            [t % 2] * copies,
            rng.normal(size=(4, 6)),
            [0, 1, 0, 1],
        )
        for t in range(3)
    ]
    tasks = [dataclasses.replace(task, classes=2) for task in tasks]
    keys = COMMON | {"single_head": single_head, "epochs": 30}
    learners = [
        KroneckerLaplace(Settings(**keys, factors="diagonal"), 1, "numpy"),
        Laplace(LaplaceSettings(**keys), 1, "numpy"),
        KroneckerLaplace(Settings(**keys), 1, "numpy"),
    ]
    for learner in learners:
        for task in tasks:
            learner.learn(task, progress=False)
    diagonal, theirs, full = (learner.knowledge.shared for learner in learners)
    np.testing.assert_allclose(diagonal, theirs, rtol=1e-4, atol=1e-5)
    assert np.abs(full - theirs).max() > 1e-3  # the control: whole factors are something else


def test_the_gradient_of_the_penalty_is_that_of_its_value(make_task):
    learner = learner_of()
    for t in range(2):
        learner.learn(make_task(t), progress=False)
    context = learner.context
    network = context.next_network(2)
    places = context.places(network)
    memory = {name: value.astype(float) for name, value in context.state.memory.items()}
    rng = np.random.default_rng(0)
    vector = rng.normal(size=network.layout.size)
    direction = rng.normal(size=network.layout.size)

    def value(v):
        return kronecker.penalty(network, v, places, memory, context.settings)[0]

    _, gradient = kronecker.penalty(network, vector, places, memory, context.settings)
    step = 1e-5
    slope = (value(vector + step * direction) - value(vector - step * direction)) / (2 * step)
    np.testing.assert_allclose(gradient @ direction, slope, rtol=1e-7)


def test_added_factors_are_one_pair_that_equals_the_sum_for_equal_inputs():
    """The sum of products is the product of sums if one factor is the same."""
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(3, 4, 4))
    slopes = [root @ root.T for root in roots]
    inputs = rng.normal(size=(5, 5))
    inputs = inputs @ inputs.T
    delta = rng.normal(size=(5, 4))
    values = []
    for sums in ("separate", "added"):
        settings = Settings(sums=sums)
        memory = {}
        for t, (of_slopes, count) in enumerate(zip(slopes, (3, 8, 5), strict=True)):
            gained = {"layer": fisher.Factors(inputs, of_slopes)}
            memory = kronecker.remember(memory, settings, np.zeros(1), gained, count, t)
        pairs = kronecker.factors_of(memory)["layer"]
        assert len(pairs) == (3 if sums == "separate" else 1)
        values.append(sum(penalty(delta, *pair)[0] for pair in pairs))
    np.testing.assert_allclose(*values, rtol=1e-12)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hidden": (10, 9)},
        {"single_head": True},
        {"sums": "added", "factors": "diagonal"},
        {"fisher": "sampled", "fisher_examples": 10},
    ],
)
def test_it_learns(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=15, **changes), [make_task(t) for t in range(2)], progress=False
    )
    assert np.diagonal(last.accuracy).min() > 0.8
    assert {record.phase for record in last.history} == {"kronecker"}


def test_it_refuses_what_it_cannot_do():
    for wrong in ({"weight": -1.0}, {"prior_sigma": 0.0}, {"factors": "none"}, {"sums": "mean"}):
        with pytest.raises(ValueError, match=f"kronecker: {next(iter(wrong))} must"):
            Settings(**wrong)
    network, vector, x = problem(0)
    with pytest.raises(ValueError, match=r"fisher\.factors: x must hold at least one"):
        fisher.factors(network, vector, x, None, "exact", None)
    assert method("kronecker").learner is KroneckerLaplace
