"""Subclasses of SciPy's distributions in a user's file."""

import pytest

from ibpcl.verify.adapters import loading
from ibpcl.verify.distributions import checking, reading

TRIANGLE = """
from scipy import stats
class Triangle(stats.rv_continuous):
    def _pdf(self, x):
        return {pdf}
    def _cdf(self, x):
        return {cdf}
triangle = Triangle(a=0, b=1)
"""
GEOMETRIC = """
from scipy import stats
import numpy as np
class Geometric(stats.rv_discrete):
    def _pmf(self, k, p):
        return {pmf}
    def _cdf(self, k, p):
        return {cdf}
geometric = Geometric(a=1, name="geometric", shapes="p")
"""


def verdicts(source, name, tmp_path):
    path = tmp_path / "subclass.py"
    path.write_text(source, encoding="utf-8")
    module = loading.load(str(path)).module
    [group] = reading.groups_of_class(name, getattr(module, name), module)
    report = checking.check_group(group)
    return {item.name.rpartition(".")[2]: item.verdict for item in report.items}


@pytest.mark.parametrize(
    ("pdf", "cdf", "wrong"),
    [
        ("2 * x", "x**2", []),
        ("2 * x", "x**3", ["_cdf"]),
        ("2 * x", "1.01 * x**2", ["_cdf"]),
        ("2.02 * x", "x**2", ["_pdf"]),
        ("3 * x", "x**2", ["_pdf"]),
    ],
)
def test_a_continuous_subclass_is_read(pdf, cdf, wrong, tmp_path):
    found = verdicts(TRIANGLE.format(pdf=pdf, cdf=cdf), "Triangle", tmp_path)
    assert set(found) == {"_pdf", "_cdf"}
    assert [name for name, verdict in found.items() if verdict == "wrong"] == wrong
    assert (set(found.values()) == {"ok"}) == (not wrong)


@pytest.mark.parametrize(
    ("pmf", "cdf", "wrong"),
    [
        ("p * (1 - p) ** (k - 1)", "1 - (1 - p) ** np.floor(k)", []),
        ("p * (1 - p) ** (k - 1)", "1 - (1 - p) ** (np.floor(k) + 1)", ["_cdf"]),
        ("p * (1 - p) ** k", "1 - (1 - p) ** np.floor(k)", ["_pmf"]),
    ],
)
def test_a_discrete_subclass_is_read(pmf, cdf, wrong, tmp_path):
    found = verdicts(GEOMETRIC.format(pmf=pmf, cdf=cdf), "Geometric", tmp_path)
    assert [name for name, verdict in found.items() if verdict == "wrong"] == wrong
    assert (set(found.values()) == {"ok"}) == (not wrong)
