r"""Detection of a task that begins unannounced: a self-starting CUSUM of the model's score.

Before each step, the model scores its minibatch: :math:`x_n` is the expected log likelihood of the
labels, in nats per example.  A new task makes the score fall.  Hawkins (1987), "Self-starting CUSUM
charts for location and scale", standardizes each score by the earlier ones:

.. math::

    z_n = \Phi^{-1}\Bigl(F_{n-2}\Bigl(\frac{\bar x_{n-1} - x_n}{s_{n-1} \sqrt{1 + 1/(n - 1)}}
        \Bigr)\Bigr),

where :math:`F_\nu` is the distribution function of Student's t with :math:`\nu` degrees of freedom.
If the scores are independent and normal with any mean and variance, all :math:`z_n` are independent
standard normal numbers.  They are positive where the score is lower than usual.  Page (1954),
"Continuous inspection schemes", adds up what exceeds an allowance k, and restarts the sum at zero:

.. math:: G_n = \max(0,\; G_{n-1} + z_n - k) = \max_{m \le n} \sum_{i=m+1}^n (z_i - k)

A task begins when :math:`G_n > h`.  The threshold follows from the mean number of minibatches
between two false alarms, see :func:`threshold`.

Two changes make the test useful while a network learns.  The mean and the variance forget: after
``memory`` scores, a new score has the weight 1 / ``memory``, so they follow a slow change.  And a
score counts as at most ``clip`` standard deviations from the mean, so a single odd minibatch is not
a task.
"""

import math
from typing import NamedTuple

import scipy  # its optimize is loaded on first use
from scipy.special import ndtri, stdtr

# The mean overshoot of a random walk with normal steps over both ends (Siegmund, 1985).
OVERSHOOT = 1.166


class Rule(NamedTuple):
    """Settings of the test.

    Attributes
    ----------
    threshold : float
        Threshold h of the sum, in standard deviations of a score.
    allowance : float
        Allowance k, in standard deviations.  The test is the fastest for a fall by 2 k.
    clip : float
        Largest distance from the mean that counts, in standard deviations; above ``allowance``.
    memory : int
        Number of scores after which mean and variance forget.
    silent : int
        Number of scores, at least 2, from which the first mean and variance are estimated.
    """

    threshold: float
    allowance: float = 0.5
    clip: float = 3.0
    memory: int = 50
    silent: int = 10


class Sums(NamedTuple):
    """State of the test.

    Attributes
    ----------
    count : int
        Number of scores so far.
    mean : float
        Their mean, nats per example.
    variance : float
        Their mean squared distance from it.
    fall : float
        The sum G.
    """

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0
    fall: float = 0.0


def threshold(run_length, allowance=0.5):
    r"""Return the threshold for a given mean number of minibatches between false alarms.

    .. math::

        \mathrm{ARL} \approx \frac{e^{2 k b} - 1 - 2 k b}{2 k^2}, \qquad b = h + 1.166

    Siegmund (1985), "Sequential Analysis", Eq. 2.56, for independent standard normal steps.

    Parameters
    ----------
    run_length : float
        Mean number of minibatches until a false alarm, at least 10.
    allowance : float
        Allowance k of the sum, in 0.1 .. 2.

    Returns
    -------
    h : float
        The threshold, in standard deviations; 0 if ``run_length`` is too short for this allowance.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(threshold(930.0), 1)
    5.0
    """
    if not 10 <= run_length < math.inf or not 0.1 <= allowance <= 2:
        raise ValueError(
            "detection.threshold: run_length must be at least 10 and allowance in 0.1 .. 2, got "
            f"{run_length} and {allowance}"
        )

    def excess(b):
        return (math.expm1(2 * allowance * b) - 2 * allowance * b) / (
            2 * allowance**2 * run_length
        ) - 1

    if excess(OVERSHOOT) >= 0:
        return 0.0
    most = math.log(4 * run_length) / allowance + OVERSHOOT
    return scipy.optimize.brentq(excess, OVERSHOOT, most) - OVERSHOOT


def update(sums, score, rule):
    """Return the state of the test after one more score.

    Parameters
    ----------
    sums : Sums
        The state before; ``Sums()`` at the start, and again after an alarm.
    score : float
        The score of a minibatch.
    rule : Rule
        Settings of the test.

    Returns
    -------
    sums : Sums
        The new state.  A task begins if ``sums.fall > rule.threshold``.

    Raises
    ------
    ValueError
        If the score is NaN or infinite.

    Examples
    --------
    >>> sums = Sums()
    >>> for score in [-0.3, -0.1] * 10 + [-2.0] * 3:
    ...     sums = update(sums, score, Rule(threshold=5.0))
    >>> round(sums.fall, 2)
    7.5
    """
    if not math.isfinite(score):
        raise ValueError(f"detection.update: score must be finite, got {score}")
    count, mean, variance, fall = sums
    known = min(count, rule.memory)
    if count >= rule.silent:
        # the unbiased variance of the earlier scores, and that of their mean
        sigma = math.sqrt(variance * known / (known - 1) * (1 + 1 / known))
        # equal scores have no deviation: any other score is infinitely far from them
        t = (mean - score) / (sigma or math.ulp(0.0))
        # the smaller tail keeps its digits
        z = math.copysign(-ndtri(stdtr(known - 1, -abs(t))), t)
        fall = max(0.0, fall + min(rule.clip, z) - rule.allowance)
        score = min(max(score, mean - rule.clip * sigma), mean + rule.clip * sigma)
    weight = 1 / min(count + 1, rule.memory)
    return Sums(
        count + 1,
        mean + weight * (score - mean),
        (1 - weight) * (variance + weight * (score - mean) ** 2),
        fall,
    )


class Errors(NamedTuple):
    """Errors of the detected starts of tasks.

    Attributes
    ----------
    false_alarms : int
        Alarms that belong to no true start, or are not the first one that does.
    misses : int
        True starts without an alarm.
    delays : tuple of int
        Minibatches from each detected true start to its alarm.
    """

    false_alarms: int
    misses: int
    delays: tuple[int, ...]


def errors(alarms, starts, limits):
    """Compare alarms with the true starts of tasks.

    Parameters
    ----------
    alarms : sequence of int
        Numbers of the minibatches of the alarms, rising.
    starts : sequence of int
        Numbers of the first minibatches that can contain examples of the tasks after the first,
        rising.
    limits : sequence of int
        For each start, the minibatch from which an alarm comes too late to belong to it; at most
        the next start.

    Returns
    -------
    errors : Errors
        False alarms, misses and delays.

    Examples
    --------
    >>> errors([3, 12, 14, 30], starts=[10, 20], limits=[15, 25])
    Errors(false_alarms=3, misses=1, delays=(2,))
    """
    first = [
        next((alarm for alarm in alarms if start <= alarm < limit), None)
        for start, limit in zip(starts, limits, strict=True)
    ]
    delays = tuple(
        alarm - start for alarm, start in zip(first, starts, strict=True) if alarm is not None
    )
    return Errors(len(alarms) - len(delays), len(starts) - len(delays), delays)
