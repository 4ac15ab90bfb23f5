import numpy as np


def squash(x, gain):
    y = np.tanh(gain * x)
    return y, (x, gain, y)


def squash_vjp(dy, cache):
    x, gain, y = cache
    slope = dy * (1 - y**2)
    return gain * slope, x * slope
