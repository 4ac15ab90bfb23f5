r"""The residual sum: a block adds its output to its input, or leaves the input as it is.

He, Zhang, Ren and Sun (2016), "Deep residual learning for image recognition", Eq. 1.  The switch z
makes the depth of a network a random variable: Thapa and Li (2024), "Bayesian adaptation of network
depth and width for continual learning", draw it from a beta process, and
:mod:`ibpcl.models.depth` from the sticks of this package.
"""


def add(h, f, z):
    r"""Add the output of a block to its input, if the block is on.

    .. math:: y_{snk} = h_{snk} + z_s\, f_{snk}

    He et al. (2016), Eq. 1, for z = 1.

    Parameters
    ----------
    h : ndarray, shape (S, N, K)
        Inputs of the block; (N, K) if all samples share them.
    f : ndarray, shape (S, N, K)
        Outputs of the block.
    z : ndarray, shape (S,)
        Switch of the block in each sample, relaxed or binary.

    Returns
    -------
    y : ndarray, shape (S, N, K)
        The sums.
    cache : tuple
        Input of :func:`add_vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> add(np.ones((1, 2)), np.full((2, 1, 2), 3.0), np.array([0.0, 1.0]))[0][:, 0, 0]
    array([1., 4.])
    """
    return h + z[:, None, None] * f, (h.ndim, f, z)


def add_vjp(dy, cache):
    r"""Pull the gradient at the sums back to ``h``, ``f`` and ``z``.

    .. math:: dh = dy, \qquad df_{snk} = z_s\, dy_{snk}, \qquad dz_s = \sum_{nk} f_{snk}\, dy_{snk}

    The gradient at h has a summand without any weights of the block: this is why deep residual
    networks can be trained.
    """
    dimensions, f, z = cache
    dh = dy.sum(axis=0) if dimensions == 2 else dy  # h was shared by all samples
    return dh, z[:, None, None] * dy, (f * dy).sum(axis=(1, 2))  # z was broadcast over N and K
