"""Make the file that a student fills in from the reference solution.

Signatures and the documentation of parameters stay.  Bodies, comments, private helpers and, of gradient functions, all
of the docstring but its first line, Parameters and Returns are dropped: that is where their formulas stand.
"""

import ast
import re
import textwrap

KEPT_SECTIONS = ("Parameters", "Returns")


def stub(assignment, form="base", student=""):
    """Return the text of the file that a student fills in.

    Parameters
    ----------
    assignment : Assignment
    form : str
    student : str
        Whose file it is; may be empty.
    """
    tree = ast.parse(assignment.source(form))
    tasks = {}
    for task in assignment.tasks:
        if task.function:
            tasks.setdefault(task.function, task)
    pieces = [_head(assignment, form, student), _imports(tree, assignment)]
    constants = _constants(tree, assignment)
    pieces += [constants] if constants else []
    if any(task.kind == "text" for task in assignment.tasks):
        pieces.append('DERIVATION = """\n"""')
    pieces += [_blank(node, tasks[node.name]) for node in tree.body
               if isinstance(node, ast.FunctionDef) and node.name in tasks]
    text = pieces[0] + "\n\n" + "\n\n".join(pieces[1:3])
    return text + "".join(f"\n\n\n{piece}" if piece.startswith("def ") else f"\n\n{piece}" for piece in pieces[3:]) + "\n"


def _head(assignment, form, student):
    told = assignment.forms[form]
    return (f'"""{assignment.title}: {len(assignment.tasks)} tasks, {assignment.points:g} points; see statement.md.\n\n'
            + textwrap.fill(f"Your form of the assignment: {told}.", 100) + f'\n"""\n\n'
            f"ASSIGNMENT = {assignment.name!r}\nFORM = {form!r}\nSTUDENT = {student!r}").replace("'", '"')


def _imports(tree, assignment):
    kept = [ast.unparse(node) for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    own = [line for line in kept if "numpy" not in line and "scipy" not in line]
    others = [line for line in kept if line not in own]
    return "\n".join(own) + ("\n\n" if own and others else "") + "\n".join(others)


def _constants(tree, assignment):
    """Return what is given to students as it is."""
    return "\n\n\n".join(ast.unparse(node) for node in tree.body if _name(node) in assignment.given)


def _name(node):
    if isinstance(node, ast.FunctionDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _blank(node, task):
    """Return a function without its body."""
    text = ast.get_docstring(node) or ""
    text = filtered(text) if node.name.endswith("_vjp") else text
    quoted = ""
    if text:
        raw = "r" if "\\" in text else ""
        quoted = textwrap.indent(f'{raw}"""{text}\n"""' if "\n" in text else f'{raw}"""{text}"""', "    ",
                                 lambda line: bool(line.strip())) + "\n"
    title = task.title.replace('"', "'")
    return (f"def {node.name}({ast.unparse(node.args)}):\n{quoted}"
            f'    raise NotImplementedError("task {task.id}: {title}")')


def filtered(docstring):
    """Return a docstring reduced to its first line and the sections on parameters and returns.

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
