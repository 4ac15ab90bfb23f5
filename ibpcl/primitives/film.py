r"""Feature-wise linear modulation (FiLM): a gain and a shift for every unit.

Perez, Strub, de Vries, Dumoulin and Courville (2018), Eq. 2.  With one gain and one shift per task,
a shared network gives each task other features (Loo, Swaroop and Turner, 2021).
"""


def modulate(h, gain, shift):
    r"""Multiply every unit by its gain, and add its shift.

    .. math:: y_{snk} = \gamma_k h_{snk} + \beta_k

    Perez et al. (2018), Eq. 2.  At the gain 1 and the shift 0 nothing changes.

    Parameters
    ----------
    h : ndarray, shape (S, N, K)
        Outputs of a layer.
    gain, shift : ndarray, shape (K,)
        Gain :math:`\gamma` and shift :math:`\beta` of each unit.

    Returns
    -------
    y : ndarray, shape (S, N, K)
        The modulated outputs.
    cache : tuple
        Input of :func:`modulate_vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> modulate(np.ones((1, 1, 2)), np.array([1.0, 3.0]), np.array([0.0, 0.5]))[0]
    array([[[1. , 3.5]]])
    """
    return gain * h + shift, (h, gain)


def modulate_vjp(dy, cache):
    r"""Pull the gradient at ``y`` back to ``h``, ``gain`` and ``shift``.

    .. math:: dh = \gamma\, dy, \qquad d\gamma_k = \sum_{sn} h_{snk}\, dy_{snk}, \qquad
              d\beta_k = \sum_{sn} dy_{snk}
    """
    h, gain = cache
    axes = tuple(range(dy.ndim - 1))
    # gain and shift were broadcast over samples and examples
    return dy * gain, (h * dy).sum(axis=axes), dy.sum(axis=axes)
