"""Pictures of several rows at once; those of single runs are in ``ibpcl.evaluation.figures``."""

import math

import numpy as np

from ibpcl.evaluation import structure
from ibpcl.evaluation.figures import canvas, method_comparison


def panels(count, width=85, height=62, columns=2):
    """Return ``count`` Axes of one figure, side by side in rows of ``columns``; sizes in mm, of one
    panel.
    """
    columns = min(columns, count)
    rows = math.ceil(count / columns)
    axes = canvas.new_axes(width * columns, height * rows, rows, columns, squeeze=False).ravel()
    for ax in axes[count:]:
        ax.set_axis_off()
    return axes[:count]


def compare(table, ax, title=None):
    """Draw one column of entries as dots with their deviation, and what others report as hollow
    diamonds.
    """
    entries = [entry for entry in table if not math.isnan(entry.mean)]
    for i, entry in enumerate(entries):
        ax.errorbar(
            entry.mean,
            i,
            xerr=_or_none(entry.deviation),
            fmt="o",
            markersize=4,
            color=canvas.PALETTE[0],
            elinewidth=1,
            label="here" if i == 0 else None,
        )
    theirs = [(i, entry.printed) for i, entry in enumerate(entries) if entry.printed is not None]
    for n, (i, printed) in enumerate(theirs):
        ax.errorbar(
            printed.value,
            i - 0.22,
            xerr=printed.deviation,
            fmt="D",
            markersize=4,
            markerfacecolor="white",
            color=canvas.PALETTE[1],
            elinewidth=1,
            label=printed.source if n == 0 else None,
        )
    ax.set_yticks(range(len(entries)), [entry.row for entry in entries])
    ax.set_ylim(len(entries) - 0.4, -0.6)  # the first row on top
    canvas.style(ax, entries[0].unit.name if entries else None, None, title, grid="x")
    return ax


def compared(results, entries, height):
    """Draw a panel for each benchmark with the entries of its column; ``height`` in mm, of what is
    not rows.
    """
    axes = panels(len(results.benchmarks), height=height + 6 * len(results.rows))
    for ax, b in zip(axes, results.benchmarks, strict=True):
        compare([entry for entry in entries if entry.column == b.label], ax, b.label)
    one_legend(axes)
    return axes


def curves(matrices, ax, title=None, printed=()):
    """Draw the mean accuracy so far of several rows; ``printed`` are the paper's values after the
    last task.
    """
    drawn = _drawn(ax)
    looks = canvas.looks([*drawn, *matrices])
    method_comparison(matrices, ax, drawn)
    T = max(np.shape(seeds)[-1] for seeds in matrices.values())
    for row, value in printed:
        ax.plot(
            T + 0.2,
            value,
            markersize=5,
            markerfacecolor="white",
            clip_on=False,
            zorder=3,
            **{**looks[row], "linestyle": "none"},
        )
    canvas.percent_axis(ax)
    ax.set_title(title or "", fontsize=canvas.LABEL, color=canvas.INK)
    return ax


def bands(lines, ax, x, xlabel, ylabel, title=None, log=False, percent=True):
    """Draw lines of means with a band of one deviation: ``lines`` maps a name to an array (seeds,
    points).

    With fewer points than ``x`` has, a line begins later.  ``percent`` is that of an accuracy, at
    most 100.
    """
    looks = canvas.looks([*_drawn(ax), *lines])
    for name, values in lines.items():
        values = np.asarray(values, float)
        mean = values.mean(axis=0)
        ax.plot(x[-len(mean) :], mean, markersize=3.5, linewidth=1.4, label=name, **looks[name])
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
    """Put one legend below several panels, for all their lines, in the place of their own; the
    figure grows by it.
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
    for rows in range(1, len(named) + 1):  # the fewest with which it fits
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
        # widths depend a little on a file's resolution
        if wide < 0.98 * width or rows == len(named):
            break
        legend.remove()
    figure.set_size_inches(width, height + high)


def pixel_maps(rows, image_shape, task_names):
    """Draw, for each row and task, the share of the first layer's units that use each pixel: a
    picture of the mask.

    Parameters
    ----------
    rows : dict of str to list of ndarray of bool, shape (D, K)
        For each row the mask of each task.
    image_shape : (int, int)
        With D pixels.
    task_names : sequence of str
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
    """Return the names in all panels of the figure so far: they keep their looks, for one
    legend.
    """
    return [name for panel in ax.figure.axes for name in panel.get_legend_handles_labels()[1]]


def _or_none(value):
    return None if math.isnan(value) else value
