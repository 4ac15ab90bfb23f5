"""Slices of a module: some of its functions with everything that they need."""

import ast


def sliced(source, names):
    """Return the definitions that some functions of a module need, without its imports.

    Parameters
    ----------
    source : str
        Text of the module.
    names : iterable of str
        Functions to keep.  Names that the module does not define are passed over.

    Returns
    -------
    text : str
        The functions, and the other definitions of the module that they use directly or
        indirectly, in the order of the module.

    Examples
    --------
    >>> print(sliced("A = 1\\nB = 2\\ndef f():\\n    return A\\n", ["f"]))
    A = 1
    <BLANKLINE>
    <BLANKLINE>
    def f():
        return A
    """
    definitions = _definitions(ast.parse(source))
    needed = set()
    waiting = [name for name in names if name in definitions]
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        waiting += [
            each.id
            for each in ast.walk(definitions[name])
            if isinstance(each, ast.Name) and each.id in definitions
        ]
    nodes = {id(definitions[name]): definitions[name] for name in needed}
    lines = source.splitlines()
    ordered = sorted(nodes.values(), key=lambda node: node.lineno)
    return "\n\n\n".join("\n".join(lines[_first(node) - 1 : node.end_lineno]) for node in ordered)


def imports(source):
    """Return the import statements at the top level of a module.

    Parameters
    ----------
    source : str
        Text of the module.

    Returns
    -------
    lines : list of str

    Examples
    --------
    >>> imports("import numpy as np\\nx = 1\\n")
    ['import numpy as np']
    """
    return [
        ast.unparse(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def _definitions(tree):
    """Return the top-level definitions of a module by name."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for each in ast.walk(target):
                    if isinstance(each, ast.Name):
                        found[each.id] = node
    return found


def _first(node):
    """Return the first line of a definition, its decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])
