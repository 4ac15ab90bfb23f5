r"""Gradients of symmetric matrices, of which a forward reads one triangle: a Cholesky factor,
eigenvalues.

Such a forward does not depend on the other triangle, so its derivatives there are zero.  Matrix
calculus has another gradient, which is symmetric and right for all changes that keep the matrix
symmetric,

.. math::

    \langle G, E \rangle = D_E f(S), \quad E = E^\top, \qquad G = \tfrac12 \bigl(J + J^\top\bigr),

and a gradient function may return either of the two.
"""

import numpy as np

NOTE = (
    "is symmetric, and the forward reads its {} triangle only: the gradient is compared for "
    "symmetric changes"
)


def for_symmetric_changes(truth, x, name, gradients):
    """Return the truth for symmetric changes if the forward reads one triangle and the gradients
    are symmetric.

    ``truth`` is that of all entries of ``x``, an input; where this does not apply, it is returned
    as it is.
    """
    if (
        x.ndim != 2
        or len(x) < 2
        or x.shape != x.T.shape
        or not np.array_equal(x, x.T)
        or not all(np.allclose(g, g.T, rtol=1e-8, atol=1e-8 * np.max(np.abs(g))) for g in gradients)
    ):
        return truth
    jacobian, error = (part.reshape(-1, *x.shape) for part in (truth.jacobian, truth.error))
    unread = [
        side
        for side, keep in (("upper", np.triu), ("lower", np.tril))
        if not np.any(keep(jacobian, 1 if side == "upper" else -1))
    ]
    if len(unread) != 1:
        return truth
    read = "lower" if unread == ["upper"] else "upper"
    folded = [
        ((part + part.transpose(0, 2, 1)) / 2).reshape(len(part), -1) for part in (jacobian, error)
    ]
    return truth._replace(
        jacobian=folded[0],
        error=folded[1],
        triangle=read,
        notes=(*truth.notes, f"{name} {NOTE.format(read)}"),
    )


def mirrored(x, triangle):
    """Return the symmetric matrix that has a triangle of ``x``.

    >>> mirrored(np.array([[1.0, 5.0], [2.0, 3.0]]), "lower")
    array([[1., 2.],
           [2., 3.]])
    """
    kept = np.tril(x) if triangle == "lower" else np.triu(x)
    return kept + kept.T - np.diag(np.diag(x))
