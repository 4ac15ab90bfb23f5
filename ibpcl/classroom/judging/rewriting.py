"""The same program in other words: other local names, another order, other intermediate results.

The text of an exhibit would give its mistake away to a comparison with the pairs from which it was
made.  So each student gets these pairs in other words, which the course key chooses.
"""

import ast

# Local names that say nothing.
NAMES = tuple("abcdeghmnpqrstuwyz")
OPENING = "<changed:"


def rewritten(text, rng_of, changed):
    """Return a module in other words, and where some of its lines are now.

    Parameters
    ----------
    text : str
        Python text: imports, then functions.  Comments are lost.
    rng_of : callable
        ``rng_of(name)`` returns the random generator for the function with this name.
    changed : dict of str to int
        Name to line, from 1, of a statement that stays one statement.

    Returns
    -------
    text : str
        Python text that computes the same numbers, bit for bit.
    lines : dict of str to int
        Name to line of this statement in the new text.

    Examples
    --------
    >>> import numpy as np
    >>> text = 'def f(x):\\n    "Double."\\n    twice = x + x\\n    return twice\\n'
    >>> _, lines = rewritten(text, lambda name: np.random.default_rng(0), {"the result": 4})
    >>> lines
    {'the result': 4}
    """
    tree = ast.parse(text)
    source = text.splitlines()
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    pieces = ["\n".join(source[: functions[0].lineno - 1]).rstrip()] if functions else [text]
    reserved = {name for node in functions for name in _parameters(node)}
    for node in functions:
        pieces.append(_function(node, source, rng_of(node.name), changed, reserved))
    rows = []
    lines = {}
    for row in "\n\n\n".join(piece for piece in pieces if piece).split("\n"):
        if OPENING in row:
            lines[row.partition(OPENING)[2].partition(">")[0]] = len(rows) + 1
        else:
            rows.append(row)
    return "\n".join(rows) + "\n", lines


def _function(node, source, rng, changed, reserved):
    """Return the text of a function in other words, with a mark above each changed statement.

    No local variable gets a reserved name, that of an argument of any function.
    """
    documented = ast.get_docstring(node, clean=False) is not None
    head = source[node.lineno - 1 : node.body[0].end_lineno if documented else node.lineno]
    node.body = node.body[documented:]
    _rename(node, rng, reserved)
    _Reordered(rng).visit(node)
    taken = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    free = [name for name in NAMES if name not in taken | reserved]
    inside = {name: line for name, line in changed.items() if node.lineno < line <= node.end_lineno}
    node.body = _divided(node.body, rng, list(rng.permutation(free)), inside)
    body = ast.unparse(ast.fix_missing_locations(ast.Module(node.body, [])))
    return "\n".join(head + [f"    {row}" for row in body.split("\n")])


def _parameters(node):
    return {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}


def _rename(node, rng, reserved):
    """Give the local variables other names; gradients keep theirs, such as ``dx`` for ``x``."""
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    stored = dict.fromkeys(each.id for each in names if isinstance(each.ctx, ast.Store))
    kept = _parameters(node) | {each.id for each in names if each.id not in stored}
    local = [name for name in stored if name not in kept and not name.startswith("d")]
    free = rng.permutation([name for name in NAMES if name not in kept | reserved | set(stored)])
    other = dict(zip(local, map(str, free), strict=False))
    for each in names:
        each.id = other.get(each.id, each.id)


class _Reordered(ast.NodeTransformer):
    """Exchanges the operands of sums and products, which does not change a bit of the result."""

    def __init__(self, rng):
        self.rng = rng

    def visit_BinOp(self, node):
        """Return the operation with its operands exchanged, or as it is."""
        self.generic_visit(node)
        if isinstance(node.op, (ast.Add, ast.Mult)) and self.rng.random() < 0.5:
            node.left, node.right = node.right, node.left
        return node


def _divided(body, rng, free, waiting):
    """Return statements with marks, and with separate intermediate results.

    A line that is none of a statement's, such as a comment, marks the next statement.
    """
    statements = []
    for node in body:
        first = node.lineno if hasattr(node, "body") else node.end_lineno
        marks = [name for name, line in waiting.items() if line <= first]
        for name in marks:
            del waiting[name]
            statements.append(ast.Expr(ast.Constant(f"{OPENING}{name}>")))
        if hasattr(node, "body"):
            node.body = _divided(node.body, rng, free, waiting)
        elif isinstance(node, (ast.Assign, ast.Return)) and free and rng.random() < 0.5:
            places = [] if marks else list(_operations(node.value))
            if places:
                parent, field, inner = places[rng.integers(len(places))]
                name = str(free.pop())
                statements.append(ast.Assign([ast.Name(name, ast.Store())], inner))
                setattr(parent, field, ast.Name(name, ast.Load()))
        statements.append(node)
    return statements


def _operations(node):
    """Yield parent, field and node of the operations inside an expression, where it is evaluated
    once.
    """
    if isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp)):
        return
    for field, inner in ast.iter_fields(node):
        for each in inner if isinstance(inner, list) else [inner]:
            if isinstance(each, ast.AST):
                if isinstance(each, ast.BinOp) and each is inner:
                    yield node, field, each
                yield from _operations(each)
