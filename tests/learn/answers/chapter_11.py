"""Wrong answers to the exercises of chapter 11: text of the reference, wrong text, its name."""

from answering import letters

LOSS = "return np.log(1 + np.exp(w * x)) - y * w * x, (p, x, y)"
DW = "return np.sum(dloss * x * (p - y))"
FISHER = "return np.mean(x * x * p * (1 - p))"
PRICE = "return (a * share).sum(), share"

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
}
