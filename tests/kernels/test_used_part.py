"""Fine-tuning under a mask that uses few inputs and units, against the reference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibpcl.kernels import local_linear, used_part
from ibpcl.primitives import local_linear as reference

problems = st.fixed_dictionaries(
    {
        "S": st.integers(1, 3),
        "N": st.sampled_from([1, 20, 65]),
        "D": st.sampled_from([0, 1, 5, 70]),
        "K": st.sampled_from([0, 1, 5, 90]),
        "used": st.sampled_from([0.0, 0.1, 0.5, 1.0]),
        "shared": st.booleans(),
        "kept_only": st.booleans(),
        "activation": st.sampled_from([None, "relu", "leaky_relu", "softplus", "tanh"]),
        "seed": st.integers(0, 2**32 - 1),
    }
)


def arguments(S, N, D, K, used, shared, kept_only, activation, seed):
    """Return arguments of ``sample`` whose mask uses a share of the inputs and of the units."""
    rng = np.random.default_rng(seed)
    mask = rng.random((D, K)) < 0.5
    mask &= (rng.random(D) < used)[:, None] & (rng.random(K) < used)
    mu, log_sigma = rng.standard_normal((2, D, K))
    if kept_only:
        mu, log_sigma = mu[mask], log_sigma[mask]
    return (
        rng.standard_normal((S, N, K)),
        rng.standard_normal((N, D) if shared else (S, N, D)),
        mu,
        log_sigma / 3,
        *rng.standard_normal((2, K)),
        mask,
        activation,
    )


def single(one):
    return one.astype(np.float32) if isinstance(one, np.ndarray) and one.dtype == float else one


@given(problems, st.booleans())
@settings(deadline=None, max_examples=150)
def test_values_and_gradients_equal_the_reference(problem, needs_dx):
    given_ = arguments(**problem)
    h, cache = local_linear.sample(*map(single, given_))
    expected, exact_cache = reference.sample(*given_)
    dh = np.random.default_rng(0).standard_normal(expected.shape)
    found = local_linear.sample_vjp(single(dh), cache, needs_dx)
    exact = reference.sample_vjp(dh, exact_cache, needs_dx)
    for value, right in zip((h, *found), (expected, *exact), strict=True):
        assert (value is None) == (right is None)
        if right is not None:
            assert value.shape == right.shape and value.dtype == np.float32
            largest = np.abs(right).max(initial=1)
            np.testing.assert_allclose(value, right, rtol=1e-4, atol=1e-5 * largest)


@pytest.mark.parametrize(("share", "is_part"), [(0.1, True), (0.4, True), (0.9, False)])
def test_only_a_small_part_is_taken_out(share, is_part):
    D, K = 40, 50
    mask = np.zeros((D, K), bool)
    mask[: int(share * D)] = True
    x, eps, w, b = (np.ones(shape, np.float32) for shape in ((2, 3, D), (2, 3, K), (D, K), K))
    cache = local_linear.sample(eps, x, w, w, b, b, mask)[1].cache
    assert isinstance(cache, used_part.Cache) == is_part
    if is_part:  # the products have the size of the part
        assert cache.inner.cache.weights.shape == (2, int(share * D), K)
