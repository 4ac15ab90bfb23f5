"""The catalogue of checks is complete, all checks pass, and mistakes and crashes are reported."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from quick import quick

from ibpcl import noise
from ibpcl.errors import UserError
from ibpcl.numerics import logit
from ibpcl.paper import catalogue, pairs, rendering
from ibpcl.paper.checks import Check, Outcome
from ibpcl.primitives import bernoulli, concrete, gaussian, kumaraswamy, local_linear, weibull
from ibpcl.verify.running import trap

CHECKS = catalogue.checks()
NAMES = [str(check) for check in CHECKS]


@pytest.mark.parametrize(
    "check",
    quick(
        [
            "gradients/kernels.activations.relu",
            "gradients/kernels.convolution.patches.height3.width2.stride1.padding1",
            "gradients/activations.relu",
            "gradients/gaussian.log_density",
            "gradients/local_linear.kept_moments",
            "gradients/masked_weights.sample_mean_field.bernoulli",
            "gradients/sticks.log_odds.logit",
            "gradients/depth.Blocks.forward",
            "gradients/gated.gates",
            "gradients/elbo.softplus.concrete",
            "gradients/elbo.learned-alpha.concrete",
            "gradients/fixed-elbo.logistic",
            "densities/weibull.log_density",
            "samplers/weibull.sample",
            "divergences/concrete.kl",
            "estimators/weibull.sample.k",
            "definitions/mask-storage",
            "definitions/algorithm.coresets",
            "errata/mask-kl-which",
            "errata/uniform-prior",
        ],
        CHECKS,
        "each group is there; `ibpcl check` runs all",
    ),
)
def test_the_check_passes(check):
    result = catalogue.run(check, seed=1)
    assert result.outcome.ok, result.outcome.text or result.outcome.words
    assert any(c.isdigit() for c in result.outcome.words) or "equal" in result.outcome.words
    assert max(map(len, rendering.line(result).splitlines())) <= 80
    assert max(map(len, rendering.line(result, verbose=True).splitlines())) <= 80


@pytest.mark.processes(reason="what is loaded shows in a new process only")
def test_a_check_of_numpy_functions_imports_no_compiler_and_no_statistics():
    program = """
import sys
from ibpcl.paper import catalogue
(check,) = catalogue.select(["gradients/gaussian.kl"])
assert catalogue.run(check).outcome.ok
print(sorted({"numba", "scipy.stats", "scipy.optimize"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_names_are_unique_and_groups_known():
    assert len(set(NAMES)) == len(NAMES)
    assert {check.group for check in CHECKS} == set(catalogue.GROUPS) == set(rendering.HEADS)


def functions(prefix):
    """The functions of the primitives whose name begins like that, as module.function."""
    return [
        f"{module.__name__.rsplit('.', 1)[1]}.{name}"
        for module in pairs.modules()
        if module.__name__.startswith("ibpcl.primitives.")
        for name, value in vars(module).items()
        if name.startswith(prefix)
        and not name.endswith("_vjp")
        and inspect.isfunction(value)
        and value.__module__ == module.__name__
    ]


@pytest.mark.parametrize(
    ("prefix", "groups"),
    [
        ("log_density", ["densities"]),
        ("sample", ["samplers", "estimators"]),
        ("kl", ["divergences", "estimators"]),
        ("expected", ["divergences"]),
        ("moments", ["divergences"]),
    ],
)
def test_no_distribution_of_the_package_is_left_out(prefix, groups):
    found = functions(prefix)
    assert found
    for function in found:
        assert any(
            name.startswith(
                f"{group}/{function}"[: len(group) + 1 + len("stick_breaking.expected_active")]
            )
            for group in groups
            for name in NAMES
        ), f"no check of {function} in {groups}"


def test_every_kind_of_noise_is_checked():
    for kind in ("uniform", "normal", "logistic"):
        assert inspect.isfunction(getattr(noise, kind))
        assert {f"samplers/noise.{kind}", f"samplers/kernels.noise.{kind}"} <= set(NAMES)


def outcome(name):
    (check,) = (check for check in CHECKS if str(check) == name)
    return catalogue.run(check).outcome


def scaled(function, factor):
    return lambda *arguments: (factor * function(*arguments)[0], function(*arguments)[1])


WRONG = [
    (gaussian, "sample", 1.05, "samplers/gaussian.sample"),
    (gaussian, "log_density", 1.01, "densities/gaussian.log_density"),
    (gaussian, "kl", 1.0001, "divergences/gaussian.kl"),
    (kumaraswamy, "sample", 1.1, "samplers/kumaraswamy.sample"),
    (kumaraswamy, "log_density", 0.99, "densities/kumaraswamy.log_density"),
    (concrete, "sample", 0.97, "samplers/concrete.sample"),
    (concrete, "kl_monte_carlo", 1.05, "estimators/concrete.kl_monte_carlo"),
    (bernoulli, "kl", 1.0001, "divergences/bernoulli.kl"),
    (bernoulli, "log_density", 0.99, "densities/bernoulli.log_density"),
    (local_linear, "apply", 1.1, "samplers/local_linear.apply"),
    (weibull, "sample", 1.05, "samplers/weibull.sample"),
    (weibull, "kl_to_gamma", 1.0001, "divergences/weibull.kl_to_gamma"),
]


@pytest.mark.parametrize(
    ("module", "function", "factor", "name"), WRONG, ids=[entry[-1] for entry in WRONG]
)
def test_a_wrong_distribution_is_noticed(monkeypatch, module, function, factor, name):
    monkeypatch.setattr(module, function, scaled(getattr(module, function), factor))
    assert not outcome(name).ok


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (gaussian, "estimators/gaussian.sample.log_sigma"),
        (kumaraswamy, "estimators/kumaraswamy.sample.b"),
        (weibull, "estimators/weibull.sample.k"),
    ],
)
def test_a_biased_gradient_is_noticed(monkeypatch, module, name):
    right = module.sample_vjp
    monkeypatch.setattr(
        module, "sample_vjp", lambda d, cache: tuple(1.1 * part for part in right(d, cache))
    )
    assert not outcome(name).ok


def test_a_density_of_another_place_is_noticed(monkeypatch):
    """It integrates to one, too."""
    right = gaussian.log_density
    monkeypatch.setattr(
        gaussian, "log_density", lambda x, mu, log_sigma: right(x, mu + 1e-6, log_sigma)
    )
    assert not outcome("densities/gaussian.log_density").ok


def test_a_series_that_understates_its_error_is_noticed(monkeypatch):
    right = kumaraswamy.kl_to_general_beta
    monkeypatch.setattr(
        kumaraswamy,
        "kl_to_general_beta",
        lambda *point, tolerance=1e-5: (right(*point, tolerance=1e-5)[0] + 1e-8, 0.0),
    )
    assert not outcome("divergences/kumaraswamy.kl_to_general_beta").ok


@pytest.mark.parametrize(
    ("module", "function", "shown"),
    [
        (weibull, "moments", (3.0,)),
        (weibull, "kl_to_gamma", (3.0,)),
        (gaussian, "kl", (0.7, -1.0)),
        (bernoulli, "kl", logit(np.array([0.5, 0.9, 0.01]))),
    ],
)
def test_a_form_that_is_wrong_away_from_the_points_shown_is_noticed(
    monkeypatch, module, function, shown
):
    """It is right where its first parameter is one of those that the catalogue prints, and nowhere
    else.
    """
    right = getattr(module, function)

    def spoiled(first, *rest):
        out, cache = right(first, *rest)
        factor = 1.0 if np.isin(first, shown).all() else 1.001
        return (
            tuple(factor * part for part in out) if isinstance(out, tuple) else factor * out
        ), cache

    monkeypatch.setattr(module, function, spoiled)
    assert not outcome(f"divergences/{module.__name__.rpartition('.')[2]}.{function}").ok


def test_noise_of_equal_streams_is_noticed(monkeypatch):
    right = noise.normal
    monkeypatch.setattr(noise, "normal", lambda key, *rest: right(key._replace(stream=0), *rest))
    assert not outcome("samplers/noise.streams").ok


def test_targets_select():
    assert {check.group for check in catalogue.select(["errata"])} == {"errata"}
    assert [
        str(check) for check in catalogue.select(["divergences/gaussian.kl", "errata/acc-unit"])
    ] == ["divergences/gaussian.kl", "errata/acc-unit"]
    assert {check.group for check in catalogue.select(["kumaraswamy.sample"])} == {
        "gradients",
        "samplers",
        "estimators",
    }
    assert all(check.name.endswith(".kl") for check in catalogue.select(["*.kl"]))
    assert len(catalogue.select([])) == len(CHECKS)
    with pytest.raises(
        UserError, match=r"no check is called 'kumaraswmy.sample'; did you mean kumaraswamy.sample"
    ):
        catalogue.select(["kumaraswmy.sample"])


def test_a_check_that_raises_has_failed():
    def broken(seed):
        return np.ones(3) @ np.ones(4)

    result = catalogue.run(Check("definitions", "broken", broken))
    assert not result.outcome.ok
    assert result.outcome.words.startswith("ValueError: ")


def test_an_interrupt_is_not_swallowed():
    def interrupted(seed):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        catalogue.run(Check("definitions", "interrupted", interrupted))


def test_each_check_has_a_seed_of_its_own():
    seeds = []
    for name in ("a", "b"):
        check = Check("definitions", name, lambda seed: seeds.append(seed))
        for seed in (0, 1, 0):
            catalogue.run(check, seed)
    assert seeds[0] == seeds[2]
    assert len(set(seeds)) == 4


@pytest.mark.processes(reason="checks are shared between processes")
@pytest.mark.parametrize("cores", [1, 2])
def test_processes_share_the_checks_and_change_no_outcome(monkeypatch, cores):
    monkeypatch.setattr(catalogue, "usable", lambda: cores)
    chosen = catalogue.select(["gaussian.kl", "errata/acc-unit"])
    results = list(catalogue.run_all(chosen, seed=1))
    assert [result.check for result in results] == chosen and len(chosen) > 2
    for result in results:
        alone = catalogue.run(result.check, seed=1)
        assert (result.verdict, result.outcome.words) == (alone.verdict, alone.outcome.words)
        assert result.report is None or (
            result.report.inputs == alone.report.inputs and not result.report.curves
        )


def test_curves_are_kept_where_they_are_wanted():
    results = list(catalogue.run_all(catalogue.select(["gradients/gaussian.kl"]), curves=True))
    assert any(result.report.curves for result in results)


@pytest.mark.processes(reason="checks are shared between processes")
def test_a_check_in_another_process_that_raises_or_takes_too_long_ends_no_other(monkeypatch):
    monkeypatch.setattr(catalogue, "usable", lambda: 2)
    monkeypatch.setattr(trap, "LAG", 0.0)

    def endless(seed):
        while True:
            pass

    chosen = [
        Check("errata", "raises", lambda seed: 1 / 0),
        Check("errata", "endless", endless),
        Check("errata", "right", lambda seed: Outcome(True, "right")),
    ]
    results = list(catalogue.run_all(chosen, timeout=0.5))
    assert [result.verdict for result in results] == ["wrong", "undecided", "ok"]
    assert "ZeroDivisionError" in results[0].outcome.words and "0.5 s" in results[1].outcome.words
