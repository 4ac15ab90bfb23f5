"""Workers of real Dask clusters: the same results as without, and what becomes of runs whose
workers fail.
"""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ibpcl
from ibpcl import checkpoints
from ibpcl.cli import main
from ibpcl.data.own import read_tasks
from ibpcl.errors import UserError
from ibpcl.experiments import cells, cluster
from ibpcl.experiments.benchmarks import Benchmark, Row
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.journal import tasks_behind
from ibpcl.experiments.sweep import Workers

pytestmark = [
    pytest.mark.usefixtures("no_figures"),
    pytest.mark.processes(reason="two workers, which replace those that die"),
]

pytest.importorskip("distributed", reason="needs the extra cluster")
HERE = Path(__file__).parent
METHOD = "cluster_methods:Fragile"
SETTINGS = {"hidden": "6", "epochs": "3", "batch": "20", "backend": "numpy"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data, whose files say what fails, that workers are told of."""
    folder = tmp_path_factory.mktemp("cluster")
    labels = np.arange(180) % 6
    inputs = np.random.default_rng(0).random((180, 9), np.float32)
    inputs[np.arange(180), labels] += 1
    np.savez(
        folder / "mine.npz",
        x_train=inputs[:120],
        y_train=labels[:120],
        x_test=inputs[120:],
        y_test=labels[120:],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAGILE", str(folder))
        patch.setattr(sys, "path", [*sys.path, str(HERE)])
        yield folder


@pytest.fixture(scope="module")
def started(place):
    with cluster.local(2) as (workers, _):
        yield workers


@pytest.fixture
def two_workers(started):
    """Both workers: one that the test before killed takes seconds to be replaced."""
    started.executor._client.wait_for_workers(2, timeout=600)
    return started


@pytest.fixture(autouse=True)
def nothing_fails(place):
    (place / "log").unlink(missing_ok=True)
    yield
    for plan in place.glob("*-*"):
        plan.unlink()


@pytest.fixture
def planned(place, tmp_path):
    """Make the cells of some seeds under a folder."""

    def plan(name, seeds=2, methods=(METHOD,)):
        tasks = read_tasks(place / "mine.npz", ((0, 1), (2, 3), (4, 5)))
        choice = Choice(
            seeds,
            assignments={
                "backend": "numpy",
                **{
                    f"{method}.{key}": text
                    for method in methods
                    for key, text in SETTINGS.items()
                    if key != "backend"
                },
            },
            out=tmp_path / name,
        )
        rows = [Row(method, method, method) for method in methods]
        return cells.plan(rows, (Benchmark("mine", "mine", tasks, {}, 40),), choice)

    return plan


def learned(place):
    return sorted((place / "log").read_text(encoding="utf-8").splitlines())


def same(first, second):
    """Hold two cells together: every array of their learners, and everything in their results but
    time and memory.
    """
    np.testing.assert_equal(
        checkpoints.load(first.cell.folder / "learner.npz").arrays,
        checkpoints.load(second.cell.folder / "learner.npz").arrays,
    )
    one, other = (
        {
            key: value
            for key, value in measured.values.items()
            if key not in ("seconds", "peak_memory_mb")
        }
        for measured in (first, second)
    )
    assert one == other


def compared(place, methods, seeds=1):
    """Return the words of a command."""
    return [
        "compare",
        "--data",
        str(place / "mine.npz"),
        "--methods",
        methods,
        "--seeds",
        str(seeds),
        "--set",
        "classes=[[0,1],[2,3],[4,5]]",
        *(f"--set={key}={text}" for key, text in SETTINGS.items()),
    ]


def all_same(found, expected):
    for first, second in zip(found, expected, strict=True):
        same(first, second)


def until(condition):
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_workers_give_what_one_process_gives(two_workers, planned):
    methods = (METHOD, "vcl")
    seen = []
    expected, _ = cells.measure(planned("serial", methods=methods), False)
    found, failures = cells.measure(
        planned("workers", methods=methods), False, seen.append, two_workers
    )
    assert not failures and len(seen) == 4
    all_same(found, expected)


@pytest.mark.slow(reason="a worker dies and is replaced")
def test_a_worker_that_is_killed_is_replaced_and_its_run_goes_on_from_its_last_task(
    two_workers, planned, place
):
    expected, _ = cells.measure(planned("serial"), False)
    (place / "log").unlink()
    (place / "1-kill-once").touch()
    found, failures = cells.measure(planned("workers"), False, workers=two_workers)
    assert not failures
    all_same(found, expected)
    assert learned(place) == ["0 0/1", "0 2/3", "0 4/5", "1 0/1", "1 2/3", "1 2/3", "1 4/5"]


@pytest.mark.slow(reason="three workers die and are replaced")
def test_what_fails_is_named_and_not_begun_again_and_the_rest_goes_on(two_workers, planned, place):
    (place / "0-raise").touch()
    (place / "1-kill").touch()
    measured, failures = cells.measure(planned("workers", 3), False, workers=two_workers)
    assert [m.cell.seed for m in measured] == [2]
    reasons = {failure.cell.seed: failure.reason for failure in failures}
    assert reasons[0] == "the loss is not finite"
    assert "on 3 different workers, but all those workers died" in reasons[1]
    assert learned(place) == [
        "0 0/1",
        "0 2/3",
        "1 0/1",
        "1 2/3",
        "1 2/3",
        "1 2/3",
        "2 0/1",
        "2 2/3",
        "2 4/5",
    ]


@pytest.mark.slow(reason="two workers die and are replaced")
def test_all_workers_may_be_killed(two_workers, planned, place):
    expected, _ = cells.measure(planned("serial"), False)
    there = planned("workers")
    for seed in (0, 1):
        (place / f"{seed}-wait").touch()
    with ThreadPoolExecutor() as pool:
        measuring = pool.submit(cells.measure, there, False, workers=two_workers)
        # both in their second task
        until(lambda: all(tasks_behind(cell.folder) == 1 for cell in there))
        for pid in two_workers.executor._client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)
        for seed in (0, 1):
            (place / f"{seed}-wait").unlink()
        found, failures = measuring.result()
    assert not failures
    all_same(found, expected)


def test_two_commands_share_the_runs(two_workers, planned, place):
    there = planned("shared", 4)
    with ThreadPoolExecutor() as pool:
        alone = pool.submit(cells.measure, there, False)
        helped = pool.submit(cells.measure, there, False, None, two_workers)
        assert [m.values for m in alone.result()[0]] == [m.values for m in helped.result()[0]]
    assert learned(place) == sorted(
        f"{seed} {task}" for seed in range(4) for task in ("0/1", "2/3", "4/5")
    )


def test_the_threads_of_a_worker_are_set(two_workers, planned):
    client = two_workers.executor._client
    for number in (1, None):
        cells.measure(
            planned(f"threads-{number}"), False, workers=two_workers._replace(threads=number)
        )
        assert set(client.run(chosen_threads).values()) == {number}


def chosen_threads():
    from ibpcl.kernels import threads

    return threads._chosen["count"]


@pytest.mark.skipif(sys.platform != "linux", reason="freed memory is kept on Linux only")
def test_workers_use_freed_memory_again(two_workers):
    assert max(two_workers.executor._client.run(new_pages).values()) < 2000


def new_pages():
    """Return how many pages the system gave for a hundred arrays, each freed before the next."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        np.ones(2**20, np.uint8)  # 256 pages
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_a_run_that_is_not_wanted_any_more_stops_after_its_task(two_workers, planned, place):
    (cell,) = planned("withdrawn", 1)
    (place / "0-wait").touch()
    with ThreadPoolExecutor() as pool:
        measuring = pool.submit(cells.measure, [cell], False, workers=two_workers)
        until(lambda: tasks_behind(cell.folder) == 1)
        (ticket,) = cell.folder.parent.glob(".workers-*")
        ticket.unlink()  # as when the command ends
        (place / "0-wait").unlink()
        with pytest.raises(UserError, match="has ended"):
            measuring.result()
    assert learned(place) == ["0 0/1", "0 2/3"]


def test_the_command_prints_results_as_they_come_and_the_table(
    two_workers, place, tmp_path, capsys
):
    (place / "0-raise").touch()
    code = main(
        [
            *compared(place, METHOD, 2),
            "--out",
            str(tmp_path),
            "--scheduler",
            two_workers.executor._client.scheduler.address,
        ]
    )
    out, err = capsys.readouterr()
    assert code == 1 and "1 run failed" in err and err.count("\n") == 1
    assert out.startswith("2 workers; Dask's dashboard: http://127.0.0.1:")
    assert (
        f"mine, {METHOD}, seed 0: the loss is not finite" in out
        and f"mine, {METHOD}, seed 1: " in out
    )
    assert out.rstrip().endswith("table.md, table.json, values.csv, curves.png")


def test_a_cluster_that_cannot_work_is_refused_in_a_line(
    two_workers, place, tmp_path, capsys, monkeypatch
):
    address = two_workers.executor._client.scheduler.address

    def refused(scheduler, out=tmp_path / "out"):
        code = main([*compared(place, "naive"), "--out", str(out), "--scheduler", str(scheduler)])
        out, err = capsys.readouterr()
        assert (code, out.count("\n"), err.count("\n")) == (2, out.startswith("2 workers"), 1)
        return err

    with monkeypatch.context() as patched:
        patched.setattr(cluster, "PATIENCE", 0.2)
        assert "no scheduler answers at tcp://127.0.0.1:9" in refused("tcp://127.0.0.1:9")
        assert "no scheduler answers at nowhere.json" in refused("nowhere.json")
    monkeypatch.setattr(cluster, "PATIENCE", 120)
    with monkeypatch.context() as patched:
        patched.setattr(ibpcl, "__version__", "9.0")
        assert "9.0; install the same version there" in refused(address)
    with monkeypatch.context() as patched:
        patched.setattr(
            "ibpcl.experiments.sweep.versions",
            lambda: dict.fromkeys(
                ("ibpcl", "python", "numpy", "scipy", "numba"), ibpcl.__version__
            ),
        )
        assert "install the same version there" in refused(address)
    (tmp_path / "out").mkdir(exist_ok=True)
    # a folder that is another one for each process
    if Path("/proc/self/cwd").exists():
        monkeypatch.chdir(tmp_path)
        assert "does not share the folder /proc/self/cwd/here/cells" in refused(
            address, "/proc/self/cwd/here"
        )
    assert not list(tmp_path.rglob(".workers-*"))


def test_workers_that_do_several_runs_at_once_are_refused():
    class Client:
        def nthreads(self):
            return {"tcp://one": 1, "tcp://two": 4}

    with pytest.raises(UserError, match=r"the worker tcp://two does 4 runs at once.*--nthreads 1"):
        cluster._check(Client())


def test_without_dask_it_is_said_how_to_get_it(monkeypatch, place, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert (
        main(
            [
                "compare",
                "split-glyphs",
                "--methods",
                "naive",
                "--out",
                str(tmp_path),
                "--workers",
                "2",
            ]
        )
        == 2
    )
    err = capsys.readouterr().err
    assert "--workers" in err and "distributed" in err and "ibpcl[" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--threads", "2"], "--threads needs --workers"),
        (["--workers", "0"], "must be in 1 .. 1000"),
        (["--workers", "2", "--scheduler", "tcp://a:1"], "not allowed with"),
    ],
)
def test_a_slip_is_one_line(arguments, words, capsys, tmp_path):
    assert (
        main(
            [
                "compare",
                "split-glyphs",
                "--methods",
                "naive",
                "--out",
                str(tmp_path / "out"),
                *arguments,
            ]
        )
        == 2
    )
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1


@pytest.mark.slow(reason="the same trainings twice")
def test_any_executor_will_do(planned):
    expected, _ = cells.measure(planned("serial", methods=("naive",)), False)
    with ThreadPoolExecutor(2) as pool:
        all_same(
            cells.measure(planned("pool", methods=("naive",)), False, workers=Workers(pool))[0],
            expected,
        )
    with pytest.raises(ConnectionError, match=r"the workers are lost.*the same command continues"):
        cells.measure(planned("lost", methods=("naive",)), False, workers=Workers(Lost()))


class Lost(ThreadPoolExecutor):
    """An executor whose scheduler has ended."""

    def submit(self, *arguments):
        future = super().submit(time.sleep, 0)
        future._state = "CANCELLED_AND_NOTIFIED"
        return future


@pytest.mark.slow(reason="waits until a worker is taken for lost")
def test_a_worker_that_hangs_is_replaced(planned, place, monkeypatch):
    expected, _ = cells.measure(planned("serial"), False)
    (place / "1-stop-once").touch()
    monkeypatch.setattr(cluster, "SILENCE", "3s")
    with cluster.local(2) as (workers, _):
        found, failures = cells.measure(planned("workers"), False, workers=workers)
    assert not failures
    all_same(found, expected)


@pytest.mark.slow(reason="starts a scheduler and a worker")
def test_a_scheduler_that_is_lost_ends_the_command_in_a_line(planned, place, tmp_path):
    def start(what, *arguments):
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                f"distributed.cli.dask_{what}",
                "--scheduler-file",
                file,
                *arguments,
            ],
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(HERE)},
        )

    file = tmp_path / "scheduler.json"
    scheduler = start("scheduler", "--port", "0", "--dashboard-address", ":0")
    until(file.exists)
    worker = start("worker", "--nthreads", "1", "--no-dashboard")
    try:
        there = planned("workers", 1)
        (place / "0-wait").touch()
        with cluster.remote(str(file)) as (workers, _), ThreadPoolExecutor() as pool:
            measuring = pool.submit(cells.measure, there, False, workers=workers)
            until(lambda: tasks_behind(there[0].folder) == 1)
            scheduler.kill()
            with pytest.raises(ConnectionError, match="the same command continues"):
                measuring.result()
    finally:
        (place / "0-wait").unlink(missing_ok=True)
        for process in (scheduler, worker):
            process.kill()
            process.wait()


@pytest.mark.slow(reason="a command with two workers")
@pytest.mark.skipif(os.name != "posix", reason="needs groups of processes")
def test_an_interrupt_ends_the_workers_and_prints_the_command_that_continues(place, tmp_path):
    arguments = [*compared(place, METHOD), "--workers", "2"]
    (place / "0-wait").touch()
    command = subprocess.Popen(
        [sys.executable, "-m", "ibpcl", *arguments, "--out", "there"],
        cwd=tmp_path,
        text=True,
        env=os.environ | {"PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    until(
        lambda: any(
            tasks_behind(path.parent) == 1 for path in tmp_path.rglob("*-seed0-*/history.csv")
        )
    )
    # as a terminal does: to the workers, too
    os.killpg(command.pid, signal.SIGINT)
    _, err = command.communicate(timeout=300)
    assert command.returncode == 130
    (told,) = err.splitlines()
    assert told.startswith("ibpcl: interrupted; to continue: ibpcl compare --data")
    assert not list(tmp_path.rglob(".workers-*"))
    (place / "0-wait").unlink()
    assert main([*arguments, "--out", str(tmp_path / "there")]) == 0
