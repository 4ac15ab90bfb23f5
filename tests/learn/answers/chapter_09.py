"""Wrong answers to the exercises of chapter 9: text of the reference, wrong text, its name."""

from answering import letters, numbers

COOL = "return start * (end / start) ** (np.arange(steps) / (steps - 1))"
ADAM = "direction = m / (1 - 0.9**step) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)"
MASK = "return (1 / (1 + np.exp(-rho[None] - logit_pi[:, None, :]))).mean(axis=0)"
PRIOR = "return np.where(used, posterior, first)"
PULL = "return dmu, -dmu, -ddivergence * t * t / sigma_0"

WRONG = {
    "9.1": [
        (COOL, "return np.linspace(start, end, steps)", "other_quantity"),
        (COOL, COOL.replace("(steps - 1)", "steps"), "other_quantity"),
        (COOL, COOL.replace("end / start", "start / end"), "elementwise_factor"),
        (COOL, COOL.replace("np.arange(steps)", "np.arange(1, steps + 1)"), "constant_factor"),
        (COOL, COOL.replace("return start * ", "return "), "elementwise_factor"),
        (COOL, COOL + "[::-1]", "other_result"),
        (COOL, "return start * np.exp(-np.arange(steps))"),
    ],
    "9.2": [
        (ADAM, ADAM.replace("np.sqrt(s / (1 - 0.999**step)) + 1e-8", "np.sqrt(s + 1e-8)")),
        (ADAM, ADAM.replace("+ 1e-8", "+ 1e-7")),
        (ADAM, "direction = m / (np.sqrt(s) + 1e-8)", "other_quantity"),
        (ADAM, "direction = gradient", "other_quantity"),
        (
            ADAM,
            ADAM.replace("np.sqrt(s / (1 - 0.999**step))", "s / (1 - 0.999**step)"),
            "other_quantity",
        ),
        (ADAM, ADAM.replace("0.999**step", "0.999 ** (step - 1)")),
        (ADAM, ADAM.replace("0.999**step", "0.9**step")),
        ("return w - rate * direction", "return w + rate * direction", "other_input"),
        ("return w - rate * direction", "return w - direction", "ignored_input"),
        ("return w - rate * direction", "return -rate * direction", "ignored_input"),
        ("m = 0.9 * m + (1 - 0.9) * gradient", "m = 0.1 * m + 0.9 * gradient"),
        ("(1 - 0.999) * gradient * gradient", "(1 - 0.999) * gradient"),
    ],
    "9.3": [
        (MASK, "return 1 / (1 + np.exp(-rho - logit_pi.mean(axis=0)))", "other_input"),
        (MASK, MASK.replace(".mean(axis=0)", ""), "other_function"),
        (MASK, MASK.replace(".mean(axis=0)", ".sum(axis=0)"), "mean"),
        (MASK, MASK.replace(".mean(axis=0)", ".max(axis=0)")),
        (MASK, MASK.replace("-rho[None] -", "rho[None] +"), "other_result"),
        (MASK, MASK.replace("-rho[None] -", "-rho[None] +"), "other_input"),
        (MASK, "return (rho[None] + logit_pi[:, None, :]).mean(axis=0)"),
    ],
    "9.4": [
        (PRIOR, "return np.where(used, first, posterior)", "swapped"),
        (PRIOR, "first[used] = posterior[used]\n    return first"),
        (PRIOR, "return posterior", "other_quantity"),
        (PRIOR, "return first", "other_quantity"),
        (PRIOR, "return used * posterior", "ignored_input"),
        (PRIOR, "return used * posterior + first"),
        (PRIOR, "return (posterior + first) / 2"),
    ],
    "9.5": [
        (PULL, "return dmu, dmu, -ddivergence * t * t / sigma_0", "sign"),
        (PULL, "return dmu, -dmu, ddivergence * t * t / sigma_0", "sign"),
        (PULL, "return dmu, -dmu, -ddivergence * t * t", "elementwise_factor"),
        (PULL, "return dmu, -dmu, -ddivergence * t / sigma_0", "elementwise_factor"),
        (PULL, "return dmu, -dmu"),
        ("dmu = ddivergence * t / sigma_0", "dmu = ddivergence * t", "elementwise_factor"),
        ("return (t * t).sum() / 2", "return (t * t).sum()", "constant_factor"),
        ("return (t * t).sum() / 2", "return (t * t).mean() / 2", "mean"),
        (
            "t = (mu - mu_0) / sigma_0",
            "t = (mu - mu_0) / sigma_0**2",
            "elementwise_factor, other_input",
        ),
        ("t = (mu - mu_0) / sigma_0", "t = mu - mu_0", "elementwise_factor, ignored_input"),
    ],
    "9.6": numbers(
        "return 400.0",
        (20, "this is the ratio of the widths: the pull has the square"),
        (1 / 400, "the reciprocal of the right value"),
        0.05,
        1.0,
        (200, "off by the constant factor 1/2"),
        (800, "off by the constant factor 2"),
        (-400, "minus the right value"),
        "stiff",
    ),
    "9.7": numbers(
        "return 0.01",
        1,
        (0.1, "off by the constant factor 10"),
        (0.001, "off by the constant factor 1/10"),
        0.0,
        (-0.01, "minus the right value"),
        0.009,
        "rate",
    ),
    "9.8": letters("a", ""),
    "9.9": letters("b", ""),
}
