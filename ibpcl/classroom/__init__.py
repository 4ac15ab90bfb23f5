"""Assignments with a judge that explains its verdicts: hand out stubs, grade hand-ins in a sandbox,
export points.

The command is ``ibpcl class``.  Students check their own file with :func:`check_file`.
"""

from pathlib import Path


def check_file(path, assignment=None):
    """Judge the public tasks of a file on your own machine and return the result.

    Parameters
    ----------
    path : path
        A ``.py``, notebook or zip that names its assignment and variant in ``ASSIGNMENT`` and
        ``VARIANT``.
    assignment : ibpcl.classroom.assignments.assignment.Assignment, optional
        The assignment; needed for a custom one.  By default, the file names one of the package's
        assignments.  A folder that the file names is never run.

    Returns
    -------
    ibpcl.classroom.judging.verdict.Result
        The verdicts on the public tasks, at public inputs.

    Raises
    ------
    UserError
        If the file cannot be read, or names neither an assignment of the package nor one of its
        variants.
    """
    from ibpcl.classroom.assignments.assignment import named
    from ibpcl.classroom.intake import submission as submissions
    from ibpcl.classroom.intake.printable import printable_result
    from ibpcl.classroom.judging import at_home
    from ibpcl.classroom.judging.judge import judge
    from ibpcl.classroom.judging.running import client
    from ibpcl.errors import UserError

    read = submissions.read(Path(path), assignment=assignment)
    constants = submissions.literals(read.source)
    name = constants.get("ASSIGNMENT", "")
    variant = constants.get("VARIANT") or "base"
    chosen = assignment or named(name)
    if chosen is None:
        refusal = submissions.refuse(read.source, ())
        if refusal is not None and refusal.line and refusal.words.startswith("is not Python"):
            raise UserError(f"class: {read.place(refusal.line)} {refusal.words}")
        raise UserError(
            (
                f"class: {path} does not name its assignment: keep the line ASSIGNMENT = ... of "
                "the stub"
            )
            if not name
            else f"class: {path} names the assignment {name[:60]!r}, which the package does not "
            "have; for a custom assignment, give its folder with `assignment`"
        )
    if variant not in chosen.variants:
        raise UserError(
            f"class: {path}: VARIANT is {variant[:60]!r}; {chosen.name} has "
            f"{', '.join(chosen.variants)}"
        )
    values = at_home.read(Path(path), chosen, variant)
    sandbox = client.at_home()
    return printable_result(
        judge(chosen, read, sandbox, variant=variant, public_only=True, values=values)
    )
