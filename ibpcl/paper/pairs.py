"""The documented pairs: every function with a hand-derived gradient, and random inputs for it.

A pair is a function ``f`` and a function ``f_vjp`` in the same module. The docstring of ``f`` gives
the shape of each parameter (``shape (S, D, K)``), and the table below gives the values that a
parameter of that name may take, because a name has one meaning in the whole package. A new pair is
therefore found and checked without further code, and its docstring must be right.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ibpcl
from ibpcl import kernels, primitives, verify
from ibpcl.inference.backend import backend, why_not
from ibpcl.primitives import convolution

# A parameter as numpydoc writes it: "mu, log_sigma : ndarray, shape (D, K)", "tau : float", "kind :
# {"a", "b"}".
PARAMETER = re.compile(r"^(\w+(?:, \w+)*) : (.+)$", re.MULTILINE)
SHAPE = re.compile(r"shape \(([^)]*)\)")
# G: the gates of an LSTM, always 4; M: the weights that a mask keeps, at most D K; R: a rank.
SIZES = {"S": 3, "N": 4, "D": 5, "K": 2, "C": 3, "P": 6, "T": 3, "G": 4, "M": 6, "R": 2}
# Smaller sizes for images, whose arrays have up to five axes, and for their kernels.
IMAGE_SIZES = {"S": 2, "N": 2, "D": 2, "K": 2, "H": 4, "W": 3, "I": 3, "J": 2}
# Values of each whole number that sets up a function: a pair is checked with all of them.
SETTINGS = {"stride": (1, 2), "padding": (1,), "window": (2,), "height": (3,), "width": (2,)}

# More than one piece and one tile, where a compiled function cuts its work.
TWIN_SIZES = {"S": 3, "N": 150, "D": 140, "K": 120, "C": 5, "M": 1000}
# More than one piece of images, too.  A patch has six numbers per channel: with more channels, the
# largest number of each window would be far beyond 1, where float32 has no digits of tanh's slope.
IMAGE_TWIN_SIZES = TWIN_SIZES | {"N": 40, "D": 12, "K": 20}
# Some units of the last place of float32; the slope of tanh, 1 - h^2, has lost a hundred of them
# where h is near one.
TWIN_TOLERANCE = 2e-5

# Noise, data and settings: inputs that are not differentiated.
CONSTANT = frozenset(
    {
        "eps",
        "u",
        "logistic",
        "labels",
        "known",
        "targets",
        "mask",
        "kept",
        "tau",
        "prior_tau",
        "prior_shape",
        "prior_rate",
        "prior_a",
        "prior_b",
        "prior_scale",
        "epsilon",
        "input_moment",
        "slope_moment",
    }
)


def _real(rng, shape):
    return rng.normal(size=shape)


def _positive(rng, shape):
    return np.exp(rng.normal(scale=0.5, size=shape))


def _negative(rng, shape):
    return -_positive(rng, shape)


def _unit(rng, shape):
    return rng.uniform(0.05, 0.95, shape)


def _mask(rng, shape):
    return rng.random(shape) < 0.6


def _moment(rng, shape):
    rows = rng.normal(size=shape)
    return rows.swapaxes(-1, -2) @ rows


DOMAINS = {
    **dict.fromkeys(
        (
            "eps",
            "logistic",
            "mu",
            "log_sigma",
            "prior_mu",
            "prior_log_sigma",
            "rho",
            "logit_theta",
            "y",
            "logit_pi",
            "x",
            "w",
            "v",
            "bias_mu",
            "bias_log_sigma",
            "logits",
            "scores",
            "mean",
            "log_noise",
            "raw_a",
            "raw_b",
            "mean_log_alpha",
            "h",
            "c",
            "r",
            "z_mean",
            "z_log_sigma",
            "f",
            "gain",
            "shift",
            "factor",
            "prior_factor",
            "lower",
            "prior_lower",
        ),
        _real,
    ),
    **dict.fromkeys(
        (
            "a",
            "b",
            "alpha",
            "sigma",
            "bias_sigma",
            "tau",
            "prior_tau",
            "k",
            "scale",
            "prior_shape",
            "prior_rate",
            "prior_a",
            "prior_b",
            "prior_scale",
            "mean_alpha",
            "precision",
            "variance",
            "epsilon",
        ),
        _positive,
    ),
    **dict.fromkeys(("log_v", "log_pi"), _negative),
    **dict.fromkeys(("u", "z", "targets"), _unit),
    "mask": _mask,
    **dict.fromkeys(("input_moment", "slope_moment"), _moment),
}


class Pair(NamedTuple):
    """A function with a hand-derived gradient.

    Attributes
    ----------
    name : str
        Module and name of the function.
    f, f_vjp : callable
        The function and its gradient.
    choices : dict
        Values of the parameters that name a variant.
    reference : callable
        The function whose docstring describes the inputs: ``f`` itself, or for a compiled twin the
        function that it replaces.
    """

    name: str
    f: object
    f_vjp: object
    choices: dict
    reference: object

    @property
    def words(self):
        """The choices as words: a name as it is, a number behind the name of its parameter."""
        return [
            value if isinstance(value, str) else f"{key}{value}"
            for key, value in self.choices.items()
        ]

    def __str__(self):
        chosen = ", ".join(f"{key}={value}" for key, value in self.choices.items())
        return f"{self.name}({chosen})" if chosen else self.name


class Twin(Pair):
    """A pair of compiled functions, which are imported on first use, and Numba with them.

    Parameters
    ----------
    name : str
        Module and name of the function.
    f, f_vjp : None
        Places of the functions, which stay empty: they are imported by the name.
    choices, reference : object
        As for :class:`Pair`.
    """

    @property
    def f(self):
        """The compiled function."""
        return self._compiled()

    @property
    def f_vjp(self):
        """Its compiled gradient."""
        return self._compiled("_vjp")

    def _compiled(self, ending=""):
        module, function = self.name.rsplit(".", 1)
        return getattr(importlib.import_module(f"ibpcl.{module}"), function + ending)


def modules(package=ibpcl):
    """Import every module of a package, in the order of their names, and return them.

    Where Numba cannot be used, compiled functions are left out.  The modules of the whole package
    include the pytest plugin, which needs pytest: only tests may ask for all of them.

    Parameters
    ----------
    package : module
        The package ``ibpcl`` or a package inside it.

    Returns
    -------
    modules : list of module
        Without the package itself, and without ``__main__``.
    """
    names = [
        module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    compiled = [name for name in names if name.startswith("ibpcl.kernels")]
    if compiled and why_not() is None:
        backend()  # says if it has to compile
    elif compiled:
        names = [name for name in names if name not in compiled]
    return [importlib.import_module(name) for name in names if not name.endswith("__main__")]


def gradients(searched):
    """Return the qualified name of every public ``*_vjp``, functions and methods alike.

    Parameters
    ----------
    searched : iterable of module
        Where to look.

    Returns
    -------
    names : list of str
        In the order of the modules.

    Examples
    --------
    >>> "ibpcl.primitives.gaussian.kl_vjp" in gradients(modules(primitives))
    True
    """
    found = []
    for module in searched:
        owners = [(module.__name__, module)]
        owners += [
            (f"{module.__name__}.{name}", owner)
            for name, owner in vars(module).items()
            if inspect.isclass(owner) and owner.__module__ == module.__name__
        ]
        for prefix, owner in owners:
            found += [
                f"{prefix}.{name}"
                for name, value in vars(owner).items()
                if name.endswith("_vjp")
                and not name.startswith("_")
                and inspect.isfunction(value)
                and value.__module__ == module.__name__
            ]
    return found


def compiled_gradients():
    """Return the qualified name of every public ``*_vjp`` of the compiled functions.

    Their sources are read, because importing them takes the time of importing Numba.

    Returns
    -------
    names : list of str
        In the order of the modules; empty if Numba is not installed.
    """
    if find_spec("numba") is None:
        return []
    return [
        f"{kernels.__name__}.{module.name}.{node.name}"
        for module in pkgutil.iter_modules(kernels.__path__)
        for node in ast.parse(_source(module)).body
        if isinstance(node, ast.FunctionDef)
        and node.name.endswith("_vjp")
        and not node.name.startswith("_")
    ]


def _source(module):
    spec = module.module_finder.find_spec(module.name)
    return Path(spec.origin).read_text(encoding="utf-8")


def documented_pairs():
    """Return the pairs whose docstring says all that is needed to call them: compiled twins, sticks
    and primitives.

    Returns
    -------
    pairs : list of Pair
        A :class:`Twin` for each compiled function.
    """
    pairs = []
    for name in compiled_gradients():
        module, function = name.removesuffix("_vjp").rsplit(".", 1)
        reference = importlib.import_module(module.replace("kernels", "primitives"))
        pairs += _variants(Twin, module, None, None, getattr(reference, function))
    for name in ["ibpcl.models.masked.sticks_vjp", *gradients(modules(primitives))]:
        module, function = name.removesuffix("_vjp").rsplit(".", 1)
        found = vars(importlib.import_module(module))
        if function not in found:
            raise TypeError(f"{name}: there is no function {function!r} beside it")
        f = found[function]
        pairs += _variants(Pair, module, f, found[function + "_vjp"], f)
    return pairs


def _variants(kind, module, f, f_vjp, reference):
    """Return a pair for every choice of the parameters that name a variant."""
    variants = [{}]
    for key, values in _choices(reference).items():
        variants = [{**variant, key: value} for variant in variants for value in values]
    place = module.removeprefix("ibpcl.").removeprefix("primitives.")
    name = f"{place}.{reference.__name__}"
    return [kind(name, f, f_vjp, variant, reference) for variant in variants]


def _choices(f):
    parameters = documented_parameters(f)
    named = {
        name: re.findall(r'"(\w+)"', kind) for name, kind in parameters if kind.startswith("{")
    }
    return named | {
        name: SETTINGS[name]
        for name, kind in parameters
        if kind.startswith("int") and name in SETTINGS
    }


def documented_parameters(f):
    """Return the parameters of a docstring as (name, kind), one by one.

    Parameters
    ----------
    f : callable
        Has a docstring with a Parameters section.

    Returns
    -------
    parameters : list of tuple of str

    Examples
    --------
    >>> def f(x, tau):
    ...     '''Do it.
    ...
    ...     Parameters
    ...     ----------
    ...     x : ndarray, shape (S, K)
    ...     tau : float
    ...     '''
    >>> documented_parameters(f)
    [('x', 'ndarray, shape (S, K)'), ('tau', 'float')]
    """
    text = inspect.getdoc(f) or ""
    if "Parameters\n----------\n" not in text:
        raise TypeError(
            f"{f.__qualname__}: its docstring has no Parameters section to make inputs from"
        )
    section = re.split(r"\n\w+\n-{3,}\n", text.split("Parameters\n----------\n")[1])[0]
    return [
        (name, kind) for names, kind in PARAMETER.findall(section) for name in names.split(", ")
    ]


def _axes(pair):
    """Return the axes of all documented parameters of a pair, and whether they are of images."""
    axes = " ".join(
        axis for _, kind in documented_parameters(pair.reference) for axis in SHAPE.findall(kind)
    )
    return axes, bool({"H", "I"} & set(axes))


def make_inputs(pair, rng, sizes=None):
    """Draw inputs for a pair in the order of its parameters.

    Parameters
    ----------
    pair : Pair
        From :func:`documented_pairs`.
    rng : numpy.random.Generator
        Source of the values.
    sizes : dict of str to int, optional
        Size of each axis; by default small and all different.

    Returns
    -------
    inputs : dict
        Name to array or number, without the choices.

    Raises
    ------
    TypeError
        If a parameter is not documented, or :data:`DOMAINS` has no values for its name.
    """
    axes, images = _axes(pair)
    sizes = SIZES | (IMAGE_SIZES if images else {}) | (sizes or {})
    sizes = {**sizes, "M": min(sizes["M"], sizes["D"] * sizes["K"])}
    if "H'" in axes:
        sizes |= _positions(sizes, pair)
    inputs = {}
    for name, kind in documented_parameters(pair.reference):
        shape = SHAPE.search(kind)
        if name in pair.choices:
            continue
        if shape is None and kind != "float":
            raise TypeError(f"{pair.name}: cannot make the input {name} : {kind}")
        axes = [axis.strip() for axis in shape.group(1).split(",") if axis.strip()] if shape else []
        dimensions = tuple(sizes[axis] for axis in axes)
        if name == "labels":
            inputs[name] = rng.integers(0, max(sizes["C"], 1), dimensions)
        elif name == "known":
            inputs[name] = rng.integers(-1, max(sizes["C"], 1), dimensions)
        elif name == "kept":
            inputs[name] = rng.permutation(sizes["D"] * sizes["K"]).reshape(dimensions) < sizes["M"]
        elif name in DOMAINS:
            inputs[name] = (
                np.asarray(DOMAINS[name](rng, dimensions))
                if shape
                else float(DOMAINS[name](rng, ()))
            )
        else:
            raise TypeError(
                f"{pair.name}: no values are known for an input called {name!r}; add it to DOMAINS"
            )
    signature = [
        name for name in inspect.signature(pair.reference).parameters if name not in pair.choices
    ]
    if signature != list(inputs):
        raise TypeError(
            f"{pair.name}: the docstring's parameters {list(inputs)} are not its arguments "
            f"{signature}"
        )
    return inputs


def _positions(sizes, pair):
    """Return the sizes H' and W' of the outputs of a convolution."""
    around = [pair.choices.get(name, default) for name, default in (("stride", 1), ("padding", 0))]
    return {
        f"{size}'": convolution.positions(sizes[size], sizes[kernel], *around)
        for size, kernel in (("H", "I"), ("W", "J"))
    }


def check_pair(pair, seed=0, sizes=None):
    """Check one pair and return the report of :func:`ibpcl.verify.check_pair`.

    Parameters
    ----------
    pair : Pair
        A function and its gradient.
    seed : int
        Determines the random inputs.
    sizes : dict, optional
        Size of each axis, by its letter.

    Returns
    -------
    report : ibpcl.verify.Report
        Verdict of the gradient check.
    """
    inputs = make_inputs(pair, np.random.default_rng(seed), sizes)

    def f(*values):
        return pair.f(*values, **pair.choices)

    return verify.check_pair(
        f, pair.f_vjp, inputs, [name for name in inputs if name not in CONSTANT], seed=seed
    )


def check_twin(pair, seed=0):
    """Compare a compiled twin with its reference, in value and gradient.

    The twin gets float32, the reference the same numbers in float64.

    Parameters
    ----------
    pair : Twin
        A compiled function, its gradient and its reference.
    seed : int
        Determines the random inputs.

    Returns
    -------
    error : float
        The largest difference, divided by the largest number of its result.
    entries : int
        How many numbers were compared.
    """
    backend()  # says if it has to compile
    rng = np.random.default_rng(seed)
    found = []
    sizes = IMAGE_TWIN_SIZES if _axes(pair)[1] else TWIN_SIZES
    exact = {
        name: np.float32(value).astype(float) if np.asarray(value).dtype.kind == "f" else value
        for name, value in make_inputs(pair, rng, sizes).items()
    }
    single = [
        np.asarray(value, np.float32)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
        else value
        for value in exact.values()
    ]
    expected, exact_cache = pair.reference(*exact.values(), **pair.choices)
    out, cache = pair.f(*single, **pair.choices)
    values = expected if isinstance(expected, tuple) else (expected,)
    dout = tuple(rng.normal(size=np.shape(value)) for value in values)
    cotangents = [
        tuple(np.asarray(part, dtype)[()] for part in dout) for dtype in (np.float32, np.float64)
    ]
    if not isinstance(expected, tuple):
        out = (out,)
        cotangents = [parts[0] for parts in cotangents]
    back = getattr(importlib.import_module(pair.reference.__module__), pair.f_vjp.__name__)
    gradients = [
        pull_back(given, kept)
        for pull_back, given, kept in (
            (pair.f_vjp, cotangents[0], cache),
            (back, cotangents[1], exact_cache),
        )
    ]
    gradients = [one if isinstance(one, tuple) else (one,) for one in gradients]
    for one, other in (*zip(out, values, strict=True), *zip(*gradients, strict=True)):
        if np.asarray(one).dtype != np.float32:
            raise TypeError(f"{pair}: the compiled twin gave {np.asarray(one).dtype}")
        found.append(float(np.abs(one - other).max(initial=0) / np.abs(other).max(initial=1e-30)))
    return max(found), sum(np.size(part) for part in (*out, *gradients[0]))
