"""Checks of distributions: every function against the others, by one table of laws.

``reading`` finds the functions of a file by the names of ``vocabulary``.  ``model`` and ``leads``
decide once what the distribution is: parameters, dimension, support.  ``laws`` states what must
hold, and ``checking`` judges every function by it.  ``repair`` looks for a name after the verdict.
"""
