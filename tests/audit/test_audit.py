"""An audit finds what weak tests miss and nothing in strong ones, and leaves the project alone."""

import hashlib
import json
import os
import re
import types

import pytest
from audit_projects import LAYERS, STRONG, WEAK
from quick import quick

from ibpcl import audit
from ibpcl.audit import auditing, planning, project, running, tracing, trying
from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.sandbox.commands import Ending

PYTEST = "pytest tests -q"
TWO_NAMES = '''class Square:
    def forward(self, x):
        self.x = x
        return x**2

    def backward(self, dout):
        return 2 * self.x * dout


class Power(Square):
    pass
'''


def state_of(folder):
    """Return the digest of every file and the list of folders, caches and bytecode included."""
    found = {}
    for path, folders, names in os.walk(folder):
        found.update({os.path.join(path, name): "" for name in folders})
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.join(path, name)] = hashlib.sha256(file.read()).hexdigest()
    return found


@pytest.mark.processes(reason="an audit runs the tests of a project")
def test_weak_tests_miss_mistakes_and_the_folder_stays(project, monkeypatch, capsys):
    folder = project(WEAK)
    before = state_of(folder)
    monkeypatch.setattr(trying, "FIRST", 2)
    report = audit.audit("layers.py", PYTEST, most=8, workers=1)
    assert re.search(r"^about \d+ s", capsys.readouterr().err, re.MULTILINE)
    assert state_of(folder) == before
    assert report.tests == 1 and report.score < 50
    (function,) = report.functions
    assert function.verdict == "wrong" and function.left_over > 0
    for mistake in report.survivors:
        assert mistake.kind and mistake.before != mistake.after and mistake.wrt
        assert any(line.startswith("dout = ") for line in mistake.paste)
        assert mistake.tests == 1
        assert mistake.old in report.text() or mistake.after in report.text()
    # the same numbers in all forms of the report
    told = json.loads(json.dumps(report.to_dict()))
    assert (
        told["survivors"]
        == len(report.survivors)
        == len(told["functions"][0]["mistakes"]) - (told["caught"])
    )
    (run,) = report.sarif("1", folder)["runs"]
    assert len(run["results"]) == len(report.survivors)
    assert all(mistake.kind in report.html() for mistake in report.survivors)


@pytest.mark.slow(reason="runs the tests of a project for six mistakes")
def test_strong_tests_miss_nothing_and_the_command_says_so(project, capsys):
    folder = project(STRONG)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    command = ["audit", "layers.py:linear_forward", "--tests", PYTEST, "--workers", "1", "--json"]
    assert main([*command, "--most", "6"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["score"] == 100 and told["counted"] == 6 and told["survivors"] == 0
    assert any(mistake["by"] for mistake in told["functions"][0]["mistakes"])


@pytest.mark.slow(reason="starts a process for each of three audits")
def test_an_audit_continues_where_it_was_interrupted(project, monkeypatch):
    project(WEAK)
    runs = []
    known = tracing.Traced(["tests/test_layers.py::test"], {}, 1.0, {}, {}, [], [])

    def interrupted(trial, *arguments):
        runs.append(trial.identity)
        if len(runs) == 3:
            raise KeyboardInterrupt
        return running.Run("caught")

    monkeypatch.setattr(auditing, "trace", lambda *arguments: known)
    monkeypatch.setattr(trying, "outcome_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        audit.audit("layers.py", PYTEST, most=5, workers=1)
    report = audit.audit("layers.py", PYTEST, most=5, workers=1)
    assert len(runs) == 3 + 3 and len(set(runs)) == 5  # the third mistake was tried twice
    assert len(report.counted) == 5
    # another test file makes the outcomes worthless
    with open("tests/test_layers.py", "a") as file:
        file.write("# changed\n")
    audit.audit("layers.py", PYTEST, most=1, workers=1)
    assert len(runs) == 7


def test_a_test_that_has_caught_a_mistake_runs_first_and_the_others_if_it_passes(tmp_path):
    (tmp_path / "layers.py").write_text(LAYERS)
    tests = ["a.py::fast", "b.py::slow", "b.py::has[a space]"]
    traced = tracing.Traced(tests, {}, 1.0, {}, {}, [], [])
    outcomes = []
    runs = []

    def selected(tests, limit):
        runs.append(tests)
        return outcomes.pop(0)

    runner = types.SimpleNamespace(folder=tmp_path, selected=selected)
    mistake = types.SimpleNamespace(file="layers.py", function="linear_backward")
    other = types.SimpleNamespace(file="layers.py", function="another")
    catchers = trying.Catchers()

    def outcome(mistake, *found):
        outcomes[:] = found
        runs.clear()
        trial = planning.Trial(mistake, [], (9, 9), tests, False, False, "one")
        return trying.outcome_of(trial, runner, traced, trying.Unreached(), catchers).outcome

    survived = running.Run("survived")
    caught = running.Run("caught", "b.py::has[a")
    assert outcome(mistake, caught) == "caught" and runs == [tests]
    assert outcome(mistake, caught) == "caught" and runs == [tests[2:]]
    assert outcome(other, survived) == "survived" and runs == [tests]
    assert outcome(mistake, survived, survived) == "survived" and runs == [tests[2:], tests]
    assert outcome(mistake, survived, running.Run("caught")) == "caught"
    assert (tmp_path / "layers.py").read_text() == LAYERS


@pytest.mark.slow(reason="runs a program for each mistake")
def test_other_test_commands_are_run_as_a_whole(project):
    script = (
        "import sys\nsys.path.insert(0, 'tests')\n"
        + WEAK
        + (
            "\n\ntest_linear_backward_returns_the_right_shapes()\n"
            "out, cache = linear_forward(np.eye(2), np.ones((2, 1)))\n"
            "dx, dw = linear_backward(np.ones((2, 1)), cache)\n"
            "assert (dw == 1).all() and (dx == 1).all()\n"
        )
    )
    project(script, name="checks.py")
    report = audit.audit("layers.py", "python tests/checks.py", most=5, workers=1)
    assert report.tests == 0 and len(report.counted) == 5
    assert 0 < len(report.survivors) < 5
    assert {mistake.tests for mistake in report.counted} == {None}


@pytest.mark.slow(reason="runs the tests of a project")
def test_a_line_that_no_test_runs_is_named(project):
    project("def test_nothing():\n    assert True\n")
    report = audit.audit("layers.py", PYTEST, most=1, workers=1)
    assert report.score == 0 and {mistake.tests for mistake in report.counted} == {0}
    assert any("another copy" in note for note in report.notes)


@pytest.mark.processes(reason="a process plants the mistakes")
def test_a_statement_of_the_file_that_raises_is_a_note(project, monkeypatch):
    folder = project()
    (folder / "layers.py").write_text(LAYERS + '\n\nraise RuntimeError("no data")\n')
    known = tracing.Traced(["tests/test_layers.py::test"], {}, 1.0, {}, {}, [], [])
    monkeypatch.setattr(auditing, "trace", lambda *arguments: known)
    monkeypatch.setattr(trying, "outcome_of", lambda *arguments: running.Run("caught"))
    report = audit.audit("layers.py", PYTEST, most=1, workers=1)
    assert len(report.counted) == 1
    (note,) = report.notes
    assert "layers.py" in note and "no data" in note


@pytest.mark.slow(reason="runs the tests of a project")
def test_a_change_counts_once_for_a_class_and_one_that_inherits_it(project):
    folder = project("def test_nothing():\n    assert True\n")
    (folder / "layers.py").write_text(TWO_NAMES)
    report = audit.audit("layers.py", PYTEST, most=3, workers=1)
    first, second = report.functions
    assert len(first.mistakes) == 3 and not second.mistakes
    assert second.repeated > first.repeated


@pytest.mark.slow(reason="all tests run in further processes, again for each statement")
def test_tests_in_another_process_are_not_traced_but_used(project):
    project(
        "import subprocess, sys\n\n\ndef test_in_a_process():\n"
        "    code = 'from layers import *; c = linear_forward(np.eye(2), np.ones((2, 1)))[1]; '"
        "'dx, dw = linear_backward(np.ones((2, 1)), c); assert (dx == 1).all(), dx'\n"
        "    subprocess.run([sys.executable, '-c', code], check=True)\n"
    )
    report = audit.audit("layers.py", PYTEST, most=2, workers=1)
    assert report.score > 0


USELESS = {
    "gpu": ("def test_it():\n    raise RuntimeError('No CUDA GPUs are available')\n", "GPU"),
    "for ever": ("def test_it():\n    while True:\n        pass\n", "not finished"),
    "changes a file": ("def test_it():\n    open('layers.py', 'a').write('#')\n", "change files"),
    "changes the folder": (
        "import os\n\n\ndef test_it():\n    open(os.environ['REAL'], 'w').write('#')\n",
        "folder itself",
    ),
}


@pytest.mark.parametrize(
    ("tests", "words"),
    quick(
        ["gpu"],
        [pytest.param(tests, words, id=name) for name, (tests, words) in USELESS.items()],
        "each runs the tests of a project",
    ),
)
@pytest.mark.processes(reason="an audit runs the tests of a project")
def test_useless_tests_are_refused_with_the_reason(project, monkeypatch, tests, words):
    folder = project(tests)
    monkeypatch.setenv("REAL", str(folder / "new.txt"))
    with pytest.raises(UserError, match=words):
        audit.audit("layers.py", PYTEST, timeout=4.0 if words == "not finished" else 60.0)
    assert (folder / "layers.py").read_text() == LAYERS


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("E  urllib.error.URLError: <urlopen error x>\n1 failed", "network"),
        ("E  RuntimeError: Found no NVIDIA driver\n1 failed", "GPU"),
        ("ModuleNotFoundError: No module named 'jax'", "jax"),
        ("E  assert 1 == 2\nFAILED tests/test_a.py::test_it", "test_it"),
        ("", "nothing"),
    ],
)
def test_the_reason_of_a_failure_is_read_from_the_output(output, words):
    assert words in running.why(Ending(1, "exit", 1.0, 1.0, output))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nothing.py", "--tests", PYTEST], "nothing.py"),
        (["/", "--tests", PYTEST], "project"),
        (["tests/test_layers.py", "--tests", PYTEST], "gradient function"),
        (["layers.py", "--tests", ""], "tests"),
        (["layers.py", "--tests", "'"], "tests"),
        (["layers.py", "--tests", "no-such-program"], "no-such-program"),
        (["layers.py", "--tests", PYTEST, "--fail-under", "101"], "--fail-under"),
        (["layers.py", "--tests", PYTEST, "--most", "-1"], "--most"),
        (["layers.py", "--tests", PYTEST, "--html", "no/such/folder.html"], "--html"),
    ],
)
@pytest.mark.processes(reason="it asks a process which functions a module has")
def test_a_bad_command_line_is_refused_in_one_line(project, capsys, arguments, word):
    project()
    assert main(["audit", *arguments]) == 2
    told = capsys.readouterr()
    lines = [line for line in told.err.splitlines() if line.startswith("ibpcl:")]
    assert len(lines) == 1 and word in lines[0] and not told.out


def test_fail_under_decides_the_exit_code(project, monkeypatch, capsys):
    project()
    counted = [audit.Mistake("a", "f", 1, 1, "sign", "", "", "", 1, "", "", 1.0, [], [])] * 4
    caught = [audit.Mistake(**{**vars(each), "outcome": "caught"}) for each in counted]
    made = audit.FunctionAudit("a", "f", mistakes=[*caught, *caught, counted[0]])
    monkeypatch.setattr(
        audit, "audit", lambda *arguments, **options: audit.AuditReport("a", "b", [made])
    )
    command = ["audit", "layers.py", "--tests", PYTEST]
    assert main(command) == 1
    assert main([*command, "--fail-under", "88"]) == 0
    assert main([*command, "--fail-under", "89"]) == 1
    made.mistakes = []
    assert main([*command, "--fail-under", "0"]) == 3


def test_a_copy_has_all_files_but_caches_and_environments(tmp_path):
    source = tmp_path / "source"
    for name in (
        "a/b.py",
        "a/__pycache__/b.pyc",
        "env/pyvenv.cfg",
        "env/c.py",
        ".git/HEAD",
        "d.txt",
    ):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    (source / "link").symlink_to(source / "d.txt")
    project.copy(source, tmp_path / "copy")
    made = {each.as_posix() for each in project.files_in(tmp_path / "copy")}
    assert made == {"a/b.py", "d.txt", "link"}
    (tmp_path / "copy" / "link").write_text("changed")
    assert (source / "d.txt").read_text() == "d.txt"


@pytest.mark.slow(reason="computes until the limit")
def test_a_mistake_that_loops_for_ever_is_caught_by_the_limit(project, monkeypatch):
    layers = (
        "def f(x):\n    return 3 * x, None\n\n\n"
        "def f_vjp(dout, cache):\n    n = 3\n    dx = 0 * dout\n"
        "    while n > 0:\n        dx = dx + dout\n        n = n - 1\n    return dx\n"
    )
    tests = "from layers import f_vjp\n\n\ndef test_it():\n    assert f_vjp(1.0, None) == 3\n"
    project(tests, layers)
    for name, value in (("START", 1.0), ("MULTIPLE", 0.0)):
        monkeypatch.setattr(running, name, value)
    command = running.command_of(PYTEST)
    here = os.getcwd()
    runner = running.Runner(command, here, here, os.path.join(here, "..", "private"))
    with open("layers.py") as file:
        text = file.read()
    with open("layers.py", "w") as file:
        file.write(text.replace("n = n - 1", "n = n - 0"))
    try:
        run = runner.selected(["tests/test_layers.py::test_it"], running.limit_of(0.0))
    finally:
        runner.close()
    assert run.outcome == "time"
