"""Networks from a line: what it means, and what is refused."""

import numpy as np
import pytest

from ibpcl.errors import UserError
from ibpcl.inference.backend import backend
from ibpcl.models.architecture import from_line, parse
from ibpcl.models.convolution import Convolution
from ibpcl.models.depth import Blocks
from ibpcl.models.layers import Gaussian, Pass, Plain
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked
from ibpcl.models.network import classifier


def test_the_parts_become_stages_in_their_order():
    line = "image:12x8x3; masks:pair; conv:4, 6; dense:20; blocks:2"
    net = from_line(288, line, Softmax(), 5, Masked, "tanh")
    kinds = [type(stage) for stage in net.stages]
    assert kinds == [Convolution, Convolution, Masked, Blocks, Gaussian]
    assert [stage.units for stage in net.stages] == [96, 36, 20, 20, 5]
    assert (
        net.stages[1].convolved == (6, 4, 6)
        and net.stages[1].outputs == (3, 2, 6)
        and net.layers["conv1"].mask_shape == (4, 6)
    )
    assert {layer.activation for layer in net.masked.values() if layer.name != "depth"} == {"tanh"}
    assert parse(line).masked == len(net.masked) == 6
    assert net.inputs == 288 and net.outputs == 5


def test_a_norm_follows_each_convolution_and_looks_at_no_other_example():
    net = from_line(64, "norm:layer;conv:3,4;dense:5", Softmax(), 2, Plain, head=Plain)
    names = [stage.name for stage in net.stages]
    assert names == ["conv0", "norm0", "conv1", "norm1", "hidden0", "head"]
    rng = np.random.default_rng(0)
    vector = rng.normal(size=net.layout.size)
    x = rng.normal(size=(4, 64))
    options = Pass(backend("numpy"), {})
    first, _ = net.stages[0].forward(net.layout.layers(vector), x, {}, options)
    (normed, _), _ = net.stages[1].forward({}, first[0], {}, options)
    np.testing.assert_allclose(normed.mean(axis=-1), 0, atol=1e-12)
    np.testing.assert_allclose(normed.std(axis=-1), 1, atol=1e-3)
    (whole, _), _ = net.forward(vector, x, {}, options)
    (alone, _), _ = net.forward(vector, x[:1], {}, options)
    np.testing.assert_allclose(whole[:, :1], alone, rtol=0, atol=1e-12)


def test_a_line_of_dense_layers_is_the_usual_network():
    assert from_line(7, "dense:5,4", Softmax(), 3, Masked) == classifier(
        7, (5, 4), Softmax(), 3, Masked
    )


@pytest.mark.parametrize("kind", [Plain, Gaussian])
def test_networks_without_masks_have_the_same_stages(kind):
    net = from_line(64, "conv:3;dense:4;blocks:1", Softmax(), 2, kind, head=kind)
    assert net.layers.keys() == {"conv0", "hidden0", "block0", "head"}
    assert all(type(layer) is kind for layer in net.layers.values())
    assert not net.masked  # blocks without switches are always on
    if kind is Gaussian:  # drawn weights are exact for shared weights, local noise elsewhere
        assert not net.layers["conv0"].local and net.layers["hidden0"].local
    vector = net.initial(lambda layer, parameters: None, 0.1)
    assert np.isfinite(vector).all()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", ("at least one layer", "got ''")),
        ("image:8x8x1", ("at least one layer", "image:8x8x1")),
        ("conv:", ("conv:K", "got 'conv:'")),
        ("conv:3.5", ("conv:K", "got 'conv:3.5'")),
        ("conv:nan", ("conv:K", "got 'conv:nan'")),
        ("conv:0", ("sizes of at least 1", "'conv:0'")),
        ("dense:-4", ("dense:K", "got 'dense:-4'")),
        ("norm:batch;conv:3", ("norm:layer", "got 'norm:batch'")),
        ("conv:3;norm:layer", ("at the beginning", "got 'norm:layer'")),
        ("masks:row;conv:3", ("weight|pair|filter", "got 'masks:row'")),
        ("conv:3;image:8x8x1", ("at the beginning", "got 'image:8x8x1'")),
        ("dense:5;conv:3", ("order conv, dense", "got dense, conv")),
        ("dense:5;blocks:1;blocks:2", ("at most one part of blocks", "blocks, blocks")),
        ("conv:3;blocks:1", ("a dense layer before blocks", "got 'conv:3;blocks:1'")),
        ("conv:3;dense:4", ("7 inputs are not a square", "image:HxWxD")),
        ("image:2x2x2;conv:3", ("7 numbers", "got 2x2x2 = 8")),
        ("image:1x7x1;conv:3", ("at least 2 x 2", "got 1 x 7 at conv0")),
    ],
)
def test_impossible_lines_are_refused_in_one_line(line, words):
    with pytest.raises(UserError, match="got") as raised:
        from_line(7, line, Softmax(), 2, Plain)
    message = str(raised.value)
    assert all(word in message for word in words) and "\n" not in message


def test_as_many_pools_fit_as_the_image_can_be_halved():
    assert from_line(784, "conv:2,2,2,2", Softmax(), 2, Plain).stages[-2].outputs == (1, 1, 2)
    with pytest.raises(UserError, match="got 1 x 1 at conv4"):
        from_line(784, "conv:2,2,2,2,2", Softmax(), 2, Plain)
