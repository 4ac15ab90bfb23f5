"""Reference functions of chapter 1 that are not primitives of the package."""


def other_order():
    """Predict the accuracy on E/F after A/B has been learned."""
    return "c"


def ten_kept_examples():
    """Choose the name of the idea."""
    return "b"


def curvature(minus, zero, plus, h):
    r"""Estimate the second derivative of a loss along a line.

    Parameters
    ----------
    minus, zero, plus : ndarray, shape (N,)
        Losses at -h, 0 and h on N lines.
    h : float
        Step, > 0.

    Returns
    -------
    second : ndarray, shape (N,)
        Second derivative at 0.
    """
    return (plus - 2 * zero + minus) / (h * h)


def forgetful_layer():
    """Predict the layer of the first solution that brings back more."""
    return "b"
