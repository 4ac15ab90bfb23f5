r"""What the outputs of a network mean: the likelihood of the targets, and what is predicted.

Kumar et al. (2021), Eq. 2 and Sec. 3: Bernoulli with probit or logistic link for two classes and
for pixels, Gaussian with some noise variance for real targets; ten classes need the softmax where
the paper names the Bernoulli.

A likelihood says which entries of the parameter vector are its own, evaluates ``log_density`` with
its gradient right below, and makes a prediction of the outputs for S samples of the weights.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from ibpcl.models.parameters import Entry
from ibpcl.numerics import logsumexp, sigmoid, softplus
from ibpcl.primitives import likelihoods

LINKS = ("logistic", "probit")
OF_CLASSES = ("softmax", *LINKS)
OF_PIXELS = ("bernoulli", "gaussian")


class Classes(NamedTuple):
    r"""Which class a network predicts, and how sure it is.

    ``probabilities`` (N, C): the mean over samples.  ``entropy`` (N,): of that mean, in nats.
    ``mutual_information`` (N,): the part of the entropy that to know what is sampled would remove,
    here the weights: :math:`H[\bar p] - \frac1S \sum_s H[p^s]` (Houlsby et al., 2011).
    """

    probabilities: np.ndarray
    entropy: np.ndarray
    mutual_information: np.ndarray


class Values(NamedTuple):
    r"""What values a network predicts, each (N, C), in the units of the targets.

    ``mean``; ``sigma``: the standard deviation of a new observation, :math:`\sqrt{\sigma_f^2 +
    s^2}`; ``model_sigma``: the part :math:`\sigma_f` that more data would remove.
    """

    mean: np.ndarray
    sigma: np.ndarray
    model_sigma: np.ndarray


@dataclass(frozen=True)
class Likelihood:
    """The contract; this one has no entries of its own, and a ``density`` of
    :mod:`ibpcl.primitives.likelihoods`.
    """

    density = None

    def width(self, classes):
        """Return how many outputs a task of so many classes (or targets) needs."""
        return classes

    def entries(self, outputs):
        """Return the likelihood's own entries of the parameter vector."""
        return []

    def start(self, views):
        """Write where the own entries start into views by layer and name, in place."""

    def log_density(self, views, outputs, targets, backend):
        """Evaluate the log density of targets, labels (N,) or values (N, C): nats (S, N), summed
        over outputs.

        ``views`` are the parameters by layer and name, ``outputs`` (S, N, C) the network's;
        ``backend`` computes.  The cache is for :meth:`log_density_vjp`.
        """
        log_p, cache = getattr(backend.likelihoods, self.density)(outputs, targets)
        return log_p, (getattr(backend.likelihoods, f"{self.density}_vjp"), cache)

    def log_density_vjp(self, dlog_p, cache):
        """Pull the gradient back to the outputs; and to the own entries, a dict by layer and
        name.
        """
        pull_back, inner = cache
        return pull_back(dlog_p, inner), {}

    def predict(self, views, outputs):
        """Return the prediction of outputs (S, N, C): the mean over samples, and its
        uncertainty.
        """
        raise NotImplementedError

    def draw(self, views, outputs, rng):
        """Return targets drawn from what outputs (N, C) say: labels (N,), or values (N, C)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Softmax(Likelihood):
    """Classes, an output each: :func:`ibpcl.primitives.likelihoods.categorical`."""

    density = "categorical"

    def predict(self, views, outputs):
        """Return the :class:`Classes`."""
        return mean_over_samples(outputs - logsumexp(outputs, axis=-1, keepdims=True))

    def draw(self, views, outputs, rng):
        """Return labels (N,)."""
        p = np.exp(outputs - logsumexp(outputs, axis=-1, keepdims=True))
        # The first class whose cumulative probability passes u; rounding must not lead beyond the
        # last.
        return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(max=p.shape[1] - 1)


@dataclass(frozen=True)
class Bernoulli(Likelihood):
    """Each output is on or off: two classes with one output, or pixels in 0 .. 1 (grey ones are
    mean fields).

    :func:`ibpcl.primitives.likelihoods.bernoulli_logistic` and ``bernoulli_probit``, by the
    ``link``.
    """

    link: str = "logistic"

    def __post_init__(self):
        if self.link not in LINKS:
            raise ValueError(
                f"Bernoulli: link must be one of {', '.join(LINKS)}, got {self.link!r}"
            )

    @property
    def density(self):
        """The name of the density."""
        return f"bernoulli_{self.link}"

    def width(self, classes):
        """Return the one output of two classes."""
        if classes != 2:
            raise ValueError(
                f"the likelihood {self.link} is of two classes, got {classes}; softmax is of any "
                "number"
            )
        return 1

    def log_density(self, views, outputs, targets, backend):
        """Evaluate the log probability of labels (N,), 0 or 1, or of pixels (N, D)."""
        targets = targets if targets.ndim == 2 else targets[:, None].astype(outputs.real.dtype)
        return super().log_density(views, outputs, targets, backend)

    def predict(self, views, outputs):
        """Return the :class:`Classes` of one output, 0 and 1."""
        sides = np.concatenate([-outputs, outputs], axis=-1)
        return mean_over_samples(log_ndtr(sides) if self.link == "probit" else -softplus(-sides))

    def draw(self, views, outputs, rng):
        """Return values (N, D), 0 or 1."""
        return (rng.random(outputs.shape, dtype=np.float32) < self.mean(outputs)).astype(
            outputs.dtype
        )

    def mean(self, outputs):
        """Return the mean images that outputs (..., D) mean."""
        return sigmoid(outputs) if self.link == "logistic" else ndtr(outputs)


@dataclass(frozen=True)
class Gaussian(Likelihood):
    """Real values under Gaussian noise: :func:`ibpcl.primitives.likelihoods.gaussian`.

    ``sigma``, the standard deviation of the noise, is given, or, if it is ``learned``, where
    learning starts.
    """

    sigma: float = 0.1
    learned: bool = False

    def __post_init__(self):
        if not 0 < self.sigma < np.inf:
            raise ValueError(f"Gaussian: sigma must be finite and above 0, got {self.sigma}")

    def entries(self, outputs):
        """Return the log standard deviation of each output's noise, if it is learned."""
        return [Entry("noise.log_sigma", (outputs,), "noise")] if self.learned else []

    def start(self, views):
        """Start a learned noise at ``sigma``."""
        if self.learned:
            views["noise"]["log_sigma"][...] = np.log(self.sigma)

    def log_noise(self, views, outputs):
        """Return the log standard deviation of the noise, (C,)."""
        if self.learned:
            return views["noise"]["log_sigma"]
        return np.full(outputs.shape[-1], np.log(self.sigma), outputs.real.dtype)

    def log_density(self, views, outputs, targets, backend):
        """Evaluate the log density of the targets (N, C)."""
        return likelihoods.gaussian(outputs, self.log_noise(views, outputs), targets)

    def log_density_vjp(self, dlog_p, cache):
        """Pull the gradient back to the means, and to the noise if it is learned."""
        dmean, dlog_noise = likelihoods.gaussian_vjp(dlog_p, cache)
        return dmean, {"noise": {"log_sigma": dlog_noise}} if self.learned else {}

    def predict(self, views, outputs):
        """Return the :class:`Values` of at least two samples; the law of total variance adds the
        noise.
        """
        if len(outputs) < 2:
            raise ValueError(
                f"Gaussian.predict: samples must be at least 2 for a deviation, got {len(outputs)}"
            )
        variance = outputs.var(axis=0, ddof=1)
        total = variance + np.exp(2 * self.log_noise(views, outputs))
        return Values(outputs.mean(axis=0), np.sqrt(total), np.sqrt(variance))

    def draw(self, views, outputs, rng):
        """Return values (N, C)."""
        return outputs + np.exp(self.log_noise(views, outputs)) * rng.standard_normal(
            outputs.shape, np.float32
        )

    def mean(self, outputs):
        """Return the mean images that outputs (..., D) mean: themselves."""
        return outputs


def mean_over_samples(log_p):
    """Return the :class:`Classes` of log probabilities (S, N, C)."""
    p = np.exp(log_p)
    probabilities = p.mean(axis=0)
    # 0 log 0 = 0: the smallest positive float in its place.
    log_mean = np.log(np.maximum(probabilities, np.finfo(p.dtype).tiny))
    entropy = -(probabilities * log_mean).sum(axis=-1)
    mean_entropy = -(p * log_p).sum(axis=-1).mean(axis=0)
    return Classes(probabilities, entropy, np.maximum(entropy - mean_entropy, 0))


def of_classes(name):
    """Return the likelihood of classes by its name, a word of :data:`OF_CLASSES`."""
    return Softmax() if name == "softmax" else Bernoulli(name)


def of_pixels(name, sigma):
    """Return the likelihood of pixels, "bernoulli" (logistic link) or "gaussian" with a standard
    deviation.
    """
    return Bernoulli() if name == "bernoulli" else Gaussian(sigma)
