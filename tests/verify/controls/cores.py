"""The mathematics of the controls: functions and their gradients as source, without a form."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

SIZES = {"N": 5, "D": 4, "M": 3, "K": 2}
EPSILON = 1e-6  # step of the differences that hold this table


class Core(NamedTuple):
    """A function with its gradients, as pieces of source.

    Attributes
    ----------
    name : str
        Name of the function.
    kind : str
        "layer" (gradients contain ``dout``), "activation" (the derivative is elementwise), "loss"
        or "objective" (the output is one number; no ``dout``), "tangent", "curvature", "jacobian".
    inputs : dict of str to str
        The shape of each input, such as "N D".
    out : str
        The output as an expression.
    grads : dict of str to str
        The gradient of each differentiated input as an expression.
    before : str
        Statements before ``out``.
    after : str
        Statements before the gradients.
    saved : str
        Names that the gradients use, separated by commas.
    draws : dict of str to str
        Expressions that draw inputs from ``rng``, where a normal array does not fit.
    names : tuple of dict
        Other names of the inputs.
    of_output : str
        The derivative of an activation as an expression of ``out``, empty if there is none; the
        gradient that belongs to a Hessian-vector product.
    is_vague : bool
        Whether the gradient is right for these shapes only, so that an author has to name them.
    options : str
        A parameter with its default, such as "alpha=0.1"; empty if there is none.
    """

    name: str
    kind: str
    inputs: dict
    out: str
    grads: dict
    before: str = ""
    after: str = ""
    saved: str = ""
    draws: Mapping = MappingProxyType({})
    names: tuple = ({},)
    of_output: str = ""
    is_vague: bool = False
    options: str = ""

    def renamed(self, names):
        """Return the core with other names of its inputs."""

        def new(text):
            for old, name in names.items():
                text = re.sub(rf"(?<![\w.]){old}(?!\w)", name, text)
            return text

        def keys(table):
            return {names.get(key, key): new(value) for key, value in table.items()}

        return self._replace(
            inputs={names.get(key, key): shape for key, shape in self.inputs.items()},
            grads=keys(self.grads),
            draws=keys(self.draws),
            **{part: new(getattr(self, part)) for part in ("out", "before", "after", "saved")},
        )

    def draw(self, name):
        """Return an expression that draws an input."""
        shape = tuple(SIZES[letter] for letter in self.inputs[name].split())
        return self.draws.get(name) or f"rng.normal(size={shape})"

    def pulled(self):
        """Return the core as a layer, whose gradients contain ``dout``."""
        if self.kind not in ("activation", "loss", "objective"):
            return self
        grads = {name: f"dout * ({gradient})" for name, gradient in self.grads.items()}
        return self._replace(grads=grads, kind="layer")

    def drawn(self, seed=0):
        """Return generic inputs by name, and what the expressions need besides them."""
        scope = {"np": np}
        exec(self.options, scope)
        rng = np.random.default_rng(seed)
        draws = {name: eval(self.draw(name), {"rng": rng, "np": np}) for name in self.inputs}
        return {**scope, **draws}

    def scope(self, **changed):
        """Return all variables of the forward at generic inputs, some of them changed."""
        scope = {**self.drawn(), **changed}
        exec(f"{self.before}\nout = {self.out}", scope)
        return scope

    def dout(self):
        """Return a generic gradient from above; ones if the gradients do not contain it."""
        shape = np.shape(self.scope()["out"])
        is_layer = self.kind == "layer"
        return np.random.default_rng(9).normal(size=shape) if is_layer else np.ones(shape)

    def evaluated(self, grads=None):
        """Return the gradients at generic inputs, or other expressions in their place."""
        scope = {**self.scope(), "dout": self.dout()}
        exec(self.after, scope)
        core = self._replace(grads=grads or self.grads).pulled()
        return {name: np.asarray(eval(text, scope)) for name, text in core.grads.items()}

    def differences(self, name):
        """Return the gradient of an input by central differences."""
        at = np.array(self.drawn()[name], float)
        result = np.empty_like(at)
        for place in np.ndindex(at.shape):
            step = np.zeros_like(at)
            step[place] = EPSILON
            change = self.scope(**{name: at + step})["out"] - self.scope(**{name: at - step})["out"]
            result[place] = (change * self.dout()).sum() / (2 * EPSILON)
        return result


WEIGHTS = ({}, {"x": "X", "w": "W"}, {"x": "inputs", "w": "weights", "b": "bias"})
GAINS = ({}, {"g": "gain", "gamma": "g", "beta": "b"}, {"g": "weight", "gamma": "scale"})
POSITIVE = "rng.uniform(0.5, 1.5, size=(5, 4))"
DENSE = {"x": "N D", "w": "D M", "b": "M"}
AFFINE = {"x": "dz @ w.T", "w": "x.T @ dz", "b": "dz.sum(axis=0)"}
NORMAL = {"x": "N D", "gamma": "D", "beta": "D"}


def layer(name, inputs, out, grads, names=({},), **more):
    """Return a core whose output is an array."""
    return Core(name, "layer", inputs, out, grads, names=names, **more)


LAYERS = (
    layer(
        "linear",
        DENSE,
        "x @ w + b",
        {"x": "dout @ w.T", "w": "x.T @ dout", "b": "dout.sum(axis=0)"},
        WEIGHTS,
        saved="x, w",
    ),
    layer(
        "layer_norm",
        NORMAL,
        "gamma * xhat + beta",
        {
            "x": "(dh - dh.mean(axis=-1, keepdims=True)"
            " - xhat * (dh * xhat).mean(axis=-1, keepdims=True)) / std",
            "gamma": "(dout * xhat).sum(axis=0)",
            "beta": "dout.sum(axis=0)",
        },
        GAINS,
        before="mean = x.mean(axis=-1, keepdims=True)\n"
        "std = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)\n"
        "xhat = (x - mean) / std",
        after="dh = dout * gamma",
        saved="xhat, std, gamma",
    ),
    layer(
        "dense_tanh",
        DENSE,
        "np.tanh(x @ w + b)",
        AFFINE,
        WEIGHTS,
        after="dz = dout * (1 - out ** 2)",
        saved="x, w, out",
    ),
    layer(
        "scale_shift",
        NORMAL,
        "gamma * x + beta",
        {"x": "dout * gamma", "gamma": "(dout * x).sum(axis=0)", "beta": "dout.sum(axis=0)"},
        GAINS,
        saved="x, gamma",
    ),
    layer(
        "rms_norm",
        {"x": "N D", "g": "D"},
        "h * g",
        {
            "x": "r * (dh - h * (dh * h).mean(axis=-1, keepdims=True))",
            "g": "(dout * h).sum(axis=0)",
        },
        GAINS,
        before="r = 1 / np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + 1e-6)\nh = x * r",
        after="dh = dout * g",
        saved="h, r, g",
    ),
    layer(
        "mixing",
        {"x": "N D", "w": "D D"},
        "np.tanh(x @ w)",
        {"x": "dz @ w.T", "w": "x.T @ dz"},
        WEIGHTS,
        after="dz = dout * (1 - out ** 2)",
        saved="x, w, out",
    ),
    layer(
        "batch_norm",
        NORMAL,
        "gamma * xhat + beta",
        {
            "x": "gamma / std * (dout - dout.mean(axis=0) - xhat * (dout * xhat).mean(axis=0))",
            "gamma": "(dout * xhat).sum(axis=0)",
            "beta": "dout.sum(axis=0)",
        },
        GAINS,
        before="mean = x.mean(axis=0)\nstd = np.sqrt(x.var(axis=0) + 1e-5)\n"
        "xhat = (x - mean) / std",
        saved="xhat, std, gamma",
    ),
    layer(
        "dense_relu",
        DENSE,
        "np.maximum(z, 0)",
        AFFINE,
        WEIGHTS,
        before="z = x @ w + b",
        after="dz = dout * (z > 0)",
        saved="x, w, z",
    ),
    layer(
        "swish",
        {"x": "N D", "beta": "D"},
        "x * s",
        {
            "x": "dout * (s + beta * x * s * (1 - s))",
            "beta": "(dout * x ** 2 * s * (1 - s)).sum(axis=0)",
        },
        ({}, {"beta": "b"}, {"beta": "alpha"}),
        before="s = 1 / (1 + np.exp(-beta * x))",
        saved="x, s, beta",
    ),
    layer(
        "bilinear",
        {"x": "N D", "w": "D M", "y": "N M"},
        "((x @ w) * y).sum(axis=1)",
        {
            "x": "(dout[:, None] * y) @ w.T",
            "w": "x.T @ (dout[:, None] * y)",
            "y": "dout[:, None] * (x @ w)",
        },
        ({}, {"w": "W"}, {"x": "left", "y": "right", "w": "weights"}),
        saved="x, w, y",
    ),
)
MAPS = (
    layer(
        "softmax",
        {"x": "N D"},
        "e / e.sum(axis=-1, keepdims=True)",
        {"x": "out * (dout - (dout * out).sum(axis=-1, keepdims=True))"},
        ({}, {"x": "z"}, {"x": "logits"}),
        before="e = np.exp(x - x.max(axis=-1, keepdims=True))",
        saved="out",
    ),
    layer(
        "outer",
        {"u": "D", "v": "M"},
        "np.outer(u, v)",
        {"u": "dout @ v", "v": "dout.T @ u"},
        ({}, {"u": "a", "v": "b"}),
        saved="u, v",
    ),
    layer(
        "quadratic",
        {"x": "D", "A": "D D"},
        "x @ A @ x",
        {"x": "dout * ((A + A.T) @ x)", "A": "dout * np.outer(x, x)"},
        ({}, {"A": "W"}),
        saved="x, A",
    ),
    layer(
        "divide",
        {"a": "N D", "b": "N D"},
        "a / b",
        {"a": "dout / b", "b": "-dout * a / b ** 2"},
        ({}, {"a": "x", "b": "y"}),
        saved="a, b",
        draws={"b": POSITIVE},
    ),
    layer(
        "gaussian_log_density",
        {"x": "N D", "mu": "D", "log_sigma": "D"},
        "-0.5 * h ** 2 - log_sigma - 0.5 * np.log(2 * np.pi)",
        {
            "x": "-dout * h / np.exp(log_sigma)",
            "mu": "(dout * h / np.exp(log_sigma)).sum(axis=0)",
            "log_sigma": "(dout * (h ** 2 - 1)).sum(axis=0)",
        },
        ({}, {"log_sigma": "log_std"}),
        before="h = (x - mu) / np.exp(log_sigma)",
        saved="h, log_sigma",
    ),
    layer(
        "normalize",
        {"x": "N D"},
        "x / r",
        {"x": "(dout - out * (dout * out).sum(axis=1, keepdims=True)) / r"},
        ({}, {"x": "X"}, {"x": "v"}),
        before="r = np.sqrt((x ** 2).sum(axis=1, keepdims=True))",
        saved="out, r",
    ),
)


def activation(name, out, derivative, of_output="", domain="", **more):
    """Return a core that acts on each entry of ``x``."""
    return Core(
        name,
        "activation",
        {"x": "N D"},
        out,
        {"x": derivative},
        saved="x",
        draws={"x": domain} if domain else {},
        names=({}, {"x": "z"}, {"x": "inputs"}),
        of_output=of_output,
        **more,
    )


ACTIVATIONS = (
    activation("tanh", "np.tanh(x)", "1 - np.tanh(x) ** 2", "1 - out ** 2"),
    activation(
        "sigmoid", "1 / (1 + np.exp(-x))", "np.exp(-x) / (1 + np.exp(-x)) ** 2", "out * (1 - out)"
    ),
    activation("relu", "np.maximum(0, x)", "(x > 0) * 1.0", "(out > 0) * 1.0"),
    activation("softplus", "np.log(1 + np.exp(x))", "1 / (1 + np.exp(-x))", "1 - np.exp(-out)"),
    activation("exp", "np.exp(x)", "np.exp(x)", "out"),
    activation("square", "x ** 2", "2 * x"),
    activation(
        "leaky_relu",
        "np.where(x > 0, x, 0.1 * x)",
        "np.where(x > 0, 1, 0.1)",
        "np.where(out > 0, 1, 0.1)",
    ),
    activation(
        "elu",
        "np.where(x > 0, x, np.exp(x) - 1)",
        "np.where(x > 0, 1, np.exp(x))",
        "np.where(out > 0, 1, out + 1)",
    ),
    activation("gaussian", "np.exp(-x ** 2)", "-2 * x * np.exp(-x ** 2)"),
    activation("sqrt", "np.sqrt(x)", "0.5 / np.sqrt(x)", "0.5 / out", POSITIVE),
    activation("softsign", "x / (1 + np.abs(x))", "1 / (1 + np.abs(x)) ** 2"),
    activation(
        "gelu",
        "0.5 * x * (1 + np.tanh(0.8 * (x + 0.04 * x ** 3)))",
        "0.5 * (1 + np.tanh(0.8 * (x + 0.04 * x ** 3))) + 0.4 * x * (1 + 0.12 * x ** 2)"
        " * (1 - np.tanh(0.8 * (x + 0.04 * x ** 3)) ** 2)",
    ),
    activation("arctan", "np.arctan(x)", "1 / (1 + x ** 2)", "np.cos(out) ** 2"),
)
WITH_OPTIONS = (
    activation(
        "leaky",
        "np.where(x > 0, x, alpha * x)",
        "np.where(x > 0, 1, alpha)",
        options="alpha=0.1",
    ),
    activation(
        "celu",
        "np.where(x > 0, x, alpha * (np.exp(x) - 1))",
        "np.where(x > 0, 1, alpha * np.exp(x))",
        options="alpha=1.5",
    ),
    activation(
        "swish_of",
        "x * s",
        "s + beta * x * s * (1 - s)",
        options="beta=2.0",
        before="s = 1 / (1 + np.exp(-beta * x))",
    ),
)
LABELS = {"target": "rng.integers(0, 3, size=5)"}
ZERO_OR_ONE = {"target": "rng.integers(0, 2, size=5) * 1.0"}
PROBABILITY = {"pred": "rng.uniform(0.1, 0.9, size=5)", **ZERO_OR_ONE}
VECTORS = {"pred": "N", "target": "N"}
TABLES = {"pred": "N M", "target": "N M"}
ANSWERS = (
    {},
    {"pred": "y_pred", "target": "y_true"},
    {"pred": "y_hat", "target": "y"},
    {"pred": "output", "target": "labels"},
)
SCORES = ({"pred": "logits", "target": "labels"}, {"pred": "scores", "target": "y"})


def loss(name, inputs, out, gradient, names=ANSWERS, **more):
    """Return a core whose output is one number, of predictions and targets."""
    more.setdefault("saved", "pred, target")
    return Core(name, "loss", inputs, out, {"pred": gradient}, names=names, **more)


SOFTMAX = "e = np.exp(pred - pred.max(axis=1, keepdims=True))\np = e / e.sum(axis=1, keepdims=True)"
LOSSES = (
    loss("mse", TABLES, "((pred - target) ** 2).mean()", "2 * (pred - target) / pred.size"),
    loss(
        "half_mse",
        VECTORS,
        "0.5 * ((pred - target) ** 2).sum() / len(target)",
        "(pred - target) / len(target)",
    ),
    loss("squared_error", TABLES, "np.sum((pred - target) ** 2)", "2 * (pred - target)"),
    loss(
        "binary_cross_entropy",
        VECTORS,
        "-np.mean(target * np.log(pred) + (1 - target) * np.log(1 - pred))",
        "(pred - target) / (pred * (1 - pred)) / len(target)",
        draws=PROBABILITY,
        is_vague=True,
    ),
    loss(
        "cross_entropy",
        {"pred": "N M", "target": "N"},
        "-np.log(p[np.arange(len(target)), target]).mean()",
        "(p - onehot) / len(target)",
        SCORES,
        before=SOFTMAX,
        after="onehot = np.zeros_like(p)\nonehot[np.arange(len(target)), target] = 1",
        saved="p, target",
        draws=LABELS,
    ),
    loss(
        "softmax_cross_entropy",
        TABLES,
        "-(target * np.log(p)).sum() / len(target)",
        "(p - target) / len(target)",
        SCORES,
        before=SOFTMAX,
        saved="p, target",
        draws={"target": "np.eye(3)[rng.integers(0, 3, size=5)]"},
        is_vague=True,
    ),
    loss(
        "hinge",
        VECTORS,
        "np.maximum(0, 1 - target * pred).mean()",
        "-target * (target * pred < 1) / len(target)",
        draws={"target": "rng.choice([-1.0, 1.0], size=5)"},
        is_vague=True,
    ),
    loss(
        "mae",
        VECTORS,
        "np.abs(pred - target).mean()",
        "np.sign(pred - target) / len(target)",
        is_vague=True,
    ),
    loss(
        "log_cosh",
        TABLES,
        "np.log(np.cosh(pred - target)).mean()",
        "np.tanh(pred - target) / pred.size",
    ),
    loss(
        "huber",
        VECTORS,
        "np.where(np.abs(r) < 1, 0.5 * r ** 2, np.abs(r) - 0.5).mean()",
        "np.clip(r, -1, 1) / len(r)",
        before="r = pred - target",
        saved="r",
        is_vague=True,
    ),
    loss(
        "logistic",
        VECTORS,
        "np.log(1 + np.exp(-target * pred)).mean()",
        "-target / (1 + np.exp(target * pred)) / len(target)",
        draws={"target": "rng.choice([-1.0, 1.0], size=5)"},
        is_vague=True,
    ),
)
DATA = {"X": "N D", "y": "N"}
FITS = ({}, {"w": "theta"}, {"w": "weights", "b": "bias"}, {"w": "beta"})


def objective(name, inputs, out, grads, names=FITS, **more):
    """Return a core whose output is one number, of parameters and data."""
    return Core(name, "objective", inputs, out, grads, names=names, **more)


OBJECTIVES = (
    objective(
        "least_squares",
        {"w": "D", **DATA},
        "0.5 * ((X @ w - y) ** 2).mean()",
        {"w": "X.T @ (X @ w - y) / len(y)"},
    ),
    objective(
        "linear_regression",
        {"w": "D", "b": "", **DATA},
        "(r ** 2).sum() / len(y)",
        {"w": "2 * X.T @ r / len(y)", "b": "2 * r.sum() / len(y)"},
        before="r = X @ w + b - y",
    ),
    objective(
        "logistic_regression",
        {"w": "D", "b": "", **DATA},
        "-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))",
        {"w": "X.T @ (p - y) / len(y)", "b": "np.mean(p - y)"},
        before="p = 1 / (1 + np.exp(-(X @ w + b)))",
        draws={"y": "rng.integers(0, 2, size=5) * 1.0"},
    ),
    objective(
        "ridge",
        {"w": "D", **DATA},
        "np.sum((X @ w - y) ** 2) + lam * w @ w",
        {"w": "2 * X.T @ (X @ w - y) + 2 * lam * w"},
        options="lam=0.1",
    ),
    objective(
        "softmax_regression",
        {"w": "D M", "X": "N D", "y": "N"},
        "-np.log(p[np.arange(len(y)), y]).mean()",
        {"w": "X.T @ (p - np.eye(p.shape[1])[y]) / len(y)"},
        ({"w": "W"}, {"w": "theta"}),
        before="z = X @ w\ne = np.exp(z - z.max(axis=1, keepdims=True))\n"
        "p = e / e.sum(axis=1, keepdims=True)",
        draws={"y": "rng.integers(0, 3, size=5)"},
    ),
    objective(
        "svm",
        {"w": "D", "b": "", **DATA},
        "np.maximum(0, 1 - margin).mean() + 0.5 * w @ w",
        {
            "w": "w - X.T @ (y * (margin < 1)) / len(y)",
            "b": "-np.mean(y * (margin < 1))",
        },
        before="margin = y * (X @ w + b)",
        draws={"y": "rng.choice([-1.0, 1.0], size=5)"},
    ),
    objective(
        "two_layers",
        {"w1": "D M", "w2": "M", **DATA},
        "0.5 * np.mean((h @ w2 - y) ** 2)",
        {"w1": "X.T @ (np.outer(r, w2) * (1 - h ** 2))", "w2": "h.T @ r"},
        ({"w1": "W1", "w2": "W2"}, {}),
        before="h = np.tanh(X @ w1)",
        after="r = (h @ w2 - y) / len(y)",
    ),
)


def network(hidden, slope, output, loss, target):
    """Return a core of a network with two layers, whose loss has ``(p - y) / N`` as derivative."""
    name, hidden = hidden
    return objective(
        name,
        {"W1": "D M", "b1": "M", "W2": "M K", "b2": "K", "X": "N D", "y": "N K"},
        loss,
        {
            "W1": "X.T @ d1",
            "b1": "d1.sum(axis=0)",
            "W2": "h.T @ d2",
            "b2": "d2.sum(axis=0)",
        },
        ({}, {"W1": "w1", "W2": "w2"}),
        before=f"h = {hidden}\nz = h @ W2 + b2\np = {output}",
        after=f"d2 = (p - y) / len(X)\nd1 = d2 @ W2.T * {slope}",
        draws={"y": target},
    )


HIDDEN = (
    (("tanh", "np.tanh(X @ W1 + b1)"), "(1 - h ** 2)"),
    (("sigmoid", "1 / (1 + np.exp(-(X @ W1 + b1)))"), "h * (1 - h)"),
    (("relu", "np.maximum(0, X @ W1 + b1)"), "(h > 0)"),
)
ENDS = (
    ("z", "0.5 * ((p - y) ** 2).sum() / len(X)", ""),
    (
        "1 / (1 + np.exp(-z))",
        "-(y * np.log(p) + (1 - y) * np.log(1 - p)).sum() / len(X)",
        "rng.integers(0, 2, size=(5, 2)) * 1.0",
    ),
    (
        "np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)",
        "-(y * np.log(p)).sum() / len(X)",
        "np.eye(2)[rng.integers(0, 2, size=5)]",
    ),
)
NETWORKS = tuple(network(*hidden, *end) for end in ENDS for hidden in HIDDEN)


def tangent(name, inputs, out, terms, **more):
    """Return a core whose Jacobian-vector product is a sum of one term for each input."""
    directions = {f"d{key}": shape for key, shape in inputs.items()}
    return Core(name, "tangent", {**inputs, **directions}, out, terms, **more)


TANGENTS = (
    tangent("linear", DENSE, "x @ w + b", {"x": "dx @ w", "w": "x @ dw", "b": "db"}),
    tangent("matmul", {"a": "N D", "b": "D M"}, "a @ b", {"a": "da @ b", "b": "a @ db"}),
    tangent("product", {"u": "N D", "v": "D"}, "u * v", {"u": "du * v", "v": "u * dv"}),
    tangent("wave", {"x": "N D"}, "np.sin(x)", {"x": "np.cos(x) * dx"}),
    tangent("cube", {"x": "N D"}, "x ** 3", {"x": "3 * x ** 2 * dx"}),
    tangent(
        "quotient",
        {"u": "N", "v": "N"},
        "u / v",
        {"u": "du / v", "v": "-u / v ** 2 * dv"},
        draws={"v": "rng.uniform(0.5, 1.5, size=5)"},
    ),
    tangent(
        "outer",
        {"u": "D", "v": "M"},
        "np.outer(u, v)",
        {"u": "np.outer(du, v)", "v": "np.outer(u, dv)"},
    ),
    tangent(
        "dense_tanh",
        {"x": "N D", "w": "D M"},
        "np.tanh(x @ w)",
        {"x": "(1 - np.tanh(x @ w) ** 2) * (dx @ w)", "w": "(1 - np.tanh(x @ w) ** 2) * (x @ dw)"},
    ),
    tangent(
        "distance",
        {"x": "N D", "y": "N D"},
        "((x - y) ** 2).sum(axis=1)",
        {"x": "2 * ((x - y) * dx).sum(axis=1)", "y": "2 * ((y - x) * dy).sum(axis=1)"},
    ),
    tangent(
        "log_sum",
        {"x": "N D"},
        "np.log(np.exp(x).sum(axis=1))",
        {"x": "(np.exp(x) * dx).sum(axis=1) / np.exp(x).sum(axis=1)"},
    ),
)


def curvature(name, out, gradient, product, **more):
    """Return a core of one vector, whose Hessian-vector product is an expression of ``v``."""
    inputs = {"x": "D", "v": "D"}
    return Core(name, "curvature", inputs, out, {"v": product}, of_output=gradient, **more)


CURVATURES = (
    curvature("sum_of_exp", "np.exp(x).sum()", "np.exp(x)", "np.exp(x) * v"),
    curvature("quartic", "(x ** 4).sum()", "4 * x ** 3", "12 * x ** 2 * v"),
    curvature(
        "half_square", "0.5 * (x @ x) ** 2", "2 * (x @ x) * x", "2 * (x @ x) * v + 4 * x * (x @ v)"
    ),
    curvature(
        "chain",
        "((x[1:] - x[:-1]) ** 2).sum()",
        "2 * (np.append(0, np.diff(x)) - np.append(np.diff(x), 0))",
        "2 * (np.append(0, np.diff(v)) - np.append(np.diff(v), 0))",
    ),
    curvature("log_cosh", "np.log(np.cosh(x)).sum()", "np.tanh(x)", "v / np.cosh(x) ** 2"),
    curvature("cosines", "np.cos(x).sum()", "-np.sin(x)", "-np.cos(x) * v"),
    curvature(
        "log_sum_exp",
        "np.log(e.sum())",
        "e / e.sum()",
        "e * v / e.sum() - e * (e @ v) / e.sum() ** 2",
        before="e = np.exp(x)",
    ),
    curvature(
        "sphere",
        "np.sqrt(1 + x @ x)",
        "x / np.sqrt(1 + x @ x)",
        "v / np.sqrt(1 + x @ x) - x * (x @ v) / (1 + x @ x) ** 1.5",
    ),
    curvature("cubic", "(x ** 3).sum() / 6", "x ** 2 / 2", "x * v"),
    curvature(
        "softplus_sum",
        "np.log(1 + np.exp(x)).sum()",
        "1 / (1 + np.exp(-x))",
        "v * np.exp(x) / (1 + np.exp(x)) ** 2",
    ),
)


def jacobian(name, out, matrix, **more):
    """Return a core of one vector whose derivative is a matrix."""
    return Core(name, "jacobian", {"x": "D"}, out, {"x": matrix}, names=({}, {"x": "z"}), **more)


JACOBIANS = (
    jacobian(
        "softmax",
        "p",
        "np.diag(p) - np.outer(p, p)",
        before="p = np.exp(x) / np.exp(x).sum()",
    ),
    jacobian("running_sum", "np.cumsum(x ** 2)", "np.tril(np.ones((x.size, x.size))) * 2 * x"),
    jacobian(
        "unit",
        "x / np.sqrt(x @ x)",
        "np.eye(x.size) / np.sqrt(x @ x) - np.outer(x, x) / (x @ x) ** 1.5",
    ),
    jacobian("scaled", "x * x.sum()", "np.eye(x.size) * x.sum() + x[:, None]"),
    jacobian(
        "differences",
        "np.diff(x) ** 2",
        "2 * np.diff(x)[:, None] * np.diff(np.eye(x.size), axis=0)",
    ),
)
CORES = (*LAYERS, *MAPS, *ACTIVATIONS, *WITH_OPTIONS, *LOSSES, *OBJECTIVES, *NETWORKS)
