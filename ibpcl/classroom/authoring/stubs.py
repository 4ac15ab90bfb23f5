"""Stubs: the file that a student fills in, made from the reference solution.

Signatures and the documentation of parameters are kept.  Bodies, comments and private helpers are
dropped.  The docstrings of gradients and of steps of a derivation keep only their first line,
Parameters and Returns, because the rest contains the formulas.
"""

import ast
import json
import re
import textwrap

KEPT_SECTIONS = ("Parameters", "Returns")
# Arguments of gradient functions besides the gradient at the output and the cache.
ARGUMENTS = {"needs_dx": "If False, dx is not needed, and None may be returned in its place."}


def stub(assignment, variant="base", student=""):
    """Return the text of the file that a student fills in.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    variant : str
        Name of the variant.
    student : str
        Id of the student; may be empty.

    Returns
    -------
    str
        Python text.
    """
    tree = ast.parse(assignment.source(variant))
    tasks = {}
    for task in assignment.tasks:
        if task.function:
            tasks.setdefault(task.function, task)
    pieces = [
        _docstring(assignment, variant),
        _imports(tree),
        _names(assignment, variant, student),
        _text(assignment),
    ]
    source = assignment.source(variant)
    tests = [task for task in assignment.tasks if task.kind == "test"]
    given = {task.forward for task in tests}
    tasks.update((f"points_{task.forward}", task) for task in tests)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in given:
            pieces.append(ast.get_source_segment(source, node))
        elif isinstance(node, ast.FunctionDef) and node.name in tasks:
            pieces.append(blank(node, tasks[node.name]))
    return _joined(pieces)


def referee_stub(assignment, student, exhibits, functions, variant="base"):
    """Return the file that a referee fills in: the exhibits, blank answers and blank proofs.

    Parameters
    ----------
    assignment : Assignment
        A referee assignment.
    student : str
        Id of the student; may be empty.
    exhibits : str
        Text of the pairs with planted mistakes.
    functions : dict of str to str
        Task id to name of the exhibit's forward.
    variant : str
        Name of the variant.

    Returns
    -------
    str
        Python text.
    """
    tree = ast.parse(exhibits)
    first = (
        next(node.lineno for node in tree.body if isinstance(node, (ast.FunctionDef, ast.Assign)))
        - 1
    )
    body = "".join(exhibits.splitlines(keepends=True)[first:]).strip()
    answers = "".join(
        f'    "{name}": {{"kind": "", "line": 0}},        # {function}_vjp\n'
        for name, function in functions.items()
    )
    answers = f"# The lines are those of exhibits.py.\nANSWERS = {{\n{answers}}}"
    proofs = [
        f'def proof_{name}():\n    """Return the inputs of {function}, a tuple, and a cotangent '
        f'that refute {function}_vjp."""\n    raise NotImplementedError("task {name}: '
        f'{assignment.task(name).title}")'
        for name, function in functions.items()
    ]
    return _joined(
        [
            _docstring(assignment, variant),
            _imports(tree),
            _names(assignment, variant, student),
            answers,
            _text(assignment),
            body,
            *proofs,
        ]
    )


def _joined(pieces):
    """Join the pieces of a module: two blank lines above a function, one above the rest."""
    gaps = ["\n\n\n" if piece.startswith("def ") else "\n\n" for piece in pieces]
    return (
        "".join(gap + piece for gap, piece in zip(gaps, pieces, strict=True) if piece).lstrip()
        + "\n"
    )


def _docstring(assignment, variant):
    told = textwrap.fill(f"Your variant of the assignment: {assignment.variants[variant]}.", 100)
    count = len(assignment.tasks)
    most = f"{assignment.points:g}"
    return f'"""{assignment.title}: {count} tasks, {most} points; see statement.md.\n\n{told}\n"""'


def _names(assignment, variant, student):
    names = {"ASSIGNMENT": assignment.name, "VARIANT": variant, "STUDENT": student}
    return "\n".join(
        f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in names.items()
    )


def _text(assignment):
    return 'DERIVATION = r"""\n"""' if any(task.kind == "text" for task in assignment.tasks) else ""


def _imports(tree):
    kept = [
        ast.unparse(node) for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    own = [line for line in kept if "numpy" not in line and "scipy" not in line]
    others = [line for line in kept if line not in own]
    return "\n".join(own) + ("\n\n" if own and others else "") + "\n".join(others)


def blank(node, task):
    """Return the text of a function without its body, for a student to fill in.

    Parameters
    ----------
    node : ast.FunctionDef
        Function of the reference solution.
    task : ibpcl.classroom.assignments.assignment.Task
        Task that asks for it.

    Returns
    -------
    text : str
        Signature and docstring; gradients and steps of a derivation keep the first line,
        Parameters and Returns only.
        A question to choose an answer for lists the answers and returns an empty text.
    """
    text = ast.get_docstring(node) or ""
    if node.name.endswith("_vjp") or task.kind == "step":
        text = with_results(filtered(text), node, task)
    if task.choices:
        letters = [chr(ord("a") + at) for at in range(len(task.choices))]
        rows = [f"{letter}) {words}" for letter, words in zip(letters, task.choices, strict=True)]
        text = "\n".join([text, "", *rows])
    quoted = ""
    if text:
        raw = "r" if "\\" in text else ""
        quoted = (
            textwrap.indent(
                f'{raw}"""{text}\n"""' if "\n" in text else f'{raw}"""{text}"""',
                "    ",
                lambda line: bool(line.strip()),
            )
            + "\n"
        )
    title = task.title.replace('"', "'")
    if task.choices:
        return f'def {node.name}():\n{quoted}    return ""  # {", ".join(letters)}'
    return (
        f"def {node.name}({ast.unparse(node.args)}):\n{quoted}"
        f'    raise NotImplementedError("task {task.id}: {title}")'
    )


def with_results(docstring, node, task):
    """Return the docstring of a gradient function with its arguments and results.

    Parameters
    ----------
    docstring : str
        Docstring that may have no sections, because it refers to its forward.
    node : ast.FunctionDef
        The gradient function.
    task : ibpcl.classroom.assignments.assignment.Task

    Returns
    -------
    docstring : str
    """
    if "Returns\n-------" in docstring or not task.wrt:
        return docstring
    dout, cache = [argument.arg for argument in node.args.args[:2]]
    further = []
    for argument in node.args.args[2:]:
        further += [argument.arg, f"    {ARGUMENTS.get(argument.arg, 'As in the statement.')}"]
    output = f"Gradient at the output of ``{task.forward}``, with the shape of that output."
    if "gradients at" in docstring.partition("\n")[0]:
        output = f"Gradients at the outputs of ``{task.forward}``: a tuple, one for each output."
    names = ", ".join(f"d{name}" for name in task.wrt)
    each = "Gradients, each" if len(task.wrt) > 1 else "Gradient"
    return "\n".join(
        [
            docstring,
            "",
            "Parameters",
            "----------",
            f"{dout}",
            f"    {output}",
            f"{cache}",
            f"    The cache that ``{task.forward}`` returned.",
            *further,
            "",
            "Returns",
            "-------",
            f"{names} : ndarray",
            f"    {each} with the shape of its input.",
        ]
    )


def filtered(docstring):
    """Return a docstring reduced to its first line, Parameters and Returns.

    Parameters
    ----------
    docstring : str
        A numpydoc docstring.

    Returns
    -------
    str

    Examples
    --------
    >>> print(filtered("Pull back.\\n\\nIt is 2 x.\\n\\nReturns\\n-------\\ndx : float"))
    Pull back.
    <BLANKLINE>
    Returns
    -------
    dx : float
    """
    first, *rest = docstring.split("\n\n")
    sections = re.split(r"^(?=\w[^\n]*\n-{3,}$)", "\n\n".join(rest), flags=re.MULTILINE)
    kept = [section.strip() for section in sections if section.startswith(KEPT_SECTIONS)]
    return "\n\n".join([first.strip().replace("\n", " "), *kept])
