r"""The linear layer for inputs of which many are zero: the twin of ``primitives.linear``.

A fifth of the pixels of a handwritten digit are on.  Both products with such a batch, :math:`x w_s` and
:math:`x^\top dh_s`, are sums of a few scaled rows of a matrix,

.. math:: out_{sr} = \sum_{j:\, a_{rj} \ne 0} a_{rj} B_{sj}.

**Tiles.**  Each row of B is used by many rows of the result, so B is cut into tiles of 64 rows and some hundred
columns, which stay in the first-level cache while all rows of the result pass and take what they need; a strip of a
result is kept in registers meanwhile (``row_sums``).  The entries of x lie in the same order: block after block of 64
columns, and in a block row after row.  A column of x that is zero in the whole batch costs nothing in either product.

Dense inputs go to BLAS.  The choice is made for each batch by the share of its numbers that are not zero.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.kernels import blas, threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.memory import as_arrays, empty
from ibpcl.kernels.row_sums import LONGEST, VECTOR_BYTES, add, aligned
from ibpcl.kernels.turns import BEGIN, END, another

DENSEST = 0.5                                                # both cost the same at 0.7 (docs/performance.md)
BLOCK = 64                                                   # rows of a tile: with 7 vectors, 28 of 48 KB


class Sparse(NamedTuple):
    """A matrix without its zeros.

    ``starts`` (blocks, rows + 1) says where the entries of each row of a block of columns begin, ``places`` in which
    column of the block they are.
    """

    starts: np.ndarray
    places: np.ndarray
    values: np.ndarray


@compiled
def count(x, counts):
    """Count the numbers in each block of columns of x (N, D) that are not zero."""
    zero = x.dtype.type(0)
    for n in range(x.shape[0]):
        row = x[n]
        for block in range(counts.size):
            part, total = row[block * BLOCK:(block + 1) * BLOCK], np.int32(0)
            for d in range(wide(part.size)):
                total += np.int32(part[d] != zero)
            counts[block] += total


@compiled
def compress(turns, x, starts, places, values):
    """Write column and value of each entry of some blocks of columns, row by row.

    Without a branch: every number is written, and the next one over it if it was zero; one more slot takes in the last.
    """
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        zero = x.dtype.type(0)
        for block in range(begin, end):
            j = starts[block, 0]
            for n in range(x.shape[0]):
                starts[block, n] = j
                for d in range(block * BLOCK, min((block + 1) * BLOCK, x.shape[1])):
                    places[j], values[j] = d - block * BLOCK, x[n, d]
                    j += np.int64(x[n, d] != zero)
            starts[block, x.shape[0]] = j


@inlined
def _transpose(block, starts, places, values, new_starts, new_places, new_values):
    """Sort the entries of a block of rows by column; ``new_starts[block, 0]`` says where the block begins."""
    N, row = starts.shape[1] - 1, new_starts[block]
    first, last = block * BLOCK, min((block + 1) * BLOCK, N)
    counts = np.zeros(row.size, np.int64)
    for b in range(starts.shape[0]):
        for j in range(starts[b, first], starts[b, last]):
            counts[b * BLOCK + places[j]] += 1
    for d in range(row.size - 1):
        row[d + 1] = row[d] + counts[d]
        counts[d] = row[d]                                   # from here on: where the next entry of the column goes
    for b in range(starts.shape[0]):
        for n in range(first, last):
            for j in range(starts[b, n], starts[b, n + 1]):
                d = b * BLOCK + places[j]
                new_places[counts[d]], new_values[counts[d]] = n - first, values[j]
                counts[d] += 1


@compiled
def transpose(turns, starts, places, values, new_starts, new_places, new_values):
    """Sort the entries of some blocks of rows by column."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        for block in range(begin, end):
            _transpose(block, starts, places, values, new_starts, new_places, new_values)


@inlined
def _copy(row, out):
    for k in range(wide(out.size)):
        out[k] = row[k]


@inlined
def _add(row, out):
    for k in range(wide(out.size)):
        out[k] += row[k]


@compiled
def _product_of_one(starts, places, values, matrix, start, result, total):
    (M, K), R = matrix.shape, result.shape[0]
    total[:] = 0
    for r in range(R):
        _copy(start, result[r])
    sums, lanes = result.reshape(-1), VECTOR_BYTES // result.itemsize
    vectors = -(-K // lanes)
    strips = -(-vectors // LONGEST)
    tile = aligned(BLOCK * LONGEST * lanes, result)
    for block in range(starts.shape[0]):
        for strip in range(strips):
            left, right = strip * vectors // strips, (strip + 1) * vectors // strips
            column, length = left * lanes, (right - left) * lanes
            width = min(length, K - column)
            for r in range(min(BLOCK, M - block * BLOCK)):
                row = matrix[block * BLOCK + r][column:column + width]
                _copy(row, tile[r * length:r * length + width])
                _add(row, total[column:column + width])
            for r in range(R):
                begin, end = starts[block, r], starts[block, r + 1]
                if begin < end:
                    add(right - left, sums, r * K + column, width, tile, values, places, begin, end)


@compiled
def product(turns, starts, places, values, matrices, first, out, totals):
    """Multiply the sparse matrix by some of ``matrices`` (S, M, K), into ``out`` (S, R, K), and add up their rows.

    ``first`` (S, K) is what each row of a result begins with; ``totals`` (S, K) are the sums of the matrices' rows.
    """
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        for s in range(begin, end):
            _product_of_one(starts, places, values, matrices[s], first[s], out[s], totals[s])


@compiled
def column_sums(turns, dh, out):
    """Write the sums over the rows of some of the matrices ``dh`` (S, N, K)."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        for s in range(begin, end):
            total = out[s]
            total[:] = 0
            for n in range(dh.shape[1]):
                _add(dh[s, n], total)


def _blocks(size):
    return -(-size // BLOCK)


def _sparse(x, densest):
    """Return ``x`` without its zeros, or None if it has too few."""
    counts = np.zeros(_blocks(x.shape[1]), np.int64)
    count(x, counts)
    total = int(counts.sum())
    if total > densest * x.size:
        return None
    starts = np.empty((counts.size, x.shape[0] + 1), np.int64)
    starts[:, 0] = np.cumsum(counts + 1) - counts - 1        # one more slot a block: see ``compress``
    places, values = empty((total + counts.size,), np.dtype(np.uint32)), empty((total + counts.size,), x.dtype)
    threads.run(compress, counts.size, x, starts, places, values)
    return Sparse(starts, places, values)


def _transposed(sparse, columns):
    rows = sparse.starts.shape[1] - 1
    starts = np.empty((_blocks(rows), columns + 1), np.int64)
    firsts = sparse.starts[:, :-1:BLOCK].sum(axis=0)         # how many entries the rows before a block have
    starts[:, 0] = firsts - firsts[:1]
    places, values = empty(sparse.places.shape, np.dtype(np.uint32)), empty(sparse.values.shape, sparse.values.dtype)
    threads.run(transpose, len(starts), *sparse, starts, places, values)
    return Sparse(starts, places, values)


def _product(sparse, matrices, first, rows):
    S, _, K = matrices.shape
    out, totals = empty((S, rows, K), matrices.dtype), np.empty((S, K), matrices.dtype)
    threads.run(product, S, *sparse, matrices, first, out, totals)
    return out, totals


def apply(x, w, b, densest=DENSEST):
    """Multiply by the weights and add the bias: the twin of :func:`ibpcl.primitives.linear.apply`.

    ``densest`` is the largest share of numbers that are not zero for which the sparse way is taken.
    """
    x, w, b = as_arrays("linear.apply", x, w, b)
    sparse = _sparse(x, densest) if x.ndim == 2 else None
    if sparse is not None:
        return _product(sparse, w, b, x.shape[0])[0], (x, w, sparse)
    h = blas.product(x, w)
    h += b[:, None, :]
    return h, (x, w, None)


def apply_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back to ``x``, ``w`` and ``b``: the twin of :func:`ibpcl.primitives.linear.apply_vjp`."""
    x, w, sparse = cache
    dh = np.ascontiguousarray(dh, w.dtype)
    dx, dw = blas.gradients(dh, x, w, needs_dx, sparse is None)
    if needs_dx and x.ndim == 2:
        dx = dx.sum(axis=0)                                  # x was shared by all samples
    db = np.zeros((dh.shape[0], dh.shape[2]), dh.dtype)      # b was broadcast over N
    if sparse is not None:
        dw, db = _product(_transposed(sparse, x.shape[1]), dh, db, x.shape[1])
    else:
        threads.run(column_sums, len(db), dh, db)
    return dx, dw, db
