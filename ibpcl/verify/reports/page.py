"""HTML pages of reports: one file that loads nothing, with charts drawn as inline SVG.

The templates ``page.html`` and ``curves.html`` lie beside this module. Jinja2 is imported only when
HTML is written, because the checker also runs where NumPy is the only other package, such as in a
browser.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ibpcl.palette import BLUE, VERMILION

# Size of a chart in pixels, without its legend, and the widths of its margins.
WIDE = 380
HIGH = 250
LEFT = 58
RIGHT = 20
TOP = 26
BOTTOM = 44


class Look(NamedTuple):
    """Look of a curve. Curves differ in colour, dashes and markers.

    Attributes
    ----------
    colour : str
        Colour as in CSS.
    dashes : str
        Lengths of dashes and gaps as in SVG; "none" for a solid line.
    marker : {"circle", "square", "none"}
        Shape at each point.
    width : float
        Width of the line in pixels. A wide line is seen below a narrow one.
    """

    colour: str
    dashes: str
    marker: str
    width: float


GIVEN = Look(VERMILION, "6 3", "square", 1.6)
TRUTH = Look(BLUE, "none", "none", 3.5)
FIRST = Look(BLUE, "none", "circle", 1.6)
SECOND = Look(VERMILION, "6 3", "square", 1.6)


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
    look : Look
        Colour, dashes and marker.
    points : list of (float, float)
        Corners of the curve, in pixels.
    """

    label: str
    look: Look
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

    A gradient that is missing, not finite or of another shape than its input has no curve of its
    own: a sentence says so, and the curve against the true derivative stays.

    Parameters
    ----------
    name : str
        Name of the input, which becomes the heading.
    curves : ibpcl.verify.derivative.curves.Curves
        The curves of its gradient.

    Returns
    -------
    html : str
        A heading and one or two SVG drawings.
    """
    truth = curves.v_curve_of_truth()
    errors = [("against the true derivative", TRUTH, truth.steps, truth.values)]
    remainders = []
    if curves.comparable:
        given = curves.v_curve()
        errors.append(("against the gradient given", GIVEN, given.steps, given.values))
        for order, look in ((1, FIRST), (2, SECOND)):
            curve = curves.taylor(order)
            label = f"order {order}: {_slope(curve.slope)} (right: {order + 1})"
            remainders.append((label, look, curve.steps, curve.values))
    charts = [chart(errors, "Error of central differences", "step h", "relative error")]
    if remainders:
        charts.append(chart(remainders, "Taylor remainder", "step h", "remainder"))
    return _rendered(
        "curves.html",
        name=name,
        comparable=curves.comparable,
        charts=charts,
        wide=WIDE,
        high=HIGH,
        left=LEFT,
        right=RIGHT,
        bottom=BOTTOM,
        top=TOP,
    )


def _slope(slope):
    if np.isinf(slope):
        return "exact"
    return "unclear" if np.isnan(slope) else f"slope {slope:.2f}"


def chart(lines, title, x_label, y_label):
    """Return curves as a chart with logarithmic axes.

    Parameters
    ----------
    lines : list of (str, Look, ndarray, ndarray)
        Label, look, x and y of each curve; x is positive. Points whose y is not positive and
        finite are left out.
    title, x_label, y_label : str
        Heading, and labels of the axes.

    Returns
    -------
    chart : Chart
        Without ticks and lines if no point is left.
    """
    logarithms = []
    for label, look, x, y in lines:
        good = np.isfinite(y) & (y > 0)
        logarithms.append((label, look, np.log10(x[good]), np.log10(y[good])))
    xs = np.concatenate([line[2] for line in logarithms])
    ys = np.concatenate([line[3] for line in logarithms])
    if xs.size == 0:
        return Chart(title, x_label, y_label, [], [], [])
    left, right = _ends(xs)
    low, high = _ends(ys)

    def across(value):
        return LEFT + (value - left) / (right - left) * (WIDE - LEFT - RIGHT)

    def up(value):
        return HIGH - BOTTOM - (value - low) / (high - low) * (HIGH - TOP - BOTTOM)

    return Chart(
        title,
        x_label,
        y_label,
        [Tick(power, across(power)) for power in _powers(left, right)],
        [Tick(power, up(power)) for power in _powers(low, high)],
        [
            Line(label, look, list(zip(across(x), up(y), strict=True)))
            for label, look, x, y in logarithms
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
