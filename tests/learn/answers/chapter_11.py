"""Wrong answers to the exercises of chapter 11: text of the reference, wrong text, its name."""

from answering import letters

LOSS = "return np.log(1 + np.exp(w * x)) - y * w * x, (p, x, y)"
DW = "return np.sum(dloss * x * (p - y))"
FISHER = "return np.mean(x * x * p * (1 - p))"
PRICE = "return (a * share).sum(), share"

HORSESHOE = "return np.sum(np.log(2 * np.pi * np.cosh(x / 2))), x"
PULL = "return dprice * np.tanh(cache / 2) / 2"
LEAST = "return dloss * 3 * distance, dloss * 3 * variance"
EXPECTED = "return 1.5 * np.sum((m - c) ** 2 + variance), (m - c, variance)"
PART = "return d - h * np.sum(h * d) / np.sum(h * h), h"
BACK = "return dpart - cache * np.sum(cache * dpart) / np.sum(cache * cache)"

RISE = "return np.sum((1 - variance) * d**2) / 2, (d, variance)"
FELT = "return drise * (1 - variance) * d, -drise * variance * d**2"
IMITATION = "return np.sum(p * (np.log(p) - log_q)), (np.exp(log_q), p)"
TAUGHT = "return dkl * (q - p)"
KRONECKER = "return np.sum(w * pulled) / 2, pulled"
# the price of HAT has the same gradient, so the text of this one begins above it
TOGETHER = 'dw : ndarray, shape (D, K)\n    """\n    return dprice * cache'

WRONG = {
    "11.1": [
        (LOSS, "return np.log(1 + np.exp(w * x)) + y * w * x, (p, x, y)", "other_input"),
        (LOSS, "return np.log(1 + np.exp(-w * x)) - y * w * x, (p, x, y)", "other_input"),
        (LOSS, "return np.log(1 + np.exp(w * x)), (p, x, y)", "ignored_input"),
        (LOSS, "return (np.log(1 + np.exp(w * x)) - y * w * x).sum(), (p, x, y)"),
        (LOSS, "return y * w * x - np.log(1 + np.exp(w * x)), (p, x, y)", "sign"),
        (DW, "return np.sum(dloss * x * (y - p))", "sign"),
        (DW, "return dloss * x * (p - y)", "not_summed"),
        (DW, "return np.mean(dloss * x * (p - y))", "mean"),
        (DW, "return np.sum(dloss * (p - y))", "elementwise_factor"),
        (DW, "return np.sum(dloss * x * p)", "missing_term"),
        (DW, "return np.sum(x * (p - y))", "elementwise_factor"),
        (DW, "return np.sum(dloss) * np.sum(x * (p - y))"),
    ],
    "11.2": [
        (FISHER, "return np.sum(x * x * p * (1 - p))", "mean"),
        (FISHER, "return np.mean(x * p * (1 - p))", "elementwise_factor"),
        (FISHER, "return np.mean(p * (1 - p))", "elementwise_factor"),
        (FISHER, "return np.mean(x * x * p)", "elementwise_factor"),
        (FISHER, "return -np.mean(x * x * p * (1 - p))", "sign"),
        (FISHER, "return np.mean(x * x * p * (1 - p)) ** 2", "other_result"),
        (FISHER, "return np.mean(x) ** 2 * np.mean(p * (1 - p))"),
    ],
    "11.3": letters("b", "abc"),
    "11.4": [
        (PRICE, "return (a * share).mean(), share", "mean"),
        (PRICE, "return (a * free).sum(), share", "elementwise_factor"),
        (PRICE, "return a.sum(), share", "other_function"),
        (PRICE, "return a * share, share", "other_function"),
        ("free = 1 - used", "free = used", "other_input"),
        ("share = free / free.sum()", "share = free / free.mean()", "constant_factor, mean"),
        ("return dprice * cache", "return cache", "elementwise_factor"),
        ("return dprice * cache", "return -dprice * cache", "sign"),
        ("return dprice * cache", "return dprice * cache / cache.size", "constant_factor"),
        ("return dprice * cache", "return dprice * (1 - cache)"),
        ("return dprice * cache", "return dprice * cache.sum()", "summed"),
    ],
    "11.5": letters("a", "abc"),
    "11.6": [
        (HORSESHOE, HORSESHOE.replace("2 * np.pi * ", ""), "elementwise_factor"),
        (HORSESHOE, HORSESHOE.replace("np.sum(np.log(", "-np.sum(np.log("), "sign"),
        (HORSESHOE, HORSESHOE.replace("x / 2", "x"), "other_input"),
        (PULL, PULL.removesuffix(" / 2"), "constant_factor"),
        (PULL, PULL.replace("cache / 2", "cache"), "elementwise_factor"),
        (PULL, PULL.replace("return ", "return -"), "sign"),
        (PULL, "return dprice * cache / 4", "other_function"),
        (PULL, PULL.replace("dprice * ", ""), "elementwise_factor"),
    ],
    "11.7": [
        (EXPECTED, EXPECTED.replace("+ variance", ""), "missing_term"),
        (EXPECTED, EXPECTED.replace("1.5", "3"), "constant_factor"),
        (EXPECTED, EXPECTED.replace("np.sum", "np.mean"), "mean"),
        (LEAST, "return dloss * 3 * variance, dloss * 3 * distance", "swapped"),
        (LEAST, LEAST.replace("3 * variance", "1.5 * variance"), "constant_factor"),
        (LEAST, LEAST.replace("3 * variance", "3 + 0 * variance"), "elementwise_factor"),
        (LEAST, LEAST.replace("3 * variance", "3 * np.sqrt(variance)"), "elementwise_factor"),
        (LEAST, LEAST.replace("3 * distance", "3 * -distance"), "sign"),
        (LEAST, "return dloss * 3 * distance, 3 * variance", "elementwise_factor"),
    ],
    "11.8": [
        (PART, "return d - h * np.sum(h * d), h", "elementwise_factor"),
        (PART, "return h * np.sum(h * d) / np.sum(h * h), h"),
        (PART, "return d + h * np.sum(h * d) / np.sum(h * h), h", "sign"),
        (PART, "return d - h * np.mean(h * d) / np.sum(h * h), h", "mean"),
        (BACK, "return dpart", "missing_term"),
        (BACK, "return dpart - cache * np.sum(cache * dpart)", "elementwise_factor"),
        (BACK, "return cache * np.sum(cache * dpart) / np.sum(cache * cache)"),
        (BACK, "return -" + BACK.removeprefix("return "), "sign"),
    ],
    "11.9": [
        (RISE, RISE.replace(" / 2", ""), "constant_factor"),
        (RISE, RISE.replace("1 - variance", "1 + variance"), "sign"),
        (RISE, RISE.replace("d**2", "d"), "elementwise_factor"),
        (RISE, RISE.replace("np.sum", "np.mean"), "mean"),
        (FELT, FELT.replace("-drise", "drise"), "sign"),
        (FELT, FELT.replace("drise * (1 - variance) * d,", "drise * d,"), "elementwise_factor"),
        (FELT, FELT.replace("variance * d**2", "variance * d"), "elementwise_factor"),
        (FELT, "return -drise * variance * d**2, drise * (1 - variance) * d", "swapped"),
    ],
    "11.10": [
        (IMITATION, IMITATION.replace("np.log(p) - log_q", "log_q - np.log(p)"), "sign"),
        (IMITATION, IMITATION.replace("np.sum", "np.mean"), "mean"),
        (IMITATION, IMITATION.replace("p * (np", "np.exp(log_q) * (np", 1)),
        (
            IMITATION,
            IMITATION.replace("p * (np.log(p) - log_q)", "np.exp(log_q) * (log_q - np.log(p))"),
            "other_quantity",
        ),
        (IMITATION, IMITATION.replace("(np.log(p) - log_q)", "-log_q"), "missing_term"),
        (TAUGHT, "return dkl * q", "missing_term"),
        (TAUGHT, "return dkl * (p - q)", "sign"),
        (TAUGHT, "return q - p", "elementwise_factor"),
        (TAUGHT, "return dkl * (q - p) / len(q)", "constant_factor"),
    ],
    "11.11": [
        (KRONECKER, KRONECKER.replace(" / 2", ""), "constant_factor"),
        (KRONECKER, KRONECKER.replace("np.sum", "np.mean"), "mean"),
        (KRONECKER, KRONECKER.replace("w * pulled", "pulled * pulled"), "other_quantity"),
        ("pulled = a @ w @ g", "pulled = a @ w", "ignored_input"),
        ("pulled = a @ w @ g", "pulled = w @ g", "ignored_input"),
        (TOGETHER, TOGETHER + " / 2", "constant_factor"),
        (TOGETHER, TOGETHER.replace("return ", "return -"), "sign"),
        (TOGETHER, TOGETHER.replace("dprice * ", ""), "elementwise_factor"),
    ],
}
