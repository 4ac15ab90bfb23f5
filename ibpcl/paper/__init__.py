"""The paper, sentence by sentence: equations with their proofs, errata, printed numbers, tables and
figures.

``equations`` is the map, one table; ``catalogue`` finds every check that proves a row of it;
``reproduce`` makes the paper's tables and figures beside its printed ``numbers``.
"""
