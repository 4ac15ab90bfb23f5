"""The claims of tutorial 16 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

from ibpcl.primitives import convolution

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_one_product_is_the_sum_over_patches():
    product = tutorial["R"] @ tutorial["edge"].ravel()
    np.testing.assert_allclose(product, tutorial["h"].ravel(), atol=1e-14)
    np.testing.assert_allclose(tutorial["packed"].ravel(), product, atol=1e-14)


def test_a_moved_letter_moves_the_output_of_the_convolution_only():
    assert tutorial["shift_error"] == 0
    assert 0.2 < tutorial["dense_correlation"] < 0.8


def test_stamps_and_the_turned_kernel_are_the_adjoint():
    assert max(tutorial["stamp_error"], tutorial["turned_error"]) < 1e-13
    np.testing.assert_allclose(tutorial["inside"], tutorial["outside"])
    assert tutorial["kernel_error"] < 1e-13
    np.testing.assert_allclose(tutorial["by_complex_step"], tutorial["dw"][0, 2])


def test_mistakes_are_caught_and_the_right_gradients_pass():
    assert tutorial["adjoint_report"].ok and tutorial["masked_report"].ok
    overwritten = tutorial["overwritten"]
    assert not overwritten["x"].ok and overwritten["w"].ok
    mean = tutorial["mean_report"]
    assert mean["z"].kind == "constant_factor" and mean["v"].ok


def test_rows_two_four_and_six_are_read_twice_and_the_last_one_never():
    rows, cache = convolution.patches(np.ones((1, 10, 1, 1)), 3, 1, 2)
    read = convolution.patches_vjp(np.ones_like(rows), cache).ravel()
    np.testing.assert_array_equal(np.flatnonzero(read == 2), (2, 4, 6))
    np.testing.assert_array_equal(np.flatnonzero(read == 0), 9)
    counts = tutorial["counts"]
    assert set(np.unique(counts[2, 0])) == {0, 1, 2, 4} and counts[1, 0].max() == 9
    assert counts[3, 0].max() == 1


def test_sharing_makes_masks_fewer():
    sizes = {name: z.size for name, z in tutorial["masks"].items()}
    assert sizes == {"weight": 144, "pair": 16, "filter": 8}


def test_noise_per_output_has_the_variances_and_drops_the_covariances():
    exact = tutorial["covariance"]
    for name in ("drawn", "local"):
        np.testing.assert_allclose(
            tutorial[name].var(axis=0).mean(), np.trace(exact) / 64, rtol=0.1
        )
    np.testing.assert_allclose(tutorial["drawn"].mean(axis=1).var(), exact.mean(), rtol=0.1)
    assert tutorial["local"].mean(axis=1).var() < exact.mean() / 10


def test_filters_find_strokes_anywhere_and_a_dense_network_lags_behind():
    _, conv = tutorial["results"]["convolution"]
    _, dense = tutorial["results"]["dense"]
    assert conv[0, 0] > 0.97 and conv[1, 1] > 0.97 and conv[1, 0] > 0.97
    assert dense[1, 1] < conv[1, 1] - 0.03 and dense[0, 0] < conv[0, 0] - 0.03
    sizes = tutorial["sizes"]
    assert abs(sizes["dense"] - sizes["convolution"]) < 10


def test_the_second_task_reuses_filters():
    shared, new = tutorial["shared"], tutorial["new"]
    assert shared.sum() >= 3 and new.sum() >= 1
