"""The numbers and claims of tutorial 11 agree with its run."""

import numpy as np
import pytest
from tutorial import Tutorial

pytestmark = pytest.mark.slow(reason="a training; the building of the site runs it")

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_tests_hold_its_numbers():
    tutorial.check()


def test_ewc_goes_from_naive_training_to_a_frozen_network():
    springs = tutorial["springs"]
    assert tutorial.printed.count("(naive training, bit for bit)") == 1
    np.testing.assert_array_equal(springs[0.0], tutorial["R_naive"][-1])
    stiff = springs[1_000_000.0]
    assert stiff[0] > 0.97 and abs(stiff[-1] - 0.5) < 0.07
    assert max(accuracies.mean() for accuracies in springs.values()) < 0.9


def test_the_path_integral_tends_to_the_decrease_of_the_loss():
    errors = [abs(total - fall) for total, fall in tutorial["sums"].values()]
    assert errors == sorted(errors, reverse=True) and errors[0] > 0.05 and errors[-1] < 0.005


def test_widths_shrink_where_the_pixels_vary_with_every_task():
    least, most = np.array(tutorial["widths"]).T
    assert (most < least - 0.1).all() and (np.diff(most) < 0).all()


def test_hat_shares_few_units_and_moves_nothing():
    open_gates = tutorial["gates"] > 0.5
    assert open_gates.any(axis=0).sum() < 16 and open_gates.sum() > open_gates.any(axis=0).sum()
    assert tutorial["hat_change"] < 1e-6


def test_den_copies_the_units_that_moved_further_than_its_threshold():
    units = [tutorial["den"][threshold][0][-1] for threshold in (np.inf, 0.05, 0.0)]
    changes = [tutorial["den"][threshold][2] for threshold in (np.inf, 0.05, 0.0)]
    assert units == sorted(units) and changes == sorted(changes, reverse=True)
    assert changes[0] > 0.01 and changes[-1] == 0


def test_rcl_keeps_the_best_trial_and_moves_nothing():
    for t, rows in tutorial["trials"].items():
        hidden = tutorial["rcl"].context.hidden
        assert hidden(t)[0] - hidden(t - 1)[0] == rows[rows[:, 1].argmax(), 0] and len(rows) == 6
    assert tutorial["rcl_change"] == 0


def test_three_of_eight_methods_cannot_forget():
    table = tutorial["table"]
    assert len(table) == 8
    for name in ("rcl", "hat", "den"):
        assert max(abs(transfer) for _, transfer, _ in table[name]) < 0.005
    assert min(letters[1] for letters, _ in table.values()) < -0.01


def test_naive_training_is_good_on_the_letters_and_worst_on_permuted_pixels():
    letters, permuted = (
        {name: rows[stream] for name, rows in tutorial["table"].items()} for stream in (0, 1)
    )
    assert all(letters["naive"][0] > letters[name][0] for name in ("ewc", "si", "vcl", "npbcl"))
    assert round(100 * letters["naive"][1]) == -1
    assert permuted["naive"][0] < min(permuted[name][0] for name in permuted if name != "naive")
    assert permuted["naive"][1] < -0.1


def test_the_projections_satisfy_their_constraints():
    found = tutorial["projections"]
    stored = tutorial["stored"]
    assert (stored @ found["gradient"] < 0).all()
    np.testing.assert_allclose(found["GEM, first task only"], [0, -1], atol=1e-12)
    np.testing.assert_allclose(found["GEM, both tasks"], 0, atol=1e-12)
    products = stored @ found["A-GEM"]
    assert products.min() < 0 < products.max() and abs(products.mean()) < 1e-12


def test_gem_and_a_gem_forget_less_than_naive_training():
    naive = tutorial["R_naive"][-1]
    for R in tutorial["projected"].values():
        assert R[-1].mean() > naive.mean() + 0.03 and R[-1, :-1].min() > naive.min() + 0.1


def test_bgd_comes_close_to_bayes_rule_and_the_first_step_is_the_worst():
    n = np.arange(1, 101)
    means, widths = np.array(tutorial["observed"]).T
    errors = np.abs(means - 2 * n / (n + 1)) + np.abs(widths - (n + 1) ** -0.5)
    assert errors.argmax() == 0 and errors[-1] < 0.03


def test_replay_is_between_naive_and_joint_training():
    means = [tutorial[name][-1].mean() for name in ("R_naive", "R_replay", "R_joint")]
    assert means == sorted(means) and means[1] > means[0] + 0.01
    assert tutorial["replay"].generator.name == "vae_npbcl"


def test_pruning_takes_units_into_use_and_moves_nothing():
    in_use = tutorial["in_use"]
    assert in_use == sorted(in_use) and 0 < in_use[0] < in_use[-1] < 30
    assert tutorial["pruning_change"] == 0
    assert tutorial["R_pruning"][-1].mean() > 0.95


def test_only_stored_examples_compare_the_classes_of_different_tasks():
    found = tutorial["incremental"]
    for method in ("naive", "ewc"):
        assert found[method][:-1].max() < 0.1 < 0.9 < found[method][-1]
    assert found["rehearsal"].min() > 0.7


def test_the_new_task_is_detected_once_and_soon():
    (alarm,) = tutorial["alarms"]
    assert 200 <= alarm < 215
