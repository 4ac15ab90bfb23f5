"""Late days: the due date, extensions of single students, and what a day costs.

The rules are kept in ``late.json`` beside the results, so every report and export uses the same.
"""

import math
from datetime import UTC, datetime, timedelta
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
LABELS = ("%Y-%m-%d-%H-%M-%S", "%b %d, %Y %I%M %p", "%b %d, %Y %I:%M %p", "%d %B, %Y %I%M %p")


class Policy(NamedTuple):
    """The rules of a class.

    Attributes
    ----------
    due : str
        ISO date and time with its zone; empty if there is none.
    per_day : float
        Percent of the assignment's points that each day that has begun costs, 0 to 100.
    at_most : float
        Percent that all days together cost at most, 0 to 100.
    """

    due: str = ""
    per_day: float = 0.0
    at_most: float = 100.0


def parsed(text):
    """Return a date and time; a date alone ends with its day, and without a zone it is this
    machine's.

    Raises
    ------
    UserError
        If it is not a date.

    Examples
    --------
    >>> parsed("2026-11-20").strftime("%H:%M"), parsed("2026-11-20T12:00+00:00").hour
    ('23:59', 12)
    """
    text = text.strip()
    found = None
    for form in FORMATS:
        try:
            found = datetime.strptime(text, form)
            break
        except ValueError:
            continue
    if found is not None and "H" not in form:
        found = found.replace(hour=23, minute=59, second=59)
    if found is None:
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise UserError(
                f"class: {text!r} is not a date; write it as 2026-11-20 or 2026-11-20T18:00"
            ) from None
    return found if found.tzinfo else found.astimezone()


def read(folder):
    """Return the policy that is kept in a folder of results."""
    path = Path(folder) / FILE
    if not path.exists():
        return Policy()
    try:
        table = read_json(path)
        return Policy(str(table["due"]), float(table["per_day"]), float(table["at_most"]))
    except (ValueError, KeyError, TypeError):
        raise UserError(f"class: {path} is damaged; give --due again") from None


def keep(folder, due=None, per_day=None, at_most=None):
    """Change what is given of the policy in a folder, and return the policy.

    Parameters
    ----------
    folder : path
    due : str, optional
        As :func:`parsed` reads it; ``none`` removes the due date.
    per_day, at_most : float, optional
        Percent, 0 to 100.
    """
    path = Path(folder) / FILE
    fresh = due is not None and path.exists()  # a damaged file can be replaced
    policy = Policy() if fresh and _damaged(folder) else read(folder)
    for name, value in (("--late-penalty", per_day), ("--late-at-most", at_most)):
        if value is not None and not 0 <= value <= 100:
            raise UserError(f"class: {name} must be a percentage in 0..100, got {value:g}")
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
    """Return the days that have begun after the due date; 0 in time.

    Parameters
    ----------
    handed_in, due : str
        ISO dates and times; without a zone, this machine's.
    extension : float
        Days that the student has more.

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
    """Write late days and deductions into results, and return notes.

    Parameters
    ----------
    policy : Policy
    results : list of Result
        Are changed.
    extensions : dict of str to float
        Days by student.
    most : float
        The points of the assignment, which percentages are of.
    late_days : dict of str to float, optional
        Days by student that the teacher gives; they count before ``Result.handed_in``.
    """
    late_days = late_days or {}
    if not policy.due and not late_days:
        return []
    unknown = []
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
        result.deduction = round(min(share * most, result.earned or 0.0), 2)
    if not unknown:
        return []
    return [
        f"when {len(unknown)} students handed in is not known ({', '.join(unknown[:3])}"
        f"{', ...' if len(unknown) > 3 else ''}): nothing is taken off"
    ]


def handed_in(label, seconds):
    """Return when an attempt was handed in, as an ISO time; empty if it is not known.

    Parameters
    ----------
    label : str
        What the platform calls the attempt; a date in it counts before the time of the file.
    seconds : float
        The time of the file, in seconds since 1970; 0 if unknown.

    Examples
    --------
    >>> handed_in("2024-11-01-23-59-10", 0.0)[:16], handed_in("Nov 3, 2024 1159 PM", 0.0)[:16]
    ('2024-11-01T23:59', '2024-11-03T23:59')
    >>> handed_in("", 0.0)
    ''
    """
    for form in LABELS:
        try:
            found = datetime.strptime(str(label).strip(), form)
        except ValueError:
            continue
        return found.astimezone().isoformat(timespec="seconds")
    if not seconds:
        return ""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _damaged(folder):
    try:
        read(folder)
    except UserError:
        return True
    return False
