r"""The linear layer for inputs of which many are zero: the twin of ``primitives.linear``.

Both products with a batch of images, :math:`x w_s` and :math:`x^\top dh_s`, leave out the images' zeros
(:mod:`ibpcl.kernels.sparse_matrix`).  Dense inputs go to BLAS.  The choice is made for each batch by the share of its
numbers that are not zero.
"""

import numpy as np

from ibpcl.kernels import blas, sparse_matrix, threads
from ibpcl.kernels.compilation import compiled
from ibpcl.kernels.memory import as_arrays, empty
from ibpcl.kernels.turns import BEGIN, END, another


def _densest(columns):
    """Return the largest share of numbers that are not zero for the sparse way; BLAS is the faster one beyond.

    What a row of the sparse matrix costs whatever the other one's width weighs more where that is narrow
    (docs/performance.md).
    """
    return 0.2 if columns < 32 else 0.4 if columns < 64 else 0.6


@compiled
def product(turns, parts, starts, ends, places, values, matrices, first, out, totals):
    """Multiply the sparse matrix by some of ``matrices`` (S, M, K), into ``out`` (S, R, K), and add up their rows.

    A piece is one of so many ``parts`` of a result's rows.  ``first`` (S, K) is what each of these begins with;
    ``totals``, the sums of the matrices' rows, (S, K), or (S, 0) where they are not needed.
    """
    R = out.shape[1]
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            s, part = piece // parts, piece % parts
            total = totals[s] if part == 0 else totals[s, :0]
            sparse_matrix.multiply(starts, ends, places, values, matrices[s], first[s], out[s], total,
                                   part * R // parts, (part + 1) * R // parts)


def _product(sparse, matrices, first, rows, needs_totals):
    S, _, K = matrices.shape
    out, totals = empty((S, rows, K), matrices.dtype), np.empty((S, K * needs_totals), matrices.dtype)
    parts = 2 if S == 1 else 1
    threads.run(product, S * parts, parts, *sparse, matrices, first, out, totals)
    return out, totals


def apply(x, w, b):
    """Multiply by the weights and add the bias: the twin of :func:`ibpcl.primitives.linear.apply`."""
    x, w, b = as_arrays("linear.apply", x, w, b)
    sparse = sparse_matrix.sparse(x, _densest(w.shape[2])) if x.ndim == 2 else None
    if sparse is not None:
        return _product(sparse, w, b, x.shape[0], False)[0], (x, w, sparse)
    return blas.product(x, w, b), (x, w, None)


def apply_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back to ``x``, ``w`` and ``b``: the twin of :func:`ibpcl.primitives.linear.apply_vjp`."""
    x, w, sparse = cache
    dh = np.ascontiguousarray(dh, w.dtype)
    dx, dw, db = blas.gradients(dh, x, w, needs_dx, sparse is None)
    if needs_dx and x.ndim == 2:
        dx = dx.sum(axis=0)                                  # x was shared by all samples
    if sparse is not None:
        nothing = np.zeros((dh.shape[0], dh.shape[2]), dh.dtype)
        dw, db = _product(sparse_matrix.transposed(sparse, x.shape[1]), dh, nothing, x.shape[1], True)
    return dx, dw, db
