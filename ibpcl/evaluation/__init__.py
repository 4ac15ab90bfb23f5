"""Evaluation of a run: accuracy and transfer (metrics), masks (structure), and figures."""
