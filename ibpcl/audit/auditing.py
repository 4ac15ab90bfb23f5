"""An audit from beginning to end: plant, run the tests, and report what they have missed.

::

    project      copied            -> one copy for the judge, one for each worker
    tests        unchanged         -> which test runs which line, and how long it takes
    functions    planting.Program  -> mistakes with wrong numbers, and where they show
    mistakes     Runner            -> caught or survived, kept in a journal
    all          AuditReport

The folder of the project is read only.
"""

import contextlib
import hashlib
import itertools
import json
import os
import platform
import queue
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

from ibpcl import __version__, console, places, processors
from ibpcl.audit import planting, project, running
from ibpcl.audit.report import AuditReport, FunctionAudit, Mistake
from ibpcl.codeview.location import Location, Replacement
from ibpcl.errors import UserError
from ibpcl.sandbox import boxes
from ibpcl.sandbox.worker import Ended, Failed, Limit, Worker

LOADING = 120.0  # seconds to import a file
JUDGING = 600.0  # seconds to judge all mistakes in a function
BEFORE = 1800.0  # seconds of processor time for all tests, without a mistake
MOST_MESSAGE = (64 << 20, 1 << 20)
EVERY = ""  # lines with this context belong to all tests
# Shares of the times with tracing: a fork has loaded the libraries, and most mistakes are caught
# by one of the first tests.  They come from an audit of the primitives of this package.
START_SHARE = 0.2
TEST_SHARE = 0.05
FIRST_STAMP = 1_000_000_000  # time of the first changed file, in seconds since 1970
MEMORY = 4  # address space of one run, as a multiple of the machine's memory


@dataclass
class Settings:
    """What to audit, and how.

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
        functions, forwards = _found(files, judged, name)
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
    notes = list(traced.notes)
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


def _found(files, judged, name):
    """Return the gradient functions of each file, and the forwards whose arguments are kept."""
    functions = {}
    forwards = []
    for file in files:
        if name:
            functions[file] = [name]
        try:
            with _judge(judged) as worker:
                answer = worker.ask(
                    Limit(waiting=LOADING), MOST_MESSAGE, do="functions", path=str(judged / file)
                )
        except (Failed, Ended) as error:
            functions[file] = UserError(f"the file cannot be loaded: {error}")
            continue
        if not name and answer["targets"]:
            functions[file] = answer["targets"]
        forwards += [(file, each) for each in answer["forwards"]]
    if not any(functions.values()):
        raise UserError(
            "audit: there is no gradient function to audit: expected a function f with an f_vjp "
            "beside it, or another form that `ibpcl check` reads"
        )
    return functions, forwards


def _judge(judged):
    """Return the child process that loads a file of the copy and plants mistakes into it."""
    start = boxes.unboxed("ibpcl.audit.planting", sys.path)
    return Worker(start._replace(folder=str(judged), quiet=True))


class Copies(NamedTuple):
    """What a runner needs: the command, the project, and a folder for its copy.

    Attributes
    ----------
    command : ibpcl.audit.running.Command
        The test command.
    folder, private : pathlib.Path
        The project, and a folder for the copies.
    """

    command: running.Command
    folder: Path
    private: Path

    def runner(self, name, modules=()):
        """Return a runner with a copy of its own.

        Parameters
        ----------
        name : str
            Name of the folder of the copy.
        modules : sequence of str
            Libraries to import once.

        Returns
        -------
        ibpcl.audit.running.Runner
        """
        copied = self.private / name / self.folder.name
        project.copy(self.folder, copied)
        private = self.private / name / "private"
        return running.Runner(self.command, self.folder, copied, private, _memory(), modules)


@dataclass
class Trial:
    """A mistake with what is needed to plant it and to run the tests.

    Attributes
    ----------
    mistake : Mistake
        The mistake, whose outcome is filled in.
    parts : list of Replacement
        The changes of the file.
    statement : tuple of int
        First and last line of the statement in which it stands.
    tests : list of str or None
        The tests that reach the statement; None if single tests cannot be selected.
    identity : str
        A text that only this mistake has.
    """

    mistake: Mistake
    parts: list
    statement: tuple
    tests: list | None
    identity: str

    def store(self, run):
        """Store an outcome in the mistake.

        Parameters
        ----------
        run : ibpcl.audit.running.Run
            The outcome.
        """
        self.mistake.outcome = run.outcome
        self.mistake.by = run.by


def _memory():
    """Return the bytes that one run may use; 0 where the system does not tell."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY)
    except (AttributeError, OSError, ValueError):
        return 0


@dataclass
class Traced:
    """What is known about the tests of a project without any mistake.

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
    """Run the tests once without a mistake, and return what is known about them.

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


def plan(functions, files, judged, traced, settings):
    """Return the functions with the mistakes to try, judged by their numbers.

    Parameters
    ----------
    functions : dict
        The names of the gradient functions by file.
    files : list of pathlib.Path
        The files.
    judged : pathlib.Path
        The copy from which the judge loads them.
    traced : Traced
        With the arguments of the tests' calls.
    settings : Settings
        The settings.

    Returns
    -------
    planned : list of FunctionAudit
        The functions.
    trials : list of Trial
        All mistakes to try.
    """
    from tqdm import tqdm

    planned = []
    trials = []
    names = [(file, functions[file]) for file in files if file in functions]
    total = sum(len(each) for _, each in names if isinstance(each, list))
    with tqdm(
        total=total,
        desc="planting",
        unit="function",
        leave=False,
        file=sys.stderr,
        disable=console.bar_is_off(settings.progress),
    ) as bar:
        for file, each in names:
            if not isinstance(each, list):
                planned.append(FunctionAudit(file.as_posix(), "(file)", reason=str(each)))
                continue
            calls = {
                name.partition("::")[2]: given
                for name, given in traced.calls.items()
                if name.partition("::")[0] == file.as_posix()
            }
            for message in _messages(judged, file, each, calls, settings):
                function, made = _planned(message, file, judged, traced, settings.most)
                planned.append(function)
                trials += made
                bar.update()
    return planned, trials


def _messages(judged, file, names, calls, settings):
    """Yield the message about each function; one that ends the process is left out."""
    left = list(names)
    while left:
        try:
            with _judge(judged) as worker:
                for message in worker.stream(
                    Limit(waiting=JUDGING + 10),
                    MOST_MESSAGE,
                    do="plant",
                    path=str(judged / file),
                    names=left,
                    calls=calls,
                    seed=settings.seed,
                    timeout=JUDGING,
                ):
                    left = left[1:]
                    yield message
            return
        except (Ended, Failed) as error:
            if left:
                words = f"the process that judges mistakes ended: {error}"
                yield {"name": left.pop(0), "state": "left out", "words": words}


def _planned(message, file, judged, traced, most):
    """Return a function, and the mistakes to try in it."""
    if message["state"] != "planted":
        return FunctionAudit(file.as_posix(), message["name"], reason=message["words"]), []
    found = message["mutants"]
    chosen = spread(found, most)
    counts = {
        name: message[name] for name in ("planted", "equivalent", "repeated", "raising", "forward")
    }
    function = FunctionAudit(
        file.as_posix(),
        message["name"],
        message["line"],
        **counts,
        left_over=len(found) - len(chosen),
        note=message["note"],
    )
    text = (judged / file).read_text(encoding="utf-8")
    trials = [_trial(mutant, file.as_posix(), text, traced) for mutant in chosen]
    function.mistakes = [trial.mistake for trial in trials]
    return function, trials


def _trial(mutant, file, text, traced):
    """Return a mistake to try."""
    parts = replacements_of(mutant)
    first = min(part.where.line for part in parts)
    tests = traced.reaching(file, *mutant["statement"]) if traced.tests else None
    named = {field.name for field in fields(Mistake)} & set(mutant)
    mistake = Mistake(
        file,
        **{name: mutant[name] for name in named},
        before=text.splitlines()[first - 1].strip(),
        after=planting.replaced(text, parts).splitlines()[first - 1].strip(),
        tests=None if tests is None else len(tests),
    )
    made = json.dumps([file, mutant["replacements"]])
    identity = hashlib.sha256(made.encode()).hexdigest()[:20]
    return Trial(mistake, parts, tuple(mutant["statement"]), tests, identity)


def replacements_of(mutant):
    """Return the changes of the file that plant a mistake.

    Parameters
    ----------
    mutant : dict
        A mistake of :func:`ibpcl.audit.planting.plant`.

    Returns
    -------
    list of Replacement
    """
    return [
        Replacement(
            Location("", part["line"], part["column"], part["end_line"], part["end_column"]),
            part["text"],
        )
        for part in mutant["replacements"]
    ]


def spread(found, most):
    """Return some mistakes, chosen evenly over the lines and kinds.

    Parameters
    ----------
    found : list of dict
        The mistakes.
    most : int
        Their largest number; 0 for all.

    Returns
    -------
    list of dict
        In the order of the source.

    Examples
    --------
    >>> some = [{"line": n, "kind": "sign"} for n in (1, 1, 2)]
    >>> [each["line"] for each in spread(some, 2)]
    [1, 2]
    """
    if not most or len(found) <= most:
        return found
    groups = {}
    for n, mutant in enumerate(found):
        groups.setdefault((mutant["line"], mutant["kind"]), []).append(n)
    rounds = [(depth, n) for group in groups.values() for depth, n in enumerate(group)]
    return [found[n] for n in sorted(n for _, n in sorted(rounds)[:most])]


class Journal:
    """Outcomes of mistakes, one a line in a file, so that an audit can be continued.

    Parameters
    ----------
    path : pathlib.Path or None
        The file; None keeps nothing.
    known : dict of str to Run
        The outcomes that it contains.
    """

    def __init__(self, path, known):
        self.path = path
        self.known = known
        self.lock = threading.Lock()

    @classmethod
    def open(cls, name, digest, settings):
        """Return the journal of an audit; another project or command has another one.

        Parameters
        ----------
        name : str
            Name of the project.
        digest : dict
            Digests of its files.
        settings : Settings
            With the test command.

        Returns
        -------
        Journal
        """
        made = hashlib.sha256(
            json.dumps(
                [sorted(digest.items()), settings.tests, __version__, platform.python_version()]
            ).encode()
        ).hexdigest()[:16]
        cache = places.user_cache() or places.private_temporary()
        if cache is None:
            return cls(None, {})
        path = cache / "audit" / f"{name}-{made}.jsonl"
        known = {}
        if not settings.fresh and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    identity, *run = json.loads(line)
                    known[identity] = running.Run(*run)
                except (ValueError, TypeError):  # a line that was cut off
                    continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if settings.fresh:
                path.unlink(missing_ok=True)
        except OSError:
            return cls(None, known)
        return cls(path, known)

    def keep(self, identity, run):
        """Add an outcome.

        Parameters
        ----------
        identity : str
            The mistake.
        run : Run
            The outcome.
        """
        with self.lock:
            self.known[identity] = run
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([identity, *run]) + "\n")


def run_all(trials, copies, traced, journal, settings):
    """Run the tests with each mistake, several at the same time.

    Parameters
    ----------
    trials : list of Trial
        The mistakes; the outcome is stored in each.
    copies : Copies
        The project and the command.
    traced : Traced
        What is known about the tests.
    journal : Journal
        The outcomes of earlier runs.
    settings : Settings
        The settings.
    """
    from tqdm import tqdm

    new = [trial for trial in trials if trial.identity not in journal.known]
    for trial in trials:
        if trial.identity in journal.known:
            trial.store(journal.known[trial.identity])
    waiting = queue.SimpleQueue()
    for trial in new:
        waiting.put(trial)
    if len(new) < len(trials):
        console.tell(f"{len(trials) - len(new)} of {len(trials)} outcomes are in the journal")
    if not new:
        return
    workers = min(settings.workers or processors.usable(), len(new))
    console.tell(
        f"{len(new)} mistakes, {workers} at a time; about "
        f"{duration(expected(new, traced) / workers)}"
    )
    errors = []
    unreached = Unreached()
    with tqdm(
        total=len(new),
        desc="testing",
        unit="mistake",
        leave=False,
        file=sys.stderr,
        disable=console.bar_is_off(settings.progress),
    ) as bar:

        def work(number):
            runner = None
            try:
                runner = copies.runner(f"worker{number}", traced.modules)
                while not errors:
                    try:
                        trial = waiting.get_nowait()
                    except queue.Empty:
                        return
                    run = outcome_of(trial, runner, traced, unreached)
                    journal.keep(trial.identity, run)
                    trial.store(run)
                    bar.update()
            except BaseException as error:
                errors.append(error)
            finally:
                if runner is not None:
                    runner.close()

        threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(workers)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        except KeyboardInterrupt as error:
            errors.append(error)
            for thread in threads:
                thread.join(5.0)
            raise
    if errors:
        raise errors[0]


def expected(trials, traced):
    """Return the seconds of processor time that some runs take, roughly.

    Parameters
    ----------
    trials : list of Trial
        The mistakes.
    traced : Traced
        The time of each test.

    Returns
    -------
    float
    """
    total = 0.0
    for trial in trials:
        if trial.tests is None:
            total += traced.total
        else:
            total += START_SHARE * traced.starting + TEST_SHARE * traced.time_of(trial.tests)
    return total


def duration(seconds):
    """Return a time in words.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    str

    Examples
    --------
    >>> duration(20), duration(300), duration(7300)
    ('20 s', '5 min', '2.0 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class Unreached:
    """Statements that no test seems to run, and whether an exception there is seen.

    Tests may run a function where it cannot be traced: in another process, or compiled.
    """

    def __init__(self):
        self.known = {}
        self.lock = threading.Lock()

    def is_untraced(self, trial, runner, traced):
        """Return whether tests run a statement although no traced test does.

        Parameters
        ----------
        trial : Trial
            A mistake in the statement.
        runner : ibpcl.audit.running.Runner
            A runner.
        traced : Traced
            The time of all tests.

        Returns
        -------
        bool
        """
        key = (trial.mistake.file, trial.statement)
        with self.lock:
            if key not in self.known:
                with changed(runner.folder / trial.mistake.file, raising, trial.statement[0]):
                    run = runner.selected(None, running.limit_of(traced.total))
                self.known[key] = run.outcome in ("caught", "time")
            return self.known[key]


def raising(text, line):
    """Return the text of a file with a statement that raises before the statement of a line.

    Parameters
    ----------
    text : str
        The text.
    line : int
        The first line of a statement.

    Returns
    -------
    str

    Examples
    --------
    >>> raising("def f(x):\\n    return x\\n", 2)
    'def f(x):\\n    raise AssertionError\\n    return x\\n'
    """
    lines = text.splitlines(keepends=True)
    body = lines[line - 1]
    indent = body[: len(body) - len(body.lstrip())]
    lines.insert(line - 1, f"{indent}raise AssertionError\n")
    return "".join(lines)


@contextlib.contextmanager
def changed(path, change, *arguments):
    """Change the text of a file in a copy, and change it back.

    Each text has a time of its own.  Python compares the time, in whole seconds, and the size of a
    file to see whether its bytecode is still valid.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    change : callable
        ``change(text, *arguments)`` returns the new text.
    *arguments
        Further arguments.
    """
    before = path.read_bytes()
    text = change(path.read_text(encoding="utf-8"), *arguments)
    path.write_text(text, encoding="utf-8")
    _stamp(path)
    try:
        yield
    finally:
        path.write_bytes(before)
        _stamp(path)


def _stamp(path, stamps=itertools.count(1)):  # noqa: B008  (one count for all files)
    seconds = FIRST_STAMP + next(stamps)
    os.utime(path, (seconds, seconds))


def outcome_of(trial, runner, traced, unreached):
    """Plant one mistake in a copy, run the tests, and take the mistake out again.

    The tests that reach the line run first.  If they pass, all tests of their files run, because a
    test may use what an earlier one has left in its file.

    Parameters
    ----------
    trial : Trial
        The mistake.
    runner : ibpcl.audit.running.Runner
        A runner, whose copy has no mistake.
    traced : Traced
        What is known about the tests.
    unreached : Unreached
        What is known about statements that no test runs.

    Returns
    -------
    Run
    """
    tests = trial.tests
    if tests == []:
        if not unreached.is_untraced(trial, runner, traced):
            return running.Run("survived")
        tests = None
    with changed(runner.folder / trial.mistake.file, planting.replaced, trial.parts):
        if tests is None:
            return runner.selected(None, running.limit_of(traced.total))
        run = runner.selected(tests, _limit(tests, traced))
        files = {test.partition("::")[0] for test in tests}
        wider = [test for test in traced.tests if test.partition("::")[0] in files]
        if run.outcome == "survived" and len(wider) > len(tests):
            run = runner.selected(wider, _limit(wider, traced))
        return run


def _limit(tests, traced):
    return running.limit_of(traced.starting + traced.time_of(tests))
