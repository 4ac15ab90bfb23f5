"""Semi-supervised use of an unsupervised model: classify by its codes, given few labels per class.

Kumar et al. (2021), Sec. 7, name semi-supervised continual learning as an extension.  Here the
autoencoder has seen all images and no label.  Then a few images per class are labelled, and a new
image gets the label of the nearest of them.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.evaluation.codes import knn_error

LABELS = (1, 2, 5, 10, 20, 50)
DRAWS = 10


class FewLabels(NamedTuple):
    """Errors with few labels, one for each random choice of the labelled images.

    Attributes
    ----------
    labels : ndarray of int, shape (P,)
        Numbers of labels per class.
    errors : ndarray, shape (P, draws)
        Share of misclassified test images, in 0..1.
    """

    labels: np.ndarray
    errors: np.ndarray


def few_label_error(codes, classes, test_codes, test_classes, labels=LABELS, draws=DRAWS, seed=0):
    """Return the error of the nearest labelled neighbour, for several numbers of labels per class.

    Parameters
    ----------
    codes : ndarray, shape (N, L)
        Images that may be labelled: latent codes, or pixels for comparison.
    classes : ndarray of int, shape (N,)
        Their classes; only those of the drawn images are used as labels.
    test_codes : ndarray, shape (M, L)
        Images to classify.
    test_classes : ndarray of int, shape (M,)
        Their true classes.
    labels : sequence of int
        Numbers of labels per class, in increasing order; those larger than the smallest class are
        left out.
    draws : int
        Number of random choices of the labelled images.  Within a draw, the images of a smaller
        number are among those of a larger one.
    seed : int
        Draw r depends only on (seed, r), so all kinds of codes get the same labelled images.

    Returns
    -------
    result : FewLabels
        Errors by number of labels and draw.

    Raises
    ------
    ValueError
        If all numbers in ``labels`` exceed the size of the smallest class.

    Examples
    --------
    >>> points, classes = np.array([[0.0], [0.1], [5.0], [5.1]]), np.array([0, 0, 1, 1])
    >>> few_label_error(points, classes, points, classes, labels=(1, 2), draws=3).errors.any()
    np.False_
    """
    members = [np.flatnonzero(classes == c) for c in np.unique(classes)]
    fewest = min(map(len, members))
    possible = np.array([count for count in labels if 1 <= count <= fewest])
    if not possible.size:
        raise ValueError(
            f"few_labels.few_label_error: labels must hold a number in 1..{fewest}, got "
            f"{tuple(labels)}"
        )
    errors = np.empty((len(possible), draws))
    for r in range(draws):
        rng = np.random.default_rng((seed, r))
        shuffled = [rng.permutation(rows) for rows in members]
        for i, count in enumerate(possible):
            chosen = np.concatenate([rows[:count] for rows in shuffled])
            errors[i, r] = knn_error(
                codes[chosen], classes[chosen], test_codes, test_classes, (1,)
            )[0]
    return FewLabels(possible, errors)
