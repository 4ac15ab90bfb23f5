"""Assignments with a judge that says why: hand out stubs, grade hand-ins in a box, export points.

The command is ``ibpcl class``; :func:`check_file` is what students run on their own file.
"""

from pathlib import Path


def check_file(path):
    """Judge the public tasks of a file on your own machine and return the result.

    Parameters
    ----------
    path : path
        A ``.py``, notebook or zip that names its assignment and form in ``ASSIGNMENT`` and ``FORM``.

    Returns
    -------
    ibpcl.classroom.verdict.Result

    Raises
    ------
    UserError
        If the file cannot be read, or names no assignment.
    """
    from ibpcl.classroom import assignment as assignments
    from ibpcl.classroom import client, handin, sandbox
    from ibpcl.classroom.judge import judge
    from ibpcl.errors import UserError
    read = handin.read(Path(path))
    said = handin.literals(read.source)
    name, form = said.get("ASSIGNMENT"), said.get("FORM") or "base"
    if not isinstance(name, str) or not name:
        raise UserError(f"class: {path} does not name its assignment: keep the line ASSIGNMENT = ... of the stub")
    found = assignments.find(name)
    if form not in found.forms:
        raise UserError(f"class: {path}: FORM is {form!r}; {found.name} has {', '.join(found.forms)}")
    try:
        box = sandbox.choose("auto", client.probe)
    except UserError:
        box = "none"                                      # one's own file on one's own machine
    return judge(found, read, box, form=form, public_only=True)
