r"""Latent codes of images as a representation: which encoder, and how well neighbours predict the
class.

In a continual autoencoder each task has an encoder of its own, be it by a mask, and each task is a
class.  So before an image can be encoded, a task has to be chosen for it; there are three ways
(:func:`choose_tasks`):

* ``oracle``: that of its true class.  Then the *encoder* gives the class away, whatever the image
  shows (:func:`mask_leak`), and an error of zero says nothing.  It is how the released code of
  Kumar et al. (2021) encodes the test images of their table "K-nearest neighbour test".
* ``inferred``: the task under which the image is most probable.  No label is used.
* ``common``: one task's encoder for all images.

Sources: Kumar et al. (2021), supplement, "Representation Learning".
"""

import numpy as np
from scipy.spatial import cKDTree

from ibpcl.errors import UserError
from ibpcl.evaluation.latent import importance_sampled

WAYS = ("oracle", "inferred", "common")
# those of the paper's table, and the nearest alone
NEIGHBOURS = (3, 5, 10, 1)


def task_scores(models, x, samples=10, seed=0, advance=None):
    """Return the log-likelihood of each image under each task's model: (N, T), nats.

    Arguments as for :func:`ibpcl.evaluation.latent.importance_sampled`; ``advance`` is called with
    ``N * T * samples`` in all.
    """
    return np.stack(
        [
            importance_sampled(model, x, samples, seed, advance=advance).log_likelihood
            for model in models
        ],
        axis=1,
    )


def choose_tasks(way, models, x, labels, samples=10, seed=0, advance=None):
    """Return the task, (N,), whose encoder each image gets.

    Parameters
    ----------
    way : {"oracle", "inferred", "common"}
        See above; ``common`` takes the last task.
    models : sequence of LatentModel
        One per task.
    x : ndarray, shape (N, D)
    labels : ndarray of int, shape (N,)
        The true task of each image, for ``oracle`` only.
    samples, seed, advance
        As in :func:`task_scores`.

    Raises
    ------
    ValueError
        If there is no such way.
    """
    if way == "oracle":
        return np.asarray(labels)
    if way == "inferred":
        return task_scores(models, x, samples, seed, advance=advance).argmax(axis=1)
    if way == "common":
        return np.full(len(x), len(models) - 1)
    raise ValueError(f"codes.choose_tasks: way must be one of {', '.join(WAYS)}, got {way!r}")


def encode(models, x, tasks, rng=None):
    """Return the code (N, L) of each image under its task's model: the mean of q(z | x), or with
    ``rng`` a sample.
    """
    codes = np.empty((len(x), models[0].latent))
    for task in np.unique(tasks):
        chosen = tasks == task
        mean, log_sigma = models[task].encode(x[chosen])
        codes[chosen] = (
            mean if rng is None else mean + np.exp(log_sigma) * rng.standard_normal(mean.shape)
        )
    return codes


def knn_error(codes, labels, test_codes, test_labels, neighbours=NEIGHBOURS):
    r"""Return the share of the test points that the majority of their nearest neighbours puts into
    another class.

    Distances are Euclidean.  Of classes with equally many votes, that of the nearest neighbour
    among them wins.

    Parameters
    ----------
    codes : ndarray, shape (N, L)
        The points whose classes vote.
    labels : ndarray of int, shape (N,)
        Classes, from 0.
    test_codes, test_labels : ndarray, shape (M, L) and (M,)
    neighbours : sequence of int
        Each in 1..N; without any there are no errors.

    Returns
    -------
    errors : ndarray, shape (len(neighbours),)
        Fractions in 0..1.

    Raises
    ------
    ValueError
        If there are fewer points than neighbours, or a code is not finite.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [1.1]])
    >>> knn_error(points, np.array([0, 1, 1]), np.array([[0.2], [0.9]]), np.array([0, 1]), (1, 3))
    array([0. , 0.5])
    """
    codes = np.asarray(codes, float)
    test_codes = np.asarray(test_codes, float)
    labels = np.asarray(labels)
    most = max(neighbours, default=0)
    if not all(1 <= k <= len(codes) for k in neighbours):
        raise ValueError(
            f"codes.knn_error: neighbours must lie in 1..{len(codes)}, the number of points, "
            f"got {tuple(neighbours)}"
        )
    if not (np.isfinite(codes).all() and np.isfinite(test_codes).all()):
        raise ValueError("codes.knn_error: codes must be finite, got NaN or infinity")
    if not most:
        return np.empty(0)
    # Neither option changes the answer; in many dimensions they only make the tree slower to build.
    tree = cKDTree(codes, balanced_tree=False, compact_nodes=False)
    _, found = tree.query(test_codes, k=np.arange(1, most + 1))
    votes = labels[found]  # (M, most), the nearest first
    errors = []
    for k in neighbours:
        # A class earns k + 1 for each vote, less the place of its nearest member: votes first, then
        # nearness.
        ballots = votes[:, :k, None] == np.arange(labels.max() + 1)
        points = (k + 1) * ballots.sum(axis=1) - np.where(
            ballots.any(axis=1), ballots.argmax(axis=1), 0
        )
        errors.append(np.mean(points.argmax(axis=1) != test_labels))
    return np.array(errors)


def mask_leak(models, x, neighbours=NEIGHBOURS):
    """Return the k-NN error of telling *which task's encoder* was used, for the same images under
    every encoder.

    The first half of the images votes, the second is tested; the label of a code is the task that
    made it.  An error near 0 says that a code shows its encoder, whatever the image; chance is 1 -
    1/T. The arguments are those of :func:`task_scores` and :func:`knn_error`.
    """
    half = len(x) // 2
    codes = [np.asarray(model.encode(x)[0]) for model in models]
    labels = np.arange(len(models))
    return knn_error(
        np.concatenate([code[:half] for code in codes]),
        np.repeat(labels, half),
        np.concatenate([code[half:] for code in codes]),
        np.repeat(labels, len(x) - half),
        neighbours,
    )


def tsne(codes, seed=0):
    """Return a map of the codes in the plane, (N, 2), by t-SNE (van der Maaten and Hinton, 2008).

    Scikit-learn's, which the extra ``analysis`` installs; started from the two main axes, so that
    it depends on the seed as little as it can.

    More than 3 codes (N, L).  A UserError if scikit-learn is not installed.
    """
    TSNE = require_tsne()
    start = "pca" if min(np.shape(codes)) >= 2 else "random"
    return TSNE(
        perplexity=min(30.0, (len(codes) - 1) / 3), init=start, random_state=seed
    ).fit_transform(codes)


def require_tsne():
    """Return scikit-learn's t-SNE, or raise UserError saying how to install it."""
    try:
        from sklearn.manifold import TSNE
    except ModuleNotFoundError as error:
        raise UserError(
            "t-SNE needs scikit-learn, which the extra `analysis` installs: "
            "pip install 'ibpcl[analysis]'"
        ) from error
    return TSNE
