"""Guesses for the arguments of a constructor: sizes that fit an input, activations, strides."""

import inspect
import itertools
import re

import numpy as np

from ibpcl.verify.adapters import vocabulary as words

UNITS = 5  # of a guessed recurrent cell
MOST = 40  # combinations of arguments that are tried for each size
# Parts of the names of arguments between 0 and 1.
FRACTIONS = (
    "scale",
    "std",
    "decay",
    "bound",
    "prob",
    "rate",
    "dropout",
    "alpha",
    "slope",
    "momentum",
    "lr",
    "lambda",
    "reg",
)
# Weights of a penalty, which is part of the loss and not of the output of a layer.
PENALTIES = r"(lambda|weight|kernel|bias)?_?(regulariz\w*|reg|penalty)?_?l[12](_?(reg|lambda)\w*)?"
OUT = (
    r"n?_?(num_?)?(out|output|outputs|units|neurons|nodes|nout)\w*"
    r"|fan_?out|n_?hidden|hidden\w*|n_?filters?"
    r"|num_?filters|filters|depth|n_?classes|num_?classes|layer_depth|m|embed\w*_dim|out_?ch\w*"
)


def settings(kind, missing, shape):
    """Yield guesses for missing constructor arguments, the likeliest first.

    Parameters
    ----------
    kind : type
        The class.
    missing : sequence of str
        Names of the arguments.
    shape : tuple of int
        Shape of the input of the forward.

    Yields
    ------
    dict of str to object
        A value for each argument.
    """
    rng = np.random.default_rng(1)
    yield from _recurrent(missing, shape[-1] if shape else 4, rng)
    source = vars(inspect.getmodule(kind) or kind)
    annotations = getattr(kind.__init__, "__annotations__", {})
    for last in dict.fromkeys(
        (shape[-1] if shape else 4, *(shape[1:2] if len(shape) > 2 else ()), *shape[:1])
    ):
        has_prime = any(
            "prime" in words.plain(name) or "deriv" in words.plain(name) for name in missing
        )
        options = [
            [np.tanh]
            if has_prime and words.plain(name) in ("f", "g", "fn", "func", "function")
            else guesses_for(name, shape, last, annotations.get(name), source, rng)
            for name in missing
        ]
        for values in itertools.islice(itertools.product(*options), MOST):
            yield dict(zip(missing, values, strict=True))


def _recurrent(missing, size, rng):
    """Yield weights of recurrent cells with one, four or three gates, if all names are theirs."""
    for gates in (1, 4, 3):
        width = gates * UNITS
        shapes = [
            (r"w(x|i)\w*", (size, width)),
            (r"w?(h|rec)\w*", (UNITS, width)),
            (r"b\w*", (width,)),
        ]
        found = [
            next(
                (n for n, (name, _) in enumerate(shapes) if re.fullmatch(name, words.plain(word))),
                None,
            )
            for word in missing
        ]
        if None in found or not {0, 1} <= set(found):
            return
        yield {name: rng.normal(size=shapes[n][1]) for name, n in zip(missing, found, strict=True)}


def guesses_for(name, shape, size, annotation, source, rng):
    """Return guesses for one constructor argument, the likeliest first.

    Parameters
    ----------
    name : str
        Name of the argument.
    shape : tuple of int
        Shape of the input of the forward.
    size : int
        Number of features of the input.
    annotation : type, str or None
        Annotation of the argument.
    source : dict of str to object
        Names in the module of the class, such as its activation functions.
    rng : numpy.random.Generator
        Draws arrays.

    Returns
    -------
    list
        At least one value.
    """
    word = words.plain(name)
    text = name.lower()
    if word == "kernel":
        images = [[3, 3, shape[-1], 2], [2, shape[1], 3, 3], 3, (3, 3)] if len(shape) == 4 else []
        return [*images, 3, rng.normal(size=(size, 5))]
    if word in ("w", "weights", "weight"):
        sizes = (
            [(2, shape[1], 3, 3), (3, 3, shape[-1], 2)]
            if len(shape) == 4
            else [(size, 5), (5, size)]
        )
        return [rng.normal(size=item) for item in sizes]
    if word in ("b", "bias", "biases"):
        return [
            rng.normal(size=item)
            for item in ([(2,)] if len(shape) == 4 else [(5,), (1, 5), (5, 1)])
        ]
    if words.is_vector(word) or word in ("g", "alpha"):
        sizes = [shape[1:]] if len(shape) < 4 else [(1, shape[1], 1, 1), (shape[1],), shape[1:]]
        return [rng.normal(size=item) for item in sizes]
    if "prime" in word or "deriv" in word or ("activation" in word and "grad" in word):
        return [lambda x: 1 - np.tanh(x) ** 2]
    if "shape" in word or word in ("xdim", "inputdims", "indims"):
        return (
            [(3, 3)]
            if "kernel" in word or "filter" in word
            else [(2, 2)]
            if "pool" in word
            else [
                tuple(shape[1:]) if len(shape) > 1 else tuple(shape),
                tuple(shape),
                5 if word.startswith("out") else int(size),
            ]
        )
    if word.endswith(("dims", "sizes", "layers", "units")) and word.startswith(
        ("hidden", "layer", "dims", "sizes")
    ):
        return [[6, 5], [int(size), 6, 5], 2]
    if "activation" in word or word in ("act", "func", "fn", "function", "nonlinearity"):
        return (
            ["tanh", "sigmoid"]
            if annotation in (str, "str")
            else [source.get("tanh") or np.tanh, "tanh", "sigmoid"]
        )
    if "stride" in word:
        return [1, (1, 1)]
    if "pad" in word:
        return [0, 1, ((1, 1), (1, 1)), (1, 1), "same", "valid"]
    if any(
        part in word
        for part in (
            "kernel",
            "pool",
            "filtersize",
            "filterh",
            "filterw",
            "hfilter",
            "wfilter",
            "fheight",
            "fwidth",
        )
    ) or word in ("k", "f", "fh", "fw", "ksize"):
        return [2, (2, 2)] if "pool" in word else [3, (3, 3)]
    if word in ("rng", "randomstate", "generator"):
        return [np.random.default_rng(0)]
    if re.fullmatch(PENALTIES, text):
        return [0.0]
    if any(part in word for part in FRACTIONS) or word == "p" or annotation in (float, "float"):
        return [0.5]
    if "eps" in word:
        return [1e-5]
    if word == "name" or annotation in (str, "str"):
        return ["relu", "tanh", "sigmoid", "layer"]
    if "head" in word:
        return [2]
    if any(part in word for part in ("vocab", "numembeddings", "ntokens", "nwords")):
        return [7]
    if annotation in (bool, "bool"):
        return [True]
    return [5, int(size)] if re.fullmatch(OUT, text) else [int(size), tuple(shape[1:])]
