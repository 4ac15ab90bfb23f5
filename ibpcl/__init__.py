"""Bayesian structure adaptation for continual learning, in NumPy, with every gradient derived by hand.

The package follows Kumar, Chatterjee and Rai, "Bayesian Structure Adaptation for Continual Learning".
Importing it loads neither Matplotlib nor Numba: each is loaded where it is first needed.
"""

__version__ = "0.1.0"
