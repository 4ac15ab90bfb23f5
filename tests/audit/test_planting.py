"""Planted mistakes have wrong numbers, in the file as in the judge."""

import types

import numpy as np
import pytest
from audit_projects import LAYERS

from ibpcl.audit import comparing, planning, planting, points
from ibpcl.audit.agent import written

LOSS = '''import numpy as np


def squared_error(w, x, y):
    error = x @ w - y
    loss = np.mean(error**2)
    dw = 2 * x.T @ error / len(y)
    return loss, dw
'''
LAYER = '''import numpy as np


class Dense:
    def __init__(self, n_in, n_out):
        self.W = np.random.default_rng(0).normal(size=(n_in, n_out))
        self.b = np.zeros(n_out)

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dout):
        self.dW = self.x.T @ dout
        self.db = dout.sum(axis=0)
        return dout @ self.W.T
'''


NETWORK = '''import numpy as np


class Network:
    def __init__(self):
        self.layers = []

    def __len__(self):
        return len(self.layers)

    def __getitem__(self, n):
        return self.layers[n]

    def forward(self, x):
        self.x = x
        return x**2

    def backward(self, grad):
        grad = 2 * self.x * grad
        return grad
'''


def planted_in(path, text, calls=None):
    path.write_text(text)
    (message,) = planting.Program().plant(str(path), [], calls or {}, 0, 60.0)
    return message


def module_of(text):
    module = types.ModuleType("layers")
    exec(compile(text, "layers.py", "exec"), vars(module))
    return module


def test_pasted_lines_show_every_mistake_in_the_changed_file(tmp_path):
    message = planted_in(tmp_path / "layers.py", LAYERS)
    right = module_of(LAYERS)
    assert len(message["mutants"]) > 20
    for mutant in message["mutants"]:
        text = planting.replaced(LAYERS, planning.replacements_of(mutant))
        given = {}
        exec("\n".join(mutant["paste"]), {"np": np}, given)
        found = []
        for module in (right, module_of(text)):
            _, cache = module.linear_forward(given["x"], given["w"])
            found.append(module.linear_backward(given["dout"], cache))
        off = [
            np.shape(a) != np.shape(b) or np.abs(a - b).max() > comparing.SAME * np.abs(a).max()
            for a, b in zip(*found, strict=True)
        ]
        assert [name for name, wrong in zip("xw", off, strict=True) if wrong] == mutant["wrt"]
        assert text.count("\n") == LAYERS.count("\n")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (LOSS, {"constant_factor", "sign", "transposed"}),
        (LAYER, {"transposed", "not_summed"}),
    ],
    ids=["loss", "layer"],
)
def test_mistakes_are_planted_in_other_forms(tmp_path, text, kinds):
    message = planted_in(tmp_path / "other.py", text)
    assert message["state"] == "planted" and message["mutants"]
    assert {mutant["kind"] for mutant in message["mutants"]} & kinds


def test_a_mistake_in_the_loss_itself_is_not_a_wrong_gradient(tmp_path):
    message = planted_in(tmp_path / "other.py", LOSS)
    loss = LOSS.splitlines().index("    loss = np.mean(error**2)") + 1
    assert message["forward"] > 0
    assert loss not in {mutant["line"] for mutant in message["mutants"]}


def test_a_change_without_another_number_is_left_out(tmp_path):
    text = "def half(x):\n    return x / 2, None\n\n\ndef half_vjp(dout, cache):\n"
    plain = planted_in(tmp_path / "a.py", text + "    return dout / 2\n")
    # a sum with zero: all mistakes in the second term that keep it zero change nothing
    padded = planted_in(tmp_path / "b.py", text + "    return dout / 2 + 0 * dout\n")
    assert padded["equivalent"] > plain["equivalent"]
    assert not any(
        mutant["new"] in ("dout / 2 - 0 * dout", "dout / 2") for mutant in padded["mutants"]
    )
    # the control: a change of the first term counts
    assert any(mutant["new"] == "dout" for mutant in padded["mutants"])


def test_the_network_itself_in_place_of_a_gradient_is_left_out(tmp_path):
    message = planted_in(tmp_path / "network.py", NETWORK)
    planted = {mutant["new"] for mutant in message["mutants"]}
    assert "2 * self.x" in planted
    assert "self" not in planted


def test_two_mistakes_with_the_same_numbers_count_once(tmp_path):
    text = "def f(x):\n    return 2 * x, None\n\n\ndef f_vjp(dout, cache):\n    return 2 * dout\n"
    message = planted_in(tmp_path / "a.py", text)
    news = [mutant["new"] for mutant in message["mutants"]]
    assert message["repeated"] > 0
    assert news.count("dout") + news.count("1") == 1  # `2 * dout` to `dout`, and `2` to `1`


def test_inputs_of_the_projects_own_tests_are_used(tmp_path):
    text = (
        "def scale(x, table):\n    if x.shape != (7, 2):\n        raise ValueError('shape')\n"
        "    return x * table['a'], table['a']\n\n\n"
        "def scale_vjp(dout, a):\n    return dout * a\n"
    )
    without = planted_in(tmp_path / "a.py", text)
    assert without["state"] == "left out"
    call = {"x": np.arange(14.0).reshape(7, 2), "table": {"a": 3.0}}
    calls = {"scale": [{name: written(value, [100]) for name, value in call.items()}]}
    assert planted_in(tmp_path / "a.py", text, calls)["state"] == "planted"


def test_objects_of_the_projects_own_tests_are_used(tmp_path):
    text = LAYER.replace(
        "        self.W = np.random.default_rng(0).normal(size=(n_in, n_out))\n",
        "        if n_in != 37:\n            raise ValueError('37')\n"
        "        self.W = np.random.default_rng(0).normal(size=(n_in, n_out))\n"
        "        self.rng = np.random.default_rng(0)\n        self.inner = Dense.__new__(Dense)\n",
    )
    assert planted_in(tmp_path / "a.py", text)["state"] == "left out"
    layer = module_of(text).Dense(37, 2)
    call = {"self": layer, "x": np.arange(74.0).reshape(2, 37)}
    written_call = {name: written(value, [1000]) for name, value in call.items()}
    message = planted_in(tmp_path / "a.py", text, {"Dense": [written_call]})
    assert message["state"] == "planted" and len(message["mutants"]) > 5
    # a class that the file does not know cannot be made again
    written_call["self"]["object"] = "Unknown"
    assert planted_in(tmp_path / "a.py", text, {"Dense": [written_call]})["state"] == "left out"


def test_a_gradient_that_is_wrong_already_is_noted(tmp_path):
    wrong = planted_in(tmp_path / "a.py", LAYERS.replace("dout @ w.T", "2 * dout @ w.T"))
    right = planted_in(tmp_path / "b.py", LAYERS)
    assert wrong["note"] and not right["note"]


def test_arguments_survive_being_written():
    given = {"x": np.arange(6.0).reshape(2, 3), "n": 3, "pair": (1.5, [True, None]), "s": "same"}
    budget = [100]
    read = points.read_arguments({k: written(v, budget) for k, v in given.items()}, {})
    np.testing.assert_array_equal(read.pop("x"), given.pop("x"))
    assert read == given and type(read["pair"]) is tuple
    with pytest.raises(TypeError):
        written((number for number in ()), budget)
    with pytest.raises(ValueError):
        written(np.zeros(1000), budget)
