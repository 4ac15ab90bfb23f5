"""Names for mistakes: the one small change after which all values are right.

A search starts after the verdict, and has its own time limit.  It can add a name to a verdict, but
never changes one.  The changes are those of :mod:`ibpcl.codeview`, with the rows of
:data:`REPAIRS` beside its table.
"""

import ast
import contextlib
import signal
import threading
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.edits import Everything, edits_of
from ibpcl.codeview.search import affordable, search
from ibpcl.codeview.syntax import Code, Recording, executed_by
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.distributions.calls import NAME_SECONDS, within
from ibpcl.verify.distributions.slips import Slip

SECONDS = 0.55  # about, for one function; estimated from the number of expressions that it runs
# Functions that are often confused with each other in formulas.
CONFUSED = (
    "log log2 log10 log1p",
    "exp expm1 exp2",
    "gammaln betaln digamma gamma loggamma lgamma",
    "sum mean prod max cumsum",
    "cumsum cumprod",
    "var std",
    "sin cos",
    "arctan arcsin arccos",
    "erf erfc",
    "ndtr ndtri",
    "ceil floor round",
    "expit logit",
    "triu tril",
)
# Terms and factors that are often missing: rank, kind, where they belong, and their texts.
MISSING = (
    (3.3, "edit", "FORMULA", "/ PARAMETER", "* PARAMETER"),
    (5.5, "edit", "FORMULA", "** PARAMETER"),
    (5.5, "missing_term", "FORMULA", "- PARAMETER", "+ PARAMETER", "- PARAMETER ** 2"),
    (5.5, "missing_term", "FORMULA", "- np.log(1 - PARAMETER)"),
    (5.2, "edit", "FORMULA", "* RATIO"),
    (4.5, "missing_term", "RESULT", "+ np.log(PARAMETER)", "+ PARAMETER", "+ PARAMETER ** 2"),
    (4.5, "extra_term", "RESULT", "- np.log(PARAMETER)", "- PARAMETER", "- PARAMETER ** 2"),
    (4.5, "missing_term", "RESULT", "+ np.log(1 - PARAMETER)", "- np.log(1 - PARAMETER)"),
    (4.5, "edit", "RESULT", "* PARAMETER", "/ PARAMETER"),
    (4.5, "edit", "RESULT", "/ PARAMETER ** 2", "* PARAMETER ** 2"),
)


def _lacks(term):
    """Return the reason that a formula lacks a term or a factor, with placeholders in braces."""
    shown = term.replace("PARAMETER", "{PARAMETER}").replace("RATIO", "{RATIO}")
    return f"a {'term' if term[0] in '+-' else 'factor'} is missing, `{shown}`"


# Usual slips beside those of ibpcl.codeview.slips, whose placeholders stand in the patterns: rank,
# kind, wrong pattern, right pattern, reason.
REPAIRS = (
    (1, "complement", "1 - A", "A", "one minus `{A}` is not meant"),
    (3, "edit", "A ** B", "B ** A", "base and exponent are exchanged"),
    (2, "edit", "A ** B", "A ** (1 / B)", "the root is meant"),
    (2, "edit", "A ** (B / C)", "A ** C", "the power is meant, not the root"),
    (2.5, "edit", "A ** B", "A", "the exponent does not belong there"),
    (3.8, "edit", "A / B", "-(B / A)", "the quotient is upside down, and its sign is wrong"),
    (2.5, "edit", "A * B", "A ** B", "a power is meant"),
    (3.5, "edit", "A * B", "A + B", "this must be a sum"),
    (3.5, "edit", "A * B", "A - B", "this must be a difference"),
    (3.5, "edit", "A + B", "A * B", "this must be a product"),
    (3.5, "edit", "A - B", "A * B", "this must be a product"),
    *(
        (3, "edit", wrong, right, "brackets are missing")
        for sign in "+-"
        for wrong, right in (
            (f"A * B {sign} C", f"A * (B {sign} C)"),
            (f"A / B {sign} C", f"A / (B {sign} C)"),
            (f"A / B * C {sign} D", f"A / (B * (C {sign} D))"),
        )
    ),
    (2.5, "edit", "A / B * C", "A / (B * C)", "brackets are missing"),
    (
        2,
        "edit",
        "sum(A)",
        "np.logaddexp.reduce(A)",
        "`logsumexp` is meant, not a sum of logarithms",
    ),
    (3, "edit", "where(A, B, 0)", "where(A, B, -np.inf)", "the logarithm of 0 is minus infinity"),
    (2, "edit", "cumprod(A)", "np.flip(np.cumprod(np.flip(A)))", "it must run from the end"),
    (2, "edit", "flip(A)", "A", "it must not be reversed"),
    *(
        (2, "other_scale", f"{wrong}(A)", f"{right}(A)", f"`{right}` is meant, not `{wrong}`")
        for group in CONFUSED
        for wrong, right in permutations(group.split(), 2)
    ),
    (3, "other_scale", "FUNCTION(A)", "A", "`{FUNCTION}` must not be applied here"),
    (1, "truncated", "TERMS", "5000", "the series is truncated: it needs more terms than {TERMS}"),
    (1.5, "complement", "VALUE", "1 - VALUE", "one minus `{VALUE}` is meant"),
    (2, "parameter_scale", "VALUE", "VALUE ** 2", "`{VALUE}` must be squared"),
    (2, "parameter_scale", "VALUE", "VALUE ** 0.5", "the square root of `{VALUE}` is meant"),
    (2, "parameter_scale", "VALUE", "1 / VALUE", "one over `{VALUE}` is meant"),
    (3, "other_scale", "VALUE", "np.log(VALUE)", "the logarithm of `{VALUE}` is meant"),
    (3, "other_scale", "VALUE", "-np.log(VALUE)", "minus the logarithm of `{VALUE}` is meant"),
    (3, "other_scale", "VALUE", "np.exp(VALUE)", "the exponential of `{VALUE}` is meant"),
    (3.2, "extra_term", "VALUE", "VALUE - 1", "a term -1 is missing"),
    (3.2, "missing_term", "VALUE", "VALUE + 1", "a term 1 is missing"),
    (4, "sign", "VALUE", "-VALUE", "the sign is wrong"),
    (3.4, "constant_factor", "VALUE", "0.5 * VALUE", "a factor 1/2 is missing"),
    (3.4, "constant_factor", "VALUE", "2 * VALUE", "a factor 2 is missing"),
    *(
        (4, "constant_factor", "NUMBER", right, "the number {NUMBER} is wrong")
        for right in ("np.pi", "2 * np.pi", "np.sqrt(2 * np.pi)", "np.e")
    ),
    *(
        (rank, kind, place, f"{place} {term}", _lacks(term))
        for rank, kind, place, *terms in MISSING
        for term in terms
    ),
)
# Kinds of edits that a verdict keeps, by their names here; all others become "edit".
KEPT = (
    "truncated sign complement parameter_scale constant_factor other_scale missing_term extra_term"
)
KINDS = {"swapped": "exchanged", **{kind: kind for kind in KEPT.split()}}
EARLIER = 3.0  # by which the rank of a likely edit is smaller
RANKS = {"swapped": 1}  # parameters are exchanged more often than arrays of a gradient


class Fit(NamedTuple):
    """A change that makes all values right.

    Attributes
    ----------
    slip : ibpcl.verify.distributions.slips.Slip
        The mistake, with its place and the text that repairs it.
    function : callable
        Changed function.
    """

    slip: Slip
    function: object


@contextlib.contextmanager
def _interrupted(seconds):
    """Raise :class:`TimeUp` after some processor time, also in a loop that calls nothing.

    A busy machine changes no result.  Other threads, and Windows, have no such signal.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() != threading.main_thread():
        yield
        return

    def interrupt(number, frame):
        raise TimeUp(seconds)

    handler = signal.signal(signal.SIGPROF, interrupt)
    left, _ = signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, left)  # a limit from outside continues
        signal.signal(signal.SIGPROF, handler)


@contextlib.contextmanager
def searching():
    """Limit a search for a name; what was found before the limit is kept."""
    with contextlib.suppress(TimeUp), _interrupted(2 * NAME_SECONDS), within(NAME_SECONDS):
        yield


def fits_of(function, run, is_right, most=1, cost=0, likely=""):
    """Return the changes of a function that make all of its values right, the simplest first.

    Parameters
    ----------
    function : callable
        Function to change.  Without Python source nothing is found.
    run : callable
        ``run(function)`` calls the function as often as ``is_right`` does.
    is_right : callable
        ``is_right(function)`` returns whether all values of a changed function are right.
    most : int
        The search ends after this number of changes.
    cost : int
        Duration of one call of ``is_right``, in number of expressions that take as long.
    likely : str
        Kind of changes that are tried early.

    Returns
    -------
    fits : list of Fit
        By rank.
    """
    found = []

    def reached(edit, changed):
        if _is_right(is_right, changed):
            kind = KINDS.get(edit.kind, "edit")
            slip = Slip(kind, edit.words(), code.location(edit.node), code.repair(edit))
            found.append(Fit(slip, changed))
        return len(found) == most

    with searching():
        try:
            code = Code(function, executed_by(lambda: run(function)))
            recording = Recording(code, run)
        except Exception:  # no source, or the function raises
            return found
        edits = _in_order(edits_of(code, recording, Everything(), REPAIRS), likely)
        left = affordable(SECONDS, recording.executed + cost)
        search(code, edits[:left], reached, lambda edit: False)
    return found


def _in_order(edits, likely):
    """Return edits in the order of their ranks, without those that make an earlier change again."""

    def rank(edit):
        return RANKS.get(edit.kind, edit.rank) - EARLIER * (edit.kind == likely)

    edits = sorted(edits, key=rank)
    changes = {}
    for edit in edits:
        puts = [(id(parent), *place, ast.dump(new)) for parent, *place, new in edit.puts]
        changes.setdefault(str(puts), edit)
    return list(changes.values())


def _is_right(is_right, function):
    """Return whether a changed function is right; a function that raises is not."""
    try:
        with np.errstate(all="ignore"):
            return is_right(function)
    except Exception:  # whatever a changed function raises
        return False


def exchanged(sets):
    """Yield sets of parameters of which two are exchanged.

    Parameters
    ----------
    sets : sequence of dict of str to object
        Sets of parameters.

    Yields
    ------
    slip : ibpcl.verify.distributions.slips.Slip
        The mistake of a function that is right at these sets.
    changed : list of dict of str to object
        The changed sets.
    """
    names = [name for name, value in sets[0].items() if np.ndim(value) == 0]
    for one, other in combinations(names, 2):
        words = f"it is right with {one} and {other} exchanged"
        yield Slip("exchanged", words), [{**v, one: v[other], other: v[one]} for v in sets]
