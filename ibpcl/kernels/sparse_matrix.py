r"""Matrices without their zeros, and their products with dense ones.

A fifth of the pixels of a handwritten digit are on.  A product with a batch x of such images is made of sums of a few
scaled rows of the other matrix,

.. math:: out_r = \sum_{j:\, x_{rj} \ne 0} x_{rj} B_j.

**Tiles.**  Each row of B is used by many rows of the result, so B is cut into tiles of 64 rows and some hundred
columns, which stay in the first-level cache while all rows of the result pass and take what they need; a strip of a
result is kept in registers meanwhile (:mod:`ibpcl.kernels.row_sums`).  The entries of x lie in the same order: block
after block of 64 columns, and in a block row after row.  A column of x that is zero in the whole batch costs nothing.

**Zeros** are found by comparing vectors: one bit a number says where the others are, and 64 bits are a row of a block.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ibpcl.kernels import loops, threads
from ibpcl.kernels.compilation import compiled, inlined, part, wide
from ibpcl.kernels.loops import fill, flat
from ibpcl.kernels.memory import empty
from ibpcl.kernels.row_sums import LONGEST, VECTOR_BYTES, add, aligned
from ibpcl.kernels.turns import BEGIN, END, another

BLOCK = 64                                                   # rows of a tile: with 7 vectors, 28 of 48 KB
AHEAD = 2                                                    # rows of a result: by so many, the next are fetched early
EVERY, FAR = 8, 1.25                                         # one row in so many tells, unless it misled by that factor
WORD = ir.IntType(BLOCK)
NOTHING, ONE = np.uint64(0), np.uint64(1)


class Sparse(NamedTuple):
    """A matrix without its zeros.

    Row r of a block of columns has the entries ``starts[block, r]`` ... ``ends[block, r] - 1``; ``places`` says in
    which column of the block each is.
    """

    starts: np.ndarray
    ends: np.ndarray
    places: np.ndarray
    values: np.ndarray


@intrinsic
def _bits(typing_context, x, at):
    """Return a bit for each number of one vector of a flat array: whether it is not zero."""
    def generate(context, builder, signature, arguments):
        number = context.get_value_type(x.dtype)
        lanes = VECTOR_BYTES * 8 // x.dtype.bitwidth
        kind = ir.VectorType(number, lanes)
        data = context.make_array(x)(context, builder, arguments[0]).data
        vector = builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), kind.as_pointer()),
                              align=x.dtype.bitwidth // 8)
        differ = builder.fcmp_unordered("!=", vector, ir.Constant(kind, [0.0] * lanes))
        return builder.zext(builder.bitcast(differ, ir.IntType(lanes)), WORD)
    return types.uint64(x, types.int64), generate


@intrinsic
def _lowest(typing_context, word):
    """Return the place of the lowest bit of a word that has one."""
    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
    return types.int64(types.uint64), generate


@inlined
def _row_bits(x, at, width):
    """Return a bit for each of ``width`` numbers from ``at`` on, at most 64: whether it is not zero."""
    bits, lanes, whole = NOTHING, VECTOR_BYTES // x.itemsize, np.int64(0)
    while whole + lanes <= width:
        bits |= _bits(x, at + whole) << np.uint64(whole)
        whole += lanes
    for d in range(whole, width):
        bits |= (ONE if x[at + d] != 0 else NOTHING) << np.uint64(d)
    return bits


@compiled
def compress(turns, x, starts, ends, places, values):
    """Write column and value of each entry of some blocks of rows of x (N, D).

    The entries of a block of rows and columns lie row by row, and begin where they would if there was no zero.
    """
    N, D = x.shape
    numbers, following = flat(x, 0, x.size), np.empty(starts.shape[0], np.int64)
    while another(turns):
        for first in range(turns[BEGIN] * BLOCK, min(turns[END] * BLOCK, N), BLOCK):
            for block in range(following.size):
                following[block] = N * block * BLOCK + first * min(BLOCK, D - block * BLOCK)
            for n in range(first, min(first + BLOCK, N)):
                for block in range(following.size):
                    at, j = n * D + block * BLOCK, following[block]
                    starts[block, n] = j
                    bits = _row_bits(numbers, at, min(BLOCK, D - block * BLOCK))
                    while bits != NOTHING:
                        d = _lowest(bits)
                        places[j], values[j] = d, numbers[at + d]
                        bits &= bits - ONE
                        j += 1
                    ends[block, n] = following[block] = j


@compiled
def transpose(turns, starts, ends, places, values, new_starts, new_ends, new_places, new_values):
    """Sort the entries of some blocks of rows by column."""
    while another(turns):
        N, counts = starts.shape[1], np.empty(new_starts.shape[1], np.int64)
        for block in range(turns[BEGIN], turns[END]):
            first, last = block * BLOCK, min((block + 1) * BLOCK, N)
            fill(0, counts)
            for b in range(starts.shape[0]):
                for j in range(starts[b, first], ends[b, last - 1]):
                    counts[b * BLOCK + places[j]] += 1
            j = first * counts.size                          # where they would begin if there was no zero
            for d in range(counts.size):
                new_starts[block, d] = new_ends[block, d] = j    # the end moves with each entry
                j += counts[d]
            new_end = new_ends[block]
            for b in range(starts.shape[0]):
                for n in range(first, last):
                    for j in range(starts[b, n], ends[b, n]):
                        d = b * BLOCK + places[j]
                        new_places[new_end[d]], new_values[new_end[d]] = n - first, values[j]
                        new_end[d] += 1


@inlined
def _copy_and_add(x, out, total):
    for i in range(wide(out.size)):
        out[i] = x[i]
        total[i] += x[i]


@part
def multiply(starts, ends, places, values, matrix, start, result, total, first, last):
    """Multiply by a matrix (M, K), whose rows add up to ``total``, unless that is empty: it is not needed then.

    Rows of ``result`` (R, K) begin with ``start``; those from ``first`` to ``last - 1`` are written.
    """
    M, K = matrix.shape
    fill(0, total)
    for r in range(first, last):
        loops.copy(start, result[r])
    sums, lanes = flat(result, 0, result.size), VECTOR_BYTES // result.itemsize
    vectors = -(-K // lanes)
    strips = -(-vectors // LONGEST)
    tile = aligned(BLOCK * LONGEST * lanes, result)
    for block in range(starts.shape[0]):
        for strip in range(strips):
            left, right = strip * vectors // strips, (strip + 1) * vectors // strips
            column, length = left * lanes, (right - left) * lanes
            width = min(length, K - column)
            for r in range(min(BLOCK, M - block * BLOCK)):
                at = (block * BLOCK + r) * K + column
                row, out = flat(matrix, at, at + width), flat(tile, r * length, r * length + width)
                if total.size > 0:
                    _copy_and_add(row, out, flat(total, column, column + width))
                else:
                    loops.copy(row, out)
            for r in range(first, last):
                begin, end = starts[block, r], ends[block, r]
                if begin < end:
                    at = r * K + column
                    add(right - left, sums, at, width, at + AHEAD * K, tile, values, places, begin, end)


def _blocks(size):
    return -(-size // BLOCK)


def sparse(x, limit):
    """Return a matrix (N, D) without its zeros, or None if more than the share ``limit`` of some rows is not zero."""
    N, D = x.shape
    some = x[::EVERY] != 0
    if np.count_nonzero(some) > limit * some.size:
        return None
    starts, ends = (np.empty((_blocks(D), N), np.int64) for _ in range(2))
    places, values = empty((x.size,), np.dtype(np.uint32)), empty((x.size,), x.dtype)
    threads.run(compress, _blocks(N), x, starts, ends, places, values)
    return Sparse(starts, ends, places, values) if (ends - starts).sum() <= FAR * limit * x.size else None


def transposed(matrix, columns):
    """Return the transpose of a sparse matrix with so many columns."""
    starts, ends = (np.empty((_blocks(matrix.starts.shape[1]), columns), np.int64) for _ in range(2))
    places, values = (empty(array.shape, array.dtype) for array in (matrix.places, matrix.values))
    threads.run(transpose, len(starts), *matrix, starts, ends, places, values)
    return Sparse(starts, ends, places, values)
