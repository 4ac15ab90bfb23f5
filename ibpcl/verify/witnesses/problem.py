"""A forward function, its gradient and the point at which they are compared, made uniform.

People write pairs in many ways: one output or several, arrays or plain numbers, inputs by position
or by name, some of them differentiated and some not.  :class:`Problem` hides that, so that the rest
of the checker sees one thing: a function from arrays to one long vector.
"""

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ibpcl.verify.witnesses.clock import Clock


def is_float(value):
    """Return whether ``value`` is a real floating-point number or array."""
    return not isinstance(value, (str, bytes)) and np.asarray(value).dtype.kind == "f"


@dataclass(frozen=True)
class Problem:
    """A pair ``out, cache = f(*point)`` and ``gradients = f_vjp(dout, cache)`` at a point."""

    f: Callable
    f_vjp: Callable
    point: tuple  # inputs; the floating-point ones as float64
    names: tuple  # of the inputs
    # positions of those whose gradients ``f_vjp`` returns, in its order
    wrt: tuple
    native: tuple  # inputs as they were given
    keywords: frozenset = frozenset()  # inputs that ``f`` takes by keyword only
    clock: Clock = field(default_factory=Clock)
    # whether gradients may be missing; they are None then
    partial: bool = False
    # whether each backward needs a forward of its own just before it
    renewed: bool = False

    def at(self, point):
        """Return the same pair at another point."""
        return replace(self, point=tuple(point))

    def with_forward(self, f):
        """Return another forward with the same gradient function."""
        return replace(self, f=f)

    def with_gradient(self, f_vjp):
        """Return the same forward with another gradient function."""
        return replace(self, f_vjp=f_vjp)

    def with_input(self, j, value):
        """Return the point with input ``j`` replaced."""
        return (*self.point[:j], value, *self.point[j + 1 :])

    def shape(self, j):
        """Return the shape of input ``j``."""
        return np.shape(self.point[j])

    def call(self, point=None):
        """Call the forward on copies: returns its outputs as a tuple of arrays, whether it was one,
        the cache.
        """
        point = self.point if point is None else point
        return self.forward([np.array(v) if isinstance(v, np.ndarray) else v for v in point])

    def forward(self, point):
        """Call the forward on these very inputs, which it may overwrite; returns the same as
        :meth:`call`.
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
        """Return all differentiable outputs as one vector."""
        outputs, _, _ = self.call(point)
        return (
            np.concatenate(
                [
                    part.ravel() if part.dtype.kind in "fc" else np.zeros(part.size)
                    for part in outputs
                ]
            )
            if outputs
            else np.zeros(0)
        )

    def function_of(self, j):
        """Return the map from input ``j`` to the vector of outputs.

        Where the forward refuses a shifted real point (outside its domain, not positive definite,
        not summing to one), the map is not a number, so that smaller steps are tried; what it
        raises for complex numbers passes through.
        """
        size = self.vector().size

        def function(value):
            try:
                return self.vector(self.with_input(j, value))
            except (ValueError, ArithmeticError, AssertionError, LookupError):
                if np.iscomplexobj(value):
                    raise
                return np.full(size, np.nan)

        return function

    def gradients(self, w, point=None):
        """Pull the cotangent vector ``w`` back: a tuple of what ``f_vjp`` returned, one item for
        each gradient.
        """
        return self.pulled(w, lambda dout: dout, point)

    def pulled(self, w, change, point=None):
        """Return the same for a cotangent that was changed, each of its arrays by
        ``change(array)``.
        """
        outputs, several, cache = self.call(point)
        dout = shaped_like(w, outputs, several)
        dout = tuple(map(change, dout)) if several else change(dout)
        return gradients_in_order(self.f_vjp(dout, cache), self)


def shaped_like(w, outputs, several):
    """Cut the vector ``w`` into cotangents shaped like the outputs (zero for integer outputs)."""
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
    """Return a value as a tuple, also if it is one bare array."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def copied(value):
    """Return a deep copy of a cache; what can't be copied is handed on."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(copied(item) for item in value)
    try:
        return copy.deepcopy(value)
    except Exception:  # generators, modules, locks
        return value


def gradients_in_order(gradients, problem):
    """Return what ``f_vjp`` returned as a tuple in the order of ``problem.wrt``; a dict is matched
    by its keys.

    Raises ``TypeError`` for a generator, or a dict whose keys are not the names of the inputs.
    """
    chosen = [problem.names[j] for j in problem.wrt]
    if isinstance(gradients, dict):
        keys = keys_by_name(gradients, chosen)
        if sum(name in keys for name in chosen) < (
            len(gradients) if problem.partial else len(chosen)
        ):
            raise TypeError(
                f"check: f_vjp returned a dict with the keys {', '.join(map(str, gradients))}, "
                f"but the inputs are {', '.join(chosen)}: use their names, or return a tuple"
            )
        return tuple(gradients[keys[name]] if name in keys else None for name in chosen)
    if inspect.isgenerator(gradients) or isinstance(gradients, (map, zip, filter)):
        raise TypeError(
            f"check: f_vjp returned a {type(gradients).__name__}, which can be read once only: "
            f"return a tuple of arrays, {tuple_of(chosen)}"
        )
    gradients = as_tuple(gradients)
    return gradients + (None,) * (len(chosen) - len(gradients) if problem.partial else 0)


def tuple_of(names):
    """Return a tuple of gradients as it is written: ``(dx, dw)``."""
    return f"({', '.join('d' + name for name in names)})"


def keys_by_name(gradients, names):
    """Return the keys of a dict of gradients by the names of inputs that they may mean.

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


def make_problem(f, f_vjp, inputs, wrt=None, names=None, clock=None, partial=False):
    """Build a :class:`Problem` from what the user gave to :func:`ibpcl.verify.check`.

    Raises ``ValueError`` if names, ``wrt`` and inputs do not fit together, ``TypeError`` if the
    inputs are neither a tuple, a list nor a dict.
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
        partial and wrt is None,
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
                f"check: wrt names {item!r}, which is none of the inputs {', '.join(labels)}"
            )
        return labels.index(item)
    if not 0 <= int(item) < len(labels):
        raise ValueError(f"check: wrt must be in 0..{len(labels) - 1}, got {item}")
    return int(item)


def _parameter_names(f):
    """Return the names of all parameters of ``f``, and of those that are taken by keyword only."""
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
