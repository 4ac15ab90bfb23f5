"""The numbers and claims of tutorial 8 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_elbo_and_gap_sum_to_the_log_evidence():
    sums = [bound + gap for bound, gap in tutorial["identity"]]
    np.testing.assert_allclose(sums, tutorial["log_evidence"], rtol=1e-12)
    gaps = [gap for _, gap in tutorial["identity"]]
    assert gaps[0] > gaps[1] > gaps[2] > -1e-12 and abs(gaps[2]) < 1e-12


def test_the_joint_divergence_is_the_sum_of_the_two():
    split = tutorial["kl_v"] + tutorial["kl_B"].mean()
    assert abs(tutorial["joint"].mean() - split) < 4 * tutorial["joint_error"]
    assert tutorial["joint_error"] < 0.02 * split


def test_sampled_outputs_have_the_derived_moments_and_less_noisy_gradients():
    np.testing.assert_allclose(tutorial["o_weights"].mean(axis=0), tutorial["m"], atol=0.02)
    np.testing.assert_allclose(tutorial["o_weights"].std(axis=0), tutorial["s"], rtol=0.02)
    assert max(tutorial["shifts"].values()) < 4
    assert min(tutorial["ratios"].values()) > 2
    assert len(tutorial["binary"]) == tutorial["examples"] == 40


def test_the_local_gradient_is_the_conditional_mean_of_the_other():
    inputs, sigma, output = (tutorial[name] for name in ("inputs", "sigma_w", "o_weights"))
    x, s = inputs[0], tutorial["s"][0]
    zeta = (output[:, 0] - tutorial["m"][0]) / s
    residual = tutorial["eps_w"] - zeta[:, None] * x * sigma / s
    correlation = residual.T @ zeta / len(zeta)
    assert np.abs(correlation).max() < 4 / np.sqrt(len(zeta))


def test_a_weight_that_is_off_receives_no_gradient_from_the_data():
    _, cache = tutorial["one_weight"](0.5, -1.0, -1000.0, 1.2)
    assert all(gradient == 0 for gradient in tutorial["one_weight_vjp"](1.0, cache))


def test_the_jacobian_is_a_triangle_that_falls_down_each_column():
    jacobian = np.abs(tutorial["jacobian"])
    assert (np.triu(jacobian, 1) == 0).all() and (
        np.tril(jacobian)[np.tril_indices(len(jacobian))] > 0
    ).all()
    assert all((np.diff(jacobian[i:, i]) < 0).all() for i in range(len(jacobian)))


def test_the_forgotten_path_spoils_some_entries_of_rho():
    wrong = {
        item.name: (item.numbers["wrong"], item.numbers["compared"])
        for item in tutorial["report"].inputs
        if not item.ok
    }
    assert set(wrong) == {"rho", "logit_pi"} and 0 < wrong["rho"][0] < wrong["rho"][1]


def test_all_comparisons_agree():
    for name, gradient in tutorial["by_hand"].items():
        by_step = tutorial["complex_steps"](name)
        assert np.abs(gradient - by_step).max() < 1e-9 * np.abs(by_step).max()
    assert tutorial["difference"] < 1e-9


def test_seven_of_the_sixteen_norms_are_zero():
    zero = tutorial["norms"] == 0
    assert zero.shape == (4, 4) and zero.sum() == 7
    assert not zero[0].any() and zero[1].tolist() == [False, False, True, True]
    assert zero[2].tolist() == [True, True, False, False]
    assert zero[3].tolist() == [True, True, True, False]


def test_more_samples_help_until_the_minibatch_decides():
    whole, parts = (np.array(values) for values in tutorial["variance"].values())
    np.testing.assert_allclose(whole * np.array(tutorial["counts"]) / whole[0], 1, atol=0.35)
    assert parts[-1] > 0.25 * parts[0] and parts[-1] > 10 * whole[-1]


def test_only_the_scaled_minibatches_average_to_the_task():
    full = tutorial["full"]
    assert np.linalg.norm(tutorial["scaled"] - full) < 1e-9 * np.linalg.norm(full)
    assert np.linalg.norm(tutorial["unscaled"] - full) > 0.1 * np.linalg.norm(full)
    assert len(tutorial["minibatches"]) == 5 and tutorial["examples"] == 40
