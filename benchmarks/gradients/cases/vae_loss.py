"""Loss of a small variational autoencoder with given noise: squared error plus KL to N(0, I), mean over examples."""

import numpy as np

WRT = ("x", "Wm", "Ws", "Wd")


def f(x, Wm, Ws, Wd, eps):
    mu = x @ Wm
    logvar = x @ Ws
    std = np.exp(0.5 * logvar)
    z = mu + std * eps
    err = z @ Wd - x
    rec = 0.5 * np.sum(err**2)
    kl = 0.5 * np.sum(np.exp(logvar) + mu**2 - 1 - logvar)
    return (rec + kl) / len(x), (x, Wm, Ws, Wd, eps, mu, logvar, std, z, err)


def f_vjp(dout, cache):
    x, Wm, Ws, Wd, eps, mu, logvar, std, z, err = cache
    g = dout / len(x)
    derr = g * err
    dWd = z.T @ derr
    dz = derr @ Wd.T
    dmu = dz + g * mu
    dlogvar = dz * eps * 0.5 * std + 0.5 * g * (np.exp(logvar) - 1)
    dWm = x.T @ dmu
    dWs = x.T @ dlogvar
    dx = dmu @ Wm.T + dlogvar @ Ws.T - derr
    return dx, dWm, dWs, dWd


def check_inputs():
    rng = np.random.default_rng(35)
    return {
        "x": rng.normal(size=(4, 5)),
        "Wm": 0.5 * rng.normal(size=(5, 2)),
        "Ws": 0.5 * rng.normal(size=(5, 2)),
        "Wd": rng.normal(size=(2, 5)),
        "eps": rng.normal(size=(4, 2)),
    }
