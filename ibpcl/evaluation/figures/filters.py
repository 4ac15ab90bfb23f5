"""Figure of the filters of a convolution: which tasks use them, new or shared."""

import numpy as np

from ibpcl.evaluation import structure
from ibpcl.plotting import styled

from . import canvas
from .networks import COLORS, states

# pixels of a tile per weight, and around a tile: for the frame, and between frames
ZOOM = 4
FRAME = 2
GAP = 2
BACKGROUND = "white"
FREE = "#DDDDDD"  # frame of a filter that no task has used yet
# negative, zero and positive weights: neither colour is that of a frame
WEIGHTS = (canvas.PALETTE[3], "white", canvas.PALETTE[2])
NAMES = {
    "new": "new in this task",
    "reused": "shared with an earlier task",
    "earlier": "earlier tasks only",
    "free": "free",
}


@styled
def filter_pictures(weights, masks, task_names=None, most=16, ax=None):
    """Draw the filters of a convolution as small pictures, one row per task.

    The frame of a picture is blue if the task is the first to use the filter, orange if an earlier
    task uses it too, grey if only earlier tasks use it, and pale if it is free.  A picture shows
    the weights that the task's mask keeps, green above 0 and pink below, as a mean over the input
    channels.  The filters are in the order of the sticks.

    Kumar et al. (2021), figure "Evolution of network structure", for the filters of a convolution,
    which Sec. 7 names as future work.

    Parameters
    ----------
    weights : ndarray, shape (I, J, D, K)
        Means of the weights, for kernels of I rows and J columns, D channels and K filters.
    masks : sequence of ndarray of bool, shape (I J D, K)
        Mask of the convolution for each of T tasks, in the order of learning.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    most : int
        Largest number of filters to show, at least 1: the first ones.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one image, a tile for each task and filter.

    Raises
    ------
    ValueError
        If a mask is not a hard mask, does not fit ``weights``, ``most`` is below 1, or
        ``task_names`` has another length.
    """
    from matplotlib.colors import to_rgb

    caller = "figures.filter_pictures"
    layers = [structure.as_mask(mask, caller) for mask in masks]
    rows, columns, channels, units = weights.shape
    shape = (rows * columns * channels, units)
    if any(mask.shape != shape for mask in layers):
        raise ValueError(
            f"{caller}: masks must have shape {shape}, as weights has, got "
            f"{[mask.shape for mask in layers]}"
        )
    if most < 1:
        raise ValueError(f"{caller}: most must be at least 1, got {most}")
    names = canvas.task_labels(len(layers), task_names, caller)
    found = states([mask.any(axis=0, keepdims=True) for mask in layers])[:, 0]
    shown = min(most, units)
    kept = [weights * mask.reshape(weights.shape) for mask in layers]
    pictures = np.array(kept).mean(axis=3)[..., :shown]  # over the channels: (T, I, J, shown)
    limit = np.abs(pictures).max() or 1.0
    height, width = (ZOOM * size + 2 * FRAME + GAP for size in (rows, columns))
    sheet = np.full((len(layers) * height - GAP, shown * width - GAP, 3), to_rgb(BACKGROUND))
    for t in range(len(layers)):
        for k in range(shown):
            tile = sheet[t * height : (t + 1) * height, k * width : (k + 1) * width]
            tile = tile[: height - GAP, : width - GAP]
            tile[...] = to_rgb(_frame(found[t, k]))
            inside = _colored(pictures[t, ..., k] / limit)
            tile[FRAME:-FRAME, FRAME:-FRAME] = np.kron(inside, np.ones((ZOOM, ZOOM, 1)))
    own_figure = ax is None
    if own_figure:
        wide = 11 * shown
        ax = canvas.new_axes(
            max(canvas.WIDTH, wide + 14 + 1.3 * max(map(len, names))),
            30 + wide * sheet.shape[0] / sheet.shape[1],
        )
    ax.imshow(sheet, interpolation="nearest")
    ax.set_xticks(np.arange(shown) * width + (width - GAP) / 2, [str(k + 1) for k in range(shown)])
    ax.set_yticks(np.arange(len(layers)) * height + (height - GAP) / 2, names)
    canvas.style(ax, "filter" if shown == units else f"filter, of {units}", "task")
    _key(ax, own_figure)
    return canvas.bare(ax)


def _frame(state):
    """Return the colour of the frame of a filter."""
    return FREE if state == "free" else COLORS[state]


def _colored(values):
    """Return the colours (I, J, 3) of weights in -1 .. 1."""
    from matplotlib.colors import to_rgb

    negative, zero, positive = (np.array(to_rgb(color)) for color in WEIGHTS)
    towards = np.where(values[..., None] < 0, negative, positive)
    return zero + np.abs(values)[..., None] * (towards - zero)


def _key(ax, own_figure):
    """Draw the key to the frames: below a new figure, or beside given Axes."""
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor="white", edgecolor=_frame(state), linewidth=1.5, label=label)
        for state, label in NAMES.items()
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
