r"""Class probabilities, checked: are they as sure as they are right, and do they show which task an
example is of?

A classifier is calibrated if, of the examples to whose class it gives probability p, a share p is
classified rightly (Guo et al., 2017, "On calibration of modern neural networks").  Its doubt about
an example, an entropy say, may be larger for images of another task than for those of its own:
:func:`auroc` measures how well the two are told apart (Hendrycks and Gimpel, 2017, "A baseline for
detecting misclassified and out-of-distribution examples"), and :func:`infer_tasks` chooses the task
whose classifier doubts least.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from ibpcl.evaluation.metrics import scores_and_labels

BINS = 15  # as in Guo et al. (2017)
RULES = ("entropy", "confidence", "mutual information")


class Bins(NamedTuple):
    """Examples by their confidence, the probability of the predicted class.

    ``confidence`` and ``accuracy`` (B,): means over the examples of each bin, NaN where there are
    none; ``examples`` (B,): their number.
    """

    confidence: np.ndarray
    accuracy: np.ndarray
    examples: np.ndarray


def reliability_bins(probabilities, labels, bins=BINS):
    r"""Sort examples into bins of equal width by the probability of the predicted class.

    .. math:: B_m = \Bigl\{ n : \max_c p_{nc} \in \bigl(\tfrac{m - 1}{M}, \tfrac{m}{M}\bigr] \Bigr\}

    Guo et al. (2017), Sec. 2, "reliability diagrams".

    Parameters
    ----------
    probabilities : array_like, shape (N, C)
        Class probabilities, rows that sum to 1.
    labels : array_like of int, shape (N,)
        The right classes, in 0..C-1.
    bins : int
        Their number M, at least 1.

    Returns
    -------
    bins : Bins
        Fractions in 0..1.

    Raises
    ------
    ValueError
        If there are no examples, shapes do not fit, rows are no probabilities, a label is not a
        class, or ``bins`` is below 1.

    Examples
    --------
    >>> found = reliability_bins([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1], bins=4)
    >>> found.examples, found.accuracy[3]
    (array([0, 0, 1, 2]), np.float64(0.5))
    """
    probabilities, labels = _checked(probabilities, labels, "confidence.reliability_bins")
    if bins < 1:
        raise ValueError(f"confidence.reliability_bins: bins must be at least 1, got {bins}")
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    place = np.clip(np.ceil(bins * confidence).astype(int) - 1, 0, bins - 1)
    examples = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):  # an empty bin has no mean
        return Bins(
            *(
                np.bincount(place, weights=values, minlength=bins) / examples
                for values in (confidence, right)
            ),
            examples,
        )


def expected_calibration_error(probabilities, labels, bins=BINS):
    r"""Return how far confidence is from accuracy, averaged over the examples.

    .. math::

        \mathrm{ECE} = \sum_m \frac{|B_m|}{N} \bigl| \mathrm{acc}(B_m) - \mathrm{conf}(B_m) \bigr|

    Guo et al. (2017), Eq. 3.

    In 0..1; arguments and errors as for :func:`reliability_bins`.

    Examples
    --------
    >>> expected_calibration_error([[0.75, 0.25]] * 4, [0, 0, 0, 0])
    0.25
    """
    found = reliability_bins(probabilities, labels, bins)
    gaps = np.abs(found.accuracy - found.confidence)[found.examples > 0]
    return float(gaps @ found.examples[found.examples > 0] / found.examples.sum())


def brier_score(probabilities, labels):
    r"""Return the mean squared distance of the probabilities from the right answer.

    .. math:: \frac1N \sum_n \sum_c \bigl(p_{nc} - \mathbb 1[y_n = c]\bigr)^2

    Brier (1950), "Verification of forecasts expressed in terms of probability", with the sum over
    all classes.

    From 0 (sure and right) to 2 (sure and wrong); arguments and errors as for
    :func:`reliability_bins`.

    Examples
    --------
    >>> brier_score([[1.0, 0.0], [0.5, 0.5]], [0, 1])
    0.25
    """
    probabilities, labels = _checked(probabilities, labels, "confidence.brier_score")
    return float(
        np.mean(np.sum((probabilities - np.eye(probabilities.shape[1])[labels]) ** 2, axis=1))
    )


def auroc(own, others):
    r"""Return the probability that a score of the others is larger than one of its own, ties
    counting half.

    .. math:: \frac{1}{MN} \sum_{m, n} \mathbb 1[b_m > a_n] + \tfrac12 \mathbb 1[b_m = a_n]

    The area under the ROC curve (Hanley and McNeil, 1982), computed from ranks.

    1 if the two are told apart without a mistake, 0.5 by chance.

    Parameters
    ----------
    own, others : array_like, shape (N,) and (M,)
        Scores, such as doubts, of the examples that are small if all is well, and of those that
        should be larger.

    Raises
    ------
    ValueError
        If one of them is empty or not finite.

    Examples
    --------
    >>> auroc([0.1, 0.2, 0.4], [0.3, 0.5])
    0.8333333333333334
    """
    own, others = (np.asarray(scores, float).ravel() for scores in (own, others))
    if (
        not own.size
        or not others.size
        or not (np.isfinite(own).all() and np.isfinite(others).all())
    ):
        raise ValueError(
            f"confidence.auroc: own and others must be finite and not empty, got {own.size} and "
            f"{others.size} scores"
        )
    # The rank of b among all is 1 + the number below it; its own kind takes part with m (m + 1) / 2
    # in the sum.
    ranks = rankdata(np.concatenate([own, others]))[own.size :]
    return float((ranks.sum() - others.size * (others.size + 1) / 2) / (own.size * others.size))


def doubt(prediction, rule):
    """Return how unsure a classifier is of each example: the smaller the surer.

    Parameters
    ----------
    prediction : ibpcl.models.likelihoods.Classes
        What it predicts for N examples.
    rule : {"entropy", "confidence", "mutual information"}
        The entropy of the mean prediction, in nats; the probability of all classes but the most
        probable one; or the part of the entropy that knowledge of the weights would remove, in
        nats.  With two classes the first two order examples alike.

    Returns
    -------
    doubts : ndarray, shape (N,)

    Raises
    ------
    ValueError
        If there is no such rule.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import mean_over_samples
    >>> doubt(mean_over_samples(np.log([[[0.75, 0.25]]])), "confidence")
    array([0.25])
    """
    # the others' sum has digits that 1 - p has lost
    if rule == "confidence":
        return np.sort(prediction.probabilities, axis=1)[:, :-1].sum(axis=1)
    if rule not in RULES:
        raise ValueError(f"confidence.doubt: rule must be one of {', '.join(RULES)}, got {rule!r}")
    return getattr(prediction, rule.replace(" ", "_"))


def infer_tasks(predictions, rule):
    """Return the task (N,) whose classifier doubts each example least; of equal ones the first.

    Parameters
    ----------
    predictions : sequence of ibpcl.models.likelihoods.Classes
        What the classifier of each task predicts for the same N examples.
    rule : {"entropy", "confidence", "mutual information"}
        As in :func:`doubt`.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import mean_over_samples
    >>> heads = [mean_over_samples(np.log([p])) for p in ([[0.9, 0.1], [0.6, 0.4]],
    ...     [[0.5, 0.5], [0.2, 0.8]])]
    >>> infer_tasks(heads, "entropy")
    array([0, 1])
    """
    return np.argmin([doubt(prediction, rule) for prediction in predictions], axis=0)


def _checked(probabilities, labels, caller):
    """Return class probabilities and labels as arrays, if they fit together."""
    probabilities, labels = scores_and_labels(np.asarray(probabilities, float), labels, caller)
    if not (probabilities >= 0).all() or not np.allclose(probabilities.sum(axis=1), 1, atol=1e-4):
        raise ValueError(
            f"{caller}: rows of probabilities must be at least 0 and sum to 1, got sums from "
            f"{probabilities.sum(axis=1).min()} to {probabilities.sum(axis=1).max()}"
        )
    return probabilities, labels
