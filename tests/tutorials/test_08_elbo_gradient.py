"""What tutorial 8 says in words is what its numbers show."""

import numpy as np
from tutorial import Tutorial

found = Tutorial(__file__)


def test_it_runs_as_all_do_and_every_number_in_the_text_is_held_by_a_test():
    found.check()


@found.says("None of them, when $z$ is really zero")
def test_a_weight_that_is_off_hears_nothing_from_the_data():
    gradients = found["one_weight_vjp"](1.0, found["one_weight"](0.5, -1.0, -1000.0, 1.2)[1])
    assert all(gradient == 0 for gradient in gradients)


@found.says(
    "The first stick moves every unit, the last one only the last.",
    "Down a column the entries fall",
    "more where $\\pi_k$ is larger",
)
def test_the_jacobian_is_a_triangle_that_falls_down_each_column():
    jacobian = np.abs(found["jacobian"])
    assert (np.triu(jacobian, 1) == 0).all() and (
        np.tril(jacobian)[np.tril_indices(len(jacobian))] > 0
    ).all()
    assert all((np.diff(jacobian[i:, i]) < 0).all() for i in range(len(jacobian)))


@found.says("Of `rho` only some entries", "Those of `rho` and `logit_pi`")
def test_the_forgotten_path_spoils_some_entries_of_rho():
    wrong = {
        item.name: (item.numbers["wrong"], item.numbers["compared"])
        for item in found["report"].inputs
        if not item.ok
    }
    assert set(wrong) == {"rho", "logit_pi"} and 0 < wrong["rho"][0] < wrong["rho"][1]


@found.says("Nothing of the package is involved but the forward.")
def test_all_judges_agree():
    for name, gradient in found["by_hand"].items():
        by_step = found["complex_steps"](name)
        assert np.abs(gradient - by_step).max() < 1e-9 * np.abs(by_step).max()
    assert found["difference"] < 1e-9


@found.says("Seven: the weights' divergence touches means and widths only")
def test_seven_of_the_sixteen_norms_are_zero():
    rows = [
        line.rsplit(maxsplit=4)[1:]
        for line in found.printed.split("norm of the gradient of")[1].splitlines()[1:5]
    ]
    zero = np.array(rows, float) == 0
    assert zero.shape == (4, 4) and zero.sum() == 7
    assert not zero[0].any() and zero[1].tolist() == [False, False, True, True]
    assert zero[2].tolist() == [True, True, False, False] and zero[3].tolist() == [
        True,
        True,
        True,
        False,
    ]


@found.says(
    "With all the examples the variance follows $1 / S$.",
    "With minibatches it bends towards a floor",
)
def test_more_samples_help_until_the_minibatch_decides():
    whole, parts = (np.array(values) for values in found["variance"].values())
    np.testing.assert_allclose(whole * np.array(found["counts"]) / whole[0], 1, atol=0.35)
    assert parts[-1] > 0.25 * parts[0] and parts[-1] > 10 * whole[-1]


@found.says(
    "the average of the five gradients *is* the gradient of the task",
    "Without the scale the prior weighs five times too much",
)
def test_only_the_scaled_minibatches_average_to_the_task():
    full = found["full"]
    assert np.linalg.norm(found["scaled"] - full) < 1e-9 * np.linalg.norm(full)
    assert np.linalg.norm(found["unscaled"] - full) > 0.1 * np.linalg.norm(full)
    assert len(found["minibatches"]) == 5 and found["examples"] == 40
