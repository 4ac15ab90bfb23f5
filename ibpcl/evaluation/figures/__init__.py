"""Figures as functions: each takes arrays, draws on the Axes it is given or on a new figure, and returns its Axes.

Numbers are in :mod:`~ibpcl.evaluation.metrics` and :mod:`~ibpcl.evaluation.structure`; here they are only drawn, in
percent.  Matplotlib is loaded on the first call, its global state (current figure, backend, settings) is neither used
nor changed, and a figure looks the same on every machine.
"""

from .accuracy import accuracy_curves, accuracy_matrix, method_comparison
from .canvas import save
from .regression import intervals, reliability
from .structure import mask_matrices, receptive_fields, share_used, sharing_matrix
from .training import training_history

__all__ = [
    "accuracy_curves",
    "accuracy_matrix",
    "intervals",
    "mask_matrices",
    "method_comparison",
    "receptive_fields",
    "reliability",
    "save",
    "share_used",
    "sharing_matrix",
    "training_history",
]
