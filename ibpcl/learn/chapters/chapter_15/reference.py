"""Reference functions of chapter 15."""

import numpy as np
from scipy.special import expit


def log_joint(w, x, y, sigma):
    r"""Return the log joint density of two weights and labels, without the prior's constant.

    .. math::
        \sum_n \log \sigma\bigl(s_n (w_0 x_n + w_1)\bigr) - \frac{w_0^2 + w_1^2}{2 \sigma^2},
        \qquad s_n = 2 y_n - 1

    Parameters
    ----------
    w : ndarray, shape (2,)
        Slope and intercept.
    x : ndarray, shape (N,)
        Inputs.
    y : ndarray of int, shape (N,)
        Labels, 0 or 1.
    sigma : float
        Standard deviation of the prior.

    Returns
    -------
    value : float
        Nats.
    cache : object
        Input of ``log_joint_vjp``.
    """
    sign = 2 * y - 1
    margin = sign * (w[0] * x + w[1])
    value = -np.sum(np.logaddexp(0, -margin)) - np.sum(w * w) / (2 * sigma**2)
    return value, (w, x, sign, margin, sigma)


def log_joint_vjp(dvalue, cache):
    """Pull the gradient at the value back to the weights and the inputs.

    Parameters
    ----------
    dvalue : float
    cache : object
        From ``log_joint``.

    Returns
    -------
    dw : ndarray, shape (2,)
    dx : ndarray, shape (N,)
    """
    w, x, sign, margin, sigma = cache
    slope = dvalue * sign * expit(-margin)
    dw = np.array([np.sum(slope * x), np.sum(slope)]) - dvalue * w / sigma**2
    return dw, slope * w[0]


def leapfrog(w, r, A, step, count):
    r"""Follow a trajectory for the log density -w' A w / 2.

    .. math::
        r \leftarrow r - \tfrac\epsilon2 A w, \qquad w \leftarrow w + \epsilon r, \qquad
        r \leftarrow r - \tfrac\epsilon2 A w

    Parameters
    ----------
    w, r : ndarray, shape (P,)
        Weights and momentum at the start.
    A : ndarray, shape (P, P)
        Precision matrix, symmetric.
    step : float
        Length of a step.
    count : int
        Number of steps.

    Returns
    -------
    w, r : ndarray, shape (P,)
        Weights and momentum at the end.
    """
    for _ in range(count):
        r = r - step / 2 * A @ w
        w = w + step * r
        r = r - step / 2 * A @ w
    return w, r


def linear_update(mean, precision, X, y, noise):
    r"""Return mean and precision of the weights of a linear model after a task.

    .. math::
        \Lambda' = \Lambda + \frac{X^\top X}{s^2}, \qquad
        \Lambda' \mu' = \Lambda \mu + \frac{X^\top y}{s^2}

    Parameters
    ----------
    mean : ndarray, shape (P,)
        Mean before the task.
    precision : ndarray, shape (P, P)
        Precision matrix before the task.
    X : ndarray, shape (N, P)
        Inputs.
    y : ndarray, shape (N,)
        Targets.
    noise : float
        Standard deviation s of the noise.

    Returns
    -------
    mean : ndarray, shape (P,)
        Mean after the task.
    precision : ndarray, shape (P, P)
        Precision matrix after the task.
    """
    new = precision + X.T @ X / noise**2
    return np.linalg.solve(new, precision @ mean + X.T @ y / noise**2), new


def two_parts(exact, method):
    r"""Return the forgetting because of the model and because of the approximation.

    .. math:: \ell^*_{jj} - \ell^*_{Tj}, \qquad
              (\ell_{jj} - \ell_{Tj}) - (\ell^*_{jj} - \ell^*_{Tj})

    Parameters
    ----------
    exact, method : ndarray, shape (T, T)
        Mean log predictive density of task j after task t, as [t, j]; zero above the diagonal.

    Returns
    -------
    model, approximation : ndarray, shape (T - 1,)
        Nats per example.
    """
    model = (np.diag(exact) - exact[-1])[:-1]
    total = (np.diag(method) - method[-1])[:-1]
    return model, total - model


def weighted_update(mean, precision, h, optimum, beta):
    r"""Return the posterior that maximizes an objective with a weighted divergence.

    .. math:: \mathbb E_q\Bigl[-\frac{h}{2} (w - m)^2\Bigr]
              - \beta\, KL[\mathcal N(\mu, 1/P') \| \mathcal N(\mu_0, 1/P)]

    Parameters
    ----------
    mean, precision : ndarray, shape (P,)
        Means and precisions of the prior.
    h, optimum : ndarray, shape (P,)
        Curvature of the negative log likelihood, and its minimum m.
    beta : float
        Weight of the divergence, > 0.

    Returns
    -------
    mean : ndarray, shape (P,)
        Means of the posterior.
    precision : ndarray, shape (P,)
        Its precisions.
    """
    pull = beta * precision
    return (h * optimum + pull * mean) / (h + pull), precision + h / beta


def unequal_tasks():
    """Predict how much the exact posterior forgets of a task with few examples."""
    return "c"


def whose_part():
    """Choose the cause of a bad score."""
    return "c"


def beating_exact():
    """Choose why NPBCL can forget less than exact inference."""
    return "b"


def log_determinant(log_sigma, u):
    r"""Return the log determinant of a covariance of rank one plus a diagonal.

    .. math:: \log\bigl|\mathrm{diag}(\sigma^2) + u u^\top\bigr|

    Parameters
    ----------
    log_sigma : ndarray, shape (P,)
        Log standard deviations of the independent parts.
    u : ndarray, shape (P,)
        Common part.

    Returns
    -------
    value : float
    cache : object
        Input of ``log_determinant_vjp``.
    """
    w = u * np.exp(-log_sigma)
    total = 1 + np.sum(w * w)
    return 2 * np.sum(log_sigma) + np.log(total), (log_sigma, w, total)


def log_determinant_vjp(dvalue, cache):
    """Pull the gradient at the log determinant back to log standard deviations and common part.

    Parameters
    ----------
    dvalue : float
    cache : object
        From ``log_determinant``.

    Returns
    -------
    dlog_sigma : ndarray, shape (P,)
    du : ndarray, shape (P,)
    """
    log_sigma, w, total = cache
    return dvalue * (2 - 2 * w * w / total), dvalue * 2 * w * np.exp(-log_sigma) / total


def value_price(h, m, variance, noise):
    r"""Return the divergence of a remembered function value from its prior.

    .. math:: KL[\mathcal N(m, s^2) \| \mathcal N(0, c)], \qquad c = h^\top h + \epsilon

    Parameters
    ----------
    h : ndarray, shape (K,)
        Features of the input.
    m : float
        Mean of the remembered value.
    variance : float
        Its variance s^2, > 0.
    noise : float
        Variance of the noise of a value, > 0.

    Returns
    -------
    price : float
    cache : object
        Input of ``value_price_vjp``.
    """
    k = np.sum(h * h) + noise
    second = variance + m * m
    return (second / k - 1 + np.log(k / variance)) / 2, (h, k, second)


def value_price_vjp(dprice, cache):
    """Pull the gradient at the price back to the features.

    Parameters
    ----------
    dprice : float
    cache : object
        From ``value_price``.

    Returns
    -------
    dh : ndarray, shape (K,)
    """
    h, k, second = cache
    return dprice * (1 - second / k) / k * h
