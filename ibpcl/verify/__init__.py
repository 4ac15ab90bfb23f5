"""Numerical checks of derivations: gradients, densities, samplers and closed forms.

A gradient is compared with two independent numerical derivatives; a distribution is compared with
quadrature and with sampling. The package works on any NumPy functions and does not depend on the
rest of ``ibpcl``. Start with :func:`check` for a gradient, and with :func:`check_distribution` for
a density, a sampler or a closed form.
"""

from ibpcl.verify.chain import ChainReport, Stage, check_chain
from ibpcl.verify.distributions import (
    DistributionReport,
    density_integrates_to_one,
    expectation_matches,
    sampler_matches_cdf,
    support_and_limits,
)
from ibpcl.verify.doors.adjoint import check_adjoint
from ibpcl.verify.doors.pair import Pair
from ibpcl.verify.doors.second_order import hvp_pair, jvp_pair
from ibpcl.verify.estimators import reparameterization_unbiased
from ibpcl.verify.forwards.checking import check_distribution
from ibpcl.verify.forwards.identities import check_identity
from ibpcl.verify.forwards.slips import check_value
from ibpcl.verify.forwards.verdicts import ForwardReport, ForwardVerdict
from ibpcl.verify.gradcheck import assert_correct, check, check_pair
from ibpcl.verify.reports.kinds import KINDS
from ibpcl.verify.reports.report import InputVerdict, Report
from ibpcl.verify.witnesses.curves import taylor_slope, v_curve
from ibpcl.verify.witnesses.differences import central, complex_step, richardson

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
    "check_adjoint",
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
