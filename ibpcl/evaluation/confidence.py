"""Calibration of class probabilities, and how well uncertainty separates the tasks.

A classifier is calibrated if, among the examples to whose predicted class it gives probability p, a
share p is classified correctly (Guo et al., 2017, "On calibration of modern neural networks").  Its
doubt about an example, such as an entropy, may be larger for images of another task (out of
distribution) than for those of its task.  :func:`auroc` measures how well doubt separates the two
(Hendrycks and Gimpel, 2017, "A baseline for detecting misclassified and out-of-distribution
examples"), and :func:`infer_tasks` chooses the task whose classifier doubts least.
"""

from typing import NamedTuple

import numpy as np
import scipy  # its stats, slow to load, is loaded on first use

from ibpcl.evaluation.metrics import scores_and_labels

BINS = 15  # as in Guo et al. (2017)
RULES = ("entropy", "confidence", "mutual information")


class Bins(NamedTuple):
    """Examples grouped by confidence, the probability of the predicted class.

    Attributes
    ----------
    confidence : ndarray, shape (B,)
        Mean confidence in each bin; NaN for an empty bin.
    accuracy : ndarray, shape (B,)
        Share of correct predictions in each bin; NaN for an empty bin.
    examples : ndarray of int, shape (B,)
        Number of examples in each bin.
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
        Class probabilities; each row sums to 1.
    labels : array_like of int, shape (N,)
        True classes, in 0..C-1.
    bins : int
        Number of bins M, at least 1.

    Returns
    -------
    bins : Bins
        Confidence, accuracy and number of examples of each bin.

    Raises
    ------
    ValueError
        If arrays are empty, shapes do not fit, a row is not a probability distribution, a
        label is not a class, or ``bins`` is below 1.

    Examples
    --------
    >>> bins = reliability_bins([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1], bins=4)
    >>> bins.examples, bins.accuracy[3]
    (array([0, 0, 1, 2]), np.float64(0.5))
    """
    probabilities, labels = _checked(probabilities, labels, "confidence.reliability_bins")
    if bins < 1:
        raise ValueError(f"confidence.reliability_bins: bins must be at least 1, got {bins}")
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == labels
    index = np.clip(np.ceil(bins * confidence).astype(int) - 1, 0, bins - 1)
    examples = np.bincount(index, minlength=bins)
    with np.errstate(invalid="ignore"):  # an empty bin has no mean
        return Bins(
            *(
                np.bincount(index, weights=values, minlength=bins) / examples
                for values in (confidence, correct)
            ),
            examples,
        )


def expected_calibration_error(probabilities, labels, bins=BINS):
    r"""Return the expected calibration error: the mean distance of confidence from accuracy.

    .. math::

        \mathrm{ECE} = \sum_m \frac{|B_m|}{N} \bigl| \mathrm{acc}(B_m) - \mathrm{conf}(B_m) \bigr|

    Guo et al. (2017), Eq. 3.

    Parameters
    ----------
    probabilities : array_like, shape (N, C)
        Class probabilities; each row sums to 1.
    labels : array_like of int, shape (N,)
        True classes, in 0..C-1.
    bins : int
        Number of bins M, at least 1.

    Returns
    -------
    error : float
        In 0..1.

    Raises
    ------
    ValueError
        If arrays are empty, shapes do not fit, a row is not a probability distribution, a
        label is not a class, or ``bins`` is below 1.

    Examples
    --------
    >>> expected_calibration_error([[0.75, 0.25]] * 4, [0, 0, 0, 0])
    0.25
    """
    filled = reliability_bins(probabilities, labels, bins)
    gaps = np.abs(filled.accuracy - filled.confidence)[filled.examples > 0]
    return float(gaps @ filled.examples[filled.examples > 0] / filled.examples.sum())


def brier_score(probabilities, labels):
    r"""Return the mean squared distance of the probabilities from the true classes.

    .. math:: \frac1N \sum_n \sum_c \bigl(p_{nc} - \mathbb 1[y_n = c]\bigr)^2

    Brier (1950), "Verification of forecasts expressed in terms of probability", with the sum over
    all classes.

    Parameters
    ----------
    probabilities : array_like, shape (N, C)
        Class probabilities; each row sums to 1.
    labels : array_like of int, shape (N,)
        True classes, in 0..C-1.

    Returns
    -------
    score : float
        From 0 (certain and correct) to 2 (certain and wrong).

    Raises
    ------
    ValueError
        If arrays are empty, shapes do not fit, a row is not a probability distribution, or a
        label is not a class.

    Examples
    --------
    >>> brier_score([[1.0, 0.0], [0.5, 0.5]], [0, 1])
    0.25
    """
    probabilities, labels = _checked(probabilities, labels, "confidence.brier_score")
    return float(
        np.mean(np.sum((probabilities - np.eye(probabilities.shape[1])[labels]) ** 2, axis=1))
    )


def negative_log_likelihood(probabilities, labels):
    r"""Return the mean negative log probability of the true classes.

    .. math:: -\frac1N \sum_n \log p_{n y_n}

    Probabilities below the smallest normal number of single precision, 1.2e-38, count as that
    number, so the result is finite.

    Parameters
    ----------
    probabilities : array_like, shape (N, C)
        Class probabilities; each row sums to 1.
    labels : array_like of int, shape (N,)
        True classes, in 0..C-1.

    Returns
    -------
    value : float
        Nats per example, from 0 (certain and correct) to 87.3.

    Raises
    ------
    ValueError
        If arrays are empty, shapes do not fit, a row is not a probability distribution, or a
        label is not a class.

    Examples
    --------
    >>> round(negative_log_likelihood([[1.0, 0.0], [0.5, 0.5]], [0, 1]), 4)
    0.3466
    """
    caller = "confidence.negative_log_likelihood"
    probabilities, labels = _checked(probabilities, labels, caller)
    of_labels = probabilities[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(of_labels, np.finfo(np.float32).tiny)).mean())


def auroc(own, others):
    r"""Return the area under the ROC curve of a score that separates two groups.

    .. math:: \frac{1}{MN} \sum_{m, n} \mathbb 1[b_m > a_n] + \tfrac12 \mathbb 1[b_m = a_n]

    It is the probability that a score of ``others`` exceeds a score of ``own``, with ties counted
    half (Hanley and McNeil, 1982), computed from ranks.

    Parameters
    ----------
    own : array_like, shape (N,)
        Scores a that should be small, such as the doubt about examples of the same task.
    others : array_like, shape (M,)
        Scores b that should be large, such as the doubt about examples of other tasks.

    Returns
    -------
    area : float
        1 if the scores separate the groups without error, 0.5 at chance level.

    Raises
    ------
    ValueError
        If a group is empty or has a non-finite score.

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
    # The rank of b among all scores is 1 plus the number below it.  Comparisons among the others
    # themselves contribute M (M + 1) / 2 to the sum of ranks.
    ranks = scipy.stats.rankdata(np.concatenate([own, others]))[own.size :]
    return float((ranks.sum() - others.size * (others.size + 1) / 2) / (own.size * others.size))


def doubt(prediction, rule):
    """Return how uncertain a classifier is about each example.

    Parameters
    ----------
    prediction : ibpcl.models.likelihoods.Classes
        Prediction for N examples.
    rule : {"entropy", "confidence", "mutual information"}
        The entropy of the mean prediction, in nats; one minus the probability of the predicted
        class; or the mutual information, the part of the entropy that knowledge of the weights
        would remove, in nats.  With two classes, the first two order examples alike.

    Returns
    -------
    doubts : ndarray, shape (N,)
        Smaller values mean more certainty.

    Raises
    ------
    ValueError
        If ``rule`` is not one of the three.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import mean_over_samples
    >>> doubt(mean_over_samples(np.log([[[0.75, 0.25]]])), "confidence")
    array([0.25])
    """
    # the sum over the other classes keeps digits that 1 - p loses
    if rule == "confidence":
        return np.sort(prediction.probabilities, axis=1)[:, :-1].sum(axis=1)
    if rule not in RULES:
        raise ValueError(f"confidence.doubt: rule must be one of {', '.join(RULES)}, got {rule!r}")
    return getattr(prediction, rule.replace(" ", "_"))


def infer_tasks(predictions, rule):
    """Return the task whose classifier is most certain about each example.

    Parameters
    ----------
    predictions : sequence of ibpcl.models.likelihoods.Classes
        Predictions of each task's classifier for the same N examples.
    rule : {"entropy", "confidence", "mutual information"}
        Measure of doubt: the entropy of the mean prediction, one minus the probability of the
        predicted class, or the mutual information.

    Returns
    -------
    tasks : ndarray of int, shape (N,)
        Index into ``predictions``; the first of equally certain ones.

    Raises
    ------
    ValueError
        If ``rule`` is not one of the three.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import mean_over_samples
    >>> heads = [mean_over_samples(np.log([p])) for p in ([[0.9, 0.1], [0.6, 0.4]],
    ...     [[0.5, 0.5], [0.2, 0.8]])]
    >>> infer_tasks(heads, "entropy")
    array([0, 1])
    """
    return np.argmin([doubt(prediction, rule) for prediction in predictions], axis=0)


def classes_by_task(predictions, tasks):
    """Return the class of each example that the classifier of its task predicts.

    Parameters
    ----------
    predictions : sequence of ibpcl.models.likelihoods.Classes
        Predictions of each task's classifier for the same N examples.
    tasks : ndarray of int, shape (N,)
        Index into ``predictions`` for each example, as from :func:`infer_tasks`.

    Returns
    -------
    classes : ndarray of int, shape (N,)
        The most probable classes.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import mean_over_samples
    >>> heads = [mean_over_samples(np.log([p])) for p in ([[0.9, 0.1], [0.6, 0.4]],
    ...     [[0.5, 0.5], [0.2, 0.8]])]
    >>> classes_by_task(heads, np.array([1, 1]))
    array([0, 1])
    """
    classes = np.stack([prediction.probabilities.argmax(axis=1) for prediction in predictions])
    return classes[tasks, np.arange(len(tasks))]


def _checked(probabilities, labels, caller):
    """Return class probabilities and labels as arrays, if they fit together."""
    probabilities, labels = scores_and_labels(np.asarray(probabilities, float), labels, caller)
    if not (probabilities >= 0).all() or not np.allclose(probabilities.sum(axis=1), 1, atol=1e-4):
        raise ValueError(
            f"{caller}: rows of probabilities must be at least 0 and sum to 1, got sums from "
            f"{probabilities.sum(axis=1).min()} to {probabilities.sum(axis=1).max()}"
        )
    return probabilities, labels
