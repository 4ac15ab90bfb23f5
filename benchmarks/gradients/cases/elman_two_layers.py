"""Two stacked Elman layers: a_t = tanh(W1 x_t + U1 a_{t-1}), c_t = tanh(W2 a_t + U2 c_{t-1}), output all c_t."""

import numpy as np


def f(xs, W1, U1, W2, U2):
    a = [np.zeros(len(U1))]
    c = [np.zeros(len(U2))]
    for x in xs:
        a.append(np.tanh(W1 @ x + U1 @ a[-1]))
        c.append(np.tanh(W2 @ a[-1] + U2 @ c[-1]))
    a, c = np.array(a), np.array(c)
    return c[1:], (xs, W1, U1, W2, U2, a, c)


def f_vjp(dout, cache):
    xs, W1, U1, W2, U2, a, c = cache
    dxs = np.zeros_like(xs)
    dW1, dU1 = np.zeros_like(W1), np.zeros_like(U1)
    dW2, dU2 = np.zeros_like(W2), np.zeros_like(U2)
    da_next = np.zeros(len(U1))
    dc_next = np.zeros(len(U2))
    for t in range(len(xs), 0, -1):
        dc = dout[t - 1] + dc_next
        dpre2 = dc * (1 - c[t] ** 2)
        dW2 += np.outer(dpre2, a[t])
        dU2 += np.outer(dpre2, c[t - 1])
        dc_next = U2.T @ dpre2
        da = W2.T @ dpre2 + da_next
        dpre1 = da * (1 - a[t] ** 2)
        dW1 += np.outer(dpre1, xs[t - 1])
        dU1 += np.outer(dpre1, a[t - 1])
        da_next = U1.T @ dpre1
        dxs[t - 1] = W1.T @ dpre1
    return dxs, dW1, dU1, dW2, dU2


def check_inputs():
    rng = np.random.default_rng(24)
    return {
        "xs": rng.normal(size=(4, 2)),
        "W1": rng.normal(size=(3, 2)),
        "U1": 0.7 * rng.normal(size=(3, 3)),
        "W2": rng.normal(size=(3, 3)),
        "U2": 0.7 * rng.normal(size=(3, 3)),
    }
