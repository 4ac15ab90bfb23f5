"""The command ``ibpcl runs``: list the runs of a folder, or the differences of two runs."""

import textwrap
from datetime import datetime
from pathlib import Path

from ibpcl import storage
from ibpcl.experiments import values
from ibpcl.experiments.inspection import differences, read, runs_in

WIDTH = 80
HEADER = ("folder", "experiment", "method", "seed", "result", "date", "state")


def execute(options):
    """Print the runs of a folder, or the differences of two.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl runs``.
    """
    if options.compare:
        # A folder by its path, or by its name among the runs.
        first, second = (
            read(name if Path(name).is_dir() else Path(options.folder, name))
            for name in options.compare
        )
        found = differences(first, second)
        print(
            storage.json_text({"runs": [str(first.folder), str(second.folder)], **found}, indent=2)
            if options.json
            else compared(first, second, found)
        )
        return
    runs = runs_in(options.folder)
    if options.json:
        print(storage.json_text([as_dict(run) for run in runs], indent=2))
    elif runs:
        print(aligned([HEADER, *map(line, runs)]))
    else:
        print(f"{options.folder}: no run in this folder")


def as_dict(run):
    """Return an overview of a run as plain values.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        The run.

    Returns
    -------
    overview : dict
        The result is a fraction, or nats per image.
    """
    return {
        "folder": str(run.folder),
        "experiment": run.table["experiment"],
        "method": run.table["method"],
        "seed": run.table["seed"],
        "measure": run.measure,
        "result": run.average,
        "date": date(run).isoformat(timespec="seconds"),
        "finished": run.finished,
        "state": run.state,
    }


def line(run):
    """Return the cells of a run's line in the list.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        The run.

    Returns
    -------
    cells : tuple of str
        One per column of :data:`HEADER`.
    """
    result = (
        "-"
        if run.average is None
        else (
            f"{run.average:.2f} nats"
            if run.measure == "log-likelihood"
            else f"{100 * run.average:.2f} %"
        )
    )
    return (
        run.folder.name,
        run.table["experiment"],
        run.table["method"].rpartition(":")[2],
        str(run.table["seed"]),
        result,
        f"{date(run):%Y-%m-%d %H:%M}",
        run.state,
    )


def date(run):
    """Return the time of a run's last result, in the time zone of this machine.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        The run.

    Returns
    -------
    time : datetime.datetime
        With a time zone.
    """
    return datetime.fromtimestamp(run.written).astimezone()


def compared(first, second, found):
    """Return the differences of two runs as text.

    Parameters
    ----------
    first, second : ibpcl.experiments.inspection.Contents
        The runs.
    found : dict
        From :func:`ibpcl.experiments.inspection.differences`.

    Returns
    -------
    text : str
        A table of different values, and lists of the entries that only one run has.
    """
    rows = [("", first.folder.name, second.folder.name)]
    lines = []
    for part in ("settings", "results", "circumstances"):
        both = {key: pair for key, pair in found[part].items() if None not in pair}
        rows += (
            [(f"{part}:", "", ""), *((f"  {key}", *map(shown, pair)) for key, pair in both.items())]
            if both
            else []
        )
        for side, run in enumerate((first, second)):
            only = [key for key, pair in found[part].items() if pair[1 - side] is None]
            lines += [f"{part} that only {run.folder.name} has: {', '.join(only)}"] if only else []
    lines += (
        [f"other results that differ: {', '.join(found['other_results'])}"]
        if found["other_results"]
        else []
    )
    lines += [
        f"the same {part}"
        for part, others in (("settings", ()), ("results", found["other_results"]))
        if not found[part] and not others
    ]
    return "\n".join(
        [
            *([aligned(rows)] if len(rows) > 1 else []),
            *(textwrap.fill(text, WIDTH) for text in lines),
        ]
    )


def shown(value):
    """Return a value of a configuration or a result as text.

    Parameters
    ----------
    value : object
        Text, a number, a list, a boolean or None.

    Returns
    -------
    text : str
        Numbers with six significant digits.
    """
    return (
        value
        if isinstance(value, str)
        else f"{value:.6g}"
        if isinstance(value, float)
        else values.toml(value)
    )


def aligned(rows):
    """Return rows of texts as aligned columns.

    Characters that a terminal could take for a control sequence become question marks.

    Parameters
    ----------
    rows : sequence of sequence of str
        The rows, all of one length.

    Returns
    -------
    text : str
        One line per row.
    """
    rows = [
        ["".join(letter if letter.isprintable() else "?" for letter in cell) for cell in row]
        for row in rows
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
