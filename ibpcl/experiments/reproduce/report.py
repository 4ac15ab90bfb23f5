"""One target from beginning to end: its cells are run, and what they gave is written."""

import textwrap
from pathlib import Path
from typing import NamedTuple

import ibpcl
from ibpcl import storage
from ibpcl.errors import TrainingError, UserError
from ibpcl.evaluation import figures
from ibpcl.experiments.config import as_table, nearest
from ibpcl.experiments.reproduce import (
    cells,
    results,
    tables,
    target_accuracy,
    target_domain,
    target_generative,
    target_structure,
    target_variants,
)
from ibpcl.experiments.reproduce.benchmarks import benchmark
from ibpcl.experiments.reproduce.names import TARGETS
from ibpcl.experiments.reproduce.results import Results
from ibpcl.experiments.reproduce.rows import select

KINDS = {
    "accuracy": target_accuracy.Accuracy, "metrics": target_accuracy.Metrics, "curves": target_accuracy.Curves,
    "forgetting": target_accuracy.Forgetting, "domain": target_domain.Domain, "masks": target_structure.Masks,
    "sharing": target_structure.Sharing, "capacity": target_structure.Capacity, "expansion": target_variants.Expansion,
    "over-training": target_variants.OverTraining, "shared-mask": target_variants.SharedMask,
    "mask-kl": target_variants.MaskKl, "likelihood": target_generative.Likelihood, "knn": target_generative.Knn,
    "samples": target_generative.Samples, "tsne": target_generative.Tsne,
}
VALUES = ("table", "row", "column", "unit", "value")         # of values.csv; the values of an entry by seed
QUICK_NOTE = "QUICK LOOK: small data, few samples; the order of the methods at most, not their numbers."


class Report(NamedTuple):
    """What a target gave, and where it was written."""

    target: str
    heading: str
    summary: object
    folder: Path
    failures: tuple


def reproduce(target, choice, progress=None, on_cell=None):
    """Run the cells of a target that are missing, and write its table and pictures.

    Parameters
    ----------
    target : str
        A name of :data:`ibpcl.experiments.reproduce.names.TARGETS`.
    choice : ibpcl.experiments.reproduce.choice.Choice
        Seeds, settings, data sets, and the folder.
    progress, on_cell
        As in :func:`ibpcl.experiments.reproduce.cells.measure`.

    Returns
    -------
    report : Report
        ``table.md``, ``table.json``, ``values.csv`` and the pictures are in its ``folder``.

    Raises
    ------
    UserError
        If there is no such target, row, data set or key, or data are missing.
    TrainingError
        If no cell could be trained.
    """
    if target not in KINDS:
        raise UserError(f"unknown target {target!r}{nearest(target, TARGETS)} (known: {', '.join(TARGETS)})")
    kind = KINDS[target]
    rows = select(kind.rows(choice.quick), choice.methods)
    if not rows:
        raise UserError("--methods names no row")
    choice.check_used(rows)
    chosen = (benchmark(name, getattr(kind, "family", "task")) for name in choice.datasets or kind.benchmarks)
    benchmarks = list({b.name: b for b in chosen}.values())
    planned = cells.plan(rows, benchmarks, choice)
    left_out = [cell for cell in planned if choice.methods is None and cells.hoards(cell)]
    measured, failures = cells.measure([cell for cell in planned if cell not in left_out], progress, on_cell)
    if not measured:
        raise TrainingError(f"no cell of {target} could be trained; the first: {failures[0].reason}")
    there = {m.cell.benchmark.name for m in measured}
    found = Results(choice, tuple(row for row in rows if any(m.cell.row == row for m in measured)),
                    tuple(b for b in benchmarks if b.name in there), tuple(measured))
    summary = kind.summarize(found)
    summary = summary._replace(notes=(*summary.notes, *results.epochs(found), *_not_run(left_out)))
    report = Report(target, _heading(target, choice), summary,
                    choice.out / (f"{target}-quick" if choice.quick else target), tuple(failures))
    write(report, {"target": target, "what": TARGETS[target], "quick": choice.quick,
                   "preset": choice.preset or "default", "tuned": choice.tuned, "seeds": choice.seeds,
                   "settings": choice.assignments}, measured)
    return report


def _not_run(left_out):
    """Return a remark for each row that was not run because of the data that it keeps."""
    return [f"{row}, {label}: not run, for it keeps all training data, gigabytes; --methods with its name runs it."
            for row, label in dict.fromkeys((cell.row.label, cell.benchmark.label) for cell in left_out)]


def text(report):
    """Return a report for a terminal."""
    heading = "\n".join(textwrap.fill(line, tables.WIDTH) for line in report.heading.split("\n"))
    remarks = [textwrap.fill(remark, tables.WIDTH) for remark in _remarks(report)]
    return "\n\n".join([heading, *map(tables.text, report.summary.tables), *remarks])


def _heading(target, choice):
    chosen = [f"preset {choice.preset or 'default'}", *["tuned where a search was made"] * choice.tuned,
              f"{choice.seeds} seed{'s' * (choice.seeds > 1)}",
              *(f"{key} = {value}" for key, value in choice.assignments.items())]
    heading = f"{target}: {TARGETS[target]}\n{', '.join(chosen)}; ibpcl {ibpcl.__version__}"
    return f"{QUICK_NOTE}\n\n{heading}" if choice.quick else heading


def _remarks(report):
    failed = [f"Not trained: {failure.cell}: {failure.reason}" for failure in report.failures]
    return [*report.summary.notes, *failed]


def write(report, facts, measured):
    """Write a report's tables as Markdown, JSON and CSV (a line a value), and its pictures, to its folder.

    Parameters
    ----------
    report : Report
    facts : dict
        What stands first in ``table.json``.
    measured : sequence of ibpcl.experiments.reproduce.cells.Measured
        The runs behind the tables.
    """
    report.folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for name, axes in report.summary.pictures.items():
        pictures.append(f"{name}.png")
        figures.save(axes, report.folder / pictures[-1])
    runs = [_run(m, report.folder) for m in measured]
    storage.write_json(report.folder / "table.json", {
        **facts, "ibpcl": ibpcl.__version__, "tables": [table.to_dict() for table in report.summary.tables],
        "notes": list(report.summary.notes), "pictures": pictures, "cells": runs,
        "failures": [{"cell": str(failure.cell), "reason": failure.reason} for failure in report.failures]})
    lines = [(table.title, entry.row, entry.column, entry.unit.name, value) for table in report.summary.tables
             for entry in table.entries for value in entry.values]
    storage.write_csv(report.folder / "values.csv",
                      {name: [line[i] for line in lines] for i, name in enumerate(VALUES)})
    seconds = {run["folder"]: run["seconds"] for run in runs}          # rows may share a run
    remarks = [*_remarks(report), f"{len(seconds)} runs, {_time(sum(seconds.values()))} in all; the longest took "
               f"{_time(max(seconds.values()))}. `table.json` names the folder, the time and the settings of each."]
    images = [f"![{picture.removesuffix('.png')}]({picture})" for picture in pictures]
    storage.write_text(report.folder / "table.md", "\n\n".join(
        [f"# {report.heading}", *map(tables.markdown, report.summary.tables), *remarks, *images]) + "\n")


def _time(seconds):
    """Return a time in hours and minutes, or in minutes and seconds if it is shorter than an hour."""
    hours, minutes = divmod(round(seconds) // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {round(seconds) % 60} s"


def _run(m, folder):
    """Return what stands behind a number: a run, where it is, how long it took, with which settings."""
    table = as_table(m.cell.config)
    where = Path("..", "cells", m.cell.folder.name)          # from the table, so that the folder can be moved
    return {"row": m.cell.row.key, "benchmark": m.cell.benchmark.name, "seed": m.cell.seed, "folder": where.as_posix(),
            "seconds": m.values["seconds"]["train"] + m.values["seconds"]["test"],
            **{key: m.values[f"average_{key}"] for key in ("accuracy", "log_likelihood")
               if f"average_{key}" in m.values}, "preset": table.get("preset", "default"),
            "versions": m.values["versions"], "settings": table}
