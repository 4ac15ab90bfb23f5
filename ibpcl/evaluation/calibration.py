r"""Calibration of predictive intervals: is their coverage the nominal one?

A prediction is a mean and a standard deviation.  Its central interval of level p is that of a
Gaussian, :math:`m \pm z_p \sigma` with :math:`z_p = \Phi^{-1}\bigl((1 + p) / 2\bigr)`.  A
forecaster is calibrated if a share p of all observations lies inside, for every p (Gneiting,
Balabdaoui and Raftery, 2007, "Probabilistic forecasts, calibration and sharpness").  A forecaster
that is not calibrated can be recalibrated on held-out examples with :func:`interval_scales`.
"""

import numpy as np
from scipy.special import bdtr, ndtri

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def coverage(mean, sigma, targets, levels=LEVELS):
    r"""Return the share of targets inside the central predictive interval of each level.

    .. math:: c(p) = \frac1N \sum_n \mathbb 1\bigl[\, |y_n - m_n| \le z_p\, \sigma_n \bigr]

    Gneiting, Balabdaoui and Raftery (2007), Sec. 3.1, "probabilistic calibration", for central
    intervals.

    Parameters
    ----------
    mean, sigma : array_like, of one shape
        Predictive means and standard deviations, sigma > 0.
    targets : array_like, of the same shape
        Observed values.
    levels : sequence of float, shape (L,)
        Nominal levels p, strictly between 0 and 1.

    Returns
    -------
    observed : ndarray, shape (L,)
        Fractions in 0..1.

    Raises
    ------
    ValueError
        If shapes differ or arrays are empty, a number is not finite, a ``sigma`` is not positive,
        or a level is out of range.

    Examples
    --------
    >>> coverage([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.1, -0.5, 1.0, 3.0],
    ...     levels=[0.5, 0.9])
    array([0.5 , 0.75])
    """
    levels = _levels(levels, "calibration.coverage")
    return _share_within(
        _errors(mean, sigma, targets, "calibration.coverage"), ndtri((1 + levels) / 2)
    )


def calibration_error(observed, levels=LEVELS):
    r"""Return the mean absolute difference between observed and nominal coverage.

    .. math:: \frac1L \sum_l | c(p_l) - p_l |

    Kuleshov, Fenner and Ermon (2018), "Accurate uncertainties for deep learning using calibrated
    regression", Eq. 9, with absolute instead of squared differences, so that the unit is that of
    the levels.

    Parameters
    ----------
    observed : array_like, shape (..., L)
        Coverage, from :func:`coverage`.
    levels : sequence of float, shape (L,)
        The levels of ``observed``.

    Returns
    -------
    error : float
        In 0..1; 0.02 means two percentage points.

    Raises
    ------
    ValueError
        If ``observed`` does not have one column per level.

    Examples
    --------
    >>> calibration_error([0.6, 0.9], levels=[0.5, 0.9]).__round__(3)
    0.05
    """
    levels = _levels(levels, "calibration.calibration_error")
    observed = np.asarray(observed, float)
    if observed.ndim < 1 or observed.shape[-1] != len(levels):
        raise ValueError(
            f"calibration.calibration_error: observed must have {len(levels)} columns, one per "
            f"level, got shape {observed.shape}"
        )
    return float(np.mean(np.abs(observed - levels)))


def binomial_band(levels, examples, confidence=0.95):
    r"""Return the range of coverage that chance alone allows a calibrated forecaster.

    .. math:: N c(p) \sim \mathrm{Binomial}(N, p)

    This holds for independent examples; examples at neighbouring places are not quite independent.

    Parameters
    ----------
    levels : sequence of float, shape (L,)
        Nominal levels p, strictly between 0 and 1.
    examples : int
        Number of examples N, at least 1.
    confidence : float
        Probability of the band at each level, strictly between 0 and 1.

    Returns
    -------
    low, high : ndarray, shape (L,)
        Quantiles of the binomial distribution divided by N, fractions in 0..1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> binomial_band([0.5, 0.9], 100)
    (array([0.4 , 0.84]), array([0.6 , 0.95]))
    """
    levels = _levels(levels, "calibration.binomial_band")
    if examples < 1 or not 0 < confidence < 1:
        raise ValueError(
            "calibration.binomial_band: examples must be at least 1 and confidence strictly "
            f"between 0 and 1, got {examples} and {confidence}"
        )
    # P(N c <= k), one row per level
    below = bdtr(np.arange(examples + 1), int(examples), levels[:, None])
    tail = (1 - confidence) / 2
    return tuple((below < probability).sum(axis=1) / examples for probability in (tail, 1 - tail))


def interval_scales(mean, sigma, targets, levels=LEVELS):
    r"""Return the half-width, in standard deviations, that each level's interval needs.

    It is learned from held-out examples (split conformal prediction),

    .. math::

        q(p) = \text{the } \lceil p\,(N + 1) \rceil\text{-th smallest of } |y_n - m_n| / \sigma_n

    For a new example of the same distribution, :math:`m \pm q(p)\,\sigma` contains the observation
    with probability at least p and, without ties, at most p + 1 / (N + 1), for any distribution.
    Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), "Distribution-free predictive inference
    for regression", Secs. 2.2 and 5.2.

    .. warning:: The guarantee holds on average over examples.  Where errors differ between places
       but sigma does not, intervals are too wide in one place and too narrow in another.

    Parameters
    ----------
    mean, sigma : array_like, of one shape
        Predictive means and standard deviations, sigma > 0, of N examples on which the forecaster
        was not trained.
    targets : array_like, of the same shape
        Observed values.
    levels : sequence of float, shape (L,)
        Nominal levels p, strictly between 0 and 1.

    Returns
    -------
    scales : ndarray, shape (L,)
        In standard deviations; close to :math:`z_p` for a Gaussian.  If a level needs more than the
        N examples, N < p / (1 - p), its scale is the largest error, and the level is not reached.

    Raises
    ------
    ValueError
        If shapes differ or arrays are empty, a number is not finite, a ``sigma`` is not positive,
        or a level is out of range.

    Examples
    --------
    >>> interval_scales([0.0] * 4, [1.0] * 4, [0.1, -0.5, 1.0, 3.0], levels=[0.4, 0.8])
    array([0.5, 3. ])
    """
    levels = _levels(levels, "calibration.interval_scales")
    errors = np.sort(_errors(mean, sigma, targets, "calibration.interval_scales"))
    # rounded first, because 0.55 * 100 > 55 in floating point
    rank = np.ceil(np.round(levels * (len(errors) + 1), 9)).astype(int)
    return errors[np.minimum(rank, len(errors)) - 1]


def recalibrated_coverage(mean, sigma, targets, levels=LEVELS, seed=0):
    """Return the coverage of intervals whose scales were learned from other examples.

    The examples are split at random into halves.  The scales from one half are tested on the other
    half, and vice versa.

    Parameters
    ----------
    mean, sigma : array_like, of one shape
        Predictive means and standard deviations, sigma > 0, of at least 2 examples.
    targets : array_like, of the same shape
        Observed values.
    levels : sequence of float, shape (L,)
        Nominal levels p, strictly between 0 and 1.
    seed : int
        Seed of the random split.

    Returns
    -------
    observed : ndarray, shape (L,)
        Fractions in 0..1.

    Raises
    ------
    ValueError
        If shapes differ, there are fewer than 2 examples, a number is not finite, a ``sigma`` is
        not positive, or a level is out of range.

    Examples
    --------
    >>> recalibrated_coverage(np.zeros(6), np.ones(6), np.ones(6), levels=[0.5])
    array([1.])
    """
    levels = _levels(levels, "calibration.recalibrated_coverage")
    errors = _errors(mean, sigma, targets, "calibration.recalibrated_coverage")
    if len(errors) < 2:
        raise ValueError(
            "calibration.recalibrated_coverage: targets must have at least 2 examples, got "
            f"{len(errors)}"
        )
    first, second = np.array_split(errors[np.random.default_rng(seed).permutation(len(errors))], 2)
    inside = 0
    for learn, test in ((first, second), (second, first)):
        scales = interval_scales(np.zeros(len(learn)), np.ones(len(learn)), learn, levels)
        inside = inside + len(test) * _share_within(test, scales)
    return inside / len(errors)


def _share_within(errors, scales):
    """Return the share of errors within each scale."""
    return (errors[:, None] <= scales).mean(axis=0)


def _errors(mean, sigma, targets, caller):
    """Return the absolute errors in predictive standard deviations, flat."""
    mean, sigma, targets = (np.asarray(array, float) for array in (mean, sigma, targets))
    if not mean.shape == sigma.shape == targets.shape or mean.size == 0:
        raise ValueError(
            f"{caller}: mean, sigma and targets must have one shape and not be empty, "
            f"got {mean.shape}, {sigma.shape} and {targets.shape}"
        )
    if not all(np.isfinite(array).all() for array in (mean, sigma, targets)):
        raise ValueError(f"{caller}: mean, sigma and targets must be finite")
    if not (sigma > 0).all():
        raise ValueError(f"{caller}: sigma must be > 0, got min {sigma.min()}")
    return np.abs((targets - mean) / sigma).ravel()


def _levels(levels, caller):
    """Return the levels as an array, or raise ValueError if one is out of range."""
    levels = np.asarray(levels, float)
    if levels.ndim != 1 or levels.size == 0 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(
            f"{caller}: levels must be numbers strictly between 0 and 1, got {levels.tolist()}"
        )
    return levels
