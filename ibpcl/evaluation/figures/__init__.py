"""Figures as functions, which draw arrays on given Axes or a new figure and return the Axes.

The neighbouring modules compute the numbers; here they are only drawn, shares in percent.
Matplotlib is loaded on the first call.  Its current figure and backend are neither used nor
changed.  While a figure is drawn, Matplotlib's settings are the defaults (:mod:`ibpcl.plotting`),
so a figure looks the same on every machine.
"""

from .accuracy import accuracy_curves, accuracy_matrix, method_comparison
from .calibration import class_reliability, intervals, reliability
from .canvas import save
from .filters import filter_pictures
from .latent import code_maps, few_labels, image_rows, likelihood_curves, likelihood_matrix
from .networks import network_schematic, network_structure
from .structure import mask_maps, mask_matrices, receptive_fields, share_used, sharing_matrix
from .training import stream_scores, training_history

__all__ = [
    "accuracy_curves",
    "accuracy_matrix",
    "class_reliability",
    "code_maps",
    "few_labels",
    "filter_pictures",
    "image_rows",
    "intervals",
    "likelihood_curves",
    "likelihood_matrix",
    "mask_maps",
    "mask_matrices",
    "method_comparison",
    "network_schematic",
    "network_structure",
    "receptive_fields",
    "reliability",
    "save",
    "share_used",
    "sharing_matrix",
    "stream_scores",
    "training_history",
]
