"""Assignments with a judge that says why: hand out stubs, grade hand-ins in a box, export points.

The command is ``ibpcl class``; :func:`check_file` is what students run on their own file.
"""

from pathlib import Path


def check_file(path, assignment=None):
    """Judge the public tasks of a file on your own machine and return the result.

    Parameters
    ----------
    path : path
        A ``.py``, notebook or zip that names its assignment and form in ``ASSIGNMENT`` and
        ``FORM``.
    assignment : ibpcl.classroom.assignment.Assignment, optional
        An assignment of your own.  Without it, the file names one of the package's; a folder that
        the file names is never run.

    Returns
    -------
    ibpcl.classroom.verdict.Result

    Raises
    ------
    UserError
        If the file cannot be read, or names no assignment.
    """
    from ibpcl.classroom import client, handin, sandbox
    from ibpcl.classroom.assignment import named
    from ibpcl.classroom.judge import judge
    from ibpcl.classroom.printable import printable_result
    from ibpcl.errors import UserError

    read = handin.read(Path(path), assignment=assignment)
    said = handin.literals(read.source)
    name = said.get("ASSIGNMENT", "")
    form = said.get("FORM") or "base"
    found = assignment or named(name)
    if found is None:
        refusal = handin.refuse(read.source, ())
        if refusal is not None and refusal.line and refusal.words.startswith("is not Python"):
            raise UserError(f"class: {read.place(refusal.line)} {refusal.words}")
        raise UserError(
            (
                f"class: {path} does not name its assignment: keep the line ASSIGNMENT = ... of "
                "the stub"
            )
            if not name
            else f"class: {path} names the assignment {name[:60]!r}, which is not one of the "
            "package's; for an assignment of your own, give its folder with --assignment"
        )
    if form not in found.forms:
        raise UserError(
            f"class: {path}: FORM is {form[:60]!r}; {found.name} has {', '.join(found.forms)}"
        )
    try:
        box = sandbox.choose("auto", client.probe)
    except UserError:
        box = "none"  # one's own file on one's own machine
    return printable_result(judge(found, read, box, form=form, public_only=True))
