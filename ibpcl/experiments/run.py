"""One run: from a configuration to what was learned, in memory and as a folder of files."""

import contextlib
import time
from typing import NamedTuple

from ibpcl import storage
from ibpcl.continual.loop import Progress, learn_stream
from ibpcl.errors import UserError
from ibpcl.evaluation import structure
from ibpcl.experiments import generative, page, run_figures
from ibpcl.experiments import result as results
from ibpcl.experiments.config import as_table
from ibpcl.experiments.finished_runs import Run, finished
from ibpcl.experiments.folder import RESULT, begin, claimed
from ibpcl.experiments.journal import RunJournal, forget
from ibpcl.experiments.streams import make_stream, survey
from ibpcl.methods import method


class Report(NamedTuple):
    """What is known right after a task."""

    progress: Progress
    # share of the hidden weights in use; None without masks
    mask_density: float | None
    names: tuple[str, ...]  # of all tasks of the stream


def make_learner(config):
    """Return the learner of a configuration, before its first task.

    Raises
    ------
    UserError
        If the tasks are regressions and the method has no predictive intervals.
    """
    learner = method(config.method).learner
    if config.measure == "R^2" and not hasattr(learner, "predict_with_uncertainty"):
        raise UserError(
            f"method {config.method} does not do regression; experiment {config.experiment} needs "
            "one that does, such as npbcl"
        )
    return learner(config.settings, config.seed, config.backend)


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
    start = time.perf_counter()
    with (
        contextlib.nullcontext() if out is None else claimed(out, config, force) as folder,
        page.kept(folder if figures else None),
    ):
        if folder is not None and not fresh and (found := finished(folder, config)) is not None:
            # checkpoints of a run that was killed at its very end
            forget(folder)
            if figures and not run_figures.are_drawn(folder):
                # the run ended while they were drawn, or without them
                run_figures.draw(found)
            return found
        stream = make_stream(config)
        seen = survey(stream)
        learner = make_learner(config)
        progresses = []
        journal = None
        if folder is not None:
            begin(folder, config, fresh)
            journal = RunJournal(
                folder, as_table(config), generative.Stage if config.generative else Progress, start
            )
            journal.restore(learner)
            # a resumed run began in an earlier process
            start = journal.began
        tasks = (
            generative.learn_stages(learner, stream, config, progress, journal)
            if config.generative
            else learn_stream(learner, stream, progress, journal)
        )
        for done in tasks:
            progresses.append(done)
            if on_task is not None:
                density = (
                    structure.density([learner.masks(done.task)])[0]
                    if hasattr(learner, "masks")
                    else None
                )
                on_task(Report(done, density, seen.names))
        learned = time.perf_counter()
        measured = (
            generative.measured(config, progresses, learner, stream, progress)
            if config.generative
            else results.accuracies(progresses)
        )
        values = results.collect(config, progresses, learner, measured) | {
            "image_shape": seen.image_shape,
            "unit_range": seen.unit_range,
        }
        if config.generative:
            values["seconds"]["final"] = round(time.perf_counter() - learned, 3)
        if config.measure == "R^2":
            values |= results.predictive(learner, stream)
        images = generative.images_of(progresses, stream) if config.generative else None
        history = [record for done in progresses for record in done.history]
        done = Run(config, values, results.as_columns(history), folder, learner, images)
        if folder is not None:
            results.write_state(done)
        values["seconds"]["total"] = round(time.perf_counter() - start, 3)
        if folder is not None:
            # It stands for a complete run: after the learner and the history, before all that only
            # shows them.
            storage.write_sealed_json(folder / RESULT, values)
            # nothing is left to continue
            forget(folder)
            if figures:
                run_figures.draw(done)
    return done
