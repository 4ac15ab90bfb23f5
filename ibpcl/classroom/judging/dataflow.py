"""Functions as data flow: what is computed from what, whatever it is called and in which order.

Each result of a function becomes a graph of operations.  The graph does not depend on names, on
comments and layout, on intermediate results, on the order of sums and products, on operations that
change nothing (``* 1``, ``np.asarray``), or on the way an operation is written (``np.add(a, b)``,
``operator.add``, ``(lambda: a + b)()``, a helper function).  What no result needs is left out.

The fingerprints of a function are the operations together with the operations below them, a few
levels deep.  So an operation that is put in between changes few of them.
"""

import ast
from typing import NamedTuple

DEPTH = 3  # levels of operations in a fingerprint
LEAST_OPERATIONS = 2  # in a fingerprint
FLAT = 12  # nodes in a fingerprint of a function that is too deep to be followed
MOST_CALLS = 6  # levels of helper functions that are followed
MOST_NODES = 20_000  # in the graph of a function
OPERATORS = {
    "add": "Add",
    "sub": "Sub",
    "subtract": "Sub",
    "mul": "Mult",
    "multiply": "Mult",
    "truediv": "Div",
    "divide": "Div",
    "true_divide": "Div",
    "pow": "Pow",
    "power": "Pow",
    "float_power": "Pow",
    "matmul": "MatMult",
    "dot": "MatMult",
    "neg": "USub",
    "negative": "USub",
    "floordiv": "FloorDiv",
    "floor_divide": "FloorDiv",
    "mod": "Mod",
}
# Functions and methods whose result is their first argument.
NEUTRAL = {
    "array",
    "asarray",
    "asanyarray",
    "ascontiguousarray",
    "asfortranarray",
    "copy",
    "deepcopy",
    "astype",
    "float",
    "float64",
    "real",
    "positive",
    "pos",
    "require",
    "view",
    "tuple",
    "list",
    "nan_to_num",
}
COMMUTATIVE = ("Add", "Mult")


class Node(NamedTuple):
    """An operation, an argument or a constant.

    Attributes
    ----------
    label : str
        The operation.
    inputs : tuple of Node
        What it is computed from.
    """

    label: str
    inputs: tuple = ()


def fingerprints(tree):
    """Return the fingerprints of the functions of a module.

    Parameters
    ----------
    tree : ast.Module
        Syntax tree of the text.

    Returns
    -------
    dict of str to frozenset of int
        By name of the function at module level.

    Examples
    --------
    >>> a = ast.parse("def f(x, y): return np.exp(x) * 2 + y")
    >>> b = ast.parse("def f(u, v):\\n    t = np.asarray(2 * np.exp(u))\\n    return v + t * 1")
    >>> fingerprints(a) == fingerprints(b), len(fingerprints(a)["f"])
    (True, 2)
    """
    functions = {
        node.name: node
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            functions |= {
                each.id: node.value for each in node.targets if isinstance(each, ast.Name)
            }
    aliases = _aliases(tree)
    return {name: _of_function(node, functions, aliases) for name, node in functions.items()}


def _of_function(node, functions, aliases):
    """Return the fingerprints of a function; of one that is too deep, sequences of nodes."""
    try:
        return _fingerprints(_Flow(functions, aliases).result(node))
    except RecursionError:
        kinds = [type(each).__name__ for each in ast.walk(node)]
        return frozenset(hash(tuple(kinds[at : at + FLAT])) for at in range(len(kinds) - FLAT + 1))


def _aliases(tree):
    """Return {name: meaning} for functions that are imported under custom names."""
    aliases = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            aliases |= {each.asname or each.name: each.name for each in node.names}
        elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Attribute, ast.Name)):
            value = node.value
            meaning = (
                value.attr if isinstance(value, ast.Attribute) else aliases.get(value.id, value.id)
            )
            aliases |= {each.id: meaning for each in node.targets if isinstance(each, ast.Name)}
    return aliases


def _fingerprints(result):
    found = set()
    met = set()
    waiting = [result]
    while waiting and len(met) < MOST_NODES:
        node = waiting.pop()
        if id(node) not in met:
            met.add(id(node))
            waiting += node.inputs
            if node.inputs and 1 + sum(bool(each.inputs) for each in node.inputs) >= (
                LEAST_OPERATIONS
            ):
                found.add(hash(_shape(node, DEPTH)))
    return frozenset(found)


def _shape(node, depth):
    """Return an operation with those below it as a text, which does not depend on the process."""
    if not node.inputs or not depth:
        return node.label if not node.inputs else "..."
    inputs = [_shape(each, depth - 1) for each in node.inputs]
    if node.label in COMMUTATIVE:
        inputs.sort()
    return f"{node.label}({','.join(inputs)})"


class _Flow:
    """The data flow of one function."""

    def __init__(self, functions, aliases):
        self.functions = functions
        self.aliases = aliases
        self.calls = 0
        self.nodes = 0

    def result(self, function, arguments=(), outer=None):
        """Return the results of a function as one node; ``outer`` are the variables around it."""
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        given = dict(zip(names, arguments, strict=False))
        values = {**(outer or {}), **{name: given.get(name, Node("argument")) for name in names}}
        if isinstance(function, ast.Lambda):
            return self.of(function.body, values)
        results = []
        self.run(function.body, values, results)
        return results[0] if len(results) == 1 else Node("results", tuple(results))

    def run(self, body, values, results):
        """Follow statements; values of variables and results are collected."""
        for statement in body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                results.append(self.of(statement.value, values))
            elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
                values |= {
                    each.id: statement.value
                    for each in statement.targets
                    if isinstance(each, ast.Name)
                }
            elif isinstance(statement, ast.Assign):
                value = self.of(statement.value, values)
                for target in statement.targets:
                    self.assign(target, value, values)
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                self.assign(statement.target, self.of(statement.value, values), values)
            elif isinstance(statement, ast.AugAssign):
                old = self.of(statement.target, values)
                value = self.operation(
                    type(statement.op).__name__, old, self.of(statement.value, values)
                )
                self.assign(statement.target, value, values)
            elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                values[statement.name] = statement
            elif isinstance(statement, ast.For):
                self.assign(statement.target, self.of(statement.iter, values), values)
                self.run(statement.body, values, results)
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                self.changed(statement.value, values)
            else:
                for field in ("body", "orelse", "handlers", "finalbody"):
                    self.run(getattr(statement, field, ()), values, results)

    def assign(self, target, value, values):
        """Give a variable a value; parts of an object keep the object's other parts."""
        if isinstance(target, ast.Name):
            values[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.inputs if value.label == "tuple" else ()
            known = len(parts) == len(target.elts)
            for at, each in enumerate(target.elts):
                self.assign(each, parts[at] if known else Node("part", (value,)), values)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value, values)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            old = self.of(target.value, values)
            self.assign(target.value, Node("with", (old, value)), values)

    def changed(self, call, values):
        """Follow a method that fills an object, such as ``rows.append(row)``."""
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            name = call.func.value.id
            if name in values and isinstance(values[name], Node):
                inputs = tuple(self.of(each, values) for each in call.args)
                values[name] = Node("with", (values[name], *inputs))

    def of(self, node, values):
        """Return the value of an expression."""
        self.nodes += 1
        if self.nodes > MOST_NODES:
            return Node("...")
        special = getattr(self, f"of_{type(node).__name__}", None)
        if special is not None:
            return special(node, values)
        inputs = tuple(
            self.of(each, values)
            for each in ast.iter_child_nodes(node)
            if isinstance(each, ast.expr)
        )
        return Node(type(node).__name__, inputs)

    def of_Constant(self, node, values):
        """Return a number as its value, anything else as its type."""
        value = node.value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return Node(f"{value:.12g}" if abs(value) < 1e15 else "large")
        return Node(type(value).__name__)

    def of_Name(self, node, values):
        """Return the value of a variable; other names are functions or constants of the module."""
        value = values.get(node.id)
        return value if isinstance(value, Node) else Node("name")

    def of_NamedExpr(self, node, values):
        """Return a value that gets a name meanwhile."""
        value = self.of(node.value, values)
        self.assign(node.target, value, values)
        return value

    def of_Tuple(self, node, values):
        """Return several values."""
        return Node("tuple", tuple(self.of(each, values) for each in node.elts))

    def of_Subscript(self, node, values):
        """Return a part of a value."""
        return Node("part", (self.of(node.value, values),))

    def of_Attribute(self, node, values):
        """Return an attribute; ``x.T`` is a transpose."""
        if isinstance(node.value, ast.Name) and node.value.id not in values:
            return Node(node.attr)
        label = {"T": "transpose"}.get(node.attr, node.attr)
        value = self.of(node.value, values)
        return value if label in NEUTRAL else Node(label, (value,))

    def of_UnaryOp(self, node, values):
        """Return a value with its sign."""
        value = self.of(node.operand, values)
        if isinstance(node.op, ast.UAdd):
            return value
        return self.operation(type(node.op).__name__, value)

    def of_BinOp(self, node, values):
        """Return an operation."""
        left = self.of(node.left, values)
        return self.operation(type(node.op).__name__, left, self.of(node.right, values))

    def of_ListComp(self, node, values):
        """Return the elements of a list, and what they come from."""
        inner = dict(values)
        for each in node.generators:
            self.assign(each.target, self.of(each.iter, inner), inner)
        return Node("each", (self.of(node.elt, inner),))

    of_GeneratorExp = of_SetComp = of_ListComp

    def of_Call(self, node, values):
        """Return a call; the functions of the module, and lambdas, are followed."""
        function = node.func
        inputs = [
            self.of(each.value if isinstance(each, ast.Starred) else each, values)
            for each in node.args
        ]
        name = getattr(function, "attr", "")
        called = function if isinstance(function, ast.Lambda) else None
        if isinstance(function, ast.Name):
            local = values.get(function.id)
            meaning = self.aliases.get(function.id, function.id)
            is_local = isinstance(local, (ast.FunctionDef, ast.Lambda))
            called = local if is_local else self.functions.get(meaning)
            name = local.label if isinstance(local, Node) else meaning
        if called is not None and self.calls < MOST_CALLS:
            self.calls += 1
            outer = values if not isinstance(function, ast.Name) or is_local else None
            result = self.result(called, inputs, outer)
            self.calls -= 1
            return result
        if isinstance(function, ast.Attribute) and not self.is_module(function.value, values):
            inputs.insert(0, self.of(function.value, values))
        if name in NEUTRAL and inputs:
            return inputs[0]
        if name in OPERATORS and 1 <= len(inputs) <= 2 and not node.keywords:
            return self.operation(OPERATORS[name], *inputs)
        if name == "square" and len(inputs) == 1:
            return self.operation("Mult", inputs[0], inputs[0])
        keywords = sorted(node.keywords, key=lambda each: each.arg or "")
        inputs += [
            self.of(each.value, values) for each in keywords if each.arg not in ("dtype", "out")
        ]
        return Node(name or "call", tuple(inputs))

    def is_module(self, node, values):
        """Return whether an expression is a module, such as ``np`` or ``np.linalg``."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in values

    def operation(self, label, *inputs):
        """Return an operation in its usual form: no differences, quotients and squares."""
        if len(inputs) == 1:
            if label == "USub" and inputs[0].label == "USub":
                return inputs[0].inputs[0]
            return Node(label, inputs)
        left, right = inputs
        if label == "Sub":
            return self.operation("Add", left, self.operation("USub", right))
        if label == "Div":
            return self.operation("Mult", left, Node("Inverse", (right,)))
        if label == "Pow" and right.label == "2":
            return self.operation("Mult", left, left)
        if label == "Pow" and right.label == "1":
            return left
        if label in COMMUTATIVE:
            neutral = "0" if label == "Add" else "1"
            terms = []
            for each in inputs:
                terms += each.inputs if each.label == label else [each]
            terms = [
                each
                for each in terms
                if each.label != neutral
                and not (each.label == "Inverse" and each.inputs[0].label == "1")
                and not (each.label == "USub" and each.inputs[0].label == neutral == "0")
            ]
            if len(terms) == 1:
                return terms[0]
            return Node(label, tuple(terms)) if terms else Node(neutral)
        return Node(label, (left, right))
