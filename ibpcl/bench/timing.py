"""Timing of functions in turn, many times, compared by ratios within a round.

Other activity of the machine then affects all functions equally. Threads of BLAS and OpenMP remain
busy for a while after their last work, and would slow down the next function, so there is a pause
before each measurement. After the pause, cores have to wake up, which on a virtual machine can take
longer than the function itself, so the first calls after it are not measured.
"""

import time
from typing import NamedTuple

import numpy as np

# Minimum seconds of a measurement; shorter calls are repeated.
SHORTEST = 0.02
WARM_UP = 2
PAUSE = 0.1  # seconds


class Times(NamedTuple):
    """Times of several functions.

    Attributes
    ----------
    seconds : dict of str to ndarray
        Seconds per call for each function, one value per round.
    """

    seconds: dict

    def median(self, name):
        """Return the median time of a function.

        Parameters
        ----------
        name : str
            The function.

        Returns
        -------
        milliseconds : float
            Per call.
        """
        return 1e3 * float(np.median(self.seconds[name]))

    def ratio(self, above, below):
        """Return the median ratio of two times of the same round.

        Parameters
        ----------
        above, below : str
            The functions.

        Returns
        -------
        ratio : float
            Time of ``above`` over time of ``below``.

        Examples
        --------
        >>> Times({"a": np.array([2.0, 6.0, 4.0]), "b": np.array([1.0, 3.0, 1.0])}).ratio("a", "b")
        2.0
        """
        return float(np.median(self.seconds[above] / self.seconds[below]))


def interleave(functions, rounds, clock=time.perf_counter):
    """Measure the times of functions in turn.

    Parameters
    ----------
    functions : dict of str to callable
        Each is called without arguments, at first a few times without measuring.
    rounds : int
        Number of measurements of each.
    clock : callable
        Returns seconds.

    Returns
    -------
    times : Times
        Seconds per call.
    """
    calls = {}
    for name, function in functions.items():
        for _ in range(WARM_UP):
            start = clock()
            function()
            once = clock() - start
        calls[name] = max(1, int(np.ceil(SHORTEST / max(once, 1e-9))))
    seconds = {name: np.empty(rounds) for name in functions}
    for i in range(rounds):
        for name, function in functions.items():
            time.sleep(PAUSE)
            for _ in range(calls[name]):
                function()
            start = clock()
            for _ in range(calls[name]):
                function()
            seconds[name][i] = (clock() - start) / calls[name]
    return Times(seconds)


def slope(sizes, milliseconds):
    """Return the slope on log axes: the p for which time ~ size^p fits best.

    Parameters
    ----------
    sizes : sequence of float
        The sizes.
    milliseconds : sequence of float
        The times.

    Returns
    -------
    slope : float
        The exponent p.

    Examples
    --------
    >>> slope([1, 2, 4], [3, 6, 12])
    1.0
    """
    return round(float(np.polyfit(np.log(sizes), np.log(milliseconds), 1)[0]), 12)
