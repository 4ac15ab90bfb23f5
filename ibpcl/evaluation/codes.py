"""Latent codes of images as a representation: choice of the encoder, and nearest-neighbour errors.

In a continual autoencoder each task has its own encoder, or its own mask, and each task is a class.
So before an image can be encoded, a task must be chosen for it.  There are three ways
(:func:`choose_tasks`):

* ``oracle``: the task of its true class.  Then the *encoder* reveals the class, whatever the image
  shows (:func:`mask_leak`), and an error of zero means nothing.  The released code of Kumar et al.
  (2021) encodes the test images of the table "K-nearest neighbour test" in this way.
* ``inferred``: the task under which the image is most probable.  No label is used.
* ``common``: the encoder of one task for all images.

Source: Kumar et al. (2021), supplement, "Representation Learning".
"""

import numpy as np
import scipy  # its spatial is loaded on first use

from ibpcl.errors import UserError
from ibpcl.evaluation.latent import importance_sampled

WAYS = ("oracle", "inferred", "common")
# the numbers of the paper's table, and 1
NEIGHBOURS = (3, 5, 10, 1)


def task_scores(models, x, samples=10, seed=0, advance=None):
    """Return the log-likelihood of each image under the model of each task.

    Parameters
    ----------
    models : sequence of LatentModel
        One per task.
    x : ndarray, shape (N, D)
        Images.
    samples : int
        Importance samples per image, at least 1.
    seed : int
        Seed of the samples.
    advance : callable, optional
        Called with the number of samples drawn since the last call, ``N * T * samples`` in all.

    Returns
    -------
    scores : ndarray, shape (N, T)
        Estimates of log p(x), in nats per image.

    Raises
    ------
    ValueError
        If ``x`` is empty, ``samples`` is below 1, or a model returns non-finite values.
    """
    return np.stack(
        [
            importance_sampled(model, x, samples, seed, advance=advance).log_likelihood
            for model in models
        ],
        axis=1,
    )


def choose_tasks(way, models, x, labels, samples=10, seed=0, advance=None):
    """Return the task whose encoder is used for each image.

    Parameters
    ----------
    way : {"oracle", "inferred", "common"}
        Rule of the choice, see the module; ``common`` takes the last task.
    models : sequence of LatentModel
        One per task.
    x : ndarray, shape (N, D)
        Images.
    labels : ndarray of int, shape (N,)
        True task of each image; used by ``oracle`` only.
    samples : int
        Importance samples per image, at least 1; used by ``inferred`` only.
    seed : int
        Seed of the samples.
    advance : callable, optional
        Called with the number of samples drawn since the last call.

    Returns
    -------
    tasks : ndarray of int, shape (N,)
        Index into ``models``.

    Raises
    ------
    ValueError
        If ``way`` is not one of the three.
    """
    if way == "oracle":
        return np.asarray(labels)
    if way == "inferred":
        return task_scores(models, x, samples, seed, advance=advance).argmax(axis=1)
    if way == "common":
        return np.full(len(x), len(models) - 1)
    raise ValueError(f"codes.choose_tasks: way must be one of {', '.join(WAYS)}, got {way!r}")


def encode(models, x, tasks, rng=None):
    """Return the code of each image under the model of its task.

    Parameters
    ----------
    models : sequence of LatentModel
        One per task, all with L latent variables.
    x : ndarray, shape (N, D)
        Images.
    tasks : ndarray of int, shape (N,)
        Task of each image, an index into ``models``.
    rng : numpy.random.Generator, optional
        Draws a sample of q(z | x); if not given, the code is the mean of q(z | x).

    Returns
    -------
    codes : ndarray, shape (N, L)
        Latent codes.
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
    """Return the error of a classifier by the majority of the nearest neighbours.

    Distances are Euclidean.  Among classes with equally many votes, the class of the nearest
    neighbour wins.

    Parameters
    ----------
    codes : ndarray, shape (N, L)
        Points that vote.
    labels : ndarray of int, shape (N,)
        Their classes, from 0.
    test_codes : ndarray, shape (M, L)
        Points to classify.
    test_labels : ndarray of int, shape (M,)
        Their true classes.
    neighbours : sequence of int, shape (K,)
        Numbers of neighbours, each in 1..N; may be empty.

    Returns
    -------
    errors : ndarray, shape (K,)
        Share of misclassified test points for each number of neighbours, in 0..1.

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
    # Neither option changes the result; in many dimensions they only slow down building the tree.
    tree = scipy.spatial.cKDTree(codes, balanced_tree=False, compact_nodes=False)
    _, nearest = tree.query(test_codes, k=np.arange(1, most + 1))
    votes = labels[nearest]  # (M, most), the nearest first
    errors = []
    for k in neighbours:
        # A class earns k + 1 points per vote, minus the rank of its nearest member.  So votes count
        # first, then nearness.
        ballots = votes[:, :k, None] == np.arange(labels.max() + 1)
        points = (k + 1) * ballots.sum(axis=1) - np.where(
            ballots.any(axis=1), ballots.argmax(axis=1), 0
        )
        errors.append(np.mean(points.argmax(axis=1) != test_labels))
    return np.array(errors)


def mask_leak(models, x, neighbours=NEIGHBOURS):
    """Return the k-NN error of predicting *which encoder* produced a code.

    Every image is encoded by the encoder of every task.  The first half of the images votes, the
    second half is tested.  An error near 0 means that a code reveals its encoder, whatever the
    image shows; the error of chance is 1 - 1/T.

    Parameters
    ----------
    models : sequence of LatentModel
        One per task.
    x : ndarray, shape (N, D)
        Images, at least 2.
    neighbours : sequence of int, shape (K,)
        Numbers of neighbours, each in 1..T * (N // 2).

    Returns
    -------
    errors : ndarray, shape (K,)
        Fractions in 0..1.

    Raises
    ------
    ValueError
        If there are fewer codes than neighbours, or a code is not finite.
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
    """Return a map of the codes in the plane by t-SNE (van der Maaten and Hinton, 2008).

    The implementation is that of scikit-learn, which the extra ``analysis`` installs.  It starts
    from the two principal axes, so the result depends little on the seed.

    Parameters
    ----------
    codes : ndarray, shape (N, L)
        At least 4 codes.
    seed : int
        Seed of scikit-learn's randomness.

    Returns
    -------
    points : ndarray, shape (N, 2)
        Positions in the plane.

    Raises
    ------
    UserError
        If scikit-learn is not installed.
    """
    TSNE = require_tsne()
    start = "pca" if min(np.shape(codes)) >= 2 else "random"
    return TSNE(
        perplexity=min(30.0, (len(codes) - 1) / 3), init=start, random_state=seed
    ).fit_transform(codes)


def require_tsne():
    """Return the t-SNE class of scikit-learn.

    Returns
    -------
    tsne : type
        ``sklearn.manifold.TSNE``.

    Raises
    ------
    UserError
        If scikit-learn is not installed.
    """
    try:
        from sklearn.manifold import TSNE
    except ModuleNotFoundError as error:
        raise UserError(
            "t-SNE needs scikit-learn, which is not installed (pip install scikit-learn)"
        ) from error
    return TSNE
