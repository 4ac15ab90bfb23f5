"""Adapters that turn the many forms of gradient code into one pair of functions.

:mod:`ibpcl.verify.adapters.pair` defines the form that the checker judges, and
:mod:`ibpcl.verify.adapters.forms` is the table of all forms that are read.  Each adapter says how
the code is run; :mod:`ibpcl.verify.adapters.build` makes the pair.  Names decide how code is
called, in :mod:`ibpcl.verify.adapters.binding`, and whose a gradient is, in
:mod:`ibpcl.verify.adapters.reading`.  :mod:`ibpcl.verify.adapters.choosing` chooses inputs for a
user's file.  None of them compares a gradient with the truth.
"""
