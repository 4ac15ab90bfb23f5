r"""The linear layer: the compiled version of ``primitives.linear``.

For a batch of images, the products :math:`x w_s` and :math:`x^\top dh_s` skip the zeros of the
images (:mod:`ibpcl.kernels.sparse`).  Dense inputs are multiplied by BLAS
(:mod:`ibpcl.kernels.blas`).
"""

import numpy as np

from ibpcl.kernels import blas
from ibpcl.kernels.compilation import twin_of
from ibpcl.kernels.sparse import density, efficiency, multiply, sparse, transposed
from ibpcl.primitives import linear as reference

# The largest share of nonzero numbers for which the sparse product is used, if its vectors are
# full.  Beyond it, BLAS is faster.
DENSEST = 0.6


@twin_of(reference)
def apply(x, w, b):
    """Multiply by the weights and add the bias: compiled :func:`ibpcl.primitives.linear.apply`."""
    if x.ndim == 2 and density(x) <= DENSEST * efficiency(w.shape[2]):
        entries = sparse(x)
        return multiply(entries, w, b), (x, w, entries)
    h = blas.multiply(x if x.ndim == 3 else x[None], w)
    h += b[:, None]
    return h, (x, w, None)


@twin_of(reference)
def apply_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back: compiled :func:`ibpcl.primitives.linear.apply_vjp`."""
    x, w, entries = cache
    dw, dx = blas.pull_back(dh, x if x.ndim == 3 else x[None], w, entries is None, needs_dx)
    if entries is not None:
        dw = multiply(
            transposed(entries, w.shape[1]), dh, np.zeros((len(dh), dh.shape[2]), np.float32)
        )
    if needs_dx and x.ndim == 2:
        dx = dx.sum(axis=0)  # x was shared by all samples
    return dx, dw, dh.sum(axis=1)  # b was broadcast over N
