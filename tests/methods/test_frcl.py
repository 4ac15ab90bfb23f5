"""FRCL: exact Bayesian regression at fixed features, and the gradients of the bound."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.continual.loop import learn_stream
from ibpcl.exact import linear
from ibpcl.methods import frcl, method
from ibpcl.methods.frcl import FRCL, Objective, Settings
from ibpcl.methods.sequential import accept, start
from ibpcl.models import function_space as space

COMMON = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02, "prediction_samples": 50}
SMALL = Settings(**COMMON, points=15)
NOISE = 0.5  # standard deviation of the targets in the regressions


def learner_of(seed=1, **changes):
    return FRCL(dataclasses.replace(SMALL, **changes), seed, "numpy")


def regression(seed=0, width=5, outputs=2, examples=(9, 7, 12)):
    """Features and targets of some tasks, and the prior of the weights as the method has it."""
    rng = np.random.default_rng(seed)
    phis = [rng.normal(size=(n, width)) for n in examples]
    targets = [rng.normal(size=(n, outputs)) for n in examples]
    return phis, targets, linear.prior(width, outputs, 1.3, NOISE)


def from_moments(mean, covariance):
    """Return a belief with one covariance for all outputs, as exact regression has it."""
    precision = np.linalg.inv(covariance)
    return linear.Linear(precision, precision @ mean, NOISE)


@pytest.mark.parametrize("jitter", [1e-4, 1e-7])
def test_with_fixed_features_and_all_points_it_is_exact_regression(jitter):
    """Task by task through the kept values: the posterior of all data, up to the jitter."""
    phis, targets, exact = regression()
    belief = exact
    seen = np.zeros((0, 5))
    for phi, y in zip(phis, targets, strict=True):
        exact = linear.update(exact, phi, y)
        belief = linear.update(belief, phi, y)  # the best q(w) for the prior that the values imply
        seen = np.concatenate([seen, phi])
        covariance = np.broadcast_to(np.linalg.inv(belief.precision), (2, 5, 5))
        mean, spread = space.values(seen, linear.mean(belief), covariance, jitter)
        (mean, covariances), _ = space.implied(seen, mean, spread, 1.3, jitter)
        np.testing.assert_allclose(covariances[0], covariances[1], rtol=1e-9)
        belief = from_moments(mean, covariances[0])
    gap = np.abs(linear.mean(belief) - linear.mean(exact)).max()
    assert gap < 20 * jitter
    gap = np.abs(np.linalg.inv(belief.precision) - np.linalg.inv(exact.precision)).max()
    assert gap < 20 * jitter


def test_with_few_points_it_is_not_exact():
    (phi, *_), (y, *_), before = regression()
    exact = linear.update(before, phi, y)
    covariance = np.broadcast_to(np.linalg.inv(exact.precision), (2, 5, 5))
    kept = space.values(phi[:3], linear.mean(exact), covariance, 1e-7)
    (mean, _), _ = space.implied(phi[:3], *kept, 1.3, 1e-7)
    assert np.abs(mean - linear.mean(exact)).max() > 1e-2
    # but the function values at the points are those of the exact posterior
    np.testing.assert_allclose(phi[:3] @ mean, phi[:3] @ linear.mean(exact), atol=1e-5)


def test_exact_regression_is_where_the_bound_is_stationary():
    """Its two divergences and a Gaussian likelihood, at the exact posterior of two tasks."""
    (phi, second, _), (y, values, _), before = regression()
    first = linear.update(before, phi, y)
    covariance = np.broadcast_to(np.linalg.inv(first.precision), (2, 5, 5))
    kept = space.values(phi, linear.mean(first), covariance, 1e-9)
    known, _ = space.implied(phi, *kept, 1.3, 1e-9)
    exact = linear.update(first, second, values)
    root = np.linalg.cholesky(np.broadcast_to(np.linalg.inv(exact.precision), (2, 5, 5)))
    mu = linear.mean(exact)
    _, cache = space.weights_kl(mu, root, *known)
    dmu, droot, *_ = space.weights_kl_vjp(1.0, cache)
    # of E_q[log N(y | phi w, noise^2)]
    of_mean = second.T @ (values - second @ mu) / NOISE**2
    of_root = np.tril(-(second.T @ second) @ root) / NOISE**2
    np.testing.assert_allclose(dmu, of_mean, atol=1e-5)
    np.testing.assert_allclose(droot, of_root, atol=1e-5)
    assert np.abs(of_mean).max() > 0.1


def test_the_divergence_of_the_weights_is_that_of_gaussians_by_sampling():
    rng = np.random.default_rng(0)
    mu = rng.normal(size=(3, 1))
    root, _ = space.lower(0.5 * rng.normal(size=(1, 3, 3)))
    prior_root, _ = space.lower(0.3 * rng.normal(size=(1, 3, 3)))
    prior = prior_root @ prior_root.swapaxes(1, 2)
    mean = rng.normal(size=(3, 1))
    found, _ = space.weights_kl(mu, root, mean, prior)
    w = mu[:, 0] + rng.normal(size=(200_000, 3)) @ root[0].T

    def log_density(w, mean, root):
        white = np.linalg.solve(root, (w - mean).T)
        return -(white**2).sum(axis=0) / 2 - np.log(np.diag(root)).sum()

    ratio = log_density(w, mu[:, 0], root[0]) - log_density(w, mean[:, 0], prior_root[0])
    assert found == pytest.approx(ratio.mean(), abs=4 * ratio.std() / np.sqrt(len(w)))
    same, _ = space.weights_kl(mu, root, mu, root @ root.swapaxes(1, 2))
    assert same == pytest.approx(0, abs=1e-12)


def test_the_divergence_of_the_values_is_that_of_their_gaussians():
    """With the weights' divergence, whose means are zero and whose matrices are roots."""
    rng = np.random.default_rng(1)
    phi = rng.normal(size=(4, 6))
    mean = rng.normal(size=(4, 2))
    spread = np.array([np.cov(rng.normal(size=(4, 9))) + np.eye(4) for _ in range(2)])
    kernel = 0.7**2 * phi @ phi.T + 0.1 * np.eye(4)
    expected, _ = space.weights_kl(
        mean, np.linalg.cholesky(spread), np.zeros((4, 2)), np.array([kernel, kernel])
    )
    assert space.values_kl(phi, mean, spread, 0.7, 0.1)[0] == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_chosen_points_leave_less_variance_than_random_ones_and_none_at_full_rank(seed, count):
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(20, 6)) * np.exp(rng.normal(size=(20, 1)))
    rows = space.most_informative(phi, count)
    assert len(set(rows.tolist())) == count

    def rest(rows):
        chosen = np.linalg.qr(phi[rows].T)[0]
        return np.sum((phi - phi @ chosen @ chosen.T) ** 2)

    others = np.mean([rest(rng.permutation(20)[:count]) for _ in range(20)])
    assert rest(rows) <= others + 1e-9
    if count >= 6:
        assert rest(rows) < 1e-9 * np.sum(phi**2)


@given(st.integers(0, 2**32 - 1))
def test_once_no_variance_is_left_the_first_points_follow_whatever_the_rounding(seed):
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(12, 3)) @ rng.normal(size=(3, 7))  # rank 3
    rows = space.most_informative(phi, 8).tolist()
    assert rows[3:] == [row for row in range(12) if row not in rows[:3]][:5]
    assert rows == space.most_informative(phi * (1 + 1e-14 * rng.normal()), 8).tolist()


@pytest.mark.parametrize("single_head", [False, True])
@pytest.mark.parametrize("learned", [0, 1, 2])
def test_the_gradient_of_the_bound_is_right_by_differences(make_task, single_head, learned):
    learner = learner_of(single_head=single_head, hidden=(5, 4), epochs=2, points=6, jitter=0.1)
    for t in range(learned):
        learner.learn(make_task(t), progress=False)
    task = make_task(learned)
    context = accept(learner.context, task)
    objective = Objective(context, context.next_network(2))
    vector = objective.begin(start(context, objective.network, task)).astype(float)
    rng = np.random.default_rng(0)
    vector += 0.05 * rng.normal(size=vector.size)
    eps = rng.normal(size=(2, 30, 2))
    x = task.x_train[:30].astype(float)

    def bound(vector):
        value, up = objective.likelihood(vector, x, task.targets[:30], eps, 120)
        kl_weights, kl_values, down = objective.divergences(vector)
        return value - kl_weights - kl_values, up - down

    gradient = bound(vector)[1]
    for _ in range(3):
        direction = rng.normal(size=vector.size)
        step = 1e-6
        pair = [bound(vector + side * step * direction)[0] for side in (1, -1)]
        assert gradient @ direction == pytest.approx((pair[0] - pair[1]) / 2 / step, rel=2e-5)
    assert (objective.divergences(vector)[1] > 0) == (learned > 0)


def test_before_the_features_move_values_at_many_points_give_back_the_posterior(make_task):
    learner = learner_of(points=120, jitter=1e-6)
    learner.learn(make_task(0), progress=False)
    context = learner.context
    network, vector = context.assemble(0)
    *layers, (weight, bias) = network.weights(vector)
    mu, _ = frcl.belief(layers, frcl.summary(context, 0), context.settings)
    phi, _ = space.features(layers, make_task(0).x_train)
    expected = phi @ np.concatenate([bias[None], weight])
    np.testing.assert_allclose(phi @ mu, expected, atol=1e-3 * np.abs(expected).max())


def test_later_tasks_change_kept_values_less_than_without_them(make_task):
    """The penalty holds the function at the kept points; a summary of no value does not."""
    changes = {}
    for kept in (True, False):
        learner = learner_of(epochs=8, points=40)
        learner.learn(make_task(0), progress=False)
        x = make_task(0).x_train
        before = learner.predict(x, 0)
        state = learner.knowledge
        if not kept:  # the objective of the second task has no summary of the first
            memory = {name: value[:0] for name, value in state.memory.items()}
            memory["spread0"] = state.memory["spread0"][:, :0, :0]
            learner.become(dataclasses.replace(state, memory=memory))
        learner.learn(make_task(1), progress=False)
        memory = learner.knowledge.memory | {
            name: value for name, value in state.memory.items() if name.endswith("0")
        }
        learner.become(dataclasses.replace(learner.knowledge, memory=memory))
        changes[kept] = np.abs(learner.predict(x, 0) - before).mean()
    assert changes[True] < changes[False]


def test_more_points_than_features_and_a_small_jitter_hold_the_span_of_the_features(make_task):
    """How much of the old features at the first task's inputs the new ones cannot express."""
    lost = {}
    for points, jitter in ((60, 1e-5), (60, 10.0), (2, 1e-5)):
        learner = learner_of(hidden=(3,), points=points, jitter=jitter, epochs=8, rate=0.05)
        old, new = [], []
        for features, t in ((old, 0), (new, 1)):
            learner.learn(make_task(t), progress=False)
            network, vector = learner.context.assemble(0)
            features.append(space.features(network.weights(vector)[:-1], make_task(0).x_train)[0])
        basis = np.linalg.qr(new[0])[0]
        rest = old[0] - basis @ (basis.T @ old[0])
        lost[points, jitter] = np.sum(rest**2) / np.sum(old[0] ** 2)
    assert lost[60, 1e-5] < lost[60, 10.0] / 2
    assert lost[60, 1e-5] < lost[2, 1e-5] / 2


@pytest.mark.parametrize(
    "changes", [{}, {"hidden": (10, 9)}, {"single_head": True}, {"selection": "random"}]
)
def test_it_learns_and_keeps(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=12, points=30, **changes),
        [make_task(t) for t in range(2)],
        progress=False,
    )
    assert last.accuracy[1].min() > 0.9
    assert {record.phase for record in last.history} == {"frcl"}


def test_a_single_head_keeps_the_points_of_all_tasks_and_several_heads_one_set_each(make_task):
    for single_head, shapes in ((True, {"points0": 45}), (False, {"points0": 15, "points2": 15})):
        learner = learner_of(single_head=single_head, epochs=1)
        for t in range(3):
            learner.learn(make_task(t), progress=False)
        memory = learner.knowledge.memory
        assert ("points1" in memory) != single_head
        for name, count in shapes.items():
            assert memory[name].shape == (count, 6)


def test_it_refuses_what_it_cannot_do():
    for wrong in ({"points": 0}, {"jitter": 0.0}, {"selection": "x"}, {"network": "conv:8"}):
        with pytest.raises(ValueError, match=f"frcl: {next(iter(wrong))} must"):
            Settings(**wrong)
    with pytest.raises(ValueError, match=r"frcl\.predict: unknown task_id 0"):
        learner_of().predict(np.zeros((1, 6)), 0)
    assert method("frcl").learner is FRCL
