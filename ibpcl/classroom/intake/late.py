"""Late days: the due date, extensions for single students, and the deduction per day.

The rules are stored in ``late.json`` beside the results, so that all reports and exports agree.
"""

import math
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from ibpcl.errors import UserError
from ibpcl.storage import read_json, write_json

FILE = "late.json"
GRACE = timedelta(minutes=5)  # clocks differ, and an upload takes a while
FORMATS = (
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%Y-%m-%d",
    "%d.%m.%Y",
)


class Policy(NamedTuple):
    """The rules for late hand-ins of a class.

    Attributes
    ----------
    due : str
        ISO date and time with its zone; empty if there is none.
    per_day : float
        Percent of the assignment's points deducted per day begun, 0 to 100.
    at_most : float
        Largest deduction for all days together, in percent, 0 to 100.
    """

    due: str = ""
    per_day: float = 0.0
    at_most: float = 100.0


def parsed(text):
    """Return the date and time in a text.

    Parameters
    ----------
    text : str
        ISO date, with or without time and zone.  A date alone means the end of the day; without a
        zone, this machine's zone applies.

    Returns
    -------
    datetime.datetime

    Raises
    ------
    UserError
        If the text is not a date.

    Examples
    --------
    >>> parsed("2026-11-20").strftime("%H:%M"), parsed("2026-11-20T12:00+00:00").hour
    ('23:59', 12)
    """
    text = text.strip()
    moment = None
    for form in FORMATS:
        try:
            moment = datetime.strptime(text, form)
            break
        except ValueError:
            continue
    if moment is not None and "H" not in form:
        moment = moment.replace(hour=23, minute=59, second=59)
    if moment is None:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise UserError(
                f"class: {text!r} is not a date; write it as 2026-11-20 or 2026-11-20T18:00"
            ) from None
    return moment if moment.tzinfo else moment.astimezone()


def read(folder):
    """Return the policy stored in a folder of results.

    Parameters
    ----------
    folder : path-like
        The folder.

    Returns
    -------
    Policy
        The default policy if none is stored.

    Raises
    ------
    UserError
        If the file is damaged.
    """
    path = Path(folder) / FILE
    if not path.exists():
        return Policy()
    try:
        table = read_json(path)
        return Policy(str(table["due"]), float(table["per_day"]), float(table["at_most"]))
    except (ValueError, KeyError, TypeError):
        raise UserError(f"class: {path} is damaged; give `due` again") from None


def keep(folder, due=None, per_day=None, at_most=None):
    """Change the policy in a folder of results, and return it.

    Parameters
    ----------
    folder : path-like
        The folder.
    due : str, optional
        New due date, as :func:`parsed` reads it; ``none`` removes the due date.
    per_day, at_most : float, optional
        New percentages, 0 to 100.

    Returns
    -------
    Policy

    Raises
    ------
    UserError
        If a value is invalid.
    """
    path = Path(folder) / FILE
    fresh = due is not None and path.exists()  # a damaged file can be replaced
    policy = Policy() if fresh and _damaged(folder) else read(folder)
    for name, value in (("per_day", per_day), ("at_most", at_most)):
        if value is not None and not 0 <= value <= 100:
            raise UserError(f"class: `{name}` must be a percentage in 0..100, got {value:g}")
    if due is not None:
        moment = "" if due.strip().lower() == "none" else parsed(due).isoformat(timespec="seconds")
        policy = policy._replace(due=moment)
    if per_day is not None:
        policy = policy._replace(per_day=float(per_day))
    if at_most is not None:
        policy = policy._replace(at_most=float(at_most))
    write_json(path, policy._asdict())
    return policy


def days_late(handed_in, due, extension=0.0):
    """Return the number of days begun after the due date.

    Parameters
    ----------
    handed_in, due : str
        ISO dates and times; without a zone, this machine's zone applies.
    extension : float
        Additional days for the student.

    Returns
    -------
    int
        0 if the hand-in is in time.

    Examples
    --------
    >>> days_late("2026-11-21T10:00+00:00", "2026-11-20T23:59+00:00")
    1
    >>> days_late("2026-11-21T10:00+00:00", "2026-11-20T23:59+00:00", 1)
    0
    """
    late = parsed(handed_in) - parsed(due) - timedelta(days=extension)
    return 0 if late <= GRACE else math.ceil(late / timedelta(days=1))


def apply(policy, results, extensions, most, late_days=None):
    """Write late days and deductions into results.

    Parameters
    ----------
    policy : Policy
        The rules.
    results : list of Result
        Changed in place.
    extensions : dict of str to float
        Student to additional days.
    most : float
        Points of the assignment, the basis of the percentages.
    late_days : dict of str to float, optional
        Student to late days given by the teacher; they override ``Result.handed_in``.

    Returns
    -------
    list of str
        A note on the students whose time is unknown, and one on those whose points a person gave
        for the whole hand-in, which no rule changes.
    """
    late_days = late_days or {}
    if not policy.due and not late_days:
        return []
    unknown = []
    kept = []
    for result in results:
        if result.student in late_days:
            result.late_days = late_days[result.student]
        elif policy.due and result.handed_in:
            more = extensions.get(result.student, 0.0)
            result.late_days = days_late(result.handed_in, policy.due, more)
        elif policy.due:
            unknown.append(result.student)
            continue
        share = min(result.late_days * policy.per_day, policy.at_most) / 100
        if result.given is None:
            result.deduction = round(min(share * most, result.earned or 0.0), 2)
        elif share:
            kept.append(result.student)
    notes = []
    if unknown:
        notes.append(
            f"the time of {len(unknown)} hand-ins is unknown ({_some(unknown)}): nothing is "
            "deducted"
        )
    if kept:
        notes.append(
            f"{len(kept)} late hand-ins have points for the whole that you gave ({_some(kept)}): "
            "nothing is deducted from these"
        )
    return notes


def _some(names):
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _damaged(folder):
    try:
        read(folder)
    except UserError:
        return True
    return False
