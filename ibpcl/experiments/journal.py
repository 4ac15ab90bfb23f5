"""The checkpoint of a run: written after every epoch and every task, and enough to go on bit for bit.

It holds the learner as it was before the task under way, how far that task has come, and what the tasks before gave.
"""

import time
from pathlib import Path

import numpy as np

from ibpcl import checkpoints
from ibpcl.adam import State
from ibpcl.continual.journal import Partial
from ibpcl.continual.loop import Progress
from ibpcl.errors import UserError
from ibpcl.experiments.folder import difference, portable
from ibpcl.inference.loop import Record, Snapshot

FILE = "checkpoint.npz"


class RunJournal:
    """Keeps the checkpoint of one run; a :class:`ibpcl.continual.journal.Journal` for its learner.

    Parameters
    ----------
    folder : path-like
        Of the run.
    table : dict
        The run's configuration, which a checkpoint must have to be resumed.
    kind : type
        The named tuple that a finished task gives: fields ``task``, ``name``, ``history``, ``train_seconds`` and
        ``test_seconds``, and arrays.
    began : float, optional
        When this process began with the run, by :func:`time.perf_counter`; now if not given.

    Attributes
    ----------
    began : float
        The same for a new run; one that goes on began earlier by the time that its last checkpoint had taken.
    done : list of ``kind``
        What the finished tasks gave.
    resume : Partial or None
        Where the task under way had been.
    warning : str or None
        Why the newest checkpoint could not be used, if so.
    """

    def __init__(self, folder, table, kind=Progress, began=None):
        self.path, self.table, self.kind = Path(folder, FILE), table, kind
        self.began = time.perf_counter() if began is None else began
        self.done, self.resume, self.warning = [], None, None
        self._learner, self._task_began, self._task_seconds = {}, None, 0.0

    def forget(self):
        """Remove what an earlier run left, before a new one starts from the beginning."""
        for path in (self.path, self.path.with_name(f"{FILE}.previous")):
            path.unlink(missing_ok=True)

    def restore(self, learner):
        """Read the newest sound checkpoint and put the learner where it was; without any, nothing changes.

        Raises
        ------
        UserError
            If there are checkpoints, but all are damaged, or they are of another configuration.
        """
        if not self.path.exists() and not self.path.with_name(f"{FILE}.previous").exists():
            return
        try:
            arrays, meta, self.warning = checkpoints.latest(self.path.parent, FILE)
        except ValueError as error:
            raise UserError(f"{error}; start the run again without --resume") from error
        earlier, now = portable(meta["config"]), portable(self.table)
        if earlier != now:
            raise UserError(f"{self.path} is of a run with {difference(earlier, now)}: change the configuration back")
        self.began -= meta.get("seconds", 0.0)               # older files do not say
        self._learner = _under("learner/", arrays)
        learner.load_state(self._learner)
        self.done = [self._finished(task, arrays) for task in meta["done"]]
        if meta["partial"] is not None:
            self.resume = _partial(meta["partial"], _under("partial/", arrays))
            self._task_seconds = meta["partial"].get("seconds", 0.0)

    def _finished(self, task, arrays):
        train, test = task["seconds"]
        plain = {"task": task["task"], "name": task["name"], "train_seconds": train, "test_seconds": test,
                 "history": [Record(*record) for record in task["history"]]}
        return self.kind(**plain, **{name: arrays[f"{name}/{task['task']}"]
                                     for name in self.kind._fields if name not in plain})

    def start_task(self, learner):
        """Remember the learner as it is before a task; return when that began, earlier if the task goes on."""
        self._task_began = time.perf_counter() - self._task_seconds
        self._learner = learner.state()
        return self._task_began

    def save(self, partial):
        """Write how far the task under way has come."""
        self._write(partial)

    def finish_task(self, learner, progress):
        """Write what a task gave."""
        self.done.append(progress)
        self._learner, self.resume, self._task_seconds = learner.state(), None, 0.0
        self._write(None)

    def _write(self, partial):
        arrays = {f"learner/{name}": value for name, value in self._learner.items()}
        for done in self.done:
            arrays |= {f"{name}/{done.task}": value for name, value in done._asdict().items()
                       if isinstance(value, np.ndarray)}
        now = time.perf_counter()
        meta = {"config": self.table, "seconds": now - self.began, "partial": None, "done": [
            {"task": done.task, "name": done.name, "history": [list(record) for record in done.history],
             "seconds": [done.train_seconds, done.test_seconds]} for done in self.done]}
        if partial is not None:
            snapshot = partial.snapshot
            arrays |= {"partial/vector": snapshot.vector, "partial/first": snapshot.state.first,
                       "partial/second": snapshot.state.second}
            steps = snapshot.state.step
            if np.ndim(steps) > 0:                           # of each element, after growth
                arrays["partial/steps"], steps = steps, None
            if snapshot.average is not None:
                arrays["partial/average"] = snapshot.average
            if snapshot.trained is not None:
                arrays["partial/trained"] = np.packbits(snapshot.trained)
            arrays |= {f"partial/mask{i}": mask for i, mask in enumerate(partial.masks or ())}
            meta["partial"] = {
                "phase": snapshot.phase, "epoch": snapshot.epoch, "step": steps,
                "seconds": now - self._task_began,
                "history": [list(record) for record in snapshot.history], "hidden": list(partial.hidden),
                "masks": None if partial.masks is None else len(partial.masks),
                "before": [list(record) for record in partial.history]}
        checkpoints.save(self.path, arrays, meta)


def _under(start, arrays):
    return {name.removeprefix(start): value for name, value in arrays.items() if name.startswith(start)}


def _partial(meta, arrays):
    state = State(arrays["first"], arrays["second"], arrays.get("steps", meta["step"]))
    trained = None
    if "trained" in arrays:
        trained = np.unpackbits(arrays["trained"], count=len(arrays["vector"])).astype(bool)
    snapshot = Snapshot(meta["phase"], meta["epoch"], arrays["vector"], state,
                        [Record(*record) for record in meta["history"]], arrays.get("average"), trained)
    masks = None if meta["masks"] is None else tuple(arrays[f"mask{i}"].astype(bool) for i in range(meta["masks"]))
    return Partial(snapshot, tuple(meta["hidden"]), masks, tuple(Record(*record) for record in meta["before"]))
