"""The benchmark's mistakes in other forms: source is added that calls ``f`` and ``f_vjp``."""

import inspect
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.gradients import cases

from .forms import Control

LEAST = 1e-6  # relative change of a gradient that is a mistake in its value
WEIGHTS = "np.cos(1.0 + np.arange(np.size(out))).reshape(np.shape(out))"


class Signature(NamedTuple):
    """How a pair of the benchmark is called.

    Attributes
    ----------
    inputs : list of str
        The inputs of ``f``.
    grads : list of str
        Those whose gradients ``f_vjp`` returns.
    is_bare : bool
        Whether ``f_vjp`` returns one array instead of a tuple.
    """

    inputs: list
    grads: list
    is_bare: bool

    @property
    def parameters(self):
        """The inputs, separated by commas."""
        return ", ".join(self.inputs)

    @property
    def named(self):
        """Names of the gradients, separated by commas."""
        return ", ".join(f"d{name}" for name in self.grads) + ("" if self.is_bare else ",")


def layer(s):
    return f"""
class Layer:
    def forward(self, {s.parameters}):
        out, self.cache = f({s.parameters})
        return out

    def backward(self, dout):
        return f_vjp(dout, self.cache)
"""


def layer_with_attributes(s):
    data, *others = s.inputs
    if s.grads != s.inputs or not others:
        return ""
    kept = "\n".join(f"        self.{name} = {name}" for name in others)
    stored = ", ".join(f"self.d{name}" for name in others)
    return f"""
class Layer:
    def __init__(self, {", ".join(others)}):
{kept}

    def forward(self, {data}):
        out, self.cache = f({data}, {", ".join(f"self.{name}" for name in others)})
        return out

    def backward(self, dout):
        d{data}, {stored} = f_vjp(dout, self.cache)
        return d{data}
"""


def closure(s):
    return f"""
def transform({s.parameters}):
    out, cache = f({s.parameters})

    def pull(dout):
        return f_vjp(dout, cache)

    return out, pull
"""


def static_functions(s):
    return f"""
class Function:
    @staticmethod
    def forward(ctx, {s.parameters}):
        out, ctx.cache = f({s.parameters})
        return out

    @staticmethod
    def backward(ctx, dout):
        return f_vjp(dout, ctx.cache)
"""


def takes_inputs(s):
    return f"""
def transform({s.parameters}):
    return f({s.parameters})[0]


def transform_backward(dout, {s.parameters}):
    return f_vjp(dout, f({s.parameters})[1])
"""


def gradients_in_a_dict(s):
    items = ", ".join(f'"d{name}": d{name}' for name in s.grads)
    return f"""
def transform_forward({s.parameters}):
    return f({s.parameters})


def transform_backward(dout, cache):
    {s.named} = f_vjp(dout, cache)
    return {{{items}}}
"""


def loss_and_gradient(s):
    return f"""
def weighted_loss({s.parameters}):
    out, cache = f({s.parameters})
    weights = {WEIGHTS}
    {s.named} = f_vjp(weights, cache)
    loss = np.sum(weights * out)
    return loss, {", ".join(f"d{name}" for name in s.grads)}
"""


def notebook(s):
    return "\n"


class Wrapping(NamedTuple):
    """A form, and what is checked in its file.

    Attributes
    ----------
    write : callable
        ``write(signature)`` returns the added source; empty if the form cannot hold the pair.
    target : str
        The function or class.
    is_weighted : bool
        Whether the gradient from above is fixed in the form.
    unpacks : bool
        Whether the form assigns each gradient to a name, so that their container does not matter.
    """

    write: Callable
    target: str
    is_weighted: bool = False
    unpacks: bool = False


WRAPPINGS = {
    "layer by tuple": Wrapping(layer, "Layer"),
    "layer of given arrays": Wrapping(layer_with_attributes, "Layer", unpacks=True),
    "closure": Wrapping(closure, "transform"),
    "static functions": Wrapping(static_functions, "Function"),
    "backward that takes the inputs": Wrapping(takes_inputs, "transform"),
    "gradients in a dict": Wrapping(gradients_in_a_dict, "transform_forward", unpacks=True),
    "loss and gradient": Wrapping(loss_and_gradient, "weighted_loss", True, True),
    "notebook": Wrapping(notebook, "f"),
}


def values_of(case, is_weighted):
    """Return the gradients of a case at its inputs; None if it raises."""
    module = case.load()
    inputs = module.check_inputs()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            out, kept = module.f(**deepcopy(inputs))
            dout = np.random.default_rng(3).normal(size=np.shape(out))
            if is_weighted:
                dout = eval(WEIGHTS, {"np": np, "out": out})
            result = module.f_vjp(dout, kept)
    except Exception:  # that is how some mistakes show
        return None
    finally:
        sys.modules.pop(module.__name__, None)
    return result


@cache
def right_cases():
    """Return the right pairs by name, with their signatures."""
    found = {}
    for case in cases():
        if not case.is_right:
            continue
        module = case.load()
        inputs = module.check_inputs()
        result = values_of(case, False)
        if isinstance(result, dict):  # it is a form of its own
            continue
        parameters = inspect.signature(module.f).parameters
        names = list(parameters)
        if any(one.kind is one.KEYWORD_ONLY for one in parameters.values()):
            continue  # the added code calls f by position
        given = getattr(module, "WRT", None) or [
            name for name in names if np.asarray(inputs[name]).dtype.kind in "fc"
        ]
        is_bare = not isinstance(result, (tuple, list))
        assert len(given) == (1 if is_bare else len(result)), case.name
        found[case.name] = case, Signature(names, list(given), is_bare)
        sys.modules.pop(module.__name__, None)
    return found


@cache
def right_values(name, is_weighted):
    """Return the gradients of a right pair."""
    return values_of(right_cases()[name][0], is_weighted)


def is_changed(case, wrapping):
    """Return whether a mistake changes the value of a gradient in a form, or raises."""
    right = right_values(case.name, wrapping.is_weighted)
    wrong = values_of(case, wrapping.is_weighted)
    if wrong is None:
        return True
    if isinstance(wrong, dict):
        wrong = tuple(wrong.values())
    is_one_array = isinstance(wrong, np.ndarray) and isinstance(right, (tuple, list))
    if isinstance(wrong, Iterator) or (wrapping.unpacks and is_one_array and wrong.ndim):
        wrong = tuple(wrong)
    right = right if isinstance(right, (tuple, list)) else (right,)
    wrong = wrong if isinstance(wrong, (tuple, list)) else (wrong,)
    signature = right_cases()[case.name][1]
    if len(wrong) == len(signature.inputs) > len(right):
        # One gradient for each input, also for integers, is right if those of the others are.
        wrong = [wrong[signature.inputs.index(name)] for name in signature.grads]
    return len(right) != len(wrong) or any(map(differs, right, wrong))


def differs(right, wrong):
    """Return whether two gradients have other shapes or values."""
    right, wrong = np.asarray(right), np.asarray(wrong)
    if right.shape != wrong.shape or wrong.dtype.kind not in "fiubc":
        return True
    scale = np.abs(right).max(initial=0.0) or 1.0
    return not np.allclose(wrong, right, rtol=0, atol=LEAST * scale)


def sample():
    """Yield a pair of the benchmark in each form, right and with a mistake; each form has
    another.
    """
    names = list(right_cases())
    for n, form in enumerate(WRAPPINGS):
        # A form does not fit every function.
        for name in names[n:] + names[:n]:
            both = {bool(one.spoiled): one for one in controls([form], [name])}
            if len(both) == 2:
                yield from both.values()
                break


def controls(chosen=(), names=()):
    """Yield the benchmark's pairs in other forms: right ones, then those with a mistake.

    Parameters
    ----------
    chosen : sequence of str
        Names of forms; all if empty.
    names : sequence of str
        Names of functions; all if empty.

    Yields
    ------
    Control
        A file. A mistake that changes no gradient, such as a side effect, is left out.
    """
    for form in chosen or WRAPPINGS:
        wrapping = WRAPPINGS[form]
        for case in cases():
            name = f"{case.name}: {case.label or 'right'}"
            if case.name not in right_cases() or (names and case.name not in names):
                continue
            signature = right_cases()[case.name][1]
            added = wrapping.write(signature)
            if not added or not (case.is_right or is_changed(case, wrapping)):
                continue
            if form == "notebook" and "def f_vjp(cache, dout)" in case.source:
                continue  # a file's functions are called by the names of their parameters
            source = case.source + "\nimport numpy as np\n" + added
            if form == "notebook":
                source = as_notebook(source)
            wrt = tuple(signature.grads) if "\nWRT" in case.source else ()
            yield Control(f"benchmark as {form}", name, source, case.label, wrapping.target, wrt)


def as_notebook(source):
    """Return source as a notebook with one cell."""
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source.splitlines(keepends=True),
    }
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
