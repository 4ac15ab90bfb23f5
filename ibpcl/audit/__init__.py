"""Audit of a project's tests: which wrong gradients do they miss?

:func:`audit` plants the mistakes of :mod:`ibpcl.codeview.slips` into the gradient functions of a
project, one at a time and in a copy, runs the project's own tests, and reports those that no test
sees.  :mod:`ibpcl.audit.planting` judges each mistake by its numbers first.
"""

from ibpcl.audit.auditing import Settings, audit
from ibpcl.audit.report import AuditReport, FunctionAudit, Mistake

__all__ = ["AuditReport", "FunctionAudit", "Mistake", "Settings", "audit"]
