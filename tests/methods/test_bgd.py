"""BGD: gradient descent and Bayes' rule as its limits, the signs of its terms, and the learner."""

import dataclasses

import numpy as np
import pytest

from ibpcl.continual.loop import learn_stream
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import geometric, minibatches
from ibpcl.inference.objectives import Data
from ibpcl.methods.bgd import BGD, Settings, slopes, train, update
from ibpcl.methods.sequential import accept, start
from ibpcl.models.layers import Drawn
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.network import classifier
from ibpcl.models.plain import network as plain_network
from ibpcl.noise import Key

NUMPY = backend("numpy")
SMALL = Settings(
    hidden=(8,), epochs=4, batch=20, samples=2, prediction_samples=10, start_sigma=0.05
)


def learner_of(seed=1, **changes):
    return BGD(dataclasses.replace(SMALL, **changes), seed, "numpy")


def random_model(log_sigma, seed=0, examples=7, samples=1):
    """A network of drawn weights in float64, its noise, and a minibatch."""
    rng = np.random.default_rng(seed)
    network = classifier(6, (5, 4), Softmax(), 3, Drawn, head=Drawn)
    vector = rng.normal(scale=0.5, size=network.layout.size)
    block = network.layout.block("log_sigma")
    vector[block] = log_sigma + 0.3 * rng.normal(size=block.stop - block.start)
    noise = network.noise(Key(0, 0, 0, 0), samples, examples, NUMPY, np.float64, relaxed=False)
    return network, vector, rng.normal(size=(examples, 6)), rng.integers(0, 3, examples), noise


def epsilon(network, noise, sample):
    """One sample of the noise, in the order of the means."""
    return np.concatenate(
        [
            noise[name][part][sample].ravel()
            for name in network.layers
            for part in ("weight", "bias")
        ]
    )


def plain_slope(weights, x, y):
    """The gradient of the summed loss of a plain network, and the loss."""
    plain = plain_network(6, (5, 4), 3)
    total, cache = plain.log_likelihood(weights, x, y, NUMPY)
    return plain.log_likelihood_vjp(-1.0, cache), total


def halves(network, values):
    return values[network.layout.block("mu")], values[network.layout.block("log_sigma")]


# The published rules, one step.


def published(mu, sigma, slope, slope_eps, rate=1.0, signs=(1, 1, 1, 1)):
    """Algorithm 1 as it is printed; ``signs`` are those of the terms."""
    a, b, c, d = signs
    half = sigma * slope_eps / 2
    return (
        mu - a * rate * sigma**2 * slope,
        b * sigma * np.sqrt(1 + c * half**2) - d * sigma**2 * slope_eps / 2,
    )


def optimal(rule, seed=0):
    """Whether a rule satisfies the conditions of a minimum of the loss plus the divergence."""
    rng = np.random.default_rng(seed)
    mu, slope, slope_eps = rng.normal(size=(3, 50))
    sigma = np.exp(0.5 * rng.normal(size=50) - 1)
    new_mu, new_sigma = rule(mu, sigma, slope, slope_eps)
    return (new_sigma > 0).all() and all(
        np.allclose(zero, 0, atol=1e-9)
        for zero in (
            (new_mu - mu) / sigma**2 + slope,
            new_sigma / sigma**2 - 1 / new_sigma + slope_eps,
        )
    )


def ours(mu, sigma, slope, slope_eps, rate=1.0):
    new, log_sigma = update(mu, np.log(sigma), slope, sigma * slope_eps, rate)
    return new, np.exp(log_sigma)


def test_the_step_is_the_published_one():
    rng = np.random.default_rng(1)
    mu, slope, slope_eps = rng.normal(scale=3.0, size=(3, 200))
    sigma = np.exp(rng.normal(size=200))
    for rate in (1.0, 0.3):
        for found, expected in zip(
            ours(mu, sigma, slope, slope_eps, rate),
            published(mu, sigma, slope, slope_eps, rate),
            strict=True,
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_step_minimizes_the_loss_plus_the_divergence_and_no_other_sign_does():
    assert optimal(ours) and optimal(published)
    for i in range(4):
        signs = [1, 1, 1, 1]
        signs[i] = -1
        with np.errstate(invalid="ignore"):
            assert not optimal(lambda *args, signs=signs: published(*args, signs=signs))


def test_sigma_stays_positive_and_finite_in_float32():
    """The printed difference is 0 in float32 where the logarithm is exact."""
    log_sigma = np.zeros(3, np.float32)
    slope = np.array([1e5, 0.0, -1e5], np.float32)
    mu, new = update(np.zeros(3, np.float32), log_sigma, slope, slope)
    assert mu.dtype == new.dtype == np.float32
    np.testing.assert_allclose(new, [-np.log(1e5), 0, np.log(1e5)], rtol=1e-6)
    assert published(0, np.float32(1), slope, slope)[1][0] == 0


def test_without_slopes_nothing_moves_and_with_rate_0_no_mean_does():
    rng = np.random.default_rng(2)
    mu, log_sigma, slope = rng.normal(size=(3, 20))
    for found, kept in zip(update(mu, log_sigma, 0 * mu, 0 * mu), (mu, log_sigma), strict=True):
        np.testing.assert_array_equal(found, kept)
    np.testing.assert_array_equal(update(mu, log_sigma, slope, slope, 0.0)[0], mu)


# The expectations.


def test_the_slopes_are_means_over_samples_of_a_plain_networks():
    network, vector, x, y, noise = random_model(-1.0, samples=3)
    mu, log_sigma = halves(network, vector)
    parts, gradient = slopes(network, vector, x, y, noise, 70, NUMPY)
    drawn = [epsilon(network, noise, s) for s in range(3)]
    each = [plain_slope(mu + np.exp(log_sigma) * eps, x, y) for eps in drawn]
    dmu, dlog_sigma = halves(network, gradient)
    np.testing.assert_allclose(dmu, np.mean([slope for slope, _ in each], axis=0), atol=1e-10)
    expected = np.mean([slope * eps for (slope, _), eps in zip(each, drawn, strict=True)], axis=0)
    np.testing.assert_allclose(dlog_sigma, np.exp(log_sigma) * expected, atol=1e-10)
    # the history is of the whole task, the slopes are of the minibatch
    assert parts.log_likelihood == pytest.approx(10 * np.mean([total for _, total in each]))
    assert parts.kl_weights == 0


# The limit of small deviations.


@pytest.mark.parametrize("log_sigma", [-7.0, -12.0])
def test_a_step_with_one_sample_and_a_tiny_sigma_is_gradient_descent(log_sigma):
    """Every weight has the rate eta * sigma**2; the difference is of the order of sigma."""
    network, vector, x, y, noise = random_model(log_sigma)
    mu, log_sigmas = halves(network, vector)
    dmu, dlog_sigma = halves(network, slopes(network, vector, x, y, noise, 7, NUMPY)[1])
    moved, narrowed = update(mu, log_sigmas, dmu, dlog_sigma, 0.7)
    expected = -0.7 * np.exp(2 * log_sigmas) * plain_slope(mu, x, y)[0]
    tolerance = 100 * np.exp(log_sigma)
    step = moved - mu
    assert np.abs(step - expected).max() < tolerance * np.abs(expected).max()
    assert np.abs(step).max() > 0
    assert np.abs(narrowed - log_sigmas).max() < tolerance


@pytest.mark.parametrize("rate_end", [1.0, 0.1])
def test_an_epoch_with_a_tiny_sigma_is_stochastic_gradient_descent(make_task, rate_end):
    """The learner's own loop, in float32, from the same start over the same minibatches."""
    sigma = 1e-6
    task = make_task(0)
    learner = learner_of(
        start_sigma=sigma, rate=0.01 / sigma**2, samples=1, epochs=1, rate_end=rate_end
    )
    context = accept(learner.context, task)
    network = context.next_network(2)
    weights = halves(network, start(context, network, task))[0].astype(float)
    begin = weights.copy()
    learner.learn(task, progress=False)
    plain = plain_network(6, (8,), 2)
    for step, rows in enumerate(minibatches(120, 20, context.key("train"))):
        _, cache = plain.log_likelihood(weights, task.x_train[rows], task.y_train[rows], NUMPY)
        weights -= 0.01 * geometric(1.0, rate_end, step, 6) * plain.log_likelihood_vjp(-1.0, cache)
    found = halves(network, learner.assemble(0)[1])[0]
    assert np.abs(weights - begin).max() > 0.1
    np.testing.assert_allclose(found, weights, atol=1e-4)


# The limit of Bayes' rule.


def linear_gaussian(pieces, samples=0, seed=0):
    """Learn a linear Gaussian model with orthogonal inputs piece by piece; return the relative
    errors of the means and of the precisions.

    A piece has 1 / pieces of the information A and of the vector b of all data, so its loss is
    (w A w / 2 - b w) / pieces.  With 0 samples the expectations are exact.
    """
    rng = np.random.default_rng(seed)
    x = np.linalg.qr(rng.normal(size=(30, 4)))[0] * [1.0, 2.0, 3.0, 4.0]
    y = x @ rng.normal(size=4) + 0.5 * rng.normal(size=30)
    information, linear = (x**2).sum(axis=0) / 0.25, x.T @ y / 0.25
    prior_mu, prior_sigma = rng.normal(size=4), 0.8
    mu, log_sigma = prior_mu, np.full(4, np.log(prior_sigma))
    for _ in range(pieces):
        eps = rng.normal(size=(samples, 4)) if samples else np.array([np.ones(4), -np.ones(4)])
        slope = (information * (mu + np.exp(log_sigma) * eps) - linear) / pieces
        dlog_sigma = np.exp(log_sigma) * (slope * eps).mean(axis=0)
        mu, log_sigma = update(mu, log_sigma, slope.mean(axis=0), dlog_sigma)
    precision = 1 / prior_sigma**2 + information
    mean = (prior_mu / prior_sigma**2 + linear) / precision
    return np.abs(mu - mean).max(), np.abs(np.exp(-2 * log_sigma) / precision - 1).max()


def test_on_a_linear_gaussian_model_it_approaches_the_exact_posterior():
    """The error is that of the rates' step size: ten times the pieces, a tenth of the error."""
    errors = np.array([linear_gaussian(pieces) for pieces in (100, 1000, 10_000)])
    assert errors[-1].max() < 2e-3
    # up to a logarithm of the number of pieces
    assert ((errors[:-1] / errors[1:] > 5) & (errors[:-1] / errors[1:] < 12)).all()


def test_with_sampled_expectations_it_approaches_the_same_posterior():
    assert max(linear_gaussian(5000, samples=10)) < 0.1


# The learner.


def test_it_learns_and_keeps(make_task):
    *_, last = learn_stream(learner_of(epochs=8), [make_task(t) for t in range(2)], progress=False)
    assert last.accuracy[1].min() > 0.9
    for record in last.history:
        assert (record.phase, record.steps, record.kl_weights) == ("bgd", 6, 0)
        assert record.elbo == record.log_likelihood < 0


def test_a_task_starts_at_the_posterior_of_the_last_one_and_nothing_else_is_stored(make_task):
    """With a single head a new task changes nothing but the examples."""
    learner = learner_of(single_head=True)
    learner.learn(make_task(0), progress=False)
    assert learner.knowledge.memory == {}
    context = accept(learner.context, make_task(1))
    network = context.next_network(2)
    vector = start(context, network, make_task(1))
    np.testing.assert_array_equal(vector, learner.assemble(0)[1])
    data = Data(make_task(1).x_train, make_task(1).targets)
    learned, _ = train(context, network, vector, data)
    learner.learn(make_task(1), progress=False)
    np.testing.assert_array_equal(learner.assemble(1)[1], learned)


def test_data_make_weights_certain_where_there_are_any(make_task):
    """Weights of an input that is always 0 keep their sigma bit for bit; the others' falls."""
    task = make_task(0)
    task = dataclasses.replace(task, x_train=task.x_train * np.array([1, 1, 1, 1, 1, 0]))
    learner = learner_of(samples=10)
    learner.learn(task, progress=False)
    network, vector = learner.assemble(0)
    log_sigma = network.layout.view(vector, "hidden0.weight.log_sigma")
    np.testing.assert_array_equal(log_sigma[5], np.float32(np.log(SMALL.start_sigma)))
    assert log_sigma[:5].mean() < np.log(SMALL.start_sigma)
