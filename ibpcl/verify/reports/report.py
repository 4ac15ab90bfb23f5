"""Report on a gradient: text and HTML for people, a dict for programs, a score for graders."""

import textwrap
from dataclasses import dataclass, field

import numpy as np

from ibpcl.verify.reports.kinds import UNFIT, Reason
from ibpcl.verify.reports.page import drawn, page
from ibpcl.verify.reports.plain import plain, restored
from ibpcl.verify.reports.words import count

WIDTH = 80  # columns of the text
METHODS = {"complex step": "complex step", "Richardson differences": "differences"}


def worst(verdicts):
    """Return the worst of several verdicts.

    Parameters
    ----------
    verdicts : iterable of str
        Each is "ok", "wrong" or "undecided".

    Returns
    -------
    verdict : str
        "undecided" for an empty sequence.

    Examples
    --------
    >>> worst(["ok", "undecided"]), worst(["undecided", "wrong"]), worst([])
    ('undecided', 'wrong', 'undecided')
    """
    verdicts = set(verdicts) or {"undecided"}
    return next(verdict for verdict in ("wrong", "undecided", "ok") if verdict in verdicts)


class Judged:
    """Base class of objects with a ``verdict``: "ok", "wrong" or "undecided"."""

    @property
    def ok(self):
        """True if everything was compared and is right."""
        return self.verdict == "ok"

    @property
    def undecided(self):
        """True if nothing is wrong, but a part could not be decided."""
        return self.verdict == "undecided"

    def __str__(self):
        return self.text()


@dataclass
class InputVerdict(Judged):
    """Verdict on the gradient of one input.

    Attributes
    ----------
    name : str
        Name of the input.
    kind : str
        "ok" if right, else the kind of mistake, one of :data:`ibpcl.verify.KINDS`.
    words : str
        The verdict as a sentence.
    hint : str
        Advice on where to look first; empty if right.
    error : float
        Largest relative error over all compared entries (or directions).
    numbers : dict
        The numbers behind the verdict: entries compared, wrong and skipped at kinks, the worst
        entry, the numerical method and its agreement with the second one, the Taylor slope.
    reason : Reason or None
        What explains the whole difference, if a part of the code does that is not a mistake in the
        derivation: a guard, a rounded constant, numbers of a small type, a limit.
    """

    name: str
    kind: str
    words: str
    hint: str = ""
    error: float = float("nan")
    numbers: dict = field(default_factory=dict)
    reason: Reason | None = None

    @property
    def verdict(self):
        """One of "ok", "undecided" and "wrong"."""
        return self.kind if self.kind in ("ok", "undecided") else "wrong"

    @property
    def score(self):
        """1 if right, 0 if undecided, half the share of right entries if wrong.

        Skipped entries do not count as right.
        """
        n = self.numbers
        compared = n.get("compared", 0)
        entries = n.get("entries", 0)
        skipped = n.get("skipped", 0)
        seen = 1 - skipped / entries if entries else 1.0
        share = 1 - n["wrong"] / compared if compared else 0.0
        return {"ok": seen, "undecided": 0.0, "wrong": 0.5 * share * seen}[self.verdict]

    def lines(self):
        """Return the verdict as a list of lines without indentation."""
        n = self.numbers
        over = (
            f"{n['directions']} random directions"
            if "directions" in n
            else count(n.get("compared", 0))
        )
        over += f", {n['skipped']} skipped at jumps" if n.get("skipped") else ""
        beside = self.reason is not None and self.reason.words not in self.words
        reason = [f"reason: {self.reason.words}"] if beside else []
        if self.ok:
            allowed = f" (tolerance {n['rtol']:.0e})" if "rtol" in n else ""
            return [
                f"error {self.error:.1e}{allowed} over {over}"
                + (f"; {self.words}" if self.words else ""),
                *reason,
            ]
        lines = [self.words]
        if self.kind == "undecided" and "rtol" in n and np.isfinite(self.error):
            lines.append(f"error {self.error:.1e} (tolerance {n['rtol']:.0e}) over {over}")
        if "worst" in n:
            lines.append(
                f"{'off' if self.undecided else 'wrong'} at {n['wrong']} of {over}; worst at "
                f"{n['worst']}: got " + _apart(n["got"], n["expected"])
            )
        if "where" in n:
            lines.append(n["where"])
        if np.isfinite(n.get("taylor_slope", np.nan)):
            lines.append(f"Taylor remainder: slope {n['taylor_slope']:.2f} (right: 2, wrong: 1)")
        return lines + reason

    def to_dict(self):
        """Return the verdict as a dict that ``json.dumps`` accepts."""
        return {
            "name": self.name,
            "kind": self.kind,
            "ok": self.ok,
            "words": self.words,
            "hint": self.hint,
            "error": plain(self.error),
            "score": self.score,
            "numbers": plain(self.numbers),
            "reason": None if self.reason is None else self.reason._asdict(),
        }


@dataclass
class Report(Judged):
    """Verdict on a gradient function, with one :class:`InputVerdict` per input.

    Attributes
    ----------
    title : str
        Name of the gradient function.
    inputs : list of InputVerdict
        The verdicts, in the order of the gradients.
    problems : list of dict
        Findings that make the pair unfit, such as noise, infinities or overwritten arguments.
        Keys: ``kind``, ``words`` and ``hint``.
    notes : list of str
        Remarks that are not mistakes.
    numbers : dict
        The seed of the check.
    habits : list of dict
        Side effects and limits that leave the numbers right.  Keys: ``kind``, ``words``, ``hint``
        and ``inputs``.
    curves : dict of str to Curves
        V-curve and Taylor remainders of each input, computed when they are drawn.
    unjudged : list of str
        Sentences about gradients that are not judged: returned arrays that belong to no input, and
        inputs without a gradient.  A report with such sentences is not "ok".
    """

    title: str
    inputs: list
    problems: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    numbers: dict = field(default_factory=dict)
    habits: list = field(default_factory=list)
    curves: dict = field(default_factory=dict, repr=False)
    unjudged: list = field(default_factory=list)

    @property
    def verdict(self):
        """One of "ok", "wrong" and "undecided"."""
        if self.problems:  # a forward that cannot be checked is not wrong
            unfit = all(problem["kind"] in UNFIT for problem in self.problems)
            return "undecided" if unfit else "wrong"
        return worst([item.verdict for item in self.inputs] + ["undecided"] * len(self.unjudged))

    @property
    def score(self):
        """Mean of the inputs' scores, in [0, 1]; 0 if the pair itself is unfit."""
        if self.problems or not self.inputs:
            return 0.0
        return float(np.mean([item.score for item in self.inputs] + [0.0] * len(self.unjudged)))

    @property
    def error(self):
        """Largest relative error among the inputs."""
        return float(max((item.error for item in self.inputs), default=0.0))

    def __getitem__(self, name):
        """Return the verdict on the input called ``name``.

        Raises
        ------
        KeyError
            If there is no such input.
        """
        for item in self.inputs:
            if item.name == name:
                return item
        raise KeyError(
            f"Report: no input {name!r}; the inputs are {', '.join(i.name for i in self.inputs)}"
        )

    def text(self):
        """Return the report as text that fits into 80 columns."""
        wrong = [item for item in self.inputs if item.verdict == "wrong"]
        verdict = (
            "ok"
            if self.ok
            else self.verdict.upper()
            + (f" for {len(wrong)} of {len(self.inputs)} inputs" if wrong else "")
        )
        weak = sum(item.ok and bool(item.numbers.get("zero")) for item in self.inputs)
        weakly = f" ({weak} of {len(self.inputs)} inputs hardly tested)" if weak else ""
        first = f"{self.title}: {verdict}{weakly}, score {self.score:.2f}"
        left = "".join(f"; not judged: {sentence}" for sentence in self.unjudged)
        lines = _wrapped(first + left, "    ") if left else [first]
        right = [item for item in self.inputs if item.ok and not item.words and item.reason is None]
        for names, first, *rest in _grouped([item for item in self.inputs if item not in right]):
            lines += _wrapped(f"  {names}  {first}", "      ")
            for line in rest:
                lines += _wrapped(f"      {line}", "        ")
        if right:
            lines += _wrapped(f"  {self._right(right)}", "    ")
        named = {item.words for item in self.inputs}
        for problem in self.problems:
            if not any(problem["words"] in words for words in named):
                lines += _wrapped(f"  {problem['kind']}: {problem['words']}", "    ")
                lines += _wrapped(f"    hint: {problem['hint']}", "      ")
        for habit in self.habits:
            lines += _wrapped(f"  note: {habit['words']}", "    ")
        witnesses = "" if len(right) == len(self.inputs) else self._witnesses()
        lines += [
            line
            for note in [witnesses, *_joined(self.notes, [item.name for item in self.inputs])]
            if note
            for line in _wrapped(f"  {note}", "    ")
        ]
        return "\n".join(lines)

    def _right(self, items):
        """Return one line for the inputs whose gradients are right."""
        total = sum(
            item.numbers.get("compared", 0) for item in items if "directions" not in item.numbers
        )
        directed = [item for item in items if "directions" in item.numbers]
        over = [count(total)] if total else []
        over += (
            [f"{sum(item.numbers['directions'] for item in directed)} random directions"]
            if directed
            else []
        )
        skipped = sum(item.numbers.get("skipped", 0) for item in items)
        over += [f"{skipped} skipped at jumps"] if skipped else []
        names = ", ".join(item.name for item in items)
        names = names if len(names) <= 24 else f"{len(items)} inputs"
        error = max((item.error for item in items), key=lambda error: (np.isnan(error), error))
        allowed = max(
            (item.numbers["rtol"] for item in items if "rtol" in item.numbers), default=None
        )
        tolerance = "" if allowed is None else f" (tolerance {allowed:.0e})"
        methods = dict.fromkeys(
            METHODS[item.numbers["witness"]] for item in items if "witness" in item.numbers
        )
        by = f", {' and '.join(methods)}" if methods else ""
        return f"{names}: error {error:.0e}{tolerance} over {', '.join(over)}{by}"

    def _witnesses(self):
        methods = dict.fromkeys(
            item.numbers["witness"] for item in self.inputs if "witness" in item.numbers
        )
        known = [
            item.numbers["agreement"]
            for item in self.inputs
            if np.isfinite(item.numbers.get("agreement", np.nan))
        ]
        if not methods:
            return ""
        confirmed = f", confirmed by Richardson differences to {max(known):.0e}" if known else ""
        return f"witness: {' and '.join(methods)}{confirmed}"

    def to_dict(self):
        """Return the report as a dict that ``json.dumps`` accepts."""
        return {
            "title": self.title,
            "ok": self.ok,
            "verdict": self.verdict,
            "score": self.score,
            "error": plain(self.error),
            "numbers": plain(self.numbers),
            "problems": plain(self.problems),
            "notes": list(self.notes),
            "habits": plain(self.habits),
            "unjudged": list(self.unjudged),
            "inputs": [item.to_dict() for item in self.inputs],
        }

    @classmethod
    def from_dict(cls, entries):
        """Return a report, without curves, from the result of :meth:`to_dict`.

        The verdict is not read; it follows from the kinds.

        Parameters
        ----------
        entries : dict
            The report as a dict, such as ``json.loads`` returns.

        Returns
        -------
        Report
            The report.

        Raises
        ------
        KeyError
            If an entry is missing.
        """
        inputs = [
            InputVerdict(
                *(
                    restored(item[key])
                    for key in ("name", "kind", "words", "hint", "error", "numbers")
                ),
                reason=None if item.get("reason") is None else Reason(**item["reason"]),
            )
            for item in entries["inputs"]
        ]
        return cls(
            entries["title"],
            inputs,
            entries["problems"],
            entries["notes"],
            restored(entries["numbers"]),
            entries.get("habits", []),
            unjudged=entries.get("unjudged", []),
        )

    @property
    def figures(self):
        """The V-curve and the Taylor plot of every input, as HTML."""
        return "".join(drawn(name, curves) for name, curves in self.curves.items())

    def html(self):
        """Return the report as an HTML page, with the charts of every input."""
        return page([self])


def _grouped(items):
    """Return the lines of verdicts; inputs with the same sentence share one entry."""
    groups = {}
    for item in items:
        key = (
            (item.kind, item.words, item.numbers.get("where"), item.hint, item.reason)
            if not item.ok
            else id(item)
        )
        groups.setdefault(key, []).append(item)
    rows = []
    for several in groups.values():
        first, *rest = several[0].lines()
        if len(several) > 1:
            rest = [
                line
                for line in rest
                if line == several[0].numbers.get("where") or line.startswith("reason: ")
            ]
            rest += [
                f"{item.name}: {line}"
                for item in several
                for line in item.lines()[1:]
                if line.startswith(("wrong at", "off at", "error"))
            ]
        hint = [f"hint: {several[0].hint}"] if several[0].hint else []
        rows.append(
            (", ".join(item.name for item in several), f"{several[0].kind}: {first}", *rest, *hint)
        )
    return rows


def _joined(notes, names):
    """Return notes in which those that differ only by the name at their end are one note."""
    groups = {}
    for note in notes:
        name = next((name for name in names if note.endswith(f" {name}")), "")
        groups.setdefault(note.removesuffix(name), []).append(name)
    return [head + ", ".join(several) for head, several in groups.items()]


def _apart(got, expected):
    """Return "got ..., should be ..." with enough digits to distinguish the two numbers."""
    for digits in (6, 9, 12, 17):
        words = f"{got:.{digits}g}, should be {expected:.{digits}g}"
        if f"{got:.{digits}g}" != f"{expected:.{digits}g}":
            break
    return words


def _wrapped(line, indent):
    return textwrap.wrap(
        line,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    ) or [""]
