"""Figures of a run, by name, drawn from its result, its history, its learner and its images."""

import warnings
from pathlib import Path

import numpy as np

from ibpcl.data.terrain import LINEAR, to_elevation
from ibpcl.evaluation import figures
from ibpcl.evaluation.figures import canvas
from ibpcl.experiments.captions import OF_RUNS
from ibpcl.experiments.result import learned_tasks, masks_of
from ibpcl.models.convolution import Convolution
from ibpcl.plotting import styled

SHOWN = 2  # images per task in the figures
ENCODERS = {
    "oracle": "oracle encoder",
    "inferred": "inferred encoder",
    "common": "common encoder",
    "pixels": "pixels",
}


# Every run has one of these figures. It is saved last, so its file shows that all are drawn.
LAST = ("accuracy_matrix", "likelihood_matrix")


def draw(run, suffix="png"):
    """Draw the figures of a run into its folder.

    The folder holds all results already, so a failure costs none of them and becomes a warning.

    Parameters
    ----------
    run : ibpcl.experiments.run.Run
        A finished run with a folder.
    suffix : {"png", "svg", "pdf"}
        Format of the files.
    """
    try:
        drawn = run.figures()
        for name in sorted(drawn, key=LAST.__contains__):
            figures.save(drawn[name], Path(run.folder, f"{name}.{suffix}"))
    # Any error of Matplotlib, its fonts or the disk.
    except Exception as error:
        warnings.warn(
            f"the figures could not be drawn ({type(error).__name__}: {error}); result.json and "
            "learner.npz are complete, and running the same command again draws them",
            stacklevel=2,
        )


def are_drawn(folder):
    """Return whether a folder contains the figures of its run.

    Parameters
    ----------
    folder : path-like
        The folder of a run.

    Returns
    -------
    drawn : bool
        Whether the last figure exists.
    """
    return any(Path(folder, f"{name}.png").is_file() for name in LAST)


@styled
def figures_of(values, history, learner, stream=None, images=None):
    """Draw the figures of a run.

    Parameters
    ----------
    values : dict
        The content of ``result.json``.
    history : dict of str to sequence
        The columns of ``history.csv``.
    learner : Learner
        After its last task.
    stream : ibpcl.data.terrain.TerrainStream, optional
        The tasks of a regression on the terrain.
    images : dict of str to ndarray, optional
        The content of ``stages.npz``, for a generative model.

    Returns
    -------
    axes : dict of str to Axes or array of Axes
        By the name of the figure's file.
    """
    names = values["tasks"]
    weights = values["elbo_weights"]
    masks = masks_of(learner, learned_tasks(values, len(names)))
    drawn = _of_accuracies(values, masks) if images is None else _of_images(values, images)
    if len(history["elbo"]):
        drawn["history"] = figures.training_history(
            history,
            {name: weight for name, weight in weights.items() if isinstance(weight, int | float)},
            names,
        )
    if "blended" in values:
        stretch = values["blended"]
        drawn["scores"] = figures.stream_scores(
            *(stretch[name] for name in ("scores", "ends", "starts", "alarms")), names
        )
    convolved = None if masks is None else first_convolution(learner)
    if convolved is not None:
        drawn["filters"] = figures.filter_pictures(convolved, [task[0] for task in masks], names)
    if masks is not None:
        left, right = canvas.new_axes(width=180, height=75, columns=2)
        drawn["sharing"] = figures.share_used(masks, names, ax=left)
        figures.sharing_matrix(masks, names, ax=right)
    if "coverage" in values:
        for name, side in (("accuracy_curves", "ylabel"), ("accuracy_matrix", "xlabel")):
            label = getattr(drawn[name], f"get_{side}")()
            getattr(drawn[name], f"set_{side}")(label.replace("accuracy", "$R^2$"))
        drawn["reliability"] = reliability(values)
        if stream is not None:
            drawn["intervals"] = intervals(values, learner, stream)
    for name, axes in drawn.items():
        canvas.entitle(
            axes,
            f"{OF_RUNS[name].title}\n{values['experiment']}, "
            f"{values['method'].rpartition(':')[2]}, seed {values['seed']}",
        )
    return drawn


def first_convolution(learner):
    """Return the mean weights of the first layer of a masked network, if it is a convolution.

    Parameters
    ----------
    learner : Learner
        After its last task.

    Returns
    -------
    weights : ndarray, shape (I, J, D, K), or None
        None if the first layer is not a convolution, or the learner has no network from a line.
    """
    if not getattr(learner.settings, "network", ""):
        return None
    context = learner.context
    stage = context.network_of(context.state.learned - 1).stages[0]
    if not isinstance(stage, Convolution):
        return None
    weights = context.posterior()[stage.name]["weight.mu"]
    return weights.reshape(*stage.kernel, stage.image[2], stage.layer.units)


def _of_accuracies(values, masks):
    """Draw the accuracies over time, and the masks of the first layer; as images if its inputs are
    images.
    """
    R = np.array(values["accuracy_matrix"], float)
    names = values["tasks"]
    image_shape = values["image_shape"]
    drawn = {
        "accuracy_curves": figures.accuracy_curves(R, names),
        "accuracy_matrix": figures.accuracy_matrix(R, names),
    }
    first = None if masks is None else [task[0] for task in masks]
    # the rows of a convolution are the entries of its kernel, not pixels
    reads_pixels = bool(first) and image_shape and np.prod(image_shape) == len(first[0])
    if first is not None and not reads_pixels:
        drawn["masks"] = figures.mask_matrices(first, names)
    elif first is not None:
        drawn["masks"] = figures.mask_maps(first, names, image_shape)
        drawn["receptive_fields"] = figures.receptive_fields(first, names, image_shape=image_shape)
    return drawn


def _of_images(values, images):
    """Draw the likelihoods over time, the error with few labels, samples and reconstructions."""
    R = values["log_likelihood_matrix"]
    names = values["tasks"]
    image_shape = values["image_shape"]
    drawn = {
        "likelihood_curves": figures.likelihood_curves(R, names),
        "likelihood_matrix": figures.likelihood_matrix(R, names),
        "few_labels": few_labels(values["few_labels"]),
    }
    if image_shape is not None:
        drawn |= {
            "samples": samples(images, names, image_shape),
            "reconstructions": reconstructions(images, names, image_shape),
        }
    return drawn


def samples(images, names, image_shape, ax=None):
    """Draw samples from each task's prior, one row per stage.

    Parameters
    ----------
    images : dict of str to ndarray
        The content of ``stages.npz``.
    names : sequence of str
        Names of the tasks.
    image_shape : (int, int)
        Height and width of an image.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    ax : Axes
        The axes.
    """
    return figures.image_rows(
        [images[f"samples/{t}"] for t in range(len(names))],
        image_shape,
        names,
        names,
        SHOWN,
        ax,
        ("sample of task", "after learning task"),
    )


def reconstructions(images, names, image_shape, ax=None):
    """Draw the first test images of each task, and below them their reconstructions, one row per
    stage.

    Parameters
    ----------
    images : dict of str to ndarray
        The content of ``stages.npz``.
    names : sequence of str
        Names of the tasks.
    image_shape : (int, int)
        Height and width of an image.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    ax : Axes
        The axes.
    """
    rows = [images["originals"], *(images[f"reconstructed/{t}"] for t in range(len(names)))]
    return figures.image_rows(
        rows,
        image_shape,
        ["image", *names],
        names,
        SHOWN,
        ax,
        ("test image of task, reconstructed", "after learning task"),
    )


def few_labels(results, ax=None):
    """Draw the classification error with few labels, for each encoder and for pixels.

    Parameters
    ----------
    results : dict
        The entry ``few_labels`` of ``result.json``.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    ax : Axes
        The axes.
    """
    return figures.few_labels(
        {ENCODERS[way]: (result["labels"], result["errors"]) for way, result in results.items()}, ax
    )


def reliability(values):
    """Draw the coverage as predicted and after recalibration, side by side, with one legend.

    Parameters
    ----------
    values : dict
        The content of ``result.json`` of a regression.

    Returns
    -------
    axes : ndarray of Axes, shape (2,)
        The two charts.
    """
    coverage = values["coverage"]
    axes = canvas.new_axes(width=180, height=75, columns=2)
    for ax, kind in zip(axes, ("as_predicted", "recalibrated"), strict=True):
        figures.reliability(
            coverage["levels"], coverage[kind], min(coverage["examples"]), values["tasks"], ax
        )
        ax.set_title(kind.replace("_", " "), fontsize=canvas.LABEL)
    axes[0].get_legend().remove()
    return axes


def intervals(values, learner, stream):
    """Draw one latitude of the terrain in metres, with recalibrated intervals of 50 and 90%.

    Parameters
    ----------
    values : dict
        The content of ``result.json`` of a run on the terrain.
    learner : Learner
        The learner after its last task.
    stream : ibpcl.data.terrain.TerrainStream
        The tasks.

    Returns
    -------
    ax : Axes
        The chart.
    """
    levels = values["coverage"]["levels"]
    scales = values["coverage"]["scales"]
    parts = []
    breaks = []
    for t in range(len(stream)):
        line = stream.line(t)
        prediction = learner.predict_with_uncertainty(line.x, t)
        mean, sigma, model = (array[:, 0].astype(float) for array in prediction)
        half, most = (scales[t][levels.index(level)] for level in (0.5, 0.9))
        targets = (
            mean,
            mean - half * sigma,
            mean + half * sigma,
            mean - most * sigma,
            mean + most * sigma,
            mean - most * model,
            mean + most * model,
        )
        parts.append((line.west, line.elevation, *map(to_elevation, targets)))
        breaks.append((parts[-1][0][0] + parts[t - 1][0][-1]) / 2)
    west, observed, mean, *edges = map(np.concatenate, zip(*parts, strict=True))
    ax = figures.intervals(
        west, observed, mean, {0.5: edges[:2], 0.9: edges[2:4]}, edges[4:], breaks[1:]
    )
    ax.set_yscale("asinh", linear_width=LINEAR)  # the scale of the targets
    ax.set_yticks([-1000, -100, 0, 100, 1000], ["-1000", "-100", "0", "100", "1000"])
    ax.set(xlabel=f"degrees west, at {line.north:.2f} degrees north", ylabel="elevation (m)")
    ax.invert_xaxis()
    return ax
