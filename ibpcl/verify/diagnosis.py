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

from ibpcl.verify import shapes
from ibpcl.verify.bench import EDITING, FILLING, QUICK, Bench, affordable, find_edits
from ibpcl.verify.edits import LATE, edits_of, grafts_of
from ibpcl.verify.holes import background, holes, recorded
from ibpcl.verify.kinds import Finding
from ibpcl.verify.matches import attempts, best_match, known_at, match_in_part, match_words, patterned
from ibpcl.verify.paths import forgotten_path, watched_forward
from ibpcl.verify.suspects import Suspects
from ibpcl.verify.words import constant_name, count, place

MOST_COLUMNS = 80_000   # known arrays that are tried in the places
FEW = 1 / 3             # at most this share of wrong entries counts as "a few"


def diagnose(evidence, wrong):
    """Name the mistake for each wrong input.

    Parameters
    ----------
    evidence : Evidence
    wrong : sequence of int
        Positions of the inputs whose gradients are wrong.

    Returns
    -------
    dict of int to Finding
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        evidence.wrong = list(wrong)
        findings = {j: _whole_gradient(evidence, j, wrong) for j in wrong}
        plain = {j: finding for j, finding in findings.items() if finding is not None and finding.kind != "wrong_shape"}
        left = [j for j in wrong if j not in plain]
        if left:
            found = Search(evidence, wrong, findings).run()
            for j in wrong:
                if j in found and j in left and findings[j] is not None:
                    findings[j] = found[j]._replace(words=f"{found[j].words}; {findings[j].words}")
                elif j in found:
                    findings[j] = found[j]
                elif j in left:
                    findings[j] = _of_another_shape(evidence, j, findings[j])
        return findings


class Search:
    """The search for the place of a mistake: in the gradient's source, or in a path of the forward.

    Parameters
    ----------
    evidence : Evidence
    wrong : list of int
        Inputs whose gradients are wrong.
    findings : dict of int to Finding or None
        What the whole gradient shows of them.  It is replaced only by one mistake that explains all of them.
    """

    def __init__(self, evidence, wrong, findings):
        self.evidence, self.wrong = evidence, list(wrong)
        self.left = [j for j in wrong if findings[j] is None or findings[j].kind == "wrong_shape"]
        self.shaped = [j for j in wrong if evidence.fits(j)]
        self.found, self.bench = {}, Bench(evidence)
        self.code = self.bench.code() or self.bench.shell()
        self.recordings = recorded(self.bench, self.code) if self.code is not None else []
        self.suspects = Suspects(self.bench, self.code, self.recordings[0]) if self.code is not None else None
        self.edits, self.known = {}, {}
        self.places, self.columns = [], 0               # (wrong inputs, holes with what is known at them)

    def run(self):
        """Return a finding for each input that was not named before, and for all if one mistake explains them."""
        late = []
        if self.code is not None:
            edits = edits_of(self.code, self.recordings[0].values, self.recordings[0].scopes)
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
            digits = _digits(self.evidence, j, 5e-3) if j in self.shaped else None
            if digits is not None:
                self.found[j] = Finding(*digits)
        views = background(self.evidence, forward) if self._open() else []
        for stage in ("plain", "one", "matrix", "sum", "part"):
            self._fill(stage, views)
        for j in self._open():
            few = few_entries(self.evidence, j) if j in self.shaped else None
            if few:
                self.found[j] = Finding("few_entries", few)
        if self._open() and self.code is not None:
            grafts = grafts_of(self.code, self.recordings[0].values, self.recordings[0].counts)
            self._edit(late + sorted(grafts, key=lambda edit: edit.rank), EDITING)
            self._name_edits()
        self._fill("two", views)
        self._pattern()
        for j in self._open():
            if j in self.shaped:
                telling = [hole for group, found in self.places for hole in found if j in group and hole.telling]
                self.found[j] = _unnamed(self.evidence, j, telling, self.code)
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
        return find_edits(self.bench, self.code, edits, inputs, self.left,
                          affordable(seconds, self.recordings[0].executed), self.edits)

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
            fits = [(match, hole) for match, hole in fits if match is not None]
            if fits:
                match, hole = min(fits, key=lambda fit: fit[0].cost)
                factor = (match.relation, match.smallest, match.largest)
                finding = Finding(*match_words(hole, match), self.code.line(hole.place.node),
                                  factor if match.relation in ("missing", "extra") else None)
                self._take(dict.fromkeys(group, finding))

    def _match(self, hole, stage, views):
        known = self.known.setdefault(id(hole), None) or known_at(hole, views)
        self.known[id(hole)] = known
        if stage == "part":
            return match_in_part(hole, known)
        for columns, relations in attempts(hole, known, stage):
            self.columns += len(columns)
            match = best_match(hole, columns, relations) if columns and self.columns < MOST_COLUMNS else None
            if match is not None:
                return match
        return None


def _of_another_shape(evidence, j, finding):
    """Look at a gradient that broadcasts to the shape of its input as if it had been written in full."""
    got, shape = evidence.got(j, 0), evidence.problem.shape(j)
    if got is None or got.dtype.kind != "f" or got.ndim > len(shape) or not all(
            a in (1, b) for a, b in zip(reversed(got.shape), reversed(shape), strict=False)):
        return finding
    full = evidence.broadcast(j)
    if full.explains(j, full.each(lambda t: full.got(j, t))):
        return finding                                  # nothing is wrong but the shape
    inner = diagnose(full, [j])[j]
    return finding if inner.kind in ("wrong", "wrong_shape") else inner._replace(
        words=f"{inner.words}; {finding.words}")


def _whole_gradient(evidence, j, wrong):
    """Try the mistakes that concern the whole gradient; None if it is none of them."""
    got, shape = evidence.got(j, 0), evidence.problem.shape(j)
    if got is None or got.dtype.kind not in "fiub" or got.shape != shape:
        return Finding(*shapes.wrong_shape(evidence, j))
    bad = ~np.isfinite(got.astype(float))
    if np.any(bad):
        return Finding("non_finite", f"not finite at {bad.sum()} of {count(got.size)}, first at "
                       f"{place(np.flatnonzero(bad)[0], shape)}; the true gradient is finite there")
    if not np.any(evidence.truth(j).jacobian):
        return Finding(*_flat(evidence, j))
    if all(not np.any(evidence.got(j, t)) for t in range(len(evidence.trials))):
        return Finding("missing_term", "the gradient is zero everywhere: the whole of it is missing")
    if evidence.explains(j, evidence.each(lambda t: -evidence.got(j, t))):
        return Finding("sign", "the sign is wrong: it is minus the true gradient")
    if evidence.explains(j, evidence.each(lambda t: evidence.got(j, t))):
        few = few_entries(evidence, j)                  # so little is off that every hypothesis would fit
        return Finding("few_entries", few) if few else _precision(evidence, j)
    other = shapes.swapped(evidence, j)
    if other in wrong:
        return Finding("swapped", "gradients of two inputs are swapped: this is the gradient of "
                       f"{evidence.problem.names[other]}")
    for attempt in (_constant, shapes.rearranged, shapes.permuted, _outputs, shapes.by_cotangent, shapes.resummed,
                    _digits):
        found = attempt(evidence, j)
        if found is not None:
            return Finding(*found)
    return None


def _flat(evidence, j):
    """Name the claim of a derivative where the forward has none: (kind, words)."""
    problem, x = evidence.problem, np.asarray(evidence.problem.point[j])
    func, here = problem.function_of(j), problem.vector()
    far = [func(x + step * (np.abs(x) + 0.1)) for step in (-1.0, -0.3, 0.3, 1.0)]
    if any(np.any(np.isfinite(there) & (there != here)) for there in far):
        return "piecewise_constant", "the forward is piecewise constant in this input (rounded, thresholded or " \
            "one-hot), so its true derivative is zero; what is returned is a straight-through estimate, not a gradient"
    return "missing_term", \
        "the forward does not depend on this input at all, so its true gradient is zero: a term too many"


def _digits(evidence, j, most=1e-3):
    """Name a gradient that is right to a few digits, everywhere and in every trial: (kind, words) or None."""
    worst = 0.0
    for t in range(len(evidence.trials)):
        gap, scale = _gap_and_scale(evidence, j, t)
        if scale == 0:
            return None
        worst = max(worst, gap / scale)
    if not 0 < worst < most or (worst > 1e-6 and few_entries(evidence, j)):
        return None
    return _precision_words(worst)


def _precision_words(worst):
    digits = int(-np.log10(worst))
    why = "float32 on the way" if 1e-9 < worst < 3e-6 else "a numerical derivative, an epsilon, or cancellation"
    return "precision", f"right to {digits} digits only (relative error {worst:.1e}): probably {why}"


def _precision(evidence, j):
    gap, scale = _gap_and_scale(evidence, j, 0)
    return Finding(*_precision_words(max(gap / (scale or 1.0), 1e-16)))


def _gap_and_scale(evidence, j, t):
    """Return the largest error of the gradient in a trial, and the largest entry of the true one."""
    value, _ = evidence.expected(j, t)
    known = ~np.isnan(value)
    gap = np.abs(evidence.got(j, t)[known] - value[known])
    return float(np.max(gap, initial=0.0)), float(np.max(np.abs(value[known]), initial=0.0))


def _constant(evidence, j):
    """Find one constant that relates the gradient to the true one in all trials."""
    value, _ = evidence.expected(j, 0)
    known = ~np.isnan(value)
    got = evidence.got(j, 0)
    square = float(np.sum(value[known] ** 2))
    factor = float(np.sum(got[known] * value[known])) / square if square > 0 else 0.0
    if factor == 0 or not evidence.explains(j, evidence.each(lambda t: evidence.got(j, t) / factor)):
        return None
    name, sizes = constant_name(factor), _sizes(evidence, j)
    shape, outputs = evidence.problem.shape(j), evidence.problem.call()[0]
    for n, words in sizes:
        if n > 1 and abs(factor * n - 1) < 1e-6:
            if (n > 2 and n not in shape) or any(out.shape.count(n) > shape.count(n) for out in outputs):
                return "mean", f"mean where the sum belongs: off by {factor:.4g} (= 1/{n}, {words})"
            return "constant_factor", f"constant factor {factor:.4g} (= 1/{n}, {words}?)"
        if n > 1 and abs(abs(factor) / n - 1) < 1e-6:
            minus, sign = ("minus ", "; the sign is wrong too") if factor < 0 else ("", "")
            return "constant_factor", \
                f"constant factor {factor:.4g} (= {minus}{words}: a sum where a mean belongs?){sign}"
    digits = 4 if abs(factor - 1) > 1e-3 else 12
    return "constant_factor", f"constant factor {factor:.{digits}g}{name}"


def _sizes(evidence, j):
    """Return (number, words) for sizes that a mean may have divided by: outputs' axes, inputs' axes, totals."""
    sizes = []
    for out in evidence.problem.call()[0]:
        sizes += [(n, f"the size of axis {axis} of the output") for axis, n in enumerate(out.shape)]
        sizes.append((out.size, "the size of the output"))
    sizes += [(n, f"the size of axis {axis}") for axis, n in enumerate(evidence.problem.shape(j))]
    sizes.append((int(np.prod(evidence.problem.shape(j))), "the size of this input"))
    for name, value in zip(evidence.problem.names, evidence.problem.point, strict=True):
        sizes += [(n, f"the size of axis {axis} of {name}") for axis, n in enumerate(np.shape(value))]
    return sizes


def _outputs(evidence, j):
    weights = shapes.by_output(evidence, j)
    if weights is None:
        return None
    o = int(np.argmax(np.abs(weights - 1)))
    if weights[o] == 0:
        return "missing_term", f"one term missing: what flows back from output {o} is ignored (dout[{o}])"
    if weights[o] == -1:
        return "sign", f"what flows back from output {o} has the wrong sign"
    return "constant_factor", f"what flows back from output {o} is off by the factor {weights[o]:.4g}" \
        f"{constant_name(weights[o])}"


def few_entries(evidence, j):
    """Return words on where the gradient is wrong if that is at few entries, else None."""
    (off, known), value = evidence.off(j), evidence.expected(j, 0)[0]
    wrong, total = int(off.sum()), int(known.sum())
    if total < 3 or wrong == 0 or wrong > max(1, FEW * total):
        return None
    gap = np.where(off, np.abs(evidence.got(j, 0) - value), -1)
    words = f"wrong at {wrong} of {total} entries, worst at {place(int(np.argmax(gap)), value.shape)}"
    for axis, places in enumerate(np.nonzero(off)):
        if len(set(places.tolist())) == 1 and value.ndim > 1 and wrong > 1:
            words += f", all at index {places[0]} of axis {axis}"
    zero = off & (evidence.got(j, 0) == 0)
    if np.array_equal(zero, off):
        words += "; these are zero, so nothing flows back to them"
    return words


def _unnamed(evidence, j, telling, code):
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
    more = ", any change of one operation, any single path of the forward held constant" if code is not None else ""
    lines = dict.fromkeys(code.line(hole.place.node) for hole in telling) if code is not None else {}
    can = f"; a single mistake can only be in {' or in '.join(lines)}" if 0 < len(lines) <= 3 else ""
    words = f"{where}, and not by one simple mistake: excluded are {excluded}{more}{can}"
    if not linear:
        words += "; it is not linear in dout, which every right one is"
    return Finding("wrong", words)
