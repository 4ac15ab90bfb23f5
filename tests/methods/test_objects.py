"""Learners and settings are ordinary objects: they are copied, pickled, printed, and refuse what they do not know."""

import copy
import pickle

import numpy as np
import pytest

from ibpcl.methods import GENERATIVE, METHODS, method
from ibpcl.methods.npbcl import Settings

SMALL = {"hidden": (8,), "epochs": 1, "batch": 40, "samples": 1, "prediction_samples": 2, "finetune_epochs": 1,
         "start_rho": 9.0, "trials": 1, "latent": 3, "alpha": 20.0, "latent_alpha": 20.0}


@pytest.mark.parametrize("name", [*METHODS, *GENERATIVE])
def test_a_copy_is_the_learner_and_is_apart_from_it(name, make_task, make_images):
    found = method(name)
    known = {key: value for key, value in SMALL.items() if key in found.settings.__dataclass_fields__}
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
    assert repr(learner).startswith(f"{type(learner).__name__}(Settings(hidden=(8,)")
    assert repr(learner).endswith("seed=0, backend_name='numpy'), 1 tasks learned")


@pytest.mark.parametrize(("wrong", "message"), [
    ({"epoch": 5}, r"npbcl: there is no setting 'epoch'; did you mean 'epochs'\?"),
    ({"hidden": 50}, r"npbcl: hidden must be a tuple of int, such as \(50,\), got 50"),
    ({"hidden": (50.5,)}, "npbcl: hidden must be int, got 50.5"), ({"epochs": "many"}, "npbcl: epochs must be int"),
    ({"expand": 1}, "npbcl: expand must be bool, got 1"), ({"alpha": True}, "npbcl: alpha must be float, got True")])
def test_a_setting_of_another_name_or_type_is_refused(wrong, message):
    with pytest.raises(TypeError, match=message):
        Settings(**wrong)


def test_presets_have_names():
    assert Settings.preset("paper").epochs == 5 and Settings.preset("default") == Settings()
    with pytest.raises(ValueError, match="preset must be one of default, paper, authors, unweighted, got 'best'"):
        Settings.preset("best")
    assert method("ewc").settings.preset("default") == method("ewc").settings()
