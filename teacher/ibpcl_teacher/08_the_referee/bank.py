r"""Pairs of a function and its gradient, as they are handed to a referee."""

import numpy as np
from scipy.special import digamma, loggamma


def layer_norm(x, gain, offset):
    r"""Standardize every row, then scale and shift it.

    .. math:: y = \text{gain} \odot \frac{x - \bar x}{\sqrt{\mathrm{var}(x) + 0.1}} + \text{offset}

    Parameters
    ----------
    x : ndarray, shape (N, D)
    gain, offset : ndarray, shape (D,)

    Returns
    -------
    y : ndarray, shape (N, D)
    cache : tuple
    """
    centred = x - x.mean(axis=1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 0.1)
    standard = centred * inverse
    return gain * standard + offset, (standard, inverse, gain)


def layer_norm_vjp(dy, cache):
    """Pull the gradient at ``y`` back to ``x``, ``gain`` and ``offset``."""
    standard, inverse, gain = cache
    dstandard = dy * gain
    along = (dstandard * standard).mean(axis=1, keepdims=True)
    level = dstandard.mean(axis=1, keepdims=True)
    dx = (dstandard - level - standard * along) * inverse
    dgain = (dy * standard).sum(axis=0)
    return dx, dgain, dy.sum(axis=0)


def attention(q, k, v):
    r"""Average the rows of v, weighted by the softmax of scaled products of queries and keys.

    .. math:: y = \mathrm{softmax}\Bigl(\frac{q k^\top}{\sqrt D}\Bigr) v

    Parameters
    ----------
    q : ndarray, shape (N, D)
    k : ndarray, shape (M, D)
    v : ndarray, shape (M, E)

    Returns
    -------
    y : ndarray, shape (N, E)
    cache : tuple
    """
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - np.max(scores.real, axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return weights @ v, (q, k, v, weights)


def attention_vjp(dy, cache):
    """Pull the gradient at ``y`` back to ``q``, ``k`` and ``v``."""
    q, k, v, weights = cache
    dweights = dy @ v.T
    inner = (dweights * weights).sum(axis=1, keepdims=True)
    dscores = weights * (dweights - inner) / np.sqrt(q.shape[1])
    dq = dscores @ k
    dk = dscores.T @ q
    dv = weights.T @ dy
    return dq, dk, dv


def mixture(x, logits, mu, log_sigma):
    r"""Evaluate the log density of a mixture of Gaussians, up to the normal constant.

    .. math:: \log \sum_k \mathrm{softmax}(\text{logits})_k \, \frac{1}{\sigma_k} e^{-(x - \mu_k)^2 / 2 \sigma_k^2}

    Parameters
    ----------
    x : ndarray, shape (N,)
    logits, mu, log_sigma : ndarray, shape (K,)

    Returns
    -------
    log_p : ndarray, shape (N,)
    cache : tuple
    """
    top = np.max(logits.real)
    log_share = logits - top - np.log(np.sum(np.exp(logits - top)))
    z = (x[:, None] - mu) * np.exp(-log_sigma)
    terms = log_share - log_sigma - z * z / 2
    largest = np.max(terms.real, axis=1, keepdims=True)
    log_p = largest + np.log(np.sum(np.exp(terms - largest), axis=1, keepdims=True))
    return log_p[:, 0], (z, np.exp(terms - log_p), np.exp(log_share), log_sigma)


def mixture_vjp(dlog_p, cache):
    """Pull the gradient at ``log_p`` back to ``x``, ``logits``, ``mu`` and ``log_sigma``."""
    z, responsibility, share, log_sigma = cache
    dterms = dlog_p[:, None] * responsibility
    dmean = dterms * z * np.exp(-log_sigma)
    dx = -dmean.sum(axis=1)
    dlogits = dterms.sum(axis=0) - share * dterms.sum()
    dlog_sigma = (dterms * (z * z - 1)).sum(axis=0)
    return dx, dlogits, dmean.sum(axis=0), dlog_sigma


def broken_stick(v):
    r"""Break a stick of length one: each piece is a share of the rest.

    .. math:: \pi_k = v_k \prod_{i < k} (1 - v_i)

    Parameters
    ----------
    v : ndarray, shape (S, K)

    Returns
    -------
    pi : ndarray, shape (S, K)
    cache : tuple
    """
    left = np.cumprod(1 - v, axis=1)
    before = np.concatenate([np.ones_like(v[:, :1]), left[:, :-1]], axis=1)
    return v * before, (v, before)


def broken_stick_vjp(dpi, cache):
    """Pull the gradient at ``pi`` back to ``v``."""
    v, before = cache
    weighted = dpi * v * before
    through = np.cumsum(weighted[:, ::-1], axis=1)[:, ::-1]
    behind = through - weighted
    return dpi * before - behind / (1 - v)


def correlate(x, w, bias):
    r"""Correlate every row with a kernel, where it fits entirely.

    .. math:: y_{nt} = b + \sum_r w_r \, x_{n, t + r}

    Parameters
    ----------
    x : ndarray, shape (N, L)
    w : ndarray, shape (R,)
    bias : float

    Returns
    -------
    y : ndarray, shape (N, L - R + 1)
    cache : tuple
    """
    width = x.shape[1] - len(w) + 1
    y = bias + sum(w[r] * x[:, r:r + width] for r in range(len(w)))
    return y, (x, w)


def correlate_vjp(dy, cache):
    """Pull the gradient at ``y`` back to ``x``, ``w`` and ``bias``."""
    x, w = cache
    width = dy.shape[1]
    dx = np.zeros_like(x)
    for r in range(len(w)):
        dx[:, r:r + width] += w[r] * dy
    dw = np.array([np.sum(dy * x[:, r:r + width]) for r in range(len(w))])
    return dx, dw, dy.sum()


def student_t(x, mu, log_scale, log_dof):
    r"""Evaluate the log density of Student's t distribution, up to a constant.

    .. math:: \log\Gamma\bigl(\tfrac{\nu + 1}{2}\bigr) - \log\Gamma\bigl(\tfrac\nu2\bigr) - \tfrac12 \log\nu - \log s
              - \tfrac{\nu + 1}{2} \log\Bigl(1 + \frac{z^2}{\nu}\Bigr), \qquad z = \frac{x - \mu}{s}

    Parameters
    ----------
    x : ndarray, shape (N, D)
    mu, log_scale, log_dof : ndarray, shape (D,)
        Location, and the logarithms of the scale s and of the degrees of freedom.

    Returns
    -------
    log_p : ndarray, shape (N, D)
    cache : tuple
    """
    dof = np.exp(log_dof)
    z = (x - mu) * np.exp(-log_scale)
    tail = np.log1p(z * z / dof)
    head = loggamma((dof + 1) / 2) - loggamma(dof / 2) - log_dof / 2 - log_scale
    return head - (dof + 1) / 2 * tail, (z, dof, tail, log_scale)


def student_t_vjp(dlog_p, cache):
    """Pull the gradient at ``log_p`` back to ``x``, ``mu``, ``log_scale`` and ``log_dof``."""
    z, dof, tail, log_scale = cache
    pull = (dof + 1) * z / (dof + z * z)
    dx = -dlog_p * pull * np.exp(-log_scale)
    dlog_scale = dlog_p * (pull * z - 1)
    head = digamma((dof + 1) / 2) - digamma(dof / 2)
    dlog_dof = dlog_p * (dof * (head - tail) + pull * z - 1) / 2
    return dx, -dx.sum(axis=0), dlog_scale.sum(axis=0), dlog_dof.sum(axis=0)


def quadratic(x, a, b):
    r"""Evaluate a quadratic form and a linear one at every row.

    .. math:: y_n = x_n^\top A x_n + b^\top x_n

    Parameters
    ----------
    x : ndarray, shape (N, D)
    a : ndarray, shape (D, D)
        Not symmetric in general.
    b : ndarray, shape (D,)

    Returns
    -------
    y : ndarray, shape (N,)
    cache : tuple
    """
    left = x @ a
    return ((left + b) * x).sum(axis=1), (x, a, b, left)


def quadratic_vjp(dy, cache):
    """Pull the gradient at ``y`` back to ``x``, ``a`` and ``b``."""
    x, a, b, left = cache
    right = x @ a.T
    scaled = dy[:, None] * x
    dx = dy[:, None] * (left + right + b)
    da = x.T @ scaled
    return dx, da, scaled.sum(axis=0)


def recurrent(x, w, u, bias):
    r"""Run a recurrent layer over time, starting from zero, and return all its states.

    .. math:: h_t = \tanh(x_t w + h_{t - 1} u + b)

    Parameters
    ----------
    x : ndarray, shape (T, N, D)
    w : ndarray, shape (D, K)
    u : ndarray, shape (K, K)
    bias : ndarray, shape (K,)

    Returns
    -------
    h : ndarray, shape (T, N, K)
    cache : tuple
    """
    states = [np.zeros((x.shape[1], len(u)))]
    for step in x:
        states.append(np.tanh(step @ w + states[-1] @ u + bias))
    return np.array(states[1:]), (x, w, u, states)


def recurrent_vjp(dh, cache):
    """Pull the gradient at ``h`` back to ``x``, ``w``, ``u`` and ``bias``."""
    x, w, u, states = cache
    dx = np.zeros_like(x)
    dw = np.zeros_like(w)
    du = np.zeros_like(u)
    dbias = np.zeros(len(u))
    carried = np.zeros_like(dh[0])
    for t in reversed(range(len(x))):
        dsum = (dh[t] + carried) * (1 - states[t + 1] ** 2)
        dx[t] = dsum @ w.T
        dw += x[t].T @ dsum
        du += states[t].T @ dsum
        dbias += dsum.sum(axis=0)
        carried = dsum @ u.T
    return dx, dw, du, dbias
