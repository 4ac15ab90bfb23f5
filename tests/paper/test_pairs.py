"""Every hand-derived gradient of the package is found by introspection and checked."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick import quick

from ibpcl import kernels
from ibpcl.models.elbo import elbo, elbo_vjp
from ibpcl.paper import autoencoders, networks, pairs

PAIRS = pairs.documented_pairs()
CHECKS = {**networks.CHECKS, **autoencoders.CHECKS}
PRIMITIVES = [pair for pair in PAIRS if not pair.name.startswith("kernels.")]


def call(pair, inputs):
    return pair.f(*inputs.values(), **pair.choices)


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize(
    "pair",
    quick(
        [
            "models.masked.sticks",
            "bernoulli.kl",
            "convolution.patches(height=3, width=2, stride=1, padding=1)",
            "gaussian.kl",
            "latent.kl",
            "local_convolution.apply(stride=1, padding=1)",
            "local_linear.sample(activation=leaky_relu)",
            "masked_convolution.apply(stride=2, padding=1)",
            "masked_weights.sample(mask_kl=concrete)",
            "normalization.layer_norm",
            "quadratic.penalty",
            "sticks.log_odds(link=log)",
        ],
        PRIMITIVES,
        "each way to use the axes is there",
    ),
)
@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.fixed_dictionaries({axis: st.integers(0, 3) for axis in "SNDKC"})
)
def test_the_gradient_is_right_for_any_size(pair, seed, sizes):
    sizes["C"] = max(sizes["C"], 1)  # a label needs a class
    report = pairs.check_pair(pair, seed, sizes)
    assert report.ok, f"{sizes}\n{report}"


@pytest.mark.parametrize("pair", PRIMITIVES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_the_type_that_goes_in_comes_out(pair, dtype):
    inputs = pairs.make_inputs(pair, np.random.default_rng(0))
    inputs = {
        name: value.astype(dtype)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
        else value
        for name, value in inputs.items()
    }
    out, cache = call(pair, inputs)
    assert {np.asarray(part).dtype for part in as_tuple(out)} == {np.dtype(dtype)}
    if dtype == np.complex128:
        # the complex step needs the forward alone
        return
    dout = tuple(np.ones_like(part) for part in as_tuple(out))
    gradients = as_tuple(pair.f_vjp(dout if isinstance(out, tuple) else dout[0], cache))
    assert {np.asarray(gradient).dtype for gradient in gradients} == {np.dtype(dtype)}


@pytest.mark.parametrize("pair", PRIMITIVES, ids=str)
def test_nothing_is_changed_in_place_and_the_gradient_is_linear(pair):
    rng = np.random.default_rng(1)
    inputs = pairs.make_inputs(pair, rng)
    before = {name: np.array(value) for name, value in inputs.items()}
    out, cache = call(pair, inputs)
    first, second = ([rng.normal(size=np.shape(part)) for part in as_tuple(out)] for _ in range(2))
    wrap = tuple if isinstance(out, tuple) else (lambda parts: parts[0])
    pulled = [
        as_tuple(pair.f_vjp(wrap(parts), cache))
        for parts in (first, second, [2 * a - 3 * b for a, b in zip(first, second, strict=True)])
    ]
    for one, other, both in zip(*pulled, strict=True):
        np.testing.assert_allclose(both, 2 * one - 3 * other, rtol=1e-9, atol=1e-10)
    for name, value in before.items():
        np.testing.assert_array_equal(inputs[name], value)


def test_every_gradient_of_the_package_is_checked():
    documented = {f"{pair.f.__module__}.{pair.f_vjp.__name__}" for pair in PAIRS}
    found = pairs.gradients(pairs.modules())
    unchecked = [name for name in found if name not in documented and name not in CHECKS]
    assert not unchecked, "add them to ibpcl.paper.networks.CHECKS, or document their parameters"
    assert set(CHECKS) <= set(found), "a check for a gradient that does not exist"


def test_compiled_gradients_are_found_without_being_imported():
    found = pairs.compiled_gradients()
    assert found == pairs.gradients(pairs.modules(kernels)) and found


@pytest.mark.parametrize(
    ("activation", "mask_kl"),
    quick(
        ["relu-bernoulli", "softplus-concrete"],
        itertools.product(["relu", "leaky_relu", "softplus", "tanh"], ["bernoulli", "concrete"]),
        "both divergences are there, and a function with a kink and one without",
        name="-".join,
    ),
)
def test_the_whole_elbo_agrees_with_the_complex_step(mask_kl, activation):
    """For every parameter at once, at fixed noise, to 1e-9; without the checker, so as not to trust
    it.
    """
    model, vector, prior, x, labels, _ = networks.network(5, mask_kl, activation)
    reference = networks.backend("numpy")
    noise = model.noise(networks.Key(5, 0, 0, 0), 2, len(x), reference, np.float64)
    weights = (1.0, -0.7, -1.3, -0.4, -0.9, -0.2)
    parts, cache = elbo(model, vector, prior, x, labels, noise, 70, reference, None, 0.6)
    gradient = elbo_vjp(weights, cache)
    by_step = np.empty_like(gradient)
    for i in range(len(vector)):
        moved = vector.astype(complex)
        moved[i] += 1e-30j
        moved_parts, _ = elbo(model, moved, prior, x, labels, noise, 70, reference, None, 0.6)
        by_step[i] = np.dot(weights, moved_parts).imag / 1e-30
    np.testing.assert_allclose(gradient, by_step, rtol=1e-9, atol=1e-9 * np.abs(by_step).max())
    assert parts.total == pytest.approx(parts[0] - sum(parts[1:]))


def test_a_name_without_a_domain_and_a_wrong_docstring_are_refused():
    def undocumented(x):
        return x, None

    def strange(strange_name):
        """Do it.

        Parameters
        ----------
        strange_name : ndarray, shape (K,)
        """
        return strange_name, None

    def incomplete(x, mu):
        """Do it.

        Parameters
        ----------
        x : ndarray, shape (K,)
        """
        return x + mu, None

    for f, message in (
        (undocumented, "no Parameters section"),
        (strange, "DOMAINS"),
        (incomplete, "are not its arg"),
    ):
        with pytest.raises(TypeError, match=message):
            pairs.make_inputs(pairs.Pair("f", f, None, {}, f), np.random.default_rng(0))


@pytest.mark.parametrize("share", [0.6])
def test_one_wrong_parameter_of_the_whole_elbo_is_found(monkeypatch, share):
    """Random directions notice it, and the entries that are compared then include it."""

    def spoiled(dout, cache):
        gradient = elbo_vjp(dout, cache).copy()
        gradient[int(share * gradient.size)] *= 1.0001
        return gradient

    assert networks.check_elbo(0).ok
    monkeypatch.setattr(networks.bounds, "elbo_vjp", spoiled)
    report = networks.check_elbo(0)
    assert report.verdict == "wrong"
    assert report["vector"].numbers["wrong"] == 1
