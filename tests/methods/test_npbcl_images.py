"""NPBCL for images on small problems: it learns, remembers, and repeats exactly."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from quick import quick

from ibpcl.continual import expansion
from ibpcl.continual.task import Task
from ibpcl.errors import NonFiniteError, TrainingError
from ibpcl.evaluation.latent import importance_sampled
from ibpcl.methods import npbcl
from ibpcl.methods.npbcl_images import IMAGE_PRESETS, ImageNPBCL, ImageSettings, _towards_unused
from ibpcl.models.masked import MaskModel
from ibpcl.models.point_autoencoder import PointAutoencoder
from ibpcl.primitives.sticks import prior_log_odds

SMALL = ImageSettings(
    hidden=(10, 8),
    latent=3,
    epochs=8,
    finetune_epochs=4,
    batch=32,
    alpha=5.0,
    latent_alpha=3.0,
    weight_rate=0.02,
    finetune_rate=0.02,
    rate_end=1.0,
    mask_samples=20,
    weight_kl_weight=0.01,
    hold_used=False,
    start_spread=1.0,
)


def learn(tasks, make_images, seed=1, **changes):
    learner = ImageNPBCL(dataclasses.replace(SMALL, **changes), seed)
    for t in range(tasks):
        learner.learn(make_images(t), progress=False)
    return learner


def score(learner, task_id, task):
    return importance_sampled(learner.latent_model(task_id), task.x_test, 20).log_likelihood.mean()


@pytest.fixture(scope="module")
def learned(make_images):
    return learn(3, make_images)


def test_it_learns_to_code_what_varies_and_keeps_it(make_images):
    """Bars at one of five positions: without codes, the best prediction is the mean image."""
    task = make_images(0)
    mean = task.x_train.mean(axis=0).clip(1e-3, 1 - 1e-3)
    without_codes = (
        (task.x_test * np.log(mean) + (1 - task.x_test) * np.log(1 - mean)).sum(axis=1).mean()
    )
    learner = learn(1, make_images, epochs=40, finetune_epochs=20)
    first = score(learner, 0, task)
    assert first > without_codes + 1
    learner.learn(make_images(1), progress=False)
    assert score(learner, 0, task) > without_codes


def test_the_same_seed_gives_the_same_bits_and_another_does_not(learned, make_images):
    again = learn(3, make_images)
    other = learn(1, make_images, seed=2)
    for name, value in learned.state().items():
        np.testing.assert_array_equal(value, again.state()[name], err_msg=name)
    assert not np.array_equal(other.knowledge.own[0], learned.knowledge.own[0])


def test_softplus_units_leave_the_shared_pixels_free_in_the_first_task(make_images):
    """They are never zero, so all reach the pixels; yet no weight is known at first."""
    free = {
        "activation": "softplus",
        "output": "shared",
        "hold_used": True,
        "epochs": 2,
        "finetune_epochs": 1,
    }
    short = learn(1, make_images, **free)
    longer = learn(1, make_images, **free | {"finetune_epochs": 2})
    means = [learner.posterior["pixels"]["weight.mu"] for learner in (short, longer)]
    assert (means[0] != means[1]).all()
    longer.learn(make_images(1), progress=False)  # from now on they are held
    np.testing.assert_array_equal(longer.posterior["pixels"]["weight.mu"], means[1])


def test_a_task_s_model_is_deterministic(learned, make_images):
    x = make_images(1).x_test
    one = learned.latent_model(1)
    other = learned.latent_model(1)
    for first, second in zip(one.encode(x), other.encode(x), strict=True):
        np.testing.assert_array_equal(first, second)
    assert one.decode(one.encode(x)[0]).shape == x.shape
    assert one.latent == 3


def test_unused_weights_do_not_move(make_images):
    """An unused weight's best posterior is its prior: the last posterior, or p0; rows of switched
    off units too.
    """
    learner = learn(1, make_images, output="shared")
    before = {name: layer["weight.mu"].copy() for name, layer in learner.posterior.items()}
    first = learner.masks(0)
    names = [name for name in before if name != "pixels"]
    for name, mask in zip(names, first, strict=True):
        np.testing.assert_array_equal(before[name][~mask], 0)
    silent = ~first[-1].any(axis=0)
    np.testing.assert_array_equal(before["pixels"][silent], 0)
    learner.learn(make_images(1), progress=False)
    after = {name: layer["weight.mu"] for name, layer in learner.posterior.items()}
    second = learner.masks(1)
    for name, one, other in zip(names, first, second, strict=True):
        np.testing.assert_array_equal(after[name][~other], before[name][~other])
        assert (after[name][one & other] != before[name][one & other]).any() or not (
            one & other
        ).any()
    still = ~second[-1].any(axis=0)
    np.testing.assert_array_equal(after["pixels"][still], before["pixels"][still])


def first_model_before_and_after(learner, make_images):
    """Learn a second task; return the outputs of the first task's model before and after."""
    x = make_images(0).x_test
    before = learner.latent_model(0)
    learner.learn(make_images(1), progress=False)
    after = learner.latent_model(0)
    z = np.ones((2, len(x), 3), np.float32)
    return [(before.encode(x), after.encode(x)), (before.outputs(z), after.outputs(z))]


@pytest.mark.parametrize("output", ["own", "shared"])
def test_disjoint_masks_leave_old_tasks_bit_for_bit(make_images, output, monkeypatch):
    """A second task that may use only other units than the first: nothing of the first model can
    change.
    """

    def disjoint(context, network, vector, x):
        masks = cut(context, network, vector, x)
        for mask in masks.values():  # units of one parity for each task
            mask[...] = np.arange(mask.shape[1]) % 2 == context.state.learned % 2
        return masks

    cut = npbcl.cut_masks
    monkeypatch.setattr(npbcl, "cut_masks", disjoint)
    learner = ImageNPBCL(dataclasses.replace(SMALL, output=output), 1)
    learner.learn(make_images(0), progress=False)
    for before, after in first_model_before_and_after(learner, make_images):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("output", "activation"),
    quick(
        ["own-leaky_relu"],
        itertools.product(["own", "shared"], ["leaky_relu", "softplus"]),
        "all hold weights by the same masks",
        name="-".join,
    ),
)
def test_held_weights_leave_old_tasks_bit_for_bit(make_images, output, activation):
    learner = learn(1, make_images, hold_used=True, output=output, activation=activation)
    for before, after in first_model_before_and_after(learner, make_images):
        np.testing.assert_array_equal(before, after)
    free = learn(1, make_images, output=output, activation=activation)
    found = first_model_before_and_after(free, make_images)
    assert not all(np.array_equal(before, after) for before, after in found)


GROWING = {"expand": True, "hidden": (6, 5), "empty_units": 2, "expand_every": 5}


@pytest.mark.parametrize("output", ["own", "shared"])
def test_growth_with_held_weights_leaves_old_tasks_bit_for_bit(make_images, output):
    learner = learn(1, make_images, hold_used=True, output=output, **GROWING)
    widths = learner.knowledge.widths[0]
    for before, after in first_model_before_and_after(learner, make_images):
        np.testing.assert_array_equal(before, after)
    assert learner.knowledge.widths[1] > widths


@pytest.mark.parametrize(
    "choice", [{}, {"first_columns": "sticks"}, {"expand_every": 10**6}, {"activation": "softplus"}]
)
def test_growth_leaves_trailing_units_empty_and_the_codes_as_wide(make_images, choice):
    learner = learn(2, make_images, **GROWING | choice)
    for t in range(2):
        masks = learner.context.masks(t)
        wide = learner.knowledge.widths[t]
        assert masks["mean"].shape == masks["scale"].shape == (wide[-1], 3)
        for i in range(2):
            encoder = masks[f"encoder{i}"]
            decoder = masks[f"decoder{1 - i}"]
            assert encoder.shape[1] == decoder.shape[1] == wide[i]
            assert min(map(expansion.empty_units, (encoder, decoder))) >= 2
    assert learner.knowledge.widths[1] >= learner.knowledge.widths[0] > (6, 5)


def test_a_growing_autoencoder_holds_used_weights_at_every_step(make_images, monkeypatch):
    """The held weights of the larger network are those of the smaller one, and no new ones."""
    grew = []

    def watched(context, network, *rest):
        result = grown(context, network, *rest)
        if result is not None:
            before = context.model.weighted(network, npbcl.known_weights(context, network)).held
            kept = np.zeros(result.network.layout.size, bool)
            kept[network.layout.within(result.network.layout)] = before
            np.testing.assert_array_equal(result.held, kept)
            grew.append((context.state.learned, before.any()))
        return result

    grown = npbcl.grown
    monkeypatch.setattr(npbcl, "grown", watched)
    learn(2, make_images, hold_used=True, epochs=3, **GROWING)
    assert (1, True) in grew


@pytest.mark.parametrize("activation", ["leaky_relu", "softplus"])
@pytest.mark.parametrize("output", ["own", "shared"])
def test_the_stored_model_is_the_trained_one(make_images, output, activation):
    learner = ImageNPBCL(
        dataclasses.replace(SMALL, output=output, activation=activation, hidden=(16, 20)), 1
    )
    for t in range(2):
        turn = npbcl.learn_task(
            dataclasses.replace(learner.context, progress=False), make_images(t)
        )
        trained = PointAutoencoder(turn.network, turn.tuned, turn.masks)
        learner.load_state(turn.state.arrays())
        x = make_images(t).x_test
        z = np.ones((2, 5, 3), np.float32)
        kept = learner.latent_model(t)
        np.testing.assert_array_equal(kept.encode(x), trained.encode(x))
        np.testing.assert_array_equal(kept.outputs(z), trained.outputs(z))
        assert not learner.masks(t)[-1].any(axis=0).all()  # some units have no weight


def test_masks_that_start_at_unused_columns_leave_the_earlier_task_s_alone(make_images):
    """With masks that stay where they start: the second task takes as many units, but others."""

    def columns(choice):
        learner = learn(
            2,
            make_images,
            first_columns=choice,
            mask_rate=0.0,
            alpha=2.0,
            hidden=(40, 40),
            alpha_rule="fixed",
        )
        return [learner.masks(t)[0].any(axis=0) for t in range(2)]

    first, second = columns("unused")
    assert first.sum() == second.sum() > 0
    assert not (first & second).any()
    first, second = columns("sticks")
    assert (first & second).sum() == first.sum()


def test_each_task_s_codes_lie_around_a_place_of_their_own(make_images):
    """At a distance of about sqrt(2 L) for L codes; with the standard prior all lie around 0."""
    for choice, least, most in (("per_task", 1.0, 12.0), ("standard", 0.0, 0.0)):
        learner = learn(2, make_images, latent_prior=choice)
        one, other = (learner.latent_model(t).prior()[0] for t in range(2))
        assert least <= np.linalg.norm(one - other) <= most


CHOICES = {
    "learned prior": {"latent_prior": "learned"},
    "standard prior": {"latent_prior": "standard"},
    "masks start at the sticks' columns": {"first_columns": "sticks"},
    "gaussian pixels": {"likelihood": "gaussian", "pixel_sigma": 0.3},
    "relu": {"activation": "relu"},
    "softplus": {"activation": "softplus"},
    "beta": {"beta": 4.0},
    "two samples": {"samples": 2},
    "mean field": {"structured": False},
    "log link": {"mask_link": "log", "epochs": 20, "mask_rate": 0.5, "beta": 0.0},
    "concrete": {"mask_kl": "concrete"},
    "alpha fixed": {"alpha_rule": "fixed"},
    "one layer": {"hidden": (9,)},
    "no warm-up": {"warm_up": 0.0},
    "shared output": {"output": "shared"},
    "weights of one": {"weight_kl_weight": 1.0, "mask_kl_weight": 1.0},
    "growing": {"expand": True, "hidden": (4, 4), "empty_units": 2, "expand_every": 5},
    "growing by sampled masks": {
        "expand": True,
        "grow_by": "sampled",
        "hidden": (4,),
        "empty_units": 2,
        "expand_every": 5,
    },
    "growing greedily": {
        "expand": True,
        "growth": "greedy",
        "hidden": (4,),
        "empty_units": 2,
        "expand_every": 5,
    },
}


@pytest.mark.parametrize(
    "choice",
    quick(
        ["learned prior", "softplus", "concrete", "weights of one"],
        [pytest.param(choice, id=name) for name, choice in CHOICES.items()],
        "all take the same steps; the autoencoder's own tests have the other choices",
    ),
)
def test_every_choice_learns_and_comes_back_from_its_state(choice, make_images):
    learner = learn(2, make_images, **{"epochs": 3, "finetune_epochs": 2} | choice)
    copy = ImageNPBCL(learner.settings, seed=1)
    copy.load_state(learner.state())
    for one in (learner, copy):
        one.learn(make_images(2), progress=False)
    for name, value in learner.state().items():
        np.testing.assert_array_equal(value, copy.state()[name], err_msg=name)
    for t in range(3):
        assert np.isfinite(score(learner, t, make_images(t)))


def test_the_codes_prior_is_each_task_s_or_everybody_s(make_images):
    per_task, shared, standard = (
        learn(2, make_images, latent_prior=choice).latent_model(0).prior()
        for choice in ("per_task", "learned", "standard")
    )
    np.testing.assert_array_equal(standard, 0)
    assert np.abs(per_task[0]).max() > 0
    assert np.abs(shared[0]).max() > 0
    learner = learn(2, make_images, latent_prior="learned")
    np.testing.assert_array_equal(*(learner.latent_model(t).prior()[0] for t in range(2)))
    learner = learn(2, make_images, latent_prior="per_task")
    assert not np.array_equal(*(learner.latent_model(t).prior()[0] for t in range(2)))


def test_the_history_has_the_codes_divergence(make_images):
    learner = ImageNPBCL(SMALL, 1)
    *_, last = learner.learn(make_images(0), progress=False)
    assert last.kl_latent > 0
    assert last.elbo == pytest.approx(last.log_likelihood - last.kl_latent - last.kl_weights)


def test_alpha_rises_in_every_layer_and_starts_as_printed(learned):
    assert ImageNPBCL(ImageSettings(**IMAGE_PRESETS["paper"])).alpha.tolist() == [
        40,
        40,
        20,
        20,
        40,
        40,
    ]
    assert (learned.alpha >= SMALL.alphas).all()
    assert [mask.shape for mask in learned.masks(0)] == [
        (25, 10),
        (10, 8),
        (8, 3),
        (8, 3),
        (3, 8),
        (8, 10),
    ]


def test_a_task_that_does_not_fit_is_refused(learned, make_task):
    with pytest.raises(TypeError, match="must be of kind images, got classification"):
        learned.learn(make_task(0))
    wide = Task("wide", x_train=np.zeros((4, 9)), x_test=np.zeros((2, 9)))
    with pytest.raises(ValueError, match="task 'wide' has 9 inputs, the network 25"):
        learned.learn(wide)
    with pytest.raises(ValueError, match=r"unknown task_id 3; 0 \.\.\. 2"):
        learned.latent_model(3)
    with pytest.raises(ValueError, match="no task has been learned yet"):
        ImageNPBCL(SMALL).latent_model(0)


def test_a_network_that_switches_itself_off_says_so(make_images):
    with pytest.raises(
        TrainingError, match="switched off every weight of layer encoder0; raise alpha"
    ):
        learn(1, make_images, alpha=0.01, mask_rate=0.0)


def test_an_elbo_that_is_not_finite_stops_the_run(make_images):
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError, match="Lower the learning rates"):
        learn(1, make_images, weight_rate=1e6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"samples": 0}, "samples must be in 1 .. 1000"),
        ({"tau_end": 0.0}, "tau_end must be finite and above 0"),
        ({"hidden": ()}, "hidden"),
        ({"beta": -1.0}, "beta"),
        ({"latent_prior": "vamp"}, "latent_prior must be one of"),
        ({"likelihood": "poisson"}, "likelihood"),
        ({"latent": 0}, "latent"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **change)


@pytest.mark.parametrize("name", IMAGE_PRESETS)
def test_every_preset_is_a_setting_that_holds(name):
    settings = ImageSettings(**IMAGE_PRESETS[name])
    assert settings.hold_used == (name == "default")
    assert settings.beta == pytest.approx(128 / 6000 if name == "authors" else 1.0)


@pytest.mark.parametrize(
    "model",
    [
        MaskModel(),
        MaskModel(link="log"),
        MaskModel(structured=False),
        MaskModel(link="log", structured=False),
    ],
)
def test_unused_columns_get_the_probabilities_of_the_first_ones(model):
    known = np.zeros((5, 6), bool)
    alpha = 3.0
    # columns 1, 3, 4, 5, 0, 2 from least to most used
    known[:2, [0, 2]] = True
    log_pi = np.arange(1, 7) * np.log(alpha / (alpha + 1))
    sticks = prior_log_odds(log_pi, model.link)[0]
    odds = _towards_unused(known, alpha, model) + (sticks if model.structured else 0)
    np.testing.assert_allclose(odds[[1, 3, 4, 5, 0, 2]], sticks, rtol=1e-12)


def short(**changes):
    """Return settings for a few steps on bars, with other alphas in the layers of the codes."""
    return dataclasses.replace(SMALL, epochs=2, finetune_epochs=1, **changes)


def test_alpha_grows_by_its_increment_in_every_layer(make_images):
    learner = ImageNPBCL(short(alpha_rule="increment", alpha_increment=2.5), seed=1)
    assert learner.alpha.tolist() == [5, 5, 3, 3, 5, 5]
    for t in range(2):
        learner.learn(make_images(t), progress=False)
    assert learner.alpha.tolist() == [10, 10, 8, 8, 10, 10]


def test_a_fixed_alpha_and_an_increment_of_zero_are_the_same_bits(make_images):
    learners = [ImageNPBCL(short(alpha_rule=rule), seed=1) for rule in ("fixed", "increment")]
    for learner in learners:
        for t in range(2):
            learner.learn(make_images(t), progress=False)
    for name, value in learners[0].state().items():
        np.testing.assert_array_equal(value, learners[1].state()[name], err_msg=name)


def test_a_learned_alpha_has_the_prior_of_its_layer(make_images):
    learner = ImageNPBCL(short(alpha_rule="learned", alpha_prior_shape=4.0), seed=1)
    turns = []
    for t in range(2):
        turns.append(npbcl.learn_task(learner.context, make_images(t)))
        learner.become(turns[-1].state)
        # the prior's mean is the first alpha, in every task
        means = [shape / rate for shape, rate in turns[-1].prior.sticks.values()]
        np.testing.assert_allclose(means, learner.settings.alphas)
        assert {shape for shape, _ in turns[-1].prior.sticks.values()} == {4.0}
        views = turns[-1].network.layout.layers(turns[-1].trained)
        for alpha, name in zip(learner.alpha, turns[-1].network.masked, strict=True):
            k, scale = (np.logaddexp(0, views[name][f"raw_{part}"]) for part in ("shape", "scale"))
            assert alpha == pytest.approx(scale * math.gamma(1 + 1 / k), rel=1e-5)
        assert (learner.alpha != learner.settings.alphas).all()
    assert all(record.kl_alpha > 0 for record in turns[1].history if record.phase == "masked")


def test_without_divergences_of_sticks_a_learned_alpha_is_fixed(make_images):
    """Nothing pulls at alpha, which enters the divergence of the sticks only."""
    learners = [
        ImageNPBCL(short(alpha_rule=rule, stick_kl_weight=0.0), seed=1)
        for rule in ("fixed", "learned")
    ]
    for learner in learners:
        learner.learn(make_images(0), progress=False)
    fixed, learned = learners
    np.testing.assert_allclose(learned.alpha, fixed.alpha, rtol=1e-6)
    for name, value in fixed.state().items():
        if name != "memory.alpha":
            np.testing.assert_array_equal(value, learned.state()[name], err_msg=name)
