"""Numerical checks of derivations: gradients, densities, samplers and closed forms.

A gradient is compared with two independent numerical derivatives; a distribution is compared with
quadrature and with sampling. The package works on any NumPy functions and does not depend on the
rest of ``ibpcl``. Start with :func:`check` for a gradient, and with :func:`check_distribution` for
a density, a sampler or a closed form.
"""

from ibpcl.verify.adapters.pair import Pair
from ibpcl.verify.adapters.product import hvp_pair, jvp_pair
from ibpcl.verify.chain import ChainReport, Stage, check_chain
from ibpcl.verify.check import assert_correct, check, check_pair
from ibpcl.verify.derivative.curves import taylor_slope, v_curve
from ibpcl.verify.derivative.differences import central, complex_step, richardson
from ibpcl.verify.distributions.checking import check_distribution
from ibpcl.verify.distributions.identities import check_identity
from ibpcl.verify.distributions.report import ForwardReport, ForwardVerdict
from ibpcl.verify.distributions.slips import check_value
from ibpcl.verify.distributions.statistics import (
    DistributionReport,
    density_integrates_to_one,
    expectation_matches,
    reparameterization_unbiased,
    sampler_matches_cdf,
    support_and_limits,
)
from ibpcl.verify.reports.kinds import KINDS
from ibpcl.verify.reports.report import InputVerdict, Report

__all__ = [
    "KINDS",
    "ChainReport",
    "DistributionReport",
    "ForwardReport",
    "ForwardVerdict",
    "InputVerdict",
    "Pair",
    "Report",
    "Stage",
    "assert_correct",
    "central",
    "check",
    "check_chain",
    "check_distribution",
    "check_identity",
    "check_pair",
    "check_value",
    "complex_step",
    "density_integrates_to_one",
    "expectation_matches",
    "hvp_pair",
    "jvp_pair",
    "reparameterization_unbiased",
    "richardson",
    "sampler_matches_cdf",
    "support_and_limits",
    "taylor_slope",
    "v_curve",
]
