"""Wrong answers to the exercises of chapter 18: text of the reference, wrong text, its name."""

from answering import letters

MEAN = "return dmean * theta * (1 - theta) * (f1 - f0), dmean * (1 - theta), dmean * theta"
GIVEN = "return dz * z * (1 - z) / tau * sigmoid(inner) * sigmoid(s * phi)"
OPPOSITE = "return gap * (b - opposite) / 2 * sigmoid(np.abs(phi))"
CONSTANT = "    return 0.8 * 3 + 0.2 * 1\n"

WRONG = {
    "18.1": [
        ("return theta * f1 + (1 - theta) * f0, (", "return theta * f0 + (1 - theta) * f1, ("),
        (MEAN, MEAN.replace("theta * (1 - theta) * (f1", "(f1")),
        (MEAN, MEAN.replace("(f1 - f0)", "(f0 - f1)")),
        (
            MEAN,
            MEAN.replace(
                "dmean * (1 - theta), dmean * theta", "dmean * theta, dmean * (1 - theta)"
            ),
        ),
        (MEAN, MEAN.replace("dmean * (1 - theta), ", "dmean, ")),
        (MEAN, MEAN.replace("theta * (1 - theta) * (f1", "theta * (f1")),
    ],
    "18.2": [
        ("inner = s * logistic +", "inner = logistic +"),
        ("z = sigmoid(s * softplus(inner) / tau)", "z = sigmoid(softplus(inner) / tau)"),
        (GIVEN, GIVEN.replace(" * sigmoid(s * phi)", "")),
        (GIVEN, GIVEN.replace(" / tau", "")),
        (GIVEN, GIVEN.replace("sigmoid(inner) * ", "")),
        (GIVEN, GIVEN.replace("sigmoid(s * phi)", "sigmoid(phi)")),
        (GIVEN, GIVEN.replace("return dz", "return s * dz")),
    ],
    "18.3": [
        (OPPOSITE, OPPOSITE.replace(" / 2", "")),
        (OPPOSITE, OPPOSITE.replace("np.abs(phi)", "phi")),
        (OPPOSITE, OPPOSITE.replace("np.abs(phi)", "-np.abs(phi)")),
        (OPPOSITE, OPPOSITE.replace("(b - opposite)", "(opposite - b)")),
        (OPPOSITE, OPPOSITE.replace("(b - opposite) / 2", "(b - 0.5)")),
        (OPPOSITE, OPPOSITE + ".mean(axis=0)"),
    ],
    "18.4": [(CONSTANT, f"    return {x}\n") for x in ("1.4", "2.0", "0.32", "2.2", "-2.6", "'c'")],
    "18.5": [
        ("    return 0.8\n", f"    return {x}\n") for x in ("0.2", "0.9", "0.82", "0.1", "1", "[]")
    ],
    "18.6": letters("b", "abcd"),
    "18.7": letters("a", "abcd"),
    "18.8": letters("c", "abcd"),
}
