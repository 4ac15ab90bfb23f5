"""The LSTM: against a plain loop, with gates open or closed, and with a planted mistake."""

import numpy as np
import pytest

from ibpcl.primitives import lstm
from ibpcl.verify import check

N = 3
D = 4
K = 2
T = 6
# biases for which a gate is exactly 1 or 0
OPEN = 50.0
SHUT = -50.0


def parameters(seed=0, inputs=D):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, inputs, K)), rng.normal(size=(4, K, K)), rng.normal(size=(4, K))


def sequence(seed=1):
    return np.random.default_rng(seed).normal(size=(T, N, D))


def test_a_cell_follows_the_equations_unit_by_unit():
    (w, r, b), x = parameters(), sequence()
    outputs, _ = lstm.unroll(x, w, r, b)
    for n in range(N):
        h = [0.0] * K
        c = [0.0] * K
        for t in range(T):
            gates = [
                [
                    sum(x[t, n, d] * w[gate, d, k] for d in range(D))
                    + sum(h[j] * r[gate, j, k] for j in range(K))
                    + b[gate, k]
                    for k in range(K)
                ]
                for gate in range(4)
            ]
            i, f, o = (1 / (1 + np.exp(-np.array(gate))) for gate in gates[:3])
            c = f * c + i * np.tanh(gates[3])
            h = o * np.tanh(c)
            np.testing.assert_allclose(outputs[t, n], h, rtol=1e-12)


def test_an_open_forget_gate_and_a_shut_input_gate_carry_memory_and_gradient_unchanged():
    """The constant error carousel: memory and gradient do not change, for any inputs and length."""
    w, r, b = parameters()
    w[:2] = 0
    r[:2] = 0
    b[0] = SHUT
    b[1] = OPEN
    rng = np.random.default_rng(2)
    caches = []
    first = c = rng.normal(size=(N, K))
    h = np.zeros((N, K))
    for x_t in sequence():
        (h, c), cache = lstm.cell(x_t, h, c, w, r, b)
        caches.append(cache)
    np.testing.assert_allclose(c, first, rtol=1e-12)
    last = dc = rng.normal(size=(N, K))
    for cache in reversed(caches):
        dh, dc = lstm.cell_vjp((np.zeros((N, K)), dc), cache)[1:3]
        np.testing.assert_allclose(dh, 0, atol=1e-12)
    np.testing.assert_allclose(dc, last, rtol=1e-12)


def test_a_closed_forget_gate_erases_the_past():
    w, r, b = parameters()
    # the gradient does not reach earlier outputs either
    w[1] = 0
    r[:] = 0
    b[1] = SHUT
    x = sequence()
    outputs, _ = lstm.unroll(x, w, r, b)
    for t in range(T):
        np.testing.assert_allclose(outputs[t], lstm.unroll(x[t : t + 1], w, r, b)[0][0], rtol=1e-12)


def test_a_closed_output_gate_outputs_zero_and_keeps_the_memory():
    w, r, b = parameters()
    w[2] = 0
    b[2] = SHUT
    r[2] = 0
    (h, c), _ = lstm.cell(sequence()[0], np.zeros((N, K)), np.ones((N, K)), w, r, b)
    np.testing.assert_allclose(h, 0, atol=1e-15)
    assert (np.abs(c) > 1e-3).all()


def test_the_past_reaches_the_present_and_the_future_does_not():
    (w, r, b), x = parameters(), sequence()
    outputs, cache = lstm.unroll(x, w, r, b)
    moved = x.copy()
    moved[3] += 1
    changed = (lstm.unroll(moved, w, r, b)[0] != outputs).any(axis=(1, 2))
    assert changed.tolist() == [False] * 3 + [True] * 3
    dout = np.zeros_like(outputs)
    dout[3] = 1.0
    dx = lstm.unroll_vjp(dout, cache)[0]
    assert (dx[:4] != 0).any(axis=(1, 2)).all() and (dx[4:] == 0).all()


def test_examples_are_independent():
    (w, r, b), x = parameters(), sequence()
    outputs, _ = lstm.unroll(x, w, r, b)
    for n in range(N):
        np.testing.assert_allclose(
            outputs[:, n : n + 1], lstm.unroll(x[:, n : n + 1], w, r, b)[0], rtol=1e-12
        )


@pytest.mark.parametrize("gate", range(4))
def test_a_planted_sign_is_found(gate):
    """The LSTM's gradient with a wrong sign at the bias of one gate."""

    def spoiled_vjp(dout, cache):
        *rest, db = lstm.cell_vjp(dout, cache)
        return *rest, np.where(np.arange(4)[:, None] == gate, -db, db)

    w, r, b = parameters()
    h, c = np.random.default_rng(3).normal(size=(2, N, K))
    inputs = {"x": sequence()[0], "h": h, "c": c, "w": w, "r": r, "b": b}
    assert check(lstm.cell, lstm.cell_vjp, inputs).ok
    report = check(lstm.cell, spoiled_vjp, inputs)
    assert [item.name for item in report.inputs if not item.ok] == ["b"]
