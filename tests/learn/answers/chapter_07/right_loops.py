"""Loops."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sample(logistic, logit_theta, tau):
    z = np.empty_like(logistic)
    for at in np.ndindex(*z.shape):
        z[at] = 1 / (1 + np.exp(-(logit_theta[at] + logistic[at]) / tau))
    return z, (z, tau)


def sample_vjp(dz, cache):
    z, tau = cache
    return dz * (z - z**2) / tau


def kl(logit_theta, logit_pi):
    theta, pi = sigmoid(logit_theta), sigmoid(logit_pi)
    out = np.zeros(len(theta))
    for s in range(theta.shape[0]):
        for d in range(theta.shape[1]):
            t, x, y = theta[s, d], logit_theta[s, d], logit_pi[s]
            on = np.logaddexp(0, -y) - np.logaddexp(0, -x)
            off = np.logaddexp(0, y) - np.logaddexp(0, x)
            out[s] += np.sum(t * on + (1 - t) * off)
    return out, (theta, pi, logit_theta, logit_pi)


def kl_vjp(d, cache):
    theta, pi, x, y = cache
    dx, dy = np.zeros_like(x), np.zeros_like(y)
    for s in range(x.shape[0]):
        for i in range(x.shape[1]):
            dx[s, i] = d[s] * theta[s, i] * (1 - theta[s, i]) * (x[s, i] - y[s])
            dy[s] += d[s] * (pi[s] - theta[s, i])
    return dx, dy


def column_activity(z):
    out = np.zeros((z.shape[0], z.shape[2]))
    for s in range(z.shape[0]):
        for k in range(z.shape[2]):
            out[s, k] = max(z[s, :, k])
    return out, z


def column_activity_vjp(d, z):
    dz = np.zeros_like(z)
    for s in range(z.shape[0]):
        for k in range(z.shape[2]):
            dz[s, list(z[s, :, k]).index(max(z[s, :, k])), k] = d[s, k]
    return dz


def apply(x, v, z, b):
    u = z.max(axis=1)
    own = [x] * len(v) if x.ndim == 2 else x
    h = [own[s] @ (v[s] * z[s]) + b[s] * u[s] for s in range(len(v))]
    return np.array(h), (x, v, z, b)


def apply_vjp(dh, cache, needs_dx=True):
    x, v, z, b = cache
    dx, dv, dz, db = (np.zeros_like(each) for each in (x, v, z, b))
    shared = x.ndim == 2
    for s in range(len(v)):
        dw = (x if shared else x[s]).T @ dh[s]
        du = dh[s].sum(0) * b[s]
        if shared:
            dx += dh[s] @ (v[s] * z[s]).T
        else:
            dx[s] = dh[s] @ (v[s] * z[s]).T
        dv[s] = dw * z[s]
        dz[s] = dw * v[s]
        for k in range(z.shape[2]):
            dz[s, np.argmax(z[s, :, k]), k] += du[k]
        db[s] = dh[s].sum(0) * z[s].max(0)
    return dx, dv, dz, db


def straight_through():
    return "B"


def flat_temperature():
    return 1


def closest_pi():
    return [0.5]


def log_link(rho, log_pi):
    return sigmoid(rho + log_pi), (rho, log_pi)


def log_link_vjp(dtheta, cache):
    theta = sigmoid(cache[0] + cache[1])
    drho = dtheta * (theta - theta * theta)
    return [drho, sum(drho)]


def adapted(u, z, a):
    h = np.empty_like(u)
    for n, k in np.ndindex(*u.shape):
        h[n, k] = u[n, k] * (1 + z[n, k] * a[k])
    return h, (u, z, a)


def adapted_vjp(dh, cache):
    u, z, a = cache
    du, dz, da = np.zeros_like(u), np.zeros_like(z), np.zeros_like(a)
    for n, k in np.ndindex(*u.shape):
        du[n, k] = dh[n, k] * (1 + z[n, k] * a[k])
        dz[n, k] = dh[n, k] * u[n, k] * a[k]
        da[k] += dh[n, k] * u[n, k] * z[n, k]
    return du, dz, da
