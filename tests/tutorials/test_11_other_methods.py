"""The numbers and claims of tutorial 11 agree with its run."""

import numpy as np
from tutorial import Tutorial

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
