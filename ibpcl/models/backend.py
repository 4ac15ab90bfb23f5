"""The choice of backend, in one place: the NumPy reference, or the Numba kernels that are held to it.

A backend is a tuple of functions; each pair has the same names, arguments and results in both.  Numba is imported when
its backend is first asked for.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple


class Backend(NamedTuple):
    """The functions that cost time, by what they compute."""

    name: str
    uniform: Callable
    normal: Callable
    logistic: Callable
    sample_masked_weights: Callable
    sample_masked_weights_vjp: Callable
    linear: Callable
    linear_vjp: Callable
    gaussian_kl: Callable
    gaussian_kl_vjp: Callable
    adam: Callable


@cache
def backend(name="numpy"):
    """Return a backend by name.

    Parameters
    ----------
    name : {"numpy"}
        ``numpy`` reads like the derivation.

    Raises
    ------
    ValueError
        For any other name.

    Examples
    --------
    >>> backend("numpy").name
    'numpy'
    """
    from ibpcl import noise
    from ibpcl.inference import adam
    from ibpcl.primitives import gaussian, linear, masked_weights

    if name == "numpy":
        return Backend(
            name, noise.uniform, noise.normal, noise.logistic, masked_weights.sample, masked_weights.sample_vjp,
            linear.apply, linear.apply_vjp, gaussian.kl, gaussian.kl_vjp, adam.update,
        )
    raise ValueError(f"backend: name must be 'numpy', got {name!r}")
