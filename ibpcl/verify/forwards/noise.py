"""What a sampler takes: noise of a known distribution, a generator, or nothing."""

import inspect
import random
from typing import NamedTuple

import numpy as np

from ibpcl.verify.forwards import families
from ibpcl.verify.forwards.calling import CallError, quiet, real

DRAWS = 20_000
FEW = 4_000  # where each draw is a call
LEVELS = np.array([0.013, 0.09, 0.21, 0.34, 0.47, 0.58, 0.72, 0.86, 0.97])


class Noise(NamedTuple):
    """The arguments of a sampler that are not parameters.

    Attributes
    ----------
    kinds : dict of str to str
        For each argument of noise "uniform", "normal", "gumbel", "logistic" or "exponential".
    generator, size : str
        Names of the arguments for a generator and for the number of draws; empty without one.
    """

    kinds: dict
    generator: str
    size: str

    @property
    def is_single(self):
        """Whether one number of noise makes one draw."""
        return len(self.kinds) == 1 and not self.generator


KINDS = (
    ("uniform", families.UNIFORM),
    ("normal", families.NORMAL),
    ("gumbel", families.GUMBEL),
    ("logistic", families.LOGISTIC),
    ("exponential", families.EXPONENTIAL),
)


def noise_of(part, parameters):
    """Return what a sampler takes beside its parameters.

    Parameters
    ----------
    part : ibpcl.verify.forwards.roles.Part
    parameters : sequence of str

    Raises
    ------
    CallError
        If an argument is neither a parameter nor noise of a known name.
    """
    kinds = {}
    generator = size = ""
    defaults = inspect.signature(part.function).parameters
    for name in part.names:
        if name in parameters:
            continue
        bare = name.rstrip("0123456789").rstrip("_")
        kind = next((kind for kind, names in KINDS if bare in names), "")
        if bare in families.GENERATOR:
            generator = name
        elif bare in families.SIZE and (not kind or kinds or generator or bare == "n"):
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
    """Return the quantile of a kind of noise at levels between 0 and 1.

    >>> float(quantile_of("logistic", np.array(0.5)))
    0.0
    """
    from scipy.special import logit, ndtri

    if kind == "uniform":
        return np.asarray(level)
    if kind == "normal":
        return ndtri(level)
    if kind == "gumbel":
        return -np.log(-np.log(level))
    if kind == "logistic":
        return logit(level)
    return -np.log1p(-np.asarray(level))


def draws_of(family, part, noise, point, function=None, seed=0, size=DRAWS):
    """Return draws of a sampler, shape (N,) or (N, d).

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
    part : ibpcl.verify.forwards.roles.Part
    noise : Noise
    point : dict
    function : callable, optional
        In place of the part's own.
    seed, size : int
    """
    rng = np.random.default_rng(seed)
    bound = family.bound(part, point, function)
    own = [name for name in part.names if name in point]
    options = {name: point[name] for name in own}
    if noise.kinds:
        arrays = {
            name: quantile_of(kind, rng.uniform(size=size)) for name, kind in noise.kinds.items()
        }
        if noise.generator:
            options[noise.generator] = rng
        return _shaped(called(bound, arrays, options), size)
    if noise.generator:
        options[noise.generator] = 12345 + seed if noise.generator == "seed" else rng
    before = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        if noise.size:
            return _shaped(quiet(bound, **options, **{noise.size: size}), size)
        return real(np.array([quiet(bound, **options) for _ in range(FEW)]))
    finally:
        np.random.set_state(before[0])  # noqa: NPY002
        random.setstate(before[1])


def called(bound, arrays, options):
    """Return a sampler's draws from arrays of noise: all at once, else one by one."""
    size = len(next(iter(arrays.values())))
    try:
        result = real(quiet(bound, **arrays, **options))
        if result.ndim and len(result) == size:
            return result
    except CallError:
        pass
    rows = range(min(size, FEW))
    found = [quiet(bound, **{n: float(a[i]) for n, a in arrays.items()}, **options) for i in rows]
    return real(np.array(found))


def _shaped(result, size):
    if isinstance(result, tuple) and len(result) == 2:
        result = result[0]
    result = real(result)
    if result.ndim == 0 or result.ndim > 2:
        raise CallError(f"it returns shape {result.shape}, expected draws ({size},)")
    return result
