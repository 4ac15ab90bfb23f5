"""The only code about user code: read, rewrite, search and plant; shared by checker and classroom.

- :mod:`~ibpcl.codeview.syntax` reads a function's source, records the values of its expressions,
  and compiles changed versions.
- :mod:`~ibpcl.codeview.slips` is the table of usual slips: wrong pattern, right pattern, kind and
  sentence. :mod:`~ibpcl.codeview.patterns` matches its rows with code.
- :mod:`~ibpcl.codeview.edits` lists the changes of a function that may make it right: rows of the
  table, and changes of several places at once (:mod:`~ibpcl.codeview.variables`).  A change is an
  :class:`~ibpcl.codeview.rewrite.Edit`.
- :mod:`~ibpcl.codeview.search` tries changes until a goal holds, within a budget.
- :mod:`~ibpcl.codeview.planting` reads the table backwards, to plant mistakes.
- :mod:`~ibpcl.codeview.notebook` reads the cells of notebooks as Python.

It imports nothing from the package except its errors.
"""
