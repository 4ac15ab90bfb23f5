"""Figures of masks: which weights each task uses, and how many it shares."""

import math

import numpy as np

from ibpcl.evaluation import structure
from ibpcl.palette import BLUE, ORANGE
from ibpcl.plotting import styled

from . import canvas
from .accuracy import draw_map

# smallest correlation of neighbouring pixels, and smallest share in use, of a structured unit
COHERENT = 0.1
USED = 0.01
NEW = BLUE
SHARED = ORANGE
OFF = "#FFFFFF"


@styled
def mask_matrices(masks, task_names=None, axes=None):
    """Draw each task's mask as a matrix: units from left to right, inputs from top to bottom.

    Used weights are dark.  Many weights fall on one dot of the image, which is as dark as the
    square root of the share that is used, so that sparse regions remain visible.  The percentage in
    the title is the density of the mask.

    Kumar et al. (2021), figure "Learned masks for input to first hidden layer weights".

    Parameters
    ----------
    masks : sequence of ndarray of bool, shape (D, K)
        Mask of one layer for each task, in the order of learning.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    axes : sequence of matplotlib.axes.Axes, length T, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    axes : ndarray of Axes, shape (T,)
        Each with one image (D, K) of zeros and ones.

    Raises
    ------
    ValueError
        If a mask is not a hard mask, or the number of names or Axes does not fit.
    """
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    layers = [structure.as_mask(mask, "figures.mask_matrices") for mask in masks]
    T = len(layers)
    names = canvas.task_labels(T, task_names, "figures.mask_matrices")
    if axes is None:
        axes = canvas.new_axes(max(canvas.WIDTH, 16 * T), 80, columns=T, squeeze=False)
        # narrow panels, close together
        axes[0, 0].figure.get_layout_engine().set(w_pad=0.03, wspace=0.02)
    axes = canvas.given_axes(axes, T, "figures.mask_matrices")
    ink = LinearSegmentedColormap.from_list("ink", ["white", "#08306B"])
    for ax, mask, name in zip(axes, layers, canvas.narrow(names), strict=True):
        ax.imshow(
            mask.astype(float),
            cmap=ink,
            norm=PowerNorm(0.5, 0, 1),
            aspect="auto",
            interpolation="antialiased",
            interpolation_stage="data",
        )
        D, K = mask.shape
        canvas.style(
            ax,
            f"{K} units",
            f"{D} inputs" if ax is axes[0] else None,
            f"{name}\n{100 * mask.mean():.1f} %",
        )
        canvas.framed(ax, canvas.INK)
    return axes


@styled
def mask_maps(masks, task_names=None, image_shape=None, axes=None):
    """Draw, for each task, the share of active units that use each pixel.

    The percentage in the title is the density of the mask.

    Kumar et al. (2021), "Learned Network Structures": the masks lie where the images have ink.

    Parameters
    ----------
    masks : sequence of ndarray of bool, shape (D, K)
        Mask of the first layer for each task.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    image_shape : (int, int), optional
        Height and width of an image, with D pixels; square if not given.
    axes : sequence of matplotlib.axes.Axes, length T, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    axes : ndarray of Axes, shape (T,)
        Each with one image, in percent.

    Raises
    ------
    ValueError
        If a mask is not a hard mask, D is not the number of pixels, or the number of names or Axes
        does not fit.
    """
    layers = [structure.as_mask(mask, "figures.mask_maps") for mask in masks]
    T = len(layers)
    shape = _shape(layers[0], image_shape, "figures.mask_maps")
    names = canvas.task_labels(T, task_names, "figures.mask_maps")
    if axes is None:
        columns = min(T, 5)
        rows = -(-T // columns)
        axes = canvas.new_axes(
            max(canvas.WIDTH, 30 * columns + 18),
            12 + 38 * rows,
            rows=rows,
            columns=columns,
            squeeze=False,
        )
        for ax in axes.ravel()[T:]:
            ax.remove()
        axes = axes.ravel()[:T]
    axes = canvas.given_axes(axes, T, "figures.mask_maps")
    shares = [
        100 * mask[:, mask.any(axis=0)].mean(axis=1) if mask.any() else np.zeros(len(mask))
        for mask in layers
    ]
    highest = max(1.0, max(share.max() for share in shares))
    for ax, mask, share, name in zip(axes, layers, shares, names, strict=True):
        image = ax.imshow(
            share.reshape(shape), cmap="Blues", vmin=0, vmax=highest, interpolation="nearest"
        )
        used = int(mask.any(axis=0).sum())
        canvas.style(
            ax,
            f"{used} of {mask.shape[1]} units",
            None,
            f"{_fitting(name)}\n{100 * mask.mean():.1f} %",
        )
        canvas.framed(ax, canvas.INK)
    canvas.color_bar(image, list(axes), 0.7).set_label(
        "units in use that are on (%)", fontsize=canvas.TICK
    )
    return axes


def _shape(mask, image_shape, caller):
    """Return height and width of an image, after checking the number of pixels."""
    height, width = image_shape or (math.isqrt(len(mask)), math.isqrt(len(mask)))
    if height * width != len(mask):
        raise ValueError(
            f"{caller}: image_shape must have {len(mask)} pixels, the inputs of the masks, got "
            f"{height} x {width}"
        )
    return height, width


def _fitting(name, width=16):
    """Shorten a name that is wider than its panel."""
    return name if len(name) <= width else f"{name[: width - 1]}\u2026"


def structured_units(masks, image_shape, count):
    """Return the units whose masks look most like images rather than noise.

    A mask is noise if neighbouring pixels are unrelated: their correlation over the image is near
    0.

    Parameters
    ----------
    masks : sequence of array_like of bool, shape (D, K)
        Mask of the first layer for each task, all of one shape.
    image_shape : (int, int)
        Height and width of an image, with D pixels.
    count : int
        Largest number of units.

    Returns
    -------
    units : ndarray of int
        At most ``count`` units, those most in use first.

    Examples
    --------
    >>> stripe, noise = np.zeros((4, 4)), np.indices((4, 4)).sum(axis=0) % 2
    >>> stripe[:2] = 1
    >>> structured_units([np.stack([noise.ravel(), stripe.ravel()], axis=1)], (4, 4), 2).tolist()
    [1]
    """
    # (T, K, h, w)
    images = np.array([np.asarray(mask, float).T.reshape(-1, *image_shape) for mask in masks])
    use = images.mean(axis=(0, 2, 3))
    centred = images - images.mean(axis=(2, 3), keepdims=True)
    spread = (centred**2).mean(axis=(2, 3))
    together = (
        sum(
            (first * second).mean(axis=(2, 3))
            for first, second in (
                (centred[..., 1:, :], centred[..., :-1, :]),
                (centred[..., 1:], centred[..., :-1]),
            )
        )
        / 2
    )
    # mean over the tasks that use the unit; a mask entirely on or off has no correlation
    coherence = np.where(spread > 0, together, 0).sum(axis=0) / np.maximum(
        spread.sum(axis=0), 1e-12
    )
    units = np.flatnonzero((coherence > COHERENT) & (use > USED))
    units = units[np.argsort(-coherence[units], kind="stable")][:count]
    return units[np.argsort(-use[units], kind="stable")]


@styled
def receptive_fields(masks, task_names=None, units=10, image_shape=None, ax=None):
    """Draw the masks of single units as images over the input pixels, one row per task.

    The units are those whose masks look like images rather than noise (:func:`structured_units`),
    those most in use first.  If there are none, the units most in use are shown.

    Kumar et al. (2021), "Learned Network Structures": the masks lie where the images have ink.

    Parameters
    ----------
    masks : sequence of ndarray of bool, shape (D, K)
        Mask of the first layer for each task.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    units : int
        Largest number of units to show, at least 1.
    image_shape : (int, int), optional
        Height and width of an image, with D pixels; square if not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one image, a tile for each task and unit.

    Raises
    ------
    ValueError
        If a mask is not a hard mask, D is not the number of pixels of ``image_shape``, ``units`` is
        below 1, or ``task_names`` has another length.
    """
    layers = _colored(masks, "figures.receptive_fields")
    T = len(layers)
    K = layers[0].shape[1]
    names = canvas.task_labels(T, task_names, "figures.receptive_fields")
    height, width = _shape(layers[0], image_shape, "figures.receptive_fields")
    if units < 1:
        raise ValueError(f"figures.receptive_fields: units must be at least 1, got {units}")
    # all masks padded to the size of the last one
    grown = structure.used_weights(masks, "figures.receptive_fields").reshape(T, -1, K)
    chosen = structured_units(grown, (height, width), units)
    if not len(chosen):
        chosen = np.argsort(-grown.mean(axis=(0, 1)), kind="stable")[: min(units, K)]
    units = len(chosen)
    gap = max(1, width // 10)
    # light grey between tiles
    sheet = np.full((T * (height + gap) - gap, units * (width + gap) - gap, 3), 0.87)
    for t, colors in enumerate(layers):
        for i, k in enumerate(chosen):
            top = t * (height + gap)
            left = i * (width + gap)
            sheet[top : top + height, left : left + width] = colors[:, k].reshape(height, width, 3)
    own_figure = ax is None
    if own_figure:
        wide = 12.5 * units
        # with room for the names
        ax = canvas.new_axes(
            max(canvas.WIDTH, wide + 14 + 1.3 * max(map(len, names))),
            30 + wide * sheet.shape[0] / sheet.shape[1],
        )
    ax.imshow(sheet, interpolation="nearest")
    ax.set_xticks(np.arange(units) * (width + gap) + width / 2, [str(k + 1) for k in chosen])
    ax.set_yticks(np.arange(T) * (height + gap) + height / 2, names)
    canvas.style(ax, "unit", "task")
    _color_key(ax, own_figure)
    return canvas.bare(ax)


@styled
def share_used(masks, task_names=None, ax=None):
    """Draw how the network fills: the share used by each task, and by all tasks so far.

    Kumar et al. (2021), figure "percentage of network filled or used after learning k tasks".

    Parameters
    ----------
    masks : sequence of ndarray of bool, or of lists of them
        One entry per task: a mask (D, K), or a list with one mask per layer.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With two sets of bars, new weights below shared ones, and one line.

    Raises
    ------
    ValueError
        If ``masks`` are not valid, or ``task_names`` has another length.
    """
    used = structure.density(masks)
    filled = structure.capacity_used(masks)
    added = structure.capacity_added(masks)
    T = len(used)
    names = canvas.task_labels(T, task_names, "figures.share_used")
    ax = canvas.new_axes() if ax is None else ax
    tasks = np.arange(1, T + 1)
    ax.bar(tasks, 100 * added, width=0.62, color=NEW, label="new weights")
    ax.bar(
        tasks,
        100 * (used - added),
        bottom=100 * added,
        width=0.62,
        color=SHARED,
        label="shared with earlier",
    )
    ax.plot(
        tasks,
        100 * filled,
        color=canvas.INK,
        marker="o",
        markersize=3.5,
        linewidth=1.4,
        label="all tasks so far",
    )
    canvas.style(ax, "task", "share of the network (%)", grid="y")
    step = -(-T // 10)
    ax.set_xticks(tasks[::step], canvas.narrow(names)[::step])
    ax.set_ylim(bottom=0)
    canvas.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1.2)
    return ax


@styled
def sharing_matrix(masks, task_names=None, ax=None):
    """Draw the share of each task's weights that each other task uses, and the chance level.

    Independent masks share as much as the density of the other task's mask, which is the last row.

    Kumar et al. (2021), figure "Percentage of weight sharing across tasks".

    Parameters
    ----------
    masks : sequence of ndarray of bool, or of lists of them
        One entry per task: a mask (D, K), or a list with one mask per layer.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one image of T + 1 rows, in percent; the diagonal, always 100, is left empty.

    Raises
    ------
    ValueError
        If ``masks`` are not valid, or ``task_names`` has another length.
    """
    sharing = structure.sharing_matrix(masks)
    T = len(sharing)
    names = canvas.task_labels(T, task_names, "figures.sharing_matrix")
    ax = canvas.new_axes(height=78) if ax is None else ax
    values = 100 * np.vstack(
        [np.where(np.eye(T, dtype=bool), np.nan, sharing), structure.density(masks)]
    )
    draw_map(ax, values, [*names, "chance"], names, "{:.0f}", 0.0, 100.0)
    ax.axhline(T - 0.5, color="white", linewidth=5)
    canvas.style(ax, "also used by task", "weights of task (%)")
    return canvas.bare(ax)


def _colored(masks, caller):
    """Return each mask as an image (D, K, 3), coloured by weights that are off, new, or shared."""
    from matplotlib.colors import to_rgb

    layers = [structure.as_mask(mask, caller) for mask in masks]
    used = structure.used_weights(layers, caller)
    earlier = np.zeros_like(used)
    earlier[1:] = np.logical_or.accumulate(used)[:-1]
    kind = np.where(used, np.where(earlier, 2, 1), 0)
    return np.array([to_rgb(OFF), to_rgb(NEW), to_rgb(SHARED)])[kind].reshape(
        len(layers), *layers[-1].shape, 3
    )


def _color_key(ax, own_figure):
    """Draw the key to the two colours of a mask: below a new figure, or beside given Axes."""
    from matplotlib.patches import Patch

    patches = [
        Patch(color=NEW, label="used for the first time"),
        Patch(color=SHARED, label="used by an earlier task"),
    ]
    if own_figure:
        ax.figure.legend(
            handles=patches,
            loc="outside lower center",
            ncols=2,
            fontsize=canvas.TICK,
            frameon=False,
            handlelength=0.9,
            handleheight=0.9,
            labelcolor=canvas.INK,
        )
    else:
        canvas.legend(ax, handles=patches)
