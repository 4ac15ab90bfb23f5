"""Figures of calibration: reliability diagrams, and predictive intervals along a line."""

import numpy as np

from ibpcl.evaluation.calibration import binomial_band
from ibpcl.palette import BLUE, VERMILION
from ibpcl.plotting import styled

from . import canvas

NOISE = BLUE
MODEL = VERMILION
# opacity of the widest band, and the increase for each narrower one
PALEST = 0.16
STEP = 0.3


@styled
def reliability(levels, observed, examples, task_names=None, ax=None):
    """Draw the observed against the nominal coverage of each task's predictive intervals.

    A calibrated task lies on the diagonal; above it, intervals are too wide.  The grey band
    contains a calibrated task with probability 95 % at each level
    (:func:`ibpcl.evaluation.calibration.binomial_band`).

    Parameters
    ----------
    levels : sequence of float, shape (L,)
        Nominal levels, fractions; drawn in percent.
    observed : array_like, shape (T, L)
        Coverage of each task, from :func:`ibpcl.evaluation.calibration.coverage`.
    examples : int
        Number of examples per task; the smallest number if tasks differ.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With a band, the diagonal, and a line per task.

    Raises
    ------
    ValueError
        If ``observed`` has another shape, or ``task_names`` another length.
    """
    observed = np.asarray(observed, float)
    if observed.ndim != 2 or observed.shape[1] != len(levels):
        raise ValueError(
            f"figures.reliability: observed must have shape (T, {len(levels)}), got "
            f"{observed.shape}"
        )
    names = canvas.task_labels(len(observed), task_names, "figures.reliability")
    ax = canvas.new_axes(height=72) if ax is None else ax
    nominal = np.linspace(0.005, 0.995, 199)
    low, high = binomial_band(nominal, examples)
    ax.fill_between(
        100 * nominal, 100 * low, 100 * high, color=canvas.GRID, linewidth=0, label="chance, 95 %"
    )
    ax.plot([0, 100], [0, 100], color=canvas.INK, linewidth=0.8, linestyle="--")
    few = len(canvas.PALETTE) > len(names)
    for t, color in enumerate(canvas.task_colors(len(names))):
        named = few or t in (0, len(names) // 2, len(names) - 1)
        ax.plot(
            100 * np.asarray(levels),
            100 * observed[t],
            color=color,
            linewidth=1.0,
            marker=canvas.MARKERS[t] if few else None,
            markersize=3,
            label=names[t] if named else None,
        )
    canvas.style(ax, "nominal coverage (%)", "observed coverage (%)")
    ax.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")
    canvas.legend(ax)
    return ax


@styled
def class_reliability(tasks, task_names=None, ax=None):
    """Draw the accuracy against the confidence of each task's predictions, bin by bin.

    A calibrated classifier lies on the diagonal; below it, the classifier is overconfident.  A
    marker is larger if its bin has more examples; the position of a small marker is largely due to
    chance.

    Parameters
    ----------
    tasks : sequence of ibpcl.evaluation.confidence.Bins
        Bins of each task, all with the same edges.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With the diagonal, and the markers of each task.

    Raises
    ------
    ValueError
        If ``task_names`` has another length.
    """
    names = canvas.task_labels(len(tasks), task_names, "figures.class_reliability")
    ax = canvas.new_axes(height=72) if ax is None else ax
    ax.plot([0, 100], [0, 100], color=canvas.INK, linewidth=0.8, linestyle="--")
    for name, look, bins in zip(names, canvas.looks(names).values(), tasks, strict=True):
        filled = bins.examples > 0
        x = 100 * bins.confidence[filled]
        y = 100 * bins.accuracy[filled]
        ax.scatter(
            x,
            y,
            s=8 * (1 + np.log10(bins.examples[filled])),
            color=look["color"],
            marker=look["marker"],
            linewidths=0,
            alpha=0.8,
            label=name,
            zorder=2,
        )
    canvas.style(ax, "confidence (%)", "accuracy (%)")
    first = min(np.flatnonzero(bins.examples)[0] for bins in tasks)
    ax.set(xlim=(100 * first / len(tasks[0].examples), 102), ylim=(-4, 104))
    canvas.legend(ax)
    return ax


@styled
def intervals(place, observed, mean, bands, model, breaks=(), ax=None):
    """Draw predictive intervals along a line, with the part due to uncertainty about the model.

    Parameters
    ----------
    place : array_like, shape (N,)
        Positions on the line.
    observed : array_like, shape (N,)
        Observed values.
    mean : array_like, shape (N,)
        Predictive means.
    bands : dict of float to (low, high), each of shape (N,)
        Predictive interval of each level, a fraction.
    model : (low, high), each of shape (N,)
        Interval of the mean alone, at the largest level: more data would remove it.  The rest is
        noise.
    breaks : sequence of float
        Positions where another task begins, marked by vertical lines.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With a filled area for each level, widest first; two lines for the model; the mean; the
        observations.

    Raises
    ------
    ValueError
        If arrays differ in length, or ``bands`` is empty.
    """
    place = np.asarray(place, float)
    edges = [np.asarray(edge, float) for pair in (*bands.values(), model) for edge in pair]
    lengths = {array.shape for array in (place, np.asarray(observed), np.asarray(mean), *edges)}
    if not bands or len(lengths) != 1 or place.ndim != 1:
        raise ValueError(
            "figures.intervals: place, observed, mean and all edges of at least one band must "
            f"have one shape (N,), got {len(bands)} bands and shapes {sorted(lengths)}"
        )
    ax = canvas.new_axes(width=180, height=75) if ax is None else ax
    widest = max(bands)
    for i, level in enumerate(sorted(bands, reverse=True)):
        ax.fill_between(
            place,
            *bands[level],
            color=NOISE,
            alpha=PALEST + STEP * i / len(bands),
            linewidth=0,
            label=f"{100 * level:g} % of observations",
        )
    # lines: as an area it would hide the bands
    for i, edge in enumerate(model):
        ax.plot(
            place,
            edge,
            color=MODEL,
            linewidth=0.8,
            label=None if i else f"{100 * widest:g} %, model alone",
        )
    ax.plot(place, mean, color=canvas.INK, linewidth=1.0, label="predicted")
    ax.plot(
        place,
        observed,
        color=canvas.INK,
        linestyle="none",
        marker="o",
        markersize=2.2,
        label="observed",
    )
    for start in breaks:
        ax.axvline(start, color=canvas.INK, linewidth=0.6, linestyle=":")
    canvas.style(ax, grid="y")
    ax.margins(x=0.01)
    canvas.legend(ax)
    return ax
