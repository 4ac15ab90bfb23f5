"""State that a pair keeps between its calls is restored, in every kind of container."""

import threading

import numpy as np

from ibpcl.verify.running.restoring import State


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
