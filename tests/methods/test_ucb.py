"""UCB: rates that follow the uncertainty, with naive training as its limit, bit for bit."""

import dataclasses
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.continual.loop import learn_stream
from ibpcl.inference.objectives import Data
from ibpcl.methods import method, ucb
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings
from ibpcl.methods.sequential import accept, start
from ibpcl.methods.ucb import UCB, Settings, scaled_rates

COMMON = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}
SMALL = Settings(**COMMON, likelihood_epochs=0, prediction_samples=10)


def learner_of(seed=1, **changes):
    return UCB(dataclasses.replace(SMALL, **changes), seed, "numpy")


def learned(learner, make_task, tasks=2):
    for t in range(tasks):
        learner.learn(make_task(t), progress=False)
    return learner


@pytest.mark.parametrize("single_head", [False, True])
@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
def test_equal_sigmas_that_vanish_are_naive_training(make_task, single_head, backend_name):
    """Bit for bit in NumPy; the compiled layers add in another order.

    The start and the order of the examples are those of the naive learner.
    """
    keys = {"single_head": single_head}
    theirs = Naive(NaiveSettings(**COMMON, **keys), 1, backend_name)
    # sigma epsilon is below the last digit of every mean
    log_sigma = np.log(1e-30)
    vanishing = {"sigma_rate": 0.0, "kl_weight": 0.0, "local": False}
    ours = UCB(dataclasses.replace(SMALL, **keys, **vanishing), 1, backend_name)
    compare = np.testing.assert_array_equal
    if backend_name == "numba":
        compare = partial(np.testing.assert_allclose, atol=1e-5)
    for t in range(3):
        task = make_task(t)
        plain = accept(theirs.context, task)
        context = accept(ours.context, task)
        network = context.next_network(task.outputs)
        means = network.layout.block("mu")
        vector = np.full(network.layout.size, log_sigma, np.float32)
        vector[means] = start(plain, plain.next_network(task.outputs), task)
        data = Data(task.x_train, task.targets)
        vector, _ = ucb.maximize(context, network, vector, data, plain.fit(samples=1))
        ours.become(ucb.keep(context, network, vector))
        theirs.learn(task, progress=False)
        compare(vector[means], theirs.assemble(t)[1], err_msg=f"task {t}")


@pytest.mark.parametrize("changes", [{}, {"single_head": True}, {"local": False}])
def test_equal_sigmas_are_naive_training_of_the_bayesian_network_bit_for_bit(make_task, changes):
    same = [
        learned(learner_of(sigma_rate=0.0, power=power, **changes), make_task).knowledge.shared
        for power in (1.0, 0.0)
    ]
    np.testing.assert_array_equal(*same)
    other = [
        learned(learner_of(sigma_rate=0.05, power=power, **changes), make_task).knowledge.shared
        for power in (1.0, 0.0)
    ]
    assert np.abs(other[0] - other[1]).max() > 1e-3  # the control: with unequal ones it is not


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=6), st.floats(0, 3), st.floats(-5, 5))
def test_factors_are_ratios_of_standard_deviations(log_sigma, power, shift):
    log_sigma = np.array(log_sigma)
    factors = scaled_rates(log_sigma, power)
    assert factors.max() == 1.0 and (factors >= 0).all()
    sigma = np.exp(log_sigma)
    np.testing.assert_allclose(factors, (sigma / sigma.max()) ** power, rtol=1e-9)
    # a common factor of all standard deviations changes nothing
    np.testing.assert_allclose(scaled_rates(log_sigma + shift, power), factors, rtol=1e-9)


@given(st.floats(-50, 50), st.floats(0, 5), st.integers(1, 5))
def test_equal_sigmas_have_factors_of_exactly_one(log_sigma, power, size):
    assert (scaled_rates(np.full(size, log_sigma), power) == 1).all()


def test_only_means_that_earlier_tasks_learned_are_slowed(make_task):
    learner = learned(learner_of(sigma_rate=0.05), make_task, 1)
    context = accept(learner.context, make_task(1))
    network = context.next_network(2)
    views = network.layout.layers(ucb.rate_factors(context, network))
    sigma = np.exp(network.layout.layers(learner.assemble(0)[1])["hidden0"]["weight.log_sigma"])
    for name in ("weight.log_sigma", "bias.log_sigma"):
        assert (views["hidden0"][name] == 1).all()
    assert all((values == 1).all() for values in views["head"].values())
    factors = views["hidden0"]["weight.mu"]
    assert factors.max() <= 1 and factors.min() < 0.9
    np.testing.assert_allclose(factors / factors[0, 0], sigma / sigma[0, 0], rtol=1e-5)


def test_a_certain_weight_hardly_moves(make_task):
    learner = learned(learner_of(), make_task, 1)
    layout = learner.context.shared_layout(0)
    before = learner.knowledge.shared.copy()
    layout.layers(before)["hidden0"]["weight.log_sigma"][0] = -20.0
    learner.become(dataclasses.replace(learner.knowledge, shared=before))
    learner.learn(make_task(1), progress=False)
    moved = layout.layers(learner.knowledge.shared - before)["hidden0"]["weight.mu"]
    assert np.abs(moved[0]).max() < 1e-6 < 1e-2 < np.abs(moved[1:]).max()


@pytest.mark.parametrize(
    "changes", [{}, {"hidden": (10, 9)}, {"single_head": True}, {"likelihood_epochs": 2}]
)
def test_it_learns(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=15, **changes), [make_task(t) for t in range(2)], progress=False
    )
    assert np.diagonal(last.accuracy).min() > 0.8
    assert {record.phase for record in last.history} <= {"ucb", "likelihood"}


def test_it_refuses_what_it_cannot_do():
    for wrong in ({"power": -1.0}, {"sigma_rate": -0.1}, {"kl_weight": -1.0}):
        with pytest.raises(ValueError, match=f"ucb: {next(iter(wrong))} must"):
            Settings(**wrong)
    with pytest.raises(ValueError, match=r"ucb\.predict: unknown task_id 0"):
        learner_of().predict(np.zeros((1, 6)), 0)
    assert method("ucb").learner is UCB
