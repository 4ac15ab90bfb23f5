"""The comparison of a function's values with right ones: the verdict first, its name later."""

import ast
import contextlib
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.location import NOWHERE, defined
from ibpcl.codeview.syntax import Code
from ibpcl.verify.distributions.repair import fits_of
from ibpcl.verify.distributions.report import ForwardVerdict
from ibpcl.verify.distributions.slips import RTOL, agree, explain, missing_term

EXACT = 1e-6  # error that counts as right
LOOSE = 1e-4  # the same where the distribution has kinks, or several dimensions
DECISIVE = 1e-2  # largest error of a right value, relative to it, that shows a function to be right


class Outcome(NamedTuple):
    """A verdict, and the search for a name.

    Attributes
    ----------
    verdict : ibpcl.verify.distributions.report.ForwardVerdict
        The verdict, which the search does not change.
    name : callable or None
        ``name()`` returns a slip or None.
    """

    verdict: ForwardVerdict
    name: object = None

    def named(self):
        """Return the verdict with the name of the mistake, if there is one."""
        verdict = self.verdict
        slip = None
        if self.name is not None and verdict.verdict == "wrong":
            # odd values of a changed function leave the verdict as it is
            with contextlib.suppress(ArithmeticError, LookupError, TypeError, ValueError):
                slip = self.name()
        if slip is not None:
            verdict.words = f"{slip.words} ({verdict.words})"
            verdict.kind = slip.kind
            verdict.where = slip.where or verdict.where
            verdict.repair = slip.repair
        return verdict


class Comparison(NamedTuple):
    """Values of a function beside right ones.

    Attributes
    ----------
    values : callable
        ``values(function, sets)`` returns the values (N,) of the function, of a changed version, or
        at changed sets of parameters.
    right : ndarray, shape (N,)
        The right values.
    error : float or ndarray, shape (N,)
        Their absolute errors.
    sets : sequence of dict
        The sets of parameters.
    others : dict of Slip to ndarray, shape (N,)
        Other quantities that the function may have computed.
    either : dict of str to ndarray, shape (N,)
        Other values that are right as well, by a note for the report.
    witness : str
        What the right values are.
    kind : str
        Kind of a mistake without a name.
    cost : int
        Cost of ``values``, in expressions that take as long.
    first : callable or None
        A search for a name before all others.
    rtol : float
        Relative tolerance.
    scale : float or ndarray, shape (N,)
        Size of the values beside which an error is small, if the right value may be 0.
    decisive : float
        Largest error of a right value, relative to it, that shows a function to be right.
    labels : tuple of str
        Names of the N values, if they have different ones.
    numbers : dict
        Further numbers for the verdict.
    """

    values: object
    right: np.ndarray
    error: object
    sets: tuple
    others: dict = {}  # noqa: RUF012
    either: dict = {}  # noqa: RUF012
    witness: str = "quadrature"
    kind: str = "wrong"
    cost: int = 0
    first: object = None
    rtol: float = RTOL
    scale: object = 1e-2
    decisive: float = DECISIVE
    labels: tuple = ()
    numbers: dict = {}  # noqa: RUF012


def verdict_on(part, verdict, words, kind="ok", numbers=None):
    """Return the verdict on a function, with the place of its definition.

    Parameters
    ----------
    part : ibpcl.verify.distributions.reading.Part
        The function.
    verdict, words, kind : str
        As in :class:`~ibpcl.verify.distributions.report.ForwardVerdict`.
    numbers : dict, optional
        The numbers behind it.

    Returns
    -------
    verdict : ibpcl.verify.distributions.report.ForwardVerdict
        The verdict.
    """
    return ForwardVerdict(part.name, verdict, words, kind, numbers or {}, place_of(part.function))


def place_of(function):
    """Return the place of a mistake in a function: its only statement, or its definition.

    Parameters
    ----------
    function : callable or None
        The function.

    Returns
    -------
    where : ibpcl.codeview.location.Location
        False without source.
    """
    if function is None:
        return NOWHERE
    try:
        code = Code(function)
    except (OSError, SyntaxError, TypeError, ValueError):
        return defined(function)
    body = code.trees[code.name].body
    body = body[1:] if ast.get_docstring(code.trees[code.name]) is not None else body
    return code.location(body[0]) if len(body) == 1 else defined(function)


def undecided(part, words, numbers=None):
    """Return the outcome of a comparison that decides nothing.

    Parameters
    ----------
    part : ibpcl.verify.distributions.reading.Part
        The function.
    words : str
        The reason as a sentence.
    numbers : dict, optional
        The numbers behind it.

    Returns
    -------
    outcome : Outcome
        Without a search.
    """
    return Outcome(verdict_on(part, "undecided", words, "undecided", numbers))


def passed(part, words, numbers=None):
    """Return the outcome of a comparison that a function passes.

    Parameters
    ----------
    part, words, numbers
        As in :func:`undecided`.

    Returns
    -------
    outcome : Outcome
        The verdict "ok".
    """
    return Outcome(verdict_on(part, "ok", words, "ok", numbers))


def wrong(part, words, kind="wrong", numbers=None, name=None):
    """Return the outcome of a comparison that a function fails.

    Parameters
    ----------
    part : ibpcl.verify.distributions.reading.Part
        The function.
    words : str
        The reason as a sentence.
    kind : str
        Kind of the mistake.
    numbers : dict, optional
        The numbers behind it.
    name : callable, optional
        The search for a name.

    Returns
    -------
    outcome : Outcome
        The verdict "wrong".
    """
    return Outcome(verdict_on(part, "wrong", words, kind, numbers), name)


def judged(part, comparison):
    """Return the outcome of a comparison.

    A gap must exceed the error of the right value to be a mistake.

    Parameters
    ----------
    part : ibpcl.verify.distributions.reading.Part
        The function.
    comparison : Comparison
        Its values beside right ones.

    Returns
    -------
    outcome : Outcome
        The verdict, and the search for a name.
    """
    c = comparison
    given = c.values()
    numbers = {"given": given, "right": c.right, **c.numbers}
    if given.shape != c.right.shape:
        return wrong(
            part, f"it returns shape {given.shape}, expected {c.right.shape}", c.kind, numbers
        )
    allowed = np.asarray(c.error) + EXACT * 1e-2
    if agree(given, c.right, c.rtol, allowed):
        gap = np.abs(given - c.right)
        worst = float(np.max(gap / (1e-9 + np.abs(c.right))))
        size = np.maximum(np.asarray(c.scale) + np.abs(c.right), 1e-300)
        blind = float(np.max(np.asarray(c.error) / size))
        if not blind <= c.decisive:
            words = f"{c.witness}, but that is known to {blind:.1%} only"
            return undecided(part, words, numbers)
        sets = "" if len(c.sets) == 1 else f" at {len(c.sets)} sets of parameters"
        words = f"agrees with {c.witness} to {max(worst, 1e-16):.0e}{sets}"
        return passed(part, words, numbers)
    for words, other in c.either.items():
        if agree(given, other, c.rtol, allowed):
            return passed(part, words, numbers)
    bad = ~np.isfinite(given)
    at = int(np.argmax(bad if np.any(bad) else np.abs(given - c.right)))
    words = f"{c.labels[at]}: " if c.labels else ""
    words += f"{given[at]:.6g} where {c.right[at]:.6g} belongs"
    kind = "non_finite" if np.any(bad) else c.kind
    return wrong(part, words, kind, numbers, lambda: _name(part, c, given))


def _name(part, c, given):
    """Return the slip of a wrong function; None if none is found in time."""
    slip = c.first() if c.first is not None else None
    if slip is not None:
        return slip
    others = {slip: each for slip, each in c.others.items() if np.all(np.isfinite(each))}
    slip = explain(given, c.right, others, EXACT * 1e-2)
    if slip is None and len(given) == len(c.sets):
        slip = missing_term(given - c.right, c.sets)
    few = c.sets[:1]

    def is_right(function):
        first = c.values(function, few)
        right = agree(first, c.right[: len(first)], atol=EXACT)
        return right and agree(c.values(function), c.right, atol=EXACT)

    fits = fits_of(
        part.function,
        lambda function: c.values(function, few),
        is_right,
        cost=c.cost // len(c.sets),
        likely=slip.kind if slip is not None else "",
    )
    if slip is None or not fits:
        return fits[0].slip if fits else slip
    edit = fits[0].slip
    return edit._replace(kind=slip.kind, words=f"{slip.words}: {edit.words}")
