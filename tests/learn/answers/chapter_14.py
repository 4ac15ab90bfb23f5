"""Wrong answers to the exercises of chapter 14: text of the reference, wrong text, its name."""

from answering import letters

TRANSFER = "return np.mean(R[i, j] - R[j, j])"
LOSS = "return np.mean(best - R[-1, :-1])"
PAIRED = "return d.mean(), d.std(ddof=1) / np.sqrt(d.size)"
RISE = "return np.sum(t * t + ratio - 1) / 2, (t, ratio, old_log_sigma)"
BACK = "return dmu, drise * ratio, -dmu, -drise * (t * t + ratio)"

WRONG = {
    "14.1": [
        ("return R[-1].mean()", "return R.mean()", "other_quantity"),
        ("return R[-1].mean()", "return np.diag(R).mean()", "other_quantity"),
        ("return R[-1].mean()", "return R[:, -1].mean()", "other_quantity"),
        ("return R[-1].mean()", "return R[0].mean()", "other_quantity"),
        ("return R[-1].mean()", "return R[-1].sum()", "mean"),
        ("return R[-1].mean()", "return R[-1, :-1].mean()", "other_quantity"),
        (
            "return R[-1].mean()",
            "return R[np.tril_indices(len(R))].mean()",
            "other_quantity",
        ),
        ("return R[-1].mean()", "return R[-2].mean()", "other_quantity"),
        ("return R[-1].mean()", "return R[-1, 0]"),
        ("return R[-1].mean()", "return np.median(R[-1])"),
        ("return R[-1].mean()", "return R[-1]", "other_function"),
    ],
    "14.2": [
        (TRANSFER, "return np.mean(R[j, j] - R[i, j])", "sign"),
        (TRANSFER, "return np.mean(R[i, j] - R[i, i])", "other_quantity"),
        (TRANSFER, "return np.sum(R[i, j] - R[j, j])", "mean"),
        (TRANSFER, "return np.mean(R[-1, :-1] - np.diag(R)[:-1])", "other_quantity"),
        (TRANSFER, "return np.mean(R[i, j])", "missing_term"),
        (TRANSFER, "return np.mean(R - np.diag(R))"),
        ("np.tril_indices(len(R), -1)", "np.tril_indices(len(R))", "constant_factor"),
        ("np.tril_indices(len(R), -1)", "np.triu_indices(len(R), 1)", "other_quantity"),
    ],
    "14.3": [
        (LOSS, "return np.mean(R[-1, :-1] - best)", "sign"),
        (LOSS, "return np.sum(best - R[-1, :-1])", "mean"),
        (
            LOSS,
            "return np.mean(np.diag(R)[:-1] - R[-1, :-1])",
            "other_quantity",
            "the accuracy just after learning stands in place of the best one before the last row; "
            "a task can become better later",
        ),
        (LOSS, "return np.max(best - R[-1, :-1])", "other_quantity"),
        (LOSS, "return np.mean(best)", "missing_term"),
        ("best = R[:-1, :-1].max(axis=0)", "best = R[:, :-1].max(axis=0)", "other_quantity"),
        ("best = R[:-1, :-1].max(axis=0)", "best = R[:-1, :-1].max(axis=1)", "summed"),
        ("best = R[:-1, :-1].max(axis=0)", "best = R[:-1, :-1].mean(axis=0)", "other_function"),
    ],
    "14.4": letters("b", "abc"),
    "14.5": letters("b", ""),
    "14.6": [
        (PAIRED, "return d.mean(), d.std() / np.sqrt(d.size)", "constant_factor"),
        (PAIRED, "return d.mean(), d.std(ddof=1)", "other_quantity"),
        (PAIRED, "return d.mean(), d.std(ddof=1) / d.size", "other_quantity"),
        (PAIRED, "return d.mean(), d.var(ddof=1) / d.size", "other_quantity"),
        (PAIRED, "return d.std(ddof=1) / np.sqrt(d.size), d.mean()", "swapped"),
        (PAIRED, "return d.sum(), d.std(ddof=1) / np.sqrt(d.size)", "mean"),
        (
            PAIRED,
            "return d.mean(), np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / d.size)",
            "other_quantity",
        ),
        ("d = one - other", "d = other - one", "swapped"),
        ("d = one - other", "d = np.abs(one - other) - 0.05"),
    ],
    "14.7": [
        (RISE, "return np.sum(t * t + ratio) / 2, (t, ratio, old_log_sigma)", "missing_term"),
        (RISE, "return np.sum(t * t + ratio - 1), (t, ratio, old_log_sigma)", "constant_factor"),
        (RISE, "return np.mean(t * t + ratio - 1) / 2, (t, ratio, old_log_sigma)", "mean"),
        (RISE, "return np.sum(t * t - ratio - 1) / 2, (t, ratio, old_log_sigma)", "sign"),
        (
            RISE,
            "return np.sum(t * t + ratio - 1) / 2 - np.sum(log_sigma - old_log_sigma), ("
            "t, ratio, old_log_sigma)",
            "missing_term",
        ),
        (
            "np.exp(2 * (log_sigma - old_log_sigma))",
            "np.exp(log_sigma - old_log_sigma)",
            "elementwise_factor",
        ),
        (
            "np.exp(2 * (log_sigma - old_log_sigma))",
            "np.exp(2 * (old_log_sigma - log_sigma))",
            "elementwise_factor, sign",
        ),
        (BACK, "return dmu, drise * ratio, dmu, -drise * (t * t + ratio)", "sign"),
        (BACK, "return dmu, drise * ratio, -dmu, -drise * ratio", "missing_term"),
        (BACK, "return dmu, drise * (ratio - 1), -dmu, -drise * (t * t + ratio)"),
        (BACK, "return dmu, drise * ratio, -dmu, drise * (t * t + ratio)", "sign"),
        (BACK, "return dmu, drise * ratio / 2, -dmu, -drise * (t * t + ratio)", "constant_factor"),
    ],
    "14.8": letters("b", ""),
}
