"""Counter-based noise, compiled: the twin of ``ibpcl.noise``, where the generator and its layout are described.

A piece is a chunk.  For each chunk the cipher fills four strips of words, which stay in the first-level cache,
and a transform makes the values from them.  The cipher's loop is apart from the transform's because it works in 64-bit
lanes: the processor has a vector instruction for 32 x 32 -> 64 bits, and only the low halves of the operands count, so
no step needs to clear the high halves.  The transforms work in 32-bit lanes, twice as many; Numba widens 32-bit integer
operations to 64, so each is narrowed again at once, which the compiler turns into the plain 32-bit instruction.
"""

import math

import numpy as np

from ibpcl import noise as reference
from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, inlined, part, wide
from ibpcl.kernels.elementary import HALF, ONE, log_of
from ibpcl.kernels.memory import empty
from ibpcl.kernels.turns import BEGIN, END, another
from ibpcl.noise import CHUNK, LOW, ROUNDS, STRIP

KINDS = ("uniform", "normal", "logistic")
UNIFORM, NORMAL, LOGISTIC = (np.uint64(kind) for kind in range(3))
M0, M1 = (np.uint64(m) for m in reference.MULTIPLIERS)
W0, W1 = (np.uint64(w) for w in reference.WEYL)
LOW_HALF, HALF_WIDTH = np.uint64(LOW), np.uint64(32)
BELOW_ONE = reference.BELOW_ONE
GRID = np.float32(2.0**-32)

# An angle is a word w in units of 2 pi / 2^32: its two leading bits, rounded, are the quadrant, the rest is within
# 1/8 turn of zero.  Polynomials for sine and cosine there from Moshier's Cephes (sinf).
TURN = np.float32(2 * math.pi * 2.0**-32)
EIGHTH, QUARTER_BITS = np.uint32(1 << 29), np.uint32(30)
BIT_0, BIT_1 = np.uint32(1), np.uint32(2)
S3, S5, S7 = (np.float32(c) for c in (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4))
C4, C6, C8 = (np.float32(c) for c in (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5))


@part
def _cipher(words, first_block, step, task, stream, seed):
    """Fill ``words`` (4, 512) of uint32 with the blocks from ``first_block`` on: ``ibpcl.noise.philox``."""
    out0, out1, out2, out3 = words[0], words[1], words[2], words[3]
    low, high = seed & LOW_HALF, seed >> HALF_WIDTH
    for i in range(out0.size):
        c0, c1, c2, c3 = first_block + np.uint64(i), step, task, stream
        k0, k1 = low, high
        for _ in range(ROUNDS):
            product0, product1 = M0 * (c0 & LOW_HALF), M1 * (c2 & LOW_HALF)
            c0, c1, c2, c3 = (product1 >> HALF_WIDTH) ^ c1 ^ k0, product1, (product0 >> HALF_WIDTH) ^ c3 ^ k1, product0
            k0, k1 = k0 + W0, k1 + W1                        # a carry into the high half does no harm there
        out0[i], out1[i], out2[i], out3[i] = c0, c1, c2, c3


@inlined
def _log_unit(w):
    """Compute log u, with 1 - u taken from the complement of the word: exact near u = 1."""
    return log_of((np.float32(w) + HALF) * GRID, (np.float32(np.uint32(~w)) + HALF) * GRID)


@part
def _box_muller(u, v, x, y):
    """Make normals x, y (float32) from words u (radius) and v (angle)."""
    for i in range(wide(u.size)):
        radius = np.sqrt(np.float32(-2) * _log_unit(u[i]))
        quadrant = np.uint32(np.uint32(v[i] + EIGHTH) >> QUARTER_BITS)
        rest = np.int32(np.uint32(v[i] - np.uint32(quadrant << QUARTER_BITS)))
        a = (np.float32(rest) + HALF) * TURN                 # |a| <= pi / 4
        s = a * a
        sine = a + a * s * (S3 + s * (S5 + s * S7))
        cosine = ONE - HALF * s + s * s * (C4 + s * (C6 + s * C8))
        odd = (quadrant & BIT_0) != 0
        along, across = sine if odd else cosine, cosine if odd else sine
        x[i] = radius * (-along if (np.uint32(quadrant + BIT_0) & BIT_1) != 0 else along)
        y[i] = radius * (-across if (quadrant & BIT_1) != 0 else across)


@part
def _logits(u, x):
    """Make logistics x (float32) from words u: the logarithm of the odds, both of whose parts are exact."""
    for i in range(wide(u.size)):
        odds = (np.float32(u[i]) + HALF) / (np.float32(np.uint32(~u[i])) + HALF)
        x[i] = log_of(odds, ONE - odds)


@part
def _units(u, x):
    """Make uniforms x (float32) from words u."""
    for i in range(wide(u.size)):
        value = (np.float32(u[i]) + HALF) * GRID
        x[i] = value if value < ONE else BELOW_ONE


@part
def _array_of(chunk, starts):
    """Return the number of the array that has a chunk; array i begins with chunk ``starts[i]``."""
    i = 0
    while starts[i + 1] <= chunk:
        i += 1
    return i


@compiled
def _fill_float32(turns, described, starts, out):
    """Fill some chunks of ``out`` (chunks, 4, 512), which has several arrays, ``described`` (arrays, 5)."""
    words = np.empty((4, STRIP), np.uint32)
    while another(turns):
        for chunk in range(turns[BEGIN], turns[END]):
            a = _array_of(chunk, starts)
            kind, counter, values = described[a, 0], np.uint64((chunk - starts[a]) * STRIP), out[chunk]
            _cipher(words, counter, described[a, 1], described[a, 2], described[a, 3], described[a, 4])
            for j in range(0, 4, 2):
                if kind == NORMAL:
                    _box_muller(words[j], words[j + 1], values[j], values[j + 1])
                    continue
                for k in range(j, j + 2):
                    if kind == LOGISTIC:
                        _logits(words[k], values[k])
                    else:
                        _units(words[k], values[k])


@compiled
def _fill_float64(turns, described, starts, out):
    """Fill some chunks of ``out`` (chunks, 4, 512), by the reference's own formulas."""
    while another(turns):
        words = np.empty((4, STRIP), np.uint32)
        for chunk in range(turns[BEGIN], turns[END]):
            a = _array_of(chunk, starts)
            kind, counter = described[a, 0], np.uint64((chunk - starts[a]) * STRIP)
            _cipher(words, counter, described[a, 1], described[a, 2], described[a, 3], described[a, 4])
            for j in range(0, 4, 2):
                for i in range(STRIP):
                    u, v = (words[j, i] + 0.5) * 2.0**-32, (words[j + 1, i] + 0.5) * 2.0**-32
                    if kind == NORMAL:
                        radius, angle = math.sqrt(-2 * math.log(u)), 2 * math.pi * v
                        u, v = radius * math.cos(angle), radius * math.sin(angle)
                    elif kind == LOGISTIC:
                        u, v = math.log(u / (1 - u)), math.log(v / (1 - v))
                    out[chunk, j, i], out[chunk, j + 1, i] = u, v


def _fill(caller, wanted, dtype):
    dtype, described, places, starts = reference.check_dtype(caller, dtype), [], [], [0]
    for kind, key, shape in wanted:
        seed, task, step, stream = reference.check_key(caller, key)
        described.append((int(kind), step, task, stream, seed))
        shape, size, chunks = reference.check_shape(caller, shape)
        places.append((slice(starts[-1] * CHUNK, starts[-1] * CHUNK + size), shape))
        starts.append(starts[-1] + chunks)
    out = empty((starts[-1] * CHUNK,), dtype)
    kernel = _fill_float32 if dtype == np.float32 else _fill_float64
    threads.run(kernel, starts[-1], np.array(described, np.uint64).reshape(-1, 5), np.array(starts),
                out.reshape(-1, 4, STRIP))
    return [out[place].reshape(shape) for place, shape in places]


def draw(wanted, dtype=np.float32):
    """Draw several arrays of noise: the twin of :func:`ibpcl.noise.draw`."""
    return _fill("noise.draw", [(KINDS.index(kind), key, shape) for kind, key, shape in wanted], dtype)


def uniform(key, shape, dtype=np.float32):
    """Draw uniform noise: the twin of :func:`ibpcl.noise.uniform`."""
    return _fill("noise.uniform", [(UNIFORM, key, shape)], dtype)[0]


def normal(key, shape, dtype=np.float32):
    """Draw standard normal noise: the twin of :func:`ibpcl.noise.normal`."""
    return _fill("noise.normal", [(NORMAL, key, shape)], dtype)[0]


def logistic(key, shape, dtype=np.float32):
    """Draw standard logistic noise: the twin of :func:`ibpcl.noise.logistic`."""
    return _fill("noise.logistic", [(LOGISTIC, key, shape)], dtype)[0]
