"""What a finished run leaves: the numbers of ``result.json``, the table of its history, its learner, its figures."""

import importlib.metadata
import math
import platform
import sys
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np

import ibpcl
from ibpcl import checkpoints, storage
from ibpcl.continual.learner import class_of, form
from ibpcl.data.terrain import LINEAR, to_elevation
from ibpcl.evaluation import calibration, metrics, structure
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import Record

PACKAGES = ("numpy", "scipy", "numba", "matplotlib")
# Settings that say what the objective is, beside all whose names end in _kl_weight.
OBJECTIVE = ("mask_kl", "mask_link", "unused_prior", "beta")


TITLES = {
    "accuracy_curves": "Each task's test result, after each task", "accuracy_matrix": "Test results after each task",
    "history": "Training", "masks": "Inputs that the first layer uses", "receptive_fields": "Masks of single units",
    "sharing": "Use of the network, and what tasks share", "reliability": "Coverage of predictive intervals",
    "intervals": "A line through all strips, with recalibrated intervals",
    "likelihood_curves": "Log-likelihood of each task, after each task", "likelihood_matrix": "Log-likelihood",
    "few_labels": "Error of a classifier on codes with few labels", "samples": "Samples of each task's model",
    "reconstructions": "Reconstructions of each task's images",
}


def collect(config, progresses, learner):
    """Return the content of ``result.json``; NaN stands for what was not measured.

    Parameters
    ----------
    config : RunConfig
        Of the run.
    progresses : list of ibpcl.continual.loop.Progress
        One a task.
    learner : Learner
        After its last task.

    Returns
    -------
    values : dict
        Accuracies and shares are fractions in 0..1, times are seconds.  ``accuracy_matrix[i][j]`` is the accuracy on
        task j after training task i; ``log_likelihood[j]`` the mean log probability of the right classes of task j's
        test examples in the end (nats); ``accuracy_drop`` is, for each task, how far it ended below its value right
        after it was learned.  ``mask_density`` has a row a task and a number a hidden layer; ``share_used``,
        ``sharing`` and ``sharing_with_earlier`` count the weights of all hidden layers; all four are None for a method
        without masks.  ``elbo_weights`` say what the objective was, where a method has them: the weights of its
        divergences, what links the masks to their sticks, and what prior unused weights have; ``alpha`` is the
        concentration of each hidden layer that a next task would start from, None for a method without one.
    """
    R = progresses[-1].accuracy
    train, test = ([getattr(done, f"{part}_seconds") for done in progresses] for part in ("train", "test"))
    return {
        **head(config, [done.name for done in progresses]),
        "accuracy_matrix": R.tolist(),
        "log_likelihood": progresses[-1].log_likelihood.tolist(),
        "average_accuracy": metrics.average_accuracy(R),
        "backward_transfer": metrics.backward_transfer(R),
        "forward_transfer": metrics.forward_transfer(R),
        "accuracy_drop": metrics.accuracy_drop(R).tolist(),
        **structure_of(masks_of(learner, len(progresses))),
        "alpha": learner.alpha.tolist() if hasattr(learner, "alpha") else None,
        **tail(config, train, test),
    }


def head(config, names):
    """Return what ``result.json`` begins with: which run it is, and the names of its tasks."""
    return {**{key: getattr(config, key) for key in ("experiment", "method", "seed", "dataset", "stream")},
            "tasks": names, "measure": config.measure}


def tail(config, train, test):
    """Return what it ends with: what the objective was, times (lists of one number a task), memory, versions."""
    return {
        "elbo_weights": {f.name: getattr(config.settings, f.name) for f in fields(config.settings)
                         if f.name.endswith("_kl_weight") or f.name in OBJECTIVE},
        "seconds": {"train": round(math.fsum(train), 3), "test": round(math.fsum(test), 3), "total": None,
                    "train_per_task": [round(seconds, 3) for seconds in train],
                    "test_per_task": [round(seconds, 3) for seconds in test]},
        "peak_memory_mb": peak_memory_mb(),
        "backend": backend(config.backend).name,
        "compile_seconds": round(backend(config.backend).compile_seconds, 3),
        "versions": versions(),
    }


def predictive(learner, stream):
    """Return how well a regression's predictive intervals hold the test examples of every task, in the end.

    Parameters
    ----------
    learner : Learner
        With ``predict_with_uncertainty``, after its last task.
    stream : Stream
        Of regression tasks.

    Returns
    -------
    values : dict
        ``coverage``: the nominal ``levels``; for each task the observed shares ``as_predicted``, those ``recalibrated``
        on the other half of its test examples, and the ``scales`` that intervals need, learned from all of them; the
        number of ``examples``.  ``calibration_error`` of both, over all tasks.  ``noise_sigma``: for each task the
        noise's standard deviation, per output and in units of the targets.
    """
    shares, mended, scales, noise, examples = [], [], [], [], []
    for t in range(len(stream)):
        task = stream[t]
        prediction = learner.predict_with_uncertainty(task.x_test, t)
        arrays = (prediction.mean, prediction.sigma, task.y_test)
        shares.append(calibration.coverage(*arrays).tolist())
        mended.append(calibration.recalibrated_coverage(*arrays).tolist())
        scales.append(calibration.interval_scales(*arrays).tolist())
        # The variance of an observation is that of the mean plus the noise.
        variance = prediction.sigma.astype(float) ** 2 - prediction.model_sigma.astype(float) ** 2
        noise.append(np.sqrt(variance.mean(axis=0)).tolist())
        examples.append(len(task.y_test))
    error = {name: calibration.calibration_error(observed)
             for name, observed in (("as_predicted", shares), ("recalibrated", mended))}
    return {"coverage": {"levels": list(calibration.LEVELS), "as_predicted": shares, "recalibrated": mended,
                         "scales": scales, "examples": examples},
            "calibration_error": error, "noise_sigma": noise}


def held(coverage, kind):
    """Return the share of all test examples that intervals hold, by their nominal share: of a half and of nine tenths.

    Parameters
    ----------
    coverage : dict
        From :func:`predictive`.
    kind : {"as_predicted", "recalibrated"}
    """
    mean = np.average(coverage[kind], axis=0, weights=coverage["examples"])
    return {p: float(mean[coverage["levels"].index(p)]) for p in (0.5, 0.9)}


def masks_of(learner, tasks):
    """Return the masks of each task, or None for a method that has none."""
    return [learner.masks(t) for t in range(tasks)] if hasattr(learner, "masks") else None


def structure_of(masks):
    """Return how the masks of all tasks use the network; None for each where there are no masks."""
    if masks is None:
        return dict.fromkeys(("mask_density", "share_used", "sharing", "sharing_with_earlier"))
    return {
        "mask_density": [[float(mask.mean()) for mask in task] for task in masks],
        "share_used": structure.capacity_used(masks).tolist(),
        "sharing": structure.sharing_matrix(masks).tolist(),
        "sharing_with_earlier": structure.sharing_with_earlier(masks).tolist(),
    }


def peak_memory_mb():
    """Return the most memory that this process has held, in MB of 10^6 bytes; None where the system does not say."""
    try:
        import resource
    except ModuleNotFoundError:                              # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024           # macOS counts bytes, others KiB
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)


def versions():
    """Return the versions of Python, of this package and of those it computes with."""
    return {"python": platform.python_version(), "ibpcl": ibpcl.__version__,
            **{name: version(name) for name in PACKAGES}}


def version(package):
    """Return the version of an installed package, None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def columns(progresses):
    """Return the history of all tasks as the columns of a table, one row per epoch; tasks count from 0."""
    return as_columns([record for done in progresses for record in done.history])


def as_columns(records):
    """Return records as the columns of a table."""
    return {name: [getattr(record, name) for record in records] for name in Record._fields}


def write_state(folder, config, history, learner):
    """Write the history and everything that was learned."""
    storage.write_csv(Path(folder, "history.csv"), history)
    save(learner, config, Path(folder, "learner.npz"))
    # Its predecessor is of the same run, or of one that is being replaced.
    Path(folder, "learner.npz.previous").unlink(missing_ok=True)


def save(learner, config, path):
    """Write a learner to a file; one that cannot do so itself as the others do."""
    if hasattr(learner, "save"):
        learner.save(path)
    else:
        checkpoints.save(path, learner.state(), {
            "method": type(learner).__name__, "class": class_of(learner), "settings": asdict(config.settings),
            "seed": config.seed, "backend": config.backend, **form()})


def draw(folder, values, history, learner, stream=None):
    """Draw the figures of a run into its folder."""
    from ibpcl.evaluation import figures

    for name, axes in figures_of(values, history, learner, stream).items():
        figures.save(axes, Path(folder, f"{name}.png"))


def figures_of(values, history, learner, stream=None):
    """Draw the figures of a run; return their Axes by name: accuracy, history, masks (if any), of a regression more.

    Parameters
    ----------
    values : dict
        The content of ``result.json``.
    history : dict of str to sequence
        The columns of ``history.csv``.
    learner : Learner
        After its last task.
    stream : sequence of Task, optional
        Of a regression on terrain, whose figure of intervals needs it.
    """
    from ibpcl.evaluation import figures
    from ibpcl.evaluation.figures.canvas import new_axes

    R, names = np.array(values["accuracy_matrix"], float), values["tasks"]
    masks, image_shape = masks_of(learner, len(names)), values["image_shape"]
    pictures = {
        "accuracy_curves": figures.accuracy_curves(R, names),
        "accuracy_matrix": figures.accuracy_matrix(R, names),
    }
    if len(history["elbo"]):
        pictures["history"] = figures.training_history(history, numbers_of(values["elbo_weights"]), names)
    if masks is not None:
        first = [task[0] for task in masks]
        if image_shape is None:
            pictures["masks"] = figures.mask_matrices(first, names)
        else:
            pictures["masks"] = figures.mask_maps(first, names, image_shape)
            pictures["receptive_fields"] = figures.receptive_fields(first, names, image_shape=image_shape)
        left, right = new_axes(width=180, height=75, columns=2)
        pictures["sharing"] = figures.share_used(masks, names, ax=left)
        figures.sharing_matrix(masks, names, ax=right)
    if "coverage" in values:
        for name, side in (("accuracy_curves", "ylabel"), ("accuracy_matrix", "xlabel")):
            label = getattr(pictures[name], f"get_{side}")()
            getattr(pictures[name], f"set_{side}")(label.replace("accuracy", "$R^2$"))
        pictures["reliability"] = _draw_reliability(values)
        if hasattr(stream, "line"):
            pictures["intervals"] = _draw_intervals(values, learner, stream)
    entitle(pictures, values)
    return pictures


def entitle(pictures, values):
    """Give each figure of a run its title: what it shows, and of which run."""
    from ibpcl.evaluation.figures.canvas import entitle as write

    method = values["method"].rpartition(":")[2]
    for name, axes in pictures.items():
        write(axes, f"{TITLES[name]}\n{values['experiment']}, {method}, seed {values['seed']}")


def numbers_of(weights):
    """Return the weights of the objective that are numbers."""
    return {name: value for name, value in weights.items() if isinstance(value, int | float)}


def _draw_reliability(values):
    """Draw coverage as predicted and after recalibration, side by side; tasks are named once."""
    from ibpcl.evaluation import figures
    from ibpcl.evaluation.figures.canvas import LABEL, new_axes

    coverage, axes = values["coverage"], new_axes(width=180, height=75, columns=2)
    for ax, kind in zip(axes, ("as_predicted", "recalibrated"), strict=True):
        figures.reliability(coverage["levels"], coverage[kind], min(coverage["examples"]), values["tasks"], ax)
        ax.set_title(kind.replace("_", " "), fontsize=LABEL)
    axes[0].get_legend().remove()
    return axes


def _draw_intervals(values, learner, stream):
    """Draw a line through all strips of the terrain, in metres, with recalibrated intervals of 50 and 90 %."""
    from ibpcl.evaluation import figures

    levels, scales = values["coverage"]["levels"], values["coverage"]["scales"]
    parts, breaks = [], []
    for t in range(len(stream)):
        line = stream.line(t)
        prediction = learner.predict_with_uncertainty(line.x, t)
        mean, sigma, model = (array[:, 0].astype(float) for array in prediction)
        half, most = (scales[t][levels.index(level)] for level in (0.5, 0.9))
        targets = (mean, mean - half * sigma, mean + half * sigma, mean - most * sigma, mean + most * sigma,
                   mean - most * model, mean + most * model)
        parts.append((line.west, line.elevation, *map(to_elevation, targets)))
        breaks.append((parts[-1][0][0] + parts[t - 1][0][-1]) / 2)
    west, observed, mean, *edges = map(np.concatenate, zip(*parts, strict=True))
    ax = figures.intervals(west, observed, mean, {0.5: edges[:2], 0.9: edges[2:4]}, edges[4:], breaks[1:])
    ax.set_yscale("asinh", linear_width=LINEAR)              # the scale of the targets
    ax.set_yticks([-1000, -100, 0, 100, 1000], ["-1000", "-100", "0", "100", "1000"])
    ax.set(xlabel=f"degrees west, at {line.north:.2f} degrees north", ylabel="elevation (m)")
    ax.invert_xaxis()
    return ax
