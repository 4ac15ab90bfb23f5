"""The package's own tests see every mistake planted into its primitives and its kernels."""

from pathlib import Path

import pytest

from ibpcl import audit

ROOT = Path(__file__).parents[2]
# Functions that must be audited, so that no silent refusal passes for a success.
FEWEST = {"primitives": 74, "kernels": 13}


def require_no_survivor(room, tests, most):
    """Audit a package of this project, with some mistakes in each function; 0 for all."""
    report = audit.audit(f"ibpcl/{room}", f"pytest {tests}", project=str(ROOT), most=most)
    assert not report.survivors, report.text()
    assert sum(bool(function.counted) for function in report.functions) >= FEWEST[room]


@pytest.mark.slow(reason="it runs the tests of the primitives some thousand times, for hours")
def test_no_mistake_survives_in_the_primitives():
    require_no_survivor("primitives", "tests/primitives tests/paper", 40)


@pytest.mark.slow(reason="it compiles some hundred mistakes, and the kernels again for each")
def test_no_mistake_survives_in_the_kernels():
    pytest.importorskip("numba")
    require_no_survivor("kernels", "tests/kernels", 12)
