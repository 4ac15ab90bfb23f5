"""The parts of assignments that only teachers get: solutions, variants and planted mistakes.

A folder here has the name of an assignment of the package ``ibpcl`` and holds the files that this
assignment lacks there.  The folder ``course`` has the quizzes and the notes for instructors.
"""
