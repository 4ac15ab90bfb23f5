"""The figures of a run on images without labels, and the file with the pictures that they show."""

from pathlib import Path

import numpy as np

from ibpcl import checkpoints
from ibpcl.experiments.generative import SHOWN
from ibpcl.experiments.result import entitle, numbers_of

PICTURES = "stages.npz"
TITLES = {"oracle": "oracle encoder", "inferred": "inferred encoder", "common": "common encoder", "pixels": "pixels"}


def write_pictures(folder, stages, stream):
    """Write what each stage showed, and the test images that are reconstructed, to ``stages.npz``."""
    arrays = {"originals": np.concatenate([stream[t].x_test[:SHOWN] for t in range(len(stream))])}
    for done in stages:
        arrays |= {f"{name}/{done.task}": getattr(done, name) for name in ("samples", "reconstructed")}
    checkpoints.write_npz(Path(folder, PICTURES), arrays)


def draw(folder, values, history, masks, image_shape, stages, stream):
    """Draw the figures of a run into its folder.

    Likelihoods over time, as curves and as a matrix; samples and reconstructions, a row for each stage; the error with
    few labels; the training's history; the masks' sharing, if there are masks.

    Parameters
    ----------
    folder : path-like
    values : dict
        From :func:`ibpcl.experiments.generative.collect`.
    history : dict of str to list
        Columns of ``history.csv``.
    masks : list or None
        Of each task.
    image_shape : (int, int) or None
        Without it no images are drawn.
    stages : list of ibpcl.experiments.generative.Stage
    stream : sequence of Task
    """
    from ibpcl.evaluation import figures
    from ibpcl.evaluation.figures.canvas import new_axes

    R, names = values["log_likelihood_matrix"], values["tasks"]
    pictures = {"likelihood_curves": figures.likelihood_curves(R, names),
                "likelihood_matrix": figures.likelihood_matrix(R, names),
                "few_labels": few_labels(values["few_labels"])}
    if history["elbo"]:
        pictures["history"] = figures.training_history(history, numbers_of(values["elbo_weights"]), names)
    if image_shape is not None:
        originals = np.concatenate([stream[t].x_test[:SHOWN] for t in range(len(stream))])
        pictures["samples"] = samples([done.samples for done in stages], names, image_shape)
        pictures["reconstructions"] = reconstructions([done.reconstructed for done in stages], originals, names,
                                                      image_shape)
    if masks is not None:
        left, right = new_axes(width=180, height=75, columns=2)
        pictures["sharing"] = figures.share_used(masks, names, ax=left)
        figures.sharing_matrix(masks, names, ax=right)
    entitle(pictures, values)
    for name, axes in pictures.items():
        figures.save(axes, Path(folder, f"{name}.png"))


def samples(stages, names, image_shape, ax=None):
    """Draw what each task's prior gives after each task, a row for each stage."""
    from ibpcl.evaluation import figures

    return figures.image_rows(stages, image_shape, names, names, SHOWN, ax, ("sample of task", "after learning task"))


def reconstructions(stages, originals, names, image_shape, ax=None):
    """Draw the first test images of each task, and below them their reconstructions after each task."""
    from ibpcl.evaluation import figures

    return figures.image_rows([originals, *stages], image_shape, ["image", *names], names, SHOWN, ax,
                              ("test image of task, reconstructed", "after learning task"))


def few_labels(results, ax=None):
    """Draw the error with few labels, for each way to encode and for pixels."""
    from ibpcl.evaluation import figures

    return figures.few_labels({TITLES[way]: (found["labels"], found["errors"]) for way, found in results.items()}, ax)
