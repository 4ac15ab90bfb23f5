"""Counter-based noise: the compiled version of ``ibpcl.noise``, which describes the generator.

For each chunk, the cipher fills four strips of words, which stay in the first-level cache, and a
transform computes the values from them.  The two loops are separate, because the cipher uses 64-bit
lanes: the processor has a vector instruction for 32 x 32 -> 64 bits, and only the low halves of the
operands matter, so no step needs to clear the high halves.  The transforms use 32-bit lanes, twice
as many.  Numba widens 32-bit integer operations to 64 bits, so each result is narrowed again at
once, and the compiler turns this into the plain 32-bit instruction.
"""

import math

import numpy as np

from ibpcl import noise as reference
from ibpcl.kernels.compilation import compiled, cube, inlined, uint64, void
from ibpcl.kernels.elementary import HALF, ONE, log_of
from ibpcl.kernels.threads import JOB, parts, run, taken
from ibpcl.noise import LOW, ROUNDS, STRIP

PIECE = 16  # chunks per piece
KINDS = ("uniform", "normal", "logistic")
UNIFORM, NORMAL, LOGISTIC = range(3)
M0, M1 = (np.uint64(m) for m in reference.MULTIPLIERS)
W0, W1 = (np.uint64(w) for w in reference.WEYL)
LOW_HALF = np.uint64(LOW)
HALF_WIDTH = np.uint64(32)
BELOW_ONE = reference.BELOW_ONE
GRID = np.float32(2.0**-32)

# An angle is a word w in units of 2 pi / 2^32.  Its two leading bits, rounded, are the quadrant,
# and the rest is within 1/8 turn of zero.  The polynomials for sine and cosine in that range are
# from Moshier's Cephes (sinf).
TURN = np.float32(2 * math.pi * 2.0**-32)
EIGHTH = np.uint32(1 << 29)
QUARTER_BITS = np.uint32(30)
BIT_0 = np.uint32(1)
BIT_1 = np.uint32(2)
S3, S5, S7 = (np.float32(c) for c in (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4))
C4, C6, C8 = (
    np.float32(c) for c in (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)
)


@inlined
def _cipher(words, first_block, step, task, stream, seed):
    """Fill ``words`` (4, 512), uint32, with the blocks from ``first_block`` on."""
    out0 = words[0]
    out1 = words[1]
    out2 = words[2]
    out3 = words[3]
    low = seed & LOW_HALF
    high = seed >> HALF_WIDTH
    for i in range(out0.size):
        c0 = first_block + np.uint64(i)
        c1 = step
        c2 = task
        c3 = stream
        k0 = low
        k1 = high
        for _ in range(ROUNDS):
            product0 = M0 * (c0 & LOW_HALF)
            product1 = M1 * (c2 & LOW_HALF)
            c0 = (product1 >> HALF_WIDTH) ^ c1 ^ k0
            c1 = product1
            c2 = (product0 >> HALF_WIDTH) ^ c3 ^ k1
            c3 = product0
            # a carry into the high half is harmless
            k0 = k0 + W0
            k1 = k1 + W1
        out0[i] = c0
        out1[i] = c1
        out2[i] = c2
        out3[i] = c3


@inlined
def _log_unit(w):
    """Compute log u, with 1 - u computed from the complement of the word: exact near u = 1."""
    return log_of((np.float32(w) + HALF) * GRID, (np.float32(np.uint32(~w)) + HALF) * GRID)


@inlined
def _box_muller(u, v, x, y):
    """Compute normals x, y (float32) from words u (radius) and v (angle)."""
    for i in range(u.size):
        radius = np.sqrt(np.float32(-2) * _log_unit(u[i]))
        quadrant = np.uint32(np.uint32(v[i] + EIGHTH) >> QUARTER_BITS)
        rest = np.int32(np.uint32(v[i] - np.uint32(quadrant << QUARTER_BITS)))
        a = (np.float32(rest) + HALF) * TURN  # |a| <= pi / 4
        s = a * a
        sine = a + a * s * (S3 + s * (S5 + s * S7))
        cosine = ONE - HALF * s + s * s * (C4 + s * (C6 + s * C8))
        odd = (quadrant & BIT_0) != 0
        along = sine if odd else cosine
        across = cosine if odd else sine
        x[i] = radius * (-along if (np.uint32(quadrant + BIT_0) & BIT_1) != 0 else along)
        y[i] = radius * (-across if (quadrant & BIT_1) != 0 else across)


@inlined
def _logits(u, x):
    """Compute logistics x (float32) from words u: the logarithm of exact odds."""
    for i in range(u.size):
        odds = (np.float32(u[i]) + HALF) / (np.float32(np.uint32(~u[i])) + HALF)
        x[i] = log_of(odds, ONE - odds)


@inlined
def _units(u, x):
    """Compute uniforms x (float32) from words u."""
    for i in range(u.size):
        value = (np.float32(u[i]) + HALF) * GRID
        x[i] = value if value < ONE else BELOW_ONE


@inlined
def _transform(kind, words, values):
    if kind == NORMAL:
        for j in range(0, 4, 2):
            _box_muller(words[j], words[j + 1], values[j], values[j + 1])
    elif kind == LOGISTIC:
        for j in range(4):
            _logits(words[j], values[j])
    else:
        for j in range(4):
            _units(words[j], values[j])


@compiled(void(JOB, uint64[:, ::1], cube))
def _fill(job, keys, out):
    """Fill each chunk of ``out`` (chunks, 4, 512).

    The key of a chunk is its kind, step, task, stream, seed and first block.
    """
    words = np.empty((4, STRIP), np.uint32)
    for i in taken(job):
        for chunk in range(i * PIECE, min((i + 1) * PIECE, out.shape[0])):
            kind, step, task, stream, seed, block = keys[chunk]
            _cipher(words, block, step, task, stream, seed)
            _transform(kind, words, out[chunk])


def draw(wanted, dtype=np.float32):
    """Draw several arrays of noise: the compiled :func:`ibpcl.noise.draw`, used for float32."""
    if reference.check_dtype("noise.draw", dtype) != np.float32:
        return reference.draw(wanted, dtype)
    keys = [np.empty((0, 6), np.uint64)]
    sizes = []
    for kind, key, shape in wanted:
        seed, task, step, stream = reference.check_key(f"noise.{kind}", key)
        shape, size, chunks = reference.check_shape(f"noise.{kind}", shape)
        rows = np.empty((chunks, 6), np.uint64)
        rows[:, :5], rows[:, 5] = (
            (KINDS.index(kind), step, task, stream, seed),
            np.arange(chunks) * STRIP,
        )
        keys.append(rows)
        sizes.append((shape, size, chunks))
    keys = np.concatenate(keys)
    arrays = []
    first = 0
    out = np.empty((len(keys), 4, STRIP), np.float32)
    run(_fill, parts(len(keys), PIECE), keys, out)
    for shape, size, chunks in sizes:
        arrays.append(out[first : first + chunks].reshape(-1)[:size].reshape(shape))
        first += chunks
    return arrays


def uniform(key, shape, dtype=np.float32):
    """Draw uniform noise: the compiled :func:`ibpcl.noise.uniform`."""
    reference.check_dtype("noise.uniform", dtype)
    return draw([("uniform", key, shape)], dtype)[0]


def normal(key, shape, dtype=np.float32):
    """Draw standard normal noise: the compiled :func:`ibpcl.noise.normal`."""
    reference.check_dtype("noise.normal", dtype)
    return draw([("normal", key, shape)], dtype)[0]


def logistic(key, shape, dtype=np.float32):
    """Draw standard logistic noise: the compiled :func:`ibpcl.noise.logistic`."""
    reference.check_dtype("noise.logistic", dtype)
    return draw([("logistic", key, shape)], dtype)[0]
