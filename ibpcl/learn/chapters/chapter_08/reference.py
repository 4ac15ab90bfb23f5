"""Reference functions of chapter 8 that are not primitives of the package."""


def vanishing_gradient():
    """Choose the gradient that disappears with the concrete divergence."""
    return "b"


def new_gradient():
    """Choose the gradient of the second layer that is needed now."""
    return "a"


def noisy_gradient():
    """Predict the variance of the gradients as the temperature falls."""
    return "b"


def head_variance():
    """Predict the variance of the gradient with one matrix per sample."""
    return "c"
