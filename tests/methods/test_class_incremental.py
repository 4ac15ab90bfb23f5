"""Class-incremental learning: one softmax over the classes seen so far, for every method with one
head.
"""

import dataclasses

import numpy as np
import pytest
from quick import quick

from ibpcl.continual import fisher
from ibpcl.data.tasks import IncrementalStream
from ibpcl.errors import TrainingError
from ibpcl.inference.backend import backend
from ibpcl.methods import ABOUT, method
from ibpcl.methods.gem import memory_gradients
from ibpcl.methods.npbcl import predict_masked
from ibpcl.methods.sequential import accept
from ibpcl.models import plain
from ibpcl.models.likelihoods import Bernoulli, Softmax

NAMES = [name for name, about in ABOUT.items() if "domain" in about.can]
SMALL = {"hidden": (6,), "epochs": 2, "batch": 40, "single_head": True}
OWN = {
    "npbcl": {"finetune_epochs": 1, "prediction_samples": 5, "alpha": 20.0},
    "vcl": {"likelihood_epochs": 1, "prediction_samples": 5},
    "ibp_vcl": {"likelihood_epochs": 1, "prediction_samples": 5},
    "horseshoe": {"likelihood_epochs": 1, "prediction_samples": 5},
    "ivon": {"prediction_samples": 5},
    "ucb": {"likelihood_epochs": 1, "prediction_samples": 5},
    "progress": {"compress_epochs": 2},
}
# Neither a prior nor a merge moves the weights of these.
MOVED_BY_DATA_ONLY = ("naive", "joint", "rehearsal", "agem", "gem", "ewc", "imm", "si", "bgd")
NUMPY = backend("numpy")


def learner_of(name, seed=1, **changes):
    found = method(name)
    return found.learner(found.settings(**{**SMALL, **OWN.get(name, {}), **changes}), seed, "numpy")


@pytest.fixture(scope="module")
def tasks(make_task):
    """Two tasks with the classes a, b and c, d."""
    named = [
        dataclasses.replace(make_task(t), class_names=names)
        for t, names in enumerate((("a", "b"), ("c", "d")))
    ]
    return IncrementalStream(named)


def head(learner):
    network, vector, *_ = learner.assemble(0)
    return network.layout.layers(vector)["head"]


@pytest.mark.parametrize(
    "name",
    quick(
        ["npbcl", "naive", "gem", "ewc", "vcl", "ibp_vcl", "replay"],
        NAMES,
        "each of these has a loss or a step of its own",
    ),
)
def test_classes_that_no_task_has_shown_have_probability_zero(name, tasks, tmp_path):
    learner = learner_of(name)
    learner.learn(tasks[0], progress=False)
    x = tasks[0].x_test
    first = learner.predict(x, 0)
    assert first.shape == (len(x), 4)
    assert (first[:, 2:] == 0).all() and (first[:, :2] > 0).all()
    learner.save(tmp_path / "learner.npz")
    copy = type(learner).load(tmp_path / "learner.npz")
    np.testing.assert_array_equal(copy.predict(x, 0), first)
    learner.learn(tasks[1], progress=False)
    both = learner.predict(x, 0)
    assert (both > 0).all()
    np.testing.assert_allclose(both.sum(axis=1), 1, rtol=1e-5)
    # the task of an example makes no difference
    np.testing.assert_array_equal(learner.predict(x, 1), both)
    copy.learn(tasks[1], progress=False)
    np.testing.assert_array_equal(copy.predict(x, 1), both)


@pytest.mark.parametrize("name", MOVED_BY_DATA_ONLY)
def test_their_outputs_get_no_gradient(name, tasks):
    trained, initial = learner_of(name), learner_of(name, epochs=0)
    for learner in (trained, initial):
        learner.learn(tasks[0], progress=False)
    for parameter, values in head(trained).items():
        before = head(initial)[parameter]
        np.testing.assert_array_equal(values[..., 2:], before[..., 2:], err_msg=parameter)
        assert (values[..., :2] != before[..., :2]).any(), parameter


@pytest.mark.parametrize(
    "name",
    quick(
        [name for name in NAMES if name != "replay"],
        NAMES,
        "replay trains its generator as well",
    ),
)
def test_one_task_is_the_task_with_its_own_head(name, make_task):
    task = make_task(0)
    one, other = learner_of(name), learner_of(name, single_head=False)
    one.learn(IncrementalStream([task])[0], progress=False)
    other.learn(task, progress=False)
    np.testing.assert_array_equal(one.predict(task.x_test, 0), other.predict(task.x_test, 0))


def test_the_gradient_of_the_softmax_over_some_classes():
    rng = np.random.default_rng(0)
    logits, dlog_p = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 4))
    labels = np.array([1, 4, 4, 3])
    likelihood = Softmax((1, 3, 4))

    def value(logits):
        return (dlog_p * likelihood.log_density({}, logits, labels, NUMPY)[0]).sum()

    _, cache = likelihood.log_density({}, logits, labels, NUMPY)
    gradient, _ = likelihood.log_density_vjp(dlog_p, cache)
    steps = 1e-30j * np.eye(logits.size).reshape(-1, *logits.shape)
    expected = [value(logits + step).imag / 1e-30 for step in steps]
    np.testing.assert_allclose(gradient.ravel(), expected, rtol=1e-12, atol=1e-15)
    assert (gradient[..., [0, 2]] == 0).all()


def test_the_softmax_over_some_classes_by_hand():
    logits = np.log([[[1.0, 2.0, 4.0, 5.0]]])
    np.testing.assert_allclose(
        Softmax((0, 3)).predict({}, logits).probabilities, [[1 / 6, 0, 0, 5 / 6]]
    )
    log_p, _ = Softmax((0, 3)).log_density({}, logits, np.array([3]), NUMPY)
    np.testing.assert_allclose(np.exp(log_p), [[5 / 6]])
    drawn = Softmax((0, 3)).draw({}, np.repeat(logits[0], 6000, axis=0), np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(drawn) / 6000, [1 / 6, 0, 0, 5 / 6], atol=0.02)
    with pytest.raises(ValueError, match=r"among the classes seen, \(0, 3\), got \[1, 2\]"):
        Softmax((0, 3)).log_density({}, logits.repeat(3, 1), np.array([1, 3, 2]), NUMPY)


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_the_softmax_over_all_classes_is_the_softmax(name):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(3, 4, 5)).astype(np.float32)
    labels, dlog_p = np.array([1, 4, 0, 2]), rng.normal(size=(3, 4)).astype(np.float32)
    found = []
    for likelihood in (Softmax(), Softmax(tuple(range(5)))):
        log_p, cache = likelihood.log_density({}, logits, labels, backend(name))
        gradient, _ = likelihood.log_density_vjp(dlog_p, cache)
        found.append([log_p, gradient, *likelihood.predict({}, logits)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_names_of_the_classes_make_no_difference():
    rng = np.random.default_rng(0)
    logits, labels, seen = rng.normal(size=(2, 6, 5)), np.array([0, 1, 3, 3, 1, 0]), (0, 1, 3)
    new = rng.permutation(5)
    renamed = np.empty_like(logits)
    renamed[..., new] = logits
    one, other = Softmax(seen), Softmax(tuple(sorted(new[list(seen)].tolist())))
    np.testing.assert_allclose(
        one.log_density({}, logits, labels, NUMPY)[0],
        other.log_density({}, renamed, new[labels], NUMPY)[0],
    )
    np.testing.assert_allclose(
        one.predict({}, logits).probabilities, other.predict({}, renamed).probabilities[:, new]
    )


@pytest.mark.parametrize("definition", fisher.DEFINITIONS)
def test_the_information_is_that_of_the_network_without_unseen_outputs(definition):
    rng = np.random.default_rng(0)
    whole, part = plain.network(4, (3,), 5).among((0, 1)), plain.network(4, (3,), 2)
    vector = whole.start(rng).astype(float)
    chosen = np.zeros(whole.layout.size, bool)
    for name, view in whole.layout.views(chosen).items():
        view[..., : 2 if name.startswith("head.") else None] = True
    x, labels = rng.normal(size=(7, 4)), np.array([0, 1, 0, 0, 1, 1, 0])
    one, other = (
        fisher.diagonal(network, values, x, labels, definition, np.random.default_rng(1))
        for network, values in ((whole, vector), (part, vector[chosen]))
    )
    np.testing.assert_allclose(one[chosen], other)
    assert (one[~chosen] == 0).all()


def test_earlier_examples_are_judged_among_the_new_classes_too(tasks):
    learner = learner_of("gem")
    learner.learn(tasks[0], progress=False)
    context = accept(learner.context, tasks[1])
    network = context.next_network(4)
    gradients, _ = memory_gradients(context, network, learner.knowledge.shared)
    slopes = network.layout.layers(gradients[0])["head"]["bias.mu"]
    # they push the logits of the new classes down
    assert (slopes[2:] > 0).all()
    assert abs(slopes.sum()) < 1e-6


def test_npbcl_takes_the_mask_with_the_least_entropy(tasks):
    learner = learner_of("npbcl", epochs=20)
    for t in range(2):
        learner.learn(tasks[t], progress=False)
    x = np.concatenate([tasks[t].x_test for t in range(2)])
    one, other = (predict_masked(learner.context, {}, x, t) for t in range(2))
    found = learner.predict_with_uncertainty(x, 0)
    first = one.entropy <= other.entropy
    assert 0 < first.mean() < 1
    for got, values, others in zip(found, one, other, strict=True):
        expected = np.where(first.reshape(-1, *[1] * (values.ndim - 1)), values, others)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["naive", "npbcl"])
def test_tasks_that_do_not_fit_are_refused(name, tasks, make_task):
    first, second = tasks[0], tasks[1]
    with pytest.raises(ValueError, match=f"{name}: single_head must be True for task 'task 0'"):
        learner_of(name, single_head=False).learn(first, progress=False)
    learner = learner_of(name)
    learner.learn(first, progress=False)
    with pytest.raises(ValueError, match=r"must include \(0, 1\).* earlier tasks, got \(2, 3\)"):
        learner.learn(dataclasses.replace(second, seen=(2, 3)), progress=False)
    with pytest.raises(ValueError, match=r"must include \(0, 1\).* earlier tasks, got None"):
        learner.learn(dataclasses.replace(second, seen=None), progress=False)
    learner = learner_of(name)
    learner.learn(make_task(0, classes=4), progress=False)
    with pytest.raises(ValueError, match="must include None"):
        learner.learn(second, progress=False)


def test_a_bernoulli_cannot_leave_out_classes(make_task):
    with pytest.raises(ValueError, match="the softmax alone can leave out classes"):
        Bernoulli().among((0,))
    learner = learner_of("npbcl", likelihood="probit")
    with pytest.raises(TrainingError, match="the softmax alone"):
        learner.learn(IncrementalStream([make_task(0)])[0], progress=False)
