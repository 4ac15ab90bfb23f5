"""Names of methods, classes and noise phases are literals in the source."""

import inspect
import re

import pytest

from ibpcl.methods import GENERATIVE, METHODS, method
from ibpcl.methods.npbcl_images import ImageModel
from ibpcl.methods.npbcl_labels import LabelModel

ALL = (*METHODS, *GENERATIVE)


@pytest.mark.parametrize("name", ALL)
def test_settings_have_their_method_s_name_and_presets(name):
    settings = method(name).settings
    assert vars(settings)["method"] == name
    assert "default" in settings.presets
    for preset in settings.presets:
        assert settings.preset(preset) == settings(**settings.presets[preset])


@pytest.mark.parametrize("name", ALL)
def test_a_learner_is_a_class_in_the_source(name):
    learner = method(name).learner
    assert re.search(
        rf"^class {learner.__name__}\b", inspect.getsource(inspect.getmodule(learner)), re.MULTILINE
    )


@pytest.mark.parametrize("name", ALL)
def test_no_two_phases_draw_the_same_noise(name):
    model = method(name).learner.model_type
    phases = dict(model.streams)
    if model.stride is None:
        # The order of the examples has a separate stream, and only DEN draws in growth.
        assert phases.pop("train") == phases["initial"]
        assert phases.pop("growth") == phases["fisher"]
    numbers = list(phases.values())
    assert len(set(numbers)) == len(numbers)
    assert model.stride is None or max(numbers) < model.stride


def test_the_phases_of_published_results_keep_their_numbers():
    assert (LabelModel.stride, ImageModel.stride) == (7, 4)
    assert LabelModel.streams["predict"] == 6
    assert ImageModel.streams == {"initial": 0, "masked": 1, "cut": 2, "finetune": 3}
