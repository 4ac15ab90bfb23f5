"""Wrong answers to the exercises of chapter 7: text of the reference, wrong text, its name."""

from answering import letters, numbers

SIGMOID = "y = (logit_theta + logistic) / tau"
SLOPE = "return dz * z * complement / tau"
COINS = "return divergence.sum(axis=(1, 2)), ("
LARGEST = "return np.take_along_axis(z, rows, axis=1)[:, 0, :], (rows, z.shape)"
PUT = "np.put_along_axis(dz, rows, dactivity[:, None, :], axis=1)"
LAYER = "h, inner = linear.apply(x, v * z, b * activity)"
DZ = "dz = dw * v + column_activity_vjp(dscaled_bias * b, largest)"
BACK = "return dx, dw * z, dz, dscaled_bias * activity"
LINK = "theta = 1 / (1 + np.exp(-rho - log_pi))"
SUMMED = "return drho, drho.sum(axis=0)"
ADAPT = "return dh * factor, dh * u * a, (dh * u * z).sum(axis=0)"

WRONG = {
    "7.1": [
        (SIGMOID, "y = (logit_theta + logistic) * tau", "other_input"),
        (SIGMOID, "y = logit_theta / tau + logistic", "elementwise_factor"),
        (SIGMOID, "y = logit_theta + logistic / tau", "elementwise_factor"),
        (SIGMOID, "y = (logit_theta - logistic) / tau", "other_input"),
        (SIGMOID, "y = logit_theta + logistic", "ignored_input"),
        (SIGMOID, "y = logistic / tau", "ignored_input"),
        (SLOPE, "return dz * z * complement", "elementwise_factor"),
        (SLOPE, "return dz * z * complement * tau", "elementwise_factor"),
        (SLOPE, "return dz * z / tau", "elementwise_factor"),
        (SLOPE, "return dz * complement / tau", "elementwise_factor"),
        (SLOPE, "return -dz * z * complement / tau", "sign"),
        (SLOPE, "return z * complement / tau", "elementwise_factor"),
        (SLOPE, "return (dz * z * complement / tau).sum(axis=0)", "summed"),
    ],
    "7.2": [
        (
            COINS,
            "pi = 1 / (1 + np.exp(-prior))\n    t = 1 / (1 + np.exp(-logit_theta))\n"
            "    naive = t * np.log(t / pi) + (1 - t) * np.log((1 - t) / (1 - pi))\n"
            "    return naive.sum(axis=(1, 2)), (",
        ),
        (
            COINS,
            "there = softplus(-logit_theta) - softplus(-prior)\n    back = softplus(logit_theta) - "
            "softplus(prior)\n    reversed_divergence = sigmoid(prior) * there + sigmoid(-prior) * "
            "back\n    return reversed_divergence.sum(axis=(1, 2)), (",
            "other_quantity",
            "this is the divergence of the prior from the posterior; exchange the two",
        ),
        (COINS, "return divergence.sum(), (", "summed"),
        (COINS, "return divergence.sum(axis=1), (", "summed"),
        (COINS, "return divergence.mean(axis=(1, 2)), (", "mean"),
        (COINS, "return -divergence.sum(axis=(1, 2)), (", "sign"),
        (COINS, "return divergence.sum(axis=(0, 1)), (", "summed"),
        (COINS, "return divergence.sum(axis=(1, 2)) / np.log(2), (", "constant_factor"),
        (COINS, "return (theta * delta).sum(axis=(1, 2)), ("),
        ("* theta * complement * delta", "* theta * delta", "elementwise_factor"),
        ("* theta * complement * delta", "* delta", "elementwise_factor"),
        ("* theta * complement * delta", "* complement * delta", "elementwise_factor"),
        ("* theta * complement * delta", "* theta * complement", "elementwise_factor"),
        ("np.copysign(apart, -delta).sum(axis=1)", "np.copysign(apart, delta).sum(axis=1)", "sign"),
        (
            "np.copysign(apart, -delta).sum(axis=1)",
            "np.copysign(apart, -delta).mean(axis=1)",
            "mean",
        ),
        ("np.copysign(apart, -delta).sum(axis=1)", "np.abs(apart).sum(axis=1)", "other_quantity"),
    ],
    "7.3": [
        (LARGEST, "return z.mean(axis=1), (rows, z.shape)", "other_input"),
        (LARGEST, "return z.sum(axis=1), (rows, z.shape)"),
        (LARGEST, "return z.min(axis=1), (rows, z.shape)", "other_function"),
        (LARGEST, "return z.max(axis=2), (rows, z.shape)"),
        (LARGEST, "return z.max(axis=1, keepdims=True), (rows, z.shape)"),
        (LARGEST, "return z.max(axis=(1, 2)), (rows, z.shape)"),
        (PUT, "dz[:] = dactivity[:, None, :]", "summed"),
        (PUT, "dz[:] = dactivity[:, None, :] / shape[1]", "summed"),
        (PUT, "np.put_along_axis(dz, 0 * rows, dactivity[:, None, :], axis=1)"),
        (PUT, "np.put_along_axis(dz, rows, 1.0, axis=1)"),
        (PUT, "np.put_along_axis(dz, rows, -dactivity[:, None, :], axis=1)", "sign"),
        (PUT, "pass"),
    ],
    "7.4": [
        (LAYER, "h, inner = linear.apply(x, v * z, b)", "elementwise_factor"),
        (LAYER, "h, inner = linear.apply(x, v, b * activity)", "elementwise_factor"),
        (LAYER, "h, inner = linear.apply(x, v * z, b * z.mean(axis=1))", "missing_term"),
        (LAYER, "h, inner = linear.apply(x, v + z, b * activity)", "missing_term"),
        (LAYER, "h, inner = linear.apply(x, v * z, activity)", "ignored_input"),
        (DZ, "dz = dw * v", "missing_term"),
        (DZ, "dz = dw * v + column_activity_vjp(dscaled_bias, largest)"),
        (DZ, "dz = dw * v - column_activity_vjp(dscaled_bias * b, largest)", "sign"),
        (DZ, "dz = dw + column_activity_vjp(dscaled_bias * b, largest)", "elementwise_factor"),
        (DZ, "dz = dw * v + (dscaled_bias * b)[:, None, :]"),
        (BACK, "return dx, dw, dz, dscaled_bias * activity", "elementwise_factor"),
        (BACK, "return dx, dw * z, dz, dscaled_bias", "elementwise_factor"),
        (BACK, "return dx, dz, dw * z, dscaled_bias * activity", "swapped"),
        (BACK, "return dx, dw * z, dz, -dscaled_bias * activity", "sign"),
        (
            "def apply_vjp(dh, cache, needs_dx=True):",
            "def apply_vjp(dh, cache):\n    needs_dx = True",
        ),
    ],
    "7.5": letters("b", "abc"),
    "7.6": numbers(
        "return 1.0",
        0.0,
        (0.5, "off by the constant factor 1/2"),
        (2.0, "off by the constant factor 2"),
        (-1.0, "minus the right value"),
        1.01,
        "one",
        [1.0, 2.0],
    ),
    "7.7": numbers(
        "return 0.5",
        0.0,
        (1.0, "off by the constant factor 2"),
        1 / 3,
        (0.25, "off by the constant factor 1/2"),
        (1 / 6, "off by the constant factor 1/3"),
        "half",
        [0.5, 0.5],
    ),
    "7.8": [
        (SUMMED, "return drho, drho.sum(axis=0)[None]"),
        (LINK, "theta = 1 / (1 + np.exp(rho + log_pi))", "other_result"),
        (LINK, "theta = 1 / (1 + np.exp(-rho + log_pi))", "other_input"),
        (LINK, "theta = 1 / (1 + np.exp(-rho)) * np.exp(log_pi)"),
        (LINK, "theta = 1 / (1 + np.exp(-rho - np.exp(log_pi)))", "other_input"),
        (LINK, "theta = 1 / (1 + np.exp(-rho - log_pi + np.log1p(-np.exp(log_pi))))"),
        (SUMMED, "return drho, drho", "not_summed"),
        (SUMMED, "return drho.sum(axis=0), drho", "swapped"),
        (SUMMED, "return drho, drho.sum(axis=1)"),
        (SUMMED, "return drho, drho.mean(axis=0)", "mean"),
        (SUMMED, "return drho, -drho.sum(axis=0)", "sign"),
        (SUMMED, "return drho"),
        ("drho = dtheta * cache * (1 - cache)", "drho = dtheta * cache", "elementwise_factor"),
        ("drho = dtheta * cache * (1 - cache)", "drho = cache * (1 - cache)", "elementwise_factor"),
    ],
    "7.9": [
        ("factor = 1 + z * a", "factor = 1 - z * a", "other_input"),
        ("factor = 1 + z * a", "factor = z * a", "missing_term"),
        (ADAPT, ADAPT.replace("dh * factor", "dh * (factor - 1)")),
        (ADAPT, ADAPT.replace("dh * u * z", "dh * u"), "elementwise_factor"),
        (ADAPT, ADAPT.replace("(dh * u * z).sum(axis=0)", "dh * u * z"), "not_summed"),
        (ADAPT, ADAPT.replace("sum", "mean"), "mean"),
        (ADAPT, ADAPT.replace("u * a", "u"), "elementwise_factor"),
        (ADAPT, ADAPT.replace("(dh * u * z)", "-(dh * u * z)"), "sign"),
        (ADAPT, ADAPT.replace("dh * factor", "dh"), "elementwise_factor"),
        (ADAPT, ADAPT.replace("dh * factor, dh * u * a", "dh * u * a, dh * factor"), "swapped"),
    ],
}
