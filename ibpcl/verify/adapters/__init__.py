"""Adapters that turn the many forms of gradient code into one pair of functions.

:mod:`ibpcl.verify.adapters.pair` defines the form that the checker judges.  The other modules
convert to it: classes, functions that return a loss with its gradient, pairs with other arguments,
nested parameters, and expressions of recorded objects.  Names decide how code is called, in
:mod:`ibpcl.verify.adapters.binding`; :mod:`ibpcl.verify.adapters.reading` decides whose a gradient
is, and :mod:`ibpcl.verify.adapters.opening` chooses inputs.  None of them compares a gradient with
the truth.
"""
