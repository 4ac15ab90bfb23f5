"""Wrong answers to the exercises of chapter 5: text of the reference, wrong text, its name."""

from answering import letters, numbers

PRODUCT = "return np.cumsum(log_v, axis=-1), None"
BACK = "return np.flip(np.cumsum(np.flip(dlog_pi, axis=-1), axis=-1), axis=-1)"
POWER = "power = np.exp(UNITS * (np.log(alpha) - np.log(alpha + 1)))"
SLOPE = "return dweights * (1 - power - UNITS * power / (alpha + 1))"
EMPTY = "return 5 * beta(5, 21)"

WRONG = {
    "5.1": [
        (PRODUCT, "return np.log(np.cumprod(np.exp(log_v), axis=-1)), None"),
        (PRODUCT, "return np.cumprod(log_v, axis=-1), None", "other_function"),
        (PRODUCT, "return np.cumsum(log_v, axis=0), None", "summed"),
        (PRODUCT, "return log_v, None", "other_result"),
        (PRODUCT, "return np.cumsum(log_v, axis=-1) - log_v, None", "shifted"),
        (PRODUCT, "return np.exp(np.cumsum(log_v, axis=-1)), None", "other_result"),
        (PRODUCT, "return np.flip(np.cumsum(np.flip(log_v, -1), axis=-1), -1), None", "shifted"),
        (BACK, "return np.cumsum(dlog_pi, axis=1)", "shifted"),
        (BACK, "return dlog_pi", "missing_term"),
        (BACK, "return np.cumsum(np.flip(dlog_pi, axis=-1), axis=-1)", "shifted"),
        (BACK, "return np.flip(np.cumsum(dlog_pi, axis=-1), axis=-1)", "other_function"),
        (BACK, "return np.flip(np.cumsum(np.flip(dlog_pi, axis=0), axis=0), axis=0)", "summed"),
        (BACK, "return np.broadcast_to(dlog_pi.sum(axis=-1, keepdims=True), dlog_pi.shape)"),
        (BACK, "return -np.flip(np.cumsum(np.flip(dlog_pi, axis=-1), axis=-1), axis=-1)", "sign"),
    ],
    "5.2": [
        (SLOPE, "return dweights * (1 - (alpha / (alpha + 1)) ** (UNITS - 1))"),
        (SLOPE, "return dweights * (1 - power)", "missing_term"),
        (SLOPE, "return dweights * (1 - power + UNITS * power / (alpha + 1))", "sign"),
        (SLOPE, "return dweights * (1 - power - UNITS * power / alpha)", "missing_term"),
        (SLOPE, "return dweights * (1 - power - UNITS * power)", "missing_term"),
        (SLOPE, "return dweights", "elementwise_factor"),
        (SLOPE, "return 1 - power - UNITS * power / (alpha + 1)", "elementwise_factor"),
        (POWER, "power = np.exp(np.log(alpha) - np.log(alpha + 1))", "elementwise_factor"),
        (POWER, "power = np.exp(UNITS * np.log(alpha + 1) - UNITS * np.log(alpha))", "sign"),
        (POWER, "power = (1 / (alpha + 1)) ** UNITS", "elementwise_factor"),
        (POWER, "power = (alpha / (alpha + 1)) ** (UNITS - 1)", "other_quantity"),
        (POWER, "power = (alpha / (alpha + 1)) ** (UNITS + 1)"),
        ("return alpha * (1 - power), (", "return 1 - power, (", "elementwise_factor"),
        ("return alpha * (1 - power), (", "return alpha * power, ("),
        ("return alpha * (1 - power), (", "return alpha - power, (", "elementwise_factor"),
    ],
    "5.3": [
        *numbers(EMPTY, 0.0, 1.0, 0.5, 1e-3, "rare"),
        (EMPTY, "return beta(5, 21)", "the factor alpha of the density is missing"),
        (EMPTY, "return 5 * beta(5, 20)"),
        (
            EMPTY,
            "return 5 * beta(5, 22)",
            "this is the probability for 21 inputs, or B(5, 22): mind the exponents",
        ),
        (
            EMPTY,
            "return (1 - 5 / 6) ** 20",
            "this is the power of the mean, not the mean of the power",
        ),
        (EMPTY, "return 1 - 5 * beta(5, 21)"),
        (EMPTY, "return beta(6, 21)"),
    ],
    "5.4": letters("c", "abc"),
    "5.5": numbers(
        "return 4.0",
        (5, "this is the limit of infinitely many units, alpha"),
        (0.2, "this is the mean probability of one unit: a row has K of them"),
        20,
        (1, "off by the constant factor 1/4"),
        3.8,
        (
            5 * (1 - (5 / 6) ** 20),
            "this is the row of the truncated limit, not of the finite model",
        ),
        "four",
    ),
}
