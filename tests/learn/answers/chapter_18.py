"""Wrong answers to the exercises of chapter 18: text of the reference, wrong text, its name."""

from answering import letters, numbers

MEAN = "return dmean * theta * (1 - theta) * (f1 - f0), dmean * (1 - theta), dmean * theta"
GIVEN = "return dz * z * (1 - z) / tau * expit(inner) * expit(s * phi)"
OPPOSITE = "return gap * (b - opposite) / 2 * expit(np.abs(phi))"
CONSTANT = "return 0.8 * 3 + 0.2 * 1"

WRONG = {
    "18.1": [
        (
            "return theta * f1 + (1 - theta) * f0, (",
            "return theta * f0 + (1 - theta) * f1, (",
            "other_input",
        ),
        (MEAN, MEAN.replace("theta * (1 - theta) * (f1", "(f1"), "elementwise_factor"),
        (MEAN, MEAN.replace("(f1 - f0)", "(f0 - f1)"), "sign"),
        (
            MEAN,
            MEAN.replace(
                "dmean * (1 - theta), dmean * theta", "dmean * theta, dmean * (1 - theta)"
            ),
            "swapped",
        ),
        (MEAN, MEAN.replace("dmean * (1 - theta), ", "dmean, "), "elementwise_factor"),
        (MEAN, MEAN.replace("theta * (1 - theta) * (f1", "theta * (f1"), "elementwise_factor"),
    ],
    "18.2": [
        ("inner = s * logistic +", "inner = logistic +", "elementwise_factor"),
        (
            "z = expit(s * np.logaddexp(0, inner) / tau)",
            "z = expit(np.logaddexp(0, inner) / tau)",
            "elementwise_factor",
        ),
        (GIVEN, GIVEN.replace(" * expit(s * phi)", ""), "elementwise_factor"),
        (GIVEN, GIVEN.replace(" / tau", ""), "elementwise_factor"),
        (GIVEN, GIVEN.replace("expit(inner) * ", ""), "elementwise_factor"),
        (GIVEN, GIVEN.replace("expit(s * phi)", "expit(phi)"), "elementwise_factor"),
        (GIVEN, GIVEN.replace("return dz", "return s * dz")),
    ],
    "18.3": [
        (OPPOSITE, OPPOSITE.replace(" / 2", ""), "constant_factor"),
        (OPPOSITE, OPPOSITE.replace("np.abs(phi)", "phi"), "other_quantity"),
        (OPPOSITE, OPPOSITE.replace("np.abs(phi)", "-np.abs(phi)")),
        (OPPOSITE, OPPOSITE.replace("(b - opposite)", "(opposite - b)"), "sign"),
        (OPPOSITE, OPPOSITE.replace("(b - opposite) / 2", "(b - 0.5)")),
        (OPPOSITE, OPPOSITE + ".mean(axis=0)"),
    ],
    "18.4": numbers(
        CONSTANT,
        (1.4, "this is the mean of the loss: each loss needs the weight of the other mask"),
        (2.0, "this is the mean of the two losses without their probabilities"),
        (0.32, "this is the exact gradient, not the baseline"),
        (2.2, "the probability of the mask is 0.2, its log-odds are not needed"),
        (-2.6, "minus the right value"),
        "c",
    ),
    "18.5": numbers(
        "return 0.8",
        (0.2, "this is the probability that the masks differ"),
        (0.9, "this is the probability of one mask"),
        (0.82, "the two masks are not independent: they share their noise"),
        (0.1, "this is the probability that one of the masks is off, counted once"),
        1,
        [],
    ),
    "18.6": letters("b", "abc"),
    "18.7": letters("a", "abc"),
    "18.8": letters("c", "abc"),
}
