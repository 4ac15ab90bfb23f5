"""Period of a pendulum with a correction for the amplitude, all plain numbers: 2 pi sqrt(l / g) (1 + a^2 / 16)."""

import math


def f(length, gravity, amplitude):
    base = 2 * math.pi * (length / gravity) ** 0.5
    return base * (1 + amplitude**2 / 16), (length, gravity, amplitude, base)


def f_vjp(dout, cache):
    length, gravity, amplitude, base = cache
    out = base * (1 + amplitude**2 / 16)
    return dout * out / (2 * length), -dout * out / (2 * gravity), dout * base * amplitude / 8


def check_inputs():
    return {"length": 1.2, "gravity": 9.81, "amplitude": 0.4}
