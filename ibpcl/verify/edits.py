"""The small changes of one place of a gradient function by which a wrong gradient may become right.

Each edit is a slip of somebody who derives by hand, undone: a sign, a constant, an operand too many, a missing
transpose, an index that is one off, another variable's name, ``=`` where ``+=`` belongs, a loop in the wrong order.
"""

import ast
import re
from collections.abc import Callable
from itertools import permutations
from typing import NamedTuple

import numpy as np

from ibpcl.verify.bench import OTHER

LATE = 7                # edits of this rank and above are tried after everything else
_TWINS = {"sin": ("cos",), "cos": ("sin",), "exp": ("expm1",), "expm1": ("exp",), "log": ("log1p",), "log1p": ("log",),
          "cosh": ("sinh",), "sinh": ("cosh",), "maximum": ("minimum",), "minimum": ("maximum",), "tril": ("triu",),
          "triu": ("tril",), "argmax": ("argmin",), "argmin": ("argmax",), "max": ("min",), "min": ("max",),
          "floor": ("ceil",), "rfft": ("irfft",), "irfft": ("rfft",), "fft": ("ifft",), "ifft": ("fft",),
          "solve": ("matmul",), "digamma": ("gammaln",), "gammaln": ("digamma",)}
_COMPARISONS = {ast.Gt: (ast.Lt, ast.GtE), ast.Lt: (ast.Gt, ast.LtE), ast.GtE: (ast.LtE, ast.Gt),
                ast.LtE: (ast.GtE, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,)}
_SUMS, _CUMULATIVE = ("sum", "mean"), ("cumsum", "cumprod")
_REVERSIBLE = (*_SUMS, *_CUMULATIVE)


class Edit(NamedTuple):
    """A change of the source; of several that work, the one of smallest ``rank`` is the simplest."""

    rank: float
    kind: str
    words: Callable         # () -> str, once it has been found to work
    node: ast.AST           # where
    puts: tuple             # (parent, field, index, new node)

    def swap(self):
        """Carry the change out, and return the edit that undoes it."""
        undone = []
        for parent, field, index, new in self.puts:
            old = getattr(parent, field) if index is None else getattr(parent, field)[index]
            undone.append((parent, field, index, old))
            if index is None:
                setattr(parent, field, new)
            else:
                getattr(parent, field)[index] = new
        return self._replace(puts=tuple(reversed(undone)))


def edits_of(code, values, scopes, late=True):
    """Return all edits of a function and its helpers, the simplest first.

    Parameters
    ----------
    code : Code
    values : dict of int to object
        First recorded value of each place.
    scopes : dict of str to dict
        For each function name the variables that it had when it returned.
    late : bool
        Whether edits of rank :data:`LATE` and above are among them.
    """
    found = []
    alike = {}
    for place in code.places:
        edits = list(_of_expression(place, values))
        alike.setdefault((place.function, place.inside, place.text), []).append(edits)
        found += edits
    found += [edit for edits in alike.values() if len(edits) > 1 for edit in _in_all(edits)]
    for name, tree in code.trees.items():
        found += _of_statements(tree, scopes.get(name, {}), code, values)
        found += _of_names(name, code, values, scopes.get(name, {}))
    if not late:
        found = [edit for edit in found if edit.rank < LATE]
    return sorted(found, key=lambda edit: edit.rank)


def _in_all(edits):
    """Yield the edits that do the same to every occurrence of an expression."""
    if len({len(item) for item in edits}) == 1:
        for same in zip(*edits, strict=True):
            if same[0].rank < LATE - 2 and len({edit.kind for edit in same}) == 1:
                yield same[0]._replace(rank=same[0].rank + 2, puts=tuple(put for edit in same for put in edit.puts),
                                       words=lambda first=same[0]: f"{first.words()} (wherever it stands)")


def _text(node):
    return ast.unparse(node)


def _make(node, template):
    """Return a new node with the position of the one that it replaces."""
    return ast.fix_missing_locations(ast.copy_location(node, template))


def _edit(rank, kind, place, new, why, shown=None):
    """Return the edit that puts ``new`` in a place; ``why`` opens its sentence."""
    old, shown = place.node, place.node if shown is None else shown

    def words():
        inside = f", in `{_text(shown)}`" if shown is not old else ""
        return f"{why}: `{_text(new)}` belongs where `{_text(old)}` stands{inside}"

    return Edit(rank, kind, words, place.node, ((place.parent, place.field, place.index, _make(new, old)),))


def _call(name, *arguments):
    path = ast.Name("np", ast.Load())
    for part in name.split("."):
        path = ast.Attribute(path, part, ast.Load())
    return ast.Call(path, list(arguments), [])


def _transposed(node):
    return _call("swapaxes", node, ast.Constant(-1), ast.Constant(-2))


def _pretty_transpose(node):
    return ast.Attribute(node, "T", ast.Load())


def _ndim(place, values):
    value = values.get(place.node.place)
    return np.ndim(value) if isinstance(value, (np.ndarray, np.generic, float)) else 0


def _name(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _parents(tree):
    return {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _of_expression(place, values):
    """Yield the edits of one expression."""
    node, inside = place.node, place.inside
    if inside in ("layout", "axis"):
        return
    if inside in ("index", "range"):
        yield from _of_index(place, inside)
        return
    if isinstance(node, ast.BinOp):
        yield from _of_operator(place, values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield _edit(0, "sign", place, node.operand, "the sign is wrong")
    elif isinstance(node, ast.Call):
        yield from _of_call(place, values)
    elif isinstance(node, ast.Constant):
        yield from _of_constant(place)
    elif isinstance(node, ast.Subscript):
        yield from _of_slice(place, values)
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield _edit(3, "transposed", place, node.value, "transposed once too often")
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for n, operator in enumerate(_COMPARISONS.get(type(node.ops[0]), ())):
            new = ast.Compare(node.left, [operator()], node.comparators)
            yield _edit(5, "few_entries" if n else "elementwise_factor", place, new, "the comparison is wrong")
    if not _is_value(place, values):
        return
    whole = place.whole
    if not isinstance(node, (ast.Constant, ast.UnaryOp)) and (whole or isinstance(place.parent, ast.Call) or (
            isinstance(place.parent, ast.BinOp) and isinstance(place.parent.op, ast.Add) and place.field == "left")):
        yield _edit(0 if whole else 1, "sign", place, ast.UnaryOp(ast.USub(), node), "the sign is wrong")
    shape = np.shape(values.get(node.place))
    if len(shape) >= 2 and shape[-1] == shape[-2] and not (isinstance(place.parent, ast.BinOp)
                                                           and isinstance(place.parent.op, ast.MatMult)):
        yield _edit(5, "transposed", place, _transposed(node), "transposed")
        if isinstance(node, ast.Name):
            both = ast.BinOp(ast.BinOp(node, ast.Add(), _pretty_transpose(node)), ast.Div(), ast.Constant(2))
            yield _edit(6, "missing_term", place, both, f"`{node.id}` is taken for symmetric: a term with its "
                                                        "transpose is "
                        "missing (two uses, not twice one)")
    if np.asarray(values.get(node.place)).dtype.kind == "c":
        yield _edit(4 if isinstance(node, ast.Name) else 4.5, "transposed", place, _call("conj", node), "the complex "
                                                                                                        "conjugate is missing (without it the "
                    "kernel runs in reversed order)")
    if len(shape) >= 1 and isinstance(node, (ast.Name, ast.Call, ast.Subscript)) and shape[0] > 1:
        for axis in range(len(shape)):
            yield _edit(5, "shifted", place, _call("flip", node, ast.Constant(axis)),
                        f"in reversed (flipped) order along axis {axis}")
    if isinstance(node, ast.Name):
        one = ast.Constant(1)
        for new in (ast.BinOp(node, ast.Sub(), one), ast.BinOp(one, ast.Sub(), node), ast.BinOp(node, ast.Add(), one)):
            yield _edit(4, "missing_term", place, new, "a term is missing", _around(place))
        square = ast.BinOp(node, ast.Pow(), ast.Constant(2))
        yield _edit(5, "elementwise_factor", place, square, f"a factor `{node.id}` is missing", _around(place))
        for name in ("exp", "log", "sqrt"):
            yield _edit(8, "elementwise_factor", place, _call(name, node), f"`{name}` is missing", _around(place))
        root = _call("sqrt", node)
        yield _edit(8, "elementwise_factor", place, ast.BinOp(one, ast.Div(), root), "a root is missing", _around(place))


def _is_value(place, values):
    value = values.get(place.node.place)
    return isinstance(value, (np.ndarray, np.generic, float)) and np.asarray(value).dtype.kind in "fc"


def _around(place):
    """Return the smallest expression around a place that shows what it belongs to."""
    return place.parent if isinstance(place.parent, (ast.BinOp, ast.Call, ast.UnaryOp)) else place.node


def _of_operator(place, values):
    node = place.node
    left, right, operator = node.left, node.right, node.op
    if isinstance(operator, (ast.Add, ast.Sub)):
        plus = isinstance(operator, ast.Add)
        new = ast.BinOp(left, ast.Sub() if plus else ast.Add(), right)
        yield _edit(1, "sign", place, new, f"the sign is wrong: this must be a {'difference' if plus else 'sum'}")
        for kept, gone in ((left, right), (right if plus else ast.UnaryOp(ast.USub(), right), left)):
            yield _edit(3, "missing_term", place, kept, f"a term too many, `{_text(gone)}`")
        if not plus:
            yield _edit(2, "sign", place, ast.BinOp(right, ast.Sub(), left), "the operands are exchanged, so the sign "
                                                                             "is "
                        "wrong")
    elif isinstance(operator, (ast.Mult, ast.Div)):
        product = isinstance(operator, ast.Mult)
        for kept, gone in ((left, right), (right, left)) if product else ((left, right),):
            constant = np.size(values.get(gone.place, 0) if hasattr(gone, "place") else 0) == 1 \
                and not isinstance(gone, ast.Name)
            yield _edit(2, "constant_factor" if constant else "elementwise_factor", place, kept,
                        f"a factor too many, `{_text(gone)}`")
        other = ast.BinOp(left, ast.Div() if product else ast.Mult(), right)
        yield _edit(3, "elementwise_factor", place, other, f"this must be a {'quotient' if product else 'product'}, a "
                    f"division by `{_text(right)}`" if product else f"this must be a product with `{_text(right)}`")
        if not product:
            yield _edit(3, "elementwise_factor", place, ast.BinOp(right, ast.Div(), left), "the operands are exchanged")
            square = ast.BinOp(right, ast.Pow(), ast.Constant(2))
            yield _edit(4, "elementwise_factor", place, ast.BinOp(left, ast.Div(), square),
                        f"the divisor must be squared, one more factor `{_text(right)}`")
        if product and _both_matrices(left, right, values):
            yield _edit(4, "elementwise_factor", place, ast.BinOp(left, ast.MatMult(), right),
                        "an elementwise product stands for a matrix product")
    elif isinstance(operator, ast.FloorDiv):
        yield _edit(1, "constant_factor", place, ast.BinOp(left, ast.Div(), right), "// rounds to whole numbers")
    elif isinstance(operator, ast.MatMult):
        yield from _of_product(place, left, right, values, lambda a, b: ast.BinOp(a, ast.MatMult(), b))


def _both_matrices(left, right, values):
    shapes = [np.shape(values.get(getattr(side, "place", -1))) for side in (left, right)]
    return all(len(shape) == 2 for shape in shapes) and shapes[0][1] == shapes[1][0]


def _of_product(place, left, right, values, product):
    """Yield operands exchanged and transposed, two changes at most."""
    ways = (("the operands are exchanged", right, left),
            ("the first operand must be transposed", _transposed(left), right),
            ("the second operand must be transposed", left, _transposed(right)),
            ("both operands must be transposed", _transposed(left), _transposed(right)))
    for why, a, b in ways:
        shown = product(*(_shown(part) for part in (a, b)))
        edit = _edit(3, "transposed", place, product(a, b), why)
        yield edit._replace(words=lambda why=why, shown=shown: f"{why} in a matrix product: `{_text(shown)}` belongs "
                            f"where `{_text(place.node)}` stands; a transpose is missing or too many")
    yield _edit(3, "transposed", place, _transposed(place.node), "the result must be transposed")
    for why, a, b in (("the operands are exchanged, and the first one transposed", right, _transposed(left)),
                      ("the operands are exchanged, and the second one transposed", _transposed(right), left)):
        yield _edit(4, "transposed", place, product(a, b), why)


def _shown(node):
    return _pretty_transpose(node.args[0]) if isinstance(node, ast.Call) and _name(node.func) == "swapaxes" else node


def _of_constant(place):
    node, parent = place.node, place.parent
    c = node.value
    if isinstance(c, bool) or not isinstance(c, (int, float)):
        return
    power = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow) and place.field == "right"
    term = isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Sub))
    for value in dict.fromkeys((c - 1, c + 1, 0.5 * c, 2 * c, -c, 1, 2, 0.5, 3)):
        if value != c and not (term and value == 0) and not (isinstance(parent, ast.BinOp) and isinstance(
                parent.op, ast.Div) and place.field == "right" and value == 0):
            yield _edit(2, "elementwise_factor" if power else "constant_factor", place, ast.Constant(value),
                        f"a constant is wrong, the {'exponent' if power else 'number'} {c:g} should be {value:g}",
                        _around(place))


def _of_index(place, inside):
    """Yield an index, or a bound of a loop, that is one off."""
    node = place.node
    kind = "shifted" if inside == "index" else "missing_term"
    why = "off by one in an index" if inside == "index" else "the loop leaves out a step, or takes one too many"
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        for value in (node.value + 1, node.value - 1):
            yield _edit(2, kind, place, ast.Constant(value), why, place.around)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield _edit(2, kind, place, node.left, why, place.around)
    elif isinstance(node, ast.Name) and not (isinstance(place.parent, ast.BinOp) and isinstance(
            place.parent.op, (ast.Add, ast.Sub))):
        for operator in (ast.Sub(), ast.Add()):
            yield _edit(3, kind, place, ast.BinOp(node, operator, ast.Constant(1)), why, place.around)
        yield _edit(6, kind, place, ast.BinOp(node, ast.Mult(), ast.Constant(2)), "a stride is missing in an index",
                    place.around)


def _of_slice(place, values):
    """Yield other slices of an array, its indices exchanged, and the array itself."""
    node = place.node
    if values.get(getattr(node.value, "place", -1)) is OTHER:
        return
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]

    def rebuilt(new):
        return ast.Subscript(node.value, new[0] if len(new) == 1 else ast.Tuple(list(new), ast.Load()), ast.Load())

    for n, part in enumerate(parts):
        for new, why in _other_slices(part):
            yield _edit(3, "shifted", place, rebuilt([*parts[:n], new, *parts[n + 1:]]), why)
    alike = [n for n, part in enumerate(parts) if isinstance(part, ast.Slice) and ast.dump(part) == ast.dump(next(
        other for other in parts if (isinstance(other, ast.Slice) and (other.lower or other.upper or other.step))
        or not any(isinstance(x, ast.Slice) and (x.lower or x.upper or x.step) for x in parts)))] \
        if any(isinstance(part, ast.Slice) for part in parts) else []
    if len(alike) > 1:
        for new, why in _other_slices(parts[alike[0]]):
            yield _edit(4, "shifted", place, rebuilt([new if n in alike else part for n, part in enumerate(parts)]), why)
    names = [n for n, part in enumerate(parts) if isinstance(part, (ast.Name, ast.Constant, ast.BinOp))]
    if len(parts) > 1:
        for a, b in permutations(range(len(parts)), 2):
            if a < b and ast.dump(parts[a]) != ast.dump(parts[b]):
                new = list(parts)
                new[a], new[b] = new[b], new[a]
                yield _edit(4, "transposed", place, rebuilt(new), "two indices are exchanged")
    if (new := _unmirrored(parts)) is not None:
        yield _edit(3, "shifted", place, rebuilt(new), "an index is mirrored (the order is reversed)")
    if not names and all(isinstance(part, ast.Slice) for part in parts):
        yield _edit(4, "shifted", place, node.value, "a part is cut out (or the order reversed) where nothing must be")


def _unmirrored(parts):
    """Return indices with ``i`` where ``n - i`` stands, or None."""
    mirrored = [isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) and isinstance(part.right, ast.Name)
                for part in parts]
    return [part.right if turned else part for part, turned in zip(parts, mirrored, strict=True)] if any(mirrored) else None


def _other_slices(part):
    """Yield slices one off at an end, and in the other order, with the reason."""
    if not isinstance(part, ast.Slice):
        return

    def number(node):
        if node is None:
            return None
        try:
            value = ast.literal_eval(node)
        except ValueError:
            return "unknown"
        return value if isinstance(value, int) else "unknown"

    a, b, step = number(part.lower), number(part.upper), number(part.step)
    if step in (None, -1):
        new = ast.Slice(part.lower, part.upper, None if step == -1 else ast.UnaryOp(ast.USub(), ast.Constant(1)))
        yield new, "in reversed (flipped) order"
    ends = []
    if a != "unknown" and b != "unknown":
        ends = [(1, None), (None, -1), (None, None), ((a or 0) + 1, b), ((a or 0) - 1 if a else a, b),
                (a, b - 1 if b is not None else -1), (a, b + 1 if b not in (None, -1) else None), (1, -1)]
    for start, stop in dict.fromkeys(ends):
        if (start, stop) != (a, b):
            yield ast.Slice(_number(start), _number(stop), part.step), "off by one in a slice (shifted)"


def _number(value):
    if value is None:
        return None
    return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))


def _of_call(place, values):
    node, name = place.node, _name(place.node.func)
    method = isinstance(node.func, ast.Attribute) and not (isinstance(node.func.value, ast.Name)
                                                           and node.func.value.id in ("np", "numpy")) \
        and hasattr(node.func.value, "place") and isinstance(values.get(node.func.value.place), np.ndarray)
    array = node.func.value if method else node.args[0] if node.args else None
    if array is None or isinstance(array, ast.Starred):
        return
    if name in _REVERSIBLE:
        yield from _of_sum(place, array, name, values)
    for twin in _TWINS.get(name, ()):
        if twin == "matmul" and len(node.args) == 2:
            yield _edit(4, "elementwise_factor", place, ast.BinOp(*[node.args[0], ast.MatMult(), node.args[1]]),
                        "a product with the matrix itself, not with its inverse")
        else:
            function = ast.Attribute(node.func.value, twin, ast.Load()) if isinstance(node.func, ast.Attribute) \
                else ast.Name(twin, ast.Load())
            yield _edit(LATE if name not in ("tril", "triu", "argmax", "argmin", "fft", "ifft") else 3,
                        "elementwise_factor", place, ast.Call(function, node.args, node.keywords),
                        f"`{twin}` belongs here, not `{name}`")
    if name == "polygamma" and len(node.args) == 2:
        new = ast.Call(ast.Attribute(node.func.value, "digamma", ast.Load()) if isinstance(node.func, ast.Attribute)
                       else _call("digamma").func, node.args[1:], [])
        yield _edit(4, "elementwise_factor", place, new, "`digamma` belongs here, the first derivative of gammaln")
    if name == "where" and len(node.args) == 3:
        new = ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], node.keywords)
        yield _edit(3, "elementwise_factor", place, new, "the two branches are exchanged")
    elif name == "solve_triangular" and len(node.args) >= 2:
        given = {k.arg: k for k in node.keywords}
        rest = [k for k in node.keywords if k.arg != "trans"]
        new = ast.Call(node.func, node.args, rest if "trans" in given else [*rest, ast.keyword("trans", ast.Constant(1))])
        yield _edit(3, "transposed", place, new, "the triangular matrix must be transposed")
    elif name in ("concatenate", "stack", "hstack", "vstack", "block") and isinstance(array, (ast.List, ast.Tuple)):
        for a in range(len(array.elts)):
            for b in range(a + 1, len(array.elts)):
                items = list(array.elts)
                items[a], items[b] = items[b], items[a]
                new = ast.Call(node.func, [type(array)(items, ast.Load()), *node.args[1:]], node.keywords)
                yield _edit(4, "shifted", place, new, "blocks are in another order (exchanged)")
    elif name in ("dot", "matmul") and len(node.args) == 2 and not method:
        yield from _of_product(place, *node.args, values, lambda a, b: _call("matmul", a, b))
    elif name == "dot" and method and len(node.args) == 1:
        yield from _of_product(place, array, node.args[0], values, lambda a, b: _call("matmul", a, b))
    elif name == "outer" and len(node.args) == 2:
        yield _edit(3, "transposed", place, ast.Call(node.func, node.args[::-1], []), "the operands are exchanged, "
                    "so the result is transposed")
    elif name == "einsum" and isinstance(node.args[0], ast.Constant):
        yield from _of_einsum(place)
    elif name == "roll" and len(node.args) >= 2:
        new = ast.Call(node.func, [node.args[0], ast.UnaryOp(ast.USub(), node.args[1]), *node.args[2:]], node.keywords)
        yield _edit(2, "shifted", place, new, "shifted in the wrong direction")
    elif name == "flip":
        for axis in range(np.ndim(values.get(getattr(array, "place", -1)))):
            yield _edit(2, "shifted", place, _call("flip", array, ast.Constant(axis)), "the wrong axis is reversed")
    elif name == "solve" and len(node.args) >= 2:
        new = ast.Call(node.func, [_pretty_transpose(node.args[0]), *node.args[1:]], node.keywords)
        yield _edit(3, "transposed", place, new, "the matrix must be transposed")
    elif name in ("pad",):
        return
    if name and len(node.args) + method == 1 and not node.keywords and name not in _REVERSIBLE and np.shape(values.get(
            node.place)) == np.shape(values.get(getattr(array, "place", -1), 0)):
        kind = {"flip": "shifted", "roll": "shifted", "sort": "shifted", "inv": "transposed", "transpose": "transposed",
                "swapaxes": "transposed", "conj": "transposed"}
        yield _edit(5, kind.get(name, "elementwise_factor"), place, array, f"`{name}` is too much")


def _of_sum(place, array, name, values):
    """Yield another axis, a sum for a mean and the reverse, no sum at all, and a cumulative sum from the end."""
    node = place.node
    ndim = np.ndim(values.get(getattr(array, "place", -1)))
    position = 1 if array in node.args else 0
    given = next((k.value for k in node.keywords if k.arg == "axis"), None)
    if given is None and len(node.args) > position:
        given = node.args[position]
    rest = [k for k in node.keywords if k.arg != "axis"]

    def made(function, axis):
        words = [] if axis is None else [ast.keyword("axis", axis)]
        call = _call(function, array)
        call.keywords = [*words, *rest]
        return call

    axis = given.value if isinstance(given, ast.Constant) else None if given is None else "other"
    if name in _SUMS:
        other = "sum" if name == "mean" else "mean"
        yield _edit(1, "mean" if name == "mean" else "constant_factor", place, made(other, given),
                    f"a {name} where a {other} belongs")
        yield _edit(4, "summed", place, array, "summed where nothing must be summed")
        for both in ((0, 1), (0, 2), (1, 2)) if ndim > 2 else ():
            if axis != "other":
                yield _edit(2, "summed", place, made(name, ast.Tuple([ast.Constant(n) for n in both], ast.Load())),
                            f"summed over axis {axis}, but axes {both[0]} and {both[1]} belong there")
    for n in [*range(ndim), *([] if name in _CUMULATIVE else [None])]:
        if axis != n and not (isinstance(axis, int) and axis < 0 and n == axis % max(ndim, 1)):
            yield _edit(1, "summed", place, made(name, None if n is None else ast.Constant(n)),
                        f"summed over axis {axis}, but {'all axes belong' if n is None else f'axis {n} belongs'} there"
                        if axis != "other" else "summed over the wrong axes")
    if name in _CUMULATIVE and (axis is None or isinstance(axis, int)) and ndim:
        where = ast.Constant(0 if axis is None else axis)
        call = _call(name, _call("flip", array, where))
        call.keywords = [ast.keyword("axis", where)]
        yield _edit(2, "summed", place, _call("flip", call, where), f"the {name} must run from the end to the "
                                                                    "beginning "
                    "(reversed)")
        yield _edit(5, "summed", place, array, f"`{name}` is too much")


def _of_einsum(place):
    node = place.node
    text = node.args[0].value
    left, arrow, right = text.partition("->")
    operands = left.split(",")
    seen = set()

    def changed(new):
        return ast.Call(node.func, [ast.Constant(new), *node.args[1:]], node.keywords)

    for n, part in [*enumerate(operands), (None, right)]:
        for a in range(len(part)):
            for b in range(a + 1, len(part)):
                if not (part[a].isalpha() and part[b].isalpha()):
                    continue
                letters = list(part)
                letters[a], letters[b] = letters[b], letters[a]
                joined = "".join(letters)
                new = f"{left}{arrow}{joined}" if n is None else \
                    f"{','.join([*operands[:n], joined, *operands[n + 1:]])}{arrow}{right}"
                if new not in seen:
                    seen.add(new)
                    yield _edit(3, "transposed", place, changed(new), f"the indices of einsum are exchanged, {new!r} "
                                                                      "not "
                                f"{text!r}: transposed")
    for a, b in permutations(sorted(set(re.findall("[a-zA-Z]", text))), 2):
        for n, part in enumerate(operands):
            if a in part and b not in part:
                new = f"{','.join([*operands[:n], part.replace(a, b), *operands[n + 1:]])}{arrow}{right}"
                yield _edit(6, "transposed", place, changed(new), f"an index of einsum is wrong, {new!r} not {text!r}")


def _of_statements(tree, scope, code, values):
    """Yield edits of whole statements: accumulated or overwritten, left out, moved; loops in another order."""
    known, parents = set(), _parents(tree)
    for parent in ast.walk(tree):
        for field in ("body", "orelse"):
            statements = getattr(parent, field, None)
            if not isinstance(statements, list):
                continue
            for index, statement in enumerate(statements):
                place = _Slot(statement, parent, field, index)
                looped = isinstance(parent, (ast.For, ast.While)) or _within_loop(parent, parents)
                if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                    yield from _of_assignment(place, statement, known, looped, statements, scope)
                elif isinstance(statement, ast.AugAssign):
                    yield from _of_accumulation(place, statement, looped)
                elif isinstance(statement, ast.For):
                    yield from _of_loop(place, statement)
                elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                    yield Edit(4, "missing_term", lambda s=statement: f"a step too many: `{_text(s)}`", statement,
                               ((parent, field, index, _make(ast.Pass(), statement)),))
                if not isinstance(statement, (ast.For, ast.While, ast.If, ast.FunctionDef)):
                    yield from _exchanged_functions(statement)
                for other in statements[index + 1:]:
                    yield from _exchanged_targets(statement, other)
                if index and not isinstance(statement, (ast.Return, ast.For, ast.If, ast.While)):
                    before = statements[index - 1]
                    if not isinstance(before, (ast.For, ast.If, ast.While)):
                        yield Edit(6, "missing_term", lambda s=statement, b=before: f"two steps in the wrong order: "
                                   f"`{_text(s)}` belongs before `{_text(b)}`", statement,
                                   ((parent, field, index, before), (parent, field, index - 1, statement)))


class _Slot:
    """A statement in its list."""

    def __init__(self, node, parent, field, index):
        self.node, self.parent, self.field, self.index = node, parent, field, index


def _exchanged_functions(statement):
    """Yield a statement in which two functions, such as sine and cosine, change places."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    for a, b in (("sin", "cos"), ("sinh", "cosh"), ("exp", "log"), ("real", "imag")):
        uses = [node for node in calls if node.func.attr in (a, b)]
        if len(uses) > 1:
            puts = tuple((node, "func", None, _make(ast.Attribute(node.func.value, a if node.func.attr == b else b,
                                                                  ast.Load()), node)) for node in uses)
            yield Edit(5, "elementwise_factor", lambda a=a, b=b: f"`{a}` and `{b}` are exchanged in "
                                                                 f"`{_text(statement)}`",
                       statement, puts)


def _within_loop(node, parents):
    while id(node) in parents:
        if isinstance(node, (ast.For, ast.While)):
            return True
        node = parents[id(node)]
    return False


def _of_assignment(slot, statement, known, looped, statements, scope):
    target, at = statement.targets[0], (slot.parent, slot.field, slot.index)
    store = _text(target)
    if isinstance(target, ast.Tuple):
        known.update(item.id for item in target.elts if isinstance(item, ast.Name))
        for a in range(len(target.elts) if len(target.elts) <= 6 else 0):
            for b in range(a + 1, len(target.elts)):
                items = list(target.elts)
                items[a], items[b] = items[b], items[a]
                new = _make(ast.Assign([ast.Tuple(items, ast.Store())], statement.value), statement)
                yield Edit(5, "shifted", lambda a=a, b=b: f"`{_text(target.elts[a])}` and `{_text(target.elts[b])}` "
                                                          "are "
                           f"unpacked in the wrong order (exchanged) in `{_text(statement)}`", statement, ((*at, new),))
        return
    if isinstance(target, ast.Subscript) or store in known:
        new = _make(ast.AugAssign(target, ast.Add(), statement.value), statement)
        yield Edit(1, "missing_term", lambda: f"`{store}` is overwritten where contributions must be accumulated (a "
                                              "term "
                   f"of each earlier one is missing): `{store} += ...` belongs there", statement, ((*at, new),))
    if isinstance(target, ast.Subscript) and isinstance(statement.value, ast.Constant):
        yield Edit(0, "few_entries", lambda: f"a step too many: `{_text(statement)}` overwrites what must stay", statement,
                   ((*at, _make(ast.Pass(), statement)),))
    if isinstance(target, ast.Subscript):
        yield _scattered(slot, statement, target)
        yield from _other_target(slot, statement, target)
    if store in known and isinstance(target, ast.Name):
        yield Edit(4, "missing_term", lambda: f"a step too many: `{_text(statement)}`", statement,
                   ((*at, _make(ast.Pass(), statement)),))
    known.add(store)
    value = scope.get(store)
    if isinstance(target, ast.Name) and isinstance(value, (np.ndarray, float, np.generic)):
        for name, other in scope.items():
            if name != store and isinstance(other, (np.ndarray, float, np.generic)) and np.shape(other) == np.shape(
                    value) and np.asarray(other).dtype.kind == "f":
                for operator, sign in ((ast.Add(), "+"), (ast.Sub(), "-")):
                    new = _make(ast.Assign([target], ast.BinOp(statement.value, operator, ast.Name(name, ast.Load()))),
                                statement)
                    yield Edit(5, "missing_term", lambda sign=sign, name=name: f"a term is missing: `{sign} {name}` "
                               f"belongs in `{_text(statement)}`", statement, ((*at, new),))


def _scattered(slot, statement, target):
    call = _call("add.at", ast.copy_location(ast.Name(_text(target.value), ast.Load()), target), target.slice,
                 statement.value)
    call.args[0] = _loaded(target.value)
    return Edit(2, "few_entries", lambda: f"repeated indices in `{_text(target)}` keep the last contribution only: "
                "accumulate with np.add.at", statement,
                ((slot.parent, slot.field, slot.index, _make(ast.Expr(call), statement)),))


def _loaded(node):
    loaded = ast.parse(_text(node), mode="eval").body
    return loaded


def _other_target(slot, statement, target):
    """Yield other indices to write to: one off, exchanged, or other ends of slices."""
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]

    def made(new, rank, kind, why):
        index = new[0] if len(new) == 1 else ast.Tuple(list(new), ast.Load())
        written = ast.Subscript(target.value, index, ast.Store())
        changed = ast.Assign([written], statement.value) if isinstance(statement, ast.Assign) else \
            ast.AugAssign(written, statement.op, statement.value)
        return Edit(rank, kind, lambda: f"{why}: `{_text(written)}` belongs where `{_text(target)}` is written to",
                    statement, ((slot.parent, slot.field, slot.index, _make(changed, statement)),))

    for n, part in enumerate(parts):
        options = [(new, why) for new, why in _other_slices(part)]
        if isinstance(part, (ast.Name, ast.Constant, ast.BinOp)) and not (isinstance(part, ast.Constant)
                                                                          and part.value is None):
            options += [(ast.BinOp(part, operator, ast.Constant(1)), "off by one in an index (shifted)")
                        for operator in (ast.Sub(), ast.Add())]
        for new, why in options:
            yield made([*parts[:n], new, *parts[n + 1:]], 3, "shifted", why)
    if (new := _unmirrored(parts)) is not None:
        yield made(new, 3, "shifted", "an index is mirrored (the order is reversed)")
    for a in range(len(parts)):
        for b in range(a + 1, len(parts)):
            if ast.dump(parts[a]) != ast.dump(parts[b]):
                new = list(parts)
                new[a], new[b] = new[b], new[a]
                yield made(new, 3, "transposed", "two indices are exchanged")


def _exchanged_targets(first, second):
    """Yield two statements that write to each other's place."""
    if not isinstance(first, (ast.Assign, ast.AugAssign)) or type(first) is not type(second):
        return
    one, two = (s.targets[0] if isinstance(s, ast.Assign) else s.target for s in (first, second))
    if not isinstance(one, ast.Subscript) or not isinstance(two, ast.Subscript) or ast.dump(one) == ast.dump(two) \
            or ast.dump(one.value) != ast.dump(two.value):
        return
    puts = tuple((s, "targets", 0, other) if isinstance(s, ast.Assign) else (s, "target", None, other)
                 for s, other in ((first, two), (second, one)))
    yield Edit(5, "shifted", lambda: f"`{_text(one)}` and `{_text(two)}` are exchanged (shifted the wrong way)", first, puts)


def _of_accumulation(slot, statement, looped):
    at, target = (slot.parent, slot.field, slot.index), statement.target
    if isinstance(statement.op, (ast.Add, ast.Sub)):
        plus = isinstance(statement.op, ast.Add)
        new = _make(ast.AugAssign(target, ast.Sub() if plus else ast.Add(), statement.value), statement)
        yield Edit(1, "sign", lambda: f"the sign is wrong: `{_text(new)}` belongs where `{_text(statement)}` stands",
                   statement, ((*at, new),))
        alone = _make(ast.Assign([target], statement.value), statement)
        yield Edit(3, "missing_term", lambda: f"a term too many: `{_text(statement)}` accumulates what belongs to "
                   "earlier steps; `=` belongs there", statement, ((*at, alone),))
    yield Edit(3, "missing_term", lambda: f"a term too many: `{_text(statement)}`", statement,
               ((*at, _make(ast.Pass(), statement)),))
    if isinstance(target, ast.Subscript):
        if isinstance(statement.op, ast.Add):
            yield _scattered(slot, statement, target)
        yield from _other_target(slot, statement, target)


def _of_loop(slot, statement):
    order = statement.iter
    if isinstance(order, ast.Call) and _name(order.func) == "reversed" and len(order.args) == 1:
        new, way = order.args[0], "forward"
    elif isinstance(order, ast.Call) and _name(order.func) == "range" and len(order.args) == 3:
        new, way = ast.Call(ast.Name("reversed", ast.Load()), [order], []), "in the opposite order"
    else:
        new = ast.Call(ast.Name("reversed", ast.Load()), [ast.Call(ast.Name("list", ast.Load()), [order], [])], [])
        way = "backward (reversed)"
    yield Edit(2, "shifted", lambda: f"the loop `for {_text(statement.target)} in {_text(order)}` runs in the wrong "
                                     "order: "
               f"it must run {way}, so that terms of later steps flow back to earlier ones", statement,
               ((statement, "iter", None, _make(new, order)),))


def _of_names(function, code, values, scope):
    """Yield another variable of the same shape in the place of one: in one of its uses, then in all."""
    uses = {}
    for place in code.places:
        if place.function == function and isinstance(place.node, ast.Name) and place.inside == "formula":
            uses.setdefault(place.node.id, []).append(place)
    arrays = {name: value for name, value in scope.items()
              if isinstance(value, (np.ndarray, np.generic, float)) and np.asarray(value).dtype.kind in "fiubc"}
    yield from _exchanged_names(uses, arrays)
    by_statement = {}
    for name, places in uses.items():
        for place in places:
            by_statement.setdefault(id(place.statement), {}).setdefault(name, []).append(place)
    for part in by_statement.values():
        yield from _exchanged_names(part, arrays)
    for name, places in uses.items():
        if name not in arrays:
            continue
        if len(places) > 1 and np.ndim(arrays[name]) == 2:
            puts = tuple((p.parent, p.field, p.index, _make(_transposed(p.node), p.node)) for p in places)
            yield Edit(5, "transposed", lambda name=name: f"`{name}` must be transposed wherever it stands: `{name}.T`",
                       places[0].node, puts)
        if len(places) > 1:
            puts = tuple((p.parent, p.field, p.index, _make(ast.BinOp(ast.Constant(1), ast.Sub(), p.node), p.node))
                         for p in places)
            yield Edit(6, "elementwise_factor", lambda name=name: f"`{name}` and `1 - {name}` are exchanged", places[0].node,
                       puts)
        for other, value in arrays.items():
            if other == name or np.asarray(value).dtype.kind != np.asarray(arrays[name]).dtype.kind:
                continue
            same = np.shape(value) == np.shape(arrays[name])
            if not same and not (np.ndim(value) and np.ndim(arrays[name]) and _broadcast(value, arrays[name])):
                continue
            for place in places:
                yield _renamed(name, other, [place], 4 if same else 5)
            if len(places) > 1 and same:
                yield _renamed(name, other, places, 5)


def _broadcast(a, b):
    """Return whether one of two arrays broadcasts to the shape of the other."""
    try:
        return np.broadcast_shapes(np.shape(a), np.shape(b)) in (np.shape(a), np.shape(b))
    except ValueError:
        return False


def _exchanged_names(uses, arrays):
    """Yield two variables of one shape exchanged in all their uses: gates, halves, first and second weights."""
    names = [name for name in uses if name in arrays and uses[name]]
    for n, a in enumerate(names):
        for b in names[n + 1:]:
            if np.shape(arrays[a]) == np.shape(arrays[b]):
                puts = tuple((p.parent, p.field, p.index, _make(ast.Name(other, ast.Load()), p.node))
                             for name, other in ((a, b), (b, a)) for p in uses[name])
                yield Edit(5.5, "swapped", lambda a=a, b=b: f"`{a}` and `{b}` are exchanged (swapped, in the wrong "
                                                            "order)",
                           uses[a][0].node, puts)


def grafts_of(code, values, counts):
    """Yield expressions of the same function as further factors or terms beside one that runs in a loop.

    Parameters
    ----------
    code : Code
    values : dict of int to object
        First recorded value of each place.
    counts : dict of int to int
        How often each place was run.
    """
    for name in code.trees:
        places = [p for p in code.places if p.function == name and p.inside == "formula" and _is_value(p, values)]
        sources = {}
        for place in places:
            if is_pure(place.node) and len(place.text) < 40:
                sources.setdefault(place.text, place)
        targets = [p for p in places if counts.get(p.node.place, 0) > 1 or np.ndim(values[p.node.place])]
        for target in targets:
            shape, looped = np.shape(values[target.node.place]), counts.get(target.node.place, 0) > 1
            for text, source in sources.items():
                other = np.shape(values[source.node.place])
                try:
                    joined = np.broadcast_shapes(shape, other)
                except ValueError:
                    continue
                if text == target.text or (joined == shape) != looped:
                    continue                            # where a place is run once, smaller factors are found otherwise
                graft = ast.parse(text, mode="eval").body
                for operator, why in ((ast.Mult(), f"an elementwise factor `{text}` is missing"),
                                      (ast.Div(), f"a division by `{text}` is missing")):
                    yield _edit(LATE, "elementwise_factor", target, ast.BinOp(target.node, operator, graft), why,
                                _around(target))
                if joined == shape and target.whole:
                    for operator in (ast.Add(), ast.Sub()):
                        yield _edit(LATE + 1, "missing_term", target, ast.BinOp(target.node, operator, graft),
                                    "a term is missing", _around(target))


def is_pure(node):
    """Return whether an expression can be evaluated again without side effects."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            root = part.func
            while isinstance(root, ast.Attribute):
                root = root.value
            if not (isinstance(root, ast.Name) and root.id in ("np", "numpy")) or ".random" in ast.unparse(part.func):
                return False
        elif isinstance(part, (ast.NamedExpr, ast.Lambda, ast.Await, ast.Yield, ast.ListComp, ast.GeneratorExp)):
            return False
    return True


def _renamed(name, other, places, rank):
    terms = all(isinstance(p.parent, ast.BinOp) and isinstance(p.parent.op, (ast.Add, ast.Sub)) for p in places)
    puts = tuple((p.parent, p.field, p.index, _make(ast.Name(other, ast.Load()), p.node)) for p in places)
    where = " and ".join(dict.fromkeys(_text(_around(place)) for place in places))
    return Edit(rank, "missing_term" if terms else "elementwise_factor",
                lambda: f"`{name}` stands where `{other}` belongs, in `{where}`", places[0].node, puts)
