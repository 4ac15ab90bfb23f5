"""Sums by einsum, other spellings of the same formulas."""

import math

import numpy as np


def add(h, f, z):
    return h + np.einsum("s,snk->snk", z, f), (np.ndim(h), f, z)


def add_vjp(dy, cache):
    dimensions, f, z = cache
    dh = np.einsum("snk->nk", dy) if dimensions < 3 else dy * 1.0
    return dh, np.einsum("s,snk->snk", z, dy), np.einsum("snk,snk->s", f, dy)


def block(h, w, b, z):
    a = np.einsum("nj,jk->nk", h, w) + b
    on = (a > 0) * 1.0
    return h + z * on * a, (h, w, b, z, on)


def block_vjp(dy, cache):
    h, w, b, z, on = cache
    da = z * on * dy
    dh = dy + np.einsum("nk,jk->nj", da, w)
    return dh, np.einsum("nj,nk->jk", h, da), np.einsum("nk->k", da), np.sum(dy * on * (h @ w + b))


def expected_depth(alpha, limit):
    log_r = -np.log1p(1 / alpha)
    return -alpha * np.expm1(limit * log_r), (alpha, limit, log_r)


def expected_depth_vjp(ddepth, cache):
    alpha, limit, log_r = cache
    return ddepth * (-np.expm1(limit * log_r) - np.exp(limit * log_r) * limit / (1 + alpha))


def no_block():
    return round(math.exp(-2), 4)


def share_with_gaps(z):
    first_off = np.minimum.accumulate(z, axis=1)
    return np.mean(np.any(z & ~first_off, axis=1))


def price_of_a_block():
    return 42 * (math.log(1 / 0.3) - 0.33)


def value_of_an_idle_block():
    return "B"


def shared_block():
    return "b "
