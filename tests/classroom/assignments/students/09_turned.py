from scipy import signal


def conv2d(x, w, bias, stride, padding):
    N, H, W, D = x.shape
    K = w.shape[3]
    f = np.pad(x, ((0, 0), (padding,) * 2, (padding,) * 2, (0, 0)))
    h = []
    for n in range(N):
        for k in range(K):
            whole = sum(signal.convolve2d(f[n, :, :, d], w[:, :, d, k], "valid") for d in range(D))
            h.append(whole[::stride, ::stride] + bias[k])
    h = np.array(h).reshape(N, K, *h[0].shape).transpose(0, 2, 3, 1)
    return h, (f, w, stride, padding, (H, W))


def conv2d_vjp(dh, cache):
    f, w, t, P, (H, W) = cache
    I, J, D, K = w.shape
    N = len(f)
    full = np.zeros((N, f.shape[1] - I + 1, f.shape[2] - J + 1, K), dh.dtype)
    full[:, ::t, ::t] = dh
    df = np.zeros_like(f)
    dw = np.zeros_like(w)
    for n in range(N):
        for d in range(D):
            for k in range(K):
                g = full[n, :, :, k]
                df[n, :, :, d] += signal.correlate2d(g, w[:, :, d, k], "full")
                dw[:, :, d, k] += signal.correlate2d(f[n, :, :, d], g, "valid")[::-1, ::-1]
    return df[:, P : P + H, P : P + W], dw, dh.sum((0, 1, 2))


def pool2d(x, scale, window):
    m = window
    N, H, W, K = x.shape
    h = np.zeros((N, H // m, W // m, K), x.dtype)
    for p in range(H // m):
        for q in range(W // m):
            part = x[:, p * m : p * m + m, q * m : q * m + m].reshape(N, m * m, K)
            h[:, p, q] = np.linalg.norm(part / abs(part).max(1, keepdims=True), axis=1) / m
            h[:, p, q] *= abs(part).max(1)
    return h * scale, (x, h, scale, m)


def pool2d_vjp(dh, cache):
    x, h, s, m = cache
    d = dh * s
    dx = np.zeros_like(x)
    for p in range(h.shape[1]):
        for q in range(h.shape[2]):
            at = np.s_[:, p * m : p * m + m, q * m : q * m + m]
            dx[at] = x[at] / h[:, p, q][:, None, None] * (d[:, p, q] / m**2)[:, None, None]
    return dx, (dh * h).sum((0, 1, 2))


def masked_conv2d(x, v, z, bias, stride, padding):
    u = np.sqrt((z**2).mean(axis=0))
    h, c = conv2d(x, v * z, u * bias, stride, padding)
    return h, (v, z, bias, u, c)


def masked_conv2d_vjp(dh, cache):
    v, z, bias, u, c = cache
    dx, dw, db = conv2d_vjp(dh, c)
    dz = (dw * v).sum((0, 1)) + (db * bias / u) * z / np.float32(len(z))
    return dx, dw * z, dz, db * u


def convolution_matrix(w, height, width, stride, padding):
    I, J, D, K = w.shape
    rows = []
    for p in range((height + 2 * padding - I) // stride + 1):
        for q in range((width + 2 * padding - J) // stride + 1):
            for k in range(K):
                image = np.zeros((height + 2 * padding, width + 2 * padding, D))
                a, b = p * stride, q * stride
                image[a : a + I, b : b + J] = w[::-1, ::-1, :, k]
                inside = image[padding : padding + height, padding : padding + width]
                rows.append(inside.ravel())
    return np.array(rows)


def slope_in_kernel(x, rows, columns, stride, padding):
    f = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    down = (f.shape[1] - (rows)) // stride + 1
    across = (f.shape[2] - (columns)) // stride + 1
    out = []
    for p in range(down):
        for q in range(across):
            out.append(f[:, p * stride : p * stride + rows, q * stride : q * stride + columns][:, ::-1, ::-1])
    return np.moveaxis(np.array(out), 0, 1).reshape(len(x), down, across, rows, columns, x.shape[3])
