"""The hot loops, compiled: each function is the twin of the NumPy function of the same name, with
its signature.

``kernels.noise`` has twins of ``ibpcl.noise``, ``kernels.adam`` of ``ibpcl.adam``, and the others
of the primitives. The NumPy function stays the reference, serves all types but float32, and the
tests hold each twin to it in value and gradient.  Results do not depend on the number of threads,
bit for bit: the work is cut into pieces by its size alone, and partial sums are added in their
order.

What has no reference is what the twins are made of: ``compilation`` and ``threads``, the functions
of ``elementary``, and products of matrices, by ``blas`` or, where they are ``sparse``, without
their zeros.  Numba is imported with these modules, not with ``ibpcl``.
"""
