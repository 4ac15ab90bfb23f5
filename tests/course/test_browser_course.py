"""The browser course: its files, and its Python where a tab has no processes, threads and Numba.

The Python runs from the archives that the page loads, in a process that refuses what a tab lacks.
Whether it runs in Pyodide is tested in ``test_browser_page.py``.
"""

import hashlib
import io
import json
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
from quick import quick

import ibpcl
from ibpcl.classroom.assignments.slices import imports, sliced
from ibpcl.course import kit
from ibpcl.course.browser import building, tab
from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapter_of
from ibpcl.learn.checking import check_chapter
from ibpcl.learn.folder import Folder

TUTORIALS = Path(ibpcl.__file__).parents[1] / "tutorials"
# What a tab lacks.
TAB = """
import sys
class Only:
    @staticmethod
    def find_spec(name, *rest):
        top = name.partition(".")[0]
        if top in REFUSED:
            raise ImportError(f"a tab has no {top}")
REFUSED = ("numba", "llvmlite", "pooch", "pytest", "jupytext", "multiprocessing", "argcomplete")
sys.meta_path.insert(0, Only)
# The environment may lie inside the source tree, as .venv; its packages stay.
KEPT = (sys.prefix, sys.base_prefix)
ITS = [path for path in sys.path if path.startswith(SOURCE) and not path.startswith(KEPT)]
sys.path[:] = [ARCHIVE, *(path for path in sys.path if path not in ITS)]
import os, subprocess, threading
def refused(*_, **__):
    raise OSError("a tab has no processes")
subprocess.Popen = os.fork = refused
def no_thread(self):
    raise RuntimeError("can't start new thread")
threading.Thread.start = no_thread
from ibpcl.sandbox import local
local.IN_A_TAB = True
import ibpcl
assert ibpcl.__file__.startswith(ARCHIVE), ibpcl.__file__
import json
from ibpcl.course.browser import tab
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The unpacked archives of the page."""
    folder = tmp_path_factory.mktemp("archives")
    building.pack(folder, kit.tutorials_of(TUTORIALS))
    for name in ("first.zip", "rest.zip"):
        with zipfile.ZipFile(folder / name) as packed:
            packed.extractall(folder / "course")
    return folder / "course"


@pytest.fixture
def in_tab(archive, tmp_path):
    """Run code as in a tab, and return what it prints."""

    def run(code):
        head = f"ARCHIVE = {str(archive)!r}\nSOURCE = {str(TUTORIALS.parent)!r}\n{TAB}\n"
        done = subprocess.run(
            [sys.executable, "-c", head + textwrap.dedent(code)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return run


def answers(number):
    """The reference's functions of a chapter, as the texts of its files."""
    chapter = chapter_of(number)
    source = chapter.assignment.source()
    texts = {}
    for stem in chapter.files:
        names = [t.function for t in chapter.assignment.tasks if chapter.file_of(t) == stem]
        head = "\n".join(dict.fromkeys(imports(source)))
        texts[f"{stem}.py"] = f"{head}\n\n\n{sliced(source, names)}\n"
    return texts


@pytest.mark.processes(reason="a tab is simulated in a process")
@pytest.mark.parametrize(
    "number",
    quick(
        ["0"],
        range(tab.LAST_CHAPTER + 1),
        "a process each; the chapters differ in their functions only",
    ),
)
def test_right_answers_are_right_and_a_mistake_is_named(number, in_tab):
    """And every other gradient of the chapter, with its sign changed, is not right."""
    code = f"""
    from ibpcl.learn.chapters import chapter_of
    tab.start({number})
    for name, text in {answers(number)!r}.items():
        tab.save(name, text)
    verdicts = json.loads(tab.check({number}))["verdicts"]
    print(all(each["state"] == "right" for each in verdicts), len(verdicts))
    """
    assert in_tab(code).split() == ["True", str(len(chapter_of(number).exercises))]


@pytest.mark.slow(reason="a tab is simulated in a process, as in a quick test")
def test_the_obvious_mistake_of_chapter_2_is_named(in_tab):
    texts = answers(2)
    right = texts["gaussian.py"]
    wrong = right.replace("    dx = -dlog_p", "    dx = dlog_p")
    assert wrong != right
    out = in_tab(f"""
    tab.start(2)
    tab.save("gaussian.py", {wrong!r})
    for each in json.loads(tab.check(2))["verdicts"]:
        if each["exercise"] == "2.2":
            print(each["state"], *each["lines"])
    """)
    assert "partial" in out and "sign" in out


@pytest.mark.processes(reason="a tab is simulated in a process")
def test_own_code_gets_its_verdict(in_tab):
    html = (building.WEB / "index.html").read_text(encoding="utf-8")
    source = re.search(r"<textarea id=\"source\"[^>]*>(.*?)</textarea>", html, re.DOTALL)[1]
    wrong = "da = dh * (1 - h) "
    assert wrong in source
    out = in_tab(f"""
    print(tab.verdict({source!r}))
    print(tab.verdict({source.replace(wrong, "da = dh * (1 - h * h)")!r}))
    """)
    assert wrong.strip() in out and "f: ok" in out


@pytest.mark.slow(reason="a tab is simulated in a process, as in a quick test")
def test_the_exported_folder_is_read_by_the_command_line(in_tab, tmp_path):
    texts = answers(0)
    in_tab(f"""
    tab.start(0)
    for name, text in {texts!r}.items():
        tab.save(name, text)
    tab.check(0)
    tab.hint("0.3")
    open("out.zip", "wb").write(tab.export())
    """)
    with zipfile.ZipFile(tmp_path / "out.zip") as packed:
        packed.extractall(tmp_path / "home")
    student = Folder(tmp_path / "home" / "my_ibpcl")
    assert student.started == [0] and student.progress["0.3"]["hints"] == 1
    assert all(student.progress[n]["state"] == "right" for n in chapter_of(0).exercises)
    assert all(each.ok for each in check_chapter(student, chapter_of(0)))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The API in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    tab.start(1)
    return tmp_path


def zipped(**files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        for name, text in files.items():
            packed.writestr(f"my_ibpcl/{name.replace('__', '.')}", text)
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"not a zip", "zip"),
        (zipped(notes__txt="x"), "progress"),
        (zipped(progress__json="{"), "cannot be read"),
        (zipped(progress__json='{"schema": "other", "exercises": {}}'), "another version"),
    ],
)
def test_a_zip_that_is_no_folder_is_refused_and_nothing_is_lost(here, data, word):
    before = tab.state()
    with pytest.raises(UserError, match=word):
        tab.take(data)
    assert tab.state() == before


def test_what_is_kept_is_restored(here, tmp_path_factory, monkeypatch):
    tab.save("chapter_01.py", "x = 1\n")
    files = json.loads(tab.state())["files"]
    monkeypatch.chdir(tmp_path_factory.mktemp("other"))
    assert json.loads(tab.restore(json.dumps(files)))["files"] == files
    monkeypatch.chdir(tmp_path_factory.mktemp("third"))
    monkeypatch.setattr(tab, "FOLDER", "my_ibpcl")
    exported = zipped(
        **{name.replace(".", "__"): text for name, text in files.items() if "__" not in name}
    )
    assert set(json.loads(tab.take(exported))["files"]) == {n for n in files if "__" not in n}


@pytest.mark.parametrize("name", ["../evil.py", "evil.txt", "a/b.py", ""])
def test_only_files_of_the_folder_are_written(here, name):
    with pytest.raises(UserError, match="not a file"):
        tab.save(name, "x")


@pytest.mark.slow(reason="a tab is simulated in a process, as in a quick test")
def test_tutorial_0_runs_cell_by_cell(in_tab):
    out = in_tab("""
    cells = json.loads(tab.tutorial(0))
    code = [cell["code"] for cell in cells if "code" in cell]
    shown = [json.loads(tab.run(0, each)) for each in code]
    assert not [each["error"] for each in shown if "error" in each], shown
    print(len(code), sum(len(each["figures"]) for each in shown), "<math" in str(cells))
    print(json.loads(tab.run(0, "1 / 0"))["error"])
    """)
    assert out.split()[1:3] == ["1", "True"] and "ZeroDivisionError" in out


@pytest.mark.slow(reason="a minute for all five")
@pytest.mark.parametrize("number", range(1, tab.LAST_TUTORIAL + 1))
def test_tutorials_run_without_numba(number, in_tab):
    out = in_tab(f"""
    code = [cell["code"] for cell in json.loads(tab.tutorial({number})) if "code" in cell]
    shown = [json.loads(tab.run({number}, each)) for each in code]
    assert not [each["error"] for each in shown if "error" in each], [e.get("error") for e in shown]
    print(sum(len(each["figures"]) for each in shown))
    """)
    assert int(out.split()[-1]) >= 1


# --- building -------------------------------------------------------------------------------------


@pytest.fixture
def release(tmp_path):
    """Make what looks like an unpacked release of Pyodide."""
    folder = tmp_path / "pyodide"
    folder.mkdir()
    table = {}
    for name, depends in (
        ("numpy", []),
        ("scipy", ["numpy"]),
        ("matplotlib", ["numpy", "six"]),
        ("six", []),
    ):
        data = name.encode()
        (folder / f"{name}.whl").write_bytes(data)
        table[name] = {
            "depends": depends,
            "file_name": f"{name}.whl",
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    for name in (*building.CORE, building.LOADER[0]):
        (folder / name).write_bytes(b"")
    (folder / "pyodide-lock.json").write_text(json.dumps({"packages": table}))
    return folder


def test_a_course_has_all_that_its_page_loads(release, tmp_path):
    out = tmp_path / "out"
    arguments = [str(out), "--pyodide", str(release), "--tutorials", str(TUTORIALS)]
    assert building.main(arguments) == 0
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    page = (out / "index.html").read_text(encoding="utf-8")
    worker = (out / "worker.js").read_text(encoding="utf-8")
    script = (out / "tab.js").read_text(encoding="utf-8")
    loaded = set(re.findall(r"(?:src|href)=\"([^\"]+)\"", page))
    loaded |= set(re.findall(r"archive\(\"([^\"]+)\"\)", worker)) | set(
        re.findall(r"new URL\(\"([\w.]+)\"", script)
    )
    assert loaded and loaded <= found
    assert {f"pyodide/{name}.whl" for name in ("numpy", "scipy", "matplotlib", "six")} <= found
    assert "//" not in re.sub(r"^\s*//.*$|\s//\s.*$", "", worker, flags=re.MULTILINE)
    called = set(re.findall(r"ask\(\"(\w+)\"", script)) - {"keep", "verdict", "run"}
    assert called and all(callable(getattr(tab, name)) for name in called)


def test_mistakes_of_the_builder_are_named(release, tmp_path, capsys):
    (release / "scipy.whl").write_bytes(b"changed")
    assert building.main([str(tmp_path / "a"), "--pyodide", str(release)]) == 2
    assert "SHA-256" in capsys.readouterr().err
    (release / "scipy.whl").unlink()
    assert building.main([str(tmp_path / "a"), "--pyodide", str(release)]) == 2
    assert "scipy.whl" in capsys.readouterr().err
    assert building.main([str(tmp_path / "a"), "--pyodide", str(tmp_path / "nowhere")]) == 2
    assert "pyodide-lock.json" in capsys.readouterr().err
    assert building.main([str(tmp_path), "--pyodide", str(release)]) == 2
    assert "exists" in capsys.readouterr().err and not (tmp_path / "a").exists()
