r"""Convolutions of images that continue at the other side, pools by a soft maximum."""

WORDS = {
    "Convolve images with filters, which are not turned, and add":
        "Convolve images that continue at the other side with filters, and add",
    "Width P of the frame of zeros around each image, at least 0":
        "Width P of the frame around each image, in which it continues at the other side; at least 0",
    "Replace each window of an image by its largest number,":
        "Replace each window of an image by a soft maximum, log mean exp,",
    "Convolve with masked filters; biases are scaled by the largest mask of their filter":
        "Convolve with masked filters; biases are scaled by the probability that a mask of theirs is on",
    "Return the matrix that maps one image to its convolution, without biases":
        "Return the matrix that maps one image, continued at the other side, to its convolution, without biases",
    "Width P of the frame of zeros around the image":
        "Width P of the frame around the image",
}


def _framed(x, padding):
    """Put a frame around images, in which they continue at the other side."""
    return np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)), mode="wrap")


def _framed_vjp(dframed, padding):
    """Add the gradient of the frame to the pixels that were copied to it."""
    n, height, width, d = dframed.shape
    height, width = height - 2 * padding, width - 2 * padding
    rows = np.arange(-padding, height + padding) % height
    columns = np.arange(-padding, width + padding) % width
    dx = np.zeros((n, height, width, d), dframed.dtype)
    np.add.at(dx, (slice(None), rows[:, None], columns), dframed)
    return dx


def pool2d(x, scale, window):
    windows = _windows(x, window)
    top = windows.real.max(axis=3, keepdims=True)
    e = np.exp(windows - top)  # at most one, and one of them is one
    pooled = (top + np.log(e.mean(axis=3, keepdims=True)))[:, :, :, 0]
    return scale * pooled, (pooled, scale, e / e.sum(axis=3, keepdims=True), x.shape, window)


def pool2d_vjp(dh, cache):
    r""".. math:: dx_{nabk} = s_k\, dh_{npqk}\; \mathrm{softmax}_{\text{window } (p, q)}(x)_{nabk}, \qquad
              ds_k = \sum_{npq} l_{npqk}\, dh_{npqk}
    """
    pooled, scale, softmax, shape, window = cache
    dpooled = scale * dh
    dx = _windows_vjp(dpooled[:, :, :, None] * softmax, shape, window)
    return dx, (pooled * dh).sum(axis=(0, 1, 2))


def _activity(z):
    """Return the probability that at least one mask of a filter is on, and the slopes."""
    rest = 1 - z
    ones = np.ones_like(rest[:1])
    # The slope is the product of all other rests, from both sides: a rest may be zero.
    before = np.cumprod(np.concatenate([ones, rest[:-1]]), axis=0)
    after = np.cumprod(np.concatenate([ones, rest[:0:-1]]), axis=0)[::-1]
    return 1 - rest.prod(axis=0), before * after


def convolution_matrix(w, height, width, stride, padding):
    rows, columns, channels, filters = w.shape
    down = _positions(height, rows, stride, padding)
    across = _positions(width, columns, stride, padding)
    matrix = np.zeros((down, across, filters, height, width, channels))
    for p, q, i, j in np.ndindex(down, across, rows, columns):
        a = (p * stride + i - padding) % height
        b = (q * stride + j - padding) % width
        matrix[p, q, :, a, b] += w[i, j].T  # a large kernel reads a pixel twice
    return matrix.reshape(down * across * filters, height * width * channels)
