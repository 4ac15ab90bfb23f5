"""What tutorial 11 says in words is what its numbers show."""

import numpy as np
from tutorial import Tutorial

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_every_number_in_the_text_is_held_by_a_test():
    tutorial.check()


@tutorial.holds(
    "At $\\lambda = 0$ it is naive training, to the last bit.",
    "A/B is kept, and the third task gets what a coin gets",
    "In between it is a compromise that no $\\lambda$ makes well here",
)
def test_ewc_goes_from_naive_training_to_a_frozen_network():
    springs = tutorial["springs"]
    assert (
        "lambda         0" in tutorial.printed
        and tutorial.printed.count("(naive training, bit for bit)") == 1
    )
    np.testing.assert_array_equal(springs[0.0], tutorial["R_naive"][-1])
    stiff = springs[1_000_000.0]
    assert stiff[0] > 0.97 and abs(stiff[-1] - 0.5) < 0.07
    assert max(accuracies.mean() for accuracies in springs.values()) < 0.9


@tutorial.holds("a small rate makes it small")
def test_the_path_integral_tends_to_the_fall_of_the_loss():
    errors = [abs(total - fall) for total, fall in tutorial["sums"].values()]
    assert errors == sorted(errors, reverse=True) and errors[0] > 0.05 and errors[-1] < 0.005


@tutorial.holds("So the widths are VCL's memory.")
def test_widths_shrink_where_the_pixels_vary_with_every_task():
    faint, strong = np.array(tutorial["widths"]).T
    assert (strong < faint - 0.1).all() and (np.diff(strong) < 0).all()


@tutorial.holds(
    "Few units are enough, later tasks use units of earlier ones as they are, and A/B's "
    "predictions have not moved."
)
def test_hat_shares_few_units_and_moves_nothing():
    open_gates = tutorial["gates"] > 0.5
    assert open_gates.any(axis=0).sum() < 16 and open_gates.sum() > open_gates.any(axis=0).sum()
    assert tutorial["hat_change"] < 1e-6


@tutorial.holds(
    "At infinity nothing is copied: few units, and A/B's predictions drift.",
    "the network grows fastest, and what A/B predicts stays what it is, bit for bit",
)
def test_den_copies_what_moved_further_than_its_threshold():
    units = [tutorial["den"][threshold][0][-1] for threshold in (np.inf, 0.05, 0.0)]
    changes = [tutorial["den"][threshold][2] for threshold in (np.inf, 0.05, 0.0)]
    assert units == sorted(units) and changes == sorted(changes, reverse=True)
    assert changes[0] > 0.01 and changes[-1] == 0


@tutorial.holds(
    "the best network of all trials is kept", "With so few trials the controller hardly learns"
)
def test_rcl_keeps_the_best_trial_and_moves_nothing():
    for t, rows in tutorial["trials"].items():
        added = tutorial["rcl"].context.hidden(t)[0] - tutorial["rcl"].context.hidden(t - 1)[0]
        assert added == rows[rows[:, 1].argmax(), 0] and len(rows) == 6
    assert tutorial["rcl_change"] == 0


@tutorial.holds("Three of the eight rows must have a transfer of zero or all but zero")
def test_three_methods_cannot_forget():
    assert len(tutorial["table"]) == 8
    for name in ("rcl", "hat", "den"):
        assert abs(tutorial["table"][name][1]) < 0.005
    assert min(transfer for _, transfer, _ in tutorial["table"].values()) < -0.01
