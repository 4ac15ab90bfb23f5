"""A forward function, its gradient and the point at which they are compared, made uniform.

People write pairs in many ways: one output or several, arrays or plain numbers, inputs by position or by name,
some of them differentiated and some not.  :class:`Problem` hides that, so that the rest of the checker sees one
thing: a function from arrays to one long vector.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np


def is_float(value):
    """Tell whether ``value`` is a real floating-point number or array."""
    return not isinstance(value, (str, bytes)) and np.asarray(value).dtype.kind == "f"


@dataclass(frozen=True)
class Problem:
    """A pair ``f``, ``f_vjp`` at a point.

    Attributes
    ----------
    f, f_vjp : callable
        ``out, cache = f(*point)`` and ``gradients = f_vjp(dout, cache)``.
    point : tuple
        Inputs; the floating-point ones as float64.
    names : tuple of str
        One for each input.
    wrt : tuple of int
        Positions of the inputs whose gradients ``f_vjp`` returns, in its order.
    native : tuple
        Inputs as they were given.
    """

    f: Callable
    f_vjp: Callable
    point: tuple
    names: tuple
    wrt: tuple
    native: tuple

    def at(self, point):
        """Return the same pair at another point."""
        return replace(self, point=tuple(point))

    def with_input(self, j, value):
        """Return the point with input ``j`` replaced."""
        return (*self.point[:j], value, *self.point[j + 1:])

    def shape(self, j):
        """Return the shape of input ``j``."""
        return np.shape(self.point[j])

    def call(self, point=None):
        """Call the forward on copies: returns its outputs as a tuple of arrays, whether it was one, the cache."""
        point = self.point if point is None else point
        result = self.f(*(np.array(v) if isinstance(v, np.ndarray) else v for v in point))
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(f"check: f must return (out, cache), got {type(result).__name__}")
        out, cache = result
        several = isinstance(out, (tuple, list))
        return tuple(np.asarray(part) for part in (out if several else (out,))), several, cache

    def vector(self, point=None):
        """Return all differentiable outputs as one vector."""
        outputs, _, _ = self.call(point)
        return np.concatenate([part.ravel() if part.dtype.kind in "fc" else np.zeros(part.size)
                               for part in outputs]) if outputs else np.zeros(0)

    def function_of(self, j):
        """Return the map from input ``j`` to the vector of outputs."""
        return lambda value: self.vector(self.with_input(j, value))

    def gradients(self, w, point=None):
        """Pull the cotangent vector ``w`` back: a tuple of what ``f_vjp`` returned, one item for each gradient."""
        outputs, several, cache = self.call(point)
        return as_tuple(self.f_vjp(shaped_like(w, outputs, several), cache))


def shaped_like(w, outputs, several):
    """Cut the vector ``w`` into cotangents shaped like the outputs (zero for integer outputs)."""
    parts, start = [], 0
    for out in outputs:
        part = np.array(w[start:start + out.size]).reshape(out.shape)
        if out.dtype.kind not in "fc":
            part = np.zeros(out.shape)
        parts.append(part[()] if out.ndim == 0 else part)
        start += out.size
    return tuple(parts) if several else parts[0]


def as_tuple(gradients):
    """Return what ``f_vjp`` returned as a tuple, also when it is one bare array."""
    if isinstance(gradients, dict):
        return tuple(gradients.values())
    return tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)


def make_problem(f, f_vjp, inputs, wrt=None, names=None):
    """Build a :class:`Problem` from what the user gave to :func:`ibpcl.verify.check`.

    Raises
    ------
    ValueError
        If names, ``wrt`` and inputs do not fit together.
    TypeError
        If ``inputs`` is neither a tuple, a list nor a dict.
    """
    parameters = _parameter_names(f)
    if isinstance(inputs, dict):
        keys = list(inputs)
        if set(keys) <= set(parameters):
            keys.sort(key=parameters.index)
        values, labels = [inputs[key] for key in keys], [str(key) for key in keys]
    elif isinstance(inputs, (tuple, list)):
        values = list(inputs)
        labels = parameters[:len(values)] if len(parameters) >= len(values) else \
            [f"input {j}" for j in range(len(values))]
    else:
        raise TypeError(f"check: inputs must be a tuple, a list or a dict, got {type(inputs).__name__}")
    if names is not None:
        if len(names) != len(values):
            raise ValueError(f"check: names must have one entry for each of {len(values)} inputs, got {len(names)}")
        labels = [str(name) for name in names]
    if wrt is None:
        chosen = tuple(j for j, value in enumerate(values) if is_float(value))
    else:
        chosen = tuple(_position(item, labels) for item in ((wrt,) if isinstance(wrt, (str, int)) else wrt))
    if not chosen:
        raise ValueError(f"check: no floating-point input to differentiate among {', '.join(labels) or 'none'}")
    point = tuple(_promoted(value, j in chosen) for j, value in enumerate(values))
    return Problem(f, f_vjp, point, tuple(labels), chosen, tuple(values))


def refuse_without_slope(outputs):
    """Refuse outputs of which none is a floating-point number: any gradient of them would be called right.

    Raises
    ------
    TypeError
        With their types.
    """
    if outputs and not any(out.dtype.kind in "fc" for out in outputs):
        kinds = ", ".join(sorted({str(out.dtype) for out in outputs}))
        raise TypeError(f"check: f returns {kinds} alone, which has no derivative; return floats")


def _promoted(value, differentiated):
    if differentiated or is_float(value):
        array = np.array(value, dtype=np.float64)
        return array if isinstance(value, np.ndarray) or array.ndim else array[()]
    return value


def _position(item, labels):
    if isinstance(item, str):
        if item not in labels:
            raise ValueError(f"check: wrt names {item!r}, which is none of the inputs {', '.join(labels)}")
        return labels.index(item)
    if not 0 <= int(item) < len(labels):
        raise ValueError(f"check: wrt must be in 0..{len(labels) - 1}, got {item}")
    return int(item)


def _parameter_names(f):
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):                # built-in functions have no signature
        return []
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
