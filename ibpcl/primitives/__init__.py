"""The derivations: one random variable, layer or loss per file, each function above its gradient.

A function and its vector-Jacobian product form a pair: ``out, cache = f(*inputs)`` and ``d_inputs =
f_vjp(dout, cache)``.  The second function returns the gradient at each differentiable input, in the
order of the inputs, as a tuple if there are several.  Noise, labels, temperatures and given masks
are inputs without a gradient.  The functions are pure: they draw no random numbers, keep no state
and modify nothing in place.

The axes are ``S`` samples, ``N`` examples, ``D`` inputs, ``K`` units and ``C`` outputs; the sample
axis comes first.
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
