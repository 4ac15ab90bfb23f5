"""Functions as sequences of words that are invariant to names, layout and harmless details.

The sequence does not depend on names of variables, comments, docstrings, the order of a sum or
product, or neutral operations (``* 1``, ``+ 0``).  Neither does it depend on aliases of NumPy's
functions, on writing ``np.add(a, b)`` for ``a + b`` or ``x.sum()`` for ``np.sum(x)``, or on a
variable that is assigned once and used once.
"""

import ast
from collections import Counter

OPERATORS = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mult",
    "divide": "Div",
    "true_divide": "Div",
    "power": "Pow",
    "float_power": "Pow",
    "matmul": "MatMult",
    "floor_divide": "FloorDiv",
    "mod": "Mod",
}
NEUTRAL = {"Add": 0, "Sub": 0, "Mult": 1, "Div": 1, "Pow": 1}
COMMUTATIVE = ("Add", "Mult")
MODULES = ("numpy", "scipy", "math")


def normalized(tree):
    """Return the functions of a syntax tree as sequences of words.

    Lambdas and methods count as functions.  The body of a nested function belongs to that function
    alone.

    Parameters
    ----------
    tree : ast.Module
        Syntax tree of a text.

    Returns
    -------
    dict of ast.AST to list of str
        Node of each function to its words.

    Examples
    --------
    >>> a = ast.parse("def f(x, y): return np.exp(x) * 2 + y")
    >>> b = ast.parse("_e = np.exp\\ndef g(u, v):\\n    t = 2 * _e(u)\\n    return v + t * 1 + 0")
    >>> list(normalized(a).values()) == list(normalized(b).values())
    True
    """
    aliases = _aliases(tree)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return {
        node: _Function(node, aliases).words() for node in ast.walk(tree) if isinstance(node, kinds)
    }


def _aliases(tree):
    """Return the module-level names of modules and functions of NumPy, SciPy and math, with their
    meaning.
    """
    aliases = {"np": ""}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name.partition(".")[0] in MODULES:
                    aliases[item.asname or item.name.partition(".")[0]] = ""
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES:
            aliases.update({item.asname or item.name: item.name for item in node.names})
    for node in getattr(tree, "body", ()):
        if (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        ):
            meaning = _meaning(node.value, aliases)
            if meaning is not None:
                aliases[node.targets[0].id] = meaning
    return aliases


def _meaning(node, aliases):
    """Return the name of a module's function, "" for a module, None for anything else."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id)
    if isinstance(node, ast.Attribute) and _meaning(node.value, aliases) is not None:
        return node.attr
    return None


class _Function:
    """One function while it is turned into words."""

    def __init__(self, node, aliases):
        self.node = node
        self.inlined = {}
        own = [
            each for part in self._body() for each in ast.walk(part) if isinstance(each, ast.Name)
        ]
        self.loads = Counter(each.id for each in own if isinstance(each.ctx, ast.Load))
        self.stores = Counter(each.id for each in own if isinstance(each.ctx, ast.Store))
        self.aliases = {
            name: meaning for name, meaning in aliases.items() if name not in self.stores
        }

    def _body(self):
        if isinstance(self.node, ast.Lambda):
            return [ast.Return(self.node.body)]
        documented = ast.get_docstring(self.node, clean=False) is not None
        return self.node.body[1:] if documented else self.node.body

    def words(self):
        """Return the words of the function's body."""
        try:
            return [word for statement in self._body() for word in self.of(statement)]
        # not written by hand: a flat traversal suffices
        except RecursionError:
            return [
                type(node).__name__ for statement in self._body() for node in ast.walk(statement)
            ]

    def of(self, node):
        """Return the words of a node."""
        special = getattr(self, f"of_{type(node).__name__}", None)
        if special is not None:
            return special(node)
        words = [type(node).__name__]
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.expr_context, ast.operator, ast.arguments)):
                words += self.of(child)
        return words

    def of_FunctionDef(self, node):
        """Leave a nested function out."""
        return ["function"]

    of_AsyncFunctionDef = of_ClassDef = of_Lambda = of_FunctionDef

    def of_Pass(self, node):
        """Leave out ``pass``."""
        return []

    def of_Expr(self, node):
        """Leave out strings that are statements."""
        return [] if isinstance(node.value, ast.Constant) else self.of(node.value)

    def of_Constant(self, node):
        """Return a number as its value, anything else as its type."""
        value = node.value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return [f"{value:.12g}" if abs(value) < 1e15 else "large"]
        return [type(value).__name__]

    def of_Name(self, node):
        """Return the meaning of a name: a function of NumPy, an expression, or just a name."""
        if node.id in self.inlined:
            return self.inlined[node.id]
        return [self.aliases.get(node.id) or "name"]

    def of_Assign(self, node):
        """Return an assignment; a variable that is used at most once is inlined instead."""
        words = self.of(node.value)
        target = node.targets[0]
        if (
            len(node.targets) == 1
            and isinstance(target, ast.Name)
            and self.stores[target.id] == 1
            and self.loads[target.id] <= 1
        ):
            self.inlined[target.id] = words
            return []
        return ["Assign", *words]

    def of_AnnAssign(self, node):
        """Return an assignment without its annotation."""
        return (
            self.of_Assign(ast.Assign([node.target], node.value)) if node.value is not None else []
        )

    def of_AugAssign(self, node):
        """Return ``x += y`` as ``x = x + y``."""
        return ["Assign", *self.of_BinOp(ast.BinOp(ast.Name("", ast.Load()), node.op, node.value))]

    def of_UnaryOp(self, node):
        """Return an operand with its sign; plus is left out."""
        inner = self.of(node.operand)
        return inner if isinstance(node.op, ast.UAdd) else [type(node.op).__name__, *inner]

    def of_Attribute(self, node):
        """Return a function of a module, or an attribute of an object."""
        meaning = _meaning(node, self.aliases)
        return [meaning] if meaning else [node.attr, *self.of(node.value)]

    def of_Call(self, node):
        """Return a call; a method is a function of its object, and NumPy's operators are
        operators.
        """
        function = node.func
        values = list(node.args)
        name = _meaning(function, self.aliases)
        if not name and isinstance(function, ast.Attribute):
            name = function.attr
            values = [function.value, *values]
        if name in OPERATORS and len(values) == 2 and not node.keywords:
            return self._operation(OPERATORS[name], *map(self.of, values))
        if name in ("square", "negative", "positive") and len(values) == 1 and not node.keywords:
            inner = self.of(values[0])
            return {"square": ["Pow", *inner, "2"], "negative": ["USub", *inner]}.get(name, inner)
        words = ["Call", *([name] if name else self.of(function))]
        for value in values:
            words += self.of(value)
        for keyword in sorted(node.keywords, key=lambda each: each.arg or ""):
            words += [keyword.arg or "**", *self.of(keyword.value)]
        return words

    def of_BinOp(self, node):
        """Return an operation; the terms of sums and products are sorted."""
        return self._operation(type(node.op).__name__, self.of(node.left), self.of(node.right))

    def _operation(self, name, left, right):
        neutral = f"{NEUTRAL[name]}" if name in NEUTRAL else None
        if right == [neutral]:
            return left
        if name in COMMUTATIVE:
            if left == [neutral]:
                return right
            left, right = sorted((left, right))
        return [name, *left, *right]
