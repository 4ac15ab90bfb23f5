"""The small changes of one operation by which a wrong gradient function may become right."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

LATE = 7                # edits of this rank and above are tried after the known expressions
_TWINS = {"sin": "cos", "cos": "sin", "exp": "expm1", "expm1": "exp", "log": "log1p", "log1p": "log",
          "greater": "less", "less": "greater", "greater_equal": "greater", "less_equal": "less",
          "maximum": "minimum", "minimum": "maximum", "cosh": "sinh", "sinh": "cosh"}
_KIND_OF = {"flip": "shifted", "roll": "shifted", "sort": "shifted", "cumsum": "summed", "swapaxes": "transposed"}


class Edit(NamedTuple):
    """A change of one operation; of several that work, the one of smallest ``rank`` is the simplest.

    ``more`` holds further operations that are changed with it: (index, change).
    """

    rank: int
    step: object
    change: Callable
    kind: str
    words: str
    more: tuple = ()


def edits_of(step, recorder):
    """Yield the simple changes of one recorded operation."""
    name, operands = step.name, step.operands

    def edit(rank, change, kind, words):
        return Edit(rank, step, change, kind, words)

    if name == "setitem":
        return
    yield edit(0, lambda go, x, o, r: -go(*x, **o), "sign", f"the sign of `{step.label}` is wrong")
    if name in ("add", "subtract"):
        other = np.subtract if name == "add" else np.add
        yield edit(1, lambda go, x, o, r: other(*x), "sign",
                   f"`{step.label}` must be a {'difference' if name == 'add' else 'sum'}")
        for i in (0, 1):
            yield edit(3, lambda go, x, o, r, i=i: np.broadcast_to(x[1 - i], np.shape(go(*x))).copy(),
                       "missing_term", f"a term too many: `{step.labels[i]}` in `{step.label}`")
    if name in ("multiply", "divide"):
        yield from _factor_edits(step, edit)
    if name in ("matmul", "dot"):
        yield from _product_edits(step, edit)
    if name in ("sum", "mean", "add.reduce", "cumsum"):
        yield from _sum_edits(step, edit)
    if name == "getitem":
        yield from _index_edits(step, edit)
    if name in ("transpose",):
        yield edit(3, lambda go, x, o, r: x[0], "transposed", f"`{step.label}` must not be transposed")
    if name == "flip":
        for axis in range(np.ndim(operands[0])):
            yield edit(2, lambda go, x, o, r, axis=axis: np.flip(x[0], axis), "shifted",
                       f"`{step.label}` reverses the wrong axis: {axis} belongs there")
        yield edit(2, lambda go, x, o, r: x[0], "shifted", f"`{step.label}` must not reverse the order")
    if name == "where":
        yield edit(3, lambda go, x, o, r: np.where(x[0], x[2], x[1]), "elementwise_factor",
                   f"the two branches of `{step.label}` are exchanged")
    if name in ("subtract", "divide", "power"):
        yield edit(2, lambda go, x, o, r: go(x[1], x[0]), "sign" if name == "subtract" else "elementwise_factor",
                   f"the operands of `{step.label}` are exchanged")
    if len(operands) == 1 and name not in ("negative",) and isinstance(step.result, (np.ndarray, np.generic)) \
            and np.shape(step.result) == np.shape(operands[0]):
        yield edit(5, lambda go, x, o, r: x[0], _KIND_OF.get(name, "elementwise_factor"),
                   f"`{name}` in `{step.label}` is too much")
    if name in _TWINS:
        yield edit(LATE, lambda go, x, o, r: getattr(np, _TWINS[name])(*x), "elementwise_factor",
                   f"`{step.label}` must use {_TWINS[name]}")
    yield from _operand_edits(step, edit, recorder)


def _factor_edits(step, edit):
    for i in (0, 1):
        if step.name == "divide" and i == 0:
            continue
        constant = np.ndim(step.operands[i]) == 0
        yield edit(2, lambda go, x, o, r, i=i: np.broadcast_to(x[1 - i], np.shape(go(*x))).copy(),
                   "constant_factor" if constant and not step.labels[i].isidentifier() else "elementwise_factor",
                   f"a factor too many: `{step.labels[i]}` in `{step.label}`")
    if step.name == "multiply":
        yield edit(3, lambda go, x, o, r: np.divide(*x), "elementwise_factor", f"`{step.label}` must be a quotient")
        yield edit(3, lambda go, x, o, r: np.divide(x[1], x[0]), "elementwise_factor",
                   f"`{step.label}` must be a quotient")
    else:
        yield edit(3, lambda go, x, o, r: np.multiply(*x), "elementwise_factor", f"`{step.label}` must be a product")


def _product_edits(step, edit):
    swap = np.swapaxes
    ways = {"the operands are exchanged": lambda a, b: (b, a),
            "the first operand must be transposed": lambda a, b: (swap(a, -1, -2), b),
            "the second operand must be transposed": lambda a, b: (a, swap(b, -1, -2)),
            "both operands must be transposed": lambda a, b: (swap(a, -1, -2), swap(b, -1, -2))}
    for words, way in ways.items():
        yield edit(3, lambda go, x, o, r, way=way: go(*way(*x), **o), "transposed", f"`{step.label}`: {words}")
    yield edit(3, lambda go, x, o, r: swap(go(*x, **o), -1, -2), "transposed",
               f"the result of `{step.label}` must be transposed")


def _sum_edits(step, edit):
    array, axis = step.operands[0], step.options.get("axis")
    if axis is None and len(step.operands) > 1:
        axis = step.operands[1]
    cumulative = step.name == "cumsum"
    axes = [*range(np.ndim(array)), *([] if cumulative else [None])]
    total = np.cumsum if cumulative else (np.mean if step.name == "mean" else np.sum)
    keep = {} if cumulative else {"keepdims": bool(step.options.get("keepdims", False))}
    if step.name == "mean":
        yield edit(1, lambda go, x, o, r: np.sum(x[0], axis=axis, **keep), "mean",
                   f"`{step.label}` must be a sum, not a mean")
    if step.name in ("sum", "add.reduce"):
        yield edit(2, lambda go, x, o, r: np.mean(x[0], axis=axis, **keep), "constant_factor",
                   f"`{step.label}` must be a mean, not a sum")
        yield edit(4, lambda go, x, o, r: x[0], "summed", f"`{step.label}` sums where nothing must be summed")
    for other in axes:
        if other != axis and not (isinstance(axis, int) and other == axis % np.ndim(array)):
            yield edit(1, lambda go, x, o, r, other=other: total(x[0], axis=other, **keep), "summed",
                       f"`{step.label}` sums over axis {axis}, but axis {other} belongs there")
    if cumulative:
        yield edit(2, lambda go, x, o, r: np.flip(np.cumsum(np.flip(x[0], axis), axis), axis), "summed",
                   f"`{step.label}` must run from the end to the beginning")


def _index_edits(step, edit):
    index = step.operands[1]
    parts = index if isinstance(index, tuple) else (index,)
    for i, part in enumerate(parts):
        for moved, _ in shifted(part):
            new = (*parts[:i], moved, *parts[i + 1:])
            yield edit(2, lambda go, x, o, r, new=new: x[0][new], "shifted",
                       f"off by one in the index of `{step.label}`: {_index_text(new)}, not {_index_text(parts)}")


def shifted(part):
    """Yield what an index may be if it is one off, and words for it."""
    if isinstance(part, slice):
        a, b = part.start, part.stop
        for start, stop in ((1, None), (None, -1), (None, None), ((a or 0) + 1, b), ((a or 0) - 1 if a else a, b),
                            (a, b - 1 if b is not None else -1), (a, b + 1 if b not in (None, -1) else None)):
            if (start, stop) != (a, b):
                yield _worded(slice(start, stop, part.step))
        if part.step in (None, -1):
            yield _worded(slice(None, None, None if part.step == -1 else -1))
    elif isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        yield from (_worded(part + 1), _worded(part - 1))
    elif isinstance(part, np.ndarray) and part.dtype.kind == "i":
        yield from ((part + 1, "it must be one larger"), (part - 1, "it must be one smaller"))


def _worded(part):
    return part, _index_text((part,))


def _index_text(parts):
    def one(part):
        if not isinstance(part, slice):
            return "..." if part is Ellipsis else "array" if isinstance(part, np.ndarray) else str(part)
        ends = ["" if part.start is None else str(part.start), "" if part.stop is None else str(part.stop)]
        return ":".join(ends + ([str(part.step)] if part.step is not None else []))
    return "[" + ", ".join(one(part) for part in parts) + "]"


def _operand_edits(step, edit, recorder):
    """Yield changes of single operands: negated, a constant altered, another array in its place."""
    if step.name == "getitem" or step.name.endswith(("reduce", "accumulate")):
        return
    additive = step.name in ("add", "subtract")
    for i, operand in enumerate(step.operands):
        number = isinstance(operand, (int, float)) and not isinstance(operand, bool)
        if number:
            for value in dict.fromkeys((operand - 1, operand + 1, 0.5 * operand, 2 * operand, -operand, 1, 2, 0.5, 3)):
                if value != operand and not (additive and value == 0):      # a term too many, which is tried before
                    yield edit(2, lambda go, x, o, r, i=i, value=value: go(*_put(x, i, value), **o),
                               "elementwise_factor" if step.name == "power" else "constant_factor",
                               f"the constant {operand:g} in `{step.label}` should be {value:g}")
        elif isinstance(operand, np.ndarray) and operand.dtype.kind == "f":
            if step.name not in ("multiply", "divide", "matmul"):
                yield edit(1, lambda go, x, o, r, i=i: go(*_put(x, i, -x[i]), **o), "sign",
                           f"the sign of `{step.labels[i]}` in `{step.label}` is wrong")
            yield from _scaled_operand(step, edit, i)
            if step.name != "negative":
                for words, shift in (("- 1", lambda v: v - 1), ("+ 1", lambda v: v + 1)):
                    yield edit(3, lambda go, x, o, r, i=i, shift=shift: go(*_put(x, i, shift(x[i])), **o),
                               "missing_term", f"a term is missing: `{step.labels[i]} {words}` belongs in "
                               f"`{step.label}`")
                yield edit(3, lambda go, x, o, r, i=i: go(*_put(x, i, 1 - x[i]), **o), "missing_term",
                           f"a term is missing: `1 - {step.labels[i]}` belongs in `{step.label}`")
            for label in recorder.roots:
                if label != step.labels[i]:
                    yield edit(4, lambda go, x, o, r, i=i, label=label: go(*_put(x, i, r.roots[label]), **o),
                               "missing_term" if additive else "elementwise_factor",
                               f"`{step.labels[i]}` stands where `{label}` belongs, in `{step.label}`")
            for earlier in recorder.steps[:step.index]:
                if np.shape(earlier.result) == operand.shape and earlier.label != step.labels[i] \
                        and earlier.index < step.index:
                    yield edit(LATE, lambda go, x, o, r, i=i, at=earlier.index: go(*_put(x, i, r.results[at]), **o),
                               "missing_term" if additive else "elementwise_factor",
                               f"`{step.labels[i]}` stands where `{earlier.label}` belongs, in `{step.label}`")


def _scaled_operand(step, edit, i):
    """Yield a power or a simple number missing beside an operand, where no product takes it up."""
    if step.name in ("multiply", "divide", "negative"):
        return
    beside = f"beside `{step.labels[i]}` in `{step.label}`"
    yield edit(6, lambda go, x, o, r: go(*_put(x, i, x[i] * x[i]), **o), "elementwise_factor",
               f"the factor `{step.labels[i]}` is missing {beside}")
    if step.name not in ("matmul", "sum", "getitem", "transpose", "swapaxes"):
        for factor, text in ((0.5, "1/2"), (2.0, "2")):
            yield edit(LATE, lambda go, x, o, r, factor=factor: go(*_put(x, i, factor * x[i]), **o), "constant_factor",
                       f"the factor {text} is missing {beside}")


def _put(operands, i, value):
    return [*operands[:i], value, *operands[i + 1:]]
