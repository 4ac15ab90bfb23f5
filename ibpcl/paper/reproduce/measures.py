"""The numbers that only the paper's tables and figures have, each computed from a cell that has
been run.

As in :mod:`ibpcl.experiments.findings`: percent or points, NaN for what cannot be measured.
"""

import math
from dataclasses import replace
from functools import cache

import numpy as np

from ibpcl import storage
from ibpcl.data import registry
from ibpcl.data.overlap import blank, duplicates_of_training, rows_of
from ibpcl.evaluation import metrics, structure
from ibpcl.experiments.findings import learner, matrix
from ibpcl.experiments.footprint import untrained
from ibpcl.experiments.journal import HISTORY
from ibpcl.experiments.streams import make_stream
from ibpcl.methods import method

# unseen tasks on which forward transfer is measured
FURTHER = 3


def accuracy_over_pairs(m):
    """Return the mean accuracy over time and tasks, percent: see
    :func:`metrics.mean_accuracy_over_pairs`.
    """
    return 100 * metrics.mean_accuracy_over_pairs(matrix(m))


def epochs(m):
    """Return how often a task's examples were passed over, the mean over tasks: see
    :func:`steps`.
    """
    return len(_steps(m)) / m.cell.config.tasks


def steps(m):
    """Return the optimizer's steps in all tasks, of all networks that RCL tries, but not those on
    coresets.
    """
    return int(_steps(m).sum())


def _steps(m):
    """Return the steps of every epoch."""
    history = storage.read_csv(m.cell.folder / HISTORY)
    state = learner(m).state()
    # the history has the network that is kept
    tried = np.ones(m.cell.config.tasks, int)
    for t in range(m.cell.config.tasks):
        if f"memory.trials{t}" in state:
            tried[t] = len(np.unique(state[f"memory.trials{t}"][:, :-1], axis=0))
    return np.repeat(history["steps"], tried[history["task"]])


def train_seconds(m):
    """Return the seconds of training: the tasks times the median task's, which a pause of the
    machine does not move.
    """
    tasks = m.values["seconds"]["train_per_task"]
    return len(tasks) * float(np.median(tasks))


def curve(m):
    """Return the mean accuracy on the tasks so far after each task, percent, shape (T,)."""
    return 100 * metrics.average_accuracy_so_far(matrix(m))


def masks(m):
    """Return the masks of all tasks: for each a tuple of boolean arrays (D, K), one a hidden
    layer.
    """
    learned = learner(m)
    return [learned.masks(t) for t in range(m.cell.config.tasks)]


def has_masks(m):
    """Return whether the method has masks."""
    return m.values["mask_density"] is not None


def accuracy_without_repeats(m):
    """Return the final accuracy without test images that are blank or occur in training, percent;
    mean over tasks.
    """
    config = m.cell.config
    learned = learner(m)
    stream = make_stream(config)
    out = _repeated_images(config.dataset, config.data_dir)
    accuracies = []
    for t in range(len(stream)):
        task = stream[t]
        kept = ~rows_of(task.x_test, out)
        accuracies.append(
            metrics.accuracy(learned.predict(task.x_test, t)[kept], task.y_test[kept])
        )
    return 100 * float(np.mean(accuracies))


@cache
def _repeated_images(name, data_dir):
    dataset = registry.load(name, data_dir)
    return dataset.test_images[duplicates_of_training(dataset) | blank(dataset)]


def count_repeats(config):
    """Return how many test images occur in training, and how many are blank."""
    dataset = registry.load(config.dataset, config.data_dir)
    return int(duplicates_of_training(dataset).sum()), int(blank(dataset).sum())


def untrained_accuracy(m):
    """Return the accuracy on further tasks whose heads were never trained, percent: forward
    transfer as defined.

    After its last task the learner is given further tasks of the same stream with all its epochs
    set to 0, so that it makes a head for each and learns nothing; masks, which start empty under
    the log link, are all open.  NaN where there are no further tasks, or where the method cannot.
    """
    config = m.cell.config
    if config.stream != "permuted":
        return math.nan
    settings = untrained(config.settings)
    if settings == config.settings:
        return math.nan
    # else RCL would choose the best of several random heads
    if hasattr(settings, "trials"):
        settings = replace(settings, trials=1)
    idle = method(config.method).learner(settings, config.seed, config.backend)
    idle.load_state(learner(m).state())
    stream = make_stream(replace(config, tasks=config.tasks + FURTHER))
    accuracies = []
    for t in range(config.tasks, len(stream)):
        task = stream[t]
        idle.learn(task, progress=False)
        accuracies.append(metrics.accuracy(idle.predict(task.x_test, t), task.y_test))
    return 100 * float(np.mean(accuracies))


def used_by_task(m):
    """Return the share of the hidden weights that each task uses, percent, shape (T,)."""
    return 100 * structure.density(masks(m))


def filled(m):
    """Return the share of the hidden weights in use after each task, percent, shape (T,)."""
    return 100 * np.array(m.values["share_used"], float)


def pairwise_sharing(m):
    """Return the share of a task's weights that one earlier task uses too, percent: the mean over
    all pairs.
    """
    S = np.array(m.values["sharing"], float)
    return 100 * float(S[np.tril_indices(len(S), -1)].mean()) if len(S) > 1 else math.nan


def pairwise_chance(m):
    """Return the same for masks of these densities that lie independently of each other,
    percent.
    """
    S = structure.chance_sharing(masks(m))
    return 100 * float(S[np.tril_indices(len(S), -1)].mean()) if len(S) > 1 else math.nan


def sharing_with_earlier(m):
    """Return the share of a task's weights that any earlier task uses, percent: the mean over all
    tasks but one.
    """
    shares = np.array(m.values["sharing_with_earlier"], float)[1:]
    return 100 * float(shares.mean()) if shares.size else math.nan


def chance_with_earlier(m):
    """Return the same for independent masks, percent: what earlier tasks have filled."""
    return float(filled(m)[:-1].mean()) if len(filled(m)) > 1 else math.nan


def image_shape(m):
    """Return height and width of the images, or None."""
    return make_stream(m.cell.config)[0].image_shape


def mean_pixels(m):
    """Return the mean of each input over the training examples of each task, a list of arrays
    (D,).
    """
    stream = make_stream(m.cell.config)
    return [stream[t].x_train.mean(axis=0) for t in range(len(stream))]


def on_pixels(m):
    """Return density on dead pixels, on live pixels (percent), and correlation with the mean pixel;
    means over tasks.

    Of the first layer.  See :func:`structure.density_dead_and_live`,
    :func:`structure.pixel_correlation`.
    """
    tasks = [
        (
            structure.density_dead_and_live(layers[0], mean),
            structure.pixel_correlation(layers[0], mean),
        )
        for layers, mean in zip(masks(m), mean_pixels(m), strict=True)
    ]
    dead, live = (mean_of([densities[i] for densities, _ in tasks]) for i in range(2))
    return 100 * dead, 100 * live, mean_of([correlation for _, correlation in tasks])


def mean_of(values):
    """Return the mean of the values that are there; NaN if none is."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def units(m):
    """Return the units of the first hidden layer at the end, and how many of them some task
    uses.
    """
    layers = [task[0] for task in masks(m)]
    used = np.zeros(layers[-1].shape[1], bool)
    for layer in layers:
        used[: layer.shape[1]] |= layer.any(axis=0)
    return len(used), int(used.sum())
