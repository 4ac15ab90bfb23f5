"""Figures that compare rows; those of single runs are in ``ibpcl.evaluation.figures``."""

import math

import numpy as np

from ibpcl.evaluation import structure
from ibpcl.evaluation.figures import canvas, method_comparison
from ibpcl.evaluation.figures.method_looks import method_looks
from ibpcl.experiments import tables


def panels(count, width=85, height=62, columns=2):
    """Return the Axes of a figure with several panels.

    Parameters
    ----------
    count : int
        The number of panels, >= 1.
    width, height : float
        The size of one panel, in mm.
    columns : int
        The largest number of panels in a row.

    Returns
    -------
    axes : ndarray of matplotlib.axes.Axes, shape (count,)
    """
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    axes = canvas.new_axes(width * columns, height * rows, rows, columns, squeeze=False).ravel()
    for ax in axes[count:]:
        ax.set_axis_off()
    return axes[:count]


def compare(table, ax, title=None):
    """Draw a table as dots with their deviation: a line per row, a mark per column.

    Parameters
    ----------
    table : iterable of Entry
        At most four columns. Entries without a value are left out. Printed values of a single
        column are drawn as hollow diamonds.
    ax : matplotlib.axes.Axes
    title : str, optional

    Returns
    -------
    ax : matplotlib.axes.Axes
    """
    entries = [entry for entry in table if not math.isnan(entry.mean)]
    rows = list(dict.fromkeys(entry.row for entry in entries))
    columns = list(dict.fromkeys(entry.column for entry in entries))
    theirs = [entry for entry in entries if entry.printed is not None]
    ours = "here" if theirs else None
    for column, color, marker in zip(columns, canvas.PALETTE, "osD^", strict=False):
        shown = [entry for entry in entries if entry.column == column]
        ax.errorbar(
            [entry.mean for entry in shown],
            [rows.index(entry.row) for entry in shown],
            xerr=[entry.deviation for entry in shown],
            fmt=marker,
            markersize=4,
            color=color,
            elinewidth=1,
            label=tables.shown(column) if len(columns) > 1 else ours,
        )
    for n, entry in enumerate(theirs):
        printed = entry.printed
        ax.errorbar(
            printed.value,
            rows.index(entry.row) - 0.22,
            xerr=printed.deviation,
            fmt="D",
            markersize=4,
            markerfacecolor="white",
            color=canvas.PALETTE[1],
            elinewidth=1,
            label=printed.source if n == 0 else None,
        )
    ax.set_yticks(range(len(rows)), map(tables.shown, rows))
    # The first row is on top.
    ax.set_ylim(len(rows) - 0.4, -0.6)
    canvas.style(ax, entries[0].unit.name if entries else None, None, title, grid="x")
    return ax


def compared(results, entries, height):
    """Draw one panel per benchmark with the entries of its column.

    Parameters
    ----------
    results : ibpcl.experiments.findings.Results
    entries : sequence of Entry
        Their columns are the labels of the benchmarks.
    height : float
        The height of a panel without its rows, in mm.

    Returns
    -------
    axes : ndarray of matplotlib.axes.Axes
    """
    axes = panels(len(results.benchmarks), height=height + 6 * len(results.rows))
    for ax, b in zip(axes, results.benchmarks, strict=True):
        compare([entry for entry in entries if entry.column == b.label], ax, b.label)
    one_legend(axes)
    return axes


def curves(matrices, ax, title=None, printed=()):
    """Draw the mean accuracy on the tasks so far.

    Parameters
    ----------
    matrices : dict of str to array_like, shape (seeds, T, T)
        The accuracy matrices of each row.
    ax : matplotlib.axes.Axes
    title : str, optional
    printed : sequence of (str, float)
        Rows with the paper's value after the last task, in percent.

    Returns
    -------
    ax : matplotlib.axes.Axes
    """
    matrices = {tables.shown(row): seeds for row, seeds in matrices.items()}
    drawn = _drawn(ax)
    looks = method_looks([*drawn, *matrices])
    method_comparison(matrices, ax, drawn)
    T = max(np.shape(seeds)[-1] for seeds in matrices.values())
    for row, value in printed:
        ax.plot(
            T + 0.2,
            value,
            **looks[tables.shown(row)]
            | {
                "linestyle": "none",
                "markersize": 5,
                "markerfacecolor": "white",
                "clip_on": False,
                "zorder": 3,
            },
        )
    canvas.percent_axis(ax)
    ax.set_title(title or "", fontsize=canvas.LABEL, color=canvas.INK)
    return ax


def bands(lines, ax, x, xlabel, ylabel, title=None, log=False, percent=True):
    """Draw means as lines, each with a band of one standard deviation.

    Parameters
    ----------
    lines : dict of str to array_like, shape (seeds, points)
        A line with fewer points than ``x`` starts later.  NaN stands for a seed that is missing
        at a point.
    ax : matplotlib.axes.Axes
    x : sequence
        Positions of the points.
    xlabel, ylabel : str or None
    title : str, optional
    log : bool
        Whether the x axis is logarithmic.
    percent : bool
        Whether the values are accuracies, at most 100 percent.

    Returns
    -------
    ax : matplotlib.axes.Axes
    """
    lines = {tables.shown(name): values for name, values in lines.items()}
    looks = method_looks([*_drawn(ax), *lines])
    for name, values in lines.items():
        values = np.ma.masked_invalid(np.asarray(values, float))
        mean = values.mean(axis=0)
        ax.plot(x[-len(mean) :], mean, label=name, **(canvas.LINE | looks[name]))
        if len(values) > 1:
            deviation = values.std(axis=0, ddof=1)
            above = np.minimum(mean + deviation, 100.0) if percent else mean + deviation
            ax.fill_between(
                x[-len(mean) :],
                mean - deviation,
                above,
                color=looks[name]["color"],
                alpha=0.18,
                linewidth=0,
            )
    canvas.style(ax, xlabel, ylabel, title, grid="y")
    if log:
        ax.set_xscale("log")
        ax.minorticks_off()
    else:
        ax.set_xlim(x[0] - 0.2, x[-1] + 0.2)
    ax.set_xticks(x, [str(value) for value in x])
    if percent:
        canvas.percent_axis(ax)
    return ax


def one_legend(axes):
    """Replace the legends of several panels by one legend below them; the figure grows.

    Parameters
    ----------
    axes : sequence of matplotlib.axes.Axes
        The panels of one figure.
    """
    named = {
        label: handle
        for ax in axes
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    for ax in axes:
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    if not named:
        return
    figure = axes[0].figure
    width, height = figure.get_size_inches()
    # Use as few rows as fit into the width.
    for rows in range(1, len(named) + 1):
        legend = figure.legend(
            named.values(),
            named,
            loc="outside lower center",
            ncols=math.ceil(len(named) / rows),
            fontsize=canvas.TICK,
            labelcolor=canvas.INK,
            frameon=False,
            handlelength=canvas.DASHED,
        )
        wide, high = legend.get_window_extent().size / figure.dpi
        # Widths depend slightly on the resolution of the file.
        if wide < 0.98 * width or rows == len(named):
            break
        legend.remove()
    figure.set_size_inches(width, height + high)


def pixel_maps(rows, image_shape, task_names):
    """Draw, for each row and task, the share of the first layer's units that use each pixel.

    Parameters
    ----------
    rows : dict of str to list of ndarray of bool, shape (D, K)
        The masks of each row, one per task.
    image_shape : tuple of int
        Height and width, with D pixels in all.
    task_names : sequence of str

    Returns
    -------
    axes : ndarray of matplotlib.axes.Axes, shape (rows, tasks)
    """
    columns = len(task_names)
    axes = canvas.new_axes(22 * columns + 30, 25 * len(rows) + 4, len(rows), columns, squeeze=False)
    for i, (name, layers) in enumerate(rows.items()):
        maps = [100 * structure.input_density(layer).reshape(image_shape) for layer in layers]
        top = max(float(np.max(maps)), 1e-9)
        for j, (ax, picture) in enumerate(zip(axes[i], maps, strict=True)):
            image = ax.imshow(picture, cmap="Blues", vmin=0, vmax=top)
            ax.set(xticks=[], yticks=[])
            canvas.style(
                ax,
                None,
                name.replace(", ", ",\n") if j == 0 else None,
                task_names[j] if i == 0 else None,
            )
            ax.spines[:].set(visible=True, linewidth=0.6, color=canvas.INK)
        bar = axes[i, 0].figure.colorbar(image, ax=list(axes[i]), shrink=0.8, pad=0.01)
        bar.ax.tick_params(labelsize=canvas.TICK)
        bar.set_label("% of units", fontsize=canvas.TICK)
        bar.outline.set_visible(False)
    return axes


def _drawn(ax):
    """Return the names of all lines in the figure so far, which keep their colours."""
    return [name for panel in ax.figure.axes for name in panel.get_legend_handles_labels()[1]]
