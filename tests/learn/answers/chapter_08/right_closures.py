"""Caches that are functions, with the parts of the package."""

import numpy as np
from mine import bernoulli, concrete, gaussian, kumaraswamy, masked_linear, stick_breaking
from scipy.special import expit


def log_odds(u, raw_a, raw_b, link="logit"):
    log_v, first = kumaraswamy.sample(u, np.logaddexp(0, raw_a), np.logaddexp(0, raw_b))
    log_pi, second = stick_breaking.log_probabilities(log_v)
    out, third = stick_breaking.logit_probabilities(log_pi)

    def back(d):
        d = stick_breaking.logit_probabilities_vjp(d, third)
        d = stick_breaking.log_probabilities_vjp(d, second)
        da, db = kumaraswamy.sample_vjp(d, first)
        return {"raw_a": da * expit(raw_a), "raw_b": db * expit(raw_b)}

    return out, back


def log_odds_vjp(d, cache):
    return cache(d)


def divergence(raw_a, raw_b, alpha):
    value, inner = kumaraswamy.kl_to_beta(np.logaddexp(raw_a, 0), np.logaddexp(raw_b, 0), alpha)
    return value, lambda d: tuple(
        g * f
        for g, f in zip(
            kumaraswamy.kl_to_beta_vjp(d, inner), (expit(raw_a), expit(raw_b), 1), strict=True
        )
    )


def divergence_vjp(d, cache):
    return cache(d)


def sample(eps, logistic, mu, log_sigma, rho, logit_pi, tau, mask_kl="bernoulli"):
    x = rho[None] + logit_pi[:, None]
    v, c1 = gaussian.sample(eps, mu, log_sigma)
    z, c2 = concrete.sample(logistic, x, tau)
    u, c3 = masked_linear.column_activity(z)
    kl, c4 = bernoulli.kl(x, logit_pi)

    def back(dout):
        dw, du, dkl = dout
        dx, dpi = bernoulli.kl_vjp(dkl, c4)
        dx = dx + concrete.sample_vjp(v * dw + masked_linear.column_activity_vjp(du, c3), c2)
        return (*gaussian.sample_vjp(dw * z, c1), dx.sum(0), dpi + dx.sum(1))

    return (v * z, u, kl), back


def sample_vjp(dout, cache):
    return cache(dout)


def masked_moments(mu, log_sigma, bias_mu, bias_log_sigma, mask):
    on = mask.sum(0) > 0
    out = (mu * mask, mask * np.exp(log_sigma), bias_mu * on, on * np.exp(bias_log_sigma))
    return out, lambda a, b, c, d: (a * mask, b * out[1], c * on, d * out[3])


def masked_moments_vjp(dout, cache):
    return cache(*dout)


def apply(eps, x, mu, sigma, bias_mu, bias_sigma):
    root = np.sqrt(np.square(x) @ np.square(sigma) + np.square(bias_sigma))

    def back(dh):
        dv = dh * eps / np.where(root == 0, np.inf, root) / 2
        if x.ndim == 2:
            dh, dv = dh.sum(0), dv.sum(0)
        flat = x.reshape(-1, x.shape[-1])
        g, h = dh.reshape(-1, dh.shape[-1]), dv.reshape(-1, dh.shape[-1])
        dx = dh @ mu.T + 2 * x * (dv @ (sigma.T**2))
        return dx, flat.T @ g, 2 * sigma * (flat.T**2 @ h), g.sum(0), 2 * bias_sigma * h.sum(0)

    return x @ mu + bias_mu + root * eps, back


def apply_vjp(dh, cache, needs_dx=True):
    return cache(dh)


def vanishing_gradient():
    return "b"


def new_gradient():
    return "A"


def noisy_gradient():
    return "B"


def head_variance():
    return "b"
