"""Matrix exponential by a Taylor series of A / 8 and three squarings."""

import numpy as np

TERMS = 9
SQUARINGS = 3


def f(A):
    B = A / 2**SQUARINGS
    powers = [np.eye(len(A)) + 0 * A]
    for k in range(1, TERMS):
        powers.append(powers[-1] @ B / k)
    E = sum(powers)
    squares = []
    for _ in range(SQUARINGS):
        squares.append(E)
        E = E @ E
    return E, (B, powers, squares)


def f_vjp(dout, cache):
    B, powers, squares = cache
    dE = dout
    for E in reversed(squares):
        dE = dE @ E.T + E.T @ dE
    dB = np.zeros_like(B)
    dterm = np.zeros_like(B)
    for k in range(TERMS - 1, 0, -1):
        dterm = dterm + dE
        dB += powers[k - 1].T @ dterm / k
        dterm = dterm @ B.T / k
    return dB / 2**SQUARINGS


def check_inputs():
    rng = np.random.default_rng(44)
    return {"A": rng.normal(size=(3, 3))}
