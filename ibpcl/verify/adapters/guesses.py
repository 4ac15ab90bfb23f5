"""Guessed inputs, from the names, docstrings and annotations of parameters.

A guess is a list of candidates, the likeliest first.  The first combination with which the code
runs is used, and the report lists it.
"""

import inspect
import itertools
import re

import numpy as np

from ibpcl.verify.adapters import schemes, switches
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.docstrings import documented_shapes, is_documented_number
from ibpcl.verify.adapters.signatures import parameters_of, returned_keys, returned_names

SCALARS = {
    "reg": 0.1,
    "lam": 0.1,
    "lambd": 0.1,
    "lambda_": 0.1,
    "alpha": 0.3,
    "eps": 1e-5,
    "epsilon": 1e-5,
    "stride": 1,
    "pad": 0,
    "padding": 0,
    "temperature": 1.5,
    "tau": 1.5,
    "delta": 0.7,
    "margin": 1.0,
    "p": 0.5,
    "beta": 0.8,
    "momentum": 0.9,
    "axis": -1,
    "dropout": 0.5,
    "keep_prob": 0.5,
    "slope": 0.1,
    "gamma": 0.7,
    "training": True,
    "train": True,
    "mode": "train",
    "seed": 0,
    "lr": 0.1,
    "learning_rate": 0.1,
}
STRIDED = {"pool_param": {"pool_height": 2, "pool_width": 2, "stride": 2}}
# an argument that a docstring calls a probability
PROBABLE = r"^\s*{}\b\s*(?::|-|\().*probabilit"
LISTED = r"\b{}\b\s*:\s*(?::class:)?.{{0,30}}\blist of"  # an argument that a docstring calls a list
IMAGES = frozenset({"image", "images", "img", "imgs"})
# Shapes that are tried where the code asks for a number of axes.
SQUARES = (2, 4, 4)  # two square images
OF_AXES = {3: [(2, 3, 4), SQUARES], 4: [(2, 3, 4, 4), (2, 4, 4, 3), (2, 6, 6, 3)]}
# Words for losses whose labels are probabilities.
ENTROPIES = frozenset({"softmax", "entropy", "crossentropy", "ce", "nll", "xent"})
MOST = 200  # combinations that are tried


def candidates(function, skip=0, holder=None, given=(), beside=None):
    """Return candidates for each required parameter of a function, the likeliest first.

    Parameters
    ----------
    function : callable
        The function.
    skip : int
        Number of leading parameters to leave out (``self``).
    holder : type, optional
        The class if the function is a method.
    given : sequence of ndarray
        Other inputs, whose sizes are tried.
    beside : callable, optional
        The gradient function.  Its docstring is read too.

    Returns
    -------
    dict of str to list
        The candidates by parameter.
    """
    parameters = parameters_of(function, skip)
    shapes = _shapes_beside(function, beside, holder)
    annotations = getattr(function, "__annotations__", {})
    hint = "" if holder is None else holder.__name__
    context = " ".join(words.tokens(f"{hint}_{getattr(function, '__name__', '')}"))
    rng = np.random.default_rng(0)
    options = {}
    sources = [one for one in (function, beside, holder) if one is not None]
    text = "\n".join(inspect.getdoc(one) or "" for one in sources)
    optional = [
        name for name in parameters.optional if words.is_label(name) or words.plain(name) == "y"
    ]
    differentiated = _differentiated(beside)
    for name in [*parameters.required, *optional, *_without_default(function, skip, parameters)]:
        read = switches.strings_of(function, name) or _dicts(switches.keys_of(function, name), rng)
        if read:
            options[name] = read
            continue
        word = words.plain(name)
        if re.search(PROBABLE.format(re.escape(name)), text, re.IGNORECASE | re.MULTILINE):
            word = "probabilities"
        values = _values(
            name,
            word,
            shapes.get(name),
            annotations.get(name),
            context,
            rng,
            first=not options or word in differentiated,
        )
        if re.search(LISTED.format(re.escape(name)), text):
            values = [[rng.normal(size=(3, 4)), rng.normal(size=(3, 4))], *values]
        elif (
            re.search(rf"\b{re.escape(name)}\b\s*(:|--)\s*(int|integer)s?\b", text, re.IGNORECASE)
            and name not in SCALARS
        ):
            indices = [rng.integers(0, 3, shapes[name])] if name in shapes else []
            values = [*indices, 3, 2, 1, *values]
        elif is_documented_number(name, text) and not words.is_label(name):
            values = [SCALARS.get(name, float(rng.uniform(0.5, 1.0))), *values]
        options[name] = [*(_fitting(name, given, rng) if name not in shapes else []), *values]
    return options


def _differentiated(beside):
    """Return the names of the arguments whose gradients a function returns, without marks."""
    if beside is None:
        return set()
    returned = returned_names(beside)
    listed = returned if isinstance(returned, list) else [returned]
    listed = [*listed, *returned_keys(beside)]
    return {
        words.plain(base)
        for name in listed
        if isinstance(name, str)
        for base in words.gradient_bases(name)
    }


def _dicts(keys, rng):
    """Return dicts of parameters with these keys, whose shapes fit together."""
    if not keys:
        return []
    fitting = [dict(inputs) for inputs in itertools.islice(schemes.fitting(keys), 6)]
    return fitting or [
        {key: rng.normal(size=(size,) if words.is_vector(key) else (4, size)) for key in keys}
        for size in (4, 5)
    ]


def _shapes_beside(function, beside, holder):
    """Return the documented shapes of a function, and of arguments that its gradient documents."""
    shapes = {} if beside is None else documented_shapes(beside)
    return {**shapes, **documented_shapes(function, holder)}


def _fitting(name, given, rng):
    """Return candidates with the sizes of other inputs."""
    sizes = list(dict.fromkeys(size for value in given for size in np.shape(value)[::-1]))
    if not sizes or words.is_label(name) or _are_indices(name):
        return []
    word = words.plain(name)
    shapes = [(size,) for size in sizes]
    matrices = [(3, size) for size in sizes] + [(size, 5) for size in sizes]
    if "state" in word or "hidden" in word or word.startswith("hprev"):
        shapes = [(size, 1) for size in sizes] + shapes
    shapes = (
        shapes + matrices
        if word.startswith(("b", "gamma", "mu", "sigma")) or len(shapes) > len(sizes)
        else matrices + shapes
    )
    return [rng.normal(size=shape) for shape in shapes[:12]]


def _are_indices(name):
    """Return whether a name says that an argument holds integers, such as ``token_ids``."""
    return not {"index", "indices", "idx", "ids", "tokens"}.isdisjoint(words.tokens(name))


def _without_default(function, skip, parameters):
    every = list(inspect.signature(function).parameters.values())[skip:] if parameters.known else []
    return [p.name for p in every if p.kind is p.KEYWORD_ONLY and p.default is p.empty]


def _values(name, word, shape, annotation, context, rng, first):
    """Return the candidates for one parameter; ``word`` is its name, or "probabilities"."""
    if name in STRIDED or schemes.is_settings(name):
        return [STRIDED.get(name, dict(schemes.SETTINGS))]
    if annotation in (float, "float"):
        return [0.7]
    if annotation in (int, "int"):
        return [SCALARS.get(name, 2)]
    if annotation in (bool, "bool"):
        return [True, False]
    if name in SCALARS and not (name in ("gamma", "beta", "alpha") and shape):
        sizes = (
            ((4,), (3,), (1, 3, 1, 1))
            if name in ("gamma", "beta", "alpha")
            else ((3, 4), (4,))
            if name == "p" and ("loss" in context or "entropy" in context)
            else ()
        )
        return [*(_drawn(rng, size, word) for size in sizes), SCALARS[name]]
    if words.is_fraction(name):
        return [0.5]
    labels = [
        np.eye(4)[[0, 3, 1]],
        np.array([0, 3, 1]),
        rng.normal(size=(3, 4)),
        np.array([1.0, 0.0, 1.0]),
        np.eye(4)[[0, 3, 1]].T,
        np.array([[1.0, 0.0, 1.0]]),
    ]
    if not {"binary", "bce"}.isdisjoint(context.split()):
        labels.insert(0, labels.pop(3))
    if words.is_label(name) or (word in ("y", "ys") and not first):
        if shape is not None:
            if len(shape) == 2 and shape not in [value.shape for value in labels]:
                labels.append(rng.integers(0, 2, shape).astype(float))
            labels.sort(key=lambda value: value.shape != shape)
        vectors = [rng.normal(size=shape), rng.integers(0, 3, shape)]
        return [*(vectors if shape and len(shape) == 1 else []), *labels]
    if shape is not None:
        return [_drawn(rng, shape, word), *([] if len(shape) > 3 else _usual(context, rng, word))]
    is_matrix = len(name) == 1 and name.isupper()
    if _are_indices(name):
        return [np.array([0, 3, 1]), rng.integers(0, 3, (3, 2)), *_usual(context, rng, word)]
    image = _is_image(context)
    weights = re.fullmatch(r"(w|weights?|kernel|u|v|theta)(\d*)|w([a-z])|w([a-z])([a-z])", word)
    if weights and not first:
        layer = weights.group(2) or ""
        shapes = (
            [(4, 5), (5, 3), (4,), (5, 4)] if layer in ("", "1", "0") else [(5, 6), (6, 5), (5, 5)]
        )
        shapes = [(2, 3, 3, 3), (3, 3, 3, 2), *shapes] if image else shapes
        return [rng.normal(size=size) for size in shapes]
    if words.is_vector(word) and not first:
        sizes = (
            [(2,), (1, 1, 1, 2), (5,), (5, 1), (1, 5)]
            if image
            else [(5,), (5, 1), (1, 5), (4,), (6,), ()]
        )
        return [rng.normal(size=size) if size else float(rng.normal()) for size in sizes]
    return _usual(context, rng, word, is_matrix)


def _usual(context, rng, word, is_matrix=False):
    """Return candidates for an input about which nothing is known, or which is a matrix.

    A binary loss has one output for each example, so its inputs are vectors first.
    """
    images = [(2, 3, 4, 4), (2, 4, 4, 3), (4, 4, 2), (2, 4, 4), (2, 3, 6, 6)]
    shapes = images if _is_image(context) else []
    shapes = shapes + ([(3, 5, 4)] if _is_series(context) else [])
    shapes += [(3, 4), (4,), (4, 1), (), (1, 4), (4, 4), (2, 3, 4, 4), (2, 4, 4, 3), (3, 5, 4)]
    shapes.sort(key=lambda shape: is_matrix and len(shape) < 2)
    if not {"binary", "bce"}.isdisjoint(context.split()):
        shapes.insert(0, (3,))
    indices = (
        [np.array([0, 3, 1]), np.array([[0, 3], [1, 1], [2, 0]])]
        if re.search("embed|lookup|token|index|gather|word|onehot", context)
        else []
    )
    drawn = [_drawn(rng, size, word) for size in dict.fromkeys(shapes)]
    return [*indices, *drawn] if "embed" in context else [*drawn, *indices]


def _drawn(rng, shape, word):
    """Return a normal array, or rows of probabilities if the name suggests them."""
    if word in (
        "p",
        "probs",
        "prob",
        "yhat",
        "phat",
        "ypred",
        "pred",
        "preds",
        "predictions",
        "predicted",
        "yp",
        "dvalues",
        "output",
        "a",
        "probabilities",
        "prediction",
        "al",
    ):
        positive = rng.uniform(0.2, 0.8, size=shape)
        return (
            positive / positive.sum(axis=-1, keepdims=True)
            if len(shape) > 1 and shape[-1] > 1
            else positive
        )
    return rng.normal(size=shape) if shape else float(rng.normal())


def _is_image(context):
    text = words.plain(context)
    return any(
        word in text for word in ("conv", "pool", "image", "img", "spatial", "cnn", "2d", "upsampl")
    )


def _is_series(context):
    return any(
        word in context
        for word in (
            "rnn",
            "lstm",
            "gru",
            "attention",
            "temporal",
            "sequence",
            "recurrent",
            "transformer",
        )
    )


def documented(function, beside=None, holder=None):
    """Return the names of arguments whose shape a docstring gives, or that it calls a number.

    Parameters
    ----------
    function : callable
        The function.
    beside : callable, optional
        Its gradient function.
    holder : type, optional
        Its class.

    Returns
    -------
    set of str
        The names; also of arguments that are documented as lists.
    """
    text = "\n".join(inspect.getdoc(one) or "" for one in (function, holder) if one is not None)
    others = {
        name
        for name in parameters_of(function).every
        if re.search(LISTED.format(re.escape(name)), text) or is_documented_number(name, text)
    }
    return {*_shapes_beside(function, beside, holder), *others}


def combinations(options, documented=()):
    """Yield combinations of candidates, the likeliest first, at most :data:`MOST` of them.

    Parameters
    ----------
    options : dict of str to list
        Candidates by parameter.
    documented : collection of str
        Parameters whose number of axes is documented.

    Yields
    ------
    dict of str to object
        One candidate for each parameter.
    """
    names = list(options)
    if names and all(name in documented for name in names):
        yield {name: options[name][0] for name in names}
    strings = {name: options[name] for name in names if isinstance(options[name][0], str)}
    dicts = {
        name: list(options[name][0])
        for name in names
        if isinstance(options[name][0], dict) and not schemes.is_settings(name)
    }
    others = [name for name in names if name not in strings]
    if any(len(options[name]) > 1 or name in dicts for name in others):
        flat = [key for name in others for key in dicts.get(name, [name])]
        for inputs in schemes.fitting(flat):
            if all(
                _has_axes(inputs[name], options[name][0])
                for name in others
                if name not in dicts and (name in documented or _is_integers(options[name][0]))
            ) and not any(
                _is_integers(inputs[name]) and not any(map(_is_integers, options[name]))
                for name in others
                if name not in dicts
            ):
                for words_of in itertools.product(*strings.values()):
                    texts = dict(zip(strings, words_of, strict=True))
                    yield {
                        name: texts[name]
                        if name in texts
                        else {key: inputs[key] for key in dicts[name]}
                        if name in dicts
                        else inputs[name]
                        for name in names
                    }
    ranked = itertools.product(*(range(len(options[name])) for name in names))
    total = int(np.prod([len(options[name]) for name in names])) if names else 1
    if total <= 20_000:
        ranked = sorted(ranked, key=sum)
    for ranks in itertools.islice(ranked, MOST):
        yield {name: options[name][rank] for name, rank in zip(names, ranks, strict=True)}


def labelled(guess, function, holder=None):
    """Return a guess in which the labels of a cross-entropy are probabilities.

    The gradient ``p - y`` is right only if the labels of each example sum to one.

    Parameters
    ----------
    guess : dict of str to object
        The guess.
    function : callable
        The function, whose name tells whether it is a cross-entropy.
    holder : type, optional
        Its class.

    Returns
    -------
    dict of str to object
        The guess, with one 1 in each row of labels that have two axes.

    Examples
    --------
    >>> def cross_entropy(scores, y): ...
    >>> labelled({"y": np.ones((2, 3))}, cross_entropy)["y"]
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    names = [getattr(one, "__name__", "") for one in (function, holder) if one is not None]
    if ENTROPIES.isdisjoint(word for name in names for word in words.tokens(name)):
        return guess
    changed = {
        name: np.eye(value.shape[1])[np.arange(value.shape[0]) % value.shape[1]]
        for name, value in guess.items()
        if (words.is_label(name) or words.plain(name) == "y")
        and isinstance(value, np.ndarray)
        and value.dtype.kind == "f"
        and value.ndim == 2
        and value.shape[1] > 1
    }
    return {**guess, **changed}


def reshaped(guess, message):
    """Return guesses with the size or the number of axes that an error message asks for.

    Parameters
    ----------
    guess : dict of str to object
        The guess that raised.
    message : str
        Message of the exception: of ``reshape``, or of ``n, c, h, w = x.shape``.

    Returns
    -------
    list of dict
        Guesses in which one array has another shape; empty for other messages.

    Examples
    --------
    >>> guess = {"x": np.zeros((3, 4))}
    >>> reshaped(guess, "cannot reshape array of size 12 into shape (2,1)")[0]["x"].shape
    (2, 1)
    >>> message = "not enough values to unpack (expected 3, got 2) (line 2: n, t, d = x.shape)"
    >>> reshaped(guess, message)[0]["x"].shape
    (2, 3, 4)
    """
    rng = np.random.default_rng(0)
    arrays = {
        name: value
        for name, value in guess.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    }
    match = re.search(
        r"not enough values to unpack \(expected (\d), got (\d)\).*?(\w+)\.shape", message
    )
    if match is not None:
        expected, got = map(int, match.groups()[:2])
        named = match.group(3)
        return [
            {**guess, name: rng.normal(size=shape)}
            for name, value in arrays.items()
            if value.ndim == got and (name == named or named not in arrays)
            for shape in _of_axes(name, expected)
        ]
    match = re.search(
        r"cannot reshape array of size (\d+) into shape \((\d+(?:, ?\d+)*),?\)", message
    )
    if match is None:
        return []
    size = int(match.group(1))
    shape = tuple(map(int, match.group(2).split(",")))
    if np.prod(shape) < 2:
        return []
    return [
        {**guess, name: rng.normal(size=shape)}
        for name, value in arrays.items()
        if value.size == size
    ]


def _of_axes(name, n_axes):
    """Return shapes with a number of axes; images of three axes are square."""
    if n_axes == 3 and not IMAGES.isdisjoint(words.tokens(name)):
        return [SQUARES]
    return OF_AXES.get(n_axes, ())


def indexed(guess, message):
    """Return a guess with integers in place of inputs and labels that the code uses as indices.

    Parameters
    ----------
    guess : dict of str to object
        The guess that raised.
    message : str
        Message of the exception.

    Returns
    -------
    list of dict
        At most one guess; empty for other messages.

    Examples
    --------
    >>> guess = {"inputs": np.zeros((3, 4)), "h": np.zeros(5)}
    >>> indexed(guess, "arrays used as indices must be of integer (or boolean) type")[0]["inputs"]
    array([0, 3, 1])
    """
    if not re.search("indices must be (of )?integer|only integers, slices", message):
        return []
    changed = {
        name: np.array([0, 3, 1])
        for name, value in guess.items()
        if (words.plain(name) in words.GENERIC or words.is_label(name))
        and isinstance(value, np.ndarray)
        and value.dtype.kind == "f"
    }
    return [{**guess, **changed}] if changed else []


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
    >>> [changed] = positive({"activation": np.array([[-1.0, 1.0]]), "label": np.array([0.0, 1.0])})
    >>> changed["activation"].sum().round(12), changed["label"]
    (np.float64(1.0), array([0., 1.]))
    """
    rng = np.random.default_rng(0)
    changed = {
        name: _drawn(rng, value.shape, "probabilities")
        for name, value in guess.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.any(value < 0)
    }
    return [{**guess, **changed}] if changed else []


def _has_axes(value, first):
    """Return whether a value has the axes of the first candidate, and integers if that has them.

    The first candidate follows a docstring, or a name such as ``embedding``.
    """
    return (
        not isinstance(first, list)
        and np.ndim(value) == np.ndim(first)
        and _is_integers(value) >= _is_integers(first)
    )


def _is_integers(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "i"


def _shapes(value):
    """Return the shape of an array, or of the arrays in a list, as text."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} {_shapes(item)}' for key, item in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shapes, value))}]"
    return str(np.shape(value)) if isinstance(value, np.ndarray) else repr(value)


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
    words_of = []
    for name, value in inputs.items():
        if isinstance(value, dict) and schemes.is_settings(name):
            words_of.append(f"{name} (the usual settings)")
            continue
        integers = isinstance(value, np.ndarray) and value.dtype.kind == "i"
        sign = " " if isinstance(value, (np.ndarray, dict)) else " = "
        words_of.append(f"{name}{sign}{_shapes(value)}{' of integers' if integers else ''}")
    return ", ".join(words_of)
