"""Convolutional stages: exact limits, sharing of masks, sampled and given masks, bad input."""

from dataclasses import replace

import numpy as np
import pytest

from ibpcl.continual import masks as hard_masks
from ibpcl.inference.backend import backend
from ibpcl.models import starts
from ibpcl.models.convolution import SHARING, Convolution, Pool, of_kind
from ibpcl.models.elbo import GRADIENT, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Drawn, Gaussian, Pass, Plain
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked, MaskModel
from ibpcl.models.network import Network, classifier
from ibpcl.models.prediction import predict
from ibpcl.models.subnetwork import cut, usable
from ibpcl.models.units import Units
from ibpcl.noise import Key
from ibpcl.primitives import convolution

NUMPY = backend("numpy")
KEY = Key(0, 0, 0, 0)
IMAGE = (5, 4, 2)
KINDS = {"plain": Plain, "gaussian": Gaussian, "drawn": Drawn, "masked": Masked}


def network(kind=Masked, masks="weight", seed=0, dtype=np.float64, **options):
    """A convolution with padding and pooling, a dense layer of the same kind, and a head."""
    first = of_kind(kind, "conv0", IMAGE, 3, (3, 2), 1, 1, "relu", masks, **options)
    pool = Pool("pool0", first.outputs, 2)
    hidden = kind("hidden0", pool.units, 4, "relu")
    head = Plain if kind is Plain else Gaussian
    net = Network((first, pool, hidden, head("head", 4, 3)), Softmax())
    rng = np.random.default_rng(seed)
    vector = net.initial(starts.he(rng), 0.3, (2.0,) * len(net.masked), dtype)
    vector += rng.normal(scale=0.2, size=vector.size).astype(dtype)
    return net, vector, rng.normal(size=(6, net.inputs)).astype(dtype)


def outputs(net, vector, x, masks, samples=3):
    relaxed = masks is None
    noise = net.noise(KEY, samples, len(x), NUMPY, vector.dtype, relaxed)
    return net.forward(vector, x, noise, Pass(NUMPY, masks, 0.7 if relaxed else None))


@pytest.mark.parametrize(
    ("kind", "relaxed"), [*((kind, False) for kind in KINDS.values()), (Masked, True)]
)
def test_a_1x1_kernel_on_a_1x1_image_is_the_layer_itself(kind, relaxed):
    dense = classifier(4, (3,), Softmax(), 2, kind, head=Plain)
    stage = of_kind(kind, "hidden0", (1, 1, 4), 3, (1, 1))
    conv = replace(dense, stages=(stage, dense.stages[1]))
    assert conv.layout == dense.layout
    rng = np.random.default_rng(1)
    vector = rng.normal(size=dense.layout.size)
    x = rng.normal(size=(5, 4))
    results = []
    for net in (dense, conv):
        (h, divergences), cache = outputs(net, vector, x, None if relaxed else {})
        gradient = net.forward_vjp(
            (np.cos(h), {k: 1 + 0 * v for k, v in divergences.items()}), cache
        )
        results.append((h, *divergences.values(), gradient))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kernel_as_large_as_the_image_is_a_dense_layer(kind):
    dense = kind("hidden0", 40, 3, "tanh")
    stage = of_kind(kind, "hidden0", IMAGE, 3, IMAGE[:2], activation="tanh")
    assert replace(stage.layer, row_groups=1) == dense
    nets = [Network((each, Plain("head", 3, 2)), Softmax()) for each in (dense, stage)]
    rng = np.random.default_rng(1)
    vector = rng.normal(size=nets[0].layout.size)
    x = rng.normal(size=(5, 40))
    (h, _), _ = outputs(nets[0], vector, x, {})
    (other, _), _ = outputs(nets[1], vector, x, {})
    np.testing.assert_allclose(h, other, rtol=0, atol=1e-12)


def test_a_plain_convolution_is_the_primitive():
    stage = of_kind(Plain, "conv0", IMAGE, 3, (3, 2), 2, 1, None)
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(3, 2, 2, 3)), rng.normal(size=3)
    x = rng.normal(size=(6, 5, 4, 2))
    views = {"conv0": {"weight.mu": w.reshape(12, 3), "bias.mu": b}}
    (h, _), _ = stage.forward(views, x.reshape(6, 40), {}, Pass(NUMPY, {}))
    expected, _ = convolution.conv2d(x, w[None], b[None], 2, 1)
    np.testing.assert_array_equal(h, expected[0].reshape(6, stage.units))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("window", [2, 3])
def test_a_convolution_with_windows_is_a_convolution_and_a_pool(kind, window):
    """Whether the layer reads images, or rows that draw their own noise."""
    whole = of_kind(kind, "conv0", IMAGE, 3, (3, 2), 1, 1, "leaky_relu", window=window)
    first = replace(whole, window=1)
    pool = Pool("pool0", first.outputs, window)
    assert whole.outputs == pool.outputs and whole.units == pool.units
    results = []
    for stages in ((whole,), (first, pool)):
        net = Network(stages, Softmax())
        vector = np.random.default_rng(1).normal(size=net.layout.size)
        (h, _), cache = outputs(net, vector, np.random.default_rng(2).normal(size=(6, 40)), {})
        rng = np.random.default_rng(3)
        results.append((h, net.forward_vjp((rng.normal(size=h.shape), {}), cache)))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_sampled_masks_share_one_set_of_weights_among_positions():
    """A constant image gives the same output at every position, but not with local noise."""
    for masks, local, same in ((None, False, True), ({}, False, True), ({}, True, False)):
        stage = of_kind(Masked, "conv0", (4, 4, 1), 2, (2, 2), activation=None, local=local)
        net = Network((stage,), Softmax())
        vector = np.random.default_rng(0).normal(size=net.layout.size)
        (h, _), _ = outputs(net, vector, np.ones((1, 16)), masks)
        by_position = h.reshape(3, 9, 2)
        assert np.allclose(by_position, by_position[:, :1]) == same


def test_all_masks_on_is_vcl_with_convolutions():
    """Weights drawn from the same noise: outputs, ELBO and its gradient, bit for bit."""
    masked, _, x = network(Masked, local=False)
    vcl, vector, _ = network(Gaussian, local=False)
    rest = masked.layout.size - vcl.layout.size
    longer = np.concatenate([vector, np.random.default_rng(3).normal(size=rest)])
    assert masked.layout.block("rho").start == vcl.layout.size  # Gaussian parameters come first
    on = {name: np.ones(layer.shape, bool) for name, layer in masked.masked.items()}
    labels = np.arange(6) % 3
    results = []
    for net, parameters, masks in ((vcl, vector, {}), (masked, longer, on)):
        prior = Prior(*np.random.default_rng(2).normal(size=(2, vcl.layout.block("mu").stop)), {})
        noise = net.noise(KEY, 3, 6, NUMPY, np.float64, relaxed=False)
        parts, cache = elbo(net, parameters, prior, x, labels, noise, 60, NUMPY, masks)
        results.append((np.array(parts), elbo_vjp(GRADIENT, cache)[: vcl.layout.size]))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("masks", SHARING)
@pytest.mark.parametrize("kl", ["bernoulli", "concrete"])
def test_the_elbo_agrees_with_the_complex_step(masks, kl):
    """For every parameter, without the checker."""
    net, vector, x = network(masks=masks, model=MaskModel(kl))
    labels = np.arange(6) % 3
    size = net.layout.block("mu").stop
    rng = np.random.default_rng(2)
    sticks = dict.fromkeys(net.masked, 1.5)
    prior = Prior(rng.normal(size=size), rng.normal(scale=0.3, size=size), sticks)
    noise = net.noise(KEY, 2, 6, NUMPY, np.float64)
    weights = np.array((1.0, -0.7, -1.3, -0.4, -0.9, -0.2))
    _, cache = elbo(net, vector, prior, x, labels, noise, 60, NUMPY, None, 0.6)
    gradient = elbo_vjp(weights, cache)
    places = rng.permutation(vector.size)[:60]
    by_step = []
    for i in places:
        moved = vector.astype(complex)
        moved[i] += 1e-30j
        parts, _ = elbo(net, moved, prior, x, labels, noise, 60, NUMPY, None, 0.6)
        by_step.append(np.dot(weights, np.array(parts)).imag / 1e-30)
    np.testing.assert_allclose(gradient[places], by_step, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("window", [1, 2])
def test_the_gradient_at_the_images_agrees_with_the_complex_step(kind, window):
    """A first stage needs none, so a network with one convolution does not show it."""
    stage = of_kind(kind, "conv0", IMAGE, 3, (3, 2), 1, 1, "tanh", window=window)
    net = Network((stage,), Softmax())
    rng = np.random.default_rng(0)
    views = net.layout.layers(rng.normal(size=net.layout.size))
    noise = net.noise(KEY, 2, 4, NUMPY, np.float64, relaxed=False)
    x, direction = rng.normal(size=(2, 2, 4, 40))
    (h, _), cache = stage.forward(views, x, noise, Pass(NUMPY, {}))
    dh = rng.normal(size=h.shape)
    dx, _ = stage.forward_vjp((dh, {}), cache)
    (moved, _), _ = stage.forward(views, x + 1e-30j * direction, noise, Pass(NUMPY, {}))
    np.testing.assert_allclose((dx * direction).sum(), (dh * moved.imag).sum() / 1e-30, rtol=1e-9)


@pytest.mark.parametrize(("masks", "count"), [("weight", 12), ("pair", 2), ("filter", 1)])
def test_shared_masks_are_counted_once_and_expanded_to_all_weights(masks, count):
    net, vector, _ = network(masks=masks)
    layer = net.masked["conv0"]
    assert layer.mask_shape == (count, 3)
    assert net.layout.views(vector)["conv0.rho"].shape == (count, 3)
    drawn = [
        hard_masks.sampled(net, vector, KEY._replace(step=i), NUMPY)["conv0"] for i in range(20)
    ]
    assert 0.1 < np.mean(drawn) < 0.9
    for mask in (*drawn, hard_masks.probable(net, vector, 20, KEY, NUMPY)["conv0"]):
        assert mask.shape == layer.shape
        kernels = mask.reshape(3, 2, 2, 3)  # I, J, D, K
        if masks != "weight":
            assert (kernels == kernels[:1, :1]).all()
        if masks == "filter":
            assert (kernels == kernels[:, :, :1]).all()


def test_the_relaxed_pass_of_shared_masks_is_that_of_equal_masks_on_all_weights():
    """With the noise of each mask copied to its weights; only the divergence counts differently."""
    shared, vector, x = network(masks="pair")
    single, _, _ = network(masks="weight")
    noise = shared.noise(KEY, 3, 6, NUMPY, np.float64)
    copied = noise | {
        "conv0": noise["conv0"] | {"mask": np.tile(noise["conv0"]["mask"], (1, 6, 1))}
    }
    longer = np.zeros(single.layout.size)
    views = single.layout.views(longer)
    for name, values in shared.layout.views(vector).items():
        views[name][...] = np.tile(values, (6, 1)) if name == "conv0.rho" else values
    options = Pass(NUMPY, None, 0.7)
    (h, found), _ = shared.forward(vector, x, noise, options)
    (expected, copies), _ = single.forward(longer, x, copied, options)
    np.testing.assert_allclose(h, expected, rtol=0, atol=1e-12)
    assert (found["kl_masks"] < copies["kl_masks"]).all()


@pytest.mark.parametrize("local", [False, True])
def test_a_cut_network_has_the_same_outputs(local):
    """Only the kept weights remain in the vector; the convolution keeps all inputs and filters."""
    net, vector, x = network(local=local)
    x[:, 3] = 0  # a dead pixel stays, because the kernel reads its neighbours at the same weights
    masks = {
        name: np.random.default_rng(4).random(layer.shape) < 0.5
        for name, layer in net.masked.items()
    }
    masks["conv0"][:, 1] = False  # a filter without weights outputs zeros
    for subnet in (cut(net, {}, masks), usable(net, x, masks)):
        small = subnet.network
        assert small.layers["conv0"].weight_count == masks["conv0"].sum()
        assert small.inputs == net.inputs and subnet.columns(x) is x
        noise = net.noise(KEY, 2, 6, NUMPY, np.float64, relaxed=False)
        kept = small.noise(KEY, 2, 6, NUMPY, np.float64, relaxed=False)
        for name, layer in small.layers.items():  # the same noise for the same weight
            _, columns = subnet.sides[name]
            for kind in noise[name]:
                values = noise[name][kind]
                if kind == "weight" and layer.weights != layer.shape:
                    values = values[:, masks[name]]
                elif kind != "weight":
                    values = values[..., columns]
                kept[name][kind] = values
        views = net.layout.layers(vector)
        (first, _), _ = net.stages[0].forward(views, x, noise, Pass(NUMPY, masks))
        assert not first.reshape(2, 6, -1, 3)[..., 1].any()  # not even a bias
        (expected, _), _ = net.forward(vector, x, noise, Pass(NUMPY, masks))
        (h, _), _ = small.forward(vector[subnet.index], x, kept, Pass(NUMPY, subnet.masks))
        np.testing.assert_allclose(h, expected, rtol=0, atol=1e-12)


def test_predictions_of_a_convolutional_network_are_probabilities():
    net, vector, x = network(dtype=np.float32, masks="filter")
    on = {name: np.ones(layer.shape, bool) for name, layer in net.masked.items()}
    found = predict(net, vector, on, x, 20, KEY, NUMPY).probabilities
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)


def test_the_compiled_backend_agrees():
    net, vector, x = network(dtype=np.float32, masks="pair")
    vector = vector.astype(np.float32)
    results = []
    for name in ("numpy", "numba"):
        noise = net.noise(KEY, 3, 6, NUMPY, np.float32)
        (h, d), cache = net.forward(vector, x, noise, Pass(backend(name), None, 0.7))
        dout = (
            np.cos(np.arange(h.size, dtype=np.float32)).reshape(h.shape),
            {"kl_masks": 0 * d["kl_masks"] + 1},
        )
        results.append((h, net.forward_vjp(dout, cache)))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (((5, 4), 3), {}, ("image", "(H, W, D)", "(5, 4)")),
        ((IMAGE, 0), {}, ("filters", "at least 1", "0")),
        ((IMAGE, 3, (6, 2)), {}, ("height of the kernel", "1 .. 5", "got 6")),
        ((IMAGE, 3, (3, 7)), {"padding": 1}, ("width of the kernel", "1 .. 6", "got 7")),
        ((IMAGE, 3), {"stride": 0}, ("stride", "at least 1", "got 0")),
        ((IMAGE, 3), {"padding": float("nan")}, ("padding", "whole number", "got nan")),
        ((IMAGE, 3), {"masks": "row"}, ("masks", "weight, pair, filter", "got 'row'")),
        (
            (IMAGE, 3),
            {"masks": "pair", "model": MaskModel(row_sticks=True)},
            ("share", "one stick per unit", "row_sticks=True"),
        ),
    ],
)
def test_an_impossible_convolution_is_refused(arguments, options, words):
    with pytest.raises(ValueError, match=r"must|one of") as raised:
        of_kind(Masked, "conv0", *arguments, **options)
    message = str(raised.value)
    assert all(word in message for word in words) and "\n" not in message


def test_layers_with_masks_of_units_draw_no_weights():
    with pytest.raises(ValueError, match="local must be True"):
        Units("hidden0", 4, 2, local=False)


def test_images_of_another_size_and_layers_of_another_kernel_are_refused():
    stage = of_kind(Plain, "conv0", IMAGE, 3)
    with pytest.raises(ValueError, match=r"5 x 4 x 2 = 40 numbers, got 39"):
        stage.forward({}, np.zeros((1, 39)), {}, Pass(NUMPY, {}))
    with pytest.raises(ValueError, match=r"18 inputs, .* got 17"):
        Convolution(Plain("conv0", 17, 3, positions=6), IMAGE, (3, 3))
    with pytest.raises(ValueError, match=r"sharing must divide the 4 inputs, got 3"):
        Masked("hidden0", 4, 2, sharing=3)
    with pytest.raises(ValueError, match=r"kind must be one of max, mean, got 'min'"):
        Pool("pool0", IMAGE, 2, "min")
    with pytest.raises(ValueError, match=r"window of a pool must .* 1 .. 4.*got 5"):
        Pool("pool0", IMAGE, 5)
    with pytest.raises(ValueError, match=r"window of a pool must .* 1 .. 2.*got 3"):
        of_kind(Plain, "conv0", IMAGE, 3, window=3)
