"""Check derivations: gradients against independent witnesses, distributions against quadrature and sampling.

It works on anybody's NumPy functions and knows nothing of the rest of this package.  Start with :func:`check`.
"""

from ibpcl.verify.chain import ChainReport, Stage, check_chain
from ibpcl.verify.curves import taylor_slope, v_curve
from ibpcl.verify.differences import central, complex_step, richardson
from ibpcl.verify.distributions import (
    DistributionReport,
    density_integrates_to_one,
    expectation_matches,
    sampler_matches_cdf,
    support_and_limits,
)
from ibpcl.verify.estimators import reparameterization_unbiased
from ibpcl.verify.gradcheck import assert_correct, check
from ibpcl.verify.kinds import KINDS
from ibpcl.verify.report import InputVerdict, Report

__all__ = [
    "KINDS",
    "ChainReport",
    "DistributionReport",
    "InputVerdict",
    "Report",
    "Stage",
    "assert_correct",
    "central",
    "check",
    "check_chain",
    "complex_step",
    "density_integrates_to_one",
    "expectation_matches",
    "reparameterization_unbiased",
    "richardson",
    "sampler_matches_cdf",
    "support_and_limits",
    "taylor_slope",
    "v_curve",
]
