"""Estimates of log p(x) against a linear Gaussian model with a known result."""

import numpy as np
import pytest
from scipy import stats

from ibpcl.evaluation import latent
from ibpcl.evaluation.latent import (
    importance_sampled,
    mean_and_errors,
    prior_samples,
    reconstruction_score,
)
from ibpcl.evaluation.linear import LinearModel

RNG = np.random.default_rng(0)
# Rows that are not orthogonal: the posterior is correlated, and q, which is not, is only close to
# it.
MODEL = LinearModel(
    RNG.standard_normal((3, 6)), 0.8, RNG.standard_normal(6), [0.5, -1.0, 0.0], [1.0, 0.5, 2.0]
)
X = MODEL.decode(
    MODEL.mean + MODEL.sigma * RNG.standard_normal((40, 3))
) + 0.8 * RNG.standard_normal((40, 6))


class Squeezed(LinearModel):
    """Model whose q is too wide and shifted, so that importance weights vary."""

    def encode(self, x):
        mean, log_sigma = super().encode(x)
        return mean + 0.1, log_sigma + 0.3


class Pixels:
    """Model with two latent variables, which are two pixels after a sigmoid, and a constant q."""

    latent = 2

    def encode(self, x):
        return np.zeros((len(x), 2), x.dtype), np.full((len(x), 2), -1.0, x.dtype)

    def prior(self):
        return np.zeros(2), np.zeros(2)

    def decode(self, z):
        return 1 / (1 + np.exp(-z))

    def log_likelihood(self, x, z):
        p = self.decode(z)
        return np.sum(x * np.log(p) + (1 - x) * np.log(1 - p), axis=-1)


def test_the_exact_density_is_that_of_scipy():
    covariance = MODEL.weights.T @ np.diag(MODEL.sigma**2) @ MODEL.weights + 0.8**2 * np.eye(6)
    expected = stats.multivariate_normal(
        MODEL.mean @ MODEL.weights + MODEL.offset, covariance
    ).logpdf(X)
    np.testing.assert_allclose(MODEL.exact(X), expected, rtol=1e-10)


@pytest.mark.parametrize("samples", [1, 7])
def test_with_the_exact_posterior_every_sample_gives_the_exact_likelihood(samples):
    q, _ = np.linalg.qr(RNG.standard_normal((6, 3)))
    # orthogonal rows
    model = LinearModel((q * [1.0, 2.0, 0.5]).T, 0.7, 0.3, [1.0, 0.0, -1.0], [0.5, 1.0, 2.0])
    found = importance_sampled(model, X, samples)
    np.testing.assert_allclose(found.log_likelihood, model.exact(X), rtol=1e-10)
    np.testing.assert_allclose(found.elbo, model.exact(X), rtol=1e-10)
    np.testing.assert_allclose(found.effective_samples, samples, rtol=1e-8)
    assert model.gap() == pytest.approx(0, abs=1e-12)


def test_the_estimate_is_unbiased_in_p_for_few_samples_too():
    model = Squeezed(MODEL.weights, 0.8, MODEL.offset, MODEL.mean, MODEL.sigma)
    repeated = np.repeat(X[:1], 4000, axis=0)  # the noise of each row is its own
    for samples in (1, 3):
        ratio = np.exp(
            importance_sampled(model, repeated, samples).log_likelihood - model.exact(X[:1])
        )
        assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(len(ratio))
        assert ratio.std() > 0.2  # it does vary


def test_one_sample_is_the_elbo_on_average_and_more_samples_close_the_gap():
    repeated = np.repeat(X[:1], 4000, axis=0)
    exact = MODEL.exact(X[:1])[0]
    one, ten = (importance_sampled(MODEL, repeated, samples) for samples in (1, 10))
    np.testing.assert_array_equal(one.log_likelihood, one.elbo)
    for elbo in (one.elbo, ten.elbo):
        assert abs(elbo.mean() - (exact - MODEL.gap())) < 4 * elbo.std() / np.sqrt(len(elbo))
    assert one.elbo.mean() < ten.log_likelihood.mean() < exact
    assert exact - ten.log_likelihood.mean() < MODEL.gap() / 3


def test_it_converges_to_the_exact_value():
    found = importance_sampled(MODEL, X, 20_000)
    np.testing.assert_allclose(found.log_likelihood, MODEL.exact(X), atol=0.06)
    assert np.abs(found.log_likelihood - MODEL.exact(X)).mean() < 0.015


def test_the_standard_error_is_honest():
    model = Squeezed(MODEL.weights, 0.8, MODEL.offset, MODEL.mean, MODEL.sigma)
    repeated = np.repeat(X[1:2], 500, axis=0)
    found = importance_sampled(model, repeated, 400)
    spread = np.std(found.log_likelihood, ddof=1)
    assert 0.85 < np.sqrt(np.mean(found.monte_carlo_error**2)) / spread < 1.15
    assert np.all(found.effective_samples < 390) and np.all(found.effective_samples > 50)
    shares = np.mean(
        np.abs(found.log_likelihood - model.exact(X[1:2])) < 2 * found.monte_carlo_error
    )
    assert 0.92 < shares < 0.985  # two standard errors hold 95 %


def test_means_and_their_errors():
    found = importance_sampled(MODEL, X, 50)
    told = mean_and_errors(found)
    assert (
        told["log_likelihood"] == found.log_likelihood.mean() and told["elbo"] == found.elbo.mean()
    )
    assert told["standard_error"] == pytest.approx(stats.sem(found.log_likelihood))
    again = [
        mean_and_errors(importance_sampled(MODEL, X, 50, seed))["log_likelihood"]
        for seed in range(60)
    ]
    assert 0.75 < told["monte_carlo_error"] / np.std(again, ddof=1) < 1.3
    assert np.isnan(importance_sampled(MODEL, X, 1).monte_carlo_error).all()


@pytest.mark.parametrize("chunk", [1, 3, 7, 64, 10_000])
def test_chunks_change_memory_and_nothing_else(chunk):
    whole = importance_sampled(MODEL, X, 12, seed=3)
    drawn = []
    found = importance_sampled(MODEL, X, 12, seed=3, chunk=chunk, advance=drawn.append)
    for a, b in zip(found, whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert sum(drawn) == 12 * len(X) and max(drawn) <= max(chunk, 1)
    scores = [
        reconstruction_score(Pixels(), np.array([[0.2, 1.0]] * 5), 12, 3, size)
        for size in (chunk, 10_000)
    ]
    np.testing.assert_allclose(*scores, rtol=1e-12)


def test_an_image_does_not_depend_on_those_after_it():
    one = importance_sampled(MODEL, X[:4], 5)
    all_of_them = importance_sampled(MODEL, X, 5)
    np.testing.assert_allclose(one.log_likelihood, all_of_them.log_likelihood[:4], rtol=1e-12)
    other = importance_sampled(MODEL, X[:4], 5, seed=1)
    assert not np.allclose(one.log_likelihood, other.log_likelihood)


def test_weights_beyond_the_range_of_floats_do_not_overflow():
    far = LinearModel(np.ones((1, 3)), 0.1)
    x = np.array([[1e4, -1e4, 3e4]])  # log p is about -4e10
    found = importance_sampled(far, x, 5)
    np.testing.assert_allclose(found.log_likelihood, far.exact(x), rtol=1e-9)
    assert found.log_likelihood[0] < -1e10


def test_the_reconstruction_score_is_that_of_the_mean_image():
    x = np.array([[0.2, 1.0], [0.0, 0.5]])
    z = np.exp(-1.0) * np.random.default_rng(4).standard_normal((400_000, 1))
    mean = (1 / (1 + np.exp(-z))).mean()
    expected = np.sum(x * np.log(mean) + (1 - x) * np.log(1 - mean), axis=1)
    np.testing.assert_allclose(reconstruction_score(Pixels(), x, 20_000), expected, atol=0.01)
    # Averaged before the logarithm, it lies above the expected log likelihood, and that above the
    # ELBO.
    found = importance_sampled(Pixels(), x, 2000)
    score = reconstruction_score(Pixels(), x, 2000)
    kl = np.sum(2 * (np.exp(-2.0) - 1) / 2 + 2 * 1.0)
    assert np.all(score > found.elbo + kl)


def test_a_picture_of_ones_and_zeros_has_a_finite_score():
    class Sure(Pixels):
        def decode(self, z):
            return np.ones(np.shape(z))

    assert reconstruction_score(Sure(), np.array([[1.0, 0.0]]), 2)[0] == pytest.approx(
        np.log(1e-6), rel=1e-3
    )


def test_samples_of_the_prior_have_its_mean_and_spread():
    drawn = prior_samples(MODEL, 40_000, seed=1)
    np.testing.assert_allclose(drawn.mean(axis=0), MODEL.decode(MODEL.mean), atol=0.1)
    np.testing.assert_allclose(
        np.cov(drawn.T), (MODEL.weights.T * MODEL.sigma**2) @ MODEL.weights, atol=0.5
    )
    np.testing.assert_array_equal(
        latent.reconstructions(MODEL, X), MODEL.decode(MODEL.encode(X)[0])
    )


def test_single_precision_stays_single():
    seen = []

    class Watching(Pixels):
        def log_likelihood(self, x, z):
            seen.append(z.dtype)
            return super().log_likelihood(x, z)

    importance_sampled(Watching(), np.zeros((2, 2), np.float32), 3)
    assert set(seen) == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("x", "samples", "what"),
    [
        (np.zeros((0, 2)), 3, r"x must have shape \(N, D\)"),
        (np.zeros(4), 3, "x must have shape"),
        (np.zeros((1, 2)), 0, "samples and chunk must be at least 1"),
        (np.full((1, 2), np.nan), 2, "must be finite"),
    ],
)
def test_invalid_images_or_samples_are_refused(x, samples, what):
    with pytest.raises(ValueError, match=r"latent\.importance_sampled: .*" + what):
        importance_sampled(Pixels(), x, samples)
