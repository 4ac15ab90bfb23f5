"""Write what ``ibpcl reproduce`` measured into the records of the site, and the records into the tables of its pages.

``python docs/_ext/records.py reproduction/ladder`` merges ``values.csv`` of that folder into the record
``docs/results/ladder.csv`` (a table of the same title is replaced, others stay), copies those of its pictures that a
page shows to ``docs/figures/``, with names that begin with ``ladder``, and writes every table anew that a page marks::

    <!-- table: ladder | Split MNIST: -->
    <!-- end -->

Between the marks stand the tables of ``results/ladder.csv`` whose titles begin with "Split MNIST:", side by side.
"""

import re
import shutil
import sys
from pathlib import Path

from ibpcl import storage
from ibpcl.experiments import tables

DOCS = Path(__file__).resolve().parent.parent
MARKED = re.compile(r"(<!-- table: ([\w-]+) \| (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
UNITS = {unit.name: unit for unit in reversed(vars(tables).values()) if isinstance(unit, tables.Unit)}
COLUMNS = ("table", "row", "column", "unit", "value")


def read(name):
    """Return the lines (table, row, column, unit, value) of a record."""
    columns = storage.read_csv(DOCS / "results" / f"{name}.csv")
    return list(zip(*(columns[column].tolist() for column in COLUMNS), strict=True))


def merge(old, new):
    """Return the lines of a record with those of other measurements, whose tables take the place of the old ones."""
    titles = {line[0] for line in new}
    return [line for line in old if line[0] not in titles] + list(new)


def markdown(lines, beginning):
    """Return the tables of a record whose titles have a beginning, side by side, in Markdown."""
    values = {}
    for title, row, column, unit, value in lines:
        if title.startswith(beginning):
            values.setdefault((row, column, unit), []).append(value)
    if not values:
        raise ValueError(f"records.markdown: no table begins with {beginning!r}")
    rows, columns = (list(dict.fromkeys(key[i] for key in values)) for i in range(2))
    cells = {(row, column): tables.spread(entry.mean, entry.deviation, entry.unit) for (row, column, unit), found in
             values.items() for entry in [tables.Entry(row, column, tuple(found), UNITS[unit])]}
    seeds = sorted({len(found) for found in values.values()})
    count = f"{' to '.join(map(str, seeds))} seed{'s' * (seeds[-1] > 1)}"
    corner = f"{beginning[:-1]}, {count}" if beginning.endswith(":") else count      # what stands before a colon is a name
    lines = [[corner, *columns], *([row, *(cells.get((row, column), "") for column in columns)] for row in rows)]
    return f"{tables.markdown_lines(lines)}\n"


def filled(text):
    """Return the text of a page, every marked table as its record has it."""
    return MARKED.sub(lambda match: match[1] + "\n" + markdown(read(match[2]), match[3]) + "\n" + match[4], text)


def main(folders):
    """Take over what ``ibpcl reproduce`` wrote to folders, and write the pages' tables anew."""
    pages = {page: page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")}
    for folder in map(Path, folders):
        columns = storage.read_csv(folder / "values.csv")
        new = list(zip(*(columns[column].tolist() for column in COLUMNS), strict=True))
        record = DOCS / "results" / f"{folder.name}.csv"
        merged = merge(read(folder.name) if record.exists() else [], new)
        storage.write_csv(record, {name: [line[i] for line in merged] for i, name in enumerate(COLUMNS)})
        for picture in folder.glob("*.png"):
            name = picture.name if picture.stem == folder.name else f"{folder.name}-{picture.name}"
            if any(f"(figures/{name})" in text for text in pages.values()):
                shutil.copyfile(picture, DOCS / "figures" / name)
    for page, text in pages.items():
        page.write_text(filled(text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
