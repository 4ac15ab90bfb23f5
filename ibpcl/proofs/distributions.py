r"""Every distribution of the package through one harness: density, sampler, support and limits, closed forms.

A :class:`Case` is a distribution at one choice of parameters, written with the package's own functions; the harness
holds it against quadrature, against its distribution function, and against Monte Carlo.  A statistical verdict is false
once in ten thousand seeds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit
from scipy.special import logit as scipy_logit

from ibpcl import noise
from ibpcl.noise import Key
from ibpcl.numerics import logit
from ibpcl.primitives import concrete, gaussian, kumaraswamy, latent, local_linear, stick_breaking, weibull
from ibpcl.proofs.outcome import Check, Outcome, from_reports
from ibpcl.verify import density_integrates_to_one, sampler_matches_cdf, support_and_limits

REAL, UNIT = (-np.inf, np.inf), (0.0, 1.0)


class Case(NamedTuple):
    """A distribution at one choice of parameters.

    Attributes
    ----------
    label : str
    log_density : callable, optional
        Number to number; None for what is only sampled.
    sample : callable
        ``sample(rng, size)``.
    cdf : callable
    support : (float, float)
    points : tuple
        Where quadrature cuts the support.
    """

    label: str
    log_density: Callable | None
    sample: Callable
    cdf: Callable
    support: tuple = REAL
    points: tuple | None = None


def new_key(rng):
    """Draw a key of the package's noise."""
    return Key(int(rng.integers(2**63)), 0, 0, 0)


def draw(kind, rng, *shape):
    """Draw the package's own noise, ``uniform``, ``normal`` or ``logistic``, in float64."""
    return getattr(noise, kind)(new_key(rng), shape, np.float64)


def gaussian_case(mu, log_sigma):
    """Return N(mu, sigma^2) as the package samples and evaluates it."""
    return Case(f"mu {mu:g}, log sigma {log_sigma:g}", lambda x: gaussian.log_density(x, mu, log_sigma)[0],
                lambda rng, n: gaussian.sample(draw("normal", rng, n, 1), np.array([mu]), np.array([log_sigma]))[0],
                stats.norm(mu, np.exp(log_sigma)).cdf, points=(mu,))


def code_case(mu, log_sigma):
    """Return a code of one example: N(mu, sigma^2) as the autoencoder samples it."""
    return Case(f"mu {mu:g}, log sigma {log_sigma:g}", None,
                lambda rng, n: latent.sample(draw("normal", rng, n, 1, 1), np.full((n, 1, 1), mu),
                                             np.full((n, 1, 1), log_sigma))[0][:, 0],
                stats.norm(mu, np.exp(log_sigma)).cdf)


def kumaraswamy_case(a, b):
    """Return Kumaraswamy(a, b); its mass lies around the mode, where quadrature cuts."""
    return Case(f"a {a:g}, b {b:g}", lambda v: kumaraswamy.log_density(np.log(v), a, b)[0],
                lambda rng, n: np.exp(kumaraswamy.sample(draw("uniform", rng, n, 1), np.array([a]), np.array([b]))[0]),
                lambda v: 1 - (1 - np.clip(v, 0, 1)**a)**b, UNIT, (0.01, 0.5, 0.9, 0.999))


def logit_case(logit_theta, tau):
    """Return Y = logit z of a binary concrete mask: a logistic variable, scaled by 1 / tau."""
    return Case(f"logit theta {logit_theta:g}, tau {tau:g}",
                lambda y: concrete.log_density_logit(y, logit_theta, tau)[0],
                lambda rng, n: (logit_theta + draw("logistic", rng, n)) / tau,
                stats.logistic(logit_theta / tau, 1 / tau).cdf, points=(logit_theta / tau,))


def mask_case(logit_theta, tau):
    """Return a binary concrete mask z itself."""
    return Case(f"logit theta {logit_theta:g}, tau {tau:g}",
                lambda z: concrete.log_density(np.float64(z), logit_theta, tau)[0],
                lambda rng, n: concrete.sample(draw("logistic", rng, n), logit_theta, tau)[0],
                lambda z: expit(tau * scipy_logit(np.clip(z, 0, 1)) - logit_theta), UNIT, (0.01, 0.5, 0.99))


def weibull_case(k, scale):
    """Return Weibull(k, scale), the posterior of a learned concentration."""
    return Case(f"k {k:g}, scale {scale:g}", lambda x: weibull.log_density(x, k, scale)[0],
                lambda rng, n: weibull.sample(draw("uniform", rng, n, 1), np.array([k]), np.array([scale]))[0],
                stats.weibull_min(k, scale=scale).cdf, (0.0, np.inf), (scale / 4, scale, 4 * scale))


def prior_case(k, alpha):
    """Return log pi_k under the prior: minus a Gamma(k) variable of rate alpha."""
    def sample(rng, n):
        return stick_breaking.sample_prior(draw("uniform", rng, n, k), np.zeros((n, 1, k)) + 0.5, alpha)[1][:, -1]
    return Case(f"k {k}, alpha {alpha:g}", None, sample, lambda x: stats.gamma(k, scale=1 / alpha).sf(-x),
                (-np.inf, 0.0))


def preactivation_case():
    """Return a pre-activation whose weights are Gaussian: sampled itself, with the distribution that x V + b has."""
    x, mu, sigma = np.array([[0.3, -1.2, 2.0]]), np.array([[0.5], [1.0], [-0.2]]), np.array([[0.2], [1.0], [0.4]])
    scale = np.sqrt((x**2 @ sigma**2).item() + 0.3**2)

    def sample(rng, n):
        return local_linear.apply(draw("normal", rng, n, 1, 1), x, mu, sigma, np.array([0.1]), np.array([0.3]))[0]

    return Case("three inputs", None, sample, stats.norm((x @ mu).item() + 0.1, scale).cdf)


def masked_preactivation_case():
    """Return the same with the second of the weights masked."""
    x, mu, log_sigma = np.array([[0.3, -1.2, 2.0]]), np.array([0.5, -0.2]), np.log([0.2, 0.4])
    mask, bias = np.array([[True], [False], [True]]), (np.array([0.1]), np.log([0.3]))
    scale = np.sqrt((0.3 * 0.2) ** 2 + (2.0 * 0.4) ** 2 + 0.3**2)

    def sample(rng, n):
        return local_linear.sample(draw("normal", rng, n, 1, 1), x, mu, log_sigma, *bias, mask)[0]

    return Case("two of three inputs", None, sample, stats.norm(0.3 * 0.5 - 2.0 * 0.2 + 0.1, scale).cdf)


GAUSSIAN = (gaussian_case(0.7, -0.4), gaussian_case(-3.0, 1.5))
CODES = (code_case(0.7, -0.4), code_case(-3.0, 1.5))
KUMARASWAMY = tuple(kumaraswamy_case(*point) for point in ((2.0, 3.0), (31.0, 2.0), (57.0, 0.74), (0.7, 0.8)))
LOGIT = tuple(logit_case(*point) for point in ((0.7, 0.3), (-2.0, 2.0), (0.0, 10.0)))
MASK = tuple(mask_case(*point) for point in ((0.7, 0.5), (-2.0, 2.0), (1.0, 1.0)))
WEIBULL = (weibull_case(3.0, 12.0), weibull_case(0.8, 2.0))
PRIOR = (prior_case(1, 3.0), prior_case(5, 30.0))
NOISE = {
    "uniform": Case("uniform", None, lambda rng, n: draw("uniform", rng, n), stats.uniform.cdf, UNIT),
    "normal": Case("normal", None, lambda rng, n: draw("normal", rng, n), stats.norm.cdf),
    "logistic": Case("logistic", None, lambda rng, n: draw("logistic", rng, n), stats.logistic.cdf),
}


def kernel_noise(kind, rng, size):
    """Draw from the compiled generator, in float32; Numba is imported when this is first called."""
    from ibpcl.kernels import noise as kernel
    return getattr(kernel, kind)(new_key(rng), size, np.float32)


def check_density(cases, seed):
    """Check that the density of each case integrates to one."""
    reports = [density_integrates_to_one(case.log_density, case.support, points=case.points, name=case.label)
               for case in cases]
    worst = max(abs(report.numbers["integral"] - 1) for report in reports)
    return from_reports(reports, f"integrates to 1 within {max(worst, 1e-16):.0e}{at_points(cases)}")


def check_sampler(cases, seed):
    """Check draws of each case against its distribution function, and that they stay inside the support."""
    reports = []
    for case in cases:
        reports.append(sampler_matches_cdf(case.sample, case.cdf, seed=seed, name=case.label))
        with np.errstate(all="ignore"):                      # the limits of a CDF are taken at its very ends
            reports.append(support_and_limits(case.log_density, case.support, case.sample, cdf=case.cdf, seed=seed,
                                              name=f"{case.label}, support"))
    worst = min((report.numbers for report in reports[::2]), key=lambda numbers: numbers["p_value"])
    return from_reports(reports, f"KS D {worst['statistic']:.4f}, p {worst['p_value']:.2g}{at_points(cases)}")


def check_kernel_noise(kind, seed):
    """Check a compiled generator against the distribution that its reference has."""
    return check_sampler((NOISE[kind]._replace(sample=lambda rng, n: kernel_noise(kind, rng, n)),), seed)


def at_points(cases):
    """Say at how many choices of parameters, if at several."""
    return f", {len(cases)} choices" if len(cases) > 1 else ""


def check_beta(seed):
    """Check that Kumaraswamy(a, b) is Beta(a, b) where a or b is 1; supplement D.2."""
    v = np.random.default_rng(seed).uniform(0.001, 0.999, 200)
    gaps = [np.max(np.abs(kumaraswamy.log_density(np.log(v), a, b)[0] - stats.beta(a, b).logpdf(v)))
            for a, b in ((31.0, 1.0), (1.0, 3.0), (0.5, 1.0))]
    return Outcome(max(gaps) < 1e-9, f"equals Beta to {max(gaps):.0e} nats, a = 1 or b = 1", {"gaps": gaps})


def check_mask_prior(seed):
    """Check how often the prior's masks are on against E[pi_k] = (alpha / (alpha + 1))^k, for each k."""
    alpha, units, draws = 3.0, 8, 20_000
    rng = np.random.default_rng(seed)
    mask, _ = stick_breaking.sample_prior(draw("uniform", rng, draws, units), draw("uniform", rng, draws, 1, units),
                                          alpha)
    expected = (alpha / (alpha + 1)) ** np.arange(1, units + 1)
    z = (mask[:, 0].mean(axis=0) - expected) / np.sqrt(expected * (1 - expected) / draws)
    worst = float(np.abs(z).max())
    # 4.5: as rare in eight comparisons as 4 standard errors in one.
    return Outcome(worst < 4.5, f"on as often as E[pi_k], {worst:.1f} SE at most", {"standard_errors": z})


def check_streams(seed):
    """Check that the noise of different steps, tasks, streams and seeds is uncorrelated."""
    size, key = 20_000, Key(seed, 3, 5, 7)
    others = [key._replace(**{field: getattr(key, field) + 1}) for field in Key._fields]
    rows = np.stack([noise.normal(k, size, np.float64) for k in (key, *others)])
    largest = float(np.abs(np.corrcoef(rows) - np.eye(len(rows))).max() * np.sqrt(size))
    return Outcome(largest < 4.7, f"largest correlation {largest:.1f} SE over 10 pairs", {"standard_errors": largest})


def check_jacobian(seed):
    """Check the Jacobian between the mask's density and its logit's, and that a difference of both has none."""
    z = np.random.default_rng(seed).uniform(0.01, 0.99, 100)
    log_z, log_y = (f(x, 0.7, 0.4)[0] for f, x in ((concrete.log_density, z), (concrete.log_density_logit, logit(z))))
    prior_z, prior_y = (f(x, -1.0, 0.4)[0] for f, x in ((concrete.log_density, z),
                                                        (concrete.log_density_logit, logit(z))))
    gap = np.max(np.abs((log_z - prior_z) - (log_y - prior_y)))
    jacobian = np.max(np.abs(log_z - log_y + np.log(z * (1 - z))))
    return Outcome(gap < 1e-10 and jacobian < 1e-10, f"cancels in log q - log p to {gap:.0e}",
                   {"difference": gap, "jacobian": jacobian})


def checks():
    """Return the checks of densities and samplers."""
    densities = {"gaussian.log_density": GAUSSIAN, "kumaraswamy.log_density": KUMARASWAMY,
                 "concrete.log_density_logit": LOGIT, "concrete.log_density": MASK,
                 "weibull.log_density": WEIBULL}
    samplers = {**{f"noise.{kind}": (case,) for kind, case in NOISE.items()}, "gaussian.sample": GAUSSIAN,
                "latent.sample": CODES, "kumaraswamy.sample": KUMARASWAMY, "concrete.sample": MASK,
                "concrete.sample.logit": LOGIT, "weibull.sample": WEIBULL,
                "stick_breaking.sample_prior": PRIOR, "local_linear.apply": (preactivation_case(),),
                "local_linear.sample": (masked_preactivation_case(),)}
    return [
        *(Check("densities", name, lambda seed, c=cases: check_density(c, seed)) for name, cases in densities.items()),
        Check("densities", "kumaraswamy.is-beta", check_beta),
        Check("densities", "concrete.jacobian", check_jacobian),
        *(Check("samplers", name, lambda seed, c=cases: check_sampler(c, seed)) for name, cases in samplers.items()),
        *(Check("samplers", f"kernels.noise.{kind}", lambda seed, k=kind: check_kernel_noise(k, seed))
          for kind in NOISE),
        Check("samplers", "stick_breaking.masks", check_mask_prior),
        Check("samplers", "noise.streams", check_streams),
    ]
