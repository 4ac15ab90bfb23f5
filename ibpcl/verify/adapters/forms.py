"""One table of the forms of code that the checker reads, and the conversion to a :class:`Pair`."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ibpcl.verify.adapters import closure, expression, function, layer, loss, product, static
from ibpcl.verify.adapters.arguments import Code
from ibpcl.verify.adapters.pair import Adapted, Pair
from ibpcl.verify.adapters.refusals import FormError


class Form(NamedTuple):
    """A form of code.

    Attributes
    ----------
    name : str
        Its name.
    recognise : callable
        ``recognise(code)`` returns the pair, or None if the code has another form.
    needs : str
        What the code must have to be read in this form.
    example : str
        A file in this form.
    """

    name: str
    recognise: Callable
    needs: str
    example: str


# The first form that recognises the code reads it.
FORMS = (
    Form(
        "expression of recorded objects",
        expression.recognise,
        "inputs that are objects with a value, a `grad` and a method `backward()`",
        """class Value:
    def __init__(self, data):
        self.data = data
        self.grad = 0.0
        self.parents = ()

    def __mul__(self, other):
        out = Value(self.data * other.data)
        out.parents = ((self, other.data), (other, self.data))
        return out

    def backward(self, upstream=1.0):
        self.grad += upstream
        for parent, local in self.parents:
            parent.backward(upstream * local)


def expression(a, b):
    return a * b * a


def check_inputs():
    return {"a": Value(0.5), "b": Value(-2.0)}
""",
    ),
    Form(
        "Jacobian-vector or Hessian-vector product",
        product.recognise,
        "a function beside the forward whose name has `jvp` or `hvp`",
        """import numpy as np


def sine(x):
    return np.sin(x)


def sine_jvp(x, dx):
    return np.cos(x) * dx
""",
    ),
    Form(
        "static functions with a context",
        static.recognise,
        "a class whose static `forward` and `backward` take `ctx` first",
        """import numpy as np


class Square:
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dout):
        (x,) = ctx.saved_tensors
        return 2 * x * dout
""",
    ),
    Form(
        "layer",
        layer.recognise,
        "a class, or an object of it, with a forward and a backward method; the gradients of the "
        "parameters are returned, or stored under a name such as `dW`, `grads['W']` or `W.grad`",
        """import numpy as np


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
""",
    ),
    Form(
        "output with a function for the gradient",
        closure.recognise,
        "a function that returns its output and a function of `dout`",
        """import numpy as np


def scaled(x, w):
    def pull(dout):
        return dout * w, dout * x

    return x * w, pull
""",
    ),
    Form(
        "loss with its gradient",
        loss.recognise,
        "a function or method that returns the loss first and then gradients with usual names, "
        "such as `return loss, dw`",
        """import numpy as np


def squared_error(w, x, y):
    error = x @ w - y
    loss = np.mean(error**2)
    dw = 2 * x.T @ error / len(y)
    return loss, dw
""",
    ),
    Form(
        "function with cache",
        function.recognise,
        "two functions whose names differ by a word such as `vjp`, `backward` or `grad`, or by "
        "`forward` and `backward`; the second takes `dout` and the cache, the inputs or the output",
        """import numpy as np


def affine_forward(x, w, b):
    return x @ w + b, (x, w)


def affine_backward(dout, cache):
    x, w = cache
    return dout @ w.T, x.T @ dout, dout.sum(axis=0)
""",
    ),
    Form(
        "derivative by its name",
        function.recognise,
        "two functions whose names differ by a word such as `prime`, `derivative` or `deriv`, or "
        "one function with a flag such as `derivative=False`; also methods that read no attribute",
        """import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sigmoid_prime(x):
    return sigmoid(x) * (1 - sigmoid(x))
""",
    ),
)


def opened(f, f_vjp, inputs, wrt=None, names=None, output=None):
    """Return code of any form as a pair, or None if it has the standard form.

    Parameters
    ----------
    f : callable, object or class
        A forward, an object with a forward and a backward, or a function that returns a loss and
        its gradient.
    f_vjp : callable or None
        The gradient function, if there is one.
    inputs : dict, sequence or ndarray
        The inputs of the forward.
    wrt : sequence of int or str, optional
        The inputs to differentiate.  By default, all with a gradient.
    names : sequence of str, optional
        Names of the inputs.  By default, the parameter names of the forward.
    output : bool, optional
        Whether the gradient function takes the output of the forward (True) or its input (False),
        if the names of its parameters leave both.

    Returns
    -------
    Pair or None
        None for the standard form ``out, cache = f(*inputs)`` and ``f_vjp(dout, cache)``.

    Raises
    ------
    FormError
        If the form is not recognized or the forward raises.  The message contains the expected form
        and a call that works.
    """
    if isinstance(f, Pair):
        return _chosen(f, wrt)
    if f_vjp is not None and not callable(f_vjp):
        raise FormError(
            "the second argument is the gradient function or, for a class or a function "
            f"that returns a loss and its gradient, the inputs; got {type(f_vjp).__name__}; calls "
            "that work: ibpcl.check(f, f_vjp, (x, w)), ibpcl.check(layer, x)"
        )
    if f_vjp is not None and not callable(f):
        raise FormError(
            f"f must be a function or an object with a forward, got {type(f).__name__}; "
            "a call that works: ibpcl.check(f, f_vjp, (x, w))"
        )
    code = Code(f, f_vjp, inputs, names, output)
    is_pair = f_vjp is not None and product.kind_of(function.title_of(f_vjp)) is None
    if is_pair and function.is_standard(code, wrt):
        return None
    return recognised(code, wrt)


def recognised(code, wrt=None):
    """Return code of any form as a pair.

    Parameters
    ----------
    code : Code
        The code with its inputs.
    wrt : sequence of int or str, optional
        The inputs to differentiate.  By default, all with a gradient.

    Returns
    -------
    Pair
        As the first form of :data:`FORMS` reads it.

    Raises
    ------
    FormError
        If no form fits, or the forward raises.
    """
    for form in FORMS:
        pair = form.recognise(code)
        if pair is not None:
            return _chosen(pair, wrt)
    raise FormError(
        f"{function.title_of(code.forward)} has no forward with a backward; a class needs methods "
        "out = layer.forward(x) and dx = layer.backward(dout), and is called as "
        "ibpcl.check(layer, x)"
    )


def _chosen(pair, wrt):
    """Return a pair with only the gradients that ``wrt`` names.

    An entry of ``wrt`` is a name, or the beginning of the names of nested arrays.
    """
    if wrt is None:
        return pair
    wanted = [wrt] if isinstance(wrt, (str, int)) else list(wrt)
    wanted = [
        pair.names[item] if isinstance(item, int) and item < len(pair.names) else item
        for item in wanted
    ]

    def is_named(name, item):
        return name == item or (bool(str(item)) and name.startswith((f"{item}[", f"{item}.")))

    missing = [item for item in wanted if not any(is_named(name, item) for name in pair.wrt)]
    if missing:
        raise FormError(
            f"wrt names {missing[0]!r}; gradients were found for {', '.join(pair.wrt) or 'none'}"
        )
    selected = [
        n for n, name in enumerate(pair.wrt) if any(is_named(name, item) for item in wanted)
    ]
    return replace(
        pair,
        backward=Adapted(
            pair.backward, lambda source, *arguments: tuple(source(*arguments)[n] for n in selected)
        ),
        wrt=tuple(pair.wrt[n] for n in selected),
        unjudged=(),
        alternatives=tuple(_chosen(other, wrt) for other in pair.alternatives),
    )
