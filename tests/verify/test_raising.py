"""Gradient functions that raise are wrong, and the change that mends them is named."""

import importlib.util
import itertools
import json
import re
import textwrap

import numpy as np
import pytest

from ibpcl.cli import main
from ibpcl.verify import check

pytestmark = pytest.mark.usefixtures("checked_here")

RNG = np.random.default_rng(5)
NUMBERS = itertools.count()
HEAD = "import numpy as np\n\n\n"

# A right pair, its inputs, and slips: what is replaced, by what, and what the report must contain.
LINEAR = (
    """
    def f(x, w, b):
        return x @ w + b, (x, w, b)

    def f_vjp(dout, cache):
        x, w, b = cache
        dx = dout @ w.T
        dw = x.T @ dout
        db = dout.sum(0)
        return dx, dw, db
    """,
    {"x": (3, 4), "w": (4, 5), "b": (5,)},
    [
        ("dout @ w.T", "dout @ w", "`dout @ w.T`"),
        ("dout @ w.T", "w.T @ dout", "`dout @ w.T`"),
        ("dout @ w.T", "w @ dout", "`dout @ w.T`"),
        ("dout @ w.T", "dout.T @ w.T", "`dout`"),
        ("dout @ w.T", "dout @ x.T", "`w`"),
        ("x.T @ dout", "x @ dout", "`x.T @ dout`"),
        ("x.T @ dout", "dout @ x.T", "`x.T @ dout`"),
        ("x.T @ dout", "dout.T @ x.T", "`x.T @ dout`"),
        ("x.T @ dout", "w.T @ dout", "`x`"),
        ("dout.sum(0)", "dout.sum(2)", "`dout.sum(0)`"),
        ("x, w, b = cache", "w, x, b = cache", "`x, w, b = cache`"),
    ],
)
TWO_LAYERS = (
    """
    def f(x, w1, w2):
        h = np.tanh(x @ w1)
        return h @ w2, (x, w1, w2, h)

    def f_vjp(dout, cache):
        x, w1, w2, h = cache
        dw2 = np.dot(h.T, dout)
        dh = np.dot(dout, w2.T)
        da = dh * (1 - h**2)
        dw1 = np.dot(x.T, da)
        return np.dot(da, w1.T), dw1, dw2
    """,
    {"x": (3, 4), "w1": (4, 5), "w2": (5, 6)},
    [
        ("np.dot(h.T, dout)", "np.dot(h, dout)", "h.T"),
        ("np.dot(dout, w2.T)", "np.dot(dout, w2)", "w2.T"),
        ("np.dot(dout, w2.T)", "np.dot(w2.T, dout)", "dout @ w2.T"),
        ("np.dot(dout, w2.T)", "np.dot(dout, w1.T)", "`w2`"),
        ("dh * (1 - h**2)", "dh.T * (1 - h**2)", "`dh`"),
        ("dh * (1 - h**2)", "dout * (1 - h**2)", "`dh`"),
        ("np.dot(x.T, da)", "np.dot(da, x.T)", "x.T @ da"),
        ("np.dot(da, w1.T)", "np.dot(da, w1)", "w1.T"),
        ("x, w1, w2, h = cache", "x, w2, w1, h = cache", "`x, w1, w2, h = cache`"),
    ],
)
CROSS_ENTROPY = (
    """
    def f(scores, y):
        e = np.exp(scores - scores.max(1, keepdims=True))
        p = e / e.sum(1, keepdims=True)
        return -np.sum(y * np.log(p)), (e, y)

    def f_vjp(dout, cache):
        e, y = cache
        p = e / e.sum(1, keepdims=True)
        n = y.sum(axis=1, keepdims=True)
        return dout * (n * p - y), -dout * np.log(p)
    """,
    {"scores": (3, 4), "y": (3, 4)},
    [
        ("e / e.sum(1, keepdims=True)\n        n", "e / e.sum(1)\n        n", "keepdims=True"),
        ("y.sum(axis=1, keepdims=True)", "y.sum(axis=1)", "keepdims=True"),
        ("(n * p - y)", "(n * p - y.T)", "`y`"),
        ("(n * p - y)", "(n * p.T - y)", "`p`"),
    ],
)
BATCH_NORM = (
    """
    def f(x, gamma, beta):
        s = np.sqrt(x.var(0) + 1e-5)
        h = (x - x.mean(0)) / s
        return gamma * h + beta, (h, s, gamma)

    def f_vjp(dout, cache):
        h, s, gamma = cache
        d = dout * gamma
        dx = (d - d.mean(0) - h * np.mean(d * h, axis=0)) / s
        return dx, (dout * h).sum(0), dout.sum(0)
    """,
    {"x": (4, 6), "gamma": (6,), "beta": (6,)},
    [
        ("d.mean(0)", "d.mean(1)", "`d.mean(0)`"),
        ("np.mean(d * h, axis=0)", "np.mean(d * h, axis=1)", "axis=0"),
        ("dout * gamma", "dout.T * gamma", "`dout`"),
        ("(dout * h).sum(0)", "(dout.T * h).sum(0)", "`dout`"),
    ],
)
LAYER_NORM = (
    """
    def f(x, gamma, beta):
        s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        h = (x - x.mean(-1, keepdims=True)) / s
        return gamma * h + beta, (h, s, gamma)

    def f_vjp(dout, cache):
        h, s, gamma = cache
        d = dout * gamma
        m = d.mean(-1, keepdims=True)
        dx = (d - m - h * (d * h).mean(-1, keepdims=True)) / s
        return dx, (dout * h).sum(0), dout.sum(0)
    """,
    {"x": (4, 6), "gamma": (6,), "beta": (6,)},
    [
        ("m = d.mean(-1, keepdims=True)", "m = d.mean(-1)", "keepdims=True"),
        ("(d * h).mean(-1, keepdims=True)", "(d * h).mean(-1)", "keepdims=True"),
        ("h * (d * h)", "h.T * (d * h)", "`h`"),
        ("(dout * h).sum(0)", "(dout * h.T).sum(0)", "`h`"),
        ("dout.sum(0)", "dout.sum(axis=2)", "axis=0"),
    ],
)
ATTENTION = (
    """
    def f(q, k, v):
        scores = q @ k.transpose(0, 2, 1)
        return scores @ v, (q, k, v, scores)

    def f_vjp(dout, cache):
        q, k, v, scores = cache
        dv = scores.transpose(0, 2, 1) @ dout
        dscores = dout @ v.transpose(0, 2, 1)
        dq = dscores @ k
        dk = dscores.transpose(0, 2, 1) @ q
        return dq, dk, dv
    """,
    {"q": (2, 3, 4), "k": (2, 5, 4), "v": (2, 5, 6)},
    [
        ("scores.transpose(0, 2, 1) @ dout", "scores @ dout", "scores.mT @ dout"),
        ("dout @ v.transpose(0, 2, 1)", "dout @ v", "v.mT"),
        ("dout @ v.transpose(0, 2, 1)", "dout @ v.transpose(0, 1, 2)", "v.transpose(0, 2, 1)"),
        ("dscores @ k", "dscores @ k.transpose(0, 2, 1)", "`k`"),
        ("dscores @ k", "dscores @ q", "`k`"),
        ("dscores.transpose(0, 2, 1) @ q", "dscores @ q", "dscores.mT @ q"),
        ("q, k, v, scores = cache", "k, q, v, scores = cache", "`q, k, v, scores = cache`"),
    ],
)
RECURRENT = (
    """
    def f(x, h, wx, wh, b):
        new = np.tanh(x @ wx + h @ wh + b)
        return new, {"x": x, "h": h, "wx": wx, "wh": wh, "new": new}

    def f_vjp(dout, cache):
        da = dout * (1 - cache["new"] ** 2)
        dx = da @ cache["wx"].T
        dh = da @ cache["wh"].T
        dwx = cache["x"].T @ da
        dwh = cache["h"].T @ da
        return dx, dh, dwx, dwh, da.sum(axis=0)
    """,
    {"x": (3, 4), "h": (3, 5), "wx": (4, 5), "wh": (5, 5), "b": (5,)},
    [
        ('da @ cache["wx"].T', 'da @ cache["wx"]', "cache['wx'].T"),
        ('da @ cache["wx"].T', 'cache["wx"].T @ da', "da @ cache['wx'].T"),
        ('cache["x"].T @ da', 'cache["x"] @ da', "cache['x'].T"),
        ('cache["new"] ** 2', 'cache["x"] ** 2', "cache['new']"),
        ("da.sum(axis=0)", "da.sum(axis=2)", "axis=0"),
    ],
)
CONVOLUTION = (
    """
    def f(columns, kernels):
        flat = kernels.reshape(kernels.shape[0], -1)
        return flat @ columns, (columns, kernels, flat)

    def f_vjp(dout, cache):
        columns, kernels, flat = cache
        dflat = dout @ columns.T
        dcolumns = flat.T @ dout
        return dcolumns, dflat.reshape(kernels.shape)
    """,
    {"columns": (12, 7), "kernels": (5, 3, 4)},
    [
        ("dout @ columns.T", "dout @ columns", "columns.T"),
        ("dout @ columns.T", "columns.T @ dout", "dout @ columns.T"),
        ("flat.T @ dout", "flat @ dout", "flat.T"),
        ("dout @ columns.T", "dout.T @ columns", "dout @ columns.T"),
        ("dflat.reshape(kernels.shape)", "dout.reshape(kernels.shape)", "`dflat`"),
    ],
)
PAIRS = {
    "linear": LINEAR,
    "two layers": TWO_LAYERS,
    "cross-entropy": CROSS_ENTROPY,
    "batch norm": BATCH_NORM,
    "layer norm": LAYER_NORM,
    "attention": ATTENTION,
    "recurrent": RECURRENT,
    "convolution": CONVOLUTION,
}


def module_of(source, folder):
    path = folder / f"raising_{next(NUMBERS)}.py"
    path.write_text(HEAD + textwrap.dedent(source), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report_on(source, shapes, folder):
    module = module_of(source, folder)
    inputs = {name: RNG.normal(size=shape) for name, shape in shapes.items()}
    if "y" in inputs:
        inputs["y"] = np.abs(inputs["y"])
    return check(module.f, module.f_vjp, inputs)


def words_of(report):
    return " ".join(item.words for item in report.inputs)


@pytest.mark.parametrize("name", PAIRS)
def test_a_right_pair_is_left_alone(name, tmp_path):
    source, shapes, _ = PAIRS[name]
    assert report_on(source, shapes, tmp_path).ok


@pytest.mark.parametrize("name", PAIRS)
def test_a_slip_that_raises_is_wrong(name, tmp_path):
    source, shapes, slips = PAIRS[name]
    unnamed = []
    for old, new, right in slips:
        assert source.count(old) == 1
        report = report_on(source.replace(old, new), shapes, tmp_path)
        words = words_of(report)
        assert report.verdict == "wrong" and report.score == 0, new
        assert "raises" in words and not any(item.ok for item in report.inputs), new
        assert all(item.where.line for item in report.inputs), new
        named = words.partition("should be")[2]
        if right not in named:
            unnamed.append((new, words))
    assert len(unnamed) <= 0.2 * len(slips), unnamed


@pytest.mark.parametrize(
    ("name", "new", "kind", "affected"),
    [
        ("linear", "dout @ w", "transposed", ["x"]),
        ("two layers", "np.dot(dout, w2)", "transposed", ["x", "w1"]),
        ("layer norm", "m = d.mean(-1)", "summed", ["x"]),
    ],
)
def test_the_repair_stands_at_the_inputs_that_it_mends(name, new, kind, affected, tmp_path):
    source, shapes, slips = PAIRS[name]
    old = next(old for old, other, _ in slips if other == new)
    report = report_on(source.replace(old, new), shapes, tmp_path)
    for item in report.inputs:
        assert item.kind == kind  # one mistake, which keeps all gradients from being computed
        assert ("should be" in item.words) == (item.name in affected)


@pytest.mark.parametrize(
    "line",
    ["raise ArithmeticError('lost')", "raise SystemExit(3)", "np.linalg.solve(x, w)", "missing(x)"],
)
def test_an_exception_that_no_change_mends_is_told_with_its_line(line, tmp_path):
    source, shapes, _ = LINEAR
    report = report_on(source.replace("dx = dout @ w.T", line), shapes, tmp_path)
    assert report.verdict == "wrong"
    for item in report.inputs:
        assert item.kind == "raises" and "should be" not in item.words
        assert line in item.where.text and line in item.words


def test_a_change_counts_only_if_a_gradient_that_depends_on_it_is_right(tmp_path):
    source, shapes, _ = LINEAR
    report = report_on(source.replace("dout @ w.T", "np.sin(dout) @ w"), shapes, tmp_path)
    assert report.verdict == "wrong" and {item.kind for item in report.inputs} == {"raises"}
    assert "should be" not in words_of(report)


def test_other_mistakes_are_found_behind_the_exception(tmp_path):
    source, shapes, _ = LINEAR
    source = source.replace("dout @ w.T", "dout @ w").replace("dw = x.T", "dw = -x.T")
    report = report_on(source, shapes, tmp_path)
    assert [item.kind for item in report.inputs] == ["transposed", "sign", "transposed"]
    assert not any(item.ok for item in report.inputs)


def test_code_that_is_not_written_yet_is_not_wrong(tmp_path):
    source, shapes, _ = LINEAR
    with pytest.raises((TypeError, NotImplementedError)):
        report_on(source.replace("dx = dout @ w.T", "raise NotImplementedError"), shapes, tmp_path)


def test_arguments_in_the_wrong_order_keep_their_message():
    def f(x):
        return np.sin(x), {"x": x}

    def f_vjp(dout, cache):
        return cache * np.cos(dout["x"])

    with pytest.raises(TypeError, match="wrong order"):
        check(f, f_vjp, (RNG.normal(size=(3, 4)),))


LAYER = """
class Linear:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, dout):
        self.dw = self.x.T @ dout
        self.db = dout.sum(0)
        return dout @ self.w
"""
CLOSURE = """
def linear(x, w):
    def pull(dout):
        dx = dout @ w
        dw = x.T @ dout
        return dx, dw
    return x @ w, pull
"""


def test_a_layer_whose_backward_raises_is_named(tmp_path):
    module = module_of(LAYER, tmp_path)
    layer = module.Linear(RNG.normal(size=(4, 5)), RNG.normal(size=5))
    report = check(layer, RNG.normal(size=(3, 4)))
    assert report.verdict == "wrong" and {item.kind for item in report.inputs} == {"transposed"}
    assert "`dout @ self.w.T`" in report["x"].words and "not reached" in report["w"].words


def test_a_closure_that_raises_is_named(tmp_path):
    module = module_of(CLOSURE, tmp_path)
    report = check(module.linear, {"x": RNG.normal(size=(3, 4)), "w": RNG.normal(size=(4, 5))})
    assert [item.kind for item in report.inputs] == ["transposed", "transposed"]
    assert "`dout @ w.T`" in report["x"].words


@pytest.mark.parametrize(
    "source",
    [LINEAR[0].replace("dout @ w.T", "dout @ w"), LAYER, CLOSURE],
    ids=["functions", "class", "closure"],
)
def test_the_command_names_it_with_guessed_inputs(source, tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + textwrap.dedent(source), encoding="utf-8")
    assert main(["check", str(path)]) == 1
    words = " ".join(capsys.readouterr().out.split())
    assert "WRONG" in words and re.search(r"`dout @ (self\.)?w\.T`", words)


def test_a_loss_whose_gradient_raises_is_wrong(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(
        HEAD
        + "def loss_and_gradient(x, w):\n"
        + "    r = x @ w\n"
        + "    loss = np.sum(r**2)\n"
        + "    dw = x @ (2 * r)\n"
        + "    return loss, dw\n\n\n"
        + "def check_inputs():\n"
        + "    return {'x': np.ones((3, 4)), 'w': np.ones(4)}\n",
        encoding="utf-8",
    )
    assert main(["check", str(path)]) == 1
    assert "raises ValueError" in " ".join(capsys.readouterr().out.split())


SQUARE = """
def square(x):
    {first}
    return x**2, x

def square_vjp(dout, x):
    {second}
    return 2 * x * dout

def check_inputs():
    return {{"x": np.ones(3)}}
"""
SQUARE_LAYER = """
class Square:
    def forward(self, x):
        {first}
        self.x = x
        return x**2

    def backward(self, dout):
        {second}
        return 2 * self.x * dout

def check_inputs():
    return {{"x": np.ones(3)}}
"""
SQUARE_JVP = """
def square(x):
    {first}
    return x**2

def square_jvp(x, dx):
    {second}
    return 2 * x * dx

def check_inputs():
    return {{"x": np.ones(3)}}
"""


def exit_code(tmp_path, source, first, second):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + source.format(first=first, second=second), encoding="utf-8")
    return main(["check", str(path)])


@pytest.mark.parametrize("source", [SQUARE, SQUARE_LAYER, SQUARE_JVP])
@pytest.mark.parametrize("line", ["import no_such_library", "no_such_name(x)"])
def test_a_forward_that_lacks_a_name_is_not_judged(line, source, tmp_path):
    assert exit_code(tmp_path, source, line, "pass") == 3


@pytest.mark.parametrize("source", [SQUARE, SQUARE_LAYER, SQUARE_JVP])
@pytest.mark.parametrize(("line", "code"), [("import no_such_library", 2), ("no_such_name(0)", 1)])
def test_a_backward_is_wrong_if_it_lacks_a_name_and_refused_if_a_library(
    line, code, source, tmp_path
):
    """The library may be there on another machine."""
    assert exit_code(tmp_path, source, "pass", line) == code


def test_a_forward_that_reads_a_variable_too_early_is_wrong(tmp_path):
    assert exit_code(tmp_path, SQUARE, "x = y; y = x", "pass") == 1


def test_the_reason_of_a_forward_that_is_not_judged_is_given_in_json(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + SQUARE.format(first="no_such_name(x)", second="pass"), encoding="utf-8")
    assert main(["check", "--json", str(path)]) == 3
    (item,) = json.loads(capsys.readouterr().out)["checks"]
    assert item["verdict"] == "undecided" and item["where"]["line"] == 6
    assert "NameError" in item["words"] and "no_such_name" in item["words"]
