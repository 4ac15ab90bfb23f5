"""Progress and Compress: a naive column, online EWC if labels teach, a student that imitates."""

import dataclasses

import numpy as np
import pytest

from ibpcl.continual.loop import learn_stream
from ibpcl.inference.backend import backend
from ibpcl.inference.objectives import Data
from ibpcl.methods import method, progress
from ibpcl.methods.ewc import EWC
from ibpcl.methods.ewc import Settings as EWCSettings
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings
from ibpcl.methods.progress import Column, ProgressCompress, Settings
from ibpcl.methods.sequential import accept
from ibpcl.models import plain
from ibpcl.primitives import distillation

COMMON = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}
SMALL = Settings(**COMMON, compress_epochs=4)
NUMPY = backend("numpy")


def learner_of(seed=1, **changes):
    return ProgressCompress(dataclasses.replace(SMALL, **changes), seed, "numpy")


def learned(learner, make_task, tasks=3):
    for t in range(tasks):
        learner.learn(make_task(t), progress=False)
    return learner


@pytest.mark.parametrize("single_head", [False, True])
def test_without_laterals_the_column_is_naive_training_bit_for_bit(make_task, single_head):
    keys = COMMON | {"single_head": single_head}
    theirs = learned(Naive(NaiveSettings(**keys), 1, "numpy"), make_task)
    ours = learned(learner_of(laterals=False, single_head=single_head), make_task)
    np.testing.assert_array_equal(ours.knowledge.memory["active"], theirs.knowledge.shared)
    helped = learned(learner_of(single_head=single_head), make_task)
    assert np.abs(helped.knowledge.memory["active"] - theirs.knowledge.shared).max() > 1e-4


@pytest.mark.parametrize("single_head", [False, True])
@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
def test_without_laterals_and_decay_zero_labels_teach_naive_training_bit_for_bit(
    make_task, single_head, backend_name
):
    keys = COMMON | {"single_head": single_head}
    theirs = learned(Naive(NaiveSettings(**keys), 1, backend_name), make_task)
    settings = Settings(**keys, compress_epochs=4, laterals=False, decay=0.0, teacher="labels")
    ours = learned(ProgressCompress(settings, 1, backend_name), make_task)
    for t in range(3):
        np.testing.assert_array_equal(ours.assemble(t)[1], theirs.assemble(t)[1])


@pytest.mark.parametrize("single_head", [False, True])
def test_labels_teach_online_ewc_bit_for_bit(make_task, single_head):
    keys = COMMON | {"single_head": single_head, "weight": 30.0}
    theirs = learned(EWC(EWCSettings(**keys, variant="online"), 1, "numpy"), make_task)
    ours = learned(
        ProgressCompress(Settings(**keys, compress_epochs=4, teacher="labels"), 1, "numpy"),
        make_task,
    )
    for t in range(3):
        np.testing.assert_array_equal(ours.assemble(t)[1], theirs.assemble(t)[1])
    for name in ("anchor", "fisher"):
        np.testing.assert_array_equal(ours.knowledge.memory[name], theirs.knowledge.memory[name])
    imitating = learned(
        ProgressCompress(Settings(**keys, compress_epochs=4), 1, "numpy"), make_task
    )
    assert np.abs(imitating.knowledge.shared - ours.knowledge.shared).max() > 1e-4


def test_the_fisher_information_decays_as_in_online_ewc(make_task):
    """Without weight the solutions are the same, so only the sums can differ."""
    keys = COMMON | {"weight": 0.0, "decay": 0.5}
    theirs = learned(EWC(EWCSettings(**keys, variant="online"), 1, "numpy"), make_task)
    ours = learned(
        ProgressCompress(Settings(**keys, compress_epochs=4, teacher="labels"), 1, "numpy"),
        make_task,
    )
    np.testing.assert_array_equal(
        ours.knowledge.memory["fisher"], theirs.knowledge.memory["fisher"]
    )


def test_the_knowledge_base_comes_to_predict_what_the_column_predicts(make_task):
    gaps = {}
    for epochs in (0, 60):
        learner = learner_of(compress_epochs=epochs, decay=0.0)
        task = make_task(0)
        context = dataclasses.replace(accept(learner.context, task), progress=False)
        network = context.next_network(task.outputs)
        _, scores, _ = progress.progress(context, network, task)
        vector, history = progress.compress(context, network, task, scores)
        p = network.likelihood.predict({}, scores[None]).probabilities
        gaps[epochs] = np.abs(network.predict(vector, task.x_train, NUMPY) - p).max()
        assert len(history) == epochs
    assert gaps[60] < 0.02 < 0.2 < gaps[0]


@pytest.mark.parametrize("seen", [None, (0, 2)])
def test_the_gradient_of_imitation_is_that_of_its_value(seen):
    rng = np.random.default_rng(0)
    network = plain.network(4, (3,), 3).among(seen)
    vector = network.start(rng).astype(float)
    x, scores = rng.normal(size=(6, 4)), rng.normal(size=(6, 3))
    objective = progress.imitation_of(network, x, scores, NUMPY)
    rows = np.array([0, 3, 4])
    check(lambda v: objective(v, rows), vector, 6)
    if seen:  # the class that no task has shown has no slope
        views = network.layout.layers(objective(vector, rows).gradient)
        assert (views["head"]["weight.mu"][:, 1] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("apart", [0.0, 3.0, 90.0, 1e4])
def test_a_divergence_of_certain_distributions_is_their_difference_of_logits(dtype, apart):
    """And 0 where they are equal; nothing overflows."""
    scores = np.array([[apart, 0.0, -1.0], [0.0, apart, 0.5]], dtype)
    logits = np.array([[0.0, apart, -1.0], [0.0, apart, 0.5]], dtype)
    kl, cache = distillation.divergence(scores, logits)
    dscores, dlogits = distillation.divergence_vjp(np.ones(2, dtype), cache)
    assert kl[1] == 0 and (kl >= 0).all() and (dlogits[1] == 0).all()
    p = np.exp(scores[0].astype(float) - apart)
    p = p / p.sum()
    np.testing.assert_allclose(kl[0], apart * (p[0] - p[1]), rtol=1e-5, atol=1e-6)
    assert np.isfinite(dscores).all()
    np.testing.assert_allclose(dlogits[0], p[[1, 0, 2]] - p, rtol=1e-5, atol=1e-6)


def check(objective, vector, examples):
    """Compare the gradient of a loss in nats per example with its value for the whole task."""
    step = 1e-6
    gradient = objective(vector).gradient
    for at in range(len(vector)):
        moved = [vector.copy(), vector.copy()]
        moved[0][at] += step
        moved[1][at] -= step
        above, below = (-objective(each).parts.log_likelihood / examples for each in moved)
        np.testing.assert_allclose(gradient[at], (above - below) / (2 * step), atol=1e-7)


def test_the_gradient_with_laterals_is_that_of_the_value():
    rng = np.random.default_rng(1)
    network = plain.network(4, (3,), 2)
    column = Column(network, 5, NUMPY)
    vector = np.concatenate([network.start(rng).astype(float), rng.normal(size=10)])
    data = Data(rng.normal(size=(6, 4)), rng.integers(0, 2, 6))
    objective = progress.likelihood_of(column, data, rng.normal(size=(6, 5)))
    check(lambda v: objective(v, np.arange(4), 0, 1), vector, 6)


def test_laterals_of_zero_change_no_bit():
    rng = np.random.default_rng(1)
    network = plain.network(4, (3,), 2)
    vector = network.start(rng)
    x, y, k = rng.normal(size=(6, 4)), rng.integers(0, 2, 6), rng.normal(size=(6, 5))
    x, k = x.astype(np.float32), k.astype(np.float32)
    column = Column(network, 5, NUMPY)
    with_zeros = np.concatenate([vector, np.zeros(10, np.float32)])
    step = progress.likelihood_of(column, Data(x, y), k)(with_zeros, np.arange(6), 0, 1)
    total, cache = network.log_likelihood(vector, x, y, NUMPY)
    assert step.parts.log_likelihood == total
    expected = network.log_likelihood_vjp(-1 / 6, cache)
    np.testing.assert_array_equal(step.gradient[: len(vector)], expected)
    assert np.abs(step.gradient[len(vector) :]).min() > 0


def test_the_knowledge_base_is_frozen_while_the_column_learns(make_task):
    learner = learned(learner_of(compress_epochs=0), make_task, 1)
    shared = learner.knowledge.shared.copy()
    learner.learn(make_task(1), progress=False)
    np.testing.assert_array_equal(learner.knowledge.shared, shared)


def test_the_last_hidden_units_are_what_the_head_reads():
    rng = np.random.default_rng(2)
    network = plain.network(4, (6, 3), 2)
    vector = network.start(rng)
    x = rng.normal(size=(progress.CHUNK + 3, 4)).astype(np.float32)
    h = x
    for weight, bias in network.weights(vector)[:-1]:
        h = np.maximum(h @ weight + bias, 0)
    np.testing.assert_allclose(progress.last_hidden(network, vector, x), h, rtol=1e-5)


def test_the_compiled_functions_give_the_same_networks(make_task):
    ours, compiled = (
        learned(ProgressCompress(SMALL, 1, name), make_task) for name in ("numpy", "numba")
    )
    np.testing.assert_allclose(compiled.knowledge.shared, ours.knowledge.shared, atol=1e-4)
    active = [learner.knowledge.memory["active"] for learner in (ours, compiled)]
    np.testing.assert_allclose(*active, atol=1e-4)


def test_a_reset_column_starts_afresh(make_task):
    ours = learned(learner_of(reset=True, epochs=0, compress_epochs=0), make_task, 2)
    kept = learned(learner_of(epochs=0, compress_epochs=0), make_task, 2)
    assert np.abs(ours.knowledge.memory["active"] - kept.knowledge.memory["active"]).max() > 1e-2


@pytest.mark.parametrize(
    "changes", [{}, {"hidden": (10, 9)}, {"single_head": True}, {"reset": True, "decay": 0.5}]
)
def test_it_learns(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=15, compress_epochs=15, **changes),
        [make_task(t) for t in range(2)],
        progress=False,
    )
    assert np.diagonal(last.accuracy).min() > 0.8
    assert {record.phase for record in last.history} == {"progress", "compress"}


def test_it_refuses_what_it_cannot_do():
    for wrong in ({"decay": 1.5}, {"compress_epochs": -1}, {"teacher": "nobody"}, {"weight": -1.0}):
        with pytest.raises(ValueError, match=f"progress: {next(iter(wrong))} must"):
            Settings(**wrong)
    assert method("progress").learner is ProgressCompress
