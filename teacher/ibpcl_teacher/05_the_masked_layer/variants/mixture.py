r"""The masked layer with a soft maximum, and the likelihood of a mixture of samples."""

WORDS = {
    "Multiply by masked weights and add the bias, scaled by the largest mask of its unit":
        "Multiply by masked weights and add the bias, scaled by a soft maximum of its unit's masks, log mean exp",
    "Evaluate the log probability of the labels under the softmax of the logits":
        "Evaluate the log of the labels' probability, averaged over the samples: log mean softmax",
    "log_p : ndarray, shape (S, N)": "log_p : ndarray, shape (N,)",
    "Nats": "Nats, of the average probability over the samples",
    "frequencies : ndarray, shape (S, N": "frequencies : ndarray, shape (N",
    "Share of the draws in which each class was largest": "Share of all M S draws in which each class was largest",
}


def _activity(z):
    """Return log mean exp of each unit's masks, and its slopes, the softmax of the masks."""
    e = np.exp(z)                                            # at most e
    return np.log(e.mean(axis=1)), e / e.sum(axis=1, keepdims=True)


def masked_linear(x, v, z, bias):
    activity, slopes = _activity(z)
    w = z * v                                                # (S, D, K)
    h = x @ w + (bias * activity)[:, None, :]
    return h, (x, v, z, bias, w, activity, slopes)


def masked_linear_vjp(dh, cache):
    r""".. math:: dw = x^\top dh, \quad dx = \sum_s dh\, w^\top, \quad dv = z \odot dw, \quad
              dz = v \odot dw + \mathrm{softmax}_d(z) \odot b \sum_n dh
    """
    x, v, z, bias, w, activity, slopes = cache
    dw = x.T @ dh                                            # (S, D, K)
    dx = (dh @ np.swapaxes(w, 1, 2)).sum(axis=0)             # x was broadcast over S
    dscaled = dh.sum(axis=1)                                 # (S, K), of the scaled bias: broadcast over N
    dz = dw * v + slopes * (dscaled * bias)[:, None, :]
    return dx, dw * z, dz, (dscaled * activity).sum(axis=0)


def categorical(logits, labels):
    log_p = _log_softmax(logits)
    rows = np.arange(len(labels))
    chosen = log_p[:, rows, labels]                          # (S, N)
    top = np.max(chosen.real, axis=0)
    mixed = top + np.log(np.mean(np.exp(chosen - top), axis=0))          # log mean exp over the samples
    return mixed, (log_p, chosen - mixed, rows, labels)


def categorical_vjp(dlog_p, cache):
    r""".. math:: \partial_{f_{sc}} = r_s (\mathbb 1[c = y] - \mathrm{softmax}(f_s)_c), \qquad
              r_s = \frac{p_s(y)}{\sum_t p_t(y)}
    """
    log_p, log_ratio, rows, labels = cache
    dchosen = dlog_p * np.exp(log_ratio) / len(log_p)        # (S, N), by each sample's share of the mixture
    dlogits = -dchosen[..., None] * np.exp(log_p)
    dlogits[:, rows, labels] += dchosen                      # rows differ, so no entry is met twice
    return dlogits


def label_frequencies(gumbel, logits):
    winners = np.argmax(logits + gumbel, axis=-1)            # (M, S, N)
    return (winners[..., None] == np.arange(logits.shape[-1])).mean(axis=(0, 1))


def slope_in_probability(logits, labels):
    r""".. math:: \partial_{p_{sc}} = \frac{\mathbb 1[c = y]}{\sum_t p_{ty}}"""
    p = np.exp(_log_softmax(logits)).sum(axis=0)             # (N, C)
    chosen = labels[:, None] == np.arange(logits.shape[-1])  # (N, C)
    return np.broadcast_to(np.where(chosen, 1 / p, 0), logits.shape) + 0.0
