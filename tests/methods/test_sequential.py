"""Common properties of the methods that train one network in sequence."""

import numpy as np
import pytest

from ibpcl.continual.loop import learn_stream
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
