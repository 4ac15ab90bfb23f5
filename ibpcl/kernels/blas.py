"""Dense matrix products: BLAS on one thread, called by ours.

The threads of OpenBLAS take the cores from ours (:mod:`ibpcl.openblas`).  So each of our threads computes some of the
products, or some rows of one, by itself, which costs no more.  Compiled code calls SciPy's BLAS (Numba's ``dot`` does),
so that no thread waits for the interpreter's lock.  What a thread computes depends on sizes alone, and so the result
does not depend on the number of threads, of ours or of BLAS, bit for bit.
"""

import numpy as np

from ibpcl.kernels import loops, threads
from ibpcl.kernels.compilation import compiled
from ibpcl.kernels.memory import empty
from ibpcl.kernels.turns import BEGIN, END, another
from ibpcl.openblas import one_thread

ROWS, GROUP = 256, 12                                        # a piece; what BLAS computes together


@compiled
def multiply(turns, length, x, w, b, out):
    """Write x w + b to out (S, N, K), x (R, N, D), R = 1 or S, w (S, D, K), b (S, K); a piece has ``length`` rows."""
    blocks = -(-x.shape[1] // length)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            s, first = piece // blocks, piece % blocks * length
            rows = slice(first, min(first + length, x.shape[1]))
            np.dot(x[s % x.shape[0], rows], w[s], out[s, rows])
            for n in range(first, min(first + length, x.shape[1])):
                loops.add(b[s], out[s, n])


@compiled
def pull_back(turns, dh, x, w, dx, dw, db):
    """Write the gradients dw (S, D, K) with db (S, K), then dx (S, N, D); an empty dw, then db too, is not needed."""
    blocks = -(-x.shape[1] // ROWS)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            if piece < dw.shape[0]:
                np.dot(x[piece % x.shape[0]].T, dh[piece], dw[piece])
                loops.sum_rows(dh[piece], db[piece])
            else:
                s, first = (piece - dw.shape[0]) // blocks, (piece - dw.shape[0]) % blocks * ROWS
                rows = slice(first, min(first + ROWS, x.shape[1]))
                np.dot(dh[s, rows], w[s].T, dx[s, rows])


def product(x, w, b):
    """Multiply ``x`` (N, D) or (S, N, D) by ``w`` (S, D, K) and add ``b`` (S, K): (S, N, K)."""
    x = x if x.ndim == 3 else x[None]
    (S, _, K), N = w.shape, x.shape[1]
    # One product is cut into two, where BLAS begins a new group of rows anyway, so that no digit changes.
    rows = ROWS if S > 1 or N > ROWS else GROUP * max(1, -(-N // (2 * GROUP)))
    out = empty((S, N, K), w.dtype)
    with one_thread():
        threads.run(multiply, S * -(-N // rows), rows, x, w, b, out)
    return out


def gradients(dh, x, w, needs_dx=True, needs_dw=True):
    """Pull the gradient at :func:`product` back to each sample's ``x``, and to ``w`` and ``b``; None if not needed."""
    x, S = x if x.ndim == 3 else x[None], len(w)
    dx, dw = empty((S * needs_dx, *x.shape[1:]), w.dtype), empty((S * needs_dw, *w.shape[1:]), w.dtype)
    db = np.empty((S, dh.shape[2]), w.dtype)
    with one_thread():
        threads.run(pull_back, len(dw) + len(dx) * -(-x.shape[1] // ROWS), dh, x, w, dx, dw, db)
    return dx if needs_dx else None, *((dw, db) if needs_dw else (None, None))
