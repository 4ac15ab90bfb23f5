"""A check that always ends in a verdict."""

from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.distributions.calling import ITEM_SECONDS, CallError, within
from ibpcl.verify.distributions.verdicts import ForwardVerdict


def tried(name, check):
    """Return the verdicts of a check, or an undecided one with the reason if it cannot be made.

    Parameters
    ----------
    name : str
        Name of the function under check.
    check : callable
        ``check()`` returns a verdict, or a list of verdicts.

    Returns
    -------
    verdicts : list of ibpcl.verify.distributions.verdicts.ForwardVerdict
        One verdict for each function.
    """
    try:
        with within(ITEM_SECONDS):
            found = check()
    except TimeUp as error:
        found = ForwardVerdict(name, "undecided", f"{error}: it is too slow", "undecided")
    except CallError as error:
        found = ForwardVerdict(name, "undecided", str(error), "undecided")
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # odd values of a user's function, such as results of several shapes
        words = f"it could not be evaluated: {type(error).__name__}: {error}"
        found = ForwardVerdict(name, "undecided", words[:300], "undecided")
    return found if isinstance(found, list) else [found]
