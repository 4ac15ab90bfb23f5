"""A table that has been measured, written for people and for programs."""

import textwrap
import warnings
from pathlib import Path
from typing import NamedTuple

import ibpcl
from ibpcl import storage
from ibpcl.evaluation import figures
from ibpcl.experiments import page, tables

# of values.csv; the values of an entry by seed
VALUES = ("table", "row", "column", "unit", "value")


class Report(NamedTuple):
    """What the runs of a table gave, and where it was written."""

    target: str
    heading: str
    summary: object
    folder: Path
    failures: tuple

    def __str__(self):
        """Return the tables as for a terminal."""
        return text(self)


def heading(title, choice, *first):
    """Return the first lines of a report: its title, then what was chosen, beginning with
    ``first``.
    """
    chosen = [
        *first,
        *["tuned where a search was made"] * choice.tuned,
        f"{choice.seeds} seed{'s' * (choice.seeds > 1)}",
        *(f"{key} = {value}" for key, value in choice.assignments.items()),
    ]
    return f"{title}\n{', '.join(chosen)}; ibpcl {ibpcl.__version__}"


def text(report):
    """Return a report for a terminal."""
    lines = "\n".join(textwrap.fill(line, tables.WIDTH) for line in report.heading.split("\n"))
    remarks = [textwrap.fill(remark, tables.WIDTH) for remark in remarks_of(report)]
    return "\n\n".join([lines, *map(tables.text, report.summary.tables), *remarks])


def json_of(report):
    """Return the tables of a report as JSON."""
    return storage.json_text({"folder": str(report.folder), **_tables(report)}, indent=2)


def _tables(report):
    return {
        "ibpcl": ibpcl.__version__,
        "tables": [table.to_dict() for table in report.summary.tables],
        "notes": list(report.summary.notes),
        "failures": [
            {"cell": str(failure.cell), "reason": failure.reason} for failure in report.failures
        ],
    }


def remarks_of(report):
    """Return the notes of a report, and which runs are missing from it."""
    failed = [f"Not trained: {failure.cell}: {failure.reason}" for failure in report.failures]
    return [*report.summary.notes, *failed]


def write(report, facts, measured):
    """Write a report's tables as Markdown, JSON and CSV (a line per value), its pictures, and its
    page.

    ``facts`` stand first in ``table.json``; ``measured`` are the runs behind the tables.
    """
    report.folder.mkdir(parents=True, exist_ok=True)
    pictures = [f"{name}.png" for name in report.summary.pictures]
    runs = [_run(m, report.folder) for m in measured]
    storage.write_json(
        report.folder / "table.json",
        {**facts, **_tables(report), "pictures": pictures, "cells": runs},
    )
    lines = [
        (table.title, entry.row, entry.column, entry.unit.name, value)
        for table in report.summary.tables
        for entry in table.entries
        for value in entry.values
    ]
    storage.write_csv(
        report.folder / "values.csv",
        {name: [line[i] for line in lines] for i, name in enumerate(VALUES)},
    )
    seconds = {run["folder"]: run["seconds"] for run in runs}  # rows may share a run
    remarks = [
        *remarks_of(report),
        f"{len(seconds)} runs, {duration(sum(seconds.values()))} in all; the longest took "
        f"{duration(max(seconds.values()))}. `table.json` names the folder, the time and the "
        "settings of each.",
    ]
    images = [f"![{picture.removesuffix('.png')}]({picture})" for picture in pictures]
    storage.write_text(
        report.folder / "table.md",
        "\n\n".join(
            [f"# {report.heading}", *map(tables.markdown, report.summary.tables), *remarks, *images]
        )
        + "\n",
    )
    _show(report)


def _show(report):
    """Write the pictures and the page of a table; the table is written already, so a failure is a
    warning.
    """
    try:
        for name, axes in report.summary.pictures.items():
            figures.save(axes, report.folder / f"{name}.png")
    # Matplotlib, its fonts, or the disk: anything
    except Exception as error:
        warnings.warn(
            f"the figures could not be drawn ({type(error).__name__}: {error}); the tables in "
            f"{report.folder} are complete",
            stacklevel=3,
        )
    page.write_if_possible(report.folder)


def duration(seconds):
    """Return a time in hours and minutes, or in minutes and seconds if it is shorter than an hour.

    >>> duration(3720), duration(61)
    ('1 h 2 min', '1 min 1 s')
    """
    hours, minutes = divmod(round(seconds) // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {round(seconds) % 60} s"


def _run(m, folder):
    """Return what stands behind a number: a run, where it is, how long it took, with which
    settings.
    """
    table = m.cell.config.table
    # from the table, so that the folder can be moved
    where = Path("..", "cells", m.cell.folder.name)
    return {
        "row": m.cell.row.key,
        "benchmark": m.cell.benchmark.name,
        "seed": m.cell.seed,
        "folder": where.as_posix(),
        "seconds": m.values["seconds"]["train"] + m.values["seconds"]["test"],
        **{
            key: m.values[f"average_{key}"]
            for key in ("accuracy", "log_likelihood")
            if f"average_{key}" in m.values
        },
        "preset": table.get("preset", "default"),
        "versions": m.values["versions"],
        "settings": table,
    }
