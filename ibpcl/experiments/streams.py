"""Streams: the sequence of tasks of a configuration."""

from typing import NamedTuple

import numpy as np

from ibpcl.data import registry
from ibpcl.data.blended import BlendedStream
from ibpcl.data.own import read_tasks
from ibpcl.data.pixels import in_unit_range
from ibpcl.data.subsets import limited, limited_dataset, resplit, with_validation
from ibpcl.data.tasks import (
    CONSECUTIVE_FIVES,
    CONSECUTIVE_PAIRS,
    ClassStream,
    IncrementalStream,
    PermutedStream,
    SplitStream,
)
from ibpcl.data.terrain import TerrainStream
from ibpcl.errors import UserError
from ibpcl.experiments.config import INCREMENTAL, OWN

# Streams with two classes per task: images split as published, or split again.
SPLIT = ("split", "resplit", "incremental")


def make_stream(config):
    """Return the stream of tasks of a configuration.

    Parameters
    ----------
    config : RunConfig
        The configuration.

    Returns
    -------
    stream : sequence of Task
        The tasks; most streams make a task only when it is indexed.

    Raises
    ------
    UserError
        If a file is missing or damaged, or the data have fewer tasks.
    """
    if config.stream == "strips":
        stream = TerrainStream(config.tasks, config.data_seed, config.validation)
    else:
        stream = _own_stream(config) if config.dataset == OWN else _image_stream(config)
        if config.stream in INCREMENTAL:
            stream = IncrementalStream(stream)
        if config.validation is not None:
            stream = with_validation(stream, config.validation, config.data_seed)
    stream = limited(stream, config.train_limit, config.test_limit)
    if config.stream == "blended":
        return BlendedStream(stream, config.blend_width, config.seed)
    return stream


def _image_stream(config):
    """Return the tasks of an image set."""
    kind = config.blend_of or config.stream
    if kind in SPLIT:
        _check_number(config, len(_published(config)))
    dataset = registry.load(config.dataset, config.data_dir, config.data_seed)
    if config.generative:
        _check_number(config, len(dataset.class_names))
        return ClassStream(dataset, tuple(range(config.tasks)))
    if kind in SPLIT:
        dataset = resplit(dataset, seed=config.data_seed) if config.stream == "resplit" else dataset
        return SplitStream(dataset, groups_of(config))
    if config.validation is None:  # else the limits come after the cut
        dataset = limited_dataset(dataset, config.train_limit, config.test_limit)
    seed = config.seed if config.shuffled else config.data_seed
    return PermutedStream(dataset, config.tasks, seed)


def _published(config):
    return CONSECUTIVE_FIVES if config.dataset == "cifar100" else CONSECUTIVE_PAIRS


def groups_of(config):
    """Return the classes of each task of a split data set.

    Parameters
    ----------
    config : RunConfig
        The configuration.

    Returns
    -------
    groups : list of tuple of int
        The published groups, in their order or in one that the seed draws. Fewer tasks are the
        first of more.
    """
    published = _published(config)
    order = np.arange(len(published))
    if config.shuffled:
        np.random.default_rng(config.seed).shuffle(order)
    return [published[t] for t in order[: config.tasks]]


def _check_number(config, most):
    if config.tasks > most:
        raise UserError(
            f"tasks must be at most {most} with stream {config.stream!r}, got {config.tasks}"
        )


def _own_stream(config):
    """Return the user's own tasks, after checking that the data are unchanged."""
    if config.own is not None:
        return config.own
    if config.data is None:
        raise UserError(
            "the tasks of this run came from Python; continue it by ibpcl.run(tasks, out=...) "
            "with the same tasks"
        )
    stream = read_tasks(config.data, config.classes)
    if stream.sha256 != config.data_sha256:
        raise UserError(
            f"data: {config.data} differs from the data of the run (SHA-256 {stream.sha256}, not "
            f"{config.data_sha256})"
        )
    return stream


class Survey(NamedTuple):
    """Properties of a stream, known before any time is spent on learning.

    Attributes
    ----------
    names : tuple of str
        The names of all tasks.
    image_shape : (int, int) or None
        Height and width of the images of the first task; None if its inputs are not images.
    unit_range : bool
        Whether the inputs of the first task are in 0..1, as scaled pixels are.
    """

    names: tuple[str, ...]
    image_shape: tuple[int, int] | None
    unit_range: bool


def survey(stream):
    """Check all tasks of a stream before training.

    Parameters
    ----------
    stream : sequence of Task
        The tasks.

    Returns
    -------
    survey : Survey
        Properties of the stream.

    Raises
    ------
    UserError
        If a task cannot be learned: inputs that are not finite, labels out of range, no examples,
        another input width than the first task, or test targets that are all equal.
    """
    try:
        first = stream[0]
        names = []
        for t in range(len(stream)):
            task = stream[t] if t else first
            if task.inputs != first.inputs:
                raise ValueError(
                    f"Task {task.name!r}: inputs have width {task.inputs}, but those of task "
                    f"{first.name!r} have width {first.inputs}; all tasks must have the same"
                )
            if task.kind == "regression" and not np.ptp(task.y_test, axis=0).any():
                raise ValueError(
                    f"the test targets ({len(task.y_test)}) of task {task.name!r} are all equal, "
                    "so R^2 is not defined; at least 2 must differ (see test_limit and validation)"
                )
            names.append(task.name)
    except (TypeError, ValueError) as error:  # raised by Task
        raise UserError(str(error)) from error
    return Survey(tuple(names), first.image_shape, in_unit_range(first.x_train))
