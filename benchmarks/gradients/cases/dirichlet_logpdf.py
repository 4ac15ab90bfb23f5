"""Log density of the Dirichlet distribution: sum (alpha - 1) log p - sum gammaln(alpha) + gammaln(sum alpha)."""

import numpy as np
from scipy.special import digamma, loggamma


def f(p, alpha):
    logb = loggamma(alpha).sum() - loggamma(alpha.sum())
    return ((alpha - 1) * np.log(p)).sum(axis=1) - logb, (p, alpha)


def f_vjp(dout, cache):
    p, alpha = cache
    dp = dout[:, None] * (alpha - 1) / p
    dlogb = -dout.sum()
    dalpha = dout @ np.log(p) + dlogb * (digamma(alpha) - digamma(alpha.sum()))
    return dp, dalpha


def check_inputs():
    rng = np.random.default_rng(37)
    return {"p": rng.dirichlet(np.ones(4) * 3, size=3), "alpha": rng.uniform(0.5, 3, size=4)}
