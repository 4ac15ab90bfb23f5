"""Draw figures of the site again from the values in its records, without any run.

``python docs/_ext/redraw.py`` writes those figures of ``docs/figures`` of which ``docs/results``
has every value, with today's names, colours and sizes.  The other figures show what no record has,
such as the accuracies between the first and the last task, or single images; ``ibpcl reproduce``
draws these.
"""

import re
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import records

from ibpcl.evaluation.figures import canvas
from ibpcl.experiments.tables import Entry, Table
from ibpcl.paper.numbers import accuracy
from ibpcl.paper.reproduce import pictures, probe, scenarios, variants

FIGURES = records.DOCS / "figures"


def tables_of(name, beginning):
    """Return the tables of a record whose titles begin with a text."""
    values = {}
    for title, row, column, unit, value in records.read(name):
        if title.startswith(beginning):
            values.setdefault(title, {}).setdefault((row, column, unit), []).append(value)
    return [
        Table(
            title,
            tuple(
                Entry(row, column, tuple(numbers), records.UNITS[unit])
                for (row, column, unit), numbers in cells.items()
            ),
        )
        for title, cells in values.items()
    ]


def scenarios_of_digits(record):
    """Draw the final accuracy of each method in the scenarios of Split MNIST."""
    tables = tables_of(record, "Split MNIST:")
    return scenarios.draw(tables, len({entry.row for entry in tables[0].entries}))


def probe_over_tasks():
    """Draw the transfer to further tasks of Split MNIST after each number of learned tasks."""
    (table,) = tables_of("probe-over-tasks", f"Split MNIST: transfer to further tasks, {FEW}")
    stages = sorted({int(entry.column.split()[0]) for entry in table.entries})
    (ax,) = pictures.panels(1)
    probe.draw(table.entries, stages, ax, "Split MNIST")
    pictures.one_legend([ax])
    return [ax]


def ladder():
    """Draw the accuracy of each step of the ladder beside the paper's, on two data sets."""
    found = {}
    for label, stream in (("Split MNIST", "split-mnist"), ("notMNIST", "split-notmnist")):
        (table,) = tables_of("ladder", f"{label}: accuracy")
        printed = {"paper": accuracy("npbcl", stream)}
        found[label] = [
            entry._replace(printed=printed.get(entry.row))
            for entry in table.entries
            if entry.column == "accuracy"
        ]
    axes = pictures.panels(len(found), height=22 + 6 * len(found["notMNIST"]))
    for ax, (label, entries) in zip(axes, found.items(), strict=True):
        pictures.compare(entries, ax, label)
    pictures.one_legend(axes)
    return axes


FEW = f"{probe.EXAMPLES[0]} images"


def over_training(data):
    """Draw the accuracies of a data set over the number of epochs per task."""
    found = {}
    for beginning, when in (("Final mean", "at the end"), ("Accuracy as learned", "as learned")):
        for table in tables_of("over-training", beginning):
            for entry in table.entries:
                row = re.fullmatch(r"(\w+), (\d+) epochs", entry.row)
                if row and entry.column == data:
                    found.setdefault((row[1], when), {})[int(row[2])] = entry.values
    numbers = sorted({number for line in found.values() for number in line})
    lines = {
        f"{label}, {when}": np.array([line[number] for number in numbers]).T
        for (label, when), line in sorted(found.items(), key=lambda item: item[0][0] != "ours")
    }
    (ax,) = pictures.panels(1, width=110)
    variants.draw_over_epochs(lines, ax, numbers, data)
    pictures.one_legend([ax])
    return [ax]


DRAWN = {
    "ladder": ladder,
    "scenarios": lambda: scenarios_of_digits("scenarios"),
    "scenarios-tuned": lambda: scenarios_of_digits("scenarios-tuned"),
    "probe-over-tasks": probe_over_tasks,
    "over-training-over_training": lambda: over_training("Split MNIST"),
    "over-training-permuted": lambda: over_training("Permuted MNIST"),
}


def main():
    """Write all figures that the records suffice for."""
    for name, drawn in DRAWN.items():
        path = FIGURES / f"{name}.png"
        canvas.save(drawn()[0], path)
        print(path)


if __name__ == "__main__":
    main()
