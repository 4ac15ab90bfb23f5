"""Solutions to the exercises of tutorial 19.

`ibpcl check tutorials/solutions/19_write_the_test.py` checks the pairs of
functions. Run as a script, the file prints the numbers that the comments refer to.
"""

import numpy as np


def standardize(x):
    """Return each column with mean zero and variance one."""
    centered = x - x.mean(axis=0)
    scale = 1 / np.sqrt(np.mean(centered**2, axis=0))
    return centered * scale, (centered * scale, scale)


def standardize_vjp(dout, cache):
    """Pull the gradient at the output back to the batch."""
    y, scale = cache
    return scale * (dout - dout.mean(axis=0) - y * np.mean(dout * y, axis=0))


# Exercise 1: Behind a cotangent of ones.
#
# A batch that is multiplied by a number has the same output, so the gradient has no
# part along the centered batch, which is along y. The property depends on the variance
# path. It fails without this path, with its wrong sign, with a sum in place of its
# mean, and without the output in it. The mean path is not seen, because y has mean
# zero. The factors of the whole bracket are not seen either.


def is_orthogonal(gradient, x, dout):
    """Return whether a gradient has no part along the output in any column."""
    y, _ = cache = standardize(x)[1]
    return np.abs((gradient(dout, cache) * y).sum(axis=0)).max() < 1e-9


def brackets():
    """Return the wrong brackets of the tutorial by name, without the scale."""
    return {
        "no mean path": lambda d, y: d - y * np.mean(d * y, axis=0),
        "no variance path": lambda d, y: d - d.mean(axis=0),
        "wrong sign": lambda d, y: d - d.mean(axis=0) + y * np.mean(d * y, axis=0),
        "sum for mean": lambda d, y: d - d.mean(axis=0) - y * np.sum(d * y, axis=0),
        "mean of everything": lambda d, y: d - d.mean() - y * np.mean(d * y, axis=0),
        "no output": lambda d, y: d - d.mean(axis=0) - np.mean(d * y, axis=0),
    }


# Exercise 2: A test for a layer.
#
# Differences at a random batch of several rows catch all three. A batch with one number
# hides the sum in place of the mean, because both are the number itself.


def mean_squared_error(prediction, target):
    """Return the mean of the squared differences."""
    return np.mean((prediction - target) ** 2), (prediction, target)


def mean_squared_error_vjp(dout, cache):
    """Pull the gradient at the loss back to prediction and target."""
    prediction, target = cache
    slope = dout * 2 * (prediction - target) / prediction.size
    return slope, -slope


def passes(gradient, prediction, target, step=1e-5):
    """Return whether a gradient of the loss agrees with differences."""
    claimed = gradient(1.7, mean_squared_error(prediction, target)[1])[0]
    slopes = np.empty_like(prediction)
    for place in np.ndindex(prediction.shape):
        change = np.zeros_like(prediction)
        change[place] = step
        above = mean_squared_error(prediction + change, target)[0]
        below = mean_squared_error(prediction - change, target)[0]
        slopes[place] = 1.7 * (above - below) / (2 * step)
    return np.abs(claimed - slopes).max() < 1e-6 * np.abs(slopes).max()


def summed(dout, cache):
    """Return the gradient with a sum in place of the mean."""
    return tuple(cache[0].size * each for each in mean_squared_error_vjp(dout, cache))


# Exercise 3: The tolerance of a test.
#
# The largest error of ten batches is about 1e-9 or less. Ten times this is far below
# the smallest mistake of the tutorial, which is a tenth or more.


def errors(batches=10, step=1e-5, seed=0):
    """Return the relative error of the right gradient at random batches."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(batches):
        x, dout = rng.normal(size=(2, 5, 3))
        slopes = np.empty_like(x)
        for place in np.ndindex(x.shape):
            change = np.zeros_like(x)
            change[place] = step
            above, below = standardize(x + change)[0], standardize(x - change)[0]
            slopes[place] = np.sum(dout * (above - below)) / (2 * step)
        claimed = standardize_vjp(dout, standardize(x)[1])
        found.append(np.abs(claimed - slopes).max() / np.abs(slopes).max())
    return np.array(found)


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    x, dout = rng.normal(size=(2, 5, 3))
    unseen = [
        name
        for name, bracket in brackets().items()
        if is_orthogonal(lambda d, cache, b=bracket: cache[1] * b(d, cache[0]), x, dout)
    ]
    print("1. not caught, beside the factors:", ", ".join(unseen))
    many, one = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 1, 1))
    print("2. the sum is caught:", not passes(summed, *many), not passes(summed, *one))
    print(f"3. largest error {errors().max():.0e}")
