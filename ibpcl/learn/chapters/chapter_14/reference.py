"""Reference functions of chapter 14."""

import numpy as np


def average_accuracy(R):
    r"""Return the mean accuracy over all tasks at the end.

    .. math:: \frac1T \sum_j R_{Tj}

    Parameters
    ----------
    R : ndarray, shape (T, T)
        Accuracy on task j after learning task i, as R[i, j]; zero above the diagonal.

    Returns
    -------
    mean : float
        In [0, 1].
    """
    return R[-1].mean()


def backward_transfer(R):
    r"""Return the mean change of earlier tasks that later tasks cause.

    .. math:: \frac{2}{T (T - 1)} \sum_{i > j} (R_{ij} - R_{jj})

    Parameters
    ----------
    R : ndarray, shape (T, T)
        Accuracy on task j after learning task i, as R[i, j]; zero above the diagonal.

    Returns
    -------
    transfer : float
        In [-1, 1]; a negative value means forgetting.
    """
    i, j = np.tril_indices(len(R), -1)
    return np.mean(R[i, j] - R[j, j])


def forgetting(R):
    r"""Return the mean loss of accuracy between the best time of a task and the end.

    .. math:: \frac{1}{T - 1} \sum_{j < T} \Bigl(\max_{i < T} R_{ij} - R_{Tj}\Bigr)

    Parameters
    ----------
    R : ndarray, shape (T, T)
        Accuracy on task j after learning task i, as R[i, j]; zero above the diagonal.

    Returns
    -------
    forgetting : float
        In [-1, 1].
    """
    best = R[:-1, :-1].max(axis=0)
    return np.mean(best - R[-1, :-1])


def what_it_did():
    """Choose what the method did."""
    return "b"


def longer_training():
    """Predict how both accuracies change with longer training."""
    return "b"


def paired_difference(one, other):
    r"""Return the mean difference of two methods and its standard error.

    .. math:: \bar d \pm \sqrt{\frac{1}{n (n - 1)} \sum_s (d_s - \bar d)^2}

    Parameters
    ----------
    one, other : ndarray, shape (n,)
        Accuracies of two methods; the same entry has the same seed; n is at least 2.

    Returns
    -------
    mean, error : float
        Mean of ``one`` minus ``other``, and its standard error.
    """
    d = one - other
    return d.mean(), d.std(ddof=1) / np.sqrt(d.size)


def predicted_rise(mu, log_sigma, old_mu, old_log_sigma):
    r"""Return the rise of the old loss that VCL predicts.

    .. math::
        \sum_i \frac{(\mu_i - \mu_{1,i})^2}{2 \sigma_{1,i}^2}
            + \frac12 \Bigl(\frac{\sigma_i^2}{\sigma_{1,i}^2} - 1\Bigr)

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (P,)
        Means and log standard deviations of the new posterior.
    old_mu, old_log_sigma : ndarray, shape (P,)
        Those of the old posterior.

    Returns
    -------
    rise : float
        Nats.
    cache : object
        Input of ``predicted_rise_vjp``.
    """
    t = (mu - old_mu) * np.exp(-old_log_sigma)
    ratio = np.exp(2 * (log_sigma - old_log_sigma))
    return np.sum(t * t + ratio - 1) / 2, (t, ratio, old_log_sigma)


def predicted_rise_vjp(drise, cache):
    """Pull the gradient at the rise back to both means and both log widths.

    Parameters
    ----------
    drise : float
    cache : object
        From ``predicted_rise``.

    Returns
    -------
    dmu, dlog_sigma, dold_mu, dold_log_sigma : ndarray, shape (P,)
    """
    t, ratio, old_log_sigma = cache
    dmu = drise * t * np.exp(-old_log_sigma)
    return dmu, drise * ratio, -dmu, -drise * (t * t + ratio)


def guessing_the_task():
    """Predict how often the mask of lowest entropy is the right one."""
    return "b"
