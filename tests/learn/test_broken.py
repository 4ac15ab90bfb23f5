"""One broken function or file costs its own exercise, never the chapter."""

import shutil

import pytest

from ibpcl.classroom.assignments.slices import sliced
from ibpcl.classroom.judging import gradients
from ibpcl.classroom.judging.judge import AGAIN
from ibpcl.classroom.judging.running.client import SubmissionError, Waiting
from ibpcl.classroom.judging.running.session import Session
from ibpcl.errors import UserError
from ibpcl.learn import checking, own
from ibpcl.learn.broken import runnable
from ibpcl.learn.chapters import chapter_of
from ibpcl.learn.folder import Folder

pytestmark = pytest.mark.usefixtures("judged_here")


@pytest.fixture
def mine(student, gaussian):
    student.file("gaussian").write_text(gaussian, encoding="utf-8")
    return student


def checked(folder, number=2):
    return {each.exercise: each for each in checking.check_chapter(folder, chapter_of(number))}


def test_a_function_that_is_not_python_costs_its_own_exercise(mine):
    text = mine.source("gaussian").replace("    shift, excess", "    shift, (excess", 1)
    mine.file("gaussian").write_text(text, encoding="utf-8")
    verdicts = checked(mine)
    assert verdicts["2.3"].state == "raises"
    assert any("kl_vjp cannot be read: line" in line for line in verdicts["2.3"].lines)
    assert verdicts["2.1"].ok and verdicts["2.2"].ok


def test_a_gradient_without_its_function_is_not_called_blank(mine):
    text = mine.source("gaussian").replace("def kl(", "def kl((", 1)
    mine.file("gaussian").write_text(text, encoding="utf-8")
    lines = checked(mine)["2.3"].lines
    assert any("kl_vjp: not judged because kl cannot be read" in line for line in lines), lines
    assert not any("not filled in" in line for line in lines)


def test_a_file_that_is_no_text_costs_its_own_exercises(mine):
    mine.file("chapter_02").write_bytes(b"\xff\xfe\x00\x00\x00\xd8\x00\x00" * 5)
    verdicts = checked(mine)
    assert verdicts["2.4"].state == "raises"
    assert verdicts["2.1"].ok


def test_a_forbidden_import_costs_its_own_file(mine):
    text = mine.source("chapter_02") + "\nimport os\n\nprint(os.getcwd())\n"
    mine.file("chapter_02").write_text(text, encoding="utf-8")
    verdicts = checked(mine)
    assert verdicts["2.4"].state == "raises" and "imports os" in verdicts["2.4"].lines[0]
    assert verdicts["2.1"].ok


def test_a_machine_that_is_busy_costs_one_exercise(mine, monkeypatch):
    forward = Session.forward

    def waits(self, function, inputs):
        if function == "log_density":
            raise Waiting(50.0)
        return forward(self, function, inputs)

    monkeypatch.setattr(Session, "forward", waits)
    verdicts = checked(mine)
    assert verdicts["2.2"].state == "not judged" and AGAIN in verdicts["2.2"].lines[0]
    assert verdicts["2.1"].ok and verdicts["2.3"].ok


def test_a_gradient_that_the_check_cannot_decide_is_not_judged(mine, monkeypatch):
    def undecided(forward, task, verdict, case):
        verdict.state = "by hand"

    monkeypatch.setattr(gradients, "wrong_parts_of", undecided)
    verdicts = checked(mine)
    assert verdicts["2.3"].state == "not judged"
    assert verdicts["2.3"].lines == [f"kl_vjp: {checking.UNDECIDED}"]


def test_a_function_that_is_written_twice_is_named(mine):
    text = mine.source("gaussian")
    twice = (
        text
        + "\n\ndef sample(eps, mu, log_sigma):\n    return mu + np.exp(log_sigma) * eps, None\n"
    )
    mine.file("gaussian").write_text(twice, encoding="utf-8")
    verdicts = checked(mine)
    assert not verdicts["2.1"].ok and "defined 2 times" in verdicts["2.1"].lines[0]
    assert verdicts["2.2"].ok


def test_a_folder_that_was_renamed_or_copied_is_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Folder("before")
    folder.start(chapter_of(8))
    shutil.copytree("before", "after")
    copy = Folder("after")
    assert set(copy.packages) == {"before", "after"}
    verdicts = checked(copy, 8)
    assert {each.state for each in verdicts.values()} == {"missing"}


def test_a_broken_function_is_refused_by_primitives(mine):
    text = mine.source("gaussian").replace("    shift, excess", "    shift, (excess", 1)
    mine.file("gaussian").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="kl_vjp cannot be read"):
        own.backend(mine.path)


@pytest.mark.parametrize(
    ("source", "broken"),
    [
        ("x = 1\ndef f():\n    return x\n", []),
        ("def f(:\n    return 1\n\n\ndef g():\n    return 2\n", ["f"]),
        ("def f():\n    x = [1\n\n\ndef g():\n    return 2\n", ["f"]),
        ("def f():\nreturn 1\n\n\ndef g():\n    return 2\n", ["f"]),
        ('def f():\n    """no end\n\n\ndef g():\n    return 2\n', ["f"]),
        ("import (\n\n\ndef g():\n    return 2\n", [""]),
    ],
)
def test_the_rest_of_a_broken_text_runs_with_its_lines(source, broken):
    found = runnable(source)
    assert list(found.reasons) == broken
    space = {}
    exec(compile(found.source, "mine.py", "exec"), space)
    name = "g" if broken else "f"
    assert space[name].__code__.co_firstlineno == source.splitlines().index(f"def {name}():") + 1


def test_a_gradient_that_is_not_python_costs_its_own_exercise_with_extreme_inputs(mine):
    text = mine.source("gaussian").replace("def log_density_vjp(", "def log_density_vjp((", 1)
    mine.file("gaussian").write_text(text, encoding="utf-8")
    verdicts = checked(mine)
    assert verdicts["2.2"].state == "raises"
    assert any("log_density_vjp cannot be read" in line for line in verdicts["2.2"].lines)
    assert verdicts["2.1"].ok and verdicts["2.3"].ok


@pytest.mark.parametrize(
    ("head", "use"),
    [
        ("from my_ibpcl.gaussian import half", "half"),
        ("from my_ibpcl.helpers import half", "half"),
    ],
)
def test_a_helper_in_another_file_of_the_folder_is_explained(mine, head, use):
    source = chapter_of(2).assignment.source()
    text = sliced(source, ["sample_by_variance", "sample_by_variance_vjp"])
    text = text.replace("    return", f"    {use}(1)\n    return", 1)
    mine.file("chapter_02").write_text(f"import numpy as np\n{head}\n\n{text}\n", encoding="utf-8")
    lines = checked(mine)["2.4"].lines
    assert any("copy half into this file" in line for line in lines), lines


def test_a_file_that_cannot_be_loaded_is_loaded_once(mine, monkeypatch):
    starts = []

    def never(self, source, proof):
        starts.append(source)
        raise SubmissionError("TimeoutError", "no answer within 20 s", 0)

    monkeypatch.setattr(Session, "_start", never)
    verdicts = checked(mine)
    assert {verdicts[number].state for number in ("2.1", "2.2", "2.3")} == {"raises"}
    assert "cannot be loaded" in verdicts["2.1"].lines[0]
    assert len(starts) == 2  # gaussian.py and chapter_02.py
