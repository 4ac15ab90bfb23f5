"""The distributions of labels and masks: probabilities that must sum to one."""

import itertools

import numpy as np

from ibpcl.primitives import bernoulli, likelihoods
from ibpcl.proofs.outcome import Check, Outcome
from ibpcl.verify import density_integrates_to_one


def total(name, probabilities):
    """Hold a sum of probabilities against one."""
    gap = float(np.max(np.abs(np.sum(probabilities, axis=-1) - 1)))
    return Outcome(gap < 1e-12, f"sums to 1 within {max(gap, 1e-16):.0e}", {"gap": gap}, f"{name}: off by {gap:.1e}")


def check_bernoulli(seed):
    """Check the two values of a mask, for log-odds of any size."""
    logits = np.array([-700.0, -30.0, -1.0, 0.0, 2.0, 40.0])
    return total("bernoulli", np.stack([np.exp(bernoulli.log_density(z, logits)[0]) for z in (0.0, 1.0)], axis=-1))


def check_categorical(seed):
    """Check the labels of ten classes."""
    logits = np.random.default_rng(seed).normal(scale=5.0, size=(4, 1, 10)).repeat(10, axis=1)
    return total("categorical", np.exp(likelihoods.categorical(logits, np.arange(10))[0]))


def check_binary(link, seed):
    """Check all eight labels of three binary outputs, under the logistic or the probit link."""
    outputs = np.random.default_rng(seed).normal(scale=2.0, size=(4, 1, 3)).repeat(8, axis=1)
    labels = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    return total(link, np.exp(getattr(likelihoods, f"bernoulli_{link}")(outputs, labels)[0]))


def check_gaussian(seed):
    """Check the density of a real target."""
    mean, log_noise = np.array([[[0.4]]]), np.array([-1.0])
    report = density_integrates_to_one(lambda y: likelihoods.gaussian(mean, log_noise, np.array([[y]]))[0].item(),
                                       (-np.inf, np.inf), points=[0.4], name="likelihoods.gaussian")
    gap = max(abs(report.numbers["integral"] - 1), 1e-16)
    return Outcome(report.ok, f"integrates to 1 within {gap:.0e}", report.numbers, str(report))


def checks():
    """Return the checks."""
    return [Check("densities", "bernoulli.log_density", check_bernoulli),
            Check("densities", "likelihoods.categorical", check_categorical),
            Check("densities", "likelihoods.bernoulli_logistic", lambda seed: check_binary("logistic", seed)),
            Check("densities", "likelihoods.bernoulli_probit", lambda seed: check_binary("probit", seed)),
            Check("densities", "likelihoods.gaussian", check_gaussian)]
