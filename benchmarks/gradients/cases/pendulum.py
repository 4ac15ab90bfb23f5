"""Damped pendulum by semi-implicit Euler steps: w += h (-g/l sin q - c w), then q += h w; returns both."""

import numpy as np

H, G, STEPS = 0.2, 9.81, 6


def f(q0, w0, length, c):
    q, w = [q0], [w0]
    for _ in range(STEPS):
        w.append(w[-1] + H * (-G / length * np.sin(q[-1]) - c * w[-1]))
        q.append(q[-1] + H * w[-1])
    return (np.array(q[1:]), np.array(w[1:])), (q, w, length, c)


def f_vjp(dout, cache):
    dqs, dws = dout
    q, w, length, c = cache
    dq = dw = dlength = dc = 0.0
    for t in range(STEPS - 1, -1, -1):
        dq = dq + dqs[t]
        dw = dw + dws[t] + H * dq
        dlength += dw * H * G / length**2 * np.sin(q[t])
        dc += -dw * H * w[t]
        dq = dq - dw * H * G / length * np.cos(q[t])
        dw = dw * (1 - H * c)
    return dq, dw, dlength, dc


def check_inputs():
    return {"q0": np.array(0.9), "w0": np.array(-0.4), "length": np.array(1.7), "c": np.array(0.3)}
