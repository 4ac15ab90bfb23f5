"""NumPy's global generator, which layers such as dropout draw from: notice that, and repeat the
draws.
"""

import numpy as np


def position():
    """Return a value that changes when numbers are drawn from the global generator."""
    _, words, place, *gauss = np.random.get_state()  # noqa: NPY002
    return int(words[0]), place, *gauss


def repeated(function):
    """Call a function with the same draws from the global generator each time, and leave the
    generator as it was.
    """
    kept = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    try:
        return function()
    finally:
        np.random.set_state(kept)  # noqa: NPY002
