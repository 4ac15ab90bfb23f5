"""Many runs at once: jobs, each done here or by the workers of an executor, and never by two
commands.

The executor is any :class:`concurrent.futures.Executor` whose workers share the folder with this
command, such as ``dask.distributed.Client.get_executor()``.  What a job is about, its checkpoints
and its result, is in the folder; a worker gets a few hundred bytes and returns a few thousand.  So
a job whose worker died continues with the task that it was in, on whichever worker is free.
"""

import contextlib
import itertools
import platform
import secrets
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from ibpcl import console, storage
from ibpcl.errors import TrainingError, UserError
from ibpcl.experiments import main_guard
from ibpcl.experiments.folder import AtWorkError
from ibpcl.experiments.journal import tasks_behind
from ibpcl.experiments.result import versions
from ibpcl.inference.backend import why_not

# seconds between looks at what others do
LOOK = 0.5
# a terminal cuts the end off
BAR = "{percentage:3.0f}%|{bar:20}| {elapsed} so far, about {remaining} left; {desc}"
# whose versions may change the last digits of a result
DECISIVE = ("ibpcl", "python", "numpy", "scipy", "numba")


class Job(NamedTuple):
    """Something to do that leaves its result in a folder.

    ``run`` takes a callable, which it calls after every task, and returns what the job gave; it
    goes to a worker, and raises :class:`ibpcl.experiments.folder.AtWorkError` if another process is
    at work on the job, as ``busy`` returns.
    """

    key: Any  # for the caller
    name: str  # for people
    # how long it takes compared with others, roughly
    cost: float
    tasks: int  # that its runs learn in all
    folders: tuple[Path, ...]  # of its runs
    run: Callable
    busy: Callable


class Workers(NamedTuple):
    """The workers that do the jobs: an executor, the threads of each, and a function that returns
    their number.

    Without the former a worker uses all threads that it may; without the latter all jobs are handed
    out at once.
    """

    executor: Executor
    threads: int | None = None
    count: Callable = lambda: sys.maxsize


class Admission(NamedTuple):
    """What a worker must have before it does a job: the folder, seen by a file in it, and the
    versions.

    The file also says that the job is wanted: without it a worker stops after the task that it is
    in.
    """

    path: Path
    token: str
    versions: dict
    threads: int | None

    def enter(self):
        """Refuse this process if it must not work for the command; else give it its threads."""
        try:
            found = storage.read_text(self.path)
        except (OSError, ValueError):
            found = None
        if found != self.token:
            raise UserError(
                f"a worker on {platform.node()} does not share the folder {self.path.parent}; "
                "name one with `out` that all workers see under the same path"
            )
        here = versions()
        for name in DECISIVE:
            if here[name] != self.versions[name]:
                raise UserError(
                    f"a worker on {platform.node()} has {name} {here[name]}, this command "
                    f"{self.versions[name]}; install the same version there"
                )
        # else there are no kernels to share the cores
        if why_not() is None:
            from ibpcl.kernels import threads

            threads.set_count(self.threads)

    def after_task(self, report):
        """Stop a job that is not wanted any more; it can be continued, because a task has just been
        saved.
        """
        if not self.path.exists():
            raise UserError("the command that wanted this run has ended")


class _Here(Executor):
    """Does a job at once, in this thread; an interrupt goes through."""

    def submit(self, function, /, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


def outcomes(jobs, folder, workers=None, progress=None):
    """Do jobs, the longest first if there are workers, and yield each with what it gave, in the
    order of finishing.

    Parameters
    ----------
    jobs : sequence of Job
    folder : path-like
        Which all workers share; it exists.
    workers : Workers, optional
        This process does them, one after another, if not given.
    progress : bool, optional
        Show a bar over all jobs, with the time left: yes, no, or (None) on a terminal only.

    Yields
    ------
    job, outcome : Job and object or TrainingError
        What ``job.run`` returned; or why it could not be trained, also if its worker died each
        time.

    Raises
    ------
    UserError, ConnectionError
        If a worker must not work for this command, or its processes cannot start because the script
        has no main guard; if the executor has lost its workers.
    """
    main_guard.refuse_to_begin_again(workers)
    waiting = list(jobs)
    running = {}
    ended = []
    here = workers is None
    workers = workers or Workers(_Here(), count=lambda: 1)
    if not here:
        # so that no long one is left over in the end
        waiting.sort(key=lambda job: -job.cost)
    with (
        contextlib.nullcontext() if here else _admission(folder, workers.threads) as admission,
        tqdm(
            total=sum(job.cost for job in jobs),
            bar_format=BAR,
            leave=False,
            smoothing=0.05,
            disable=console.bar_is_off(progress),
        ) as bar,
    ):
        try:
            while waiting or running:
                free = (job for job in waiting if not job.busy())
                hands = max(1, workers.count()) - len(running)
                for job in list(itertools.islice(free, max(0, hands))):
                    waiting.remove(job)
                    if here:  # it is done before it is running
                        bar.set_description_str(f"{len(ended) + 1} of {len(jobs)}: {job.name}")
                        step = job.cost / job.tasks
                        future = workers.executor.submit(
                            _do, job.run, lambda report, step=step: bar.update(step)
                        )
                    else:
                        future = workers.executor.submit(_do_admitted, job.run, admission)
                    running[future] = job
                if not running:
                    bar.set_description_str(
                        f"{len(waiting)} left, another process is at work on them"
                    )
                    time.sleep(LOOK)
                # a set, whose order differs between processes
                done = wait(running, LOOK, FIRST_COMPLETED).done
                for future in [future for future in running if future in done]:
                    job = running.pop(future)
                    outcome = _outcome(future, workers.executor)
                    if isinstance(outcome, AtWorkError):  # another process was faster
                        waiting.append(job)
                        continue
                    ended.append(job.cost)
                    bar.update(sum(ended) - bar.n)
                    yield job, outcome
                if running:
                    _look(bar, len(jobs), ended, running.values())
        finally:
            for future in running:
                future.cancel()


def _do(run, after_task):
    """Do a job where this is called; return what it gave, or its error: what is raised is the
    executor's.
    """
    try:
        # An overflow is about to stop a run with a message that says more than NumPy's warning.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return run(after_task)
    # its caller decides: it may come from another process
    except Exception as error:
        return error


def _do_admitted(run, admission):
    """Do a job on a worker, if it may work."""
    # its own is a semaphore that outlives a killed process
    tqdm.set_lock(threading.RLock())
    outcome = _do(lambda after_task: admission.enter() or run(after_task), admission.after_task)
    # its traceback does not leave the process
    if isinstance(outcome, Exception):
        outcome.add_note("".join(traceback.format_exception(outcome)))
    return outcome


def _outcome(future, executor):
    """Return what a job gave, or why it could not be trained, or that another process has it; raise
    all else.
    """
    try:
        outcome = future.result()
    except (CancelledError, BrokenExecutor) as error:
        if main_guard.is_missing(executor):
            raise UserError(main_guard.LINE) from None
        raise ConnectionError(
            "the workers are lost: their scheduler, or their pool, has ended or cannot be reached; "
            "the same command continues what was begun"
        ) from error
    except Exception as error:
        return TrainingError(f"no worker finished it: {str(error).partition('. ')[0]}")
    if isinstance(outcome, Exception) and not isinstance(outcome, AtWorkError | TrainingError):
        raise outcome
    return outcome


@contextlib.contextmanager
def _admission(folder, threads):
    """Make the file that admits workers, and take it away in the end."""
    token = secrets.token_hex(8)
    path = Path(folder).absolute() / f".workers-{token}"
    storage.write_text(path, token)
    try:
        yield Admission(path, token, versions(), threads)
    finally:
        path.unlink(missing_ok=True)


def _look(bar, number, ended, running):
    """Show how far the jobs are that workers are at work on: their histories grow in the shared
    folder.
    """
    behind = [(job, sum(map(tasks_behind, job.folders))) for job in running]
    under_way = ", ".join(f"{job.name} (task {tasks + 1} of {job.tasks})" for job, tasks in behind)
    bar.update(sum(ended) + sum(job.cost * tasks / job.tasks for job, tasks in behind) - bar.n)
    bar.set_description_str(f"{len(ended)} of {number} done; {under_way}")
