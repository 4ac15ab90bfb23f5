"""Wrong answers to the exercises of chapter 13: text of the reference, wrong text, its name."""

from answering import letters, numbers

DENSITY = "return -0.5 * np.log(2 * np.pi) - np.log(sigma) - t * t / 2 - np.log(x)"
QUANTILE = "return -np.log1p(-u) / rate"
ENTROPY = "return 1 - np.log(2)"

WRONG = {
    "13.1": [
        (DENSITY, DENSITY.removesuffix(" - np.log(x)"), "missing_term"),
        (DENSITY, DENSITY.replace("- np.log(x)", "+ np.log(x)"), "sign"),
        (DENSITY, DENSITY.replace("- np.log(sigma)", "- 2 * np.log(sigma)"), "missing_term"),
        (DENSITY, DENSITY.replace("t * t / 2", "t * t"), "elementwise_factor"),
        (
            DENSITY,
            DENSITY.replace("-0.5 * np.log(2 * np.pi)", "-np.log(2 * np.pi)"),
            "missing_term",
        ),
        (DENSITY, DENSITY.replace("return ", "return np.exp(") + ")", "other_result"),
        ("t = (np.log(x) - mu) / sigma", "t = (x - mu) / sigma", "other_quantity"),
        ("t = (np.log(x) - mu) / sigma", "t = (np.log(x) - mu) / sigma**2", "elementwise_factor"),
    ],
    "13.2": [
        *numbers(ENTROPY, 0.0, 1.0, 2.0, 0.5, "nats"),
        (ENTROPY, "return 1 + np.log(2)", "this is the entropy for the rate 1 / 2"),
        (ENTROPY, "return np.log(2) - 1", "this is minus the entropy"),
        (ENTROPY, "return (1 - np.log(2)) / np.log(2)", "this is the entropy in bits, not in nats"),
        (ENTROPY, "return np.log(2)", "1 minus the right value"),
    ],
    "13.3": [
        (QUANTILE, "return -np.log(u) / rate", "other_input"),
        (QUANTILE, "return np.log1p(-u) / rate", "sign"),
        (QUANTILE, "return -np.log1p(-u) * rate", "other_input"),
        (QUANTILE, "return -np.log1p(-u)", "ignored_input"),
        (QUANTILE, "return 1 - np.exp(-rate * u)"),
        (QUANTILE, "return -np.log1p(u) / rate", "other_input"),
        (QUANTILE, "return np.exp(-rate * u)"),
    ],
    "13.4": letters("c", "abc"),
}
