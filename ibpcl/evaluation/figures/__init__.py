"""Figures as functions: each takes arrays, draws on the Axes it is given or on a new figure, and
returns its Axes.

Numbers are in the modules beside this folder; here they are only drawn, shares in percent.
Matplotlib is loaded on the first call.  Its current figure and backend are neither used nor
changed.  Its settings are the defaults while a figure is drawn (:mod:`ibpcl.plotting`), so that a
figure looks the same on every machine.

``ax`` or ``axes`` are drawn on; a new figure if not given.  ``task_names`` are those of the tasks,
in their order; numbers if not given.
"""

from .accuracy import accuracy_curves, accuracy_matrix, method_comparison
from .calibration import class_reliability, intervals, reliability
from .canvas import save
from .latent import code_maps, few_labels, image_rows, likelihood_curves, likelihood_matrix
from .structure import mask_maps, mask_matrices, receptive_fields, share_used, sharing_matrix
from .training import training_history

__all__ = [
    "accuracy_curves",
    "accuracy_matrix",
    "class_reliability",
    "code_maps",
    "few_labels",
    "image_rows",
    "intervals",
    "likelihood_curves",
    "likelihood_matrix",
    "mask_maps",
    "mask_matrices",
    "method_comparison",
    "receptive_fields",
    "reliability",
    "save",
    "share_used",
    "sharing_matrix",
    "training_history",
]
