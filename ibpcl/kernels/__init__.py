"""Compiled versions of the functions that take most of the time.

Each function is the twin of a NumPy function with the same name and signature, its reference:
``kernels.noise`` has twins of ``ibpcl.noise``, ``kernels.adam`` of ``ibpcl.adam``, and all others
of the primitives.  The reference documents the arguments.  It is also used for all types other than
float32.  Tests compare each twin with its reference, in value and gradient.  The results do not
depend on the number of threads, bit for bit: the work is divided into pieces according to its size
alone, and partial sums are added in a fixed order.

The other modules are tools: ``compilation`` and ``threads``, the functions of ``elementary``, and
matrix products by ``blas`` or, for matrices with many zeros, by ``sparse``.  Numba is imported with
these modules, not with ``ibpcl``.
"""
