"""Right functions of distributions are never wrong, and spoiled ones never right."""

import pytest
from quick import quick

from ibpcl.verify.adapters import loading
from ibpcl.verify.distributions import checking, reading

HEAD = "import numpy as np\nfrom scipy.special import gammaln, ndtr, ndtri\n"
FAMILIES = {
    "normal": {
        "log_density(x, mu, sigma)": "-0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma)"
        " - 0.5 * np.log(2 * np.pi)",
        "cdf(x, mu, sigma)": "ndtr((x - mu) / sigma)",
        "quantile(p, mu, sigma)": "mu + sigma * ndtri(p)",
        "sample(eps, mu, sigma)": "mu + sigma * eps",
        "mean(mu, sigma)": "mu",
        "variance(mu, sigma)": "sigma**2",
        "entropy(mu, sigma)": "0.5 * np.log(2 * np.pi * np.e) + np.log(sigma)",
        "kl(mu_q, sigma_q, mu_p, sigma_p)": "np.log(sigma_p / sigma_q) - 0.5"
        " + (sigma_q**2 + (mu_q - mu_p) ** 2) / (2 * sigma_p**2)",
    },
    "exponential": {
        "density(x, rate)": "rate * np.exp(-rate * x) * (x >= 0)",
        "cdf(x, rate)": "(1 - np.exp(-rate * x)) * (x >= 0)",
        "quantile(p, rate)": "-np.log1p(-p) / rate",
        "sample(u, rate)": "-np.log(u) / rate",
        "mean(rate)": "1 / rate",
        "variance(rate)": "1 / rate**2",
        "entropy(rate)": "1 - np.log(rate)",
        "support": "(0, np.inf)",
    },
    "kumaraswamy": {
        "density(x, a, b)": "a * b * x ** (a - 1) * (1 - x**a) ** (b - 1)",
        "cdf(x, a, b)": "1 - (1 - x**a) ** b",
        "quantile(p, a, b)": "(1 - (1 - p) ** (1 / b)) ** (1 / a)",
        "sample(u, a, b)": "(1 - u ** (1 / b)) ** (1 / a)",
        "support": "(0, 1)",
    },
    "poisson": {
        "log_mass(k, rate)": "k * np.log(rate) - rate - gammaln(k + 1)",
        "mean(rate)": "rate",
        "variance(rate)": "rate",
    },
}
SPOILS = ("1.01 * ({})", "2 * ({})", "({}) + 0.3", "-({})")


def source_of(family, spoiled="", spoil="{}"):
    """Return the functions of a family as a file, with one of them spoiled."""
    lines = [HEAD]
    for name, text in FAMILIES[family].items():
        body = spoil.format(text) if name == spoiled else text
        lines.append(f"{name} = {body}\n" if name == "support" else f"def {name}: return {body}\n")
    return "\n".join(lines)


def verdicts(source, tmp_path):
    path = tmp_path / "family.py"
    path.write_text(source, encoding="utf-8")
    [group] = reading.groups_in(loading.load(str(path)).module)
    return {item.name: item.verdict for item in checking.check_group(group).items}


CASES = [
    (family, name, spoil)
    for family, functions in FAMILIES.items()
    for name in functions
    for spoil in SPOILS
    if name != "support"
]


def named(case):
    family, name, spoil = case
    return f"{family}-{name.partition('(')[0]}-{spoil}"


def one_of_each():
    """Return the names of one case of each kind of function, with the kinds of spoils in turn."""
    first = {}
    for case in CASES:
        first.setdefault(case[1].partition("(")[0], []).append(case)
    return [named(cases[n % len(SPOILS)]) for n, cases in enumerate(first.values())]


@pytest.mark.parametrize("family", FAMILIES)
def test_right_functions_are_ok(family, tmp_path):
    found = verdicts(source_of(family), tmp_path)
    assert found and set(found.values()) == {"ok"}, found


@pytest.mark.parametrize(
    ("family", "name", "spoil"),
    quick(one_of_each(), CASES, "one of each kind of function and of spoil", named),
)
def test_a_spoiled_function_is_not_ok(family, name, spoil, tmp_path):
    found = verdicts(source_of(family, name, spoil), tmp_path)
    bare = name.partition("(")[0]
    assert found.get(bare) != "ok" and "wrong" in found.values(), found
    blamed = [other for other, verdict in found.items() if verdict == "wrong"]
    assert bare in blamed or bare in ("density", "log_density", "log_mass"), found
