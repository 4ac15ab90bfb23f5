"""Noisy rectifier whose noise is drawn again in the backward from the seed that was given: sigmoid(x + s noise) x."""

import numpy as np

WRT = ("x", "s")


def f(x, s, seed):
    noise = np.random.default_rng(seed).normal(size=x.shape)
    gate = 1 / (1 + np.exp(-(x + s * noise)))
    return gate * x, (x, s, seed)


def f_vjp(dout, cache):
    x, s, seed = cache
    noise = np.random.default_rng(seed).normal(size=x.shape)
    gate = 1 / (1 + np.exp(-(x + s * noise)))
    da = dout * x * gate * (1 - gate)
    return dout * gate + da, np.sum(da * noise)


def check_inputs():
    rng = np.random.default_rng(121)
    return {"x": rng.normal(size=(3, 4)), "s": np.array(0.5), "seed": 7}
