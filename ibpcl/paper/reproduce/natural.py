"""Natural gradients beside Adam: accuracy against training time, for three lengths of training."""

import numpy as np

from ibpcl.experiments import findings
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import PERCENT, POINTS, SECONDS, Table
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import FOUR, OURS, target

EPOCHS = (1, 5, 15)
# Without the maximum-likelihood fit, which is Adam in all of them.  VON is less stable, so its
# precisions take smaller steps.
OPTIMIZERS = {
    "Adam": ("vcl", {"likelihood_epochs": 0}),
    "IVON": ("ivon", {}),
    "VON": ("ivon", {"rule": "von", "rate": 0.005, "curvature_rate": 0.002}),
}


def rows(quick):
    """Return a row per optimizer and number of epochs, and ours.

    Parameters
    ----------
    quick : bool
        Not used.

    Returns
    -------
    rows : list of ibpcl.experiments.benchmarks.Row
    """
    of_vcl = [
        Row(
            f"{name.lower()}-{epochs}",
            f"{name}, {epochs} epochs" if epochs > 1 else f"{name}, 1 epoch",
            method,
            {**settings, "epochs": epochs},
        )
        for name, (method, settings) in OPTIMIZERS.items()
        for epochs in EPOCHS
    ]
    return [*of_vcl, OURS]


COLUMNS = (
    ("accuracy", findings.final_accuracy, PERCENT),
    ("transfer", findings.backward_transfer, POINTS),
    ("training", measures.train_seconds, SECONDS),
)


def against_time(ax, name, points):
    """Draw a line through the means of an optimizer's rows, and a point for each seed.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes of one data set.
    name : str
        Name of the optimizer, for the legend.
    points : list of list of (float, float)
        For each row, from few epochs to many, the training time in seconds and the final accuracy
        in percent of each seed.
    """
    (line,) = ax.plot(*np.transpose([np.mean(of_row, axis=0) for of_row in points]), label=name)
    ax.plot(*np.transpose(np.concatenate(points)), "o", ms=3, color=line.get_color())


@target(FOUR, rows)
def natural_gradients(results):
    """Compare optimizers of one objective by the accuracy that they reach in a given time."""
    tables = []
    axes = pictures.panels(max(1, len(results.benchmarks)), height=60)
    for ax, b in zip(np.ravel(axes), results.benchmarks, strict=False):
        entries = [
            results.entry(row, b, number, column, unit)
            for row in results.rows_on(b)
            for column, number, unit in COLUMNS
        ]
        tables.append(Table(f"{b.label}: optimizers", tuple(entries)))
        for name in OPTIMIZERS:
            points = [
                [(measures.train_seconds(m), findings.final_accuracy(m)) for m in cells]
                for row in results.rows_on(b)
                if row.label.startswith(f"{name},") and (cells := results.of(row, b))
            ]
            if points:
                against_time(ax, name, points)
        ax.set(xlabel="training time (s)", ylabel="final accuracy (%)", title=b.label)
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            "All rows but NPBCL maximize the objective of VCL. The time is that of all tasks, and "
            "depends on the machine and its load.",
        ),
        {"natural-gradients": axes},
    )
