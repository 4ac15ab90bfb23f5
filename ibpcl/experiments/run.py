"""One run: from a configuration to what was learned, in memory and as a folder of files."""

import contextlib
import time
from typing import NamedTuple

from ibpcl import storage
from ibpcl.continual.loop import Progress, learn_stream
from ibpcl.errors import UserError
from ibpcl.evaluation import structure
from ibpcl.experiments import generative, generative_figures, page
from ibpcl.experiments import result as results
from ibpcl.experiments.config import as_table
from ibpcl.experiments.folder import RESULT, begin, claimed
from ibpcl.experiments.journal import RunJournal, forget
from ibpcl.experiments.runs import Run, finished
from ibpcl.experiments.streams import make_stream, survey
from ibpcl.methods import method


class Report(NamedTuple):
    """What is known right after a task.

    Attributes
    ----------
    progress : ibpcl.continual.loop.Progress
        Of the loop.
    mask_density : float or None
        The share of the hidden weights that the task uses, in 0..1; None for a method without masks.
    names : tuple of str
        Of all tasks of the stream.
    """

    progress: Progress
    mask_density: float | None
    names: tuple[str, ...]


def make_learner(config):
    """Return the learner of a configuration, before its first task.

    Raises
    ------
    UserError
        If the tasks are regressions and the method has no predictive intervals.
    """
    learner = method(config.method).learner
    if config.measure == "R^2" and not hasattr(learner, "predict_with_uncertainty"):
        raise UserError(f"method {config.method} does not do regression; experiment {config.experiment} needs one "
                        "that does, such as npbcl")
    return learner(config.settings, config.seed, config.backend)


def run(config, out=None, progress=None, on_task=None, force=False, fresh=False, figures=True):
    """Learn the tasks of a configuration one after another and measure what was learned and kept.

    A run that its folder holds already is not made again: a finished one is returned as it is, an interrupted one goes
    on from its last checkpoint.

    Parameters
    ----------
    config : RunConfig
        From :func:`ibpcl.experiments.config.configure`.
    out : path-like or callable, optional
        Folder for the files, or what chooses one for the configuration, such as
        :func:`ibpcl.experiments.folder.free_folder`; without it nothing is written.  That it can be written is made
        sure before the training.
    progress : bool, optional
        Show progress bars on standard error: yes, no, or (None) on a terminal only.
    on_task : callable, optional
        Called with a :class:`Report` after every task.
    force : bool
        Let the files replace those of a run with another configuration.
    fresh : bool
        Begin again, whatever the folder holds of the same run.
    figures : bool
        Draw the run's figures into the folder, and write its report, ``report.html``.

    Returns
    -------
    run : Run
        The same for the same configuration, but for ``seconds`` and ``peak_memory_mb``.

    Raises
    ------
    UserError
        If the data or the folder cannot be used.
    ibpcl.errors.NonFiniteError
        If the objective stops being finite.
    """
    start = time.perf_counter()
    with (contextlib.nullcontext() if out is None else claimed(out, config, force) as folder,
          page.kept(folder if figures else None)):
        if folder is not None and not fresh and (found := finished(folder, config)) is not None:
            forget(folder)                                   # checkpoints of a run that was killed at its very end
            return found
        stream = make_stream(config)
        names, image_shape = survey(stream)
        learner, progresses = make_learner(config), []
        journal = None
        if folder is not None:
            begin(folder, config, fresh)
            journal = RunJournal(folder, as_table(config), generative.Stage if config.generative else Progress, start)
            journal.restore(learner)
            start = journal.began                            # a run that goes on began in an earlier process
        tasks = (generative.learn_stages(learner, stream, config, progress, journal) if config.generative
                 else learn_stream(learner, stream, progress, journal))
        for done in tasks:
            progresses.append(done)
            if on_task is not None:
                density = structure.density([learner.masks(done.task)])[0] if hasattr(learner, "masks") else None
                on_task(Report(done, density, names))
        history, masks = results.columns(progresses), results.masks_of(learner, len(names))
        values = (generative.collect(config, progresses, learner, stream, progress) if config.generative
                  else results.collect(config, progresses, learner))
        values["image_shape"] = image_shape
        if config.measure == "R^2":
            values |= results.predictive(learner, stream)
        if folder is not None:
            results.write_state(folder, config, history, learner)
            if config.generative:
                generative_figures.write_pictures(folder, progresses, stream)
                generative_figures.draw(folder, values, history, masks, image_shape, progresses, stream)
            elif figures:
                results.draw(folder, values, history, learner, stream)
        values["seconds"]["total"] = round(time.perf_counter() - start, 3)
        if folder is not None:
            storage.write_sealed_json(folder / RESULT, values)               # last: it stands for a complete run
            forget(folder)                                                   # there is nothing to go on with
    return Run(config, values, history, folder, learner)
