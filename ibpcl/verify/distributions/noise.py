"""Noise arguments of samplers, and draws from samplers with noise, a generator, or neither."""

import inspect
import random
from functools import partial
from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions.calls import CallError, one_by_one, quiet, real
from ibpcl.verify.distributions.vocabulary import GENERATOR, NOISE, SIZE

DRAWS = 20_000
FEW = 4_000  # number of draws if each one needs a separate call
LEVELS = np.array([0.013, 0.09, 0.21, 0.34, 0.47, 0.58, 0.72, 0.86, 0.97])


class Noise(NamedTuple):
    """Arguments of a sampler that are not parameters of the distribution.

    Attributes
    ----------
    kinds : dict of str to str
        Distribution of each noise argument, a key of the table ``vocabulary.NOISE``.
    generator : str
        Name of the argument for a random generator; empty if absent.
    size : str
        Name of the argument for the number of draws; empty if absent.
    """

    kinds: dict
    generator: str
    size: str

    @property
    def is_single(self):
        """True if each draw is a function of one noise variable."""
        return len(self.kinds) == 1 and not self.generator

    @property
    def is_integrable(self):
        """True if each draw is a function of one or two noise variables."""
        return 1 <= len(self.kinds) <= 2 and not self.generator


def noise_of(part, parameters):
    """Return the arguments of a sampler that are not parameters.

    Parameters
    ----------
    part : ibpcl.verify.distributions.reading.Part
        The sampler.
    parameters : sequence of str
        Names of the parameters of the distribution.

    Returns
    -------
    noise : Noise
        Arguments of the sampler by their distribution.

    Raises
    ------
    CallError
        If an argument is neither a parameter nor noise of a known name.
    """
    kinds = {}
    generator = ""
    size = ""
    defaults = inspect.signature(part.function).parameters
    for name in part.names:
        if name in parameters:
            continue
        bare = name.rstrip("0123456789").rstrip("_")
        kind = next((kind for kind, names in NOISE.items() if bare in names), "")
        if bare in GENERATOR:
            generator = name
        elif bare in SIZE and (not kind or kinds or generator or bare == "n"):
            size = name
        elif kind:
            kinds[name] = kind
        elif defaults[name].default is inspect.Parameter.empty:
            raise CallError(
                f"its argument `{name}` is neither a parameter nor noise: call uniform noise u, "
                "normal noise eps, a generator rng"
            )
    return Noise(kinds, generator, size)


def quantile_of(kind, level):
    """Return the quantile of a standard noise distribution.

    Parameters
    ----------
    kind : {"uniform", "normal", "gumbel", "logistic", "exponential", "rademacher"}
        The distribution.
    level : array_like
        Probabilities in (0, 1).

    Returns
    -------
    noise : ndarray, shape of ``level``
        Quantile for each level.

    Examples
    --------
    >>> float(quantile_of("logistic", np.array(0.5)))
    0.0
    """
    from scipy.special import logit, ndtri

    level = np.asarray(level)
    if kind == "uniform":
        return level
    if kind == "normal":
        return ndtri(level)
    if kind == "gumbel":
        return -np.log(-np.log(level))
    if kind == "logistic":
        return logit(level)
    if kind == "rademacher":
        return np.where(level < 0.5, -1.0, 1.0)
    return -np.log1p(-level)


def draws_of(model, part, noise, values, function=None, size=DRAWS):
    """Return draws of a sampler at one set of parameters.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        The functions of one distribution.
    part : ibpcl.verify.distributions.reading.Part
        The sampler.
    noise : Noise
        Arguments of the sampler that are not parameters.
    values : dict of str to object
        Parameters by name.
    function : callable, optional
        Changed version of the sampler.
    size : int
        Number N of draws.

    Returns
    -------
    draws : ndarray, shape (N,) or (N, d)
        Fewer than N if each draw is a call.

    Raises
    ------
    CallError
        If the sampler raises or does not return draws.
    """
    rng = np.random.default_rng(0)
    sampler = model.of_noise(part, values, function)
    if noise.generator:
        sampler = partial(sampler, **{noise.generator: 12345 if noise.generator == "seed" else rng})
    if noise.kinds:
        shape = (size,) if model.dimension == 1 else (size, model.dimension)
        kinds = noise.kinds.items()
        arrays = {name: quantile_of(kind, rng.uniform(size=shape)) for name, kind in kinds}
        return _shaped(called(sampler, arrays), size)
    of_numpy = np.random.get_state()  # noqa: NPY002
    of_python = random.getstate()
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
    try:
        if noise.size:
            return _shaped(quiet(sampler, **{noise.size: size}), size)
        return real(np.array(one_by_one(lambda i: sampler(), min(size, FEW))))
    finally:
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)


def called(sampler, arrays):
    """Return the draws of a sampler for given noise, in one call if it takes arrays.

    Parameters
    ----------
    sampler : callable
        The sampler as a function of its noise.
    arrays : dict of str to ndarray, shape (N,) or (N, d)
        Noise by argument.

    Returns
    -------
    draws : ndarray, shape (N,) or (N, d)
        For a sampler that takes one row of noise only, from the first 4,000 rows.

    Raises
    ------
    CallError
        If the sampler raises or does not return numbers.
    """
    size = len(next(iter(arrays.values())))

    def alone(i):
        row = {name: array[i] for name, array in arrays.items()}
        row = {name: float(each) if np.ndim(each) == 0 else each for name, each in row.items()}
        return sampler(**row)

    try:
        result = real(quiet(sampler, **arrays))
        vectors = next(iter(arrays.values())).ndim > 1
        fits = result.ndim > 0 and len(result) == size
        if fits and (
            not vectors or np.allclose(result[-1], quiet(alone, size - 1), equal_nan=True)
        ):
            return result
    except CallError:
        pass
    return real(np.array(one_by_one(alone, min(size, FEW))))


def _shaped(result, size):
    if isinstance(result, tuple) and len(result) == 2:
        result = result[0]
    result = real(result)
    if result.ndim == 0 or result.ndim > 2:
        raise CallError(f"it returns shape {result.shape}, expected draws ({size},)")
    return result
