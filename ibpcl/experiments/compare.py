"""Comparison of several methods on one experiment: accuracy, backward transfer, time and memory.

The runs are cells (:mod:`ibpcl.experiments.cells`): finished ones are reused, interrupted ones
continue. The table shows means over seeds.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from ibpcl.errors import UserError, nearest
from ibpcl.evaluation import figures
from ibpcl.evaluation.figures import canvas
from ibpcl.experiments import cells, findings, paired
from ibpcl.experiments.benchmarks import BENCHMARKS, Benchmark, Row
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.config import able, configure, keys, run_keys
from ibpcl.experiments.findings import Summary, gather
from ibpcl.experiments.report import Report, heading, write
from ibpcl.experiments.tables import MEGABYTES, PERCENT, POINTS, SECONDS, Table
from ibpcl.plotting import styled

# Most panels of the figure of tasks.
PANELS = 4
# Assumed number of examples per task, where it is not known.
EXAMPLES = 10000
# Keys that cannot be set in a comparison, with advice; Choice refuses further ones.
ELSEWHERE = {
    **dict.fromkeys(
        ("experiment", "dataset", "stream"), "name another `experiment`, or a TOML file with it"
    ),
    "preset": "methods use their default settings, or with `tuned` those that a search found",
}


def compare(experiment, methods=None, choice=None, progress=None, on_cell=None, workers=None):
    """Run every method with every seed on an experiment, and write the table.

    :func:`ibpcl.experiments.door.compare` calls this function. Files in the report's folder:
    ``report.html``, ``table.md``, ``table.json``, ``values.csv`` and ``curves.png``; for
    two to four methods also ``by_task.png``.

    Parameters
    ----------
    experiment : str, Path or sequence of Task
        The name of an experiment, its TOML file, or your own tasks.
    methods : sequence of str, optional
        Names of the methods; all that can do the experiment if not given.
    choice : Choice, optional
        Seeds, folder and settings; the settings come from :func:`spread`.
    progress : bool or None
        Whether to show a progress bar; None shows it on a terminal only.
    on_cell : callable, optional
        Called with each new :class:`ibpcl.experiments.cells.Measured` or
        :class:`~ibpcl.experiments.cells.Failure`.
    workers : ibpcl.experiments.sweep.Workers, optional
        Do the runs in parallel. Without them, this process does one run after another.

    Returns
    -------
    report : Report
        The tables and the folder.

    Raises
    ------
    UserError
        If the experiment, a method or a setting cannot be used.
    ibpcl.errors.TrainingError
        If no run could be trained.
    """
    choice = choice or Choice(out=Path("comparison"))
    methods = able(experiment) if methods is None else list(dict.fromkeys(methods))
    planned, rows, benchmark = _plan(experiment, methods, choice)
    name = benchmark.name
    about = (
        [str(experiment)]
        if isinstance(experiment, str | Path)
        else (experiment.place and ["--data", experiment.place])
    )

    @styled
    def publish(results, *remarks):
        summary = summarize(results, benchmark)
        report = Report(
            "compare",
            heading(f"compare: {name}", choice),
            summary._replace(notes=(*remarks, *summary.notes)),
            choice.out / name,
            results.failures,
        )
        write(
            report,
            {
                "experiment": name,
                "methods": methods,
                "seeds": choice.seeds,
                "command": about
                and ["ibpcl", "compare", *about, *replace(choice, methods=tuple(methods)).words()],
                "tuned": choice.tuned,
                "settings": choice.assignments,
            },
            results.measured,
        )
        return report

    return publish(gather(planned, choice, rows, (benchmark,), progress, on_cell, workers, publish))


def forecast(experiment, methods, choice):
    """Return the size of a comparison and the time that it still takes.

    Parameters
    ----------
    experiment : str, Path or sequence of Task
        The name of an experiment, its TOML file, or your own tasks.
    methods : sequence of str
        Names of the methods.
    choice : Choice
        Seeds, folder and settings.

    Returns
    -------
    runs : int
        Number of runs.
    done : int
        Number of runs that are finished already.
    seconds : float
        Approximate time of the others, one after another, on a machine with two cores.
    """
    planned, _, _ = _plan(experiment, list(dict.fromkeys(methods)), choice)
    done = [cells.finished(cell) is not None for cell in planned]
    return (
        len(planned),
        sum(done),
        math.fsum(
            cells.seconds(cell) for cell, there in zip(planned, done, strict=True) if not there
        ),
    )


def _plan(experiment, methods, choice):
    """Return the cells, the rows and the benchmark of a comparison; refuse experiments without
    accuracies.
    """
    if not methods:
        raise UserError(f"`methods` must name at least one of {', '.join(able(experiment))}")
    config = configure(experiment, method=methods[0])
    if config.generative:
        raise UserError(
            f"experiment {config.experiment} measures a {config.measure}; only experiments with "
            "accuracies can be compared"
        )
    custom = not isinstance(experiment, str | Path)
    examples = (
        max(len(task.x_train) for task in experiment)
        if custom
        else next(
            (b.examples for b in BENCHMARKS.values() if b.experiment == config.experiment), EXAMPLES
        )
    )
    benchmark = Benchmark(
        config.experiment,
        config.experiment,
        experiment if custom else str(experiment),
        {},
        examples,
    )
    rows = [Row(method, method.rpartition(":")[2], method) for method in methods]
    return cells.plan(rows, (benchmark,), choice), rows, benchmark


def summarize(results, benchmark):
    """Return the table of a comparison, and the curves of its mean accuracies.

    Parameters
    ----------
    results : ibpcl.experiments.findings.Results
        The finished runs.
    benchmark : Benchmark
        The tasks.

    Returns
    -------
    summary : ibpcl.experiments.findings.Summary
        A table, the differences from NPBCL or the first method, remarks, and the figures ``curves``
        and, for two to four methods, ``by_task``.
    """
    entries = []
    measure = results.first(benchmark).values["measure"]
    for row in results.rows:
        entries += [
            results.entry(row, benchmark, number, column, unit)
            for column, number, unit in (
                (f"{measure}, %", findings.final_accuracy, PERCENT),
                ("BWT, points", findings.backward_transfer, POINTS),
                ("seconds", findings.seconds, SECONDS),
                ("stored, MB", findings.stored, MEGABYTES),
            )
        ]
    ax = figures.method_comparison(
        {
            row.label: [findings.matrix(m) for m in results.of(row, benchmark)]
            for row in results.rows
        }
    )
    ax.set_ylabel(ax.get_ylabel().replace("accuracy", measure))
    table = Table(benchmark.label, tuple(entries), "method")
    compared = paired.reference(results.rows)
    return Summary(
        (
            table,
            *paired.differences(
                table, compared, f"{benchmark.label}: difference from {compared}, points"
            ),
        ),
        (
            f"{measure.capitalize()}: mean over all tasks at the end. BWT: backward transfer, the "
            "mean change on a task since it was learned, over all later tasks; below 0 is "
            "forgetting. Seconds: training and testing; the first run after installing also "
            "compiles the kernels. Stored: size of the learner after the last task.",
            *findings.epochs(results),
        ),
        {"curves": ax, **by_task(results, benchmark)},
    )


def by_task(results, benchmark):
    """Return the figure of the accuracy on each task, with one panel per method.

    Parameters
    ----------
    results : ibpcl.experiments.findings.Results
        The finished runs.
    benchmark : Benchmark
        The tasks.

    Returns
    -------
    drawn : dict of str to ndarray of matplotlib.axes.Axes
        ``by_task``, from the first seed of each method; empty unless there are two to four methods.
    """
    cells = {row.label: results.of(row, benchmark) for row in results.rows}
    firsts = {label: found[0] for label, found in cells.items() if found}
    if not 1 < len(firsts) <= PANELS:
        return {}
    matrices = {label: findings.matrix(m) for label, m in firsts.items()}
    lowest = 100 * min(np.nanmin(np.where(np.tri(len(R)), R, np.nan)) for R in matrices.values())
    axes = canvas.new_axes(2 * canvas.WIDTH, 60 * -(-len(firsts) // 2), -(-len(firsts) // 2), 2)
    panels = np.ravel(axes)
    for ax, (label, R) in zip(panels, matrices.items(), strict=False):
        names = firsts[label].values["tasks"]
        figures.accuracy_curves(R, names, ax, lowest=min(95.0, 5 * np.floor(lowest / 5)))
        ax.set_title(label, fontsize=canvas.LABEL, color=canvas.INK)
    for ax in panels[len(firsts) :]:
        ax.set_axis_off()
    return {"by_task": axes}


def spread(assignments, methods):
    """Assign each key to all methods that have it, unless the key names a method.

    ``rate`` becomes ``ewc.rate`` and ``vcl.rate``; ``ewc.rate`` stays.

    Parameters
    ----------
    assignments : dict of str to str
        Keys with values as text.
    methods : sequence of str
        Names of the methods that are compared.

    Returns
    -------
    assignments : dict of str to str
        For :class:`ibpcl.experiments.choice.Choice`.

    Raises
    ------
    UserError
        If no method has a key, a key names a method that is not compared, or a key cannot be set
        here.

    Examples
    --------
    >>> spread({"tasks": "2", "epochs": "9", "ewc.epochs": "3"}, ("naive", "ewc"))
    {'tasks': '2', 'naive.epochs': '9', 'ewc.epochs': '3'}
    """
    for given in assignments:
        key = given.rpartition(".")[2]
        if key in ELSEWHERE:
            raise UserError(f"{given} cannot be set here: {ELSEWHERE[key]}")
    spread_out = {}
    named = {key: text for key, text in assignments.items() if "." in key}
    for key, text in assignments.items():
        if key in named:
            continue
        if key in run_keys():
            spread_out[key] = text
            continue
        owners = [method for method in methods if key in keys(method)]
        if not owners:
            known = {key for method in methods for key in keys(method)}
            raise UserError(
                f"unknown key {key!r}: no method of {', '.join(methods)} has it"
                f"{nearest(key, known)}"
            )
        spread_out |= {f"{method}.{key}": text for method in owners}
    for key in named:
        method = key.rpartition(".")[0]
        if method not in methods:
            raise UserError(
                f"{key!r} names {method}, which is not compared (compared: {', '.join(methods)})"
            )
    return spread_out | named
