"""Wrong answers to the exercises of chapter 6: text of the reference, wrong text, its name."""

from answering import letters

STICK = "log_v = log1mexp(s) / a"
DRAW = "return da.sum(axis=0), db.sum(axis=0)"
DB = "db = dlog_v * s * np.exp(s - a * log_v) / (a * b)"
KL = "return (by_a + _minus_log(1 / b, (1 - b) / b)).sum(), (a, b, alpha, mean_log)"
SLOPES = "return da, db, dalpha if np.ndim(alpha) else dalpha.sum()"
ODDS = "return log_pi - log_rest, log_rest"
TOTAL = "total = np.euler_gamma + digamma(b + 1)"
MEAN = "return dmean * total / a**2, -dmean * polygamma(1, b + 1) / a"
COUNT = "return pi.sum() + pi[:few].sum(), (pi, few)"
BOTH = "by_unit = pi + pi * (np.arange(len(pi)) < few)"
REVERSED = "return dcount * np.cumsum(by_unit[::-1])[::-1]"

WRONG = {
    "6.1": [
        (STICK, "log_v = np.log(1 - np.exp(s)) / a"),
        (STICK, "log_v = log1mexp(s) * a", "elementwise_factor, other_input"),
        (STICK, "log_v = log1mexp(s)", "elementwise_factor, ignored_input"),
        (STICK, "log_v = s / a", "elementwise_factor, other_function"),
        ("s = np.log(u) / b", "s = np.log(1 - u) / b", "other_input"),
        ("s = np.log(u) / b", "s = np.log(u) * b", "other_input"),
        ("s = np.log(u) / b", "s = np.log1p(-np.exp(np.log(u))) / b", "other_input"),
        (DRAW, "return da, db", "not_summed"),
        (DRAW, "return db.sum(axis=0), da.sum(axis=0)", "swapped"),
        (DRAW, "return -da.sum(axis=0), db.sum(axis=0)", "sign"),
        (DB, "db = dlog_v * s * np.exp(s) / (a * b)", "elementwise_factor"),
        (DB, "db = -dlog_v * s * np.exp(s - a * log_v) / (a * b)", "sign"),
        (DB, "db = dlog_v * s * np.exp(s - a * log_v) / a", "elementwise_factor"),
        ("da = -dlog_v * log_v / a", "da = dlog_v * log_v / a", "sign"),
        ("da = -dlog_v * log_v / a", "da = -dlog_v * log_v", "elementwise_factor"),
    ],
    "6.2": [
        (KL, KL.replace(".sum(), (", ".sum() + ((b - 1) / b).sum(), ("), "missing_term"),
        (KL, KL.replace(".sum(), (", ".mean(), ("), "mean"),
        (KL, KL.replace(".sum(), (", ", ("), "other_function"),
        (KL, KL.replace(".sum(), (", ".sum() + np.log(alpha) * b.size, ("), "missing_term"),
        (KL, KL.replace(".sum(), (", ".sum() / np.log(2), ("), "constant_factor"),
        (KL, KL.replace(").sum(), (", " - excess / b).sum(), ("), "missing_term"),
        (KL, KL.replace("return (", "return -("), "sign"),
        (
            KL,
            KL.replace(".sum(), (", ".sum() + ((1 - 1 / b) + b / (1 - b)).sum(), ("),
            "elementwise_factor",
        ),
        (SLOPES, "return da, db, dalpha", "not_summed"),
        (SLOPES, "return da, db, -dalpha.sum()", "sign"),
        (SLOPES, "return da, db, dalpha.mean()", "mean"),
        (SLOPES, "return db, da, dalpha.sum()", "swapped"),
        (
            "(alpha * mean_log / (a * a) + 1 / a)",
            "(alpha * mean_log / a + 1 / a)",
            "elementwise_factor",
        ),
        ("(alpha * mean_log / (a * a) + 1 / a)", "(alpha * mean_log / (a * a))", "missing_term"),
        ("(alpha * mean_log / (a * a) + 1 / a)", "(alpha * mean_log / (a * a) - 1 / a)", "sign"),
        ("(-mean_log / a - 1 / alpha)", "(mean_log / a - 1 / alpha)", "sign"),
        ("+ (rest - 1 / (b * b)))", ")", "missing_term"),
    ],
    "6.3": [
        (ODDS, "return log_pi - np.log(1 - np.exp(log_pi)), log_rest"),
        (ODDS, "return log_pi + log_rest, log_rest", "sign"),
        (ODDS, "return log_rest - log_pi, log_rest", "sign"),
        (ODDS, "return log_pi, log_rest", "missing_term"),
        (ODDS, "return np.exp(log_pi - log_rest), log_rest", "other_result"),
        (
            "np.exp(np.where(varies, -log_rest, 0))",
            "np.exp(np.where(varies, log_rest, 0))",
            "elementwise_factor",
        ),
        ("np.exp(np.where(varies, -log_rest, 0))", "1", "missing_term"),
        ("return dlogit_pi * np", "return -dlogit_pi * np", "sign"),
        ("return dlogit_pi * np", "return np", "elementwise_factor"),
    ],
    "6.4": letters("c", "abc"),
    "6.5": [
        (TOTAL, "total = np.euler_gamma + digamma(b)", "missing_term"),
        (TOTAL, "total = digamma(b + 1)", "missing_term"),
        (TOTAL, "total = np.euler_gamma - digamma(b + 1)", "sign"),
        ("return -total / a, (", "return total / a, (", "sign"),
        ("return -total / a, (", "return -total * a, (", "other_input"),
        ("return -total / a, (", "return np.exp(-total / a), (", "other_result"),
        (MEAN, "return dmean * total / a, -dmean * polygamma(1, b + 1) / a", "elementwise_factor"),
        (MEAN, "return -dmean * total / a**2, -dmean * polygamma(1, b + 1) / a", "sign"),
        (MEAN, "return dmean * total / a**2, dmean * polygamma(1, b + 1) / a", "sign"),
        (MEAN, "return dmean * total / a**2, -dmean * polygamma(1, b) / a", "missing_term"),
        (MEAN, "return dmean * total / a**2, -dmean * digamma(b + 1) / a", "constant_factor"),
    ],
    "6.6": letters("c", "abc"),
    "6.7": [
        (COUNT, COUNT.replace("pi.sum() + ", ""), "missing_term"),
        (COUNT, COUNT.replace("pi.sum() +", "pi.sum() -"), "sign"),
        (COUNT, COUNT.replace("pi[:few].sum()", "pi.sum()")),
        ("pi = np.exp(np.cumsum(log_v))", "pi = np.exp(log_v)", "other_function"),
        ("pi = np.exp(np.cumsum(log_v))", "pi = np.cumsum(np.exp(log_v))"),
        (BOTH, "by_unit = pi", "missing_term"),
        (BOTH, BOTH.replace("pi + pi *", "pi *"), "missing_term"),
        (REVERSED, "return dcount * np.cumsum(by_unit)", "shifted"),
        (REVERSED, "return dcount * by_unit", "other_function"),
        (REVERSED, REVERSED.replace("dcount * ", ""), "elementwise_factor"),
        (REVERSED, REVERSED.replace("dcount", "-dcount"), "sign"),
    ],
}
