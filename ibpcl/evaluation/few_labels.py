"""Semi-supervised use of a model that was trained without labels: classify by its codes, given few
labels a class.

Kumar et al. (2021), Sec. 7, name semi-supervised continual learning as an extension.  Here the
autoencoder has seen all images and no label; then a few images a class are labelled, and a new
image gets the label of the nearest of them.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.evaluation.codes import knn_error

LABELS = (1, 2, 5, 10, 20, 50)
DRAWS = 10


class FewLabels(NamedTuple):
    """Errors with few labels, fractions in 0..1: one for each choice of the images that are
    labelled.
    """

    labels: np.ndarray  # per class, (P,)
    errors: np.ndarray  # (P, draws)


def few_label_error(codes, classes, test_codes, test_classes, labels=LABELS, draws=DRAWS, seed=0):
    """Return the error of the nearest labelled neighbour, when so many images of each class have a
    label.

    Parameters
    ----------
    codes : ndarray, shape (N, L)
        Of the images that may be labelled: latent codes, or pixels to compare with.
    classes : ndarray of int, shape (N,)
        Their classes, of which those are looked at that are drawn.
    test_codes, test_classes : ndarray, shape (M, L) and (M,)
    labels : sequence of int
        Labels a class, in rising order; numbers that a class does not have are left out.
    draws : int
        How often the labelled images are drawn; those of a smaller number are among those of a
        larger one.
    seed : int
        Draw r is a function of (seed, r): the same images for any codes, so that codes can be
        compared.

    Returns
    -------
    FewLabels

    Raises
    ------
    ValueError
        If no number of ``labels`` can be had.

    Examples
    --------
    >>> points, classes = np.array([[0.0], [0.1], [5.0], [5.1]]), np.array([0, 0, 1, 1])
    >>> few_label_error(points, classes, points, classes, labels=(1, 2), draws=3).errors.any()
    np.False_
    """
    members = [np.flatnonzero(classes == c) for c in np.unique(classes)]
    fewest = min(len(one) for one in members)
    possible = np.array([count for count in labels if 1 <= count <= fewest])
    if not possible.size:
        raise ValueError(
            f"few_labels.few_label_error: labels must hold a number in 1..{fewest}, got "
            f"{tuple(labels)}"
        )
    errors = np.empty((len(possible), draws))
    for r in range(draws):
        rng = np.random.default_rng((seed, r))
        shuffled = [rng.permutation(one) for one in members]
        for i, count in enumerate(possible):
            chosen = np.concatenate([one[:count] for one in shuffled])
            errors[i, r] = knn_error(
                codes[chosen], classes[chosen], test_codes, test_classes, (1,)
            )[0]
    return FewLabels(possible, errors)
