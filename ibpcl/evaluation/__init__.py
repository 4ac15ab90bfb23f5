"""Evaluation of a run: accuracy and transfer (metrics), use of the network (structure), and figures."""
