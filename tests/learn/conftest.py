"""A student's folder with right primitives of chapter 2."""

import here
import pytest

from ibpcl.classroom.assignments.slices import imports, sliced
from ibpcl.learn.chapters import chapter_of
from ibpcl.learn.folder import Folder

NAMES = ("sample", "sample_vjp", "log_density", "log_density_vjp", "kl", "kl_vjp")


@pytest.fixture
def gaussian():
    """The reference functions of ``gaussian.py`` as text."""
    source = chapter_of(2).assignment.source()
    text = sliced(source, NAMES)
    return "\n".join(dict.fromkeys(imports(source))) + "\n\n\n" + text + "\n"


@pytest.fixture
def student(tmp_path, monkeypatch):
    """A folder in which chapter 2 has been started."""
    monkeypatch.chdir(tmp_path)
    folder = Folder("my_ibpcl")
    folder.start(chapter_of(2))
    return folder


@pytest.fixture
def judged_here():
    """Run the student's functions in this process."""
    with here.judged_here():
        yield
