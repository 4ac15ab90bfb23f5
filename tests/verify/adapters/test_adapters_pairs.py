"""Pairs of functions in other forms: other arguments, no cache, nested parameters, or a loss."""

import numpy as np
import pytest

from ibpcl import check
from ibpcl.verify.adapters.refusals import FormError

RNG = np.random.default_rng(5)
X, W, B, Y = (RNG.normal(size=shape) for shape in ((3, 4), (4, 5), (5,), (3, 5)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def affine(x, w, b):
    return x @ w + b


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def mse(y_true, y_pred):
    return np.mean((y_pred - y_true) ** 2)


@pytest.mark.parametrize(
    ("f", "gradient", "inputs"),
    [
        (sigmoid, lambda x: sigmoid(x) * (1 - sigmoid(x)), X),
        (sigmoid, lambda dout, x: dout * sigmoid(x) * (1 - sigmoid(x)), X),
        (sigmoid, lambda x, dout: dout * sigmoid(x) * (1 - sigmoid(x)), X),
        (sigmoid, lambda dout, out: dout * out * (1 - out), X),
        (softmax, lambda x: np.diag(softmax(x)) - np.outer(softmax(x), softmax(x)), X[0]),
        (affine, lambda dout, x, w, b: (dout @ w.T, x.T @ dout, dout.sum(0)), (X, W, B)),
        (affine, lambda x, w, b, dy: (dy @ w.T, x.T @ dy, dy.sum(0)), (X, W, B)),
        (
            affine,
            lambda dout, x, w: {"dx": dout @ w.T, "dw": x.T @ dout, "db": dout.sum(0)},
            (X, W, B),
        ),
        (lambda x, w: (x @ w, x, w), lambda dout, x, w: (dout @ w.T, x.T @ dout), (X, W)),
        (
            lambda x, w: (x @ w, np.sin(x), (x, w)),
            lambda dout, dextra, cache: (
                dout @ cache[1].T + dextra * np.cos(cache[0]),
                cache[0].T @ dout,
            ),
            (X, W),
        ),
        (mse, lambda y_true, y_pred: 2 * (y_pred - y_true) / y_true.size, (Y, Y + 1)),
        (lambda x: np.sum(x**2, axis=1), lambda x: 2 * x, X),
    ],
    ids=[
        "derivative",
        "dout and input",
        "input and dout",
        "dout and output",
        "jacobian",
        "all inputs",
        "dout last",
        "dict",
        "cache spread",
        "two outputs",
        "loss",
        "a row for each output",
    ],
)
def test_a_right_gradient_is_called_as_it_is_written(f, gradient, inputs):
    report = check(f, gradient, inputs)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("f", "gradient", "inputs", "kind"),
    [
        (sigmoid, lambda x: -sigmoid(x) * (1 - sigmoid(x)), X, "sign"),
        (affine, lambda dout, x, w, b: (dout @ w.T, x.T @ dout, dout.mean(0)), (X, W, B), "mean"),
        (
            mse,
            lambda y_true, y_pred: (y_pred - y_true) / y_true.size,
            (Y, Y + 1),
            "constant_factor",
        ),
        (softmax, lambda x: np.diag(softmax(x)), X[0], None),
    ],
)
def test_a_wrong_gradient_is_wrong_in_every_form(f, gradient, inputs, kind):
    report = check(f, gradient, inputs)
    assert report.verdict == "wrong"
    assert kind is None or kind in [item.kind for item in report.inputs]


def test_a_bare_array_is_the_only_input():
    assert check(lambda x: (x**2, x), lambda dout, x: 2 * dout * x, X).ok


def regression(w, x, y, reg):
    residual = x @ w - y
    loss = 0.5 * np.sum(residual**2) + reg * np.sum(w**2)
    dw = x.T @ residual + 2 * reg * w
    return loss, dw


def regression_twice(w, x, y, reg):
    residual = x @ w - y
    loss = 0.5 * np.sum(residual**2) + reg * np.sum(w**2)
    dw = x.T @ residual + reg * w
    return loss, dw


def two_layers(x, W1, W2):
    h = np.tanh(x @ W1)
    loss = np.sum((h @ W2) ** 2)
    d = 2 * h @ W2
    grads = {"W2": h.T @ d, "W1": x.T @ (d @ W2.T * (1 - h**2))}
    return loss, grads


def several(W, b, x):
    loss = np.sum((x @ W + b) ** 2)
    d = 2 * (x @ W + b)
    db = d.sum(0)
    dW = x.T @ d
    return loss, db, dW


@pytest.mark.parametrize(
    ("function", "inputs", "names"),
    [
        (regression, (W, X, Y, 0.1), ["w"]),
        (two_layers, (X, W, RNG.normal(size=(5, 2))), ["W1", "W2"]),
        (several, (W, B, X), ["W", "b"]),
    ],
)
def test_a_loss_with_its_gradient_needs_no_second_function(function, inputs, names):
    report = check(function, inputs)
    assert report.ok, str(report)
    assert [item.name for item in report.inputs] == names


def test_a_mistake_inside_the_loss_is_named_with_its_line():
    report = check(regression_twice, (W, X, Y, 0.1))
    assert report.verdict == "wrong" and "reg * " in report["w"].where.text


class Model:
    def __init__(self):
        self.params = {"W": W.copy(), "b": B.copy()}

    def loss(self, x, y):
        d = x @ self.params["W"] + self.params["b"] - y
        grads = {"W": x.T @ d, "b": d.sum(0)}
        return 0.5 * np.sum(d**2), grads


def test_the_parameters_of_a_method_are_found():
    report = check(Model().loss, (X, Y))
    assert report.ok and [item.name for item in report.inputs] == ['params["W"]', 'params["b"]']


def nested(params, x):
    h = np.tanh(x @ params["w"][0] + params["b"])
    return h @ params["w"][1], (params, x, h)


def nested_vjp(dout, cache):
    params, x, h = cache
    dz = dout @ params["w"][1].T * (1 - h**2)
    return {"w": [x.T @ dz, h.T @ dout], "b": dz.sum(0)}, dz @ params["w"][0].T


def test_parameters_in_nested_collections_have_names():
    params = {"w": [W, RNG.normal(size=(5, 2))], "b": B}
    report = check(nested, nested_vjp, {"params": params, "x": X})
    assert report.ok, str(report)
    assert [item.name for item in report.inputs] == [
        'params["b"]',
        'params["w"][0]',
        'params["w"][1]',
        "x",
    ]
    wrong = check(
        nested,
        lambda d, c: ({**nested_vjp(d, c)[0], "b": -nested_vjp(d, c)[0]["b"]}, nested_vjp(d, c)[1]),
        {"params": params, "x": X},
    )
    assert [item.name for item in wrong.inputs if not item.ok] == ['params["b"]']


def test_wrt_chooses_nested_gradients_by_their_beginning():
    params = {"w": [W, RNG.normal(size=(5, 2))], "b": B}
    report = check(nested, nested_vjp, {"params": params, "x": X}, wrt=["params"])
    assert report.ok and [item.name for item in report.inputs] == [
        'params["b"]',
        'params["w"][0]',
        'params["w"][1]',
    ]


def test_gradients_that_are_missing_are_data():
    report = check(
        lambda x, t: np.sum((x - t) ** 2), lambda x, t: 2 * (x - t), {"x": X, "t": X + 1}
    )
    assert report.ok and [item.name for item in report.inputs] == ["x"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check(lambda x: int("no"), lambda dout, x: dout, X), "ValueError"),
        (lambda: check(lambda x: x * 2, X), "not a loss with its gradient"),
        (lambda: check(affine, None, (X, W, B)), "not a loss with its gradient"),
        (
            lambda: check(lambda x: exec("raise SystemExit(3)"), lambda dout, x: dout, X),
            "SystemExit",
        ),
        (lambda: check(affine, 3, X), "second argument"),
    ],
)
def test_an_exception_or_an_unknown_form_is_answered_in_one_line(call, words):
    with pytest.raises(FormError) as caught:
        call()
    assert (
        words in str(caught.value)
        and "ibpcl.check(" in str(caught.value)
        and "\n" not in str(caught.value)
    )


def test_an_exception_in_the_gradient_is_a_verdict():
    report = check(affine, lambda dout, x, w, b: 1 / 0, (X, W, B))
    assert report.verdict == "wrong" and {item.kind for item in report.inputs} == {"raises"}
    assert all("ZeroDivisionError" in item.words for item in report.inputs)


GLOBAL = RNG.normal(size=(4, 5))


def with_a_global(x):
    h = np.tanh(x @ GLOBAL)
    loss = np.sum(h**2)
    dGLOBAL = x.T @ (2 * h * (1 - h**2))
    return loss, dGLOBAL, h[-1]


def test_a_parameter_in_a_global_is_found_and_left_as_it_was():
    before = GLOBAL.copy()
    report = check(with_a_global, X)
    assert report.ok and [item.name for item in report.inputs] == ["GLOBAL"]
    assert np.array_equal(GLOBAL, before)


def test_a_default_of_the_forward_is_passed_to_a_gradient_that_requires_it():
    def strided(x, step=2):
        return x[::step] ** 2

    def backward(dout, x, step):
        dx = np.zeros_like(x)
        dx[::step] = 2 * x[::step] * dout
        return dx

    assert check(strided, backward, X).ok
    assert not check(strided, lambda dout, x, step: 2 * backward(dout, x, step), X).ok


def linear_with_pull(x, w):
    def pull(dout):
        return dout @ w.T, x.T @ dout

    return x @ w, pull


def squared_with_pull(scale, x):
    pull = lambda dout: 2 * scale * x * dout  # noqa: E731
    return scale * x**2, pull


def halved_with_pull(x, w):
    def pull(dout):
        return dout @ w.T, 0.5 * x.T @ dout

    return x @ w, pull


def test_a_function_may_return_its_output_with_a_function_for_the_gradient():
    report = check(linear_with_pull, (X, W))
    assert report.ok and [item.name for item in report.inputs] == ["x", "w"]
    only = check(squared_with_pull, (X + 3, X))
    assert only["x"].ok and only.undecided and "scale" in only.unjudged[0]
    wrong = check(halved_with_pull, (X, W))
    assert wrong["x"].ok and wrong["w"].kind == "constant_factor"
    with pytest.raises(FormError, match="matmul"):
        check(linear_with_pull, (X, X))
