"""Verdicts on forward functions, and the report on functions that belong together."""

import textwrap
from dataclasses import dataclass, field, replace

from ibpcl.codeview.location import NOWHERE, Location, Replacement
from ibpcl.verify.reports.plain import plain, typed
from ibpcl.verify.reports.report import Judged, worst

# A hint for each kind of mistake.
HINTS = {
    "sign": "look for a minus that is missing or too many",
    "constant_factor": "look for a constant factor: a half, a two, a mean in place of a sum",
    "factor": "a factor is missing or too many",
    "missing_term": "write the formula term by term, with its normalizing constant",
    "extra_term": "a term stands there twice, or belongs to another formula",
    "other_quantity": "compare the definition of the quantity",
    "reversed_divergence": "KL[q || p] averages over q; exchange the two distributions",
    "log_base": "use the natural logarithm: nats, not bits or bans",
    "other_scale": "exp, log, square or root: return the quantity itself",
    "complement": "1 - p stands where p belongs, or the other tail",
    "not_normalized": "integrate the density: its constant is wrong",
    "jacobian": "a change of variables multiplies the density by |dx/dy|",
    "of_another_variable": "a density of log x needs the Jacobian: add log |d log x / dx|",
    "inverted_jacobian": "the logarithm of the Jacobian has the wrong sign",
    "exchanged": "two parameters are exchanged",
    "parameter_scale": "a parameter is used on another scale: variance or deviation, rate or scale",
    "not_the_inverse": "put one function into the other: x must come back",
    "truncated": "sum more terms, or use a closed form",
    "edit": "change the named place",
    "not_a_bound": "a lower bound may never lie above the log evidence",
    "biased": "average the estimator over many draws",
    "outside": "draws must lie inside the support",
    "outside_support": "a distribution function is 0 below the support, and 1 above it",
    "sampler": "draw by the inverse of the distribution function, or by a known relation",
    "not_increasing": "a distribution function rises from 0 to 1",
    "raises": "make the function work for the given inputs",
    "non_finite": "choose a stable form, or parameters inside the domain",
    "wrong": "derive it again, and compare with the number that is given",
    "undecided": "give parameters, or the support, for which it can be decided",
}


def _wrapped(text, indent):
    """Return the lines of a sentence, broken at 88 columns."""
    return textwrap.wrap(
        text, 88, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


@dataclass
class ForwardVerdict(Judged):
    """Verdict on one forward function.

    Attributes
    ----------
    name : str
        Name of the function.
    verdict : {"ok", "wrong", "undecided"}
        The verdict.
    words : str
        The verdict as a sentence, with the number that decides it.
    kind : str
        Machine name of the mistake, one of :data:`HINTS`; ``"ok"`` if there is none.
    numbers : dict
        The numbers behind the verdict.
    where : ibpcl.codeview.location.Location
        The place of a mistake: the expression, or at least the function; false if unknown.
    repair : tuple of ibpcl.codeview.location.Replacement
        The text that repairs the source; empty if unknown.
    """

    name: str
    verdict: str
    words: str
    kind: str = "ok"
    numbers: dict = field(default_factory=dict)
    where: Location = NOWHERE
    repair: tuple = ()

    @property
    def hint(self):
        """Advice for the kind of mistake; empty if the function is right."""
        return HINTS.get(self.kind, "")

    def text(self):
        """Return the verdict as lines."""
        state = "ok" if self.verdict == "ok" else self.verdict.upper()
        lines = _wrapped(f"{self.name}: {state}: {self.words}", "  ")
        if self.verdict == "wrong" and self.where:
            lines += _wrapped(f"    {self.where}", "      ")
        if self.verdict != "ok":
            lines += _wrapped(f"    hint: {self.hint}", "      ")
        return "\n".join(lines)

    def to_dict(self):
        """Return the content as a dict that ``json.dumps`` accepts."""
        return {**plain(self), "hint": self.hint}


@dataclass
class ForwardReport(Judged):
    """The verdicts on functions that belong together, such as a density and its sampler.

    Attributes
    ----------
    title : str
        Name of the group of functions.
    items : list of ForwardVerdict
        One verdict for each function.
    notes : list of str
        Assumptions, such as a guessed support.
    """

    title: str
    items: list
    notes: list = field(default_factory=list)

    @property
    def verdict(self):
        """The worst of all verdicts."""
        return worst([item.verdict for item in self.items])

    @property
    def score(self):
        """The share of functions that are right."""
        if not self.items:
            return 0.0
        return sum(item.verdict == "ok" for item in self.items) / len(self.items)

    def __getitem__(self, name):
        """Return the verdict on a function by its name."""
        return next(item for item in self.items if item.name == name)

    def text(self):
        """Return everything as lines."""
        state = "ok" if self.verdict == "ok" else self.verdict.upper()
        lines = [f"{self.title}: {state}"]
        lines += [f"  {line}" for item in self.items for line in item.text().splitlines()]
        for note in self.notes:
            lines += _wrapped(f"  note: {note}", "    ")
        return "\n".join(lines)

    def to_dict(self):
        """Return the content as a dict that ``json.dumps`` accepts."""
        return {
            "title": self.title,
            "verdict": self.verdict,
            "score": self.score,
            "items": [item.to_dict() for item in self.items],
            "notes": list(self.notes),
        }

    @staticmethod
    def from_dict(content):
        """Return a report from the result of :meth:`to_dict`.

        Parameters
        ----------
        content : dict
            The report as a dict, such as ``json.loads`` returns.

        Returns
        -------
        ForwardReport
            The report.  Its verdict is not read; it follows from the items.

        Raises
        ------
        KeyError
            If an entry is missing.
        """
        nested = {"where": Location, "repair": Replacement}
        items = [typed(ForwardVerdict, item, nested) for item in content["items"]]
        for number, item in enumerate(items):
            if item.verdict not in ("ok", "undecided"):
                items[number] = replace(item, verdict="wrong")
        return ForwardReport(str(content["title"]), items, list(map(str, content["notes"])))
