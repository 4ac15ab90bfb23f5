"""Transfer results of ``ibpcl reproduce`` to the records of the site, and records to its pages.

``python docs/_ext/records.py reproduction/ladder`` merges ``values.csv`` of that folder into the
record ``docs/results/ladder.csv``: an entry that was measured again is replaced, others stay. Every
line names its seed, the commit of the program, the processor and the versions. The command also
copies the pictures that a page shows to ``docs/figures/``, with names that begin with ``ladder``,
and writes every table again that a page marks::

    <!-- table: ladder | Split MNIST: -->
    <!-- end -->

The tables of ``results/ladder.csv`` whose titles begin with "Split MNIST:" are written between the
marks, side by side. Where some entries of a table have one seed and others more, the former are
marked. With ``| beside the paper`` after the title, the numbers of the paper's table of accuracies
or of other metrics are beside NPBCL's. In a table of accuracies, the columns are then data sets, in
the order of the paper.

A number in a sentence is written between ``<!-- value: ladder | Split MNIST: accuracy | paper |
accuracy -->`` and ``<!-- end -->``: that of the row "paper" and the column "accuracy" of the table
whose title begins with "Split MNIST: accuracy", with its deviation and its number of seeds. Forms
may follow, each after a bar. They give the number alone, because the sentence names the seeds:

- ``mean``, ``deviation``, or ``with error``: the mean over the seeds, their standard deviation, or
  the mean with its standard error;
- ``minus NAME``: the mean difference from another row, or from another column, over the seeds that
  both have (``NAME`` is first looked up among the rows); ``over NAME``: the quotient of the means;
- ``interval``, after a ``minus``: the mean difference with its interval, paired over the seeds;
- ``size``: without the sign;
- ``seeds 0, 1, 5`` or ``seeds 8 to 16``: of these seeds alone;
- ``1 decimal``, ``0 decimals`` and so on, instead of the decimals of the unit.

A title with a star stands for several tables: the number is the mean over them, seed by seed.
Several names of rows or columns stand with "; " between them, and ``*`` stands for all rows or
columns of the table. Then the smallest and the largest number are written, such as "0.05 to 0.21".
A bar in a name has a backslash before it.  A mark must not begin a line: Markdown would take that
line for a block of HTML.

``npbcl_search`` and ``npbcl_random_search`` are records as well. The experiment takes the place of
the title. A row is named by its settings ("default" if it has none, and with ``data_seed=SEED`` if
that is the number of the seed) or by its number of the trial.

Records keep "ours" as the key of this package's NPBCL; tables show the method's name.

A table of differences from one row, paired over seeds, is written between::

    <!-- paired: ladder | *: accuracy | + default | accuracy -->
    <!-- end -->

The last field names a column; without it, all columns in percent, points or nats are compared. A
title with a star stands for several tables, whose differing words become the columns. Old lines of
a record, without seeds, are those of the seeds 0, 1, and so on.
"""

import csv
import re
import shutil
import sys
from pathlib import Path

import numpy as np

from ibpcl import storage
from ibpcl.experiments import paired, tables
from ibpcl.experiments.benchmarks import BENCHMARKS
from ibpcl.paper import numbers
from ibpcl.paper.reproduce.rows import FOUR, TWO_LAYERS, method_rows

DOCS = Path(__file__).resolve().parent.parent
# The searches for settings, with a page beside their records.
SETTINGS = DOCS.parent / "benchmarks" / "settings"
MARKED = re.compile(r"(<!-- table: ([\w-]+) \| (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
UNITS = {
    unit.name: unit for unit in reversed(vars(tables).values()) if isinstance(unit, tables.Unit)
}
# The units of what is measured and compared. Numbers of steps are set; seconds depend on the load.
COMPARABLE = {unit.name for unit in paired.UNITS}
VALUE = re.compile(r"(<!-- value: ([\w-]+) \| (.+?) -->).*?(<!-- end -->)", re.DOTALL)
PAIRED = re.compile(
    r"(<!-- paired: ([\w-]+) \| ([^|\n]+?) \| ([^|\n]+?)(?: \| ([^|\n]+?))? -->\n)"
    r".*?(<!-- end -->)",
    re.DOTALL,
)
BESIDE = "beside the paper"
FORMS = ("mean", "deviation", "with error", "size", "interval")
# The data sets of the paper's table of accuracies: label and name, in its order.
PAPERS_COLUMNS = {BENCHMARKS[name].label: name for name in FOUR}
# Columns of the table of other metrics beside which the paper's numbers are shown: the paper's
# column, which names its final means "Acc", the factor to our unit, and how a number is written.
PAPERS_METRICS = {"final mean": ("Acc", 1, "{:.2f}"), "BWT": ("BWT", 100, "{:+.3f}")}
DECIMALS = re.compile(r"(\d) decimals?$")
COLUMNS = ("table", "row", "column", "unit", "value")
# What made a value; empty in lines that are older than these columns.
MAKER = ("seed", "commit", "processor", "versions")


def read(name):
    """Return the lines (table, row, column, unit, value) of a record."""
    return [line[: len(COLUMNS)] for line in lines_of(DOCS / "results" / f"{name}.csv")]


def lines_of(path):
    """Return the lines of a record or of ``values.csv``: :func:`read`'s columns, then MAKER's."""
    columns = storage.read_csv(path)
    empty = [None] * len(columns["table"])
    cells = [columns[name].tolist() if name in columns else empty for name in (*COLUMNS, *MAKER)]
    return [
        # Names can be numbers, such as those of tasks. NaN is an empty cell of a column of numbers.
        (
            *map(str, line[:3]),
            *line[3 : len(COLUMNS)],
            *map(_maker, line[len(COLUMNS) :]),
        )
        for line in zip(*cells, strict=True)
    ]


def _maker(value):
    """Return one of MAKER's values; a column of seeds with empty cells is read as floats."""
    if value is None or value == "" or value != value:
        return None
    return int(value) if isinstance(value, float) else value


def search_lines(path):
    """Return the lines of a record of a search, with its seeds, as :func:`lines_of` does."""
    with open(path, newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    if "trial" in found[0]:
        return [
            (
                "split-notmnist",
                line["trial"],
                "accuracy",
                "percent",
                100 * float(line["accuracy"]),
                int(line["split"]),
            )
            for line in found
        ]
    lines = []
    for line in found:
        settings = line["settings"].replace(f"data_seed={line['seed']} ", "data_seed=SEED ")
        place = (line["experiment"], settings or "default", "accuracy", "percent")
        lines.append((*place, float(line["validation_accuracy"]), int(line["seed"])))
    return lines


def marked_lines(name):
    """Return the lines of the record that a mark names."""
    path = DOCS / "results" / f"{name}.csv"
    return lines_of(path) if path.exists() else search_lines(SETTINGS / f"{name}.csv")


def merge(old, new):
    """Return the lines of a record in which newly measured entries replace the old ones.

    Parameters
    ----------
    old, new : sequence of tuple
        Lines that begin with table, row and column.

    Returns
    -------
    lines : list of tuple
        In the order of ``old``; entries that are not in it are at the end.
    """
    lines = {}
    for line in old:
        lines.setdefault(line[:3], []).append(line)
    measured = {}
    for line in new:
        measured.setdefault(line[:3], []).append(line)
    return [line for entry in (lines | measured).values() for line in entry]


def markdown(lines, beginning, form=None):
    """Return a Markdown table of all tables whose titles start with ``beginning``, side by side.

    With the form "beside the paper", the numbers of its table of accuracies or of other metrics
    are beside NPBCL's.
    """
    if form not in (None, BESIDE):
        raise ValueError(f"records.markdown: unknown form {form!r} of a table")
    values = {}
    for title, row, column, unit, value in lines:
        if title.startswith(beginning):
            values.setdefault((row, column, unit), []).append(value)
    if not values:
        raise ValueError(f"records.markdown: no table begins with {beginning!r}")
    rows, columns = (list(dict.fromkeys(key[i] for key in values)) for i in range(2))
    entries = {
        (row, column): tables.Entry(row, column, tuple(found), UNITS[unit])
        for (row, column, unit), found in values.items()
    }
    counts = tables.seed_counts(entries.values())
    cells = {place: cell(entry, len(counts) > 1) for place, entry in entries.items()}
    count = seeds(counts)
    # a name stands before a colon
    corner = f"{beginning[:-1]}, {count}" if beginning.endswith(":") else count
    if form == BESIDE:
        columns = [name for name in PAPERS_COLUMNS if name in columns] or columns
    lines = [[tables.shown(corner)], *([tables.shown(row)] for row in rows)]
    for column in columns:
        found = [cells.get((row, column), "") for row in rows]
        for line, text in zip(lines, (tables.shown(column), *found), strict=True):
            line.append(text)
        if form == BESIDE and column in PAPERS_COLUMNS | PAPERS_METRICS:
            theirs = [printed(row, column) for row in rows]
            for line, text in zip(lines, ("paper", *theirs), strict=True):
                line.append(text)
    return f"{tables.markdown_lines(lines)}\n"


def printed(label, column):
    """Return a number of the paper as text, empty if it has none, by the labels of a record."""
    key = {row.label: row.key for row in method_rows(*TWO_LAYERS)}.get(label, label)
    if column in PAPERS_METRICS:
        name, scale, written = PAPERS_METRICS[column]
        found = numbers.metric(key, name, scale)
        return "" if found is None else written.format(found.value)
    found = numbers.accuracy(key, PAPERS_COLUMNS[column])
    return "" if found is None else f"{found.value:.2f} ± {found.deviation:g}"


def cell(entry, mixed):
    """Return an entry as text, without a standard deviation of 0; mark one seed among several."""
    if entry.deviation == 0 and not entry.unit.paired:
        return tables.spread(entry.mean, None, entry.unit)
    return tables.cell(entry, mixed)


def differences(lines, title, reference, column=None):
    """Return a Markdown table of differences from a row, paired over seeds, with intervals.

    Parameters
    ----------
    lines : sequence of tuple
        Lines of a record, with the seed after the value.
    title : str
        Beginning of the titles of the tables; or, with a star, the whole title, in which the star
        stands for the name of a column.
    reference : str
        The row that is subtracted from the others.
    column : str, optional
        The column of the record to compare; all in percent, points or nats if not given.
    """
    values = {}
    for name, line in compared(lines, title, column):
        values.setdefault((line[1], name, line[3]), []).append(line[4:6])
    entries = []
    for (row, name, unit), found in values.items():
        numbers, given = zip(*found, strict=True)
        # Lines without a seed are those of the first seeds, in order.
        given = () if None in given else tuple(map(int, given))
        entries.append(tables.Entry(row, name, numbers, UNITS[unit], seeds=given))
    made = paired.differences(tables.Table("", tuple(entries)), reference, "")
    if not made:
        raise ValueError(f"records.differences: no two rows of {title!r} have a common seed")
    header, rows = tables.grid(made[0])
    counts = {len(entry.values) for entry in made[0].entries}
    what = f"95 % interval, {seeds(counts)}" if max(counts) > 1 else tables.ONE_SEED
    header[0] = f"difference from {tables.shown(reference)}: {what}"
    return f"{tables.markdown_lines([header, *rows])}\n"


def compared(lines, title, column=None):
    """Yield the lines that a table of differences compares, each with the name of its column.

    Parameters
    ----------
    lines : sequence of tuple
        Lines of a record.
    title : str
        Beginning of the titles of the tables, or a whole title with a star.
    column : str, optional
        The column of the record to compare; all in :data:`COMPARABLE` units if not given.

    Yields
    ------
    name : str
        The column of the table of differences.
    line : tuple
    """
    pattern = pattern_of(title)
    for line in lines:
        match = pattern.match(line[0])
        if not match or line[3] not in COMPARABLE or column not in (None, line[2]):
            continue
        if not match.groups():
            name = line[2]
        elif column:
            name = match[1]
        else:
            name = f"{match[1]}, {line[2]}"
        yield name, line


def pattern_of(title):
    """Return the pattern of titles that begin with a title or, with a star in it, equal it."""
    return re.compile("(.+)".join(map(re.escape, title.split("*"))) + "$" * ("*" in title))


def reference_of(lines, row, column, form):
    """Return the row and the column that a form "minus NAME" or "over NAME" names, or None.

    Parameters
    ----------
    lines : sequence of tuple
        Lines of a record.
    row, column : str
        The entry that the mark names.
    form : str
        A form of the mark.
    """
    first, _, name = form.partition(" ")
    if first not in ("minus", "over"):
        return None
    return (name, column) if name in {line[1] for line in lines} else (row, name)


def value(lines, title, row, column, *forms):
    """Return a number of a record as text.

    Parameters
    ----------
    lines : sequence of tuple
        Lines of a record, with or without the seed after the value.
    title : str
        Beginning of the title of the table; with a star, the title of several.
    row, column : str
        The name of a row and of a column; several with "; " between them; or ``*`` for all.
    *forms : str
        How to write it: see the top of this module. Without any, with its number of seeds.

    Raises
    ------
    ValueError
        If the entry is missing, if several tables have it, or if a form is unknown.
    """
    pattern = pattern_of(title)
    lines = [line for line in lines if pattern.match(line[0])]
    if "*" in title:
        lines = pooled(lines)
    entries = [(each, other) for each in names(lines, 1, row) for other in names(lines, 2, column)]
    if not forms:
        found, unit = by_seed(lines, *entries[0])
        entry = tables.Entry("", "", tuple(found.values()), unit)
        return f"{tables.cell(entry)} ({seeds({len(found)})})"
    if "interval" in forms:
        ((row, column),) = entries
        found, _ = chosen(lines, row, column, forms)
        unit = paired.UNITS[by_seed(lines, row, column)[1]]
        return tables.interval(tables.Entry(row, column, tuple(found.values()), unit))
    numbers = [number(lines, *entry, forms) for entry in entries]
    written = by_seed(lines, *entries[0])[1].written.replace("+", "")
    for form in forms:
        if DECIMALS.match(form):
            written = f"{{:.{DECIMALS.match(form)[1]}f}}"
    low, high = (
        " ± ".join(without_sign_of_0(written.format(part)) for part in end(numbers))
        for end in (min, max)
    )
    return low if low == high else f"{low} to {high}"


def pooled(lines):
    """Return lines with the means over tables, for each entry and seed that all tables have."""
    count = len({line[0] for line in lines})
    values = {}
    for line in lines:
        values.setdefault((line[1:4], line[5]), []).append(line[4])
    return [
        ("", *entry, float(np.mean(found)), seed)
        for (entry, seed), found in values.items()
        if seed is not None and len(found) == count
    ]


def without_sign_of_0(text):
    """Return a number as text, without the sign of "-0.00"."""
    return text if float(text) else text.lstrip("-")


def names(lines, place, given):
    """Return the names of rows (place 1) or columns (2) for which a field of a mark stands."""
    return dict.fromkeys(line[place] for line in lines) if given == "*" else given.split("; ")


def by_seed(lines, row, column):
    """Return the values of an entry by seed, and their unit."""
    found = [line for line in lines if line[1:3] == (row, column)]
    titles = {line[0] for line in found}
    if len(titles) != 1:
        raise ValueError(f"records.by_seed: {len(titles)} tables have {row!r}, {column!r}")
    given = [line[5] if len(line) > 5 else None for line in found]
    # Lines without a seed are those of the first seeds, in order.
    given = range(len(found)) if None in given else map(int, given)
    return dict(zip(given, (line[4] for line in found), strict=True)), UNITS[found[0][3]]


def chosen(lines, row, column, forms):
    """Return the values of an entry by seed, or their differences, and the divisor of ``over``."""
    found, divisor = by_seed(lines, row, column)[0], 1
    for form in forms:
        first, _, name = form.partition(" ")
        reference = reference_of(lines, row, column, form)
        if reference:
            other = by_seed(lines, *reference)[0]
            if first == "minus":
                found = {seed: found[seed] - other[seed] for seed in found if seed in other}
            else:
                divisor = float(np.mean(list(other.values())))
        elif first == "seeds":
            ends = [int(seed) for seed in re.split(", | to ", name)]
            given = range(ends[0], ends[1] + 1) if " to " in name else ends
            found = {seed: found[seed] for seed in given}
        elif form not in FORMS and not DECIMALS.match(form):
            raise ValueError(f"records.chosen: unknown form {form!r} of a number")
    if not found:
        raise ValueError(f"records.chosen: no common seed: {row!r}, {column!r}, {forms}")
    return found, divisor


def number(lines, row, column, forms):
    """Return the number of an entry that the forms of a mark describe, and its error if wanted."""
    found, divisor = chosen(lines, row, column, forms)
    values = list(found.values())
    mean = float(np.mean(values)) / divisor
    result = abs(mean) if "size" in forms else mean
    if "deviation" in forms:
        return (float(np.std(values, ddof=1)),)
    if "with error" in forms:
        return result, float(np.std(values, ddof=1)) / len(values) ** 0.5
    return (result,)


def seeds(counts):
    """Return the numbers of seeds as text, such as "1 to 3 seeds"."""
    return f"{' to '.join(map(str, sorted(counts)))} seed{'s' * (max(counts) > 1)}"


def filled(text):
    """Return the text of a page with every marked table and number taken from its record."""
    text = MARKED.sub(
        lambda match: (
            match[1] + "\n" + markdown(read(match[2]), *fields(match[3])) + "\n" + match[4]
        ),
        text,
    )
    text = PAIRED.sub(
        lambda match: (
            match[1]
            + "\n"
            + differences(lines_of(DOCS / "results" / f"{match[2]}.csv"), *match.groups()[2:5])
            + "\n"
            + match[6]
        ),
        text,
    )
    return VALUE.sub(
        lambda match: match[1] + value(marked_lines(match[2]), *fields(match[3])) + match[4],
        text,
    )


def fields(text):
    """Return the fields of a mark; a bar of a name is written with a backslash."""
    return [field.replace("\\|", "|") for field in text.split(" | ")]


def main(folders):
    """Merge the results in folders into the records, and write the marked tables of all pages."""
    pages = {
        page: page.read_text(encoding="utf-8")
        for page in (DOCS.parent / "README.md", *DOCS.glob("*.md"), *SETTINGS.glob("*.md"))
    }
    for folder in map(Path, folders):
        record = DOCS / "results" / f"{folder.name}.csv"
        merged = merge(lines_of(record) if record.exists() else [], lines_of(folder / "values.csv"))
        storage.write_csv(
            record,
            {name: [line[i] for line in merged] for i, name in enumerate((*COLUMNS, *MAKER))},
        )
        for picture in folder.glob("*.png"):
            name = (
                picture.name
                if picture.name.startswith(folder.name)
                else f"{folder.name}-{picture.name}"
            )
            if any(f"(figures/{name})" in text for text in pages.values()):
                shutil.copyfile(picture, DOCS / "figures" / name)
    for page, text in pages.items():
        page.write_text(filled(text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
