"""Name the mistake in a gradient that is wrong: hypotheses in the order of their simplicity.

1. What concerns the whole gradient (:mod:`ibpcl.verify.shapes`): its shape, sign, a constant, a rearrangement, a sum.
2. One place of the source changed (:mod:`ibpcl.verify.edits`).
3. A path of the forward that was held constant (:mod:`ibpcl.verify.paths`).
4. A factor or term that is missing in one place (:mod:`ibpcl.verify.holes`).
5. Where nothing fits: what was excluded, and where a single mistake can still be.

A hypothesis counts if it explains the gradient for two cotangents and at a second point.
"""

import warnings

import numpy as np

from ibpcl.verify.bench import EDITING, FILLING, QUICK, Bench, affordable, find_edits
from ibpcl.verify.edits import LATE, edits_of
from ibpcl.verify.holes import background, holes, recorded
from ibpcl.verify.kinds import Finding
from ibpcl.verify.matches import STAGES, best_match, candidates, known_at, match_words, patterned
from ibpcl.verify.paths import forgotten_path, watched_forward
from ibpcl.verify.suspects import Suspects
from ibpcl.verify.whole import digits_of, few_entries, whole_gradient

MOST_COLUMNS = 40_000   # known arrays that are tried in the places


def diagnose(evidence, wrong):
    """Return a :class:`Finding` for each of the inputs ``wrong``, by positions, whose gradients are wrong."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        evidence.wrong = list(wrong)
        findings = {j: whole_gradient(evidence, j, wrong) for j in wrong}
        plain = {j: finding for j, finding in findings.items() if finding is not None and finding.kind != "wrong_shape"}
        found = Search(evidence, wrong, findings).run() if len(plain) < len(wrong) else {}
        for j, finding in found.items():
            shape = f"; {findings[j].words}" if j not in plain and findings[j] is not None else ""
            findings[j] = finding._replace(words=finding.words + shape)
        return findings


class Search:
    """The search for the place of a mistake: in the gradient's source, or in a path of the forward.

    ``findings`` is what the whole gradients of the wrong inputs show; it is replaced only by one mistake that explains
    all of them.
    """

    def __init__(self, evidence, wrong, findings):
        self.evidence, self.wrong = evidence, list(wrong)
        self.left = [j for j in wrong if findings[j] is None or findings[j].kind == "wrong_shape"]
        self.shaped = [j for j in wrong if evidence.fits(j)]
        self.found, self.bench = {}, Bench(evidence)
        self.code = self.bench.code() or self.bench.shell()
        self.recordings = recorded(self.bench, self.code) if self.code is not None else []
        self.suspects = Suspects(self.bench, self.code, self.recordings[0]) if self.code is not None else None
        self.edits, self.known, self.untried = {}, {}, 0
        self.places, self.columns = [], 0               # (wrong inputs, holes with what is known at them)

    def run(self):
        """Return a finding for each input that was not named before, and for all if one mistake explains them."""
        late = []
        if self.code is not None:
            edits = edits_of(self.code, self.recordings[0], self.suspects)
            late = [edit for edit in edits if edit.rank >= LATE]
            left = self._edit([edit for edit in edits if edit.rank < LATE], QUICK)
            if left and any(j not in self.edits for j in self.left):
                self._measure()
                self._edit(sorted(left, key=self.suspects.unlikely), EDITING)
            self._name_edits()
        if not self._open():
            return self._result()
        if self.code is not None and not self.places:
            self._measure()
        forward = watched_forward(self.evidence)
        if forward is not None:
            self._take(forgotten_path(forward, [j for j in self.shaped if j not in self.found]))
        for j in self._open():
            digits = digits_of(self.evidence, j, 5e-3) if j in self.shaped else None
            if digits is not None:
                self.found[j] = Finding(*digits)
        views = background(self.evidence, forward) if self._open() else []
        for stage in ("plain", "functions", "products", "pairs", "sums"):
            self._fill(stage, views)
        for j in self._open():
            few = few_entries(self.evidence, j) if j in self.shaped else None
            if few:
                self.found[j] = Finding("few_entries", few)
        if self._open() and self.code is not None:
            self._edit(late, EDITING)
            self._name_edits()
        self._fill("two", views)
        self._pattern()
        for j in self._open():
            if j in self.shaped:
                telling = [hole for group, found in self.places for hole in found if j in group and hole.telling]
                self.found[j] = _unnamed(self.evidence, j, telling, self.code, self.untried)
        return self._result()

    def _open(self):
        return [j for j in self.left if j not in self.found]

    def _take(self, findings):
        self.found.update({j: finding for j, finding in findings.items() if j not in self.found})

    def _result(self):
        """Return the findings; those of inputs that were named before count only if all have the same."""
        same = len({finding.words for finding in self.found.values()}) == 1 and len(self.found) == len(self.wrong)
        return self.found if same else {j: self.found[j] for j in self.left if j in self.found}

    def _edit(self, edits, seconds):
        """Try edits in the time given; returns those that there was no time for."""
        inputs = self.wrong if not self.found else self._open()
        edits = [edit for edit in edits if self.suspects.allow(edit)]
        left = find_edits(self.bench, self.code, edits, inputs, self.left,
                          affordable(seconds, self.recordings[0].executed), self.edits)
        self.untried = len(left)
        return left

    def _name_edits(self):
        for j, (edit, _) in self.edits.items():
            few = few_entries(self.evidence, j) if edit.kind == "few_entries" and j in self.shaped else None
            words = f"{few}; {edit.words()}" if few else edit.words()
            self._take({j: Finding(edit.kind, words, self.code.line(edit.node))})

    def _measure(self):
        """Find the places in which one mistake may be: of all wrong inputs, and of each alone if there is none."""
        inputs = [j for j in self.shaped if j not in self.found]
        most = affordable(FILLING, self.recordings[0].executed, 0.0)
        for group in ([inputs] if len(inputs) > 1 else []) + [[j] for j in inputs if j in self.left]:
            start = self.bench.runs
            found, innocent = holes(self.bench, self.code, self.recordings, group, most, self.suspects)
            most -= self.bench.runs - start
            self.places.append((group, sorted(found, key=lambda hole: (not hole.telling, hole.right is None))))
            if len(group) == len(inputs) and found:
                self.suspects.innocent = innocent
                self.suspects.likely = {hole.place.statement for hole in found if hole.telling and hole.place.whole}
            if len(group) > 1 and any(hole.telling for hole in found):
                break

    def _pattern(self):
        """Name what the right values of a place have in common with its own: of one that explains all, if there is."""
        for group, found in self.places:
            for hole in found:
                named = patterned(hole) if any(j in self._open() for j in group) else None
                if named is not None:
                    self._take(dict.fromkeys(group, Finding(*named, self.code.line(hole.place.node))))

    def _fill(self, stage, views):
        """Look for what a place would have to be."""
        for group, found in self.places:
            fits = [(self._match(hole, stage, views), hole) for hole in found if any(j in self._open() for j in group)]
            fits = [(match, hole) for match, hole in fits if match is not None and self._meant(match, group)]
            if fits:
                match, hole = min(fits, key=lambda fit: (fit[0].cost, len(fit[1].place.text)))
                factor = (match.relation, match.smallest, match.largest)
                finding = Finding(*match_words(hole, match), self.code.line(hole.place.node),
                                  factor if match.relation in ("missing", "extra") else None)
                self._take(dict.fromkeys(group, finding))

    def _meant(self, match, group):
        """Return whether a value may stand for another one: what is not linear in dout was not meant as a gradient."""
        return match.relation in ("missing", "extra", "term", "less") or all(map(self.evidence.linear, group))

    def _match(self, hole, stage, views):
        if id(hole) not in self.known:
            self.known[id(hole)] = known_at(hole, views)
        if self.columns >= MOST_COLUMNS:
            return None
        columns = candidates(hole, self.known[id(hole)], stage)
        self.columns += len(columns)
        return best_match(hole, columns, STAGES[stage]) if self.columns < MOST_COLUMNS else None


def _unnamed(evidence, j, telling, code, untried):
    """Return what can be said of a mistake for which no explanation was found."""
    value, _ = evidence.expected(j, 0)
    off, known = evidence.off(j)
    where = "wrong everywhere" if np.all(off[known]) else f"wrong at {off.sum()} of {known.sum()} entries"
    if np.array_equal(evidence.got(j, 0), evidence.got(j, 1)):
        return Finding("elementwise_factor",
                       "the gradient does not depend on dout: the factor dout is missing, if not more")
    zero = off & (evidence.got(j, 0) == 0) & (np.abs(value) > 0)
    if np.any(off) and np.array_equal(zero, off):
        return Finding("missing_term",
                       f"one term missing: {where}, and zero there: nothing flows back to these entries")
    linear = evidence.linear(j)
    if linear and evidence.missing_pattern(j):
        return Finding("missing_term", "one term missing: the gradient is right where it is not zero, but some "
                       "outputs do not flow back to some entries")
    excluded = "a sign, a constant factor, a transpose, a sum over another axis, gradients exchanged or shifted"
    rest = f" (all but {untried}, for which there was no time)" if untried else ""
    more = f", any change of one operation{rest}, any single path of the forward held constant" if code is not None \
        else ""
    lines = dict.fromkeys(code.line(hole.place.node) for hole in telling) if code is not None else {}
    can = f"; a single mistake can only be in {' or in '.join(lines)}" if 0 < len(lines) <= 3 else ""
    words = f"{where}, and not by one simple mistake: excluded are {excluded}{more}{can}"
    if not linear:
        words += "; it is not linear in dout, which every right one is"
    return Finding("wrong", words)
