"""Estimators with jumps: right ones are never called biased, and spoiled ones always are."""

import itertools

import numpy as np
import pytest
from quick import quick
from scipy.special import expit, ndtr

from ibpcl.verify.distributions.averages import average
from ibpcl.verify.distributions.checking import check_group
from ibpcl.verify.distributions.reading import group_of

PHI = [{"phi": 0.3}, {"phi": -1.2}, {"phi": 2.1}]


def value_of_mask(b):
    return (b - 0.49) ** 2


def expected_mask(phi):
    return expit(phi) * 0.2601 + (1 - expit(phi)) * 0.2401


def reinforce(u, phi):
    b = (u < expit(phi)) * 1.0
    return value_of_mask(b) * (b - expit(phi))


def reinforce_of_numbers(u, phi):
    b = 1.0 if u < expit(phi) else 0.0
    return value_of_mask(b) * (b - expit(phi))


def with_baseline(u, phi):
    b = (u < expit(phi)) * 1.0
    return (value_of_mask(b) - 0.25) * (b - expit(phi))


def arm(u, phi):
    """Augment-REINFORCE-merge: two masks from one noise variable."""
    first = (u > expit(-phi)) * 1.0
    second = (u < expit(phi)) * 1.0
    return (value_of_mask(first) - value_of_mask(second)) * (u - 0.5)


def straight_through(u, phi):
    b = (u < expit(phi)) * 1.0
    return 2 * (b - 0.49) * expit(phi) * (1 - expit(phi))


def expected_step(mu, sigma):
    return ndtr((mu - 0.7) / sigma)


def step_of_a_normal(eps, mu, sigma):
    x = mu + sigma * eps
    step = (x > 0.7) * 1.0
    return step * eps / sigma, step * (eps**2 - 1) / sigma


def choice(u, phi):
    """Three states: -1, 0 and 2 with probabilities that depend on phi."""
    p = expit(phi)
    x = np.where(u < 0.5 * p, -1.0, np.where(u < p, 0.0, 2.0))
    score = np.where(u < p, 1 - p, -p)
    return x * score


def expected_choice(phi):
    return -0.5 * expit(phi) + 2 * (1 - expit(phi))


def of_two_masks(u1, u2, phi):
    b1 = (u1 < expit(phi)) * 1.0
    b2 = (u2 < expit(2 * phi)) * 1.0
    return b1 * b2 * ((b1 - expit(phi)) + 2 * (b2 - expit(2 * phi)))


def of_a_curve(u, eps, phi):
    """A mask whose probability depends on normal noise: a jump along a curve."""
    p = expit(phi + eps)
    b = (u < p) * 1.0
    return (b - p) * b * (1 + eps**2)


def expected_curve(phi):
    x, w = np.polynomial.hermite_e.hermegauss(120)
    return np.sum(w * expit(phi + x) * (1 + x**2)) / np.sqrt(2 * np.pi)


GRADIENTS = {
    "reinforce": (reinforce, expected_mask, PHI),
    "reinforce_of_numbers": (reinforce_of_numbers, expected_mask, PHI),
    "with_baseline": (with_baseline, expected_mask, PHI),
    "arm": (arm, expected_mask, PHI),
    "step_of_a_normal": (
        step_of_a_normal,
        expected_step,
        [{"mu": 0.1, "sigma": 1.3}, {"mu": 1.1, "sigma": 0.7}, {"mu": -0.6, "sigma": 2.0}],
    ),
    "choice": (choice, expected_choice, PHI),
    "of_two_masks": (of_two_masks, lambda phi: expit(phi) * expit(2 * phi), PHI),
    "of_a_curve": (of_a_curve, expected_curve, PHI),
}
MEANS = {
    "mask": (lambda u, p: (u < p) * 1.0, lambda p: p, [{"p": 0.3}, {"p": 0.5}, {"p": 0.91}]),
    "mask_of_numbers": (
        lambda u, p: 1.0 if u < p else 0.0,
        lambda p: p,
        [{"p": 0.3}, {"p": 0.5}, {"p": 0.0013}],
    ),
    "state": (lambda u, n: np.floor(u * n), lambda n: (n - 1) / 2, [{"n": 60}, {"n": 7}, {"n": 3}]),
    "tail": (
        lambda eps, c: (eps > c) * eps**2,
        lambda c: c * np.exp(-(c**2) / 2) / np.sqrt(2 * np.pi) + ndtr(-c),
        [{"c": 1.0}, {"c": -0.4}, {"c": 2.6}],
    ),
    "sign": (
        lambda rademacher, a: (a + rademacher) ** 3,
        lambda a: a**3 + 3 * a,
        [{"a": 0.4}, {"a": 1.3}, {"a": 2.2}],
    ),
    "two": (
        lambda u, eps, a: (u < expit(a * eps)) * eps,
        lambda a: (
            np.sum(
                np.multiply(*np.polynomial.hermite_e.hermegauss(150))
                * expit(a * np.polynomial.hermite_e.hermegauss(150)[0])
            )
            / np.sqrt(2 * np.pi)
        ),
        [{"a": 0.4}, {"a": 1.3}, {"a": 0.9}],
    ),
}
SPOILED = {
    "one_percent": lambda value: 1.01 * value,
    "twice": lambda value: 2 * value,
    "half": lambda value: value / 2,
    "minus": lambda value: -value,
    "shifted": lambda value: value + 0.01,
    "zero": lambda value: 0 * value,
}


def with_same_arguments(function, change):
    """Return a function with its output changed, and its signature kept."""
    names = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])

    def changed(*values):
        result = function(*values)
        return tuple(map(change, result)) if isinstance(result, tuple) else change(result)

    return eval(f"lambda {names}: changed({names})", {"changed": changed})


def verdict_on(role, estimator, expectation, parameters):
    functions = {role: estimator, "expectation": expectation}
    report = check_group(group_of("estimators", functions, parameters=parameters))
    (item,) = [item for item in report.items if item.numbers or item.verdict != "ok"]
    return item


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_right_gradient_estimator_with_jumps_is_ok(name):
    verdict = verdict_on("score_function", *GRADIENTS[name])
    assert verdict.verdict == "ok", str(verdict)
    assert np.all(verdict.numbers["error"] < 1e-6)


@pytest.mark.parametrize("name", MEANS)
def test_a_right_estimator_with_jumps_is_ok(name):
    verdict = verdict_on("estimator", *MEANS[name])
    assert verdict.verdict == "ok", str(verdict)


@pytest.mark.parametrize(
    ("name", "change"),
    quick(
        [
            "reinforce-one_percent",
            "arm-minus",
            "step_of_a_normal-shifted",
            "choice-one_percent",
            "of_a_curve-zero",
        ],
        itertools.product(
            ["reinforce", "arm", "step_of_a_normal", "choice", "of_a_curve"], SPOILED
        ),
        "each estimator is there, and the smallest changes",
        name="-".join,
    ),
)
def test_a_spoiled_gradient_estimator_with_jumps_is_biased(name, change):
    estimator, *rest = GRADIENTS[name]
    changed = with_same_arguments(estimator, SPOILED[change])
    verdict = verdict_on("score_function", changed, *rest)
    assert verdict.verdict == "wrong", str(verdict)
    gaps = np.abs(verdict.numbers["mean"] - verdict.numbers["right"])
    errors = verdict.numbers["error"] + verdict.numbers["error_of_right"]
    assert np.any(gaps > 100 * errors)


@pytest.mark.parametrize(
    ("name", "change"),
    quick(
        [f"{name}-{change}" for name in MEANS for change in ("one_percent", "shifted")],
        itertools.product(MEANS, SPOILED),
        "each estimator is there, with the smallest changes",
        name="-".join,
    ),
)
def test_a_spoiled_estimator_with_jumps_is_biased(name, change):
    estimator, *rest = MEANS[name]
    changed = with_same_arguments(estimator, SPOILED[change])
    assert verdict_on("estimator", changed, *rest).verdict == "wrong"


def test_the_straight_through_gradient_is_biased():
    verdict = verdict_on("reparameterized", straight_through, expected_mask, PHI)
    assert verdict.verdict == "wrong" and verdict.kind != "undecided", str(verdict)


@pytest.mark.parametrize(
    "estimator",
    [
        lambda u, p: 1 / u + 0 * p,  # its mean is infinite
        lambda u, p: np.sin(1e9 * u * p) + p,  # far more waves than levels
    ],
)
def test_a_mean_that_cannot_be_known_is_undecided(estimator):
    verdict = verdict_on("estimator", estimator, lambda p: p, [{"p": 0.3}, {"p": 0.5}, {"p": 0.7}])
    assert verdict.verdict == "undecided", str(verdict)


def test_an_estimator_that_is_not_finite_with_some_probability_is_wrong():
    verdict = verdict_on(
        "estimator",
        lambda u, p: np.where(u < 0.01, np.nan, p),
        lambda p: p,
        [{"p": 0.3}, {"p": 0.5}, {"p": 0.7}],
    )
    assert verdict.verdict == "wrong"


@pytest.mark.parametrize("size", [None, "size"])
def test_an_estimator_that_draws_shows_how_small_a_bias_it_can_show(size):
    if size:
        right = eval("lambda rng, size, p: (rng.random(size) < p) * 1.0")
    else:
        right = eval("lambda rng, p: (rng.random() < p) * 1.0")
    given = (lambda p: p, [{"p": 0.3}, {"p": 0.5}, {"p": 0.7}])
    verdict = verdict_on("estimator", right, *given)
    # 4,000 single draws do not show a bias of 1 %
    assert verdict.verdict == ("ok" if size else "undecided"), str(verdict)
    spoiled = with_same_arguments(right, lambda value: 1.01 * value)
    assert verdict_on("estimator", spoiled, *given).verdict == ("wrong" if size else "undecided")
    spoiled = with_same_arguments(right, lambda value: 2 * value)
    assert verdict_on("estimator", spoiled, *given).verdict == "wrong"


@pytest.mark.parametrize("seed", range(30))
def test_the_error_of_an_integral_with_jumps_is_honest(seed):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.uniform(size=rng.integers(1, 9)))
    ends = np.concatenate([[0], cuts, [1]])
    polynomials = [np.polynomial.Polynomial(rng.normal(size=4)) for _ in range(len(ends) - 1)]

    def function(u):
        piece = np.searchsorted(cuts, u)
        return np.choose(piece, [p(u) for p in polynomials])

    right = sum(
        p.integ()(b) - p.integ()(a)
        for p, a, b in zip(polynomials, ends[:-1], ends[1:], strict=True)
    )
    found = average(function, {"u": "uniform"})
    assert abs(found.mean[0] - right) <= 10 * found.error[0] + 1e-14
    assert found.error[0] < 1e-10


def test_the_error_of_an_integral_with_a_curve_of_jumps_is_honest():
    found = average(lambda u, v: (u**2 + v**2 < 1) * 1.0, {"u": "uniform", "v": "uniform"})
    assert abs(found.mean[0] - np.pi / 4) <= 10 * found.error[0]
    assert found.error[0] < 1e-8


def test_the_same_integral_is_the_same_for_numbers_and_for_arrays():
    arrays = average(lambda u: (u < 0.37) * u, {"u": "uniform"})
    numbers = average(lambda u: u if u < 0.37 else 0.0, {"u": "uniform"})
    assert arrays.mean == pytest.approx(numbers.mean, rel=1e-12)
