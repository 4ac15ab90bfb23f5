"""Wrong answers to the exercises of chapter 2: text of the reference, wrong text, its name."""

from answering import letters

DRAW = "return dv.sum(axis=0), (dv * noise).sum(axis=0)"
DENSITY = "-HALF_LOG_2PI - log_sigma - standard * standard / 2"
SLOPES = "return dx, -dx.sum(axis=0), dlog_sigma.sum(axis=0)"
PRIOR = "return dmu, dlog_sigma, -dmu, -ddivergence * (excess + shift * shift)"
VARIANCE = "return dv.sum(axis=0), (dv * cache).sum(axis=0) / 2"

WRONG = {
    "2.1": [
        (DRAW, "return dv.sum(axis=0), dv.sum(axis=0)", "elementwise_factor"),
        (DRAW, "return dv, dv * noise", "not_summed"),
        (
            DRAW,
            "return np.einsum('sdk->dk', dv), np.einsum('sdk->dk', dv * noise)",
        ),
        (DRAW, "return dv.mean(axis=0), (dv * noise).mean(axis=0)", "mean"),
        (DRAW, "return dv.sum(axis=0), -(dv * noise).sum(axis=0)", "sign"),
        (DRAW, "return (dv * noise).sum(axis=0), dv.sum(axis=0)", "swapped"),
        (DRAW, "return dv.sum(axis=0), dv.sum(axis=0) * noise.sum(axis=0)"),
        (DRAW, "return dv.sum(axis=0), (dv * noise).sum(axis=0) / 2", "constant_factor"),
        ("noise = np.exp(log_sigma) * eps", "noise = log_sigma * eps", "other_function"),
        ("noise = np.exp(log_sigma) * eps", "noise = np.exp(log_sigma / 2) * eps", "other_input"),
        (
            "noise = np.exp(log_sigma) * eps",
            "noise = np.exp(2 * log_sigma) * eps",
            "other_input, elementwise_factor",
        ),
        ("return mu + noise, noise", "return mu - noise, noise", "other_input"),
        ("return mu + noise, noise", "return mu * noise, noise"),
    ],
    "2.2": [
        (DENSITY, "-log_sigma - standard * standard / 2", "missing_term"),
        (DENSITY, "-HALF_LOG_2PI + log_sigma - standard * standard / 2", "sign"),
        (
            DENSITY,
            "-HALF_LOG_2PI - log_sigma - standard * standard",
            "elementwise_factor",
        ),
        (DENSITY, "-2 * HALF_LOG_2PI - log_sigma - standard * standard / 2", "missing_term"),
        (DENSITY, "-HALF_LOG_2PI - 2 * log_sigma - standard * standard / 2", "missing_term"),
        (DENSITY, "-HALF_LOG_2PI - log_sigma + standard * standard / 2", "sign"),
        (DENSITY, "np.log(np.exp(-HALF_LOG_2PI - log_sigma - standard * standard / 2))"),
        (SLOPES, "return dx, dx.sum(axis=0), dlog_sigma.sum(axis=0)", "sign"),
        (SLOPES, "return dx, -dx, dlog_sigma", "not_summed"),
        (SLOPES, "return -dx, dx.sum(axis=0), dlog_sigma.sum(axis=0)", "sign"),
        (SLOPES, "return dx, -dx.sum(axis=0), -dlog_sigma.sum(axis=0)", "sign"),
        ("(standard * standard - 1)", "(standard * standard)", "missing_term"),
        ("(standard * standard - 1)", "(standard * standard + 1)", "sign"),
        (
            "dx = -dlog_p * standard * inverse_sigma",
            "dx = -dlog_p * standard",
            "elementwise_factor",
        ),
    ],
    "2.3": [
        ("(2 * log_ratio)).sum() / 2", "(2 * log_ratio)).sum(axis=(0, 1)) / 2"),
        (
            "log_ratio = log_sigma - prior_log_sigma",
            "log_ratio = prior_log_sigma - log_sigma",
            "sign",
        ),
        (
            "shift = (mu - prior_mu) * np.exp(-prior_log_sigma)",
            "shift = mu - prior_mu",
            "elementwise_factor",
        ),
        (
            "shift = (mu - prior_mu) * np.exp(-prior_log_sigma)",
            "shift = (mu - prior_mu) * np.exp(-log_sigma)",
            "other_quantity",
        ),
        (
            "expm1_rest(2 * log_ratio)).sum() / 2",
            "expm1_rest(2 * log_ratio)).sum()",
            "constant_factor",
        ),
        ("expm1_rest(2 * log_ratio)).sum() / 2", "expm1_rest(2 * log_ratio)).mean() / 2", "mean"),
        (
            "expm1_rest(2 * log_ratio)).sum() / 2",
            "expm1_rest(2 * log_ratio) + 1).sum() / 2",
            "missing_term",
        ),
        (PRIOR, "return dmu, dlog_sigma, dmu, -ddivergence * (excess + shift * shift)", "sign"),
        (PRIOR, "return dmu, dlog_sigma, -dmu, -ddivergence * excess", "missing_term"),
        (PRIOR, "return dmu, dlog_sigma, -dmu, ddivergence * (excess + shift * shift)", "sign"),
        (PRIOR, "return dmu, dlog_sigma"),
        ("dlog_sigma = ddivergence * excess", "dlog_sigma = ddivergence * (excess + 1)"),
        (
            "dmu = ddivergence * shift * np.exp(-prior_log_sigma)",
            "dmu = ddivergence * shift",
            "elementwise_factor",
        ),
    ],
    "2.4": [
        (VARIANCE, "return dv.sum(axis=0), (dv * cache).sum(axis=0)", "constant_factor"),
        (VARIANCE, "return dv.sum(axis=0), (dv * cache).sum(axis=0) * 2", "constant_factor"),
        (VARIANCE, "return dv, dv * cache / 2", "not_summed"),
        (VARIANCE, "return dv.sum(axis=0), dv.sum(axis=0) / 2", "elementwise_factor"),
        (VARIANCE, "return dv.mean(axis=0), (dv * cache).mean(axis=0) / 2", "mean"),
        ("np.exp(log_variance / 2) * eps", "np.exp(log_variance) * eps", "other_input"),
        ("np.exp(log_variance / 2) * eps", "np.sqrt(np.abs(log_variance)) * eps", "missing_term"),
        ("return mu + noise, noise", "return mu + noise**2, noise", "missing_term"),
    ],
    "2.5": letters("b", "abc"),
    "2.6": letters("a", "abcd"),
}
