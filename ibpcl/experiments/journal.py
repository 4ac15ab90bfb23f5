"""What a run writes while it learns: a checkpoint after each task, and a line of its history after
each epoch.

A checkpoint holds the learner.  What each task gave lies in a file of its own,
``checkpoint.task<t>.npz``, which is written once, before the checkpoint that counts it: so a stream
of T tasks writes each of its numbers once, not T times. A run that is killed learns the task that
it was in again, from the beginning: everything random is a function of the seed, the task and the
step, so the result is the same, bit for bit.
"""

import time
import warnings
from pathlib import Path

import numpy as np

from ibpcl import checkpoints, storage
from ibpcl.continual.learner import check_form, form, under
from ibpcl.continual.loop import Progress
from ibpcl.errors import UserError
from ibpcl.experiments.folder import checkpoints_in, difference, portable
from ibpcl.experiments.result import as_columns
from ibpcl.inference.loop import Record, Watch

FILE = "checkpoint.npz"
HISTORY = "history.csv"
# what a checkpoint of a run says besides its arrays
HOLDS = ("config", "seconds", "done")


class RunJournal:
    """Keeps the checkpoint and the history of one run.

    ``table`` is the run's configuration, which a checkpoint must have to be resumed.  ``kind`` is
    the named tuple that a finished task gives, ``Progress`` or ``Stage``; each task adds a row to
    its ``MATRICES``.  ``began`` is when this process began with the run, by
    :func:`time.perf_counter`: for a resumed one, earlier by the time that its tasks had taken.
    ``done`` lists what the finished tasks gave.
    """

    def __init__(self, folder, table, kind=Progress, began=None):
        self.path = Path(folder, FILE)
        self.table = table
        self.kind = kind
        self.began = time.perf_counter() if began is None else began
        self.done = []

    def restore(self, learner):
        """Read the newest sound checkpoint and put the learner where it was; without any, nothing
        changes.

        A newer one that is damaged is reported by a warning.  A UserError if all are damaged, or
        they are of another configuration or of an older version.
        """
        if not self.path.exists() and not self.path.with_name(f"{FILE}.previous").exists():
            return
        try:
            arrays, meta, warning = checkpoints.latest(self.path.parent, FILE, HOLDS)
            check_form(meta, self.path)
        except ValueError as error:
            raise UserError(f"{error}; start the run again with `fresh`") from error
        if warning:
            warnings.warn(warning, stacklevel=3)
        earlier = portable(meta["config"])
        now = portable(self.table)
        if earlier != now:
            raise UserError(
                f"{self.path} is of a run with {difference(earlier, now)}: change the "
                "configuration back"
            )
        self.began -= meta["seconds"]
        learner.load_state(under(arrays, "learner/"))
        try:
            self.done += restored(self.path.parent, meta["done"], self.kind)
        except (OSError, ValueError) as error:
            raise UserError(f"{error}; start the run again with `fresh`") from error

    def watch(self, bar):
        """Return who watches the next task: a progress bar, and what writes a line of the history
        after each epoch.

        The first line drops what an interrupted task had written.
        """
        task = len(self.done)
        path = self.path.with_name(HISTORY)
        first = True

        def on_epoch(record, _):
            nonlocal first
            row = record._replace(task=task)
            if first:
                storage.write_csv(
                    path, as_columns([*(old for done in self.done for old in done.history), row])
                )
            else:
                storage.append_csv(path, row)
            first = False

        return Watch(bar, on_epoch)

    def finish_task(self, learner, progress):
        """Write what a task gave, and the learner after it."""
        self.done.append(progress)
        t = len(self.done) - 1
        arrays = {
            name: value[t] if name in self.kind.MATRICES else value
            for name, value in progress._asdict().items()
            if isinstance(value, np.ndarray)
        }
        checkpoints.save(
            task_file(self.path.parent, t),
            arrays,
            {"history": [list(record) for record in progress.history]},
            keep_previous=False,
        )
        state = {f"learner/{name}": value for name, value in learner.state().items()}
        tasks = [
            {
                "task": done.task,
                "name": done.name,
                "seconds": [done.train_seconds, done.test_seconds],
            }
            for done in self.done
        ]
        checkpoints.save(
            self.path,
            state,
            {
                "config": self.table,
                "seconds": time.perf_counter() - self.began,
                "done": tasks,
                **form(),
            },
        )


def task_file(folder, t):
    """Return the file of what a task gave, by its number from 0."""
    return Path(folder, f"checkpoint.task{t}.npz")


def restored(folder, tasks, kind):
    """Return what each task of a checkpoint gave, as named tuples.

    Parameters
    ----------
    folder : Path
    tasks : list of dict
        The entry ``done`` of the checkpoint: number, name and seconds of each task.
    kind : type
        ``Progress`` or ``Stage``.

    Returns
    -------
    done : list of kind

    Raises
    ------
    FileNotFoundError, ValueError
        If the file of a task is missing or damaged, or an older version wrote it.
    """
    done = []
    matrices = {}
    for t, task in enumerate(tasks):
        arrays, meta, _ = checkpoints.load(task_file(folder, t))
        try:
            train, test = task["seconds"]
            plain = {
                "task": task["task"],
                "name": task["name"],
                "train_seconds": train,
                "test_seconds": test,
                "history": [Record(*record) for record in meta["history"]],
            }
            for name in kind.MATRICES:
                total = len(arrays[name])
                matrix = matrices.setdefault(
                    name, np.full((total, total), np.nan, arrays[name].dtype)
                )
                matrix[t] = arrays[name]
                arrays[name] = matrix.copy()
            done.append(kind(**plain, **arrays))
        except (KeyError, TypeError, IndexError) as error:
            raise storage.damaged(
                "journal", task_file(folder, t), f"{type(error).__name__}: {error}"
            ) from error
    return done


def matrix_of(folder, tasks, name):
    """Return the rows of a matrix, for the tasks that a checkpoint counts: (t, t), NaN where
    nothing was measured.
    """
    rows = [
        checkpoints.load(task_file(folder, t)).arrays[name][: len(tasks)] for t in range(len(tasks))
    ]
    return np.array(rows)


def forget(folder):
    """Remove the checkpoints of a folder."""
    for path in checkpoints_in(folder):
        path.unlink(missing_ok=True)


def tasks_behind(folder):
    """Return how many tasks the run in a folder has behind it, by the last line of its history; 0
    if it has none.
    """
    try:
        last = Path(folder, HISTORY).read_text(encoding="utf-8").split()[-1]
        # the line of an epoch begins with its task, from 0
        return int(last.partition(",")[0])
    except (OSError, ValueError, IndexError):  # not there yet, or only its first line
        return 0


def unusable(folder):
    """Return whether a folder holds checkpoints, but none that a run can continue from."""
    try:
        check_form(checkpoints.latest(folder, FILE, HOLDS).meta, folder)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):  # all damaged, or of an older version
        return True
    return False
