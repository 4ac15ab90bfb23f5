"""Solutions to the exercises of tutorial 16.

`ibpcl check tutorials/solutions/16_masked_convolutions.py` checks the pairs of
functions. Run as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np

from ibpcl.primitives import convolution, local_convolution

# Exercise 1: A convolution in one dimension.
#
# np.correlate does not turn its second argument, so it is the forward function and also
# the gradient of the kernel. The gradient of the sequence is a convolution in the sense
# of signal processing, with the turned kernel, at all places where the two overlap.


def conv1d(sequence, taps):
    """Return the sums over all positions of the kernel inside the sequence."""
    return np.correlate(sequence, taps, "valid"), (sequence, taps)


def conv1d_vjp(dh, cache):
    """Pull the gradient back to the sequence and the kernel."""
    sequence, taps = cache
    return np.convolve(dh, taps, "full"), np.correlate(sequence, dh, "valid")


# Exercise 2: Stride and padding by hand.
#
# The loop of the gradient visits the same patches as that of the forward function.
# The frame belongs to nobody: its gradient is cut off at the end.


def strided(image, kernel, stride, padding):
    """Convolve an image of one channel with one kernel."""
    framed = np.pad(image, padding)
    rows, columns = kernel.shape
    down = (framed.shape[0] - rows) // stride + 1
    across = (framed.shape[1] - columns) // stride + 1
    h = np.zeros((down, across), np.result_type(image, kernel))
    for p in range(down):
        for q in range(across):
            a, b = p * stride, q * stride
            h[p, q] = np.sum(framed[a : a + rows, b : b + columns] * kernel)
    return h, (framed, kernel, stride, padding)


def strided_vjp(dh, cache):
    """Pull the gradient back to the image and the kernel."""
    framed, kernel, stride, padding = cache
    rows, columns = kernel.shape
    dframed = np.zeros(framed.shape, dh.dtype)
    dkernel = np.zeros(kernel.shape, dh.dtype)
    for p in range(dh.shape[0]):
        for q in range(dh.shape[1]):
            a, b = p * stride, q * stride
            dframed[a : a + rows, b : b + columns] += dh[p, q] * kernel
            dkernel += dh[p, q] * framed[a : a + rows, b : b + columns]
    height, width = framed.shape
    return dframed[padding : height - padding, padding : width - padding], dkernel


# Exercise 3: One mask per filter.
#
# z_k multiplies all rows, columns and channels of its filter, so its gradient is the
# sum over these three axes.


def filter_mask(z, v):
    """Return the masked kernel (I, J, D, K) for masks z (K,)."""
    return z * v, (z, v)


def filter_mask_vjp(dw, cache):
    """Pull the gradient back to the masks and the weights."""
    z, v = cache
    return (v * dw).sum(axis=(0, 1, 2)), z * dw


# Exercise 4: A mean over positions.
#
# Every patch is a row of ones, so every covariance is I J sigma^2, on and off the
# diagonal. The mean of P equal outputs has this variance as well. Independent noise
# keeps P of the P^2 terms: its variance is P times too small, and P is the number of
# positions.


def variance_ratio(size, kernel, sigma):
    """Return by which factor noise per output makes the variance of the mean small."""
    ones = np.ones((1, size, size, 1))
    sigmas = np.full((kernel, kernel, 1, 1), sigma)
    covariance = local_convolution.shared_covariance(ones, sigmas, np.zeros(1))
    covariance = covariance[0, ..., 0]
    return covariance.mean() / (np.trace(covariance) / len(covariance) ** 2)


# Exercise 5: A kernel as large as the image.
#
# There is one position only, and its patch is the whole image: a dense layer. A kernel
# of one pixel is a dense layer from channels to filters, the same at every pixel.


def dense(x, w):
    """Return the outputs of a dense layer for flat examples."""
    return x.reshape(len(x), -1) @ w.reshape(-1, w.shape[-1])


def check_inputs():
    rng = np.random.default_rng(16)
    return {
        "sequence": rng.standard_normal(9),
        "taps": rng.standard_normal(4),
        "image": rng.standard_normal((7, 6)),
        "kernel": rng.standard_normal((3, 2)),
        "stride": 2,
        "padding": 1,
        "z": rng.uniform(size=5),
        "v": rng.standard_normal((3, 2, 4, 5)),
    }


def main():
    inputs = check_inputs()
    h, _ = conv1d(inputs["sequence"], inputs["taps"])
    reference = np.convolve(inputs["sequence"], inputs["taps"][::-1], "valid")
    print(f"1. a turned np.convolve differs by {np.abs(h - reference).max():.0e}")

    h, _ = strided(*(inputs[name] for name in ("image", "kernel", "stride", "padding")))
    packed, _ = convolution.conv2d(
        inputs["image"][None, ..., None],
        inputs["kernel"][None, ..., None, None],
        np.zeros((1, 1)),
        stride=2,
        padding=1,
    )
    error = np.abs(packed[0, 0, ..., 0] - h).max()
    print(f"2. output {h.shape}, difference to the package {error:.0e}")
    assert error < 1e-12

    w, cache = filter_mask(inputs["z"], inputs["v"])
    dz, _ = filter_mask_vjp(np.ones_like(w), cache)
    print(f"3. gradient at the masks of {w.size} weights: {dz.round(2)}")
    assert np.allclose(dz, inputs["v"].sum(axis=(0, 1, 2)))

    for size, kernel in ((5, 3), (8, 3)):
        positions = (size - kernel + 1) ** 2
        ratio = variance_ratio(size, kernel, 0.5)
        print(f"4. {positions} positions: the variance is {ratio:.0f} times too small")
        assert np.isclose(ratio, positions)

    rng = np.random.default_rng(5)
    x, w = rng.standard_normal((6, 4, 5, 2)), rng.standard_normal((4, 5, 2, 3))
    whole, _ = convolution.conv2d(x, w[None], np.zeros((1, 3)))
    error = np.abs(whole[0, :, 0, 0] - dense(x, w)).max()
    point, _ = convolution.conv2d(x, w[:1, :1][None], np.zeros((1, 3)))
    pixel_error = np.abs(point[0] - x @ w[0, 0]).max()
    print(f"5. as large as the image: {error:.0e}, one pixel: {pixel_error:.0e}")
    assert max(error, pixel_error) < 1e-12


if __name__ == "__main__":
    main()
