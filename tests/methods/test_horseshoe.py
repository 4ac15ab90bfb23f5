"""Horseshoe: VCL with fixed scales, Bayes' rule for scales, structure by thresholds."""

import dataclasses

import numpy as np
import pytest

from ibpcl.continual.loop import learn_stream
from ibpcl.continual.task import Task
from ibpcl.inference.backend import backend
from ibpcl.methods import horseshoe
from ibpcl.methods import vcl as vcl_method
from ibpcl.methods.horseshoe import Horseshoe, Settings, sizes
from ibpcl.methods.sequential import accept
from ibpcl.methods.vcl import last_posterior
from ibpcl.models.layers import Pass
from ibpcl.models.scaled import Scales
from ibpcl.noise import Key
from ibpcl.primitives import gaussian
from ibpcl.primitives import horseshoe as prior

NUMPY = backend("numpy")
COMMON = {
    "hidden": (8,),
    "epochs": 4,
    "likelihood_epochs": 3,
    "batch": 20,
    "rate": 0.02,
    "prediction_samples": 10,
}
# no scale moves, and all of them are 1
FIXED = {"scale_rate": 0.0, "start_scale": 1.0, "start_scale_sigma": 1e-30, "threshold": 0.0}
SMALL = Settings(**COMMON, start_scale=0.5)


def learner_of(seed=1, **changes):
    return Horseshoe(dataclasses.replace(SMALL, **changes), seed, "numpy")


@pytest.mark.parametrize("hidden", [(8,), (7, 5)])
@pytest.mark.parametrize(("scales", "local"), [("units", True), ("weights", False)])
def test_fixed_scales_are_vcl_bit_for_bit(make_task, scales, local, hidden):
    common = COMMON | {"hidden": hidden}
    ours = Horseshoe(Settings(**common, **FIXED, scales=scales), 1, "numpy")
    theirs = vcl_method.VCL(vcl_method.Settings(**common, local=local), 1, "numpy")
    for t in range(2):
        for learner in (ours, theirs):
            learner.learn(make_task(t), progress=False)
    for t in range(2):
        (network, vector), (plain, expected) = ours.assemble(t), theirs.assemble(t)
        for name, value in plain.layout.views(expected).items():
            np.testing.assert_array_equal(network.layout.view(vector, name), value, err_msg=name)
        x = make_task(t).x_test
        np.testing.assert_array_equal(ours.predict(x, t), theirs.predict(x, t))


def test_with_scales_that_move_it_is_another_method(make_task):
    """The control of the test above."""
    moving = FIXED | {"scale_rate": 0.02}
    learners = [Horseshoe(Settings(**COMMON, **keys), 1, "numpy") for keys in (FIXED, moving)]
    for learner in learners:
        learner.learn(make_task(0), progress=False)
    one, other = (learner.predict(make_task(0).x_test, 0) for learner in learners)
    assert np.abs(one - other).max() > 1e-3


@pytest.mark.parametrize("scales", horseshoe.SCALES_OF)
def test_the_first_prior_is_half_cauchy_and_the_next_one_the_last_posterior(make_task, scales):
    learner = learner_of(scales=scales, global_scale=0.3)
    context = accept(learner.context, make_task(0))
    network = context.next_network(2)
    assert last_posterior(context, network).sticks == {"hidden0": 0.3, "head": 0.3}
    history = learner.learn(make_task(0), progress=False)
    network, vector = learner.assemble(0)
    layer = network.layout.layers(vector)["hidden0"]
    parts = layer["scale.mu"], layer["scale.log_sigma"]
    of_tau = layer["global.mu"], layer["global.log_sigma"]
    (divergence, alpha), _ = network.layers["hidden0"].kl_sticks(layer, 0.3, NUMPY)
    exact = prior.kl(*parts, 1.0)[0] + prior.kl(*of_tau, 0.3)[0]
    assert divergence == pytest.approx(exact) and alpha == 0
    assert history[-1].kl_sticks > divergence  # with those of the head
    sticks = last_posterior(learner.context, network).sticks
    assert sticks["head"] == 0.3 and isinstance(sticks["hidden0"], Scales)
    moved = dict(layer) | {"scale.mu": layer["scale.mu"] + 0.1}
    (divergence, _), _ = network.layers["hidden0"].kl_sticks(moved, sticks["hidden0"], NUMPY)
    exact = gaussian.kl(parts[0] + np.float32(0.1), parts[1], *parts)[0]
    assert divergence == pytest.approx(exact, rel=1e-5) and exact > 0
    (at_rest, _), _ = network.layers["hidden0"].kl_sticks(layer, sticks["hidden0"], NUMPY)
    assert at_rest == 0


def test_a_unit_is_on_if_its_scale_is_above_the_threshold(make_task):
    learner = learner_of()
    learner.learn(make_task(0), progress=False)
    network, vector = learner.assemble(0)
    mu = network.layout.layers(vector)["hidden0"]["scale.mu"]
    mu[...] = np.linspace(0, -7, 8)  # medians relative to the largest: 1, 0.61, ..., 0.03
    np.testing.assert_allclose(sizes(network, vector)["hidden0"], np.exp(-np.arange(8) / 2))
    x = make_task(0).x_train
    for threshold, units in ((0.0, 8), (0.1, 5), (0.5, 2)):
        context = learner_of(threshold=threshold).context
        bits = horseshoe.structure(context, network, vector, x)["hidden0"]
        assert np.unpackbits(bits, count=8).tolist() == [1] * units + [0] * (8 - units)


@pytest.mark.parametrize("scales", horseshoe.SCALES_OF)
def test_what_is_off_does_not_matter_for_its_task(make_task, scales):
    """Predictions stay the same if weights that are off are replaced, and only then."""
    learner = learner_of(scales=scales, hidden=(12,), epochs=20, scale_rate=0.1, threshold=0.6)
    for t in range(2):
        learner.learn(make_task(t), progress=False)
    (mask,) = learner.masks(0)
    assert mask.shape == (6, 12) and 0 < mask.mean() < 1
    if scales == "units":
        assert (mask == mask[0]).all()
    x = make_task(0).x_test
    before = learner.predict(x, 0)
    for place, moves in ((~mask, False), (mask, True)):
        network, vector = learner.assemble(0)
        network.layout.layers(vector)["hidden0"]["weight.mu"][place] += 3.0
        places = learner.context.places(network)
        other = learner_of(**dataclasses.asdict(learner.settings))
        other.become(dataclasses.replace(learner.knowledge, shared=vector[places]))
        assert (np.abs(other.predict(x, 0) - before).max() > 1e-3) == moves


def test_weights_of_inputs_that_are_always_zero_are_off(make_task):
    task = make_task(0)
    x_train = task.x_train.copy()
    x_train[:, 5] = 0
    learner = learner_of(scales="weights", threshold=1e-6)
    learner.learn(dataclasses.replace(task, x_train=x_train), progress=False)
    (mask,) = learner.masks(0)
    assert not mask[5].any() and mask[:5].all()


def test_units_that_no_task_needs_shrink():
    """One unit suffices: the scales of most others end far below the largest."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 4))
    y = (x[:, 0] > 0).astype(int)
    keys = COMMON | {"hidden": (20,), "epochs": 150, "batch": 100, "prediction_samples": 50}
    learner = Horseshoe(Settings(**keys, scale_rate=0.03), 0, "numpy")
    learner.learn(Task("one side", x[:500], y[:500], x[500:], y[500:]), progress=False)
    (mask,) = learner.masks(0)
    assert 1 <= mask[0].sum() <= 6
    assert np.mean(learner.predict(x[500:], 0).argmax(axis=1) == y[500:]) > 0.95


def test_the_scale_of_a_unit_serves_all_examples():
    """With Gaussian factors that do not vary, all examples are scaled alike within a sample."""
    learner = learner_of()
    network = learner.model.network(6, (8,), 2)
    vector = np.zeros(network.layout.size)
    views = network.layout.layers(vector)
    views["hidden0"]["weight.mu"][...] = 1.0
    for layer in views.values():
        layer["weight.log_sigma"][...] = layer["bias.log_sigma"][...] = -50.0
    noise = network.noise(Key(0, 0, 0, 0), 3, 4, NUMPY, np.float64)
    hidden = network.layers["hidden0"]
    (h, _), _ = hidden.forward(views, np.ones((4, 6)), noise, Pass(NUMPY))
    np.testing.assert_allclose(h, h[:, :1].repeat(4, axis=1))
    drawn = noise["hidden0"]
    exact = 6 * np.exp((drawn["scale"] + drawn["global"][:, None]) / 2)
    np.testing.assert_allclose(h[:, 0], exact)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, marks=pytest.mark.slow(reason="the others do this and more")),
        {"scales": "weights"},
        {"hidden": (10, 9), "samples": 2},
    ],
)
def test_it_learns_and_keeps(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=25, start_scale=1.0, **changes),
        [make_task(t) for t in range(2)],
        progress=False,
    )
    assert last.accuracy[1].min() > 0.9
    assert {record.phase for record in last.history} == {"horseshoe"}


def test_one_head_has_one_structure(make_task):
    learner = learner_of(single_head=True)
    for t in range(2):
        learner.learn(make_task(t), progress=False)
    assert [name for name in learner.state() if "mask" in name] == ["memory.mask1.hidden0"]
