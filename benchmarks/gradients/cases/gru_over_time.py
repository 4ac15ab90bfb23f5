"""Gated recurrent unit over a sequence, all states returned: h_t = (1 - z) h_{t-1} + z tanh(Wn x + Un (r h_{t-1}))."""

import numpy as np


def sigmoid(a):
    return 1.0 / (1.0 + np.exp(-a))


def f(xs, h0, Wz, Uz, Wr, Ur, Wn, Un):
    h = h0
    steps, hs = [], []
    for x in xs:
        z = sigmoid(Wz @ x + Uz @ h)
        r = sigmoid(Wr @ x + Ur @ h)
        n = np.tanh(Wn @ x + Un @ (r * h))
        steps.append((x, h, z, r, n))
        h = (1 - z) * h + z * n
        hs.append(h)
    return np.stack(hs), (steps, Wz, Uz, Wr, Ur, Wn, Un)


def f_vjp(dout, cache):
    steps, Wz, Uz, Wr, Ur, Wn, Un = cache
    dWz, dUz = np.zeros_like(Wz), np.zeros_like(Uz)
    dWr, dUr = np.zeros_like(Wr), np.zeros_like(Ur)
    dWn, dUn = np.zeros_like(Wn), np.zeros_like(Un)
    dxs = np.zeros((len(steps), Wz.shape[1]))
    dh = np.zeros(Wz.shape[0])
    for t in reversed(range(len(steps))):
        x, h, z, r, n = steps[t]
        dh = dh + dout[t]
        dn = dh * z * (1 - n**2)
        dz = dh * (n - h) * z * (1 - z)
        drh = Un.T @ dn
        dr = drh * h * r * (1 - r)
        dWz += np.outer(dz, x)
        dUz += np.outer(dz, h)
        dWr += np.outer(dr, x)
        dUr += np.outer(dr, h)
        dWn += np.outer(dn, x)
        dUn += np.outer(dn, r * h)
        dxs[t] = Wz.T @ dz + Wr.T @ dr + Wn.T @ dn
        dh = dh * (1 - z) + Uz.T @ dz + Ur.T @ dr + drh * r
    return dxs, dh, dWz, dUz, dWr, dUr, dWn, dUn


def check_inputs():
    rng = np.random.default_rng(5)
    shapes = {"xs": (4, 2), "h0": (3,), "Wz": (3, 2), "Uz": (3, 3), "Wr": (3, 2), "Ur": (3, 3), "Wn": (3, 2)}
    inputs = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    inputs["Un"] = rng.normal(size=(3, 3))
    return inputs
