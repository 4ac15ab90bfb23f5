"""Judging: points and an explanation for each task of a submission.

The functions of a submission run in a sandbox, which has no right answers.  The judge outside asks
them for values and compares these with the reference.
"""

from ibpcl.classroom.judging.verdict import Part, Result, Verdict

__all__ = ["Part", "Result", "Verdict"]
