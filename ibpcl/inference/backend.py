"""The choice of backend, in one place: the NumPy reference, or the Numba kernels that are held to it.

A backend is a tuple of functions; each pair has the same names, arguments and results in both.  Numba is imported when
its backend is first asked for.
"""

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import NamedTuple


class Backend(NamedTuple):
    """The functions that cost time, by what they compute; ``session()`` is for a ``with`` around many of them."""

    name: str
    session: Callable
    empty: Callable
    copy: Callable
    take: Callable
    draw: Callable
    uniform: Callable
    normal: Callable
    logistic: Callable
    later: Callable
    log_odds: Callable
    log_odds_vjp: Callable
    stick_divergence: Callable
    stick_divergence_vjp: Callable
    sample_masked_weights: Callable
    sample_masked_weights_vjp: Callable
    linear: Callable
    linear_vjp: Callable
    hard_mask: Callable
    local_linear: Callable
    local_linear_vjp: Callable
    activations: ModuleType
    likelihoods: ModuleType
    gaussian_kl: Callable
    gaussian_kl_vjp: Callable
    add_gaussian_kl_gradient: Callable
    latent_kl: Callable
    latent_kl_vjp: Callable
    adam: Callable

    def __reduce__(self):
        """Be copied and pickled as a name."""
        return backend, (self.name,)


BACKENDS = ("numba", "numpy")


@cache
def backend(name="numba"):
    """Return a backend by name.

    Parameters
    ----------
    name : {"numba", "numpy"}
        ``numba`` is the compiled one; ``numpy`` reads like the derivation, and takes complex numbers.

    Raises
    ------
    ValueError
        For any other name.

    Examples
    --------
    >>> backend("numpy").name
    'numpy'
    """
    from ibpcl.openblas import one_thread as session

    if name == "numpy":
        from operator import getitem as take

        from numpy import asarray as hard_mask
        from numpy import copyto as copy
        from numpy import empty

        from ibpcl import adam, noise
        from ibpcl.primitives import (
            activations,
            gaussian,
            latent,
            likelihoods,
            linear,
            local_linear,
            masked_weights,
            sticks,
        )
    elif name == "numba":
        from ibpcl.kernels import (
            activations,
            adam,
            gaussian,
            latent,
            likelihoods,
            local_linear,
            masked_weights,
            noise,
            sticks,
        )
        from ibpcl.kernels import sparse_linear as linear
        from ibpcl.kernels.local_linear import hard_mask
        from ibpcl.kernels.memory import empty
        from ibpcl.kernels.vectors import copy, take
    else:
        raise ValueError(f"backend: name must be one of {BACKENDS}, got {name!r}")
    return Backend(
        name, session, empty, copy, take, noise.draw, noise.uniform, noise.normal, noise.logistic, noise.later,
        sticks.log_odds, sticks.log_odds_vjp, sticks.divergence, sticks.divergence_vjp, masked_weights.sample,
        masked_weights.sample_vjp, linear.apply, linear.apply_vjp, hard_mask, local_linear.sample,
        local_linear.sample_vjp, activations, likelihoods, gaussian.kl, gaussian.kl_vjp, gaussian.add_kl_gradient,
        latent.kl, latent.kl_vjp, adam.checked_update,
    )
