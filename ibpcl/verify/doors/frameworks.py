"""Functions with hand-written gradients in PyTorch, JAX and HIPS autograd.

They are called with arrays of the framework and return NumPy arrays, so that the checker can treat
them like any other pair.  Frameworks do not accept complex numbers from NumPy, so the derivative is
measured by differences.
"""

import inspect
import sys

import numpy as np

from ibpcl.verify.doors.arguments import named
from ibpcl.verify.doors.pair import Adapted, Pair
from ibpcl.verify.doors.pairs import usage
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.signatures import parameters_of
from ibpcl.verify.doors.target import Target


def pair_of_framework(function, inputs, names=None):
    """Return the pair of a framework's function.

    Parameters
    ----------
    function : object
        A subclass of ``torch.autograd.Function``, a ``jax.custom_vjp``, or a primitive of autograd
        with ``defvjp``.
    inputs : dict, sequence or ndarray
        The inputs of the function.
    names : sequence of str, optional
        Names of the inputs.

    Returns
    -------
    Pair or None
        None if the object is not such a function.

    Raises
    ------
    FormError
        If the function raises, or no input is floating-point.
    """
    for library, is_one, opened in (
        ("torch", _is_torch, _torch),
        ("jax", _is_jax, _jax),
        ("autograd", _is_autograd, _autograd),
    ):
        if library in sys.modules and is_one(function):
            given, _ = named(inputs, forward_parameters(function), names)
            try:
                return opened(function, given)
            except FormError:
                raise
            except (Exception, SystemExit) as error:
                title = getattr(function, "__name__", "f")
                raise FormError(
                    f"check: {raised(error, title)}; a call that works: ibpcl.check({title}, "
                    f"({', '.join(given)},)) with NumPy arrays"
                ) from error
    return None


def is_framework_function(value):
    """Return whether an object is a framework's function with a custom gradient.

    Parameters
    ----------
    value : object
        Any object.

    Returns
    -------
    bool
        False if the framework has not been imported.
    """
    return (
        ("torch" in sys.modules and _is_torch(value))
        or ("jax" in sys.modules and _is_jax(value))
        or ("autograd" in sys.modules and _is_autograd(value))
    )


def forward_parameters(function):
    """Return the parameters of the forward of a framework's function, without a context.

    Parameters
    ----------
    function : object
        A framework's function.

    Returns
    -------
    Parameters
        The parameters.
    """
    source, skip = forward_of(function)
    return parameters_of(source, skip)


def forward_of(function):
    """Return the user's forward of a framework's function.

    Parameters
    ----------
    function : object
        A framework's function.

    Returns
    -------
    source : callable
        The forward.
    skip : int
        Number of leading parameters that are not inputs: 1 for a context, else 0.
    """
    if inspect.isclass(function):
        return function.forward, 0 if _has_setup_context(function) else 1
    return getattr(function, "fun", getattr(function, "__wrapped__", function)), 0


def targets_in(module):
    """Return the targets of a module that belong to a framework.

    Parameters
    ----------
    module : module
        The module.

    Returns
    -------
    dict of str to Target
        The targets by name.
    """
    targets = {}
    for name, value in vars(module).items():
        if module.__name__ in (
            getattr(value, "__module__", None),
            getattr(getattr(value, "fun", None), "__module__", None),
        ) and is_framework_function(value):
            parts = (getattr(value, "fwd", None), getattr(value, "bwd", None))
            targets[name] = Target(
                name,
                "framework",
                value,
                aliases=tuple(part.__name__ for part in parts if inspect.isfunction(part)),
            )
    return targets


def _is_torch(value):
    import torch

    return inspect.isclass(value) and issubclass(value, torch.autograd.Function)


def _has_setup_context(function):
    import torch

    return function.setup_context is not torch.autograd.Function.setup_context


def _is_jax(value):
    import jax

    return isinstance(value, jax.custom_vjp)


def _is_autograd(value):
    if "autograd.core" not in sys.modules:
        return False
    from autograd.core import primitive_vjps

    try:
        return value in primitive_vjps
    except TypeError:  # not hashable
        return False


def _torch(function, given):
    import torch

    def tensors(values):
        return [
            torch.tensor(value, dtype=torch.float64, requires_grad=True)
            if _moves(value)
            else torch.tensor(value)
            if isinstance(value, np.ndarray)
            else value
            for value in values
        ]

    def forward(source, *values):
        arguments = tensors(values)
        out = function.apply(*arguments)
        several = isinstance(out, (tuple, list))
        arrays = tuple(part.detach().numpy() for part in (out if several else (out,)))
        return arrays if several else arrays[0], (arguments, out)

    def backward(source, dout, cache):
        arguments, out = cache
        outputs = out if isinstance(out, (tuple, list)) else (out,)
        douts = dout if isinstance(dout, tuple) else (dout,)
        wanted = [item for item in arguments if torch.is_tensor(item) and item.requires_grad]
        gradients = torch.autograd.grad(
            outputs,
            wanted,
            [torch.tensor(np.array(part), dtype=torch.float64) for part in douts],
            allow_unused=True,
            retain_graph=True,
        )
        return tuple(None if item is None else item.detach().numpy() for item in gradients)

    return _pair(function.forward, function.backward, forward, backward, given)


def _jax(function, given):
    import jax

    jax.config.update("jax_enable_x64", True)

    def forward(source, *values):
        out, pull = jax.vjp(
            function, *(jax.numpy.asarray(value) if _moves(value) else value for value in values)
        )
        several = isinstance(out, (tuple, list))
        return tuple(map(np.asarray, out)) if several else np.asarray(out), (pull, several)

    def backward(source, dout, cache):
        pull, several = cache
        gradients = pull(
            tuple(map(jax.numpy.asarray, dout)) if several else jax.numpy.asarray(dout)
        )
        return tuple(
            np.asarray(item)
            for item, value in zip(gradients, given.values(), strict=True)
            if _moves(value)
        )

    return _pair(function.fun, getattr(function, "bwd", None) or function, forward, backward, given)


def _autograd(function, given):
    from autograd import make_vjp

    moved = [n for n, value in enumerate(given.values()) if _moves(value)]

    def forward(source, *values):
        values = [
            float(value) if np.ndim(value) == 0 and _moves(value) else value for value in values
        ]
        pulls = [make_vjp(function, n)(*values) for n in moved]
        out = pulls[0][1] if pulls else function(*values)
        return np.asarray(out), [pull for pull, _ in pulls]

    def backward(source, dout, pulls):
        return tuple(np.asarray(pull(dout)) for pull in pulls)

    return _pair(getattr(function, "fun", function), function, forward, backward, given)


def _pair(source, gradient, forward, backward, given):
    moved = tuple(name for name, value in given.items() if _moves(value))
    if not moved:
        raise FormError(
            f"check: no floating-point input to differentiate; {usage(source, gradient, given)}"
        )
    return Pair(
        Adapted(source, forward),
        Adapted(gradient, backward),
        tuple(given),
        (source, gradient),
        None,
        tuple(given.values()),
        moved,
    )


def _moves(value):
    return isinstance(value, float) or (
        isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f"
    )
