"""Guessed inputs, from the names and docstrings of functions and from the arrays of objects."""

import ast
import inspect
import itertools
import re
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import construction, layouts, leaves, loss
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.documented import documented_integers, documented_shapes
from ibpcl.verify.adapters.methods import methods_of
from ibpcl.verify.adapters.signatures import required_keywords, tree_of

# Words for losses whose labels are probabilities.
ENTROPIES = frozenset({"softmax", "entropy", "crossentropy", "ce", "nll", "multinomial"})
# Names of weights that are a vector beside labels.
COEFFICIENTS = frozenset({"w", "weights", "theta", "beta", "coef"})
MOST = 200  # guesses
FITTING = 8  # shapes that fit given arrays
HELD = 4  # arrays of an object whose sizes may fit


class Unknown(NamedTuple):
    """The inputs to guess, and what is known of them.

    Attributes
    ----------
    names : list of str
        Names of the parameters.
    context : str
        Words in the names of the function and its class.
    shapes : dict of str to tuple of int
        Documented shapes.
    probabilities : set of str
        Parameters that are probabilities.
    given : list of ndarray
        Other arrays, whose sizes may fit.
    integers : dict of str to int
        Further parameters, which are an integer by their docstring.
    is_for_one_row : bool
        Whether the gradient function reads the first row of an array alone, as in ``p[0][i]``.
    """

    names: list
    context: str
    shapes: dict
    probabilities: set
    given: list
    integers: dict
    is_for_one_row: bool

    @property
    def documented(self):
        """Parameters whose shape a docstring gives."""
        return set(self.shapes)

    def guesses(self):
        """Yield guesses, the likeliest first, at most :data:`MOST` of them.

        Yields
        ------
        dict of str to object
            A value for each parameter.
        """
        of_layouts = layouts.fitting(self.names, self.context, self.shapes, self.probabilities)
        every = itertools.chain(self._beside_given(), of_layouts)
        for guess in itertools.islice(every, MOST):
            yield {**labelled(guess, self.context), **self.integers}

    def _beside_given(self):
        """Yield guesses with the sizes of given or documented inputs, for one unknown array."""
        free = [name for name in self.names if name not in self.shapes]
        every = [np.shape(value) for value in self.given] + list(self.shapes.values())
        if not every or len(free) != 1 or words.is_label(free[0]):
            return
        rng = np.random.default_rng(0)
        drawn = {
            name: layouts.drawn(shape, rng, name in self.probabilities)
            for name, shape in self.shapes.items()
        }
        sizes = list(dict.fromkeys(size for shape in every for size in shape[::-1]))
        vectors = [(size,) for size in sizes]
        rows = [pair for pair in itertools.product(sizes, repeat=2) if pair[0] != pair[1]]
        rows += [(3, size) for size in sizes] + [(size, 3) for size in sizes]
        shapes = vectors + rows if words.is_vector(free[0]) else rows + vectors
        for shape in shapes[:FITTING]:
            yield {**drawn, free[0]: rng.normal(size=shape)}


def unknown(target, given=()):
    """Return the names, shapes and layouts that are known for the missing inputs of a target.

    Parameters
    ----------
    target : Target
        The target.
    given : dict of str to object
        Inputs and arguments of a constructor that need no guess.

    Returns
    -------
    Unknown
        The other required parameters, and the arrays that a constructor takes.
    """
    kind = target.kind
    function = target.forward if kind is None else getattr(kind, target.method)
    gradient = target.gradient
    if kind is not None and (methods := methods_of(kind)):
        gradient = getattr(kind, methods.backward)
    sources = [one for one in (function, gradient, kind) if one is not None]
    parameters = target.parameters
    labels = [name for name in parameters.optional if words.is_label(name)]
    every = [*parameters.required, *labels, *required_keywords(function)]
    of_loss = any(map(words.may_be_label, every))
    context = words.tokens("_".join(getattr(one, "__name__", "") for one in sources))
    if of_loss and COEFFICIENTS.intersection(map(words.plain, every)):
        context.append("regression")
    names = [name for name in every if name not in given]
    integers = dict.fromkeys(documented_integers(sources, names), 1)
    names = [name for name in names if name not in integers]
    shapes = documented_shapes(sources, names)
    arrays = [*_held(target).values(), *dict(given).values()]
    return Unknown(
        [*names, *construction.arrays(target.forward, given)],
        " ".join(context),
        shapes,
        {name for name in names if _is_probability(name, of_loss)},
        [value for value in arrays if isinstance(value, np.ndarray)],
        integers,
        _reads_one_row(gradient),
    )


def _reads_one_row(gradient):
    """Return whether a function takes entries of the first row of an array: ``p[0][i]``."""
    tree = tree_of(gradient) if inspect.isroutine(gradient) else None
    firsts = [
        node.value.slice
        if isinstance(node.value, ast.Subscript)
        else next(iter(getattr(node.slice, "elts", ())), None)
        for node in ast.walk(tree or ast.Pass())
        if isinstance(node, ast.Subscript)
    ]
    return any(isinstance(first, ast.Constant) and first.value == 0 for first in firsts)


def _held(target):
    """Return arrays of an object, or global arrays that a loss reads, whose sizes may fit."""
    if target.kind is None:
        known = [] if target.gradient else loss.globals_of(target.forward)
        return {leaf.name: leaf.value for leaf in known}
    held = {} if inspect.isclass(target.forward) else leaves.arrays_in(target.forward)
    arrays = {str(path): value for path, value in held.items() if 0 < np.ndim(value) < 3}
    return dict(itertools.islice(arrays.items(), HELD))


def _is_probability(name, of_loss):
    """Return whether an input is a probability, by its name or by labels beside it."""
    word = words.plain(name)
    if "logit" in word or "score" in word:
        return False
    return "prob" in word or word == "p" or (of_loss and words.is_prediction(name))


def reshaped(guess, shapes):
    """Return a guess whose inputs have the shapes of returned gradients.

    A gradient (4,) of ``alpha`` says that ``alpha`` is a vector.

    Parameters
    ----------
    guess : dict of str to object
        The guess.
    shapes : dict of str to tuple
        Shapes by the names of inputs; other names are left out.

    Returns
    -------
    dict of str to object
        The guess with other inputs, whose entries differ.

    Examples
    --------
    >>> reshaped({"x": np.ones((2, 3)), "alpha": 0.5}, {"alpha": (3,)})["alpha"]
    array([0.5 , 0.55, 0.6 ])
    """
    made = dict(guess)
    for name, shape in shapes.items():
        if name in guess and np.size(guess[name]):
            steps = 1 + 0.1 * np.arange(np.prod(shape, dtype=int)).reshape(shape)
            made[name] = np.resize(np.asarray(guess[name], float), shape) * steps
    return made


def as_indices(guess, message):
    """Return guesses with integers in place of one array, if an error asks for indices.

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
    >>> as_indices(guess, "arrays used as indices must be of integer (or boolean) type")[0]["x"]
    array([0, 3, 1])
    """
    if not re.search("indices must be (of )?integer|only integers, slices", message):
        return []
    return [
        {**guess, name: np.array([0, 3, 1])}
        for name, value in guess.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    ]


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
    >>> described({"x": np.ones((3, 4)), "reg": 0.1, "y": np.array([1, 0])})
    'x (3, 4), reg = 0.1, y (2,) of integers'
    """
    return ", ".join(f"{name}{_described(value)}" for name, value in inputs.items())


def _described(value):
    if isinstance(value, dict):
        return " (the usual settings)"
    if not isinstance(value, np.ndarray):
        return f" = {value!r}"
    return f" {value.shape}" + (" of integers" if value.dtype.kind == "i" else "")
