"""The mistakes to try: found and judged in child processes, and chosen evenly."""

import contextlib
import hashlib
import json
import sys
from dataclasses import dataclass, fields

from ibpcl import console, processors
from ibpcl.audit import compiled, parallel, planting
from ibpcl.audit.report import FunctionAudit, Mistake
from ibpcl.codeview.location import Location, Replacement
from ibpcl.errors import UserError
from ibpcl.sandbox import boxes
from ibpcl.sandbox.worker import Ended, Failed, Limit, Worker

LOADING = 120.0  # seconds to import a file
JUDGING = 600.0  # seconds to judge all mistakes in a function
MOST_MESSAGE = (64 << 20, 1 << 20)


@dataclass
class Trial:
    """A mistake, its changed text, and the tests to run.

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
    is_compiled : bool
        Whether the mistake is in a gradient that is compiled.
    is_untraced : bool
        Whether other tests may run the statement too, because its function is compiled.
    identity : str
        A text that only this mistake has.
    """

    mistake: Mistake
    parts: list
    statement: tuple
    tests: list | None
    is_compiled: bool
    is_untraced: bool
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


def found_in(files, judged, name):
    """Return the gradient functions of each file, and the forwards whose arguments are kept.

    Parameters
    ----------
    files : list of pathlib.Path
        The files, relative to the project.
    judged : pathlib.Path
        The copy from which the judge loads them.
    name : str
        The only function; empty for all.

    Returns
    -------
    functions : dict
        Names by file; an exception for a file that cannot be loaded.
    forwards : list of tuple
        File and qualified name.
    notes : list of str
        Statements that raised an exception, and were skipped.

    Raises
    ------
    UserError
        If the files have no gradient function.
    """
    functions = {}
    forwards = []
    notes = []
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
        notes += [f"{file.as_posix()}: {each}" for each in answer["failures"]]
    if not any(functions.values()):
        raise UserError(
            "audit: there is no gradient function to audit: expected a function f with an f_vjp "
            "beside it, or another form that `ibpcl check` reads"
        )
    return functions, forwards, notes


def _judge(judged):
    """Return the child process that loads a file of the copy and plants mistakes into it."""
    start = boxes.unboxed("ibpcl.audit.planting", sys.path)
    environment = compiled.environment(judged)
    return Worker(start._replace(folder=str(judged), quiet=True, environment=environment))


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

    names = [(file, functions[file]) for file in files if file in functions]
    with tqdm(
        total=sum(len(each) for _, each in names if isinstance(each, list)),
        desc="planting",
        unit="function",
        leave=False,
        file=sys.stderr,
        disable=console.bar_is_off(settings.progress),
    ) as bar:

        def of_file(item, _):
            file, each = item
            if not isinstance(each, list):
                return [(FunctionAudit(file.as_posix(), "(file)", reason=str(each)), [])]
            beginning = f"{file.as_posix()}::"
            calls = {
                name.removeprefix(beginning): given
                for name, given in traced.calls.items()
                if name.startswith(beginning)
            }
            made = []
            known = set()
            for message in _messages(judged, file, each, calls, settings):
                _leave_out(message, file, known)
                made.append(_planned(message, file, judged, traced, settings.most))
                bar.update()
            return made

        workers = settings.workers or processors.usable()
        found = parallel.over(names, workers, contextlib.nullcontext, of_file)
    pairs = [pair for made in found for pair in made]
    return [function for function, _ in pairs], [trial for _, made in pairs for trial in made]


def _messages(judged, file, names, calls, settings):
    """Yield the message about each function.

    A change of a compiled function may end the process.  Its file is still there then, and the
    function is judged again without this change.  A function that ends the process otherwise is
    left out.
    """
    left = list(names)
    without = []  # numbers of changes that have ended the process
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
                    trying=settings.most,
                    without=without,
                ):
                    left = left[1:]
                    without = []
                    yield message
            return
        except (Ended, Failed) as error:
            number = compiled.unfinished(judged / file)
            if left and number is not None:
                without = [*without, number]
            elif left:
                words = f"the process that judges mistakes ended: {error}"
                yield {"name": left.pop(0), "state": "left out", "words": words}
                without = []


def _leave_out(message, file, known):
    """Leave out mistakes planted already: a class may have two names, or the method of another."""
    new = [each for each in message.get("mutants", ()) if _identity(each, file) not in known]
    if len(new) < len(message.get("mutants", ())):
        message["repeated"] += len(message["mutants"]) - len(new)
        message["mutants"] = new
    known.update(_identity(each, file) for each in new)


def _identity(mutant, file):
    """Return a text that only this change of the file has."""
    made = json.dumps([file.as_posix(), mutant["replacements"]])
    return hashlib.sha256(made.encode()).hexdigest()[:20]


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
        left_over=len(found) - len(chosen) + message.get("left", 0),
        note=message["note"],
    )
    text = (judged / file).read_text(encoding="utf-8")
    is_compiled = message.get("compiled", False)
    trials = [_trial(mutant, file, text, traced, is_compiled) for mutant in chosen]
    function.mistakes = [trial.mistake for trial in trials]
    return function, trials


def _trial(mutant, file, text, traced, is_compiled):
    """Return a mistake to try.

    In compiled code no line is traced.  Then the tests that run a caller in the same file are the
    first, and all others follow.
    """
    parts = replacements_of(mutant)
    first = min(part.where.line for part in parts)
    name = file.as_posix()
    tests = traced.reaching(name, *mutant["statement"]) if traced.tests else None
    is_untraced = is_compiled and not tests
    if is_untraced and traced.tests:
        tests = traced.reaching_any(name, mutant["callers"]) or None
    named = {field.name for field in fields(Mistake)} & set(mutant)
    mistake = Mistake(
        name,
        **{field: mutant[field] for field in named},
        before=text.splitlines()[first - 1].strip(),
        after=planting.replaced(text, parts).splitlines()[first - 1].strip(),
        tests=None if is_untraced or tests is None else len(tests),
    )
    statement = tuple(mutant["statement"])
    return Trial(
        mistake, parts, statement, tests, is_compiled, is_untraced, _identity(mutant, file)
    )


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
