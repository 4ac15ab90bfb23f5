"""Edits of calls: another axis of a sum, another function of the same form, arguments exchanged, a call too many."""

import ast

import numpy as np

from ibpcl.verify.edits.edit import LATE, attribute_t, call, exchanges, name_of, negated, replaced, sibling, value_at
from ibpcl.verify.edits.products import of_einsum, of_matrix_product

_TWINS = {"sin": "cos", "cos": "sin", "exp": "expm1", "expm1": "exp", "log": "log1p", "log1p": "log", "cosh": "sinh",
          "sinh": "cosh", "maximum": "minimum", "minimum": "maximum", "tril": "triu", "triu": "tril",
          "argmax": "argmin", "argmin": "argmax", "max": "min", "min": "max", "floor": "ceil", "rfft": "irfft",
          "irfft": "rfft", "fft": "ifft", "ifft": "fft", "digamma": "gammaln", "gammaln": "digamma"}
_OFTEN = ("tril", "triu", "argmax", "argmin", "fft", "ifft")         # twins that are confused in gradients
_SUMS, _CUMULATIVE = ("sum", "mean"), ("cumsum", "cumprod")
_JOINS = ("concatenate", "stack", "hstack", "vstack", "block")
_NEEDLESS = {"flip": "shifted", "roll": "shifted", "sort": "shifted", "inv": "transposed", "transpose": "transposed",
             "swapaxes": "transposed", "conj": "transposed"}         # kinds of mistakes, if the call is too many


def of_call(place, values):
    """Yield the edits of a call of a NumPy function, or of an array's method."""
    node, name = place.node, name_of(place.node.func)
    method = _is_method(node.func, values)
    array = node.func.value if method else node.args[0] if node.args else None
    if array is None or isinstance(array, ast.Starred):
        return
    if name in _TWINS:
        twin = _TWINS[name]
        new = ast.Call(sibling(node.func, twin), node.args, node.keywords)
        yield replaced(3 if name in _OFTEN else LATE, "elementwise_factor", place, new,
                       f"`{twin}` belongs here, not `{name}`")
    if name in (*_SUMS, *_CUMULATIVE):
        yield from _of_sum(place, array, name, values)
    else:
        yield from _of_axis(place, array, values)
    yield from _of_arguments(place, name, method, array, values)
    alone = len(node.args) + method == 1 and not node.keywords
    if name and alone and name not in (*_SUMS, *_CUMULATIVE) \
            and np.shape(value_at(node, values)) == np.shape(value_at(array, values)):
        yield replaced(5, _NEEDLESS.get(name, "elementwise_factor"), place, array, f"`{name}` must not be applied here")


def _of_axis(place, array, values):
    """Yield another axis of a function that takes one."""
    node = place.node
    for n, word in enumerate(node.keywords):
        for axis in range(np.ndim(value_at(array, values))) if word.arg == "axis" else ():
            if isinstance(word.value, ast.Constant) and word.value.value != axis:
                changed = [*node.keywords[:n], ast.keyword("axis", ast.Constant(axis)), *node.keywords[n + 1:]]
                yield replaced(3, "summed", place, ast.Call(node.func, node.args, changed), "along the wrong axis")


def _is_method(function, values):
    if not isinstance(function, ast.Attribute):
        return False
    module = isinstance(function.value, ast.Name) and function.value.id in ("np", "numpy")
    return not module and isinstance(value_at(function.value, values), np.ndarray)


def _of_arguments(place, name, method, array, values):
    """Yield the edits that belong to a certain function: its arguments exchanged, turned or transposed."""
    node = place.node
    first, second = (*node.args, None, None)[:2]
    others, count = node.args[1:], len(node.args)

    def again(*arguments):
        return ast.Call(node.func, list(arguments), node.keywords)

    if name == "where" and count == 3:
        yield replaced(3, "elementwise_factor", place, again(first, *reversed(others)),
                       "the two branches are exchanged")
    elif name == "solve_triangular" and count >= 2:
        rest = [word for word in node.keywords if word.arg != "trans"]
        turned = rest if len(rest) < len(node.keywords) else [*rest, ast.keyword("trans", ast.Constant(1))]
        yield replaced(3, "transposed", place, ast.Call(node.func, node.args, turned),
                       "the triangular matrix must be transposed")
    elif name in _JOINS and isinstance(array, (ast.List, ast.Tuple)):
        for items, _, _ in exchanges(array.elts):
            yield replaced(4, "shifted", place, again(type(array)(items, ast.Load()), *others),
                           "the blocks are in the wrong order (exchanged)")
    elif name in ("dot", "matmul") and count == 2 and not method:
        yield from of_matrix_product(place, first, second, _matmul)
    elif name == "dot" and method and count == 1:
        yield from of_matrix_product(place, array, first, _matmul)
    elif name == "outer" and count == 2:
        yield replaced(3, "transposed", place, ast.Call(node.func, [second, first], []),
                       "the operands are exchanged, so the result is transposed")
    elif name == "einsum" and isinstance(first, ast.Constant):
        yield from of_einsum(place)
    elif name == "roll" and count >= 2:
        yield replaced(2, "shifted", place, again(first, negated(second), *others[1:]),
                       "shifted in the wrong direction")
    elif name == "solve" and count >= 2:
        yield replaced(3, "transposed", place, again(attribute_t(first), *others), "the matrix must be transposed")


def _matmul(a, b):
    return call("matmul", a, b)


def _of_sum(place, array, name, values):
    """Yield another axis, a sum for a mean and the reverse, no sum at all, and a cumulative sum from the end."""
    node, ndim = place.node, np.ndim(value_at(array, values))
    position = 1 if array in node.args else 0
    given = next((word.value for word in node.keywords if word.arg == "axis"), None)
    if given is None and len(node.args) > position:
        given = node.args[position]
    axis = given.value if isinstance(given, ast.Constant) else None if given is None else "other"

    def made(function, where):
        new = call(function, array, **({} if where is None else {"axis": where}))
        new.keywords += [word for word in node.keywords if word.arg != "axis"]
        return new

    if name in _SUMS:
        other = "sum" if name == "mean" else "mean"
        yield replaced(1, "mean" if name == "mean" else "constant_factor", place, made(other, given),
                       f"a {name} where a {other} belongs")
        yield replaced(4, "summed", place, array, "summed where no sum belongs")
    for n in (*range(ndim), *(() if name in _CUMULATIVE else (None,))):
        if axis != n and not (isinstance(axis, int) and axis < 0 and n == axis % max(ndim, 1)):
            where = "all axes belong" if n is None else f"axis {n} belongs"
            yield replaced(1, "summed", place, made(name, None if n is None else ast.Constant(n)),
                           f"summed over axis {axis}, but {where} there" if axis != "other" else
                           "summed over the wrong axes")
    if name in _CUMULATIVE and (axis is None or isinstance(axis, int)) and ndim:
        along = ast.Constant(0 if axis is None else axis)
        turned = call(name, call("flip", array, along), axis=along)
        yield replaced(2, "summed", place, call("flip", turned, along),
                       f"the {name} must run from the end to the beginning (reversed)")
        yield replaced(5, "summed", place, array, f"`{name}` must not be applied here")
