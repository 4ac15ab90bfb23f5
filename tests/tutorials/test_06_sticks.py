"""The numbers and claims of tutorial 6 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

from ibpcl.verify import check

pytestmark = pytest.mark.slow(reason="the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_the_product_is_zero_before_half_of_the_units():
    assert tutorial["product"].size == 200 and 40 < tutorial["first_zero"] < 70
    assert (
        tutorial["product"][tutorial["first_zero"] - 1]
        == 0
        < tutorial["product"][tutorial["first_zero"] - 2]
    )
    assert np.isfinite(tutorial["in_logs"]).all()
    np.testing.assert_allclose(tutorial["in_logs"][-1] / 200, -2, atol=0.3)


def test_the_plain_sample_loses_both_ends():
    rows = [line.split() for line in tutorial.printed.split("plain, float32")[1].splitlines()[1:7]]
    plain, package, exact = ([float(row[column]) for row in rows] for column in (3, 4, 2))
    assert -np.inf in plain and 0.0 in plain
    np.testing.assert_allclose(package, exact, rtol=1e-4)


def test_the_hasty_gradient_is_named_except_at_one():
    report = check(
        tutorial["kumaraswamy"].sample,
        tutorial["hasty_vjp"],
        (tutorial["u"], tutorial["a"], tutorial["b"]),
        wrt=("a", "b"),
    )
    assert report["a"].ok and report["b"].kind == "elementwise_factor"
    report = check(
        tutorial["kumaraswamy"].sample,
        tutorial["hasty_vjp"],
        (tutorial["u"], tutorial["a"], np.ones_like(tutorial["b"])),
        wrt=("a", "b"),
    )
    assert not report["b"].ok and report["b"].words.startswith(
        "right at the inputs given, wrong near by"
    )
    v, cache = tutorial["kumaraswamy"].sample(
        tutorial["u"], tutorial["a"], np.ones_like(tutorial["b"])
    )
    for one, other in zip(
        tutorial["hasty_vjp"](v, cache), tutorial["kumaraswamy"].sample_vjp(v, cache), strict=True
    ):
        np.testing.assert_allclose(one, other)


def test_the_printed_term_fails_where_the_derived_one_holds():
    printed = []
    for case in (
        (2.0, 3.0, 1.5),
        (31.0, 2.0, 30.0),
        (57.0, 0.74, 30.0),
        (5.0, 0.5, 30.0),
        (30.0, 1.0, 30.0),
    ):
        integral = tutorial["kl_by_quadrature"](*case)
        np.testing.assert_allclose(tutorial["kl_derived"](*case), integral, atol=1e-6)
        printed.append(tutorial["kl_printed"](*case))
        assert abs(printed[-1] - integral) > 0.1
    assert min(printed[:-1]) < 0 and not np.isfinite(printed[-1])


def test_the_gradient_is_zero_at_the_prior():
    assert "at q = p: 0.0e+00 0.0e+00 0.0e+00" in tutorial.printed
