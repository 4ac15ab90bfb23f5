"""Style of all figures: sizes, colours, markers, labels, and writing to a file."""

import io
from pathlib import Path

import numpy as np

from ibpcl import plotting
from ibpcl.palette import PALETTE
from ibpcl.plotting import styled
from ibpcl.storage import write_bytes

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", ":")
# More colours, for figures with more lines: Tol (2021), "muted", with greys and browns.
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
# length of a legend's line, long enough for dashes; in font sizes
DASHED = 3.2
# size of markers and width of lines, in points
LINE = {"markersize": 3.5, "linewidth": 1.4}
MILLIMETRE = 1 / 25.4  # in inches, Matplotlib's unit
WIDTH = 85  # of a column of print, mm

# Time stamps and program names that a file format adds: left out, so that equal figures are equal
# files.
_METADATA = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


@styled
def new_axes(width=WIDTH, height=60, rows=1, columns=1, **options):
    """Return the Axes of a new figure.

    Parameters
    ----------
    width, height : float
        Size of the figure, in mm.
    rows, columns : int
        Number of panels.
    **options : object
        Further arguments of ``Figure.subplots``.

    Returns
    -------
    axes : matplotlib.axes.Axes or ndarray of Axes
        An array if there are several panels, or with ``squeeze=False``.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(width * MILLIMETRE, height * MILLIMETRE), layout="constrained", facecolor="white"
    )
    FigureCanvasAgg(figure)
    return figure.subplots(rows, columns, **options)


def given_axes(axes, count, caller):
    """Return given Axes as a 1-D array, after checking their number.

    Parameters
    ----------
    axes : matplotlib.axes.Axes or sequence of Axes
        Axes to draw on.
    count : int
        Number of panels.
    caller : str
        Name of the function in error messages.

    Returns
    -------
    axes : ndarray of Axes, shape (count,)
        The given Axes.

    Raises
    ------
    ValueError
        If their number is not ``count``.
    """
    axes = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    if axes.size != count:
        raise ValueError(f"{caller}: axes must be {count} Axes, one per panel, got {axes.size}")
    return axes


def style(ax, xlabel=None, ylabel=None, title=None, grid=None):
    """Apply labels, small type, thin lines, two spines and, if asked, a grid.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to style.
    xlabel, ylabel : str, optional
        Labels of the axes; none if not given.
    title : str, optional
        Title of the panel; unchanged if not given.
    grid : {"x", "y"}, optional
        Axis of the grid; no grid if not given.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The argument.
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
    """Remove the frame and the tick marks of an image, but keep the tick labels.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with an image.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The argument.
    """
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax


def framed(ax, color):
    """Draw a thin frame around an image, without ticks.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with an image.
    color : str
        Colour of the frame.
    """
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(visible=True, linewidth=0.6, color=color)


def color_bar(image, axes, shrink):
    """Add a colour bar in small type beside some Axes.

    Parameters
    ----------
    image : matplotlib.image.AxesImage
        Image whose colours the bar explains.
    axes : matplotlib.axes.Axes or sequence of Axes
        Axes beside which the bar is drawn.
    shrink : float
        Length of the bar, relative to the Axes.

    Returns
    -------
    bar : matplotlib.colorbar.Colorbar
        The colour bar.
    """
    bar = np.ravel(np.asarray(axes, dtype=object))[0].figure.colorbar(image, ax=axes, shrink=shrink)
    bar.ax.tick_params(labelsize=TICK, width=0.6, length=2.5)
    bar.outline.set_visible(False)
    return bar


def mean_and_band(ax, x, percentages, name, look):
    """Draw the mean of repeated curves, and a band of one sample standard deviation.

    The band is clipped to 0 .. 100; a single curve has no band.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw on.
    x : array_like, shape (N,)
        Positions of the values.
    percentages : ndarray, shape (R, N)
        R curves, in percent.
    name : str
        Name in the legend.
    look : dict
        Options of ``Axes.plot``, with at least ``color``; from :func:`looks` or
        :func:`ibpcl.evaluation.figures.method_looks.method_looks`.
    """
    mean = percentages.mean(axis=0)
    ax.plot(x, mean, label=name, **(LINE | look))
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
    """Add a legend without a frame.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes of the legend.
    **options : object
        Options of ``Axes.legend``; without ``loc``, the legend is placed beside the Axes.

    Returns
    -------
    legend : matplotlib.legend.Legend
        The legend.
    """
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    text = {"fontsize": TICK, "labelcolor": INK, "frameon": False, "handlelength": 1.6}
    return ax.legend(**(text | (options if "loc" in options else place | options)))


def looks(names):
    """Return a distinct look for each name: 21 colours, with markers and dashes.

    Parameters
    ----------
    names : iterable of str
        Names of lines; repeated names count once.

    Returns
    -------
    looks : dict of str to dict
        Options ``color``, ``marker`` and ``linestyle`` of ``Axes.plot`` by name.
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
    """Return a colour for each task.

    Parameters
    ----------
    count : int
        Number of tasks.

    Returns
    -------
    colors : list
        Colours of the palette for up to 6 tasks, else a scale from dark to light.
    """
    if count <= len(PALETTE) - 1:  # black is reserved for the mean
        return list(PALETTE[:count])
    plotting.load()
    from matplotlib import colormaps

    return [tuple(color) for color in colormaps["viridis"](np.linspace(0.0, 0.9, count))]


def task_labels(count, names, caller):
    """Return the names of the tasks.

    Parameters
    ----------
    count : int
        Number of tasks.
    names : sequence of str, optional
        Names of the tasks; None for "1", "2", ...
    caller : str
        Name of the function in error messages.

    Returns
    -------
    labels : list of str
        One name per task.

    Raises
    ------
    ValueError
        If the number of names is not ``count``.
    """
    if names is None:
        return [str(t + 1) for t in range(count)]
    if len(names) != count:
        raise ValueError(
            f"{caller}: task_names must hold {count} names, one per task, got {len(names)}"
        )
    return [str(name) for name in names]


def narrow(names):
    """Break long names after a slash or at a space, for narrow columns.

    Parameters
    ----------
    names : sequence of str
        Names of columns.

    Returns
    -------
    names : list of str
        The names; those longer than 8 characters contain line breaks.
    """
    return [
        name.replace("/", "/\n").replace(" ", "\n") if len(name) > 8 else name for name in names
    ]


def whole_ticks(ax, count):
    """Set ticks of the x axis at whole numbers, at most ten of them.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to change.
    count : int
        Largest number; ticks are within 1..count.
    """
    ax.set_xticks(np.arange(1, count + 1, -(-count // 10)))


def percent_axis(ax, least=1.0):
    """Fit the y axis to percentages, over a range of at least ``least`` points.

    A minimal range keeps noise of a hundredth of a point small.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to change; unchanged if nothing was drawn.
    least : float
        Smallest range of the axis, in percentage points.
    """
    low, high = ax.dataLim.intervaly
    if not np.isfinite([low, high]).all():  # nothing has been drawn yet
        return
    span = max(high - low, least)
    top = min(high + (span - (high - low)) / 2, 100.0)
    ax.set_ylim(min(low, top - span) - 0.04 * span, top + 0.04 * span)  # room for markers


def entitle(axes, title):
    """Give the figure of some Axes a title.

    Parameters
    ----------
    axes : matplotlib.axes.Axes or array of Axes
        Axes of the figure.
    title : str
        Title over all panels.
    """
    np.ravel(np.asarray(axes, dtype=object))[0].figure.suptitle(title, fontsize=LABEL, color=INK)


def readable(color):
    """Return a colour for text on white: the same hue, darkened to a contrast of at least 4.5.

    Parameters
    ----------
    color : color
        Any colour of Matplotlib.

    Returns
    -------
    color : tuple of float
        Red, green and blue in 0..1. The contrast is that of the Web Content Accessibility
        Guidelines.

    Examples
    --------
    >>> readable("#000000"), max(readable("#E69F00")) < 0.7
    ((0.0, 0.0, 0.0), True)
    """
    plotting.load()
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(color))
    for share in np.linspace(1.0, 0.0, 101):
        dark = share * rgb
        linear = np.where(dark <= 0.04045, dark / 12.92, ((dark + 0.055) / 1.055) ** 2.4)
        luminance = linear @ (0.2126, 0.7152, 0.0722)
        if 1.05 / (luminance + 0.05) >= 4.5:
            break
    return tuple(map(float, dark))


def label_lines(ax, labels):
    """Write the name of each line at its right end, in its colour darkened, without overlaps.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes with the lines.
    labels : list of (str, float, color)
        Name, last value in the units of the y axis, and colour of each line.
    """
    text_height = 0.065  # height of a line of text, as a share of the axis
    low, high = ax.get_ylim()
    places = {
        i: (value - low) / (high - low)
        for i, (_, value, _) in enumerate(labels)
        if np.isfinite(value)
    }
    order = sorted(places, key=lambda i: -places[i])  # from the top down
    top = 1.0
    for left, i in zip(range(len(order), 0, -1), order, strict=True):
        # at the height of the line, but below the name above, and with room for those below
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
            color=readable(color),
            annotation_clip=False,
        )


@styled
def save(axes_or_figure, path, dpi=150):
    """Write the figure of some Axes to a PNG, PDF or SVG file, atomically.

    Parameters
    ----------
    axes_or_figure : Axes, array of Axes, or Figure
        Result of a figure function.
    path : str or pathlib.Path
        File to write; the suffix selects the format.
    dpi : float
        Resolution of PNG files and of images in other files, in dots per inch.

    Raises
    ------
    ValueError
        If the suffix is not ``.png``, ``.pdf`` or ``.svg``.
    OSError
        If the file cannot be written; an existing file is then unchanged.
    """
    metadata = _METADATA.get(Path(path).suffix.lower())
    if metadata is None:
        raise ValueError(f"figures.save: path must end in {', '.join(_METADATA)}, got {path}")
    if isinstance(axes_or_figure, list | tuple | np.ndarray):
        axes_or_figure = np.ravel(np.asarray(axes_or_figure, dtype=object))[0]
    figure = axes_or_figure if hasattr(axes_or_figure, "savefig") else axes_or_figure.figure
    buffer = io.BytesIO()
    figure.savefig(buffer, format=Path(path).suffix.lower()[1:], dpi=dpi, metadata=metadata)
    write_bytes(path, buffer.getvalue())
