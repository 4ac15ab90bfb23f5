"""The network: its layers and their order, and impossible arguments."""

from itertools import pairwise

import pytest

from ibpcl.models.likelihoods import Bernoulli, Gaussian, Softmax
from ibpcl.models.masked import Masked, MaskModel
from ibpcl.models.network import autoencoder, classifier


def test_the_layers_are_where_they_belong():
    model = autoencoder(6, (5, 4), 3, Bernoulli())
    assert tuple(model.layers) == (
        "encoder0",
        "encoder1",
        "mean",
        "scale",
        "decoder0",
        "decoder1",
        "pixels",
    )
    shapes = [layer.shape for layer in model.layers.values()]
    assert shapes == [*pairwise((6, 5, 4, 3)), (4, 3), *pairwise((3, 4, 5, 6))]
    assert tuple(model.masked) == tuple(model.layers)[:-1]
    assert model.sources == {
        "encoder0": "inputs",
        "encoder1": "encoder0",
        "mean": "encoder1",
        "scale": "encoder1",
        "decoder0": "codes",
        "decoder1": "decoder0",
        "pixels": "decoder1",
    }


def test_the_parameters_are_ordered_by_block_then_layer():
    layout = classifier(
        4, (3,), Gaussian(0.1, True), 2, Masked, model=MaskModel(learns_alpha=True)
    ).layout
    assert [entry.name for entry in layout.entries] == [
        *(
            f"{layer}.{side}.{part}"
            for part in ("mu", "log_sigma")
            for layer in ("hidden0", "head")
            for side in ("weight", "bias")
        ),
        "hidden0.rho",
        "hidden0.raw_a",
        "hidden0.raw_b",
        "hidden0.raw_shape",
        "hidden0.raw_scale",
        "noise.log_sigma",
    ]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, (3,), Softmax(), 2, Masked), {}, "at least 1"),
        ((4, (), Softmax(), 2, Masked), {}, "hidden layer"),
        ((4, (0,), Softmax(), 2, Masked), {}, "at least 1"),
        ((4, (3,), Softmax(), 2, Masked, "gelu"), {}, "activation"),
        ((4, (3,), Softmax(), 2, Masked), {"model": MaskModel("exact")}, "mask_kl"),
        ((4, (3,), Softmax(), 2, Masked), {"model": MaskModel(link="probit")}, "mask_link"),
    ],
)
def test_an_impossible_network_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        classifier(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, (3,), 2, Bernoulli()), "at least 1"),
        ((4, (), 2, Bernoulli()), "hidden layer"),
        ((4, (3,), 2, Bernoulli(), ("masked",)), "kinds"),
        ((4, (3,), 2, Bernoulli(), ("mask",) * 5), "kinds"),
        ((4, (3,), 2, Bernoulli(), None, "gelu"), "activation"),
    ],
)
def test_an_impossible_autoencoder_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        autoencoder(*arguments)


def test_an_impossible_likelihood_is_refused():
    with pytest.raises(ValueError, match=r"link.*logistic, probit"):
        Bernoulli("poisson")
    with pytest.raises(ValueError, match="sigma must be finite"):
        Gaussian(0.0)
