def opened(w):
    # the kernel with its holes: zeros in every second row and column
    I, J, D, K = w.shape
    o = np.zeros((2 * I - 1, 2 * J - 1, D, K), w.dtype)
    o[::2, ::2] = w
    return o


def conv2d(x, w, bias, stride, padding):
    f = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    o = opened(w)
    I, J, D, K = o.shape
    down = (f.shape[1] - I) // stride + 1
    across = (f.shape[2] - J) // stride + 1
    h = np.zeros((len(x), down, across, K), x.dtype)
    for p in range(down):
        for q in range(across):
            part = f[:, p * stride : p * stride + I, q * stride : q * stride + J]
            h[:, p, q] = part.reshape(len(x), -1) @ o.reshape(-1, K) + bias
    return h, (x, f, o, stride, padding)


def conv2d_vjp(dh, cache):
    x, f, o, t, P = cache
    I, J, D, K = o.shape
    df = np.zeros_like(f)
    do = np.zeros_like(o)
    for p in range(dh.shape[1]):
        for q in range(dh.shape[2]):
            at = np.s_[:, p * t : p * t + I, q * t : q * t + J]
            df[at] += (dh[:, p, q] @ o.reshape(-1, K).T).reshape(f[at].shape)
            do += (f[at].reshape(len(x), -1).T @ dh[:, p, q]).reshape(o.shape)
    H, W = x.shape[1:3]
    return df[:, P : P + H, P : P + W], do[::2, ::2], dh.sum(axis=0).sum(axis=0).sum(axis=0)


def pool2d(x, scale, window):
    m, (N, H, W, K) = window, x.shape
    y = x[:, : H // m * m, : W // m * m].reshape(N, H // m, m, W // m, m, K)
    h = y.max(axis=(2, 4)) - y.mean(axis=(2, 4))
    return h * scale, (x, y, h, scale, m)


def pool2d_vjp(dh, cache):
    x, y, h, s, m = cache
    wide = (s * dh)[:, :, None, :, None]
    dy = wide * (y == y.max(axis=(2, 4), keepdims=True)) - wide / m**2
    N, a, _, b, _, K = y.shape
    dy = dy.reshape(N, a * m, b * m, K)
    rest = ((0, 0), (0, x.shape[1] - a * m), (0, x.shape[2] - b * m), (0, 0))
    return np.pad(dy, rest), (dh * h).sum(axis=0).sum(axis=(0, 1))


def masked_conv2d(x, v, z, bias, stride, padding):
    s = 1 / np.sqrt(1 + z.sum(axis=0))
    h, c = conv2d(x, z * v * s, bias * z.mean(axis=0), stride, padding)
    return h, (v, z, bias, s, c)


def masked_conv2d_vjp(dh, cache):
    v, z, bias, s, c = cache
    dx, dw, db = conv2d_vjp(dh, c)
    inner = (v * dw).sum(axis=(0, 1))
    ds = (z * inner).sum(axis=0)
    dz = s * inner - s**3 * ds / 2 + bias * db / len(z)
    return [dx, dw * z * s, dz, z.mean(axis=0) * db]


def convolution_matrix(w, height, width, stride, padding):
    I, J, D, K = w.shape
    down = (height + 2 * padding - 2 * I + 1) // stride + 1
    across = (width + 2 * padding - 2 * J + 1) // stride + 1
    C = np.zeros((down, across, K, height + 2 * padding, width + 2 * padding, D))
    for p in range(down):
        for q in range(across):
            a, b = p * stride, q * stride
            C[p, q, :, a : a + 2 * I : 2, b : b + 2 * J : 2] = np.moveaxis(w, 3, 0)
    C = C[:, :, :, padding : padding + height, padding : padding + width]
    return C.reshape(down * across * K, -1)


def slope_in_kernel(x, rows, columns, stride, padding):
    f = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    down = (f.shape[1] - (2 * rows - 1)) // stride + 1
    across = (f.shape[2] - (2 * columns - 1)) // stride + 1
    out = []
    for p in range(down):
        for q in range(across):
            out.append(f[:, p * stride : p * stride + 2 * rows - 1 : 2, q * stride : q * stride + 2 * columns - 1 : 2])
    return np.moveaxis(np.array(out), 0, 1).reshape(len(x), down, across, rows, columns, x.shape[3])
