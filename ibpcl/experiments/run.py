"""One run: from a configuration to what was learned, in memory and as a folder of files."""

import contextlib
import time
from typing import NamedTuple

from ibpcl import storage
from ibpcl.continual.loop import Progress, learn_stream
from ibpcl.continual.task import check_width
from ibpcl.data import registry
from ibpcl.data.subsets import limited, limited_dataset, with_validation
from ibpcl.data.tasks import CONSECUTIVE_PAIRS, ClassStream, PermutedStream, SplitStream
from ibpcl.data.terrain import TerrainStream
from ibpcl.errors import UserError
from ibpcl.evaluation import structure
from ibpcl.experiments import generative, generative_figures
from ibpcl.experiments import result as results
from ibpcl.experiments.config import as_table
from ibpcl.experiments.folder import RESULT, begin, claimed
from ibpcl.experiments.journal import RunJournal, forget
from ibpcl.experiments.runs import Run, finished
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


def make_stream(config):
    """Return the stream of tasks of a configuration.

    Raises
    ------
    UserError
        If a file is missing or damaged, or there are not so many tasks.
    """
    if config.stream == "split" and config.tasks > len(CONSECUTIVE_PAIRS):
        raise UserError(f"tasks must be at most {len(CONSECUTIVE_PAIRS)} with stream 'split', got {config.tasks}")
    try:
        if config.stream == "strips":
            return TerrainStream(config.tasks, config.data_seed, config.train_limit, config.test_limit,
                                 config.validation)
        dataset = registry.load(config.dataset, config.data_dir, config.data_seed)
        if config.generative:
            stream = ClassStream(dataset, _first_classes(dataset, config.tasks))
        elif config.stream == "split":
            stream = SplitStream(dataset, CONSECUTIVE_PAIRS[:config.tasks])
        else:
            if config.validation is None:                    # else the limits come after the cut
                dataset = limited_dataset(dataset, config.train_limit, config.test_limit)
            stream = PermutedStream(dataset, config.tasks, config.data_seed)
        if config.validation is not None:
            stream = with_validation(stream, config.validation, config.data_seed)
        return limited(stream, config.train_limit, config.test_limit)
    except ValueError as error:                              # DataError is one
        raise UserError(str(error)) from error


def _first_classes(dataset, tasks):
    if tasks > len(dataset.class_names):
        raise UserError(f"tasks must be at most {len(dataset.class_names)} with stream 'classes', got {tasks}")
    return tuple(range(tasks))


def survey(stream):
    """Build every task of a stream once, before any time is spent on learning the good ones.

    Returns
    -------
    names : tuple of str
        Of the tasks.
    image_shape : (int, int) or None
        Of the first task's images.

    Raises
    ------
    UserError
        If a task cannot be learned: pixels that are not finite, labels out of range, no examples, another width.
    """
    try:
        first = stream[0]
        names = [first.name]
        for t in range(1, len(stream)):
            task = stream[t]
            check_width(task, first.inputs, first.name)
            names.append(task.name)
    except (TypeError, ValueError) as error:                 # what Task refuses
        raise UserError(str(error)) from error
    return tuple(names), first.image_shape


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
        Draw the run's figures into the folder.

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
    with contextlib.nullcontext() if out is None else claimed(out, config, force) as folder:
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
        if config.measure == "R^2":
            values |= results.predictive(learner, stream)
        if folder is not None:
            results.write_state(folder, config, history, learner)
            if config.generative:
                generative_figures.write_pictures(folder, progresses, stream)
                generative_figures.draw(folder, values, history, masks, image_shape, progresses, stream)
            elif figures:
                results.draw(folder, values, history, masks, image_shape, learner, stream)
        values["seconds"]["total"] = round(time.perf_counter() - start, 3)
        if folder is not None:
            storage.write_sealed_json(folder / RESULT, values)               # last: it stands for a complete run
            forget(folder)                                                   # there is nothing to go on with
    return Run(config, values, history, folder, learner)
