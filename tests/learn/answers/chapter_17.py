"""Wrong answers to the exercises of chapter 17: text of the reference, wrong text, its name."""

from answering import letters, numbers

SUM = "return dh, z[:, None, None] * dy, (f * dy).sum(axis=(1, 2))"
BLOCK = "return dy + da @ w.T, h.T @ da, da.sum(axis=0), np.sum(f * dy)"
DEPTH = "return ddepth * (1 - power - limit * power / (alpha + 1))"
GAPS = "return np.mean((z[:, 1:] & ~z[:, :-1]).any(axis=1))"
PRICE = "return 42 * (-np.log(0.3) + (0.3**2 + 0.5**2 - 1) / 2)"

WRONG = {
    "17.1": [
        ("return h + z[:, None, None] * f, (", "return z[:, None, None] * f, (", "ignored_input"),
        (SUM, SUM.replace("(f * dy)", "dy"), "elementwise_factor"),
        (SUM, SUM.replace("sum(axis=(1, 2))", "mean(axis=(1, 2))"), "constant_factor"),
        (SUM, SUM.replace("z[:, None, None] * dy", "dy"), "elementwise_factor"),
        ("dh = dy.sum(axis=0) if dimensions == 2 else dy", "dh = dy", "not_summed"),
        (SUM, SUM.replace("return dh", "return -dh"), "sign"),
    ],
    "17.2": [
        ("return h + z * f, (h, w", "return h + f, (h, w", "other_input"),
        (BLOCK, BLOCK.replace("dy + ", ""), "missing_term"),
        (BLOCK, BLOCK.replace("np.sum(f * dy)", "np.sum(dy)"), "elementwise_factor"),
        (BLOCK, BLOCK.replace("da @ w.T", "da @ w"), "transposed"),
        ("da = z * dy * (f > 0)", "da = z * dy", "elementwise_factor"),
        ("da = z * dy * (f > 0)", "da = dy * (f > 0)", "elementwise_factor"),
    ],
    "17.3": [
        ("power = (alpha / (alpha + 1)) ** limit", "power = (1 / (alpha + 1)) ** limit"),
        ("return alpha * (1 - power), (", "return 1 - power, (", "elementwise_factor"),
        (DEPTH, DEPTH.replace(" - limit * power / (alpha + 1)", ""), "missing_term"),
        (DEPTH, DEPTH.replace("- limit", "+ limit"), "sign"),
        (DEPTH, DEPTH.replace("/ (alpha + 1)", "/ alpha"), "missing_term"),
        (DEPTH, "return ddepth", "elementwise_factor"),
    ],
    "17.4": [
        *numbers(
            "return np.exp(-2)",
            (1 / 3, "this is the probability that the first block is off"),
            0.0,
            "none",
        ),
        (
            "return np.exp(-2)",
            "return 1 - np.exp(-2)",
            "this is the probability of at least one block",
        ),
        (
            "return np.exp(-2)",
            "return 2 * np.exp(-2)",
            "this is the probability of exactly one block",
        ),
        (
            "return np.exp(-2)",
            "return np.exp(-0.5)",
            "this is the probability for a concentration of one half",
        ),
    ],
    "17.5": [
        (GAPS, GAPS.replace("z[:, 1:] & ~z[:, :-1]", "~z[:, 1:] & z[:, :-1]"), "other_quantity"),
        (GAPS, GAPS.replace(".any(axis=1)", ""), "other_quantity"),
        (GAPS, "return 1 - " + GAPS.removeprefix("return "), "other_result"),
        (GAPS, GAPS.replace("np.mean", "np.sum"), "mean"),
        (GAPS, GAPS.replace("any", "all"), "other_function"),
        (GAPS, "return np.mean(~z.all(axis=1))"),
    ],
    "17.6": [
        (PRICE, PRICE.replace("42", "36"), "this is the price without the biases"),
        (PRICE, PRICE.replace("42", "1"), "this is the price of one weight"),
        (PRICE, PRICE.replace("- 1)", ")")),
        (PRICE, PRICE.replace("-np.log", "np.log")),
        (PRICE, PRICE + " / np.log(2)", "this is in bits, not in nats"),
        (PRICE, "return None"),
    ],
    "17.7": letters("b", "abc"),
    "17.8": letters("b", "abc"),
}
