"""Runs of the tests with each mistake, several at the same time, and the journal of outcomes."""

import contextlib
import hashlib
import itertools
import json
import os
import platform
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ibpcl import __version__, console, places, processors
from ibpcl.audit import parallel, planting, project, running

FIRST = 10  # mistakes from whose time that of all others is estimated
CATCHERS = 2  # tests that have caught other mistakes in the function, and run first
FIRST_STAMP = 1_000_000_000  # time of the first changed file, in seconds since 1970
MEMORY = 4  # address space of one run, as a multiple of the machine's memory


class Copies(NamedTuple):
    """The command, the project, and the folder for the copy of a runner.

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
        """Return a runner with a separate copy of the project.

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


def _memory():
    """Return the bytes that one run may use; 0 where the system does not tell."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY)
    except (AttributeError, OSError, ValueError):
        return 0


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
        Lines, times and failures of the tests without a mistake.
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
    if len(new) < len(trials):
        console.tell(f"{len(trials) - len(new)} of {len(trials)} outcomes are in the journal")
    if not new:
        return
    workers = min(settings.workers or processors.usable(), len(new))
    console.tell(f"{len(new)} mistakes, {workers} at a time")
    unreached = Unreached()
    catchers = Catchers()
    with tqdm(
        total=len(new),
        desc="testing",
        unit="mistake",
        leave=False,
        file=sys.stderr,
        disable=console.bar_is_off(settings.progress),
    ) as bar:

        def work(trial, runner):
            run = outcome_of(trial, runner, traced, unreached, catchers)
            if run.outcome != "error":  # the next audit tries it again
                journal.keep(trial.identity, run)
            trial.store(run)
            bar.update()
            if next(done) == FIRST < len(new):
                left = duration((time.monotonic() - began) * (len(new) - FIRST) / FIRST)
                bar.write(f"about {left} for the others, if they are like these", sys.stderr)

        numbers = itertools.count()
        done = itertools.count(1)
        began = time.monotonic()

        def runner():
            return contextlib.closing(copies.runner(f"worker{next(numbers)}", traced.modules))

        parallel.over(new, workers, runner, work)


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


class Catchers:
    """Tests that have caught other mistakes in a function: they are likely to catch the next one.

    A run of a few tests takes less time, because it imports fewer files of tests.
    """

    def __init__(self):
        self.counts = {}
        self.lock = threading.Lock()

    def note(self, mistake, test):
        """Note the test that has caught a mistake.

        Parameters
        ----------
        mistake : Mistake
            The mistake.
        test : str
            The node id, or its beginning; empty if it is not known.
        """
        with self.lock:
            counts = self.counts.setdefault((mistake.file, mistake.function), Counter())
            if test:
                counts[test] += 1

    def among(self, tests, mistake):
        """Return those of some tests that have caught most mistakes in a function.

        Parameters
        ----------
        tests : list of str or None
            Node ids.
        mistake : Mistake
            A mistake in the function.

        Returns
        -------
        list of str
            At most :data:`CATCHERS`.
        """
        with self.lock:
            known = self.counts.get((mistake.file, mistake.function), Counter()).most_common()
        # pytest prints the node id up to its first space
        found = [next((t for t in tests or () if t.startswith(name)), None) for name, _ in known]
        return list(dict.fromkeys(filter(None, found)))[:CATCHERS]


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

    Each text gets another time.  Python compares the time, in whole seconds, and the size of a
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


def outcome_of(trial, runner, traced, unreached, catchers):
    """Plant one mistake in a copy, run the tests, and take the mistake out again.

    The tests that have caught other mistakes in the function run first, and then those that reach
    the line.  If they pass, all tests of their files run, because a test may use what an earlier
    one has left in its file.  For compiled code, where no line is traced, all tests run.  Machine
    code is kept between runs unless a compiled function changes.

    Parameters
    ----------
    trial : Trial
        The mistake.
    runner : ibpcl.audit.running.Runner
        A runner, whose copy has no mistake.
    traced : Traced
        Lines, times and failures of the tests without a mistake.
    unreached : Unreached
        What is known about statements that no test runs.
    catchers : Catchers
        The tests that have caught mistakes.

    Returns
    -------
    Run
    """
    if trial.is_compiled:
        runner.forget_machine_code()
    try:
        run = _outcome_of(trial, runner, traced, unreached, catchers)
    finally:
        if trial.is_compiled:
            runner.forget_machine_code()
    if run.outcome == "caught":
        catchers.note(trial.mistake, run.by)
    return run


def _outcome_of(trial, runner, traced, unreached, catchers):
    """Return the outcome of the tests with a mistake, without removing machine code."""
    tests = trial.tests
    if tests == []:
        if not unreached.is_untraced(trial, runner, traced):
            return running.Run("survived")
        tests = None
    with changed(runner.folder / trial.mistake.file, planting.replaced, trial.parts):
        if tests is None:
            return runner.selected(None, running.limit_of(traced.total))
        likely = catchers.among(tests, trial.mistake)
        if likely:
            run = runner.selected(likely, _limit(likely, traced))
            if run.outcome in ("caught", "time"):
                return run
        run = runner.selected(tests, _limit(tests, traced))
        if trial.is_untraced:
            caught = run.outcome != "survived"
            return run if caught else runner.selected(None, running.limit_of(traced.total))
        files = {test.partition("::")[0] for test in tests}
        wider = [test for test in traced.tests if test.partition("::")[0] in files]
        if run.outcome == "survived" and len(wider) > len(tests):
            run = runner.selected(wider, _limit(wider, traced))
        return run


def _limit(tests, traced):
    return running.limit_of(traced.starting + traced.time_of(tests))
