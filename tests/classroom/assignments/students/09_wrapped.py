def shifted(x, i, j, t, P, size):
    # what entry (i, j) of the kernel reads: roll the image, and take every t-th pixel of it
    down, across = size
    a = (np.arange(down) * t + i - P) % x.shape[1]
    b = (np.arange(across) * t + j - P) % x.shape[2]
    return np.take(np.take(x, a, axis=1), b, axis=2)


def unshifted(d, i, j, t, P, shape):
    a = (np.arange(d.shape[1]) * t + i - P) % shape[1]
    b = (np.arange(d.shape[2]) * t + j - P) % shape[2]
    rows = (a[:, None] == np.arange(shape[1])).astype(d.dtype)
    columns = (b[:, None] == np.arange(shape[2])).astype(d.dtype)
    return np.einsum("npqd,pa,qb->nabd", d, rows, columns)


def conv2d(x, w, bias, stride, padding):
    I, J = w.shape[:2]
    size = (
        (x.shape[1] + 2 * padding - I) // stride + 1,
        (x.shape[2] + 2 * padding - J) // stride + 1,
    )
    h = bias + sum(
        shifted(x, i, j, stride, padding, size) @ w[i, j] for i in range(I) for j in range(J)
    )
    return h, (x, w, stride, padding, size)


def conv2d_vjp(dh, cache):
    x, w, t, P, size = cache
    dx = 0
    dw = np.empty_like(w)
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            dx = dx + unshifted(dh @ w[i, j].T, i, j, t, P, x.shape)
            read = shifted(x, i, j, t, P, size).reshape(-1, x.shape[3])
            dw[i, j] = read.T @ dh.reshape(-1, dh.shape[3])
    return dx, dw, dh.reshape(-1, dh.shape[3]).sum(axis=0)


def pool2d(x, scale, window):
    m, (N, H, W, K) = window, x.shape
    parts = [x[:, a : H // m * m : m, b : W // m * m : m] for a in range(m) for b in range(m)]
    parts = np.stack(parts)
    top = parts.max(axis=0)
    e = np.exp(parts - top)
    h = top + np.log(e.mean(axis=0))
    return scale * h, (e, h, scale, m, x.shape)


def pool2d_vjp(dh, cache):
    e, h, s, m, shape = cache
    dx = np.zeros(shape, dh.dtype)
    down, across = dh.shape[1] * m, dh.shape[2] * m
    for n, share in enumerate(e / e.sum(axis=0)):
        dx[:, n // m : down : m, n % m : across : m] = dh * s * share
    return {"x": dx, "scale": np.sum(h * dh, axis=(0, 1, 2))}


def masked_conv2d(x, v, z, bias, stride, padding):
    u = 1 - np.prod(1 - z, axis=0)
    h, c = conv2d(x, z[None, None] * v, bias * u, stride, padding)
    return h, (v, z, bias, u, c)


def masked_conv2d_vjp(dh, cache):
    v, z, bias, u, c = cache
    dx, dw, db = conv2d_vjp(dh, c)
    dz = np.sum(v * dw, axis=(0, 1))
    for d in range(len(z)):
        dz[d] += bias * db * np.prod(1 - np.delete(z, d, axis=0), axis=0)
    return {"dx": dx, "dv": dw * z, "dz": dz, "dbias": u * db}


def convolution_matrix(w, height, width, stride, padding):
    I, J, D, K = w.shape
    down = (height + 2 * padding - I) // stride + 1
    across = (width + 2 * padding - J) // stride + 1
    C = 0
    for i in range(I):
        for j in range(J):
            a = (np.arange(down) * stride + i - padding) % height
            b = (np.arange(across) * stride + j - padding) % width
            C = C + np.einsum(
                "pa,qb,dk->pqkabd", np.eye(height)[a], np.eye(width)[b], w[i, j]
            )
    return C.reshape(down * across * K, -1)


def slope_in_kernel(x, rows, columns, stride, padding):
    f = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)), mode="wrap")
    down = (f.shape[1] - (rows)) // stride + 1
    across = (f.shape[2] - (columns)) // stride + 1
    out = []
    for p in range(down):
        for q in range(across):
            out.append(f[:, p * stride : p * stride + rows, q * stride : q * stride + columns])
    return np.moveaxis(np.array(out), 0, 1).reshape(len(x), down, across, rows, columns, x.shape[3])
