"""Tables of means and standard deviations over seeds, with reported numbers beside them."""

import math
import textwrap
from typing import NamedTuple

import numpy as np

WIDTH = 80  # of a terminal


class Printed(NamedTuple):
    """A number that has been reported elsewhere, in the unit of the table that it is shown in."""

    value: float
    deviation: float | None  # after the plus-minus
    place: str  # where it stands
    source: str = "paper"  # in one or two words


class Unit(NamedTuple):
    """What numbers are counted in, and how they are written."""

    name: str
    written: str


PERCENT = Unit("percent", "{:.2f}")
SHARE = Unit("percent of the weights", "{:.1f}")
POINTS = Unit("points", "{:+.2f}")
FINE_POINTS = Unit("points", "{:+.3f}")
COUNT = Unit("number", "{:.1f}")
FRACTION = Unit("fraction", "{:.3f}")
SCORE = Unit("score", "{:.4f}")
CORRELATION = Unit("correlation", "{:+.2f}")
NATS = Unit("nats per image", "{:.2f}")
NUMBER = Unit("number", "{:.0f}")
WHOLE = Unit("whole number", "{:.0f}")
SECONDS = Unit("seconds", "{:.1f}")
MEGABYTES = Unit("MB", "{:.2f}")


class Entry(NamedTuple):
    """One cell of a table: a value per seed, and what has been reported for it, in the same
    unit.
    """

    row: str
    column: str
    values: tuple[float, ...]
    unit: Unit = PERCENT
    printed: Printed | None = None

    @property
    def mean(self):
        """The mean over seeds; NaN without any."""
        return float(np.mean(self.values)) if self.values else math.nan

    @property
    def deviation(self):
        """The sample standard deviation over seeds (divided by their number less one); NaN for
        fewer than two.
        """
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else math.nan

    @property
    def difference(self):
        """The mean less the printed value; NaN without one."""
        return math.nan if self.printed is None else self.mean - self.printed.value

    def to_dict(self):
        """Return plain values only, for JSON."""
        printed = None if self.printed is None else self.printed._asdict()
        return {
            "row": self.row,
            "column": self.column,
            "unit": self.unit.name,
            "mean": self.mean,
            "standard_deviation": self.deviation,
            "seeds": len(self.values),
            "values": list(self.values),
            "printed": printed,
            "difference": self.difference,
        }


class Table(NamedTuple):
    """Entries under a title; rows and columns stand in the order in which the entries come."""

    title: str
    entries: tuple[Entry, ...]
    corner: str = ""

    def to_dict(self):
        """Return plain values only, for JSON."""
        header, lines = grid(self)
        return {
            "title": self.title,
            "caption": caption(self),
            "header": header,
            "lines": lines,
            "entries": [entry.to_dict() for entry in self.entries],
        }


def spread(mean, deviation, unit):
    """Return a mean with its deviation as text; a dash for what was not measured.

    >>> spread(99.754, 0.021, PERCENT), spread(99.754, math.nan, PERCENT), spread(math.nan,
    ...     math.nan, PERCENT)
    ('99.75 ± 0.02', '99.75', '-')
    """
    if math.isnan(mean):
        return "-"
    text = unit.written.format(mean)
    if deviation is None or math.isnan(deviation):
        return text
    return f"{text} ± {unit.written.replace('+', '').format(deviation)}"


def grid(table):
    """Lay a table out as text: the header, then lines of cells.

    Below a row for which there are reported numbers, one line has these and one the differences.
    """
    rows, columns = (
        list(dict.fromkeys(getattr(entry, axis) for entry in table.entries))
        for axis in ("row", "column")
    )
    at = {(entry.row, entry.column): entry for entry in table.entries}
    lines = []
    for row in rows:
        entries = [at.get((row, column)) for column in columns]
        lines.append(
            [row, *("" if e is None else spread(e.mean, e.deviation, e.unit) for e in entries)]
        )
        sources = {e.printed.source for e in entries if e is not None and e.printed is not None}
        for source in sorted(sources):
            theirs = [
                e
                if e is not None and e.printed is not None and e.printed.source == source
                else None
                for e in entries
            ]
            lines.append([f"  {source}", *("" if e is None else _printed(e) for e in theirs)])
            lines.append(["  difference", *("" if e is None else _difference(e) for e in theirs)])
    return [table.corner, *columns], lines


def _printed(entry):
    deviation = entry.printed.deviation
    text = entry.unit.written.format(entry.printed.value)
    return text if deviation is None else f"{text} ± {deviation:g}"


def _difference(entry):
    signed = entry.unit.written.replace("+", "").replace("{:", "{:+")
    return "-" if math.isnan(entry.difference) else signed.format(entry.difference)


def caption(table):
    """Return the title, with the number of seeds behind the means."""
    counts = {len(entry.values) for entry in table.entries}
    if counts <= {1}:
        return f"{table.title} (one seed)"
    words = f"{max(counts)} seeds" if len(counts) == 1 else f"{min(counts)} to {max(counts)} seeds"
    return f"{table.title} (mean ± sd over {words})"


def text(table):
    """Return a table for a terminal.

    >>> print(text(Table("Accuracy", (Entry("ours", "MNIST", (99.0, 99.5)),))))
    Accuracy (mean ± sd over 2 seeds)
    <BLANKLINE>
                 MNIST
    ours  99.25 ± 0.35
    """
    header, lines = grid(table)
    widths = [max(len(line[i]) for line in (header, *lines)) for i in range(len(header))]
    body = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (header, *lines)
    ]
    return "\n".join([textwrap.fill(caption(table), WIDTH), "", *body])


def markdown_lines(lines):
    r"""Return lines of cells as a table in Markdown: the header first, the first column aligned
    left.

    >>> print(markdown_lines([["", "p(x | t)"], ["a", "1"]]))
    |  | p(x \| t) |
    | :-- | --: |
    | a | 1 |
    """
    header, *rows = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(
        f"| {' | '.join(line)} |" for line in (header, [":--", *["--:"] * (len(header) - 1)], *rows)
    )


def markdown(table):
    """Return a table in Markdown.

    >>> print(markdown(Table("Accuracy", (Entry("ours", "MNIST", (99.0,)),))))
    **Accuracy (one seed)**
    <BLANKLINE>
    |  | MNIST |
    | :-- | --: |
    | ours | 99.00 |
    """
    header, lines = grid(table)
    indented = [[line[0].replace("  ", "&nbsp;&nbsp;"), *line[1:]] for line in lines]
    return f"**{caption(table)}**\n\n{markdown_lines([header, *indented])}"
