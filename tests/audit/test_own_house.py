"""The package's own tests of its gradients see every planted mistake."""

from pathlib import Path

import pytest

from ibpcl import audit

ROOT = Path(__file__).parents[2]
MOST = 12  # mistakes in each function; all of them take hours
FEWEST = 45  # functions that must be audited, so that no silent refusal passes for a success


@pytest.mark.slow(reason="it runs the tests of the primitives some hundred times, for half an hour")
def test_no_mistake_survives_in_the_primitives():
    report = audit.audit(
        "ibpcl/primitives", "pytest tests/primitives -q -n 0", project=str(ROOT), most=MOST
    )
    assert not report.survivors, report.text()
    assert sum(bool(function.counted) for function in report.functions) >= FEWEST
