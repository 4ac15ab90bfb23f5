"""What the kernels ask of their arguments, and where their results go.

Each gradient step makes some 40 MB of arrays and drops them again.  Given back to the operating system they would have
to be cleared and mapped anew at every step, which costs as much time as the matrix products: so blocks that nobody
refers to any more are kept and handed out again.
"""

import threading
from math import prod

import numpy as np

KEPT = 128 * 2**20                                           # bytes of free blocks, at most
SMALLEST = 2**16                                             # bytes; below, the C library keeps the memory itself
BYTE = np.dtype(np.uint8)
TYPES = (np.dtype(np.float32), np.dtype(np.float64))
LINE = 64                                                    # bytes of a cache line: vectors must not straddle two


class _Memory(np.ndarray):
    """Memory of a block.  Its type is its own, or NumPy would have arrays refer to it at once, past the block."""


class _Free:
    """The free blocks, by their size."""

    def __init__(self):
        self.lock = threading.RLock()                        # of the re-entrant kind: a block may be given back inside
        self.blocks, self.total = {}, 0

    def take(self, size):
        """Return a free block of exactly that many bytes, or a new one, and where its first cache line begins."""
        with self.lock:
            if same := self.blocks.get(size):
                self.total -= size
                return same.pop()
        memory = _Memory(size, np.uint8)
        return memory, -memory.ctypes.data % LINE

    def give(self, block):
        """Keep a block, and drop others if there are too many; those of the size that is least in demand go first."""
        with self.lock:
            size = block[0].nbytes
            same = self.blocks.pop(size, [])
            self.blocks[size] = same                         # sizes in the order of their last use
            same.append(block)
            self.total += size
            while self.total > KEPT:
                oldest = next(iter(self.blocks))
                if not self.blocks[oldest]:
                    del self.blocks[oldest]
                    continue
                self.total -= oldest
                self.blocks[oldest].pop()


_free = _Free()


class _Block(np.ndarray):
    """A block that returns to the free ones when the last array that refers to it is gone."""

    def __del__(self, free=_free):                           # bound here: at exit the module's names go first
        free.give(self.block)


def empty(shape, dtype):
    """Make an array with arbitrary contents, in memory used before if there is any; a large one begins a cache line.

    >>> first = empty((512, 512), np.dtype(np.float32))
    >>> address = first.ctypes.data
    >>> del first
    >>> empty((512, 512), np.dtype(np.float32)).ctypes.data == address
    True
    """
    size = prod(shape) * dtype.itemsize
    if size < SMALLEST:
        return np.empty(shape, dtype)
    block = _free.take(size + LINE)
    own = _Block(size + LINE, np.uint8, block[0])
    own.block = block
    return np.ndarray(shape, dtype, own, block[1])


def several(shapes, dtype):
    """Make several arrays as :func:`empty` makes one, side by side in a block; each begins a cache line.

    They share the block, which is free again when the last of them is gone.

    >>> [array.shape for array in several([(2, 300), (7,)], np.dtype(np.float32))]
    [(2, 300), (7,)]
    """
    starts, end = [], 0
    for shape in shapes:
        starts.append(end)
        end += -(-prod(shape) * dtype.itemsize // LINE) * LINE
    whole = empty((max(end, SMALLEST),), BYTE)
    return [np.ndarray(shape, dtype, whole, start) for shape, start in zip(shapes, starts, strict=True)]


def writable(out, dtype):
    """Say whether results can be written into the arrays ``out``: they are given, of the right type, and contiguous."""
    return out is not None and all(array.dtype == dtype and array.flags.c_contiguous for array in out)


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
