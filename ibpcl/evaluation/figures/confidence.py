"""Reliability diagrams of classifiers."""

import numpy as np

from . import canvas


def class_reliability(tasks, task_names=None, ax=None):
    """Draw the accuracy against the confidence of each task's predictions, bin by bin.

    A calibrated classifier lies on the diagonal; below it the classifier is too sure.  A marker is the larger, the more
    examples its bin has; those of few examples are where chance has put them.

    Parameters
    ----------
    tasks : sequence of ibpcl.evaluation.confidence.Bins
        Of each task, with bins of the same edges.

    Returns
    -------
    Axes with the diagonal, and the markers of each task.
    """
    names = canvas.task_labels(len(tasks), task_names, "figures.class_reliability")
    ax = canvas.new_axes(height=72) if ax is None else ax
    ax.plot([0, 100], [0, 100], color=canvas.INK, linewidth=0.8, linestyle="--")
    for name, look, bins in zip(names, canvas.looks(names).values(), tasks, strict=True):
        there = bins.examples > 0
        x, y = 100 * bins.confidence[there], 100 * bins.accuracy[there]
        ax.scatter(x, y, s=8 * (1 + np.log10(bins.examples[there])), color=look["color"], marker=look["marker"],
                   linewidths=0, alpha=0.8, label=name, zorder=2)
    canvas.style(ax, "confidence (%)", "accuracy (%)")
    first = min(np.flatnonzero(bins.examples)[0] for bins in tasks)
    ax.set(xlim=(100 * first / len(tasks[0].examples), 102), ylim=(-4, 104))
    canvas.legend(ax)
    return ax
