r"""The posterior of a class that is known for some examples: q(y | x), or the label itself.

In a generative model with a class y and a code z, M2 of Kingma, Rezende, Mohamed and Welling
(2014), "Semi-supervised Learning with Deep Generative Models", the class of an unlabelled example
is a latent variable.  With

.. math:: L(x, y) = \mathbb E_{q(z | x, y)}[\log p(x | y, z)] - KL[q(z | x, y) \| p(z)] + \log p(y)

an unlabelled example has the bound

.. math:: U(x) = \sum_y q(y | x)\, L(x, y) + H[q(y | x)]
               = \sum_y q(y | x)\, \bigl[L(x, y) - \log p(y)\bigr] - KL[q(y | x) \| p(y)],

and a labelled one has L(x, y).  So both are a sum over classes with weights w, minus a divergence:
w = q(y \| x) for an unlabelled example, and w = 1 at the label for a labelled one.
"""

import numpy as np


def infer(logits, known):
    r"""Return the weight of each class, its divergence from a uniform prior, and log q of labels.

    .. math:: w_{nc} = q_{nc} = \mathrm{softmax}(f_n)_c, \qquad
              KL_n = \log C + \sum_c q_{nc} \log q_{nc}

    for an example without a label; :math:`w_{nc} = 1[c = y_n]` and :math:`KL_n = \log C` for one
    with a label.  Kingma et al. (2014), Eqs. 6, 7 and 9.

    Parameters
    ----------
    logits : ndarray, shape (S, N, C)
        Logits f of the classes, any real.
    known : ndarray of int, shape (N,)
        Label in 0 .. C - 1 of an example that has one, -1 for all others.

    Returns
    -------
    out : tuple
        ``w`` (S, N, C), which sum to 1 over the classes; ``divergence`` (S, N) in nats; and
        ``log_q`` (S, N), the log probability of the label, 0 without a label.
    cache : tuple
        Input of :func:`infer_vjp`.

    Examples
    --------
    >>> (w, divergence, log_q), _ = infer(np.zeros((1, 2, 2)), np.array([-1, 1]))
    >>> w.tolist(), np.exp(log_q).tolist()
    ([[[0.5, 0.5], [0.0, 1.0]]], [[1.0, 0.5]])
    >>> divergence.round(4).tolist()
    [[0.0, 0.6931]]
    """
    largest = np.argmax(logits.real, axis=-1)[..., None]
    # shifted so that the largest logit is 0
    shifted = logits - np.take_along_axis(logits, largest, axis=-1)
    others = np.exp(shifted)
    np.put_along_axis(others, largest, 0, axis=-1)
    log_all = shifted - np.log1p(others.sum(axis=-1, keepdims=True))
    q = np.exp(log_all)
    is_label = known[:, None] == np.arange(logits.shape[-1])  # a row of False without a label
    unknown = known < 0
    w = np.where(unknown[:, None], q, is_label.astype(logits.dtype))
    uniform = np.log(np.asarray(logits.shape[-1], logits.real.dtype))
    divergence = uniform + np.where(unknown, (q * log_all).sum(axis=-1), 0)
    log_q = np.where(is_label, log_all, 0).sum(axis=-1)
    return (w, divergence, log_q), (q, log_all, is_label, unknown)


def infer_vjp(dout, cache):
    r"""Pull the gradients at weights, divergence and log probability back to ``logits``.

    Without a label, with :math:`g = dw + dKL \log q`, and with a label,

    .. math:: df_c = q_c \Bigl(g_c - \sum_j q_j g_j\Bigr), \qquad
              df_c = d\log q\, (1[c = y] - q_c).

    The derivative 1 of :math:`q \log q` with respect to :math:`\log q` adds the same number to all
    :math:`g_c`, so it drops out.
    """
    dw, ddivergence, dlog_q = dout
    q, log_all, is_label, unknown = cache
    g = dw + ddivergence[..., None] * log_all
    without = q * (g - (q * g).sum(axis=-1, keepdims=True))
    others = np.where(is_label, 0, q)
    # 1 - q would be 0 if q rounds to 1
    slopes = np.where(is_label, others.sum(axis=-1, keepdims=True), -others)
    return np.where(unknown[:, None], without, dlog_q[..., None] * slopes)
