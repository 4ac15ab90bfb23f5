"""Figures of accuracy over time, as curves and as a matrix."""

import numpy as np

from ibpcl.evaluation.metrics import as_accuracy_matrix, average_accuracy_so_far
from ibpcl.plotting import styled

from . import canvas
from .method_looks import method_looks


@styled
def accuracy_curves(R, task_names=None, ax=None, lowest=None):
    """Draw the accuracy on each task over time, and the mean over the tasks learned so far.

    Kumar et al. (2021), figure "Mean test accuracies of tasks seen so far" and its comparison with
    VCL, task by task.

    Parameters
    ----------
    R : array_like, shape (T, T)
        Accuracy matrix, fractions in 0..1, NaN where not evaluated; drawn in percent.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.
    lowest : float, optional
        Accuracy in percent at which the y axis begins; use the same value for figures side by side.
        If not given, the axis fits the lines.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With T + 1 lines: the tasks in their order, then the mean.  Names and last values are
        written at their ends.

    Raises
    ------
    ValueError
        If R is not an accuracy matrix, or ``task_names`` has another length.
    """
    R = as_accuracy_matrix(R, "figures.accuracy_curves")
    T = len(R)
    names = canvas.task_labels(T, task_names, "figures.accuracy_curves")
    ax = canvas.new_axes() if ax is None else ax
    steps = np.arange(1, T + 1)
    colors = canvas.task_colors(T)
    few = len(canvas.PALETTE) > T
    mean = 100 * average_accuracy_so_far(R)
    labels = []
    for j in range(T):
        ax.plot(
            steps[j:],
            100 * R[j:, j],
            color=colors[j],
            linewidth=1.2 if few else 0.8,
            marker=canvas.MARKERS[j] if few else None,
            markersize=3.5,
        )
        if few or j in (0, T // 2, T - 1):  # thirty names would hide the figure
            labels.append((f"{_task(names[j])}  {100 * R[-1, j]:.2f}", 100 * R[-1, j], colors[j]))
    ax.plot(steps, mean, color=canvas.INK, linewidth=2.2)
    labels.append((f"mean so far  {mean[-1]:.2f}", mean[-1], canvas.INK))
    canvas.style(ax, "tasks learned", "test accuracy (%)", grid="y")
    canvas.percent_axis(ax, least=5.0)  # half a point must not look like a large drop
    if lowest is not None:
        ax.set_ylim(lowest, 100 + 0.04 * (100 - lowest))  # room for markers
    _separate(ax.lines[:T] if few else (), ax)
    canvas.whole_ticks(ax, T)
    ax.set_xlim(0.8, T + 0.2)
    canvas.label_lines(ax, labels)
    return ax


def _separate(lines, ax):
    """Move overlapping lines slightly apart on paper, without changing their data."""
    from matplotlib.transforms import ScaledTranslation

    low, high = ax.get_ylim()
    ends = []  # last values of the earlier lines
    for line in lines:
        end = np.nan_to_num(line.get_ydata()[-1])
        same = sum(abs(end - other) < 0.015 * (high - low) for other in ends)
        ends.append(end)
        if same:
            points = 1.6 * (-1) ** same * ((same + 1) // 2)
            line.set_transform(
                line.get_transform() + ScaledTranslation(0, points / 72, ax.figure.dpi_scale_trans)
            )


@styled
def accuracy_matrix(R, task_names=None, ax=None, lowest=None):
    """Draw the accuracy matrix as a map, with its numbers for up to ten tasks.

    The colour runs from ``lowest`` to 100 %.

    Parameters
    ----------
    R : array_like, shape (T, T)
        Accuracy matrix, fractions in 0..1; NaN entries remain empty.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.
    lowest : float, optional
        Accuracy in percent at which the colour scale begins; use the same value for figures side by
        side.  If not given, the lowest accuracy on a task already learned, rounded down to a
        multiple of 5 %.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one image, in percent.

    Raises
    ------
    ValueError
        If R is not an accuracy matrix, or ``task_names`` has another length.
    """
    R = as_accuracy_matrix(R, "figures.accuracy_matrix")
    T = len(R)
    names = canvas.task_labels(T, task_names, "figures.accuracy_matrix")
    own_figure = ax is None
    ax = (
        canvas.new_axes(max(canvas.WIDTH + 15, 35 + 9 * T), max(72, 25 + 6 * T))
        if own_figure
        else ax
    )
    learned = 100 * R[np.tril_indices(T)]
    if lowest is None:
        lowest = min(95.0, 5 * np.floor(np.nanmin(learned, initial=100.0) / 5))
    draw_map(ax, 100 * R, names, names, "{:.2f}", lowest, 100.0, own_figure)
    canvas.style(ax, "test accuracy (%) on task", "after learning task")
    return canvas.bare(ax)


def draw_map(ax, values, row_names, column_names, number, lowest, highest, bar=False):
    """Draw a matrix of numbers as a map, darker for larger values.

    Up to ten columns have numbers in their cells; more columns have a colour bar.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw on.
    values : ndarray, shape (rows, columns)
        Values to draw; NaN entries remain empty.
    row_names : sequence of str
        Names of the rows.
    column_names : sequence of str
        Names of the columns.
    number : str
        Format of a number, such as ``"{:.2f}"``.
    lowest, highest : float
        Ends of the colour scale.
    bar : bool
        Whether to draw a colour bar in any case.
    """
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    rows, columns = values.shape
    scale = Normalize(lowest, highest, clip=True)
    colors = colormaps["Blues"].with_extremes(bad=canvas.EMPTY)
    image = ax.imshow(np.ma.masked_invalid(values), cmap=colors, norm=scale, aspect="auto")
    if bar or columns > 10:
        canvas.color_bar(image, ax, 0.8)
    if columns > 10:
        step = -(-columns // 10)
        row_names, column_names = (  # an additional row below those of the tasks keeps its name
            [name if t % step == 0 or t >= columns else "" for t, name in enumerate(names)]
            for names in (row_names, column_names)
        )
    else:
        for i, j in np.argwhere(np.isfinite(values)):
            dark = scale(values[i, j]) > 0.6
            ax.text(
                j,
                i,
                number.format(values[i, j]),
                ha="center",
                va="center",
                fontsize=canvas.TICK,
                color="white" if dark else canvas.INK,
            )
        # white lines between the cells
        ax.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5)
        ax.tick_params(which="minor", length=0)
    ax.set_xticks(range(columns), canvas.narrow(column_names))
    ax.set_yticks(range(rows), row_names)


@styled
def method_comparison(matrices, ax=None, order=()):
    """Draw the mean accuracy of several methods on the tasks learned so far, with bands over seeds.

    Kumar et al. (2021), figure "Mean test accuracies of tasks seen so far as new tasks are
    observed".

    Parameters
    ----------
    matrices : dict of str to array_like, shape (seeds, T, T)
        Accuracy matrices of each method; a single matrix (T, T) counts as one seed.  The band is
        one sample standard deviation (with divisor seeds - 1) to either side; one seed has no band.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.
    order : sequence of str
        Names that get the first of the remaining looks, drawn here or not.  Known methods have
        fixed looks (:mod:`~ibpcl.evaluation.figures.method_looks`), and with the same order all
        other names look the same in several figures, too.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one line per method, in order.

    Raises
    ------
    ValueError
        If ``matrices`` is empty, or a matrix has another shape.
    """
    if not matrices:
        raise ValueError(
            "figures.method_comparison: matrices must hold at least one method, got none"
        )
    # 4 mm for each name in the legend
    ax = canvas.new_axes(height=max(60, 16 + 4 * len(matrices))) if ax is None else ax
    longest = 1
    looks = method_looks([*order, *matrices])
    for name, seeds in matrices.items():
        seeds = [seeds] if np.ndim(seeds) == 2 else seeds
        curves = 100 * np.array([average_accuracy_so_far(R) for R in seeds])
        if curves.ndim != 2 or curves.size == 0:
            raise ValueError(
                f"figures.method_comparison: {name} must have shape (seeds, T, T), got "
                f"{np.shape(seeds)}"
            )
        canvas.mean_and_band(ax, np.arange(1, curves.shape[1] + 1), curves, name, looks[name])
        longest = max(longest, curves.shape[1])
    canvas.style(ax, "tasks learned", "mean accuracy so far (%)", grid="y")
    canvas.percent_axis(ax)
    canvas.whole_ticks(ax, longest)
    ax.set_xlim(0.8, longest + 0.2)
    canvas.legend(ax, handlelength=canvas.DASHED)
    return ax


def _task(name):
    """Return "task 3" for a bare number, else the name as it is."""
    return f"task {name}" if name.isdigit() else name
