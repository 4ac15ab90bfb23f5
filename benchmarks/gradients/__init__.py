"""A benchmark for gradient checkers: a data set of mistakes in hand-written gradients.

``cases/`` contains correct pairs ``out, cache = f(*inputs)`` and ``gradients = f_vjp(dout, cache)``
in NumPy.  ``cases/mistakes.toml`` lists the mistakes.  Each of them is a piece of source with its
replacement, the kinds of :data:`ibpcl.verify.KINDS` that name the mistake, and a pattern that a
helpful message matches.

``python -m benchmarks.gradients`` measures the installed checkers; :func:`score` measures any
other checker.
"""

import importlib.util
import itertools
import linecache
import re
import sys
import time
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).parent / "cases"
NUMBERS = itertools.count()


class Verdict(NamedTuple):
    """Verdict of a checker on one pair.

    Attributes
    ----------
    wrong : bool
        Whether the checker reports a mistake.
    kinds : dict of str to str, or None
        The kind of mistake for each wrong input; None if the checker does not name kinds.
    words : str
        Its message.
    noted : tuple of str
        Kinds of side effects that it notes although the numbers are right.
    """

    wrong: bool
    kinds: dict | None = None
    words: str = ""
    noted: tuple = ()


@dataclass(frozen=True)
class Case:
    """A pair to judge, with the correct verdict.

    Attributes
    ----------
    name : str
        Name of the function.
    label : str
        The mistake in words; empty if the pair is right.
    source : str
        Python source of ``f``, ``f_vjp`` and ``check_inputs()``, and of ``WRT`` if not all inputs
        are differentiated.
    kinds : list of str, or dict of str to list
        Kinds that name the mistake, for all inputs or by input.
    mentions : str
        Regular expression that a helpful message matches.
    """

    name: str
    label: str
    source: str
    kinds: object = ()
    mentions: str = ""

    @property
    def is_right(self):
        """True if the gradient is right."""
        return not self.label

    def load(self):
        """Return the case as a module with ``f``, ``f_vjp`` and ``check_inputs``."""
        file = f"<case {next(NUMBERS)}: {self.name}>.py"
        linecache.cache[file] = (
            len(self.source),
            None,
            self.source.splitlines(keepends=True),
            file,
        )
        spec = importlib.util.spec_from_loader(
            f"benchmark_case_{next(NUMBERS)}", loader=None, origin=file
        )
        module = importlib.util.module_from_spec(spec)
        module.__file__ = file
        sys.modules[spec.name] = module
        exec(compile(self.source, file, "exec"), vars(module))
        return module


@dataclass
class Score:
    """Counts of a checker's verdicts on a set of cases.

    Attributes
    ----------
    checker : str
        Name of the checker.
    mistakes : int
        Number of wrong cases.
    caught : int
        Number of wrong cases that the checker reports.
    named : int
        Number of reported cases whose kind is right for every wrong input.
    names_kinds : bool
        Whether the checker names kinds at all.
    right : int
        Number of right cases.
    false_alarms : int
        Number of right cases that the checker reports as wrong.
    failures : int
        Number of cases on which the checker itself fails.
    seconds : list of float
        CPU time for each case.
    missed : list of str
        Name and mistake of each wrong case that was not reported.
    alarms : list of str
        Names of the right cases that were reported.
    outcomes : list of dict
        For each case its ``name``, ``label``, ``form`` and ``origin``, and whether it was
        ``caught`` (for a right case: reported), ``named`` and ``failed``.
    """

    checker: str
    mistakes: int = 0
    caught: int = 0
    named: int = 0
    names_kinds: bool = False
    right: int = 0
    false_alarms: int = 0
    failures: int = 0
    seconds: list = field(default_factory=list)
    missed: list = field(default_factory=list)
    alarms: list = field(default_factory=list)
    outcomes: list = field(default_factory=list)

    def to_dict(self):
        """Return the score as a dict that ``json.dumps`` accepts."""
        return {
            **vars(self),
            "median_seconds": float(np.median(self.seconds or [0.0])),
            "total_seconds": float(np.sum(self.seconds)),
        }

    def row(self):
        """Return the score as a row of a Markdown table."""
        named = f"{self.named}" if self.names_kinds else "—"
        return (
            f"| {self.checker} | {self.caught} of {self.mistakes} | {named} | {self.false_alarms} "
            f"of {self.right} | {self.failures} | {1e3 * np.median(self.seconds or [0.0]):.0f} ms "
            f"| {np.sum(self.seconds):.0f} s |"
        )


HEAD = (
    "| checker | caught | named | false alarms | cannot take | median | in all |\n"
    "| --- | --: | --: | --: | --: | --: | --: |"
)


def cases(every=1):
    """Return the cases of the data set: right pairs, then pairs with a mistake.

    Parameters
    ----------
    every : int
        Take only every n-th right pair and every n-th mistake.

    Returns
    -------
    list of Case
        The cases.

    Examples
    --------
    >>> len([case for case in cases() if not case.is_right]) >= 300
    True
    """
    right = [
        Case(path.stem, "", path.read_text(encoding="utf-8"))
        for path in sorted(FOLDER.glob("*.py"))
    ]
    sources = {case.name: case.source for case in right}
    listed = tomllib.loads((FOLDER / "mistakes.toml").read_text(encoding="utf-8"))["mistake"]
    wrong = [
        Case(
            item["function"],
            item["label"],
            spoiled(sources[item["function"]], item),
            item["kinds"],
            item["mentions"],
        )
        for item in listed
    ]
    return right[::every] + wrong[::every]


def spoiled(source, mistake):
    """Return the source of a right pair with a mistake in it.

    Parameters
    ----------
    source : str
        Source of the right pair.
    mistake : dict
        Entry of ``mistakes.toml``.

    Returns
    -------
    str
        Source of the wrong pair.
    """
    old = mistake["replace"]
    new = mistake["by"]
    pairs = zip(*([item] if isinstance(item, str) else item for item in (old, new)), strict=True)
    for before, after in pairs:
        source = source.replace(before, after, 1 if mistake.get("first") else -1)
    return source


def score(name, checker: Callable, chosen, progress=None):
    """Measure a checker on cases.

    Parameters
    ----------
    name : str
        Name of the checker, for the table.
    checker : callable
        ``checker(f, f_vjp, inputs, wrt)`` returns a :class:`Verdict`.  A checker with an attribute
        ``reads_files`` is called as ``checker(case)`` instead.  An exception counts as a
        failure if the pair is right, or if the right version of the pair raises as well.  Otherwise
        it counts as a report of the mistake.
    chosen : sequence of Case
        The cases, such as :func:`cases` returns.
    progress : callable, optional
        Called without arguments after each case.

    Returns
    -------
    Score
        The counts.
    """
    result = Score(name)
    untaken = set()
    for case in chosen:
        module = case.load()
        inputs = module.check_inputs()
        wrt = getattr(module, "WRT", None)
        arguments = (module.f, module.f_vjp, inputs, wrt)
        if getattr(checker, "reads_files", False):
            arguments = (case,)
        start = time.process_time()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                verdict = checker(*arguments)
        except Exception as error:  # a checker may raise anything
            key = case.name, getattr(case, "form", "")
            untaken |= {key} if case.is_right else set()
            verdict = (
                None if key in untaken else Verdict(True, None, f"{type(error).__name__}: {error}")
            )
        result.seconds.append(time.process_time() - start)
        sys.modules.pop(module.__name__, None)
        before = result.caught, result.false_alarms, result.named
        _count(result, case, verdict)
        result.outcomes.append(
            {
                "name": case.name,
                "label": case.label,
                "form": getattr(case, "form", ""),
                "origin": getattr(case, "origin", ""),
                "caught": (result.caught, result.false_alarms) != before[:2],
                "named": result.named > before[2],
                "failed": verdict is None,
            }
        )
        if progress is not None:
            progress()
    return result


def _count(result, case, verdict):
    """Add one verdict to a score."""
    result.right += case.is_right
    result.mistakes += not case.is_right
    if verdict is None:
        result.failures += 1
    if case.is_right:
        if verdict is not None and verdict.wrong:
            result.false_alarms += 1
            result.alarms.append(case.name)
        return
    if verdict is not None and not verdict.wrong and set(verdict.noted) & set(case.kinds):
        result.caught += 1  # the mistake is a side effect, and the note names it
        result.named += 1
        return
    if verdict is None or not verdict.wrong:
        result.missed.append(f"{case.name}: {case.label}")
        return
    result.caught += 1
    result.names_kinds |= verdict.kinds is not None
    is_planted = getattr(case, "origin", "") == "planted"  # by the table of our own names
    result.named += is_named(case, verdict) and not is_planted


def is_named(case, verdict):
    """Return whether a verdict names the mistake of a case, for every input that it calls wrong.

    Parameters
    ----------
    case : Case
        A wrong case.
    verdict : Verdict
        A verdict that reports a mistake.

    Returns
    -------
    bool
        For a checker that rejects the pair before judging any input, whether its message matches
        ``case.mentions``.
    """
    if verdict.kinds is None:
        return False
    if not verdict.kinds:  # refused in words, before any input was judged
        return bool(re.search(case.mentions, verdict.words, re.IGNORECASE))
    return all(
        kind in (case.kinds.get(name, ()) if isinstance(case.kinds, dict) else case.kinds)
        for name, kind in verdict.kinds.items()
    )
