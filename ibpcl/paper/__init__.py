"""The paper: its equations with their checks, errata, printed numbers, tables and figures.

``equations`` is one table of everything that the paper defines; ``catalogue`` lists every check of
the package; ``errata`` has the paper's mistakes; ``reproduce`` makes the paper's tables and figures
beside its printed ``numbers``.
"""
