"""Which entries of a large input are looked at one by one when its random directions fail."""

import numpy as np

MOST_ENTRIES = 120
MOST_NUMBERS = 2_000_000


def most_entries(outputs):
    """Return how many entries are looked at: their columns of the Jacobian must fit into memory."""
    return int(max(8, min(MOST_ENTRIES, MOST_NUMBERS // max(1, outputs))))


def entries_to_look_at(shape, outputs, rng, wrong=()):
    """Return sorted flat positions: all if few, else suspects, the ends of every axis, and a random sample.

    Parameters
    ----------
    shape : tuple
        Shape of the input.
    outputs : int
        Size of the vector of outputs; the Jacobian's columns must fit into memory.
    rng : numpy.random.Generator
    wrong : sequence of int
        Suspects, taken first.

    Returns
    -------
    ndarray of int
    """
    size, most = int(np.prod(shape)), most_entries(outputs)
    if size <= most:
        return np.arange(size)
    corners = np.unique(np.ravel_multi_index(np.meshgrid(*[[0, n - 1] for n in shape], indexing="ij"), shape))
    first = np.concatenate([np.asarray(wrong, dtype=int)[:most], corners[:most // 4]])
    rest = rng.choice(size, most, replace=False)
    return np.unique(np.concatenate([first, rest])[:most])
