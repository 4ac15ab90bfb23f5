"""The data set of mistakes and its runner."""

import json
import subprocess
import sys

import pytest

from benchmarks.gradients import Verdict, __main__, adapters, cases, score
from benchmarks.gradients.adapters import installed

FEW = 80


def test_a_case_says_what_is_true_of_it():
    every = cases()
    right = [case for case in every if case.is_right]
    assert len(right) >= 80 and len(every) - len(right) >= 300
    assert all(case.kinds and case.mentions for case in every if not case.is_right)
    sources = {case.name: case.source for case in right}
    assert all(case.source != sources[case.name] for case in every if not case.is_right)


@pytest.mark.processes(reason="a framework changes how later tests start processes")
@pytest.mark.parametrize("name", adapters.CHECKERS)
def test_each_checker_catches_most_and_raises_no_false_alarm(name, tmp_path):
    # A separate process: a loaded framework changes how later tests can start processes.
    if name not in installed():
        pytest.skip(f"{name} is not installed")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.gradients",
            name,
            "--every",
            str(FEW),
            "--json",
            str(tmp_path / "scores.json"),
        ],
        check=True,
        capture_output=True,
    )
    (result,) = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert result["caught"] >= 0.7 * result["mistakes"] and not result["alarms"]
    assert result["mistakes"] + result["right"] == len(cases(FEW)) == len(result["seconds"])


def test_checkers_without_opinion_score_nothing():
    blind = score("blind", lambda f, f_vjp, inputs, wrt: Verdict(False), cases(FEW))
    assert (blind.caught, blind.false_alarms, len(blind.missed)) == (0, 0, blind.mistakes)
    afraid = score("afraid", lambda f, f_vjp, inputs, wrt: Verdict(True, {"x": "sign"}), cases(FEW))
    assert (
        afraid.caught == afraid.mistakes
        and afraid.false_alarms == afraid.right
        and afraid.named < afraid.caught
    )
    broken = score("broken", lambda f, f_vjp, inputs, wrt: 1 / 0, cases(FEW))
    assert broken.failures >= broken.right and broken.false_alarms == 0


def test_the_command_prints_a_row_for_each_checker(capsys, tmp_path):
    __main__.main(["ibpcl.check", "--every", "90", "--json", str(tmp_path / "scores.json")])
    assert capsys.readouterr().out.count("| ibpcl.check |") == 1
    (written,) = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert written["caught"] == written["mistakes"] and written["names_kinds"]
    with pytest.raises(SystemExit, match="unknown"):
        __main__.main(["nothing"])


def test_a_checker_of_your_own_is_named_by_its_module(capsys):
    __main__.main(["benchmarks.gradients.adapters:scipy", "--every", "90"])
    assert "adapters:scipy" in capsys.readouterr().out
    assert adapters.CHECKERS["ibpcl.check"][0] == "ibpcl"
