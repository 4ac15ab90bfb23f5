"""A run: from a configuration to what was learned, in memory and as a folder of files."""

import contextlib
import time
import warnings
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ibpcl import checkpoints, storage
from ibpcl.continual.loop import Progress, learn_stream
from ibpcl.data.terrain import TerrainStream
from ibpcl.errors import UserError
from ibpcl.evaluation import structure
from ibpcl.experiments import generative, identity, page, run_figures
from ibpcl.experiments import result as results
from ibpcl.experiments.folder import (
    CONFIG,
    IMAGES,
    LEARNER,
    RESULT,
    begin,
    checkpoints_in,
    claimed,
    portable,
)
from ibpcl.experiments.journal import HISTORY, RunJournal, forget
from ibpcl.experiments.stored_learners import load
from ibpcl.experiments.streams import make_stream, survey
from ibpcl.methods import method


class Report(NamedTuple):
    """What is known right after a task.

    Attributes
    ----------
    progress : ibpcl.continual.loop.Progress or ibpcl.experiments.generative.Stage
    mask_density : ndarray or None
        Share of each hidden layer's weights that the task uses; None without masks.
    names : tuple of str
        Names of all tasks of the stream.
    """

    progress: Progress
    mask_density: object
    names: tuple[str, ...]


class Run:
    """A run: what it is a function of, where its files are, and what it gave.

    Parameters
    ----------
    config : ibpcl.experiments.config.RunConfig
    folder : path-like, optional
        Of its files; without it everything stays in memory.

    Attributes
    ----------
    result : dict or None
        The content of ``result.json``.  NaN, or None if it was read from there, stands for what
        was not measured.  None before the run is finished.
    history : dict of str to sequence or None
        The columns of ``history.csv``.
    was_finished : bool
        Whether the folder held the run already, so that nothing was trained.
    """

    def __init__(self, config, folder=None):
        self.config = config
        self.folder = None if folder is None else Path(folder)
        self.result = None
        self.history = None
        self.was_finished = False

    def __repr__(self):
        """Return the experiment, the method, the seed and the state."""
        config = self.config
        return f"Run({config.experiment}, {config.method}, seed {config.seed}): {self.state}"

    @property
    def state(self):
        """How far the run came: new, interrupted or finished."""
        if self.result is not None or (self.folder and self.load()):
            return "finished"
        return "interrupted" if self.folder and checkpoints_in(self.folder) else "new"

    @cached_property
    def stream(self):
        """The tasks."""
        return make_stream(self.config)

    @cached_property
    def learner(self):
        """The learner after the last task, ready to predict."""
        return load(self.folder, method(self.config.method).learner)

    @cached_property
    def images(self):
        """What the figures of a generative model show, by name; None for other runs."""
        if not self.config.generative:
            return None
        try:
            return checkpoints.read_npz(self.folder / IMAGES)
        except (OSError, ValueError) as error:
            raise UserError(f"figures: {error}") from error

    def new_learner(self):
        """Return the learner before its first task.

        Raises
        ------
        UserError
            If the tasks are regressions and the method has no predictive intervals.
        """
        config = self.config
        learner = method(config.method).learner
        if config.measure == "R^2" and not hasattr(learner, "predict_with_uncertainty"):
            raise UserError(
                f"method {config.method} does not do regression; experiment {config.experiment} "
                "needs one that does, such as npbcl"
            )
        return learner(config.settings, config.seed, config.compute)

    def load(self, strict=False):
        """Read what the folder holds, if it is this run and finished.

        Parameters
        ----------
        strict : bool
            Whether damaged files are an error; else a warning says that they count as missing.

        Returns
        -------
        loaded : bool

        Raises
        ------
        UserError
            If ``strict`` and a file is damaged or of another run.
        """
        try:
            if portable(storage.read_toml(self.folder / CONFIG)) != portable(self.config.table):
                return False
            result = storage.read_sealed_json(self.folder / RESULT)
            history = storage.read_csv(self.folder / HISTORY)
            identity.check_result(result, self.config.table, self.folder / RESULT)
            meta = checkpoints.read_meta(self.folder / LEARNER)
            identity.check_learner(meta, self.config.table, self.folder / LEARNER)
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            if strict:
                raise UserError(f"{error}; resume the run to make it again") from error
            warnings.warn(f"{error}; the run is made again", stacklevel=2)
            return False
        self.result = result
        self.history = history
        self.was_finished = True
        return True

    def learn(self, progress=None, on_task=None, fresh=False):
        """Learn the tasks that are not learned yet, measure, and write the files.

        Parameters
        ----------
        progress : bool, optional
            Show progress bars: yes, no, or (None) on a terminal only.
        on_task : callable, optional
            Called with a :class:`Report` after every task.
        fresh : bool
            Begin again, even if the folder has a checkpoint of this run.
        """
        start = time.perf_counter()
        seen = survey(self.stream)
        learner = self.new_learner()
        journal = None
        if self.folder is not None:
            begin(self.folder, self.config, fresh)
            kind = generative.Stage if self.config.generative else Progress
            journal = RunJournal(self.folder, self.config.table, kind, start)
            journal.restore(learner)
            # a resumed run began in an earlier process
            start = journal.began
        finished_tasks = []
        for done in self._tasks(learner, progress, journal):
            finished_tasks.append(done)
            if on_task is not None:
                on_task(Report(done, _density(learner, done.task), seen.names))
        self.learner = learner
        self.result = self._measured(finished_tasks, seen, progress)
        self.history = results.as_columns(
            [record for done in finished_tasks for record in done.history]
        )
        if self.folder is not None:
            results.write_state(self)
        self.result["seconds"]["total"] = round(time.perf_counter() - start, 3)
        if self.folder is not None:
            # It stands for a complete run: after the learner and the history, before all that only
            # shows them.
            storage.write_sealed_json(self.folder / RESULT, self.result)
            # nothing is left to continue
            forget(self.folder)

    def _tasks(self, learner, progress, journal):
        """Return the tasks one after another as they are learned."""
        if self.config.generative:
            return generative.learn_stages(learner, self.stream, self.config, progress, journal)
        return learn_stream(learner, self.stream, progress, journal)

    def _measured(self, finished_tasks, seen, progress):
        """Return the content of ``result.json``, and keep the images of a generative model."""
        config = self.config
        learned = time.perf_counter()
        if config.generative:
            measured = generative.measured(
                config, finished_tasks, self.learner, self.stream, progress
            )
        else:
            measured = results.accuracies(finished_tasks)
        values = results.collect(config, finished_tasks, self.learner, measured)
        values |= {"image_shape": seen.image_shape, "unit_range": seen.unit_range}
        if config.generative:
            values["seconds"]["final"] = round(time.perf_counter() - learned, 3)
            self.images = generative.images_of(finished_tasks, self.stream)
        if config.measure == "R^2":
            values |= results.predictive(self.learner, self.stream)
        return values

    def figures(self):
        """Draw the figures of the run; return their Axes by name, as ``run.figures()["history"]``.

        Returns
        -------
        axes : dict of str to matplotlib.axes.Axes
        """
        stream = TerrainStream(self.config.tasks) if self.config.stream == "strips" else None
        return run_figures.figures_of(self.result, self.history, self.learner, stream, self.images)


def run(config, out=None, progress=None, on_task=None, force=False, fresh=False, figures=True):
    """Learn the tasks of a configuration one after another and measure what was learned and kept.

    What :func:`ibpcl.experiments.door.run` does, for a configuration.  A run that its folder holds
    already is not repeated: a finished one is returned as it is, an interrupted one continues from
    its last checkpoint.

    Parameters
    ----------
    config : RunConfig
    out : path-like or callable, optional
        Folder for the files, or what chooses one for the configuration, such as
        :func:`ibpcl.experiments.folder.free_folder`; that it can be written is made sure before the
        training.
    progress, force, fresh
        As for :func:`ibpcl.experiments.door.run`.
    on_task : callable, optional
        Called with a :class:`Report` after every task.
    figures : bool
        Draw the run's figures into the folder, and write its report, ``report.html``.

    Returns
    -------
    run : Run
        The same for the same configuration, except for ``seconds`` and ``peak_memory_mb``.
    """
    place = contextlib.nullcontext() if out is None else claimed(out, config, force)
    with place as folder, page.kept(folder if figures else None):
        made = Run(config, folder)
        if folder is not None and not fresh and made.load():
            # checkpoints of a run that was killed at its very end
            forget(folder)
            # the run ended while they were drawn, or without them
            missing = not run_figures.are_drawn(folder)
        else:
            made.learn(progress, on_task, fresh)
            missing = True
        if folder is not None and figures and missing:
            run_figures.draw(made)
    return made


def _density(learner, t):
    """Return the share of weights that a task uses in each hidden layer; None without masks."""
    return structure.density([learner.masks(t)])[0] if hasattr(learner, "masks") else None
