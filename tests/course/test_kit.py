"""``ibpcl class course``: the whole kit, bad input, and continuing."""

import re
from pathlib import Path

import pytest

import ibpcl
from ibpcl.classroom.assignments.assignment import names
from ibpcl.cli import main
from ibpcl.course import formula_sheet, kit, slides
from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapters

TUTORIALS = Path(ibpcl.__file__).parents[1] / "tutorials"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course") / "kit"
    command = ["class", "course", str(folder), "--no-slides", "--tutorials", str(TUTORIALS)]
    with pytest.MonkeyPatch.context() as patch:  # the sheet has tests of its own
        patch.setattr(formula_sheet, "write", lambda path: path.write_bytes(b""))
        assert main(command) in (None, 0)
    return folder


def test_the_kit_is_complete(written):
    assert not (written / kit.UNFINISHED).exists()
    expected = [f"syllabus-{weeks:02}-weeks.md" for weeks in (6, 10, 14)]
    expected += ["README.md", "formula-sheet.pdf", "quizzes/answers.md"]
    for chapter in chapters():
        expected.append(f"quizzes/qti/chapter_{chapter.number:02}.zip")
        expected.append(f"quizzes/moodle/chapter_{chapter.number:02}.xml")
    for name in names():
        expected += [f"notes/{name}.md", f"notes/{name}_demonstration.py"]
    found = {path.relative_to(written).as_posix() for path in written.rglob("*") if path.is_file()}
    assert found == set(expected)


def test_the_files_that_the_readme_names_exist(written):
    text = (written / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:syllabus|quizzes|notes|formula)[\w/.-]*)`", text):
        assert (written / name).exists(), name


def test_a_folder_that_exists_is_refused_and_unchanged(written, capsys):
    before = sorted(path.stat().st_mtime_ns for path in written.rglob("*"))
    assert main(["class", "course", str(written), "--no-slides"]) == 2
    assert "exists" in capsys.readouterr().err
    assert sorted(path.stat().st_mtime_ns for path in written.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--weeks", "7"], "weeks"),
        (["--tutorials", "nowhere"], "tutorials"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(arguments, word, tmp_path, capsys):
    out = tmp_path / "kit"
    assert main(["class", "course", str(out), "--no-slides", *arguments]) == 2
    assert word in capsys.readouterr().err and not out.exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "kit").write_text("mine")
    with pytest.raises(UserError, match="exists"):
        kit.start(tmp_path / "kit")
    assert (tmp_path / "kit").read_text() == "mine"


def test_an_interrupted_kit_continues_and_keeps_its_slides(tmp_path, monkeypatch):
    made = []

    def write(path, text, name):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(name)
        path.write_text(name)

    monkeypatch.setattr(slides, "write", write)
    monkeypatch.setattr(slides, "reveal_folder", lambda: tmp_path)
    monkeypatch.setattr(slides, "copy_reveal", lambda folder: None)
    monkeypatch.setattr(formula_sheet, "write", lambda path: path.write_bytes(b""))
    out = tmp_path / "kit"
    with pytest.raises(KeyboardInterrupt):
        kit.write(out, tutorials=TUTORIALS)
    assert (out / kit.UNFINISHED).exists()
    first = list(made)
    made.clear()
    monkeypatch.setattr(slides, "write", lambda path, text, name: made.append(name))
    kit.write(out, tutorials=TUTORIALS)
    assert not set(first) & set(made) and len(first) + len(made) == len(chapters())
    assert not (out / kit.UNFINISHED).exists()
