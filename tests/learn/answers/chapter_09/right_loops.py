"""Loops."""

import numpy as np


def temperature(steps, start, end):
    ratio = (end / start) ** (1 / (steps - 1))
    out = [start]
    while len(out) < steps:
        out.append(out[-1] * ratio)
    return np.array(out)


def adam_step(w, gradient, m, s, step, rate):
    out = np.empty_like(w)
    for i in range(len(w)):
        first = 0.9 * m[i] + 0.1 * gradient[i]
        second = 0.999 * s[i] + 0.001 * gradient[i] ** 2
        size = (second / (1 - 0.999**step)) ** 0.5
        out[i] = w[i] - rate * first / (1 - 0.9**step) / (size + 1e-8)
    return out


def mask_probability(rho, logit_pi):
    return sum(1 / (1 + np.exp(-(rho + each))) for each in logit_pi) / len(logit_pi)


def next_prior(used, posterior, first):
    prior = first.copy()
    prior[used] = posterior[used]
    return prior


def pull(mu, mu_0, sigma_0):
    value = 0.0
    for a, b, c in zip(mu, mu_0, sigma_0, strict=True):
        value += (a - b) ** 2 / (2 * c**2)
    return value, (mu, mu_0, sigma_0)


def pull_vjp(d, cache):
    mu, mu_0, sigma_0 = cache
    gap = mu - mu_0
    return [d * gap / sigma_0**2, d * -gap / sigma_0**2, d * -(gap**2) / sigma_0**3]


def stiffness():
    return 400


def first_step():
    return [0.01]


def lighter_masks():
    return "C"


def third_task():
    return "a"
