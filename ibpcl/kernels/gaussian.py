r"""The divergence of diagonal Gaussians and its gradient, fused: the twin of ``primitives.gaussian``'s ``kl``.

Both directions read each array once.  The sum is taken in strips of 16 numbers, which are 16 sums side by side, and in
pieces whose partial sums are added in order; so it is as accurate as a pairwise sum and the same for any number of
threads.
"""

import numpy as np

from ibpcl.kernels import threads
from ibpcl.kernels.arrays import as_arrays
from ibpcl.kernels.compilation import compiled
from ibpcl.kernels.elementary import exp

PIECE, STRIP = 8192, 256


@compiled
def kl_piece(piece, mu, log_sigma, prior_mu, prior_log_sigma, partial):
    pass
