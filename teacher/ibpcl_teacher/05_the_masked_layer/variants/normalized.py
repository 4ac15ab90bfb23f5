r"""The masked layer that keeps its variance, and the categorical likelihood of smoothed labels."""

SMOOTHING = 0.1

WORDS = {
    "Multiply by masked weights and add the bias, scaled by the largest mask of its unit":
        "Multiply by masked weights, divide by the root of one plus the mask sum, and add the bias times the mean mask",
    "Evaluate the log probability of the labels under the softmax of the logits":
        "Evaluate the log probability of smoothed labels: 0.9 of the label, 0.1 spread evenly over all classes",
    "Nats": "Nats; an average over the smoothed label",
}


def masked_linear(x, v, z, bias):
    w = z * v                                                # (S, D, K)
    size = 1 + z.sum(axis=1, keepdims=True)                  # (S, 1, K)
    sums, activity = x @ w, z.mean(axis=1)
    return sums / np.sqrt(size) + (bias * activity)[:, None, :], (x, v, z, bias, w, size, sums, activity)


def masked_linear_vjp(dh, cache):
    r""".. math:: g = dh / \sqrt s, \quad dw = x^\top g, \quad dx = \sum_s g\, w^\top, \quad dv = z \odot dw, \quad
              dz = v \odot dw - \frac{1}{2 s} \sum_n g \odot (x w) + \frac bD \sum_n dh
    """
    x, v, z, bias, w, size, sums, activity = cache
    dsums = dh / np.sqrt(size)                               # (S, N, K)
    dw = x.T @ dsums                                         # (S, D, K)
    dx = (dsums @ np.swapaxes(w, 1, 2)).sum(axis=0)          # x was broadcast over S
    dsize = -(dsums * sums).sum(axis=1, keepdims=True) / (2 * size)      # (S, 1, K): broadcast over N
    dscaled = dh.sum(axis=1)                                 # (S, K), of the scaled bias: broadcast over N
    dz = dw * v + dsize + (dscaled * bias / z.shape[1])[:, None, :]
    return dx, dw * z, dz, (dscaled * activity).sum(axis=0)


def categorical(logits, labels):
    log_p = _log_softmax(logits)
    rows, classes = np.arange(len(labels)), logits.shape[-1]
    smoothed = (1 - SMOOTHING) * log_p[:, rows, labels] + SMOOTHING / classes * log_p.sum(axis=-1)
    return smoothed, (log_p, rows, labels)


def categorical_vjp(dlog_p, cache):
    r""".. math:: \partial_{f_c} = 0.9 \cdot \mathbb 1[c = y] + \frac{0.1}{C} - \mathrm{softmax}(f)_c"""
    log_p, rows, labels = cache
    dlogits = dlog_p[..., None] * (SMOOTHING / log_p.shape[-1] - np.exp(log_p))
    dlogits[:, rows, labels] += (1 - SMOOTHING) * dlog_p     # rows differ, so no entry is met twice
    return dlogits


def slope_in_probability(logits, labels):
    r""".. math:: \partial_{p_c} = \frac{1}{p_c} \Bigl(0.9 \cdot \mathbb 1[c = y] + \frac{0.1}{C}\Bigr)"""
    log_p = _log_softmax(logits)
    classes = logits.shape[-1]
    chosen = labels[:, None] == np.arange(classes)           # (N, C)
    return ((1 - SMOOTHING) * chosen + SMOOTHING / classes) * np.exp(-log_p)
