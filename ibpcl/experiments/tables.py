"""Tables of means and standard deviations over seeds, next to numbers reported elsewhere."""

import math
import re
import textwrap
from typing import NamedTuple

import numpy as np

from ibpcl.evaluation.statistics import paired_difference

WIDTH = 80  # of a terminal
# Confidence level of the intervals of differences.
LEVEL = 0.95
ONE_SEED = "1 seed: no interval"


class Printed(NamedTuple):
    """A number that was reported elsewhere.

    Attributes
    ----------
    value : float
        In the unit of the table.
    deviation : float or None
        The number after the plus-minus sign.
    place : str
        Where it is printed, such as a table of the paper.
    source : str
        The source in one or two words.
    """

    value: float
    deviation: float | None
    place: str
    source: str = "paper"


class Unit(NamedTuple):
    """A unit of numbers, and how they are written.

    Attributes
    ----------
    name : str
        Name of the unit.
    written : str
        Format string.
    paired : bool
        Whether the values are differences between runs with the same seed. They are written with
        an interval instead of a standard deviation.
    measured : bool
        Whether there is one value per seed. False for numbers of the paper.
    """

    name: str
    written: str
    paired: bool = False
    measured: bool = True


PERCENT = Unit("percent", "{:.2f}")
PRINTED_PERCENT = Unit("percent, as printed", "{:.2f}", measured=False)
SHARE = Unit("percent of the weights", "{:.1f}")
POINTS = Unit("points", "{:+.2f}")
FINE_POINTS = Unit("fine points", "{:+.3f}")
DIFFERENCE = Unit("points, paired over seeds", "{:+.2f}", paired=True)
FINE_DIFFERENCE = Unit("fine points, paired over seeds", "{:+.3f}", paired=True)
COUNT = Unit("number", "{:.1f}")
FRACTION = Unit("fraction", "{:.3f}")
SCORE = Unit("score", "{:.4f}")
NATS_PER_EXAMPLE = Unit("nats per example", "{:.4f}")
CORRELATION = Unit("correlation", "{:+.2f}")
NATS = Unit("nats per image", "{:.2f}")
NATS_DIFFERENCE = Unit("nats per image, paired over seeds", "{:+.2f}", paired=True)
DIVERGENCE = Unit("nats", "{:.3f}")
FINE_NATS = Unit("nats per test example", "{:.3f}")
NUMBER = Unit("number", "{:.0f}")
WHOLE = Unit("whole number", "{:.0f}")
SECONDS = Unit("seconds", "{:.1f}")
MEGABYTES = Unit("MB", "{:.2f}")


class Entry(NamedTuple):
    """One cell of a table: one value per seed, and the number that was reported for it.

    Attributes
    ----------
    row, column : str
        Names of its row and column.
    values : tuple of float
        One per seed, NaN where nothing was measured.
    unit : Unit
        Unit of the values.
    printed : Printed or None
        The reported number, in the same unit.
    seeds : tuple of int
        The seed of each value. Empty: one value per seed of the report, in order, or values that
        do not belong to single seeds.
    """

    row: str
    column: str
    values: tuple[float, ...]
    unit: Unit = PERCENT
    printed: Printed | None = None
    seeds: tuple[int, ...] = ()

    @property
    def mean(self):
        """The mean over seeds; NaN without any."""
        return float(np.mean(self.values)) if self.values else math.nan

    @property
    def deviation(self):
        """The sample standard deviation over seeds (with n - 1); NaN for fewer than two."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else math.nan

    @property
    def difference(self):
        """The mean minus the reported number; NaN without one."""
        return math.nan if self.printed is None else self.mean - self.printed.value

    @property
    def paired(self):
        """Interval and test of an entry of differences, a ``statistics.PairedDifference``."""
        return paired_difference(self.values, level=LEVEL)

    def to_dict(self):
        """Return the entry as plain values, for JSON."""
        printed = None if self.printed is None else self.printed._asdict()
        paired = {}
        if self.unit.paired:
            found = self.paired
            paired = {
                "interval": [found.low, found.high],
                "level": found.level,
                "sign_flip_p": found.p_value,
                "smallest_p": found.smallest_p,
            }
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
            **paired,
        }


class Table(NamedTuple):
    """A table; rows and columns are in the order in which the entries name them.

    Attributes
    ----------
    title : str
        Its title.
    entries : tuple of Entry
        Its cells.
    corner : str
        Name of the column of row names.
    derived : bool
        Whether every value follows from those of another table, which ``values.csv`` has.
    """

    title: str
    entries: tuple[Entry, ...]
    corner: str = ""
    derived: bool = False

    def to_dict(self):
        """Return the table as plain values, for JSON."""
        header, lines = grid(self)
        return {
            "title": self.title,
            "caption": caption(self),
            "derived": self.derived,
            "header": header,
            "lines": lines,
            "entries": [entry.to_dict() for entry in self.entries],
        }


def spread(mean, deviation, unit):
    """Return a mean with its standard deviation as text.

    Parameters
    ----------
    mean : float
        The mean; NaN gives a dash.
    deviation : float or None
        The standard deviation; left out if NaN or None.
    unit : Unit
        How numbers are written.

    Returns
    -------
    text : str
        Such as ``99.75 ± 0.02``.

    Examples
    --------
    >>> spread(99.754, 0.021, PERCENT), spread(99.754, math.nan, PERCENT)
    ('99.75 ± 0.02', '99.75')
    """
    if math.isnan(mean):
        return "-"
    text = unit.written.format(mean)
    if deviation is None or math.isnan(deviation):
        return text
    return f"{text} ± {unit.written.replace('+', '').format(deviation)}"


def interval(entry):
    """Return a mean difference with its interval as text.

    Parameters
    ----------
    entry : Entry
        An entry of differences.

    Returns
    -------
    text : str
        Such as ``+0.30 [+0.05, +0.55]``, or the mean alone for one seed.

    Examples
    --------
    >>> interval(Entry("ours", "MNIST", (0.3, 0.2, 0.4), DIFFERENCE))
    '+0.30 [+0.05, +0.55]'
    >>> interval(Entry("ours", "MNIST", (0.3,), DIFFERENCE))
    '+0.30'
    """
    found = entry.paired
    if math.isnan(found.mean):
        return "-"
    mean, low, high = (entry.unit.written.format(number) for number in found[:3])
    return mean if math.isnan(found.low) else f"{mean} [{low}, {high}]"


def cell(entry, mark_one_seed=False):
    """Return an entry as text.

    Parameters
    ----------
    entry : Entry
        The entry.
    mark_one_seed : bool
        Whether to say so if the entry has a single value. A table whose entries all have one says
        it in its caption instead.

    Returns
    -------
    text : str
        The mean with its standard deviation, or a difference with its interval.

    Examples
    --------
    >>> cell(Entry("ours", "MNIST", (99.5, 99.7))), cell(Entry("ours", "MNIST", (99.2,)), True)
    ('99.60 ± 0.14', '99.20 (1 seed)')
    """
    paired = entry.unit.paired
    text = interval(entry) if paired else spread(entry.mean, entry.deviation, entry.unit)
    alone = mark_one_seed and entry.unit.measured and len(entry.values) == 1 and text != "-"
    return f"{text} (1 seed)" if alone else text


def seed_counts(entries):
    """Return the different numbers of seeds of entries, without those of the paper.

    Parameters
    ----------
    entries : iterable of Entry
        The entries.

    Returns
    -------
    counts : set of int

    Examples
    --------
    >>> printed = Entry("ours", "paper", (99.8,), PRINTED_PERCENT)
    >>> seed_counts([Entry("ours", "MNIST", (99.5, 99.7)), printed])
    {2}
    """
    return {len(entry.values) for entry in entries if entry.unit.measured}


def shown(name):
    """Return the name of a row or column as readers see it.

    Records write "ours" for this package's NPBCL, as a key, and "our" for its parts.  A reader sees
    the method's name.

    Parameters
    ----------
    name : str
        Name in a record, such as "ours, coreset".

    Returns
    -------
    name : str
        The name in a table or a figure.

    Examples
    --------
    >>> shown("ours, coreset"), shown("the same, our rates"), shown("VCL")
    ('NPBCL, coreset', "the same, NPBCL's rates", 'VCL')
    """
    return re.sub(r"\bour\b", "NPBCL's", re.sub(r"\bours\b", "NPBCL", name))


def grid(table):
    """Return the header and the lines of a table as text.

    If numbers were reported for a row, two lines below it show these and the differences. If some
    entries have one seed and others more, the former are marked.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    header : list of str
        Names of the columns.
    lines : list of list of str
        One list of cells per line.
    """
    rows, columns = (
        list(dict.fromkeys(getattr(entry, axis) for entry in table.entries))
        for axis in ("row", "column")
    )
    at = {(entry.row, entry.column): entry for entry in table.entries}
    mixed = len(seed_counts(table.entries)) > 1
    lines = []
    for row in rows:
        entries = [at.get((row, column)) for column in columns]
        lines.append([shown(row), *("" if e is None else cell(e, mixed) for e in entries)])
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
    return [shown(table.corner), *map(shown, columns)], lines


def _printed(entry):
    deviation = entry.printed.deviation
    text = entry.unit.written.format(entry.printed.value)
    return text if deviation is None else f"{text} ± {deviation:g}"


def _difference(entry):
    signed = entry.unit.written.replace("+", "").replace("{:", "{:+")
    return "-" if math.isnan(entry.difference) else signed.format(entry.difference)


def caption(table):
    """Return the title of a table with the number of seeds.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    caption : str
        Such as ``Accuracy (mean ± sd over 5 seeds)``.
    """
    title = shown(table.title)
    counts = seed_counts(table.entries)
    paired = any(entry.unit.paired for entry in table.entries)
    if counts <= {1}:
        return f"{title} ({ONE_SEED if paired else 'one seed'})"
    number = str(max(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    if paired:
        return f"{title} (mean [{100 * LEVEL:g} % interval], paired over {number} seeds)"
    return f"{title} (mean ± sd over {number} seeds)"


def text(table):
    """Return a table as text for a terminal.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    text : str
        The caption and aligned columns. Columns that do not fit into ``WIDTH`` follow below, with
        the names of the rows.

    Examples
    --------
    >>> print(text(Table("Accuracy", (Entry("ours", "MNIST", (99.0, 99.5)),))))
    Accuracy (mean ± sd over 2 seeds)
    <BLANKLINE>
                  MNIST
    NPBCL  99.25 ± 0.35
    """
    header, lines = grid(table)
    widths = [max(len(line[i]) for line in (header, *lines)) for i in range(len(header))]
    parts = [
        "\n".join(
            "  ".join(
                [
                    line[0].ljust(widths[0]),
                    *(line[i].rjust(widths[i]) for i in columns),
                ]
            ).rstrip()
            for line in (header, *lines)
        )
        for columns in _fitting(widths)
    ]
    return "\n\n".join([textwrap.fill(caption(table), WIDTH), *parts])


def _fitting(widths):
    """Return groups of columns that fit, with the first column, into the width of a terminal."""
    groups = [[]]
    used = widths[0]
    for column, width in enumerate(widths[1:], 1):
        if groups[-1] and used + 2 + width > WIDTH:
            groups.append([])
            used = widths[0]
        groups[-1].append(column)
        used += 2 + width
    return groups


def markdown_lines(lines):
    r"""Return lines of cells as a Markdown table; only the first column is aligned left.

    Parameters
    ----------
    lines : list of list of str
        The header first.

    Returns
    -------
    text : str
        The table.

    Examples
    --------
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
    """Return a table with its caption in Markdown.

    Parameters
    ----------
    table : Table
        The table.

    Returns
    -------
    text : str
        The caption and the table.

    Examples
    --------
    >>> print(markdown(Table("Accuracy", (Entry("ours", "MNIST", (99.0,)),))))
    **Accuracy (one seed)**
    <BLANKLINE>
    |  | MNIST |
    | :-- | --: |
    | NPBCL | 99.00 |
    """
    header, lines = grid(table)
    indented = [[line[0].replace("  ", "&nbsp;&nbsp;"), *line[1:]] for line in lines]
    return f"**{caption(table)}**\n\n{markdown_lines([header, *indented])}"
