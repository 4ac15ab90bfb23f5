"""The checker is itself checked: every gradient of the package is spoiled in every way, and each
must be caught.

For each documented pair the mutations of :mod:`mutants.mutations` are made.  One that leaves the
value as it was is no mistake, one that raises counts as caught, and each of the rest is given to
:func:`ibpcl.verify.check`.  It is *caught* if the report blames every input whose gradient is
wrong, and *named* if moreover it gives each of them a name that :mod:`mutants.naming` accepts, and
blames no other input.
"""

import linecache
import time
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.inference.loop import progress_bar
from ibpcl.paper import pairs
from ibpcl.verify import check
from ibpcl.verify.running.trap import Trap
from mutants import naming
from mutants.mutations import KINDS, Mutation, mutations, sources
from mutants.subject import Subject

# share of the mutants that must be named
ENOUGH = 0.9
# pairs from which a sample is drawn
SAMPLED = 16
FILE = "<mutant of {}.{}>"


class Mutant(NamedTuple):
    """A pair with one planted mistake."""

    subject: Subject
    mutation: Mutation

    def __str__(self):
        return f"{self.subject.pair.name}: {self.mutation.words}"

    def mutated(self):
        """Compile the changed function in the namespace of its module and return the gradient that
        uses it.
        """
        original = self.subject.pair.f_vjp
        change = self.mutation
        namespace = dict(original.__globals__)
        for name, function in sources(original).items():
            text = change.source if name == change.function else self.subject.source(function)
            file = FILE.format(original.__module__, name)
            # The checker reads sources; a file that does not exist has its lines in the cache.
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
            exec(compile(text, file, "exec"), namespace)
        return namespace[original.__name__]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Attributes
    ----------
    mutant : Mutant
    fate : {"same", "raises", "caught", "missed"}
        The value did not change; the mutant raises; the report blames every wrong input; it does
        not.
    named : bool
        Whether the report names the mistake.
    words : str
        The exception, or what the report says of each wrong input.
    """

    mutant: Mutant
    fate: str
    named: bool = False
    words: str = ""

    @property
    def kind(self):
        """The kind of the mutation."""
        return self.mutant.mutation.kind


class Row(NamedTuple):
    """Counts of mutants: made; with another value; of these, raising, caught (raising or not), and
    named.
    """

    made: int
    changed: int
    raised: int
    caught: int
    named: int

    @property
    def share_named(self):
        """Named out of those that changed the value and returned; 1 if there are none."""
        returned = self.changed - self.raised
        return self.named / returned if returned else 1.0


@dataclass(frozen=True)
class Summary:
    """All verdicts of a run.

    Attributes
    ----------
    verdicts : list of Verdict
    seconds : float
    """

    verdicts: list
    seconds: float

    def row(self, kind=None):
        """Count the mutants of one kind, or all."""
        chosen = [verdict for verdict in self.verdicts if kind in (None, verdict.kind)]
        fates = Counter(verdict.fate for verdict in chosen)
        return Row(
            len(chosen),
            len(chosen) - fates["same"],
            fates["raises"],
            fates["raises"] + fates["caught"],
            sum(verdict.named for verdict in chosen),
        )

    @property
    def missed(self):
        """The mutants that were not caught."""
        return [verdict for verdict in self.verdicts if verdict.fate == "missed"]

    @property
    def unnamed(self):
        """The mutants that were caught and given a wrong name."""
        return [
            verdict for verdict in self.verdicts if verdict.fate == "caught" and not verdict.named
        ]

    @property
    def ok(self):
        """Whether every mutant was caught and enough of them were named."""
        return not self.missed and self.row().share_named >= ENOUGH

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
        rows = {kind or "all": self.row(kind) for kind in (*KINDS, None)}
        return {
            "ok": self.ok,
            "seconds": self.seconds,
            "kinds": {
                kind: {**row._asdict(), "share_named": row.share_named}
                for kind, row in rows.items()
            },
            "missed": [str(verdict.mutant) for verdict in self.missed],
            "unnamed": [
                {"mutant": str(verdict.mutant), "report": verdict.words} for verdict in self.unnamed
            ],
        }


def make(seed=0, count=None):
    """Make all mutants of the documented NumPy pairs; a function that several gradients share is
    changed once.

    Parameters
    ----------
    seed : int
        Of the points at which they are looked at, and of the choice of pairs.
    count : int, optional
        Of so many pairs, drawn at random; by default of all.

    Returns
    -------
    list of Mutant
    """
    found = []
    known = set()
    numpy_pairs = [
        pair
        for pair in pairs.documented_pairs()
        if not pair.f.__module__.startswith("ibpcl.kernels.")
    ]
    if count is not None:
        drawn = np.random.default_rng(seed).permutation(len(numpy_pairs))[:count]
        numpy_pairs = [numpy_pairs[at] for at in sorted(drawn)]
    for pair in numpy_pairs:
        subject = Subject(pair, seed)
        for function in sources(pair.f_vjp).values():
            if function not in known:
                known.add(function)
                found += [
                    Mutant(subject, mutation)
                    for mutation in mutations(function, subject.same_shape(function))
                ]
    return found


def judge(mutant, seed=0):
    """Let the checker look at one mutant and return the :class:`Verdict`.

    A diagnosis that raises is an error of the checker, and no mutant that merely has no name.
    """
    subject = mutant.subject
    f_vjp = mutant.mutated()
    with Trap() as trap, np.errstate(all="ignore"):
        gradients = subject.gradients(f_vjp)
    if trap.error is not None:
        return Verdict(mutant, "raises", words=str(trap))
    wrong = [j for j in range(len(subject.names)) if subject.changed(j, gradients)]
    if not wrong:
        return Verdict(mutant, "same")
    with np.errstate(all="ignore"):
        report = check(subject.f, f_vjp, subject.inputs, subject.names, seed=seed)
    failed = [item.words for item in report.inputs if "in the checker" in item.words]
    if failed:
        raise AssertionError(f"{mutant}: {failed}")
    blamed = [j for j, item in enumerate(report.inputs) if not item.ok]
    if not set(wrong) <= set(blamed):
        return Verdict(mutant, "missed", words=str(report))
    right = [naming.names(mutant.mutation, report.inputs[j], subject, j, gradients) for j in wrong]
    words = [
        f"{item.name}: {item.kind}: {item.words}" for item in (report.inputs[j] for j in blamed)
    ]
    return Verdict(mutant, "caught", blamed == wrong and all(right), "\n".join(words))


def run(progress=None, sample=None, seed=0):
    """Make the mutants, let the checker look at each, and count.

    Parameters
    ----------
    progress : bool, optional
        Show a progress bar: yes, no, or (None) on a terminal only.
    sample : int, optional
        At most this many mutants of each kind, drawn at random from some pairs; by default all of
        all pairs.
    seed : int
        Of the points, the cotangents and the sample.

    Returns
    -------
    Summary
    """
    start = time.perf_counter()
    mutants = make(seed, None if sample is None else SAMPLED)
    if sample is not None:
        order = np.random.default_rng(seed).permutation(len(mutants))
        drawn = [
            at
            for kind in KINDS
            for at in [n for n in order if mutants[n].mutation.kind == kind][:sample]
        ]
        mutants = [mutants[at] for at in sorted(drawn)]
    verdicts = []
    with progress_bar(len(mutants), "mutants", progress) as bar:
        for mutant in mutants:
            verdicts.append(judge(mutant, seed))
            bar.update()
    for file in [file for file in linecache.cache if file.startswith(FILE.split("{", 1)[0])]:
        del linecache.cache[file]
    return Summary(verdicts, time.perf_counter() - start)


def report(summary, verbose=False):
    """Return a table of a run, by kind of mutation, and every mutant that was missed.

    Parameters
    ----------
    summary : Summary
    verbose : bool
        Also every mutant that was given a wrong name, with what the report says.
    """
    lines = [
        f"{'planted mistake':<17}{'made':>6}{'changed':>9}{'raise':>7}{'caught':>8}{'named':>7}"
    ]
    for kind in (*KINDS, None):
        row = summary.row(kind)
        lines.append(
            f"{kind or 'all':<17}{row.made:6}{row.changed:9}{row.raised:7}"
            f"{row.caught:8}{row.named:7}"
            f"{row.share_named:9.1%}"
        )
    row = summary.row()
    share = row.caught / row.changed if row.changed else 1.0
    lines += [
        "",
        f"{'ok' if summary.ok else 'WRONG'}: of {row.changed} mutants that change the value "
        f"{share:.1%} are caught;",
        f"of those that return {row.share_named:.1%} are named; {summary.seconds:.0f} s",
    ]
    lines += [f"missed: {verdict.mutant}" for verdict in summary.missed]
    for verdict in summary.unnamed if verbose else ():
        lines += [
            f"{verdict.kind}: {verdict.mutant}",
            *(f"    {line}" for line in verdict.words.splitlines()),
        ]
    return "\n".join(lines)
