"""Wrong answers to the exercises of chapter 12: text of the reference, wrong text, its name."""

from answering import letters

CODES = "return (m * m / 2 + excess / 2 - log_s).sum(axis=1), (m, excess)"
BACK = "return d * m, d * excess"
ESTIMATE = "return largest + np.log(np.exp(log_w - largest).mean(axis=0))"

BOUND = "return np.sum(q * gain), (q, gain)"
TOLD = "return dbound * q * (gain - mean), dbound * q"

WRONG = {
    "12.1": [
        (CODES, "return (m * m / 2 + excess / 2 - log_s).sum(), (m, excess)", "summed"),
        (
            CODES,
            "return (m * m + excess / 2 - log_s).sum(axis=1), (m, excess)",
            "elementwise_factor",
        ),
        (CODES, "return (m * m / 2 + excess / 2 + log_s).sum(axis=1), (m, excess)", "sign"),
        (
            CODES,
            "return (m * m / 2 + excess / 2 - log_s / 2).sum(axis=1), (m, excess)",
            "missing_term",
        ),
        (CODES, "return (m * m / 2 + excess / 2 - log_s).sum(axis=0), (m, excess)", "summed"),
        (CODES, "return (m * m / 2 + excess / 2 - log_s).mean(axis=1), (m, excess)", "mean"),
        (
            CODES,
            "return (m * m / 2 + (excess + 1) / 2 - log_s).sum(axis=1), (m, excess)",
            "other_function",
        ),
        (BACK, "return d * m, d * (excess + 1)", "missing_term"),
        (BACK, "return d * m, -d * excess", "sign"),
        (BACK, "return 2 * d * m, d * excess", "constant_factor"),
        (BACK, "return m, excess", "elementwise_factor"),
        (BACK, "return d * m, d * excess / 2", "constant_factor"),
        (BACK, "return d * excess, d * m", "swapped"),
    ],
    "12.2": [
        (ESTIMATE, "return np.log(np.exp(log_w).mean(axis=0))"),
        (ESTIMATE, "return log_w.mean(axis=0)", "other_quantity"),
        (ESTIMATE, "return largest + np.log(np.exp(log_w - largest).sum(axis=0))", "mean"),
        (ESTIMATE, "return np.log(np.exp(log_w - largest).mean(axis=0))", "missing_term"),
        (ESTIMATE, "return largest", "missing_term"),
        (ESTIMATE, "return largest - np.log(np.exp(log_w - largest).mean(axis=0))", "sign"),
        (ESTIMATE, "return largest + np.log(np.exp(log_w - largest).mean())", "summed"),
    ],
    "12.3": letters("b", "abc"),
    "12.4": letters("a", "abc"),
    "12.5": letters("a", ""),
    "12.6": [
        (BOUND, "return np.mean(q * gain), (q, gain)", "mean"),
        (BOUND, "return np.sum(q * gain, axis=1), (q, gain)", "summed"),
        ("gain = v - log_q", "gain = v", "missing_term"),
        ("gain = v - log_q", "gain = v + log_q", "sign"),
        (TOLD, "return dbound * q * gain, dbound * q", "missing_term"),
        (
            "mean = np.sum(q * gain, axis=1, keepdims=True)",
            "gain = gain + np.log(q)\n    mean = np.sum(q * gain, axis=1, keepdims=True)",
            "missing_term",
            "the gradient of the entropy is missing: q depends on f there, too",
        ),
        (TOLD, "return dbound * q * (gain - mean), q", "elementwise_factor"),
        (TOLD, "return dbound * q, dbound * q * (gain - mean)", "swapped"),
        (TOLD, "return dbound * q * (mean - gain), dbound * q", "sign"),
        ("np.sum(q * gain, axis=1, keepdims=True)", "np.sum(q * gain)", "summed"),
    ],
}
