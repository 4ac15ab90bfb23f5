"""What the cells of a target gave, and the numbers that are computed from one of them.

Every function of a :class:`ibpcl.experiments.reproduce.cells.Measured` here returns a number, or an array, in the unit
that its table shows: percent or points.  NaN stands for what cannot be measured.
"""

import math
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from ibpcl.data import registry
from ibpcl.data.overlap import blank, duplicates_of_training, rows_of
from ibpcl.evaluation import metrics, structure
from ibpcl.experiments.reproduce.choice import Choice
from ibpcl.experiments.reproduce.tables import PERCENT, Entry
from ibpcl.experiments.run import make_stream
from ibpcl.methods import method
from ibpcl.methods.footprint import untrained

FURTHER = 3                                                  # unseen tasks on which forward transfer is measured


class Results(NamedTuple):
    """All cells of a target that could be measured, and what they were made from."""

    choice: Choice
    rows: tuple
    benchmarks: tuple
    measured: tuple

    def of(self, row, benchmark):
        """Return the cells of a row on a benchmark, a seed after another."""
        return [m for m in self.measured if m.cell.row.key == row.key and m.cell.benchmark.name == benchmark.name]

    def first(self, benchmark):
        """Return the first cell on a benchmark."""
        return next(m for m in self.measured if m.cell.benchmark.name == benchmark.name)

    def entry(self, row, benchmark, number, column, unit=PERCENT, printed=None, label=None):
        """Return the entry of a row in a column: ``number`` of each of its cells, NaN for None."""
        numbers = [number(m) for m in self.of(row, benchmark)]
        values = tuple(math.nan if value is None else float(value) for value in numbers)
        return Entry(label or row.label, column, values, unit, printed)

    def rows_on(self, benchmark):
        """Return the rows that have at least one cell on a benchmark."""
        return [row for row in self.rows if self.of(row, benchmark)]


class Summary(NamedTuple):
    """What a target has found: tables, remarks, and pictures by name (Axes, or arrays of them)."""

    tables: tuple
    notes: tuple
    pictures: dict


def matrix(m):
    """Return the accuracy matrix R (T, T), fractions, NaN where it was not measured."""
    return metrics.as_accuracy_matrix(m.values["accuracy_matrix"], "reproduce.matrix")


def final_accuracy(m):
    """Return the mean accuracy on all tasks at the end, percent."""
    return 100 * metrics.average_accuracy(matrix(m))


def accuracy_over_pairs(m):
    """Return the mean accuracy over time and tasks, percent: see :func:`metrics.mean_accuracy_over_pairs`."""
    return 100 * metrics.mean_accuracy_over_pairs(matrix(m))


def backward_transfer(m):
    """Return the backward transfer in points."""
    return 100 * metrics.backward_transfer(matrix(m))


def curve(m):
    """Return the mean accuracy on the tasks so far after each task, percent, shape (T,)."""
    return 100 * metrics.average_accuracy_so_far(matrix(m))


def learner(m):
    """Return the learner of a cell as it was after its last task."""
    return method(m.cell.config.method).learner.load(m.cell.folder / "learner.npz")


def masks(m):
    """Return the masks of all tasks: for each a tuple of boolean arrays (D, K), one a hidden layer."""
    learned = learner(m)
    return [learned.masks(t) for t in range(m.cell.config.tasks)]


def has_masks(m):
    """Say whether the method has masks."""
    return m.values["mask_density"] is not None


def epochs(found):
    """Return a remark on how long each row learned a task, if not all rows did for the same number of epochs."""
    rows = {}
    for m in found.measured:
        settings = m.cell.config.settings
        parts = [getattr(settings, name, 0) for name in ("epochs", "finetune_epochs")]
        rows.setdefault(" + ".join(str(part) for part in parts if part), {})[m.cell.row.label] = None
    if len(rows) < 2:
        return []
    told = "; ".join(f"{number}: {', '.join(labels)}" for number, labels in rows.items())
    return [f"Epochs a task (+ those of fine-tuning): {told}."]


def seconds(m):
    """Return the time of training and of testing, seconds."""
    return m.values["seconds"]["train"] + m.values["seconds"]["test"]


def stored(m):
    """Return what the method keeps after its last task, MB of 10^6 bytes: arrays, as :mod:`ibpcl.methods.footprint`."""
    return sum(array.nbytes for array in learner(m).state().values() if array.ndim) / 1e6


def accuracy_without_repeats(m):
    """Return the final accuracy without test images that are blank or occur in training, percent; mean over tasks."""
    config, learned = m.cell.config, learner(m)
    stream, out, accuracies = make_stream(config), _repeated_images(config.dataset, config.data_dir), []
    for t in range(len(stream)):
        task = stream[t]
        kept = ~rows_of(task.x_test, out)
        accuracies.append(metrics.accuracy(learned.predict(task.x_test, t)[kept], task.y_test[kept]))
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
    """Return the accuracy on further tasks whose heads were never trained, percent: forward transfer as defined.

    After its last task the learner is given further tasks of the same stream with all its epochs set to 0, so that it
    makes a head for each and learns nothing; masks, which start empty under the log link, are all open.  NaN where
    there are no further tasks, or where the method cannot.
    """
    config = m.cell.config
    if config.stream != "permuted":
        return math.nan
    settings = untrained(config.settings)
    if settings == config.settings:
        return math.nan
    if hasattr(settings, "trials"):                          # else RCL would choose the best of several random heads
        settings = replace(settings, trials=1)
    idle = method(config.method).learner(settings, config.seed, config.backend)
    idle.load_state(learner(m).state())
    stream, accuracies = make_stream(replace(config, tasks=config.tasks + FURTHER)), []
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
    """Return the share of a task's weights that one earlier task uses too, percent: the mean over all pairs."""
    S = np.array(m.values["sharing"], float)
    return 100 * float(S[np.tril_indices(len(S), -1)].mean()) if len(S) > 1 else math.nan


def pairwise_chance(m):
    """Return the same for masks of these densities that lie independently of each other, percent."""
    S = structure.chance_sharing(masks(m))
    return 100 * float(S[np.tril_indices(len(S), -1)].mean()) if len(S) > 1 else math.nan


def sharing_with_earlier(m):
    """Return the share of a task's weights that any earlier task uses, percent: the mean over all tasks but one."""
    shares = np.array(m.values["sharing_with_earlier"], float)[1:]
    return 100 * float(shares.mean()) if shares.size else math.nan


def chance_with_earlier(m):
    """Return the same for independent masks, percent: what earlier tasks have filled."""
    return float(filled(m)[:-1].mean()) if len(filled(m)) > 1 else math.nan


def image_shape(m):
    """Return height and width of the images, or None."""
    return make_stream(m.cell.config)[0].image_shape


def mean_pixels(m):
    """Return the mean of each input over the training examples of each task, a list of arrays (D,)."""
    stream = make_stream(m.cell.config)
    return [stream[t].x_train.mean(axis=0) for t in range(len(stream))]


def on_pixels(m):
    """Return density on dead pixels, on live pixels (percent), and correlation with the mean pixel; means over tasks.

    Of the first layer.  See :func:`structure.density_dead_and_live`, :func:`structure.pixel_correlation`.
    """
    tasks = [(structure.density_dead_and_live(layers[0], mean), structure.pixel_correlation(layers[0], mean))
             for layers, mean in zip(masks(m), mean_pixels(m), strict=True)]
    dead, live = (mean_of([densities[i] for densities, _ in tasks]) for i in range(2))
    return 100 * dead, 100 * live, mean_of([correlation for _, correlation in tasks])


def mean_of(values):
    """Return the mean of the values that are there; NaN if none is."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def units(m):
    """Return the units of the first hidden layer at the end, and how many of them some task uses."""
    layers = [task[0] for task in masks(m)]
    used = np.zeros(layers[-1].shape[1], bool)
    for layer in layers:
        used[:layer.shape[1]] |= layer.any(axis=0)
    return len(used), int(used.sum())
