"""Jobs and who does them, without any training: order, sharing, failures, the bar."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ibpcl.errors import TrainingError, UserError
from ibpcl.experiments import sweep
from ibpcl.experiments.folder import AtWorkError
from ibpcl.experiments.sweep import Job, Workers, outcomes


class InTurn(ThreadPoolExecutor):
    """One worker, which notes what it was given."""

    def __init__(self):
        super().__init__(1)
        self.given = []

    def submit(self, function, run, *rest):
        self.given.append(run)
        return super().submit(function, run, *rest)


def job(name, run, cost=1.0, busy=lambda: False):
    return Job(name, name, cost, 1, (), run, busy)


@pytest.fixture(params=[False, True], ids=["here", "workers"])
def done(request, tmp_path):
    """Give a function that does jobs and returns what they gave, by their names, in the order of
    finishing.
    """

    def do(jobs):
        with InTurn() as pool:
            workers = Workers(pool) if request.param else None
            return {one.key: outcome for one, outcome in outcomes(jobs, tmp_path, workers, False)}

    return do


def test_each_job_gives_its_outcome(done):
    def failing(after_task):
        raise TrainingError("no weight is left")

    found = done(
        [job("one", lambda after_task: 1), job("two", failing), job("three", lambda after_task: 3)]
    )
    assert (found["one"], str(found["two"]), found["three"]) == (1, "no weight is left", 3)


def test_workers_begin_with_the_longest(tmp_path):
    jobs = [job(str(cost), lambda after_task, cost=cost: cost, cost) for cost in (1.0, 3.0, 2.0)]
    with InTurn() as pool:
        assert [outcome for _, outcome in outcomes(jobs, tmp_path, Workers(pool), False)] == [
            3.0,
            2.0,
            1.0,
        ]
    assert [outcome for _, outcome in outcomes(jobs, tmp_path, None, False)] == [1.0, 3.0, 2.0]


def test_no_more_jobs_are_handed_out_than_there_are_workers(tmp_path):
    with InTurn() as pool:
        jobs = [job(str(i), lambda after_task: len(pool.given)) for i in range(4)]
        given = [
            outcome
            for _, outcome in outcomes(jobs, tmp_path, Workers(pool, count=lambda: 1), False)
        ]
    assert given == [1, 2, 3, 4]


def test_a_job_that_another_process_took_is_tried_again(done):
    tries = []

    def run(after_task):
        tries.append(1)
        if len(tries) < 3:
            raise AtWorkError("another run is at work")
        return "there"

    assert done([job("one", run)]) == {"one": "there"} and len(tries) == 3


def test_a_busy_job_waits_for_the_others(done):
    looks = []

    def busy():
        looks.append(1)
        return len(looks) < 3

    found = done([job("busy", lambda after_task: 1, 2.0, busy), job("free", lambda after_task: 2)])
    assert list(found) == ["free", "busy"]


@pytest.mark.parametrize(
    "error", [UserError("no data"), ZeroDivisionError("a mistake of the program")]
)
def test_other_errors_end_it_all(done, error):
    def run(after_task):
        raise error

    with pytest.raises(type(error), match=str(error)):
        done([job("one", run)])


def test_an_error_on_a_worker_says_where_it_was_raised(tmp_path):
    def run(after_task):
        return 1 / 0

    with InTurn() as pool, pytest.raises(ZeroDivisionError) as raised:
        list(outcomes([job("one", run)], tmp_path, Workers(pool), False))
    assert "in run\n    return 1 / 0" in raised.value.__notes__[0]


def test_the_bar_shows_how_far_all_is_and_names_what_is_under_way(tmp_path, capsys, monkeypatch):
    look = sweep._look
    shown = threading.Event()

    def noted(*state):
        look(*state)
        shown.set()

    monkeypatch.setattr(sweep, "_look", noted)
    monkeypatch.setattr(sweep, "LOOK", 0.01)
    (tmp_path / "history.csv").write_text("task,phase\n0,initial\n1,initial\n", encoding="utf-8")
    one = Job(
        "one", "the first", 2.0, 4, (tmp_path,), lambda after_task: shown.wait(300), lambda: False
    )
    with InTurn() as pool:
        list(
            outcomes(
                [one, job("two", lambda after_task: 2)],
                tmp_path,
                Workers(pool, count=lambda: 1),
                True,
            )
        )
    err = capsys.readouterr().err
    line = next(line for line in err.split("\r") if "0 of 2 done; the first (task 2 of 4)" in line)
    # 1 of 4 tasks, at two thirds of the cost
    assert line.startswith(" 17%|")


def test_an_interrupt_takes_back_what_was_handed_out_and_the_permission_to_work(tmp_path):
    seen = []
    with InTurn() as pool:
        jobs = [
            job(str(i), lambda after_task: seen.append(list(tmp_path.glob(".workers-*"))))
            for i in range(3)
        ]
        running = outcomes(jobs, tmp_path, Workers(pool, count=lambda: 1), False)
        next(running)
        running.close()
    assert len(seen) == 1 and len(seen[0]) == 1 and not list(tmp_path.glob(".workers-*"))


UNGUARDED = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from ibpcl.experiments.sweep import Job, Workers, outcomes

def run(after_task): return 7

{guard}
    job = Job("a", "a", 1.0, 1, (), run, bool)
    with ProcessPoolExecutor(1, multiprocessing.get_context("{method}")) as pool:
        try:
            ends = outcomes([job], Path(sys.argv[1]), Workers(pool), False)
            print([outcome for _, outcome in ends])
        except Exception as error:
            print(type(error).__name__, error)
"""


@pytest.mark.slow(reason="a script that starts workers")
@pytest.mark.parametrize(
    ("guard", "words"),
    [
        ("if True:", "UserError the worker processes cannot start"),
        ('if __name__ == "__main__":', "[7]"),
    ],
)
def test_a_script_without_a_main_guard_is_told_so_in_one_line(guard, words, tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(UNGUARDED.format(guard=guard, method="spawn"))
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], text=True, capture_output=True, timeout=600
    )
    assert done.stdout.startswith(words) and len(done.stdout.splitlines()) == 1
    assert done.stderr == ""
