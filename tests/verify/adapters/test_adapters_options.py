"""Options that open other branches: each value is checked, and none is left out without a word."""

import pytest

from ibpcl.verify.running.checking import results_here
from ibpcl.verify.running.user import Request

LAYER = """
import numpy as np
class Act:
    def __init__(self, kind="linear", half=False, training=True):
        self.chosen = kind
        self.half = half
        self.training = training
    def forward(self, x):
        self.x = x
        h = np.tanh(x) if self.chosen in ("tanh", "tanh2") else 3 * x
        return h / 2 if self.half else h
    def backward(self, dout):
        if self.half:
            dout = dout {sign} 2
        if self.training and self.chosen == "linear":
            return dout * 3
        return dout {times} (1 - np.tanh(self.x) ** 2)
"""
FUNCTIONS = """
import numpy as np
def act(x, kind="square"):
    return x**2 if kind == "square" else x**3
def act_backward(dout, x, kind="square"):
    if kind == "square":
        return dout * 2 * x
    elif kind == "cube":
        return dout * {factor} * x**2
"""
INPUTS = """
def check_inputs_act():
    return {{"x": np.array([0.5, 2.0]), "kind": "{kind}"}}
"""
ATTENTION = """
import numpy as np
class Heads:
    def __init__(self, size, n_heads):
        assert size % n_heads == 0
        self.n_heads = n_heads
        self.per_head = size // n_heads
    def forward(self, x):
        self.x = x
        return np.exp(x / np.sqrt(self.per_head))
    def backward(self, dout):
        return dout * np.exp(self.x / np.sqrt(self.per_head)) {sign} np.sqrt(self.per_head)
"""


@pytest.fixture
def verdicts(tmp_path):
    def run(source):
        path = tmp_path / "mine.py"
        path.write_text(source, encoding="utf-8")
        return {item.title.rpartition(":")[2]: item for item in results_here(Request(str(path)))}

    return run


@pytest.mark.parametrize(
    ("times", "sign", "verdict"), [("*", "/", "ok"), ("/", "/", "wrong"), ("*", "*", "wrong")]
)
def test_a_class_is_checked_with_each_value_of_its_options(verdicts, times, sign, verdict):
    found = verdicts(LAYER.format(times=times, sign=sign))
    assert [item.verdict for item in found.values()] == [verdict]


def test_an_option_that_does_not_run_is_named_and_nothing_is_called_right(verdicts):
    source = LAYER.format(times="*", sign="/").replace("3 * x", "self.lost * x")
    found = verdicts(source.replace('kind="linear"', 'kind="tanh"'))
    assert [item.verdict for item in found.values()] == ["undecided"]
    assert "linear" in str(found["Act"].report)


@pytest.mark.parametrize(
    ("times", "sign", "expected"),
    [
        ("*", "/", ["ok", "ok", "ok"]),
        ("/", "/", ["ok", "wrong", "ok"]),
        ("*", "*", ["ok", "ok", "wrong"]),
    ],
)
def test_an_object_of_each_choice_is_judged(verdicts, times, sign, expected):
    objects = "\na = Act()\nb = Act('tanh')\nc = Act(half=True)\n"
    found = verdicts(LAYER.format(times=times, sign=sign) + objects)
    assert [found[name].verdict for name in "abc"] == expected


@pytest.mark.parametrize(("factor", "verdict"), [("3", "ok"), ("2", "wrong")])
def test_each_string_argument_of_a_function_is_checked(verdicts, factor, verdict):
    source = FUNCTIONS.format(factor=factor)
    [found] = verdicts(source).values()
    assert found.verdict == verdict
    [given] = verdicts(source + INPUTS.format(kind="square")).values()
    assert given.verdict == "ok"  # the file asks for this one only


@pytest.mark.parametrize(("sign", "verdict"), [("/", "ok"), ("*", "wrong")])
def test_no_guessed_size_is_one(verdicts, sign, verdict):
    """With heads of size one, the power of the scale would not matter."""
    [found] = verdicts(ATTENTION.format(sign=sign)).values()
    assert found.verdict == verdict
