"""HTML pages of reports: one file that loads nothing, with charts drawn as inline SVG.

The templates ``page.html`` and ``curves.html`` lie beside this module. Jinja2 is imported only when
HTML is written, because the checker also runs where NumPy is the only other package, such as in a
browser.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

# Size of a chart in pixels, and the width of its left and lower margins.
WIDE = 320
HIGH = 220
EDGE = 44
RED = "#a61b1b"
GREEN = "#19703a"
BLUE = "#1f4e9c"
BROWN = "#8a5a00"


class Tick(NamedTuple):
    """A labelled position on a logarithmic axis.

    Attributes
    ----------
    power : int
        The label is ``10 ** power``.
    position : float
        Pixels from the left or the upper edge of the chart.
    """

    power: int
    position: float


class Line(NamedTuple):
    """One curve of a chart.

    Attributes
    ----------
    label : str
        Entry in the legend.
    colour : str
        Colour as in CSS.
    points : list of (float, float)
        Corners of the curve, in pixels.
    """

    label: str
    colour: str
    points: list


class Chart(NamedTuple):
    """A chart with two logarithmic axes, ready for the template.

    Attributes
    ----------
    title, x_label, y_label : str
        Heading, and labels of the axes.
    x_ticks, y_ticks : list of Tick
        Both are empty if there is nothing to draw.
    lines : list of Line
        The curves.
    """

    title: str
    x_label: str
    y_label: str
    x_ticks: list
    y_ticks: list
    lines: list


def page(reports, title="Gradient check"):
    """Return an HTML page with reports and their charts.

    Parameters
    ----------
    reports : sequence
        Objects with ``title``, ``verdict`` ("ok", "wrong" or "undecided"), ``text()`` and
        ``figures`` (HTML, such as :func:`drawn` returns).
    title : str
        Heading of the page.

    Returns
    -------
    html : str
        A complete document, which loads nothing from elsewhere.
    """
    return _rendered("page.html", title=title, reports=reports)


def drawn(name, curves):
    """Return the V-curve and the Taylor remainders of one input as HTML.

    Parameters
    ----------
    name : str
        Name of the input, which becomes the heading.
    curves : ibpcl.verify.derivative.curves.Curves
        The curves of its gradient.

    Returns
    -------
    html : str
        A heading and two SVG drawings.
    """
    given = curves.v_curve()
    truth = curves.v_curve_of_truth()
    v_curve = chart(
        [
            ("against the gradient given", RED, given.steps, given.values),
            ("against the true derivative", GREEN, truth.steps, truth.values),
        ],
        "V-curve: error of central differences",
        "step h",
        "relative error",
    )
    lines = []
    for order, colour in ((1, BLUE), (2, BROWN)):
        curve = curves.taylor(order)
        label = f"order {order}: {_slope(curve.slope)} (right: {order + 1})"
        lines.append((label, colour, curve.steps, curve.values))
    taylor = chart(lines, "Taylor remainder", "step h", "remainder")
    return _rendered(
        "curves.html", name=name, charts=[v_curve, taylor], wide=WIDE, high=HIGH, edge=EDGE
    )


def _slope(slope):
    if np.isinf(slope):
        return "exact"
    return "unclear" if np.isnan(slope) else f"slope {slope:.2f}"


def chart(lines, title, x_label, y_label):
    """Return curves as a chart with logarithmic axes.

    Parameters
    ----------
    lines : list of (str, str, ndarray, ndarray)
        Label, colour, x and y of each curve; x is positive. Points whose y is not positive and
        finite are left out.
    title, x_label, y_label : str
        Heading, and labels of the axes.

    Returns
    -------
    chart : Chart
        Without ticks and lines if no point is left.
    """
    logarithms = []
    for label, colour, x, y in lines:
        good = np.isfinite(y) & (y > 0)
        logarithms.append((label, colour, np.log10(x[good]), np.log10(y[good])))
    xs = np.concatenate([line[2] for line in logarithms])
    ys = np.concatenate([line[3] for line in logarithms])
    if xs.size == 0:
        return Chart(title, x_label, y_label, [], [], [])
    left, right = _ends(xs)
    low, high = _ends(ys)

    def across(value):
        return EDGE + (value - left) / (right - left) * (WIDE - EDGE - 10)

    def up(value):
        return HIGH - EDGE + 10 - (value - low) / (high - low) * (HIGH - EDGE - 16)

    return Chart(
        title,
        x_label,
        y_label,
        [Tick(power, across(power)) for power in _powers(left, right)],
        [Tick(power, up(power)) for power in _powers(low, high)],
        [
            Line(label, colour, list(zip(across(x), up(y), strict=True)))
            for label, colour, x, y in logarithms
        ],
    )


def _ends(values):
    low = float(np.floor(values.min()))
    high = float(np.ceil(values.max()))
    return (low, high) if high > low else (low, low + 1)


def _powers(low, high):
    return range(int(low), int(high) + 1, max(1, int(high - low) // 4))


def _rendered(template, **context):
    return _environment().get_template(template).render(context)


@cache
def _environment():
    import jinja2  # a checker in the browser has none

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["pixels"] = "{:.1f}".format
    return environment
