"""Intake: which file of a download is whose submission.

``files -> units -> candidates -> submissions -> students``.
"""

from ibpcl.classroom import lazy

_PLACES = {
    "Collection": "collecting",
    "Roster": "students",
    "Student": "students",
    "Submission": "submission",
    "collect": "collecting",
    "read_students": "students",
}
__all__ = sorted(_PLACES)
__getattr__ = lazy.names(__name__, _PLACES)
