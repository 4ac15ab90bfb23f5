"""A run: train a learner on the tasks of a configuration, measure it, and keep the results."""

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
from ibpcl.experiments.blended import Blended
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
    """Results right after a task.

    Attributes
    ----------
    progress : ibpcl.continual.loop.Progress or ibpcl.experiments.generative.Stage
        The measurements so far.
    mask_density : ndarray or None
        Share of each hidden layer's weights that the task uses; None for a method without masks.
    names : tuple of str
        Names of all tasks of the stream.
    """

    progress: Progress
    mask_density: object
    names: tuple[str, ...]


class Run:
    """A run: its configuration, its folder and its results.

    Parameters
    ----------
    config : ibpcl.experiments.config.RunConfig
        The configuration, which determines the results.
    folder : path-like, optional
        Folder of its files; without it everything stays in memory.

    Attributes
    ----------
    config : ibpcl.experiments.config.RunConfig
        As given.
    folder : Path or None
        As given.
    result : dict or None
        The content of ``result.json``; None before the run is finished. A value that was not
        measured is NaN, or None if the result was read from the file.
    history : dict of str to sequence or None
        The columns of ``history.csv``; None before the run is finished.
    was_finished : bool
        Whether the folder held the finished run already, so that nothing was trained.
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
        """The state of the run: "new", "interrupted" or "finished"."""
        if self.result is not None or (self.folder and self.load()):
            return "finished"
        return "interrupted" if self.folder and checkpoints_in(self.folder) else "new"

    @cached_property
    def stream(self):
        """The stream of tasks."""
        return make_stream(self.config)

    @cached_property
    def learner(self):
        """The learner after the last task, ready to predict."""
        return load(self.folder, method(self.config.method).learner)

    @cached_property
    def images(self):
        """The images in the figures of a generative model, by name; None for other runs."""
        if not self.config.generative:
            return None
        try:
            return checkpoints.read_npz(self.folder / IMAGES)
        except (OSError, ValueError) as error:
            raise UserError(f"figures: {error}") from error

    def new_learner(self):
        """Return a new learner of this configuration, before its first task.

        Returns
        -------
        learner : Learner
            An instance of the configured method; on a blended stream, a
            :class:`ibpcl.experiments.blended.Blended` with one inside.

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
        made = learner(config.settings, config.seed, config.compute)
        return Blended(made, self.stream, config) if config.stream == "blended" else made

    def load(self, strict=False):
        """Read the results from the folder, if it holds this run and the run is finished.

        Parameters
        ----------
        strict : bool
            Whether a damaged file is an error. If not, a warning reports it, and the run counts as
            unfinished.

        Returns
        -------
        loaded : bool
            Whether ``result`` and ``history`` are set now.

        Raises
        ------
        UserError
            If ``strict``, and a file is damaged or belongs to another run.
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
                raise UserError(f"{error}; run it again to repair it") from error
            warnings.warn(f"{error}; the run starts again", stacklevel=2)
            return False
        self.result = result
        self.history = history
        self.was_finished = True
        return True

    def learn(self, progress=None, on_task=None, fresh=False, on_resume=None):
        """Learn the tasks that are not learned yet, measure, and write the files.

        Parameters
        ----------
        progress : bool or None
            Whether to show progress bars; None shows them on a terminal only.
        on_task : callable, optional
            Called with a :class:`Report` after every task, also for tasks from a checkpoint.
        fresh : bool
            Whether to start again even if the folder has a checkpoint of this run.
        on_resume : callable, optional
            Called with the number of tasks that the checkpoint holds, if the run continues from
            one.
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
            # A resumed run began in an earlier process.
            start = journal.began
            if journal.done and on_resume is not None:
                on_resume(len(journal.done))
        finished_tasks = []
        for done in self._tasks(learner, progress, journal):
            finished_tasks.append(done)
            if on_task is not None:
                on_task(Report(done, _density(learner, done.task), seen.names))
        found = {}
        if isinstance(learner, Blended):
            found["blended"] = learner.measured()
            learner = learner.learner
        self.learner = learner
        self.result = self._measured(finished_tasks, seen, progress, found)
        self.history = results.as_columns(
            [record for done in finished_tasks for record in done.history]
        )
        if self.folder is not None:
            results.write_state(self)
        self.result["seconds"]["total"] = round(time.perf_counter() - start, 3)
        if self.folder is not None:
            # This file marks a complete run, so it is written after the learner and the history,
            # and before the figures, which only show them.
            storage.write_sealed_json(self.folder / RESULT, self.result)
            forget(self.folder)

    def _tasks(self, learner, progress, journal):
        """Return an iterator that learns one task per step."""
        if self.config.generative:
            return generative.learn_stages(learner, self.stream, self.config, progress, journal)
        return learn_stream(learner, self.stream, progress, journal)

    def _measured(self, finished_tasks, seen, progress, found):
        """Return the content of ``result.json``, with what was found on a blended stream; keep the
        images of a generative model.
        """
        config = self.config
        learned = time.perf_counter()
        if config.generative:
            measured = generative.measured(
                config, finished_tasks, self.learner, self.stream, progress
            )
        else:
            measured = results.accuracies(finished_tasks)
        values = results.collect(config, finished_tasks, self.learner, measured | found)
        values |= {"image_shape": seen.image_shape, "unit_range": seen.unit_range}
        if config.generative:
            values["seconds"]["final"] = round(time.perf_counter() - learned, 3)
            self.images = generative.images_of(finished_tasks, self.stream)
        if config.measure == "R^2":
            values |= results.predictive(self.learner, self.stream)
        return values

    def figures(self):
        """Draw the figures of the run.

        Returns
        -------
        axes : dict of str to matplotlib.axes.Axes
            By name, such as ``run.figures()["history"]``.

        Raises
        ------
        UserError
            If the images of a generative model cannot be read from the folder.
        """
        stream = TerrainStream(self.config.tasks) if self.config.stream == "strips" else None
        return run_figures.figures_of(self.result, self.history, self.learner, stream, self.images)


def run(
    config,
    out=None,
    progress=None,
    on_task=None,
    force=False,
    fresh=False,
    figures=True,
    on_resume=None,
):
    """Learn the tasks of a configuration one after another, and measure the results.

    :func:`ibpcl.experiments.door.run` calls this function with the configuration of its arguments.
    A run that its folder holds already is not repeated: a finished one is loaded, an interrupted
    one continues from its last checkpoint.

    Parameters
    ----------
    config : RunConfig
        The configuration.
    out : path-like or callable, optional
        The folder for the files, or a function that chooses it for the configuration, such as
        :func:`ibpcl.experiments.folder.free_folder`. That it can be written is checked before
        training. Without it, nothing is written.
    progress : bool or None
        Whether to show progress bars on standard error; None shows them on a terminal only.
    on_task : callable, optional
        Called with a :class:`Report` after every task, also for tasks from a checkpoint.
    force : bool
        Whether to replace a run with another configuration in the folder.
    fresh : bool
        Whether to start again if the folder holds this run, finished or interrupted.
    figures : bool
        Whether to draw the run's figures into the folder and write its ``report.html``.
    on_resume : callable, optional
        Called with the number of tasks that the checkpoint holds, if the run continues from one.

    Returns
    -------
    run : Run
        The finished run. The same configuration gives the same results, except for ``seconds`` and
        ``peak_memory_mb``.

    Raises
    ------
    UserError
        If the data or the folder cannot be used, or the configuration does not fit the method.
    ibpcl.errors.TrainingError
        If training fails with these settings.
    """
    claim = contextlib.nullcontext() if out is None else claimed(out, config, force)
    with claim as folder, page.kept(folder if figures else None):
        made = Run(config, folder)
        if folder is not None and not fresh and made.load():
            # A run that was killed at its very end may have left checkpoints.
            forget(folder)
            # It may also have been killed before its figures were drawn.
            missing = not run_figures.are_drawn(folder)
        else:
            made.learn(progress, on_task, fresh, on_resume)
            missing = True
        if folder is not None and figures and missing:
            run_figures.draw(made)
    return made


def _density(learner, t):
    """Return the share of weights that a task uses in each hidden layer; None without masks."""
    return structure.density([learner.masks(t)])[0] if hasattr(learner, "masks") else None
