"""Functions of SciPy."""

import numpy as np
from scipy import stats


def log_normal(x, mu, sigma):
    return stats.lognorm.logpdf(x, sigma, scale=np.exp(mu))


def entropy_of_the_exponential():
    return stats.expon.entropy(scale=0.5)


def exponential_quantile(u, rate):
    return stats.expon.ppf(u, scale=1 / rate)


def u_for_one_minus_u():
    return "C"
