"""Loops over samples and blocks, and the prior as a sum."""

import numpy as np


def add(h, f, z):
    y = np.zeros_like(f)
    for s in range(len(z)):
        y[s] = (h if h.ndim == 2 else h[s]) + z[s] * f[s]
    return y, {"shared": h.ndim == 2, "f": f, "z": z}


def add_vjp(dy, cache):
    dh = sum(dy) if cache["shared"] else dy.copy()
    df = np.stack([each * z for each, z in zip(dy, cache["z"], strict=True)])
    dz = [np.vdot(f, each) for f, each in zip(cache["f"], dy, strict=True)]
    return dh, df, np.array(dz)


def block(h, w, b, z):
    rows = []
    for row in h:
        a = row @ w + b
        rows.append(row + z * np.where(a.real > 0, a, 0))
    return np.array(rows), (h, w, b, z)


def block_vjp(dy, cache):
    h, w, b, z = cache
    dh, dw, db, dz = np.array(dy), 0 * w, 0 * b, 0.0
    for n, row in enumerate(h):
        a = row @ w + b
        on = a > 0
        dz += a[on] @ dy[n, on]
        da = np.where(on, z * dy[n], 0)
        dh[n] += w @ da
        dw = dw + np.outer(row, da)
        db = db + da
    return {"dh": dh, "dw": dw, "db": db, "dz": dz}


def expected_depth(alpha, limit):
    r = alpha / (alpha + 1)
    return sum(r**block for block in range(1, limit + 1)), (r, alpha, limit)


def expected_depth_vjp(ddepth, cache):
    r, alpha, limit = cache
    slopes = sum(block * r ** (block - 1) for block in range(1, limit + 1))
    return ddepth * slopes / (alpha + 1) ** 2


def no_block():
    return np.array(0.1353)


def share_with_gaps(z):
    found = 0
    for row in z:
        text = "".join("1" if each else "0" for each in row)
        found += "01" in text
    return found / len(z)


def price_of_a_block():
    total = 0.0
    for _ in range(6 * 6 + 6):
        total += -np.log(0.3) + (0.3**2 + 0.5**2) / 2 - 0.5
    return total


def value_of_an_idle_block():
    return " b"


def shared_block():
    return "B"
