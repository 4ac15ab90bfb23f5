"""Figures of generative models: likelihoods, samples and reconstructions, codes, few labels."""

import numpy as np

from ibpcl.plotting import styled

from . import canvas
from .accuracy import draw_map


@styled
def likelihood_curves(R, task_names=None, axes=None):
    """Draw the likelihood of each task over time, and beside it the change since it was learned.

    Kumar et al. (2021), supplement, figure "Test likelihood decays of individual tasks".

    Parameters
    ----------
    R : array_like, shape (T, T)
        R[i, j] is the mean log-likelihood of task j's test images after learning task i, in nats
        per image; NaN where not evaluated.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    axes : sequence of 2 matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    axes : ndarray of Axes, shape (2,)
        The first has T lines.  The second has their changes since the first point, and the mean
        over earlier tasks.

    Raises
    ------
    ValueError
        If R is not square, or the number of names or Axes does not fit.
    """
    R = as_likelihood_matrix(R, "figures.likelihood_curves")
    T = len(R)
    names = canvas.task_labels(T, task_names, "figures.likelihood_curves")
    axes = canvas.new_axes(width=190, height=66, columns=2) if axes is None else axes
    axes = canvas.given_axes(axes, 2, "figures.likelihood_curves")
    steps = np.arange(1, T + 1)
    colors = canvas.task_colors(T)
    change = R - R.diagonal()
    for ax, values in zip(axes, (R, change), strict=True):
        for j in range(T):
            ax.plot(
                steps[j:],
                values[j:, j],
                color=colors[j],
                linewidth=1.1,
                marker=canvas.MARKERS[j % 7],
                markersize=3,
                label=names[j],
            )
        canvas.whole_ticks(ax, T)
        ax.set_xlim(0.8, T + 0.2)
    if T > 1:
        # The task just learned has not changed, so the mean is over the earlier ones.
        so_far = [np.mean(change[i, :i]) for i in range(1, T)]
        axes[1].plot(
            steps[1:], so_far, color=canvas.INK, linewidth=2.0, label="mean of earlier tasks"
        )
    canvas.style(axes[0], "tasks learned", "log-likelihood (nats per image)", grid="y")
    canvas.style(axes[1], "tasks learned", "change since it was learned (nats)", grid="y")
    canvas.legend(axes[1], ncols=1 if T <= 15 else 2)
    return axes


@styled
def likelihood_matrix(R, task_names=None, ax=None):
    """Draw the matrix of likelihoods as a map, with its numbers for up to ten tasks.

    Parameters
    ----------
    R : array_like, shape (T, T)
        R[i, j] is the mean log-likelihood of task j's test images after learning task i, in nats
        per image; NaN where not evaluated.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one image, in nats; the lightest cell is the lowest value.

    Raises
    ------
    ValueError
        If R is not square, or ``task_names`` has another length.
    """
    R = as_likelihood_matrix(R, "figures.likelihood_matrix")
    names = canvas.task_labels(len(R), task_names, "figures.likelihood_matrix")
    ax = canvas.new_axes(width=canvas.WIDTH + 3 * len(R), height=84) if ax is None else ax
    known = R[np.isfinite(R)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    draw_map(ax, R, names, names, "{:.0f}", low, high if high > low else low + 1)
    canvas.style(ax, "log-likelihood (nats per image) of task", "after learning task")
    return canvas.bare(ax)


def as_likelihood_matrix(R, caller):
    """Return a likelihood matrix as a float array, after checking that it is square.

    Parameters
    ----------
    R : array_like, shape (T, T)
        Log-likelihoods; NaN or None where not evaluated.
    caller : str
        Name of the function in error messages.

    Returns
    -------
    R : ndarray, shape (T, T)
        A copy, with NaN for None.

    Raises
    ------
    ValueError
        If R is empty or not square.
    """
    R = np.array(R, dtype=float)
    if R.ndim != 2 or R.shape[0] != R.shape[1] or R.size == 0:
        raise ValueError(
            f"{caller}: R must be square, (T, T) with T at least 1, got shape {R.shape}"
        )
    return R


@styled
def image_rows(
    rows, image_shape, row_names=None, column_names=None, group=1, ax=None, labels=("", "")
):
    """Draw images in rows, with dark ink on a light ground.

    Kumar et al. (2021), figure "Generated samples": "each row represents the generated samples from
    all previously seen tasks and the current task".

    Parameters
    ----------
    rows : sequence of array_like, shape (n_r, D)
        Images of each row, pixels in 0..1; rows may differ in length.
    image_shape : (int, int)
        Height and width, with height * width = D.
    row_names : sequence of str, optional
        One name per row.
    column_names : sequence of str, optional
        One name for every ``group`` columns.
    group : int
        Number of columns that are drawn close together.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.
    labels : pair of str
        Labels of the x axis (columns) and the y axis (rows).

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one image; cells without an image are NaN.

    Raises
    ------
    ValueError
        If ``rows`` contain no image, or an image does not have D pixels.
    """
    height, width = image_shape
    rows = [np.asarray(row, float) for row in rows]
    if (
        not rows
        or not max(map(len, rows))
        or any(row.ndim != 2 or row.shape[1] != height * width for row in rows)
    ):
        raise ValueError(
            f"figures.image_rows: rows must hold images of {height * width} pixels, (n, D) each, "
            f"got {[row.shape for row in rows]}"
        )
    columns = max(map(len, rows))
    gap = max(1, width // 14)
    wide = max(2, width // 4)
    lefts = np.array(
        [c * (width + gap) + (c // group) * (wide if group > 1 else 0) for c in range(columns)]
    )
    sheet = np.full((len(rows) * (height + gap) - gap, lefts[-1] + width), np.nan)
    for r, row in enumerate(rows):
        for left, image in zip(lefts, row, strict=False):
            top = r * (height + gap)
            sheet[top : top + height, left : left + width] = image.reshape(height, width)
    if ax is None:
        across = min(180.0, 9.0 * columns + 22)
        ax = canvas.new_axes(across, (across - 22) * sheet.shape[0] / sheet.shape[1] + 16)
    ax.imshow(np.ma.masked_invalid(sheet), cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    canvas.style(ax, *labels)
    if row_names is not None:
        ax.set_yticks(np.arange(len(rows)) * (height + gap) + height / 2, row_names)
    if column_names is not None:
        # the last group may be shorter than the others
        middles = [
            (lefts[first] + lefts[min(first + group, columns) - 1] + width) / 2
            for first in range(0, columns, group)
        ]
        ax.set_xticks(middles, canvas.narrow(column_names[: len(middles)]))
    return canvas.bare(ax)


@styled
def code_maps(maps, labels, class_names, axes=None):
    """Draw maps of latent codes in the plane, one panel each, coloured by class.

    Kumar et al. (2021), supplement, t-SNE plots.

    Parameters
    ----------
    maps : dict of str to array_like, shape (N, 2)
        Positions of the codes, by the title of the panel.
    labels : ndarray of int, shape (N,)
        Classes of the codes, from 0.
    class_names : sequence of str
        One name per class.
    axes : sequence of matplotlib.axes.Axes, optional
        One per panel; a new figure if not given.

    Returns
    -------
    axes : ndarray of Axes
        One per panel.

    Raises
    ------
    ValueError
        If the number of Axes is not that of the maps.
    """
    from matplotlib import colormaps

    axes = (
        canvas.new_axes(62 * len(maps) + 18, 66, columns=len(maps), squeeze=False)
        if axes is None
        else axes
    )
    axes = canvas.given_axes(axes, len(maps), "figures.code_maps")
    classes = len(class_names)
    colors = [
        colormaps["tab10" if classes <= 10 else "viridis"](c if classes <= 10 else c / classes)
        for c in range(classes)
    ]
    for ax, (title, points) in zip(axes, maps.items(), strict=True):
        points = np.asarray(points)
        for c, name in enumerate(class_names):
            ax.scatter(*points[labels == c].T, s=3, color=colors[c], linewidths=0, label=name)
        canvas.style(ax, title=title)
        canvas.framed(ax, canvas.GRID)
    canvas.legend(axes[-1], markerscale=2.5, ncols=1 if classes <= 12 else 2)
    return axes


@styled
def few_labels(results, ax=None):
    """Draw the error against the number of labels per class.

    A band shows one sample standard deviation over draws of the labelled images to either side.

    Parameters
    ----------
    results : dict of str to pair (labels (P,), errors (P, draws))
        :class:`ibpcl.evaluation.few_labels.FewLabels`, by name; errors are fractions, drawn in
        percent.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one line per result, the mean over draws.
    """
    ax = canvas.new_axes(width=120) if ax is None else ax
    ticks = set()
    looks = canvas.looks(results)
    for name, (labels, errors) in results.items():
        canvas.mean_and_band(ax, labels, 100 * np.asarray(errors, float).T, name, looks[name])
        ticks |= set(np.asarray(labels).tolist())
    ax.set_xscale("log")
    ax.minorticks_off()
    ax.set_xticks(sorted(ticks), [str(tick) for tick in sorted(ticks)])
    ax.set_ylim(bottom=0)
    canvas.style(ax, "labelled images a class", "error (%)", grid="y")
    canvas.legend(ax)
    return ax
