"""What the kernels ask of their arguments: one floating-point type, contiguous memory."""

import numpy as np


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
