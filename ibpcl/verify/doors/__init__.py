"""Adapters ("doors") that turn the many forms of gradient code into one pair of functions.

:mod:`ibpcl.verify.doors.pair` defines the form that the checker judges.  The other modules convert
to it: classes, functions that return a loss with its gradient, pairs with other arguments, nested
parameters, and functions of frameworks.
"""
