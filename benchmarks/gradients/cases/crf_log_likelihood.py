"""Log likelihood of the tags 0 2 1 1 in a linear chain with emission scores and transition scores."""

import numpy as np

TAGS = (0, 2, 1, 1)


def logsumexp(a, axis):
    top = a.real.max(axis=axis, keepdims=True)
    return np.log(np.exp(a - top).sum(axis=axis)) + np.squeeze(top, axis=axis)


def f(emission, transition):
    score = emission[0, TAGS[0]]
    alpha = [emission[0]]
    for t in range(1, len(TAGS)):
        score = score + transition[TAGS[t - 1], TAGS[t]] + emission[t, TAGS[t]]
        alpha.append(logsumexp(alpha[-1][:, None] + transition, axis=0) + emission[t])
    logz = logsumexp(alpha[-1], axis=0)
    return score - logz, (emission, transition, np.array(alpha), logz)


def f_vjp(dout, cache):
    emission, transition, alpha, logz = cache
    demission, dtransition = np.zeros_like(emission), np.zeros_like(transition)
    beta = np.zeros(emission.shape[1])
    for t in range(len(TAGS) - 1, -1, -1):
        demission[t] -= np.exp(alpha[t] + beta - logz)
        demission[t, TAGS[t]] += 1
        if t > 0:
            inner = transition + emission[t] + beta
            dtransition -= np.exp(alpha[t - 1][:, None] + inner - logz)
            dtransition[TAGS[t - 1], TAGS[t]] += 1
            beta = logsumexp(inner, axis=1)
    return dout * demission, dout * dtransition


def check_inputs():
    rng = np.random.default_rng(58)
    return {"emission": rng.normal(size=(4, 3)), "transition": rng.normal(size=(3, 3))}
