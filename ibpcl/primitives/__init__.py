"""The derivations: one random variable, layer or loss a file, every function with its gradient
right below it.

``out, cache = f(*inputs)`` and ``d_inputs = f_vjp(dout, cache)``: the vector-Jacobian product
returns the gradient at each differentiable input, in input order, as a tuple if there are several.
Noise, labels, temperatures and masks given from outside are inputs without a gradient.  The
functions are pure: nothing is drawn, kept or changed in place.

Axes: ``S`` samples, ``N`` examples, ``D`` inputs, ``K`` units, ``C`` outputs; the sample axis comes
first.
"""

from importlib import import_module
from pkgutil import iter_modules

__all__ = sorted(module.name for module in iter_modules(__path__))


def __getattr__(name):
    """Load a module when it is first used (PEP 562)."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r} (it has {', '.join(__all__)})"
    )


def __dir__():
    return __all__
