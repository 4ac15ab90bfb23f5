"""What all figures share: paper, ink, palette, and the way to a file."""

import io
from pathlib import Path

import numpy as np

from ibpcl import plotting
from ibpcl.plotting import styled
from ibpcl.storage import write_bytes

# Okabe and Ito (2008), "Color universal design": told apart by people with any kind of colour
# blindness.  Their yellow is left out, it does not show on white; markers and dashes tell lines
# apart in grey print, and where colours repeat.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", ":")
# More colours, for figures with more lines: Tol (2021), "muted", and greys and earths between them.
MORE = (
    "#332288",
    "#88CCEE",
    "#44AA99",
    "#117733",
    "#999933",
    "#DDCC77",
    "#CC6677",
    "#882255",
    "#AA4499",
    "#777777",
    "#8C564B",
    "#AAAAAA",
    "#6699CC",
    "#997700",
)
INK = "#222222"
GRID = "#DDDDDD"
EMPTY = "#F2F2F2"
# font sizes in points
LABEL = 8
TICK = 7
# length of a legend's line on which dashes show, font sizes
DASHED = 3.2
MILLIMETRE = 1 / 25.4  # in inches, Matplotlib's unit
WIDTH = 85  # of a column of print, mm

# A file format's own time stamp or name of the program: left out, so that equal figures are equal
# files.
_METADATA = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


@styled
def new_axes(width=WIDTH, height=60, rows=1, columns=1, **options):
    """Return the Axes of a new figure of the given size in mm; an array of Axes if there are
    several.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(width * MILLIMETRE, height * MILLIMETRE), layout="constrained", facecolor="white"
    )
    FigureCanvasAgg(figure)
    return figure.subplots(rows, columns, **options)


def given_axes(axes, count, caller):
    """Return the caller's Axes as a 1-D array of ``count``, or raise ValueError."""
    axes = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    if axes.size != count:
        raise ValueError(f"{caller}: axes must be {count} Axes, one a panel, got {axes.size}")
    return axes


def style(ax, xlabel=None, ylabel=None, title=None, grid=None):
    """Give an Axes its labels, small type, thin lines, two spines and, if asked, a grid along "x"
    or "y".
    """
    ax.set_xlabel(xlabel or "", fontsize=LABEL, color=INK)
    ax.set_ylabel(ylabel or "", fontsize=LABEL, color=INK)
    if title is not None:
        ax.set_title(title, fontsize=LABEL, color=INK)
    ax.tick_params(labelsize=TICK, labelcolor=INK, color=INK, width=0.6, length=2.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(linewidth=0.6, color=INK)
    if grid:
        ax.grid(axis=grid, color=GRID, linewidth=0.6)
        ax.set_axisbelow(True)
    return ax


def bare(ax):
    """Take an image's frame and tick marks away, keeping the tick labels."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax


def framed(ax, color):
    """Give a picture a thin frame, and no ticks."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(visible=True, linewidth=0.6, color=color)


def color_bar(image, axes, shrink):
    """Add a colour bar in small type beside some Axes, and return it."""
    bar = np.ravel(np.asarray(axes, dtype=object))[0].figure.colorbar(image, ax=axes, shrink=shrink)
    bar.ax.tick_params(labelsize=TICK, width=0.6, length=2.5)
    bar.outline.set_visible(False)
    return bar


def mean_and_band(ax, x, percentages, name, look):
    """Draw the mean of repeats (R, N) in percent, and one sample standard deviation to either side
    within 0 .. 100.
    """
    mean = percentages.mean(axis=0)
    ax.plot(x, mean, markersize=3.5, linewidth=1.4, label=name, **look)
    if len(percentages) > 1:
        spread = percentages.std(axis=0, ddof=1)
        ax.fill_between(
            x,
            np.maximum(mean - spread, 0.0),
            np.minimum(mean + spread, 100.0),
            color=look["color"],
            alpha=0.18,
            linewidth=0,
        )


def legend(ax, **options):
    """Add a legend without a frame, beside the Axes unless told where."""
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    text = {"fontsize": TICK, "labelcolor": INK, "frameon": False, "handlelength": 1.6}
    return ax.legend(**(text | (options if "loc" in options else place | options)))


def looks(names):
    """Return a look for each name, options of ``Axes.plot``: 21 colours, and with them markers or
    dashes.
    """
    n = len(PALETTE)
    colors = (*PALETTE, *MORE)
    return {
        name: {
            "color": colors[i % len(colors)],
            "marker": MARKERS[(i + i // n) % n],
            "linestyle": DASHES[i // n % 3],
        }
        for i, name in enumerate(dict.fromkeys(names))
    }


def task_colors(count):
    """Return a colour per task: the palette for a few, a light-to-dark scale for more than it
    holds.
    """
    if count <= len(PALETTE) - 1:  # black is for the mean
        return list(PALETTE[:count])
    plotting.load()
    from matplotlib import colormaps

    return [tuple(color) for color in colormaps["viridis"](np.linspace(0.0, 0.9, count))]


def task_labels(count, names, caller):
    """Return the names of the tasks, or "1", "2", ... where none are given."""
    if names is None:
        return [str(t + 1) for t in range(count)]
    if len(names) != count:
        raise ValueError(
            f"{caller}: task_names must hold {count} names, one a task, got {len(names)}"
        )
    return [str(name) for name in names]


def narrow(names):
    """Break long names after a slash or at a space, for columns that stand side by side."""
    return [
        name.replace("/", "/\n").replace(" ", "\n") if len(name) > 8 else name for name in names
    ]


def whole_ticks(ax, count):
    """Put ticks at 1..count, thinned to ten at most: half a task does not exist."""
    ax.set_xticks(np.arange(1, count + 1, -(-count // 10)))


def percent_axis(ax, least=1.0):
    """Fit the y axis to percentages, spanning ``least`` points or more, so that noise of a
    hundredth stays small.
    """
    low, high = ax.dataLim.intervaly
    if not np.isfinite([low, high]).all():  # nothing was drawn yet
        return
    span = max(high - low, least)
    top = min(high + (span - (high - low)) / 2, 100.0)
    ax.set_ylim(min(low, top - span) - 0.04 * span, top + 0.04 * span)  # room for markers


def entitle(axes, title):
    """Give the figure of some Axes a title over all of them."""
    np.ravel(np.asarray(axes, dtype=object))[0].figure.suptitle(title, fontsize=LABEL, color=INK)


def label_lines(ax, labels):
    """Write the name of each line at its right end, in its colour, without one name over another.

    Parameters
    ----------
    labels : list of (str, float, color)
        The name, the height of the line's end, in the units of the y axis, and the colour.
    """
    # of a line of text, as a share of the axis
    text_height = 0.065
    low, high = ax.get_ylim()
    places = {
        i: (value - low) / (high - low)
        for i, (_, value, _) in enumerate(labels)
        if np.isfinite(value)
    }
    order = sorted(places, key=lambda i: -places[i])  # from the top down
    top = 1.0
    for left, i in zip(range(len(order), 0, -1), order, strict=True):
        # As high as the line, but below the name above, and with room for those below.
        places[i] = min(max(places[i], (left - 1) * text_height), top)
        top = places[i] - text_height
    for i, place in places.items():
        name, _, color = labels[i]
        ax.annotate(
            name,
            (1.02, place),
            xycoords="axes fraction",
            va="center",
            fontsize=TICK,
            color=color,
            annotation_clip=False,
        )


@styled
def save(axes_or_figure, path, dpi=150):
    """Write the figure of some Axes to a PNG, PDF or SVG file, whole or not at all.

    Parameters
    ----------
    axes_or_figure : Axes, array of Axes, or Figure
        What a figure function returned.
    path : str or Path
        The suffix tells the format.
    dpi : float
        Dots per inch, of images and PNG.

    Raises
    ------
    ValueError
        If the suffix is another one.
    OSError
        If the file cannot be written; an old one is then as it was.
    """
    metadata = _METADATA.get(Path(path).suffix.lower())
    if metadata is None:
        raise ValueError(f"figures.save: path must end in {', '.join(_METADATA)}, got {path}")
    if isinstance(axes_or_figure, list | tuple | np.ndarray):
        axes_or_figure = np.ravel(np.asarray(axes_or_figure, dtype=object))[0]
    figure = axes_or_figure if hasattr(axes_or_figure, "savefig") else axes_or_figure.figure
    picture = io.BytesIO()
    figure.savefig(picture, format=Path(path).suffix.lower()[1:], dpi=dpi, metadata=metadata)
    write_bytes(path, picture.getvalue())
