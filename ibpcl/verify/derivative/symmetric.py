r"""Gradients of symmetric inputs of which the forward reads one triangle, as ``cholesky`` does.

Such a forward does not depend on the other triangle, so its derivatives there are zero.  Matrix
calculus uses a different, symmetric gradient :math:`G`.  It is right for all changes :math:`E` that
keep the matrix :math:`S` symmetric,

.. math::

    \langle G, E \rangle = D_E f(S), \quad E = E^\top, \qquad G = \tfrac12 \bigl(J + J^\top\bigr),

where :math:`J` has the derivatives by single entries.  A gradient function may return either of the
two.
"""

import numpy as np

from ibpcl.verify.reports.words import Note

NOTE = (
    "is symmetric, and the forward reads its {} triangle only: the gradient is compared for "
    "symmetric changes"
)


def for_symmetric_changes(reference, x, name, gradients):
    """Return the reference for symmetric changes if the forward reads one triangle of an input.

    Parameters
    ----------
    reference : Reference
        Derivatives by all entries of the input.
    x : ndarray
        The input.
    name : str
        Its name, for the note in the report.
    gradients : sequence of ndarray
        The gradients under test of this input, one for each cotangent.

    Returns
    -------
    Reference
        With a symmetrized Jacobian, the triangle and a note.  The reference is returned unchanged
        unless the input and all gradients are symmetric matrices and the derivatives of one
        triangle are zero.
    """
    if (
        x.ndim != 2
        or len(x) < 2
        or x.shape != x.T.shape
        or not np.array_equal(x, x.T)
        or not all(np.allclose(g, g.T, rtol=1e-8, atol=1e-8 * np.max(np.abs(g))) for g in gradients)
    ):
        return reference
    jacobian, error = (
        array.reshape(-1, *x.shape) for array in (reference.jacobian, reference.error)
    )
    unread = [
        side
        for side, keep in (("upper", np.triu), ("lower", np.tril))
        if not np.any(keep(jacobian, 1 if side == "upper" else -1))
    ]
    if len(unread) != 1:
        return reference
    read = "lower" if unread == ["upper"] else "upper"
    symmetrized = [
        ((array + array.transpose(0, 2, 1)) / 2).reshape(len(array), -1)
        for array in (jacobian, error)
    ]
    return reference._replace(
        jacobian=symmetrized[0],
        error=symmetrized[1],
        triangle=read,
        notes=(*reference.notes, Note(f"{name} {NOTE.format(read)}")),
    )


def mirrored(x, triangle):
    """Return the symmetric matrix that shares one triangle with ``x``.

    Parameters
    ----------
    x : ndarray, shape (n, n)
        Matrix to read.
    triangle : {"lower", "upper"}
        The triangle that is kept and mirrored.

    Returns
    -------
    ndarray, shape (n, n)

    Examples
    --------
    >>> mirrored(np.array([[1.0, 5.0], [2.0, 3.0]]), "lower")
    array([[1., 2.],
           [2., 3.]])
    """
    half = np.tril(x) if triangle == "lower" else np.triu(x)
    return half + half.T - np.diag(np.diag(x))
