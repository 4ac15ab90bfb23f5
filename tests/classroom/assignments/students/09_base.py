def patches(x, I, J, t, P):
    f = np.pad(x, [(0, 0), (P, P), (P, P), (0, 0)])
    views = np.lib.stride_tricks.sliding_window_view(f, (I, J), axis=(1, 2))
    return views[:, ::t, ::t]


def conv2d(x, w, bias, stride, padding):
    r = patches(x, w.shape[0], w.shape[1], stride, padding)
    return np.einsum("npqdij,ijdk->npqk", r, w) + bias, (x.shape, r, w, stride, padding)


def conv2d_vjp(dh, cache):
    (N, H, W, D), r, w, t, P = cache
    _, down, across, K = dh.shape
    I, J = w.shape[:2]
    # zeros between the entries of dh, a frame around them, and a convolution with the turned kernel
    wide = np.zeros((N, H + 2 * P + I - 1, W + 2 * P + J - 1, K), dh.dtype)
    wide[:, I - 1 : I - 1 + t * down : t, J - 1 : J - 1 + t * across : t] = dh
    df = np.einsum("npqkij,ijdk->npqd", patches(wide, I, J, 1, 0), w[::-1, ::-1])
    dw = np.einsum("npqdij,npqk->ijdk", r, dh)
    return df[:, P : P + H, P : P + W], dw, np.einsum("npqk->k", dh)


def pool2d(x, scale, window):
    m = window
    N, H, W, K = x.shape
    a, b = H // m, W // m
    y = x[:, : a * m, : b * m].reshape(N, a, m, b, m, K)
    h = y.max(axis=(2, 4))
    return h * scale, (x, h, scale, m)


def pool2d_vjp(dh, cache):
    x, h, s, m = cache
    dx = np.zeros_like(x)
    a, b = h.shape[1] * m, h.shape[2] * m
    wide = np.repeat(np.repeat(h, m, axis=1), m, axis=2)
    dx[:, :a, :b] = np.repeat(np.repeat(dh * s, m, 1), m, 2) * (x[:, :a, :b] == wide)
    return dx, np.einsum("npqk,npqk->k", h, dh)


def masked_conv2d(x, v, z, bias, stride, padding):
    u = z.max(axis=0)
    h, c = conv2d(x, np.einsum("dk,ijdk->ijdk", z, v), bias * u, stride, padding)
    return h, (v, z, bias, u, c)


def masked_conv2d_vjp(dh, cache):
    v, z, bias, u, c = cache
    dx, dw, db = conv2d_vjp(dh, c)
    dz = np.einsum("ijdk,ijdk->dk", v, dw)
    k = np.arange(z.shape[1])
    dz[z.argmax(axis=0), k] += bias * db
    return dx, dw * z, dz, db * u


def convolution_matrix(w, height, width, stride, padding):
    images = np.eye(height * width * w.shape[2]).reshape(-1, height, width, w.shape[2])
    r = patches(images, w.shape[0], w.shape[1], stride, padding)
    return np.einsum("npqdij,ijdk->pqkn", r, w).reshape(-1, len(images))


def slope_in_kernel(x, rows, columns, stride, padding):
    f = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    down = (f.shape[1] - (rows)) // stride + 1
    across = (f.shape[2] - (columns)) // stride + 1
    out = []
    for p in range(down):
        for q in range(across):
            out.append(f[:, p * stride : p * stride + rows, q * stride : q * stride + columns])
    return np.moveaxis(np.array(out), 0, 1).reshape(len(x), down, across, rows, columns, x.shape[3])
