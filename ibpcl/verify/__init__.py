"""Check derivations: gradients against independent witnesses, distributions against quadrature and sampling.

It works on anybody's NumPy functions and knows nothing of the rest of this package.
"""

from ibpcl.verify.gradcheck import assert_correct, check
from ibpcl.verify.report import Report

__all__ = ["Report", "assert_correct", "check"]
