"""The errata: wrong formulas, ambiguities, choices and remarks, each evaluated beside a reference.

Every erratum is also a check of ``ibpcl check``: both forms are computed again and compared with
an independent number.
"""

from ibpcl.paper.errata import masks, metrics, objective, posteriors, sticks
from ibpcl.paper.errata.entry import KINDS, Erratum
from ibpcl.paper.errata.notes import NOTES

__all__ = ["ERRATA", "KINDS", "NOTES"]

ERRATA = tuple(
    value
    for module in (sticks, masks, objective, posteriors, metrics)
    for value in vars(module).values()
    if isinstance(value, Erratum)
)
