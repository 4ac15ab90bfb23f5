"""Sections of a report, made from the contents of run folders: sentences, tables and commands, as
data.
"""

import json
import re

import numpy as np

from ibpcl import shell
from ibpcl.evaluation.figures.training import weighted
from ibpcl.experiments import values
from ibpcl.experiments.blocks import Cell, Code, Details, Paragraph, Section, Table, Tiles
from ibpcl.experiments.inspection import at_hand, changed, known_keys
from ibpcl.experiments.result import covered
from ibpcl.methods import ABOUT, method

MEASURES = {"accuracy": "accuracy", "R^2": "R²", "log-likelihood": "log-likelihood"}
# Upper limits for a table; a larger one would fill the page.
MOST_TASKS = 60
MOST_RUNS = 800
# Strength of the colour of the lowest value, in percent.
PALEST = 12
# Keys that identify a run, as opposed to its settings.
WHICH = ("experiment", "dataset", "stream", "method", "seed", "data_dir")


def who(name):
    """Return one sentence on the method of a run.

    Parameters
    ----------
    name : str
        Name of the method, or ``package.module:Class``.

    Returns
    -------
    sentence : str
        Its summary and its paper, if the method is known here.
    """
    if not at_hand(name):
        return f"Method {name}."
    bare = name.removeprefix("vae_")
    paper = ABOUT[bare].paper if bare in ABOUT else ""
    return f"{method(name).summary} {paper}{'.' * bool(paper)}"


def repeated(words):
    """Return the command that repeats a run or a comparison, as blocks.

    Parameters
    ----------
    words : list of str
        The words of the command; empty if the tasks came from Python.

    Returns
    -------
    blocks : list of Paragraph and Code
        The command can break before its options.
    """
    if not words:
        return [
            Paragraph(
                "The tasks came from Python, so no command repeats this; ibpcl.run or "
                "ibpcl.compare with the same tasks does."
            )
        ]
    parts = re.split(r" (?=--)", shell.command_line(words))
    return [Paragraph("To repeat it:"), Code(tuple(parts))]


def written(run, value, signed=False):
    """Return a value of a run's matrix, or a change of it, as text.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        The run.
    value : float or None
        A fraction or nats.
    signed : bool
        Whether it is a change.

    Returns
    -------
    text : str
        In percent, points or nats; a dash for a missing value.
    """
    if value is None or np.isnan(value):
        return "-"
    if run.measure == "log-likelihood":
        return f"{value:{'+' * signed}.2f}\N{NO-BREAK SPACE}nats"
    return f"{100 * value:+.2f}\N{NO-BREAK SPACE}points" if signed else percent(value, 2)


def percent(share, places=1):
    """Return a share as a percentage.

    Parameters
    ----------
    share : float
        A fraction.
    places : int
        Number of decimal places.

    Returns
    -------
    text : str
        Such as "97.1 %", with a no-break space.
    """
    return f"{100 * share:.{places}f}\N{NO-BREAK SPACE}%"


def tiles(run):
    """Return the most important numbers of a run.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        The run, finished or not.

    Returns
    -------
    tiles : Tiles
        Numbers as text, by name.
    """
    if not run.finished:
        numbers = {"tasks learned": f"{len(run.result.get('tasks', ()))} of {run.table['tasks']}"}
    else:
        seconds = run.result["seconds"]
        numbers = {f"average {MEASURES[run.measure]}": written(run, run.average)}
        if len(run.result["tasks"]) > 1:
            numbers["backward transfer"] = written(
                run, run.result["backward_transfer"], signed=True
            )
        if run.result["share_used"] is not None:
            numbers["network in use"] = percent(run.result["share_used"][-1])
        numbers["time"] = f"{seconds['total'] or seconds['train']:.0f} s"
    return Tiles(numbers)


def sentences(run):
    """Return the summary of a run in sentences.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        The run, finished or not.

    Returns
    -------
    text : str
        Empty before the first task is learned.
    """
    if run.matrix is None:
        return ""
    last = run.matrix[-1]
    names = run.result["tasks"]
    several = len(run.result["tasks"]) > 1
    mean = written(run, run.average if run.finished else last.mean())
    clause = {
        "accuracy": f"the network classifies {mean} of the test examples correctly",
        "R^2": f"predictions reach an R² of {mean}",
        "log-likelihood": f"test images have a log-likelihood of {mean} per image",
    }[run.measure]
    when = (
        f"After {'all' if run.finished else 'the first'} {len(names)} tasks"
        if several
        else f"After {names[0]}"
    )
    lines = [f"{when}, {clause}{', averaged over tasks' if several else ''}."]
    if run.finished and run.measure == "log-likelihood":
        lines.append(
            f"Its standard error is {run.result['average_standard_error']:.2f} nats, from "
            f"{run.result['final_samples']} importance samples (effective: "
            f"{np.median(run.result['final']['effective_samples']):.0f})."
        )
    drops = run.matrix.diagonal() - last
    if several and np.isfinite(drops).all():
        lowest = int(np.argmin(last))
        worst = int(np.argmax(drops))
        lines.append(f"The lowest is {names[lowest]} with {written(run, last[lowest])}.")
        lines.append(
            (
                f"The largest loss since a task was learned is that on {names[worst]}: "
                f"{written(run, -drops[worst], signed=True)}."
            )
            if drops[worst] > 0
            else "No task is worse than right after it was learned."
        )
    if several and run.finished:
        lines.append(
            "Backward transfer, the mean change on a task since it was learned, is "
            f"{written(run, run.result['backward_transfer'], signed=True)}; below 0 is forgetting."
        )
    if run.result.get("share_used"):
        lines.append(
            f"All tasks together use {percent(run.result['share_used'][-1])} of the masked weights."
        )
    if "coverage" in run.result:
        for kind, start in (
            ("as_predicted", "As predicted"),
            ("recalibrated", "Recalibrated on held-out examples"),
        ):
            shares = " and ".join(
                f"{percent(share)} (nominal {percent(nominal, 0)})"
                for nominal, share in covered(run.result["coverage"], kind).items()
            )
            lines.append(f"{start}, intervals cover {shares} of the test examples.")
    return " ".join(lines)


def matrix(run):
    """Return the matrix of a run as a table whose colours follow its values.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        A run with at least one learned task.

    Returns
    -------
    table : Table
        One row after each task, one column per task, and the mean.
    """
    scale, unit = (1, "nats per image") if run.measure == "log-likelihood" else (100, "percent")
    R = scale * run.matrix
    names = run.result["tasks"]
    low = float(np.nanmin(R))
    high = float(np.nanmax(R))

    def cell(value):
        if np.isnan(value):
            return Cell("")
        # Differences of less than one point or nat are shown as small ones.
        depth = 100 - (100 - PALEST) * (high - value) / max(high - low, 1.0)
        return Cell(f"{value:.2f}", depth=depth)

    return Table(
        f"Test {MEASURES[run.measure]} on each task so far, {unit}. Darker cells are higher; the "
        f"values range from {low:.2f} to {high:.2f}.",
        ["", *names, "mean"],
        [
            [f"after {name}", *map(cell, row), Cell(f"{np.nanmean(row):.2f}", "mean")]
            for name, row in zip(names, R, strict=True)
        ],
        style="map",
    )


def objective(run):
    """Return the training objective and its parts, for each phase of each task.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        The run.

    Returns
    -------
    section : Section or None
        None without a history.
    """
    columns = run.history
    tasks = run.result.get("tasks", ())
    if not columns or not len(columns["task"]):
        return None
    trained, costs = weighted(
        columns,
        {
            key: value
            for key, value in run.table.items()
            if key.endswith("_kl_weight") or key == "beta"
        },
    )
    rows = []
    for t in np.unique(columns["task"]):
        for phase in dict.fromkeys(columns["phase"][columns["task"] == t]):
            at = np.flatnonzero((columns["task"] == t) & (columns["phase"] == phase))
            parts = [
                trained[at[0]],
                *(
                    column[at[-1]]
                    for column in (
                        trained,
                        columns["log_likelihood"],
                        *costs.values(),
                        columns["elbo"],
                    )
                ),
            ]
            rows.append(
                [
                    tasks[t] if t < len(tasks) else f"task {t + 1}",
                    Cell(phase, "text"),
                    len(at),
                    *(f"{part:.1f}" for part in parts),
                ]
            )
    by_phases = Table(
        "Means over an epoch, in nats for the whole task: the objective in the first and the last "
        "epoch of each phase. For the last epoch, also the weighted parts of the objective, and "
        "the ELBO, in which every KL divergence has weight one.",
        [
            "task",
            "phase",
            "epochs",
            "objective, first",
            "objective, last",
            "log-likelihood",
            *costs,
            "ELBO",
        ],
        rows,
        text=(1,),
    )
    return Section("The objective by phases", [by_phases])


def settings(run):
    """Return the settings of a run: those that differ from the defaults, then the others.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        The run.

    Returns
    -------
    section : Section
        Two tables.
    """
    known = known_keys(run.table["method"])
    other = changed(run.table)
    rest = [key for key in run.table if key not in other]

    def listed(caption, names):
        return Table(
            caption,
            ["setting", "value", "default", "meaning"],
            [
                [
                    key,
                    shown(run.table[key]),
                    shown(known[key].default) if key in known else "unknown",
                    Cell(known[key].doc if key in known else "", "meaning"),
                ]
                for key in names
            ],
            text=(1, 2, 3),
        )

    if other:
        differing = listed("Settings that differ from their defaults:", other)
    else:
        differing = Paragraph("All settings have their default values.")
    others = Details(f"{len(rest)} settings with default values", [listed("", rest)])
    return Section("Settings", [differing, others])


def shown(value):
    """Return the value of a setting as text.

    Parameters
    ----------
    value : object
        Text, a number, a list, a boolean or None.

    Returns
    -------
    text : str
        As in TOML, text without quotes.
    """
    return value if isinstance(value, str) else values.toml(value)


def times(run):
    """Return the time of each task, the memory, and the backend of a run.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        The run.

    Returns
    -------
    section : Section or None
        None before the first task is learned.
    """
    if "seconds" not in run.result:
        return None
    result = run.result
    density = run.result.get("mask_density")
    seconds = run.result["seconds"]
    facts = [
        f"{seconds['train']:.1f} s of training and "
        f"{seconds['test'] + seconds.get('final', 0):.1f} s of testing"
    ]
    if run.finished:
        facts += [
            words
            for number, words in (
                (seconds["total"], f"{seconds['total'] or 0:.1f} s in all"),
                (
                    result["peak_memory_mb"],
                    f"{result['peak_memory_mb'] or 0:.0f} MB of memory at most",
                ),
                (
                    result["compile_seconds"],
                    f"{result['compile_seconds']:.1f} s of compiling kernels",
                ),
            )
            if number
        ]
        facts.append(f"backend {result['backend']}")
        if own := result.get("primitives"):
            facts.append(f"own primitives from {run.table['primitives']}: {', '.join(own)}")
    rows = [
        [
            name,
            *(f"{seconds[f'{part}_per_task'][t]:.1f}" for part in ("train", "test")),
            *([" / ".join(map(percent, density[t]))] if density else []),
        ]
        for t, name in enumerate(result["tasks"])
    ]
    head = ["task", "training, s", "testing, s"]
    if density:
        head.append("weights in use, by layer")
    return Section("Times", [Paragraph(f"{', '.join(facts)}."), Table("", head, rows)])


def versions(results):
    """Return the versions that made some results.

    Parameters
    ----------
    results : sequence of dict
        Contents of ``result.json``.

    Returns
    -------
    section : Section or None
        None if no result has versions.
    """
    by_name = {}
    for result in results:
        for name, version in result.get("versions", {}).items():
            by_name.setdefault(name, {})[str(version or "none")] = None
    text = ", ".join(f"{name} {' and '.join(several)}" for name, several in by_name.items())
    return Section("Versions", [Paragraph(text)]) if text else None


def use(run):
    """Return the lines of Python that predict with the learner of a run.

    Parameters
    ----------
    run : ibpcl.experiments.inspection.Contents
        The run.

    Returns
    -------
    section : Section or None
        None for a run that is not finished.
    """
    if not run.finished:
        return None
    module, _, own = run.table["method"].rpartition(":")
    place = json.dumps(str(run.folder), ensure_ascii=False)
    # The class of a script has no module to import, so it must be defined again and passed.
    module, place = ("", f"{place}, {own}") if module == "__main__" else (module, place)
    target, call, meaning = {
        "accuracy": ("p", "predict(x, 0)", "p has one row of class probabilities per input"),
        "R^2": (
            "mean, sigma, _",
            "predict_with_uncertainty(x, 0)",
            "mean and sigma are those of the predicted targets",
        ),
        "log-likelihood": ("images", "predict(x, 0)", "images are the reconstructions"),
    }[run.measure]
    shape = run.result["image_shape"]
    inputs = (
        f"one row of {shape[0] * shape[1]} pixels in 0..1 per image of {shape[0]} x {shape[1]}"
        if shape
        else "one row of numbers per example"
    )
    lines = f"import ibpcl{f', {module}' if module else ''}\n{target} = ibpcl.load({place}).{call}"
    first = run.result["tasks"][0]
    text = f"x has {inputs}; {meaning}. 0 means the task {first}, 1 the next one."
    return Section("Use this model", [Code((lines,)), Paragraph(text)])


def side_by_side(runs, labels=None):
    """Return a sortable table with one row per run.

    Parameters
    ----------
    runs : sequence of ibpcl.experiments.inspection.Contents
        The runs, the oldest first.
    labels : sequence of str, optional
        Names of the rows; the methods if not given.

    Returns
    -------
    table : Table
        Columns with one and the same experiment or state are left out.
    """
    rows = []
    more = max(0, len(runs) - MOST_RUNS)
    labels = labels or [run.table["method"].rpartition(":")[2] for run in runs]
    for run, label in list(zip(runs, labels, strict=True))[more:]:
        result = run.result if run.finished else {}
        R = run.matrix
        seconds = run.result.get("seconds", {})
        drop = (
            0.0 - max(0.0, float(np.max(R.diagonal() - R[-1])))
            if R is not None and len(R) > 1
            else None
        )
        changes = (
            written(run, value, signed=True).removesuffix("\N{NO-BREAK SPACE}points")
            for value in (result.get("backward_transfer"), drop)
        )
        rows.append(
            {
                "method": label,
                "experiment": run.table["experiment"],
                "seed": run.table["seed"],
                "average": written(run, run.average),
                **dict(zip(("backward transfer", "largest loss"), changes, strict=True)),
                "network used": percent(result["share_used"][-1])
                if result.get("share_used")
                else "-",
                **{
                    f"{part}ing, s": f"{seconds[part]:.1f}" if part in seconds else "-"
                    for part in ("train", "test")
                },
                "memory, MB": f"{result['peak_memory_mb']:.0f}"
                if result.get("peak_memory_mb")
                else "-",
                "state": run.state,
                "folder": Cell(run.folder.name, "text whole"),
            }
        )
    names = [
        name
        for name in rows[0]
        if name not in ("experiment", "state") or len({row[name] for row in rows}) > 1
    ]
    text = [i for i, name in enumerate(names) if name in ("experiment", "state", "folder")]
    return Table(
        "One row per run; click on the name of a column to sort by it. Backward transfer and "
        "largest loss are in points, or in nats where stated."
        + (f" {more} older runs are left out." if more else ""),
        names,
        [[row[name] for name in names] for row in rows],
        sortable=True,
        text=tuple(text),
    )


def changes(cells):
    """Return a table of the settings in which the runs of a comparison differ from the defaults.

    Parameters
    ----------
    cells : sequence of dict
        The entry ``cells`` of ``table.json``.

    Returns
    -------
    table : Table
        One row per row and benchmark of the comparison.
    """
    rows = {}
    for cell in cells:
        texts = [
            f"{key} = {shown(value)}"
            for key, value in changed(cell["settings"]).items()
            if key not in WHICH
        ]
        rows[cell["row"], cell["benchmark"]] = ", ".join(texts) or "none"
    return Table(
        "",
        ["row", "tasks", "settings"],
        [[*key, Cell(text, "meaning")] for key, text in rows.items()],
        text=(1, 2),
    )
