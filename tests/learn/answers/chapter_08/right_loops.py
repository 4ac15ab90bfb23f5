"""Loops over samples, with some parts of the package."""

import numpy as np
from mine import kumaraswamy, stick_breaking


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_odds(u, raw_a, raw_b, link="logit"):
    rows = []
    for each in u:
        log_v, _ = kumaraswamy.sample(each[None], softplus(raw_a), softplus(raw_b))
        rows.append(stick_breaking.logit_probabilities(np.cumsum(log_v, axis=1))[0][0])
    return np.array(rows), (u, raw_a, raw_b)


def log_odds_vjp(d, cache):
    u, raw_a, raw_b = cache
    total = [np.zeros_like(raw_a), np.zeros_like(raw_b)]
    for each, g in zip(u, d, strict=True):
        log_v, inner = kumaraswamy.sample(each[None], softplus(raw_a), softplus(raw_b))
        rest = -np.expm1(np.cumsum(log_v, axis=1))
        dlog_v = np.array([[np.sum((g / rest[0])[k:]) for k in range(len(raw_a))]])
        for at, gradient in enumerate(kumaraswamy.sample_vjp(dlog_v, inner)):
            total[at] = total[at] + gradient
    return total[0] * sigmoid(raw_a), total[1] * sigmoid(raw_b)


def divergence(raw_a, raw_b, alpha):
    value = 0.0
    for a, b in zip(softplus(raw_a), softplus(raw_b), strict=True):
        value += kumaraswamy.kl_to_beta(np.array([a]), np.array([b]), alpha)[0]
    return value, (raw_a, raw_b, alpha)


def divergence_vjp(d, cache):
    raw_a, raw_b, alpha = cache
    _, inner = kumaraswamy.kl_to_beta(softplus(raw_a), softplus(raw_b), alpha)
    da, db, dalpha = kumaraswamy.kl_to_beta_vjp(1.0, inner)
    return d * da * sigmoid(raw_a), d * db * sigmoid(raw_b), d * dalpha


def sample(eps, logistic, mu, log_sigma, rho, logit_pi, tau, mask_kl="bernoulli"):
    w, u, kl, caches = [], [], [], []
    for s in range(len(eps)):
        x, y = rho + logit_pi[s], logit_pi[s]
        v, z = mu + np.exp(log_sigma) * eps[s], sigmoid((rho + logit_pi[s] + logistic[s]) / tau)
        w.append(v * z)
        u.append(z.max(0))
        kl.append(np.sum(sigmoid(x) * rho - softplus(x) + softplus(y)))
        caches.append((v, z, x, y, v - mu))
    return (np.array(w), np.array(u), np.array(kl)), (caches, rho, tau)


def sample_vjp(dout, cache):
    caches, rho, tau = cache
    dmu, dlog_sigma, drho, dpi = 0.0, 0.0, 0.0, []
    for (v, z, x, y, noise), dw, du, dkl in zip(caches, *dout, strict=True):
        dz = dw * v
        dz = dz + du * (z == z.max(0))
        dx = dz * z * (1 - z) / tau + dkl * sigmoid(x) * (1 - sigmoid(x)) * rho
        dmu = dmu + dw * z
        dlog_sigma = dlog_sigma + dw * z * noise
        drho = drho + dx
        dpi.append((dx + dkl * (sigmoid(y) - sigmoid(x))).sum(0))
    return [dmu, dlog_sigma, drho, np.array(dpi)]


def masked_moments(mu, log_sigma, bias_mu, bias_log_sigma, mask):
    mean, sigma = np.zeros_like(mu), np.zeros_like(mu)
    bias_mean, bias_sigma = np.zeros_like(bias_mu), np.zeros_like(bias_mu)
    for d, k in np.argwhere(mask):
        mean[d, k] = mu[d, k]
        sigma[d, k] = np.exp(log_sigma[d, k])
        bias_mean[k] = bias_mu[k]
        bias_sigma[k] = np.exp(bias_log_sigma[k])
    return [mean, sigma, bias_mean, bias_sigma], (mask, sigma, bias_sigma)


def masked_moments_vjp(dout, cache):
    mask, sigma, bias_sigma = cache
    return {
        "mu": np.where(mask, dout[0], 0),
        "log_sigma": dout[1] * sigma,
        "bias_mu": np.where(bias_sigma > 0, dout[2], 0),
        "bias_log_sigma": dout[3] * bias_sigma,
    }


def apply(eps, x, mu, sigma, bias_mu, bias_sigma):
    h = []
    for s in range(len(eps)):
        rows = x if x.ndim == 2 else x[s]
        spread = np.sqrt(rows**2 @ sigma**2 + bias_sigma**2)
        h.append(rows @ mu + bias_mu + spread * eps[s])
    return np.array(h), (eps, x, mu, sigma, bias_sigma)


def apply_vjp(dh, cache, needs_dx=True):
    eps, x, mu, sigma, bias_sigma = cache
    dx = np.zeros_like(x)
    dmu, dsigma = np.zeros_like(mu), np.zeros_like(sigma)
    dbias, dwidth = np.zeros_like(bias_sigma), np.zeros_like(bias_sigma)
    for s in range(len(eps)):
        rows = x if x.ndim == 2 else x[s]
        spread = np.sqrt(rows**2 @ sigma**2 + bias_sigma**2)
        g = np.divide(dh[s] * eps[s], 2 * spread, out=np.zeros_like(spread), where=spread > 0)
        each = dh[s] @ mu.T + 2 * rows * (g @ (sigma**2).T)
        if x.ndim == 2:
            dx += each
        else:
            dx[s] = each
        dmu += rows.T @ dh[s]
        dsigma += 2 * sigma * ((rows**2).T @ g)
        dbias += dh[s].sum(0)
        dwidth += 2 * bias_sigma * g.sum(0)
    return dx, dmu, dsigma, dbias, dwidth


def vanishing_gradient():
    return " b "


def new_gradient():
    return "a"


def noisy_gradient():
    return "c"


def head_variance():
    return "C"
