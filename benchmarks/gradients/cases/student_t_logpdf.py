"""Log density of Student's t with location mu, scale s and nu degrees of freedom, summed over the sample."""

import numpy as np
from scipy.special import digamma, loggamma


def f(x, mu, s, nu):
    z = (x - mu) / s
    q = 1 + z**2 / nu
    norm = loggamma((nu + 1) / 2) - loggamma(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(s)
    return np.sum(norm - (nu + 1) / 2 * np.log(q)), (x, z, q, s, nu)


def f_vjp(dout, cache):
    x, z, q, s, nu = cache
    n = len(x)
    dz = -(nu + 1) * z / (nu * q)
    dx = dout * dz / s
    dmu = -np.sum(dx)
    ds = dout * np.sum(-1 / s - dz * z / s)
    dnorm = 0.5 * digamma((nu + 1) / 2) - 0.5 * digamma(nu / 2) - 0.5 / nu
    dnu = dout * (n * dnorm + np.sum(-0.5 * np.log(q) + (nu + 1) / 2 * z**2 / (nu**2 * q)))
    return dx, dmu, ds, dnu


def check_inputs():
    rng = np.random.default_rng(138)
    return {"x": 2 * rng.normal(size=6), "mu": np.array(0.4), "s": np.array(1.3), "nu": np.array(3.5)}
