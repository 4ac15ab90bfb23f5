r"""The linear layer for inputs of which many are zero: the twin of ``primitives.linear``.

A fifth of the pixels of a handwritten digit are on.  Both products with such a batch, :math:`x w_s` and
:math:`x^\top dh_s`, are sums of a few scaled rows of a matrix,

.. math:: out_{sr} = \sum_{j:\, a_{rj} \ne 0} a_{rj} B_{sj}.

Adding one row at a time gains nothing over a dense product, for then each step reads and writes the sum; eight rows at
a time, the sum is read and written an eighth as often, and the loop over the columns has one output and eight inputs,
as many as the compiler is ready to check for overlap before it vectorizes.  A column of x that is zero in the whole
batch costs nothing in either product.

Dense inputs go to BLAS.  The choice is made for each batch by the share of its numbers that are not zero.
"""

import numpy as np

from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.memory import as_arrays, empty

# Break-even was measured at 0.31 (one core with AVX-512, OpenBLAS, 256 x 784 x 200); at 0.19 the gain is 1.6.
DENSEST = 0.28
PARTS = 2                                                    # pieces a sample
PADDING = 4                                                  # rows of the shortest step


@compiled
def count(x, row_counts, column_counts):
    """Count the numbers in each row and in each column of x (N, D) that are not zero."""
    zero = x.dtype.type(0)
    column_counts[:] = 0
    for n in range(x.shape[0]):
        row, total = x[n], np.int32(0)
        for d in range(wide(row.size)):
            total += np.int32(row[d] != zero)
        row_counts[n] = total
        for d in range(wide(row.size)):
            column_counts[d] += np.int32(row[d] != zero)


@compiled
def compress(x, starts, places, values):
    """Write place and value of each number that is not zero, row by row; ``starts`` says where a row begins.

    Without a branch: every number is written, and the next one over it if it was zero.  What remains of that lies in
    the padding, with value zero, or is overwritten by the next row; one more slot takes it in after the last.
    """
    zero = x.dtype.type(0)
    for n in range(x.shape[0]):
        j = starts[n]
        for d in range(x.shape[1]):
            places[j], values[j] = d, x[n, d]
            j += np.int64(x[n, d] != zero)


@compiled
def transpose(counts, starts, places, values, ends, new_places, new_values):
    """Sort the entries by column; ``ends`` begins as the starts of the columns and becomes their ends."""
    for n in range(counts.size):
        for j in range(starts[n], starts[n] + counts[n]):
            d = places[j]
            new_places[ends[d]], new_values[ends[d]] = n, values[j]
            ends[d] += 1


@inlined
def _add_eight(v, i, j, matrix, out, r):
    v0, v1, v2, v3, v4, v5, v6, v7 = v[j], v[j + 1], v[j + 2], v[j + 3], v[j + 4], v[j + 5], v[j + 6], v[j + 7]
    i0, i1, i2, i3, i4, i5, i6, i7 = i[j], i[j + 1], i[j + 2], i[j + 3], i[j + 4], i[j + 5], i[j + 6], i[j + 7]
    for k in range(wide(out.shape[1])):
        out[r, k] += ((v0 * matrix[i0, k] + v1 * matrix[i1, k] + v2 * matrix[i2, k] + v3 * matrix[i3, k])
                      + (v4 * matrix[i4, k] + v5 * matrix[i5, k] + v6 * matrix[i6, k] + v7 * matrix[i7, k]))


@inlined
def _add_four(v, i, j, matrix, out, r):
    v0, v1, v2, v3 = v[j], v[j + 1], v[j + 2], v[j + 3]
    i0, i1, i2, i3 = i[j], i[j + 1], i[j + 2], i[j + 3]
    for k in range(wide(out.shape[1])):
        out[r, k] += v0 * matrix[i0, k] + v1 * matrix[i1, k] + v2 * matrix[i2, k] + v3 * matrix[i3, k]


@compiled
def product(piece, starts, places, values, matrices, first, out):
    """Multiply the sparse matrix by one of ``matrices`` (S, M, K), for a part of the rows of ``out`` (S, R, K).

    ``first`` (S, K) is what each row of the result begins with.
    """
    R, K = out.shape[1], out.shape[2]
    s, part = piece // PARTS, piece % PARTS
    matrix, result, start = matrices[s], out[s], first[s]
    for row in range(part * R // PARTS, (part + 1) * R // PARTS):
        r = np.uint64(row)                                   # unsigned: no check whether it counts from the end
        for k in range(K):
            result[r, k] = start[k]
        j, end = starts[row], starts[row + 1]
        while j + 8 <= end:
            _add_eight(values, places, j, matrix, result, r)
            j += 8
        if j < end:
            _add_four(values, places, j, matrix, result, r)


def _starts(counts):
    """Return where each row begins when all are padded to a multiple of four; padding has place 0 and value 0."""
    starts = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts + -counts % PADDING, out=starts[1:])
    return starts


def _product(sparse, matrices, first, rows):
    S, _, K = matrices.shape
    out = empty((S, rows, K), matrices.dtype)
    threads.run(product, S * PARTS, *sparse, matrices, first, out)
    return out


def apply(x, w, b):
    """Multiply by the weights and add the bias: the twin of :func:`ibpcl.primitives.linear.apply`."""
    x, w, b = as_arrays("linear.apply", x, w, b)
    if x.ndim == 2:
        counts, column_counts = np.empty(x.shape[0], np.int32), np.empty(x.shape[1], np.int32)
        count(x, counts, column_counts)
        if counts.sum() <= DENSEST * x.size:
            starts = _starts(counts)
            places, values = np.zeros(starts[-1] + 1, np.uint32), np.zeros(starts[-1] + 1, x.dtype)
            compress(x, starts, places, values)
            sparse = starts, places, values
            return _product(sparse, w, b, x.shape[0]), (x, w, (counts, column_counts, sparse))
    h = np.matmul(x, w, out=empty((w.shape[0], x.shape[-2], w.shape[2]), w.dtype))
    h += b[:, None, :]
    return h, (x, w, None)


def apply_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back to ``x``, ``w`` and ``b``: the twin of :func:`ibpcl.primitives.linear.apply_vjp`."""
    x, w, sparse = cache
    dh = np.ascontiguousarray(dh, w.dtype)
    dx = None
    if needs_dx:
        dx = dh @ np.swapaxes(w, -1, -2)
        if x.ndim == 2:
            dx = dx.sum(axis=0)                              # x was shared by all samples
    if sparse is None:
        dw = np.matmul(np.swapaxes(x, -1, -2), dh, out=empty(w.shape, w.dtype))
    else:
        counts, column_counts, (starts, places, values) = sparse
        column_starts = _starts(column_counts)
        rows, entries = np.zeros(column_starts[-1], np.uint32), np.zeros(column_starts[-1], x.dtype)
        transpose(counts, starts, places, values, column_starts[:-1].copy(), rows, entries)
        zero = np.zeros((w.shape[0], w.shape[2]), w.dtype)
        dw = _product((column_starts, rows, entries), dh, zero, x.shape[1])
    return dx, dw, dh.sum(axis=1)                            # b was broadcast over N
