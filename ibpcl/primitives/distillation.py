r"""Distillation: the divergence of a student's class probabilities from a teacher's.

Hinton, Vinyals and Dean (2015), "Distilling the Knowledge in a Neural Network".
"""

import numpy as np

from ibpcl.numerics import logsumexp


def divergence(scores, logits):
    r"""Compute the KL divergence of two softmax distributions, for each example.

    .. math:: KL_n = \sum_c p_{nc} (\log p_{nc} - \log q_{nc}), \qquad
              p = \operatorname{softmax}(\text{scores}), \quad
              q = \operatorname{softmax}(\text{logits})

    Schwarz et al. (2018), Eq. 9.

    Parameters
    ----------
    scores : ndarray, shape (N, C)
        Logits of the teacher.
    logits : ndarray, shape (N, C)
        Logits of the student.

    Returns
    -------
    kl : ndarray, shape (N,)
        Nats per example, >= 0.
    cache : tuple
        Input of :func:`divergence_vjp`.

    Examples
    --------
    >>> divergence(np.log([[0.9, 0.1]]), np.zeros((1, 2)))[0].round(6)
    array([0.368064])
    """
    log_p = scores - logsumexp(scores, axis=-1)[..., None]
    log_q = logits - logsumexp(logits, axis=-1)[..., None]
    p = np.exp(log_p)
    kl = (p * (log_p - log_q)).sum(axis=-1)
    return kl, (p, np.exp(log_q), log_p - log_q, kl)


def divergence_vjp(dkl, cache):
    r"""Pull the gradient at the divergences back to ``scores`` and ``logits``.

    .. math:: \partial_{\text{logits}} = q - p, \qquad
              \partial_{\text{scores}, c} = p_c \Bigl(\log\frac{p_c}{q_c} - KL\Bigr)

    The second gradient is that of a mean under p, whose centred values count.
    """
    p, q, log_ratio, kl = cache
    dkl = dkl[..., None]
    return dkl * p * (log_ratio - kl[..., None]), dkl * (q - p)
