"""Sets of inputs that fit together: a dense layer, a recurrent step, a convolution, a classifier.

A scheme assigns a shape, or integers, to every parameter that one of its patterns matches.  It is
tried if it covers all missing parameters.
"""

import re

import numpy as np

from ibpcl.verify.adapters import vocabulary as words

CLASSES = "classes"  # stands for integer labels, one for each example
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
NUMBERS = {
    "reg": 0.1,
    "lam": 0.1,
    "lambd": 0.1,
    "eps": 1e-5,
    "epsilon": 1e-5,
    "alpha": 0.3,
    "stride": 1,
    "pad": 1,
    "padding": 1,
    "l2": 0.1,
    "weightdecay": 0.1,
    "lambda": 0.1,
    "lmbda": 0.1,
    "lamda": 0.1,
    "reglambda": 0.1,
    "plambda": 0.1,
    "paramlambda": 0.1,
    "lbd": 0.1,
    "regparam": 0.1,
}
_STATE = (
    r"(prev)?[hc](prevt|prev|0|init|t|tm1)?|(prev)?(hidden|state|cell)(prevt|prev|0|t)?|a0|aprev"
    r"|initialstate"
)
_IN = r"w[xi][a-z]*|wax|u|win|winput|wx\w*|wih"
_OUT = r"wh[a-z]*|waa|wrec|whh|wa|wh\w*"


def _recurrent(x, width, h=(3, 5)):
    n = width * 5
    return [
        (r"x|xs|inputs?|xt", x),
        (_STATE, h),
        (_IN, (4, n)),
        (_OUT, (5, n)),
        (r"b\w*", (n,)),
        (r"mask\w*", None),
    ]


# Models with one output for each example.
REGRESSIONS = (
    *(
        [
            (r"x|tx|a|phi|inputs?|features|data", (3, 4)),
            (r"w|weights?|theta|beta|coefs?", (4, *columns)),
            (r"b|bias|intercept", 0.3),
            (r"y|t|labels?|targets?|ytrue", (3, *columns)),
        ]
        for columns in ((), (1,))
    ),
    [
        (r"x|inputs?|features", (3, 4)),
        (r"w1", (4, 6)),
        (r"b1", (6,)),
        (r"w2|v", (6,)),
        (r"b2", 0.3),
        (r"y|t|labels?|targets?|ytrue", (3,)),
    ],
)
SCHEMES = (
    *(
        [  # all weights of a network with one hidden layer in a vector, with columns of biases
            (r"(initial)?(nn)?(params?|thetas?|parameters|weights)", (5 * 5 + 4 * 6,)),
            (r"(n|num)in(put)?s?|(n|num)?in(put)?s?(layer)?(size|dim|units)", 4),
            (r"(n|num)?(hidden|hid)(layer)?(size|dim|units)?", 5),
            (r"(n|num)(labels|classes)|(n|num)?out(put)?s?(layer)?(size|dim|units)?", 4),
            (r"x|features", (3, 4)),
            (r"y|yonehot|onehot|ytrue|classes", labels),
            (r"learningrate|regularization|l|lb", 0.1),  # the weight of the penalty
        ]
        for labels in (CLASSES, "onehot")
    ),
    [
        (r"x|a|inputs?|features|aprev|h", (3, 4)),
        (r"w|weights?|theta|kernel", (4, 5)),
        (r"b|bias(es)?", (5,)),
        (r"y|t|labels?|targets?|ytrue", CLASSES),
    ],
    [
        (r"x|a|inputs?|features|aprev|h", (3, 4)),
        (r"w|weights?|theta|kernel", (4, 5)),
        (r"b|bias(es)?", (5,)),
        (r"y|t|labels?|targets?|ytrue", (3, 5)),
    ],
    [
        (r"x|v|z", (4,)),
        (r"a|q|h|m|matrix|sigma", (4, 4)),
        (r"b|c", (4,)),
    ],
    *REGRESSIONS,
    [
        (r"x|inputs?", (3, 4)),
        (r"w[01]|w", (4, 6)),
        (r"b[01]|b", (6,)),
        (r"w[2v]|v", (6, 5)),
        (r"b2|c", (5,)),
        (r"y|t|labels?|targets?|ytrue", CLASSES),
    ],
    [
        (r"x|inputs?", (3, 4)),
        (r"w[01]|w", (4, 6)),
        (r"b[01]|b", (6,)),
        (r"w[2v]|v", (6, 5)),
        (r"b2|c", (5,)),
        (r"y|t|labels?|targets?|ytrue", (3, 5)),
    ],
    [
        (r"x|inputs?|images?", (2, 3, 4, 4)),
        (r"w|weights?|filters?|filt|kernels?", (2, 3, 3, 3)),
        (r"b|bias", (2,)),
        (r"gamma|beta", (3,)),
        (r"groups", 3),
    ],
    [
        (r"x|inputs?|images?", (2, 3, 4, 4)),
        (r"w|weights?|filters?|filt|kernels?", (2, 3, 3, 3)),
        (r"b|bias", (2, 1)),
        (r"gamma|beta", (1, 3, 1, 1)),
        (r"groups", 3),
    ],
    [
        (r"x|inputs?|images?|img", (3, 5, 5)),
        (r"w|weights?|filters?|filt|kernels?", (2, 3, 3, 3)),
        (r"b|bias", (2, 1)),
    ],
    _recurrent((3, 4), 1),
    _recurrent((3, 2, 4), 1),
    _recurrent((3, 4), 4),
    _recurrent((3, 2, 4), 4),
    *(
        [
            (r"x|xt", (4, *examples)),
            (_STATE, (5, examples[0])),
            (r"wy\w*", (2, 5)),
            (r"by", (2, 1)),
            *weights,
            (r"b\w*", (5, 1)),
        ]
        for examples in ((1,), (3,), (3, 2))
        for weights in ([(_IN, (5, 4)), (_OUT, (5, 5))], [(r"w[fiucog]", (5, 9))])
    ),
    [
        (r"x|a|aprev|inputs?", (4, 3)),
        (r"w1", (5, 4)),
        (r"b1", (5, 1)),
        (r"w2", (2, 5)),
        (r"b2", (2, 1)),
        (r"w3", (1, 2)),
        (r"b3", (1, 1)),
        (r"y", "row"),
    ],
    [
        (r"x|a|aprev|inputs?", (4, 3)),
        (r"w1", (5, 4)),
        (r"b1", (5, 1)),
        (r"w2", (1, 5)),
        (r"b2", (1, 1)),
        (r"y", "row"),
    ],
    [
        (r"x|a|aprev|inputs?", (4, 3)),
        (r"w[01]?|weights?", (5, 4)),
        (r"b[01]?|bias", (5, 1)),
        (r"w2", (2, 5)),
        (r"b2", (2, 1)),
        (r"y", (2, 3)),
    ],
    [(r"x|a|z|logits?|scores?|inputs?", (3,)), (r"y|t|labels?|targets?|ytrue", "binary")],
    [(r"x|scores|logits|ypred", (3, 2, 5)), (r"y|targets?|labels?", "grid"), (r"mask", "ones")],
    [
        (r"x|inputs?", (3, 4)),
        (r"w|weights?", (4, 5)),
        (r"b|bias", (5,)),
        (r"gamma|beta", (5,)),
    ],
    [(r"q|query|queries", (3, 4)), (r"k|keys?", (5, 4)), (r"v|values?", (5, 2)), (r"mask", None)],
    [
        (r"q|query|queries", (2, 3, 4)),
        (r"k|keys?", (2, 5, 4)),
        (r"v|values?", (2, 5, 4)),
        (r"mask", None),
    ],
)


def _for(missing):
    """Return the schemes in the order for these names: `w` beside `y` is a vector of weights."""
    regression = any(name in ("w", "theta", "beta", "coef") for name in missing) and any(
        words.plain(name) == "y" or words.is_label(name) for name in missing
    )
    return sorted(SCHEMES, key=lambda scheme: not (regression and scheme in REGRESSIONS))


def fitting(missing):
    """Yield inputs for all missing parameters from each scheme that covers them.

    Parameters
    ----------
    missing : sequence of str
        Names of the parameters.

    Yields
    ------
    dict of str to object
        A value for each parameter.

    Examples
    --------
    >>> next(fitting(["x", "W", "b"]))["W"].shape
    (4, 5)
    """
    seen = set()
    for scheme in _for(missing):
        rng = np.random.default_rng(0)
        inputs = {}
        for name in missing:
            value = _value(name, scheme, rng)
            if value is NotImplemented:
                break
            inputs[name] = value
        else:
            shapes = tuple(
                (np.shape(value), getattr(value, "dtype", None)) for value in inputs.values()
            )
            if shapes not in seen:
                seen.add(shapes)
                yield inputs


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
    return name.endswith("_param") or words.plain(name) in (
        "hparameters",
        "hparams",
        "hyperparameters",
        "config",
        "options",
        "settings",
    )


def _value(name, scheme, rng):
    word = words.plain(name)
    if is_settings(name):
        return dict(SETTINGS)
    for pattern, shape in scheme:
        if re.fullmatch(pattern, word):
            if shape is CLASSES:
                return np.array([0, 3, 1])
            if shape == "onehot":
                return np.eye(4)[[0, 3, 1]]
            if shape == "binary":
                return np.array([1, 0, 1])
            if shape == "row":
                return np.array([[1, 0, 1]])
            if isinstance(shape, str):
                return rng.integers(0, 4, (3, 2)) if shape == "grid" else np.ones((3, 2))
            return rng.normal(size=shape) if isinstance(shape, tuple) else shape
    return NUMBERS.get(word, NotImplemented)
