"""What tutorial 9 says in words is what its numbers show; above all, that the package computes the
same.
"""

import numpy as np
import pytest
from tutorial import Tutorial

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


@tutorial.holds("about 150 lines")
def test_the_algorithm_has_about_150_lines():
    typed = tutorial.text.split("# ## Distributions")[1].split("# That was all.")[0].split("\n")
    code = [line for line in typed if line.strip() and not line.lstrip().startswith("#")]
    assert 140 < len(code) < 160


def test_the_package_computes_the_same():
    assert "equal masks: True" in tutorial.printed
    for t, mask in enumerate(tutorial["masks"]):
        np.testing.assert_array_equal(tutorial["learner"].masks(t)[0], mask)
    assert len(tutorial["differences"]) == 9 and max(tutorial["differences"].values()) < 1e-5


def test_the_first_task_is_kept():
    R = tutorial["accuracies"]
    assert R[0, 0] > 0.95 and R[1, 1] > 0.9 and abs(R[1, 0] - R[0, 0]) <= 0.01
    one, two = tutorial["masks"]
    assert (tutorial["moved"][one & ~two] == 0).all() and tutorial["moved"][one & two].mean() < 0.2


def test_masks_are_nearly_whole_units():
    one, two = (mask.mean(axis=0) for mask in tutorial["masks"])
    in_use = int((one > 0).sum())
    assert one[:in_use].min() > 0.75 and (one[in_use:] == 0).all()
    assert two[: in_use // 2].min() > 0.9 and 0 < two[in_use:].mean() < 0.3


def test_only_without_the_masked_prior_is_something_forgotten():
    accuracies = {name: pair[0] for name, pair in tutorial["variants"].items()}
    whole = accuracies["Algorithm 1"]
    assert (
        accuracies["without Eq. 11"][0] < whole[0] - 0.2
        and accuracies["without Eq. 11"][1] > whole[1] - 0.02
    )
    for name in ("without cooling", "without fine-tuning"):
        assert accuracies[name][0] > whole[0] - 0.03 and accuracies[name][1] > whole[1] - 0.06


def test_other_modules_give_the_same_posterior():
    assert "equal masks True" in tutorial.printed
    assert tutorial["difference"] < 1e-5
