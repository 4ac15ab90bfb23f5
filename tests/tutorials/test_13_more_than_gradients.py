"""The numbers and claims of tutorial 13 agree with its run."""

import numpy as np
from tutorial import Tutorial

from ibpcl import check, check_distribution, check_identity, check_value

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


@tutorial.holds("between 0 and 1")
def test_the_exchanged_sampler_stays_inside_and_is_named():
    report = check_distribution(
        tutorial["log_density"], sample=tutorial["sample"], mean=tutorial["mean"], support=(0, 1)
    )
    assert len(report.items) == 3 and report.ok
    draws = tutorial["exchanged"](tutorial["u"], tutorial["a"], tutorial["b"])
    assert np.all((draws > 0) & (draws < 1))
    report = check_distribution(
        tutorial["log_density"], sample=tutorial["exchanged"], support=(0, 1)
    )
    assert report["exchanged"].kind == "exchanged"


def test_a_gradient_check_does_not_see_it():
    def pair(u, a, b):
        return tutorial["exchanged"](u, a, b), (u, a, b)

    def pair_vjp(dv, cache):
        u, a, b = cache
        inner = 1 - u ** (1 / a)
        du = dv * -(1 / b) * inner ** (1 / b - 1) * u ** (1 / a - 1) / a
        da = dv * (1 / b) * inner ** (1 / b - 1) * u ** (1 / a) * np.log(u) / a**2
        db = dv * -(inner ** (1 / b)) * np.log(inner) / b**2
        return du, da, db

    inputs = {"u": np.array([0.2, 0.5, 0.8]), "a": np.full(3, 2.0), "b": np.full(3, 3.0)}
    assert check(pair, pair_vjp, inputs).ok


def test_the_old_entropy_is_wrong_without_a_name():
    for name, kind in (("entropy_until_2019", "wrong"), ("entropy", "ok")):
        report = check_distribution(tutorial["log_density"], entropy=tutorial[name], support=(0, 1))
        assert report[name].kind == kind


def test_the_reversed_divergence_is_named():
    assert tutorial["kl"](0.3, 1.2, 0.3, 1.2) == 0 and tutorial["kl"](0.3, 1.2, 0.1, 0.7) > 0
    assert (
        check_distribution(tutorial["normal"], kl=tutorial["kl"])["kl"].kind
        == "reversed_divergence"
    )


def test_the_printed_term_is_named():
    verdict = check_identity(tutorial["printed"], tutorial["by_quadrature"], tutorial["points"])
    assert "upside down" in verdict.words


@tutorial.holds("answer is 1")
def test_a_bit_is_named():
    assert check_value(1.0, np.log(2)).kind == "log_base"
