"""Shapes of inputs that fit together: a dense layer, a recurrent step, a convolution, a loss.

A layout gives a shape, or another value, to every parameter whose name one of its patterns
matches.  It is tried if it covers all parameters.  Sizes that may be mixed up differ: three
examples, four features, five units.
"""

import itertools
import re
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import vocabulary as words

# Values that are no normal arrays.
CLASSES = "classes"  # integer labels, one for each example
BINARY = "binary"  # zeros and ones, one for each example
ROW = "row of zeros and ones"
GRID = "grid of classes"  # integer labels, one for each example and step
ONEHOT = {size: f"one of {size}" for size in (4, 5)}
VALUES = {
    CLASSES: np.array([0, 3, 1]),
    BINARY: np.array([1.0, 0.0, 1.0]),
    ROW: np.array([[1.0, 0.0, 1.0]]),
    GRID: np.array([[0, 3], [1, 1], [2, 0]]),
    **{name: np.eye(size)[[0, 3, 1]] for size, name in ONEHOT.items()},
}
# Numbers with usual names, as `plain`.
NUMBERS = {
    **dict.fromkeys(("reg", "lam", "lambd", "lambda", "lmbda", "lamda", "l1", "l2", "lbd"), 0.1),
    **dict.fromkeys(("reglambda", "regparam", "weightdecay", "regularization"), 0.1),
    **dict.fromkeys(("eps", "epsilon"), 1e-5),
    **dict.fromkeys(("lr", "learningrate", "slope", "negativeslope"), 0.1),
    **dict.fromkeys(("temperature", "tau"), 1.5),
    **dict.fromkeys(("dropout", "keepprob", "droprate", "p"), 0.5),
    **dict.fromkeys(("training", "train", "istraining"), True),
    **dict.fromkeys(("poolheight", "poolwidth", "poolsize", "kernelsize", "ksize"), 2),
    "alpha": 0.3,
    "beta": 0.8,
    "gamma": 0.7,
    "delta": 0.7,
    "margin": 1.0,
    "momentum": 0.9,
    "stride": 1,
    "pad": 1,
    "padding": 1,
    "axis": -1,
    "mode": "train",
    "seed": 0,
}
SETTINGS = {
    "stride": 1,
    "pad": 1,
    "padding": 1,
    "pool_height": 2,
    "pool_width": 2,
    "mode": "train",
    "eps": 1e-5,
    "momentum": 0.9,
    "p": 0.5,
    "seed": 0,
    "f": 2,
}
FRACTION = 0.5  # for a rate of dropout
X = r"t?x\w?|a|z|h|inputs?\w*|\w*features|aprev|\w*data|phi|\w*images?|img|seq|prev|act\w*|inp|xin"
W = r"(w|weights?|theta|kernels?|filters?|filt|u|coefs?)[01]?"
B = r"(b|bias(es)?|intercept)[01]?|c"
Y = r"y|t|ys|labels?|targets?|ytrue|yonehot|onehot|classes|truth|expected|actual|gt"
P = r"x|p|a|z|al|logits?|scores?|inputs?|ypred|yhat|pred\w*|probs?|outputs?|out|yp|h"
INDICES = r".*(ids|index|indices|idx|tokens)"
WORDS = rf"{X}|{INDICES}|words?|sentences?"
OTHERS = r".*"

MOST = 20  # parameters for which inputs are guessed
IMAGE = "conv|pool|image|img|spatial|cnn|2d|upsampl"
INDEX = "embed|lookup|token|index|gather|word"
TWO_CLASSES = "binary|bce"
REGRESSION = "regression"


class Layout(NamedTuple):
    """Values for parameters by the patterns of their names.

    Attributes
    ----------
    rows : tuple of (str, tuple)
        A pattern, and its candidates: shapes of normal arrays, keys of :data:`VALUES`, or numbers.
    words : str
        Pattern of words in the name of a function for which the layout comes first.
    only : bool
        Whether the layout is for such functions alone.
    most : int
        Number of parameters up to which it is tried.
    """

    rows: tuple
    words: str = "(?!)"
    only: bool = False
    most: int = MOST


def _layout(*rows, **options):
    listed = ((name, one if isinstance(one, list) else [one]) for name, one in rows)
    return Layout(tuple(listed), **options)


LAYOUTS = (
    _layout(
        (X, (3, 4)),
        (W, (4, 5)),
        (B, [(5,), (1, 5)]),
        (r"gamma|beta|scale|shift|gain|g", (5,)),
        (Y, [CLASSES, ONEHOT[5], (3, 5)]),
    ),
    *(
        _layout((X, (3, 4)), (rf"{W}|beta", (4, *c)), (B, 0.3), (Y, (3, *c)), words=REGRESSION)
        for c in ((), (1,))
    ),
    _layout((X, (3, 4)), (r"gamma|beta|scale|shift|gain|[gb]", [(4,), (1, 4)])),
    _layout(
        (X, (2, 3, 4, 4)),
        (W, (2, 3, 3, 3)),
        (B, [(2,), (2, 1)]),
        (r"gamma|beta", [(3,), (1, 3, 1, 1)]),
        words=IMAGE,
    ),
    _layout((X, (4, 3)), (W, (5, 4)), (B, (5, 1)), (Y, (5, 3))),
    _layout((X, (4, 3)), (W, (4, 1)), (B, 0.3), (Y, ROW)),
    _layout((r"x|z|theta|w|v", (4,)), (r"[a-dkms]|mu|sigma|scale", 0.7)),
    _layout((r"x|v|z", (4,)), (r"a|h|m|w|matrix|phi", (3, 4)), (r"b|c|y|t", (3,))),
    _layout((r"x|v|z", (4,)), (r"a|q|h|m|matrix|sigma", (4, 4)), (r"b|c", (4,))),
    _layout((P, (3,)), (Y, BINARY), words=TWO_CLASSES, only=True),
    _layout((P, (3, 4)), (Y, [ONEHOT[4], CLASSES, (3, 4)]), words="entropy|softmax|nll|svm|hinge"),
    _layout((P, (3, 4)), (Y, [(3, 4), CLASSES, ONEHOT[4]])),
    _layout((P, (3,)), (Y, BINARY)),
    _layout((P, (4,)), (Y, 1)),  # one example and its class
    _layout((r"q|query|queries", (3, 4)), (r"k|keys?", (5, 4)), (r"v|values?", (5, 2))),
    # One or two inputs of which nothing is known.
    _layout((W, (4, 5)), (WORDS, [CLASSES, GRID]), words=INDEX, only=True),
    # The vector of a word beside those of all words.
    _layout((r"center\w*", (4,)), (r"\w*vectors", (5, 4)), (r"data\w*", 0), words=INDEX, only=True),
    *(_layout((OTHERS, shape), words=IMAGE, only=True) for shape in ((2, 3, 4, 4), (2, 4, 4, 3))),
    *(
        _layout(
            (Y, BINARY if shape == (3,) else shape),
            (r"gamma|beta|scale|shift|gain|offset|bias|b\d?", shape[-1:]),
            (OTHERS, shape),
            most=MOST if shape in ((3, 4), (4,), ()) else 2,
        )
        for shape in ((3, 4), (4,), (3,), (4, 1), (1, 4), (), (4, 4), (2, 3, 4, 4), (3, 5, 4))
    ),
    _layout((INDICES, CLASSES), (OTHERS, (5, 4))),
)


def fitting(names, context, shapes, probabilities):
    """Yield inputs for all parameters from each layout that covers them.

    Parameters
    ----------
    names : sequence of str
        Names of the parameters.
    context : str
        Words in the name of the function, which put some layouts first.
    shapes : dict of str to tuple of int
        Documented shapes.
    probabilities : collection of str
        Parameters that are probabilities.

    Yields
    ------
    dict of str to object
        A value for each parameter.

    Examples
    --------
    >>> next(fitting(["x", "W", "b"], "", {}, ()))["W"].shape
    (4, 5)
    """
    seen = set()
    ordered = sorted(LAYOUTS, key=lambda layout: not re.search(layout.words, context))
    for layout in ordered:
        if len(names) > layout.most or (layout.only and not re.search(layout.words, context)):
            continue
        options = [_candidates(name, layout, shapes.get(name)) for name in names]
        for chosen in itertools.product(*options):
            key = tuple(map(str, chosen))
            if key not in seen:
                seen.add(key)
                rng = np.random.default_rng(0)
                values = zip(names, chosen, strict=True)
                yield {name: drawn(value, rng, name in probabilities) for name, value in values}


def _candidates(name, layout, shape):
    """Return the candidates for one parameter; empty if a layout does not cover it."""
    if is_settings(name):
        return [SETTINGS]
    if words.is_fraction(name):
        return [FRACTION]
    word = words.plain(name)
    pattern = Y if words.is_label(name) else None
    rows = (
        values
        for row, values in layout.rows
        if row in (OTHERS, pattern) or (pattern is None and re.fullmatch(row, word))
    )
    listed = next(rows, [])
    if shape is not None:
        return [value for value in listed if np.shape(drawn(value)) == shape] or [shape]
    if word not in NUMBERS or words.is_prediction(name) or (words.is_vector(name) and listed):
        return listed
    return [NUMBERS[word], *(listed if words.is_noise(name) else ())]


def drawn(value, rng=None, is_probability=False):
    """Return a value of a layout, where shapes are drawn.

    Parameters
    ----------
    value : tuple of int, str or object
        A shape, a key of :data:`VALUES`, or the value itself.
    rng : numpy.random.Generator, optional
        Draws the array.
    is_probability : bool
        Whether to draw positive numbers whose rows sum to one.

    Returns
    -------
    object
        The value.
    """
    if isinstance(value, str) and value in VALUES:
        return VALUES[value].copy()
    if isinstance(value, dict):
        return dict(value)
    if not isinstance(value, tuple):
        return value
    rng = rng or np.random.default_rng(0)
    if not is_probability:
        return rng.normal(size=value) if value else float(rng.normal())
    positive = rng.uniform(0.2, 0.8, size=value)
    several = len(value) > 1 and value[-1] > 1
    return positive / positive.sum(axis=-1, keepdims=True) if several else positive


def is_settings(name):
    """Return whether a parameter is a dict of settings, such as the stride of a convolution.

    Parameters
    ----------
    name : str
        Name of the parameter.

    Returns
    -------
    bool
        True for names such as ``conv_param`` and ``config``.
    """
    names = ("hparameters", "hparams", "hyperparameters", "config", "options", "settings")
    return name.endswith("_param") or words.plain(name) in names
