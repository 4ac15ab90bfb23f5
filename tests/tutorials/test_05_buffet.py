"""What tutorial 5 says in words is what its numbers show."""

import numpy as np
from tutorial import Tutorial

tutorial = Tutorial(__file__)


def test_it_runs_as_all_do_and_every_number_in_the_text_is_held_by_a_test():
    tutorial.check()


@tutorial.holds(
    "As many as the first: 5 on average.",
    "Together about 26.",
    "Mean and variance agree, as they do for Poisson variables.",
)
def test_customers_take_alpha_dishes_and_all_together_alpha_times_a_harmonic_number():
    assert (
        tutorial["alpha"] == 5 and tutorial["customers"] == 100 and round(tutorial["expected_dishes"]) == 26
    )
    for counts, mean in (
        (tutorial["firsts"], 5),
        (tutorial["lasts"], 5),
        (tutorial["dishes"], tutorial["expected_dishes"]),
    ):
        assert abs(counts.mean() - mean) < 4 * counts.std() / np.sqrt(counts.size)
        assert 0.75 < counts.var() / mean < 1.3
    np.testing.assert_allclose(np.sum(1 / np.arange(1, 10**6 + 1)), np.log(10**6) + 0.58, atol=0.01)


@tutorial.holds(
    "A small p-value, below a hundredth say, would speak against equality.",
    "the two constructions are one",
)
def test_sticks_are_the_sorted_finite_model():
    p_values = [float(line.split()[-1]) for line in tutorial.printed.splitlines() if "p-value" in line]
    assert len(p_values) == 3 and min(p_values) > 0.01


@tutorial.holds(
    "Compute the share that the prior expects before it has seen any data: 14.98 %.",
    "\"a maximum of around 15 % incoming connections\"",
)
def test_the_prior_alone_expects_fifteen_percent():
    assert round(100 * tutorial["share"], 2) == 14.98 and (tutorial["units"], tutorial["concentration"]) == (
        200,
        30,
    )
    np.testing.assert_allclose(tutorial["expected"], tutorial["share"] * tutorial["units"])
    error = tutorial["shares"].std() / np.sqrt(tutorial["shares"].size)
    assert abs(tutorial["shares"].mean() - tutorial["share"]) < 4 * error


@tutorial.holds(
    "Half of what one customer takes, the other takes, too, for every $\\alpha$.",
    "both share about half of what each task uses",
    "would share 15 % of it",
    "which is less by the variance of $\\pi_k$",
    "But that is little",
)
def test_tasks_share_half_by_the_same_sticks_and_nearly_as_much_by_separate_ones():
    same, separate, none = (
        tutorial["shared"][name] / tutorial["share"]
        for name in ("same sticks", "separate sticks", "no order")
    )
    assert abs(same - 0.5) < 0.01 and 0.47 < separate < same and round(none, 2) == 0.15
    for alpha in (1.0, 5.0):
        rng = np.random.default_rng(0)
        pairs = [tutorial["buffet"](2, alpha, rng) for _ in range(2000)]
        shared, taken = (
            np.mean([value.sum() for value in values])
            for values in ([B[0] & B[1] for B in pairs], [B[0] for B in pairs])
        )
        assert abs(shared / taken - 0.5) < 0.05
