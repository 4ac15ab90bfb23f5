"""A worker answers requests, and is ended at each limit with a cause that has a name."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from quick import quick

from ibpcl.sandbox import boxes, frames, processes
from ibpcl.sandbox.worker import Ended, Failed, Limit, Worker

PROGRAM = '''
import os, subprocess, sys, threading, time

class Program:
    file = __file__

    def add(self, a, b):
        print("noise")
        return a + b

    def count(self, number, pause=0.0):
        for n in range(number):
            time.sleep(pause)
            yield n

    def fail(self):
        raise KeyError("lost")

    def breaks_off(self):
        yield 1
        raise SystemExit(3)

    def compute(self, seconds):
        while time.process_time() < seconds:
            pass
        return "done"

    def sleep(self, seconds):
        time.sleep(seconds)
        return "awake"

    def leave(self, code):
        os._exit(code)

    def rubbish(self):
        for descriptor in range(3, 10):
            try:
                os.write(descriptor, b"x" * 100)
            except OSError:
                pass
        time.sleep(60)

    def large(self, size):
        return "x" * size

    def threads(self):
        for _ in range(20):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        time.sleep(60)

    def start(self):
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid

    def start_and_leave(self):
        self.start()
        os._exit(5)
'''
LONG = Limit(20.0, 60.0)
pytestmark = pytest.mark.processes(reason="a worker is a process")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


@pytest.fixture
def start(tmp_path):
    (tmp_path / "asked.py").write_text(PROGRAM)
    return boxes.unboxed("asked", [str(tmp_path), *sys.path])


@pytest.fixture
def worker(start):
    with Worker(start, most_threads=10) as made:
        yield made


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """A worker that no test ends."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "asked.py").write_text(PROGRAM)
    with Worker(boxes.unboxed("asked", [str(folder), *sys.path]), most_threads=10) as made:
        yield made


def cause(worker, limit=LONG, **request):
    with pytest.raises(Ended) as caught:
        worker.ask(limit, **request)
    return caught.value.cause


def test_requests_are_answered_one_after_another(lasting):
    assert [lasting.ask(LONG, do="add", a=n, b=1) for n in range(3)] == [1, 2, 3]
    assert list(lasting.stream(LONG, do="count", number=3)) == [0, 1, 2]
    assert lasting.ask(LONG, do="add", a="x", b="y") == "xy"


def test_an_exception_names_its_class_and_line_and_the_worker_lives_on(lasting):
    with pytest.raises(Failed) as caught:
        lasting.ask(LONG, do="fail")
    assert (caught.value.name, caught.value.line > 5) == ("KeyError", True)
    items = lasting.stream(LONG, do="breaks_off")
    assert next(items) == 1
    with pytest.raises(Failed) as caught:
        next(items)
    assert caught.value.name == "SystemExit"
    assert lasting.ask(LONG, do="add", a=1, b=1) == 2


ENDS = {
    "waiting": {"do": "sleep", "seconds": 60, "limit": Limit(5.0, 0.3)},
    "processor": {"do": "compute", "seconds": 60, "limit": Limit(0.3, 60.0)},
    "message": {"do": "rubbish"},
    "threads": {"do": "threads"},
    "exit": {"do": "leave", "code": 4},
}


@pytest.mark.parametrize(
    "name",
    quick(
        ["processor", "threads", "exit"],
        ENDS,
        "each is a process",
    ),
)
def test_each_end_has_its_cause(start, name):
    if name == "threads" and not processes.MEASURES_TIME:
        pytest.skip("threads are not counted here")
    with Worker(start, most_threads=10) as worker:
        assert cause(worker, **ENDS[name]) == name
    assert worker.process.returncode == (4 if name == "exit" else -9)
    # a closed worker answers nothing more
    assert cause(worker, do="add", a=1, b=1)


@linux
def test_sleeping_uses_no_processor_time(worker):
    assert worker.ask(Limit(0.5, 60.0), do="sleep", seconds=1.0) == "awake"
    before = worker.seconds()
    assert worker.ask(LONG, do="compute", seconds=before + 0.5) == "done"
    worker.close()
    assert 0.3 < worker.seconds() - before < 5.0


def test_the_limit_holds_for_each_item_of_an_answer(lasting):
    items = lasting.stream(Limit(5.0, 3.0), do="count", number=8, pause=0.4)
    assert len(list(items)) == 8


def test_an_answer_is_no_larger_than_allowed(lasting):
    most = (5000, 0)
    assert len(lasting.ask(LONG, most, do="large", size=4000)) == 4000
    with pytest.raises(Failed) as caught:
        lasting.ask(LONG, most, do="large", size=6000)
    assert caught.value.name == frames.FrameError.__name__


@linux
@pytest.mark.parametrize(
    "do", quick(["start"], ["start", "start_and_leave"], "the same processes, and another cause")
)
def test_what_a_child_has_started_ends_with_it(start, do):
    with Worker(start) as worker:
        if do == "start":
            below = worker.ask(LONG, do=do)
        else:
            # and not "waiting", for what the child has started
            assert cause(worker, do=do) == "exit"
            return
    end = time.monotonic() + 300
    while Path(f"/proc/{below}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{below}").exists() or "Z" in Path(f"/proc/{below}/stat").read_text()


@linux
def test_a_child_ends_with_its_parent(start, tmp_path):
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from ibpcl.sandbox import boxes\nfrom ibpcl.sandbox.worker import Worker\n"
        f"worker = Worker(boxes.unboxed('asked', [{str(tmp_path)!r}, *sys.path]))\n"
        "print(worker.process.pid, flush=True)\nimport os\nos.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    child = int(done.stdout)
    end = time.monotonic() + 300
    while os.path.exists(f"/proc/{child}") and time.monotonic() < end:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{child}") or "Z" in Path(f"/proc/{child}/stat").read_text()


@pytest.mark.slow(reason="a process for one exception")
def test_a_program_that_cannot_be_loaded_is_an_end(tmp_path):
    (tmp_path / "asked.py").write_text("raise ImportError('nothing here')\n")
    start = boxes.unboxed("asked", [str(tmp_path), *sys.path])._replace(quiet=True)
    with pytest.raises(Ended) as caught:
        Worker(start)
    assert caught.value.cause == "exit"
