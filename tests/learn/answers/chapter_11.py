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
}
