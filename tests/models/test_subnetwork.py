"""The subnetwork that a task can use computes the same as the whole network."""

import numpy as np
import pytest

from ibpcl.inference.backend import backend
from ibpcl.models import subnetwork
from ibpcl.models.elbo import Elbo, elbo, elbo_vjp
from ibpcl.models.likelihoods import Bernoulli, Gaussian
from ibpcl.models.masked import Masked
from ibpcl.models.network import autoencoder, classifier
from ibpcl.models.point_autoencoder import PointAutoencoder
from ibpcl.noise import Key
from ibpcl.paper import autoencoders, networks

NUMPY = backend("numpy")


def assert_same_part(model, vector, prior, x, targets, masks, part, who):
    """Compare likelihood and gradient of a part with those of the whole network, at the same
    noise.
    """
    small = part.network
    whole = model.noise(Key(0, 0, 0, 0), 2, len(x), who, np.float64, relaxed=False)
    noise = whole | {
        name: {"eps": whole[name]["eps"][..., columns]} for name, (_, columns) in part.sides.items()
    }
    parts, cache = elbo(
        small,
        vector[part.index],
        subnetwork.cut_prior(part, model, prior),
        part.columns(x),
        targets,
        noise,
        70,
        who,
        part.masks,
    )
    expected, whole_cache = elbo(model, vector, prior, x, targets, whole, 70, who, masks)
    assert parts.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
    assert parts.kl_latent == pytest.approx(expected.kl_latent, rel=1e-12)
    weights = Elbo(1.0, -1.0, kl_latent=-1.0)
    np.testing.assert_allclose(
        elbo_vjp(weights, cache), elbo_vjp(weights, whole_cache)[part.index], rtol=1e-9, atol=1e-9
    )
    assert "rho" not in small.layout.blocks and "sticks" not in small.layout.blocks
    off = np.setdiff1d(np.arange(model.layout.block("log_sigma").stop), part.index)
    gradient = elbo_vjp(weights._replace(kl_weights=0.0), whole_cache)
    # parameters that are left out have only the gradient of the prior
    np.testing.assert_allclose(gradient[off], 0, atol=1e-12)


@pytest.mark.parametrize("who", ["numpy", "numba"])
def test_only_the_weights_that_a_mask_keeps_are_trained(who):
    model, vector, prior, x, labels, masks = networks.network()
    x[:, 2] = 0
    masks["hidden0"][:, 0] = False
    # a unit that reads only an input that is always zero
    masks["hidden0"][:, 1] = [False, False, True, False, False, False]
    masks["hidden0"][4] = False  # no weight reads this input
    part = subnetwork.usable(model, x, masks)
    assert not part.sides["hidden0"][0][4]
    assert {name: layer.weight_count for name, layer in part.network.masked.items()} == {
        name: mask.sum() for name, mask in part.masks.items()
    }
    assert_same_part(model, vector, prior, x, labels, masks, part, backend(who))


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "tanh"])
def test_the_usable_part_of_an_autoencoder_computes_the_same(activation):
    model, vector, prior, x, masks = autoencoders.network(activation=activation)
    x[:, 2] = 0
    masks["encoder1"][:, 0] = masks["decoder0"][:, 3] = False
    # a unit that reads only the dead input
    masks["encoder0"][:, 4] = [False, False, True, False, False, False]
    part = subnetwork.usable(model, x, masks)
    assert {name: layer.units for name, layer in part.network.layers.items()} == {
        "encoder0": 5,
        "encoder1": 3,
        "mean": 3,
        "scale": 3,
        "decoder0": 3,
        "decoder1": 5,
        "pixels": 6,
    }
    assert_same_part(model, vector, prior, x, x, masks, part, NUMPY)


@pytest.mark.parametrize("who", ["numpy", "numba"])
@pytest.mark.parametrize("activation", ["leaky_relu", "tanh", "softplus"])
def test_without_weights_from_silent_units_everything_is_the_same(activation, who):
    model, vector, prior, x, masks = autoencoders.network(activation=activation)
    masks["encoder0"][:, [0, 2]] = masks["decoder1"][:, 1] = False
    # a unit that reads only silent units, and still outputs its bias
    masks["encoder1"][:, 1] = np.arange(5) == 2
    heard = subnetwork.without_silent(model, masks)
    if activation == "softplus":  # units without weights output log 2
        assert heard.keys() == masks.keys() and all(heard[name] is masks[name] for name in masks)
        return
    assert not heard["encoder1"][0].any() and not heard["pixels"][1].any()
    assert heard["encoder1"][2].tolist() == [False, True, *[False] * (len(masks["mean"]) - 2)]
    assert heard["pixels"].sum() == (len(heard["pixels"]) - 1) * 6
    part = subnetwork.cut(model, {})._replace(masks=heard)
    whole = model.noise(Key(0, 0, 0, 0), 2, len(x), NUMPY, np.float64, relaxed=False)
    results = []
    for chosen in (part.masks, masks):
        parts, cache = elbo(model, vector, prior, x, x, whole, 70, backend(who), chosen)
        results.append((parts, elbo_vjp(Elbo(1.0, -1.0, kl_latent=-1.0), cache)))
    (found, gradient), (expected, exact) = results
    assert found == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, exact, rtol=1e-9, atol=1e-9)


def test_a_learned_noise_stays_where_masks_are_given():
    model = classifier(3, (2,), Gaussian(0.25, True), 1, Masked)
    vector = model.initial(lambda layer, own: None, 0.1, (2.0,))
    mask = np.array([[True, False], [False, False], [True, True]])
    part = subnetwork.usable(model, np.ones((1, 3)), {"hidden0": mask})
    assert part.network.layers["hidden0"].weight_count == 3
    assert part.network.layout.view(vector[part.index], "noise.log_sigma").tolist() == [
        np.log(np.float32(0.25))
    ]


@pytest.mark.parametrize("activation", ["leaky_relu", "tanh", "softplus"])
@pytest.mark.parametrize("seed", range(4))
def test_exactly_the_useless_weights_are_switched_off(activation, seed):
    """On images with dead pixels the model is the same without them; without one more weight it is
    another.

    Biases are 0: a unit that only dead pixels lead to has a weight, so it says its bias, and is
    dropped with it.
    """
    rng = np.random.default_rng(seed)
    model = autoencoder(9, (6, 5), 4, Bernoulli(), None, activation)
    vector = rng.normal(size=model.layout.size)
    for name in model.layers:
        model.layout.view(vector, f"{name}.bias.mu")[...] = 0
    masks = {name: rng.random(layer.shape) < 0.25 for name, layer in model.masked.items()}
    masks["encoder1"][:, 2] = masks["decoder0"][:, 1] = False
    x = rng.random((20, 9)) * (np.arange(9) % 4 != 0)
    kept = subnetwork.useful(model, masks, x)

    def outputs(chosen):
        point = PointAutoencoder(model, vector, chosen)
        mean, log_sigma = point.encode(x)
        return np.concatenate([mean, log_sigma, point.outputs(mean + np.exp(log_sigma))], axis=1)

    whole = outputs(masks)
    np.testing.assert_allclose(outputs(kept), whole, rtol=1e-10)
    assert sum(mask.sum() for mask in kept.values()) < sum(mask.sum() for mask in masks.values())
    for name, mask in kept.items():
        assert not (mask & ~masks[name]).any()
        for d, k in np.argwhere(mask):
            fewer = {key: value.copy() for key, value in kept.items()}
            fewer[name][d, k] = False
            assert np.abs(outputs(fewer) - whole).max() > 1e-12, (name, d, k)
