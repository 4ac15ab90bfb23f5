"""Reports of tables: text, Markdown, JSON, CSV and figures from a finished comparison."""

import re
import textwrap
import warnings
from pathlib import Path
from typing import NamedTuple

import ibpcl
from ibpcl import storage
from ibpcl.evaluation import figures
from ibpcl.experiments import page, paired, program, tables

# Columns of values.csv, which has one line per seed of an entry. The last three describe the
# program and the machine of the runs with that seed.
VALUES = ("table", "row", "column", "unit", "value", "seed", "commit", "processor", "versions")


class Report(NamedTuple):
    """The report of a table of runs; ``print(report)`` shows it.

    Attributes
    ----------
    target : str
        Name of the comparison, or of the table of the paper.
    heading : str
        Title, and the user's choices in a line.
    summary : ibpcl.experiments.findings.Summary
        Tables, remarks and figures.
    folder : Path
        The folder of its files.
    failures : tuple of ibpcl.experiments.cells.Failure
        The runs whose training failed.
    """

    target: str
    heading: str
    summary: object
    folder: Path
    failures: tuple

    def __str__(self):
        """Return the tables as for a terminal."""
        return text(self)


def heading(title, choice, *first):
    """Return the first lines of a report: its title, then the user's choices.

    Parameters
    ----------
    title : str
        The title.
    choice : Choice
        The user's choices.
    *first : str
        Texts to put before the other choices.

    Returns
    -------
    heading : str
        Two lines.
    """
    chosen = [
        *first,
        *(["with the settings of a search, if one was made"] if choice.tuned else []),
        f"{choice.seeds} seed{'s' if choice.seeds > 1 else ''}",
        *(f"{key} = {value}" for key, value in choice.assignments.items()),
    ]
    return f"{title}\n{', '.join(chosen)}; ibpcl {ibpcl.__version__}"


def text(report):
    """Return a report as text for a terminal.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    text : str
        Heading, tables and remarks, within 80 columns where possible.
    """
    lines = "\n".join(textwrap.fill(line, tables.WIDTH) for line in report.heading.split("\n"))
    remarks = [textwrap.fill(remark, tables.WIDTH) for remark in remarks_of(report)]
    return "\n\n".join([lines, *map(tables.text, report.summary.tables), *remarks])


def json_of(report):
    """Return the tables of a report as JSON.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    text : str
        A JSON object.
    """
    return storage.json_text({"folder": str(report.folder), **_tables(report)}, indent=2)


def _tables(report):
    return {
        "ibpcl": ibpcl.__version__,
        "tables": [table.to_dict() for table in report.summary.tables],
        "notes": _notes(report),
        "failures": [
            {"cell": str(failure.cell), "reason": failure.reason} for failure in report.failures
        ],
    }


def remarks_of(report):
    """Return the remarks of a report, and one for each run that is missing from it.

    Parameters
    ----------
    report : Report
        The report.

    Returns
    -------
    remarks : list of str
        Sentences.
    """
    failed = [f"Not trained: {failure.cell}: {failure.reason}" for failure in report.failures]
    return [*_notes(report), *failed]


def _notes(report):
    """Return the remarks of a summary, and those on its number of seeds."""
    return [*report.summary.notes, *paired.remarks(report.summary.tables)]


def write(report, facts, measured):
    """Write the files of a report: Markdown, JSON, CSV (one line per value), figures and HTML.

    A failure to draw a figure becomes a warning.

    Parameters
    ----------
    report : Report
        The report.
    facts : dict
        Entries that ``table.json`` begins with, such as the name and the command.
    measured : sequence of ibpcl.experiments.cells.Measured
        The runs behind the tables.
    """
    report.folder.mkdir(parents=True, exist_ok=True)
    pictures = [f"{name}.png" for name in report.summary.pictures]
    described = [_run(m, report.folder) for m in measured]
    storage.write_json(
        report.folder / "table.json",
        {**facts, **_tables(report), "pictures": pictures, "cells": described},
    )
    lines = []
    for table in report.summary.tables:
        for entry in () if table.derived else table.entries:
            runs = _runs(table.title, entry, measured)
            makers = _makers(runs)
            place = (table.title, entry.row, entry.column, entry.unit.name)
            lines += [
                (*place, value, seed, *makers.get(seed, makers[None]))
                for value, seed in zip(entry.values, _seeds(entry, runs), strict=True)
            ]
    storage.write_csv(
        report.folder / "values.csv",
        {name: [line[i] for line in lines] for i, name in enumerate(VALUES)},
    )
    seconds = {run["folder"]: run["seconds"] for run in described}  # rows may share a run
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


def _seeds(entry, measured):
    """Return the seed of each value of an entry; None where it is not one value per seed."""
    if entry.seeds:
        return entry.seeds
    seeds = sorted({m.cell.seed for m in measured})
    count = len(entry.values)
    return seeds if len(seeds) == count else [None] * count


def _runs(title, entry, measured):
    """Return the runs of the row and of the benchmark that the words of an entry name.

    Words that name no row, or no benchmark, leave all of them. A difference of two rows does, too.
    """
    if not entry.unit.paired:
        measured = _named(measured, lambda m: m.cell.row.label, (entry.row, title))
    places = (entry.column, entry.row, title)
    return _named(measured, lambda m: m.cell.benchmark.label, places)


def _named(measured, name, texts):
    """Return the runs with the longest name that occurs in the first text that has any."""
    names = {name(m) for m in measured}
    for text in texts:
        found = [each for each in names if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text)]
        if found:
            return [m for m in measured if name(m) == max(found, key=len)]
    return measured


def _makers(measured):
    """Return commit, processor and versions of the runs with each seed, and of all runs for None.

    Runs that were made by several programs are named with all of them.
    """
    runs = {None: measured}
    for m in measured:
        runs.setdefault(m.cell.seed, []).append(m)
    return {
        seed: tuple(" or ".join(dict.fromkeys(map(text, several))) for text in MAKER)
        for seed, several in runs.items()
    }


def _commit(m):
    return m.values["versions"].get("commit") or "unknown"


def _processor(m):
    return m.values.get("processor") or "unknown"


def _versions(m):
    return program.described(m.values["versions"])


MAKER = (_commit, _processor, _versions)


def _show(report):
    """Write the figures and the HTML page; a failure becomes a warning."""
    try:
        for name, axes in report.summary.pictures.items():
            figures.save(axes, report.folder / f"{name}.png")
    # Any error of Matplotlib, its fonts or the disk.
    except Exception as error:
        warnings.warn(
            f"the figures could not be drawn ({type(error).__name__}: {error}); the tables in "
            f"{report.folder} are complete",
            stacklevel=3,
        )
    page.write_if_possible(report.folder)


def duration(seconds):
    """Return a time in hours and minutes, or in minutes and seconds if it is below an hour.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    text : str
        Such as ``1 h 2 min``.

    Examples
    --------
    >>> duration(3720), duration(61)
    ('1 h 2 min', '1 min 1 s')
    """
    hours, minutes = divmod(round(seconds) // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {round(seconds) % 60} s"


def _run(m, folder):
    """Return the entry of a run in ``table.json``: folder, time, result and settings."""
    table = m.cell.config.table
    # Relative to the table, so that the folder can be moved.
    path = Path("..", "cells", m.cell.folder.name)
    return {
        "row": m.cell.row.key,
        "benchmark": m.cell.benchmark.name,
        "seed": m.cell.seed,
        "folder": path.as_posix(),
        "seconds": m.values["seconds"]["train"] + m.values["seconds"]["test"],
        **{
            key: m.values[f"average_{key}"]
            for key in ("accuracy", "log_likelihood")
            if f"average_{key}" in m.values
        },
        "preset": table.get("preset", "default"),
        "versions": m.values["versions"],
        "processor": m.values.get("processor"),
        "settings": table,
    }
