"""GEM and A-GEM: the projections against SciPy, and the limits in which they are other methods."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ibpcl.errors import NonFiniteError
from ibpcl.inference.objectives import Data
from ibpcl.methods import agem, gem, method, naive, sequential
from ibpcl.methods.pooled import remembered

BOTH = ("agem", "gem")
SMALL = {"hidden": (8,), "epochs": 6, "batch": 40, "rate": 0.02}


def learner_of(name, backend_name="numpy", **changes):
    found = method(name)
    return found.learner(found.settings(**{**SMALL, **changes}), 3, backend_name)


def same(one, other):
    np.testing.assert_array_equal(one.knowledge.shared, other.knowledge.shared)
    for a, b in zip(one.knowledge.own, other.knowledge.own, strict=True):
        np.testing.assert_array_equal(a, b)


def problem(seed, tasks=4, size=12):
    """A gradient that the first row opposes, and the rows."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(tasks, size)) * 10.0 ** rng.integers(-2, 2, (tasks, 1))
    gradient = rng.normal(size=size)
    return gradient - 2 * max(gradient @ rows[0], 0) / (rows[0] @ rows[0]) * rows[0], rows


# The projections.


@pytest.mark.parametrize("seed", range(20))
def test_the_dual_solution_is_scipys(seed):
    gradient, rows = problem(seed)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    gram = rows @ rows.T
    products = rows @ gradient
    found = minimize(
        lambda v: (v @ gram @ v / 2 + products @ v, gram @ v + products),
        np.ones(len(rows)),
        jac=True,
        bounds=[(0, None)] * len(rows),
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-12},
    )
    v = gem.solve_dual(gradient, rows)
    np.testing.assert_allclose(v, found.x, atol=1e-6)
    assert (v > 0).any()
    np.testing.assert_allclose(gem.project(gradient, rows), gradient + rows.T @ v, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_is_the_nearest_feasible_vector(seed):
    """The primal problem, by another solver of SciPy."""
    gradient, rows = problem(seed, tasks=3, size=6)
    found = minimize(
        lambda u: (np.sum((u - gradient) ** 2) / 2, u - gradient),
        np.zeros(len(gradient)),
        jac=True,
        constraints={"type": "ineq", "fun": lambda u: rows @ u, "jac": lambda u: rows},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(gem.project(gradient, rows), found.x, atol=1e-5)


@pytest.mark.parametrize("seed", range(50))
def test_the_projection_satisfies_the_optimality_conditions(seed):
    """Also with rows that repeat, vanish or depend on one another."""
    gradient, rows = problem(seed, tasks=6, size=9)
    rows[3] = rows[0]
    rows[4] = 0
    rows[5] = rows[0] + rows[1]
    v = gem.solve_dual(gradient, rows)
    projected = gem.project(gradient, rows)
    scale = np.linalg.norm(rows, axis=1) * np.linalg.norm(gradient) + 1e-300
    assert (v >= 0).all()
    assert (rows @ projected / scale).min() > -1e-12
    np.testing.assert_allclose(v * (rows @ projected), 0, atol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_averaged_is_one_constraint(seed):
    gradient, rows = problem(seed, tasks=1)
    projected = agem.project(gradient, rows[0])
    np.testing.assert_allclose(projected, gem.project(gradient, rows), rtol=1e-9, atol=1e-12)
    assert abs(projected @ rows[0]) < 1e-12 * np.linalg.norm(gradient) * np.linalg.norm(rows[0])
    # what is left is part of the gradient, and points its way
    assert 0 < projected @ gradient == pytest.approx(projected @ projected)


def test_a_projection_by_hand():
    gradient = np.array([-3.0, 1.0, 2.0])
    np.testing.assert_array_equal(agem.project(gradient, np.array([2.0, 0.0, 0.0])), [0, 1, 2])
    np.testing.assert_allclose(
        agem.project(gradient, np.array([1.0, 1.0, 0.0])), [-2, 2, 2], rtol=1e-15
    )
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    np.testing.assert_allclose(gem.project(gradient, rows), [0, 1, 0], atol=1e-15)


def test_an_orthogonal_or_agreeing_gradient_is_left_alone():
    gradient = np.array([1.0, 0.0, 2.0], np.float32)
    for row in ([0.0, 3.0, 0.0], [1.0, 5.0, 1.0], [0.0, 0.0, 0.0]):
        assert agem.project(gradient, np.array(row)) is gradient
        assert gem.project(gradient, np.array([row, [0.0, -1.0, 0.0]])) is gradient


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_not_left_alone(wrong):
    gradient = np.array([-1.0, 2.0])
    row = np.array([wrong, 1.0])
    with np.errstate(invalid="ignore"):
        assert np.isnan(agem.project(gradient, row)).any()
        assert np.isnan(gem.project(gradient, np.array([[1.0, 0.0], row]))).all()


def test_the_reference_is_the_gradient_of_the_mean_loss_on_all_examples(make_task):
    """Buffers of different sizes, with one head: as if all examples were of one task."""
    learner = learner_of("agem", single_head=True, buffer_size=50)
    for t, examples in enumerate((80, 30)):
        learner.learn(make_task(t, examples=examples), progress=False)
    context = learner.context
    network, vector = context.assemble(0)
    reference = agem.reference_of(*gem.memory_gradients(context, network, vector))
    x, labels = (
        np.concatenate([getattr(remembered(context.state.memory, s), name) for s in range(2)])
        for name in ("x", "labels")
    )
    assert len(x) == 80
    _, cache = network.log_likelihood(vector, x, labels, context.backend)
    expected = network.log_likelihood_vjp(-1 / 80, cache)
    np.testing.assert_allclose(reference, expected, rtol=1e-4, atol=1e-7)


# Training.


def memory_losses(context, shared):
    """The mean loss on the stored examples of each task, with its head."""
    losses = []
    for s in range(context.state.learned):
        x, labels, *_ = remembered(context.state.memory, s)
        network, vector = context.assemble(s, shared)
        total, _ = network.log_likelihood(vector, x, labels, context.backend)
        losses.append(-float(total) / len(x))
    return np.array(losses)


def steps_of(monkeypatch, learner, task):
    """Learn a task; return the parameters and the gradients before and after the projection."""
    found = []
    inner = sequential.train

    def watched(context, network, vector, data, penalty):
        places = context.places(network)

        def watch(vector, gradient):
            value, change = penalty(vector, gradient)
            added = 0 if change is None else change / len(data.x)
            followed = gradient + added
            found.append((vector[places].copy(), gradient[places], followed[places]))
            return value, change

        assert isinstance(data, Data)
        return inner(context, network, vector, data, penalty=watch)

    monkeypatch.setattr(gem, "train", watched)
    context = learner.context
    learner.learn(task, progress=False)
    return context, found


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("single_head", [False, True])
def test_a_step_does_not_increase_the_memorys_loss(name, single_head, make_task, monkeypatch):
    """To first order, by central differences along the gradient and its projection."""
    learner = learner_of(name, single_head=single_head, epochs=3)
    for t in range(2):
        learner.learn(make_task(t), progress=False)
    context, steps = steps_of(monkeypatch, learner, make_task(2))
    sizes = np.array([len(context.state.memory[f"y{s}"]) for s in range(2)])

    def slopes(shared, direction):
        # of the loss of each task, or of the mean over all examples, down a gradient of length 1
        step = 5e-3 * direction / np.linalg.norm(direction)
        difference = memory_losses(context, shared - step) - memory_losses(context, shared + step)
        return difference / 1e-2 if name == "gem" else difference @ sizes / sizes.sum() / 1e-2

    changed = [step for step in steps if not np.array_equal(step[1], step[2])]
    assert len(changed) >= 3
    worst = [np.max(slopes(shared, gradient)) for shared, gradient, _ in changed]
    after = [np.max(slopes(shared, followed)) for shared, _, followed in changed]
    assert max(after) < 0.05 * max(worst)


@pytest.mark.parametrize("name", BOTH)
def test_the_head_of_the_task_is_free(name, make_task, monkeypatch):
    learner = learner_of(name)
    learner.learn(make_task(0), progress=False)
    head = learner.knowledge.own[0].copy()
    heads = []

    def watched(context, network, vector, data, penalty):
        places = context.places(network)

        def watch(vector, gradient):
            value, change = penalty(vector, gradient)
            heads.append(np.delete(change, places))
            return value, change

        return sequential.train(context, network, vector, data, penalty=watch)

    monkeypatch.setattr(gem, "train", watched)
    learner.learn(make_task(1), progress=False)
    assert heads and not np.any(heads)
    np.testing.assert_array_equal(learner.knowledge.own[0], head)


@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
@pytest.mark.parametrize("name", BOTH)
def test_without_memory_it_is_naive_bit_for_bit(name, backend_name, make_task):
    one = naive.Naive(naive.Settings(**SMALL), 3, backend_name)
    other = learner_of(name, backend_name, buffer_size=0)
    for t in range(3):
        histories = [learner.learn(make_task(t), progress=False) for learner in (one, other)]
        assert [record.elbo for record in histories[0]] == [record.elbo for record in histories[1]]
    same(one, other)
    assert other.knowledge.memory == {}


@pytest.mark.parametrize("name", BOTH)
def test_the_first_task_is_naive_bit_for_bit(name, make_task):
    one = naive.Naive(naive.Settings(**SMALL), 3, "numpy")
    other = learner_of(name)
    for learner in (one, other):
        learner.learn(make_task(0), progress=False)
    same(one, other)
    for learner in (one, other):
        learner.learn(make_task(1), progress=False)
    assert not np.array_equal(one.knowledge.shared, other.knowledge.shared)


@pytest.mark.parametrize("single_head", [False, True])
def test_with_one_earlier_task_the_two_are_the_same(single_head, make_task):
    one, other = (learner_of(name, single_head=single_head) for name in BOTH)
    for t in range(2):
        for learner in (one, other):
            learner.learn(make_task(t), progress=False)
    np.testing.assert_allclose(one.knowledge.shared, other.knowledge.shared, atol=1e-4)
    for learner in (one, other):
        learner.learn(make_task(2), progress=False)
    assert np.abs(one.knowledge.shared - other.knowledge.shared).max() > 1e-3


@pytest.mark.parametrize("name", BOTH)
def test_it_forgets_less_than_naive_with_one_head(name, make_task):
    learners = learner_of("naive", single_head=True), learner_of(name, single_head=True)
    accuracies = []
    for learner in learners:
        for t in range(3):
            learner.learn(make_task(t), progress=False)
        first = make_task(0)
        found = learner.predict(first.x_test, 0).argmax(axis=1)
        accuracies.append(np.mean(found == first.y_test))
    assert accuracies[1] > accuracies[0] + 0.05


@pytest.mark.parametrize("name", BOTH)
def test_the_memory_is_rehearsals(name, make_task):
    one = learner_of("rehearsal", buffer="k_center", buffer_size=7, epochs=0)
    other = learner_of(name, buffer="k_center", buffer_size=7, epochs=0)
    for t in range(2):
        for learner in (one, other):
            learner.learn(make_task(t), progress=False)
    assert one.knowledge.memory.keys() == other.knowledge.memory.keys()
    for key, value in one.knowledge.memory.items():
        np.testing.assert_array_equal(value, other.knowledge.memory[key])


@pytest.mark.parametrize("name", BOTH)
def test_a_memory_that_is_not_finite_ends_training(name, make_task):
    learner = learner_of(name)
    learner.learn(make_task(0), progress=False)
    learner.knowledge.memory["x0"][:] = np.nan
    with (
        pytest.raises(NonFiniteError, match="the gradient is not finite"),
        np.errstate(all="ignore"),
    ):
        learner.learn(make_task(1), progress=False)
