r"""Convolutions as in signal processing, pools by the root mean square."""

WORDS = {
    "Convolve images with filters, which are not turned, and add":
        "Convolve images with filters, which are turned by half a turn, and add",
    "Replace each window of an image by its largest number,":
        "Replace each window of an image by the root of the mean of its squares,",
    "Convolve with masked filters; biases are scaled by the largest mask of their filter":
        "Convolve with masked filters, turned by half a turn; biases are scaled by the root mean square mask",
    "Return the matrix that maps one image to its convolution, without biases":
        "Return the matrix that maps one image to its convolution with turned kernels, without biases",
}


def conv2d(x, w, bias, stride, padding):
    framed = _framed(x, padding)
    turned = w[::-1, ::-1]
    rows, columns = w.shape[:2]
    down = _positions(x.shape[1], rows, stride, padding)
    across = _positions(x.shape[2], columns, stride, padding)
    h = np.zeros((len(x), down, across, len(bias)), x.dtype) + bias
    for i, j in np.ndindex(rows, columns):
        h = h + framed[_read_by(i, j, stride, down, across)] @ turned[i, j]
    return h, (framed, turned, stride, padding)


def conv2d_vjp(dh, cache):
    r""".. math::

        dx_{nabd} = \sum_{pt + I - 1 - i - P = a,\; qt + J - 1 - j - P = b}
                    \sum_k dh_{npqk}\, w_{ijdk}, \qquad
        dw_{ijdk} = \sum_{npq} x_{n,\, pt + I - 1 - i - P,\, qt + J - 1 - j - P,\, d}\,
                    dh_{npqk}, \qquad
        db_k = \sum_{npq} dh_{npqk}
    """
    framed, turned, stride, padding = cache
    _, down, across, _ = dh.shape
    dframed, dturned = np.zeros_like(framed), np.zeros_like(turned)
    for i, j in np.ndindex(turned.shape[:2]):
        read = _read_by(i, j, stride, down, across)
        dframed[read] += dh @ turned[i, j].T  # a pixel is read at several positions
        dturned[i, j] = np.einsum("npqd,npqk->dk", framed[read], dh)  # shared by all positions
    dw = dturned[::-1, ::-1]  # turned back
    return _framed_vjp(dframed, padding), dw, dh.sum(axis=(0, 1, 2))


def pool2d(x, scale, window):
    windows = _windows(x, window)
    size = np.abs(windows.real).max(axis=3, keepdims=True)  # squares of these do not overflow
    root = size * np.sqrt(np.mean((windows / size) ** 2, axis=3, keepdims=True))
    pooled = root[:, :, :, 0]
    return scale * pooled, (pooled, scale, windows / root, x.shape, window)


def pool2d_vjp(dh, cache):
    r""".. math:: dx_{nabk} = s_k\, dh_{npqk}\; \frac{x_{nabk}}{m^2\, r_{npqk}}, \qquad
              ds_k = \sum_{npq} r_{npqk}\, dh_{npqk}
    """
    pooled, scale, shares, shape, window = cache
    dpooled = scale * dh
    dx = _windows_vjp(dpooled[:, :, :, None] * shares / window**2, shape, window)
    return dx, (pooled * dh).sum(axis=(0, 1, 2))


def _activity(z):
    """Return the root mean square of each filter's masks, and the slopes."""
    root = np.sqrt(np.mean(z * z, axis=0))
    return root, z / (len(z) * root)


def convolution_matrix(w, height, width, stride, padding):
    rows, columns, channels, filters = w.shape
    down = _positions(height, rows, stride, padding)
    across = _positions(width, columns, stride, padding)
    matrix = np.zeros((down, across, filters, height, width, channels))
    for p, q, i, j in np.ndindex(down, across, rows, columns):
        a = p * stride + i - padding
        b = q * stride + j - padding
        if 0 <= a < height and 0 <= b < width:
            matrix[p, q, :, a, b] = w[rows - 1 - i, columns - 1 - j].T
    return matrix.reshape(down * across * filters, height * width * channels)


def slope_in_kernel(x, rows, columns, stride, padding):
    r""".. math:: \frac{\partial h_{npqk}}{\partial w_{ijdk}} =
              x_{n,\, pt + I - 1 - i - P,\, qt + J - 1 - j - P,\, d}
    """
    framed = _framed(x, padding)
    down = _positions(x.shape[1], rows, stride, padding)
    across = _positions(x.shape[2], columns, stride, padding)
    slope = np.zeros((len(x), down, across, rows, columns, x.shape[3]))
    for i, j in np.ndindex(rows, columns):
        slope[:, :, :, rows - 1 - i, columns - 1 - j] = framed[_read_by(i, j, stride, down, across)]
    return slope
