"""An audit from beginning to end: plant, run the tests, and report what they have missed.

::

    project      copied            -> one copy for the judge, one for each worker
    tests        unchanged         -> which test runs which line, and how long it takes
    functions    planting.Program  -> mistakes with wrong numbers, and where they show
    mistakes     Runner            -> caught or survived, kept in a journal
    all          AuditReport

The folder of the project is read only.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ibpcl.audit import project, running
from ibpcl.audit.planning import found_in, plan
from ibpcl.audit.report import AuditReport
from ibpcl.audit.tracing import trace
from ibpcl.audit.trying import Copies, Journal, run_all
from ibpcl.errors import UserError


@dataclass
class Settings:
    """Target and options of an audit.

    Attributes
    ----------
    target : str
        A Python file, a folder, or ``FILE:FUNCTION``.
    tests : str
        The test command.
    project : str or None
        The folder of the project, in which the command runs; the current folder if None.
    most : int
        Mistakes for each function, chosen evenly over lines and kinds; 0 for all.
    workers : int or None
        Runs at the same time; as many as processors if None.
    seed : int
        Seed of the inputs and cotangents.
    timeout : float or None
        Seconds of processor time for all tests without a mistake.
    fresh : bool
        Whether earlier results in the journal are ignored.
    progress : bool or None
        Whether to show progress bars; on a terminal only if None.
    """

    target: str
    tests: str
    project: str | None = None
    most: int = 0
    workers: int | None = None
    seed: int = 0
    timeout: float | None = None
    fresh: bool = False
    progress: bool | None = None


def audit(target, tests, **options):
    """Plant mistakes into the gradient functions of a project, and report those that survive.

    Parameters
    ----------
    target : str or path-like
        A Python file, a folder, or ``FILE:FUNCTION``, inside the project.
    tests : str
        The test command, such as ``"pytest tests -q"`` or ``"python -m unittest"``.
    **options
        Further attributes of :class:`Settings`.

    Returns
    -------
    AuditReport

    Raises
    ------
    UserError
        If there is nothing to audit, or the tests cannot be used: they fail without a mistake, are
        not finished in time, or change files.
    """
    settings = Settings(str(target), tests, **options)
    start = time.monotonic()
    command = running.command_of(settings.tests)
    folder = Path(settings.project or ".").resolve()
    files, name = files_of(settings.target, folder)
    before = project.stamps(folder)
    with tempfile.TemporaryDirectory(prefix="ibpcl-audit-", ignore_cleanup_errors=True) as private:
        private = Path(private).resolve()
        judged = private / "judged" / folder.name
        project.copy(folder, judged)
        digest = project.contents(judged)
        functions, forwards, notes = found_in(files, judged, name)
        tracer = Copies(command, folder, private).runner("traced")
        try:
            traced = trace(tracer, settings, files, forwards)
        finally:
            tracer.close()
        changed, new = project.changes(before, project.stamps(folder))
        if changed or new:
            raise UserError(
                "audit: the tests change the project's folder itself "
                f"({project.listed(changed + new)}); a test must write to a temporary folder"
            )
        planned, trials = plan(functions, files, judged, traced, settings)
        journal = Journal.open(folder.name, digest, settings)
        run_all(trials, Copies(command, folder, private), traced, journal, settings)
    changed, new = project.changes(before, project.stamps(folder))
    notes += traced.notes
    if changed or new:
        notes.append(f"files of the project changed meanwhile: {project.listed(changed + new)}")
    return AuditReport(
        settings.target,
        settings.tests,
        planned,
        len(traced.tests),
        time.monotonic() - start,
        notes,
    )


def files_of(target, folder):
    """Return the files to audit, relative to the project, and the name of a function.

    Parameters
    ----------
    target : str
        A file, a folder, or ``FILE:FUNCTION``.
    folder : pathlib.Path
        The project.

    Returns
    -------
    files : list of pathlib.Path
        Python files, without tests.
    name : str
        Empty for all functions.

    Raises
    ------
    UserError
        If there is no such file, or it is not in the project.
    """
    path = target
    name = ""
    if not Path(target).exists() and ":" in target:
        path, _, name = target.rpartition(":")
    given = Path(path)
    if not given.exists() and (folder / path).exists():
        given = folder / path
    if not given.exists():
        raise UserError(f"audit: there is no file or folder {path}")
    given = given.resolve()
    if not given.is_relative_to(folder):
        raise UserError(
            f"audit: {path} is not in the project {folder}; name the folder in which the tests run "
            "with `project`"
        )
    if given.is_file() and given.suffix != ".py":
        raise UserError(f"audit: {path} is not a Python file")
    files = [given] if given.is_file() else [given / each for each in project.files_in(given)]
    chosen = [
        file.relative_to(folder)
        for file in files
        if file.suffix == ".py" and (given.is_file() or not _is_test(file.relative_to(given)))
    ]
    if not chosen:
        raise UserError(f"audit: {path} has no Python file")
    return chosen, name.removesuffix("_vjp")


def _is_test(path):
    return "tests" in path.parts or path.name.startswith("test_") or path.name == "conftest.py"
