"""np.choose, tensordot and closures."""

import numpy as np


def temperature(steps, start, end):
    share = np.linspace(0, 1, steps)
    return np.exp((1 - share) * np.log(start) + share * np.log(end))


def adam_step(w, gradient, m, s, step, rate):
    b1, b2 = 0.9, 0.999
    m, s = b1 * m + (1 - b1) * gradient, b2 * s + (1 - b2) * np.square(gradient)
    return w - rate * (m / (1 - b1**step)) / (np.sqrt(s / (1 - b2**step)) + 1e-8)


def mask_probability(rho, logit_pi):
    theta = 0.5 + 0.5 * np.tanh((np.expand_dims(rho, 0) + np.expand_dims(logit_pi, 1)) / 2)
    return np.average(theta, axis=0)


def next_prior(used, posterior, first):
    return np.choose(used.astype(int), [first, posterior])


def pull(mu, mu_0, sigma_0):
    t = (mu - mu_0) / sigma_0
    return np.vdot(t, t) / 2, lambda d: (d * t / sigma_0, -d * t / sigma_0, -d * t**2 / sigma_0)


def pull_vjp(d, cache):
    return cache(d)


def stiffness():
    return np.array([400.0])


def first_step():
    return 1 / 100


def lighter_masks():
    return "a"


def third_task():
    return "c"
