"""Reliability diagrams of classifiers."""

from . import canvas

LEAST = 10                                                   # examples of a bin that is drawn


def class_reliability(tasks, task_names=None, ax=None):
    """Draw the accuracy against the confidence of each task's predictions, bin by bin.

    A calibrated classifier lies on the diagonal; below it the classifier is too sure.  Bins of fewer than ten examples
    are left out: chance moves them by tens of points.

    Parameters
    ----------
    tasks : sequence of ibpcl.evaluation.confidence.Bins
        Of each task.
    task_names : sequence of str, optional
    ax : Axes, optional

    Returns
    -------
    Axes
        With the diagonal and a line a task.
    """
    names = canvas.task_labels(len(tasks), task_names, "figures.class_reliability")
    ax = canvas.new_axes(height=72) if ax is None else ax
    ax.plot([0, 100], [0, 100], color=canvas.INK, linewidth=0.8, linestyle="--")
    for name, look, bins in zip(names, canvas.looks(names).values(), tasks, strict=True):
        drawn = bins.examples >= LEAST
        ax.plot(100 * bins.confidence[drawn], 100 * bins.accuracy[drawn], linewidth=1.0, markersize=3.5, label=name,
                **look)
    canvas.style(ax, "confidence (%)", "accuracy (%)")
    lowest = 100 / max(2, len(tasks[0].examples))
    ax.set(xlim=(lowest, 101), ylim=(lowest, 101), aspect="equal")
    canvas.legend(ax)
    return ax
