"""Without the parts: everything is written out."""

import numpy as np
from scipy.special import digamma, expit, polygamma


def log_odds(u, raw_a, raw_b, link="logit"):
    a, b = np.log1p(np.exp(raw_a)), np.log1p(np.exp(raw_b))
    s = np.log(u) / b
    log_v = np.log(-np.expm1(s)) / a
    log_pi = np.cumsum(log_v, axis=1)
    return log_pi - np.log(-np.expm1(log_pi)), (raw_a, raw_b, a, b, s, log_v, log_pi)


def log_odds_vjp(d, cache):
    raw_a, raw_b, a, b, s, log_v, log_pi = cache
    dlog_pi = d / -np.expm1(log_pi)
    dlog_v = np.cumsum(dlog_pi[:, ::-1], axis=1)[:, ::-1]
    da = -(dlog_v * log_v).sum(0) / a
    db = (dlog_v * s / np.expm1(-s)).sum(0) / (a * b)
    return da * expit(raw_a), db * expit(raw_b)


def divergence(raw_a, raw_b, alpha):
    a, b = np.logaddexp(0, raw_a), np.logaddexp(0, raw_b)
    c = -np.euler_gamma - digamma(b + 1)
    value = (a - alpha) / a * c + np.log(a * b / alpha) - (b - 1) / b
    return value.sum(), (raw_a, raw_b, a, b, c, alpha)


def divergence_vjp(d, cache):
    raw_a, raw_b, a, b, c, alpha = cache
    da = alpha * c / a**2 + 1 / a
    db = 1 / b - 1 / b**2 - (a - alpha) / a * polygamma(1, b + 1)
    return [d * da * expit(raw_a), d * db * expit(raw_b), d * np.sum(-c / a - 1 / alpha)]


def sample(eps, logistic, mu, log_sigma, rho, logit_pi, tau, mask_kl="bernoulli"):
    x = rho + logit_pi[:, None, :]
    y = np.broadcast_to(logit_pi[:, None, :], x.shape)
    v = mu + np.exp(log_sigma) * eps
    z = expit((x + logistic) / tau)
    kl = expit(x) * (x - y) - np.logaddexp(0, x) + np.logaddexp(0, y)
    out = [z * v, z.max(axis=1), kl.sum(axis=(1, 2))]
    return out, (eps, np.exp(log_sigma), v, z, x, y, tau)


def sample_vjp(dout, cache):
    dw, du, dkl = dout
    eps, sigma, v, z, x, y, tau = cache
    dv = dw * z
    dz = dw * v + np.where(z == z.max(axis=1, keepdims=True), du[:, None, :], 0)
    weight = dkl[:, None, None]
    dx = dz * z * (1 - z) / tau + weight * expit(x) * expit(-x) * (x - y)
    dy = weight * (expit(y) - expit(x))
    return dv.sum(0), (dv * eps).sum(0) * sigma, dx.sum(0), (dx + dy).sum(1)


def masked_moments(mu, log_sigma, bias_mu, bias_log_sigma, mask):
    on = mask.max(axis=0)
    sigma, bias_sigma = np.exp(log_sigma), np.exp(bias_log_sigma)
    out = (
        np.where(mask, mu, 0),
        np.where(mask, sigma, 0),
        np.where(on, bias_mu, 0),
        np.where(on, bias_sigma, 0),
    )
    return out, (mask, on, sigma, bias_sigma)


def masked_moments_vjp(dout, cache):
    mask, on, sigma, bias_sigma = cache
    a, b, c, d = dout
    return [a * mask, b * mask * sigma, c * on, d * on * bias_sigma]


def apply(eps, x, mu, sigma, bias_mu, bias_sigma):
    mean = np.einsum("...nd,dk->...nk", x, mu) + bias_mu
    variance = np.einsum("...nd,dk->...nk", x**2, sigma**2) + bias_sigma**2
    return mean + eps * variance**0.5, (eps, x, mu, sigma, bias_sigma, variance)


def apply_vjp(dh, cache, needs_dx=True):
    eps, x, mu, sigma, bias_sigma, variance = cache
    dvariance = np.nan_to_num(dh * eps / (2 * np.sqrt(variance)), posinf=0, neginf=0)
    rows = np.broadcast_to(x, (*dh.shape[:2], x.shape[-1]))
    dx = dh @ mu.T + 2 * rows * (dvariance @ (sigma**2).T)
    return {
        "dx": dx.sum(0) if x.ndim == 2 else dx,
        "dmu": np.einsum("snd,snk->dk", rows, dh),
        "dsigma": 2 * sigma * np.einsum("snd,snk->dk", rows**2, dvariance),
        "dbias_mu": dh.sum((0, 1)),
        "dbias_sigma": 2 * bias_sigma * dvariance.sum((0, 1)),
    }


def vanishing_gradient():
    return "B"


def new_gradient():
    return " A "


def noisy_gradient():
    return "a"


def head_variance():
    return "a"
