r"""The masked layer with noisy-or activity, and the categorical likelihood in bits."""

import math

LOG_2 = math.log(2)

WORDS = {
    "Multiply by masked weights and add the bias, scaled by the largest mask of its unit":
        "Multiply by masked weights and add the bias, scaled by the probability that its unit has a weight on",
    "Evaluate the log probability": "Evaluate the logarithm to base 2 of the probability",
    "Nats": "Bits",
}


def _activity(z):
    """Return the probability that a unit has at least one weight on, and its slopes."""
    rest = 1 - z
    ones = np.ones_like(rest[:, :1])
    before = np.cumprod(np.concatenate([ones, rest[:, :-1]], axis=1), axis=1)
    # The slope is the product of all other rests, from both sides: no division, for a rest may be zero.
    after = np.cumprod(np.concatenate([ones, rest[:, :0:-1]], axis=1), axis=1)[:, ::-1]
    return 1 - np.prod(rest, axis=1), before * after


def masked_linear(x, v, z, bias):
    activity, slopes = _activity(z)
    w = z * v                                                # (S, D, K)
    h = x @ w + (bias * activity)[:, None, :]
    return h, (x, v, z, bias, w, activity, slopes)


def masked_linear_vjp(dh, cache):
    r""".. math:: dw = x^\top dh, \quad dx = \sum_s dh\, w^\top, \quad dv = z \odot dw, \quad
              dz_d = v_d\, dw_d + \prod_{e \ne d} (1 - z_e)\, b \sum_n dh
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
    return log_p[:, rows, labels] / LOG_2, (log_p, rows, labels)


def categorical_vjp(dlog_p, cache):
    r""".. math:: \partial_{f_c} \log_2 p(y) = \frac{1}{\ln 2} (\mathbb 1[c = y] - \mathrm{softmax}(f)_c)"""
    log_p, rows, labels = cache
    dnats = dlog_p / LOG_2
    dlogits = -dnats[..., None] * np.exp(log_p)
    dlogits[:, rows, labels] += dnats                        # rows differ, so no entry is met twice
    return dlogits


def slope_in_probability(logits, labels):
    r""".. math:: \partial_{p_c} \log_2 p_y = \frac{\mathbb 1[c = y]}{p_c \ln 2}"""
    log_p = _log_softmax(logits)
    chosen = labels[:, None] == np.arange(logits.shape[-1])  # (N, C)
    return np.where(chosen, np.exp(-log_p) / LOG_2, 0)
