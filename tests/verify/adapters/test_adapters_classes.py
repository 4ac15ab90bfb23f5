"""Classes with a forward and a backward, in the usual spellings."""

import numpy as np
import pytest

from ibpcl import check
from ibpcl.verify.adapters.construction import constructed
from ibpcl.verify.adapters.refusals import FormError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(3, 4))


class Returned:
    """Gradients are returned; parameters are attributes."""

    def __init__(self, n_in=4, n_out=5):
        self.W = np.random.default_rng(0).normal(size=(n_in, n_out))
        self.b = np.zeros(n_out)

    def forward(self, x):
        self.x = x
        return np.tanh(x @ self.W + self.b)

    def slope(self, dout):
        return dout * (1 - np.tanh(self.x @ self.W + self.b) ** 2)

    def backward(self, dout):
        dz = self.slope(dout)
        dx = dz @ self.W.T
        dW = self.x.T @ dz
        db = dz.sum(axis=0)
        return dx, dW, db


class InAttributes(Returned):
    def backward(self, dout):
        dz = self.slope(dout)
        self.dW = self.x.T @ dz
        self.db = dz.sum(axis=0)
        return dz @ self.W.T


class InADict(Returned):
    def __init__(self):
        super().__init__()
        self.params = {"W": self.W, "b": self.b}
        self.grads = {}

    def backward(self, dout):
        dz = self.slope(dout)
        self.grads["W"], self.grads["b"] = self.x.T @ dz, dz.sum(axis=0)
        return dz @ self.params["W"].T


class InLists(Returned):
    def __init__(self):
        super().__init__()
        self.params = [self.W, self.b]

    def backward(self, dout):
        dz = self.slope(dout)
        return dz @ self.W.T, [self.x.T @ dz, dz.sum(axis=0)]


class Updating(Returned):
    """As in many networks written for a blog: the backward makes the step itself."""

    def backward(self, grad, learning_rate):
        dz = self.slope(grad)
        dx = dz @ self.W.T
        self.W -= learning_rate * (self.x.T @ dz)
        self.b = self.b - learning_rate * dz.sum(axis=0)
        return dx


class Kept:
    """Nothing is returned at all: output and gradients are attributes."""

    def __init__(self):
        self.weights = np.random.default_rng(0).normal(size=(4, 5))

    def forward(self, inputs):
        self.inputs = inputs
        self.output = inputs @ self.weights

    def backward(self, dvalues):
        self.dweights = self.inputs.T @ dvalues
        self.dinputs = dvalues @ self.weights.T


class Parameter:
    def __init__(self, data):
        self.data = data
        self.grad = np.zeros_like(data)


class WithParameterObjects:
    def __init__(self):
        self.W = Parameter(np.random.default_rng(0).normal(size=(4, 5)))

    def __call__(self, x):
        self.x = x
        return x @ self.W.data

    def backprop(self, delta):
        self.W.grad = self.x.T @ delta
        return delta @ self.W.data.T


class Network:
    def __init__(self):
        self.layers = [Returned(4, 6), Returned(6, 2)]
        for layer in self.layers:
            layer.__class__ = InAttributes

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, dout):
        for layer in reversed(self.layers):
            dout = layer.backward(dout)
        return dout


class Dropout:
    def forward(self, x):
        self.mask = np.random.rand(*x.shape) > 0.5  # noqa: NPY002
        return x * self.mask

    def backward(self, dout):
        return dout * self.mask


class SquareLoss:
    def loss(self, y, y_pred):
        return 0.5 * (y - y_pred) ** 2

    def gradient(self, y, y_pred):
        return y_pred - y


class LossWithoutDout:
    def forward(self, scores, labels):
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        self.p = e / e.sum(axis=1, keepdims=True)
        self.labels = labels
        return -np.log(self.p[np.arange(len(labels)), labels]).mean()

    def backward(self):
        d = self.p.copy()
        d[np.arange(len(d)), self.labels] -= 1
        return d / len(d)


class Scale:
    """A static function with a context."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor)
        return x * factor

    @staticmethod
    def backward(ctx, dout):
        x, factor = ctx.saved_tensors
        return dout * factor, (dout * x).sum()


@pytest.mark.parametrize(
    ("layer", "names"),
    [
        (Returned(), ["x", "W", "b"]),
        (InAttributes(), ["x", "W", "b"]),
        (InADict(), ["x", "W", "b"]),
        (InLists(), ["x", "W", "b"]),
        (Updating(), ["x", "W", "b"]),
        (Kept(), ["inputs", "weights"]),
        (WithParameterObjects(), ["x", "W"]),
        (Dropout(), ["x"]),
        (Network(), ["x", "layers[0].W", "layers[0].b", "layers[1].W", "layers[1].b"]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else "",
)
def test_a_layer_and_its_parameters_are_right(layer, names):
    report = check(layer, X)
    assert report.ok, str(report)
    assert [item.name for item in report.inputs] == names


@pytest.mark.parametrize("kind", [Returned, InAttributes, Kept])
def test_a_class_is_made_with_sizes_that_fit(kind):
    assert check(kind, X).ok


def test_arguments_of_the_constructor_may_be_among_the_inputs():
    holder, inputs = constructed(Returned, {"n_in": 4, "n_out": 2, "x": X})
    assert holder.W.shape == (4, 2) and list(inputs) == ["x"]
    assert check(Returned, {"n_in": 4, "n_out": 2, "x": X}).ok


class WrongBias(InAttributes):
    def backward(self, dout):
        dz = self.slope(dout)
        self.dW = self.x.T @ dz
        self.db = dz.mean(axis=0)
        return dz @ self.W.T


class WrongHelper(InAttributes):
    def slope(self, dout):
        return dout * (1 - np.tanh(self.x @ self.W + self.b))


class WrongUpdate(Updating):
    def backward(self, grad, learning_rate):
        dz = self.slope(grad)
        dx = dz @ self.W.T
        self.W += learning_rate * (self.x.T @ dz)
        return dx


def test_a_wrong_parameter_is_found_among_right_ones():
    report = check(WrongBias(), X)
    assert [item.verdict for item in report.inputs] == ["ok", "ok", "wrong"]
    assert report["b"].kind == "mean"


def test_a_mistake_in_another_method_is_named_with_its_line():
    report = check(WrongHelper(), X)
    assert report.verdict == "wrong"
    assert "np.tanh(self.x @ self.W + self.b))" in report["x"].where.text


def test_an_update_in_the_wrong_direction_is_wrong():
    report = check(WrongUpdate(), X)
    assert report["x"].ok and report["W"].kind == "sign"


def test_the_object_of_the_caller_is_left_as_it_was():
    layer = Updating()
    before = layer.W.copy()
    check(layer, X)
    assert np.array_equal(layer.W, before) and not hasattr(layer, "x")


def test_a_loss_of_two_arguments_finds_what_it_differentiates():
    report = check(SquareLoss(), (X, X + 1.5))
    assert report.ok and [item.name for item in report.inputs] == ["y_pred"]


def test_a_loss_without_dout_is_judged_as_the_last_step():
    report = check(LossWithoutDout(), (X, np.array([0, 2, 3])))
    assert report.ok and [item.name for item in report.inputs] == ["scores"]


class LossInside:
    """As in many short tutorials: the loss is inside, and the backward makes the step."""

    def __init__(self):
        self.weights = np.random.default_rng(0).normal(size=(4, 2))

    def forward(self, inputs):
        self.output = 1 / (1 + np.exp(-inputs @ self.weights))
        return self.output

    def backward(self, inputs, targets, learning_rate):
        delta = (targets - self.output) * self.output * (1 - self.output)
        self.weights += learning_rate * inputs.T @ delta


def test_a_loss_that_stands_only_in_the_backward_is_asked_for():
    with pytest.raises(FormError, match=r"targets.*loss"):
        check(LossInside(), X)


def test_a_static_function_gets_a_context():
    assert check(Scale, (X, 1.5)).ok


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check(object(), X), "forward"),
        (lambda: check(Returned(), RNG.normal(size=(3, 7))), "Returned.forward raises ValueError"),
    ],
)
def test_what_cannot_be_called_is_answered_in_one_line(call, words):
    with pytest.raises(FormError, match=r"ibpcl\.check") as caught:
        call()
    assert words in str(caught.value) and "\n" not in str(caught.value)


class LazyNorm:
    """Layer normalization that makes gamma and beta in its first forward."""

    def __init__(self, outside=False):
        self.gamma = self.beta = None
        self.outside = outside

    def forward(self, x):
        if self.gamma is None:
            self.gamma, self.beta = np.ones(x.shape[-1]), np.zeros(x.shape[-1])
        self.deviation = x.std(axis=-1, keepdims=True)
        self.normal = (x - x.mean(axis=-1, keepdims=True)) / self.deviation
        return self.gamma * self.normal + self.beta

    def backward(self, dout):
        self.grad_gamma = (dout * self.normal).sum(axis=0)
        self.grad_beta = dout.sum(axis=0)
        g = dout if self.outside else dout * self.gamma
        g = g - g.mean(-1, keepdims=True) - self.normal * (g * self.normal).mean(-1, keepdims=True)
        return g * (self.gamma if self.outside else 1) / self.deviation


def test_parameters_that_the_first_forward_makes_are_asked_for():
    with pytest.raises(FormError, match="call it once"):
        check(LazyNorm(), (X,))
    layer = LazyNorm()
    layer.forward(X)
    right = check(layer, (X,))
    assert right.ok and [item.name for item in right.inputs] == ["x", "gamma", "beta"]
    # gamma is 1 in the beginning, which would hide this mistake
    wrong = LazyNorm(outside=True)
    wrong.forward(X)
    assert not check(wrong, (X,)).ok


class FirstLayer:
    """A layer that updates its weights in the backward and returns nothing."""

    def __init__(self):
        self.W = np.random.default_rng(0).normal(size=(4, 3))

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backprop(self, d_out, learn_rate):
        self.W -= learn_rate * (self.x.T @ d_out)


def test_a_backward_that_only_updates_is_judged_by_its_updates():
    report = check(FirstLayer(), (X,))
    assert report.ok and [item.name for item in report.inputs] == ["W"]


class Pool:
    """Max-pooling over overlapping windows; every window takes its first largest entry."""

    def __init__(self, dtype=float, at_ties=1.0):
        self.dtype, self.at_ties = dtype, at_ties

    def forward(self, x):
        self.x = x
        half = len(x) // 2  # named like a type of NumPy
        self.windows = [x[half + k : half + k + 2] for k in range(-half, len(x) - half - 1)]
        return np.array([window.max() for window in self.windows], self.dtype)

    def backward(self, dout):
        dx = np.zeros(self.x.shape)
        for k, window in enumerate(self.windows):
            factor = self.at_ties if window[0] == window[1] else 1.0
            dx[k + np.argmax(window)] += factor * dout[k]
        return dx


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_pooling_may_choose_any_of_equal_inputs(dtype):
    assert check(Pool(dtype), (np.full(5, 2.50239),)).ok


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_pooling_at_equal_inputs_may_not_pass_more_than_the_gradient(dtype):
    assert not check(Pool(dtype, at_ties=3.0), (np.full(5, 2.50239),)).ok
    assert check(Pool(), (X.ravel(),)).ok


def tanh(x):
    return np.tanh(x)


def tanh_backward(grad_output, tanh_output):
    return grad_output * (1 - tanh_output**2)


def test_an_argument_named_after_a_function_and_output_is_the_output():
    assert check(tanh, tanh_backward, (X,)).ok


class Unsummed(FirstLayer):
    """The gradient of the biases has a row for every example."""

    def __init__(self):
        super().__init__()
        self.W0 = np.zeros((1, 3))

    def forward(self, x):
        return super().forward(x) + self.W0

    def backprop(self, d_out):
        self.dW, self.dW0 = self.x.T @ d_out, d_out
        return d_out @ self.W.T


def test_a_gradient_of_another_size_is_wrong():
    report = check(Unsummed(), (X,))
    assert [item.verdict for item in report.inputs] == ["ok", "ok", "wrong"]
    assert report["W0"].kind in ("wrong_shape", "not_summed")


class Loss:
    """Static methods; the gradients are returned in an order of their own."""

    @staticmethod
    def loss(y, y_pred, mean, log_var):
        return ((y - y_pred) ** 2).sum() / 2 + (mean**2).sum() / 2 + np.exp(log_var).sum()

    @staticmethod
    def grad(y, y_pred, mean, log_var):
        dy_pred = y_pred - y
        dlog_var = np.exp(log_var)
        dmean = mean
        return dy_pred, dlog_var, dmean


def test_names_in_the_return_of_a_static_method_decide():
    report = check(Loss(), tuple(RNG.normal(size=(4, 3, 3))))
    assert report.ok and len(report.inputs) == 3


class Stored:
    """Stores gradients in a dict that its backward is given."""

    def __init__(self, n_in=4, n_out=5):
        self.params = {"layer/W": np.random.default_rng(0).normal(size=(n_in, n_out))}

    def forward(self, x, training=False):
        if training:
            self.x = x
        return x @ self.params["layer/W"]

    def backward(self, gradients, dout):
        gradients["layer/W"] = self.x.T @ dout
        return dout @ self.params["layer/W"].T


def test_a_dict_that_the_backward_fills_is_asked_for():
    with pytest.raises(FormError, match="dout"):
        check(Stored(), X)


class Penalized:
    def __init__(self, n_in, n_out, l1, lambda_l2):
        self.w = np.random.default_rng(0).normal(size=(n_in, n_out))
        self.l1, self.l2 = l1, lambda_l2

    def forward(self, x):
        self.x = x
        return x @ self.w

    def backward(self, dout):
        self.dw = self.x.T @ dout + self.l1 * np.sign(self.w) + 2 * self.l2 * self.w
        return dout @ self.w.T


def test_more_than_two_arguments_of_a_constructor_are_asked_for():
    with pytest.raises(FormError, match="n_in, n_out, l1, lambda_l2"):
        check(Penalized, X)
    assert check(Penalized, {"n_in": 4, "n_out": 5, "l1": 0.5, "lambda_l2": 0, "x": X})["x"].ok
    assert not check(Penalized, {"n_in": 4, "n_out": 5, "l1": 0.5, "lambda_l2": 0, "x": X}).ok


def softmax_of_columns(z):
    e = np.exp(z - z.max(axis=0))
    return e / e.sum(axis=0)


class GivenWeights:
    """A recurrent cell with four gates, whose weights are arguments of the constructor."""

    def __init__(self, Wx, Wh, b):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(array) for array in self.params]

    def forward(self, x, h_prev, c_prev):
        Wx, Wh, b = self.params
        n = h_prev.shape[1]
        z = x @ Wx + h_prev @ Wh + b
        f, i, o = (1 / (1 + np.exp(-z[:, k * n : (k + 1) * n])) for k in (0, 2, 3))
        g = np.tanh(z[:, n : 2 * n])
        c_next = f * c_prev + i * g
        self.cache = x, h_prev, c_prev, i, f, g, o, c_next
        return o * np.tanh(c_next), c_next

    def backward(self, dh_next, dc_next):
        Wx, Wh, _ = self.params
        x, h_prev, c_prev, i, f, g, o, c_next = self.cache
        t = np.tanh(c_next)
        dc = dc_next + dh_next * o * (1 - t**2)
        gates = dc * c_prev * f * (1 - f), dc * i * (1 - g**2)
        gates += dc * g * i * (1 - i), dh_next * t * o * (1 - o)
        dz = np.hstack(gates)
        self.grads = [x.T @ dz, h_prev.T @ dz, dz.sum(axis=0)]
        return dz @ Wx.T, dz @ Wh.T, dc * f


def test_arrays_of_a_constructor_are_given_beside_the_inputs():
    h_prev, c_prev = RNG.normal(size=(2, 3, 5))
    inputs = {"x": X, "h_prev": h_prev, "c_prev": c_prev}
    weights = {"Wx": RNG.normal(size=(4, 20)), "Wh": RNG.normal(size=(5, 20)), "b": np.ones(20)}
    report = check(GivenWeights, {**weights, **inputs})
    assert report.ok and len(report.inputs) == 6
    with pytest.raises(FormError, match="layer = GivenWeights"):
        check(GivenWeights, inputs)


class SetUpByItsNetwork:
    """Its network gives it shapes, a generator and weights, and asks for gradients at the end."""

    factor = 1.0

    def __init__(self, units=5):
        self.units = units
        self.shapes, self.p, self.g = {}, {}, {}

    def compute_shapes(self, A):
        self.shapes["W"] = (A.shape[1], self.units)

    def initialize_parameters(self):
        self.p["W"] = self.np_rng.normal(size=self.shapes["W"])
        self.p["b"] = np.zeros(self.units)

    def forward(self, A):
        self.A = A
        return A @ self.p["W"] + self.p["b"]

    def backward(self, dX):
        self.dZ = dX
        return dX @ self.p["W"].T

    def compute_gradients(self):
        self.g["dW"] = self.A.T @ self.dZ
        self.g["db"] = self.dZ.sum(axis=0)


def test_a_layer_is_set_up_by_the_user_and_its_late_gradients_are_not_judged():
    with pytest.raises(FormError, match="KeyError"):
        check(SetUpByItsNetwork, X)
    layer = SetUpByItsNetwork()
    layer.p = {"W": RNG.normal(size=(4, 5)), "b": np.zeros(5)}
    report = check(layer, X)
    assert not report.ok and report["A"].ok
    assert any('p["W"], p["b"]' in sentence for sentence in report.unjudged)


class WeightsInADict(SetUpByItsNetwork):
    def __init__(self):
        self.weights = {"W": RNG.normal(size=(4, 5)), "b": np.zeros(5)}
        self.grads = {}

    def forward(self, x):
        self.x = x
        return x @ self.weights["W"] + self.weights["b"]

    def backward(self, dout):
        self.grads["W"], self.grads["b"] = self.x.T @ dout, dout.sum(axis=0)
        return dout @ self.weights["W"].T

    compute_gradients = None


def test_gradients_in_a_dict_belong_to_weights_of_the_same_names_in_another():
    report = check(WeightsInADict(), X)
    assert report.ok and len(report.inputs) == 3


class ShapedByItsOutput:
    """A method for the shape of the output creates the parameters; ``eta`` is the cotangent."""

    def __init__(self, units):
        self.units = units

    def OutShape(self, shape):
        self.weights = RNG.normal(size=(shape[1], self.units))
        return [shape[0], self.units]

    def forward(self, x):
        self.x = x
        return x @ self.weights

    def backward(self, eta):
        self.w_gradient = self.x.T @ eta
        return eta @ self.weights.T


class ComputesGradients(ShapedByItsOutput):
    backward = None

    def _compute_gradients(self, grads):
        return ShapedByItsOutput.backward(self, grads)


@pytest.mark.parametrize("kind", [ShapedByItsOutput, ComputesGradients])
def test_an_object_may_have_been_set_up_before(kind):
    layer = kind(5)
    layer.OutShape(X.shape)
    report = check(layer, X)
    assert report.ok and [item.name for item in report.inputs] == ["x", "weights"]


@pytest.mark.parametrize("name", ["values", "v", "s", "y"])
@pytest.mark.parametrize("one", [1, 2])
def test_a_derivative_of_an_unclear_name_is_undecided_until_it_is_declared(name, one):
    scope = {"np": np}
    exec(
        f"class Logistic:\n"
        f"    def activate(self, x):\n        return 1 / (1 + np.exp(-x))\n"
        f"    def derivative(self, {name}):\n        return {name} * ({one} - {name})\n",
        scope,
    )
    layer = scope["Logistic"]()
    assert check(layer, X).verdict == ("undecided" if one == 1 else "wrong")
    assert check(layer, X, output=True).verdict == ("ok" if one == 1 else "wrong")
    assert check(layer, X, output=False).verdict == "wrong"


class LossThatReturnsItsInput:
    def forward(self, x):
        self.x = x
        self.value = 0.5 * np.sum(x**2)
        return x

    def backward(self, dout):
        return self.x


def test_a_loss_that_returns_its_input_is_asked_for_what_it_differentiates():
    with pytest.raises(FormError, match="not the loss"):
        check(LossThatReturnsItsInput(), (X,))


class Pendulum:
    """A layer whose parameter is a plain number."""

    def __init__(self, gravity):
        self.gravity = gravity

    def forward(self, length):
        self.cache = length
        return np.sqrt(length / self.gravity)

    def backward(self, dout):
        root = np.sqrt(self.cache / self.gravity)
        self.dgravity = -np.sum(dout * root) / (2 * self.gravity)
        return dout * root / (2 * self.cache)


def test_a_parameter_that_is_a_plain_number_is_refused_in_words():
    with pytest.raises(ValueError, match=r"plain numbers: gravity; make them arrays"):
        check(Pendulum(9.8), (np.array([1.2, 0.7]),))
    assert check(Pendulum(np.array(9.8)), (np.array([1.2, 0.7]),)).verdict == "ok"
