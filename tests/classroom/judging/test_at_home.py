"""A student's machine has no solutions: `check` compares with the values beside the stub."""

import json
from pathlib import Path

import pytest
from classroom_common import BOX, KEY, verdict
from quick import quick

from ibpcl.classroom import check_file
from ibpcl.classroom.assignments import assignment as assignments
from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.authoring import handout, selftest
from ibpcl.classroom.judging import at_home
from ibpcl.classroom.judging.running import client
from ibpcl.errors import UserError

HANDED = {"assignment.toml", "inputs.py", "statement.md"}
WITH_VALUES = [name for name in names() if at_home.tasks_with_values(find(name))]


@pytest.fixture
def student(tmp_path, monkeypatch):
    """Return a function that checks a text, in a variant of an assignment, without solutions."""

    def check(name, variant, text):
        assignment = find(name)
        handout.new(assignment, tmp_path, "ada", KEY, variant)
        file = tmp_path / assignment.file
        head = f'ASSIGNMENT = "{name}"\nVARIANT = "{variant}"\n'
        file.write_text(head + text)
        leave_the_solutions(monkeypatch)
        monkeypatch.setattr(client, "at_home", lambda: BOX)
        return check_file(file)

    yield check
    assignments.load.cache_clear()


def leave_the_solutions(monkeypatch):
    monkeypatch.setattr(assignments, "TEACHER", None)
    assignments.load.cache_clear()


@pytest.mark.parametrize("name", names())
def test_the_package_for_students_has_no_solution(name, monkeypatch):
    folder = assignments.FOLDER / name
    files = {path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert files <= HANDED
    leave_the_solutions(monkeypatch)
    try:
        assignment = find(name)
        assert not assignment.has_solution and set(assignment.files) == files
        for variant in assignment.variants:
            with pytest.raises(UserError, match="ibpcl-teacher"):
                assignment.source(variant)
    finally:
        assignments.load.cache_clear()


@pytest.mark.parametrize(
    "name",
    quick(
        ["01_gaussian_weights", "04_the_misprint"],
        WITH_VALUES,
        "all are judged with stored values in the same way",
    ),
)
def test_a_right_solution_passes_without_the_reference(name, student):
    variant = list(find(name).variants)[-1]
    result = student(name, variant, selftest.solution(find(name), variant))
    judged = [each for each in result.verdicts if each.kind != "text"]
    assert result.status == "graded" and judged
    assert {each.state for each in judged} == {"right"}, [each.words for each in judged]


def test_wrong_functions_are_told_and_named(student):
    source = find("1").source()
    wrong = source + (
        "\n\ndef sample_vjp(dv, cache):\n"
        "    return -dv.sum(axis=0), (dv * cache).sum(axis=(0, 1))\n"
        "\n\ndef log_density(x, mu, scale):\n    return 0 * x, None\n"
    )
    result = student("01_gaussian_weights", "base", wrong)
    assert verdict(result, "1a").state == "right" and verdict(result, "1c").state == "wrong"
    mu, scale = verdict(result, "1b").parts
    assert mu.kind == "sign" and mu.share < 1 and scale.kind == "ok"


def test_a_gradient_waits_for_its_forward(student):
    source = find("1").source() + (
        "\n\ndef sample(eps, mu, scale):\n    return mu + 2 * np.exp(scale) * eps, 0 * eps\n"
    )
    result = student("01_gaussian_weights", "base", source)
    assert verdict(result, "1a").state == "wrong" and verdict(result, "1b").state == "not judged"


def test_values_of_another_variant_do_not_fit(student):
    result = student("01_gaussian_weights", "base", find("1").source("precision"))
    states = {each.task: each.state for each in result.verdicts}
    assert states["1a"] == states["1c"] == states["1e"] == "wrong"


SPOILED = {
    "missing": None,
    "not JSON": "{",
    "a list": "[]",
    "no values": '{"assignment": "01_gaussian_weights", "variant": "base", "values": {}}',
    "too few values": json.dumps(
        {"assignment": "01_gaussian_weights", "variant": "base", "values": {"1a": [], "1c": []}}
    ),
}


@pytest.mark.parametrize("how", SPOILED)
def test_values_that_cannot_be_used_are_refused(how, tmp_path, monkeypatch):
    file = tmp_path / "gaussian_weights.py"
    file.write_text('ASSIGNMENT = "01_gaussian_weights"\nVARIANT = "base"\n')
    if SPOILED[how] is not None:
        Path(tmp_path, at_home.FILE).write_text(SPOILED[how])
    leave_the_solutions(monkeypatch)
    with pytest.raises(UserError, match=at_home.FILE):
        check_file(file)
    assignments.load.cache_clear()


def test_values_for_another_variant_are_refused(tmp_path, monkeypatch):
    first = find("1")
    file = tmp_path / first.file
    (tmp_path / at_home.FILE).write_text(json.dumps(at_home.recorded(first, "bits")))
    leave_the_solutions(monkeypatch)
    with pytest.raises(UserError, match="bits"):
        at_home.read(file, find("1"), "base")
    assert at_home.read(file, find("1"), "bits")["variant"] == "bits"
    assignments.load.cache_clear()
