"""Wrong answers to the exercises of chapter 10: text of the reference, wrong text, its name."""

from answering import letters

H = "h = -(p * log_p).sum(axis=-1)"
SLOPE = "return -dh[:, None] * p * (log_p + h[:, None])"
SHARE = "return (mask & used).sum() / mask.sum()"
ACCEPT = "return np.mean(strangers <= np.quantile(known, 0.95))"

WRONG = {
    "10.1": [
        (H, "h = (p * log_p).sum(axis=-1)", "sign"),
        (H, "h = -(p * log_p).mean(axis=-1)", "mean"),
        (H, "h = -(p * log_p).sum()", "summed"),
        (H, "h = -log_p.sum(axis=-1)", "elementwise_factor"),
        (H, "h = -(p * log_p).sum(axis=-1) / np.log(2)", "constant_factor"),
        (SLOPE, "return -dh[:, None] * p * log_p", "missing_term"),
        (SLOPE, "return -dh[:, None] * (log_p + 1)"),
        (SLOPE, "return -dh[:, None] * p * (log_p + 1)"),
        (SLOPE, "return dh[:, None] * p * (log_p + h[:, None])", "sign"),
        (SLOPE, "return -p * (log_p + h[:, None])", "elementwise_factor"),
        (SLOPE, "return -dh[:, None] * p * (log_p - h[:, None])", "sign"),
    ],
    "10.2": letters("c", ""),
    "10.3": [
        (SHARE, "return (mask & used).sum() / used.sum()", "other_quantity"),
        (SHARE, "return (mask & used).sum() / (mask | used).sum()", "other_quantity"),
        (SHARE, "return (mask & used).mean()", "other_quantity"),
        (SHARE, "return (mask & ~used).sum() / mask.sum()", "other_quantity"),
        (SHARE, "return (mask & used).sum()", "elementwise_factor"),
        (SHARE, "return (mask | used).sum() / mask.sum()"),
        (SHARE, "return (mask & used).sum() / len(mask)"),
        (SHARE, "return mask.sum() / (mask & used).sum()", "other_result"),
        ("used = earlier.any(axis=0)", "used = earlier.all(axis=0)", "other_quantity"),
        ("used = earlier.any(axis=0)", "used = earlier[-1]", "other_quantity"),
        ("used = earlier.any(axis=0)", "used = earlier.mean(axis=0) > 0.5"),
    ],
    "10.4": [
        (ACCEPT, ACCEPT.replace("<=", ">"), "other_result"),
        (ACCEPT, ACCEPT.replace("<=", "<"), "comparison"),
        (ACCEPT, "return np.mean(strangers <= np.sort(known)[int(0.95 * len(known))])"),
        (ACCEPT, ACCEPT.replace("0.95", "0.05")),
        (ACCEPT, ACCEPT.replace("0.95", "0.9")),
        (ACCEPT, "return np.mean(known <= np.quantile(strangers, 0.95))", "swapped"),
        (ACCEPT, "return np.sum(strangers <= np.quantile(known, 0.95))", "mean"),
        (ACCEPT, "return np.quantile(known, 0.95)"),
        (ACCEPT, "return np.mean(strangers <= 0.95 * known.max())"),
    ],
}
