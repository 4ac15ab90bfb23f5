"""A worker without a process, as in a browser tab."""

import time

import pytest

from ibpcl.sandbox import local
from ibpcl.sandbox.worker import Failed, Limit

LONG = Limit(20.0, 60.0)


class Program:
    """Requests that a tab answers."""

    file = __file__

    def __init__(self):
        self.given = None

    def keep(self, value):
        self.given = value
        return value

    def large(self, size):
        return "x" * size

    def leave(self):
        raise SystemExit(3)


@pytest.fixture
def worker():
    made = local.Worker(Program(), {"planted": "five = 5\n"})
    yield made
    made.close()


def test_values_are_copied_on_both_ways(worker):
    value = [1.0, "two"]
    answer = worker.ask(LONG, do="keep", value=value)
    assert list(answer) == value
    assert worker.program.given is not value and answer is not worker.program.given


def test_whatever_ends_a_program_is_its_exception(worker):
    with pytest.raises(Failed) as caught:
        worker.ask(LONG, do="leave")
    assert caught.value.name == "SystemExit"
    with pytest.raises(Failed, match="too large"):
        worker.ask(LONG, (5000, 0), do="large", size=6000)


def test_only_the_time_of_the_worker_counts():
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    with_nothing_done = local.Worker(Program(), {})
    before = with_nothing_done.seconds()
    assert before < 0.04
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert with_nothing_done.seconds() - before >= 0.05


def test_sent_modules_are_forgotten_with_the_worker(worker):
    import planted

    assert planted.five == 5
    worker.close()
    with pytest.raises(ImportError):
        import planted
