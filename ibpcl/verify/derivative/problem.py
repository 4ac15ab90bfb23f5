"""One interface to a forward function, its gradient, and the point of the check.

Pairs differ in many ways: one output or several, arrays or plain numbers, inputs by position or by
name, some of them differentiated and some not.  :class:`Problem` hides these differences.  The rest
of the checker sees a function from arrays to one long vector.
"""

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ibpcl.verify.derivative.clock import Clock


def is_float(value):
    """Return whether a value is a real floating-point number or array.

    Parameters
    ----------
    value : object
        Any value.

    Returns
    -------
    bool
        False for integers, complex numbers and strings.
    """
    return not isinstance(value, (str, bytes)) and np.asarray(value).dtype.kind == "f"


@dataclass(frozen=True)
class Problem:
    """A pair ``out, cache = f(*point)`` and ``gradients = f_vjp(dout, cache)`` at a point.

    Attributes
    ----------
    f : callable
        Forward function.
    f_vjp : callable
        Gradient function.
    point : tuple
        The inputs; floating-point inputs as float64.
    names : tuple of str
        Names of the inputs.
    wrt : tuple of int
        Positions of the inputs whose gradients ``f_vjp`` returns, in its order.
    native : tuple
        The inputs as the user passed them.
    keywords : frozenset of str
        Names of inputs that ``f`` takes by keyword only.
    clock : Clock
        Time limit, which is tested at every forward call.
    renewed : bool
        Whether each backward call needs a separate forward call just before it.
    shared : bool
        Whether one forward call may serve several backward calls: calls in several ways have shown
        no side effects.
    """

    f: Callable
    f_vjp: Callable
    point: tuple
    names: tuple
    wrt: tuple
    native: tuple
    keywords: frozenset = frozenset()
    clock: Clock = field(default_factory=Clock)
    renewed: bool = False
    shared: bool = False

    def at(self, point):
        """Return the same pair at another point.

        Parameters
        ----------
        point : sequence
            All inputs.

        Returns
        -------
        Problem
            A new problem.
        """
        return replace(self, point=tuple(point))

    def with_forward(self, f):
        """Return the problem with another forward function.

        Parameters
        ----------
        f : callable
            Forward function.

        Returns
        -------
        Problem
            A new problem.
        """
        return replace(self, f=f, shared=False)

    def with_gradient(self, f_vjp):
        """Return the problem with another gradient function.

        Parameters
        ----------
        f_vjp : callable
            Gradient function.

        Returns
        -------
        Problem
            A new problem.
        """
        return replace(self, f_vjp=f_vjp, shared=False)

    def with_input(self, j, value):
        """Return the point with one input replaced.

        Parameters
        ----------
        j : int
            Position of the input.
        value : ndarray or float
            Its new value.

        Returns
        -------
        tuple
            All inputs.
        """
        return (*self.point[:j], value, *self.point[j + 1 :])

    def called_as(self, other):
        """Return the problem with the functions of another one, at its own point.

        Parameters
        ----------
        other : Problem
            The same pair, called in another way.

        Returns
        -------
        Problem
            A new problem.
        """
        return replace(self, f=other.f, renewed=other.renewed, shared=other.shared)

    def size(self, j):
        """Return the number of entries of an input.

        Parameters
        ----------
        j : int
            Position of the input.

        Returns
        -------
        int
            1 for a number.
        """
        return np.size(self.point[j])

    def shape(self, j):
        """Return the shape of an input.

        Parameters
        ----------
        j : int
            Position of the input.

        Returns
        -------
        tuple of int
            Its shape; empty for a number.
        """
        return np.shape(self.point[j])

    def call(self, point=None):
        """Call the forward function on copies of the inputs.

        Parameters
        ----------
        point : sequence, optional
            All inputs.  By default, those of the problem.

        Returns
        -------
        outputs : tuple of ndarray
            The outputs.
        several : bool
            Whether the forward returned a tuple of outputs.
        cache : object
            The cache for the gradient function.

        Raises
        ------
        TypeError
            If the forward does not return ``(out, cache)``.
        TimeUp
            If the time limit has passed.
        """
        point = self.point if point is None else point
        return self.forward([np.array(v) if isinstance(v, np.ndarray) else v for v in point])

    def forward(self, point):
        """Call the forward function on the inputs themselves, which it may overwrite.

        Parameters
        ----------
        point : sequence
            All inputs.

        Returns
        -------
        outputs : tuple of ndarray
            The outputs.
        several : bool
            Whether the forward returned a tuple of outputs.
        cache : object
            The cache for the gradient function.

        Raises
        ------
        TypeError
            If the forward does not return ``(out, cache)``.
        TimeUp
            If the time limit has passed.
        """
        self.clock.tick()
        named = list(zip(self.names, point, strict=True))
        result = self.f(
            *(value for name, value in named if name not in self.keywords),
            **{name: value for name, value in named if name in self.keywords},
        )
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(f"check: f must return (out, cache), got {type(result).__name__}")
        out, cache = result
        several = isinstance(out, (tuple, list))
        return tuple(np.asarray(part) for part in (out if several else (out,))), several, cache

    def vector(self, point=None):
        """Return all outputs as one vector, with zeros for outputs that are not floating-point.

        Parameters
        ----------
        point : sequence, optional
            All inputs.  By default, those of the problem.

        Returns
        -------
        ndarray, shape (M,)
            The flattened outputs, one after another.
        """
        return _joined(self.call(point)[0])

    @cached_property
    def base(self):
        """Result of :meth:`call` at the point, from a single call of the forward."""
        return self.call()

    @cached_property
    def value(self):
        """All outputs at the point as one vector, from the same call."""
        return _joined(self.base[0])

    def function_of(self, j):
        """Return the map from one input to the vector of outputs.

        Parameters
        ----------
        j : int
            Position of the input.

        Returns
        -------
        function : callable
            ``function(value)`` returns an array of shape (M,).  If the forward rejects a shifted
            real input (outside its domain, not positive definite, not summing to one), the array is
            NaN, so that differences retry with smaller steps.  Exceptions for complex inputs are
            not caught.
        """

        def function(value):
            try:
                return self.vector(self.with_input(j, value))
            except (ValueError, ArithmeticError, AssertionError, LookupError):
                if np.iscomplexobj(value):
                    raise
                return np.full(self.value.shape, np.nan)

        return function

    def restricted(self, j):
        """Return the map from one input to the outputs, and the point of the check.

        Parameters
        ----------
        j : int
            Position of the input.

        Returns
        -------
        function : callable
            As :meth:`function_of` returns it.
        x : ndarray
            Value of the input.
        """
        return self.function_of(j), np.asarray(self.point[j])

    def gradients(self, w, point=None):
        """Return the gradients for a cotangent vector.

        Parameters
        ----------
        w : ndarray, shape (M,)
            Cotangent of the vector of outputs.
        point : sequence, optional
            All inputs.  By default, those of the problem.

        Returns
        -------
        tuple
            The gradients as ``f_vjp`` returned them, in the order of ``wrt``.
        """
        return self.pulled(w, lambda dout: dout, point)

    def pulled(self, w, change, point=None):
        """Return the gradients for a cotangent whose arrays are modified before the call.

        Parameters
        ----------
        w : ndarray, shape (M,)
            Cotangent of the vector of outputs.
        change : callable
            ``change(array)`` is applied to the cotangent of each output.
        point : sequence, optional
            All inputs.  By default, those of the problem.

        Returns
        -------
        tuple
            The gradients as ``f_vjp`` returned them, in the order of ``wrt``.
        """
        shared = self.shared and point is None
        outputs, several, cache = self.base if shared else self.call(point)
        dout = shaped_like(w, outputs, several)
        dout = tuple(map(change, dout)) if several else change(dout)
        return gradients_in_order(self.f_vjp(dout, cache), self)


def _joined(outputs):
    """Return outputs as one vector, with zeros for those that are not floating-point."""
    parts = [part.ravel() if part.dtype.kind in "fc" else np.zeros(part.size) for part in outputs]
    return np.concatenate(parts) if parts else np.zeros(0)


def shaped_like(w, outputs, several):
    """Split a cotangent vector into cotangents with the shapes of the outputs.

    Parameters
    ----------
    w : ndarray, shape (M,)
        Cotangent of the vector of outputs.
    outputs : sequence of ndarray
        The outputs, M numbers in total.
    several : bool
        Whether to return a tuple.

    Returns
    -------
    dout : ndarray, float or tuple
        The cotangent of the output, or a tuple with one for each output; zero for integer outputs.
    """
    parts = []
    start = 0
    for out in outputs:
        part = np.array(w[start : start + out.size]).reshape(out.shape)
        if out.dtype.kind not in "fc":
            part = np.zeros(out.shape)
        parts.append(part[()] if out.ndim == 0 else part)
        start += out.size
    return tuple(parts) if several else parts[0]


def as_tuple(value):
    """Return a value as a tuple; an array becomes a tuple of one.

    Parameters
    ----------
    value : object
        A tuple, a list, or any other value.

    Returns
    -------
    tuple
        The items, or the value itself as the only item.
    """
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def copied(value):
    """Return a deep copy of a cache.

    Parameters
    ----------
    value : object
        The cache.

    Returns
    -------
    object
        The copy.  Objects that cannot be copied, such as generators, are shared with the original.
    """
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(copied(item) for item in value)
    try:
        return copy.deepcopy(value)
    except Exception:  # generators, modules, locks
        return value


def gradients_in_order(gradients, problem):
    """Return the result of ``f_vjp`` as a tuple in the order of ``problem.wrt``.

    Parameters
    ----------
    gradients : object
        The result of ``f_vjp``.  The keys of a dict are matched with the names of the inputs.
    problem : Problem
        The pair and the point.

    Returns
    -------
    tuple
        The gradients.

    Raises
    ------
    TypeError
        For a generator, and for a dict whose keys are not the names of the inputs.
    """
    chosen = [problem.names[j] for j in problem.wrt]
    if isinstance(gradients, dict):
        keys = keys_by_name(gradients, chosen)
        if sum(name in keys for name in chosen) < len(chosen):
            raise TypeError(
                f"check: f_vjp returned a dict with the keys {', '.join(map(str, gradients))}, "
                f"but the inputs are {', '.join(chosen)}: use their names, or return a tuple"
            )
        return tuple(gradients[keys[name]] for name in chosen)
    if inspect.isgenerator(gradients) or isinstance(gradients, (map, zip, filter)):
        raise TypeError(
            f"check: f_vjp returned a {type(gradients).__name__}, which can be read only once: "
            f"return a tuple of arrays, {tuple_of(chosen)}"
        )
    return as_tuple(gradients)


def tuple_of(names):
    """Return a tuple of gradients as source code: ``(dx, dw)``.

    Parameters
    ----------
    names : sequence of str
        Names of the inputs.

    Returns
    -------
    str
        The source.
    """
    return f"({', '.join('d' + name for name in names)})"


def keys_by_name(gradients, names):
    """Return the keys of a dict of gradients, indexed by the input names that they may refer to.

    Parameters
    ----------
    gradients : dict
        Gradients by any keys, such as "dx", "grad_w" or "x".
    names : sequence of str
        Names of the inputs.

    Returns
    -------
    dict of str to object
        A key of ``gradients`` for each name.

    Examples
    --------
    >>> keys_by_name({"dx": 1, "grad_w": 2}, ["x", "w"])
    {'x': 'dx', 'dx': 'dx', 'w': 'grad_w'}
    """
    keys = {str(key).removeprefix("grad_").removeprefix("d_"): key for key in gradients}
    return {
        **{key.removeprefix("d"): original for key, original in keys.items() if key not in names},
        **keys,
    }


def make_problem(f, f_vjp, inputs, wrt=None, names=None, clock=None):
    """Build a :class:`Problem` from the arguments of :func:`ibpcl.verify.check`.

    Parameters
    ----------
    f : callable
        Forward function, ``out, cache = f(*inputs)``.
    f_vjp : callable
        Gradient function, ``f_vjp(dout, cache)``.
    inputs : tuple, list or dict
        The inputs of ``f``.
    wrt : sequence of int or str, optional
        The inputs whose gradients ``f_vjp`` returns.  By default, all floating-point inputs.
    names : sequence of str, optional
        Names of the inputs.  By default, the parameter names of ``f``.
    clock : Clock, optional
        Time limit.

    Returns
    -------
    Problem
        The pair and the point, with floating-point inputs as float64.

    Raises
    ------
    ValueError
        If names, ``wrt`` and inputs do not fit together, or no input is floating-point.
    TypeError
        If the inputs are neither a tuple, a list nor a dict.
    """
    parameters, keywords = _parameter_names(f)
    if isinstance(inputs, dict):
        keys = list(inputs)
        if set(keys) <= set(parameters):
            keys.sort(key=parameters.index)
        values = [inputs[key] for key in keys]
        labels = [str(key) for key in keys]
    elif isinstance(inputs, (tuple, list)):
        values = list(inputs)
        labels = (
            parameters[: len(values)]
            if len(parameters) >= len(values)
            else [f"input {j}" for j in range(len(values))]
        )
    else:
        raise TypeError(
            f"check: inputs must be a tuple, a list or a dict, got {type(inputs).__name__}"
        )
    if names is not None:
        if len(names) != len(values):
            raise ValueError(
                f"check: names must have one entry for each of {len(values)} inputs, got "
                f"{len(names)}"
            )
        labels = [str(name) for name in names]
    if wrt is None:
        chosen = tuple(j for j, value in enumerate(values) if is_float(value))
    else:
        chosen = tuple(
            _position(item, labels) for item in ((wrt,) if isinstance(wrt, (str, int)) else wrt)
        )
    if not chosen:
        raise ValueError(
            f"check: no floating-point input to differentiate among {', '.join(labels) or 'none'}"
        )
    point = tuple(_promoted(value, j in chosen) for j, value in enumerate(values))
    return Problem(
        f,
        f_vjp,
        point,
        tuple(labels),
        chosen,
        tuple(values),
        frozenset(keywords) & set(labels),
        clock or Clock(),
    )


def _promoted(value, differentiated):
    if differentiated or is_float(value):
        array = np.array(value, dtype=np.float64)
        return array if isinstance(value, np.ndarray) or array.ndim else array[()]
    return value


def _position(item, labels):
    if isinstance(item, str):
        if item not in labels:
            raise ValueError(
                f"check: wrt names {item!r}, which is not one of the inputs {', '.join(labels)}"
            )
        return labels.index(item)
    if not 0 <= int(item) < len(labels):
        raise ValueError(f"check: wrt must be in 0..{len(labels) - 1}, got {item}")
    return int(item)


def _parameter_names(f):
    """Return the names of all parameters of ``f``, and of its keyword-only parameters."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):  # built-in functions have no signature
        return [], []
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [], []
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    return [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ] + keywords, keywords
