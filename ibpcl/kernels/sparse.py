r"""Matrices without their zeros, and their products with dense ones.

A fifth of the pixels of a handwritten digit are on.  A product with a batch x of such images is
made of sums of a few scaled rows of the other matrix,

.. math:: out_r = start + \sum_{j:\, x_{rj} \ne 0} x_{rj} B_j.

Each row of B is used by many rows of the result, so B is cut into tiles of 64 rows and at most 112
columns, which stay in the first-level cache while all rows of the result pass and take what they
need.  The entries of x lie in the same order: block after block of 64 columns, and in a block row
after row.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import int32, int64, types, void
from numba.extending import intrinsic

from ibpcl.kernels.compilation import compiled, cube, inlined, matrix
from ibpcl.kernels.threads import JOB, parts, run, taken

# rows of a tile; of the result, a piece
BLOCK = 64
ROWS = 128
# of 64 bytes: how many vectors a row of a tile has
LANES = 16
FEWEST = 4
MOST = 7
CACHE_LINE = 64  # bytes, as a vector
# 28 KB a tile; 14 of the 16 registers of AVX2
WIDTH = LANES * MOST
# of numbers that are looked at together
GROUP = 8
EVERY = 8  # one row in so many tells the density


class Sparse(NamedTuple):
    """A matrix (R, D) without its zeros, and perhaps its square.

    The entries of row r in block b are those before ``ends[b, r]``, from ``ends[b, r - 1]`` on, or
    for r = 0 from R b BLOCK on; ``places`` says in which column of the block each is, ``values[0]``
    what it is.
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
    """Write column and value of each entry of x (R, D).

    A group of zeros is skipped; in other groups there is no branch: a zero is written over by the
    next number.  Indices without a sign spare the question whether one counts from the end.
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
    """Return where the entries of a row in a block begin."""
    return ends[block, r - 1] if r > 0 else ends.shape[1] * block * BLOCK


@compiled(void(JOB, int32[::1], matrix, int64[:, ::1], int32[::1], matrix, int64[:, ::1]))
def _transpose(job, places, values, ends, new_places, new_values, new_ends):
    """Sort the entries of each block of rows of x (R, D) by their columns, which become rows."""
    (blocks, R), D, one = ends.shape, new_ends.shape[1], np.uint64(1)
    for piece in taken(job):
        first = piece * BLOCK
        last = min((piece + 1) * BLOCK, R)
        following = new_ends[piece]
        # how many there are; then where the next one goes
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
    """Make what adds the rows ``places[j]`` of a tile, times ``values[j]``, j = begin ... end - 1,
    to a row of sums.

    The arguments are addresses and two integers, the first below the second.  It is written in the
    compiler's own language, so that the sums stay in registers, so many ``vectors``: given two
    loops, the compiler reads and writes them once for each entry, or for each eight of them, which
    takes three times as long.
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
    """Add rows of so many vectors, or of a few more: what is added beyond them is never read."""
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
    """Write some rows of a product with one of the factors (S, M, K), each of which begins with a
    row of ``start``.
    """
    (_, R, K), (blocks, _), M = out.shape, ends.shape, factors.shape[1]
    vectors = parts(K, LANES)
    strips = parts(K, WIDTH)
    memory = np.zeros((BLOCK + ROWS + 1) * WIDTH, np.float32)
    # a vector that straddles two lines costs twice
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
        for i in range(strips):  # of nearly the same width
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
    """Return the arrays of a sparse matrix of a size."""
    blocks = parts(columns, BLOCK)
    # one more: for a zero after the last entry
    size = blocks * BLOCK * rows + 1
    return Sparse(
        np.empty(size, np.int32),
        np.empty((powers, size), np.float32),
        np.empty((blocks, rows), np.int64),
    )


def sparse(x, powers=1):
    """Return a matrix (R, D), float32, without its zeros; with ``powers`` = 2 its square, element
    by element, too.
    """
    found = _room(*x.shape, powers)
    run(_compress, len(found.ends), x, *found)
    return found


def transposed(entries, columns):
    """Return the transpose of a sparse matrix with so many columns."""
    found = _room(columns, entries.ends.shape[1], len(entries.values))
    run(_transpose, len(found.ends), *entries, *found)
    return found


def density(x):
    """Return about which share of the numbers of a matrix is not zero; it looks at some rows."""
    # integers are counted ten times as fast
    some = x[::EVERY].view(np.int32)
    return np.count_nonzero(some) / max(some.size, 1)


def efficiency(columns):
    """Return which share of the vectors that are read is used by a matrix with so many columns."""
    return columns / (LANES * max(parts(columns, LANES), FEWEST))


def multiply(entries, factors, start):
    """Return products of a sparse matrix.

    Parameters
    ----------
    entries : Sparse
        Of a matrix (R, M); the first factor is multiplied by it, the second by its square, if that
        is there.
    factors : ndarray, shape (S, M, K)
        The other factors.
    start : ndarray, shape (S, K)
        What is added to each row.

    Returns
    -------
    out : ndarray, shape (S, R, K)
    """
    (S, _, K), R = factors.shape, entries.ends.shape[1]
    out = np.empty((S, R, K), np.float32)
    run(_multiply, S * parts(R, ROWS), *entries, factors, start, out)
    return out
