"""Matching of the patterns of :mod:`ibpcl.codeview.slips` with places in a syntax tree."""

import ast
import copy
from itertools import permutations
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.rewrite import Edit, belongs, in_place
from ibpcl.codeview.syntax import is_numeric, items_of, name_of, parsed, text_of, value_at

# The negative of an argument makes these another function (max becomes min), not another sign.
RANKING = ("argmax", "argmin", "argsort", "max", "min", "sort")
FLATTENING = ("reshape", "ravel", "flatten")
REDUCTIONS = ("sum", "mean", "max", "min", "var", "std", "prod", "logsumexp", "norm")
MODULES = ("np", "numpy", "scipy", "special", "math")
ELEMENTARY = ("exp", "expm1", "log", "log1p", "log2", "tanh", "sqrt", "digamma", "sin", "cos")
LARGEST_WINDOW = 7
MOST_AXES = 4  # arrays with more axes are left out: there are too many orders
MOST_OTHERS = 30  # arrays that may stand in the place of one
LONGEST = 40  # characters of an expression that is changed as a whole
# Names that count examples; the ratio of two of them scales a minibatch.
SIZES = ("N", "n", "batch", "batch_size", "size", "B", "M", "m", "total", "n_batch", "n_total")
ARITHMETIC = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
VARIABLES = (ast.Name, ast.Attribute, ast.Subscript)
SHORT = (*VARIABLES, ast.Call, ast.BinOp, ast.Constant)
FEWEST_TERMS = 3  # of a series that may be truncated


class Known(NamedTuple):
    """Values in one run of a function.

    Attributes
    ----------
    values : dict
        The recorded value of each place, by its number.
    scope : dict
        The local variables of the function around a place.
    arrays : dict
        The arrays among them and in their containers, by source text.
    parameters : list of str
        The arguments of the function, and the attributes of its object, that are numbers.
    """

    values: dict
    scope: dict
    arrays: dict
    parameters: list


def known_in(values, scope, arguments=()):
    """Return the values in one run of a function.

    Parameters
    ----------
    values : dict
        The recorded value of each place, by its number.
    scope : dict
        The local variables of the function.
    arguments : sequence of str
        Names of the arguments of the function.

    Returns
    -------
    Known
    """
    texts = dict(scope)
    for name, holder in scope.items():
        if isinstance(holder, (tuple, list, dict)) or hasattr(holder, "__dict__"):
            texts.update((text, item) for text, item in items_of(name, holder))
    arrays = {text: value for text, value in texts.items() if is_numeric(value) and np.ndim(value)}
    parameters = [
        text
        for text, value in texts.items()
        if text.partition(".")[0] in arguments and is_numeric(value, "iuf")
    ]
    return Known(values, scope, dict(list(arrays.items())[:MOST_OTHERS]), parameters)


class Slip(NamedTuple):
    """A row of the table, parsed.

    Attributes
    ----------
    rank : float
        Simpler slips have smaller ranks.
    kind : str
        Kind of the mistake.
    old : ast.AST
        The wrong pattern.
    new : ast.AST
        The right pattern.
    why : str
        The reason, with placeholders in braces.
    gone : set of str
        Placeholders of the wrong pattern that the right one lacks.
    each : str
        The placeholder of the right pattern that stands for each of several expressions; empty
        without one.
    """

    rank: float
    kind: str
    old: ast.AST
    new: ast.AST
    why: str
    gone: set
    each: str


def table_of(rows):
    """Return rows as slips by the type of node that they match, None for a single placeholder.

    Parameters
    ----------
    rows : sequence of tuple
        Rows of :mod:`ibpcl.codeview.slips`.

    Returns
    -------
    dict
    """
    table = {}
    for rank, kind, *texts, why in rows:
        old, new = (ast.parse(text).body[0] for text in texts)
        if isinstance(old, ast.Expr):  # the others are statements
            old = old.value
            new = new.value
        before, after = map(placeholders_in, texts)
        each = next(iter(after & set(CHOICES)), "")
        key = None if _placeholder(old) else type(old)
        table.setdefault(key, []).append(Slip(rank, kind, old, new, why, before - after, each))
    return table


def edits_at(place, known, table):
    """Yield the edits that a table has for a place.

    Parameters
    ----------
    place : Place
        The expression or statement to change.
    known : Known
        Values in one run.
    table : dict
        Slips by the type of node; see :func:`table_of`.

    Yields
    ------
    Edit
    """
    node = infix(place.node, known.values)
    value = value_at(place.node, known.values)
    for slip in (*table.get(type(node), ()), *table.get(None, ())):
        match = Match(place, node, value, known)
        if not match.binds(slip.old, node):
            continue
        for chosen in CHOICES[slip.each](match) if slip.each else (None,):
            match.bound[slip.each] = chosen
            new = match.filled(slip.new)
            if match.is_useful(new):
                yield _edit(slip, match, new)


def _edit(slip, match, new):
    """Return the edit of a slip whose placeholders are bound."""
    bound = {name: node for name, node in match.bound.items() if name}

    def words():
        texts = {placeholder: text_of(node) for placeholder, node in bound.items()}
        why = slip.why.format_map(texts)
        # a whole result is too long to repeat
        return why if "RESULT" in bound else f"{why}: {belongs(new, match.place)}"

    kind = KINDS[slip.kind](slip, match) if slip.kind in KINDS else slip.kind
    node = match.place.node
    chosen = bound.get("AXIS") or node
    same = ast.dump(slip.old), ast.dump(slip.new), ast.dump(chosen)
    return Edit(slip.rank, kind, words, node, (in_place(match.place, new),), same)


class Match:
    """A place, and the expressions there that the placeholders of a pattern stand for.

    Parameters
    ----------
    place : Place
        The place.
    node : ast.AST
        Its expression, with products of matrices as operators.
    value : object
        Its value.
    known : Known
        Values in one run.

    Attributes
    ----------
    bound : dict
        A node for each placeholder.
    call : ast.AST
        The call of a function that the pattern names by its last name, if there is one.
    """

    def __init__(self, place, node, value, known):
        self.place = place
        self.node = node
        self.value = value
        self.known = known
        self.bound = {}
        self.call = node

    def value_of(self, placeholder):
        """Return the value of what a placeholder stands for, or that of the place.

        Parameters
        ----------
        placeholder : str
            The placeholder.

        Returns
        -------
        object
        """
        node = self.bound.get(placeholder)
        return value_at(node if node is not None else self.place.node, self.known.values)

    def binds(self, pattern, node):
        """Return whether a node matches a pattern, and bind the placeholders.

        Parameters
        ----------
        pattern : ast.AST, list or object
            The pattern, or a part of it.
        node : ast.AST, list or object
            The same part of the place.

        Returns
        -------
        bool
        """
        placeholder = _placeholder(pattern)
        if placeholder:
            if placeholder in self.bound:
                return ast.dump(self.bound[placeholder]) == ast.dump(node)
            self.bound[placeholder] = node
            value = value_at(node, self.known.values) if isinstance(node, ast.AST) else None
            condition = CONDITIONS.get(placeholder)
            return node is not None and (condition is None or condition(self, node, value))
        if isinstance(pattern, list):
            return len(pattern) == len(node) and all(map(self.binds, pattern, node))
        if isinstance(pattern, ast.Call):
            if not isinstance(node, ast.Call) or not self.binds(pattern.func, node.func):
                return False
            if isinstance(pattern.func, ast.Name):
                self.call = node
            given = arguments_of(node, self.known.values)
            count = len(pattern.args)
            return len(given) >= count and self.binds(pattern.args, given[:count])
        if isinstance(pattern, ast.Name):
            return pattern.id == name_of(node)
        if not isinstance(pattern, ast.AST):
            return pattern == node
        return type(pattern) is type(node) and all(
            self.binds(getattr(pattern, field), getattr(node, field))
            for field in pattern._fields
            if field not in ("ctx", "type_comment")
        )

    def filled(self, pattern):
        """Return a pattern with its placeholders replaced by the nodes that they are bound to.

        Parameters
        ----------
        pattern : ast.AST, list or object
            The pattern, or a part of it.

        Returns
        -------
        ast.AST, list or object
            A number for a pattern of numbers.
        """
        if _placeholder(pattern):
            return self.bound[pattern.id]
        if isinstance(pattern, list):
            items = [self.filled(item) for item in pattern]
            spread = _placeholder(pattern[0]) == "ORDER" if pattern else False
            return items[0].elts if spread else items
        if not isinstance(pattern, ast.AST):
            return pattern
        new = copy.copy(pattern)
        for field in pattern._fields:
            if (type(pattern), field) != (ast.Call, "func") or isinstance(new.func, ast.Attribute):
                setattr(new, field, self.filled(getattr(pattern, field)))
        if isinstance(new, ast.Attribute) and new.attr == "T":
            return self._transposed(new)
        if isinstance(new, ast.Call):
            new.args = [_without_colons(node) for node in new.args]
        if isinstance(new, ast.Call) and isinstance(new.func, ast.Name):
            self._complete(new)
        is_number = "NUMBER" in self.bound and isinstance(new, ast.expr)
        whole = is_number and type(self.bound["NUMBER"].value) is int
        return _computed(new, whole) if is_number else new

    def _transposed(self, new):
        """Return a transpose: of all axes, of the last two for stacked matrices, or undone."""
        if isinstance(new.value, ast.Attribute) and new.value.attr in ("T", "mT"):
            return new.value.value
        inner = value_at(new.value, self.known.values)
        new.attr = "T" if np.ndim(self.value if inner is None else inner) < 3 else "mT"
        return new

    def _complete(self, new):
        """Complete a new call with the form and the further arguments of the original call."""
        node = self.call
        if not isinstance(node, ast.Call):
            return
        given = {word.arg for word in new.keywords}
        new.keywords += [word for word in node.keywords if word.arg not in given]
        rest = arguments_of(node, self.known.values)[len(new.args) :]
        if "axis" in given and rest:  # it was given by its position
            axis = next(word for word in new.keywords if word.arg == "axis")
            new.keywords.remove(axis)
            rest[0] = axis.value
        new.args += rest
        name = name_of(node.func) if _placeholder(new.func) else new.func.id
        if _is_method(node, self.known.values):
            new.func = ast.Attribute(new.args.pop(0), name, ast.Load())
        elif isinstance(node.func, ast.Attribute):
            new.func = ast.Attribute(node.func.value, name, ast.Load())
        else:
            new.func = ast.Name(name, ast.Load())

    def is_useful(self, new):
        """Return whether a replacement changes something, and not to certain nonsense.

        Parameters
        ----------
        new : ast.AST
            The replacement.

        Returns
        -------
        bool
        """
        if "NUMBER" in self.bound:
            parent = self.place.parent
            operator = type(parent.op) if isinstance(parent, ast.BinOp) else None
            divisor = operator is ast.Div and self.place.field == "right"
            number = getattr(new, "value", None)  # a constant such as pi is an expression
            zero = number == 0 and (divisor or operator in (ast.Add, ast.Sub))
            return number != self.node.value and not zero
        if "FUNCTION" not in self.bound:
            return True
        if isinstance(new, ast.Call) and any(word.arg == "axis" for word in new.keywords):
            axis = any(word.arg == "axis" for word in self.call.keywords)
            named = name_of(self.call.func) in ("sum", "mean", "cumsum")  # they have their own rows
            return axis and not (named and self.known.values)
        if not self.known.values:
            return True
        given = arguments_of(self.call, self.known.values)
        alone = len(given) == 1 and not self.call.keywords
        return alone and np.shape(self.value) == np.shape(value_at(given[0], self.known.values))


def placeholders_in(text):
    """Return the placeholders of a pattern.

    Parameters
    ----------
    text : str
        The pattern.

    Returns
    -------
    set of str
    """
    return {_placeholder(node) for node in ast.walk(ast.parse(text))} - {""}


def _without_colons(node):
    """Return an index as it is written outside of brackets: ``1:`` becomes ``slice(1, None)``."""
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_without_colons(item) for item in node.elts], ast.Load())
    if not isinstance(node, ast.Slice):
        return node
    parts = [node.lower, node.upper] + ([node.step] if node.step else [])
    given = [part or ast.Constant(None) for part in parts]
    return ast.Call(ast.Name("slice", ast.Load()), given, [])


def _placeholder(node):
    """Return the name of a placeholder in a pattern, "" for other nodes."""
    return node.id if isinstance(node, ast.Name) and node.id in PLACEHOLDERS else ""


def _computed(node, whole):
    """Return an expression of numbers as one number, other expressions unchanged."""
    if not all(isinstance(part, ARITHMETIC) for part in ast.walk(node)):
        return node
    value = eval(ast.unparse(node))  # numbers and their operators only
    return ast.Constant(int(value) if whole and value == int(value) else value)


def infix(node, values):
    """Return ``dot(a, b)`` and ``matmul(a, b)`` as ``a @ b``, other expressions unchanged.

    Parameters
    ----------
    node : ast.AST
        An expression or a statement.
    values : dict
        The recorded value of each place, by its number.

    Returns
    -------
    ast.AST
    """
    if isinstance(node, ast.Call) and name_of(node.func) in ("dot", "matmul"):
        arguments = arguments_of(node, values)
        if len(arguments) == 2:
            return ast.BinOp(arguments[0], ast.MatMult(), arguments[1])
    return node


def arguments_of(call, values):
    """Return the arguments of a call; for an array's method, the array comes first.

    Parameters
    ----------
    call : ast.Call
        The call.
    values : dict
        The recorded value of each place, by its number; empty if nothing was recorded.

    Returns
    -------
    list of ast.AST
    """
    return [call.func.value, *call.args] if _is_method(call, values) else call.args


def _is_method(call, values):
    """Return whether a call is that of an array's method; without values, by the name before it."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if values:
        return is_numeric(value_at(call.func.value, values), "fiubc")
    return getattr(call.func.value, "id", "") not in MODULES


def windows(shape):
    """Yield the axes that may be those of the window of a kernel.

    Parameters
    ----------
    shape : tuple of int
        Shape of an array.

    Yields
    ------
    tuple of int
    """
    if len(shape) % 2:  # one axis, with or without two axes of channels
        yield from ((axis,) for axis in sorted({0, len(shape) - 1}) if _is_window(shape[axis]))
        return
    for axis in range(len(shape) - 1):
        if _is_window(shape[axis]) and shape[axis] == shape[axis + 1]:
            yield axis, axis + 1


def _is_window(size):
    return 1 < size <= LARGEST_WINDOW


def _is_whole(place):
    """Return whether a place may have a minus of its own."""
    parent = place.parent
    return not isinstance(place.node, ast.UnaryOp) and (
        place.whole
        or (isinstance(parent, ast.Call) and name_of(parent.func) not in RANKING)
        or (
            isinstance(parent, ast.BinOp)
            and isinstance(parent.op, ast.Add)
            and place.field == "left"
        )
    )


def _is_flattened(place):
    """Return whether an expression is the array of a call of ``reshape`` and the like."""
    parent = place.parent
    if isinstance(parent, ast.Attribute):
        return parent.attr in FLATTENING
    is_call = isinstance(parent, ast.Call) and name_of(parent.func) in FLATTENING
    return is_call and parent.args[0] is place.node


def _is_operand(node, value):
    """Return whether a variable or an item has numbers, or no value before the exception."""
    return isinstance(node, VARIABLES) and (value is None or is_numeric(value, "fiub"))


def is_term(place):
    """Return whether a place is a term of a sum or a difference.

    Parameters
    ----------
    place : Place
        The place.

    Returns
    -------
    bool
    """
    return isinstance(place.parent, ast.BinOp) and isinstance(place.parent.op, (ast.Add, ast.Sub))


def _is_short(node, value):
    """Return whether an expression of numbers can be changed as a whole and repeated in words."""
    fits = isinstance(node, SHORT) and not is_numeric(value, "b")
    return fits and len(text_of(node)) <= LONGEST


def _is_within(value, low, high):
    """Return whether all numbers of an array lie in an interval."""
    is_array = is_numeric(value) and np.ndim(value) > 0
    return is_array and bool(np.all((low <= value) & (value <= high)))


def _fits_into(match, value):
    """Return whether a value fits into A[B]; NumPy's ``add.at`` reads beyond the end of others."""
    if not match.known.values:
        return True
    node = match.bound["B"]
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    array = match.known.arrays.get(text_of(match.bound["A"]))
    given = match.known.values
    index = tuple(
        slice(*(value_at(bound, given) for bound in (item.lower, item.upper, item.step)))
        if isinstance(item, ast.Slice)
        else value_at(item, given)
        for item in items
    )
    if not is_numeric(array) or not is_numeric(value) or any(item is None for item in index):
        return False
    try:
        shape = np.shape(array[index])
        return np.broadcast_shapes(shape, np.shape(value)) == shape
    except (IndexError, ValueError, TypeError):
        return False


# Whether a placeholder matches: a function of the match, the node, and its value.
CONDITIONS = {
    "NAME": lambda match, node, value: isinstance(node, ast.Name) and is_numeric(value),
    "PARTS": lambda match, node, value: _fits_into(match, value),
    "INDEX": lambda match, node, value: isinstance(node, ast.Name) and not is_term(match.place),
    "NUMBER": lambda match, node, value: (
        isinstance(node, ast.Constant) and type(node.value) in (int, float)
    ),
    "SQUARE": lambda match, node, value: (
        is_numeric(value)
        and np.ndim(value) >= 2
        and np.shape(value)[-1] == np.shape(value)[-2]
        and not (
            isinstance(match.place.parent, ast.BinOp)
            and isinstance(match.place.parent.op, ast.MatMult)
        )
    ),
    "MATRIX": lambda match, node, value: (
        _is_operand(node, value)
        and np.ndim(value) > 1
        and not isinstance(match.place.parent, ast.Attribute)
    ),
    "VECTOR": lambda match, node, value: _is_operand(node, value),
    "UNIT": lambda match, node, value: _is_within(value, 0, 1),
    "SIGNED": lambda match, node, value: _is_within(value, -1, 1),
    "COMPLEX": lambda match, node, value: is_numeric(value, "c"),
    "KERNEL": lambda match, node, value: isinstance(node, VARIABLES) and is_numeric(value),
    "FLAT": lambda match, node, value: is_numeric(value) and _is_flattened(match.place),
    "WHOLE": lambda match, node, value: is_numeric(value) and _is_whole(match.place),
    "TARGET": lambda match, node, value: match.place.again,
    "STORED": lambda match, node, value: (
        isinstance(node, ast.Name)
        and not match.place.again
        and is_numeric(match.known.scope.get(node.id), "fiubc")
    ),
    "STEP": lambda match, node, value: (
        not isinstance(node, ast.UnaryOp) and getattr(node, "value", 2) != 1
    ),
    "VALUE": lambda match, node, value: (
        _is_short(node, value) and not isinstance(node, ast.Constant)
    ),
    "FORMULA": lambda match, node, value: _is_short(node, value),
    "TERMS": lambda match, node, value: (
        isinstance(node, ast.Constant) and type(node.value) is int and node.value >= FEWEST_TERMS
    ),
    "RESULT": lambda match, node, value: (
        isinstance(match.place.parent, ast.Return) and not isinstance(node, ast.Tuple)
    ),
    "REDUCTION": lambda match, node, value: name_of(node) in REDUCTIONS,
    "ELEMENTARY": lambda match, node, value: (
        name_of(node) in ELEMENTARY or name_of(node).startswith("_")
    ),
}


def _axes(match):
    axes = range(np.ndim(match.value_of("A"))) if match.known.values else (0, 1, -1)
    return [ast.Constant(axis) for axis in axes]


def _orders(match):
    size = np.ndim(match.value_of("A"))
    orders = permutations(range(size)) if 1 < size <= MOST_AXES else ()
    return [parsed(str(order)) for order in orders if order != tuple(range(size))]


def _flips(match):
    shape = np.shape(match.value)
    flips = (", ".join([":"] * axes[0] + ["::-1"] * len(axes)) for axes in windows(shape))
    return [parsed(f"x[{flip}]").slice for flip in flips]


def _others(match):
    stored = match.bound.get("STORED")
    shape = np.shape(match.value if stored is None else match.known.scope[stored.id])
    own = ast.unparse(match.bound.get("A") or match.place.node if stored is None else stored)
    return [
        parsed(text)
        for text, value in match.known.arrays.items()
        if np.shape(value) == shape and text != own
    ]


def _any(match):
    own = ast.unparse(match.place.node)
    return [parsed(text) for text in match.known.arrays if text != own]


def _parameters(match):
    own = text_of(match.place.node)
    return [parsed(text) for text in match.known.parameters if text != own]


def _ratios(match):
    sizes = [text for text in match.known.parameters if text.rpartition(".")[2] in SIZES]
    return [parsed(f"{size} / {part}") for size, part in permutations(sizes, 2)]


# The expressions that a placeholder of the right pattern stands for, one after another.
CHOICES = {
    "AXIS": _axes,
    "ORDER": _orders,
    "FLIP": _flips,
    "OTHER": _others,
    "ANY": _any,
    "PARAMETER": _parameters,
    "RATIO": _ratios,
}
PLACEHOLDERS = {"A", "B", "C", "D", "FUNCTION", *CONDITIONS, *CHOICES}


def _term(slip, match):
    """Return the kind of a term too many; sizes such as N - 1 and K + 1 are integers."""
    is_size = isinstance(match.value, (int, np.integer))
    return "constant_factor" if is_size else "missing_term"


def _factor(slip, match):
    """Return the kind of a factor too many."""
    gone = match.bound[next(iter(slip.gone & set(match.bound)))]
    number = isinstance(gone, ast.Constant) or np.size(value_at(gone, match.known.values)) == 1
    is_constant = number and not isinstance(gone, ast.Name)
    return "constant_factor" if is_constant else "elementwise_factor"


def _number(slip, match):
    """Return the kind of a wrong number, which may be an exponent."""
    exponents = [
        node.right
        for node in ast.walk(match.place.statement)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    ]
    in_exponent = match.place.node in exponents or match.place.parent in exponents
    return "elementwise_factor" if in_exponent else "constant_factor"


# Kinds that depend on the expressions that placeholders stand for.
KINDS = {"term": _term, "factor": _factor, "number": _number}
