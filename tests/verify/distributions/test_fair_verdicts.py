"""Guesses condemn nobody, common forms are read, and what is accepted has a spoiled twin."""

import pytest
from quick import quick

from ibpcl.cli import main
from ibpcl.verify.adapters import loading
from ibpcl.verify.distributions.checking import check_group
from ibpcl.verify.distributions.reading import groups_in
from ibpcl.verify.running.checking import results_here
from ibpcl.verify.running.user import Request

HEAD = "import numpy as np\nfrom scipy.special import betaln, digamma, gammaln\n"
COUNTS = """
def log_pmf(y, mu, phi):
    r = mu / phi
    log_q = y * np.log(phi / (1 + phi)) - r * np.log1p(phi)
    return gammaln(y + r) - gammaln(r) - gammaln(y + 1) + log_q
def mean(mu, phi):
    return mu
def variance(mu, phi):
    return mu * (1 + phi)
"""
TRIANGLE = """
def pdf(x, a, c, b):
    left = 2 * (x - a) / ((b - a) * (c - a))
    right = 2 * (b - x) / ((b - a) * (b - c))
    return np.where((x < a) | (x > b), 0.0, np.where(x < c, left, right))
"""
MODES = """
def log_prob(x, d):
    one = -0.5 * ((x - 20 * d) / 0.05) ** 2
    two = -0.5 * ((x + 20 * d) / 0.05) ** 2
    return np.logaddexp(one, two) - np.log(2) - np.log(0.05) - 0.5 * np.log(2 * np.pi)
"""
DIRICHLET = """
def log_prob(x, alpha):
    constant = gammaln(np.sum(alpha)) - np.sum(gammaln(alpha))
    return np.sum((alpha - 1) * np.log(x), axis=-1) + constant
def entropy(alpha):
    a0 = np.sum(alpha)
    log_b = np.sum(gammaln(alpha)) - gammaln(a0)
    return log_b + (a0 - len(alpha)) * digamma(a0) - np.sum((alpha - 1) * digamma(alpha))
"""
CLASS = """
class Gamma:
    def __init__(self, shape, rate=1.0, data=None):
        if data is not None:
            raise TypeError("data")
        self.shape = shape
        self.rate = rate
    @property
    def mean(self):
        return self.shape / self.rate
    @property
    def skewness(self):
        return 2 / np.sqrt(self.shape)
    def mode(self):
        return np.maximum(self.shape - 1, 0.0) / self.rate
    def logp(self, value):
        constant = self.shape * np.log(self.rate) - gammaln(self.shape)
        return constant + (self.shape - 1) * np.log(value) - self.rate * value
    def kl_divergence(self, other):
        ratio = np.log(self.rate) - np.log(other.rate)
        constant = gammaln(other.shape) - gammaln(self.shape) + other.shape * ratio
        slope = (self.shape - other.shape) * digamma(self.shape)
        return constant + slope + self.shape * (other.rate - self.rate) / self.rate
"""
FLOW = """
class Flow:
    def __init__(self, shift, log_scale):
        self.shift = shift
        self.log_scale = log_scale
    def forward(self, z):
        return z * np.exp(self.log_scale) + self.shift
    def inverse(self, x):
        return (x - self.shift) * np.exp(-self.log_scale)
    def log_det(self, z):
        return self.log_scale + 0 * z
"""
VECTOR = """
def log_prob(x, mu, L):
    y = np.linalg.solve(L, x - mu)
    return -0.5 * len(mu) * np.log(2 * np.pi) - np.sum(np.log(np.diag(L))) - 0.5 * np.sum(y**2)
def sample(eps, mu, L):
    return mu + L @ eps
"""
POSTERIOR = """
def log_prior(theta):
    return 0.0 * theta
def log_likelihood(theta):
    return 3 * np.log(theta) + np.log1p(-theta)
def log_evidence():
    return betaln(4, 2)
def log_q(theta, a, b):
    return (a - 1) * np.log(theta) + (b - 1) * np.log1p(-theta) - betaln(a, b)
def elbo(a, b):
    e1, e2 = digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)
    return 3 * e1 + e2 - ((a - 1) * e1 + (b - 1) * e2 - betaln(a, b))
"""
RATIO = """
def log_p(x, mu):
    return -0.5 * (x - mu) ** 2 - 0.5 * np.log(2 * np.pi)
def log_q(x):
    return -0.125 * x**2 - 0.5 * np.log(8 * np.pi)
def estimator(eps, mu):
    x = 2 * eps
    return np.exp(log_p(x, mu) - log_q(x)) * x**2
def expectation(mu):
    return mu**2 + 1
"""
BERNOULLI = """
support = (0, 1)
def log_prob(x, logit):
    return x * logit - np.log1p(np.exp(logit))
def mean(logit):
    return 1 / (1 + np.exp(-logit))
"""
ORDERS = """
def log_prob(x, mu, sigma):
    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)
def kl(mu_p, sigma_p, mu_q, sigma_q):
    ratio = (sigma_p**2 + (mu_p - mu_q) ** 2) / (2 * sigma_q**2)
    return np.log(sigma_q / sigma_p) + ratio - 0.5
"""
SURVIVAL = """
def log_prob(t, lam, k):
    return np.log(k / lam) + (k - 1) * np.log(t / lam) - (t / lam) ** k
def sf(t, lam, k):
    return np.exp(-((t / lam) ** k))
def isf(q, lam, k):
    return lam * (-np.log(q)) ** (1 / k)
def median(lam, k):
    return lam * np.log(2) ** (1 / k)
"""
PARETO = """
def pdf(x, scale, shape):
    return np.where(x < scale, 0.0, shape * scale**shape / x ** (shape + 1))
def cdf(x, scale, shape):
    return np.where(x < scale, 0.0, 1 - (scale / x) ** shape)
"""
UNGUARDED = """
def pdf(x, rate):
    return rate * np.exp(-rate * x)
def cdf(x, rate):
    return 1 - np.exp(-rate * x)
"""
HEAVY = """
def logpdf(x, dfn, dfd):
    a, b = dfn / 2, dfd / 2
    power = (a - 1) * np.log(x) - (a + b) * np.log(dfd + dfn * x)
    return a * np.log(dfn) + b * np.log(dfd) + power - betaln(a, b)
def entropy(dfn, dfd):
    a, b = dfn / 2, dfd / 2
    mean = (1 - a) * digamma(a) - (1 + b) * digamma(b) + (a + b) * digamma(a + b)
    return np.log(dfd / dfn) + betaln(a, b) + mean
"""
SQUASHED = """
class Squashed:
    def __init__(self, mu, std, act_limit):
        self.mu = mu
        self.std = std
        self.act_limit = act_limit
    def sample(self, eps):
        return self.act_limit * np.tanh(self.mu + self.std * eps)
    def log_prob(self, action):
        u = np.arctanh(action / self.act_limit)
        logp = -0.5 * ((u - self.mu) / self.std) ** 2 - 0.5 * np.log(2 * np.pi)
        logp -= 2 * (np.log(2) - u - np.log1p(np.exp(-2 * u)))
        return logp - np.log(self.std) - np.log(self.act_limit)
"""
MIXTURE = """
def log_prob(y, weights, mu, sigma):
    parts = -0.5 * ((y - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)
    return np.logaddexp.reduce(np.log(weights) + parts)
def mean(weights, mu, sigma):
    return np.sum(weights * mu)
def parameters():
    return {"weights": np.array([0.3, 0.7]), "mu": np.array([-1.0, 2.0]), "sigma": np.ones(2)}
"""
ENCODER = """
class Encoder:
    def __init__(self, loc, logstd):
        self.loc = loc
        self.logstd = logstd
    def log_prob(self, z):
        square = (z - self.loc) ** 2 * np.exp(-2 * self.logstd)
        return -0.5 * np.log(2 * np.pi) - self.logstd - 0.5 * square
    def kl_divergence(self):
        return -0.5 * (1 + 2 * self.logstd - self.loc**2 - np.exp(2 * self.logstd))
"""
PAIR = """
def log_prob(x, a, b):
    first = a * np.log(b) - gammaln(a) + (a - 1) * np.log(x[0]) - b * x[0]
    return first + np.log(b) - b * x[1] + 0 * np.log(x[1])
"""
NEGATIVE_BINOMIAL = """
def log_pmf(k, size, prob):
    constant = gammaln(size + k) - gammaln(k + 1) - gammaln(size)
    return constant + size * np.log(prob) + k * np.log(1 - prob)
def mean(size, prob):
    return size * (1 - prob) / prob
"""
# A right file, a function of it, a text and its replacement.
FILES = {
    "counts": (COUNTS, "variance", "mu * (1 + phi)", "mu * (1 + phi**2)"),
    "triangle": (TRIANGLE, "pdf", "left = 2 * (x", "left = 3 * (x"),
    "modes": (MODES, "log_prob", "- np.log(2) - np.log(0.05)", "- np.log(0.05)"),
    "dirichlet": (DIRICHLET, "entropy", "- gammaln(a0)", "+ gammaln(a0)"),
    "class": (CLASS, "Gamma.skewness", "2 / np.sqrt", "1 / np.sqrt"),
    "mode": (CLASS, "Gamma.mode", "self.shape - 1, 0.0", "self.shape - 0.9, 0.0"),
    "other": (CLASS, "Gamma.kl_divergence", "(other.rate - self.rate)", "(self.rate - other.rate)"),
    "flow": (FLOW, "Flow.log_det", "self.log_scale + 0", "-self.log_scale + 0"),
    "vector": (VECTOR, "sample", "L @ eps", "L.T @ eps"),
    "posterior": (POSTERIOR, "elbo", "3 * e1 + e2", "3 * e1 - e2"),
    "ratio": (RATIO, "estimator", "log_q(x)) * x", "log_q(x)) * 0.5 * x"),
    "bernoulli": (BERNOULLI, "mean", "np.exp(-logit)", "np.exp(logit)"),
    "orders": (ORDERS, "kl", "ratio - 0.5", "ratio - 0.4"),
    "survival": (SURVIVAL, "sf", "np.exp(-((t / lam)", "1 - np.exp(-((t / lam)"),
    "isf": (SURVIVAL, "isf", "-np.log(q)", "-np.log1p(-q)"),
    "outside": (
        PARETO,
        "cdf",
        "np.where(x < scale, 0.0, 1 - (scale / x) ** shape)",
        "1 - (scale / x) ** shape",
    ),
    "unguarded": (UNGUARDED, "cdf", "1 - np", "1.01 - np"),
    "heavy": (HEAVY, "entropy", "digamma(a) -", "digamma(1 + a) -"),
    "limit": (SQUASHED, "Squashed.log_prob", " - np.log(self.act_limit)", ""),
    "mixture": (MIXTURE, "log_prob", "np.logaddexp.reduce", "np.sum"),
    "encoder": (ENCODER, "Encoder.kl_divergence", "np.exp(2 * self", "np.exp(self"),
    "size": (NEGATIVE_BINOMIAL, "log_pmf", "k * np.log(1 - prob)", "k * np.log(prob)"),
    "pair": (PAIR, "log_prob", "- gammaln(a)", ""),
    "median": (SURVIVAL, "median", "np.log(2) ** (1 / k)", "np.log(2) ** k"),
}


def verdicts(source, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + source, encoding="utf-8")
    groups = groups_in(loading.load(str(path)).module)
    items = [item for group in groups for item in check_group(group).items]
    return {item.name: item.verdict for item in items}


@pytest.mark.parametrize("name", FILES)
def test_a_right_file_has_no_wrong_function(name, tmp_path):
    source, function, *_ = FILES[name]
    found = verdicts(source, tmp_path)
    assert function in found and "wrong" not in found.values(), found
    assert found[function] == "ok", found


@pytest.mark.parametrize(
    "name",
    quick(
        FILES.keys() - {"limit", "triangle", "pair", "vector", "size"},
        FILES,
        "a second or more each, for the name of the mistake",
    ),
)
def test_its_spoiled_twin_is_wrong(name, tmp_path):
    source, function, old, new = FILES[name]
    assert old in source
    found = verdicts(source.replace(old, new, 1), tmp_path)
    wrongs = [each for each, verdict in found.items() if verdict == "wrong"]
    # narrow modes far apart are seen by one rule of integration only
    assert wrongs == ([] if name == "modes" else [function]), found
    assert found[function] != "ok"


def test_a_density_over_another_region_accuses_nobody(tmp_path):
    source = """
class NormalGamma:
    def __init__(self, mu, nu, shape, rate):
        self.mu, self.nu, self.shape, self.rate = mu, nu, shape, rate
    def logpdf(self, x):
        m, tau = x[0], x[1]
        if tau <= 0:
            return -np.inf
        gamma = self.shape * np.log(self.rate) - gammaln(self.shape)
        gamma += (self.shape - 1) * np.log(tau) - self.rate * tau
        square = self.nu * tau * (m - self.mu) ** 2
        return gamma - 0.5 * square + 0.5 * np.log(self.nu * tau / (2 * np.pi))
"""
    assert verdicts(source, tmp_path)["NormalGamma.logpdf"] != "wrong"


def test_the_probability_of_an_interval_is_not_a_wrong_cdf(tmp_path):
    source = """
class Exponential:
    def __init__(self, rate):
        self.rate = rate
    def pdf(self, x):
        return self.rate * np.exp(-self.rate * x)
    def cdf(self, a, b):
        return np.exp(-self.rate * a) - np.exp(-self.rate * b)
"""
    assert verdicts(source, tmp_path) == {"Exponential.pdf": "ok", "Exponential.cdf": "undecided"}


@pytest.mark.parametrize(("share", "verdict"), [("x**self.a", "ok"), ("1 - x**self.a", "wrong")])
def test_hidden_methods_are_read(share, verdict, tmp_path):
    source = f"""
class Power:
    def __init__(self, a):
        self.a = a
    def _pdf(self, x):
        return self.a * x ** (self.a - 1)
    def _cdf(self, x):
        return {share}
    def _mean(self, data):
        return np.mean(data)
"""
    found = verdicts(source, tmp_path)
    assert found.keys() == {"Power._pdf", "Power._cdf"} and found["Power._cdf"] == verdict


def test_a_wrong_verdict_has_a_place(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\n\n\ndef log_prob(x, mu, sigma):\n    z = (x - mu) / sigma\n"
        "    return -0.5 * z**2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)\n\n\n"
        "def mean(mu, sigma):\n    half = 0.5 * mu\n    return half + half\n\n\n"
        "def median(mu, sigma):\n    return mu\n\n\ndef mode(mu, sigma):\n    return mu\n\n\n"
        "def sample(eps, mu, sigma):\n    return mu + sigma * eps\n\n\n"
        "def variance(mu, sigma):\n    square = sigma**2\n    return 1 - square\n\n\n"
        "def entropy(mu, sigma):\n    return np.sin(mu) + np.cos(sigma)\n\n\n"
        "def std(mu, sigma):\n    root = np.sin(sigma)\n    return np.cos(root)\n"
    )
    [group] = groups_in(loading.load(str(path)).module)
    report = check_group(group)
    places = {item.name: item.where.line for item in report.items if item.verdict == "wrong"}
    # the expression that is to be changed, the only statement, the definition
    assert places == {"variance": 28, "entropy": 32, "std": 35}
    (repair,) = report["variance"].repair
    assert repair.where.line == 28 and repair.text == "square"
    assert report["mean"].ok and not report["entropy"].repair


def test_a_majority_outvotes_a_density(tmp_path):
    source = """
class Laplace:
    def __init__(self, mu, b):
        self.mu = mu
        self.b = b
    def log_prob(self, x):
        return -0.5 * np.log(2 * np.pi * self.b**2) - 0.5 * ((x - self.mu) / self.b) ** 2
    def sample(self, u):
        s = u - 0.5
        return self.mu - self.b * np.sign(s) * np.log1p(-2 * np.abs(s))
    def cdf(self, x):
        z = (x - self.mu) / self.b
        return 0.5 - 0.5 * np.sign(z) * np.expm1(-np.abs(z))
    def entropy(self):
        return 1 + np.log(2 * self.b)
"""
    found = verdicts(source, tmp_path)
    assert [name for name, verdict in found.items() if verdict == "wrong"] == ["Laplace.log_prob"]


def test_two_sides_of_equal_weight_accuse_nobody_alone(tmp_path):
    source = """
def pdf(x, s):
    return np.exp(-0.5 * (x - s) ** 2) / np.sqrt(2 * np.pi)
def mean(s):
    return s * np.sqrt(2 / np.pi)
def variance(s):
    return s**2 * (1 - 2 / np.pi)
"""
    found = verdicts(source, tmp_path)
    assert {found["pdf"], found["mean"], found["variance"]} == {"undecided"}
    assert "wrong" in found.values()


def test_an_endless_repair_does_not_hide_a_verdict(tmp_path):
    source = """
def log_prob(x, a, b):
    return (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b)
def sample(rng, a, b):
    while True:
        x = rng.random() ** (1 / a)
        y = rng.random() ** (1 / b)
        if x + y <= 1:
            return x
"""
    assert verdicts(source, tmp_path)["sample"] == "wrong"


def test_the_names_are_printed(capsys):
    assert main(["check", "--names"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("log_density", "reparameterize", "eps", "sigma"))


def test_what_is_not_compared_is_listed(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        HEAD + "def sample(u, a):\n    return u**a\ndef mean(a):\n    return 1 / (a + 1)\n"
        "def cdf(x, a):\n    return x ** (1 / a)\ndef log_det(x, a):\n    return 0.0\n"
    )
    [group] = groups_in(loading.load(str(path)).module)
    report = check_group(group)
    assert any("log_det" in note for note in report.notes)


EXCHANGED = """
from scipy import stats
class NegativeBinomial:
    def __init__(self, n, p):
        self.n = n
        self.p = p
    def logpdf(self, x):
        return stats.nbinom.logpmf(x, {arguments})
    def rvs(self, size=None):
        return np.random.negative_binomial(self.n, self.p, size=size)
"""


@pytest.mark.parametrize(
    ("arguments", "verdict"), [("self.p, self.n", "wrong"), ("self.n, self.p", "ok")]
)
def test_a_density_that_is_nan_is_compared_with_its_sampler(arguments, verdict, tmp_path):
    found = verdicts(EXCHANGED.format(arguments=arguments), tmp_path)
    assert found == {"NegativeBinomial.logpdf": verdict, "NegativeBinomial.rvs": "ok"}


def test_a_sampler_needs_a_density_or_a_distribution_function(tmp_path):
    source = (
        "def sample(rng, size, rate):\n    return rng.exponential(1 / rate, size)\n"
        "def mean(rate):\n    return 1 / rate\ndef variance(rate):\n    return 1 / rate\n"
    )
    assert verdicts(source, tmp_path) == {}
    source += "def cdf(x, rate):\n    return -np.expm1(-rate * x)\n"
    found = verdicts(source, tmp_path)
    assert found == {"cdf": "ok", "sample": "ok", "mean": "ok", "variance": "wrong"}


@pytest.mark.slow(reason="twenty seconds: an integral over heavy tails in two dimensions")
def test_heavy_tails_in_several_dimensions_accuse_nobody(tmp_path):
    source = """
def mvt_logpdf(x, mu, cov, df):
    d = len(mu)
    q = (x - mu) @ np.linalg.inv(cov) @ (x - mu)
    constant = gammaln((df + d) / 2) - gammaln(df / 2) - d / 2 * np.log(df * np.pi)
    return constant - 0.5 * np.linalg.slogdet(cov)[1] - (df + d) / 2 * np.log1p(q / df)
"""
    assert verdicts(source, tmp_path)["mvt_logpdf"] != "wrong"


def test_parameters_outside_their_domain_accuse_nobody(tmp_path):
    source = """
def log_prob(x, mu, sigma):
    return -0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)
def mean(mu, sigma):
    return mu if mu > 0 else 1.0
"""
    assert verdicts(source, tmp_path)["mean"] == "undecided"


@pytest.mark.parametrize(
    ("bound", "verdict"),
    # for a in (0, 1) only, for all a > 0, for none
    [("a - 1.0", "undecided"), ("-a", "ok"), ("a", "wrong")],
)
def test_parameters_are_not_chosen_by_what_they_make_right(tmp_path, bound, verdict):
    path = tmp_path / "mine.py"
    path.write_text(
        f"def log_evidence(a):\n    return 0.0 * a\n\ndef elbo(a):\n    return {bound}\n"
    )
    assert {item.verdict for item in results_here(Request(str(path)))} == {verdict}
