"""Charts as inline SVG. They are sharp at every size, take their colours from the style sheet, and
need no script.
"""

from dataclasses import dataclass
from html import escape

import numpy as np

WIDE = 520
HIGH = 320
LEFT = 80
RIGHT = 14
TOP = 14
BOTTOM = 52
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def powers(low, high, step=1):
    """Return the ticks of a logarithmic axis, exponent to text.

    >>> powers(-4, 0, 2)
    {-4: '10⁻⁴', -2: '10⁻²', 0: '1'}
    """
    return {
        k: f"10{str(k).translate(SUPERSCRIPTS)}" if k else "1" for k in range(low, high + 1, step)
    }


@dataclass(frozen=True)
class Axes:
    """Ranges, labels and ticks of a chart.

    Attributes
    ----------
    x, y : tuple of float
        Ends of the axes. On a logarithmic axis they are exponents of ten.
    x_label, y_label : str
        Labels of the axes.
    x_ticks, y_ticks : dict
        Value of each tick to its text.
    """

    x: tuple
    y: tuple
    x_label: str
    y_label: str
    x_ticks: dict
    y_ticks: dict

    def across(self, x):
        """Return the horizontal position of values, in units of the chart."""
        low, high = self.x
        return LEFT + (np.asarray(x) - low) / (high - low) * (WIDE - LEFT - RIGHT)

    def up(self, y):
        """Return the vertical position of values, clipped to the axis."""
        low, high = self.y
        return HIGH - BOTTOM - (np.clip(y, low, high) - low) / (high - low) * (HIGH - TOP - BOTTOM)

    def line(self, x, y):
        """Return a polyline through the finite points, as the ``d`` of an SVG path."""
        points = np.stack([self.across(x), self.up(y)], axis=-1)
        points = points[np.isfinite(points).all(axis=-1)]
        return "M" + "L".join(f"{a:.0f} {b:.1f}" for a, b in points) if len(points) else ""

    def boxes(self, x, y, wide, high):
        """Return boxes with their lower left corners at ``x, y``, as the ``d`` of one SVG path."""
        left = self.across(x)
        right = self.across(np.add(x, wide))
        low = self.up(y)
        top = self.up(np.add(y, high))
        return "".join(
            f"M{a:.1f} {c:.1f}H{b:.1f}V{d:.1f}H{a:.1f}z"
            for a, b, c, d in zip(left, right, low, top, strict=True)
        )

    def svg(self, shapes, alt):
        """Return the chart as SVG.

        Parameters
        ----------
        shapes : sequence of (str, str)
            CSS class and ``d`` attribute of each path, in the order of drawing.
        alt : str
            Description of the chart for readers who do not see it.

        Returns
        -------
        str
            The ``svg`` element.
        """
        bottom = HIGH - BOTTOM
        middle = (TOP + HIGH - BOTTOM) / 2
        parts = [f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{escape(alt)}">']
        for value, text in self.x_ticks.items():
            at = self.across(value)
            parts.append(
                f'<path class="tick" d="M{at:.1f} {bottom}V{bottom + 5}"/>'
                f'<text x="{at:.1f}" y="{bottom + 19}" text-anchor="middle">{escape(text)}</text>'
            )
        for value, text in self.y_ticks.items():
            at = self.up(value)
            parts.append(
                f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDE - RIGHT}"/>'
                f'<text x="{LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{escape(text)}</text>'
            )
        parts += [f'<path class="{name}" d="{path}"/>' for name, path in shapes]
        parts.append(
            f'<text x="{(LEFT + WIDE - RIGHT) / 2}" y="{HIGH - 8}" text-anchor="middle">'
            f'{escape(self.x_label)}</text><text transform="translate(14 {middle}) rotate(-90)" '
            f'text-anchor="middle">{escape(self.y_label)}</text></svg>'
        )
        return "".join(parts)


def keys(labels):
    """Return the legend of a chart as an HTML list, from a dict of CSS class to text."""
    rows = "".join(
        f'<li><span class="key {name}" aria-hidden="true"></span>{escape(text)}</li>'
        for name, text in labels.items()
    )
    return f'<ul class="keys">{rows}</ul>'


ERRORS = Axes((-12, 0), (-16, 2), "step h", "relative error", powers(-12, 0, 2), powers(-16, 0, 4))


def v_curves(curves, title):
    """Return a chart of the error of central differences against the step, with its legend.

    Parameters
    ----------
    curves : dict of str to ibpcl.verify.derivative.curves.Curve
        One curve per input, by its name.
    title : str
        Beginning of the description.

    Returns
    -------
    str
        The ``figure`` element.
    """
    shapes = []
    labels = {}
    for i, (name, curve) in enumerate(curves.items()):
        error = np.log10(np.maximum(curve.values, 1e-16))
        shapes.append((f"line-{i % 6}", ERRORS.line(np.log10(curve.steps), error)))
        labels[f"line-{i % 6}"] = (
            f"{labels[f'line-{i % 6}']}, {name}" if f"line-{i % 6}" in labels else name
        )
    best = max(float(np.nanmin(curve.values)) for curve in curves.values())
    alt = (
        f"{title}: the error of central differences against the step, from 1e-1 to 1e-11. For "
        f"{' and '.join(curves)} it falls, reaches {best:.0e} or less, and rises again."
    )
    return (
        '<figure '
        f'class="chart">{ERRORS.svg(shapes, alt)}<figcaption>{keys(labels)}</figcaption></figure>'
    )
