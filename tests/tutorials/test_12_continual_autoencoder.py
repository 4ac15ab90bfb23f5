"""The numbers and claims of tutorial 12 agree with its run."""

from pathlib import Path

import numpy as np
import pytest
from tutorial import Tutorial

from ibpcl.paper.numbers import KNN

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)


def errors(after, before):
    """Return the 3-NN errors in percent that are printed between two texts, by the way of
    encoding.
    """
    lines = tutorial.printed.split(after)[1].split(before)[0].splitlines()
    return {
        line.split()[0].rstrip(":"): float(line.split("error ")[1].rstrip("%"))
        for line in lines
        if "3-NN error" in line and "noise" not in line
    }


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_importance_sampling_climbs_from_the_bound_to_the_likelihood():
    values = [estimate["log_likelihood"] for estimate in tutorial["estimates"]]
    bound = tutorial["exact"] - tutorial["linear"].gap()
    assert abs(values[0] - bound) < 0.1 and values[0] < values[3] < values[5]
    assert (
        abs(values[-1] - tutorial["exact"])
        < 3 * tutorial["estimates"][-1]["monte_carlo_error"] + 0.02
    )


def test_the_first_letter_is_kept():
    R = tutorial["R"]
    assert np.isfinite(R[np.tril_indices(3)]).all() and abs(R[2, 0] - R[0, 0]) < 5


def test_the_three_numbers_are_in_this_order():
    rows = [
        line.split() for line in tutorial.printed.split("reconstruction score")[1].splitlines()[1:4]
    ]
    for _, elbo, likelihood, score in rows:
        assert float(elbo) < float(likelihood) < float(score)


@tutorial.holds("is 0.37%", "at 0.37%")
def test_the_error_that_the_paper_reports_is_quoted():
    assert KNN["npbcl"][1] == 0.37


def test_a_shift_of_codes_gives_the_oracle_an_error_of_zero():
    before = errors("reconstruction score", " before, ")
    after = errors("C: log p(x)", "noise, which")
    assert min(before["oracle"], before["common"]) > before["pixels"] + 5
    assert after["oracle"] == 0 and after["common"] == before["common"]
    for line in tutorial.printed.splitlines():
        if " before, " in line:
            first, last = (
                float(part.split()[-1]) for part in line.replace(" after", "").split(" before, ")
            )
            np.testing.assert_allclose(first, last, atol=0.01)


def test_noise_tells_which_encoder_it_went_through():
    assert float(tutorial.printed.split("noise, which encoder? 3-NN error ")[1].split("%")[0]) < 40


def test_the_table_on_the_page_about_generative_models_is_what_is_printed():
    page = (Path(__file__).parents[2] / "docs" / "unsupervised.md").read_text(encoding="utf-8")
    before = errors("reconstruction score", " before, ")
    after = errors("C: log p(x)", "noise, which")
    for name, printed in (
        ("prior N(0, I)", before),
        ("the same model, codes moved", before | after),
    ):
        (row,) = [
            line.split("|")[2:6] for line in page.splitlines() if line.startswith(f"| {name} |")
        ]
        shown = [float(cell) for cell in row]
        np.testing.assert_allclose(
            shown, [printed[way] for way in ("oracle", "inferred", "common", "pixels")], atol=3
        )
