"""The stream of tasks of a configuration."""

from ibpcl.continual.task import check_width
from ibpcl.data import registry
from ibpcl.data.own import read_tasks
from ibpcl.data.subsets import limited, limited_dataset, resplit, with_validation
from ibpcl.data.tasks import CONSECUTIVE_PAIRS, ClassStream, PermutedStream, SplitStream
from ibpcl.data.terrain import TerrainStream
from ibpcl.errors import UserError
from ibpcl.experiments.config import OWN

SPLIT = ("split", "resplit")                                 # two classes a task; of images as published, or cut anew


def make_stream(config):
    """Return the stream of tasks of a configuration.

    Raises
    ------
    UserError
        If a file is missing or damaged, or there are not so many tasks.
    """
    if config.stream in SPLIT and config.tasks > len(CONSECUTIVE_PAIRS):
        raise UserError(f"tasks must be at most {len(CONSECUTIVE_PAIRS)} with stream {config.stream!r}, got "
                        f"{config.tasks}")
    try:
        if config.dataset == OWN:
            stream = _own_stream(config)
            if config.validation is not None:
                stream = with_validation(stream, config.validation, config.data_seed)
            return limited(stream, config.train_limit, config.test_limit)
        if config.stream == "strips":
            return TerrainStream(config.tasks, config.data_seed, config.train_limit, config.test_limit,
                                 config.validation)
        dataset = registry.load(config.dataset, config.data_dir, config.data_seed)
        if config.generative:
            stream = ClassStream(dataset, _first_classes(dataset, config.tasks))
        elif config.stream in SPLIT:
            dataset = resplit(dataset, seed=config.data_seed) if config.stream == "resplit" else dataset
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


def _own_stream(config):
    """Return the own data of a configuration, if they are those that it was made with."""
    if config.own is not None:
        return config.own
    if config.data is None:
        raise UserError("the tasks of this run came from Python; it goes on with ibpcl.run(tasks, out=...), tasks as "
                        "they were")
    stream = read_tasks(config.data, config.classes)
    if stream.sha256 != config.data_sha256:
        raise UserError(f"data: {config.data} holds other data than the run was made with (SHA-256 {stream.sha256}, "
                        f"not {config.data_sha256})")
    return stream


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
