r"""The linear layer: the twin of ``primitives.linear``.

Both products with a batch of images, :math:`x w_s` and :math:`x^\top dh_s`, leave out the images' zeros
(:mod:`ibpcl.kernels.sparse`).  Dense inputs go to BLAS, on one thread, called by ours, each for some of the products or
some rows of one: the threads of OpenBLAS would take the cores from ours.
"""

import numpy as np

from ibpcl.kernels.compilation import twin_of
from ibpcl.kernels.sparse import density, efficiency, multiply, sparse
from ibpcl.kernels.threads import each, pieces
from ibpcl.openblas import one_thread
from ibpcl.primitives import linear as reference

ROWS = 128                                                   # of a dense product, a piece
# The largest share of numbers that are not zero for the sparse way, where all columns of its tiles are used; BLAS is
# the faster one beyond.
DENSEST = 0.6


def _add(x, w, b, out):
    np.matmul(x, w, out=out)
    out += b


@twin_of(reference)
def apply(x, w, b):
    """Multiply by the weights and add the bias: the twin of :func:`ibpcl.primitives.linear.apply`."""
    (S, _, K), N = w.shape, x.shape[-2]
    h, entries = np.empty((S, N, K), np.float32), None
    if x.ndim == 2 and density(x) <= DENSEST * efficiency(K):
        entries = sparse(x)
        multiply([(entries, w[s], b[s]) for s in range(S)], h)
    else:
        with one_thread():
            each(_add, [((x if x.ndim == 2 else x[s])[rows], w[s], b[s], h[s, rows])
                        for s in range(S) for rows in pieces(N, ROWS)])
    return h, (x, w, entries is not None)


@twin_of(reference)
def apply_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back to ``x``, ``w`` and ``b``: the twin of :func:`ibpcl.primitives.linear.apply_vjp`."""
    x, w, is_sparse = cache
    (S, N, K), dx, dw = dh.shape, None, np.empty_like(w)
    if is_sparse:
        entries, nothing = sparse(np.ascontiguousarray(x.T)), np.zeros(K, np.float32)
        multiply([(entries, dh[s], nothing) for s in range(S)], dw)
    products = [] if is_sparse else [((x if x.ndim == 2 else x[s]).T, dh[s], dw[s]) for s in range(S)]
    if needs_dx:
        dx = np.empty((S, *x.shape[-2:]), np.float32)
        products += [(dh[s, rows], w[s].T, dx[s, rows]) for s in range(S) for rows in pieces(N, ROWS)]
    with one_thread():
        each(np.matmul, products)
    if needs_dx and x.ndim == 2:
        dx = dx.sum(axis=0)                                  # x was shared by all samples
    return dx, dw, dh.sum(axis=1)                            # b was broadcast over N
