"""Wrong answers to the exercises of chapter 4: text of the reference, wrong text, its name."""

from answering import letters

LAYER = "return x @ w + b[:, None, :], (x, w)"
PULL = "return dx, np.swapaxes(x, -1, -2) @ dh, dh.sum(axis=1)"
CHOSEN = "return log_normalized[:, rows, labels], (log_normalized, rows, labels)"
SLOPE = "dlogits = -dlog_p[..., None] * others"
LABEL = "dlogits[:, rows, labels] = dlog_p * others.sum(axis=-1)"
MEAN = "return np.full(cache, dmean / np.prod(cache))"
LSE = "return largest[..., 0] + np.log(np.exp(logits - largest).sum(axis=-1))"

WRONG = {
    "4.1": [
        (LAYER, "return x @ w, (x, w)", "ignored_input"),
        (LAYER, "return x @ w - b[:, None, :], (x, w)", "other_input"),
        (LAYER, "return x @ w + b[:, None, :].mean(axis=0), (x, w)", "other_input"),
        (PULL, "return dx, np.swapaxes(x, -1, -2) @ dh, dh.sum(axis=0)"),
        (PULL, "return dx, np.swapaxes(x, -1, -2) @ dh, dh", "not_summed"),
        (PULL, "return dx, np.swapaxes(x, -1, -2) @ dh / dh.shape[1], dh.mean(axis=1)", "mean"),
        (
            PULL,
            "return dx, np.swapaxes(np.swapaxes(x, -1, -2) @ dh, -1, -2), dh.sum(axis=1)",
            "transposed",
        ),
        (PULL, "return dx, np.swapaxes(x, -1, -2) @ dh, -dh.sum(axis=1)", "sign"),
        ("dx = dx.sum(axis=0)", "pass", "not_summed"),
        ("dx = dx.sum(axis=0)", "dx = dx.mean(axis=0)", "mean"),
        ("dx = dh @ np.swapaxes(w, -1, -2)", "dx = -dh @ np.swapaxes(w, -1, -2)", "sign"),
        ("dx = dh @ np.swapaxes(w, -1, -2)", "dx = dh @ w"),
        ("def apply_vjp(dh, cache, needs_dx=True):", "def apply_vjp(dh, cache):\n    needs_dx = 1"),
    ],
    "4.2": [
        (
            CHOSEN,
            "return np.exp(log_normalized)[:, rows, labels], (log_normalized, rows, labels)",
            "other_result",
        ),
        (CHOSEN, "return -log_normalized[:, rows, labels], (log_normalized, rows, labels)", "sign"),
        (CHOSEN, "return logits[:, rows, labels], (log_normalized, rows, labels)"),
        (
            CHOSEN,
            "p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)\n"
            "    return np.log(p[:, rows, labels]), (log_normalized, rows, labels)",
        ),
        (
            CHOSEN,
            "total = np.log(np.exp(logits).sum(axis=-1))\n"
            "    return logits[:, rows, labels] - total, (log_normalized, rows, labels)",
        ),
        (LABEL, "pass"),
        (LABEL, "dlogits[:, rows, labels] = dlog_p"),
        (LABEL, "dlogits[:, rows, labels] = -dlog_p * others.sum(axis=-1)"),
        (SLOPE, "dlogits = dlog_p[..., None] * others", "sign"),
        (SLOPE, "dlogits = -others"),
        (SLOPE, "dlogits = 0 * others", "missing_term"),
    ],
    "4.3": [
        (MEAN, "return np.full(cache, dmean * 1.0)", "constant_factor"),
        (MEAN, "return np.full(cache, dmean / cache[0])", "constant_factor"),
        (MEAN, "return np.full(cache, 1 / np.prod(cache))", "elementwise_factor"),
        (MEAN, "return np.full(cache, -dmean / np.prod(cache))", "sign"),
        (MEAN, "return dmean / np.prod(cache)", "summed"),
        ("return log_p.mean()", "return log_p.sum()", "mean"),
        ("return log_p.mean()", "return log_p.mean(axis=0)", "summed"),
        ("return log_p.mean()", "return log_p.sum(axis=1).mean()", "mean"),
    ],
    "4.4": [
        (LSE, "return np.log(np.exp(logits).sum(axis=-1))"),
        (LSE, "return np.log(np.exp(logits - largest).sum(axis=-1))", "missing_term"),
        (LSE, "return largest[..., 0]", "missing_term"),
        (LSE, "return largest[..., 0] + np.exp(logits - largest).sum(axis=-1)"),
        (LSE, "return largest[..., 0] - np.log(np.exp(logits - largest).sum(axis=-1))", "sign"),
        (LSE, "return largest[..., 0] + np.log(np.exp(logits - largest).mean(axis=-1))", "mean"),
        (LSE, "return largest[..., 0] + np.log(np.exp(logits - largest).sum())", "summed"),
    ],
    "4.5": letters("b", "abc"),
}
