"""Methods on networks from a line: convolutions, residual blocks, and layers as usual."""

import numpy as np
import pytest
from quick import quick

from ibpcl.cli.making_runs import assignments
from ibpcl.cli.parser import parser
from ibpcl.continual import masks as hard_masks
from ibpcl.continual.task import Task
from ibpcl.errors import UserError
from ibpcl.inference.backend import backend
from ibpcl.methods import method
from ibpcl.models.architecture import NAMED, from_line, parse
from ibpcl.models.layers import Pass
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked
from ibpcl.models.parameters import corner
from ibpcl.noise import Key

COMMON = {"batch": 32, "prediction_samples": 20}
NPBCL = {
    **COMMON,
    "epochs": 25,
    "finetune_epochs": 20,
    "samples": 2,
    "alpha": 10.0,
    "weight_rate": 0.01,
}
VCL = {**COMMON, "epochs": 30, "rate": 0.02, "start_sigma": 0.05}


def strokes(t, examples=240):
    """Images of 8 x 8 with one short stroke anywhere: horizontal or vertical, then diagonals.

    The class is a local pattern at any place, as a convolution sees it.
    """
    rng = np.random.default_rng(t)
    line = np.zeros((3, 3))
    line[1] = 1
    patterns = [(line, line.T), (np.eye(3), np.eye(3)[::-1])][t]
    parts = []
    for count in (examples, 100):
        y = rng.integers(0, 2, count)
        x = rng.normal(scale=0.15, size=(count, 8, 8))
        for image, label in zip(x, y, strict=True):
            a, b = rng.integers(0, 6, 2)
            image[a : a + 3, b : b + 3] += patterns[label]
        parts += [x.reshape(count, 64), y]
    return Task(f"strokes {t}", *parts, 2)


def learned(name, tasks=2, seed=0, **keys):
    chosen = method(name)
    learner = chosen.learner(chosen.settings(**keys), seed, "numpy")
    for t in range(tasks):
        learner.learn(strokes(t))
    return learner


def accuracy(learner, t):
    task = strokes(t)
    return np.mean(learner.predict(task.x_test, t).argmax(axis=1) == task.y_test)


@pytest.mark.parametrize(
    ("name", "line", "keys"),
    [
        ("vcl", "conv:8;dense:16", VCL),
        pytest.param(
            "npbcl",
            "conv:8;dense:16",
            NPBCL,
            marks=pytest.mark.slow(
                reason="the longest training here; the next tests have masks of convolutions"
            ),
        ),
    ],
)
def test_a_convolutional_network_learns_two_tasks_and_keeps_the_first(name, line, keys):
    learner = learned(name, network=line, **keys)
    assert accuracy(learner, 0) > 0.95 and accuracy(learner, 1) > 0.9
    again = method(name).learner(learner.settings, 0, "numpy")
    again.load_state(learner.state())
    x = strokes(0).x_test
    for t in range(2):
        np.testing.assert_array_equal(again.predict(x, t), learner.predict(x, t))


def test_a_dense_network_sees_no_patterns_at_any_place():
    """The control: with more weights in use, it is far behind on the same tasks."""
    learner = learned("npbcl", tasks=1, hidden=(40,), **NPBCL)
    assert accuracy(learner, 0) < 0.93


@pytest.mark.parametrize(
    "masks",
    ["pair", pytest.param("filter", marks=pytest.mark.slow(reason="trains as long as the other"))],
)
def test_masks_of_a_convolution_are_stored_and_joined_like_all_others(masks):
    short = NPBCL | {"epochs": 5, "finetune_epochs": 2}
    learner = learned("npbcl", network=f"masks:{masks};conv:8;dense:16;blocks:2", **short)
    # with one channel, the kernel from it is the whole filter
    assert learner.context.next_network(2).masked["conv0"].mask_shape == (1, 8)
    for t in range(2):
        hard = learner.context.masks(t)
        assert list(hard) == ["conv0", "hidden0", "block0", "block1", "depth"]
        assert hard["conv0"].shape == (9, 8)
        assert (hard["conv0"] == hard["conv0"][:1]).all()  # whole filters
        for block, is_on in zip(("block0", "block1"), hard["depth"][0], strict=True):
            assert is_on or not hard[block].any()
    assert learner.context.state.widths == ((8, 16),) * 2


QUICK = {"epochs": 1, "batch": 32}
PLAIN = ("naive", "independent", "joint", "rehearsal", "agem", "gem", "ewc", "imm", "si", "laplace")
PLAIN += ("kronecker", "progress")


@pytest.mark.parametrize(
    ("name", "keys"),
    [("npbcl", NPBCL), ("vcl", VCL), *((name, QUICK) for name in (*PLAIN, "hat", "bgd"))],
)
def test_dense_layers_in_a_line_are_hidden_layers(name, keys):
    keys = keys | {"epochs": 2}
    by_line, usual = (
        learned(name, tasks=1, **keys, **network)
        for network in ({"network": "dense:10,6"}, {"hidden": (10, 6)})
    )
    for key, values in usual.state().items():
        np.testing.assert_array_equal(by_line.state()[key], values)


@pytest.mark.parametrize(
    "name",
    quick(
        ["naive", "agem", "si"],
        [*PLAIN, "bgd", "replay"],
        "the layers are the same for all methods; these use losses, gradients and paths",
    ),
)
def test_every_method_on_layers_learns_with_convolutions_and_blocks(name):
    keys = {"epochs": 10, "start": "he"} if name == "bgd" else {"epochs": 3, "rate": 0.01}
    learner = learned(name, network="conv:8;dense:16;blocks:2", batch=32, **keys)
    again = method(name).learner(learner.settings, 0, "numpy")
    again.load_state(learner.state())
    x = strokes(0).x_test
    for t in range(2):
        np.testing.assert_array_equal(again.predict(x, t), learner.predict(x, t))
    assert accuracy(learner, 1) > 0.55


def test_what_a_task_uses_does_not_move_in_hat_with_convolutions_and_blocks():
    """Filters have one gate at all positions, and a sum after a block is used if a part is."""
    keys = {"epochs": 12, "batch": 32, "rate": 0.02, "sparsity": 0.05}
    learner = learned("hat", tasks=1, network="conv:8;dense:16;blocks:2", **keys)
    used = learner.used
    assert used.shape == (8 + 3 * 16,) and ((used > 0.999) | (used < 0.001)).mean() > 0.8
    x = strokes(0).x_test
    first = learner.predict(x, 0)
    shared = learner.knowledge.shared
    learner.learn(strokes(1), progress=False)
    np.testing.assert_allclose(learner.predict(x, 0), first, rtol=0, atol=1e-6)
    assert np.mean(learner.knowledge.shared != shared) > 0.1  # what is free does move
    assert min(accuracy(learner, t) for t in range(2)) > 0.9


@pytest.mark.parametrize("name", ["den", "rcl", "pruning"])
def test_methods_that_change_dense_layers_refuse_a_line(name):
    with pytest.raises(ValueError, match="network must be empty, got 'conv:8'"):
        method(name).settings(network="conv:8")


@pytest.mark.parametrize("name", ["conv", "resnet"])
def test_a_name_stands_for_a_line(name):
    by_name, by_line = (parse(text) for text in (name, NAMED[name]))
    assert by_name == by_line and by_name.stages[0] == ("conv", 16)


def test_the_option_of_the_command_sets_the_line():
    options = parser().parse_args(["run", "--set", "epochs=1", "--network", "conv"])
    assert assignments(options.assignments) == {"epochs": "1", "network": "conv"}


LINES = {
    "conv:3,4;dense:5": (5, 6, 7),
    "masks:pair;conv:3,4;dense:5;blocks:2": (5, 6, 7),
    "masks:filter;conv:3": (5,),
}


@pytest.mark.parametrize("line", LINES)
def test_a_wider_network_with_empty_new_masks_has_the_same_outputs(line):
    """Channels are the last axis of patches and flat images: new rows lie between old ones."""
    small, large = (
        from_line(64, line, Softmax(), 2, Masked, widths=widths) for widths in (None, LINES[line])
    )
    rng = np.random.default_rng(0)
    vector = rng.normal(size=small.layout.size)
    wider = rng.normal(size=large.layout.size)
    wider[small.layout.within(large.layout)] = vector
    masks = {name: rng.random(part.shape) < 0.7 for name, part in small.masked.items()}
    padded = {
        name: hard_masks.union([mask], large.masked[name].shape, large.masked[name].row_groups)
        for name, mask in masks.items()
    }
    x = rng.normal(size=(6, 64))
    numpy = backend("numpy")
    found = []
    for net, parameters, on in ((small, vector, masks), (large, wider, padded)):
        noise = net.noise(Key(0, 0, 0, 0), 0, 6, numpy, np.float64, relaxed=False)
        found.append(net.forward(parameters, x, noise, Pass(numpy, on))[0][0])
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-12)
    assert np.abs(found[0]).max() > 0.1


@pytest.mark.parametrize("line", ["conv:4;dense:6", "masks:pair;conv:3,2;dense:6;blocks:1"])
def test_convolutions_grow_and_earlier_tasks_keep_their_masks_and_weights(line):
    keys = {**NPBCL, "epochs": 2, "finetune_epochs": 1, "start_rho": 2.0}
    grows = {"expand": True, "empty_units": 2, "expand_every": 4}
    learner = learned("npbcl", 1, network=line, **keys, **grows)
    first = learner.context
    network, vector, masks = first.assemble(0)
    widths = first.state.widths[0]
    assert all(now > before for now, before in zip(widths, parse(line).widths, strict=True))
    for name in ("conv0", "hidden0"):
        assert not masks[name][:, -2:].any()  # two trailing units are empty
    learner.learn(strokes(1))
    later = learner.context
    assert all(now >= before for now, before in zip(later.state.widths[1], widths, strict=True))
    assert sum(later.state.widths[1]) > sum(widths)
    again, vector_again, masks_again = later.assemble(0)
    assert again.layout == network.layout
    of_task_1 = later.masks(1)
    before, after = (network.layout.layers(values) for values in (vector, vector_again))
    for name, mask in masks.items():
        np.testing.assert_array_equal(masks_again[name], mask)
        if name in network.layers:
            layer = network.layers[name]
            place = corner(layer.shape, of_task_1[name].shape, layer.row_groups)
            alone = mask & ~of_task_1[name][place]  # weights that the new task may not move
            for part in ("weight.mu", "weight.log_sigma"):
                np.testing.assert_array_equal(before[name][part][alone], after[name][part][alone])
    assert learner.predict(strokes(0).x_test, 0).shape == (100, 2)
    # for figures, the masks of all tasks have the shapes of the newest network
    shown = [learner.masks(t) for t in range(2)]
    assert [mask.shape for mask in shown[0]] == [mask.shape for mask in shown[1]]
    hidden = list(network.masked).index("hidden0")
    groups = network.layers["hidden0"].row_groups
    place = corner(masks["hidden0"].shape, of_task_1["hidden0"].shape, groups)
    both = masks["hidden0"] & of_task_1["hidden0"][place]
    assert (shown[0][hidden] & shown[1][hidden]).sum() == both.sum()


def test_a_line_that_does_not_fit_the_images_is_refused():
    chosen = method("npbcl")
    learner = chosen.learner(chosen.settings(network="image:8x9x1;conv:8", **NPBCL), 0, "numpy")
    with pytest.raises(UserError, match=r"image must have 64 numbers, .* got 8x9x1 = 72"):
        learner.learn(strokes(0))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"network": "conv:8;pool:2"}, "got 'pool:2'"),
        ({"network": "norm:layer;conv:8", "expand": True}, "expand .* 'norm:layer;conv:8'"),
        ({"network": "masks:pair;conv:8", "row_sticks": True}, "row_sticks"),
    ],
)
def test_impossible_settings_are_refused(keys, words):
    with pytest.raises(ValueError, match=words):
        method("npbcl").settings(**keys)
