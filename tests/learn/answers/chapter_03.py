"""Wrong answers to the exercises of chapter 3: text of the reference, wrong text, its name."""

from answering import letters, numbers

STEP = "return 2 * np.sqrt(EPSILON)"
ABS = "y = np.sqrt(x * x + delta * delta)"
PULL = "return dy * x / y, np.sum(dy * delta / y)"
INPUTS = "return np.array([0.1]), 1.0"
NOT_INPUTS = "where_it_fails must return a tuple (x, delta): numbers or arrays of numbers"

WRONG = {
    "3.1": [
        *numbers(STEP, 1e-6, 0.0, 2.0**-52, (-3e-8, "minus the right value"), "small"),
        (
            STEP,
            "return np.sqrt(2 * EPSILON)",
            "this is the best step if the rounding error is eps / h, not 2 eps / h",
        ),
        (STEP, "return np.sqrt(EPSILON)", "off by the constant factor 1/2"),
        (STEP, "return np.cbrt(3 * EPSILON)", "this is the best step of a central difference"),
        (STEP, "return 4 * EPSILON", "the square of the right value"),
    ],
    "3.2": letters("b", "abc"),
    "3.3": [
        (ABS, "y = np.abs(np.sqrt(x * x + delta * delta))", "lost_imaginary_part"),
        (ABS, "y = np.hypot(x, delta)"),
        (ABS, "y = np.abs(x) * np.sqrt(1 + (delta / x) ** 2)"),
        (ABS, "y = np.sqrt(np.real(x * x) + delta * delta) + 0j"),
        (ABS, "y = x**2", "ignored_input"),
        (ABS, "y = x * x + delta * delta", "elementwise_factor, other_result"),
        (ABS, "y = np.abs(x)", "ignored_input"),
        (ABS, "y = np.sqrt(x * x) + delta"),
        (ABS, "y = np.sqrt(x * x + delta)", "other_input"),
        (ABS, "raise NotImplementedError; y = x"),
        (PULL, "return dy * np.sign(x), np.sum(dy * delta / y)"),
        (PULL, "return dy * x / y, dy * delta / y", "not_summed"),
        (PULL, "return dy * x / (2 * y), np.sum(dy * delta / (2 * y))", "constant_factor"),
        (PULL, "return dy / y, np.sum(dy / y)", "elementwise_factor"),
        (PULL, "return dy * x / y, np.sum(dy) * delta", "elementwise_factor"),
        (PULL, "return dy * x / y, np.mean(dy * delta / y)", "mean"),
        (PULL, "return dy * x / y"),
    ],
    "3.4": [
        ("numerics.softplus(x)", "np.log(1 + np.exp(x))"),
        ("numerics.softplus(x)", "np.log1p(np.exp(x))"),
        ("numerics.softplus(x)", "np.maximum(x, 0)"),
        ("numerics.softplus(x)", "np.log(np.exp(x))", "swapped"),
        ("numerics.softplus(x)", "x + np.log1p(np.exp(-x))"),
        ("dh * numerics.sigmoid(cache)", "dh * np.exp(cache) / (1 + np.exp(cache))"),
        ("dh * numerics.sigmoid(cache)", "dh / (1 + np.exp(cache))", "elementwise_factor"),
        ("dh * numerics.sigmoid(cache)", "dh * numerics.sigmoid(-cache)", "elementwise_factor"),
        ("dh * numerics.sigmoid(cache)", "numerics.sigmoid(cache)", "elementwise_factor"),
        ("dh * numerics.sigmoid(cache)", "dh * np.tanh(cache)"),
    ],
    "3.5": [
        (
            INPUTS,
            "return np.array([100.0]), 0.1",
            "rounded_abs_slip_vjp: the given gradient is right at these inputs",
        ),
        (
            INPUTS,
            "return np.array([1e3, -1e3]), 1e-3",
            "rounded_abs_slip_vjp: the given gradient is right at these inputs",
        ),
        (INPUTS, "return np.array([1.0])", NOT_INPUTS),
        (INPUTS, "return 'x', 'delta'", NOT_INPUTS),
        (
            INPUTS,
            "return np.array([np.nan]), 1.0",
            "rounded_abs_slip_vjp: the inputs must be finite real arrays, or integers up to 1000",
        ),
        (INPUTS, "return None", NOT_INPUTS),
        (
            INPUTS,
            "return np.array([0.1]), 1.0, 2.0",
            NOT_INPUTS,
        ),
    ],
}
