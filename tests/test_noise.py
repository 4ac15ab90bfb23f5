"""The reference generator: known answers, its layout, and a battery of statistical tests at fixed
seeds.

Each statistical test has a probability of about 1e-4 of failing for a perfect generator, and the
seeds are fixed: a failure means that the generator has changed.
"""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ibpcl import noise
from ibpcl.noise import Key

KEY = Key(seed=2024, task=3, step=41, stream=5)
MANY = 1 << 20
DRAWS = {"uniform": noise.uniform, "normal": noise.normal, "logistic": noise.logistic}
# standard errors; two-sided probability 6e-5
LIMIT = 4.0
# Lags at which neighbours in memory are neighbours in the counter, in the next strip or chunk.
LAGS = (1, 2, 3, 4, 8, 16, 64, 511, 512, 513, 1024, 1536, 2047, 2048, 2049, 4096, 32768)
NEIGHBOURS = {
    "seed": KEY._replace(seed=2025),
    "high seed": KEY._replace(seed=KEY.seed + (1 << 32)),
    "task": KEY._replace(task=4),
    "step": KEY._replace(step=42),
    "stream": KEY._replace(stream=6),
    "task and step exchanged": KEY._replace(task=KEY.step, step=KEY.task),
}


def words(key, size):
    """Return the 32-bit words behind the noise."""
    return (noise.uniform(key, size, np.float64) * 2.0**32 - 0.5).astype(np.uint32)


@pytest.fixture(scope="module")
def many_words():
    return words(KEY, MANY)


def assert_uniform(counts):
    assert 1e-4 < stats.chisquare(counts.ravel()).pvalue < 1 - 1e-4


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_known_answers_of_random123(counter, key, answer):
    assert tuple(int(word) for word in noise.philox(counter, key)) == answer


def test_each_element_is_the_word_of_the_layout(many_words):
    rng = np.random.default_rng(0)
    for i in (0, 511, 512, 2047, 2048, *rng.integers(0, MANY, 50)):
        chunk, rest = divmod(int(i), noise.CHUNK)
        lane, r = divmod(rest, noise.STRIP)
        counter = (chunk * noise.STRIP + r, KEY.step, KEY.task, KEY.stream)
        assert many_words[i] == noise.philox(counter, (KEY.seed & noise.LOW, KEY.seed >> 32))[lane]


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), 0, 1, 7, (0, 3), (3, 5, 7), (2, 2049)])
def test_shape_type_and_beginning(draw, dtype, shape):
    values = draw(KEY, shape, dtype)
    assert values.dtype == dtype
    assert values.shape == (shape if isinstance(shape, tuple) else (shape,))
    assert np.array_equal(values.ravel(), draw(KEY, 5000, dtype)[: values.size])


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_float32_is_float64_rounded(draw):
    single = draw(KEY, 100_000)
    double = draw(KEY, 100_000, np.float64)
    assert np.array_equal(
        single,
        np.minimum(double.astype(np.float32), noise.BELOW_ONE)
        if draw is noise.uniform
        else double.astype(np.float32),
    )


@pytest.mark.parametrize("word", [0, noise.LOW])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_ends_of_the_range_of_words(monkeypatch, word, dtype):
    monkeypatch.setattr(
        noise, "philox", lambda counter, key: [np.full(counter[0].shape, word, np.uint64)] * 4
    )
    sign = 1 if word else -1
    assert 0 < noise.uniform(KEY, 1, dtype)[0] < 1
    assert noise.logistic(KEY, 1, dtype)[0] == pytest.approx(sign * np.log(2.0**33 - 1), rel=1e-7)
    assert np.hypot(*noise.normal(KEY, 1024, dtype)[[0, 512]]) == pytest.approx(
        np.sqrt(-2 * np.log1p(-(2.0**-33)) if word else 2 * 33 * np.log(2)), rel=1e-6
    )


@given(
    st.builds(Key, st.integers(0, 2**64 - 1), *[st.integers(0, 2**32 - 1)] * 3),
    st.integers(0, 3000),
)
def test_the_same_key_gives_the_same_noise(key, size):
    assert np.array_equal(
        noise.normal(key, size), noise.normal(tuple(np.uint64(n) for n in key), size)
    )


@pytest.mark.parametrize("field", Key._fields)
@pytest.mark.parametrize("make", [*DRAWS.values(), lambda key, shape: noise.generator(key)])
def test_a_key_that_does_not_fit_is_refused(make, field):
    for value in (-1, 2**64):
        with pytest.raises(ValueError, match=rf"noise\.\w+: key\.{field} must be in 0"):
            make(KEY._replace(**{field: value}), 3)
    for value in (1.0, "1", None):
        with pytest.raises(TypeError, match=rf"noise\.\w+: key\.{field} must be an integer"):
            make(KEY._replace(**{field: value}), 3)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_an_impossible_type_or_shape_is_refused(draw):
    with pytest.raises(TypeError, match="must be float32 or float64, got int64"):
        draw(KEY, 3, np.int64)
    for shape in (-1, (3, -2), (2**17, 2**17)):
        with pytest.raises(ValueError, match="shape must have"):
            draw(KEY, shape)


def test_distributions_by_kolmogorov_and_smirnov():
    for draw, cdf in (
        (noise.uniform, "uniform"),
        (noise.normal, "norm"),
        (noise.logistic, "logistic"),
    ):
        assert stats.kstest(draw(KEY, MANY, np.float64), cdf).pvalue > 1e-4


def test_every_byte_and_every_bit_is_uniform(many_words):
    for shift in (0, 8, 16, 24):
        assert_uniform(np.bincount(many_words >> np.uint32(shift) & np.uint32(255), minlength=256))
    ones = np.array(
        [np.count_nonzero(many_words >> np.uint32(bit) & np.uint32(1)) for bit in range(32)]
    )
    assert np.abs(ones - MANY / 2).max() < LIMIT * np.sqrt(MANY) / 2


@pytest.mark.parametrize("lag", LAGS)
def test_pairs_at_a_lag_fill_the_square(many_words, lag):
    high = many_words >> np.uint32(26)
    low = many_words & np.uint32(63)
    for part in (high, low):  # the leading and the trailing bits
        assert_uniform(np.bincount(part[:-lag] * np.uint32(64) + part[lag:], minlength=4096))


@pytest.mark.parametrize("lag", LAGS)
def test_no_serial_correlation_of_values_squares_and_sizes(lag):
    for draw in (noise.normal, noise.logistic):
        x = draw(KEY, MANY, np.float64)
        for y in (x, x * x, np.abs(x)):
            y = (y - y.mean()) / y.std()
            assert abs(np.mean(y[:-lag] * y[lag:])) < LIMIT / np.sqrt(MANY - lag)


@pytest.mark.parametrize("other", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_neighbouring_keys_are_unrelated(many_words, other):
    a = many_words[: 1 << 18]
    b = words(other, 1 << 18)
    # Each bit differs independently with probability 1/2: 16 of 32 bits, with variance 8.
    distance = np.unpackbits((a ^ b).view(np.uint8).reshape(-1, 4), axis=1).sum(axis=1)
    assert abs(distance.mean() - 16) < LIMIT * np.sqrt(8 / distance.size)
    assert 1e-4 < stats.chi2.sf(((distance - 16.0) ** 2).sum() / 8, distance.size) < 1 - 1e-4
    assert_uniform(
        np.bincount((a >> np.uint32(26)) * np.uint32(64) + (b >> np.uint32(26)), minlength=4096)
    )
    for draw in (noise.normal, noise.logistic):
        assert abs(np.corrcoef(draw(KEY, 1 << 18), draw(other, 1 << 18))[0, 1]) < LIMIT / 2**9


def test_streams_and_steps_are_uncorrelated_as_a_whole():
    x = np.stack(
        [
            noise.normal(Key(7, 0, step, stream), 4096, np.float64)
            for step in range(8)
            for stream in range(8)
        ]
    )
    between = np.corrcoef(x)[np.triu_indices(64, k=1)]
    # Fisher: the 2016 correlations are normal with variance 1 / n; together a chi-square, none too
    # large.
    assert 1e-4 < stats.chi2.sf(4096 * (between**2).sum(), between.size) < 1 - 1e-4
    assert np.abs(between).max() < 5 / 64


def test_equal_words_come_as_often_as_birthdays():
    w = words(KEY._replace(stream=9), MANY)
    expected = MANY**2 / 2 / 2**32  # 128 pairs of equal words
    assert abs(MANY - np.unique(w).size - expected) < LIMIT * np.sqrt(expected)


def test_birthday_spacings():
    # Marsaglia (1995): of 4096 birthdays in 2^32 days, equal spacings are Poisson with mean m^3 /
    # 4n = 4.
    days = np.sort(
        words(KEY._replace(stream=10), 4096 * 128).reshape(128, 4096).astype(np.int64), axis=1
    )
    spacings = np.sort(np.diff(days, axis=1), axis=1)
    repeated = (np.diff(spacings, axis=1) == 0).sum()
    assert abs(repeated - 4 * 128) < LIMIT * np.sqrt(4 * 128)


def test_tails_are_as_heavy_as_they_should_be():
    for draw, law, limits in (
        (noise.normal, stats.norm, (2, 3, 4, 4.5)),
        (noise.logistic, stats.logistic, (4, 8, 11)),
    ):
        x = draw(KEY._replace(task=8), 4 * MANY)
        for limit in limits:
            for tail in (x > limit, x < -limit):
                expected = x.size * law.sf(limit)
                assert abs(tail.sum() - expected) < LIMIT * np.sqrt(expected) + 1
    assert np.abs(noise.normal(KEY, 4 * MANY)).max() < 6.77


def test_the_pairs_of_box_and_muller_are_round():
    x = noise.normal(KEY._replace(step=1), MANY, np.float64).reshape(-1, 2, 2, noise.STRIP)
    angle = np.arctan2(x[:, :, 1], x[:, :, 0]).ravel()
    square = (x**2).sum(axis=2).ravel()
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-4
    assert stats.kstest(square, stats.chi2(2).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(np.cos(4 * angle), square)[0, 1]) < LIMIT / np.sqrt(angle.size)


def test_generators_differ_by_every_field_and_repeat():
    first = noise.generator(KEY).permutation(1000)
    assert np.array_equal(first, noise.generator(KEY).permutation(1000))
    for other in NEIGHBOURS.values():
        agree = (noise.generator(other).permutation(1000) == first).sum()
        assert agree < 10  # Poisson with mean 1


@pytest.mark.slow(reason="a process; tests/test_package.py has one for the package")
def test_the_reference_does_not_import_numba():
    code = "import sys, ibpcl.noise, ibpcl.kernels; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
