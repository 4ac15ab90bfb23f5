"""Guessed inputs, from the names, docstrings, annotations and sources of functions."""

import inspect
import itertools
import re
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import layouts, switches
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.documented import documented_shapes, is_documented_number
from ibpcl.verify.adapters.signatures import parameters_of

# an argument that a docstring calls a probability
PROBABLE = r"^\s*{}\b\s*(?::|-|\().*probabilit"
LISTED = r"\b{}\b\s*:\s*(?::class:)?.{{0,30}}\blist of"  # an argument that a docstring calls a list
INTEGER = r"\b{}\b\s*(:|--)\s*(int|integer)s?\b"
# Words for losses whose labels are probabilities.
ENTROPIES = frozenset(
    {"softmax", "entropy", "crossentropy", "ce", "nll", "xent", "multinomial", "logistic"}
)
# Names of weights that are a vector beside labels.
COEFFICIENTS = frozenset({"w", "weights", "theta", "beta", "coef"})
MOST = 200  # guesses
# Shapes that are tried where the code asks for a number of axes.
OF_AXES = {2: [(3, 4)], 3: [(2, 3, 4), (2, 4, 4)], 4: [(2, 3, 4, 4), (2, 4, 4, 3), (2, 6, 6, 3)]}
FITTING = 8  # shapes that fit given arrays


class Unknown(NamedTuple):
    """The inputs to guess, and what is known of them.

    Attributes
    ----------
    names : list of str
        Names of the parameters.
    context : str
        Words in the names of the function and its class.
    documented : set of str
        Parameters whose shape or kind a docstring gives.
    shapes : dict of str to tuple of int
        Documented shapes.
    probabilities : set of str
        Parameters that are probabilities.
    fixed : dict of str to list
        Candidates for numbers, strings, lists and integers.
    parts : dict of str to list of str
        Keys of parameters that are dicts of arrays.
    given : list of ndarray
        Other inputs, whose sizes may fit.
    """

    names: list
    context: str
    documented: set
    shapes: dict
    probabilities: set
    fixed: dict
    parts: dict
    given: list

    def guesses(self):
        """Yield guesses, the likeliest first, at most :data:`MOST` of them.

        Yields
        ------
        dict of str to object
            A value for each parameter.
        """
        yield from itertools.islice(self._all(), MOST)

    def _all(self):
        flat = [key for name in self.names for key in self.parts.get(name, [name])]
        for chosen in itertools.product(*self.fixed.values()):
            fixed = dict(zip(self.fixed, chosen, strict=True))
            if self.given or self.shapes:
                yield from self._beside_given(fixed)
            known = (flat, self.context, self.shapes, self.probabilities, fixed)
            for inputs in layouts.fitting(*known):
                yield {
                    name: {key: inputs[key] for key in self.parts[name]}
                    if name in self.parts
                    else inputs[name]
                    for name in self.names
                }

    def _beside_given(self, fixed):
        """Yield guesses with the sizes of given or documented inputs, for one unknown array."""
        free = [name for name in self.names if name not in fixed and name not in self.shapes]
        if len(free) != 1 or words.is_label(free[0]) or free[0] in self.parts:
            return
        rng = np.random.default_rng(0)
        drawn = {
            name: layouts.drawn(self.shapes[name], rng, name in self.probabilities)
            for name in self.names
            if name in self.shapes and name not in fixed
        }
        every = [np.shape(value) for value in self.given] + list(self.shapes.values())
        sizes = list(dict.fromkeys(size for shape in every for size in shape[::-1]))
        vectors = [(size,) for size in sizes]
        rows = [pair for pair in itertools.product(sizes, repeat=2) if pair[0] != pair[1]]
        rows += [(3, size) for size in sizes] + [(size, 3) for size in sizes]
        state = not {"state", "hidden", "hprev"}.isdisjoint(words.tokens(free[0]))
        shapes = [(size, 1) for size in sizes] if state else []
        shapes += vectors + rows if words.is_vector(free[0]) or state else rows + vectors
        for shape in shapes[:FITTING]:
            yield {**fixed, **drawn, free[0]: rng.normal(size=shape)}


def unknown(function, skip=0, holder=None, given=(), beside=None):
    """Return what is known of the required parameters of a function.

    Parameters
    ----------
    function : callable
        The function.
    skip : int
        Number of leading parameters to leave out (``self``).
    holder : type, optional
        The class if the function is a method.
    given : dict of str to object
        Inputs that need no guess.
    beside : callable, optional
        The gradient function.  Its docstring is read too.

    Returns
    -------
    Unknown
        The parameters without those given.
    """
    parameters = parameters_of(function, skip)
    labels = [name for name in parameters.optional if words.is_label(name)]
    every = [*parameters.required, *labels, *required_keywords(function)]
    names = [name for name in every if name not in given]
    sources = [one for one in (function, beside, holder) if one is not None]
    text = "\n".join(inspect.getdoc(one) or "" for one in sources)
    shapes = {} if beside is None else documented_shapes(beside)
    shapes = {name: shape for name, shape in shapes.items() if name in parameters.every}
    shapes = {**shapes, **documented_shapes(function, holder)}
    annotations = getattr(function, "__annotations__", {})
    of_loss = any(map(words.may_be_label, every))
    context = words.tokens("_".join(getattr(one, "__name__", "") for one in sources))
    if of_loss and COEFFICIENTS.intersection(map(words.plain, every)):
        context.append("regression")
    fixed = {}
    parts = {}
    for name in names:
        strings = switches.strings_of(function, name)
        keys = switches.keys_of(function, name)
        if strings:
            fixed[name] = strings
        elif keys and not layouts.is_settings(name):
            parts[name] = keys
        elif values := _documented_values(name, text, annotations.get(name), shapes):
            fixed[name] = values
    return Unknown(
        names,
        " ".join(context),
        {*shapes, *(name for name in names if is_documented_number(name, text))},
        {name: shape for name, shape in shapes.items() if name not in fixed},
        {name for name in names if _is_probability(name, text, of_loss)},
        fixed,
        parts,
        [value for value in given.values() if isinstance(value, np.ndarray)],
    )


def _documented_values(name, text, annotation, shapes):
    """Return candidates for a parameter that a docstring or an annotation calls no array."""
    usual = layouts.NUMBERS.get(words.plain(name))
    rng = np.random.default_rng(0)
    if re.search(LISTED.format(re.escape(name)), text):
        return [[rng.normal(size=(3, 4)), rng.normal(size=(3, 4))]]
    if re.search(INTEGER.format(re.escape(name)), text, re.IGNORECASE):
        integers = [rng.integers(0, 3, shapes[name])] if name in shapes else [3, 2, 1]
        return [usual] if usual is not None else integers
    if is_documented_number(name, text) and not words.is_label(name):
        return [float(rng.uniform(0.5, 1.0)) if usual is None else usual]
    if annotation in (float, "float", int, "int"):
        return [(0.7 if "float" in str(annotation) else 2) if usual is None else usual]
    if annotation in (bool, "bool"):
        return [True, False]
    return [0.5] if words.is_fraction(name) else []


def _is_probability(name, text, of_loss):
    """Return whether a name, a docstring or labels beside an input say that it is a probability."""
    if re.search(PROBABLE.format(re.escape(name)), text, re.IGNORECASE | re.MULTILINE):
        return True
    word = words.plain(name)
    if "logit" in word or "score" in word:
        return False
    return "prob" in word or word == "p" or (of_loss and words.is_prediction(name))


def required_keywords(function):
    """Return the keyword-only parameters of a function that have no default.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    list of str
        Their names.
    """
    try:
        every = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in every if p.kind is p.KEYWORD_ONLY and p.default is p.empty]


def changed(guess, message):
    """Return guesses with the shape, the number of axes or the integers that an error asks for.

    Parameters
    ----------
    guess : dict of str to object
        The guess that raised.
    message : str
        Message of the exception.

    Returns
    -------
    list of dict
        Changed guesses; empty for other messages.

    Examples
    --------
    >>> guess = {"x": np.zeros((3, 4))}
    >>> changed(guess, "cannot reshape array of size 12 into shape (2,1)")[0]["x"].shape
    (2, 1)
    >>> message = "not enough values to unpack (expected 3, got 2) (line 2: n, t, d = x.shape)"
    >>> changed(guess, message)[0]["x"].shape
    (2, 3, 4)
    >>> changed(guess, "arrays used as indices must be of integer (or boolean) type")[0]["x"]
    array([0, 3, 1])
    """
    arrays = {
        name: value
        for name, value in guess.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    }
    if re.search("indices must be (of )?integer|only integers, slices", message):
        return [{**guess, name: np.array([0, 3, 1])} for name in arrays]
    unpacked = re.search(
        r"values to unpack \(expected (\d)(?:, got (\d))?\).*?(\w+)\.shape", message
    )
    reshaped = re.search(
        r"cannot reshape array of size (\d+) into shape \((\d+(?:, ?\d+)*),?\)", message
    )
    if unpacked is not None:
        expected = int(unpacked.group(1))
        named = unpacked.group(3)
        chosen = [
            name
            for name, value in arrays.items()
            if (name == named or named not in arrays) and value.ndim != expected
        ]
        shapes = OF_AXES.get(expected, [])
    elif reshaped is not None:
        size = int(reshaped.group(1))
        chosen = [name for name, value in arrays.items() if value.size == size]
        shape = tuple(map(int, reshaped.group(2).split(",")))
        shapes = [shape] if np.prod(shape) > 1 else []
    else:
        return []
    rng = np.random.default_rng(0)
    return [{**guess, name: rng.normal(size=shape)} for name in chosen for shape in shapes]


def positive(guess):
    """Return a guess with probabilities in place of arrays that have negative entries.

    Parameters
    ----------
    guess : dict of str to object
        A guess for which the output is not finite, for example because of a logarithm.

    Returns
    -------
    list of dict
        At most one guess; empty if no array has negative entries.

    Examples
    --------
    >>> [found] = positive({"activation": np.array([[-1.0, 1.0]]), "label": np.array([0.0, 1.0])})
    >>> found["activation"].sum().round(12), found["label"]
    (np.float64(1.0), array([0., 1.]))
    """
    rng = np.random.default_rng(0)
    new = {
        name: layouts.drawn(value.shape, rng, True)
        for name, value in guess.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.any(value < 0)
    }
    return [{**guess, **new}] if new else []


def labelled(guess, context):
    """Return a guess in which the labels of a cross-entropy are probabilities.

    The gradient ``p - y`` is right only if the labels of each example sum to one.

    Parameters
    ----------
    guess : dict of str to object
        The guess.
    context : str
        Words in the name of the function, which tell whether it is a cross-entropy.  The name of
        labels may tell it, too.

    Returns
    -------
    dict of str to object
        The guess, with one 1 in each row of labels that have two axes.

    Examples
    --------
    >>> labelled({"y": np.ones((2, 3))}, "cross entropy")["y"]
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    is_entropy = not ENTROPIES.isdisjoint(context.split())
    ones = {
        name: np.eye(value.shape[1])[np.arange(value.shape[0]) % value.shape[1]]
        for name, value in guess.items()
        if (words.may_be_label(name) and is_entropy) or "onehot" in words.plain(name)
        if isinstance(value, np.ndarray)
        and value.dtype.kind == "f"
        and value.ndim == 2
        and value.shape[1] > 1
    }
    return {**guess, **ones}


def described(inputs):
    """Return guessed inputs in words, such as ``x (3, 4), reg = 0.1``.

    Parameters
    ----------
    inputs : dict of str to object
        The inputs by name.

    Returns
    -------
    str
        Shapes of arrays, and values of other inputs.

    Examples
    --------
    >>> described({"x": np.ones((3, 4)), "reg": 0.1})
    'x (3, 4), reg = 0.1'
    """
    listed = []
    for name, value in inputs.items():
        if isinstance(value, dict) and layouts.is_settings(name):
            listed.append(f"{name} (the usual settings)")
            continue
        integers = isinstance(value, np.ndarray) and value.dtype.kind == "i"
        sign = " " if isinstance(value, (np.ndarray, dict)) else " = "
        listed.append(f"{name}{sign}{_shapes(value)}{' of integers' if integers else ''}")
    return ", ".join(listed)


def _shapes(value):
    """Return the shape of an array, or of the arrays in a list, as text."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} {_shapes(item)}' for key, item in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shapes, value))}]"
    return str(np.shape(value)) if isinstance(value, np.ndarray) else repr(value)
