"""What tutorial 1 says in words is what its numbers show."""

import numpy as np
from tutorial import Tutorial

tutorial = Tutorial(__file__)
NAIVE = "naive"
EWC = "ewc"
VCL = "vcl"
NPBCL = "npbcl"


def matrix(name, heads="one head"):
    return tutorial["matrices"][heads, name]


def test_it_runs_as_all_do_and_every_number_in_the_text_is_held_by_a_test():
    tutorial.check()


@tutorial.holds(
    "Little more than a coin knows.",
    "A coin, which is right in 50 % of the cases, would be nearly as good on A/B now.",
    "weights that can do both exist, in the same network, and gradient descent reaches them",
)
def test_one_head_forgets_and_training_on_both_tasks_does_not():
    after, together = (tutorial["test"](tutorial[name], tutorial["first"]) for name in ("naive", "joint"))
    assert tutorial["before"] > 0.95 and 0.5 < after < 0.65
    assert together > 0.9 and tutorial["test"](tutorial["joint"], tutorial["second"]) > 0.8


@tutorial.holds(
    "A third of the way costs it almost nothing, and brings the second task half of its gain.",
    (
        "The last quarter brings the second task little, and costs the first one most of what it "
        "loses."
    ),
    "has its minimum in between",
)
def test_the_first_task_s_loss_is_flat_at_first_and_then_climbs():
    first, second = (
        dict(zip(tutorial["shares"].round(2), tutorial["losses"][tutorial[task].name], strict=True))
        for task in ("first", "second")
    )
    third = 0.35
    three_quarters = 0.75
    gain = second[0.0] - second[1.0]
    loss = first[1.0] - first[0.0]
    assert first[third] - first[0.0] < 0.05 and 0.4 < (second[0.0] - second[third]) / gain < 0.6
    assert (second[three_quarters] - second[1.0]) / gain < 0.1 and (
        first[1.0] - first[three_quarters]
    ) / loss > 0.55
    mean = np.mean(list(tutorial["losses"].values()), axis=0)
    assert 0.3 < tutorial["shares"][mean.argmin()] < 1


@tutorial.holds("At its own solution the first task has next to no gradient.")
def test_the_first_task_does_not_pull_and_the_second_does():
    assert tutorial["sizes"][1] > 20 * tutorial["sizes"][0]


@tutorial.holds("As far as the way leaves the plane, the white line is its shadow.")
def test_the_plane_goes_through_its_three_points():
    for name, (x, y) in (("theta_1", (0, 0)), ("theta_2", (1, 0))):
        np.testing.assert_allclose(tutorial["place"](tutorial[name]), (x, y), atol=1e-5)
    x, y = tutorial["place"](tutorial["theta_both"])
    back = tutorial["theta_1"] + tutorial["length"] * (x * tutorial["across"] + y * tutorial["up"])
    np.testing.assert_allclose(back, tutorial["theta_both"], atol=1e-5)
    assert max(tutorial["off"]) > 0.1 * tutorial["length"]


@tutorial.holds(
    "the parabola is far too flat for the wall that comes",
    "No weight reaches the star",
    "the weight trades one task against the other",
)
def test_the_parabola_is_too_flat_and_its_weight_trades_one_task_for_the_other():
    end, start = (np.abs(tutorial["shares"] - s).argmin() for s in (1, 0))
    losses = tutorial["losses"][tutorial["first"].name]
    along = tutorial["loss_of"](tutorial["theta_1"], tutorial["first"])
    parabola = along + tutorial["shares"] ** 2 * (tutorial["F"] * tutorial["step"] ** 2).sum() / 2
    assert 0 < parabola[end] - parabola[start] < (losses[end] - losses[start]) / 20
    kept = np.array(tutorial["kept_by_weight"])
    gained = np.array(tutorial["gained"])
    assert kept[-1] > kept[0] + 20 and gained[-1] < gained[0] - 20
    star = [100 * tutorial["test"](tutorial["joint"], tutorial[task]) for task in ("first", "second")]
    assert not ((kept >= star[0]) & (gained >= star[1])).any()


@tutorial.holds(
    "All four pass over a task's examples equally often", "The learning rates are *not* equal"
)
def test_the_methods_have_the_same_number_of_epochs_and_their_own_rates():
    epochs = {
        name: settings["epochs"] + settings.get("finetune_epochs", 0)
        for name, settings in tutorial["SETTINGS"].items()
    }
    assert (
        set(epochs.values()) == {tutorial["EPOCHS"]}
        and len({learner.settings.batch for learner in tutorial["learners"].values()}) == 1
    )
    assert tutorial["SETTINGS"][VCL]["rate"] > tutorial["SETTINGS"][NAIVE]["rate"]


@tutorial.holds(
    "With one head three methods climb the same wall, and NPBCL's line is flat.",
    "With a head for each task (right) all lines are nearly flat",
    "the third task still costs some of them points",
    "A/B comes *back* with the third task where there is one head",
)
def test_one_head_forgets_but_for_npbcl_and_a_head_each_hardly():
    for name in (NAIVE, EWC, VCL):
        R = matrix(name)
        assert R[0, 0] - R[1, 0] > 0.2 and R[2, 0] - R[1, 0] > 0.1
        line = tutorial["line_of"]("one head", name)
        assert line[-4] > line[3] + 0.4
    assert abs(matrix(NPBCL)[:, 0] - matrix(NPBCL)[0, 0]).max() <= 0.01
    for name in tutorial["SETTINGS"]:
        assert abs(matrix(name, "a head each")[1, 0] - matrix(name, "a head each")[0, 0]) < 0.04
    assert (
        min(
            (matrix(name, "a head each")[2] - np.diag(matrix(name, "a head each"))).min()
            for name in tutorial["SETTINGS"]
        )
        < -0.02
    )


@tutorial.holds(
    "About as many as a coin gets right", "A fair comparison says what each method is told."
)
def test_with_the_wrong_mask_npbcl_is_lost():
    learner = tutorial["learners"]["one head", NPBCL]
    assert abs(tutorial["test"](learner, tutorial["first"], 1) - 0.5) < 0.06
    assert tutorial["test"](learner, tutorial["first"], 0) > 0.95


@tutorial.holds("With that divergence at full weight A/B loses some points in what follows")
def test_the_masks_divergence_at_full_weight_costs_the_first_task_points():
    learner = tutorial["make"](
        NPBCL, single_head=True, **{**tutorial["SETTINGS"][NPBCL], "mask_kl_weight": 1.0}
    )
    accuracies = []
    for task in tutorial["tasks"]:
        learner.learn(task, progress=False)
        accuracies.append(tutorial["test"](learner, tutorial["first"]))
    assert 0.005 <= accuracies[0] - accuracies[-1] < 0.2


@tutorial.holds(
    "the tenth of the weights that is known best moved about two thirds as far as in naive training"
)
def test_ewc_holds_what_it_knows_best():
    assert 0.55 < tutorial["ratios"][-1] < 0.75 and tutorial["ratios"][0] > 0.9


@tutorial.holds(
    "Nearly all of its means stayed within one $\\sigma$ of where they were",
    "Both expect too little, EWC by far.",
)
def test_vcl_moves_by_less_than_a_sigma_and_both_expect_too_little():
    assert np.mean(tutorial["moves"] < 1) > 0.97
    rows = {
        line.split()[0]: [float(number) for number in line.split()[1:]]
        for line in tutorial.printed.split("leaving the first task")[1].splitlines()[1:3]
    }
    assert rows[EWC][0] < rows[EWC][1] / 100 and rows[VCL][0] < rows[VCL][1] / 2


@tutorial.holds(
    "what A/B alone uses *exactly* not",
    "what both use hardly",
    "88 % of it moved",
    "every task starts it afresh, at random",
)
def test_npbcl_moves_only_what_the_first_task_does_not_use():
    rested = tutorial["rested"]
    move = np.abs(tutorial["move"])
    users = tutorial["users"]
    assert rested["used by A/B, dropped by E/F"] == 1 and rested["used by neither"] == 0
    assert round(100 * (1 - rested["dropped by E/F, all of them"])) in range(85, 92)
    assert move[users["both"]].mean() < 0.01 * move[users["E/F\nonly"]].mean()


@tutorial.holds(
    "EWC's average with one head is the lowest because what it holds for A/B is missing for G/H."
)
def test_ewc_has_the_lowest_average_with_one_head():
    means = {name: np.mean(matrix(name)[-1]) for name in tutorial["SETTINGS"]}
    assert min(means, key=means.get) == EWC and matrix(EWC)[2, 2] == min(
        matrix(name)[2, 2] for name in means
    )
