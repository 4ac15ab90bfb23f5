"""NPBCL on small problems: it learns, remembers, repeats exactly, and refuses invalid input."""

import dataclasses

import numpy as np
import pytest
from quick import quick

from ibpcl.continual import expansion
from ibpcl.continual.loop import learn_stream
from ibpcl.continual.task import Task
from ibpcl.errors import NonFiniteError, TrainingError
from ibpcl.methods import npbcl
from ibpcl.methods.npbcl import NPBCL, Settings
from ibpcl.methods.npbcl_settings import FIRST
from ibpcl.models import prediction
from ibpcl.models.layers import Gaussian
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier

SMALL = Settings(
    **{
        **FIRST,
        "hidden": (12,),
        "samples": 2,
        "prediction_samples": 10,
        "epochs": 12,
        "finetune_epochs": 6,
        "batch": 32,
        "alpha": 4.0,
        "weight_rate": 0.01,
        "mask_rate": 0.1,
        "finetune_rate": 0.01,
        "mask_kl_weight": 1 / 784,
    }
)


class Blobs:
    """Binary tasks that each depend on two of eight inputs, so that a network can separate them."""

    name = "blobs"

    def __init__(self, tasks=2, classes=2):
        self.tasks = tasks
        self.classes = classes

    def __len__(self):
        return self.tasks

    def __getitem__(self, t):
        rng = np.random.default_rng(t)
        parts = []
        for examples in (200, 100):
            y = rng.integers(0, self.classes, examples)
            x = rng.normal(scale=0.3, size=(examples, 8))
            x[:, 2 * t] += 1.5 * (y == 0)
            x[:, 2 * t + 1] += 1.5 * (y == 1)
            parts += [x, y]
        return Task(f"task {t}", *parts, self.classes, tuple("abc"[: self.classes]))


def head(learner, task_id=0):
    """Return the means of the head's weights of a learned task, (K, C)."""
    network, vector, _ = learner.assemble(task_id)
    return network.layout.view(vector, "head.weight.mu")


def run(learner, stream):
    *_, last = learn_stream(learner, stream, progress=False)
    return last.accuracy


@pytest.fixture(scope="module")
def learned():
    learner = NPBCL(SMALL, seed=1)
    return learner, run(learner, Blobs(3))


def test_it_learns_three_tasks_and_keeps_them(learned):
    _, accuracy = learned
    assert accuracy[2].min() > 0.9
    assert (np.diagonal(accuracy) - accuracy[2]).max() < 0.05
    assert np.isnan(accuracy[0, 1])


def test_fine_tuning_ends_at_the_mean_of_its_last_steps_and_masks_do_not_know():
    def learn(average):
        learner = NPBCL(dataclasses.replace(SMALL, finetune_average=average), seed=1)
        learner.learn(Blobs(1)[0], progress=False)
        return learner

    last, same, mean = (learn(average) for average in (0.0, 1e-6, 0.8))
    np.testing.assert_array_equal(head(last), head(same))
    np.testing.assert_array_equal(last.masks(0)[0], mean.masks(0)[0])
    assert not np.array_equal(head(last), head(mean))


def test_the_same_seed_gives_the_same_bits(learned):
    learner, accuracy = learned
    again = NPBCL(SMALL, seed=1)
    np.testing.assert_array_equal(run(again, Blobs(3)), accuracy)
    for name, value in learner.state().items():
        np.testing.assert_array_equal(value, again.state()[name], err_msg=name)
    other = NPBCL(SMALL, seed=2)
    run(other, Blobs(1))
    assert not np.array_equal(head(other), head(learner))


def test_weights_that_a_task_does_not_use_do_not_move():
    """Given its mask, an unused weight's best posterior is its prior: the last posterior, or p0."""
    learner = NPBCL(dataclasses.replace(SMALL, unused_prior="gaussian"), seed=0)
    stream = Blobs(2)
    learner.learn(stream[0], progress=False)
    before = learner.posterior["hidden0"]["weight.mu"].copy()
    first = learner.masks(0)[0]
    np.testing.assert_array_equal(before[~first], 0)
    learner.learn(stream[1], progress=False)
    second = learner.masks(1)[0]
    after = learner.posterior["hidden0"]["weight.mu"]
    np.testing.assert_array_equal(after[first & ~second], before[first & ~second])
    np.testing.assert_array_equal(after[~first & ~second], 0)
    assert (after[second] != before[second]).all()


def test_a_shared_weight_is_held_by_its_prior_alone():
    """Without the divergence from the last posterior, the next task moves it further."""
    moves = []
    for weight in (1.0, 0.0):
        learner = NPBCL(dataclasses.replace(SMALL, weight_kl_weight=weight), seed=0)
        stream = Blobs(2)
        learner.learn(stream[0], progress=False)
        before = learner.posterior["hidden0"]["weight.mu"].copy()
        learner.learn(stream[1], progress=False)
        shared = learner.masks(0)[0] & learner.masks(1)[0]
        assert shared.sum() >= 5
        moves.append(np.abs(learner.posterior["hidden0"]["weight.mu"] - before)[shared].mean())
    assert 0 < moves[0] < moves[1] / 2


def test_predictions_do_not_depend_on_how_often_one_asks(learned):
    learner, _ = learned
    x = Blobs()[1].x_test
    np.testing.assert_array_equal(learner.predict(x, 1), learner.predict(x, 1))
    p = learner.predict_with_uncertainty(x, 1)
    assert p.entropy.shape == p.mutual_information.shape == (100,)


def test_alpha_never_falls_and_heads_may_differ_in_classes():
    learner = NPBCL(SMALL)
    learner.learn(Blobs(1)[0], progress=False)
    first = learner.alpha.copy()
    assert (first >= SMALL.alpha).all()
    learner.learn(Blobs(2, classes=3)[1], progress=False)
    assert (learner.alpha >= first).all()
    assert learner.predict(Blobs()[0].x_test, 1).shape == (100, 3)


def test_two_hidden_layers_and_a_likelihood_start():
    settings = dataclasses.replace(
        SMALL, hidden=(12, 8), likelihood_epochs=2, activation="tanh", mask_kl="concrete"
    )
    learner = NPBCL(settings)
    history = learner.learn(Blobs(1)[0], progress=False)
    assert [mask.shape for mask in learner.masks(0)] == [(8, 12), (12, 8)]
    assert [row.phase for row in history] == ["likelihood"] * 2 + ["masked"] * 12 + ["finetune"] * 6
    assert history[1].log_likelihood > history[0].log_likelihood


CHOICES = {
    "alpha fixed": {"alpha_rule": "fixed"},
    "alpha grows": {"alpha_rule": "increment", "alpha_increment": 2.0},
    "alpha learned": {"alpha_rule": "learned"},
    "no masked prior": {"masked_prior": False, "reset_unused": False},
    "flat prior": {"unused_prior": "flat"},
    "gaussian prior": {"unused_prior": "gaussian"},
    "mean field": {"structured": False},
    "log link": {"mask_link": "log"},
    "sticks of each row": {"row_sticks": True},
    "sticks of each row, alpha learned": {"row_sticks": True, "alpha_rule": "learned"},
    "concrete": {"mask_kl": "concrete"},
    "one head": {"single_head": True},
    "weight of one": {"mask_kl_weight": 1.0},
    "one mask": {"shared_mask": True},
    "one mask, joint": {"shared_mask": "joint"},
    "no masks": {"shared_mask": "ones"},
    "one mask, joint, growing": {
        "shared_mask": "joint",
        "expand": True,
        "hidden": (3,),
        "empty_units": 2,
        "expand_every": 5,
    },
    "one mask, joint, alpha learned, sticks of each row": {
        "shared_mask": "joint",
        "alpha_rule": "learned",
        "row_sticks": True,
    },
    "random coreset": {"coreset": "random", "coreset_size": 20, "coreset_epochs": 5},
    "k-center coreset": {"coreset": "k_center", "coreset_size": 20, "coreset_epochs": 5},
    "growing": {"expand": True, "hidden": (3,), "empty_units": 2, "expand_every": 5},
    "growing with sticks of each row": {
        "expand": True,
        "row_sticks": True,
        "hidden": (3, 3),
        "empty_units": 2,
        "expand_every": 5,
    },
    "growing, two layers": {"expand": True, "hidden": (3, 3), "empty_units": 2, "expand_every": 5},
    "growing by sampled masks": {
        "expand": True,
        "grow_by": "sampled",
        "hidden": (3,),
        "empty_units": 2,
        "expand_every": 20,
    },
    "growing greedily": {
        "expand": True,
        "growth": "greedy",
        "hidden": (3,),
        "empty_units": 2,
        "expand_every": 10,
    },
    "growing with one mask": {"expand": True, "shared_mask": True, "hidden": (3,)},
}


@pytest.mark.parametrize(
    "choice",
    quick(
        ["alpha fixed", "mean field", "weight of one", "random coreset", "growing greedily"],
        [pytest.param(choice, id=name) for name, choice in CHOICES.items()],
        "all take the same steps; the models' own tests have the other choices",
    ),
)
def test_every_choice_learns_and_comes_back_from_its_state(choice):
    settings = dataclasses.replace(SMALL, **choice)
    learner = NPBCL(settings, seed=1)
    accuracy = run(learner, Blobs(2))
    assert accuracy[0, 0] > 0.85
    copy = NPBCL(settings, seed=1)
    copy.load_state(learner.state())
    for t in range(2):
        np.testing.assert_array_equal(
            copy.predict(Blobs(2)[t].x_test, t), learner.predict(Blobs(2)[t].x_test, t)
        )
    for one in (learner, copy):
        one.learn(Blobs(3)[2], progress=False)
    for name, value in learner.state().items():
        np.testing.assert_array_equal(value, copy.state()[name], err_msg=name)


def test_alpha_follows_its_rule():
    def alpha_after(**choice):
        learner = NPBCL(dataclasses.replace(SMALL, **choice), seed=1)
        run(learner, Blobs(2))
        return learner.alpha[0]

    assert alpha_after(alpha_rule="fixed") == 4.0
    assert alpha_after(alpha_rule="increment", alpha_increment=2.5) == 9.0
    assert alpha_after(alpha_rule="max") > 4.0
    assert alpha_after(alpha_rule="learned") not in (4.0, 0.0)


def test_a_large_task_has_fewer_epochs():
    """200 examples in batches of 50 are 4 steps per epoch, so 36 steps allow half the epochs."""
    settings = dataclasses.replace(SMALL, batch=50, epochs=12, finetune_epochs=6, max_steps=36)
    history = NPBCL(settings).learn(Blobs()[0], progress=False)
    assert [
        sum(record.phase == phase for record in history) for phase in ("masked", "finetune")
    ] == [6, 3]
    assert settings.epochs_for(100) == (12, 6)
    assert dataclasses.replace(settings, max_steps=1, finetune_epochs=0).epochs_for(200) == (1, 0)


def test_where_rho_starts_says_how_full_the_first_masks_are():
    def density(start_rho):
        learner = NPBCL(dataclasses.replace(SMALL, epochs=1, mask_rate=0.0, start_rho=start_rho))
        learner.learn(Blobs()[0], progress=False)
        return learner.masks(0)[0].mean()

    assert density(-1.0) < density(0.0) < density(2.0) <= density(50.0) == 1.0


def test_masks_of_an_input_that_is_always_zero_are_as_the_sticks_say():
    """The data carry no information about this input, so its rho is 0; others keep their start."""
    task = Blobs()[0]
    dead = 3
    x = task.x_train.copy()
    x[:, dead] = 0

    def mask(start_rho):
        learner = NPBCL(dataclasses.replace(SMALL, start_rho=start_rho, mask_rate=0.0))
        learner.learn(dataclasses.replace(task, x_train=x), progress=False)
        return learner.masks(0)[0]

    by_sticks = mask(0.0)
    wide_open = mask(50.0)
    assert (by_sticks == by_sticks[0]).all() and 0 < by_sticks[0].sum() < 12
    np.testing.assert_array_equal(wide_open[dead], by_sticks[0])
    assert np.delete(wide_open, dead, axis=0).all()


def test_one_mask_for_all_tasks_is_one_mask():
    learner = NPBCL(dataclasses.replace(SMALL, shared_mask=True))
    run(learner, Blobs(3))
    for t in (1, 2):
        np.testing.assert_array_equal(learner.masks(t)[0], learner.masks(0)[0])


def test_true_and_first_name_the_same_mask():
    learners = [NPBCL(dataclasses.replace(SMALL, shared_mask=way)) for way in (True, "first")]
    for learner in learners:
        run(learner, Blobs(2))
    for name, value in learners[0].state().items():
        np.testing.assert_array_equal(value, learners[1].state()[name], err_msg=name)


def test_without_masks_predictions_are_those_of_a_gaussian_network():
    learner = NPBCL(dataclasses.replace(SMALL, shared_mask="ones"), seed=3)
    run(learner, Blobs(2))
    for t in range(2):
        assert all(mask.all() for mask in learner.masks(t))
        masked, vector, _ = learner.assemble(t)
        plain = classifier(8, (12,), Softmax(), 2, Gaussian)
        weights = np.concatenate(
            [masked.layout.view(vector, entry.name).ravel() for entry in plain.layout.entries]
        )
        x = Blobs(2)[t].x_test
        expected = prediction.predict(
            plain, weights, {}, x, 10, learner.context.key("predict", t), learner.backend
        )
        np.testing.assert_array_equal(learner.predict(x, t), expected.probabilities)


def test_one_joint_mask_for_one_task_is_its_own_mask():
    own, joint = (
        NPBCL(dataclasses.replace(SMALL, shared_mask=way), seed=1) for way in (False, "joint")
    )
    histories = [learner.learn(Blobs(1)[0], progress=False) for learner in (own, joint)]
    assert histories[0] == histories[1]
    np.testing.assert_array_equal(own.masks(0)[0], joint.masks(0)[0])
    x = Blobs(1)[0].x_test
    np.testing.assert_array_equal(own.predict(x, 0), joint.predict(x, 0))
    for name, values in own.posterior["hidden0"].items():
        np.testing.assert_array_equal(values, joint.posterior["hidden0"][name], err_msg=name)


def test_a_joint_mask_goes_on_from_the_last_posterior_and_serves_all_tasks():
    settings = dataclasses.replace(SMALL, shared_mask="joint")
    learner = NPBCL(settings, seed=1)
    learner.learn(Blobs(2)[0], progress=False)
    before = {name: values.copy() for name, values in learner.posterior["hidden0"].items()}
    first = learner.masks(0)[0]
    # Without a step on the masks, the prior is the last posterior, and no log-odds change.
    still = NPBCL(dataclasses.replace(settings, mask_rate=0.0), seed=1)
    still.load_state(learner.state())
    learned = still.learn(Blobs(2)[1], progress=False)
    assert [row.kl_masks for row in learned if row.phase == "masked"] == [0] * 12
    after = still.posterior["hidden0"]
    np.testing.assert_array_equal(after["prior_rho"], before["prior_rho"] + before["rho"])
    np.testing.assert_array_equal(after["raw_a"], before["raw_a"])
    assert before["rho"].any() and not after["rho"].any()
    # The cut averages over few other samples of the sticks, so single weights may differ.
    assert (still.masks(1)[0] == first).mean() > 0.9
    # With steps on the masks, the mask changes, and all tasks use the new one.
    learner.learn(Blobs(2)[1], progress=False)
    assert not np.array_equal(learner.masks(1)[0], first)
    np.testing.assert_array_equal(learner.masks(0)[0], learner.masks(1)[0])


def test_a_joint_mask_stays_where_a_task_has_no_inputs():
    """Inputs that are zero for all examples of a task say nothing about their masks."""
    learner = NPBCL(dataclasses.replace(SMALL, shared_mask="joint"), seed=1)
    first, second = (Blobs(2)[t] for t in range(2))
    learner.learn(first, progress=False)
    before = {name: values.copy() for name, values in learner.posterior["hidden0"].items()}
    x = second.x_train.copy()
    x[:, :2] = 0
    learner.learn(dataclasses.replace(second, x_train=x), progress=False)
    after = learner.posterior["hidden0"]
    changed = after["rho"] + after["prior_rho"] - before["rho"] - before["prior_rho"]
    assert not changed[:2].any() and changed[2:].all()


def test_a_joint_mask_needs_sticks():
    with pytest.raises(ValueError, match="structured"):
        Settings(shared_mask="joint", structured=False)


def test_growth_keeps_old_heads_and_masks_exact():
    settings = dataclasses.replace(SMALL, expand=True, hidden=(3,), empty_units=2, expand_every=5)
    learner = NPBCL(settings, seed=1)
    learner.learn(Blobs(2)[0], progress=False)
    first = head(learner)
    mask = learner.masks(0)[0]
    x = Blobs(2)[0].x_test
    assert learner.hidden[0] == mask.shape[1] > 3
    learner.learn(Blobs(2)[1], progress=False)
    np.testing.assert_array_equal(head(learner), first)
    np.testing.assert_array_equal(learner.masks(0)[0], mask)
    assert learner.predict(x, 0).shape == (100, 2)


GROWING = dataclasses.replace(
    SMALL, expand=True, hidden=(3,), empty_units=2, expand_every=5, unused_prior="none"
)


@pytest.mark.parametrize(
    "choice",
    quick(
        ["{}", "{'row_sticks': True}"],
        [
            {},
            {"grow_by": "sampled", "expand_every": 20},
            {"hidden": (3, 3)},
            {"row_sticks": True},
            # the only look is the one after training
            {"expand_every": 10**6},
            {"expand_every": 10**6, "activation": "softplus"},
        ],
        "both ways to hold sticks are there",
    ),
)
def test_growth_leaves_trailing_units_empty(choice):
    learner = NPBCL(dataclasses.replace(GROWING, **choice), seed=1)
    widths = [learner.hidden]
    for t in range(3):
        learner.learn(Blobs(3)[t], progress=False)
        for mask in learner.masks(t):
            assert expansion.empty_units(mask) >= 2
            assert not mask[:, -2:].any()
        assert learner.hidden == tuple(mask.shape[1] for mask in learner.masks(t))
        widths.append(learner.hidden)
    assert (np.diff(widths, axis=0) >= 0).all() and widths[-1] > widths[0]


def test_growth_after_training_changes_no_output():
    """Units with an empty mask output 0, whatever their untrained weights are."""
    learner = NPBCL(dataclasses.replace(SMALL, hidden=(3, 4)), seed=1)
    turn = npbcl.learn_task(dataclasses.replace(learner.context, progress=False), Blobs()[0])
    context = dataclasses.replace(
        learner.context,
        settings=dataclasses.replace(learner.settings, expand=True, empty_units=3),
        state=dataclasses.replace(learner.knowledge, inputs=8),
    )
    vector = turn.tuned.copy()
    vector[turn.network.layout.block("log_sigma")] = -30.0
    larger, enlarged, masks = npbcl.leave_empty(context, turn.network, vector, turn.masks)
    assert [layer.units for layer in larger.masked.values()] > [3, 4]
    enlarged[larger.layout.block("log_sigma")] = -30.0
    x = Blobs()[0].x_test
    before, after = (
        prediction.predict(network, values, on, x, 1, context.key("predict"), context.backend)[0]
        for network, values, on in (
            (turn.network, vector, turn.masks),
            (larger, enlarged, masks),
        )
    )
    np.testing.assert_allclose(after, before, atol=1e-6)
    for name, mask in turn.masks.items():
        D, K = mask.shape
        np.testing.assert_array_equal(masks[name][:D, :K], mask)
        assert masks[name].sum() == mask.sum()


def test_a_task_on_new_units_leaves_the_function_of_earlier_ones_bit_for_bit(monkeypatch):
    """The second task may use only units that the first one left empty."""

    def disjoint(context, network, vector, x):
        masks = cut(context, network, vector, x)
        if context.state.learned:
            (first,) = context.masks(0).values()
            (mask,) = masks.values()
            mask[:, : first.shape[1] - 2] = False
            mask[:, first.shape[1] - 2] = True
        return masks

    cut = npbcl.cut_masks
    monkeypatch.setattr(npbcl, "cut_masks", disjoint)
    learner = NPBCL(GROWING, seed=1)
    learner.learn(Blobs()[0], progress=False)
    x = Blobs()[0].x_test
    before = learner.predict(x, 0)
    width = learner.hidden
    learner.learn(Blobs()[1], progress=False)
    assert learner.hidden > width
    np.testing.assert_array_equal(NPBCL.predict(learner, x, 0), before)
    learner.refined.clear()
    np.testing.assert_array_equal(learner.predict(x, 0), before)


def test_greedy_growth_adds_the_same_number_until_the_objective_saturates(monkeypatch):
    """200 examples in batches of 32 are 7 steps per epoch, so 12 epochs have 8 looks."""
    seen = []

    def saturated(performances):
        seen.append(len(performances))
        return len(performances) > 3

    monkeypatch.setattr(expansion, "saturated", saturated)
    settings = dataclasses.replace(GROWING, growth="greedy", expand_every=10)
    learner = NPBCL(settings, seed=1)
    learner.learn(Blobs()[0], progress=False)
    assert learner.hidden == (3 + 3 * 2,)
    assert seen == list(range(1, 9))
    learner.learn(Blobs()[1], progress=False)
    assert learner.hidden == (9 + 3 * 2,)  # each task begins anew


def test_the_performance_at_a_look_is_the_objective_since_the_last_one(monkeypatch):
    """An epoch has 7 steps, so a look after every 7 steps sees the objective of the epoch."""
    seen = []

    def grown(context, network, vector, step, performances):
        seen.append(performances[-1])

    monkeypatch.setattr(npbcl, "grown", grown)
    learner = NPBCL(dataclasses.replace(GROWING, expand_every=7), seed=1)
    history = learner.learn(Blobs()[0], progress=False)
    objectives = [
        row.log_likelihood - row.kl_weights - row.kl_masks / 784 - row.kl_sticks
        for row in history
        if row.phase == "masked"
    ]
    np.testing.assert_allclose(200 * np.array(seen), objectives, rtol=1e-6)


def test_a_mask_of_the_first_task_for_all_stops_growth():
    """With a large alpha the sticks of the second task would open all columns."""
    settings = dataclasses.replace(
        GROWING, shared_mask=True, alpha_rule="increment", alpha_increment=500.0
    )
    learner = NPBCL(settings, seed=1)
    learner.learn(Blobs()[0], progress=False)
    width = learner.hidden
    learner.learn(Blobs()[1], progress=False)
    assert learner.hidden == width > (3,)


def test_a_coreset_leaves_the_training_data_and_the_posterior_alone():
    settings = dataclasses.replace(SMALL, coreset="random", coreset_size=20, coreset_epochs=5)
    learner = NPBCL(settings, seed=1)
    run(learner, Blobs(2))
    before = {name: value.copy() for name, value in learner.state().items()}
    refined = learner.predict(Blobs(2)[0].x_test, 0)
    for name, value in before.items():
        np.testing.assert_array_equal(learner.state()[name], value)
    assert before["memory.x0"].shape == (20, 8)
    plain = NPBCL(dataclasses.replace(settings, coreset="none"), seed=1)
    plain.load_state(
        {
            name: value
            for name, value in before.items()
            if not name.startswith(("memory.x", "memory.y"))
        }
    )
    assert not np.array_equal(plain.predict(Blobs(2)[0].x_test, 0), refined)


def sine(t, noise=0.2):
    rng = np.random.default_rng(t)
    x = rng.uniform(-1, 1, (400, 2))
    y = np.sin(3 * x[:, :1]) * (1 if t == 0 else -1) + rng.normal(scale=noise, size=(400, 1))
    return Task(f"sine {t}", x[:300], y[:300], x[300:], y[300:])


def test_a_regression_learns_its_noise_and_knows_what_it_does_not_know():
    settings = dataclasses.replace(
        SMALL, epochs=60, finetune_epochs=30, hidden=(30,), alpha=20.0, noise_sigma=0.5
    )
    learner = NPBCL(settings, seed=0)
    accuracy = run(learner, [sine(0), sine(1)])
    assert accuracy[1].min() > 0.7  # R^2; the noise alone leaves 0.92
    prediction = learner.predict_with_uncertainty(sine(0).x_test, 0)
    inside = np.abs(sine(0).y_test - prediction.mean) < 1.645 * prediction.sigma
    assert 0.8 < inside.mean() < 0.98  # of a 90 % interval, 100 points
    assert (prediction.sigma > prediction.model_sigma).all()
    with pytest.raises(TypeError, match="task 'b' must be of kind regression, got classification"):
        learner.learn(
            Task("b", np.zeros((4, 2)), np.zeros(4, int), np.zeros((2, 2)), np.zeros(2, int))
        )
    with pytest.raises(
        TypeError, match="task 'c' must be of kind classification or regression, got images"
    ):
        NPBCL(SMALL).learn(Task("c", x_train=np.zeros((4, 2)), x_test=np.zeros((2, 2))))


@pytest.mark.slow(reason="two long trainings; a head for each task has its own test")
def test_with_one_head_each_regression_keeps_its_noise():
    settings = dataclasses.replace(
        SMALL, epochs=60, finetune_epochs=30, alpha=20.0, noise_sigma=0.5, single_head=True
    )
    learner = NPBCL(settings, seed=0)
    run(learner, [sine(0, 0.5), sine(0, 0.1)])
    first, second = (learner.predict_with_uncertainty(sine(0).x_test, t) for t in range(2))
    assert [own.shape for own in learner.knowledge.own] == [
        (1,)
    ] * 2 and "head" in learner.posterior
    quiet, loud = ((p.sigma**2 - p.model_sigma**2).mean() for p in (second, first))
    assert 4 * quiet < loud  # the noise alone, a variance


def test_one_head_needs_one_number_of_classes():
    learner = NPBCL(dataclasses.replace(SMALL, single_head=True))
    learner.learn(Blobs(1)[0], progress=False)
    with pytest.raises(ValueError, match=r"must have 2 outputs.* got 3"):
        learner.learn(Blobs(2, classes=3)[1], progress=False)


def test_a_task_with_another_width_is_refused(learned):
    learner, _ = learned
    task = Task("wide", np.zeros((4, 9)), np.zeros(4, int), np.zeros((2, 9)), np.zeros(2, int))
    with pytest.raises(ValueError, match="task 'wide' has 9 inputs, the network 8"):
        learner.learn(task)
    with pytest.raises(ValueError, match="unknown task_id 7"):
        learner.predict(np.zeros((2, 8)), 7)
    with pytest.raises(ValueError, match="no task has been learned"):
        NPBCL(SMALL).predict(np.zeros((2, 8)), 0)


def test_a_network_that_switches_itself_off_says_so():
    settings = dataclasses.replace(SMALL, alpha=0.01, mask_rate=0.0)
    with pytest.raises(
        TrainingError, match="switched off every weight of layer hidden0; raise alpha or epochs"
    ):
        NPBCL(settings).learn(Blobs()[0], progress=False)


def test_an_elbo_that_is_not_finite_stops_the_run():
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError, match="Lower the learning rates"):
        NPBCL(dataclasses.replace(SMALL, weight_rate=1e5)).learn(Blobs()[0], progress=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"samples": 0}, "samples must be in 1 .. 1000, got 0"),
        ({"tau_end": 0.0}, "tau_end must be finite and above 0"),
        ({"finetune_average": 1.5}, "finetune_average must be in 0 .. 1, got 1.5"),
        ({"alpha": -1.0}, "alpha"),
        ({"mask_kl_weight": -1.0}, "mask_kl_weight"),
        ({"hidden": ()}, "hidden"),
        ({"activation": "gelu"}, "activation"),
        ({"weight_rate": float("nan")}, "weight_rate"),
        ({"alpha_rule": "random"}, "alpha_rule must be one of fixed, max"),
        ({"coreset": "all"}, "coreset"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **change)


def test_one_head_that_grows_has_new_rows_like_a_new_head():
    """Their prior is p0 and they start afresh; those of old units are where they were."""
    settings = dataclasses.replace(
        SMALL, single_head=True, expand=True, hidden=(6,), prior_sigma=0.3, start_sigma=0.05
    )
    learner = NPBCL(settings, seed=1)
    learner.learn(Blobs(2)[0], progress=False)
    rows = learner.hidden[0]
    before = learner.posterior["head"]
    # as if the second task grew by five units
    larger = learner.context.next_network(2, (rows + 5,))
    prior = npbcl.masked_prior(learner.context, larger)
    start = larger.layout.layers(npbcl.start(learner.context, larger, None))["head"]
    sigma = np.exp(start["weight.log_sigma"])
    np.testing.assert_array_equal(start["weight.mu"][:rows], before["weight.mu"])
    np.testing.assert_array_equal(start["weight.log_sigma"][:rows], before["weight.log_sigma"])
    np.testing.assert_allclose(sigma[rows:], 0.05, rtol=1e-6)
    assert (start["weight.mu"][rows:] != 0).all()
    np.testing.assert_allclose(np.exp(prior.log_sigma[-12:-2]).reshape(5, 2), 0.3, rtol=1e-6)
    np.testing.assert_array_equal(prior.mu[-12:-2], 0)


@pytest.mark.parametrize("unused_prior", ["gaussian", "flat", "none"])
def test_dropped_weights_return_to_their_prior_if_they_have_one(unused_prior):
    learner = NPBCL(dataclasses.replace(SMALL, unused_prior=unused_prior), seed=1)
    learner.learn(Blobs(1)[0], progress=False)
    dropped = ~learner.masks(0)[0]
    at_prior = (learner.posterior["hidden0"]["weight.mu"][dropped] == 0) & (
        learner.posterior["hidden0"]["weight.log_sigma"][dropped]
        == np.float32(np.log(SMALL.prior_sigma))
    )
    assert dropped.any()
    assert at_prior.all() if unused_prior == "gaussian" else not at_prior.any()
