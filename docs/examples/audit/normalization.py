"""Batch normalization with a gradient written by hand."""

import numpy as np


def batchnorm_forward(x, gamma, beta):
    """Return x with mean 0 and variance 1 in each column, times gamma, plus beta; and a cache."""
    centered = x - x.mean(axis=0)
    scale = 1 / np.sqrt(np.mean(centered**2, axis=0))
    normed = centered * scale
    return gamma * normed + beta, (normed, gamma, scale)


def batchnorm_backward(dout, cache):
    """Return the gradients of sum(dout * out) with respect to x, gamma and beta."""
    normed, gamma, scale = cache
    dgamma = np.sum(dout * normed, axis=0)
    dbeta = np.sum(dout, axis=0)
    dnormed = dout * gamma
    direct = dnormed - np.mean(dnormed, axis=0)
    dx = scale * (direct - normed * np.mean(dnormed * normed, axis=0))
    return dx, dgamma, dbeta
