"""Habits of public code: each right file is read, and its wrong twin is not ok."""

import pytest

from ibpcl.errors import UserError
from ibpcl.verify.running.checking import results_here
from ibpcl.verify.running.user import Request


def verdicts(tmp_path, source):
    """Return the verdicts on a file, without the names."""
    path = tmp_path / "mine.py"
    path.write_text(source, encoding="utf-8")
    return [result.verdict for result in results_here(Request(str(path)))]


SOFTMAX = """
import numpy as np
class Softmax:
    def function(self, x):
        e = np.exp(x - np.max(x))
        return e / np.sum(e)
    def derivative(self, x):
        return self.function(x) * (1 - self.function(x))
"""
OF_OUTPUT = """
import numpy as np
def sigmoid(x):
    return 1 / (1 + np.exp(-x))
def sigmoid_grad(sigmoid):
    return {right} * sigmoid * (1 - sigmoid)
"""
COLUMNS = """
import numpy as np
class Regression:
    def __init__(self, input_dim):
        self.w = np.zeros((input_dim, 1))
    def probability(self, X):
        return 1 / (1 + np.exp(-X @ self.w))
    def compute_loss(self, X, y):
        p = self.probability(X)
        return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    def compute_gradients(self, X, y):
        dw = {right} * X.T @ (self.probability(X) - y) / len(X)
        return dw
"""
INDICES = """
import numpy as np
class Embedding:
    def __init__(self, input_dim, output_dim):
        self.weights = np.random.randn(input_dim, output_dim)
    def forward(self, inputs):
        self.codes = np.eye(len(self.weights))[inputs.astype(int)]
        return self.codes @ self.weights
    def backward(self, dvalues):
        codes = self.codes.reshape(-1, len(self.weights))
        self.dweights = {right} * codes.T @ dvalues.reshape(len(codes), -1)
        self.dinputs = dvalues @ self.weights.T
        return self.dinputs
"""
WINDOW = """
import numpy as np
class MeanPool:
    def __init__(self, pool_h, pool_w):
        self.h, self.w = pool_h, pool_w
    def forward(self, x):
        N, C, H, W = x.shape
        return x.reshape(N, C, H // self.h, self.h, W // self.w, self.w).mean(axis=(3, 5))
    def backward(self, dout):
        return {right} * np.kron(dout, np.ones((self.h, self.w))) / (self.h * self.w)
"""
AVERAGED = """
import numpy as np
class Loss:
    def calculate(self, pred, target):
        return np.mean(self.forward(pred, target))
class SquaredError(Loss):
    def forward(self, pred, target):
        return np.mean((pred - target) ** 2, axis=-1)
    def backward(self, dvalues, target):
        self.dinputs = {right} * 2 * (dvalues - target) / target.size
"""
AVERAGED_OF_Y = AVERAGED.replace("pred", "output").replace("target", "y")
COLUMNS_OF_EXAMPLES = """
import numpy as np
class SquaredError:
    def E(self, y, target):
        return np.sum((y - target) ** 2, axis=0, keepdims=True)
    def dEdy(self, y, target):
        return {right} * 2 * (y - target)
"""
OF_THE_LABEL = """
import numpy as np
class CrossEntropyLoss:
    def forward(self, prediction, label):
        self.prediction = prediction
        return -np.sum(label * np.log(prediction + 1e-12))
    def backward(self, label):
        return {right} * -label / (self.prediction + 1e-12)
"""
WITH_A_DICT = """
import numpy as np
class Sigmoid:
    def forward(self, x):
        return 1 / (1 + np.exp(-x)), {{}}
    def backward(self, dout, x):
        s = self.forward(x)[0]
        return {right} * dout * s * (1 - s)
"""
KEPT_IN_CALL = """
import numpy as np
class Linear:
    def __init__(self, n_in, n_out):
        self.W = np.random.default_rng(0).normal(size=(n_in, n_out))
        self.kept = 0
    def __call__(self, x):
        self.kept = x
        return self.forward(x)
    def forward(self, x):
        return x @ self.W
    def backward(self, dout):
        self.W_grad = {right} * self.kept.swapaxes(0, 1) @ dout
        return dout @ self.W.T
"""
SAME_KEYS = """
import numpy as np
class Linear:
    def __init__(self, n_in, n_out):
        rng = np.random.default_rng(0)
        self.tensors = {{"weight": rng.normal(size=(n_out, n_in)), "bias": np.zeros(n_out)}}
        self.grads = {{}}
    def forward(self, x):
        self.x = x
        return x @ self.tensors["weight"].T + self.tensors["bias"]
    def backward(self, dout):
        self.grads = {{"weight": dout.T @ self.x, "bias": {right} * dout.sum(axis=0)}}
        return dout @ self.tensors["weight"]
"""
AT_THE_INPUT = """
import numpy as np
class LeakyRelu:
    def __init__(self, alpha=0.01):
        self.alpha = alpha
    def forward(self, x):
        return np.where(x > 0, x, x * self.alpha)
    def backward(self, x, learning_rate=None):
        dx = {right} * np.where(x > 0, 1, self.alpha)
        return dx
"""
OF_THE_PREDICTION = """
def mse(correct_val, predicted_val):
    return (correct_val - predicted_val) ** 2
def mse_prime(correct_val, predicted_val):
    return {right} * 2 * (predicted_val - correct_val)
"""
LOSS_AND_DOUT = """
import numpy as np
def squared_loss(score, y):
    loss = np.mean((score - y) ** 2)
    dout = {right} * 2 * (score - y) / score.size
    return loss, dout
"""
IN_PLACE = """
import numpy as np
class Rect:
    def forward(self, x, copy=False):
        z = np.array(x) if copy else x
        z[z < 0] = 0
        return z
    def gradient(self, x, copy=False):
        z = np.array(x) if copy else x
        z[z > 0] = {right}
        z[z < 0] = 0
        return z
"""
KINDS = {
    "activation that works in place unless it copies": IN_PLACE,
    "input that the call keeps": KEPT_IN_CALL,
    "gradients under the keys of the parameters": SAME_KEYS,
    "derivative at the input": AT_THE_INPUT,
    "derivative for the prediction": OF_THE_PREDICTION,
    "loss and dout": LOSS_AND_DOUT,
    "output beside an empty cache": WITH_A_DICT,
    "mean that the class takes, of y": AVERAGED_OF_Y,
    "examples in columns": COLUMNS_OF_EXAMPLES,
    "backward of the label": OF_THE_LABEL,
    "output of the name of its function": OF_OUTPUT,
    "labels in a column": COLUMNS,
    "indices": INDICES,
    "window": WINDOW,
    "mean that the class takes": AVERAGED,
}


@pytest.mark.parametrize("kind", KINDS)
def test_public_code_is_read(kind, tmp_path):
    assert verdicts(tmp_path, KINDS[kind].format(right=1)) == ["ok"]
    assert verdicts(tmp_path, KINDS[kind].format(right=-3)) == ["wrong"]


def test_the_diagonal_of_a_jacobian_is_no_derivative(tmp_path):
    assert verdicts(tmp_path, SOFTMAX) == ["wrong"]


KEPT = """
import numpy as np
class SoftmaxLoss:
    def forward(self, inputs, y_true):
        e = np.exp(inputs - inputs.max(axis=1, keepdims=True))
        self.output = e / e.sum(axis=1, keepdims=True)
        return -np.mean(np.sum(y_true * np.log(self.output), axis=1))
    def backward(self, {name}, y_true):
        samples = len({name})
        self.dinputs = ({name} - {right} * y_true) / samples
        return self.dinputs
"""


@pytest.mark.parametrize(
    "name, right, verdict",
    [
        ("dvalues", 1, "undecided"),
        ("output", 1, "ok"),
        pytest.param(
            "dvalues", 2, "wrong", marks=pytest.mark.slow(reason="takes seconds, for a name")
        ),
        ("output", 2, "wrong"),
    ],
)
def test_a_loss_may_take_the_output_that_it_keeps(name, right, verdict, tmp_path):
    assert verdicts(tmp_path, KEPT.format(name=name, right=right)) == [verdict]


def test_labels_may_be_one_in_each_column(tmp_path):
    source = """
import numpy as np
class SoftmaxLoss:
    def E(self, y, target):
        '''y: array of shape (D, N); target: array of shape (D, N).'''
        p = np.exp(y) / np.sum(np.exp(y), axis=0)
        return -np.sum(target * np.log(p), axis=0, keepdims=True)
    def dEdy(self, y, target):
        return np.exp(y) / np.sum(np.exp(y), axis=0) {sign} target
"""
    assert verdicts(tmp_path, source.format(sign="-")) == ["undecided"]
    assert verdicts(tmp_path, source.format(sign="+")) == ["wrong"]


def test_a_missing_library_is_no_mistake_of_the_gradient(tmp_path):
    source = """
class Square:
    def forward(self, x):
        self.x = x
        return x**2
    def backward(self, dout):
        import a_library_that_nobody_has
        return 2 * self.x * dout
"""
    assert verdicts(tmp_path, source) == ["refused"]


@pytest.mark.parametrize("right, verdict", [(1, "ok"), (2, "wrong")])
def test_every_string_of_a_constructor_is_checked(right, verdict, tmp_path):
    source = f"""
import numpy as np
class Activation:
    def __init__(self, activation="linear"):
        self.activation = activation
    def forward(self, x):
        self.x = x
        if self.activation == "linear":
            return x
        elif self.activation == "tanh":
            return np.tanh(x)
    def backward(self, dout):
        if self.activation == "linear":
            return dout * 1.0
        elif self.activation == "tanh":
            return {right} * dout * (1 - np.tanh(self.x) ** 2)
"""
    assert verdicts(tmp_path, source) == [verdict]


@pytest.mark.parametrize("power, verdict", [(-0.5, "ok"), (0.5, "wrong")])
def test_no_head_has_size_one(power, verdict, tmp_path):
    source = f"""
import numpy as np
class Scaled:
    def __init__(self, embed_dim, heads):
        self.size = embed_dim // heads
    def forward(self, x):
        return x / np.sqrt(self.size)
    def backward(self, dout):
        return dout * self.size ** {power}
"""
    assert verdicts(tmp_path, source) == [verdict]


def test_an_optimizer_is_asked_for(tmp_path):
    source = """
import numpy as np
class Dense:
    def __init__(self, n_in, n_out):
        self.weights = np.ones((n_in, n_out))
    def forward(self, data):
        self.data = data
        return data @ self.weights
    def backward(self, output_error, optimizer_fn, learning_rate):
        dw = self.data.T @ output_error
        self.weights = optimizer_fn.minimize(self.weights, dw, learning_rate)
        return output_error @ self.weights.T
"""
    assert verdicts(tmp_path, source) == ["refused"]


def test_a_forward_that_raises_at_guessed_inputs_is_no_mistake(tmp_path):
    source = """
import numpy as np
class Loss:
    def forward(self, outputs, targets):
        return -np.log(outputs[:, targets.argmax()] + 1e-10)
    def backward(self, outputs, targets):
        return -targets / outputs
"""
    assert verdicts(tmp_path, source) == ["refused"]


@pytest.mark.parametrize("right, verdict", [(1, "undecided"), (-1, "wrong")])
def test_labels_may_be_made_a_column(right, verdict, tmp_path):
    source = f"""
import numpy as np
class BinaryCrossEntropy:
    def forward(self, y_true, y_pred):
        y = y_true.reshape(-1, 1)
        return np.mean(-y * np.log(y_pred) - (1 - y) * np.log(1 - y_pred))
    def backward(self, y_true, y_pred):
        y = y_true.reshape(-1, 1)
        return {right} * ((1 - y) / (1 - y_pred) - y / y_pred) / np.size(y)
"""
    assert verdicts(tmp_path, source) == [verdict]


def test_gradients_that_fit_two_parameters_are_not_judged(tmp_path):
    source = """
import numpy as np
class Two:
    def __init__(self):
        self.first = {"W": np.full((4, 4), 0.5)}
        self.second = {"W": np.full((4, 4), 2.0)}
        self.grads = {}
    def forward(self, x):
        self.x = x
        return x @ self.first["W"] + x**2 @ self.second["W"]
    def backward(self, dout):
        self.grads["W"] = self.x.T @ dout
        return dout @ self.first["W"].T + 2 * self.x * (dout @ self.second["W"].T)
"""
    assert verdicts(tmp_path, source) == ["undecided"]


def test_an_activation_that_is_guessed_is_no_mistake(tmp_path):
    source = """
class Layer:
    def __init__(self, activation):
        self.activation = activation
    def forward(self, x):
        self.x = x
        return self.activation(x)
    def backward(self, dout):
        return dout * self.activation.grad(self.x)
"""
    assert verdicts(tmp_path, source) == ["refused"]


def test_a_dict_that_is_guessed_as_an_array_is_no_mistake(tmp_path):
    source = """
import numpy as np
class Penalty:
    def forward(self, params):
        return sum(np.sum(value**2) for name, value in params.items())
    def backward(self, params):
        return {name: 2 * value for name, value in params.items()}
"""
    assert verdicts(tmp_path, source) == ["refused"]


def test_data_are_not_taken_for_a_prediction(tmp_path):
    source = """
import numpy as np
class Model:
    def __init__(self):
        self.theta = np.ones((4, 1))
    def loss(self, y, y_hat):
        return np.mean((y - y_hat) ** 2)
    def gradient(self, X, Y):
        return 2 * X.T @ (X @ self.theta - Y) / Y.size
"""
    assert verdicts(tmp_path, source) == ["refused"]


PENALIZED = """
import numpy as np
class Dense:
    def __init__(self, n_inputs, n_neurons, l1, l2):
        self.w = np.random.randn(n_inputs, n_neurons)
        self.l1, self.l2 = l1, l2
    def forward(self, x):
        self.x = x
        {forward}
    def backward(self, dout):
        self.dw = {dw}
        if self.l1 > 0:
            self.dw += self.l1 * np.sign(self.w)
        if self.l2 > 0:
            self.dw += 2 * self.l2 * self.w
        return dout @ self.w.T
"""


@pytest.mark.parametrize(
    ("forward", "dw", "verdict"),
    [
        ("return x @ self.w", "x.T @ dout", "ok"),
        ("return x @ self.w", "dout.T @ x", "wrong"),
        ("return x @ self.w", "2 * x.T @ dout", "wrong"),
        # a forward that has the penalty is checked with it
        ("return np.sum(x @ self.w) + self.l2 * np.sum(self.w**2)", "0 * self.w", "wrong"),
    ],
)
def test_a_penalty_that_the_forward_lacks_is_left_out(forward, dw, verdict, tmp_path):
    source = PENALIZED.format(forward=forward, dw=dw.replace("x", "self.x"))
    assert verdicts(tmp_path, source) == [verdict]


ACCUMULATED = """
import numpy as np
class Linear:
    def __init__(self, n_in, n_out):
        self.weights = np.random.randn(n_in, n_out)
        self.bias = np.zeros(n_out)
        self.gradients = {{}}
    def forward(self, x):
        self.x = x
        return x @ self.weights + self.bias
    def backward(self, dout):
        self.gradients["dLdW"] = self.x.T @ dout
        self.gradients["dLdb"] = dout.sum({axis})
        return dout @ self.weights.T
"""


@pytest.mark.parametrize(("axis", "verdict"), [("0", "ok"), ("1", "wrong"), ("", "wrong")])
def test_a_gradient_of_another_size_is_that_of_the_only_parameter_left(axis, verdict, tmp_path):
    assert verdicts(tmp_path, ACCUMULATED.format(axis=axis)) == [verdict]


RAGGED = """
import numpy as np
def f(params, x):
    h = np.tanh(x @ params[0])
    return h @ params[1], (params, x, h)
def f_vjp(dout, cache):
    params, x, h = cache
    dh = dout @ params[1].T * (1 - h ** 2)
    return [x.T @ dh, {right} * h.T @ dout], dh @ params[0].T
def check_inputs():
    draw = np.random.default_rng(1).normal
    return dict(params=[draw(size=(4, 5)), draw(size=(5, 2))], x=draw(size=(3, 4)))
"""


@pytest.mark.parametrize(("right", "verdict"), [(1, "ok"), (2, "wrong")])
def test_given_inputs_may_be_a_list_of_arrays_of_several_shapes(right, verdict, tmp_path):
    assert verdicts(tmp_path, RAGGED.format(right=right)) == [verdict]


SHARED = """
import numpy as np
class Dense:
    def forward(self, x):
        self.x = x
        return x @ self.W
    def backward(self, dout):
        self.dW = {right} * self.x.T @ dout
        return dout @ self.W.T
layer = Dense()
def f(x, W):
    layer.W = W
    return layer.forward(x), {cache}
def f_vjp(dout, cache):
    return layer.backward(dout), layer.dW
def check_inputs():
    draw = np.random.default_rng(1).normal
    return dict(x=draw(size=(3, 4)), W=draw(size=(4, 5)))
"""


@pytest.mark.parametrize(
    ("right", "cache", "verdict"), [(1, "None", "ok"), (2, "None", "wrong"), (1, "(x, W)", "wrong")]
)
def test_one_object_for_all_calls_is_judged_one_backward_per_forward(
    right, cache, verdict, tmp_path
):
    # the class alone lacks what `f` sets; a cache with arrays must be used
    source = SHARED.format(right=right, cache=cache)
    assert verdicts(tmp_path, source) == ["refused", verdict]


WORD_LOSS = '''
import numpy as np
def word_loss_and_gradient({center}, k, {vectors}, dataset):
    """k: integer, the word"""
    z = {center} @ {vectors}.T
    p = np.exp(z) / np.sum(np.exp(z))
    d = p.copy()
    d[k] -= {right}
    loss = -np.log(p)[k]
    return loss, d @ {vectors}, d[:, np.newaxis] @ {center}[np.newaxis, :]
'''
GIVEN = '''
def check_inputs():
    draw = np.random.default_rng(1).normal
    return dict(anchor=draw(size=4), k=1, table=draw(size=(5, 4)), dataset=None)
'''


@pytest.mark.parametrize(
    ("center", "vectors", "given", "right", "verdict"),
    [
        ("center", "outside_vectors", "", 1, "ok"),
        ("center", "outside_vectors", "", 2, "wrong"),
        # for the usual guesses the loss is no number
        ("anchor", "table", "", 1, "refused"),
        ("anchor", "table", GIVEN, 1, "ok"),
        ("anchor", "table", GIVEN, 2, "wrong"),
    ],
)
def test_a_loss_that_is_no_number_at_a_guess_is_not_judged(
    center, vectors, given, right, verdict, tmp_path
):
    source = WORD_LOSS.format(center=center, vectors=vectors, right=right)
    assert verdicts(tmp_path, source + given) == [verdict]


TWO_OUTPUTS = """
import numpy as np
class Rotation:
    def forward(self, x, angle):
        self.x, self.angle = x, angle
        return x * np.cos(angle), x * np.sin(angle)
    def backward(self, dout):
        {backward}
"""
UNPACKED = """da, db = dout
        dx = {right} * (da * np.cos(self.angle) + db * np.sin(self.angle))
        dangle = self.x * (db * np.cos(self.angle) - da * np.sin(self.angle))
        return dx, dangle"""
OF_THE_FIRST = """
        return {right} * dout * np.cos(self.angle), -dout * self.x * np.sin(self.angle)"""


@pytest.mark.parametrize(
    ("backward", "right", "verdict"),
    [
        (UNPACKED, 1, "undecided"),
        (UNPACKED, 2, "wrong"),
        (OF_THE_FIRST, 1, "ok"),
        (OF_THE_FIRST, 2, "wrong"),
    ],
)
def test_dout_of_a_layer_with_two_outputs_may_be_a_tuple(backward, right, verdict, tmp_path):
    source = TWO_OUTPUTS.format(backward=backward.format(right=right))
    inputs = "def check_inputs():\n    return dict(x=np.arange(3.0), angle=np.ones(3))\n"
    assert verdicts(tmp_path, source + inputs) == [verdict]


ONE_ROW = """
import numpy as np
class Softmax:
    def forward(self, x):
        self.p = np.exp(x) / np.exp(x).sum()
        return self.p
    def backward(self, dout):
        n = self.p.shape[1]
        jacobian = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                jacobian[i, j] = {entry} * ((i == j) - self.p[0][j])
        return {right} * dout @ jacobian
"""


@pytest.mark.parametrize(
    ("entry", "right", "verdict"),
    [
        ("self.p[0][i]", 1, "undecided"),
        ("self.p[0, i]", 1, "undecided"),
        ("self.p[0][i]", 2, "wrong"),
    ],
)
def test_a_gradient_that_reads_the_first_row_alone_may_be_for_one_row(
    entry, right, verdict, tmp_path
):
    assert verdicts(tmp_path, ONE_ROW.format(entry=entry, right=right)) == [verdict]


ROTATED = """
import numpy as np
def rotate(x, angle):
    return x * np.cos(angle), x * np.sin(angle)
def rotate_backward(dout, x, angle):
    da, db = dout
    dx = {right} * (da * np.cos(angle) + db * np.sin(angle))
    return dx, x * (db * np.cos(angle) - da * np.sin(angle))
def check_inputs():
    return dict(x=np.arange(3.0), angle=np.ones(3))
"""


@pytest.mark.parametrize(("right", "verdict"), [(1, "undecided"), (2, "wrong")])
def test_dout_of_a_function_with_two_outputs_may_be_a_tuple(right, verdict, tmp_path):
    assert verdicts(tmp_path, ROTATED.format(right=right)) == [verdict]


STATE = """
import numpy as np
def measure(x, w):
    z = x * w
    return np.sum(z**2) / 2, {returned}
"""


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ('{"x": x, "w": w, "z": [z]}', "as a cache does"),
        ('{"x": z * w, "w": z * x}', "ok"),
        ('{"x": x, "w": w}', "wrong"),  # nothing beside the gradients: they are claimed
        ('{"x": z * w, "w": z, "z": z}', "wrong"),
    ],
)
def test_a_loss_with_a_cache_that_holds_its_inputs_has_no_gradient_there(returned, words, tmp_path):
    path = tmp_path / "mine.py"
    inputs = "def check_inputs():\n    return {'x': np.arange(1.0, 4.0), 'w': np.full(3, 0.7)}\n"
    path.write_text(STATE.replace("{returned}", returned) + inputs, encoding="utf-8")
    try:
        (result,) = results_here(Request(str(path), ["measure"]))
    except UserError as error:
        assert words in str(error)
    else:
        assert words == result.verdict or words in result.text()
