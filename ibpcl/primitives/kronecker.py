r"""The quadratic penalty of a weight matrix whose precision is a Kronecker product.

The precision of a diagonal Gaussian has one number per weight, a full one :math:`(D K)^2`.  A
Kronecker product of a matrix for the inputs and one for the outputs of a layer is in between
(Martens and Grosse, 2015, "Optimizing Neural Networks with Kronecker-factored Approximate
Curvature"; Ritter, Botev and Barber, 2018).
"""


def penalty(w, input_moment, slope_moment):
    r"""Compute half the squared length of a matrix in the metric of a Kronecker product.

    .. math:: \tfrac12 \operatorname{tr}(G\, w^\top A\, w) = \tfrac12 \sum_{dekf} w_{dk}\, A_{de}\,
              G_{kf}\, w_{ef}

    Ritter et al. (2018), Eq. 12.  It is the quadratic form of the matrix :math:`A \otimes G`, which
    has :math:`(D K)^2` numbers and is never formed.

    Parameters
    ----------
    w : ndarray, shape (D, K)
        The weights, relative to the anchor.
    input_moment : ndarray, shape (D, D)
        The factor A of the inputs, symmetric.
    slope_moment : ndarray, shape (K, K)
        The factor G of the outputs, symmetric.

    Returns
    -------
    value : float
        Nats.
    cache : tuple
        Input of :func:`penalty_vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> float(penalty(np.array([[1.0, 2.0]]), np.array([[3.0]]), np.eye(2))[0])
    7.5
    """
    pulled = input_moment @ w @ slope_moment
    return (w * pulled).sum() / 2, (pulled,)


def penalty_vjp(dvalue, cache):
    r"""Pull the gradient at the value back to ``w``.

    .. math:: \partial_w = A\, w\, G

    The two factors of w give :math:`\tfrac12 (A w G + A^\top w G^\top)`, which are equal because A
    and G are symmetric.  Both are data of earlier tasks and have no gradient.
    """
    (pulled,) = cache
    return (dvalue * pulled,)
