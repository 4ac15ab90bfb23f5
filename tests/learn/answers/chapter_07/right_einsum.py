"""Einstein sums, SciPy and where."""

import numpy as np
from scipy.special import expit, log_expit


def sample(logistic, logit_theta, tau):
    y = logit_theta / tau + logistic / tau
    return expit(y), (y, tau)


def sample_vjp(dz, cache):
    y, tau = cache
    return [dz / tau * expit(y) * expit(-y)]


def kl(logit_theta, logit_pi):
    x, y = logit_theta, np.broadcast_to(logit_pi[:, None], logit_theta.shape)
    terms = expit(x) * (log_expit(x) - log_expit(y)) + expit(-x) * (log_expit(-x) - log_expit(-y))
    return np.einsum("sdk->s", terms), (x, y)


def kl_vjp(d, cache):
    x, y = cache
    return {
        "dlogit_theta": np.einsum("s,sdk->sdk", d, expit(x) * expit(-x) * (x - y)),
        "dlogit_pi": np.einsum("s,sdk->sk", d, expit(y) - expit(x)),
    }


def column_activity(z):
    return np.max(z, axis=-2), z == z.max(axis=1, keepdims=True)


def column_activity_vjp(d, on):
    return np.where(on, d[:, None], 0)


def apply(x, v, z, b):
    h = np.einsum("...nd,...dk,...dk->...nk", x, v, z) + (b * np.max(z, 1))[:, None]
    return h, {"x": x, "v": v, "z": z, "b": b}


def apply_vjp(dh, cache, needs_dx=True):
    x, v, z, b = cache.values()
    total = np.einsum("snk->sk", dh)
    on = z == z.max(axis=1, keepdims=True)
    dw = np.einsum("...nd,...nk->...dk", x, dh)
    dx = np.einsum("snk,sdk->snd", dh, v * z)
    return {
        "x": dx if np.ndim(x) == 3 else np.einsum("snd->nd", dx),
        "v": z * dw,
        "z": v * dw + on * (b * total)[:, None],
        "b": total * z.max(1),
    }


def straight_through():
    return "b"


def flat_temperature():
    return np.float32(1)


def closest_pi():
    return 1 / 2


def log_link(rho, log_pi):
    odds = np.exp(rho + log_pi[None, :])
    return odds / (1 + odds), odds


def log_link_vjp(dtheta, odds):
    drho = dtheta * odds / (1 + odds) ** 2
    return drho, np.ones(len(drho)) @ drho


def adapted(u, z, a):
    return u + np.einsum("nk,nk,k->nk", u, z, a), (u, z, a)


def adapted_vjp(dh, cache):
    u, z, a = cache
    du = dh + np.einsum("nk,nk,k->nk", dh, z, a)
    return du, np.einsum("nk,nk,k->nk", dh, u, a), np.einsum("nk,nk,nk->k", dh, u, z)
