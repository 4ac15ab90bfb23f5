"""Small files with their verdicts, where a name, a shape or a constant decides."""

from typing import NamedTuple

from .forms import Control

TANH = "def tanh(x):\n    return np.tanh(x)\n"
SIGMOID = "def sigmoid({}):\n    return 1 / (1 + np.exp(-{}))\n"
SQUARE = "def square(x):\n    return x ** 2\n"
LINEAR = "def linear_forward(x, w, b):\n    return x @ w + b, (x, w)\n"
LINEAR_BACKWARD = "def linear_backward(dout, cache):\n    x, w = cache\n"
MSE = "def mse(pred, target):\n    return ((pred - target) ** 2).mean()\n"


class Small(NamedTuple):
    """A file with the verdicts that are right for it.

    Attributes
    ----------
    name : str
        What is right, wrong or open.
    verdicts : tuple of str
        The verdicts.
    parts : tuple of str
        The functions of the file.
    """

    name: str
    verdicts: tuple
    parts: tuple

    def control(self):
        """Return the file."""
        source = "import numpy as np\n\n\n" + "\n\n".join(self.parts)
        return Control("small", self.name, source)


OPEN = ("undecided",)
WRONG = ("wrong",)
NOT_OK = ("wrong", "undecided", "refused")
RIGHT = ("ok",)
SMALL = (
    Small(
        "a letter that is neither the input nor a word for the output",
        OPEN,
        (SIGMOID.format("x", "x"), "def sigmoid_prime(a):\n    return a * (1 - a)\n"),
    ),
    Small(
        "the same letter, and the derivative at the input",
        ("ok", "undecided"),
        (
            SIGMOID.format("x", "x"),
            "def sigmoid_prime(a):\n    s = sigmoid(a)\n    return s * (1 - s)\n",
        ),
    ),
    Small(
        "right for both readings",
        ("ok", "undecided"),
        (
            "def relu(x):\n    return np.maximum(x, 0)\n",
            "def relu_prime(a):\n    return (a > 0) * 1.0\n",
        ),
    ),
    Small(
        "wrong for both readings",
        NOT_OK,
        (TANH, "def tanh_prime(a):\n    return 1 - a ** 3\n"),
    ),
    Small(
        "sigmoid of z, with the derivative of the output at z",
        WRONG,
        (SIGMOID.format("z", "z"), "def sigmoid_prime(z):\n    return z * (1 - z)\n"),
    ),
    Small(
        "tanh of x, with the derivative of the output at x",
        WRONG,
        (TANH, "def tanh_prime(x):\n    return 1 - x ** 2\n"),
    ),
    Small(
        "the same with inputs",
        WRONG,
        (
            TANH,
            "def tanh_prime(x):\n    return 1 - x ** 2\n",
            "def check_inputs():\n    return {'x': np.array([0.3, -0.8, 1.2])}\n",
        ),
    ),
    Small(
        "a word for the output",
        RIGHT,
        (TANH, "def tanh_prime(output):\n    return 1 - output ** 2\n"),
    ),
    Small(
        "a word for the output, and the derivative at the input",
        NOT_OK,
        (TANH, "def tanh_prime(out):\n    return 1 - np.tanh(out) ** 2\n"),
    ),
    Small(
        "the name of the output in the forward",
        RIGHT,
        (
            "def tanh(x):\n    t = np.tanh(x)\n    return t\n",
            "def tanh_prime(t):\n    return 1 - t ** 2\n",
        ),
    ),
    Small(
        "exp is not its argument",
        WRONG,
        ("def exp(x):\n    return np.exp(x)\n", "def exp_grad(x):\n    return x\n"),
    ),
    Small(
        "a mean that nobody took",
        WRONG,
        (SQUARE, "def square_grad(x):\n    return 2 * x / x.size\n"),
    ),
    Small(
        "a mean over rows that nobody took",
        WRONG,
        (SQUARE, "def square_grad(x):\n    return 2 * x / len(x)\n"),
    ),
    Small(
        "a mean that the forward took",
        RIGHT,
        (
            "def mean_square(x):\n    return np.mean(x ** 2)\n",
            "def mean_square_grad(x):\n    return 2 * x / x.size\n",
        ),
    ),
    Small(
        "a sum in the place of a mean",
        WRONG,
        (
            "def mean_square(x):\n    return np.mean(x ** 2)\n",
            "def mean_square_grad(x):\n    return 2 * x\n",
        ),
    ),
    Small(
        "a transpose is missing, and the backward raises",
        WRONG,
        (LINEAR, LINEAR_BACKWARD + "    return dout @ w, x.T @ dout, dout.sum(0)\n"),
    ),
    Small(
        "a gradient is missing",
        NOT_OK,
        (LINEAR, LINEAR_BACKWARD + "    return dout @ w.T, x.T @ dout\n"),
    ),
    Small(
        "one gradient too many",
        NOT_OK,
        (LINEAR, LINEAR_BACKWARD + "    return dout @ w.T, x.T @ dout, dout.sum(0), dout\n"),
    ),
    Small(
        "gradients exchanged",
        WRONG,
        (LINEAR, LINEAR_BACKWARD + "    return x.T @ dout, dout @ w.T, dout.sum(0)\n"),
    ),
    Small(
        "a bias gradient that is a mean",
        WRONG,
        (LINEAR, LINEAR_BACKWARD + "    return dout @ w.T, x.T @ dout, dout.mean(0)\n"),
    ),
    Small(
        "gradients of a layer divided by the number of examples",
        WRONG,
        (
            LINEAR,
            LINEAR_BACKWARD + "    return dout @ w.T, x.T @ dout / len(x), dout.sum(0) / len(x)\n",
        ),
    ),
    Small(
        "the sign of the labels",
        WRONG,
        (MSE, "def mse_grad(pred, target):\n    return 2 * (target - pred) / pred.size\n"),
    ),
    Small(
        "a constant inside a logarithm is left out",
        WRONG,
        (
            "def nll(p):\n    return -np.log(p + 1e-3)\n",
            "def nll_grad(p):\n    return -1 / p\n",
            "def check_inputs():\n    return {'p': np.array([0.1, 0.4, 0.02])}\n",
        ),
    ),
    Small(
        "the epsilon outside the root",
        WRONG,
        (
            "def norm(x):\n    s = np.sqrt((x ** 2).sum(1, keepdims=True) + 1e-2)\n"
            "    return x / s, x\n",
            "def norm_backward(dout, x):\n"
            "    s = np.sqrt((x ** 2).sum(1, keepdims=True)) + 1e-2\n    h = x / s\n"
            "    return (dout - h * (dout * h).sum(1, keepdims=True)) / s\n",
        ),
    ),
    Small(
        "a flag whose derivative is that of the output",
        WRONG,
        (
            "def sigmoid(x, deriv=False):\n    if deriv:\n        return x * (1 - x)\n"
            "    return 1 / (1 + np.exp(-x))\n",
        ),
    ),
    Small(
        "a loss of probabilities, with the gradient of the scores",
        NOT_OK,
        (
            "def cross_entropy(probs, labels):\n"
            "    return -np.log(probs[np.arange(len(labels)), labels]).mean()\n",
            "def cross_entropy_grad(probs, labels):\n    grad = probs.copy()\n"
            "    grad[np.arange(len(labels)), labels] -= 1\n    return grad / len(labels)\n",
        ),
    ),
    Small(
        "a parameter without a gradient",
        NOT_OK,
        (
            "class Scale:\n    def __init__(self, dim):\n        self.g = np.ones(dim)\n\n"
            "    def forward(self, x):\n        self.x = x\n        return self.g * x\n\n"
            "    def backward(self, dout):\n        return self.g * dout\n",
        ),
    ),
    Small(
        "noise that needs no gradient",
        RIGHT,
        (
            "def sample(eps, mu, log_sigma):\n"
            "    return mu + np.exp(log_sigma) * eps, (eps, log_sigma)\n",
            "def sample_vjp(dout, cache):\n    eps, log_sigma = cache\n"
            "    return dout * np.exp(log_sigma), dout, dout * eps * np.exp(log_sigma)\n",
        ),
    ),
)
