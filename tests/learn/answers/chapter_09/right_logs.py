"""Logarithms and Einstein sums."""

import numpy as np
from scipy.special import expit


def temperature(steps, start, end):
    return np.geomspace(start, end, steps)


def adam_step(w, gradient, m, s, step, rate):
    m_hat = (m + (gradient - m) / 10) / -np.expm1(step * np.log(0.9))
    s_hat = (s + (gradient**2 - s) / 1000) / -np.expm1(step * np.log(0.999))
    return w - rate * m_hat / (1e-8 + np.sqrt(s_hat))


def mask_probability(rho, logit_pi):
    return np.einsum("sdk->dk", expit(rho[None] + logit_pi[:, None])) / logit_pi.shape[0]


def next_prior(used, posterior, first):
    return used * posterior + ~used * first


def pull(mu, mu_0, sigma_0):
    precision = sigma_0**-2.0
    return 0.5 * (mu - mu_0) @ np.diag(precision) @ (mu - mu_0), (mu - mu_0, precision)


def pull_vjp(d, cache):
    gap, precision = cache
    dmu = d * precision * gap
    return {"mu": dmu, "mu_0": -dmu, "sigma_0": -dmu * gap * np.sqrt(precision)}


def stiffness():
    return (1 / 0.05) ** 2


def first_step():
    return 1e-2


def lighter_masks():
    return "b"


def third_task():
    return " B "
