"""What a check found: for a person as text or a page, for a program as a dict, for a grader as a score."""

import textwrap
from dataclasses import dataclass, field

import numpy as np

from ibpcl.verify.page import drawn, page
from ibpcl.verify.plain import plain, restored
from ibpcl.verify.words import count

WIDTH = 80


def worst(verdicts):
    """Return the worst of some verdicts; nothing at all proves nothing.

    >>> worst(["ok", "undecided"]), worst(["undecided", "wrong"]), worst([])
    ('undecided', 'wrong', 'undecided')
    """
    verdicts = set(verdicts) or {"undecided"}
    return next(verdict for verdict in ("wrong", "undecided", "ok") if verdict in verdicts)


class Judged:
    """What has a ``verdict``: "ok" (proved right), "wrong" or "undecided"."""

    @property
    def ok(self):
        """Whether everything is proved right."""
        return self.verdict == "ok"

    @property
    def undecided(self):
        """Whether nothing is wrong, and something could not be decided."""
        return self.verdict == "undecided"

    def __str__(self):
        return self.text()


@dataclass
class InputVerdict(Judged):
    """What is known about the gradient of one input.

    Attributes
    ----------
    name : str
    kind : str
        Machine name, one of :data:`ibpcl.verify.KINDS`; ``"ok"`` if right.
    words : str
        The verdict as a sentence.
    hint : str
        What to look at; empty if right.
    error : float
        Largest relative error over all entries (or directions) that were compared.
    numbers : dict
        What the verdict rests on: entries compared, wrong and skipped at kinks, the worst one, the witness, its
        agreement with the second witness, the Taylor slope.
    """

    name: str
    kind: str
    words: str
    hint: str = ""
    error: float = float("nan")
    numbers: dict = field(default_factory=dict)

    @property
    def verdict(self):
        """One of "ok", "undecided" and "wrong"."""
        return self.kind if self.kind in ("ok", "undecided") else "wrong"

    @property
    def score(self):
        """One if right, zero if undecided; else half the share of entries that are right."""
        compared = self.numbers.get("compared", 0)
        share = 1 - self.numbers["wrong"] / compared if compared else 0.0
        return {"ok": 1.0, "undecided": 0.0, "wrong": 0.5 * share}[self.verdict]

    def lines(self):
        """Return the verdict as a list of lines without indentation."""
        n = self.numbers
        over = f"{n['directions']} random directions" if "directions" in n else count(n.get("compared", 0))
        skipped = f", {n['kinks']} skipped at kinks" if n.get("kinks") else ""
        if self.ok:
            allowed = f" (tolerance {n['rtol']:.0e})" if "rtol" in n else ""
            return [f"error {self.error:.1e}{allowed} over {over}{skipped}" + (f"; {self.words}" if self.words else "")]
        lines = [self.words]
        if self.kind == "undecided" and "rtol" in n and np.isfinite(self.error):
            lines.append(f"error {self.error:.1e} (tolerance {n['rtol']:.0e}) over {over}{skipped}")
        if "worst" in n:
            lines.append(f"wrong at {n['wrong']} of {count(n['compared'])}{skipped}; worst at {n['worst']}: got "
                         + _apart(n["got"], n["expected"]))
        if "where" in n:
            lines.append(n["where"])
        if np.isfinite(n.get("taylor_slope", np.nan)):
            lines.append(f"Taylor remainder: slope {n['taylor_slope']:.2f} (right: 2, wrong: 1)")
        return lines + ([f"hint: {self.hint}"] if self.hint else [])

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
        return {"name": self.name, "kind": self.kind, "ok": self.ok, "words": self.words, "hint": self.hint,
                "error": plain(self.error), "score": self.score, "numbers": plain(self.numbers)}


@dataclass
class Report(Judged):
    """Verdict on a gradient: one :class:`InputVerdict` for each input, and what concerns the pair as a whole.

    Attributes
    ----------
    title : str
        Name of the gradient function.
    inputs : list of InputVerdict
    problems : list of dict
        What makes the pair unfit (noise, infinities, overwritten arguments): ``kind``, ``words``, ``hint``.
    notes : list of str
        What is worth knowing but no mistake.
    numbers : dict
    """

    title: str
    inputs: list
    problems: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    numbers: dict = field(default_factory=dict)
    curves: dict = field(default_factory=dict, repr=False)

    @property
    def verdict(self):
        """One of "ok" (proved right), "wrong" and "undecided"."""
        return "wrong" if self.problems else worst(item.verdict for item in self.inputs)

    @property
    def score(self):
        """Mean of the inputs' scores, in 0..1; zero if the pair itself is unfit."""
        if self.problems or not self.inputs:
            return 0.0
        return float(np.mean([item.score for item in self.inputs]))

    @property
    def error(self):
        """Largest relative error among the inputs."""
        return float(max((item.error for item in self.inputs), default=0.0))

    def __getitem__(self, name):
        """Return the verdict on the input called ``name``."""
        for item in self.inputs:
            if item.name == name:
                return item
        raise KeyError(f"Report: no gradient of {name!r}; there are {', '.join(i.name for i in self.inputs)}")

    def text(self):
        """Return the report as text that fits into 80 columns."""
        wrong = [item for item in self.inputs if item.verdict == "wrong"]
        verdict = "ok" if self.ok else self.verdict.upper() + (
            f" for {len(wrong)} of {len(self.inputs)} inputs" if wrong else "")
        lines = [f"{self.title}: {verdict}, score {self.score:.2f}"]
        name_width = max((len(item.name) for item in self.inputs), default=0)
        indent = " " * (4 + min(name_width, 16))
        for item in self.inputs:
            first, *rest = item.lines()
            lines += _wrapped(f"  {item.name:<{name_width}}  {item.kind}: {first}", indent)
            for line in rest:
                lines += _wrapped(indent + line, indent + "  ")
        for problem in self.problems:
            lines += _wrapped(f"  {problem['kind']}: {problem['words']}", "    ")
            lines += _wrapped(f"    hint: {problem['hint']}", "      ")
        lines += [line for note in [self._witnesses(), *self.notes] if note for line in _wrapped(f"  {note}", "    ")]
        return "\n".join(lines)

    def _witnesses(self):
        methods = dict.fromkeys(item.numbers["witness"] for item in self.inputs if "witness" in item.numbers)
        known = [item.numbers["agreement"] for item in self.inputs
                 if np.isfinite(item.numbers.get("agreement", np.nan))]
        if not methods:
            return ""
        confirmed = f", confirmed by Richardson differences to {max(known):.0e}" if known else ""
        return f"witness: {' and '.join(methods)}{confirmed}"

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
        return {"title": self.title, "ok": self.ok, "verdict": self.verdict, "score": self.score,
                "error": plain(self.error), "numbers": plain(self.numbers), "problems": plain(self.problems),
                "notes": list(self.notes), "inputs": [item.to_dict() for item in self.inputs]}

    @classmethod
    def from_dict(cls, entries):
        """Restore a report, without curves, from :meth:`to_dict`; its verdict is made anew, of the kinds."""
        inputs = [InputVerdict(*(restored(item[key]) for key in ("name", "kind", "words", "hint", "error", "numbers")))
                  for item in entries["inputs"]]
        return cls(entries["title"], inputs, entries["problems"], entries["notes"], restored(entries["numbers"]))

    @property
    def figures(self):
        """The V-curve and the Taylor plot of every input, as HTML."""
        return "".join(drawn(name, curves) for name, curves in self.curves.items())

    def html(self):
        """Return the report as a page of its own, with the V-curve and the Taylor plot of every input."""
        return page([self])


def _apart(got, expected):
    """Return "got ..., should be ..." with as many digits as it takes to tell the two apart."""
    for digits in (6, 9, 12, 17):
        words = f"{got:.{digits}g}, should be {expected:.{digits}g}"
        if f"{got:.{digits}g}" != f"{expected:.{digits}g}":
            break
    return words


def _wrapped(line, indent):
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
                         drop_whitespace=True, replace_whitespace=False) or [""]
