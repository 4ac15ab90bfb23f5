"""State that a pair keeps between its calls is restored, in every kind of container."""

import threading

import numpy as np

from ibpcl.verify import check
from ibpcl.verify.restoring import State


class Layer:
    def __init__(self):
        self.seen = []


class Single:
    """An object that copies as itself, as a registered backend or an interned constant does."""

    def __init__(self):
        self.name = "only"

    def __reduce__(self):
        return get_single, ()


SINGLE = Single()
LAYER = Layer()
DRAWS = np.random.default_rng(0)
MODEL = {"layer": LAYER, "lock": threading.Lock()}
CALLS = {"layers": [LAYER], "n": np.zeros(1)}


def get_single():
    return SINGLE


def forward(x):
    LAYER.seen.append(x)
    CALLS["n"] += 1
    SINGLE.calls = getattr(SINGLE, "calls", 0) + 1
    return x, MODEL


def test_what_copies_as_itself_keeps_its_attributes():
    State(forward).restore()
    assert SINGLE.name == "only"


def test_random_numbers_are_drawn_again():
    def noisy(x):
        return x * DRAWS.random(3), LAYER

    state = State(noisy, draws=True)
    drawn = []
    for _ in range(3):
        drawn.append(noisy(1.0)[0].tolist())
        state.restore()
    assert drawn[0] == drawn[1] == drawn[2]


def test_what_two_names_hold_is_still_one_object():
    state = State(forward)
    forward(1.0)
    state.restore()
    assert LAYER.seen == [] and CALLS["n"] == 0
    assert CALLS["layers"][0] is LAYER and MODEL["layer"] is LAYER
    forward(2.0)
    assert {"`LAYER`", "`CALLS`"} <= {holder.name for holder in state.changed()}


class Linear:
    def __init__(self):
        self.w = np.array([0.5, -0.3])
        self.dw = np.zeros(2)
        self.calls = []


def test_a_check_leaves_every_object_in_its_place():
    layer = Linear()
    holder = {"layers": [layer]}
    parameters = [layer.w, layer.dw]  # as an optimizer holds them

    def product(x):
        holder["layers"][0].calls.append(x)
        return holder["layers"][0].w * x, x

    def product_vjp(dout, x):
        holder["layers"][0].dw += dout * x
        return dout * holder["layers"][0].w

    assert check(product, product_vjp, (np.array([1.0, 2.0]),)).ok
    assert holder["layers"][0] is layer and layer.calls == []
    assert layer.w is parameters[0] and layer.dw is parameters[1]
    np.testing.assert_array_equal(layer.w, [0.5, -0.3])
    np.testing.assert_array_equal(layer.dw, [0.0, 0.0])


def test_gradients_that_a_call_has_returned_keep_their_values():
    layer = Linear()

    def used(x):
        layer.dw += x
        return layer.dw

    state = State(used)
    returned = used(1.0)
    state.restore()
    np.testing.assert_array_equal(returned, [1.0, 1.0])
    np.testing.assert_array_equal(layer.dw, [0.0, 0.0])
