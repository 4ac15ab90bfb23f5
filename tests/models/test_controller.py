"""The policy: its distribution over choices, its unbiased gradient, and that it learns."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from ibpcl import adam
from ibpcl.models.controller import Controller
from ibpcl.noise import Key, uniform

POLICY = Controller(layers=2, actions=3, units=4)
ALL = np.array(list(product(range(3), repeat=2)))  # all possible choices


def somewhere(seed=0, policy=POLICY):
    return np.random.default_rng(seed).normal(scale=0.7, size=policy.layout.size)


def probabilities(vector, policy=POLICY, choices=ALL):
    return np.exp(policy.log_probabilities(vector, choices)[0])


def score(vector, choice):
    """The gradient of the log probability of one choice."""
    _, cache = POLICY.log_probabilities(vector, choice[None])
    return POLICY.log_probabilities_vjp(np.ones(1), cache)


def test_the_probabilities_of_all_choices_add_up_to_one():
    policy = Controller(3, 4, 5)
    choices = np.array(list(product(range(4), repeat=3)))
    p = probabilities(somewhere(1, policy), policy, choices)
    assert p.sum() == pytest.approx(1, abs=1e-12) and (p > 0).all()
    assert probabilities(np.zeros(policy.layout.size), policy, choices) == pytest.approx(
        np.full(64, 1 / 64)
    )


def test_a_choice_depends_on_earlier_choices_only():
    p = POLICY.probabilities(somewhere(), ALL)  # (L, N, A)
    first = {tuple(row) for row in p[0].round(12)}
    second = {
        choice: {tuple(row) for row in p[1, ALL[:, 0] == choice].round(12)} for choice in range(3)
    }
    assert len(first) == 1
    assert all(len(rows) == 1 for rows in second.values())
    assert len(set.union(*second.values())) == 3


@pytest.mark.parametrize("baseline", [0.0, 0.4, -3.0])
def test_reinforce_is_unbiased_by_exact_expectation(baseline):
    """The exact mean of (R - B) grad log p is the gradient of the mean reward, for any baseline."""
    vector = somewhere()
    rewards = np.random.default_rng(5).normal(size=len(ALL))
    p = probabilities(vector)
    estimated = sum(
        p[n] * (rewards[n] - baseline) * score(vector, choice) for n, choice in enumerate(ALL)
    )
    exact = np.empty_like(vector)
    for i in range(len(vector)):
        moved = vector.astype(complex)
        moved[i] += 1e-30j
        exact[i] = (np.exp(POLICY.log_probabilities(moved, ALL)[0]) @ rewards).imag / 1e-30
    np.testing.assert_allclose(estimated, exact, rtol=1e-9, atol=1e-13)
    assert np.abs(exact).max() > 0.01


def test_the_loss_trains_policy_and_value():
    """Each choice occurs in proportion to its probability, so the expectation is exact."""
    vector = somewhere()
    rewards = np.random.default_rng(5).normal(size=len(ALL))
    value = POLICY.value(vector)
    p = probabilities(vector)
    gradients = []
    for choice, reward in zip(ALL, rewards, strict=True):
        _, cache = POLICY.loss(vector, choice[None], np.array([reward]), value)
        gradients.append(POLICY.loss_vjp(1.0, cache))
    expected = -sum(
        weight * reward * score(vector, choice)
        for weight, reward, choice in zip(p, rewards, ALL, strict=True)
    )
    expected[POLICY.layout.block("value")] = value - p @ rewards
    np.testing.assert_allclose(p @ np.stack(gradients), expected, rtol=1e-9, atol=1e-13)


def test_the_baseline_makes_the_estimate_less_noisy():
    """Rewards are all near one, like accuracies, so their differences are small beside the mean."""
    vector = somewhere()
    rewards = 0.97 + 0.01 * np.random.default_rng(5).normal(size=len(ALL))
    p = probabilities(vector)
    scores = np.stack([score(vector, choice) for choice in ALL])
    noise = []
    for baseline in (0.0, p @ rewards):
        estimates = (rewards - baseline)[:, None] * scores
        noise.append((p @ estimates**2 - (p @ estimates) ** 2).sum())
    assert noise[1] < noise[0] / 1000


def test_choices_are_drawn_with_their_probabilities():
    vector = somewhere(2)
    draws = 2000
    noise = uniform(Key(0, 0, 0, 0), (draws, 2), np.float64)
    drawn = np.stack([POLICY.sample(vector, u) for u in noise])
    counts = [(drawn == choice).all(axis=1).sum() for choice in ALL]
    assert chisquare(counts, draws * probabilities(vector)).pvalue > 0.01


def test_noise_at_the_ends_of_the_unit_interval_is_a_choice():
    vector = somewhere()
    assert POLICY.sample(vector, np.zeros(2)).tolist() == [0, 0]
    assert POLICY.sample(vector, np.ones(2)).tolist() == [2, 2]


def test_with_one_action_the_choice_is_fixed():
    policy = Controller(3, 1, 4)
    vector = somewhere(0, policy)
    log_p, cache = policy.log_probabilities(vector, np.zeros((2, 3), int))
    assert (log_p == 0).all() and (policy.sample(vector, np.full(3, 0.7)) == 0).all()
    assert (policy.log_probabilities_vjp(np.ones(2), cache) == 0).all()


def test_training_finds_the_best_choice():
    """A reward that needs both numbers to be right at once; three hundred trials among sixteen
    choices.
    """
    policy = Controller(2, 4, 16)
    vector = policy.initial(np.random.default_rng(0))
    # the initial policy is nearly uniform
    assert np.ptp(policy.probabilities(vector, np.zeros((1, 2), int))) < 0.1
    state = adam.start(vector)
    rates = np.full(len(vector), 0.02)
    for trial in range(300):
        choice = policy.sample(vector, uniform(Key(4, 0, trial, 0), 2, np.float64))
        reward = np.array([1.0 - 0.3 * np.abs(choice - [2, 1]).sum()])
        _, cache = policy.loss(vector, choice[None], reward, policy.value(vector))
        vector, state = adam.update(vector, policy.loss_vjp(1.0, cache), state, rates)
    assert np.exp(policy.log_probabilities(vector, np.array([[2, 1]]))[0][0]) > 0.8
    assert policy.value(vector) > 0.8
