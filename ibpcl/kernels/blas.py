"""Products of dense matrices by BLAS on one thread, called from compiled code (Numba's ``dot``).

Each thread of the kernels computes some of the products, or some rows of one.  Additional threads
of OpenBLAS would compete with them for the processors.
"""

import numpy as np

from ibpcl.blas_threads import one_thread
from ibpcl.kernels.compilation import compiled, cube, inlined, void
from ibpcl.kernels.threads import JOB, parts, run, taken

# Rows of a product per piece.  BLAS copies w into its own layout for each piece.
ROWS = 128


@inlined
def _rows(products):
    """Return the number of rows per piece, which is smaller for a single product."""
    return ROWS if products > 1 else ROWS // 2


@compiled(void(JOB, cube, cube, cube))
def _multiply(job, x, w, out):
    """Write x w to out (S, N, K), with x (1, N, D) or (S, N, D) and w (S, D, K)."""
    size = _rows(out.shape[0])
    cuts = parts(out.shape[1], size)
    for i in taken(job):
        s = i // cuts
        rows = slice(i % cuts * size, (i % cuts + 1) * size)
        np.dot(x[s % x.shape[0], rows], w[s], out[s, rows])


@compiled(void(JOB, cube, cube, cube, cube, cube))
def _pull_back(job, dh, x, w, dw, dx):
    """Write x^T dh to dw (S, D, K) and dh w^T to dx (S, N, D); an empty array is not computed."""
    needed = dw.shape[0]
    cuts = parts(dx.shape[1], ROWS)
    for i in taken(job):
        if i < needed:
            np.dot(x[i % x.shape[0]].T, dh[i], dw[i])
        else:
            s = (i - needed) // cuts
            rows = slice((i - needed) % cuts * ROWS, ((i - needed) % cuts + 1) * ROWS)
            np.dot(dh[s, rows], w[s].T, dx[s, rows])


def multiply(x, w):
    """Return matrix products, computed by BLAS.

    Parameters
    ----------
    x : ndarray of float32, shape (S, N, D) or (1, N, D)
        Left factors; one for all samples, or one per sample.
    w : ndarray of float32, shape (S, D, K)
        Right factors.

    Returns
    -------
    out : ndarray of float32, shape (S, N, K)
        The products.
    """
    out = np.empty((len(w), x.shape[1], w.shape[2]), np.float32)
    with one_thread():
        run(_multiply, len(w) * parts(out.shape[1], _rows(len(w))), x, w, out)
    return out


def pull_back(dh, x, w, needs_dw=True, needs_dx=True):
    """Pull the gradient at :func:`multiply` back to ``w`` and to the ``x`` of each sample.

    Parameters
    ----------
    dh : ndarray of float32, shape (S, N, K)
        Gradient at the products.
    x : ndarray of float32, shape (S, N, D) or (1, N, D)
        Left factors.
    w : ndarray of float32, shape (S, D, K)
        Right factors.
    needs_dw, needs_dx : bool
        Which gradients to compute.

    Returns
    -------
    dw : ndarray, shape (S, D, K), or None
        Gradient at ``w``; None if it is not needed.
    dx : ndarray, shape (S, N, D), or None
        Gradient at ``x``, not summed over samples; None if it is not needed.
    """
    S, N, _ = dh.shape
    dw = np.empty((S * needs_dw, *w.shape[1:]), np.float32)
    dx = np.empty((S * needs_dx, N, w.shape[1]), np.float32)
    with one_thread():
        run(_pull_back, len(dw) + len(dx) * parts(N, ROWS), dh, x, w, dw, dx)
    return dw if needs_dw else None, dx if needs_dx else None
