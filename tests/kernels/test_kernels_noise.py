"""The compiled noise against the reference: the same words, the same values within a few units in
the last place.
"""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibpcl import noise as reference
from ibpcl.kernels import noise
from ibpcl.noise import Key

keys = st.builds(Key, st.integers(0, 2**64 - 1), *[st.integers(0, 2**32 - 1)] * 3)
sizes = st.one_of(
    st.integers(0, 5000), st.sampled_from([511, 512, 513, 2047, 2048, 2049, 131_071, 131_073])
)
NAMES = ("uniform", "normal", "logistic")
cipher, units, logits, box_muller = (  # only compiled code calls them
    numba.njit(function)
    for function in (noise._cipher, noise._units, noise._logits, noise._box_muller)
)
EXTREMES = np.array(
    [0, 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1, 0xB504F333, 0xB504F334], np.uint32
)


@given(keys, st.integers(0, 2**32 - 513))
@settings(deadline=None)
def test_the_cipher_gives_the_same_words(key, first):
    words = np.empty((4, noise.STRIP), np.uint32)
    cipher(
        words, *(np.uint64(number) for number in (first, key.step, key.task, key.stream, key.seed))
    )
    block = first + np.arange(noise.STRIP, dtype=np.uint64)
    expected = reference.philox(
        (block, key.step, key.task, key.stream), (key.seed & reference.LOW, key.seed >> 32)
    )
    assert np.array_equal(words, np.stack(expected))


@pytest.mark.parametrize("name", NAMES)
@given(keys, sizes)
@settings(deadline=None, max_examples=30)
def test_values_equal_the_reference(name, key, size):
    for dtype in (np.float32, np.float64):
        value = getattr(noise, name)(key, size, dtype)
        exact = getattr(reference, name)(key, size, np.float64)
        assert value.dtype == dtype and value.shape == exact.shape
        error = np.abs(value - exact)
        eps = np.finfo(dtype).eps
        # The logarithm of odds near one keeps an absolute accuracy; everything else is relative.
        assert (
            error
            <= eps * (np.maximum(np.abs(exact), 2) if name == "logistic" else 4 * np.abs(exact))
        ).all()


def test_a_million_normals_and_their_tails():
    key = Key(5, 0, 0, 0)
    value = noise.normal(key, 2_000_003)
    exact = reference.normal(key, 2_000_003, np.float64)
    assert np.abs(value / exact - 1).max() < 4e-7
    assert abs(exact).max() > 4.8


def test_float32_at_the_extreme_words():
    u = (EXTREMES + 0.5) * 2.0**-32
    out = np.empty((2, EXTREMES.size), np.float32)
    units(EXTREMES, out[0])
    assert (out[0] > 0).all() and (out[0] < 1).all()
    logits(EXTREMES, out[0])
    np.testing.assert_allclose(out[0], np.log(u / (1 - u)), rtol=2e-7, atol=2e-7)
    for angle in EXTREMES:  # quadrants and their boundaries
        box_muller(EXTREMES, np.full_like(EXTREMES, angle), *out)
        radius = np.sqrt(-2 * np.log(u))
        turn = 2 * np.pi * (angle + 0.5) * 2.0**-32
        np.testing.assert_allclose(
            out, [radius * np.cos(turn), radius * np.sin(turn)], rtol=4e-7, atol=1e-14
        )


@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments_are_refused_as_by_the_reference(name):
    for key, shape, dtype in (
        ((-1, 0, 0, 0), 1, "f4"),
        ((0, 0, 0, 0.5), 1, "f4"),
        ((0, 0, 0, 0), -1, "f4"),
        ((0, 0, 0, 0), 1, "f2"),
    ):
        with pytest.raises((ValueError, TypeError)) as expected:
            getattr(reference, name)(key, shape, dtype)
        with pytest.raises(expected.type) as raised:
            getattr(noise, name)(key, shape, dtype)
        assert str(raised.value) == str(expected.value)
