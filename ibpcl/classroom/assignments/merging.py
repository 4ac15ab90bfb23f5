r'''Variants of an assignment, each merged from the reference solution and a file of differences.

A file in ``variants/`` is a fragment of Python that holds only the differences:

=====================================  ===========================================================
in the fragment                        in the variant
=====================================  ===========================================================
a function with the reference's name   replaces the reference's function
... without a docstring                keeps the reference's docstring
... with a docstring that begins with  keeps the reference's docstring, except the formula
``.. math::``
another function, a constant           is inserted above the first function
an import                              is inserted above the first import
``WORDS = {"old": "new", ...}``        replacements in every docstring kept from the reference
=====================================  ===========================================================
'''

import ast
import functools
import re

from ibpcl.errors import UserError

MATH = re.compile(r"^    \.\. math::.*?(?=\n\n|\n    \"\"\")", re.DOTALL | re.MULTILINE)


@functools.lru_cache(maxsize=64)
def merged(reference, fragment, name):
    """Return the source of a variant.

    Parameters
    ----------
    reference, fragment : str
        Texts of the reference and of its differences.
    name : str
        Name of the variant, for messages.

    Returns
    -------
    str
        Python text.

    Raises
    ------
    UserError
        If the fragment does not fit the reference.
    """
    words, functions, constants, imports = _sorted(fragment, name)
    tree = ast.parse(reference)
    pieces = reference.splitlines(keepends=True)
    unused = set(words)
    own = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in own:
        head, docstring, body = _split(reference, node)
        new_head, new, body = functions.pop(node.name, (head, "", body))
        where = f"class: variant {name}: {node.name}"
        if new_head != head and not node.name.startswith("_"):
            raise UserError(f"{where} must have the same signature as in the reference")
        formula = new.strip().removeprefix("r").strip('"').rstrip()
        if not new or formula.startswith(".. math::"):
            unused -= {word for word in words if word in docstring}
            for word, other in words.items():
                docstring = docstring.replace(word, other)
            docstring = _with_formula(docstring, formula, where)
        else:
            docstring = new
        pieces[node.lineno - 1 : node.end_lineno] = [
            new_head + docstring + body,
            *[""] * (node.end_lineno - node.lineno),
        ]
    if unused:
        raise UserError(
            f"class: variant {name}: {sorted(unused)[0]!r} of WORDS occurs in no docstring that is "
            "kept from the reference"
        )
    helpers = [head + docstring + body for head, docstring, body in functions.values()]
    above = "".join(f"{text}\n" for text in constants) + ("\n\n" if constants else "")
    pieces[own[0].lineno - 1] = (
        above + "".join(f"{text}\n\n" for text in helpers) + pieces[own[0].lineno - 1]
    )
    if imports:
        first = next(node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)))
        pieces[first.lineno - 1] = (
            "".join(f"{line}\n" for line in imports) + pieces[first.lineno - 1]
        )
    return "".join(pieces)


def _sorted(fragment, name):
    """Return WORDS, the functions (split by :func:`_split`), the constants and the imports of a
    fragment.
    """
    words = {}
    functions = {}
    constants = []
    imports = []
    for node in ast.parse(fragment).body:
        text = ast.get_source_segment(fragment, node)
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = _split(fragment, node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(text)
        elif isinstance(node, ast.Assign) and text.startswith("WORDS = "):
            words = ast.literal_eval(node.value)
        elif isinstance(node, ast.Assign):
            constants.append(text)
        elif not _is_text(node):
            raise UserError(
                f"class: variant {name}: line {node.lineno} is neither function, constant nor "
                "import"
            )
    return words, functions, constants, imports


def _split(text, node):
    """Return the lines of a function's signature, docstring and body."""
    lines = text.splitlines(keepends=True)
    documented = _is_text(node.body[0])
    head = node.body[0].lineno - 1 if documented else _head(node)
    body = node.body[0].end_lineno if documented else head
    return tuple(
        "".join(lines[start:end])
        for start, end in ((node.lineno - 1, head), (head, body), (body, node.end_lineno))
    )


def _head(node):
    """Return the number of the last line of a signature; decorators are not expected here."""
    return max(
        [
            node.lineno,
            *(part.end_lineno for part in ast.walk(node.args) if hasattr(part, "end_lineno")),
        ]
    )


def _with_formula(docstring, formula, where):
    """Return a docstring with another formula, if there is one."""
    if formula and not MATH.search(docstring):
        raise UserError(f"{where}: the reference's docstring has no formula that could be replaced")
    return MATH.sub(lambda _: f"    {formula}", docstring, count=1) if formula else docstring


def _is_text(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
