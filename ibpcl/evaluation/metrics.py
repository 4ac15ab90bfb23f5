r"""Metrics of continual learning, computed from the accuracy matrix.

The accuracy matrix :math:`R` has shape (T, T): ``R[i, j]`` is the test accuracy, a fraction in
0..1, on task ``j`` after training on task ``i``.  Rows are time, columns are tasks.

.. math::
    R = \begin{pmatrix} R_{11} & \cdot & \cdot \\ R_{21} & R_{22} & \cdot \\ R_{31} & R_{32} &
        R_{33} \end{pmatrix}

The diagonal holds the accuracy on each task just after it was learned.  Entries below the diagonal
show what remains of it later (:func:`backward_transfer`, :func:`forgetting`).  Entries above it
show what the network knows of a task before learning it (:func:`forward_transfer`).

An entry that was not evaluated is NaN, and a metric that needs such an entry is NaN: it is never
the mean of fewer entries than its definition names.  The same holds where a definition averages
over nothing, such as the backward transfer of a single task.  The papers count tasks from 1, the
code from 0.

Sources: Kumar et al. (2021), supplement, "Other Metrics"; Diaz-Rodriguez et al. (2018), "Don't
forget, there is more than forgetting: new metrics for continual learning"; Lopez-Paz and Ranzato
(2017), "Gradient episodic memory for continual learning"; Chaudhry et al. (2018), "Riemannian walk
for incremental learning".
"""

import numpy as np


def accuracy(probabilities, labels):
    r"""Return the share of examples whose most probable class is the true one.

    .. math:: \frac{1}{N} \sum_n \mathbb 1\bigl[\arg\max_c p_{nc} = y_n\bigr]

    Parameters
    ----------
    probabilities : ndarray, shape (N, C)
        Class probabilities, or any scores that rank the classes alike.  The first of equal scores
        counts.
    labels : ndarray of int, shape (N,)
        True classes, in 0..C-1.

    Returns
    -------
    accuracy : float
        In 0..1.

    Raises
    ------
    ValueError
        If arrays are empty, shapes do not fit, a score is NaN, or a label is not a class.

    Examples
    --------
    >>> accuracy(np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 0]))
    0.5
    """
    probabilities, labels = scores_and_labels(probabilities, labels, "metrics.accuracy")
    return float(np.mean(probabilities.argmax(axis=1) == labels))


def scores_and_labels(probabilities, labels, caller):
    """Return class scores and labels as arrays, after checking that they fit together.

    Parameters
    ----------
    probabilities : array_like, shape (N, C)
        Class probabilities or scores; N and C at least 1.
    labels : array_like of int, shape (N,)
        True classes, in 0..C-1.
    caller : str
        Name of the function in error messages.

    Returns
    -------
    probabilities : ndarray, shape (N, C)
        The scores.
    labels : ndarray of int, shape (N,)
        The labels.

    Raises
    ------
    ValueError
        If arrays are empty, shapes do not fit, a score is NaN, or a label is not a class.
    """
    probabilities = np.asarray(probabilities)
    labels = np.asarray(labels)
    if probabilities.ndim != 2 or probabilities.size == 0:
        raise ValueError(
            f"{caller}: probabilities must have shape (N, C), N and C at least 1, "
            f"got {probabilities.shape}"
        )
    if labels.shape != probabilities.shape[:1]:
        raise ValueError(
            f"{caller}: labels must have shape {probabilities.shape[:1]} to fit probabilities, "
            f"got {labels.shape}"
        )
    if not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"{caller}: labels must be integers, got {labels.dtype}")
    if labels.min() < 0 or labels.max() >= probabilities.shape[1]:
        raise ValueError(
            f"{caller}: labels must lie in 0..{probabilities.shape[1] - 1}, "
            f"got {labels.min()}..{labels.max()}"
        )
    if np.isnan(probabilities).any():
        raise ValueError(
            f"{caller}: probabilities must not be NaN, got {np.isnan(probabilities).sum()} NaN"
        )
    return probabilities, labels


def log_likelihood(probabilities, labels):
    r"""Return the mean log probability of the true classes.

    .. math:: \frac1N \sum_n \log p_{n y_n}

    Parameters
    ----------
    probabilities : ndarray, shape (N, C)
        Class probabilities.
    labels : ndarray of int, shape (N,)
        True classes, in 0..C-1.

    Returns
    -------
    log_likelihood : float
        Nats per example, at most 0.  A probability of 0 counts as the smallest positive float32.

    Examples
    --------
    >>> log_likelihood(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0, 1])).__round__(4)
    -0.3466
    """
    true = np.asarray(probabilities)[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.maximum(true, np.finfo(np.float32).tiny))))


def r_squared(predictions, targets):
    r"""Return the share of the targets' variance that the predictions explain, at least 0.

    .. math::

        \max\Bigl(0,\; 1 - \frac{\sum_n \lVert y_n - f_n \rVert^2}
            {\sum_n \lVert y_n - \bar y \rVert^2}\Bigr)

    The coefficient of determination, clipped at 0 so that it lies in 0..1 like an accuracy.

    Parameters
    ----------
    predictions, targets : ndarray, shape (N, C)
        Predicted and observed values.

    Returns
    -------
    share : float
        In 0..1; 0 if predicting the mean of the targets is at least as good.

    Raises
    ------
    ValueError
        If the shapes differ or the targets do not vary.

    Examples
    --------
    >>> r_squared(np.array([[1.0], [3.0]]), np.array([[1.0], [3.0]]))
    1.0
    """
    predictions = np.asarray(predictions, float)
    targets = np.asarray(targets, float)
    if predictions.shape != targets.shape:
        raise ValueError(
            "metrics.r_squared: predictions and targets must have one shape, got "
            f"{predictions.shape} and {targets.shape}"
        )
    spread = np.sum((targets - targets.mean(axis=0)) ** 2)
    if not spread > 0:
        raise ValueError("metrics.r_squared: the targets must vary, got one value only")
    return float(max(0.0, 1 - np.sum((targets - predictions) ** 2) / spread))


def as_accuracy_matrix(R, caller="metrics.as_accuracy_matrix"):
    """Return an accuracy matrix as a float64 array, after checking it.

    Parameters
    ----------
    R : array_like, shape (T, T)
        Fractions in 0..1; NaN (or None, as in ``result.json``) where not evaluated.
    caller : str
        Name of the function in error messages.

    Returns
    -------
    R : ndarray, shape (T, T)
        A copy, with NaN for None.

    Raises
    ------
    ValueError
        If R is empty, not square, or has a value outside 0..1, such as a percentage.

    Examples
    --------
    >>> as_accuracy_matrix([[1, None], [0.5, 1]])
    array([[1. , nan],
           [0.5, 1. ]])
    """
    try:
        R = np.array(R, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{caller}: R must be a square matrix of numbers, got {error}") from error
    if R.ndim != 2 or R.shape[0] != R.shape[1] or R.size == 0:
        raise ValueError(
            f"{caller}: R must be square, (T, T) with T at least 1, got shape {R.shape}"
        )
    outside = R[(R < 0) | (R > 1)]  # comparisons with NaN are False
    if outside.size:
        raise ValueError(f"{caller}: R must hold fractions in 0..1 or NaN, got {outside[0]:g}")
    return R


def average_accuracy(R):
    r"""Return the mean accuracy over all tasks at the end, the mean of the last row.

    .. math:: \frac{1}{T} \sum_{j=1}^{T} R_{T,j}

    Lopez-Paz and Ranzato (2017), "ACC"; Kumar et al. (2021), table "final mean accuracies".

    Parameters
    ----------
    R : array_like, shape (T, T)
        Accuracy matrix: fractions in 0..1, NaN where not evaluated.

    Returns
    -------
    accuracy : float
        In 0..1.

    Raises
    ------
    ValueError
        If R is not an accuracy matrix.

    Examples
    --------
    >>> average_accuracy([[1.0, np.nan], [0.5, 1.0]])
    0.75
    """
    return float(as_accuracy_matrix(R, "metrics.average_accuracy")[-1].mean())


def average_accuracy_so_far(R):
    r"""Return the mean accuracy on the tasks learned so far, after every task.

    .. math:: \frac{1}{i} \sum_{j=1}^{i} R_{i,j}, \qquad i = 1, \dots, T

    The curve of the paper's figures: Kumar et al. (2021), "Performance evaluation", (ii).  The last
    value is :func:`average_accuracy`.

    Parameters
    ----------
    R : array_like, shape (T, T)
        Accuracy matrix: fractions in 0..1, NaN where not evaluated.

    Returns
    -------
    accuracies : ndarray, shape (T,)
        In 0..1.

    Raises
    ------
    ValueError
        If R is not an accuracy matrix.

    Examples
    --------
    >>> average_accuracy_so_far([[1.0, np.nan], [0.5, 1.0]])
    array([1.  , 0.75])
    """
    R = as_accuracy_matrix(R, "metrics.average_accuracy_so_far")
    T = len(R)
    return np.where(np.tri(T, dtype=bool), R, 0.0).sum(axis=1) / np.arange(1, T + 1)


def mean_accuracy_over_pairs(R):
    r"""Return the accuracy averaged over time and tasks.

    It is the mean of the lower triangle, diagonal included,

    .. math:: \mathrm{Acc} = \frac{\sum_{i \ge j} R_{i,j}}{T (T + 1) / 2}

    Diaz-Rodriguez et al. (2018), "Accuracy (A)".

    .. warning:: Kumar et al. (2021) print the denominator :math:`T (T - 1) / 2`, which lacks one
       term per task: five tasks with accuracy 1 would score 1.5.  The column "Acc" of their table
       contains :func:`average_accuracy`, in percent, instead.

    Parameters
    ----------
    R : array_like, shape (T, T)
        Accuracy matrix: fractions in 0..1, NaN where not evaluated.

    Returns
    -------
    accuracy : float
        In 0..1.

    Raises
    ------
    ValueError
        If R is not an accuracy matrix.

    Examples
    --------
    >>> mean_accuracy_over_pairs(np.ones((5, 5)))
    1.0
    """
    R = as_accuracy_matrix(R, "metrics.mean_accuracy_over_pairs")
    T = len(R)
    return float(R[np.tril_indices(T)].sum() / (T * (T + 1) / 2))


def backward_transfer(R):
    r"""Return the mean change of accuracy on earlier tasks caused by later ones.

    .. math::

        \mathrm{BWT} = \frac{\sum_{i=2}^{T} \sum_{j=1}^{i-1} (R_{i,j} - R_{j,j})}{T (T - 1) / 2}

    Kumar et al. (2021), "Other Metrics"; Diaz-Rodriguez et al. (2018), "Backward transfer".  All
    times count, not only the last one.

    .. warning:: Lopez-Paz and Ranzato (2017) use only the last row, which is
       ``-accuracy_drop(R)[:-1].mean()`` here.  The two differ where forgetting accumulates, so
       compare only numbers of the same definition.

    Parameters
    ----------
    R : array_like, shape (T, T)
        Accuracy matrix: fractions in 0..1, NaN where not evaluated.

    Returns
    -------
    transfer : float
        In -1..1; negative means forgetting, positive improvement.  NaN for a single task.

    Raises
    ------
    ValueError
        If R is not an accuracy matrix.

    Examples
    --------
    >>> backward_transfer([[1.0, np.nan], [0.5, 1.0]])
    -0.5
    """
    R = as_accuracy_matrix(R, "metrics.backward_transfer")
    T = len(R)
    below = np.tril_indices(T, -1)
    changes = (R - R.diagonal())[below]  # subtracts R_jj from column j
    return float(changes.sum() / (T * (T - 1) / 2)) if T > 1 else float("nan")


def forward_transfer(R):
    r"""Return the mean accuracy on tasks before they are learned.

    .. math:: \mathrm{FWT} = \frac{\sum_{i < j} R_{i,j}}{T (T - 1) / 2}

    Kumar et al. (2021), "Other Metrics"; Diaz-Rodriguez et al. (2018), "Forward transfer".

    .. warning:: With one head per task, the head of a task before learning is untrained, and the
       result is at chance level (1/C), as the paper notes about its own table.  Unlike in
       Lopez-Paz and Ranzato (2017), chance is not subtracted.

    Parameters
    ----------
    R : array_like, shape (T, T)
        Accuracy matrix: fractions in 0..1, NaN where not evaluated.

    Returns
    -------
    transfer : float
        In 0..1; NaN for a single task, or if the upper triangle was not evaluated.

    Raises
    ------
    ValueError
        If R is not an accuracy matrix.

    Examples
    --------
    >>> forward_transfer([[1.0, 0.5], [0.5, 1.0]])
    0.5
    """
    R = as_accuracy_matrix(R, "metrics.forward_transfer")
    T = len(R)
    return float(R[np.triu_indices(T, 1)].sum() / (T * (T - 1) / 2)) if T > 1 else float("nan")


def accuracy_drop(R):
    r"""Return the accuracy that each task lost between learning it and the end.

    .. math:: R_{j,j} - R_{T,j}, \qquad j = 1, \dots, T

    Parameters
    ----------
    R : array_like, shape (T, T)
        Accuracy matrix: fractions in 0..1, NaN where not evaluated.

    Returns
    -------
    drops : ndarray, shape (T,)
        In -1..1; positive where accuracy was lost, 0 for the last task.

    Raises
    ------
    ValueError
        If R is not an accuracy matrix.

    Examples
    --------
    >>> accuracy_drop([[1.0, np.nan], [0.5, 1.0]])
    array([0.5, 0. ])
    """
    R = as_accuracy_matrix(R, "metrics.accuracy_drop")
    return R.diagonal() - R[-1]


def forgetting(R):
    r"""Return the mean loss from the best to the final accuracy, over all tasks except the last.

    .. math:: F = \frac{1}{T - 1} \sum_{j=1}^{T-1} \Bigl(\max_{j \le i < T} R_{i,j} - R_{T,j}\Bigr)

    Chaudhry et al. (2018), "Forgetting measure".  Their maximum starts at i = 1, before the task
    was learned.

    Parameters
    ----------
    R : array_like, shape (T, T)
        Accuracy matrix: fractions in 0..1, NaN where not evaluated.

    Returns
    -------
    forgetting : float
        In -1..1; negative if the tasks ended better than ever before.  NaN for a single task.

    Raises
    ------
    ValueError
        If R is not an accuracy matrix.

    Examples
    --------
    >>> forgetting([[0.75, np.nan, np.nan], [1.0, 1.0, np.nan], [0.5, 1.0, 1.0]])
    0.25
    """
    R = as_accuracy_matrix(R, "metrics.forgetting")
    T = len(R)
    if T == 1:
        return float("nan")
    # accuracies are >= 0, so the zeros do not change the maximum
    learned = np.where(np.tri(T, dtype=bool), R, 0.0)
    return float(np.mean(learned[:-1, :-1].max(axis=0) - R[-1, :-1]))
