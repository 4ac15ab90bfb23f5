"""Assignments: the contents in numbered folders, and what all other rooms know about them.

An assignment is a folder with a statement, tasks, a reference solution, inputs and planted
mistakes.  Its variants differ in one definition each.  The course key chooses the variant and the
test inputs of each student.
"""

from ibpcl.classroom.assignments.assignment import Assignment, Task, find, named, names
from ibpcl.classroom.assignments.slices import imports, sliced
from ibpcl.classroom.assignments.variants import PUBLIC, make_key, read_key, variant_of

__all__ = [
    "PUBLIC",
    "Assignment",
    "Task",
    "find",
    "imports",
    "make_key",
    "named",
    "names",
    "read_key",
    "sliced",
    "variant_of",
]
