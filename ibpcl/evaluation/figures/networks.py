"""Drawings of small networks: units as dots, the weights that tasks use as lines."""

import itertools

import numpy as np

from ibpcl.evaluation import structure
from ibpcl.plotting import styled

from . import canvas
from .structure import NEW, SHARED

EARLIER = "#BBBBBB"  # used by earlier tasks only
HEAD = "#777777"
GREY = "#DDDDDD"  # weights that do not exist yet
# thin grey edge of a unit that no task has used yet
FREE = {"facecolor": "white", "edgecolor": "#999999", "linewidth": 0.7}
STATES = ("free", "earlier", "new", "reused")
COLORS = {"free": "white", "earlier": EARLIER, "new": NEW, "reused": SHARED}
READ = "#444444"  # an input that the task reads, or a unit that any task uses


def states(masks):
    """Return the state of every weight for each task: free, used earlier, new or reused.

    Parameters
    ----------
    masks : sequence of ndarray of bool, shape (D, K)
        Mask of one layer for each of T tasks, in the order of learning.  A smaller mask is the
        corner of the last one.

    Returns
    -------
    states : ndarray of str, shape (T, D, K)
        For task t: "new" if it is the first to use the weight, "reused" if it uses a weight of an
        earlier task, "earlier" if only earlier tasks use it, else "free".

    Raises
    ------
    ValueError
        If ``masks`` are not valid.

    Examples
    --------
    >>> states([np.array([[1, 1, 0]]), np.array([[1, 0, 0]])])[1].tolist()
    [['reused', 'earlier', 'free']]
    """
    layers = [structure.as_mask(mask, "figures.states") for mask in masks]
    used = structure.used_weights(layers, "figures.states").reshape(len(layers), *layers[-1].shape)
    return _states(used)


def _states(used):
    """Return the states of anything that tasks use, given booleans (T, ...)."""
    earlier = np.zeros_like(used)
    earlier[1:] = np.logical_or.accumulate(used)[:-1]
    return np.array(STATES)[2 * used + earlier]


@styled
def network_structure(masks, outputs=2, task_names=None, axes=None):
    """Draw how the structure of a network evolves: one panel per task.

    Dots are units, lines are weights that the task's masks keep.  Blue is new, orange was used by
    an earlier task too, and grey is used by earlier tasks only.  Units that no task has used yet
    are hollow.  Each task has its own output units, at the right; weights of the output layer have
    no masks, so they join all units in use.

    Kumar et al. (2021), figure "Evolution of network structure (with a single hidden layer) for 3
    consecutive tasks".

    Parameters
    ----------
    masks : sequence of ndarray of bool, or of lists of them
        One entry per task, in the order of learning: a mask (D, K), or a list with one mask per
        layer.
    outputs : int
        Number of output units of each task, at least 1.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    axes : sequence of matplotlib.axes.Axes, length T, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    axes : ndarray of Axes, shape (T,)
        With one collection of lines for each colour in use.

    Raises
    ------
    ValueError
        If ``masks`` are not valid, or the number of names or Axes does not fit.
    """
    caller = "figures.network_structure"
    layers = _by_layer(masks, caller)
    tasks = len(layers[0])
    names = canvas.task_labels(tasks, task_names, caller)
    weights = [states(layer) for layer in layers]
    units = [_states(used) for used in _used_units(layers)]
    own_figure = axes is None
    if own_figure:
        axes = canvas.new_axes(58 * tasks, 78, columns=tasks, squeeze=False)
    axes = canvas.given_axes(axes, tasks, caller)
    for t, ax in enumerate(axes):
        last = len(layers)
        widths = [layers[0][t].shape[0], *(layer[t].shape[1] for layer in layers)]
        tallest = max(*(len(states_[t]) for states_ in units), outputs * tasks)
        for i, layer in enumerate(weights):
            left = _column(i, len(units[i][t]), tallest)
            right = _column(i + 1, len(units[i + 1][t]), tallest)
            for state in ("earlier", "new", "reused"):
                _lines(ax, left, right, layer[t] == state, COLORS[state], state != "earlier")
        heads = _column(last, len(units[last][t]), tallest)
        ends = _column(last + 1, outputs * tasks, tallest)
        reached = np.zeros((len(heads), len(ends)), bool)
        own = slice(t * outputs, (t + 1) * outputs)
        reached[np.isin(units[last][t], ("new", "reused")), own] = True
        _lines(ax, heads, ends, reached, HEAD, False)
        for i, (states_, width) in enumerate(zip(units, widths, strict=True)):
            found = states_[t]
            if i == 0:  # an input is read or not
                found = np.where(np.isin(found, ("new", "reused")), "read", "free")
            # units that do not exist yet are not drawn
            _dots(ax, _column(i, len(found), tallest)[:width], found[:width])
        learned = np.repeat(np.arange(tasks), outputs)
        _dots(ax, ends[learned < t], np.full(int((learned < t).sum()), "earlier"), "s")
        ax.scatter(*ends[own].T, s=20, color=HEAD, marker="s", linewidths=0, zorder=3)
        counts = {state: sum((layer[t] == state).sum() for layer in weights) for state in STATES}
        canvas.style(
            ax, None, None, f"{_named(names[t])}\n{counts['new']} new, {counts['reused']} reused"
        )
        labels = ["inputs", *_hidden_names(len(layers)), "heads"]
        ax.set_xticks(range(last + 2), labels)
        ax.set(yticks=[], xlim=(-0.25, last + 1.25), ylim=(-1, tallest))
        canvas.bare(ax)
    _structure_key(axes[0].figure if own_figure else axes[-1], own_figure)
    return axes


def _named(name):
    """Return "task 3" for a bare number, else the name as it is."""
    return f"task {name}" if name.isdigit() else name


def _hidden_names(count):
    """Return the names of the columns of hidden units."""
    return ["hidden units"] if count == 1 else [f"hidden {i + 1}" for i in range(count)]


def _by_layer(masks, caller):
    """Return the masks of each layer, one per task, after checking them."""
    tasks = [[task] if getattr(task, "ndim", None) == 2 else list(task) for task in masks]
    structure.used_weights(tasks, caller)
    for layer_masks in tasks:
        for i, (before, after) in enumerate(itertools.pairwise(layer_masks), 1):
            if after.shape[0] != before.shape[1]:
                raise ValueError(
                    f"{caller}: masks of layer {i + 1} must have the {before.shape[1]} units of "
                    f"layer {i} as inputs, got shape {after.shape}; figures.filter_pictures draws "
                    "the layers of a convolutional network"
                )
    return [
        [structure.as_mask(layer, caller) for layer in layer_masks]
        for layer_masks in zip(*tasks, strict=True)
    ]


def _used_units(layers):
    """Return which units each task uses, (T, units) for each column from the inputs on.

    A unit is in use if a weight leads to it; an input, if a weight leads on from it.
    """
    columns = [_padded([mask.any(axis=1) for mask in layers[0]])]
    return columns + [_padded([mask.any(axis=0) for mask in layer]) for layer in layers]


def _padded(rows):
    """Return rows of different lengths as a table, with False at their ends."""
    table = np.zeros((len(rows), max(map(len, rows))), bool)
    for t, row in enumerate(rows):
        table[t, : len(row)] = row
    return table


def _column(x, count, tallest):
    """Return the places (count, 2) of units above one another, the first one on top."""
    height = tallest - 1
    y = np.linspace(height, 0, count) if count > 1 else np.array([height / 2])
    if count > 1 and count < tallest:
        # columns of few units are closer together, around the middle
        share = 0.55 + 0.45 * count / tallest
        y = height / 2 + share * (y - height / 2)
    return np.stack([np.full(count, float(x)), y], axis=1)


def _lines(ax, left, right, chosen, color, strong):
    """Draw a line for each chosen pair of places."""
    from matplotlib.collections import LineCollection

    rows, columns = np.nonzero(chosen)
    if len(rows):
        segments = np.stack([left[rows], right[columns]], axis=1)
        ax.add_collection(
            LineCollection(
                segments,
                colors=color,
                linewidths=0.9 if strong else 0.5,
                alpha=0.9 if strong else 0.8,
                zorder=2 if strong else 1,
            )
        )


def _dots(ax, places, found, marker="o"):
    """Draw units in the colours of their states."""
    for state, color in (COLORS | {"read": READ}).items():
        chosen = found == state
        if chosen.any():
            look = FREE if state == "free" else {"facecolor": color, "edgecolor": "white"}
            ax.scatter(
                *places[chosen].T, s=26, marker=marker, zorder=3, **{"linewidth": 0.5} | look
            )


def _structure_key(place, own_figure):
    """Draw the key to the colours: below a new figure, or beside given Axes."""
    from matplotlib.lines import Line2D

    def unit(color, edge, label, line):
        return Line2D(
            [],
            [],
            color=line,
            linewidth=1.2,
            marker="o",
            markersize=5,
            markerfacecolor=color,
            markeredgecolor=edge,
            markeredgewidth=0.7,
            label=label,
        )

    handles = [
        unit(NEW, "white", "new in this task", NEW),
        unit(SHARED, "white", "reused", SHARED),
        unit(EARLIER, "white", "earlier tasks only", EARLIER),
        unit("white", "#999999", "free", "none"),
        Line2D(
            [], [], color=HEAD, linewidth=0.8, marker="s", markersize=4, label="the task's head"
        ),
    ]
    if own_figure:
        place.legend(
            handles=handles,
            loc="outside lower center",
            ncols=len(handles),
            fontsize=canvas.TICK,
            labelcolor=canvas.INK,
            frameon=False,
            handlelength=1.8,
            columnspacing=1.4,
        )
    else:
        canvas.legend(place, handles=handles)


@styled
def network_schematic(layers, head_shape, task_names=None, title=None, ax=None):
    r"""Draw what tasks share and what each task has: weights, masks and heads of a real network.

    From left to right: inputs, units of each masked layer, and the output layer of each task.  Grey
    lines are the weights :math:`\theta_S` that any task uses; all tasks share them.  Above each
    layer are its masks :math:`\theta^M`, one matrix per task, inputs by units; weights that a later
    task added are grey.  At the right are the heads :math:`\theta^H`: one rectangle per output
    unit, with lines from the units that the task uses.

    Kumar et al. (2021), figure "Schematics representing our models".

    Parameters
    ----------
    layers : dict of str to sequence of ndarray of bool, shape (D, K)
        For each masked layer, by its name: the mask of each of T tasks.  The units of a layer are
        the inputs of the next.
    head_shape : (int, int)
        Height and width of the output units of a task, such as (2, 1), or those of an image.
    task_names : sequence of str, length T, optional
        Names of the tasks in their order; numbers if not given.
    title : str, optional
        Title of the panel.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; a new figure if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        With one inset per mask.

    Raises
    ------
    ValueError
        If the masks are not valid, or the number of names does not fit.
    """
    caller = "figures.network_schematic"
    by_layer = _by_layer(list(zip(*layers.values(), strict=True)), caller)
    tasks = len(by_layer[0])
    names = canvas.task_labels(tasks, task_names, caller)
    colors = canvas.task_colors(tasks)
    count = len(by_layer)
    ax = canvas.new_axes(45 + 45 * count, 80) if ax is None else ax
    used = _used_units(by_layer)
    # The network lies in y = 0 .. 1, the masks above it.
    tallest = max(row.shape[1] for row in used)
    places = [
        _column(i, row.shape[1], tallest) / (1, max(tallest - 1, 1)) for i, row in enumerate(used)
    ]
    for i, layer in enumerate(by_layer):
        any_task = structure.used_weights(layer, caller).any(axis=0).reshape(layer[-1].shape)
        _lines(ax, places[i], places[i + 1], any_task, EARLIER, False)
        for t, mask in enumerate(layer):
            _mask_inset(ax, mask, any_task.shape, i, t, tasks, colors[t])
        ax.text(
            i + 0.5,
            1.58,
            list(layers)[i],
            ha="center",
            va="bottom",
            fontsize=canvas.LABEL,
            color=canvas.INK,
        )
    for place, column in zip(places, used, strict=True):
        _dots(ax, place, np.where(column.any(axis=0), "read", "free"))
    left = count + 0.72
    for t, middle in enumerate(np.linspace(0.86, 0.14, tasks) if tasks > 1 else [0.5]):
        right = _head(ax, left, middle, head_shape, colors[t])
        joined = used[count][t][:, None]
        _lines(ax, places[count], np.array([[left - 0.03, middle]]), joined, colors[t], True)
        label = rf"$\theta^H_{{{t + 1}}}$  {names[t]}"
        ax.text(right, middle, label, va="center", fontsize=canvas.LABEL, color=colors[t])
    ax.plot([0, 0, count, count], [-0.07, -0.09, -0.09, -0.07], color=READ, linewidth=0.7)
    shared = r"$\theta_S$: shared by all tasks"
    ax.text(count / 2, -0.2, shared, ha="center", fontsize=canvas.LABEL, color=READ)
    ax.set(xlim=(-0.15, count + 1.6), ylim=(-0.25, 1.7), xticks=[], yticks=[])
    canvas.style(ax, None, None, title)
    return canvas.bare(ax)


def _head(ax, left, middle, shape, color):
    """Draw the output units of a task as a grid, and return the place of its label."""
    from matplotlib.patches import Rectangle

    height, width = shape
    cell = min(0.2 / height, 0.07)
    for row in range(height):
        for column in range(width):
            corner = (left + 1.9 * cell * column, middle + (height / 2 - row - 1) * cell)
            ax.add_patch(
                Rectangle(corner, 1.7 * cell, 0.85 * cell, color=color, linewidth=0, zorder=3)
            )
    return left + 1.9 * cell * width + 0.06


def _mask_inset(ax, mask, shape, layer, task, tasks, color):
    """Draw the mask of a task above its layer, as a matrix of the last network's shape.

    Weights that did not exist yet are grey.
    """
    from matplotlib.colors import ListedColormap

    whole = np.full(shape, 2)
    whole[: mask.shape[0], : mask.shape[1]] = mask
    width = 0.8 / tasks
    left = layer + 0.1 + task * width
    inset = ax.inset_axes([left, 1.16, 0.86 * width, 0.36], transform=ax.transData)
    scale = ListedColormap(["white", color, GREY])
    inset.imshow(whole, cmap=scale, vmin=0, vmax=2, aspect="auto", interpolation="nearest")
    canvas.framed(inset, "#999999")
    inset.set_xlabel(rf"$\theta^M_{{{task + 1}}}$", fontsize=canvas.TICK, color=color, labelpad=1.5)
