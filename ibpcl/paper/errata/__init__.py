"""Every erratum of the paper as a check: the printed form shown failing, the right form shown
holding.
"""

from ibpcl.paper.errata import masks, metrics, objective, sticks
from ibpcl.paper.errata.entry import Erratum
from ibpcl.paper.errata.notes import NOTES

__all__ = ["ERRATA", "NOTES"]

ERRATA = tuple(
    value
    for module in (sticks, masks, objective, metrics)
    for value in vars(module).values()
    if isinstance(value, Erratum)
)
