"""Detection of code that runs or imports hidden text, from the syntax tree.

The sandbox does not depend on this check.  Code that is packed into a text cannot be compared with
other hand-ins, and no task needs it.  Names that are assembled at run time are not detected, but
the packed text itself is flagged.
"""

import ast

NAMES = ("__import__", "eval", "exec", "compile", "__builtins__", "__loader__")
ATTRIBUTES = ("__import__", "eval", "exec", "__builtins__", "__loader__")

LONG_TEXT = 1500  # characters of a text in the code that is not the derivation
MANY_CONSTANTS = 500  # in one list


def uses(tree):
    """Return the forbidden names that a text uses: directly, as attributes, or as lookup keys.

    Parameters
    ----------
    tree : ast.Module
        Syntax tree of the text.

    Returns
    -------
    list of (int, str)
        Line and name, in the order of the lines.

    Examples
    --------
    >>> text = "f = np.__builtins__['ex' + 'ec']\\ng = getattr(np, 'eval')\\nprint('eval it')"
    >>> uses(ast.parse(text))
    [(1, '__builtins__'), (1, 'exec'), (2, 'eval')]
    """
    forbidden = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in NAMES:
            forbidden.add((node.lineno, node.id))
        elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
            forbidden.add((node.lineno, node.attr))
        elif isinstance(node, (ast.Subscript, ast.Call)):
            keys = [node.slice] if isinstance(node, ast.Subscript) else node.args
            texts = [piece for key in keys for piece in _text(key).split(".")]
            forbidden.update((node.lineno, text) for text in texts if text in NAMES)
    return sorted(forbidden)


def packed(tree):
    """Return long texts and long lists of constants, which may hide code or answers.

    Parameters
    ----------
    tree : ast.Module
        Syntax tree of the text.

    Returns
    -------
    list of (int, str)
        Line and description; these are flags, not proofs.
    """
    plain = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    plain |= {
        id(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(
            isinstance(target, ast.Name) and target.id == "DERIVATION" for target in node.targets
        )
    }
    flags = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, (str, bytes))
            and id(node) not in plain
        ):
            if len(node.value) > LONG_TEXT:
                flags.append((node.lineno, f"holds a text of {len(node.value)} characters"))
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
            count = sum(
                isinstance(each, (ast.Constant, ast.UnaryOp)) for each in ast.iter_child_nodes(node)
            )
            if count > MANY_CONSTANTS:
                flags.append((node.lineno, f"holds {count} constants"))
    return flags


def _text(node):
    """Return the value of a constant text expression; an empty string for any other expression."""
    pieces = []
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            pieces.append(each.value)
        elif isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add):
            waiting += [each.right, each.left]
        else:
            return ""
    return "".join(pieces)
