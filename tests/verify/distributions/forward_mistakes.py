"""Right functions of many distributions, and mistakes that are planted in them.

A mistake replaces a text of a function by another; its ``says`` are texts of which the verdict must
say one, if it has a name for the mistake.
"""

from typing import NamedTuple

HEAD = """\
import numpy as np
from scipy.special import betaln, digamma, expit, gamma, gammaln, logit, ndtr, ndtri, zeta
"""
RIGHT = {
    "normal": '''
def log_density(x, mu, sigma):
    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)

def sample(eps, mu, sigma):
    return mu + sigma * eps

def cdf(x, mu, sigma):
    return ndtr((x - mu) / sigma)

def quantile(p, mu, sigma):
    return mu + sigma * ndtri(p)

def mean(mu, sigma):
    return mu

def variance(mu, sigma):
    return sigma**2

def entropy(mu, sigma):
    return 0.5 * np.log(2 * np.pi * np.e) + np.log(sigma)

def kl(mu_q, sigma_q, mu_p, sigma_p):
    ratio = (sigma_q / sigma_p) ** 2
    return 0.5 * (ratio + ((mu_q - mu_p) / sigma_p) ** 2 - 1 - np.log(ratio))
''',
    "kumaraswamy": '''
def log_density(x, a, b):
    return np.log(a) + np.log(b) + (a - 1) * np.log(x) + (b - 1) * np.log1p(-(x**a))

def sample(u, a, b):
    return (1 - (1 - u) ** (1 / b)) ** (1 / a)

def cdf(x, a, b):
    return 1 - (1 - x**a) ** b

def quantile(p, a, b):
    return (1 - (1 - p) ** (1 / b)) ** (1 / a)

def mean(a, b):
    return b * np.exp(betaln(1 + 1 / a, b))

def variance(a, b):
    first = b * np.exp(betaln(1 + 1 / a, b))
    second = b * np.exp(betaln(1 + 2 / a, b))
    return second - first**2

def entropy(a, b):
    harmonic = digamma(b + 1) + np.euler_gamma
    return (1 - 1 / b) + (1 - 1 / a) * harmonic - np.log(a) - np.log(b)
''',
    "exponential": '''
def log_density(x, rate):
    return np.log(rate) - rate * x

def sample(u, rate):
    return -np.log(u) / rate

def cdf(x, rate):
    return 1 - np.exp(-rate * x)

def quantile(p, rate):
    return -np.log1p(-p) / rate

def mean(rate):
    return 1 / rate

def variance(rate):
    return 1 / rate**2

def entropy(rate):
    return 1 - np.log(rate)

def kl(rate_q, rate_p):
    return np.log(rate_q) - np.log(rate_p) + rate_p / rate_q - 1
''',
    "gamma": '''
def log_density(x, a, b):
    return a * np.log(b) - gammaln(a) + (a - 1) * np.log(x) - b * x

def mean(a, b):
    return a / b

def variance(a, b):
    return a / b**2

def entropy(a, b):
    return a - np.log(b) + gammaln(a) + (1 - a) * digamma(a)
''',
    "beta": '''
def log_density(x, a, b):
    return (a - 1) * np.log(x) + (b - 1) * np.log(1 - x) - betaln(a, b)

def mean(a, b):
    return a / (a + b)

def variance(a, b):
    return a * b / ((a + b) ** 2 * (a + b + 1))

def entropy(a, b):
    total = (a + b - 2) * digamma(a + b)
    return betaln(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b) + total
''',
    "lognormal": '''
def log_density(x, mu, sigma):
    z = (np.log(x) - mu) / sigma
    return -0.5 * z**2 - np.log(sigma) - np.log(x) - 0.5 * np.log(2 * np.pi)

def sample(eps, mu, sigma):
    return np.exp(mu + sigma * eps)

def mean(mu, sigma):
    return np.exp(mu + sigma**2 / 2)

def variance(mu, sigma):
    return (np.exp(sigma**2) - 1) * np.exp(2 * mu + sigma**2)

def entropy(mu, sigma):
    return mu + 0.5 + np.log(sigma) + 0.5 * np.log(2 * np.pi)
''',
    "laplace": '''
def log_density(x, mu, b):
    return -np.abs(x - mu) / b - np.log(2 * b)

def sample(u, mu, b):
    v = u - 0.5
    return mu - b * np.sign(v) * np.log(1 - 2 * np.abs(v))

def variance(mu, b):
    return 2 * b**2

def entropy(mu, b):
    return 1 + np.log(2 * b)
''',
    "logistic": '''
def log_density(x, mu, s):
    z = (x - mu) / s
    return -z - np.log(s) - 2 * np.log1p(np.exp(-z))

def sample(u, mu, s):
    return mu + s * (np.log(u) - np.log1p(-u))

def cdf(x, mu, s):
    return 1 / (1 + np.exp(-(x - mu) / s))

def variance(mu, s):
    return s**2 * np.pi**2 / 3

def entropy(mu, s):
    return np.log(s) + 2
''',
    "gumbel": '''
def log_density(x, mu, beta):
    z = (x - mu) / beta
    return -z - np.exp(-z) - np.log(beta)

def sample(u, mu, beta):
    return mu - beta * np.log(-np.log(u))

def mean(mu, beta):
    return mu + beta * np.euler_gamma

def variance(mu, beta):
    return np.pi**2 / 6 * beta**2

def entropy(mu, beta):
    return np.log(beta) + np.euler_gamma + 1
''',
    "concrete": '''
def log_density(x, log_alpha, tau):
    y = tau * (np.log(x) - np.log1p(-x)) - log_alpha
    return np.log(tau) - y - 2 * np.log1p(np.exp(-y)) - np.log(x) - np.log1p(-x)

def sample(u, log_alpha, tau):
    noise = np.log(u) - np.log1p(-u)
    return 1 / (1 + np.exp(-(log_alpha + noise) / tau))
''',
    "cauchy": '''
def density(x, x0, gamma):
    return 1 / (np.pi * gamma * (1 + ((x - x0) / gamma) ** 2))

def sample(u, x0, gamma):
    return x0 + gamma * np.tan(np.pi * (u - 0.5))

def cdf(x, x0, gamma):
    return np.arctan((x - x0) / gamma) / np.pi + 0.5

def entropy(x0, gamma):
    return np.log(4 * np.pi * gamma)
''',
    "weibull": '''
def log_density(x, lam, k):
    return np.log(k / lam) + (k - 1) * np.log(x / lam) - (x / lam) ** k

def sample(u, lam, k):
    return lam * (-np.log(u)) ** (1 / k)

def mean(lam, k):
    return lam * gamma(1 + 1 / k)

def entropy(lam, k):
    return np.euler_gamma * (1 - 1 / k) + np.log(lam / k) + 1
''',
    "rayleigh": '''
def density(x, sigma):
    return x / sigma**2 * np.exp(-(x**2) / (2 * sigma**2))

def sample(u, sigma):
    return sigma * np.sqrt(-2 * np.log(u))

def mean(sigma):
    return sigma * np.sqrt(np.pi / 2)

def variance(sigma):
    return (4 - np.pi) / 2 * sigma**2
''',
    "pareto": '''
support = lambda m, alpha: (m, np.inf)
parameters = [{"m": 1.3, "alpha": 3.4}, {"m": 0.7, "alpha": 4.1}, {"m": 2.1, "alpha": 5.2}]

def log_density(x, m, alpha):
    return np.log(alpha) + alpha * np.log(m) - (alpha + 1) * np.log(x)

def sample(u, m, alpha):
    return m / u ** (1 / alpha)

def mean(m, alpha):
    return alpha * m / (alpha - 1)

def entropy(m, alpha):
    return np.log(m / alpha) + 1 + 1 / alpha
''',
    "uniform": '''
def density(x, low, high):
    return np.where((x >= low) & (x <= high), 1 / (high - low), 0.0)

def sample(u, low, high):
    return low + (high - low) * u

def mean(low, high):
    return (low + high) / 2

def variance(low, high):
    return (high - low) ** 2 / 12

def entropy(low, high):
    return np.log(high - low)
''',
    "poisson": '''
def log_pmf(k, lam):
    return k * np.log(lam) - lam - gammaln(k + 1)

def mean(lam):
    return lam

def variance(lam):
    return lam

def kl(lam_q, lam_p):
    return lam_q * (np.log(lam_q) - np.log(lam_p)) - lam_q + lam_p
''',
    "bernoulli": '''
def log_pmf(x, p):
    return x * np.log(p) + (1 - x) * np.log(1 - p)

def sample(u, p):
    return (u < p) * 1.0

def mean(p):
    return p

def variance(p):
    return p * (1 - p)

def entropy(p):
    return -p * np.log(p) - (1 - p) * np.log(1 - p)

def kl(p_q, p_p):
    return p_q * np.log(p_q / p_p) + (1 - p_q) * np.log((1 - p_q) / (1 - p_p))
''',
    "geometric": '''
def pmf(k, p):
    return p * (1 - p) ** k

def sample(u, p):
    return np.floor(np.log(u) / np.log(1 - p))

def mean(p):
    return (1 - p) / p

def variance(p):
    return (1 - p) / p**2
''',
    "binomial": '''
def log_pmf(k, n, p):
    choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return choose + k * np.log(p) + (n - k) * np.log(1 - p)

def mean(n, p):
    return n * p

def variance(n, p):
    return n * p * (1 - p)
''',
    "softplus": '''
def transform(x, beta):
    return np.log1p(np.exp(beta * x)) / beta

def inverse(y, beta):
    return np.log(np.expm1(beta * y)) / beta

def log_jacobian(x, beta):
    return -np.log1p(np.exp(-beta * x))
''',
    "sigmoid": '''
def transform(x, scale):
    return 1 / (1 + np.exp(-scale * x))

def inverse(y, scale):
    return (np.log(y) - np.log(1 - y)) / scale

def log_jacobian(x, scale):
    y = transform(x, scale)
    return np.log(scale) + np.log(y) + np.log(1 - y)
''',
    "conjugate": '''
def log_prior(w, mu, s, x):
    return -0.5 * w**2 - 0.5 * np.log(2 * np.pi)

def log_likelihood(w, mu, s, x):
    return -0.5 * (x - w) ** 2 - 0.5 * np.log(2 * np.pi)

def log_q(w, mu, s, x):
    return -0.5 * ((w - mu) / s) ** 2 - np.log(s) - 0.5 * np.log(2 * np.pi)

def log_evidence(x):
    return -0.25 * x**2 - 0.5 * np.log(4 * np.pi)

def elbo(mu, s, x):
    expected = -0.5 * ((x - mu) ** 2 + s**2) - 0.5 * np.log(2 * np.pi)
    divergence = 0.5 * (mu**2 + s**2 - 1) - np.log(s)
    return expected - divergence
''',
    "second_moment": '''
def expectation(mu, sigma):
    return mu**2 + sigma**2

def estimator(eps, mu, sigma):
    return (mu + sigma * eps) ** 2

def score_function(eps, mu, sigma):
    x = mu + sigma * eps
    d_mu = (x - mu) / sigma**2
    d_sigma = ((x - mu) ** 2 - sigma**2) / sigma**3
    return x**2 * d_mu, x**2 * d_sigma

def reparameterized(eps, mu, sigma):
    x = mu + sigma * eps
    return 2 * x, 2 * x * eps
''',
    "student": '''
parameters = [{"nu": 4.3, "mu": 0.4, "s": 1.3}, {"nu": 6.1, "mu": -0.7, "s": 0.6}]

def log_density(x, nu, mu, s):
    z = (x - mu) / s
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(s)
    return constant - (nu + 1) / 2 * np.log1p(z**2 / nu)

def mean(nu, mu, s):
    return mu

def variance(nu, mu, s):
    return s**2 * nu / (nu - 2)
''',
    "plane": '''
parameters = {
    "x": np.zeros(2),
    "mu": np.array([0.3, -0.5]),
    "L": np.array([[1.1, 0.0], [0.4, 0.7]]),
}

def log_density(x, mu, L):
    z = np.linalg.solve(L, (np.asarray(x) - mu).T)
    return -0.5 * np.sum(z**2, axis=0) - np.sum(np.log(np.diag(L))) - np.log(2 * np.pi)

def sample(rng, size, mu, L):
    return mu + rng.normal(size=(size, 2)) @ L.T

def mean(mu, L):
    return mu

def variance(mu, L):
    return L @ L.T
''',
    "inverse_gamma": '''
parameters = [{"alpha": 3.2, "beta": 1.7}, {"alpha": 4.1, "beta": 0.8}, {"alpha": 5.3, "beta": 2.2}]

def log_density(x, alpha, beta):
    return alpha * np.log(beta) - gammaln(alpha) - (alpha + 1) * np.log(x) - beta / x

def mean(alpha, beta):
    return beta / (alpha - 1)

def variance(alpha, beta):
    return beta**2 / ((alpha - 1) ** 2 * (alpha - 2))

def entropy(alpha, beta):
    return alpha + np.log(beta) + gammaln(alpha) - (1 + alpha) * digamma(alpha)
''',
}


class Mistake(NamedTuple):
    """A text of a function that is replaced, and what a verdict may say."""

    family: str
    function: str
    old: str
    new: str
    says: tuple


def _mistakes(family, rows):
    return [
        Mistake(family, function, old, new, says if isinstance(says, tuple) else (says,))
        for function, old, new, says in rows
    ]


PLANTED = [
    *_mistakes(
        "normal",
        [
            ("log_density", " - np.log(sigma)", "", "log sigma"),
            ("log_density", "0.5 * np.log(2", "np.log(2", ("1/2 log 2 pi", "2 * np.pi")),
            ("log_density", "-0.5 * ((x", "0.5 * ((x", ("sign", "-0.5")),
            ("log_density", "- np.log(sigma)", "+ np.log(sigma)", ("sign", "2 log sigma")),
            ("log_density", "/ sigma) ** 2", "/ sigma**2) ** 2", ("sigma", "squared", "power")),
            ("log_density", "-0.5 * ((x", "-((x", ("0.5", "1/2", "2")),
            ("sample", "sigma * eps", "sigma**2 * eps", ("sigma", "root")),
            ("sample", "sigma * eps", "np.sqrt(sigma) * eps", ("sigma", "sqrt")),
            ("sample", "mu + sigma * eps", "(mu + eps) * sigma", ("sigma", "mu")),
            ("cdf", "ndtr((x - mu)", "ndtr((mu - x)", ("other tail", "sign")),
            ("cdf", "/ sigma)", "/ sigma**2)", ("sigma", "power")),
            ("quantile", "ndtri(p)", "ndtri(1 - p)", ("other tail", "1 - u")),
            ("variance", "sigma**2", "sigma", ("standard deviation", "squared")),
            ("variance", "sigma**2", "sigma**2 + mu**2", ("second moment", "mu")),
            ("variance", "sigma**2", "1 / sigma**2", ("precision", "reciprocal")),
            ("mean", "return mu", "return -mu", "sign"),
            (
                "entropy",
                "0.5 * np.log(2 * np.pi * np.e)",
                "0.5 * np.log(2 * np.pi)",
                "short by 1/2",
            ),
            ("entropy", "+ np.log(sigma)", "+ 2 * np.log(sigma)", ("log sigma", "factor")),
            ("entropy", "+ np.log(sigma)", "- np.log(sigma)", ("log sigma", "sign")),
            ("entropy", "return 0.5", "return -0.5", ("sign", "log 2 pi", "2.83")),
            ("kl", "return 0.5 * (", "return (", "factor 2"),
            ("kl", "- np.log(ratio)", "+ np.log(ratio)", "sign"),
            ("kl", " - 1 -", " -", "1/2"),
            ("kl", "sigma_q / sigma_p", "sigma_p / sigma_q", ("sigma_q", "exchanged", "operands")),
            (
                "kl",
                "ratio + ((mu_q - mu_p) / sigma_p) ** 2 - 1 - np.log(ratio)",
                "1 / ratio + ((mu_q - mu_p) / sigma_q) ** 2 - 1 + np.log(ratio)",
                "reversed",
            ),
            ("kl", "/ sigma_p) ** 2 - 1", "/ sigma_q) ** 2 - 1", "sigma_p"),
        ],
    ),
    *_mistakes(
        "kumaraswamy",
        [
            ("log_density", "np.log(a) + np.log(b)", "np.log(b)", "log a"),
            ("log_density", "(a - 1) * np.log(x)", "a * np.log(x)", ("log x", "a - 1")),
            ("log_density", "(b - 1) * np", "b * np", ("b - 1", "- 1", "log b")),
            ("log_density", "-(x**a)", "-x", ("x ** a", "x**a", "power")),
            ("sample", "(1 / b)) ** (1 / a)", "(1 / a)) ** (1 / b)", "exchanged"),
            ("sample", "** (1 / a)", "** a", ("1 / a", "root")),
            ("sample", "** (1 / b)", "** b", ("1 / b", "root")),
            ("sample", "(1 - (1 - u) ** (1 / b))", "((1 - u) ** (1 / b))", ("1 - ", "one minus")),
            ("cdf", "return 1 - (", "return (", "other tail"),
            ("cdf", "(1 - x**a) ** b", "(1 - x**b) ** a", "exchanged"),
            (
                "quantile",
                "(1 - p) ** (1 / b)",
                "p ** (1 / b)",
                ("1 - u", "other tail", "one minus"),
            ),
            ("mean", "b * np.exp", "np.exp", ("b", "factor")),
            ("mean", "1 + 1 / a", "1 / a", ("1", "term")),
            ("variance", " - first**2", "", ("second moment", "square of the mean")),
            ("variance", "first**2", "first", ("first ** 2", "squared")),
            ("variance", "1 + 2 / a", "1 + 1 / a", ("2", "factor")),
            ("entropy", "- np.log(a) - np.log(b)", "+ np.log(a) + np.log(b)", ("log", "sign")),
            ("entropy", "digamma(b + 1) + np", "digamma(b) + np", ("b + 1", "term")),
            ("entropy", "(1 - 1 / a) * harmonic", "(1 - a) * harmonic", ("1 / a", "one over")),
        ],
    ),
    *_mistakes(
        "exponential",
        [
            ("log_density", "np.log(rate) - ", "-", "log rate"),
            ("log_density", "rate * x", "x / rate", ("rate", "product")),
            ("sample", "/ rate", "* rate", "rate"),
            ("sample", "-np.log(u)", "np.log(u)", ("support", "sign")),
            ("cdf", "1 - np.exp", "np.exp", "other tail"),
            ("quantile", "log1p(-p)", "log(p)", ("other tail", "1 - ")),
            ("mean", "1 / rate", "rate", ("reciprocal", "over")),
            ("variance", "1 / rate**2", "1 / rate", ("standard deviation", "root", "square")),
            ("entropy", "1 - np.log(rate)", "1 + np.log(rate)", ("sign", "2 log rate")),
            ("entropy", "np.log(rate)", "np.log2(rate)", "log"),
            ("entropy", "1 - np.log(rate)", "(1 - np.log(rate)) / np.log(2)", "bits"),
            ("kl", "rate_p / rate_q", "rate_q / rate_p", ("operands", "exchanged", "rate")),
            (
                "kl",
                "np.log(rate_q) - np.log(rate_p) + rate_p / rate_q",
                "np.log(rate_p) - np.log(rate_q) + rate_q / rate_p",
                "reversed",
            ),
        ],
    ),
    *_mistakes(
        "gamma",
        [
            ("log_density", " - gammaln(a)", "", "log Gamma(a)"),
            ("log_density", "a * np.log(b) - ", "-", "log b"),
            ("log_density", "- b * x", "- x / b", ("b", "product")),
            ("mean", "a / b", "a * b", ("b", "factor", "quotient")),
            ("variance", "b**2", "b", ("b", "square")),
            ("entropy", "(1 - a) *", "(a - 1) *", ("sign", "exchanged", "operands")),
            ("entropy", "- np.log(b)", "", "log b"),
        ],
    ),
    *_mistakes(
        "beta",
        [
            ("log_density", " - betaln(a, b)", "", "log B(a, b)"),
            ("log_density", "- betaln", "+ betaln", ("log B(a, b)", "sign")),
            ("mean", "a / (a + b)", "b / (a + b)", ("other tail", "a", "exchanged")),
            ("variance", " * (a + b + 1))", ")", "+"),
            ("entropy", "- (a - 1)", "+ (a - 1)", "sign"),
            ("entropy", "return betaln(a, b)", "return -betaln(a, b)", ("log B", "sign")),
        ],
    ),
    *_mistakes(
        "lognormal",
        [
            ("log_density", " - np.log(x)", "", "log x"),
            ("sample", "np.exp(mu + sigma * eps)", "mu + sigma * eps", ("support", "logarithm")),
            ("mean", "sigma**2 / 2", "sigma**2", ("2", "half")),
            ("mean", "np.exp(mu + sigma**2 / 2)", "np.exp(mu)", ("mean of log", "sigma")),
            ("variance", "2 * mu + sigma**2", "2 * mu", ("sigma", "term", "factor")),
            ("entropy", "return mu + 0.5", "return 0.5", ("log x", "mu")),
        ],
    ),
    *_mistakes(
        "laplace",
        [
            ("log_density", "np.log(2 * b)", "np.log(b)", "log 2"),
            ("sample", "1 - 2 * np.abs", "1 - np.abs", ("2", "factor")),
            ("variance", "2 * b**2", "b**2", "1/2"),
            ("entropy", "1 + np.log", "np.log", "1"),
        ],
    ),
    *_mistakes(
        "logistic",
        [
            ("log_density", "2 * np.log1p", "np.log1p", ("2", "infinite", "converge")),
            ("log_density", " - np.log(s)", "", ("log s", "np.log(s)")),
            (
                "sample",
                "np.log(u) - np.log1p(-u)",
                "np.log(u) + np.log1p(-u)",
                ("sign", "difference"),
            ),
            ("cdf", "-(x - mu)", "(x - mu)", ("other tail", "sign")),
            ("variance", "np.pi**2 / 3", "np.pi / 3", ("pi", "square")),
        ],
    ),
    *_mistakes(
        "gumbel",
        [
            ("log_density", "- np.exp(-z)", "- np.exp(z)", ("sign", "-z")),
            ("sample", "np.log(-np.log(u))", "np.log(u)", ("log", "-")),
            ("sample", "mu - beta", "mu + beta", ("sign", "-beta")),
            ("mean", "beta * np.euler_gamma", "np.euler_gamma", ("beta", "factor")),
            ("variance", "np.pi**2 / 6 * beta**2", "np.pi**2 / 6 * beta", ("beta", "square")),
        ],
    ),
    *_mistakes(
        "concrete",
        [
            ("log_density", "np.log(tau) - ", "-", "log tau"),
            ("log_density", "tau * (np.log(x)", "(1 / tau) * (np.log(x)", ("tau", "log tau")),
            ("log_density", " - np.log(x) - np.log1p(-x)", "", "log(x / (1 - x))"),
            ("sample", "(log_alpha + noise) / tau", "(log_alpha + noise) * tau", ("tau",)),
            ("sample", "log_alpha + noise", "noise - log_alpha", ("log_alpha", "sign", "1 minus")),
        ],
    ),
    *_mistakes(
        "cauchy",
        [
            ("density", "np.pi * gamma", "gamma", "pi"),
            ("cdf", " / np.pi", " / 2", ("pi", "2")),
            ("entropy", "4 * np", "2 * np", ("log 2", "4", "2")),
        ],
    ),
    *_mistakes(
        "weibull",
        [
            ("log_density", "np.log(k / lam)", "np.log(k)", "lam"),
            ("sample", "** (1 / k)", "** k", ("1 / k", "over k")),
            ("sample", "lam * ", "1 / lam * ", "lam"),
            ("mean", "gamma(1 + 1 / k)", "gamma(1 + k)", ("1 / k", "over k")),
        ],
    ),
    *_mistakes(
        "rayleigh",
        [
            ("density", "x / sigma**2", "x / sigma", ("sigma",)),
            ("sample", "np.sqrt(-2 * np.log(u))", "(-2 * np.log(u))", ("sqrt", "root", "0.5")),
            ("mean", "np.pi / 2", "np.pi", ("2", "sqrt")),
        ],
    ),
    *_mistakes(
        "pareto",
        [
            ("log_density", "(alpha + 1)", "alpha", ("log x", "alpha + 1", "+ 1")),
            ("sample", "1 / alpha", "alpha", ("1 / alpha", "over alpha")),
            ("mean", "(alpha - 1)", "alpha", ("- 1", "mode")),
        ],
    ),
    *_mistakes(
        "uniform",
        [
            ("sample", "(high - low) * u", "high * u", ("high - low", "- low", "low")),
            ("variance", "** 2 / 12", "** 2 / 6", "factor 2"),
            ("mean", "/ 2", "", "factor 2"),
        ],
    ),
    *_mistakes(
        "poisson",
        [
            ("log_pmf", "k + 1", "k", ("log lam", "k + 1")),
            ("log_pmf", " - lam -", " -", ("lam",)),
            ("kl", "- lam_q + lam_p", "+ lam_q - lam_p", ("sign", "lam")),
            ("variance", "return lam", "return lam**0.5", ("standard deviation",)),
        ],
    ),
    *_mistakes(
        "bernoulli",
        [
            ("sample", "u < p", "u > p", ("1 minus", "1 - p", "comparison", "p")),
            ("variance", "p * (1 - p)", "p * (1 + p)", "sign"),
            ("entropy", "- (1 - p)", "+ (1 - p)", "sign"),
            ("entropy", "return -p * np.log(p) - ", "return p * np.log(p) + ", "sign"),
            ("kl", "(1 - p_q) / (1 - p_p)", "(1 - p_p) / (1 - p_q)", ("operands", "sign")),
        ],
    ),
    *_mistakes(
        "geometric",
        [
            ("pmf", "p * (1 - p) ** k", "(1 - p) ** k", "p"),
            ("mean", "(1 - p) / p", "1 / p", ("1", "p")),
            ("sample", "np.log(1 - p)", "np.log(p)", ("1 - p", "one minus")),
        ],
    ),
    *_mistakes(
        "binomial",
        [
            ("log_pmf", "gammaln(n - k + 1)", "gammaln(n - k)", ("1", "term")),
            ("variance", " * (1 - p)", "", ("1 - p", "factor", "the mean")),
        ],
    ),
    *_mistakes(
        "softplus",
        [
            ("inverse", "np.log(np.expm1(beta * y)) / beta", "np.log(np.expm1(y))", ("beta",)),
            ("log_jacobian", "-np.log1p", "np.log1p", ("sign",)),
            ("log_jacobian", "np.exp(-beta", "np.exp(beta", ("sign", "-")),
        ],
    ),
    *_mistakes(
        "sigmoid",
        [
            ("log_jacobian", "np.log(scale) + ", "", ("log scale", "np.log(scale)", "`* scale`")),
            ("inverse", "np.log(y) - np.log(1 - y)", "np.log(1 - y) - np.log(y)", ("sign",)),
        ],
    ),
    *_mistakes(
        "conjugate",
        [
            ("elbo", "expected - divergence", "expected + divergence", ("added", "sign")),
            ("elbo", " - np.log(s)\n", "\n", ("entropy", "log s", "np.log(s)")),
            ("elbo", " + s**2) - 0.5", ") - 0.5", ("s", "term")),
            ("elbo", "return expected - divergence", "return expected", ("divergence",)),
        ],
    ),
    *_mistakes(
        "second_moment",
        [
            ("estimator", "(mu + sigma * eps) ** 2", "mu**2 + sigma * eps**2", ("sigma",)),
            ("score_function", "/ sigma**2\n", "/ sigma\n", ("sigma",)),
            ("score_function", " - sigma**2) /", ") /", ("sigma",)),
            ("reparameterized", "2 * x * eps", "2 * x", ("eps", "sigma")),
        ],
    ),
    *_mistakes(
        "student",
        [
            ("log_density", "0.5 * np.log(nu * np.pi)", "0.5 * np.log(np.pi)", "nu"),
            ("log_density", "- np.log(s)", "", ("log s", "np.log(s)")),
            ("variance", "(nu - 2)", "(nu - 1)", ("nu", "2")),
        ],
    ),
    *_mistakes(
        "plane",
        [
            ("sample", "@ L.T", "@ L", ("L.T", "transpose")),
            ("variance", "L @ L.T", "L.T @ L", ("transposed", "T")),
            (
                "log_density",
                "np.log(2 * np.pi)",
                "0.5 * np.log(2 * np.pi)",
                ("log 2 pi", "0.5", "2"),
            ),
        ],
    ),
    *_mistakes(
        "inverse_gamma",
        [
            ("log_density", "(alpha + 1)", "(alpha - 1)", ("alpha", "infinite", "converge")),
            ("mean", "(alpha - 1)", "(alpha + 1)", ("sign", "difference")),
            ("variance", "beta**2", "beta", ("beta",)),
        ],
    ),
]
# Mistakes that are none: the draws have the same distribution.
HARMLESS = [
    ("normal", "sample", "mu + sigma * eps", "mu - sigma * eps"),
    ("kumaraswamy", "sample", "(1 - u) ** (1 / b)", "u ** (1 / b)"),
    ("exponential", "sample", "np.log(u)", "np.log1p(-u)"),
    ("concrete", "sample", "log_alpha + noise", "log_alpha - noise"),
    ("cauchy", "sample", "u - 0.5", "u"),
]
