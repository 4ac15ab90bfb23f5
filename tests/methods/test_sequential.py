"""Common properties of the methods that train one network in sequence."""

import numpy as np
import pytest

from ibpcl.continual.loop import learn_stream
from ibpcl.continual.task import Task
from ibpcl.methods import ABOUT, METHODS, method
from ibpcl.methods.sequential import Context

# What each method changes in the common small settings; the ones here are all of the base class.
OWN = {name: {} for name in METHODS if method(name).learner.context_type is Context}
# nothing is shared, so nothing has to fit
del OWN["independent"]
# it keeps a trial where the others keep an epoch
OWN |= {"rcl": {"trials": 4, "controller_units": 5}}
# its rate is a factor of the variance, and 1 is Bayes' rule
OWN |= {"bgd": {"rate": 1.0, "start_sigma": 0.05}}
# its rate is a factor of the variance, as that of BGD
OWN |= {"ivon": {"rate": 0.2, "curvature_rate": 0.1}}
# its scales start at one, so that a few steps are enough
OWN |= {"horseshoe": {"start_scale": 1.0}}
# its generator has other widths and epochs
OWN |= {"replay": {"generator_hidden": (8,), "generator_latent": 2, "generator_epochs": 4}}
SMALL = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}


def learner_of(name, seed=1, **changes):
    found = method(name)
    return found.learner(found.settings(**{**SMALL, **OWN[name], **changes}), seed, "numpy")


def everything(learner):
    return {name: np.asarray(value) for name, value in learner.state().items()}


def same(one, other):
    assert everything(one).keys() == everything(other).keys()
    for name, value in everything(one).items():
        np.testing.assert_array_equal(value, everything(other)[name], err_msg=name)


@pytest.mark.parametrize("name", OWN)
def test_it_learns_what_it_is_given(name, make_task):
    *_, last = learn_stream(
        learner_of(name, epochs=8), [make_task(t) for t in range(2)], progress=False
    )
    assert np.diagonal(last.accuracy).min() > 0.9
    phases = {
        "den": ("head", "selected", "expanded", "split"),
        "progress": ("progress", "compress"),
    }.get(name, (name,))
    for record in last.history:
        assert record.phase in phases and np.isfinite(record.elbo)


@pytest.mark.parametrize("name", OWN)
def test_a_saved_learner_is_the_learner(name, make_task, tmp_path):
    learner = learner_of(name)
    for t in range(2):
        learner.learn(make_task(t, classes=2 + t), progress=False)
    learner.save(tmp_path / "learner.npz")
    copy = type(learner).load(tmp_path / "learner.npz")
    same(copy, learner)
    x = make_task(0).x_test
    for t in range(2):
        p = copy.predict(x, t)
        np.testing.assert_array_equal(p, learner.predict(x, t))
        assert p.shape == (len(x), 2 + t)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    for one in (copy, learner):
        one.learn(make_task(2), progress=False)
    same(copy, learner)


@pytest.mark.parametrize("name", OWN)
def test_it_refuses_what_it_cannot_learn(name, make_task):
    learner = learner_of(name)
    with pytest.raises(ValueError, match="unknown task_id 0"):
        learner.predict(np.zeros((1, 6)), 0)
    with pytest.raises(
        TypeError, match=f"{name}: .*must be of kind classification, got regression"
    ):
        learner.learn(Task("r", [[0.0]], [[0.0]], [[1.0]], [[1.0]]))
    learner.learn(make_task(0), progress=False)
    with pytest.raises(ValueError, match=f"{name}: task 'task 1' has 5 inputs, the network 6"):
        learner.learn(make_task(1, inputs=5), progress=False)
    with pytest.raises(ValueError, match=f"{name}: hidden must"):
        method(name).settings(hidden=())
    if "start" in method(name).settings.__dataclass_fields__:
        with pytest.raises(ValueError, match=f"{name}: start must be one of uniform, he"):
            method(name).settings(start="zeros")
    for wrong in ({"epochs": -1}, {"batch": 0}, {"rate": np.nan}, {"rate_end": 0.0}):
        with pytest.raises(ValueError, match=f"{name}: {next(iter(wrong))} must"):
            method(name).settings(**wrong)


@pytest.mark.parametrize("name", [name for name in OWN if "domain" in ABOUT[name].can])
def test_one_head_serves_all_tasks(name, make_task):
    learner = learner_of(name, single_head=True)
    for t in range(2):
        learner.learn(make_task(t), progress=False)
    x = make_task(0).x_test
    np.testing.assert_array_equal(learner.predict(x, 0), learner.predict(x, 1))
    assert all(head.size == 0 for head in learner.knowledge.own)
    with pytest.raises(ValueError, match=r"must have 2 outputs.* got 3"):
        learner.learn(make_task(2, classes=3), progress=False)
