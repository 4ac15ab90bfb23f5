"""Which weights each task uses: masks as images, and their sharing in numbers."""

import math

import numpy as np

from ibpcl.evaluation import structure

from . import canvas
from .accuracy import draw_map

NEW, SHARED, OFF = "#0072B2", "#E69F00", "#FFFFFF"        # blue and orange of the palette


def mask_matrices(masks, task_names=None, axes=None):
    """Draw each task's mask as a matrix: units from left to right, inputs from top to bottom, used weights dark.

    Many weights fall on one dot of the picture, which is as dark as the square root of the share of them that is used:
    sparse parts stay visible.  The percentage in the title is the mask's density.

    Kumar et al. (2021), figure "Learned masks for input to first hidden layer weights".

    Parameters
    ----------
    masks : sequence of ndarray of bool, shape (D, K)
        One layer's mask for each task, in the order of learning.
    task_names : sequence of str, optional
    axes : sequence of Axes, optional
        One for each task.

    Returns
    -------
    ndarray of Axes, shape (T,)
        Each with one image, (D, K), of zeros and ones.
    """
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    layers = [structure.as_mask(mask, "figures.mask_matrices") for mask in masks]
    T = len(layers)
    names = canvas.task_labels(T, task_names, "figures.mask_matrices")
    if axes is None:
        axes = canvas.new_axes(max(canvas.WIDTH, 16 * T), 80, columns=T, squeeze=False)
        axes[0, 0].figure.get_layout_engine().set(w_pad=0.03, wspace=0.02)      # narrow panels, close together
    axes = canvas.given_axes(axes, T, "figures.mask_matrices")
    ink = LinearSegmentedColormap.from_list("ink", ["white", "#08306B"])
    for ax, mask, name in zip(axes, layers, canvas.narrow(names), strict=True):
        ax.imshow(mask.astype(float), cmap=ink, norm=PowerNorm(0.5, 0, 1), aspect="auto", interpolation="antialiased",
                  interpolation_stage="data")
        D, K = mask.shape
        canvas.style(ax, f"{K} units", f"{D} inputs" if ax is axes[0] else None, f"{name}\n{100 * mask.mean():.1f} %")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(visible=True, linewidth=0.6, color=canvas.INK)
    return axes


def receptive_fields(masks, task_names=None, units=10, image_shape=None, ax=None):
    """Draw the mask of each of the first units as an image over the input pixels: a row for each task.

    Kumar et al. (2021), "Learned Network Structures": the masks lie where the images have ink, and thin out from the
    first unit on.

    Parameters
    ----------
    masks : sequence of ndarray of bool, shape (D, K)
        The first layer's mask for each task.
    task_names : sequence of str, optional
    units : int
        How many units to show, at most K.
    image_shape : (int, int), optional
        Height and width of an input image, D pixels; square by default.
    ax : Axes, optional

    Returns
    -------
    Axes
        With one image, T x ``units`` tiles.

    Raises
    ------
    ValueError
        If D is not the number of pixels of ``image_shape``.
    """
    layers = _colored(masks, "figures.receptive_fields")
    T, (D, K, _) = len(layers), layers[0].shape
    names = canvas.task_labels(T, task_names, "figures.receptive_fields")
    height, width = image_shape or (math.isqrt(D), math.isqrt(D))
    if height * width != D:
        raise ValueError(f"figures.receptive_fields: image_shape must have {D} pixels, the inputs of the masks, "
                         f"got {height} x {width}")
    if units < 1:
        raise ValueError(f"figures.receptive_fields: units must be at least 1, got {units}")
    units = min(units, K)
    gap = max(1, width // 10)
    sheet = np.full((T * (height + gap) - gap, units * (width + gap) - gap, 3), 0.87)      # light grey between tiles
    for t, colors in enumerate(layers):
        for k in range(units):
            top, left = t * (height + gap), k * (width + gap)
            sheet[top:top + height, left:left + width] = colors[:, k].reshape(height, width, 3)
    own_figure = ax is None
    if own_figure:
        height_of_sheet = 0.85 * canvas.WIDTH * sheet.shape[0] / sheet.shape[1]
        ax = canvas.new_axes(canvas.WIDTH + 1.3 * max(map(len, names)) - 4, 18 + height_of_sheet)  # room for names
    ax.imshow(sheet, interpolation="nearest")
    ax.set_xticks(np.arange(units) * (width + gap) + width / 2, [str(k + 1) for k in range(units)])
    ax.set_yticks(np.arange(T) * (height + gap) + height / 2, names)
    canvas.style(ax, "unit", "task")
    _color_key(ax, own_figure)
    return canvas.bare(ax)


def share_used(masks, task_names=None, ax=None):
    """Draw how the network fills: what each task uses of it, new or shared, and what all tasks so far use.

    Kumar et al. (2021), figure "percentage of network filled or used after learning k tasks".

    Parameters
    ----------
    masks : sequence
        As in :mod:`ibpcl.evaluation.structure`: one entry per task, a mask or a list of masks.
    task_names : sequence of str, optional
    ax : Axes, optional

    Returns
    -------
    Axes
        With two sets of bars, the new part below the shared part, and one line.
    """
    used, filled, added = structure.density(masks), structure.capacity_used(masks), structure.capacity_added(masks)
    T = len(used)
    names = canvas.task_labels(T, task_names, "figures.share_used")
    ax = canvas.new_axes() if ax is None else ax
    tasks = np.arange(1, T + 1)
    ax.bar(tasks, 100 * added, width=0.62, color=NEW, label="new weights")
    ax.bar(tasks, 100 * (used - added), bottom=100 * added, width=0.62, color=SHARED, label="shared with earlier")
    ax.plot(tasks, 100 * filled, color=canvas.INK, marker="o", markersize=3.5, linewidth=1.4, label="all tasks so far")
    canvas.style(ax, "task", "share of the network (%)", grid="y")
    step = -(-T // 10)
    ax.set_xticks(tasks[::step], canvas.narrow(names)[::step])
    ax.set_ylim(bottom=0)
    canvas.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1.2)
    return ax


def sharing_matrix(masks, task_names=None, ax=None):
    """Draw which share of each task's weights each other task uses, and below it what chance would give.

    Masks that lie independently of each other share as much as the density of the other task's mask: the last row.

    Kumar et al. (2021), figure "Percentage of weight sharing across tasks".

    Parameters
    ----------
    masks, task_names, ax
        As in :func:`share_used`.

    Returns
    -------
    Axes
        With one image of T + 1 rows, in percent; the diagonal, always 100, is left empty.
    """
    sharing = structure.sharing_matrix(masks)
    T = len(sharing)
    names = canvas.task_labels(T, task_names, "figures.sharing_matrix")
    ax = canvas.new_axes(height=78) if ax is None else ax
    values = 100 * np.vstack([np.where(np.eye(T, dtype=bool), np.nan, sharing), structure.density(masks)])
    draw_map(ax, values, [*names, "chance"], names, "{:.0f}", 0.0, 100.0)
    ax.axhline(T - 0.5, color="white", linewidth=5)
    canvas.style(ax, "also used by task", "weights of task (%)")
    return canvas.bare(ax)


def _colored(masks, caller):
    """Return each mask as an image (D, K, 3) of weights that are off, new, or shared with an earlier task."""
    from matplotlib.colors import to_rgb

    layers = [structure.as_mask(mask, caller) for mask in masks]
    used = structure.used_weights(layers, caller)
    earlier = np.zeros_like(used)
    earlier[1:] = np.logical_or.accumulate(used)[:-1]
    kind = np.where(used, np.where(earlier, 2, 1), 0)
    return np.array([to_rgb(OFF), to_rgb(NEW), to_rgb(SHARED)])[kind].reshape(len(layers), *layers[-1].shape, 3)


def _color_key(ax, own_figure):
    """Say what the two colours of a mask mean: below our own figure, beside Axes that we were given."""
    from matplotlib.patches import Patch

    patches = [Patch(color=NEW, label="used for the first time"), Patch(color=SHARED, label="used by an earlier task")]
    if own_figure:
        ax.figure.legend(handles=patches, loc="outside lower center", ncols=2, fontsize=canvas.TICK, frameon=False,
                         handlelength=0.9, handleheight=0.9, labelcolor=canvas.INK)
    else:
        canvas.legend(ax, handles=patches)
