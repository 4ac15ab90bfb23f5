"""Every primitive at the ends of the number range, in both types, against 300-digit arithmetic.

The table lists the terms whose sum is the value.  Errors are measured relative to the size of the
terms, because terms may cancel, such as those of a log density.  Divergences of masks and weights,
probabilities and masks have a single term: they and their gradients must be accurate relative to
their own size, however small it is.
"""

import functools
import inspect
import itertools
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
from mpmath import exp, expm1, log, log1p, loggamma, mpf
from quick import quick

from ibpcl.paper import pairs
from ibpcl.primitives import (
    activations,
    bernoulli,
    concrete,
    gaussian,
    horseshoe,
    kumaraswamy,
    latent,
    likelihoods,
    stick_breaking,
    sticks,
    weibull,
)

TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
DIGITS = 300
# step of central differences, accurate to a hundred digits
H = mpf(10) ** -100
LEAST = {np.float32: 1e-37, np.float64: mpf(10) ** -150}  # the type has none, or the differences
TOLERANCE = {np.float32: 4e-6, np.float64: 4e-14}
# Linear algebra, and compositions of the functions below, which have no extremes themselves.  The
# integral is accurate to 1e-6 by design.  Normalization has its extremes in test_normalization.py,
# and correlated weights have theirs in test_correlated_gaussians.py.
COMPOSED = {
    "convolution",
    "film",
    "full_covariance",
    "kronecker",
    "linear",
    "local_convolution",
    "local_linear",
    "low_rank",
    "lstm",
    "masked_convolution",
    "masked_linear",
    "masked_weights",
    "normalization",
    "pooled_convolution",
    "pooling",
    "proximal",
    "quadratic",
    "residual",
    "stick_divergence",
    "stick_breaking.log_probabilities",
}


# always accurate, of few numbers, and slow
digamma = functools.cache(mpmath.digamma)


class Case(NamedTuple):
    """A primitive of one element: dimensions (None: a number) and values of its inputs, the terms
    of each output.
    """

    dimensions: tuple
    values: tuple
    terms: object


def sigmoid(x):
    return 1 / (1 + exp(-x))


def softplus(x):
    return log1p(exp(x))


def binary_kl(t, p):
    return [
        [sigmoid(t) * log(sigmoid(t) / sigmoid(p)) + sigmoid(-t) * log(sigmoid(-t) / sigmoid(-p))]
    ]


def gaussian_kl(m, s, m0, s0):
    return [[(m - m0) ** 2 * exp(-2 * s0) / 2 + (expm1(2 * (s - s0)) - 2 * (s - s0)) / 2]]


def relaxed_given(noise, mask, t, tau):
    s = 2 * mask - 1
    return [[sigmoid(s * softplus(s * noise + softplus(s * t)) / tau)]]


def logistic_log_density(y, t, tau):
    return [log(tau), t - tau * y, -2 * softplus(t - tau * y)]


def relaxed_kl(t, p):
    x = abs(t - p)
    return [[x / mpmath.tanh(x / 2) - 2 if x else mpf(0)]]


def relaxed_estimate(noise, t, p, tau, prior_tau):
    y = (t + noise) / tau
    return [
        [
            *logistic_log_density(y, t, tau),
            *(-term for term in logistic_log_density(y, p, prior_tau)),
        ]
    ]


def to_beta(a, b, alpha):
    mean_log = -mpmath.euler - digamma(b + 1)
    return [[mean_log, -alpha / a * mean_log, log(a), log(b), -log(alpha), -1, 1 / b]]


def log_power(u, b):
    return log(-expm1(log(u) / b))


def weibull_kl(k, scale, shape, rate):
    mean = scale * mpmath.gamma(1 + 1 / k)
    mean_log = log(scale) - mpmath.euler / k
    return [
        [
            -mpmath.euler,
            mpmath.euler / k,
            -log(scale),
            log(k),
            -1,
            -shape * log(rate),
            loggamma(shape),
            -shape * mean_log,
            mean_log,
            rate * mean,
        ]
    ]


def scale_sample(eps, mu, log_sigma):
    return [[exp((mu + exp(log_sigma) * eps) / 2)]]


REAL = (-80.0, -9.0, -1e-3, 0.0, 0.4, 20.0, 80.0)
EDGE = (-60.0, -1.0, 0.0, 2.5, 60.0)
NEAR = (-80.0, -79.5, -7.0, -6.999, 0.0, 1e-4, 0.3, 19.0, 20.0, 80.0)
SCALE = (-30.0, -0.7, 0.0, 30.0)
UNIT = (1e-6, 0.3, 0.999999)
SHAPE = (1e-3, 0.5, 1.0, 31.0, 1e4)
CASES = {
    activations.relu: Case((1,), (REAL[:3] + REAL[4:],), lambda x: [[max(x, 0)]]),
    activations.leaky_relu: Case((1,), (REAL[:3] + REAL[4:],), lambda x: [[max(x, x / 100)]]),
    activations.softplus: Case((1,), (REAL,), lambda x: [[softplus(x)]]),
    activations.tanh: Case((1,), (REAL,), lambda x: [[mpmath.tanh(x)]]),
    gaussian.sample: Case((3, 2, 2), (EDGE[1:4], EDGE, SCALE), lambda e, m, s: [[m, exp(s) * e]]),
    gaussian.log_density: Case(
        (3, 2, 2),
        (EDGE, EDGE, SCALE[1:]),
        lambda x, m, s: [[-log(2 * mpmath.pi) / 2, -s, -(((x - m) * exp(-s)) ** 2) / 2]],
    ),
    gaussian.kl: Case(
        (2, 2, 2, 2),
        ((0.0, 3.0), (-30.0, -1.0, -0.9999, 0.3), (0.0, 3.0), (-1.0, 0.0)),
        gaussian_kl,
    ),
    latent.sample: Case((3, 3, 3), (EDGE[1:4], EDGE, SCALE), lambda e, m, s: [[m, exp(s) * e]]),
    latent.kl: Case(
        (3, 3, 1, 1),
        ((0.0, 3.0), (-30.0, -1.0, -0.9999, 0.3), (0.0, 3.0), (-1.0, 0.0)),
        gaussian_kl,
    ),
    bernoulli.log_density: Case(
        (3, 3), ((0.0, 1.0), REAL), lambda z, t: [[-z * softplus(-t) - (1 - z) * softplus(t)]]
    ),
    bernoulli.kl: Case((3, 2), (NEAR, NEAR), binary_kl),
    concrete.sample: Case(
        (3, 3, None), (EDGE, EDGE, (0.1, 1.0, 10.0)), lambda n, t, tau: [[sigmoid((t + n) / tau)]]
    ),
    concrete.sample_given: Case(
        (3, 3, 3, None), (EDGE, (0.0, 1.0), EDGE, (0.1, 1.0, 10.0)), relaxed_given
    ),
    concrete.log_density_logit: Case(
        (3, 3, None), (EDGE, EDGE, (0.1, 1.0, 10.0)), lambda *at: [logistic_log_density(*at)]
    ),
    concrete.log_density: Case(
        (3, 3, None),
        (UNIT, EDGE, (0.1, 1.0)),
        lambda z, t, tau: [
            [*logistic_log_density(log(z) - log1p(-z), t, tau), -log(z), -log1p(-z)]
        ],
    ),
    concrete.kl: Case((3, 2), (NEAR, NEAR), relaxed_kl),
    concrete.kl_monte_carlo: Case(
        (3, 3, 2, None, None), (EDGE[1:4], EDGE, EDGE, (0.5,), (0.5, 2.0)), relaxed_estimate
    ),
    kumaraswamy.sample: Case(
        (2, 1, 1), (UNIT, SHAPE, SHAPE), lambda u, a, b: [[log_power(u, b) / a]]
    ),
    kumaraswamy.log_density: Case(
        (2, 1, 1),
        ((-9.0, -0.3, -1e-4), SHAPE, SHAPE),
        lambda v, a, b: [[log(a), log(b), a * v, -v, b * log(-expm1(a * v)), -log(-expm1(a * v))]],
    ),
    kumaraswamy.kl_to_beta: Case((1, 1, 1), (SHAPE, SHAPE, SHAPE), to_beta),
    kumaraswamy.expected_kl_to_beta: Case(
        (1, 1, None, None),
        (SHAPE, SHAPE, (0.3, 40.0), (-2.0, 3.0)),
        lambda a, b, mean, mean_log: [[*to_beta(a, b, mean)[0][:4], -mean_log, -1, 1 / b]],
    ),
    weibull.sample: Case(
        (2, 1, 1), (UNIT, (0.5, 1.0, 31.0), SHAPE), lambda u, k, s: [[s * (-log(u)) ** (1 / k)]]
    ),
    weibull.log_density: Case(
        (2, 1, 1),
        ((1e-3, 0.5, 30.0), (0.5, 1.0, 7.0), (0.1, 1.0, 40.0)),
        lambda x, k, s: [[log(k), -log(s), k * log(x / s), -log(x / s), -((x / s) ** k)]],
    ),
    weibull.moments: Case(
        (1, 1),
        ((0.1, 1.0, 31.0, 1e4), SHAPE),
        lambda k, s: [[s * mpmath.gamma(1 + 1 / k)], [log(s), -mpmath.euler / k]],
    ),
    weibull.kl_to_gamma: Case(
        (1, 1, None, None), ((0.1, 1.0, 31.0, 1e4), SHAPE, (0.5, 5.0), (1.0, 0.1)), weibull_kl
    ),
    horseshoe.sample: Case(
        (2, 1, 1), (EDGE[1:4], (-60.0, -1.0, 0.0, 60.0), (-7.0, 0.0, 2.0)), scale_sample
    ),
    horseshoe.log_density: Case(
        (2, None),
        (REAL, (0.01, 1.0, 30.0)),
        lambda x, b: [[x / 2, -log(b), -softplus(x - 2 * log(b)), -log(mpmath.pi)]],
    ),
    horseshoe.kl: Case(
        (1, 1, None),
        ((-60.0, -1.0, 0.0, 2.5, 60.0), (-7.0, 0.0, 1.5), (0.01, 1.0, 30.0)),
        lambda m, s, b: [
            [
                m / 2,
                -log(b),
                -s,
                log(mpmath.pi),
                -log(2 * mpmath.pi * mpmath.e) / 2,
                softplus(exp(2 * s) / 2 - m + 2 * log(b)),
            ]
        ],
    ),
    horseshoe.hierarchy_kl: Case(
        (1, 1, 1, 1, None),
        ((-9.0, 0.0, 9.0), (-7.0, 1.0), (0.3, 1.0, 40.0), (0.1, 1.0, 40.0), (0.1, 1.0, 30.0)),
        lambda m, s, a, b, scale: [
            [
                m / 2,
                -s,
                log(mpmath.pi) - log(2 * mpmath.pi * mpmath.e) / 2,
                log(scale),
                log(b),
                -loggamma(a),
                -a,
                -digamma(a),
                a * digamma(a),
                a / b * exp(exp(2 * s) / 2 - m),
                a / b / scale**2,
            ]
        ],
    ),
    stick_breaking.logit_probabilities: Case(
        (2,), ((-80.0, -9.0, -0.7, -0.1, -1e-3, -1e-6),), lambda p: [[p, -log(-expm1(p))]]
    ),
    sticks.divergence: Case(
        (1, 1, 1),
        (EDGE[1:4], EDGE[1:4], (0.3, 40.0)),
        lambda a, b, alpha: to_beta(softplus(a), softplus(b), alpha),
    ),
    likelihoods.bernoulli_logistic: Case(
        (3, 2), (REAL, (0.0, 0.25, 1.0)), lambda f, y: [[-y * softplus(-f), -(1 - y) * softplus(f)]]
    ),
    likelihoods.bernoulli_probit: Case(
        (3, 2),
        ((-13.0, -3.0, 0.0, 0.4, 13.0), (0.0, 1.0)),
        lambda f, y: [[y * log(mpmath.ncdf(f)), (1 - y) * log(mpmath.ncdf(-f))]],
    ),
    likelihoods.gaussian: Case(
        (3, 1, 2),
        (EDGE, SCALE[1:], EDGE),
        lambda f, s, y: [[-log(2 * mpmath.pi) / 2, -s, -(((y - f) * exp(-s)) ** 2) / 2]],
    ),
}


def points(case, dtype):
    """Yield the inputs of a case, as the type has them, with some that float32 does not reach."""
    for point in itertools.product(*case.values):
        yield [float(dtype(value)) for value in point]
        if dtype == np.float64 and any(abs(value) == 80 for value in point):
            yield [2.5 * value if abs(value) == 80 else value for value in point]


def name_of(f):
    return f"{f.__module__.rpartition('.')[2]}.{f.__name__}"


def check(found, exact, size, dtype, where):
    assert np.asarray(found).dtype == dtype, where
    allowed = TOLERANCE[dtype] * size + LEAST[dtype]
    assert abs(mpf(np.asarray(found).item()) - exact) <= allowed, (
        where,
        np.asarray(found).item(),
        float(exact),
    )


@pytest.mark.parametrize(
    ("f", "dtype"),
    quick(
        [
            "activations.softplus-float32",
            "gaussian.sample-float32",
            "gaussian.kl-float64",
            "latent.kl-float32",
            "bernoulli.kl-float32",
            "concrete.log_density_logit-float32",
            "concrete.kl-float32",
            "kumaraswamy.sample-float32",
            "kumaraswamy.kl_to_beta-float32",
            "weibull.sample-float32",
            "weibull.moments-float32",
            "stick_breaking.logit_probabilities-float64",
            "likelihoods.bernoulli_logistic-float32",
            "likelihoods.gaussian-float32",
        ],
        itertools.product(CASES, [np.float32, np.float64]),
        "each kind of function is there, and 300-digit arithmetic is slow",
        name=lambda case: f"{name_of(case[0])}-{case[1].__name__}",
    ),
)
def test_value_and_gradient_are_right_far_out(f, dtype):
    case = CASES[f]
    f_vjp = getattr(inspect.getmodule(f), f"{f.__name__}_vjp")
    names = list(inspect.signature(f).parameters)
    varies = [
        i for i, name in enumerate(names[: len(case.dimensions)]) if name not in pairs.CONSTANT
    ]
    for point in points(case, dtype):
        inputs = [
            at if n is None else np.full((1,) * n, at, dtype)
            for at, n in zip(point, case.dimensions, strict=True)
        ]
        out, cache = f(*inputs)
        parts = out if isinstance(out, tuple) else (out,)
        with mpmath.workdps(DIGITS):
            exact_point = [mpf(at) for at in point]
            terms = case.terms(*exact_point)
            for i, (part, each) in enumerate(zip(parts, terms, strict=True)):
                check(
                    part, sum(each), sum(abs(term) for term in each), dtype, (point, f"output {i}")
                )
                dout = tuple(
                    np.asarray(np.ones_like(other) if other is part else np.zeros_like(other))
                    for other in parts
                )
                gradients = f_vjp(dout if isinstance(out, tuple) else dout[0], cache)
                gradients = gradients if isinstance(gradients, tuple) else (gradients,)
                for j, gradient in zip(varies, gradients, strict=True):
                    slopes = [
                        (after - before) / (2 * H)
                        for before, after in zip(
                            *(
                                case.terms(
                                    *exact_point[:j], exact_point[j] + h, *exact_point[j + 1 :]
                                )[i]
                                for h in (-H, H)
                            ),
                            strict=True,
                        )
                    ]
                    size = sum(abs(slope) for slope in slopes)
                    check(gradient, sum(slopes), size, dtype, (point, f"at {names[j]}"))


def test_no_primitive_is_left_out():
    wanted = {
        f"{pair.f.__module__.rpartition('.')[2]}.{pair.f.__name__}"
        for pair in pairs.documented_pairs()
        if pair.f.__module__.startswith("ibpcl.primitives.")
    }
    here = {f"{f.__module__.rpartition('.')[2]}.{f.__name__}" for f in CASES}
    assert here <= wanted
    assert {name for name in wanted - here if not {name, name.partition(".")[0]} & COMPOSED} == {
        "class_posterior.infer",
        "distillation.divergence",
        "likelihoods.categorical",
        "sticks.log_odds",
    }  # below, and in the tests of M2, of sticks and of Progress and Compress


@TYPES
@pytest.mark.parametrize("apart", [0.0, 1.0, 17.0, 40.0, 80.0])
def test_the_gradient_of_a_label_whose_probability_rounds_to_one(dtype, apart):
    logits = np.array([[[apart, 0.0, -1.0]]], dtype)
    value, cache = likelihoods.categorical(logits, np.array([0]))
    found = likelihoods.categorical_vjp(np.ones((1, 1), dtype), cache)[0, 0]
    with mpmath.workdps(DIGITS):
        weights = [exp(mpf(float(logit))) for logit in logits[0, 0]]
        others = [weight / sum(weights) for weight in weights[1:]]
        check(value, log1p(-sum(others)), -log1p(-sum(others)), dtype, apart)
        for gradient, exact in zip(found, (sum(others), *(-p for p in others)), strict=True):
            check(gradient, exact, abs(exact), dtype, apart)


@TYPES
@pytest.mark.parametrize("b", [1e-6, 1e-3, 0.5, 1.5, 7.0, 29.0, 31.0, 1e3, 1e5, 1e7, 1e9, 1e12])
@pytest.mark.parametrize("alpha", [1e-9, 0.3, 5.0])
def test_the_gradient_at_b_of_the_sticks_divergence(dtype, b, alpha):
    a, b, alpha = (np.array([value], dtype) for value in (2.0, b, alpha))
    _, cache = kumaraswamy.kl_to_beta(a, b, alpha)
    with mpmath.workdps(50):
        exact_b = mpf(float(b[0]))
        share = mpf(float(alpha[0])) / 2
        exact = (1 - 1 / exact_b) / exact_b - (1 - share) * mpmath.polygamma(1, exact_b + 1)
        # Two terms of opposite sign remain; the error is relative to their size.
        check(
            kumaraswamy.kl_to_beta_vjp(dtype(1), cache)[1][0],
            exact,
            abs(exact) + share / exact_b,
            dtype,
            b,
        )
