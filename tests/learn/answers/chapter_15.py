"""Wrong answers to the exercises of chapter 15: text of the reference, wrong text, its name."""

from answering import letters

VALUE = "value = -np.sum(np.logaddexp(0, -margin)) - np.sum(w * w) / (2 * sigma**2)"
DW = "dw = np.array([np.sum(slope * x), np.sum(slope)]) - dvalue * w / sigma**2"
LEAP = "        w = w + step * r\n        r = r - step / 2 * A @ w\n"
UPDATE = "return np.linalg.solve(new, precision @ mean + X.T @ y / noise**2), new"
PARTS = "return model, total - model"

DETERMINANT = "return 2 * np.sum(log_sigma) + np.log(total), (log_sigma, w, total)"
SLOPES = "return dvalue * (2 - 2 * w * w / total), dvalue * 2 * w * np.exp(-log_sigma) / total"
MIXED = "return (h * optimum + pull * mean) / (h + pull), precision + h / beta"
PRICE = "return (second / k - 1 + np.log(k / variance)) / 2, (h, k, second)"
FELT = "return dprice * (1 - second / k) / k * h"

WRONG = {
    "15.1": [
        (VALUE, VALUE.replace("-margin", "margin"), "other_input"),
        (VALUE, VALUE.replace("value = -np.sum", "value = np.sum"), "sign"),
        (VALUE, VALUE.replace(" - np.sum(w * w)", " + np.sum(w * w)"), "sign"),
        (VALUE, VALUE.replace("(2 * sigma**2)", "sigma**2"), "elementwise_factor"),
        (VALUE, VALUE.replace("(2 * sigma**2)", "(2 * sigma)"), "other_input"),
        (VALUE, VALUE.replace("-np.sum(np.logaddexp", "-np.mean(np.logaddexp"), "mean"),
        (VALUE, "value = -np.sum(np.logaddexp(0, -margin))", "missing_term"),
        (DW, DW.replace(" - dvalue * w / sigma**2", ""), "missing_term"),
        (DW, DW.replace(" - dvalue * w / sigma**2", " - w / sigma**2"), "elementwise_factor"),
        (
            DW,
            DW.replace("[np.sum(slope * x), np.sum(slope)]", "[np.sum(slope), np.sum(slope * x)]"),
        ),
        (DW, DW.replace("- dvalue", "+ dvalue"), "sign"),
        ("return dw, slope * w[0]", "return dw, slope * w[1]", "constant_factor"),
        ("return dw, slope * w[0]", "return dw, slope", "elementwise_factor"),
        ("slope = dvalue * sign * expit(-margin)", "slope = dvalue * sign * expit(margin)", "sign"),
        (
            "slope = dvalue * sign * expit(-margin)",
            "slope = dvalue * expit(-margin)",
            "elementwise_factor",
        ),
    ],
    "15.2": [
        (LEAP, LEAP.replace("step / 2", "step"), "other_quantity"),
        (LEAP, "        w = w + step * r\n", "other_quantity"),
        # they change the arrays of the caller
        (LEAP, LEAP.replace("w = w + step", "w += step")),
        (LEAP, LEAP.replace("r - step", "r + step"), "sign"),
        (LEAP, LEAP.replace("w + step * r", "w - step * r"), "other_input"),
        (
            LEAP,
            "        r = r - step / 2 * A @ w\n        w = w + step * r\n",
            "other_quantity",
            "one whole step of the momentum stands before that of the weights; take half a step "
            "before it and half a step after it",
        ),
        ("for _ in range(count)", "for _ in range(count - 1)"),
        ("return w, r", "return r, w", "swapped"),
        ("return w, r", "return w"),
        ("return w, r", "return w, -r", "sign"),
    ],
    "15.3": [
        (UPDATE, UPDATE.replace("X.T @ y / noise**2", "X.T @ y / noise"), "other_quantity"),
        (UPDATE, UPDATE.replace("X.T @ y / noise**2", "X.T @ y"), "elementwise_factor"),
        (UPDATE, UPDATE.replace("precision @ mean", "mean"), "other_quantity"),
        (UPDATE, UPDATE.replace("precision @ mean + ", ""), "other_quantity"),
        (
            UPDATE,
            UPDATE.replace("), new", "), np.linalg.inv(new)"),
            "other_quantity",
        ),
        (UPDATE, "return precision @ mean + X.T @ y / noise**2, new", "other_quantity"),
        (
            UPDATE,
            "return new, np.linalg.solve(new, precision @ mean + X.T @ y / noise**2)",
            "swapped",
        ),
        ("new = precision + X.T @ X / noise**2", "new = precision + X.T @ X", "elementwise_factor"),
        ("new = precision + X.T @ X / noise**2", "new = X.T @ X / noise**2 + np.eye(len(mean))"),
        (
            "new = precision + X.T @ X / noise**2",
            "new = precision + X.T @ X * noise**2",
            "elementwise_factor",
        ),
    ],
    "15.4": [
        (PARTS, "return total - model, model", "swapped"),
        (PARTS, "return model, total", "missing_term"),
        (PARTS, "return model, total + model", "sign"),
        (PARTS, "return -model, model - total", "other_input"),
        (PARTS, "return model.mean(), (total - model).mean()"),
        ("(np.diag(exact) - exact[-1])[:-1]", "np.diag(exact) - exact[-1]"),
        (
            "(np.diag(exact) - exact[-1])[:-1]",
            "(np.diag(exact) - exact[0])[:-1]",
            "constant_factor",
        ),
        (
            "(np.diag(method) - method[-1])[:-1]",
            "(np.diag(method) - method[:, -1])[:-1]",
            "missing_term",
        ),
    ],
    "15.5": letters("c", ""),
    "15.6": letters("c", "abc"),
    "15.7": letters("b", "abc"),
    "15.8": [
        (MIXED, MIXED.replace("h / beta", "h * beta"), "elementwise_factor"),
        (MIXED, MIXED.replace("h / beta", "h"), "elementwise_factor"),
        (
            MIXED,
            MIXED.replace("precision + h / beta", "beta * precision + h"),
            "elementwise_factor",
        ),
        (MIXED, MIXED.replace("+ pull * mean", ""), "ignored_input"),
        (MIXED, MIXED.replace("/ (h + pull)", ""), "elementwise_factor"),
        (MIXED, MIXED.replace("pull * mean", "pull * optimum"), "other_quantity"),
        (MIXED, "return precision + h / beta, (h * optimum + pull * mean) / (h + pull)", "swapped"),
        ("pull = beta * precision", "pull = precision", "elementwise_factor"),
        ("pull = beta * precision", "pull = precision / beta", "elementwise_factor"),
    ],
    "15.9": [
        (DETERMINANT, DETERMINANT.replace("2 * np.sum", "np.sum"), "elementwise_factor"),
        (DETERMINANT, DETERMINANT.replace("np.log(total)", "np.log(total) / 2")),
        (DETERMINANT, DETERMINANT.replace(" + np.log(total)", ""), "ignored_input"),
        (DETERMINANT, DETERMINANT.replace("+ np.log", "- np.log"), "sign"),
        ("w = u * np.exp(-log_sigma)", "w = u", "elementwise_factor"),
        (SLOPES, SLOPES.replace("2 - 2 * w * w / total", "2 + 0 * w"), "missing_term"),
        (SLOPES, SLOPES.replace("2 - 2", "2 + 2"), "sign"),
        (SLOPES, SLOPES.replace("dvalue * 2 * w", "dvalue * w"), "constant_factor"),
        (SLOPES, SLOPES.replace(" * np.exp(-log_sigma) / total", " / total"), "elementwise_factor"),
    ],
    "15.10": [
        (PRICE, PRICE.replace("second / k - 1", "second / k"), "missing_term"),
        (PRICE, PRICE.replace("np.log(k / variance)", "np.log(variance / k)"), "sign"),
        (PRICE, PRICE.replace(" / 2, (h", ", (h"), "constant_factor"),
        ("second = variance + m * m", "second = variance", "ignored_input"),
        ("k = np.sum(h * h) + noise", "k = np.sum(h * h)", "ignored_input"),
        ("k = np.sum(h * h) + noise", "k = np.mean(h * h) + noise", "mean"),
        (FELT, FELT.replace("(1 - second / k)", "(-second / k)"), "missing_term"),
        (FELT, FELT.replace("/ k * h", "/ k / 2 * h"), "constant_factor"),
        (FELT, FELT.replace("/ k * h", "* h"), "elementwise_factor"),
        (FELT, FELT.replace("1 - second / k", "second / k - 1"), "sign"),
        (FELT, FELT.replace(" * h", " * np.sum(h)"), "summed"),
    ],
}
