"""NumPy's global random generator: detect draws from it, and repeat them."""

import numpy as np


def position():
    """Return a value that changes when numbers are drawn from the global generator."""
    _, words, place, *gauss = np.random.get_state()  # noqa: NPY002
    return int(words[0]), place, *gauss


def repeated(function):
    """Call a function with a fixed seed of the global generator.

    The state of the generator is restored afterwards.

    Parameters
    ----------
    function : callable
        A function without arguments.

    Returns
    -------
    object
        The result of the function.
    """
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    try:
        return function()
    finally:
        np.random.set_state(state)  # noqa: NPY002
