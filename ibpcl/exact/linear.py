r"""Linear regression with Gaussian noise, where sequential Bayes is exact and quick.

The targets are linear in fixed features :math:`\phi(x)` of the input, with the same prior for every
weight,

.. math::

    y = W^\top \phi(x) + \sigma\epsilon, \qquad W_{kc} \sim \mathcal N(0, s^2), \qquad
    \epsilon \sim \mathcal N(0, I).

**Derivation.**  The log joint density of the weights of one output :math:`w` and the targets of a
task with features :math:`\Phi` is a quadratic,

.. math::

    \log p(w) + \log p(y \mid w) = -\tfrac12\, w^\top \Lambda w + b^\top w + \text{const.}, \qquad
    \Lambda = \Lambda_0 + \frac{\Phi^\top\Phi}{\sigma^2}, \quad
    b = b_0 + \frac{\Phi^\top y}{\sigma^2},

if the prior is a Gaussian with precision :math:`\Lambda_0` and shift
:math:`b_0 = \Lambda_0 \mu_0`.  So the posterior is the Gaussian with precision :math:`\Lambda` and
mean :math:`\mu = \Lambda^{-1} b`, and it can be the prior of the next task.  Both updates are sums
over examples.  Sums do not depend on their order, so the posterior after all tasks is that of all
data together, whatever the order of the tasks: nothing is approximated, and nothing is forgotten
that joint training would keep.

The precision does not depend on the targets.  All outputs share it.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky


class Linear(NamedTuple):
    """A Gaussian over the weights of a linear model, in natural parameters.

    Attributes
    ----------
    precision : ndarray, shape (K, K)
        Inverse covariance of the weights of one output; the same for all outputs.
    shift : ndarray, shape (K, C)
        Precision times mean.
    noise_sigma : float
        Standard deviation of the noise of the targets, > 0.
    """

    precision: np.ndarray
    shift: np.ndarray
    noise_sigma: float


def prior(features, outputs, prior_sigma=1.0, noise_sigma=1.0):
    """Return the prior of the weights.

    Parameters
    ----------
    features : int
        Number K of features.
    outputs : int
        Number C of outputs.
    prior_sigma : float
        Standard deviation s of every weight, > 0.
    noise_sigma : float
        Standard deviation of the noise, > 0.

    Returns
    -------
    belief : Linear
        With mean 0.

    Raises
    ------
    ValueError
        If a standard deviation is not positive.

    Examples
    --------
    >>> mean(prior(2, 1)).ravel()
    array([0., 0.])
    """
    for name, value in (("prior_sigma", prior_sigma), ("noise_sigma", noise_sigma)):
        if not value > 0:
            raise ValueError(f"linear.prior: {name} must be > 0, got {value}")
    return Linear(np.eye(features) / prior_sigma**2, np.zeros((features, outputs)), noise_sigma)


def update(belief, phi, y):
    r"""Apply Bayes' rule to one task.

    .. math::

        \Lambda \leftarrow \Lambda + \frac{\Phi^\top\Phi}{\sigma^2}, \qquad
        b \leftarrow b + \frac{\Phi^\top Y}{\sigma^2}

    Parameters
    ----------
    belief : Linear
        The posterior after the tasks so far, or the prior.
    phi : ndarray, shape (N, K)
        Features of the inputs of the task.
    y : ndarray, shape (N, C)
        Targets.

    Returns
    -------
    belief : Linear
        The posterior after the task.

    Raises
    ------
    ValueError
        If the shapes do not fit the belief.

    Examples
    --------
    >>> after = update(prior(1, 1), np.ones((3, 1)), np.array([[1.0], [2.0], [3.0]]))
    >>> float(mean(after).item()), float(after.precision.item())
    (1.5, 4.0)
    """
    features, outputs = belief.shift.shape
    if phi.shape != (len(y), features) or y.shape != (len(phi), outputs):
        raise ValueError(
            f"linear.update: phi must have shape (N, {features}) and y (N, {outputs}), got "
            f"{phi.shape} and {y.shape}"
        )
    scale = belief.noise_sigma**-2
    return belief._replace(
        precision=belief.precision + scale * (phi.T @ phi),
        shift=belief.shift + scale * (phi.T @ y),
    )


def mean(belief):
    r"""Return the mean of the weights, :math:`\mu = \Lambda^{-1} b`.

    Parameters
    ----------
    belief : Linear
        A posterior or the prior.

    Returns
    -------
    mean : ndarray, shape (K, C)
    """
    return cho_solve((cholesky(belief.precision, lower=True), True), belief.shift)


def predictive(belief, phi):
    r"""Return mean and variance of new targets.

    .. math::

        \mathbb E[y] = \mu^\top \phi, \qquad
        \operatorname{Var}[y_c] = \sigma^2 + \phi^\top \Lambda^{-1} \phi

    Parameters
    ----------
    belief : Linear
        A posterior or the prior.
    phi : ndarray, shape (N, K)
        Features of the new inputs.

    Returns
    -------
    mean : ndarray, shape (N, C)
    variance : ndarray, shape (N,)
        The same for all outputs; squared units of the targets.
    """
    root = cholesky(belief.precision, lower=True)
    mean_of_weights = cho_solve((root, True), belief.shift)
    spread = phi * cho_solve((root, True), phi.T).T
    return phi @ mean_of_weights, belief.noise_sigma**2 + spread.sum(axis=1)


def log_evidence(before, after, y):
    r"""Return the log evidence of a task, the log density of its targets given the tasks before.

    .. math::

        \log p(Y) = \tfrac12 \sum_c \Bigl[ \mu_c^\top \Lambda \mu_c - \mu_{0,c}^\top \Lambda_0
        \mu_{0,c} - \frac{|y_c|^2}{\sigma^2} + \log\frac{|\Lambda_0|}{|\Lambda|} - N \log(2 \pi
        \sigma^2) \Bigr]

    The evidences of all tasks add up to that of all data together.

    Parameters
    ----------
    before, after : Linear
        The belief before the task, and :func:`update` of it.
    y : ndarray, shape (N, C)
        Targets of the task.

    Returns
    -------
    log_evidence : float
        In nats, summed over examples and outputs.

    Examples
    --------
    >>> start = prior(1, 1)
    >>> y = np.array([[0.5]])
    >>> round(log_evidence(start, update(start, np.ones((1, 1)), y), y), 6)  # N(0.5 | 0, 2)
    -1.328012
    """

    def quadratic_and_determinant(belief):
        root = cholesky(belief.precision, lower=True)
        quadratic = (belief.shift * cho_solve((root, True), belief.shift)).sum()
        return quadratic, 2 * np.log(np.diag(root)).sum()

    examples, outputs = y.shape
    old, old_determinant = quadratic_and_determinant(before)
    new, new_determinant = quadratic_and_determinant(after)
    variance = before.noise_sigma**2
    return (
        float(
            new
            - old
            - (y * y).sum() / variance
            + outputs * (old_determinant - new_determinant)
            - examples * outputs * np.log(2 * np.pi * variance)
        )
        / 2
    )
