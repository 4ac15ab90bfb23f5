"""Residual blocks with switches: exact limits, the distribution of the switches, several tasks."""

import numpy as np
import pytest

from ibpcl.continual import masks as hard_masks
from ibpcl.inference.backend import backend
from ibpcl.models import starts
from ibpcl.models.convolution import of_kind
from ibpcl.models.depth import Blocks
from ibpcl.models.elbo import GRADIENT, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Gaussian, Pass, Plain
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked
from ibpcl.models.network import Network, classifier
from ibpcl.noise import Key
from ibpcl.primitives import bernoulli, stick_breaking

NUMPY = backend("numpy")
KEY = Key(0, 0, 0, 0)
LABELS = np.arange(6) % 3


def deep(blocks=3, kind=Masked, inputs=5, width=4, **options):
    """A layer from the inputs to the width of the blocks, the blocks, and a head."""
    stem = kind("hidden0", inputs, width, "relu")
    stages = tuple(kind(f"block{i}", width, width, "tanh") for i in range(blocks))
    return Network((stem, Blocks(stages, **options), Gaussian("head", width, 3)), Softmax())


def start(net, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    vector = net.initial(starts.he(rng), 0.3, (2.0,) * len(net.masked), dtype)
    vector += rng.normal(scale=0.2, size=vector.size).astype(dtype)
    return vector, rng.normal(size=(6, net.inputs)).astype(dtype)


def evaluated(net, vector, x, masks, prior=None, noise=None):
    """The parts of the ELBO with its gradient by name, for given masks."""
    noise = noise or net.noise(KEY, 3, 6, NUMPY, vector.dtype, relaxed=False)
    parts, cache = elbo(net, vector, prior, x, LABELS, noise, 60, NUMPY, masks)
    return parts, net.layout.views(elbo_vjp(GRADIENT, cache))


def all_on(net):
    return {name: np.ones(part.shape, bool) for name, part in net.masked.items()}


def carried(small, large, vector):
    """The parameters of a larger network at the arrays of the smaller one."""
    views = large.layout.views(vector)
    values = np.concatenate(
        [
            views[entry.name][tuple(map(slice, entry.shape))].ravel()
            for entry in small.layout.entries
        ]
    )
    return values


@pytest.mark.parametrize("count", [1, 2])
def test_blocks_that_are_off_from_l_on_give_the_shallower_network_bit_for_bit(count):
    net = deep(3)
    vector, x = start(net)
    masks = all_on(net) | {"depth": np.arange(3)[None] < count}
    shallow = deep(count)
    noise = net.noise(KEY, 3, 6, NUMPY, np.float64, relaxed=False)
    parts, gradient = evaluated(net, vector, x, masks, noise=noise)
    expected, shallow_gradient = evaluated(
        shallow, carried(shallow, net, vector), x, all_on(shallow), noise=noise
    )
    assert parts == expected
    for name, values in shallow_gradient.items():
        np.testing.assert_array_equal(gradient[name][tuple(map(slice, values.shape))], values)
    for i in range(count, 3):
        assert not gradient[f"block{i}.weight.mu"].any()


def test_no_block_gives_todays_network_bit_for_bit():
    net = deep(1)
    vector, x = start(net)
    masks = all_on(net) | {"depth": np.zeros((1, 1), bool)}
    today = classifier(5, (4,), Softmax(), 3, Masked)
    noise = net.noise(KEY, 3, 6, NUMPY, np.float64, relaxed=False)
    parts, gradient = evaluated(net, vector, x, masks, noise=noise)
    expected, todays = evaluated(today, carried(today, net, vector), x, all_on(today), noise=noise)
    assert parts == expected
    for name, values in todays.items():
        np.testing.assert_array_equal(gradient[name], values)


def test_one_block_that_is_on_adds_todays_layer_to_its_input():
    layer = Masked("block0", 4, 4, "tanh")
    blocks = Blocks((layer,))
    net = Network((blocks, Gaussian("head", 4, 3)), Softmax())
    vector, x = start(net)
    views = net.layout.layers(vector)
    noise = net.noise(KEY, 3, 6, NUMPY, np.float64, relaxed=False)
    masks = all_on(net)
    masks["block0"][1, 2] = False
    options = Pass(NUMPY, masks)
    (h, divergences), cache = blocks.forward(views, x, noise, options)
    (f, _), layer_cache = layer.forward(views, x, noise, options)
    np.testing.assert_array_equal(h, x + f)
    assert divergences == {}
    dh = np.random.default_rng(5).normal(size=h.shape)
    dx, gradients = blocks.forward_vjp((dh, {}), cache)
    dx_layer, of_layer = layer.forward_vjp((dh, {}), layer_cache)
    np.testing.assert_array_equal(dx, dh.sum(axis=0) + dx_layer)
    for name, values in of_layer["block0"].items():
        np.testing.assert_array_equal(gradients["block0"][name], values)


def test_without_blocks_a_softmax_regression_remains():
    net = Network((Blocks((Masked("block0", 4, 4, "tanh"),)), Gaussian("head", 4, 3)), Softmax())
    vector, x = start(net)
    head = Network((Gaussian("head", 4, 3),), Softmax())
    noise = net.noise(KEY, 3, 6, NUMPY, np.float64, relaxed=False)
    off = {"depth": np.zeros((1, 1), bool)}
    (h, _), _ = net.forward(vector, x, noise, Pass(NUMPY, off))
    (expected, _), _ = head.forward(carried(head, net, vector), x, noise, Pass(NUMPY, {}))
    np.testing.assert_array_equal(h, expected)


@pytest.mark.parametrize("kind", [Plain, Gaussian, Masked])
def test_all_switches_on_is_the_plain_residual_network(kind):
    net = deep(3, kind)
    vector, x = start(net)
    views = net.layout.layers(vector)
    noise = net.noise(KEY, 3, 6, NUMPY, np.float64, relaxed=False)
    options = Pass(NUMPY, {})
    (h, _), _ = net.forward(vector, x, noise, options)
    (expected, _), _ = net.stages[0].forward(views, x, noise, options)
    for block in net.stages[1].blocks:
        (f, _), _ = block.forward(views, expected, noise, options)
        expected = expected + f
    (expected, _), _ = net.stages[2].forward(views, expected, noise, options)
    np.testing.assert_array_equal(h, expected)


@pytest.mark.parametrize("kl", ["bernoulli", "concrete"])
@pytest.mark.parametrize("kind", [Gaussian, Masked])
def test_the_elbo_agrees_with_the_complex_step(kind, kl):
    """For every parameter, the switches' too, without the checker."""
    net = deep(2, kind, kl=kl)
    vector, x = start(net)
    size = net.layout.block("mu").stop
    rng = np.random.default_rng(2)
    sticks = dict.fromkeys(net.masked, 1.5)
    prior = Prior(rng.normal(size=size), rng.normal(scale=0.3, size=size), sticks)
    noise = net.noise(KEY, 2, 6, NUMPY, np.float64)
    weights = np.array((1.0, -0.7, -1.3, -0.4, -0.9, -0.2))
    _, cache = elbo(net, vector, prior, x, LABELS, noise, 60, NUMPY, None, 0.6)
    gradient = elbo_vjp(weights, cache)
    switches = np.concatenate(
        [
            net.layout.view(np.arange(vector.size), f"depth.{name}").ravel()
            for name in ("rho", "raw_a", "raw_b")
        ]
    )
    assert np.abs(gradient[switches]).min() > 1e-3
    by_step = []
    places = np.concatenate([switches, rng.permutation(vector.size)[:40]])
    for i in places:
        moved = vector.astype(complex)
        moved[i] += 1e-30j
        parts, _ = elbo(net, moved, prior, x, LABELS, noise, 60, NUMPY, None, 0.6)
        by_step.append(np.dot(weights, np.array(parts)).imag / 1e-30)
    np.testing.assert_allclose(gradient[places], by_step, rtol=1e-9, atol=1e-9)


def test_the_divergence_of_the_switches_is_that_of_one_row_of_masks():
    net = deep(3, Gaussian)
    vector, x = start(net)
    noise = net.noise(KEY, 4, 6, NUMPY, np.float64)
    (_, divergences), _ = net.forward(vector, x, noise, Pass(NUMPY, None, 0.7))
    depth = net.layout.layers(vector)["depth"]
    logit_pi, _ = NUMPY.sticks.log_odds(noise["depth"]["stick"], depth["raw_a"], depth["raw_b"])
    expected, _ = bernoulli.kl(depth["rho"] + logit_pi[:, None], logit_pi)
    np.testing.assert_allclose(divergences["kl_masks"], expected)


def test_at_a_low_temperature_switches_are_on_as_often_as_products_of_sticks():
    """Under the prior, block l is on with probability (alpha / (alpha + 1))^l."""
    alpha = 3.0
    blocks = Blocks(tuple(Plain(f"block{i}", 1, 1) for i in range(4)))
    net = Network((blocks, Plain("head", 1, 2)), Softmax())
    vector = net.initial(starts.he(np.random.default_rng(0)), 1.0, (alpha,), np.float64)
    views = net.layout.layers(vector)
    noise = net.noise(KEY, 40_000, 1, NUMPY, np.float64)
    logit_pi, _ = NUMPY.sticks.log_odds(
        noise["depth"]["stick"], views["depth"]["raw_a"], views["depth"]["raw_b"]
    )
    on = (logit_pi[:, None] + noise["depth"]["mask"] > 0)[:, 0]
    expected = (alpha / (alpha + 1)) ** np.arange(1, 5)
    errors = np.sqrt(expected * (1 - expected) / len(on))
    assert (np.abs(on.mean(axis=0) - expected) < 4 * errors).all()
    assert stick_breaking.expected_weights(alpha, 4) == pytest.approx(expected.sum())


def test_a_later_task_adds_blocks_and_earlier_predictions_stay_bit_for_bit():
    """The posterior of the shallower network is the corner of that of the deeper one."""
    shallow, deeper = deep(2), deep(4)
    vector, x = start(shallow)
    longer, _ = start(deeper, seed=9)
    longer[shallow.layout.within(deeper.layout)] = vector
    first = all_on(shallow) | {"depth": np.array([[True, True]])}
    as_first = all_on(deeper) | {"depth": np.array([[True, True, False, False]])}
    noise = deeper.noise(KEY, 3, 6, NUMPY, np.float64, relaxed=False)
    (before, _), _ = shallow.forward(vector, x, noise, Pass(NUMPY, first))
    (after, _), _ = deeper.forward(longer, x, noise, Pass(NUMPY, as_first))
    np.testing.assert_array_equal(before, after)
    (later, _), _ = deeper.forward(longer, x, noise, Pass(NUMPY, all_on(deeper)))
    assert not np.array_equal(before, later)
    joined = hard_masks.union([first["depth"], np.ones((1, 4), bool)], (1, 4))
    assert joined.all()


def test_hard_switches_are_cut_from_the_posterior_like_masks():
    net = deep(3)
    vector, _ = start(net)
    net.layout.view(vector, "depth.rho")[...] = [[9.0, 9.0, -99.0]]
    masks = hard_masks.probable(net, vector, 50, KEY, NUMPY)
    assert masks["depth"].tolist() == [[True, True, False]]
    assert not masks["block2"].any()  # its weights stay free for other tasks
    assert set(masks) == {"hidden0", "block0", "block1", "block2", "depth"}


def test_blocks_may_be_convolutions():
    stages = [of_kind(Masked, f"block{i}", (4, 4, 2), 2, padding=1) for i in range(2)]
    net = Network((Blocks(tuple(stages)), Plain("head", 32, 3)), Softmax())
    vector, x = start(net, dtype=np.float32)
    noise = net.noise(KEY, 3, 6, NUMPY)
    (h, _), cache = net.forward(vector, x, noise, Pass(NUMPY, None, 0.7))
    assert h.dtype == np.float32 and np.isfinite(h).all()
    gradient = net.forward_vjp((h, {"kl_masks": np.ones(3, np.float32)}), cache)
    assert gradient.shape == vector.shape and np.isfinite(gradient).all()


def test_without_switches_all_blocks_are_on_bit_for_bit():
    switched = deep()
    bare = deep(switched=False)
    vector, x = start(switched)
    views = switched.layout.views(vector)
    own = np.concatenate([views[entry.name].ravel() for entry in bare.layout.entries])
    assert bare.layout.size == switched.layout.size - 9  # three numbers for each of three blocks
    noise = switched.noise(KEY, 3, 6, NUMPY, relaxed=False, dtype=np.float64)
    masks = all_on(switched)
    parts, slopes = evaluated(switched, vector, x, masks, noise=noise)
    same, same_slopes = evaluated(bare, own, x, masks, noise=noise)
    assert same.log_likelihood == parts.log_likelihood
    for name, slope in same_slopes.items():
        np.testing.assert_array_equal(slope, slopes[name])
    assert "depth" not in bare.masked and "depth" not in bare.noise(KEY, 3, 6, NUMPY)


@pytest.mark.parametrize(
    ("blocks", "options", "words"),
    [
        ((), {}, ("blocks", "at least one", "[]")),
        ((Plain("block0", 4, 3),), {}, ("blocks", "same number", "(4, 3)")),
        ((Plain("block0", 4, 4), Plain("block1", 3, 3)), {}, ("blocks", "(4, 4), (3, 3)")),
        ((Plain("block0", 4, 4),), {"kl": "exact"}, ("kl", "bernoulli, concrete", "'exact'")),
    ],
)
def test_impossible_blocks_are_refused(blocks, options, words):
    with pytest.raises(ValueError, match="must be") as raised:
        Blocks(blocks, **options)
    assert all(word in str(raised.value) for word in words)
