"""What a gradient function differentiates: decided by shapes, and converted to ``dout``'s gradient.

``f_vjp(dout, cache)`` returns gradients of ``sum(dout * out)``.  Functions without ``dout`` return
derivatives: of a loss, of every entry separately, or a Jacobian.
"""

import numpy as np

# Meanings of a result, with a note for the report.
MODES = {
    "vjp": "",
    "loss": "",
    "elementwise": "the derivative is taken as elementwise: dx = dout * {name}(...)",
    "rows": "the gradient is taken as one row for each output",
    "jacobian": "the result is taken as a Jacobian, outputs by inputs",
    "mean": "the gradient is that of the mean of the outputs",
    "sum": "the gradient is that of the sum of the outputs",
}

# What the two readings of a derivative without a cotangent differentiate.
MEANT = {
    "elementwise": "each output",
    "rows": "each output",
    "sum": "the sum of the outputs",
    "mean": "the mean of the outputs",
}


def modes_of(out, gradients, takes_cotangent, of_loss=False):
    """Return what gradients are the gradients of, decided by shapes.

    Parameters
    ----------
    out : ndarray or float
        The output.
    gradients : sequence of (Leaf, ndarray)
        Each leaf with its gradient.
    takes_cotangent : bool
        Whether the gradient function takes a cotangent.
    of_loss : bool
        Whether the name of the forward is that of a loss, whose entries are often averaged.

    Returns
    -------
    list of str
        One or two keys of :data:`MODES`.  Two remain if the output has several entries, and the
        gradient may be that of their sum or of their mean; or if it is a loss for each example,
        whose mean may be meant.
    """
    out = np.asarray(out)
    if takes_cotangent:
        return ["vjp"]
    if out.size == 1:
        return ["loss"]
    shapes = [(np.shape(leaf.value), np.shape(gradient)) for leaf, gradient in gradients]
    averaged = ["mean"] if of_loss else []
    if all(given == wanted == out.shape for wanted, given in shapes):
        return ["elementwise", *averaged]
    if all(
        given == out.shape + wanted
        or (out.ndim == 2 and given == (*out.shape, wanted[-1] if wanted else 0))
        for wanted, given in shapes
    ):
        return ["jacobian"]
    if not all(given == wanted for wanted, given in shapes):
        return ["elementwise"]  # the shape is a mistake, and is reported
    if all(_begins_with(given, out.shape) for _, given in shapes):
        return ["rows", *averaged]
    return ["sum", "mean"]


def _begins_with(given, shape):
    """Return whether a gradient has further axes, or longer ones than an output that kept them."""
    if len(given) > len(shape):
        return given[: len(shape)] == shape
    return len(given) == len(shape) and all(
        one in (1, size) for one, size in zip(shape, given, strict=True)
    )


def pulled(mode, dout, gradient, shape):
    """Return the gradient of ``sum(dout * out)``, computed from a result of another meaning.

    Parameters
    ----------
    mode : str
        Key of :data:`MODES`.
    dout : ndarray or float
        The cotangent.
    gradient : ndarray
        The result.
    shape : tuple of int
        Shape of the input.

    Returns
    -------
    ndarray
        The gradient.
    """
    if mode == "vjp":
        return gradient
    gradient = np.asarray(gradient)
    dout = np.asarray(dout)
    if mode in ("loss", "mean", "sum"):
        return gradient * dout.reshape(())
    if mode == "elementwise":
        try:
            return dout * gradient
        except ValueError:  # a gradient of a shape that nothing explains is judged as it is
            return gradient
    if mode == "rows":
        return dout.reshape(dout.shape + (1,) * (gradient.ndim - dout.ndim)) * gradient
    if gradient.shape == dout.shape + tuple(shape):
        return np.tensordot(dout, gradient, dout.ndim)
    return np.einsum("nc,ncd->nd", dout, gradient)  # one Jacobian for each example


def reduced(mode, out):
    """Return the output that a gradient differentiates.

    Parameters
    ----------
    mode : str
        Key of :data:`MODES`.
    out : ndarray or float
        The output of the forward.

    Returns
    -------
    ndarray or float
        Its mean or sum for these modes, else the output itself.
    """
    return np.mean(out) if mode == "mean" else np.sum(out) if mode == "sum" else out
