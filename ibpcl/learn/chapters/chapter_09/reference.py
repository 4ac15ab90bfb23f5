"""Reference functions of chapter 9 that are not primitives of the package."""

import numpy as np


def temperature(steps, start, end):
    r"""Return the temperature of each step.

    .. math:: \tau_i = \tau_0 (\tau_1 / \tau_0)^{i / (n - 1)}

    Parameters
    ----------
    steps : int
        Number of steps n, at least 2.
    start, end : float
        First and last temperature, > 0.

    Returns
    -------
    tau : ndarray, shape (n,)
    """
    return start * (end / start) ** (np.arange(steps) / (steps - 1))


def adam_step(w, gradient, m, s, step, rate):
    r"""Return the parameters after one step of Adam, downhill.

    Parameters
    ----------
    w, gradient : ndarray, shape (P,)
        Parameters and the gradient of the loss.
    m, s : ndarray, shape (P,)
        Running means of the gradient and of its square before the step.
    step : int
        Number of the step, from 1.
    rate : float
        Learning rate.

    Returns
    -------
    w : ndarray, shape (P,)
    """
    m = 0.9 * m + (1 - 0.9) * gradient
    s = 0.999 * s + (1 - 0.999) * gradient * gradient
    direction = m / (1 - 0.9**step) / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
    return w - rate * direction


def mask_probability(rho, logit_pi):
    r"""Return the probability that each weight is on.

    .. math:: \bar\theta_{dk} = \frac1S \sum_s \sigma(\rho_{dk} + \operatorname{logit} \pi_{sk})

    Parameters
    ----------
    rho : ndarray, shape (D, K)
        Offsets of the log-odds.
    logit_pi : ndarray, shape (S, K)
        Log-odds of the sticks' products, for each sample.

    Returns
    -------
    theta : ndarray, shape (D, K)
    """
    return (1 / (1 + np.exp(-rho[None] - logit_pi[:, None, :]))).mean(axis=0)


def next_prior(used, posterior, first):
    r"""Return the means of the next prior (Kumar et al., 2021, Eq. 11).

    Parameters
    ----------
    used : ndarray of bool, shape (D, K)
        Union of the masks so far.
    posterior, first : ndarray, shape (D, K)
        Means of the last posterior and of the first prior.

    Returns
    -------
    prior : ndarray, shape (D, K)
    """
    return np.where(used, posterior, first)


def pull(mu, mu_0, sigma_0):
    r"""Return the divergence of Gaussians of equal width.

    .. math:: \sum_i \frac{(\mu_i - \mu_{0,i})^2}{2 \sigma_{0,i}^2}

    Parameters
    ----------
    mu, mu_0, sigma_0 : ndarray, shape (P,)
        Means of q and p, and their width, > 0.

    Returns
    -------
    divergence : float
        Nats.
    cache : object
        Input of ``pull_vjp``.
    """
    t = (mu - mu_0) / sigma_0
    return (t * t).sum() / 2, (t, sigma_0)


def pull_vjp(ddivergence, cache):
    """Pull the gradient at the divergence back to ``mu``, ``mu_0`` and ``sigma_0``.

    Parameters
    ----------
    ddivergence : float
    cache : object
        From ``pull``.

    Returns
    -------
    dmu, dmu_0, dsigma_0 : ndarray, shape (P,)
    """
    t, sigma_0 = cache
    dmu = ddivergence * t / sigma_0
    return dmu, -dmu, -ddivergence * t * t / sigma_0


def stiffness():
    """Return how many times stronger the posterior pulls than the first prior."""
    return 400.0


def stiffness_slips():
    """Return common wrong answers by the mistake that leads to them."""
    return {"this is the ratio of the widths: the pull has the square": 20.0}


def first_step():
    """Return the length of Adam's first step at the rate 0.01."""
    return 0.01


def lighter_masks():
    """Predict the share of weights with a lighter divergence of the masks."""
    return "a"


def third_task():
    """Predict what a third task does to the union of the masks."""
    return "b"
