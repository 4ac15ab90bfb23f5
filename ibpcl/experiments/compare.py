"""Several methods on one experiment: accuracy, backward transfer, time and memory, means over
seeds.

The runs are cells (:mod:`ibpcl.experiments.cells`): resumable, and used again.
"""

import math
from dataclasses import replace
from pathlib import Path

from ibpcl.errors import UserError, nearest
from ibpcl.evaluation import figures
from ibpcl.experiments import cells, findings
from ibpcl.experiments.benchmarks import BENCHMARKS, Benchmark, Row
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.config import able, configure, keys, run_keys
from ibpcl.experiments.findings import Summary, gather
from ibpcl.experiments.report import Report, heading, write
from ibpcl.experiments.tables import MEGABYTES, PERCENT, POINTS, SECONDS, Table
from ibpcl.plotting import styled

# per task, where the number is not known
EXAMPLES = 10000
# Keys of the run that a comparison does not set, with what the user can do instead; Choice refuses
# the others.
ELSEWHERE = {
    **dict.fromkeys(
        ("experiment", "dataset", "stream"), "name another `experiment`, or a TOML file with it"
    ),
    "preset": "methods have their default settings, or with `tuned` those that a search found",
}


def compare(experiment, methods=None, choice=None, progress=None, on_cell=None, workers=None):
    """Run every method with every seed on an experiment, as far as that is not done, and write the
    table.

    What :func:`ibpcl.experiments.door.compare` does, for a
    :class:`~ibpcl.experiments.choice.Choice` whose settings come from :func:`spread`; ``progress``,
    ``on_cell`` and ``workers`` are those of :func:`ibpcl.experiments.cells.measure`.
    ``report.html``, ``table.md``, ``table.json``, ``values.csv`` and ``curves.png`` are in the
    report's ``folder``.
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
    def publish(found, *remarks):
        summary = summarize(found, benchmark)
        report = Report(
            "compare",
            heading(f"compare: {name}", choice),
            summary._replace(notes=(*remarks, *summary.notes)),
            choice.out / name,
            found.failures,
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
            found.measured,
        )
        return report

    return publish(gather(planned, choice, rows, (benchmark,), progress, on_cell, workers, publish))


def forecast(experiment, methods, choice):
    """Return how many runs a comparison has, how many are done, and about how many seconds the
    others take.
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
    """Return the cells, rows and benchmark of a comparison; refuse what is no experiment, or has no
    accuracies.
    """
    if not methods:
        raise UserError(
            f"no method to compare: name some (can do it: {', '.join(able(experiment))})"
        )
    config = configure(experiment, method=methods[0])
    if config.generative:
        raise UserError(
            f"experiment {config.experiment} measures a {config.measure}; what is compared is "
            "accuracy"
        )
    own = not isinstance(experiment, str | Path)
    examples = (
        max(len(task.x_train) for task in experiment)
        if own
        else next(
            (b.examples for b in BENCHMARKS.values() if b.experiment == config.experiment), EXAMPLES
        )
    )
    benchmark = Benchmark(
        config.experiment, config.experiment, experiment if own else str(experiment), {}, examples
    )
    rows = [Row(method, method.rpartition(":")[2], method) for method in methods]
    return cells.plan(rows, (benchmark,), choice), rows, benchmark


def summarize(found, benchmark):
    """Make the table, and the curves of the mean accuracy on the tasks seen so far."""
    entries = []
    measure = found.first(benchmark).values["measure"]
    for row in found.rows:
        entries += [
            found.entry(row, benchmark, number, column, unit)
            for column, number, unit in (
                (f"{measure}, %", findings.final_accuracy, PERCENT),
                ("BWT, points", findings.backward_transfer, POINTS),
                ("seconds", findings.seconds, SECONDS),
                ("stored, MB", findings.stored, MEGABYTES),
            )
        ]
    ax = figures.method_comparison(
        {row.label: [findings.matrix(m) for m in found.of(row, benchmark)] for row in found.rows}
    )
    ax.set_ylabel(ax.get_ylabel().replace("accuracy", measure))
    return Summary(
        (Table(benchmark.label, tuple(entries), "method"),),
        (
            f"{measure.capitalize()}: mean over all tasks at the end. BWT: mean change of a task "
            "since it was learned, over all later times; below 0 is forgetting. Seconds: "
            "training and testing, and in the first run after installing the compilation of "
            "kernels. Stored: what is kept after the last task.",
            *findings.epochs(found),
        ),
        {"curves": ax},
    )


def spread(assignments, methods):
    """Give each key to all methods that have it, unless one is named: ``rate`` becomes
    ``ewc.rate``, ``vcl.rate``.

    A UserError if none of the methods has the key, or it is not for the user to set.

    >>> spread({"tasks": "2", "epochs": "9", "ewc.epochs": "3"}, ("naive", "ewc"))
    {'tasks': '2', 'naive.epochs': '9', 'ewc.epochs': '3'}
    """
    for given in assignments:
        key = given.rpartition(".")[2]
        if key in ELSEWHERE:
            raise UserError(f"{given} is not a setting here: {ELSEWHERE[key]}")
    found = {}
    named = {key: text for key, text in assignments.items() if "." in key}
    for key, text in assignments.items():
        if key in named:
            continue
        if key in run_keys():
            found[key] = text
            continue
        owners = [method for method in methods if key in keys(method)]
        if not owners:
            known = {key for method in methods for key in keys(method)}
            raise UserError(
                f"unknown key {key!r}: none of {', '.join(methods)} has it{nearest(key, known)}"
            )
        found |= {f"{method}.{key}": text for method in owners}
    for key in named:
        method = key.rpartition(".")[0]
        if method not in methods:
            raise UserError(
                f"{key!r} is for {method}, which is not compared (are: {', '.join(methods)})"
            )
    return found | named
