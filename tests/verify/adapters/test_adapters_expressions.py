"""Functions of objects that record how they were computed, checked from Python."""

import numpy as np
import pytest
from engine_of_numbers import Value

import ibpcl
from ibpcl.verify.adapters.refusals import FormError


class Tensor:
    """An array whose backward takes the gradient of the output, in single precision."""

    def __init__(self, data, parents=()):
        self.data = np.asarray(data, dtype=np.float32)
        self.grad = None
        self.parents = parents

    def __mul__(self, other):
        return Tensor(
            self.data * other.data,
            ((self, lambda g: g * other.data), (other, lambda g: (g * self.data).sum(axis=0))),
        )

    def sum(self, axis=None):
        return Tensor(
            self.data.sum(axis),
            ((self, lambda g: np.broadcast_to(np.expand_dims(g, axis or ()), self.data.shape)),),
        )

    def backward(self, grad=None):
        grad = np.ones_like(self.data) if grad is None else grad
        self.grad = grad if self.grad is None else self.grad + grad
        for parent, pull in self.parents:
            parent.backward(pull(grad))


class Neuron:
    def __init__(self):
        self.weights = [Value(0.4), Value(-0.8)]
        self.bias = Value(0.1)

    def __call__(self, x):
        products = [w * Value(a) for w, a in zip(self.weights, x, strict=True)]
        return (products[0] + products[1] + self.bias).tanh()

    def parameters(self):
        return [*self.weights, self.bias]


def names(report):
    return [one.name for one in report.inputs]


def half(value):
    """An operation with half the gradient."""
    out = Value(value.data**2, (value,))

    def pull():
        value.grad += value.data * out.grad

    out.pull = pull
    return out


def replaced(value):
    """An operation whose gradient replaces that of an earlier use."""
    out = Value(3 * value.data, (value,))

    def pull():
        value.grad = 3 * out.grad

    out.pull = pull
    return out


def test_any_expression_of_the_objects_is_checked():
    a, b = Value(0.7), Value(-1.2)
    report = ibpcl.check(lambda a, b: (a * b + a).tanh() * b, (a, b))
    assert report.ok and names(report) == ["a", "b"]
    report = ibpcl.check(lambda a, b: half(a) * b, {"a": a, "b": b})
    assert report["a"].kind == "constant_factor" and report["b"].ok
    assert ibpcl.check(Value.tanh, Value(0.5)).ok


def test_a_model_is_checked_with_all_its_parameters():
    neuron = Neuron()
    before = neuron.parameters()

    def loss(model, x=(0.5, -0.3)):
        error = model(x) + Value(-1.0)
        return error * error

    report = ibpcl.check(loss, neuron)
    assert report.ok and names(report) == [f"model.parameters()[{n}]" for n in range(3)]
    # the function may also reach the objects through its closure
    report = ibpcl.check(lambda *w: loss(neuron), neuron.parameters())
    assert report.ok and not any("weak" in one.words for one in report.inputs)
    assert all(one is other for one, other in zip(neuron.parameters(), before, strict=True))
    assert [one.data for one in before] == [0.4, -0.8, 0.1] and {one.grad for one in before} == {0}


def test_objects_may_lie_in_lists_beside_other_inputs():
    def loss(x, n):
        return (x[0] * x[1] + x[0]) * Value(n)

    report = ibpcl.check(loss, ([Value(0.3), Value(0.9)], 2))
    assert report.ok and names(report) == ["x[0]", "x[1]"]


def test_single_precision_is_refused_with_what_to_change():
    with pytest.raises(FormError, match="float64"):
        ibpcl.check(lambda a: a.sum(), Tensor([0.3, -0.7]))


def test_a_function_that_returns_something_else_is_refused():
    with pytest.raises(FormError, match=r"Value.*float"):
        ibpcl.check(lambda a: a.data * 2.0, Value(0.3))


class Late:
    """A number whose gradient does not exist before the backward."""

    grad: float

    def __init__(self, data):
        self.data = data
        self.pull = lambda grad: None

    def square(self):
        out = Late(self.data**2)
        out.pull = lambda grad: setattr(self, "grad", 2 * self.data * grad)
        return out

    def backward(self, grad=1.0):
        self.grad = grad
        self.pull(grad)


def test_an_attribute_that_the_backward_makes_is_removed_again():
    x = Late(0.7)
    assert ibpcl.check(lambda x: x.square(), x).ok
    assert x.data == 0.7 and not hasattr(x, "grad")
