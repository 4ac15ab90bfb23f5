"""Names for the mistake in a wrong gradient: hypotheses in the order of their simplicity.

1. A mistake in the whole gradient (:mod:`ibpcl.verify.explain.whole`): its shape, its sign, a
   constant, a rearrangement, a sum.
2. A mistake that one change of the source mends (:mod:`ibpcl.codeview.slips`).
3. A path of the forward that was held constant (:mod:`ibpcl.verify.explain.missing_path`).
4. A factor or term that is missing in one place (:mod:`ibpcl.verify.explain.missing_factor`).
5. If no hypothesis fits, a list of the excluded mistakes, and the lines where a single mistake can
   still be.

A hypothesis counts if it explains the gradient for two cotangents and at a second point.
"""

import warnings

import numpy as np

from ibpcl.codeview.edits import edits_of
from ibpcl.codeview.location import Replacement
from ibpcl.codeview.search import affordable
from ibpcl.codeview.slips import LATE
from ibpcl.codeview.syntax import Recording
from ibpcl.verify.explain.constants import mistyped
from ibpcl.verify.explain.evidence import together_or_alone
from ibpcl.verify.explain.missing_factor import (
    STAGES,
    background,
    best_match,
    candidates,
    measured_places,
    named,
    patterned,
)
from ibpcl.verify.explain.missing_path import forgotten_path, watched_forward
from ibpcl.verify.explain.rewrites import (
    EDITING,
    FILLING,
    Bench,
    Suspects,
    find_edits,
    repaired,
)
from ibpcl.verify.explain.whole import (
    before_activation,
    digits_of,
    few_entries,
    late_factor,
    whole_gradient,
)
from ibpcl.verify.reports.kinds import Finding
from ibpcl.verify.reports.words import constant_name

MOST_COLUMNS = 40_000  # largest number of known arrays that are tried in the places
EARLY_STAGES = ("plain", "functions", "pairs", "sums")
LATE_STAGES = ("two", "order")


def diagnose(evidence, wrong):
    """Name the mistake in each wrong gradient.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    wrong : sequence of int
        Positions of the inputs whose gradients are wrong.

    Returns
    -------
    dict
        A :class:`ibpcl.verify.reports.kinds.Finding` for each position in ``wrong``.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        evidence.wrong = list(wrong)
        findings = {j: whole_gradient(evidence, j, wrong) for j in wrong}
        vague = [
            j
            for j, finding in findings.items()
            if finding is not None and finding.kind == "precision"
        ]
        if vague:
            findings.update(_mistyped(evidence, vague))
        named = {
            j: finding
            for j, finding in findings.items()
            if finding is not None and finding.kind != "wrong_shape"
        }
        searched = Search(evidence, wrong, findings).run() if len(named) < len(wrong) else {}
        for j, finding in searched.items():
            shape = f"; {findings[j].words}" if j not in named and findings[j] is not None else ""
            findings[j] = finding._replace(words=finding.words + shape)
        return findings


def _mistyped(evidence, inputs):
    """Return findings on a wrong number in the gradient, for all inputs or for each alone."""
    for group in together_or_alone(inputs):
        try:
            match = mistyped(evidence, group)
        except Exception:  # a changed function may do anything at all
            match = None
        if match is not None:
            constant, value = match
            words = (
                f"a number is wrong: {constant.name} should be {value:.10g}{constant_name(value)}"
            )
            repair = (Replacement(constant.where, f"{value:.10g}"),) if constant.where else ()
            finding = Finding("constant_factor", words, constant.where, repair=repair)
            return dict.fromkeys(group, finding)
    return {}


class Search:
    """The search for the place of a mistake: in the gradient's source, or in a path of the forward.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    wrong : sequence of int
        Positions of the inputs whose gradients are wrong.
    findings : dict
        What the whole gradient of each wrong input shows, by its position: a ``Finding`` or None.
        These findings are replaced only by one mistake that explains all wrong gradients.

    Attributes
    ----------
    bench : Bench
        Runs changed versions of the gradient function.
    code : Code or None
        Source of the gradient function, None if it cannot be read.
    recordings : list of Recording
        The values of its places in each trial; empty without source.
    left : list of int
        Inputs that need a name: without a finding, or with a wrong shape.
    shaped : list of int
        Inputs whose gradients are finite and have the right shape.
    found : dict
        The findings of this search, by position of the input.
    places : list of tuple
        Pairs of a group of inputs and the measured places in which one mistake can explain them.
    columns : int
        Number of known arrays that were tried so far.
    """

    def __init__(self, evidence, wrong, findings):
        self.evidence = evidence
        self.wrong = list(wrong)
        self.bench = Bench(evidence)
        self.left = [j for j in wrong if findings[j] is None or findings[j].kind == "wrong_shape"]
        self.shaped = [j for j in wrong if evidence.fits(j)]
        self.code = self.bench.code()
        self.recordings = [
            Recording(self.code, lambda f_vjp, trial=trial: self.bench.gradients(f_vjp, trial))
            for trial in range(len(evidence.trials))
            if self.code is not None
        ]
        self.found = {}
        self.places = []
        self.columns = 0

    def run(self):
        """Run the search.

        Returns
        -------
        dict
            A ``Finding`` for each input that had no name before, and for all wrong inputs if one
            mistake explains them.
        """
        self._look()
        self._each(self._unnamed)
        same = len({finding.words for finding in self.found.values()}) == 1 and len(
            self.found
        ) == len(self.wrong)
        return self.found if same else {j: self.found[j] for j in self.left if j in self.found}

    def _look(self):
        """Try one kind of mistake after another, the simplest first."""
        edits = []
        if self.code is not None:
            suspects = Suspects(self.bench, self.code, self.recordings[0])
            edits = edits_of(self.code, self.recordings[0], suspects)
        self._edit([edit for edit in edits if edit.rank < LATE])
        self._each(lambda j: before_activation(self.evidence, j))
        if not self._open():
            return
        # a path of the forward, then a mistyped number or a few right digits
        forward = watched_forward(self.evidence)
        if forward is not None:
            self._take(forgotten_path(forward, [j for j in self.shaped if j not in self.found]))
        self._take(_mistyped(self.evidence, [j for j in self._open() if j in self.shaped]))
        self._each(lambda j: late_factor(self.evidence, j))
        self._each(lambda j: digits_of(self.evidence, j, 5e-3))
        # a missing factor or term, a few wrong entries, then changes that are less likely
        if self.code is not None and self._open():
            self._measure(suspects, background(self.evidence, forward))
        for stage in EARLY_STAGES:
            self._fill(stage)
        self._each(lambda j: few_entries(self.evidence, j))
        self._edit([edit for edit in edits if edit.rank >= LATE])
        for stage in LATE_STAGES:
            self._fill(stage)

    def _open(self):
        """Return the inputs that still need a name."""
        return [j for j in self.left if j not in self.found]

    def _take(self, findings):
        """Keep findings for inputs that have none yet."""
        self.found.update({j: finding for j, finding in findings.items() if j not in self.found})

    def _each(self, attempt):
        """Try to name each unnamed gradient of the right shape by itself."""
        for j in self._open():
            result = attempt(j) if j in self.shaped else None
            if result is not None:
                self.found[j] = result

    def _edit(self, edits):
        """Try changes of the source within a time limit."""
        if not edits:
            return
        inputs = self.wrong if not self.found else self._open()
        most = affordable(EDITING, self.recordings[0].executed)
        edits = find_edits(self.bench, self.code, edits, inputs, self.left, most)
        for j, edit in edits.items():
            is_few = edit.kind == "few_entries" and j in self.shaped
            few = few_entries(self.evidence, j) if is_few else None
            self._take({j: repaired(self.code, edit, f"{few.words}; " if few else "")})

    def _measure(self, suspects, views):
        """Find the places where one mistake can explain all open inputs, or each alone."""
        inputs = [j for j in self.shaped if j not in self.found]
        end = self.bench.runs + affordable(FILLING, self.recordings[0].executed, 0.0)
        for group in together_or_alone(inputs):
            if set(group) & set(self.left):
                found = measured_places(
                    self.bench, self.code, self.recordings, group, end, suspects, views
                )
                found.sort(key=lambda measured: (not measured.telling, not measured.values))
                self.places.append((group, found))
                if len(group) > 1 and any(measured.telling for measured in found):
                    return

    def _fill(self, stage):
        """Look for the factor or term that belongs in a place."""
        for group, group_places in self.places:
            fits = [
                (*fit, measured.place)
                for measured in group_places
                if set(group) & set(self._open())
                for fit in self._fits(measured, stage, group)
            ]
            if fits:
                _, finding, place = min(fits, key=lambda fit: (fit[0], len(fit[2].text)))
                finding = finding._replace(where=self.code.location(place.node))
                self._take(dict.fromkeys(group, finding))

    def _fits(self, measured, stage, group):
        """Yield (cost, finding) of the best array for a measured place, if there is one."""
        if stage == "order":
            finding = patterned(measured)
            if finding is not None:
                yield 0, finding
            return
        columns = candidates(measured, stage) if self.columns < MOST_COLUMNS else []
        self.columns += len(columns)
        match = best_match(measured, columns, STAGES[stage])
        # A result that is not linear in dout was not meant as a gradient.  "This value belongs
        # there instead" would then be a coincidence.
        meant = match is not None and (
            match.relation in ("missing", "extra", "term", "less")
            or all(map(self.evidence.linear, group))
        )
        if meant:
            yield match.cost, named(measured, match)

    def _unnamed(self, j):
        """Return the finding on a mistake that no hypothesis explains."""
        evidence, (off, known) = self.evidence, self.evidence.off(j)
        where = (
            "wrong everywhere"
            if np.all(off[known])
            else f"wrong at {off.sum()} of {known.sum()} entries"
        )
        if np.array_equal(evidence.got(j, 0), evidence.got(j, 1)):
            return Finding(
                "elementwise_factor",
                "the gradient does not depend on dout: at least the factor dout is missing",
            )
        if np.any(off) and not np.any(evidence.got(j, 0)[off]):
            return Finding(
                "missing_term",
                f"one term missing: {where}, and zero there: nothing flows back to these entries",
            )
        linear = evidence.linear(j)
        if linear and evidence.missing_pattern(j):
            return Finding(
                "missing_term",
                "one term missing: the gradient is right where it is not zero, but some outputs "
                "do not flow back to some entries",
            )
        # without the source of the gradient function, no change of it was tried
        operations = "any usual slip in one place, " if self.code is not None else ""
        lines = dict.fromkeys(
            str(self.code.location(measured.place.node))
            for group, group_places in self.places
            for measured in group_places
            if j in group and measured.telling
        )
        return Finding(
            "wrong",
            f"{where}, and no simple mistake explains it: excluded are a sign, a constant factor, "
            f"a transpose, a sum over another axis, gradients exchanged or shifted, {operations}"
            "any single path of the forward held constant"
            + (
                f"; a single mistake can only be in {' or in '.join(lines)}"
                if 0 < len(lines) <= 3 and all(lines)
                else ""
            )
            + ("" if linear else "; it is not linear in dout, as every right gradient is"),
        )
