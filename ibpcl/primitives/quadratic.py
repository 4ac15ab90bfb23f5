r"""The quadratic pull of parameters towards where they were: the logarithm of a Gaussian prior,
without its constant.

Kirkpatrick et al. (2017), Eq. 3; Zenke, Poole and Ganguli (2017), Eq. 4; Ritter, Botev and Barber
(2018), Eq. 9: the penalties of these methods differ in where the precision comes from, not in this
form.  The half belongs to it.
"""


def penalty(w, mean, precision):
    r"""Add up the squared distances to an anchor, each at its precision.

    .. math::

        \tfrac12 \sum_i \lambda_i (w_i - m_i)^2 = -\log \mathcal N(w; m, \lambda^{-1})
            + \text{const}

    Parameters
    ----------
    w : ndarray, shape (P,)
        Where the parameters are.
    mean : ndarray, shape (P,)
        Where they are drawn to.
    precision : ndarray, shape (P,)
        How strongly, >= 0.

    Returns
    -------
    value : float
        Nats; summed over the parameters.
    cache : tuple
        What :func:`penalty_vjp` needs.

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
