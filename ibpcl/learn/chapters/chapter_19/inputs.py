"""Inputs of the functions of chapter 19."""


def slopes(rng, size):
    """Return outputs above and below a point, for each entry of an input."""
    p = {"odd": 1, "large": 12}.get(size, int(rng.integers(3, 6)))
    shape = (int(rng.integers(2, 5)), int(rng.integers(2, 4)))
    middle = rng.standard_normal(shape)
    step = 1e-3
    change = rng.standard_normal((p, *shape)) * step
    return {
        "dout": rng.standard_normal(shape),
        "above": middle + change,
        "below": middle - change * rng.uniform(0.8, 1.2, (p, *shape)),
        "h": step,
    }


def relative_error(rng, size):
    """Return a claimed gradient and slopes, which differ a little."""
    shape = {"odd": (1,), "large": (20, 10)}.get(size, (int(rng.integers(2, 5)), 3))
    slopes = rng.standard_normal(shape) * 3
    return {"claimed": slopes + 0.2 * rng.standard_normal(shape), "slopes": slopes}


def scale_shift(rng, size):
    """Return a batch, and a gain and a shift for each column."""
    n, d = {"large": (7, 5)}.get(size, (4, 3))
    return {
        "x": rng.standard_normal((n, d)),
        "gain": rng.standard_normal(d),
        "shift": rng.standard_normal(d),
    }


def softmax(rng, size):
    """Return scores."""
    return {"x": rng.standard_normal({"large": (7, 5)}.get(size, (4, 3)))}
