"""Reasons for a difference that come from how code computes, not from how it was derived.

The verdict is that of the user's code: its gradient is compared with derivatives of its forward as
it is written, and all numbers of the report are those.  If the gradient differs, the pair is run
again without limits, casts and guards, or with longer constants.  If the gradient is right
then, this explains the whole difference, and the reason stands beside the verdict.

The verdict follows from the relative error at the user's inputs:

- Up to :data:`SINGLE`, it is ok: a program in float32 cannot show the difference.
- Above, it is wrong.
- A guard of at most :data:`SAFETY` is written for safety, and may be no part of the function.  If
  it explains an error of up to :data:`DEBATABLE`, the verdict is undecided: the user can say which
  function is meant.

So ``-log(p + 1e-8)`` with the gradient of ``-log(p)`` is ok at ``p = 0.1`` and undecided at
``p = 1e-4``, and ``-log(p + 1e-3)`` is wrong at both.  A difference without such a reason is wrong
at any size above the tolerance.

A forward that rounds, as with a cast to float32, is a function of steps.  Its differences are
coarse, so they cannot confirm a right gradient.  Such a forward is also measured in float64, which
decides if the differences leave it open.

A limit that does not act at the inputs changes no number there, and is a note.  A limit that acts
makes the gradient wrong, and is the reason.
"""

import numpy as np

from ibpcl.verify.derivative.problem import is_float
from ibpcl.verify.explain.constants import Slopes, rounded
from ibpcl.verify.explain.details import Details, choices_of
from ibpcl.verify.explain.evidence import Evidence, together_or_alone
from ibpcl.verify.reports.kinds import HINTS, Reason

# Eight units in the last place of float32.
SINGLE = 2.0**-20
# Largest guard that is written for safety, and largest difference by it that may be meant.
SAFETY = 1e-6
DEBATABLE = 1e-3
# Differences of a forward that rounds may be off by this much in small entries.  Its gradient may
# be off by DEBATABLE.
ROUNDED = 0.2
# Largest difference that rounded constants of three digits can explain.
LAST_DIGITS = 1e-2
# Two errors that agree to this share are one measurement.
SAME = 0.1
# A choice of guards must explain this share of a difference before every entry is compared.
EXPLAINED = 0.5
# The kind of a wrong gradient by the kind of its reason.
KINDS = {"guard": "guard", "constant": "constant_factor", "limit": "not_linear"}


class Reasons:
    """The search for the reasons of differences, and what it tells about the pair.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    verdicts : dict of int to InputVerdict
        The verdicts on the pair.  Those with a reason are changed.
    references : dict
        The reference derivatives of the pair, by position of the input.
    terms : ibpcl.verify.agreement.Terms
        How pairs are compared.

    Attributes
    ----------
    problem : Problem
        The pair without its limits, and in float64 if the forward rounds.
    known : dict
        For each input with a reason, the pair for which its gradient is right, and the reason.  The
        pair is None for rounded constants.
    bare : Problem
        The pair also without its guards, where it runs without them.  Mistakes are named with it.
    references : dict
        The derivatives that were measured for ``bare``, by position of the input.
    left : list of int
        Positions of the inputs whose difference has no reason so far.
    errors : dict of int to float
        Relative errors of the gradients: those of the code as it is, until a limit or a cast
        explains a part of them.
    """

    def __init__(self, problem, verdicts, references, terms):
        self.problem = problem
        self.verdicts = verdicts
        self.references = dict(references)
        self.terms = terms
        self.known = {}
        self.bare = problem
        self.guards = []
        self.rounding = []
        self.left = [
            j
            for j, verdict in verdicts.items()
            if verdict.kind in ("wrong", "undecided", "kink") and verdict.numbers.get("compared")
        ]
        self.errors = {j: verdicts[j].error for j in self.left}

    def by_known(self, known):
        """Settle differences at another point by the reasons that were found at the first one.

        Parameters
        ----------
        known : dict
            The attribute ``known`` of the search at the first point.
        """
        for j in [j for j in self.left if j in known]:
            pair, reason = known[j]
            if pair is not None and self._is_right(pair.at(self.problem.point), j):
                settle(self.verdicts[j], reason, 0.0)
        self.left = [j for j in self.left if self.verdicts[j].kind != "ok"]

    def by_type(self):
        """Settle the verdicts on float32 inputs whose gradients are stored in float32."""
        gradients = self.problem.gradients(self.terms.w[0])
        for j in list(self.left):
            verdict = self.verdicts[j]
            gradient = np.asarray(gradients[self.problem.wrt.index(j)])
            small = [
                is_float(value) and np.asarray(value).dtype.itemsize < 8
                for value in (self.problem.native[j], gradient)
            ]
            if all(small) and verdict.kind == "wrong" and verdict.error <= SINGLE:
                words = f"the gradient is stored in {gradient.dtype}, as the input is"
                settle(verdict, Reason("cast", words), verdict.error)
                self.left.remove(j)

    def by_limit(self, free, finding):
        """Settle the verdicts on gradients that are right without a limit.

        Parameters
        ----------
        free : Problem
            The pair without the limit.
        finding : Finding
            The limit and its place.
        """
        words = "a limit of the gradient acts at these inputs; without it, the gradient is right"
        self.problem = self.bare = free
        for j, verdict in self.terms.judged(free, self.left)[1].items():
            if verdict.kind == "ok":
                self._take(j, free, Reason("limit", words, finding.where))
            else:
                self.errors[j] = verdict.error

    def by_double(self):
        """Let derivatives in float64 decide on a forward that rounds."""
        self.details = Details(self.problem, self.terms.w[0])
        self.guards = self.details.guards()
        casts = [guard for guard in self.guards if guard.kind == "cast"]
        exact = self.details.without(casts) if casts else None
        if exact is None:
            return
        self.rounding = casts
        references, again = self.terms.judged(exact, self.left)
        names = _named([guard for guard in casts if guard.side == 0])
        for j, verdict in again.items():
            if verdict.kind == "ok":
                self._accept_in_double(j, exact, names)
            elif verdict.kind == "wrong":
                _reject_in_double(self.verdicts[j], verdict, names)
            self.errors[j] = verdict.error
        self.left = [j for j in self.left if self.verdicts[j].kind == "wrong"]
        self.problem = self.bare = exact
        self.references.update(references)

    def _accept_in_double(self, j, exact, names):
        """Settle the verdict on a gradient that is right in float64."""
        verdict = self.verdicts[j]
        reason = Reason("cast", f"the forward rounds ({names}); in float64 it is right")
        self.known[j] = exact, reason
        verdict.reason = reason
        own = self.terms.judged(_measured_in_double(exact, self.problem), [j])[1][j].error
        if verdict.error <= ROUNDED and own <= DEBATABLE:
            _accept(verdict, verdict.error)
        else:
            verdict.kind = "undecided"
            verdict.words = f"{reason.words}, but as it is, it differs by {verdict.error:.0e}"
            verdict.hint = HINTS["undecided"]

    def by_guards(self):
        """Settle the verdicts on gradients that are right without some guards."""
        choices = choices_of([guard for guard in self.guards if guard.kind == "guard"])
        for j in list(self.left) if choices else ():
            slopes = self._slopes([j])
            size = np.max(np.abs(slopes.lack(self.problem)), initial=0.0)

            def fits(pair, j=j, slopes=slopes, most=(1 - EXPLAINED) * size):
                remaining = np.max(np.abs(slopes.lack(pair)), initial=0.0)
                return remaining <= most and self._is_right(pair, j)

            found = self.details.explaining(choices, fits, self.rounding)
            if found is not None:
                pair, guards = found
                safe = all(guard.value <= SAFETY for guard in guards)
                self._take(j, pair, _reason_of(guards), safe)

    def by_constants(self, known):
        """Settle the verdicts on gradients that rounded constants, such as 3.14, explain.

        Parameters
        ----------
        known : dict
            The attribute ``known`` of the search at the first point, if this is another one.
        """
        slightly = [j for j in self.left if self.errors[j] <= LAST_DIGITS]
        if not slightly:
            return
        evidence = Evidence(self.problem, self.references, self.terms)
        for group in together_or_alone(slightly):
            if not set(group) <= set(self.left):
                continue
            try:
                constants = rounded(evidence, group)
            except Exception:  # a modified function may raise anything
                continue
            for j in group if constants else ():
                # at another point, the size of the difference was judged at the first one
                self.errors[j] = 0.0 if j in known else self.errors[j]
                self._take(j, None, _rounded_reason(constants))

    def without_guards(self):
        """Leave out all guards of both functions, because they hide the names of mistakes."""
        guards = [*self.rounding, *(guard for guard in self.guards if guard.kind == "guard")]
        bare = self.details.without(guards) if self.left and guards != self.rounding else None
        if bare is not None:
            self.bare = bare
            self.references = {}

    def _take(self, j, pair, reason, safe=False):
        """Settle the verdict on an input by a reason."""
        self.known[j] = pair, reason
        settle(self.verdicts[j], reason, self.errors[j], safe)
        self.left.remove(j)

    def _is_right(self, pair, j):
        """Return whether the gradient of an input is right for a pair."""
        return self.terms.judged(pair, [j])[1][j].kind == "ok"

    def _slopes(self, inputs):
        """Return derivatives along directions of some inputs."""
        exact = {j: self.verdicts[j].witness == "complex step" for j in inputs}
        return Slopes(self.problem, self.terms.w, exact)


def explain(problem, verdicts, references, terms, limit=None, known=None):
    """Find the reasons of gradients that are not right, and settle their verdicts.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    verdicts : dict of int to InputVerdict
        The verdicts on the pair.  Those with a reason are changed.
    references : dict
        The reference derivatives of the pair, by position of the input.
    terms : ibpcl.verify.agreement.Terms
        How pairs are compared.
    limit : tuple of (Problem, Finding), optional
        The pair without the limits of its gradient, and the note on them.
    known : dict, optional
        Reasons that were found at another point.  There, the size of the difference was judged.

    Returns
    -------
    Reasons
    """
    reasons = Reasons(problem, verdicts, references, terms)
    reasons.by_known(known or {})
    reasons.by_type()
    if limit is not None:
        reasons.by_limit(*limit)
    if reasons.left:
        reasons.by_double()
        reasons.by_guards()
        reasons.by_constants(known or {})
        reasons.without_guards()
    return reasons


def settle(verdict, reason, size, safe=False):
    """Put a reason beside a verdict, and let the size of the difference decide on it.

    Parameters
    ----------
    verdict : InputVerdict
        The verdict on the user's code.  An undecided one stays so.
    reason : Reason
        What explains the whole difference.
    size : float
        Relative error of the gradient at the user's inputs.
    safe : bool
        Whether the reason is a guard that is written for safety.
    """
    verdict.reason = reason
    if verdict.kind != "wrong":
        return
    if size <= SINGLE:
        _accept(verdict, SINGLE)
    elif safe and size <= DEBATABLE:
        verdict.kind = "undecided"
        verdict.words = f"{reason.words}; the difference of {size:.0e} may be meant"
        verdict.hint = (
            "differentiate the guard, too; or, if it is no part of the function, say so with "
            f"check(..., rtol={DEBATABLE:.0e})"
        )
    else:
        verdict.kind = KINDS[reason.kind]
        verdict.words = reason.words
        verdict.hint = HINTS[verdict.kind]
        verdict.where = reason.where


def _accept(verdict, rtol):
    """Turn a verdict into "ok" with a tolerance."""
    verdict.kind = "ok"
    verdict.words = ""
    verdict.hint = ""
    verdict.numbers.update(wrong=0, rtol=max(rtol, verdict.numbers.get("rtol", 0.0)))
    _drop_worst(verdict)


def _reject_in_double(verdict, exact, names):
    """Settle the verdict on a gradient that is wrong in float64 too, by another amount."""
    if verdict.kind == "wrong" and abs(exact.error - verdict.error) <= SAME * verdict.error:
        return
    verdict.kind = "wrong"
    verdict.words = verdict.hint = ""
    verdict.numbers["wrong"] = exact.numbers["wrong"]
    _drop_worst(verdict)  # differences that disagree with float64 do not say what is right
    words = (
        f"the forward rounds ({names}), so its differences are coarse; in float64, the gradient is "
        f"off by {exact.error:.0e}"
    )
    verdict.reason = Reason("cast", words)


def _drop_worst(verdict):
    """Remove the worst entry from the numbers of a verdict."""
    for key in ("worst", "got", "expected"):
        verdict.numbers.pop(key, None)


def _measured_in_double(exact, problem):
    """Return a pair with the outputs of one forward, and the cache of another."""

    def forward(*inputs, **options):
        given = [np.array(v) if isinstance(v, np.ndarray) else v for v in inputs]
        out, cache = exact.f(*given, **options)
        real = not any(map(np.iscomplexobj, (*inputs, *options.values())))
        return out, problem.f(*inputs, **options)[1] if real else cache

    return problem.with_forward(forward)


def _rounded_reason(constants):
    """Return the reason that some rounded constants make."""
    places = " and ".join(
        dict.fromkeys(f"{constant.name} in {constant.where.position}" for constant in constants)
    )
    are = "constants {} are" if len(constants) > 1 else "constant {} is"
    words = f"the {are.format(places)} rounded; with more digits, the gradient is right"
    return Reason("constant", words, constants[0].where)


def _reason_of(guards):
    """Return the reason that some guards make."""
    names = _named(guards)
    sides = {guard.side for guard in guards}
    if sides == {1}:
        words = f"where the gradient is computed without the guard {names}, it is right"
    elif sides == {0}:
        words = f"the gradient leaves out the guard {names}"
    else:
        words = (
            f"the gradient does not fit the guard of the forward: {names}; without it in both, the "
            "gradient is right"
        )
    return Reason("guard", words, guards[0].where)


def _named(guards):
    """Return the names and lines of guards in words."""
    return " and ".join(
        dict.fromkeys(f"{guard.name} in {guard.where.position}" for guard in guards)
    )
