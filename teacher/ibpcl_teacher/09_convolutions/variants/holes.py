r"""Convolutions with holes in the kernel, pools by the largest minus the mean."""

WORDS = {
    "Convolve images with filters, which are not turned, and add":
        "Convolve images with filters that skip every second row and column, and add",
    "Replace each window of an image by its largest number,":
        "Replace each window of an image by its largest number minus its mean,",
    "Convolve with masked filters; biases are scaled by the largest mask of their filter":
        "Convolve with masked filters with holes, divided by the root of one plus their mask sum; biases are scaled by the mean mask",
    "Return the matrix that maps one image to its convolution, without biases":
        "Return the matrix that maps one image to its convolution with holes, without biases",
}


def _positions(size, window, stride, padding):
    """Return the number of positions of a kernel with holes along an axis."""
    return (size + 2 * padding - (2 * window - 1)) // stride + 1


def _read_by(i, j, stride, down, across):
    """Return the pixels that entry (i, j) of the kernel reads, one for each position."""
    rows = slice(2 * i, 2 * i + stride * (down - 1) + 1, stride)
    columns = slice(2 * j, 2 * j + stride * (across - 1) + 1, stride)
    return slice(None), rows, columns


def pool2d(x, scale, window):
    windows = _windows(x, window)
    largest = np.argmax(windows.real, axis=3)[:, :, :, None]
    top = np.take_along_axis(windows, largest, axis=3)[:, :, :, 0]
    pooled = top - windows.mean(axis=3)
    return scale * pooled, (pooled, scale, largest, x.shape, window)


def pool2d_vjp(dh, cache):
    r""".. math:: dx_{nabk} = s_k\, dh_{npqk} \Bigl(\mathbb 1[(a, b) \text{ is the largest of window } (p, q)]
              - \frac{1}{m^2}\Bigr), \qquad ds_k = \sum_{npq} d_{npqk}\, dh_{npqk}
    """
    pooled, scale, largest, shape, window = cache
    n, down, across, k = dh.shape
    dpooled = scale * dh
    dwindows = np.zeros((n, down, across, window * window, k), dh.dtype)
    np.put_along_axis(dwindows, largest, dpooled[:, :, :, None], axis=3)
    dwindows = dwindows - dpooled[:, :, :, None] / window**2  # every pixel is in the mean
    return _windows_vjp(dwindows, shape, window), (pooled * dh).sum(axis=(0, 1, 2))


def masked_conv2d(x, v, z, bias, stride, padding):
    root = np.sqrt(1 + z.sum(axis=0))
    activity = z.mean(axis=0)
    w = z * v / root
    h, inner = conv2d(x, w, bias * activity, stride, padding)
    return h, (v, z, bias, activity, root, w, inner)


def masked_conv2d_vjp(dh, cache):
    r""".. math:: dv_{ijdk} = \frac{z_{dk}}{r_k}\, dw_{ijdk}, \qquad
              dz_{dk} = \sum_{ij} \frac{v_{ijdk}}{r_k}\, dw_{ijdk}
              - \frac{1}{2 r_k^2} \sum_{ijd'} w_{ijd'k}\, dw_{ijd'k} + \frac{b_k}{D}\, db'_k, \qquad
              db_k = u_k\, db'_k, \quad r_k^2 = 1 + \sum_d z_{dk}
    """
    v, z, bias, activity, root, w, inner = cache
    dx, dw, dscaled = conv2d_vjp(dh, inner)
    droot = (w * dw).sum(axis=(0, 1, 2)) / (2 * root**2)  # the root serves a whole filter
    dz = (v * dw).sum(axis=(0, 1)) / root - droot + bias * dscaled / len(z)
    return dx, z * dw / root, dz, activity * dscaled


def convolution_matrix(w, height, width, stride, padding):
    rows, columns, channels, filters = w.shape
    down = _positions(height, rows, stride, padding)
    across = _positions(width, columns, stride, padding)
    matrix = np.zeros((down, across, filters, height, width, channels))
    for p, q, i, j in np.ndindex(down, across, rows, columns):
        a = p * stride + 2 * i - padding
        b = q * stride + 2 * j - padding
        if 0 <= a < height and 0 <= b < width:
            matrix[p, q, :, a, b] = w[i, j].T
    return matrix.reshape(down * across * filters, height * width * channels)
