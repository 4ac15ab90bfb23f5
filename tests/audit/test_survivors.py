"""Survivors of an audit are confirmed at their printed inputs, and others are not."""

import json
from pathlib import Path

import pytest
from audit_projects import STRONG

from benchmarks import survivors
from ibpcl import audit


@pytest.mark.slow(reason="the tests of a project run once for each mistake, twice")
def test_survivors_of_weak_tests_are_confirmed_and_strong_tests_refute_them(project, capsys):
    folder = project()
    report = audit.audit("layers.py", "pytest tests -q", most=3, workers=1).to_dict()
    Path("audit.json").write_text(json.dumps(report))
    number = report["survivors"]
    assert number > 1
    differ = f"the gradients of {number} differ, all tests pass with"
    assert survivors.main(["audit.json"]) == 0
    assert f"{differ} {number}" in capsys.readouterr().out
    # strong tests fail with each change
    (folder / "tests" / "test_layers.py").write_text(STRONG)
    assert survivors.main([str(folder / "audit.json")]) == 1
    assert f"{differ} 0" in capsys.readouterr().out
