r"""Linear probe: forward transfer, measured by a linear classifier on a learned representation.

Kumar et al. (2021), supplement F.2, propose "to train a linear classifier on the representations
that are learned after each subsequent tasks for future task".  A head that was never trained only
guesses, so the accuracy on future tasks without such a classifier is the level of chance.

The classifier is softmax regression on the last hidden layer, trained to convergence.  With its L2
penalty the problem is convex and has one solution, so the result depends neither on a learning rate
nor on a number of steps:

.. math:: \min_{W, b}\; -\frac1N \sum_n \log \operatorname{softmax}(W^T h_n + b)_{y_n}
          + \frac{\lambda}{2} \lVert W \rVert^2
"""

from typing import NamedTuple

import numpy as np
import scipy  # its optimize is loaded on first use

from ibpcl.blas_threads import on_one_thread
from ibpcl.continual import masks as hard_masks
from ibpcl.errors import TrainingError
from ibpcl.models.layers import Pass
from ibpcl.noise import Key
from ibpcl.primitives import likelihoods

# Strength of the penalty.  It only has to make the solution unique: the features have variance one
# on average, so a weight of one costs a two-thousandth of a nat per example.
PENALTY = 1e-3
# Largest entry of the gradient at the solution, in nats per example.
TOLERANCE = 1e-5
MOST_STEPS = 20_000
# Examples whose features are computed at once, which bounds the memory.
CHUNK = 4096


class Probe(NamedTuple):
    """A fitted linear classifier.

    Attributes
    ----------
    weights : ndarray, shape (D, C)
        Weights W of the scaled features.
    bias : ndarray, shape (C,)
        Biases b, which sum to 0.
    centre : ndarray, shape (D,)
        Means of the features over the training examples, which are subtracted.
    scale : float
        Root of the mean variance of the features, by which they are divided.
    gradient : float
        Largest absolute entry of the gradient at the solution, in nats per example.
    """

    weights: np.ndarray
    bias: np.ndarray
    centre: np.ndarray
    scale: float
    gradient: float

    def logits(self, x):
        """Return the log probabilities of the classes, up to a constant for each example.

        Parameters
        ----------
        x : ndarray, shape (N, D)
            Features, not yet centred.

        Returns
        -------
        logits : ndarray, shape (N, C)
            Their largest entry belongs to the most probable class.
        """
        return (x - self.centre) / self.scale @ self.weights + self.bias


def objective(weights, bias, x, labels, penalty):
    r"""Compute the loss of softmax regression with an L2 penalty.

    .. math:: L = -\frac1N \sum_n \log \operatorname{softmax}(W^T x_n + b)_{y_n}
              + \frac{\lambda}{2} \sum_{dc} W_{dc}^2

    Parameters
    ----------
    weights : ndarray, shape (D, C)
        Weights W, any real.
    bias : ndarray, shape (C,)
        Biases b, any real.
    x : ndarray, shape (N, D)
        Features; not differentiated.
    labels : ndarray of int, shape (N,)
        Classes in 0 .. C - 1.
    penalty : float
        Strength :math:`\lambda` of the penalty, >= 0.

    Returns
    -------
    loss : float
        Nats per example.
    cache : tuple
        Input of :func:`objective_vjp`.

    Examples
    --------
    >>> loss, _ = objective(np.zeros((2, 4)), np.zeros(4), np.ones((3, 2)), np.array([0, 1, 3]), 1)
    >>> float(np.exp(-loss))
    0.25
    """
    log_p, cache = likelihoods.categorical((x @ weights + bias)[None], labels)
    return -log_p.mean() + penalty / 2 * (weights**2).sum(), (weights, x, penalty, cache)


def objective_vjp(dloss, cache):
    r"""Pull the gradient at the loss back to ``weights`` and ``bias``.

    .. math:: \partial_W L = \frac1N \sum_n x_n (p_n - e_{y_n})^T + \lambda W, \qquad
              \partial_b L = \frac1N \sum_n (p_n - e_{y_n}), \qquad
              p_n = \operatorname{softmax}(W^T x_n + b)
    """
    weights, x, penalty, likelihood_cache = cache
    dlog_p = np.full((1, len(x)), -dloss / len(x))
    dlogits = likelihoods.categorical_vjp(dlog_p, likelihood_cache)[0]
    dbias = dlogits.sum(axis=0)  # b was broadcast over N
    return x.T @ dlogits + dloss * penalty * weights, dbias


@on_one_thread
def fit(x, labels, classes, penalty=PENALTY):
    """Fit the linear classifier to convergence.

    The features are centred and divided by one number, so that their mean variance is 1.  The
    predictions then do not change if the features are shifted, scaled or rotated.

    Parameters
    ----------
    x : array_like, shape (N, D)
        Features of the training examples, finite.
    labels : array_like of int, shape (N,)
        Their classes in 0 .. C - 1.
    classes : int
        Number of classes C, >= 2.
    penalty : float
        Strength of the L2 penalty on the weights, > 0, relative to the scaled features.

    Returns
    -------
    probe : Probe
        The unique solution.  Only differences of biases matter, and they are chosen with sum 0.

    Raises
    ------
    ValueError
        If the shapes do not fit, examples are missing, or ``classes`` or ``penalty`` is too small.
    ibpcl.errors.TrainingError
        If the solution was not reached.

    Examples
    --------
    >>> probe = fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], 2)
    >>> probe.logits(np.array([[2.0], [4.0]])).argmax(axis=1)
    array([0, 1])
    """
    x = np.asarray(x, float)
    labels = np.asarray(labels)
    if x.ndim != 2 or labels.shape != x.shape[:1] or not len(x):
        raise ValueError(
            "linear_probe.fit: x must have shape (N, D) and labels shape (N,) with N >= 1, got "
            f"{x.shape} and {labels.shape}"
        )
    if classes < 2:
        raise ValueError(f"linear_probe.fit: classes must be at least 2, got {classes}")
    if not penalty > 0:
        raise ValueError(f"linear_probe.fit: penalty must be > 0, got {penalty}")
    centre = x.mean(axis=0)
    x = x - centre
    # features that are all constant stay 0
    scale = float(np.sqrt((x**2).mean())) or 1.0
    x = x / scale
    split = x.shape[1] * classes

    def loss(vector):
        weights = vector[:split].reshape(-1, classes)
        value, cache = objective(weights, vector[split:], x, labels, penalty)
        dweights, dbias = objective_vjp(1.0, cache)
        return value, np.concatenate([dweights.ravel(), dbias])

    # From zero, the biases keep the sum 0, because their gradients have it.
    solution = scipy.optimize.minimize(
        loss,
        np.zeros(split + classes),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": MOST_STEPS,
            "maxfun": 2 * MOST_STEPS,
            "gtol": TOLERANCE / 10,
            "ftol": 0,
        },
    )
    gradient = float(np.abs(solution.jac).max())
    if not gradient <= TOLERANCE:
        raise TrainingError(
            f"linear_probe.fit: no solution after {solution.nit} steps, the largest gradient is "
            f"{gradient:.1e}; raise penalty"
        )
    vector = solution.x
    return Probe(vector[:split].reshape(-1, classes), vector[split:], centre, scale, gradient)


def accuracy(x, labels, test_x, test_labels, classes, penalty=PENALTY):
    """Return the test accuracy of the linear classifier.

    Parameters
    ----------
    x : array_like, shape (N, D)
        Features of the training examples.
    labels : array_like of int, shape (N,)
        Their classes.
    test_x : ndarray, shape (M, D)
        Features of the test examples.
    test_labels : ndarray of int, shape (M,)
        Their classes.
    classes : int
        Number of classes C, >= 2.
    penalty : float
        Strength of the L2 penalty, > 0.

    Returns
    -------
    accuracy : float
        Share of correctly classified test examples, in 0..1.
    """
    probe = fit(x, labels, classes, penalty)
    return float((probe.logits(np.asarray(test_x, float)).argmax(axis=1) == test_labels).mean())


@on_one_thread
def open_weights(learner):
    """Return the weights that any learned task uses, the union of the masks.

    Parameters
    ----------
    learner : ibpcl.continual.learner.Saved
        A learner of the package for classification, with at least one learned task.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        By masked layer; empty for a method without masks.
    """
    tasks = [learner.assemble(t) for t in range(learner.learned)]
    network, *_ = tasks[-1]
    return {
        name: hard_masks.union([task[2][name] for task in tasks], layer.shape, layer.row_groups)
        for name, layer in network.masked.items()
    }


def representation(learner, x, masks=None):
    """Return the last hidden layer of a learner, as a future task finds it.

    The newest network is evaluated at the means of its weights, without noise.  A future task has
    no mask yet.  It may use whatever earlier tasks learned, so weights are on that any learned task
    uses: the union of the masks.  Likewise, a unit of HAT has its largest gate over the learned
    tasks.  In IBP-VCL, whose masks are drawn for each example, all units are on.

    Parameters
    ----------
    learner : ibpcl.continual.learner.Saved
        A learner of the package for classification, with at least one learned task.
    x : ndarray, shape (N, D)
        Inputs, as wide as those of the learned tasks.
    masks : dict of str to ndarray of bool, optional
        The weights that are on, such as :func:`open_weights` of another learner with layers of the
        same size. By default those of this learner.

    Returns
    -------
    h : ndarray, shape (N, K)
        Outputs of the last hidden layer.

    Raises
    ------
    ValueError
        If no task was learned.
    """
    if not learner.learned:
        raise ValueError("linear_probe.representation: the learner must have learned a task")
    tasks = [learner.assemble(t) for t in range(learner.learned)]
    network, vector, *_ = tasks[-1]
    masks = open_weights(learner) if masks is None else masks
    if "gates" in network.layout.blocks:
        block = network.layout.block("gates")
        vector = vector.copy()
        # a gate increases with its embedding
        vector[block] = np.max([task[1][block] for task in tasks], axis=0)
    views = network.layout.layers(vector)
    parts = []
    for first in range(0, max(1, len(x)), CHUNK):
        h = np.ascontiguousarray(x[first : first + CHUNK], np.float32)
        noise = network.noise(Key(0, 0, 0, 0), 0, len(h), learner.backend, relaxed=False)
        for stage in network.stages[:-1]:
            (h, _), _ = stage.forward(views, h, noise, Pass(learner.backend, masks))
        parts.append(h[0] if h.ndim == 3 else h)
    return np.concatenate(parts)
