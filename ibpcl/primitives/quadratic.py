r"""The quadratic penalty that pulls parameters towards an anchor, their earlier values.

It is the negative logarithm of a Gaussian prior without its constant, so it contains the factor
1/2.  Kirkpatrick et al. (2017), Eq. 3; Zenke, Poole and Ganguli (2017), Eq. 4; Ritter, Botev and
Barber (2018), Eq. 9.  The methods differ in how they compute the precision, not in this form.
"""


def penalty(w, mean, precision):
    r"""Compute half the sum of the squared distances to an anchor, weighted by the precisions.

    .. math::

        \tfrac12 \sum_i \lambda_i (w_i - m_i)^2 = -\log \mathcal N(w; m, \lambda^{-1})
            + \text{const}

    Parameters
    ----------
    w : ndarray, shape (P,)
        The parameters.
    mean : ndarray, shape (P,)
        The anchor m.
    precision : ndarray, shape (P,)
        The precision :math:`\lambda` of each parameter, >= 0.

    Returns
    -------
    value : float
        Nats; summed over the parameters.
    cache : tuple
        Input of :func:`penalty_vjp`.

    Examples
    --------
    >>> float(penalty(np.array([3.0]), np.array([1.0]), np.array([10.0]))[0])
    20.0
    """
    shift = w - mean
    return (precision * shift * shift).sum() / 2, (shift, precision)


def penalty_vjp(dvalue, cache):
    r"""Pull the gradient at the value back to ``w``, ``mean`` and ``precision``.

    .. math::

        \partial_w = \lambda (w - m) = -\partial_m, \qquad \partial_\lambda = \tfrac12 (w - m)^2
    """
    shift, precision = cache
    dw = dvalue * precision * shift
    return dw, -dw, dvalue * shift * shift / 2
