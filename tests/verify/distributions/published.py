"""Closed forms that libraries, books or encyclopedias are known to have had wrong, with sources."""

from typing import NamedTuple


class Published(NamedTuple):
    """A wrong formula, and where it stood."""

    source: str
    family: str
    function: str
    text: str  # of the function
    says: tuple  # what the verdict may say; nothing if it has no name


PUBLISHED = [
    Published(
        "Wikipedia until 2019 and tensorflow/probability before pull request 358",
        "kumaraswamy",
        "entropy",
        """
def entropy(a, b):
    harmonic = digamma(b + 1) + np.euler_gamma
    return (1 - 1 / a) + (1 - 1 / b) * harmonic + np.log(a) + np.log(b)
""",
        (),
    ),
    Published(
        "sims1253/bayesfam, issue 26",
        "kumaraswamy",
        "cdf",
        """
def cdf(x, a, b):
    return 1 + (x**a - 1) ** b
""",
        (),
    ),
    Published(
        "statrs-dev/statrs before pull request 383",
        "pareto",
        "entropy",
        """
def entropy(m, alpha):
    return np.log(alpha / m) - 1 / alpha - 1
""",
        ("sign",),
    ),
    Published(
        "statrs-dev/statrs before pull request 383",
        "geometric",
        "entropy",
        """
def entropy(p):
    q = 1 - p
    return (-q * np.log2(q) - p * np.log2(p)) / p
""",
        ("bits",),
    ),
    Published(
        "statrs-dev/statrs before pull request 383",
        "logistic",
        "entropy",
        """
def entropy(mu, s):
    return 2 - np.log(s)
""",
        ("log s", "sign"),
    ),
    Published(
        "torcheeg/torcheeg, issue 71",
        "normal",
        "entropy",
        """
def entropy(mu, sigma):
    return 0.5 * np.log2(2 * np.pi * np.e * sigma)
""",
        (),
    ),
    Published(
        "ray-project/ray, issue 2920, with the deviation in the place of its logarithm",
        "normal",
        "entropy",
        """
def entropy(mu, sigma):
    return 0.5 * np.log(2 * np.pi * np.e) + 0.5 * np.log(sigma)
""",
        ("log sigma", "factor", "0.5"),
    ),
    Published(
        "caglar/autoencoders, issue 5",
        "bernoulli",
        "kl",
        """
def kl(p_q, p_p):
    return (
        p_q * np.log(p_q) - np.log(p_p) + (1 - p_q) * np.log(1 - p_q)
        - (1 - p_q) * np.log(1 - p_p)
    )
""",
        ("p_q",),
    ),
    Published(
        "rasbt/machine-learning-book, issue 44",
        "bernoulli",
        "kl",
        """
def kl(p_q, p_p):
    return p_q * (p_q / p_p) + (1 - p_q) * ((1 - p_q) / (1 - p_p))
""",
        (),
    ),
    Published(
        "pytorch/pytorch, issue 152845: the formula of the reporter",
        "beta",
        "entropy",
        """
def entropy(a, b):
    total = a + b
    value = -gammaln(a) - gammaln(b) + gammaln(total)
    value = value + (a - 1) * digamma(a) + (b - 1) * digamma(b)
    return value - (total - 2) * digamma(total)
""",
        ("sign",),
    ),
    Published(
        "bayesflow-org/bayesflow before pull request 471",
        "standardize",
        "log_jacobian",
        """
def log_jacobian(x, mu, sigma):
    return np.log(sigma) + 0.0 * x
""",
        ("sign", "Jacobian of the inverse"),
    ),
    Published(
        "google-deepmind/torch-distributions, issue 33: a division by 2 is lost in one term",
        "normal",
        "kl",
        """
def kl(mu_q, sigma_q, mu_p, sigma_p):
    ratio = (sigma_q / sigma_p) ** 2
    return 0.5 * (ratio - 1 - np.log(ratio)) + ((mu_q - mu_p) / sigma_p) ** 2
""",
        ("0.5", "1/2", "half"),
    ),
]
STANDARDIZE = '''
def transform(x, mu, sigma):
    return (x - mu) / sigma

def inverse(y, mu, sigma):
    return mu + sigma * y
'''
