"""What the kernels ask of their arguments, and where their results go.

Each gradient step makes some 30 MB of arrays and drops them again.  Given back to the operating system they would have
to be cleared and mapped anew at every step, which costs as much time as the matrix products: so blocks of memory are
kept, and one that no array refers to any more is handed out again.  Whether any does, Python's own count of references
says; an object that told when it goes would be made and dropped with every array.
"""

import functools
import threading
from math import prod
from sys import getrefcount

import numpy as np

KEPT = 256 * 2**20                                           # bytes of blocks, in use or not, at most
SMALLEST = 2**16                                             # bytes; below, the C library keeps the memory itself
BYTE = np.dtype(np.uint8)
TYPES = (np.dtype(np.float32), np.dtype(np.float64))
LINE = 64                                                    # bytes of a cache line: vectors must not straddle two


class _Block:
    """Bytes of memory, where its first cache line begins, and how often it is referred to while no array does."""

    def __init__(self, size):
        self.memory = np.empty(size + LINE, np.uint8)
        self.first = -self.memory.ctypes.data % LINE
        self.idle = getrefcount(self.memory)


class _Pool:
    """The blocks that are kept, by their size."""

    def __init__(self):
        self.lock = threading.RLock()                        # of the re-entrant kind: for what a collector calls
        self.blocks, self.total = {}, 0

    def array(self, shape, dtype, size):
        """Make an array in a block of so many bytes."""
        with self.lock:
            for block in self.blocks.get(size, ()):
                if getrefcount(block.memory) == block.idle:
                    return np.ndarray(shape, dtype, block.memory, block.first)
            block = _Block(size)
            self.keep(block, size)
            return np.ndarray(shape, dtype, block.memory, block.first)

    def keep(self, block, size):
        """Keep a block, if need be in place of all idle ones; where there is no room it is its array's alone."""
        if self.total + size > KEPT:
            for other, blocks in self.blocks.items():
                busy = [one for one in blocks if getrefcount(one.memory) != one.idle]
                self.total -= other * (len(blocks) - len(busy))
                blocks[:] = busy
            self.blocks = {other: blocks for other, blocks in self.blocks.items() if blocks}
        if self.total + size <= KEPT:
            self.blocks.setdefault(size, []).append(block)
            self.total += size


_pool = _Pool()


def empty(shape, dtype):
    """Make an array with arbitrary contents, in memory used before if there is any; a large one begins a cache line.

    >>> first = empty((512, 512), np.dtype(np.float32))
    >>> address = first.ctypes.data
    >>> del first
    >>> empty((512, 512), np.dtype(np.float32)).ctypes.data == address
    True
    """
    size = prod(shape) * dtype.itemsize
    return np.empty(shape, dtype) if size < SMALLEST else _pool.array(shape, dtype, size)


@functools.lru_cache(maxsize=1024)
def _side_by_side(shapes, itemsize):
    """Return where arrays of these shapes begin in a block, and its size, in bytes."""
    starts, end = [], 0
    for shape in shapes:
        starts.append(end)
        end += -(-prod(shape) * itemsize // LINE) * LINE
    return starts, max(end, SMALLEST)


def several(shapes, dtype):
    """Make several arrays as :func:`empty` makes one, side by side in a block; each begins a cache line.

    They share the block, which is free again when the last of them is gone.

    >>> [array.shape for array in several(((2, 300), (7,)), np.dtype(np.float32))]
    [(2, 300), (7,)]
    """
    starts, size = _side_by_side(shapes, dtype.itemsize)
    whole = _pool.array((size,), BYTE, size)
    return [np.ndarray(shape, dtype, whole, start) for shape, start in zip(shapes, starts, strict=True)]


def common_type(caller, *arrays):
    """Return the type that arrays have in common, float32 or float64.

    Raises
    ------
    TypeError
        If it is another; ``caller`` is named.
    """
    dtype = np.result_type(*(array.dtype for array in arrays))
    if dtype not in TYPES:
        raise TypeError(f"{caller}: arrays must be float32 or float64, got {dtype}; the NumPy backend takes complex")
    return dtype


def as_arrays(caller, *arrays):
    """Return the arrays contiguous and of one type, float32 or float64, so that each kernel is compiled but twice.

    Raises
    ------
    TypeError
        If their common type is another; ``caller`` is named.
    """
    dtype = getattr(arrays[0], "dtype", None)
    if dtype in TYPES and all(type(array) is np.ndarray and array.dtype == dtype and array.flags.c_contiguous
                              for array in arrays):
        return arrays                                        # as most are: to look at the types alone takes longer
    arrays = [np.asarray(array) for array in arrays]
    dtype = common_type(caller, *arrays)
    return tuple(np.ascontiguousarray(array, dtype) for array in arrays)
