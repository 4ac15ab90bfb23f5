"""The contract of all methods: a saved learner is the learner, it continues bit for bit, it refuses
what it cannot learn, and its settings have limits.

The module of a method tests what is special about it, and repeats nothing of this.
"""

import numpy as np
import pytest

from ibpcl.continual.task import Task
from ibpcl.methods import ABOUT, GENERATIVE, METHODS, method

SMALL = {
    "hidden": (8, 7),
    "epochs": 2,
    "batch": 20,
    "samples": 1,
    "prediction_samples": 2,
    "likelihood_epochs": 1,
    "finetune_epochs": 1,
    "head_epochs": 1,
    "alpha": 20.0,
    "latent_alpha": 20.0,
    "mask_link": "logit",
    "latent": 3,
    "trials": 3,
    "controller_units": 5,
    "loss_threshold": 0.0,
    "buffer_size": 10,
    "generator_hidden": (8,),
    "generator_latent": 2,
    "generator_epochs": 2,
}
ALL = (*METHODS, *GENERATIVE)
# Other settings of a method that store other things.
VARIANTS = (
    ("npbcl", {"expand": True, "empty_units": 2, "expand_every": 2, "epochs": 3}),
    ("vcl", {"coreset": "random", "coreset_size": 10, "coreset_epochs": 2, "single_head": True}),
    ("npbcl", {"full_head": True}),
    ("vae_npbcl", {"alpha_rule": "learned"}),
    ("vcl", {"rank": 2}),
    ("vcl", {"full_head": True}),
    ("vcl", {"rank": 1, "full_head": True, "single_head": True}),
    ("ibp_vcl", {"offsets": True, "single_head": True}),
    ("ivon", {"single_head": True}),
    ("horseshoe", {"scales": "weights"}),
    ("horseshoe", {"single_head": True}),
)
CASES = [(name, {}) for name in ALL] + list(VARIANTS)
# Values outside the documented limits, one setting each.
OUTSIDE = {
    "bgd": {"samples": 0, "prediction_samples": 0, "start_sigma": 0.0, "rate": -1.0},
    "den": {"sparsity": -1.0, "drift": np.inf, "loss_threshold": np.nan, "split_threshold": -0.1}
    | {"expand_units": 0, "head_epochs": -1, "single_head": True},
    "ewc": {
        "weight": -1.0,
        "variant": "both",
        "fisher": "true",
        "fisher_examples": 0,
        "decay": 1.5,
    },
    "agem": {"buffer": "best", "buffer_size": -1},
    "gem": {"buffer": "best", "buffer_size": -1},
    "gpm": {"threshold": 1.5, "examples": 0, "network": "conv:8"},
    "hat": {"scale": 0.5, "sparsity": -1.0, "embedding_rate": -1.0, "single_head": True},
    "horseshoe": {"scales": "layers", "scale_rate": -1.0, "global_scale": 0.0}
    | {"start_scale": 0.0, "threshold": 1.0},
    "ibp_vcl": {"samples": 0, "mask_rate": -1.0, "alpha": 0.0, "tau_end": 0.0, "mask_kl": "other"},
    "imm": {"merge": "median", "alpha_last": 1.5, "transfer": -1.0},
    "independent": {"start": "zeros"},
    "ivon": {"rule": "adam", "curvature_rate": 1.5, "momentum": 1.0},
    "laplace": {"weight": -1.0, "prior_sigma": 0.0, "fisher": "true"},
    "pruning": {"sparsity": -1.0, "margin": 1.1, "held_out": 0.0, "threshold": np.nan}
    | {"single_head": True},
    "rcl": {"trials": 0, "most_units": -1, "unit_cost": np.nan, "held_out": 1.0}
    | {"controller_units": 0, "controller_rate": -1.0, "value_rate": np.inf, "single_head": True},
    "rehearsal": {"buffer": "best", "buffer_size": 0, "weight": -1.0},
    "replay": {"ratio": 1.1, "labels": "soft", "generator": "gan", "generator_epochs": -1}
    | {"generator_hidden": (), "generator_latent": 0},
    "si": {"weight": -1.0, "damping": 0.0},
    "vcl": {"samples": 0, "prior_sigma": 0.0, "coreset": "best"},
    **{
        name: {"shared_layers": 0, "activation": "gelu"}
        for name in GENERATIVE
        if "npbcl" not in name
    },
}
FOR_ALL = {"hidden": (), "epochs": -1, "batch": 0, "rate": np.nan}


def learner_of(name, seed=4, **changes):
    found = method(name)
    known = {
        key: value for key, value in SMALL.items() if key in found.settings.__dataclass_fields__
    }
    known |= {"likelihood": "gaussian"} if name == "m2" else {}  # inputs are any numbers
    return found.learner(found.settings(**known | changes), seed, "numpy")


@pytest.fixture
def tasks(make_task, make_images):
    """Give a function of a method's name and settings that returns three tasks."""

    def of(name, changes=()):
        if name in GENERATIVE:
            return [make_images(t) for t in range(3)]
        return [make_task(t, classes=2 if "single_head" in changes else 2 + t) for t in range(3)]

    return of


def everything(learner):
    return {key: np.array(value) for key, value in learner.state().items()}


def differing(one, other):
    """Return the names of the arrays that differ, or that one of two states lacks."""
    return {
        key
        for key in one.keys() | other.keys()
        if key not in one or key not in other or not np.array_equal(one[key], other[key])
    }


def answers(learner, task, task_id):
    """Return what a learner says about the test examples of a task."""
    if hasattr(learner, "latent_model"):
        return np.concatenate(learner.latent_model(task_id).encode(task.x_test))
    return learner.predict(task.x_test, task_id)


@pytest.mark.parametrize(
    ("name", "changes"), CASES, ids=lambda value: value if type(value) is str else "-".join(value)
)
def test_a_saved_learner_is_the_learner_and_continues(name, changes, tasks, tmp_path):
    stream = tasks(name, changes)
    learner = learner_of(name, **changes)
    empty = everything(learner)
    learner.load_state(learner.state())
    assert not differing(everything(learner), empty)
    for task in stream[:2]:
        learner.learn(task, progress=False)
    saved = everything(learner)
    learner.save(tmp_path / "learner.npz")
    copy = type(learner).load(tmp_path / "learner.npz")
    assert copy.settings == learner.settings
    assert not differing(everything(copy), saved)
    for t, task in enumerate(stream[:2]):
        np.testing.assert_array_equal(answers(copy, task, t), answers(learner, task, t))
    for each in (learner, copy):
        each.learn(stream[2], progress=False)
    assert not differing(everything(copy), everything(learner))
    assert differing(everything(learner), saved)  # the comparison sees a task


@pytest.mark.parametrize("name", ALL)
def test_a_task_that_does_not_fit_is_refused(name, make_task, make_images):
    images = name in GENERATIVE
    learner = learner_of(name, epochs=1)
    with pytest.raises(ValueError, match="unknown task_id 0"):
        answers(learner, make_task(0), 0)
    if images:
        with pytest.raises(TypeError, match=f"{name}: .* kind images, got classification"):
            learner.learn(make_task(0), progress=False)
    elif "regression" not in ABOUT[name].can:
        with pytest.raises(TypeError, match=f"{name}: .* kind classification, got regression"):
            learner.learn(Task("r", [[0.0]], [[0.0]], [[1.0]], [[1.0]]), progress=False)
    learner.learn((make_images if images else make_task)(0), progress=False)
    before = everything(learner)
    narrow = Task("narrow", x_train=np.zeros((4, 5)), x_test=np.zeros((2, 5)))
    if name != "independent":  # its networks share nothing
        with pytest.raises(ValueError, match=f"{name}: task '.*' has 5 inputs, the network"):
            learner.learn(narrow if images else make_task(1, inputs=5), progress=False)
    assert not differing(everything(learner), before)


@pytest.mark.parametrize("name", [name for name in METHODS if "domain" in ABOUT[name].can])
def test_one_head_has_the_outputs_of_the_first_task(name, make_task):
    learner = learner_of(name, epochs=1, single_head=True)
    for t in range(2):
        learner.learn(make_task(t), progress=False)
    x = make_task(0).x_test
    if name != "npbcl":  # each task has its masks
        np.testing.assert_array_equal(learner.predict(x, 0), learner.predict(x, 1))
    with pytest.raises(ValueError, match=r"must have 2 outputs.* got 3"):
        learner.learn(make_task(2, classes=3), progress=False)


@pytest.mark.parametrize(
    "name",
    [name for name in METHODS if "likelihood_epochs" in method(name).settings.__dataclass_fields__],
)
def test_the_first_task_begins_with_the_likelihood_alone(name, make_task):
    learner = learner_of(name, likelihood_epochs=2, epochs=1)
    phases = [record.phase for record in learner.learn(make_task(0), progress=False)]
    assert phases[:2] == ["likelihood"] * 2 and "likelihood" not in phases[2:]
    later = [record.phase for record in learner.learn(make_task(1), progress=False)]
    assert "likelihood" not in later


@pytest.mark.parametrize("name", ALL)
def test_a_setting_outside_its_limits_is_refused(name):
    settings = method(name).settings
    fields = settings.__dataclass_fields__
    limits = {key: value for key, value in FOR_ALL.items() if key in fields}
    for key, value in (limits | OUTSIDE.get(name, {})).items():
        with pytest.raises(ValueError, match=f"{name}: {key} must"):
            settings(**{key: value})
