"""The elementary functions that a missing factor or term may be made of, by their text."""

import re

import numpy as np
from scipy import special


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _trigamma(x):
    """Compute trigamma of positive numbers; of others SciPy's takes as many steps as their size, for ever at -1e12."""
    return special.polygamma(1, np.where(x > 0, x, np.nan))


FUNCTIONS = {
    "{}": lambda x: x, "{}^2": lambda x: x * x, "sqrt({})": np.sqrt,
    "exp({})": np.exp, "exp(-{})": lambda x: np.exp(-x),
    "log({})": np.log, "1 - {}": lambda x: 1 - x, "1 + {}": lambda x: 1 + x, "1 - {}^2": lambda x: 1 - x * x,
    "1 + {}^2": lambda x: 1 + x * x, "sigmoid({})": _sigmoid, "sigmoid(-{})": lambda x: _sigmoid(-x),
    "tanh({})": np.tanh, "1 - tanh({})^2": lambda x: 1 - np.tanh(x) ** 2, "1 - exp({})": lambda x: -np.expm1(x),
    "1 + exp({})": lambda x: 1 + np.exp(x), "sin({})": np.sin, "cos({})": np.cos, "cosh({})": np.cosh,
    "{}^3": lambda x: x ** 3, "exp(2 {})": lambda x: np.exp(2 * x), "exp({}^2 / 2)": lambda x: np.exp(x * x / 2),
    "tanh({} / 2)": lambda x: np.tanh(x / 2), "exp({}^2)": lambda x: np.exp(x * x),
    "log(1 - {})": lambda x: np.log(1 - x), "{} > 0": lambda x: x > 0, "{} < 0": lambda x: x < 0,
    "digamma({})": special.digamma, "trigamma({})": _trigamma,
    "abs({})": np.abs, "sign({})": np.sign, "2 {} - 1": lambda x: 2 * x - 1, "log(1 + exp({}))":
        lambda x: np.logaddexp(0, x),
}


NAMED = {name for text in FUNCTIONS for name in re.findall(r"[a-z]+", text)}
