"""Filter in the frequency domain: y = irfft(g exp(i phi) rfft(x)) with gains g and phases phi."""

import numpy as np


def f(x, g, phi):
    X = np.fft.rfft(x)
    H = g * np.exp(1j * phi)
    return np.fft.irfft(H * X, n=len(x)), (X, H, phi, len(x))


def f_vjp(dout, cache):
    X, H, phi, n = cache
    D = np.fft.rfft(dout)
    dx = np.fft.irfft(np.conj(H) * D, n=n)
    weight = np.full(len(X), 2.0 / n)
    weight[0] = 1.0 / n
    if n % 2 == 0:
        weight[-1] = 1.0 / n
    dH = weight * np.conj(X) * D
    unit = np.exp(1j * phi)
    dg = np.real(np.conj(unit) * dH)
    dphi = np.real(np.conj(1j * H) * dH)
    return dx, dg, dphi


def check_inputs():
    rng = np.random.default_rng(49)
    phi = rng.normal(size=5)
    return {"x": rng.normal(size=9), "g": rng.uniform(0.5, 2, size=5), "phi": phi}
