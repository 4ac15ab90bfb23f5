"""The numbers and claims of tutorial 3 agree with its run."""

import numpy as np
from tutorial import Tutorial

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


@tutorial.holds("has 16 digits")
def test_the_difference_keeps_half_of_the_digits_and_the_complex_step_all():
    differences, imaginary = (
        {h: pair[which] for h, pair in tutorial["errors_of"].items()} for which in (0, 1)
    )
    assert min(differences, key=differences.get) == 1e-8 and 1e-10 < differences[1e-8] < 1e-6
    assert differences[1e-20] == 1 and imaginary[1e-20] < 1e-15
    assert abs(np.log10(np.finfo(float).eps)) > 15


def test_the_v_curves_have_their_depths():
    best = {
        name: np.min(np.abs(values)) / abs(tutorial["slope"])
        for name, values in tutorial["errors"].items()
    }
    at = {
        name: tutorial["steps"][np.argmin(np.abs(values))]
        for name, values in tutorial["errors"].items()
    }
    assert 1e-11 < best["forward difference"] < 1e-7 and 1e-13 < best["central difference"] < 1e-9
    assert best["Richardson, from h down"] < 1e-12 and at["Richardson, from h down"] > 0.01
    small = np.abs(tutorial["errors"]["complex step"])[tutorial["steps"] < 1e-9] / abs(
        tutorial["slope"]
    )
    assert small.max() < 1e-14


def test_the_sides_of_the_v_have_the_slopes_that_taylor_says():
    steps = tutorial["steps"]
    falling = (steps < 1e-2) & (steps > 1e-4)
    for name, order in (("forward difference", 1), ("central difference", 2)):
        sizes = np.abs(tutorial["errors"][name])
        assert abs(np.polyfit(np.log(steps[falling]), np.log(sizes[falling]), 1)[0] - order) < 0.1
        rising = (steps < 1e-9) & (steps > 1e-14) & (sizes > 0)
        assert abs(np.polyfit(np.log(steps[rising]), np.log(sizes[rising]), 1)[0] + 1) < 0.25


def test_against_a_wrong_gradient_the_curve_is_flat():
    off = abs(tutorial["wrong"] - tutorial["slope"])
    values = np.abs(
        np.array(tutorial["errors"]["complex step"]) + tutorial["slope"] - tutorial["wrong"]
    )
    np.testing.assert_allclose(values[tutorial["steps"] < 1e-4], off, rtol=1e-6)


def test_the_remainders_have_slopes_one_two_and_three():
    np.testing.assert_allclose(tutorial["slopes"], (2, 1, 3), atol=0.02)


def test_kinks_allow_what_lies_between_the_slopes():
    np.testing.assert_allclose(tutorial["difference"][0, :2], 0.5, atol=1e-9)
    assert "with slope one at the kink: True" in tutorial.printed

    def five_at_zero(dout, on):
        return dout * np.where(tutorial["at_the_kink"] == 0, 5.0, on)

    assert (
        tutorial["check"](tutorial["relu"], five_at_zero, (tutorial["at_the_kink"],))["h"].kind
        == "kink"
    )


def test_abs_is_named_and_noise_is_refused():
    assert "forward is not complex-safe" in tutorial.printed and "noisy_forward" in tutorial.printed
