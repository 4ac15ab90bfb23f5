"""What the kernels ask of their arguments, and where their results go.

Each gradient step makes some 40 MB of arrays and drops them again.  Given back to the operating system they would have
to be cleared and mapped anew at every step, which costs as much time as the matrix products: so blocks that nobody
refers to any more are kept and handed out again.
"""

from collections import deque
from math import prod

import numpy as np

KEPT = 128 * 2**20                                           # bytes of free blocks, at most
SMALLEST = 2**16                                             # bytes; below, the C library keeps the memory itself
LINE = 64                                                    # bytes of a cache line: vectors must not straddle two
_free = deque()                                              # oldest first


class _Block:
    """Memory that returns to the free blocks when the last array that refers to it is gone."""

    def __init__(self, memory, shape, dtype):
        self.memory = memory
        address = memory.ctypes.data
        aligned = address + -address % LINE
        self.__array_interface__ = {"version": 3, "data": (aligned, False), "shape": shape, "typestr": dtype.str}

    def __del__(self, free=_free):                           # bound here: at exit the module's names go first
        free.append(self.memory)


def _take(size):
    """Find a free block of exactly that many bytes, or make one."""
    for _ in range(len(_free)):
        try:
            memory = _free.popleft()                         # atomic, as is the append: threads need no lock
        except IndexError:
            break
        if memory.nbytes == size:
            return memory
        _free.append(memory)
    return np.empty(size, np.uint8)


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
    array = np.asarray(_Block(_take(size + LINE), shape, dtype))
    while sum(memory.nbytes for memory in tuple(_free)) > KEPT:
        _free.popleft()
    return array


def as_arrays(caller, *arrays):
    """Return the arrays contiguous and of one type, float32 or float64, so that each kernel is compiled but twice.

    Raises
    ------
    TypeError
        If their common type is another; ``caller`` is named.
    """
    arrays = [np.asarray(array) for array in arrays]
    dtype = np.result_type(*(array.dtype for array in arrays))
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"{caller}: arrays must be float32 or float64, got {dtype}; the NumPy backend takes complex")
    return tuple(np.ascontiguousarray(array, dtype) for array in arrays)
