"""Doors: the forms in which people write gradients, each turned into one pair of functions.

:mod:`ibpcl.verify.doors.pair` has the form that the checker judges; the other modules turn classes,
functions that return a loss with its gradient, pairs of other names, nested parameters and
frameworks' functions into it.
"""
