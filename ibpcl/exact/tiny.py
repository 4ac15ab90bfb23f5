r"""A network with few weights, and its log joint density with a derivation of the gradient.

The density of the weights and the labels of tasks 1 to t is

.. math::

    \log p(w, \mathcal D_{1:t}) = \sum_i \log \mathcal N(w_i; 0, \sigma_0^2)
        + \sum_{s \le t} \sum_n \log p(y_{sn} | x_{sn}, w).

The log likelihoods of the tasks add up.  So the exact posterior after task t, with the posterior
after task t - 1 as its prior, is the posterior given all data so far.

Weight vectors are rows of an array (S, P), so that many of them are evaluated at once: the points
of a grid, or one per chain.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ibpcl.numerics import sigmoid
from ibpcl.primitives import activations, gaussian, likelihoods, linear

LIKELIHOODS = ("logistic", "softmax", "gaussian")
MOST_WEIGHTS = 20


@dataclass(frozen=True)
class TinyNetwork:
    """A linear model, or a network with one hidden layer, with a Gaussian prior on every weight.

    The weights are in the order of the package's networks: weights (D, K) and biases (K,) of the
    hidden layer, then those of the output layer.

    Parameters
    ----------
    inputs : int
        Width D of the examples, at least 1.
    hidden : int
        Number K of hidden units; 0 for a linear model.
    outputs : int
        Number C of outputs: 1 for the logistic likelihood, one per class for the softmax.
    likelihood : {"logistic", "softmax", "gaussian"}
        Likelihood of the targets: labels 0 or 1, labels 0 .. C - 1, or real values.
    activation : {"tanh", "relu"}
        Activation of the hidden units.
    prior_sigma : float
        Standard deviation of the prior of a weight, > 0.
    noise_sigma : float
        Standard deviation of the noise of real targets, > 0.

    Raises
    ------
    ValueError
        If an argument is out of range, or the network has more than 20 weights.

    Examples
    --------
    >>> TinyNetwork(2, hidden=3, outputs=2, likelihood="softmax").size
    17
    """

    inputs: int
    hidden: int = 0
    outputs: int = 1
    likelihood: str = "logistic"
    activation: str = "tanh"
    prior_sigma: float = 1.0
    noise_sigma: float = 1.0

    def __post_init__(self):
        for name, least in (("inputs", 1), ("hidden", 0), ("outputs", 1)):
            if getattr(self, name) < least:
                raise ValueError(
                    f"TinyNetwork: {name} must be at least {least}, got {getattr(self, name)}"
                )
        for name, allowed in (("likelihood", LIKELIHOODS), ("activation", ("tanh", "relu"))):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"TinyNetwork: {name} must be one of {', '.join(allowed)}, got "
                    f"{getattr(self, name)!r}"
                )
        for name in ("prior_sigma", "noise_sigma"):
            if not 0 < getattr(self, name) < np.inf:
                raise ValueError(
                    f"TinyNetwork: {name} must be finite and > 0, got {getattr(self, name)}"
                )
        if self.likelihood == "logistic" and self.outputs != 1:
            raise ValueError(
                f"TinyNetwork: outputs must be 1 for the logistic likelihood, got {self.outputs}"
            )
        if self.size > MOST_WEIGHTS:
            raise ValueError(
                f"TinyNetwork: a network must have at most {MOST_WEIGHTS} weights, got {self.size}"
            )

    @property
    def layers(self):
        """Inputs and units of each layer, as pairs."""
        widths = [self.inputs, self.hidden, self.outputs]
        widths = [width for width in widths if width]
        return list(pairwise(widths))

    @property
    def size(self):
        """Number P of weights, with the biases."""
        return sum((inputs + 1) * units for inputs, units in self.layers)


def check_weights(caller, network, w):
    """Check that weight vectors have the shape that a network needs.

    Parameters
    ----------
    caller : str
        Name of the function, which begins the message.
    network : TinyNetwork
        The network.
    w : ndarray, shape (S, P)
        Weight vectors.

    Raises
    ------
    ValueError
        If the shape is not (S, P).
    """
    if np.ndim(w) != 2 or np.shape(w)[1] != network.size:
        raise ValueError(f"{caller}: w must have shape (S, {network.size}), got {np.shape(w)}")


def outputs(network, w, x):
    r"""Compute the outputs of the network for several weight vectors.

    .. math:: f(x) = \phi(x W_1 + b_1)\, W_2 + b_2, \qquad \text{or } x W + b
        \text{ without a hidden layer}

    Parameters
    ----------
    network : TinyNetwork
        The network.
    w : ndarray, shape (S, P)
        Weight vectors.
    x : ndarray, shape (N, D) or (S, N, D)
        Inputs; with a sample axis, each weight vector has its own.

    Returns
    -------
    f : ndarray, shape (S, N, C)
        Outputs: logits, or means of real targets.
    cache : tuple
        Input of :func:`outputs_vjp`.

    Raises
    ------
    ValueError
        If ``w`` does not have the shape (S, P).
    """
    check_weights("tiny.outputs", network, w)
    h = np.asarray(x, np.float64)
    caches = []
    start = 0
    for inputs, units in network.layers:
        if caches:
            h, cache = getattr(activations, network.activation)(h)
            caches.append(cache)
        middle = start + inputs * units
        matrix = w[:, start:middle].reshape(-1, inputs, units)
        h, cache = linear.apply(h, matrix, w[:, middle : middle + units])
        caches.append(cache)
        start = middle + units
    return h, (network, caches)


def outputs_vjp(df, cache):
    r"""Pull the gradient at the outputs back to ``w``, layer by layer, from the last to the first.

    The parts of a weight vector are disjoint, so their gradients are joined and not added.
    """
    network, caches = cache
    pieces = []
    for place in reversed(range(len(caches))):
        if place % 2:  # an activation stands between two layers
            df = getattr(activations, f"{network.activation}_vjp")(df, caches[place])
        else:
            df, dw, db = linear.apply_vjp(df, caches[place], needs_dx=place > 0)
            pieces = [dw.reshape(len(dw), -1), db, *pieces]
    return np.concatenate(pieces, axis=1)


def log_density(network, w, x, y):
    r"""Evaluate :math:`\log p(y_n | x_n, w)` for every weight vector and example.

    Parameters
    ----------
    network : TinyNetwork
        The network.
    w : ndarray, shape (S, P)
        Weight vectors.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Labels, or real targets.

    Returns
    -------
    log_p : ndarray, shape (S, N)
        Nats.
    cache : tuple
        Input of :func:`log_density_vjp`.

    Raises
    ------
    ValueError
        If the targets do not fit the likelihood.
    """
    f, inner = outputs(network, w, x)
    y = np.asarray(y)
    if network.likelihood == "softmax":
        log_p, cache = likelihoods.categorical(f, y)
    elif network.likelihood == "logistic":
        likelihoods.check_labels(y, (*f.shape[:2], 2))
        log_p, cache = likelihoods.bernoulli_logistic(f, y[:, None].astype(np.float64))
    else:
        log_noise = np.full(network.outputs, np.log(network.noise_sigma))
        log_p, cache = likelihoods.gaussian(f, log_noise, y.astype(np.float64))
    return log_p, (network.likelihood, cache, inner)


def log_density_vjp(dlog_p, cache):
    """Pull the gradient at ``log_p`` back to ``w``."""
    likelihood, inner, before = cache
    if likelihood == "softmax":
        df = likelihoods.categorical_vjp(dlog_p, inner)
    elif likelihood == "logistic":
        df = likelihoods.bernoulli_logistic_vjp(dlog_p, inner)
    else:
        df, _ = likelihoods.gaussian_vjp(dlog_p, inner)
    return outputs_vjp(df, before)


def log_joint(network, w, data):
    r"""Evaluate the log joint density of the weights and the data of several tasks.

    .. math:: \log p(w) + \sum_t \sum_n \log p(y_{tn} | x_{tn}, w)

    Parameters
    ----------
    network : TinyNetwork
        The network, with the standard deviation of the prior.
    w : ndarray, shape (S, P)
        Weight vectors.
    data : sequence of (ndarray, ndarray)
        Inputs (N, D) and targets of each task; the log prior alone if empty.

    Returns
    -------
    total : ndarray, shape (S,)
        Nats.
    cache : tuple
        Input of :func:`log_joint_vjp`.

    Raises
    ------
    ValueError
        If ``w`` or the targets do not fit the network.
    """
    check_weights("tiny.log_joint", network, w)
    zeros = np.zeros(network.size)
    log_p, prior = gaussian.log_density(w, zeros, zeros + np.log(network.prior_sigma))
    total = log_p.sum(axis=1)
    caches = []
    for x, y in data:
        log_p, cache = log_density(network, w, x, y)
        total = total + log_p.sum(axis=1)
        caches.append((cache, log_p.shape))
    return total, (prior, caches)


def log_joint_vjp(dtotal, cache):
    """Pull the gradient at ``total`` back to ``w``: the sum over the prior and the tasks."""
    prior, caches = cache
    dw, _, _ = gaussian.log_density_vjp(dtotal[:, None], prior)
    for inner, shape in caches:
        dw = dw + log_density_vjp(np.broadcast_to(dtotal[:, None], shape), inner)
    return dw


def with_gradient(network, data):
    """Return the log joint density as a function of the weights, with its gradient.

    Parameters
    ----------
    network : TinyNetwork
        The network.
    data : sequence of (ndarray, ndarray)
        Inputs and targets of each task.

    Returns
    -------
    density : callable
        ``density(w)`` returns values (S,), in nats, and gradients (S, P), for ``w`` (S, P).
    """

    if data:  # the log likelihoods add up, so the tasks can be evaluated as one
        x, y = (np.concatenate(arrays) for arrays in zip(*data, strict=True))
        data = [(x.astype(np.float64), y)]

    def density(w):
        total, cache = log_joint(network, w, data)
        return total, log_joint_vjp(np.ones(len(w)), cache)

    return density


def fisher(network, w, x):
    r"""Compute the Fisher information of one weight vector, summed over examples.

    .. math:: F = \sum_n J_n^\top A_n J_n, \qquad J_n = \frac{\partial f(x_n)}{\partial w}

    where A is the covariance of the labels for the logistic and softmax likelihoods, and
    :math:`I / s^2` for real targets with noise s.  In a linear model, -F is the Hessian of the log
    likelihood.

    Parameters
    ----------
    network : TinyNetwork
        The network.
    w : ndarray, shape (P,)
        A weight vector.
    x : ndarray, shape (N, D)
        Inputs.

    Returns
    -------
    information : ndarray, shape (P, P)
        Symmetric, positive semi-definite; in nats per squared unit of weight.
    """
    # each example has its own copy of the weights, so that the VJP does not add the examples up
    copies = np.repeat(w[None], len(x), axis=0)
    f, cache = outputs(network, copies, np.asarray(x)[:, None, :])
    rows = np.eye(network.outputs)
    jacobian = np.stack(
        [outputs_vjp(np.broadcast_to(row, f.shape), cache) for row in rows], axis=1
    )  # (N, C, P)
    curvature = output_curvature(network, f[:, 0])
    return np.einsum("ncp,ncd,ndq->pq", jacobian, curvature, jacobian, optimize=True)


def output_curvature(network, f):
    """Return the Fisher information of the outputs of each example.

    Parameters
    ----------
    network : TinyNetwork
        The network.
    f : ndarray, shape (N, C)
        Outputs.

    Returns
    -------
    curvature : ndarray, shape (N, C, C)
        Covariance of the labels, or the inverse variance of real targets.
    """
    rows = np.eye(network.outputs)
    if network.likelihood == "gaussian":
        return np.broadcast_to(rows / network.noise_sigma**2, (len(f), *rows.shape))
    if network.likelihood == "logistic":
        return (sigmoid(f) * sigmoid(-f))[..., None]
    p = np.exp(f - f.max(axis=1, keepdims=True))
    p = p / p.sum(axis=1, keepdims=True)
    return p[:, :, None] * rows - p[:, :, None] * p[:, None, :]
