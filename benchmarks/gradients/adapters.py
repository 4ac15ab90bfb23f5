"""Gradient checkers of several libraries, with one interface.

Each adapter takes ``(f, f_vjp, inputs, wrt)`` and returns a
:class:`~benchmarks.gradients.Verdict`.  Every checker uses its default settings.  SciPy has no
default tolerance, so one is set here.  A library that is not installed is left out.
"""

import importlib.util
import logging

import numpy as np

from benchmarks.gradients import Verdict
from ibpcl.verify.check import check
from ibpcl.verify.derivative.problem import make_problem

# scipy returns the norm of the difference; this tolerance is relative to the gradient.
SCIPY_LIMIT = 1e-5


def ibpcl(f, f_vjp, inputs, wrt):
    """Return the verdict of :func:`ibpcl.verify.check`.

    Parameters
    ----------
    f : callable
        Forward function.
    f_vjp : callable
        Gradient function.
    inputs : tuple or dict
        The inputs of ``f``.
    wrt : sequence of int or str, or None
        The inputs whose gradients ``f_vjp`` returns; None for all floating-point inputs.

    Returns
    -------
    Verdict
        With kinds, and notes on side effects.
    """
    try:
        report = check(f, f_vjp, inputs, wrt)
    except (ValueError, TypeError) as error:
        return Verdict(True, {}, str(error))
    wrong = {item.name: item.kind for item in report.inputs if item.verdict == "wrong"}
    noted = tuple(habit.kind for habit in getattr(report, "habits", ()))
    return Verdict(report.verdict == "wrong", wrong, str(report), noted)


class Flat:
    """A pair as functions of the differentiated inputs alone, for checkers without caches.

    Parameters
    ----------
    f : callable
        Forward function.
    f_vjp : callable
        Gradient function.
    inputs : tuple or dict
        The inputs of ``f``.
    wrt : sequence of int or str, or None
        The inputs whose gradients ``f_vjp`` returns; None for all floating-point inputs.

    Attributes
    ----------
    problem : Problem
        The pair and the point.
    start : list of ndarray
        The differentiated inputs.
    single : bool
        Whether the forward has one output.
    """

    def __init__(self, f, f_vjp, inputs, wrt):
        self.problem = make_problem(f, f_vjp, inputs, wrt)
        self.start = [np.asarray(self.problem.point[j], dtype=float) for j in self.problem.wrt]
        self.single = len(self.problem.call()[0]) == 1

    def point(self, values):
        """Return all inputs with other values of the differentiated ones.

        Parameters
        ----------
        values : sequence of ndarray
            One value for each differentiated input.

        Returns
        -------
        list
            All inputs.
        """
        point = list(self.problem.point)
        for j, value in zip(self.problem.wrt, values, strict=True):
            point[j] = np.array(value) if np.ndim(value) else float(value)
        return point

    def out(self, *values):
        """Return the outputs as one vector.

        Parameters
        ----------
        *values : ndarray
            One value for each differentiated input.

        Returns
        -------
        ndarray, shape (M,)
            The outputs.
        """
        return self.problem.vector(self.point(values))

    def vjp(self, w, *values):
        """Return the gradients of ``sum(w * out)`` as float arrays.

        Parameters
        ----------
        w : ndarray, shape (M,)
            Cotangent of the outputs.
        *values : ndarray
            One value for each differentiated input.

        Returns
        -------
        list of ndarray
            The gradients, in the shapes in which the pair returns them.

        Raises
        ------
        ValueError
            If their number is not that of the differentiated inputs.
        """
        gradients = self.problem.gradients(np.asarray(w), self.point(values))
        if len(gradients) != len(self.problem.wrt):
            raise ValueError("the number of gradients differs from that of the inputs")
        return [np.asarray(gradient, dtype=float) for gradient in gradients]


def torch(f, f_vjp, inputs, wrt):
    """Return the verdict of ``torch.autograd.gradcheck`` on the pair.

    Parameters
    ----------
    f : callable
        Forward function.
    f_vjp : callable
        Gradient function.
    inputs : tuple or dict
        The inputs of ``f``.
    wrt : sequence of int or str, or None
        The inputs whose gradients ``f_vjp`` returns; None for all floating-point inputs.

    Returns
    -------
    Verdict
        Without kinds.

    Raises
    ------
    RuntimeError
        If the checker cannot judge the pair.
    """
    import torch

    flat = Flat(f, f_vjp, inputs, wrt)

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            ctx.save_for_backward(*tensors)
            return torch.from_numpy(
                np.array(flat.out(*(t.detach().numpy() for t in tensors)), dtype=float)
            )

        @staticmethod
        def backward(ctx, grad):
            gradients = flat.vjp(
                grad.detach().numpy(), *(t.detach().numpy() for t in ctx.saved_tensors)
            )
            return tuple(torch.from_numpy(np.array(item)) for item in gradients)

    tensors = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in flat.start]
    try:
        return Verdict(not torch.autograd.gradcheck(Pair.apply, tensors))
    except RuntimeError as error:
        if type(error).__name__ != "GradcheckError" and "invalid gradient" not in str(error):
            raise  # not a verdict: the checker cannot judge the pair
        return Verdict(True, None, str(error))


def jax(f, f_vjp, inputs, wrt):
    """Return the verdict of ``jax.test_util.check_grads`` on the pair.

    Parameters
    ----------
    f : callable
        Forward function.
    f_vjp : callable
        Gradient function.
    inputs : tuple or dict
        The inputs of ``f``.
    wrt : sequence of int or str, or None
        The inputs whose gradients ``f_vjp`` returns; None for all floating-point inputs.

    Returns
    -------
    Verdict
        Without kinds.  Other exceptions than those about wrong shapes are passed on.
    """
    import jax
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    # jax logs exceptions in callbacks
    logging.getLogger("jax._src.callback").setLevel(logging.CRITICAL)
    flat = Flat(f, f_vjp, inputs, wrt)
    shape = jax.ShapeDtypeStruct(flat.out(*flat.start).shape, np.float64)
    shapes = [jax.ShapeDtypeStruct(np.shape(value), np.float64) for value in flat.start]

    @jax.custom_vjp
    def function(*values):
        return jax.pure_callback(
            lambda *v: np.asarray(flat.out(*map(np.asarray, v)), dtype=float), shape, *values
        )

    def backward(values, w):
        return tuple(
            jax.pure_callback(
                lambda w, *v: flat.vjp(np.asarray(w), *map(np.asarray, v)), shapes, w, *values
            )
        )

    function.defvjp(lambda *values: (function(*values), values), backward)
    try:
        check_grads(function, tuple(flat.start), order=1, modes=["rev"])
    except AssertionError as error:
        return Verdict(True, None, str(error))
    except Exception as error:  # a gradient of a wrong shape: XlaRuntimeError
        if "shape" not in str(error).lower() and "number of gradients" not in str(error):
            raise
        return Verdict(True, None, str(error))
    return Verdict(False)


def scipy(f, f_vjp, inputs, wrt):
    """Return the verdict of ``scipy.optimize.check_grad`` on a random combination of the outputs.

    Parameters
    ----------
    f : callable
        Forward function.
    f_vjp : callable
        Gradient function.
    inputs : tuple or dict
        The inputs of ``f``.
    wrt : sequence of int or str, or None
        The inputs whose gradients ``f_vjp`` returns; None for all floating-point inputs.

    Returns
    -------
    Verdict
        Without kinds.
    """
    from scipy.optimize import check_grad

    flat = Flat(f, f_vjp, inputs, wrt)
    sizes = np.cumsum([value.size for value in flat.start])[:-1]
    shapes = [value.shape for value in flat.start]
    w = np.random.default_rng(0).standard_normal(flat.out(*flat.start).shape)

    def values(x):
        return [part.reshape(shape) for part, shape in zip(np.split(x, sizes), shapes, strict=True)]

    def gradient(x):
        return np.concatenate([item.ravel() for item in flat.vjp(w, *values(x))])

    start = np.concatenate([value.ravel() for value in flat.start])
    claimed = gradient(start)
    if claimed.shape != start.shape:
        return Verdict(True, None, f"a gradient of shape {claimed.shape} for {start.shape}")
    error = check_grad(lambda x: float(w @ flat.out(*values(x))), gradient, start)
    return Verdict(
        not error <= SCIPY_LIMIT * (1 + np.linalg.norm(claimed)), None, f"error {error:.1e}"
    )


def autograd(f, f_vjp, inputs, wrt):
    """Return the verdict of ``autograd.test_util.check_grads`` on the pair.

    Parameters
    ----------
    f : callable
        Forward function.
    f_vjp : callable
        Gradient function.
    inputs : tuple or dict
        The inputs of ``f``.
    wrt : sequence of int or str, or None
        The inputs whose gradients ``f_vjp`` returns; None for all floating-point inputs.

    Returns
    -------
    Verdict
        Without kinds.
    """
    from autograd.extend import defvjp, primitive
    from autograd.test_util import check_grads

    flat = Flat(f, f_vjp, inputs, wrt)
    function = primitive(lambda *values: flat.out(*values))

    def pulled(n):
        return lambda out, *values: lambda w: flat.vjp(w, *values)[n]

    defvjp(function, *(pulled(n) for n in range(len(flat.start))))
    start = [float(value) if value.ndim == 0 else value for value in flat.start]
    try:
        for n in range(len(start)):  # the checker differentiates one argument at a time
            check_grads(function, n, modes=["rev"], order=1)(*start)
    except AssertionError as error:
        return Verdict(True, None, str(error))
    return Verdict(False)


CHECKERS = {
    "ibpcl.check": ("ibpcl", ibpcl),
    "torch.autograd.gradcheck": ("torch", torch),
    "jax.test_util.check_grads": ("jax", jax),
    "scipy.optimize.check_grad": ("scipy", scipy),
    "autograd.test_util.check_grads": ("autograd", autograd),
}


def installed():
    """Return the checkers whose library is installed, by name."""
    return {
        name: checker
        for name, (library, checker) in CHECKERS.items()
        if importlib.util.find_spec(library)
    }
