"""Transfer results of ``ibpcl reproduce`` to the records of the site, and records to its pages.

``python docs/_ext/records.py reproduction/ladder`` merges ``values.csv`` of that folder into the
record ``docs/results/ladder.csv`` (a column of a table that was measured again is replaced, others
stay). It copies the pictures that a page shows to ``docs/figures/``, with names that begin with
``ladder``, and writes every table again that a page marks::

    <!-- table: ladder | Split MNIST: -->
    <!-- end -->

The tables of ``results/ladder.csv`` whose titles begin with "Split MNIST:" are written between the
marks, side by side. A single number with its number of seeds is written between ``<!-- value:
ladder | Split MNIST: accuracy | paper | accuracy -->`` and the end: the value of a table, row and
column.
"""

import re
import shutil
import sys
from pathlib import Path

from ibpcl import storage
from ibpcl.experiments import tables

DOCS = Path(__file__).resolve().parent.parent
MARKED = re.compile(r"(<!-- table: ([\w-]+) \| (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
UNITS = {
    unit.name: unit for unit in reversed(vars(tables).values()) if isinstance(unit, tables.Unit)
}
VALUE = re.compile(
    r"(<!-- value: ([\w-]+) \| (.+?) \| (.+?) \| (.+?) -->).*?(<!-- end -->)", re.DOTALL
)
COLUMNS = ("table", "row", "column", "unit", "value")


def read(name):
    """Return the lines (table, row, column, unit, value) of a record."""
    columns = storage.read_csv(DOCS / "results" / f"{name}.csv")
    return list(zip(*(columns[column].tolist() for column in COLUMNS), strict=True))


def merge(old, new):
    """Return the lines of a record in which newly measured columns replace the old ones.

    Parameters
    ----------
    old, new : sequence of tuple
        Lines (table, row, column, unit, value).

    Returns
    -------
    lines : list of tuple
    """
    measured = {(title, column) for title, _, column, *_ in new}
    return [line for line in old if (line[0], line[2]) not in measured] + list(new)


def markdown(lines, beginning):
    """Return a Markdown table of all tables whose titles start with ``beginning``, side by side."""
    values = {}
    for title, row, column, unit, value in lines:
        if title.startswith(beginning):
            values.setdefault((row, column, unit), []).append(value)
    if not values:
        raise ValueError(f"records.markdown: no table begins with {beginning!r}")
    rows, columns = (list(dict.fromkeys(key[i] for key in values)) for i in range(2))
    cells = {}
    for (row, column, unit), found in values.items():
        entry = tables.Entry(row, column, tuple(found), UNITS[unit])
        # without one that is 0
        cells[row, column] = tables.spread(entry.mean, entry.deviation or None, entry.unit)
    count = seeds({len(found) for found in values.values()})
    # a name stands before a colon
    corner = f"{beginning[:-1]}, {count}" if beginning.endswith(":") else count
    lines = [
        [corner, *columns],
        *([row, *(cells.get((row, column), "") for column in columns)] for row in rows),
    ]
    return f"{tables.markdown_lines(lines)}\n"


def value(lines, *place):
    """Return one entry of a record with its number of seeds; ``place`` is table, row, column."""
    found = [line[3:] for line in lines if line[:3] == place]
    entry = tables.Entry("", "", tuple(number for _, number in found), UNITS[found[0][0]])
    return f"{tables.spread(entry.mean, entry.deviation, entry.unit)} ({seeds({len(found)})})"


def seeds(counts):
    """Return the numbers of seeds as text, such as "1 to 3 seeds"."""
    return f"{' to '.join(map(str, sorted(counts)))} seed{'s' * (max(counts) > 1)}"


def filled(text):
    """Return the text of a page with every marked table and number taken from its record."""
    text = MARKED.sub(
        lambda match: match[1] + "\n" + markdown(read(match[2]), match[3]) + "\n" + match[4], text
    )
    return VALUE.sub(
        lambda match: match[1] + value(read(match[2]), *match.groups()[2:5]) + match[6], text
    )


def main(folders):
    """Merge the results in folders into the records, and write the marked tables of all pages."""
    pages = {
        page: page.read_text(encoding="utf-8")
        for page in (DOCS.parent / "README.md", *DOCS.glob("*.md"))
    }
    for folder in map(Path, folders):
        columns = storage.read_csv(folder / "values.csv")
        new = list(zip(*(columns[column].tolist() for column in COLUMNS), strict=True))
        record = DOCS / "results" / f"{folder.name}.csv"
        merged = merge(read(folder.name) if record.exists() else [], new)
        storage.write_csv(
            record, {name: [line[i] for line in merged] for i, name in enumerate(COLUMNS)}
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
