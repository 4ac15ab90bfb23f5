"""Reports as one HTML page without any outside file: the figures are drawn as inline SVG."""

from html import escape

import numpy as np

WIDE = 320
HIGH = 220
EDGE = 44
STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; }
pre { background: #f5f5f2; padding: .8rem; overflow-x: auto; }
.ok { color: #19703a; } .undecided { color: #8a5a00; } .wrong { color: #a61b1b; }
svg { margin-right: 1rem; }
"""


def page(reports, title="Gradient check"):
    """Return an HTML page with reports, their V-curves and Taylor plots.

    A report is anything with ``title``, ``verdict``, ``text()`` and ``figures`` (HTML).
    """
    body = [f"<h1>{escape(title)}</h1>"]
    for report in reports:
        body.append(
            f'<h2 class="{report.verdict}">{escape(report.title)}: {report.verdict}</h2>'
            f"<pre>{escape(report.text())}</pre>{report.figures}"
        )
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head><body>{''.join(body)}</body></html>"
    )


def drawn(name, curves):
    """Draw the :class:`ibpcl.verify.witnesses.curves.Curves` of one input as HTML: its V-curve and
    its Taylor remainders.
    """
    given = curves.v_curve()
    truth = curves.v_curve_of_truth()
    v = figure(
        [
            ("against the gradient given", "#a61b1b", given.steps, given.values),
            ("against the true derivative", "#19703a", truth.steps, truth.values),
        ],
        "V-curve: error of central differences",
        "step h",
        "relative error",
    )
    lines = []
    for order, colour in ((1, "#1f4e9c"), (2, "#8a5a00")):
        curve = curves.taylor(order)
        slope = (
            "exact"
            if np.isinf(curve.slope)
            else "unclear"
            if np.isnan(curve.slope)
            else f"slope {curve.slope:.2f}"
        )
        lines.append(
            (f"order {order}: {slope} (right: {order + 1})", colour, curve.steps, curve.values)
        )
    return f"<h3>{escape(name)}</h3>{v}" + figure(lines, "Taylor remainder", "step h", "remainder")


def figure(lines, title, x_label, y_label):
    """Draw (label, colour, x, y) on logarithmic axes as SVG; what is not positive and finite is
    left out.
    """
    kept = []
    for label, colour, x, y in lines:
        good = np.isfinite(y) & (y > 0)
        kept.append((label, colour, np.log10(x[good]), np.log10(y[good])))
    xs = np.concatenate([line[2] for line in kept])
    ys = np.concatenate([line[3] for line in kept])
    head = (
        f'<svg width="{WIDE}" height="{HIGH + 46}" font-size="11" '
        f'role="img"><title>{escape(title)}</title>'
    )
    if xs.size == 0:
        return (
            head
            + f'<text x="{EDGE}" y="{HIGH // 2}">{escape(title)}: no error at any step</text></svg>'
        )
    (left, right), (low, high) = _ends(xs), _ends(ys)

    def across(value):
        return EDGE + (value - left) / (right - left) * (WIDE - EDGE - 10)

    def up(value):
        return HIGH - EDGE + 10 - (value - low) / (high - low) * (HIGH - EDGE - 16)

    parts = [head, f'<text x="{EDGE}" y="12" font-weight="bold">{escape(title)}</text>']
    for tick in _ticks(left, right):
        parts.append(
            f'<text x="{across(tick):.1f}" y="{HIGH - 16}" text-anchor="middle">1e{tick}</text>'
        )
    for tick in _ticks(low, high):
        parts.append(
            f'<text x="{EDGE - 4}" y="{up(tick) + 4:.1f}" text-anchor="end">1e{tick}</text><line '
            f'x1="{EDGE}" x2="{WIDE - 10}" y1="{up(tick):.1f}" y2="{up(tick):.1f}" stroke="#ddd"/>'
        )
    for row, (label, colour, x, y) in enumerate(kept):
        points = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in zip(x, y, strict=True))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<text x="{EDGE}" y="{HIGH + 18 + 14 * row}" fill="{colour}">{escape(label)}</text>'
        )
    parts.append(
        f'<text x="{WIDE - 10}" y="{HIGH - 2}" text-anchor="end">{escape(x_label)}</text>'
        f'<text x="2" y="{HIGH - 2}">{escape(y_label)}</text></svg>'
    )
    return "".join(parts)


def _ends(values):
    low = float(np.floor(values.min()))
    high = float(np.ceil(values.max()))
    return (low, high) if high > low else (low, low + 1)


def _ticks(low, high):
    return range(int(low), int(high) + 1, max(1, int(high - low) // 4))
