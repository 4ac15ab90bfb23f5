"""Measures for the paper's tables and figures, each computed from a finished cell.

The argument ``m`` is always an :class:`ibpcl.experiments.cells.Measured` cell. As in
:mod:`ibpcl.experiments.findings`, results are in percent or points, and NaN if they cannot be
measured.
"""

import math
from dataclasses import replace
from functools import cache, partial

import numpy as np

from ibpcl import storage
from ibpcl.data import registry
from ibpcl.data.overlap import blank, duplicates_of_training, rows_of
from ibpcl.data.tasks import CONSECUTIVE_PAIRS
from ibpcl.evaluation import linear_probe, metrics, structure
from ibpcl.experiments.findings import learner, matrix
from ibpcl.experiments.footprint import untrained
from ibpcl.experiments.journal import HISTORY
from ibpcl.experiments.streams import SPLIT, make_stream
from ibpcl.methods import method
from ibpcl.noise import Key, generator

# The number of unseen tasks on which forward transfer is measured.
FURTHER = 3
# Tasks that are learned before the first further one, also where a run learns fewer.
KEPT = {"split": 3, "permuted": 5}
# Results of probe_accuracy, and of _pixels, which all methods share.
_PROBED = {}
_PIXELS = {}


def accuracy_over_pairs(m):
    """Return Acc, the mean accuracy over time and tasks, in percent.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    acc : float
    """
    return 100 * metrics.mean_accuracy_over_pairs(matrix(m))


def epochs(m):
    """Return the number of epochs per task, averaged over tasks, counted as in :func:`steps`.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    epochs : float
    """
    return len(_steps(m)) / m.cell.config.tasks


def steps(m):
    """Return the optimizer's steps in all tasks.

    For RCL, the steps of all networks that it tries count. Steps on coresets do not count.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    steps : int
    """
    return int(_steps(m).sum())


def coreset_points(m):
    """Return the number of each task's examples in the coresets after the last task, (T,).

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    points : list of int
    """
    state = learner(m).state()
    return [len(state.get(f"memory.x{t}", ())) for t in range(m.cell.config.tasks)]


def _steps(m):
    """Return the number of steps of every epoch."""
    history = storage.read_csv(m.cell.folder / HISTORY)
    state = learner(m).state()
    # The history contains only the network that RCL chose.
    tried = np.ones(m.cell.config.tasks, int)
    for t in range(m.cell.config.tasks):
        if f"memory.trials{t}" in state:
            tried[t] = len(np.unique(state[f"memory.trials{t}"][:, :-1], axis=0))
    return np.repeat(history["steps"], tried[history["task"]])


def train_seconds(m):
    """Return the training time in seconds: the number of tasks times the median task's time.

    The median ignores pauses of the machine.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    seconds : float
    """
    tasks = m.values["seconds"]["train_per_task"]
    return len(tasks) * float(np.median(tasks))


def curve(m):
    """Return the mean accuracy on the tasks so far after each task, in percent, shape (T,).

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    accuracies : ndarray, shape (T,)
    """
    return 100 * metrics.average_accuracy_so_far(matrix(m))


def masks(m):
    """Return the masks of all tasks: a list of tuples with one boolean (D, K) array per layer.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    masks : list of tuple of ndarray
    """
    learned = learner(m)
    return [learned.masks(t) for t in range(m.cell.config.tasks)]


def has_masks(m):
    """Return whether the method has masks.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    has_masks : bool
    """
    return m.values["mask_density"] is not None


def mask_known(row):
    """Return the label of a row for a measurement with the task of each test image known.

    Parameters
    ----------
    row : ibpcl.experiments.benchmarks.Row
        The row of a method with a mask per task.

    Returns
    -------
    label : str
    """
    return f"{row.label}, mask known"


def accuracy_without_repeats(m):
    """Return the final accuracy without blank test images and without those seen in training.

    Mean over tasks, in percent.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    accuracy : float
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
    """Return how many test images occur in training, and how many are blank.

    Parameters
    ----------
    config : ibpcl.experiments.config.RunConfig
        Names the data set and its folder.

    Returns
    -------
    duplicates, blank : int
    """
    dataset = registry.load(config.dataset, config.data_dir)
    return int(duplicates_of_training(dataset).sum()), int(blank(dataset).sum())


def untrained_accuracy(m):
    """Return FWT, the accuracy on further tasks whose heads were never trained, in percent.

    After its last task, the learner is given further tasks of the same stream with all epochs set
    to 0, so it makes a head for each task and learns nothing. Masks, which start empty with the log
    link, are all open. NaN if the stream has no further tasks, or if the method cannot do this.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    fwt : float
    """
    config = m.cell.config
    if config.stream != "permuted":
        return math.nan
    settings = untrained(config.settings)
    if settings == config.settings:
        return math.nan
    # With more trials, RCL would choose the best of several random heads.
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


def probe_accuracy(m, examples):
    """Return the accuracy of a linear classifier on further tasks of the stream, in percent.

    The classifier is trained on the representation (:mod:`ibpcl.evaluation.linear_probe`) of at
    most ``examples`` training images of a task that the learner has not seen. Mean over up to
    :data:`FURTHER` such tasks, which are the same after any number of tasks up to
    :data:`KEPT`.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        The cell.
    examples : int
        The largest number of training images per task.

    Returns
    -------
    learned : float
        On the representation of the learner after its last task.
    untrained : float
        On that of the same method with all epochs set to 0, after one task; NPBCL's masks are open.
    same_masks : float
        The same with the masks of the learner, so that only the values of the weights differ. Equal
        to ``untrained`` for a method without masks.
    pixels : float
        On the inputs themselves.
    """
    key = (m.cell.folder, examples)
    # A target computes its tables again whenever it writes what it has so far.
    if key not in _PROBED:
        _PROBED[key] = _probe_accuracy(m, examples)
    return _PROBED[key]


def _probe_accuracy(m, examples):
    config = m.cell.config
    first, last = _further(config)
    settings = untrained(config.settings)
    if first == last or settings == config.settings:
        return (math.nan,) * 4
    stream = make_stream(replace(config, tasks=last))
    if hasattr(settings, "trials"):
        settings = replace(settings, trials=1)
    idle = method(config.method).learner(settings, config.seed, config.backend)
    idle.learn(stream[0], progress=False)
    learned = learner(m)
    masks = linear_probe.open_weights(learned)
    # A layer that has grown has no untrained twin of the same size.
    fits = bool(masks) and all(
        masks[name].shape == mask.shape for name, mask in linear_probe.open_weights(idle).items()
    )
    networks = (
        partial(linear_probe.representation, learned),
        partial(linear_probe.representation, idle),
        partial(linear_probe.representation, idle, masks=masks if fits else None),
    )
    accuracies = [
        (
            *(_probed(stream[t], t, examples, features) for features in networks),
            _pixels(config, t, examples),
        )
        for t in range(first, last)
    ]
    return tuple(100 * float(value) for value in np.mean(accuracies, axis=0))


def _further(config):
    """Return the range of the tasks after those of a run on which a classifier is trained."""
    if config.stream == "permuted":
        first = max(config.tasks, KEPT["permuted"])
        return first, first + FURTHER
    last = len(CONSECUTIVE_PAIRS) if config.stream in SPLIT else config.tasks
    return min(last, max(config.tasks, KEPT["split"])), last


def _probed(task, t, examples, features):
    """Return the test accuracy of a linear classifier on ``features(x)`` of a task."""
    # The same images for every method and seed; fewer are the first of more.
    rows = generator(Key(0, t, 0, 0)).permutation(len(task.x_train))[:examples]
    return linear_probe.accuracy(
        features(task.x_train[rows]),
        task.y_train[rows],
        features(task.x_test),
        task.y_test,
        task.classes,
    )


def _pixels(config, t, examples):
    """Return the test accuracy of a linear classifier on the inputs of a task."""
    order = config.seed if config.shuffled else None
    key = (config.dataset, config.stream, config.data_seed, config.validation, order)
    limits = (config.train_limit, config.test_limit, config.data_dir)
    if (*key, *limits, t, examples) not in _PIXELS:
        task = make_stream(replace(config, tasks=t + 1))[t]
        _PIXELS[*key, *limits, t, examples] = _probed(task, t, examples, lambda x: x)
    return _PIXELS[*key, *limits, t, examples]


def used_by_task(m):
    """Return the share of the hidden weights that each task uses, in percent, shape (T,).

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    shares : ndarray, shape (T,)
    """
    return 100 * structure.density(masks(m))


def filled(m):
    """Return the share of the hidden weights in use after each task, in percent, shape (T,).

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    shares : ndarray, shape (T,)
    """
    return 100 * np.array(m.values["share_used"], float)


def new_in_last(m):
    """Return the share of the last task's weights that no earlier task uses, in percent.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A cell of a method with masks.

    Returns
    -------
    share : float
        In percent.
    """
    return 100 * (1 - float(np.array(m.values["sharing_with_earlier"], float)[-1]))


def of_codes(m):
    """Return which masked layers compute the codes of an autoencoder.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A cell of an autoencoder with masks.

    Returns
    -------
    of_codes : ndarray of bool, shape (L,)
        One per masked layer.
    """
    network = learner(m).context.network_of(0)
    return np.array([name in ("mean", "scale") for name in network.masked])


def pairwise_sharing(m):
    """Return the share of a task's weights that one earlier task uses too, in percent.

    Mean over all pairs of a task and an earlier one.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    share : float
        NaN for a single task.
    """
    S = np.array(m.values["sharing"], float)
    return 100 * float(S[np.tril_indices(len(S), -1)].mean()) if len(S) > 1 else math.nan


def pairwise_chance(m):
    """Return :func:`pairwise_sharing` for independent masks of the same densities, in percent.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    share : float
        NaN for a single task.
    """
    S = structure.chance_sharing(masks(m))
    return 100 * float(S[np.tril_indices(len(S), -1)].mean()) if len(S) > 1 else math.nan


def sharing_with_earlier(m):
    """Return the share of a task's weights that any earlier task uses, in percent.

    Mean over all tasks except the first.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    share : float
        NaN for a single task.
    """
    shares = np.array(m.values["sharing_with_earlier"], float)[1:]
    return 100 * float(shares.mean()) if shares.size else math.nan


def chance_with_earlier(m):
    """Return :func:`sharing_with_earlier` for independent masks, in percent.

    It equals the share of the network that earlier tasks use.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    share : float
        NaN for a single task.
    """
    return float(filled(m)[:-1].mean()) if len(filled(m)) > 1 else math.nan


def columns_used(m):
    """Return the columns of the first layer that each task uses.

    A task uses a column, which is a hidden unit, if its mask has a weight there.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A cell of a method with masks.

    Returns
    -------
    shares : ndarray, shape (T,)
        In percent of the columns.
    """
    return np.array([100 * float(layers[0].any(axis=0).mean()) for layers in masks(m)])


def first_columns(m):
    """Return the share of each task's weights in the first tenth of the columns.

    Ten percent means that the order of the columns makes no difference.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A cell of a method with masks.

    Returns
    -------
    shares : ndarray, shape (T,)
        In percent of the weights that the task uses in the first layer.
    """
    shares = []
    for layers in masks(m):
        counts = layers[0].sum(axis=0)
        first = math.ceil(len(counts) / 10)
        shares.append(100 * float(counts[:first].sum() / max(counts.sum(), 1)))
    return np.array(shares)


def image_shape(m):
    """Return height and width of the images, or None.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    shape : tuple of int or None
    """
    return make_stream(m.cell.config)[0].image_shape


def mean_pixels(m):
    """Return the mean of each input over each task's training examples, a list of (D,) arrays.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    means : list of ndarray, shape (D,)
    """
    stream = make_stream(m.cell.config)
    return [stream[t].x_train.mean(axis=0) for t in range(len(stream))]


def on_pixels(m):
    """Return the first layer's density on dead and on live pixels, and its pixel correlation.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    dead, live : float
        Percent, means over tasks; see :func:`structure.density_dead_and_live`.
    correlation : float
        Mean over tasks; see :func:`structure.pixel_correlation`.
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
    """Return the mean of the values that are not NaN, or NaN if all are.

    Parameters
    ----------
    values : sequence of float
        May contain NaN.

    Returns
    -------
    mean : float
    """
    finite = [value for value in values if not math.isnan(value)]
    return float(np.mean(finite)) if finite else math.nan


def units(m):
    """Return the units of the first hidden layer at the end, and the number that tasks use.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    units, used : int
        The number of units, and of those that at least one task uses.
    """
    layers = [task[0] for task in masks(m)]
    used = np.zeros(layers[-1].shape[1], bool)
    for layer in layers:
        used[: layer.shape[1]] |= layer.any(axis=0)
    return len(used), int(used.sum())
