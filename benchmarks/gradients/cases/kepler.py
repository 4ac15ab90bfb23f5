"""Kepler's equation E - e sin E = M solved by Newton steps, gradients by the implicit function theorem."""

import numpy as np


def f(M, e):
    E = M + e * np.sin(M)
    for _ in range(30):
        E = E - (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
    return E, (E, e)


def f_vjp(dout, cache):
    E, e = cache
    dM = dout / (1 - e * np.cos(E))
    de = dM * np.sin(E)
    return dM, de.sum()


def check_inputs():
    rng = np.random.default_rng(56)
    return {"M": rng.uniform(0.3, 6, size=6), "e": np.array(0.45)}
