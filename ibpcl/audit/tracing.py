"""The tests of a project without any mistake: which run which lines, and how long each takes."""

import json
from dataclasses import dataclass

from ibpcl import console
from ibpcl.audit import project, running
from ibpcl.errors import UserError

BEFORE = 1800.0  # seconds of processor time for all tests, without a mistake
EVERY = ""  # lines with this context belong to all tests


@dataclass
class Traced:
    """Lines, times and failures of the tests of a project without any mistake.

    Attributes
    ----------
    tests : list of str
        Node ids; empty if the command is not pytest.
    seconds : dict of str to float
        Time of each test.
    total : float
        Processor time of all tests, in seconds.
    lines : dict of str to dict
        The contexts that run each line, by file and line.
    calls : dict
        Arguments of the forwards, by file and name.
    modules : list of str
        Libraries that the tests import.
    notes : list of str
        Remarks for the report.
    """

    tests: list
    seconds: dict
    total: float
    lines: dict
    calls: dict
    modules: list
    notes: list

    def reaching(self, file, first, last):
        """Return the tests that run one of some lines, the fastest first.

        Parameters
        ----------
        file : str
            The file in the copy that was traced.
        first, last : int
            The lines.

        Returns
        -------
        list of str
        """
        known = self.lines.get(file, {})
        contexts = {each for n in range(first, last + 1) for each in known.get(n, ())}
        beginnings = tuple(each[:-1] for each in contexts if each.endswith("*"))
        chosen = [
            test
            for test in self.tests
            if EVERY in contexts or test in contexts or (beginnings and test.startswith(beginnings))
        ]
        return sorted(chosen, key=lambda test: self.seconds.get(test, 0.0))

    def reaching_any(self, file, parts):
        """Return the tests that run a line in one of some parts of a file, the fastest first.

        Parameters
        ----------
        file : str
            The file in the copy that was traced.
        parts : list of (int, int)
            First and last line of each part.

        Returns
        -------
        list of str
        """
        chosen = {test for first, last in parts for test in self.reaching(file, first, last)}
        return sorted(chosen, key=lambda test: (self.seconds.get(test, 0.0), test))

    @property
    def starting(self):
        """Seconds until the first test begins."""
        return max(self.total - sum(self.seconds.values()), 1.0)

    def time_of(self, tests):
        """Return the seconds that some tests take.

        Parameters
        ----------
        tests : list of str
            The tests.

        Returns
        -------
        float
        """
        return sum(self.seconds.get(test, 0.0) for test in tests)


def trace(runner, settings, files, forwards):
    """Run the tests once without a mistake, and return their lines, times and failures.

    Parameters
    ----------
    runner : ibpcl.audit.running.Runner
        A runner.
    settings : Settings
        The settings.
    files : list of pathlib.Path
        The audited files, relative to the project.
    forwards : list of tuple
        File and name of the functions whose arguments are kept.

    Returns
    -------
    Traced

    Raises
    ------
    UserError
        If the tests fail, are not finished in time, or change files.
    """
    out = runner.private / "trace.json"
    console.tell("running the tests without any mistake ...")
    before = project.contents(runner.folder)
    order = None
    if runner.command.is_pytest:
        order = {
            "task": "trace",
            "files": [str(runner.folder / file) for file in files],
            "functions": [[str(runner.folder / file), name] for file, name in forwards],
            "out": str(out),
        }
    ending = runner.whole(order, settings.timeout or BEFORE)
    if ending.cause != "exit" or ending.code:
        raise UserError(
            f"audit: the tests must pass before a mistake is planted, but {running.why(ending)}"
        )
    changed, new = project.changes(before, project.contents(runner.folder))
    if changed:
        raise UserError(
            f"audit: the tests change files of the project ({project.listed(changed)}), so one run "
            "would change the next; let them write to a temporary folder"
        )
    notes = [f"the tests write new files: {project.listed(new)}"] if new else []
    if order is None:
        return Traced([], {}, ending.processor, {}, {}, [], notes)
    try:
        found = json.loads(out.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError(
            "audit: pytest has not told which lines its tests run; run it without options that "
            "start other processes, such as -n"
        ) from None
    if not found["tests"]:
        raise UserError(f"audit: `{runner.command.text}` collects no test")
    inside = str(runner.folder) + "/"
    lines = {
        file.removeprefix(inside): {int(line): tests for line, tests in known.items()}
        for file, known in found["lines"].items()
    }
    if not lines:
        notes.append(
            "the tests run no line of the audited files in their own process; if they use another "
            "copy of the package, such as an installed one, no mistake can be seen"
        )
    calls = {name.removeprefix(inside): given for name, given in found["calls"].items()}
    return Traced(
        found["tests"],
        found["seconds"],
        max(found["processor"], ending.processor),
        lines,
        calls,
        found["modules"],
        notes,
    )
