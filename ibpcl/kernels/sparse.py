r"""Matrices without their zeros, and their products with dense matrices.

About a fifth of the pixels of a handwritten digit are on.  Each row of a product with a batch x of
such images is a sum of a few scaled rows of the other matrix,

.. math:: out_r = start + \sum_{j:\, x_{rj} \ne 0} x_{rj} B_j.

Many rows of the result use each row of B.  So B is divided into tiles of 64 rows and at most 112
columns, which stay in the first-level cache during the loop over the rows of the result.  The
entries of x are stored in the same order: by blocks of 64 columns, and within a block by rows.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import int32, int64, types, void
from numba.extending import intrinsic

from ibpcl.kernels.compilation import compiled, cube, inlined, matrix
from ibpcl.kernels.threads import JOB, parts, run, taken

BLOCK = 64  # rows of a tile
ROWS = 128  # rows of the result per piece
LANES = 16  # numbers in a vector of 64 bytes
# smallest and largest number of vectors in a row of a tile
FEWEST = 4
MOST = 7
CACHE_LINE = 64  # bytes, the size of a vector
# a tile has 28 KB; the sums use 14 of the 16 registers of AVX2
WIDTH = LANES * MOST
GROUP = 8  # numbers that are tested together
EVERY = 8  # the density is estimated from every eighth row


class Sparse(NamedTuple):
    """A matrix (R, D) without its zeros, and optionally its elementwise square.

    The entries of row r in block b are those from ``ends[b, r - 1]`` (for r = 0 from R b BLOCK) up
    to, but not including, ``ends[b, r]``.

    Attributes
    ----------
    places : ndarray of int32
        Column of each entry within its block.
    values : ndarray of float32, shape (powers, entries)
        Value of each entry, and its square if ``powers`` is 2.
    ends : ndarray of int64, shape (blocks, R)
        End of the entries of each row in each block.
    """

    places: np.ndarray
    values: np.ndarray
    ends: np.ndarray


@inlined
def _raise(values, begin, end):
    """Write the higher powers of the values of some entries."""
    for power in range(1, values.shape[0]):
        for k in range(begin, end):
            values[power, k] = values[power - 1, k] * values[0, k]


@compiled(void(JOB, matrix, int32[::1], matrix, int64[:, ::1]))
def _compress(job, x, places, values, ends):
    """Write column and value of each nonzero entry of x (R, D).

    Groups of zeros are skipped.  In other groups there is no branch: the next number overwrites a
    zero.  Unsigned indices save the test for an index that counts from the end.
    """
    (R, D), zero, found = x.shape, np.float32(0), values[0]
    for block in taken(job):
        j = np.uint64(R * block * BLOCK)
        for r in range(R):
            row = x[r, block * BLOCK : min((block + 1) * BLOCK, D)]
            whole = row.size // GROUP * GROUP
            for first in range(0, whole, GROUP):
                some = False
                for d in range(GROUP):
                    some |= row[first + d] != zero
                if some:
                    for d in range(first, first + GROUP):
                        places[j] = d
                        found[j] = row[d]
                        j += np.uint64(row[d] != zero)
            for d in range(whole, row.size):
                places[j] = d
                found[j] = row[d]
                j += np.uint64(row[d] != zero)
            ends[block, r] = j
        _raise(values, R * block * BLOCK, np.int64(j))


@inlined
def _begin(ends, block, r):
    """Return the position of the first entry of a row in a block."""
    return ends[block, r - 1] if r > 0 else ends.shape[1] * block * BLOCK


@compiled(void(JOB, int32[::1], matrix, int64[:, ::1], int32[::1], matrix, int64[:, ::1]))
def _transpose(job, places, values, ends, new_places, new_values, new_ends):
    """Sort the entries of each block of rows of x (R, D) by their columns, which become rows."""
    (blocks, R), D, one = ends.shape, new_ends.shape[1], np.uint64(1)
    for piece in taken(job):
        first = piece * BLOCK
        last = min((piece + 1) * BLOCK, R)
        following = new_ends[piece]
        # first the number of entries per column; later the position of the next one
        following[:] = 0
        for block in range(blocks):
            of_block = following[block * BLOCK :]
            for j in range(_begin(ends, block, first), ends[block, last - 1]):
                of_block[np.uint64(places[j])] += 1
        end = begin = D * first
        for d in range(D):
            following[d], end = end, end + following[d]
        for block in range(blocks):
            of_block = following[block * BLOCK :]
            for r in range(first, last):
                for j in range(_begin(ends, block, r), ends[block, r]):
                    d = np.uint64(places[j])
                    at = np.uint64(of_block[d])
                    new_places[at] = r - first
                    new_values[0, at] = values[0, j]
                    of_block[d] = at + one
        _raise(new_values, begin, end)


def _adding(vectors):
    """Return a function that adds rows ``places[j]`` of a tile, times ``values[j]``, to sums.

    j runs from begin to end - 1.  The arguments of the function are four addresses and these two
    integers, with begin < end.  It is written in the compiler's intermediate language, so that the
    sums, ``vectors`` of them, stay in registers.  Given two loops, the compiler would load and
    store them for each entry, or for each eight entries, which takes three times as long.
    """

    def generate(context, builder, signature, arguments):
        number = ir.FloatType()
        integer = ir.IntType(32)
        size = ir.IntType(64)
        lanes = ir.VectorType(number, LANES)
        every = ir.Constant(ir.VectorType(integer, LANES), [0] * LANES)
        sums, tile, values = (
            builder.inttoptr(address, number.as_pointer()) for address in arguments[:3]
        )
        places, (begin, end) = builder.inttoptr(arguments[3], integer.as_pointer()), arguments[4:]

        def row_of(address):
            return [
                builder.bitcast(builder.gep(address, [size(LANES * i)]), lanes.as_pointer())
                for i in range(vectors)
            ]

        before = builder.block
        loop = builder.append_basic_block("loop")
        done = builder.append_basic_block("done")
        first = [builder.load(one, align=4) for one in row_of(sums)]
        builder.branch(loop)

        builder.position_at_end(loop)
        j = builder.phi(size)
        totals = [builder.phi(lanes) for _ in first]
        value = builder.load(builder.gep(values, [j]))
        value = builder.insert_element(ir.Constant(lanes, ir.Undefined), value, integer(0))
        value = builder.shuffle_vector(value, value, every)  # the same in all lanes
        place = builder.zext(builder.load(builder.gep(places, [j])), size)
        added = []
        for total, one in zip(
            totals, row_of(builder.gep(tile, [builder.mul(place, size(WIDTH))])), strict=True
        ):
            product = builder.fmul(value, builder.load(one, align=4), flags=("contract",))
            added.append(builder.fadd(total, product, flags=("contract",)))
        following = builder.add(j, size(1))
        for phi, start, again in zip(
            (j, *totals), (begin, *first), (following, *added), strict=True
        ):
            phi.add_incoming(start, before)
            phi.add_incoming(again, loop)
        builder.cbranch(builder.icmp_signed("<", following, end), loop, done)

        builder.position_at_end(done)
        for one, total in zip(row_of(sums), added, strict=True):
            builder.store(total, one, align=4)
        return context.get_dummy_value()

    @intrinsic
    def add_rows(typing_context, sums, tile, values, places, begin, end):
        return types.void(*[types.int64] * 6), generate

    return add_rows


_add_four, _add_five, _add_six, _add_seven = map(_adding, range(FEWEST, MOST + 1))


@inlined
def _add_rows(vectors, sums, tile, values, places, begin, end):
    """Add rows with this number of vectors, or slightly more; the excess is never read."""
    if vectors == MOST:
        _add_seven(sums, tile, values, places, begin, end)
    elif vectors == MOST - 1:
        _add_six(sums, tile, values, places, begin, end)
    elif vectors > FEWEST:
        _add_five(sums, tile, values, places, begin, end)
    else:
        _add_four(sums, tile, values, places, begin, end)


@inlined
def _copy(x, out):
    for k in range(min(x.size, out.size)):
        out[k] = x[k]


@compiled(void(JOB, int32[::1], matrix, int64[:, ::1], cube, matrix, cube))
def _multiply(job, places, values, ends, factors, start, out):
    """Write some rows of a product with one of the factors (S, M, K), starting from ``start``."""
    (_, R, K), (blocks, _), M = out.shape, ends.shape, factors.shape[1]
    vectors = parts(K, LANES)
    strips = parts(K, WIDTH)
    memory = np.zeros((BLOCK + ROWS + 1) * WIDTH, np.float32)
    # a vector that straddles two cache lines costs twice as much
    aligned = -memory.ctypes.data % CACHE_LINE // memory.itemsize
    rows = memory[aligned : aligned + (BLOCK + ROWS) * WIDTH].reshape(BLOCK + ROWS, WIDTH)
    tile = rows[:BLOCK]
    sums = rows[BLOCK:]
    cuts = parts(R, ROWS)
    for piece in taken(job):
        s = piece // cuts
        first = piece % cuts * ROWS
        last = min(first + ROWS, R)
        matrix = factors[s]
        v = values[s % values.shape[0]]
        sums_at = sums.ctypes.data
        addresses = (tile.ctypes.data, v.ctypes.data, places.ctypes.data)
        for i in range(strips):  # they have nearly the same width
            left = i * vectors // strips
            right = (i + 1) * vectors // strips
            strip = slice(left * LANES, min(right * LANES, K))
            for r in range(last - first):
                _copy(start[s, strip], sums[r])
            for block in range(blocks):
                for m in range(min(BLOCK, M - block * BLOCK)):
                    _copy(matrix[block * BLOCK + m, strip], tile[m])
                j = _begin(ends, block, first)
                for r in range(first, last):
                    if j < ends[block, r]:
                        at = sums_at + (r - first) * WIDTH * sums.itemsize
                        _add_rows(right - left, at, *addresses, j, ends[block, r])
                    j = ends[block, r]
            for r in range(last - first):
                _copy(sums[r], out[s, first + r, strip])


def _room(rows, columns, powers):
    """Return uninitialized arrays for a sparse matrix of a given size."""
    blocks = parts(columns, BLOCK)
    # one more, because a zero may be written after the last entry
    size = blocks * BLOCK * rows + 1
    return Sparse(
        np.empty(size, np.int32),
        np.empty((powers, size), np.float32),
        np.empty((blocks, rows), np.int64),
    )


def sparse(x, powers=1):
    """Return a matrix without its zeros.

    Parameters
    ----------
    x : ndarray of float32, shape (R, D)
        The matrix.
    powers : {1, 2}
        2 to store its elementwise square too.

    Returns
    -------
    entries : Sparse
        Its nonzero entries.
    """
    entries = _room(*x.shape, powers)
    run(_compress, len(entries.ends), x, *entries)
    return entries


def transposed(entries, columns):
    """Return the transpose of a sparse matrix.

    Parameters
    ----------
    entries : Sparse
        A matrix (R, D).
    columns : int
        Its number of columns D.

    Returns
    -------
    entries : Sparse
        The matrix (D, R).
    """
    transpose = _room(columns, entries.ends.shape[1], len(entries.values))
    run(_transpose, len(transpose.ends), *entries, *transpose)
    return transpose


def density(x):
    """Return the approximate share of nonzero numbers in a matrix, estimated from some of its rows.

    Parameters
    ----------
    x : ndarray of float32, shape (R, D)
        The matrix.

    Returns
    -------
    density : float
        Share in 0 .. 1.
    """
    # integers are counted ten times faster than floats
    rows = x[::EVERY].view(np.int32)
    return np.count_nonzero(rows) / max(rows.size, 1)


def efficiency(columns):
    """Return the share of useful numbers in the vectors that are read for a number of columns.

    Parameters
    ----------
    columns : int
        Number of columns of the dense matrix.

    Returns
    -------
    efficiency : float
        Share in 0 .. 1.
    """
    return columns / (LANES * max(parts(columns, LANES), FEWEST))


def multiply(entries, factors, start):
    """Return products of a sparse matrix with dense ones.

    Parameters
    ----------
    entries : Sparse
        A matrix (R, M).  It is multiplied by every factor; if its square is stored, the second
        factor is multiplied by the square.
    factors : ndarray, shape (S, M, K)
        The dense matrices.
    start : ndarray, shape (S, K)
        Row that is added to each row of a product.

    Returns
    -------
    out : ndarray, shape (S, R, K)
        The products.
    """
    (S, _, K), R = factors.shape, entries.ends.shape[1]
    out = np.empty((S, R, K), np.float32)
    run(_multiply, S * parts(R, ROWS), *entries, factors, start, out)
    return out
