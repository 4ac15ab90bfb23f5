"""Leaky integrator by Euler steps: v[t+1] = v[t] + (dt / tau) (current[t] - v[t]), all states returned."""

import numpy as np

DT = 0.3


def f(current, v0, tau):
    v = [v0]
    for i in current:
        v.append(v[-1] + DT / tau * (i - v[-1]))
    v = np.stack(v)
    return v[1:], (current, v, tau)


def f_vjp(dout, cache):
    current, v, tau = cache
    T = len(current)
    dcurrent = np.zeros_like(current)
    dtau = np.zeros_like(tau)
    dv = np.zeros_like(v[0])
    for t in range(T - 1, -1, -1):
        dv = dv + dout[t]
        dcurrent[t] = dv * DT / tau
        dtau += -dv * DT / tau**2 * (current[t] - v[t])
        dv = dv * (1 - DT / tau)
    return dcurrent, dv, dtau


def check_inputs():
    rng = np.random.default_rng(22)
    return {"current": rng.normal(size=(5, 3)), "v0": rng.normal(size=3), "tau": np.array([0.8, 1.5, 2.5])}
