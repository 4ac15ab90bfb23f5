"""A test that starts a process says why, and so does a slow test."""

import sys

import pytest

from tests import started


class Item:
    """A test with some marks."""

    nodeid = "test_something.py::test_it"

    def __init__(self, *marks):
        self.marks = [each.mark for each in marks]

    def iter_markers(self):
        return iter(self.marks)


@pytest.fixture(autouse=True)
def events(monkeypatch):
    """The starts in a test, which are only reported and not done."""
    monkeypatch.setattr(started, "events", [])
    return started.events


def starts():
    sys.audit("subprocess.Popen", None, [sys.executable, "-V"], None, None)
    sys.audit("os.fork")
    started.spawn(sys.executable, ["-c", "spawn_main()"], (), start=lambda *_: 5)


def test_each_kind_of_start_is_counted(events):
    sys.audit("open", "file", "r", 0)
    assert not events
    starts()
    assert len(events) == 3


def test_a_test_without_a_mark_fails_if_it_starts_a_process():
    with pytest.raises(pytest.fail.Exception, match="3 times"), started.refused(Item()):
        starts()


def test_what_libraries_look_for_needs_no_mark(events):
    with started.refused(Item()):
        sys.audit("subprocess.Popen", None, ["/usr/bin/fc-list", "--help"], None, None)
        sys.audit("subprocess.Popen", None, "pandoc --version", None, None)
        helper = [sys.executable, "-P", "-c", "import ibpcl.kernels.adam, ibpcl.kernels.noise"]
        sys.audit("subprocess.Popen", None, helper, None, None)
        started.spawn(sys.executable, ["-c", "resource_tracker"], (), start=lambda *_: 5)
    assert len(events) == 4


@pytest.mark.parametrize("mark", [getattr(pytest.mark, name) for name in started.MARKS])
def test_a_test_with_a_mark_may(mark):
    with started.refused(Item(mark(reason="it is about processes"))):
        starts()


def test_every_mark_of_every_test_that_was_collected_has_its_reason():
    assert not started.unexplained, "\n".join(started.unexplained)


def test_a_handful_of_quick_tests_start_python():
    assert len(started.quick) <= started.HANDFUL, "\n".join(started.quick)


@pytest.mark.parametrize("mark", [getattr(pytest.mark, name) for name in started.MARKS])
def test_a_mark_needs_a_reason(mark):
    for wrong in (mark, mark(reason=""), mark("why"), mark(why="so")):
        assert len(started.without_reason(Item(wrong, pytest.mark.usefixtures("x")))) == 1
    assert not started.without_reason(Item(mark(reason="it waits"), pytest.mark.data))
