"""Edits of the layout of arrays: strides, the order of flattened axes, blocks, axes of all sums."""

import ast
import copy
from itertools import permutations

import numpy as np

from ibpcl.codeview.rewrite import Edit, in_place, replaced
from ibpcl.codeview.syntax import is_numeric, name_of, parsed, text_of, value_at

MOST_AXES = 4  # arrays with more axes are left out: there are too many orders
MOST_STRIDE = 8  # larger integers are not taken for strides
FLATTENING = ("reshape", "ravel", "flatten")
FLIPS = ("flip", "fliplr", "flipud", "rot90")
LARGEST_WINDOW = 7


def of_strides(node, place, scope):
    """Yield the start of a window with a stride, for all of its axes and for each axis alone.

    Parameters
    ----------
    node : ast.Subscript
        The window, such as ``x[i:i + k]``.
    place : Place or Slot
        Where it stands.
    scope : dict
        Local variables of the function; small integers among them may be strides.

    Yields
    ------
    Edit
    """
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    names = list(dict.fromkeys(start for index in indices for start in [_start(index)] if start))
    if not names:
        return
    strides = [
        name
        for name, value in scope.items()
        if isinstance(value, (int, np.integer))
        and 1 < value <= MOST_STRIDE
        and name not in names
        and not isinstance(value, bool)
    ]
    for stride in strides:
        for chosen in ([names] if len(names) > 1 else []) + [[name] for name in names]:
            new = copy.deepcopy(node)
            _Scaled(chosen, stride).visit(new.slice)
            yield Edit(
                2 + 0.1 * len(chosen),
                "shifted",
                _stride_words(node, new, stride),
                node,
                (in_place(place, new),),
            )


def _stride_words(old, new, stride):
    """Return the description of a missing stride."""
    return lambda: (
        f"the stride `{stride}` is missing in the index (shifted): `{text_of(old)}` should be "
        f"`{text_of(new)}`"
    )


def _start(part):
    """Return the name at which a slice begins, as ``i`` in ``i:i + k``, or None."""
    if isinstance(part, ast.Slice) and isinstance(part.lower, ast.Name) and part.upper is not None:
        return part.lower.id
    return None


class _Scaled(ast.NodeTransformer):
    """Multiply some names by a stride."""

    def __init__(self, names, stride):
        self.names = names
        self.stride = stride

    def visit_Name(self, node):
        if node.id in self.names:
            return ast.BinOp(
                ast.Name(self.stride, ast.Load()), ast.Mult(), ast.Name(node.id, ast.Load())
            )
        return node


def of_blocks(place):
    """Yield the sum over each block instead of one of its entries, ``A[::2, ::2]``.

    Parameters
    ----------
    place : Place or Slot
        A subscript.

    Yields
    ------
    Edit
    """
    node = place.node
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    steps = {
        n: index_part.step
        for n, index_part in enumerate(parts)
        if isinstance(index_part, ast.Slice)
        and index_part.step is not None
        and index_part.lower is None
        and index_part.upper is None
        and not (
            isinstance(index_part.step, ast.UnaryOp) or getattr(index_part.step, "value", 2) == 1
        )
    }
    if not steps or not isinstance(getattr(node, "ctx", None), ast.Load):
        return
    new_parts = list(parts)
    loops = []
    for n, step in steps.items():
        new_parts[n] = ast.Slice(ast.Name(f"i{n}", ast.Load()), None, step)
        loops.append(f" for i{n} in range({text_of(step)})")
    index = new_parts[0] if len(new_parts) == 1 else ast.Tuple(new_parts, ast.Load())
    entry = text_of(ast.Subscript(node.value, index, ast.Load()))
    new = parsed(f"sum({entry}{''.join(loops)})")
    yield Edit(
        1.5,
        "not_summed",
        lambda: (
            f"one entry of each block is taken: `{text_of(node)}` should be the sum over the "
            f"block, `{text_of(new)}`"
        ),
        node,
        (in_place(place, new),),
    )


def of_kernels(place, values):
    """Yield a kernel flipped along its window axes, or not flipped.

    The gradient of a correlation with respect to its input is a convolution: the kernel is flipped
    along both axes of the window.

    Parameters
    ----------
    place : Place or Slot
        An expression.
    values : dict
        The recorded value of each place, by its number.

    Yields
    ------
    Edit
    """
    node = place.node
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    inner = _unflipped(node)
    value = value_at(inner or node, values)
    if not is_numeric(value):
        return
    if inner is not None:
        yield replaced(1, "shifted", place, inner, "a kernel must not be flipped here")
    text = text_of(inner or node)
    if not isinstance(inner or node, (ast.Name, ast.Attribute, ast.Subscript)):
        return
    for axes in _windows(np.shape(value)):
        index = [":"] * axes[0] + ["::-1"] * len(axes)
        new = parsed(f"{text}[{', '.join(index)}]")
        if text_of(new) != text_of(node):
            along = "both axes" if len(axes) > 1 else "the axis"
            why = f"a kernel must be flipped along {along} of its window"
            yield replaced(3.5 + np.ndim(value) / 100, "shifted", place, new, why)


def _windows(shape):
    """Yield the axes that may be those of the window of a kernel."""
    if len(shape) % 2:  # one axis, with or without two axes of channels
        for axis in sorted({0, len(shape) - 1}):
            if 1 < shape[axis] <= LARGEST_WINDOW:
                yield (axis,)
        return
    for axis in range(len(shape) - 1):
        if 1 < shape[axis] == shape[axis + 1] <= LARGEST_WINDOW:
            yield (axis, axis + 1)


def _unflipped(node):
    """Return the array that an expression flips, or None."""
    if isinstance(node, ast.Call) and name_of(node.func) in FLIPS and node.args:
        return node.args[0]
    if not isinstance(node, ast.Subscript):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    whole = all(isinstance(part, ast.Slice) and not (part.lower or part.upper) for part in parts)
    steps = [text_of(part.step) for part in parts if whole and part.step]
    return node.value if steps and set(steps) == {"-1"} else None


def of_flattening(place, values):
    """Yield an array with its axes in another order before it is reshaped.

    Parameters
    ----------
    place : Place
        A call of ``reshape``, ``ravel`` or ``flatten``.
    values : dict
        The recorded value of each place, by its number.

    Yields
    ------
    Edit
    """
    node = place.node
    method = isinstance(node.func, ast.Attribute) and is_numeric(
        value_at(node.func.value, values), "fiubc"
    )
    slot = (node.func, "value", None) if method else (node, "args", 0)
    inner = node.func.value if method else node.args[0] if node.args else None
    array = value_at(inner, values) if inner is not None else None
    if (
        name_of(node.func) not in FLATTENING
        or not is_numeric(array)
        or not 1 < np.ndim(array) <= MOST_AXES
    ):
        return
    original = inner
    while (isinstance(original, ast.Attribute) and original.attr == "T") or (
        isinstance(original, ast.Call)
        and name_of(original.func) in ("transpose", "swapaxes", "moveaxis")
        and isinstance(original.func, ast.Attribute)
        and is_numeric(value_at(original.func.value, values))
    ):
        original = original.value if isinstance(original, ast.Attribute) else original.func.value
    size = np.ndim(value_at(original, values)) if original is not inner else np.ndim(array)
    for axes in permutations(range(size)):
        new = (
            ast.Call(
                ast.Attribute(original, "transpose", ast.Load()),
                [ast.Constant(axis) for axis in axes],
                [],
            )
            if axes != tuple(range(size))
            else original
        )
        if ast.dump(new) == ast.dump(inner):
            continue
        puts = ((slot[0], slot[1], slot[2], ast.copy_location(new, inner)),)
        yield Edit(4.5, "transposed", _flattening_words(inner, new, node), node, puts)


def _flattening_words(old, new, node):
    """Return the description of axes that are flattened in the wrong order."""
    return lambda: (
        "the axes are in the wrong order when the array is flattened or reshaped (a transpose is "
        f"missing, extra or wrong): `{text_of(old)}` should be `{text_of(new)}` in "
        f"`{text_of(node)}`"
    )
