"""Measuring so that what else the machine does hits all alike: in turns, many times, and by ratios
within a turn.

Threads of BLAS and OpenMP go on spinning for a while after their last work, and would slow down
whatever is measured next.  So there is a pause before each measurement.  After it cores have to
wake up, which on a virtual machine takes longer than many a function does, so calls follow that are
not measured: what is measured is a loop under way.
"""

import time
from typing import NamedTuple

import numpy as np

# seconds of a measurement; shorter calls are repeated
SHORTEST = 0.02
WARM_UP = 2
PAUSE = 0.1  # seconds


class Times(NamedTuple):
    """Seconds a call of each function, one a round."""

    seconds: dict

    def median(self, name):
        """Return the median time of a function in milliseconds."""
        return 1e3 * float(np.median(self.seconds[name]))

    def ratio(self, above, below):
        """Return the median, over the rounds, of one time over another of the same round.

        >>> Times({"a": np.array([2.0, 6.0, 4.0]), "b": np.array([1.0, 3.0, 1.0])}).ratio("a", "b")
        2.0
        """
        return float(np.median(self.seconds[above] / self.seconds[below]))


def interleave(functions, rounds, clock=time.perf_counter):
    """Time functions in turns.

    Parameters
    ----------
    functions : dict of str to callable
        Each is called without arguments, first a few times unmeasured.
    rounds : int
        How often each is measured.
    clock : callable
        Returns seconds.

    Returns
    -------
    times : Times
        Seconds a call.
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
    """Return the slope on log axes: the p of time ~ size^p that fits best.

    >>> slope([1, 2, 4], [3, 6, 12])
    1.0
    """
    return round(float(np.polyfit(np.log(sizes), np.log(milliseconds), 1)[0]), 12)
