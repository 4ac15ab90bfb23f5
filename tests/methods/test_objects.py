"""Learners and settings are ordinary objects: copied, pickled, printed, and strict about names."""

import copy
import math
import pickle
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from ibpcl.experiments.measurement import Measurement
from ibpcl.methods import GENERATIVE, METHODS, Training, method
from ibpcl.methods.npbcl import Settings
from ibpcl.options import option

SMALL = {
    "hidden": (8,),
    "epochs": 1,
    "batch": 40,
    "samples": 1,
    "prediction_samples": 2,
    "finetune_epochs": 1,
    "start_rho": 9.0,
    "trials": 1,
    "latent": 3,
    "alpha": 20.0,
    "latent_alpha": 20.0,
    "generator_epochs": 2,
    "generator_hidden": (8,),
}


@pytest.mark.parametrize("name", [*METHODS, *GENERATIVE])
def test_a_copy_is_the_learner_and_is_apart_from_it(name, make_task, make_images):
    found = method(name)
    known = {
        key: value for key, value in SMALL.items() if key in found.settings.__dataclass_fields__
    }
    known |= {"likelihood": "gaussian"} if name == "m2" else {}  # inputs are any numbers
    make = make_images if name in GENERATIVE else make_task
    learner = found.learner(found.settings(**known), 0, "numpy")
    learner.learn(make(0), progress=False)
    before = {key: np.array(value) for key, value in learner.state().items()}
    for other in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        assert other.settings == learner.settings and repr(other) == repr(learner)
        other.learn(make(1), progress=False)
        assert (other.learned, learner.learned) == (2, 1)
        for key, value in learner.state().items():
            np.testing.assert_array_equal(value, before[key], err_msg=key)
    kind = "ImageSettings" if name in GENERATIVE else "Settings"
    assert repr(learner).startswith(f"{type(learner).__name__}({kind}(hidden=(8,)")
    assert repr(learner).endswith("seed=0, backend_name='numpy'), 1 tasks learned")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epoch": 5}, r"npbcl: there is no setting 'epoch'; did you mean 'epochs'\?"),
        ({"hidden": 50}, r"npbcl: hidden must be a tuple of int, such as \(50,\), got 50"),
        ({"hidden": (50.5,)}, "npbcl: hidden must be int, got 50.5"),
        ({"epochs": "many"}, "npbcl: epochs must be int"),
        ({"expand": 1}, "npbcl: expand must be bool, got 1"),
        ({"alpha": True}, "npbcl: alpha must be float, got True"),
        ({"epochs": None}, "npbcl: epochs must be int, got None"),
    ],
)
def test_a_setting_of_another_name_or_type_is_refused(wrong, message):
    with pytest.raises(TypeError, match=message):
        Settings(**wrong)


def test_presets_have_names():
    assert Settings.preset("paper").epochs == 5 and Settings.preset("default") == Settings()
    with pytest.raises(
        ValueError, match="preset must be one of default, paper, authors, unweighted, got 'best'"
    ):
        Settings.preset("best")
    assert method("ewc").settings.preset("default") == method("ewc").settings()


SETTINGS = {name: method(name).settings for name in (*METHODS, *GENERATIVE)} | {
    "measurement": Measurement
}
OUTSIDE = {
    "at_least": lambda bound: bound - 1,
    "above": lambda bound: bound,
    "at_most": lambda bound: bound + 1,
    "below": lambda bound: bound,
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_option_refuses_what_lies_outside_its_bounds(name):
    kind = SETTINGS[name]
    assert kind(**vars(kind())) == kind()
    for one in fields(kind):
        rules = one.metadata
        assert rules["doc"].endswith("."), one.name
        wrong = [
            outside(rules[bound])
            for bound, outside in OUTSIDE.items()
            if rules.get(bound, math.inf) < math.inf
        ]
        if one.type in (float, float | None):
            wrong += [math.nan, -math.inf] + [math.inf] * ("at_most" not in rules)
        if one.type in (str, bool | str):
            wrong += [text for text in ("", "nothing of the kind") if text != one.default]
        if one.type == tuple[int, ...]:
            wrong = [(), *((5, value) for value in wrong)]
        assert wrong or one.type is bool, f"{one.name} has no bounds"
        for value in wrong:
            for make in (kind, lambda **given: replace(kind(), **given)):
                with pytest.raises(ValueError, match=f"^{name}: {one.name} must be .*, got "):
                    make(**{one.name: value})


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("ewc", {"decay": 1.5}, r"ewc: decay must be in 0 \.\. 1, got 1.5"),
        ("rcl", {"held_out": 1.0}, "rcl: held_out must be above 0 and below 1, got 1.0"),
        ("den", {"single_head": True}, "den: single_head must be False, got True"),
        ("den", {"split_threshold": -1}, r"den: split_threshold must be in 0 \.\. inf, got -1.0"),
        ("vcl", {"hidden": [5, 0]}, r"vcl: hidden must be non-empty, all at least 1, got \(5, 0\)"),
        (
            "npbcl",
            {"alpha": 10**400},
            "npbcl: alpha must be finite, got a whole number too large for float",
        ),
        (
            "vae_ewc",
            {"shared_layers": 5},
            "vae_ewc: shared_layers must be at most 4, the decoder's layers, got 5",
        ),
    ],
)
def test_the_message_names_the_method_the_setting_and_what_is_allowed(name, wrong, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        method(name).settings(**wrong)


def test_settings_are_given_by_name():
    assert method("den").settings(loss_threshold=math.inf).loss_threshold == math.inf
    with pytest.raises(
        TypeError, match=r"npbcl: settings are given by name, such as hidden=..., got \(50,\)"
    ):
        Settings((50,))


def test_an_unpickled_object_was_checked():
    settings = Settings(hidden=(7,), epochs=3)
    assert pickle.loads(pickle.dumps(settings)) == copy.deepcopy(settings) == settings
    object.__setattr__(settings, "epochs", -3)
    with pytest.raises(ValueError, match="npbcl: epochs must be at least 0, got -3"):
        pickle.loads(pickle.dumps(settings))


def test_an_option_that_is_declared_again_keeps_the_rest_of_its_declaration():
    @dataclass(frozen=True)
    class Quick(Training):
        epochs: int = 1
        batch: int = option(8, "Few.", at_most=64)

    assert Quick() == Quick(hidden=[200], epochs=1, batch=8)
    assert [one.metadata["doc"] for one in fields(Quick)] == [
        "Units of each hidden layer.",
        "Epochs per task.",
        "Few.",
    ]
    for wrong in ({"epochs": -1}, {"batch": 0}, {"batch": 65}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Quick(**wrong)
    assert Training(batch=65).epochs == 5
