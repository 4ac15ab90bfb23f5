"""Operations of a user's own automatic differentiation."""

import sys
import types
from pathlib import Path

import engine_of_numbers
import numpy as np
import pytest

from ibpcl.verify.doors import discovery, loading, tapes
from ibpcl.verify.running import served

NUMBERS = Path(engine_of_numbers.__file__).read_text(encoding="utf-8")

ARRAYS = """
import numpy as np

def summed(grad, shape):
    while grad.ndim > len(shape):
        grad = grad.sum(axis=0)
    return grad

class Tensor:
    def __init__(self, data, requires_grad=False, parents=()):
        self.data = np.asarray(data, dtype=np.float32)
        self.requires_grad = requires_grad
        self.grad = None
        self.parents = parents

    def receive(self, grad):
        if self.requires_grad:
            self.grad = grad if self.grad is None else self.grad + grad

    def __add__(self, other):
        return Tensor(self.data + other.data, True, (
            (self, lambda g: summed(g, self.data.shape)),
            (other, lambda g: summed(g, other.data.shape)),
        ))

    def __mul__(self, other):
        return Tensor(self.data * other.data, True, (
            (self, lambda g: summed(g * other.data, self.data.shape)),
            (other, lambda g: summed(g * self.data, other.data.shape)),
        ))

    def __matmul__(self, other):
        return Tensor(self.data @ other.data, True, (
            (self, lambda g: g @ other.data.T),
            (other, lambda g: self.data.T @ g),
        ))

    @property
    def T(self):
        return Tensor(self.data.T, True, ((self, lambda g: g.T),))

    def sum(self):
        return Tensor(self.data.sum(), True, ((self, lambda g: g * np.ones_like(self.data)),))

    def relu(self):
        return Tensor(np.maximum(self.data, 0), True, ((self, lambda g: g * (self.data > 0)),))

    def backward(self, grad=None):
        grad = np.ones_like(self.data) if grad is None else grad
        self.receive(grad)
        for parent, pull in self.parents:
            parent.backward(pull(grad))

class Function:
    @classmethod
    def apply(cls, *tensors):
        made = cls()
        out = made.forward(*(one.data for one in tensors))
        return Tensor(out, True, tuple(
            (one, lambda g, n=n: made.backward(g)[n]) for n, one in enumerate(tensors)))

class SquaredError(Function):
    def forward(self, prediction, target):
        self.r = prediction - target
        return np.mean(self.r**2)

    def backward(self, dout):
        return dout * 2 * self.r / self.r.size, 0 * self.r
"""


# Methods that take an axis, a shape, an order or an index.
SETTINGS = """
    def mean(self, axis=None, keepdims=False):
        out = self.data.mean(axis=axis, keepdims=keepdims)
        size = self.data.size / out.size
        def pull(g):
            g = g if axis is None or keepdims else np.expand_dims(g, axis)
            return np.broadcast_to(g, self.data.shape) / size
        return Tensor(out, True, ((self, pull),))

    def reshape(self, *shape):
        return Tensor(self.data.reshape(*shape), True, (
            (self, lambda g: g.reshape(self.data.shape)),))

    def transpose(self, axes=(1, 0)):
        return Tensor(self.data.transpose(axes), True, (
            (self, lambda g: g.transpose(np.argsort(axes))),))

    def __getitem__(self, index):
        def pull(g):
            full = np.zeros_like(self.data)
            np.add.at(full, index, g)
            return full
        return Tensor(self.data[index], True, ((self, pull),))

    @staticmethod
    def stack(tensors, axis=0):
        return Tensor(np.stack([one.data for one in tensors], axis), True, tuple(
            (one, lambda g, n=n: np.take(g, n, axis)) for n, one in enumerate(tensors)))

    def argmax(self, axis=None):
        return Tensor(self.data.argmax(axis), True)

    def relu(self):"""
LARGE = ARRAYS.replace("\n    def relu(self):", SETTINGS)


@pytest.fixture
def reports(tmp_path, monkeypatch):
    def check(source, *names):
        path = tmp_path / "engine.py"
        path.write_text(source, encoding="utf-8")
        options = types.SimpleNamespace(
            path=str(path), names=names, shapes={}, wrt=None, seed=0, timeout=20.0, figures=False
        )
        loaded = loading.load(str(path))
        found = {}
        for target in served.choose(loaded, discovery.targets_in(loaded.module), options):
            content = served.verdict_on(loaded, target, options)
            found[target.name] = content.get("report", content)
        return found

    monkeypatch.setattr(sys, "path", list(sys.path))
    yield check
    for name in ("engine", "checked_engine"):
        sys.modules.pop(name, None)


def wrong(found):
    return {name for name, one in found.items() if one.get("verdict", one.get("state")) != "ok"}


def test_every_operation_on_single_numbers_is_checked(reports):
    found = reports(NUMBERS)
    methods = ("__add__", "__mul__", "__rsub__", "__pow__", "tanh", "log", "backward")
    assert set(found) == {f"Value.{name}" for name in methods}
    assert not wrong(found)


def test_operations_are_chosen_by_their_class_or_their_name(reports):
    assert len(reports(NUMBERS, "Value")) == 7
    assert set(reports(NUMBERS, "tanh", "Value.log")) == {"Value.tanh", "Value.log"}


def test_every_operation_on_arrays_is_checked_in_double_precision(reports):
    found = reports(ARRAYS)
    names = {"__add__", "__add__ (broadcast)", "__mul__", "__mul__ (broadcast)", "__matmul__"}
    names |= {"T", "sum", "relu", "backward"}
    assert set(found) == {f"Tensor.{name}" for name in names} | {"SquaredError"}
    assert not wrong(found)
    assert [one["name"] for one in found["SquaredError"]["inputs"]] == ["prediction"]
    assert any("float64" in note for note in found["Tensor.relu"]["notes"])


@pytest.mark.parametrize(
    ("old", "new", "names", "kind"),
    [
        ("(1 - t**2) * out.grad", "(1 - t) * out.grad", {"tanh"}, "elementwise_factor"),
        ("self.grad += (1 - t**2) * out.grad", "self.grad += 1 - t**2", {"tanh"}, None),
        ("self.grad -= out.grad", "self.grad += out.grad", {"__rsub__"}, "sign"),
        ("n * self.data ** (n - 1)", "self.data ** (n - 1)", {"__pow__"}, "constant_factor"),
        ("reversed(order)", "order", {"backward"}, None),
        ("if node not in seen:", "if True:", {"backward"}, None),
    ],
)
def test_a_mistake_is_found_in_its_operation_alone(reports, old, new, names, kind):
    assert NUMBERS.count(old) == 1
    found = reports(NUMBERS.replace(old, new))
    assert wrong(found) == {f"Value.{name}" for name in names}
    for name in names:
        bad = [one for one in found[f"Value.{name}"]["inputs"] if one["kind"] != "ok"]
        assert kind is None or {one["kind"] for one in bad} == {kind}
        # a line of the gradient, not of the value
        assert kind is None or all(
            "self.grad" in one["numbers"].get("where", "self.grad") for one in bad
        )


@pytest.mark.parametrize(
    ("old", "name"),
    [
        ("self.grad += (1 - t**2) * out.grad", "tanh"),
        ("self.grad += out.grad / self.data", "log"),
        ("self.grad += other.data * out.grad", "__mul__"),
    ],
)
def test_a_gradient_that_replaces_an_earlier_one_is_named(reports, old, name):
    found = reports(NUMBERS.replace(old, old.replace("+=", "=")))
    assert f"Value.{name}" in wrong(found)
    # a product is used twice in the expression of Value.backward
    assert wrong(found) - {"Value.backward"} == {f"Value.{name}"}
    assert any("+=" in note for note in found[f"Value.{name}"]["notes"])


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("lambda g: g @ other.data.T", "lambda g: g @ other.data.T * 2", "Tensor.__matmul__"),
        ("lambda g: g.T)", "lambda g: 0 * g.T)", "Tensor.T"),
        ("(self.data > 0)", "(self.data > -0.5)", "Tensor.relu"),
        (
            "lambda g: summed(g, other.data.shape)",
            "lambda g: g.sum(axis=0)",
            "Tensor.__add__",
        ),
        ("dout * 2 * self.r", "dout * self.r", "SquaredError"),
    ],
)
def test_a_mistake_in_an_operation_on_arrays_is_found(reports, old, new, name):
    assert ARRAYS.count(old) == 1
    assert name in wrong(reports(ARRAYS.replace(old, new)))


def test_a_missing_sum_over_a_broadcast_axis_is_found(reports):
    found = reports(ARRAYS.replace("summed(g * self.data, other.data.shape)", "g * self.data"))
    assert wrong(found) == {"Tensor.__mul__ (broadcast)"}
    (other,) = [
        one for one in found["Tensor.__mul__ (broadcast)"]["inputs"] if one["name"] == "other"
    ]
    assert other["kind"] == "not_summed"


def test_a_class_with_values_alone_has_no_operations(reports):
    source = """
class Point:
    def __init__(self, x):
        self.x = x
        self.grad = 0.0
    def __add__(self, other):
        return Point(self.x + other.x)
def area(x):
    value = x**2
    dx = 2 * x
    return value, dx
"""
    assert set(reports(source)) == {"area"}


def test_methods_that_show_or_write_are_not_called(reports, tmp_path):
    source = NUMBERS.replace(
        "    def zero_grad(self):",
        f"    def save(self):\n        open({str(tmp_path / 'saved')!r}, 'w').close()\n"
        "        return Value(0.0)\n\n    def note(self):\n"
        f"        open({str(tmp_path / 'noted')!r}, 'w').close()\n\n    def zero_grad(self):",
    )
    assert not wrong(reports(source))
    assert not (tmp_path / "saved").exists() and not (tmp_path / "noted").exists()


@pytest.mark.parametrize(
    "replacements",
    [
        {"        self.grad = 1.0\n        for": "        for"},  # the caller sets it before
        {"backward(self)": "backward(self, grad=1.0)", "self.grad = 1.0\n": "self.grad = grad\n"},
    ],
)
def test_the_gradient_of_the_output_may_come_from_the_caller(reports, replacements):
    source = NUMBERS
    for old, new in replacements.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    found = reports(source)
    assert len(found) == 7 and not wrong(found)


def test_a_backward_pass_may_begin_at_single_numbers_only(reports):
    source = ARRAYS.replace(
        "        grad = np.ones_like(self.data) if grad is None else grad\n"
        "        self.receive(grad)\n",
        "        if self.data.size > 1:\n            raise ValueError('not a scalar')\n"
        "        self.pass_on(np.ones_like(self.data))\n\n"
        "    def pass_on(self, grad):\n        self.receive(grad)\n",
    )
    source = source.replace("backward(self, grad=None)", "backward(self)")
    source = source.replace("parent.backward(pull", "parent.pass_on(pull")
    found = reports(source)
    assert len(found) == 10 and not wrong(found)


def test_the_type_may_be_a_default_of_the_constructor(reports):
    source = ARRAYS.replace("parents=()):", "parents=(), dtype=np.float32):")
    found = reports(source.replace("dtype=np.float32)\n", "dtype=dtype)\n"))
    assert len(found) == 10 and not wrong(found)


def test_a_product_that_raises_spoils_no_other_operation(reports):
    found = reports(ARRAYS.replace("summed(g * other.data, self", "summed(g * other, self"))
    names = {"__mul__", "__mul__ (broadcast)", "backward"}
    assert wrong(found) == {f"Tensor.{name}" for name in names}


def test_a_version_of_an_operation_with_another_value_mends_no_gradient(tmp_path):
    path = tmp_path / "other_engine.py"
    path.write_text(NUMBERS, encoding="utf-8")
    module = loading.load(str(path)).module
    pair = tapes.pair_of_operation(tapes.targets_in(module)["Value.tanh"].forward)
    out, cache = pair.forward(*pair.inputs)
    with pytest.raises(ValueError, match="value of an operation"):
        pair.backward.around(module.Value.log)(np.ones(out.shape), cache)


def test_operations_are_checked_with_an_axis_a_shape_an_order_or_an_index(reports):
    found = reports(LARGE)
    assert not wrong(found)
    mean = {"", " (axis=0)", " (axis=1)", " (axis=1, keepdims=True)"}
    index = {" (1)", " (1:3)", " (:, 1)", " ([0, 0, 2])"}
    assert {f"Tensor.mean{one}" for one in mean} <= set(found)
    assert {f"Tensor.__getitem__{one}" for one in index} <= set(found)
    assert {"Tensor.reshape (4, 3)", "Tensor.transpose (2, 0, 1)", "Tensor.stack"} <= set(found)
    assert not any("argmax" in name for name in found)
    assert [one["name"] for one in found["Tensor.stack"]["inputs"]] == ["tensors[0]", "tensors[1]"]


def test_a_name_stands_for_all_choices_of_an_operation(reports):
    assert len(reports(LARGE, "Tensor.mean")) == len(reports(LARGE, "mean")) == 4
    assert set(reports(LARGE, "Tensor.mean (axis=1)")) == {"Tensor.mean (axis=1)"}
    assert set(reports(LARGE, "reshape")) == {"Tensor.reshape (4, 3)"}


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("g if axis is None or keepdims else np.expand_dims(g, axis)", "g", {"mean (axis=1)"}),
        ("np.argsort(axes)", "axes", {"transpose (2, 0, 1)"}),
        ("np.add.at(full, index, g)", "full[index] = g", {"__getitem__ ([0, 0, 2])"}),
        ("np.take(g, n, axis)", "np.take(g, 0, axis)", {"stack"}),
        ("(self, lambda g: g.reshape(self.data.shape)),", "", {"reshape (4, 3)"}),
    ],
)
def test_a_mistake_with_one_choice_of_an_argument_is_found(reports, old, new, names):
    assert LARGE.count(old) == 1
    assert wrong(reports(LARGE.replace(old, new))) == {f"Tensor.{name}" for name in names}


APPLIED = """
import numpy as np

class Context:
    pass

class Function:
    @classmethod
    def apply(cls, *args):
        from engine_of_tensors import Tensor
        ctx = Context()
        tensors = [one for one in args if isinstance(one, Tensor)]
        out = cls.forward(ctx, *args)
        return Tensor(out, True, tuple(
            (one, lambda g, n=n: cls.backward(ctx, g)[n]) for n, one in enumerate(tensors)))

class Sum(Function):
    @staticmethod
    def forward(ctx, x, axis, keepdims):
        ctx.shape, ctx.axis, ctx.keepdims = x.data.shape, axis, keepdims
        return x.data.sum(axis, keepdims=keepdims)

    @staticmethod
    def backward(ctx, grad):
        grad = grad if ctx.keepdims else np.expand_dims(grad, ctx.axis)
        return (np.broadcast_to(grad, ctx.shape),)

class CrossEntropy(Function):
    @staticmethod
    def forward(ctx, logits, y_true):
        powers = np.exp(logits.data - logits.data.max(1, keepdims=True))
        ctx.p, ctx.y = powers / powers.sum(1, keepdims=True), y_true.data
        return -np.mean(np.sum(ctx.y * np.log(ctx.p), axis=1))

    @staticmethod
    def backward(ctx, grad):
        return grad * (ctx.p - ctx.y) / len(ctx.p), 0 * ctx.y
"""


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("", "", set()),
        ("if ctx.keepdims else", "if True else", {"Sum (axis=1)"}),
        ("(ctx.p - ctx.y) / len(ctx.p)", "(ctx.p - ctx.y)", {"CrossEntropy"}),
    ],
)
def test_operations_may_import_their_class_in_apply(reports, tmp_path, old, new, names):
    (tmp_path / "engine_of_tensors.py").write_text(ARRAYS, encoding="utf-8")
    try:
        found = reports(APPLIED.replace(old, new))
    finally:
        sys.modules.pop("engine_of_tensors", None)
    sums = {f"Sum ({one})" for one in ("axis=0", "axis=1", "axis=1, keepdims=True")}
    assert set(found) == {"CrossEntropy", *sums}
    assert wrong(found) == names


def test_single_precision_may_be_imported_by_its_name(reports):
    source = ARRAYS.replace(
        "import numpy as np", "import numpy as np\nfrom numpy import float32", 1
    ).replace("dtype=np.float32", "dtype=float32")
    found = reports(source)
    assert len(found) == 10 and not wrong(found)


def test_single_precision_may_be_asked_for_by_a_text(reports):
    source = ARRAYS.replace("np.asarray(data, dtype=np.float32)", "np.asarray(data, dtype=dtype)")
    source = source.replace("parents=()):", "parents=(), *, dtype='float32'):", 1)
    # a decorator hides the function
    source = source.replace(
        "class Tensor:",
        """
def counted(function):
    def wrapper(*inputs):
        return function(*inputs)
    return wrapper

class Tensor:""",
    )
    source = source.replace("    def relu(self):", "    @counted\n    def relu(self):")
    source = source.replace(
        "np.maximum(self.data, 0)", "np.maximum(self.data, 0).astype('float32')"
    )
    found = reports(source)
    assert len(found) == 10 and not wrong(found)


def test_a_class_may_refuse_complex_numbers_by_an_assertion(reports):
    line = "        self.requires_grad = requires_grad"
    check = "        assert 'float' in np.asarray(data).dtype.name\n"
    found = reports(ARRAYS.replace(line, check + line).replace(", dtype=np.float32", ""))
    assert len(found) == 10 and not wrong(found)


def test_a_logarithm_that_cuts_off_is_checked_at_positive_numbers(reports):
    method = """
    def log(self):
        return Tensor(np.log(np.maximum(self.data, 1e-12)), True, (
            (self, lambda g: g / np.maximum(self.data, 1e-12)),))

    def relu(self):"""
    assert not wrong(reports(ARRAYS.replace("\n    def relu(self):", method), "log"))


def test_operators_that_raise_are_named_if_no_operation_works(reports):
    found = reports(NUMBERS.replace("Value(", "Valeu(").replace("class Valeu(", "class Value("))
    assert wrong(found) == set(found) == {"Value.__add__", "Value.__mul__"}


def test_compiled_code_for_single_precision_alone_is_not_judged(reports):
    source = ARRAYS.replace(
        "g * (self.data > 0)",
        "np.add(g * (self.data > 0), 0, dtype='f', casting='safe')",
    )
    assert reports(source, "relu")["Tensor.relu"]["state"] == "refused"


# Classes of one operation each, with the value and the gradient, as in some courses.
RULES = """
import numpy as np

class Op:
    def __call__(self, *inputs):
        return Tensor.of(self, inputs)

    def gradient(self, out_grad, node):
        raise NotImplementedError

class Tensor:
    grad: "Tensor"

    def __init__(self, array, op=None, inputs=()):
        self.cached_data = np.asarray(array)
        self.op, self.inputs = op, inputs

    @classmethod
    def of(cls, op, inputs):
        return cls(op.compute(*(one.cached_data for one in inputs)), op, inputs)

    @property
    def data(self):
        return Tensor(self.cached_data)

    @property
    def shape(self):
        return self.cached_data.shape

    def __add__(self, other):
        return Add()(self, other)

    def __mul__(self, other):
        return Mul()(self, other)

    def backward(self, out_grad=None):
        order, seen = [], set()
        def visit(node):
            if id(node) not in seen:
                seen.add(id(node))
                for one in node.inputs:
                    visit(one)
                order.append(node)
        visit(self)
        parts = {id(self): [out_grad if out_grad is not None else Tensor(np.ones(self.shape))]}
        for node in reversed(order):
            total = parts[id(node)][0]
            for part in parts[id(node)][1:]:
                total = total + part
            node.grad = total
            if node.op is not None:
                found = node.op.gradient(total, node)
                found = found if isinstance(found, tuple) else (found,)
                for one, part in zip(node.inputs, found):
                    parts.setdefault(id(one), []).append(part)

class Add(Op):
    def compute(self, a, b):
        return a + b
    def gradient(self, out_grad, node):
        return out_grad, out_grad

def add(a, b):
    return Add()(a, b)

class Mul(Op):
    def compute(self, a, b):
        return a * b
    def gradient(self, out_grad, node):
        a, b = node.inputs
        return out_grad * b, out_grad * a

def multiply(a, b):
    return Mul()(a, b)

class Power(Op):
    def __init__(self, scalar):
        self.scalar = scalar
    def compute(self, a):
        return a**self.scalar
    def gradient(self, out_grad, node):
        return out_grad * Tensor(self.scalar * node.inputs[0].cached_data ** (self.scalar - 1))

def power(a, scalar):
    return Power(scalar)(a)

class Transpose(Op):
    def __init__(self, axes):
        self.axes = axes
    def compute(self, a):
        return np.swapaxes(a, *(self.axes or (-1, -2)))
    def gradient(self, out_grad, node):
        return transpose(out_grad, self.axes)

def transpose(a, axes=None):
    return Transpose(axes)(a)

class BroadcastTo(Op):
    def __init__(self, shape):
        self.shape = shape
    def compute(self, a):
        return np.broadcast_to(a, self.shape)
    def gradient(self, out_grad, node):
        return summation(out_grad, (1,))

def broadcast_to(a, shape):
    return BroadcastTo(shape)(a)

class Summation(Op):
    def __init__(self, axes):
        self.axes = axes
    def compute(self, a):
        return np.sum(a, axis=self.axes, keepdims=True)
    def gradient(self, out_grad, node):
        return Tensor(np.broadcast_to(out_grad.cached_data, node.inputs[0].shape))

def summation(a, axes=None):
    return Summation(axes)(a)

class MatMul(Op):
    def compute(self, a, b):
        return a @ b
    def gradient(self, out_grad, node):
        a, b = node.inputs
        grad = matmul(transpose(a), out_grad)
        if len(a.shape) > len(b.shape):
            grad = Tensor(summation(grad, (0,)).cached_data[0])
        return matmul(out_grad, transpose(b)), grad

def matmul(a, b):
    return MatMul()(a, b)

class Softplus(Op):
    def compute(self, a):
        raise NotImplementedError("to do")
    def gradient(self, out_grad, node):
        raise NotImplementedError("to do")

def softplus(a):
    return Softplus()(a)
"""


def test_classes_of_one_operation_are_checked_through_the_functions_that_make_them(reports):
    found = reports(RULES)
    names = {"Add", "Mul", "Power", "Transpose (0, 2)", "BroadcastTo (3, 4)", "MatMul"}
    names |= {"Summation (axes=(0,))", "Summation (axes=(1,))", "MatMul (batch)"}
    assert names < set(found)
    # the operators of this class do not allow for broadcasting
    assert wrong(found) == {"Tensor.__add__ (broadcast)", "Tensor.__mul__ (broadcast)", "Softplus"}
    assert found["Softplus"]["state"] == "refused" and "to do" in found["Softplus"]["words"]
    assert set(reports(RULES, "matmul")) == {"MatMul", "MatMul (batch)"}


@pytest.mark.parametrize(
    ("old", "new", "names", "line"),
    [
        ("return out_grad * b, out_grad * a", "return out_grad * a, out_grad * a", {"Mul"}, None),
        ("return out_grad, out_grad", "return out_grad, out_grad * out_grad", {"Add"}, "a"),
        ("(self.scalar - 1)", "(self.scalar - 2)", {"Power"}, "node.inputs"),
        ("summation(out_grad, (1,))", "summation(out_grad, (0,))", {"BroadcastTo (3, 4)"}, None),
        ("summation(grad, (0,)).cached_data[0]", "grad.cached_data[0]", {"MatMul (batch)"}, None),
        ("transpose(out_grad, self.axes)", "transpose(out_grad)", {"Transpose (0, 2)"}, None),
    ],
)
def test_a_mistake_in_a_class_of_one_operation_is_found_and_named(reports, old, new, names, line):
    assert RULES.count(old) == 1
    found = reports(RULES.replace(old, new))
    assert names <= wrong(found)
    for name in names if line else ():
        bad = [one for one in found[name]["inputs"] if one["kind"] != "ok"]
        assert bad and all(line in one["numbers"].get("where", "") for one in bad)


def test_a_guard_of_a_logarithm_is_forgiven_in_its_operation(reports):
    def with_guard(guard):
        return NUMBERS.replace("math.log(self.data)", f"math.log(self.data + {guard})")

    assert not wrong(reports(with_guard("1e-8")))
    assert wrong(reports(with_guard("0.1"))) == {"Value.log"}


def test_a_number_is_passed_as_a_number(reports):
    source = NUMBERS.replace("def backward(self):", "def backward(self, grad=1.0):")
    source = source.replace("        self.grad = 1.0\n", "        self.grad = grad\n")
    lines = "            self.grad += out.grad\n            other.grad += out.grad\n"
    assert source.count(lines) == 1
    # with an array, both would get the same object, and += would change both
    shared = (
        "            for one in (self, other):\n"
        "                if one.grad:\n                    one.grad += out.grad\n"
        "                else:\n                    one.grad = out.grad\n"
    )
    assert not wrong(reports(source.replace(lines, shared)))


def test_a_method_that_applies_a_class_is_read_there(reports):
    method = """
    def root(self):
        return Root.apply(self)

    def relu(self):"""
    source = (
        ARRAYS.replace("\n    def relu(self):", method)
        + """
class Root(Function):
    def forward(self, x):
        self.out = np.sqrt(x + 1e-12)
        return self.out

    def backward(self, dout):
        return (dout / (2 * self.out),)
"""
    )
    # the guard is in the class, not in the method
    assert not wrong(reports(source, "Tensor.root", "Root"))
    bad = reports(source.replace("(2 * self.out)", "self.out"), "Tensor.root")
    (item,) = bad["Tensor.root"]["inputs"]
    assert item["kind"] == "constant_factor"
