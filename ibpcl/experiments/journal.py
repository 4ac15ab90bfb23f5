"""Journal of a run: a checkpoint after each task, and a line of the history after each epoch.

The checkpoint holds the learner. The results of each task are in a separate file,
``checkpoint.task<t>.npz``, which is written once, before the checkpoint that counts the task. A
stream of T tasks therefore writes each number once, not T times. A run that was killed in a task
learns that task again from its beginning. Everything random is a function of the seed, the task
and the step, so the result is the same, bit for bit.
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
# entries of a checkpoint besides its arrays
HOLDS = ("config", "seconds", "done")


class RunJournal:
    """The checkpoint and the history of one run.

    Parameters
    ----------
    folder : path-like
        The folder of the run.
    table : dict
        The configuration of the run; only a checkpoint with the same one is continued.
    kind : type
        The named tuple that describes a learned task: :class:`~ibpcl.continual.loop.Progress` or
        :class:`~ibpcl.experiments.generative.Stage`. Each task adds a row to the fields that
        ``kind.MATRICES`` names.
    began : float, optional
        When this process began with the run, by :func:`time.perf_counter`; now if not given.

    Attributes
    ----------
    done : list
        One ``kind`` for each learned task.
    path : Path
        The file of the checkpoint.
    began : float
        When the run began. For a resumed run, the time that its tasks took earlier is subtracted.
    """

    def __init__(self, folder, table, kind=Progress, began=None):
        self.path = Path(folder, FILE)
        self.table = table
        self.kind = kind
        self.began = time.perf_counter() if began is None else began
        self.done = []

    def restore(self, learner):
        """Put the learner where the newest intact checkpoint has it; without a checkpoint, change
        nothing.

        If the newest checkpoint is damaged, a warning reports it and the one before is used.

        Parameters
        ----------
        learner : Learner
            A new learner of the same configuration; its state is replaced.

        Raises
        ------
        UserError
            If all checkpoints are damaged, or an older version or another configuration made them.
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
                f"{self.path} belongs to a run with {difference(earlier, now)}; change the "
                "configuration back"
            )
        self.began -= meta["seconds"]
        learner.load_state(under(arrays, "learner/"))
        try:
            self.done += restored(self.path.parent, meta["done"], self.kind)
        except (OSError, ValueError) as error:
            raise UserError(f"{error}; start the run again with `fresh`") from error

    def watch(self, bar):
        """Return the observer of the next task: its progress bar, and a writer of the history.

        The first line that it writes drops the lines of an interrupted task.

        Parameters
        ----------
        bar : bool or None
            Whether to show a progress bar; None shows it on a terminal only.

        Returns
        -------
        watch : ibpcl.inference.loop.Watch
            It writes a line of ``history.csv`` after each epoch.
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

        return Watch(bar, on_epoch, f"task {task + 1} of {self.table['tasks']}")

    def finish_task(self, learner, progress):
        """Write the results of a task, then the checkpoint with the learner after it.

        Parameters
        ----------
        learner : Learner
            As it is after the task.
        progress : Progress or Stage
            The results so far.
        """
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
    """Return the path of the file with the results of a task.

    Parameters
    ----------
    folder : path-like
        The folder of the run.
    t : int
        The number of the task, from 0.

    Returns
    -------
    path : Path
        ``checkpoint.task<t>.npz`` in the folder.
    """
    return Path(folder, f"checkpoint.task{t}.npz")


def restored(folder, tasks, kind):
    """Return the results of each task that a checkpoint counts.

    Parameters
    ----------
    folder : Path
        The folder of the run.
    tasks : list of dict
        The entry ``done`` of the checkpoint: number, name and seconds of each task.
    kind : type
        ``Progress`` or ``Stage``.

    Returns
    -------
    done : list of kind
        One item per task.

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
    """Return a matrix of results for the tasks that a checkpoint counts.

    Parameters
    ----------
    folder : Path
        The folder of the run.
    tasks : list of dict
        The entry ``done`` of the checkpoint.
    name : str
        A field of ``Progress`` or ``Stage`` that is a matrix, such as ``"accuracy"``.

    Returns
    -------
    matrix : ndarray, shape (t, t)
        For the t tasks of the checkpoint; NaN where nothing was measured.
    """
    rows = [
        checkpoints.load(task_file(folder, t)).arrays[name][: len(tasks)] for t in range(len(tasks))
    ]
    return np.array(rows)


def forget(folder):
    """Remove the checkpoints of a folder.

    Parameters
    ----------
    folder : path-like
        The folder of a run.
    """
    for path in checkpoints_in(folder):
        path.unlink(missing_ok=True)


def tasks_behind(folder):
    """Return how many tasks a run has finished, by the last line of its history.

    Parameters
    ----------
    folder : path-like
        The folder of the run.

    Returns
    -------
    tasks : int
        0 if there is no history yet.
    """
    try:
        last = Path(folder, HISTORY).read_text(encoding="utf-8").split()[-1]
        # the line of an epoch begins with its task, from 0
        return int(last.partition(",")[0])
    except (OSError, ValueError, IndexError):  # no file yet, or only the line of names
        return 0


def unusable(folder):
    """Return whether a folder holds checkpoints of which none can be continued.

    Parameters
    ----------
    folder : path-like
        The folder of a run.

    Returns
    -------
    unusable : bool
        True if all are damaged or of an older version; False if one is intact, or there is none.
    """
    try:
        check_form(checkpoints.latest(folder, FILE, HOLDS).meta, folder)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):  # all damaged, or of an older version
        return True
    return False
