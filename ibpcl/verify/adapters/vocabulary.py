"""Usual names of functions, arguments and gradients, and their meanings.

All comparisons use :func:`plain`: without case, underscores and primes at the end, so that
``dLdW``, ``dl_dw`` and ``DL_DW`` are the same name.
"""

import re
from difflib import SequenceMatcher
from functools import lru_cache

FORWARD_WORDS = {"forward", "forwards", "fwd", "fprop", "forwardprop"}
BACKWARD_WORDS = {
    "vjp",
    "bp",
    "backward",
    "backwards",
    "bwd",
    "backprop",
    "back",
}
DERIVATIVE_WORDS = {
    "grad",
    "gradient",
    "gradients",
    "prime",
    "derivative",
    "derivatives",
    "deriv",
    "derivate",
    "der",
    "diff",
    "d",
    "dx",
    "dz",
    "jac",
    "jacobian",
}
# Words in which a slip of spelling is recognized, and the least similarity of the slip.
LONG_WORDS = ("forward", "backward", "gradient", "derivative")
SIMILAR = 0.85
KNOWN_WORDS = FORWARD_WORDS | BACKWARD_WORDS | DERIVATIVE_WORDS
JVP_WORDS = {"jvp", "pushforward", "tangent"}
HVP_WORDS = {"hvp"}

# Verbs in a name that do not distinguish functions: `compute` in `compute_cost`.
FILLERS = frozenset({"compute", "calculate", "calc", "get", "eval", "evaluate"})

# Words beside `forward` and `backward` that say nothing more: `forward_pass`, `first_derivative`.
STAGES = frozenset({"pass", "propagation", "propagate", "prop", "first"})

FORWARD_METHODS = (
    "forward",
    "feedforward",
    "propagate",
    "fprop",
    "fwd",
    "fn",
    "func",
    "function",
    "activate",
    "activation",
    "f",
    "loss",
    "cost",
    "value",
    "call",
    "__call__",
    "forwards",
    "evaluate",
    "objective",
    "log_likelihood",
    "energy",
    "error",
    "penalty",
)
BACKWARD_METHODS = (
    "backward",
    "backpropagation",
    "backpropagate",
    "backprop",
    "bwd",
    "back",
    "vjp",
    "gradient",
    "grad",
    "gradients",
    "grads",
    "derivative",
    "derivatives",
    "deriv",
    "prime",
    "df",
    "d",
    "delta",
    *(
        f"{method}_{ending}"
        for method in (
            "function",
            "func",
            "fn",
            "f",
            "activation",
            "activate",
            "value",
            "loss",
            "cost",
        )
        for ending in ("prime", "derivative", "deriv", "grad", "gradient")
    ),
    "backwards",
)

# Switches with which a forward keeps what its backward needs.
TRAINING = frozenset({"is", "for", "mode", "training", "train"})

# Further names of a cotangent than those that begin with `d` or contain `grad`.
COTANGENTS = {
    "g",
    "topdiff",
    "outputerror",
    "error",
    "err",
    "cotangent",
    "ct",
    "residual",
    "v",
}
# Names of a cotangent that may also be that of an output or an input.
UNCLEAR = ("d", "g", "v")
CACHES = {
    "cache",
    "ctx",
    "context",
    "saved",
    "memory",
    "res",
    "caches",
    "state",
    "store",
}
OUTPUTS = {"out", "output", "y", "a", "s", "activation"}
# Attributes in which a forward leaves its output, the clearest names first.
KEPT_OUTPUTS = ("output", "out", "outputs", "result", "y", "yhat", "ypred")
KEPT_OUTPUTS += ("activation", "activations", "a", "z")
RATES = {"learningrate", "learnrate", "lr", "eta", "rate", "stepsize"}
LABELS = {
    "ytrue",
    "target",
    "targets",
    "label",
    "labels",
    "t",
    "truth",
    "yt",
    "gt",
    "expected",
    "actual",
    "desired",
    "onehot",
    "ytrain",
}
COUNTS = frozenset({"n", "num", "number", "count", "size"})
LABEL_WORDS = frozenset(
    {"true", "correct", "expected", "target", "targets", "label", "labels", "actual", "truth"}
)
# data, dim, dtype
_NOT_GRADIENTS = "at|im|ep|ec|t|ev|r|ilat|iv|ic|ur|eg|is|om|ef|en|es|et|oc|own|ouble|ay|eb|ummy"
PREDICTIONS = {
    "yhat",
    "p",
    "prob",
    "probs",
    "output",
    "out",
    "outputs",
    "a",
    "scores",
    "score",
    "al",
}
NOISE = frozenset({"eps", "epsilon", "noise", "mask", "masks", "rng", "seed", "u"})
# Strengths of a penalty.
PENALTIES = {"reg", "lam", "lambd", "lambda", "lmbda", "l1", "l2", "weightdecay"}
SETTINGS = {
    *PENALTIES,
    "stride",
    "pad",
    "padding",
    "temperature",
    "tau",
    "delta",
    "margin",
    "p",
    "momentum",
    "axis",
    "dropout",
    "slope",
    "training",
    "train",
    "mode",
    "lr",
    "learningrate",
}
DATA = frozenset({"x", "xs", "tx", "y", "ys", "data", "features", "inputs", "images", "phi"})
VECTORS = frozenset(
    {"b", "bias", "biases", "gamma", "beta", "scale", "shift", "gain", "offset", "intercept"}
)
GENERIC = {
    "x",
    "input",
    "inputs",
    "z",
    "inp",
    "inputdata",
    "xin",
    "features",
    "xs",
    "prev",
    "aprev",
}

PARAMETER_HOLDERS = {
    "params",
    "parameters",
    "param",
    "parameter",
    "data",
    "value",
    "val",
    "values",
    "theta",
}
GRADIENT_HOLDERS = {
    "grads",
    "gradients",
    "grad",
    "gradient",
    "dparams",
    "derivatives",
    "diff",
    "g",
}
_PREFIXES = (
    "dl",
    "gradients",
    "gradient",
    "grads",
    "grad",
    "delta",
    "nabla",
    "derivative",
    "deriv",
    "partial",
    "del",
    "dj",
    "de",
    "dloss",
    "g",
    "d",
)
_SUFFIXES = (
    "gradients",
    "gradient",
    "grads",
    "grad",
    "derivative",
    "deriv",
    "delta",
    "bar",
    "diff",
    "error",
    "g",
)
_SAME = (
    {"w", "weights", "weight", "kernel", "kernels", "filters", "filter"},
    {"b", "bias", "biases", "intercept", "bs"},
    GENERIC,
    {"gamma", "scale"},
    {"beta", "shift"},
)


# Words in the names of numbers between 0 and 1.
FRACTIONS = frozenset(
    {
        "p",
        "prob",
        "probability",
        "rate",
        "dropout",
        "alpha",
        "slope",
        "momentum",
        "lr",
        "decay",
        "eps",
        "epsilon",
    }
)
# Words in the names of sizes, and of sizes of an output.
SIZES = frozenset(
    {"in", "input", "inputs", "dim", "dims", "size", "features", "channels", "n", "d", "nin"}
    | {"num", "length", "len", "width", "ch", "fan", "vocab", "vocabulary", "embeddings", "rows"}
    | {"cols", "columns"}
)
OUTPUT_SIZES = frozenset(
    {"out", "output", "outputs", "units", "neurons", "nodes", "hidden", "nout", "classes"}
    | {"filters", "m", "k"}
)


def plain(name):
    """Return the lower-case letters and digits of a name.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    str
        The name in lower case, without any other characters.

    Examples
    --------
    >>> plain("dL_dW"), plain("grad_Output")
    ('dldw', 'gradoutput')
    """
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def tokens(name):
    """Return the words of a name in snake case or camel case.

    Slips in the spelling of :data:`LONG_WORDS` are corrected.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    list of str
        The words in lower case.

    Examples
    --------
    >>> tokens("conv_backward_naive"), tokens("sigmoidPrime"), tokens("ReLUGrad")
    (['conv', 'backward', 'naive'], ['sigmoid', 'prime'], ['re', 'lu', 'grad'])
    >>> tokens("linear_backword")
    ['linear', 'backward']
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return [_spelled(word.lower()) for word in spaced.split("_") if word]


@lru_cache(maxsize=4096)
def _spelled(word):
    """Return the long word that a word is nearly equal to, else the word itself."""
    if len(word) < 6 or word in KNOWN_WORDS:
        return word
    return next(
        (
            known
            for known in LONG_WORDS
            if word[0] == known[0] and SequenceMatcher(None, word, known).ratio() >= SIMILAR
        ),
        word,
    )


def without_verbs(name):
    """Return the words of a name without verbs that say nothing of what is computed.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    list of str
        The words without :data:`FILLERS`.

    Examples
    --------
    >>> without_verbs("computeGradient"), without_verbs("get_loss_and_grad")
    (['gradient'], ['loss', 'and', 'grad'])
    """
    return [word for word in tokens(name) if word not in FILLERS]


def same(a, b):
    """Return whether two names may refer to the same array.

    Parameters
    ----------
    a, b : str
        The names.

    Returns
    -------
    bool
        True for equal names, singular and plural, synonyms such as ``W`` and ``weights``, and if
        one name ends with the other.

    Examples
    --------
    >>> same("W", "weights"), same("W1", "w1"), same("W", "b")
    (True, True, False)
    """
    a = plain(a)
    b = plain(b)
    if a == b or a.rstrip("s") == b.rstrip("s") != "":
        return True
    if min(len(a), len(b)) > 2 and (a.endswith(b) or b.endswith(a)):
        return True
    return any(a in group and b in group for group in _SAME)


def is_gradient_of(name, parameter):
    """Return whether a name is usual for the gradient of a parameter.

    Parameters
    ----------
    name : str
        The name.
    parameter : str
        Name of the parameter.

    Returns
    -------
    bool
        True for names such as ``dW1`` and ``grad_W1``.

    Examples
    --------
    >>> [is_gradient_of(name, "W1") for name in ("dW1", "grad_W1", "W1_grad", "dL_dW1", "dW2",
    ...     "W1")]
    [True, True, True, True, False, False]
    """
    return any(same(rest, parameter) for rest in gradient_bases(name))


def gradient_bases(name):
    """Return the names whose gradient a name may be: without ``d``, ``grad``, ``bar`` and so on.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    list of str
        The names as :func:`plain` returns them.
    """
    word = plain(name)
    bases = [
        word[len(prefix) :]
        for prefix in _PREFIXES
        if word.startswith(prefix) and len(word) > len(prefix)
    ]
    bases += [
        word[: -len(suffix)]
        for suffix in _SUFFIXES
        if word.endswith(suffix) and len(word) > len(suffix)
    ]
    quotient = re.fullmatch(r"d[a-z]d(\w+)", word)  # df_dx
    bases += [quotient.group(1)] if quotient else []
    return list(dict.fromkeys(bases))


def looks_like_gradient(name):
    """Return whether a name is usual for a gradient: ``dW``, ``grad``, ``grads``, ``W_grad``.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        False for ``data`` and ``delta``.

    Examples
    --------
    >>> [looks_like_gradient(name) for name in ("dW", "grads", "grad_x", "W_grad", "data", "delta",
    ...     "W", "db2")]
    [True, True, True, True, False, False, False, True]
    """
    word = plain(name)
    if word in GRADIENT_HOLDERS or re.match(r"(?:grad|nabla|dl_?d|d_\w)", str(name).lower()):
        return True
    if word.endswith(("grad", "grads", "gradient", "gradients")):
        return True
    return bool(
        re.fullmatch(r"d(?:[A-Z]\w*|[a-z]\d*|theta\w*|x\w*|w\w*|b\d*|gamma|beta|params)", str(name))
    )


def is_cotangent(name):
    """Return whether a parameter's name is usual for a cotangent, the gradient of the output.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``dout``, ``grad_output`` and ``upstream``.
    """
    word = plain(name)
    usual = rf"d[A-Z_]\w*|d[a-z]\d*|d(?!{_NOT_GRADIENTS})[a-z]\w+"
    return (
        word in COTANGENTS
        or word.startswith(("dout", "grad", "upstream", "dvalue"))
        or word.endswith(("grad", "gradient"))
        or any(re.fullmatch(usual, form) for form in (str(name), word))
    )


def has_clear_cotangent(names):
    """Return whether one of several names is used for a cotangent only.

    Parameters
    ----------
    names : iterable of str
        The names.

    Returns
    -------
    bool
        False if all of them, such as ``v`` and ``y``, may also be the name of an output.
    """
    return any(is_cotangent(name) and plain(name) not in UNCLEAR for name in names)


def is_prediction(name):
    """Return whether an argument's name is usual for the output of a model.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``y_pred`` and ``logits``.
    """
    word = plain(name)
    return word in PREDICTIONS or word.endswith("hat") or "pred" in word or "logit" in word


def is_fraction(name):
    """Return whether an argument's name is usual for a probability of dropping or keeping a unit.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``p_dropout``, ``drop_prob`` and ``keep_rate``.

    Examples
    --------
    >>> [is_fraction(name) for name in ("p_dropout", "drop_prob", "keep_rate", "p", "dropped")]
    [True, True, True, False, False]
    """
    parts = tokens(name)
    return "dropout" in parts or bool(
        {"drop", "keep"} & set(parts) and {"p", "prob", "rate"} & set(parts)
    )


def is_rate(name):
    """Return whether an argument's name is usual for a number between 0 and 1.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``alpha``, ``slope``, ``momentum`` and ``lr``.

    Examples
    --------
    >>> is_rate("learning_rate"), is_rate("negative_slope"), is_rate("size")
    (True, True, False)
    """
    return not FRACTIONS.isdisjoint(tokens(name))


def is_size(name):
    """Return whether an argument's name is usual for a number of features, units or channels.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``n_in``, ``input_dim``, ``units`` and ``out_features``.

    Examples
    --------
    >>> [is_size(name) for name in ("n_in", "input_dim", "units", "nin", "activation")]
    [True, True, True, True, False]
    """
    return not SIZES.isdisjoint(tokens(name.rstrip("0123456789"))) or is_output_size(name)


def is_output_size(name):
    """Return whether an argument's name is usual for the number of outputs of a layer.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``n_out``, ``output_dim`` and ``units``.
    """
    return not OUTPUT_SIZES.isdisjoint(tokens(name.rstrip("0123456789")))


def is_training(name):
    """Return whether an argument's name is usual for a switch between training and prediction.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``training`` and ``is_train``.

    Examples
    --------
    >>> [is_training(name) for name in ("training", "is_train", "train_mode", "trained")]
    [True, True, True, False]
    """
    return TRAINING.issuperset(tokens(name)) and "train" in name


def is_learned(name):
    """Return whether an attribute's name is usual for a learned parameter.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for weights, biases, ``gamma`` and ``beta``, also with a number.

    Examples
    --------
    >>> is_learned("W0"), is_learned("bias"), is_learned("scale"), is_learned("mean")
    (True, True, True, False)
    """
    word = plain(name).rstrip("0123456789")
    return any(same(word, parameter) for parameter in ("W", "b", "gamma", "beta"))


def is_output(name):
    """Return whether an argument's name is usual for the output of the forward.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for ``out``, ``y`` and the like, and for names such as ``tanh_output``.

    Examples
    --------
    >>> is_output("out"), is_output("softmax_output"), is_output("output_gradient")
    (True, True, False)
    """
    word = plain(name)
    return word in OUTPUTS or word.endswith(("output", "activation"))


def is_label(name):
    """Return whether an argument's name is usual for data that a prediction is compared with.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for labels and targets, which are not differentiated.

    Examples
    --------
    >>> is_label("y_true"), is_label("y_pred"), is_label("target")
    (True, False, True)
    """
    parts = tokens(name)
    counts = not COUNTS.isdisjoint(parts)
    return plain(name) in LABELS or not (counts or LABEL_WORDS.isdisjoint(parts))


def may_be_label(name):
    """Return whether a name is that of a label, or ``y``, which often is one.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for all names of :func:`is_label`, and for ``y`` and ``ys``.

    Examples
    --------
    >>> may_be_label("y"), may_be_label("target"), may_be_label("y_hat")
    (True, True, False)
    """
    return is_label(name) or plain(name) in ("y", "ys")


def is_noise(name):
    """Return whether an argument's name is usual for noise or a mask, which needs no gradient.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``eps``, ``noise``, ``dropout_mask`` and ``rng``.

    Examples
    --------
    >>> is_noise("noise"), is_noise("attn_mask"), is_noise("x")
    (True, True, False)
    """
    return not NOISE.isdisjoint(tokens(name))


def is_setting(name):
    """Return whether an argument's name is usual for a setting, which needs no gradient.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``momentum``, ``reg`` and ``p_dropout``.

    Examples
    --------
    >>> is_setting("momentum"), is_setting("gamma"), is_setting("p_dropout")
    (True, False, True)
    """
    return is_fraction(name) or plain(name) in SETTINGS


def is_penalty(name):
    """Return whether an argument's name is usual for the strength of a penalty.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``l2`` and ``weight_decay``.

    Examples
    --------
    >>> is_penalty("weight_decay"), is_penalty("momentum")
    (True, False)
    """
    return plain(name) in PENALTIES


def is_vector(name):
    """Return whether an argument's name is usual for a vector that is broadcast: a bias or a gain.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``b1``, ``bias``, ``gamma`` and ``scale``.

    Examples
    --------
    >>> is_vector("b1"), is_vector("gain"), is_vector("x")
    (True, True, False)
    """
    return plain(name).rstrip("0123456789") in VECTORS


def is_weight(name):
    """Return whether an argument's name is usual for weights.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``W1``, ``theta`` and ``weights``.

    Examples
    --------
    >>> is_weight("W1"), is_weight("theta"), is_weight("b")
    (True, True, False)
    """
    word = plain(name).rstrip("0123456789")
    return same(word, "W") or word in ("theta", "thetas", "coef", "coefs")


def is_data(name):
    """Return whether an argument's name is usual for data beside weights: features and labels.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        True for names such as ``X``, ``data``, ``y`` and ``targets``.

    Examples
    --------
    >>> is_data("X"), is_data("y"), is_data("W")
    (True, True, False)
    """
    return is_label(name) or plain(name) in DATA
