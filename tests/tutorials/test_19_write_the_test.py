"""The claims of tutorial 19 agree with its run."""

import numpy as np
from tutorial import Tutorial

tutorial = Tutorial(__file__)


def caught_by(name):
    row = [test.__name__ for test in tutorial["TESTS"]].index(name)
    names = [wrong.__name__ for wrong in tutorial["MISTAKES"]]
    return {mistake for mistake, hit in zip(names, tutorial["caught"][row], strict=True) if hit}


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_the_right_gradient_passes_and_the_generic_test_alone_catches_everything():
    assert "right gradient passes: True" in tutorial.printed
    full = tutorial["caught"].all(axis=1)
    assert [test.__name__ for test, all_ in zip(tutorial["TESTS"], full, strict=True) if all_] == [
        "generic"
    ]


def test_the_weak_tests_have_the_blind_spots_that_the_text_names():
    assert caught_by("shapes") == set()
    factors = {"scale_twice", "no_scale"}
    assert not factors & caught_by("ones") and "wrong_sign" not in caught_by("ones")
    assert not factors & caught_by("adds_up_to_zero") and caught_by("adds_up_to_zero")
    assert not factors & caught_by("two_examples")
    assert "mean_of_everything" not in caught_by("at_one_column")
    assert factors <= caught_by("at_one_column")
    assert not factors & caught_by("at_unit_scale")


def test_the_right_gradient_of_two_examples_is_zero():
    dx = tutorial["standardize_vjp"](
        np.array([[1.0, 2.0, -1.0], [0.3, 0.0, 4.0]]), tutorial["standardize"](tutorial["two"])[1]
    )
    assert np.abs(dx).max() < 1e-9


def test_the_tolerance_lies_in_a_wide_gap():
    right = tutorial["curves"]["standardize_vjp"]
    assert right.min() < 1e-8 and tutorial["least"] > 0.05
    assert tutorial["STEP"] == 1e-5
