"""Targets that change the method: growth, more epochs, the masks' number, gradient and prior."""

import numpy as np

from ibpcl.experiments import findings, paired
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.config import keys
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import (
    CORRELATION,
    COUNT,
    PERCENT,
    POINTS,
    SECONDS,
    SHARE,
    Entry,
    Table,
)
from ibpcl.paper import numbers as paper
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import FOUR, REFERENCE, target

# More steps than any run has, so that the number of epochs alone decides.
NO_LIMIT = 10**9


def _final_and_backward(results, title, compared=None):
    """Return three tables with a column per benchmark: final accuracy, its differences from the row
    that ``compared`` names (ours without it), and backward transfer.
    """
    final = []
    backward = []
    for row in results.rows:
        for b in results.benchmarks:
            if results.of(row, b):
                final.append(
                    results.entry(
                        row,
                        b,
                        findings.final_accuracy,
                        b.label,
                        PERCENT,
                        paper.accuracy(row.key, b.name),
                    )
                )
                if row.key != REFERENCE.key:
                    backward.append(
                        results.entry(row, b, findings.backward_transfer, b.label, POINTS)
                    )
    accuracy = Table(f"Final mean accuracy, percent: {title}", tuple(final))
    first = paired.reference(results.rows)
    whose = f"from {first}" if compared is None else "from the shortest training"
    return [
        accuracy,
        *paired.differences(
            accuracy, compared or first, f"Final mean accuracy, difference {whose}, points"
        ),
        Table(f"Backward transfer, points: {title}", tuple(backward)),
    ]


def units_row(key, label, units, grows, **settings):
    """Return a row of ours with ``units`` hidden units, at the start if it grows, else always.

    Parameters
    ----------
    key, label : str
        Name of the row in commands and in tables.
    units : int
        The number of units of the hidden layer.
    grows : bool
        Whether the network grows.
    **settings
        Other settings of NPBCL.

    Returns
    -------
    row : ibpcl.experiments.benchmarks.Row
    """
    return Row(key, label, "npbcl", {"hidden": (units,), "expand": grows, **settings})


WIDTHS = (
    units_row("npbcl", f"{paper.UNITS} units", paper.UNITS, False),
    units_row(
        "npbcl-growing", f"{paper.EXPANDING_UNITS} units, growing", paper.EXPANDING_UNITS, True
    ),
    units_row("npbcl-small", f"{paper.EXPANDING_UNITS} units, fixed", paper.EXPANDING_UNITS, False),
)
# Two more ways to grow: by the empty columns of sampled masks, which the paper describes, and
# greedily, which "leads to a bad optima".
OTHER_GROWTH = (
    units_row(
        "npbcl-sampled",
        f"{paper.EXPANDING_UNITS} units, by sampled masks",
        paper.EXPANDING_UNITS,
        True,
        grow_by="sampled",
    ),
    units_row(
        "npbcl-greedy",
        f"{paper.EXPANDING_UNITS} units, greedy",
        paper.EXPANDING_UNITS,
        True,
        growth="greedy",
    ),
)


@target(("permuted-mnist", "split-mnist"), lambda quick: (*WIDTHS, *OTHER_GROWTH, REFERENCE))
def expansion(results):
    """Compare networks that grow from 50 units in three ways with fixed ones of 200 and of 50."""
    tables = _final_and_backward(results, "growing and fixed")
    widths = []
    for b in results.benchmarks:
        for row in results.rows_on(b):
            if row.method == "npbcl":
                counts = np.array([measures.units(m) for m in results.of(row, b)], float)
                widths += [
                    Entry(row.label, f"{b.label}, {name}", tuple(counts[:, i]), COUNT)
                    for i, name in enumerate(("units", "in use"))
                ]
    tables.append(Table("Hidden units after the last task", tuple(widths)))
    return Summary(
        tuple(tables),
        (
            f"The paper's statement, {paper.CLAIMS['expansion']}. Its figure has no numbers.",
            f"On greedy growth: {paper.CLAIMS['greedy']}.",
        ),
        {"expansion": pictures.compared(results, tables[0].entries, 22)},
    )


def epochs(quick):
    """Return the numbers of epochs to compare, for a quick or a full run.

    Parameters
    ----------
    quick : bool
        Whether the run is a quick one.

    Returns
    -------
    numbers : tuple of int
    """
    return (1, 2, 4, 8) if quick else (paper.EPOCHS, 10, 20, 40)


def trained_longer(quick):
    """Return ours and VCL with each number of epochs, and the reference.

    Parameters
    ----------
    quick : bool
        Whether the run is a quick one.

    Returns
    -------
    rows : tuple of ibpcl.experiments.benchmarks.Row
    """
    rows = []
    for name, label in (("npbcl", "ours"), ("vcl", "VCL")):
        epoch_keys = [key for key in ("epochs", "finetune_epochs") if key in keys(name)]
        unlimited = {"max_steps": NO_LIMIT} if "max_steps" in keys(name) else {}
        rows += [
            Row(
                f"{name}-{n}",
                f"{label}, {n} epochs",
                name,
                dict.fromkeys(epoch_keys, n) | unlimited,
            )
            for n in epochs(quick)
        ]
    return (*rows, REFERENCE)


@target(("split-mnist", "permuted-mnist"), trained_longer)
def over_training(results):
    """Compare different numbers of epochs per task."""
    numbers = epochs(results.choice.quick)
    shortest = {
        f"{label}, {n} epochs": f"{label}, {numbers[0]} epochs"
        for label in ("ours", "VCL")
        for n in numbers[1:]
    }
    tables = _final_and_backward(results, "more epochs a task", shortest)
    as_learned = [
        results.entry(row, b, findings.accuracy_as_learned, b.label)
        for row in results.rows
        for b in results.benchmarks
        if results.of(row, b) and row.key != REFERENCE.key
    ]
    tables.append(Table("Accuracy as learned, percent: more epochs a task", tuple(as_learned)))
    axes = pictures.panels(len(results.benchmarks), width=110)
    for ax, b in zip(axes, results.benchmarks, strict=True):
        lines = {
            f"{label}, {when}": line
            for name, label in (("npbcl", "ours"), ("vcl", "VCL"))
            for number, when in (
                (findings.final_accuracy, "at the end"),
                (findings.accuracy_as_learned, "as learned"),
            )
            if (line := _over_epochs(results, b, name, numbers, number)) is not None
        }
        if lines:
            draw_over_epochs(lines, ax, numbers, b.label)
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            "Each task is trained for the given number of epochs, and fine-tuned for as many. The "
            "figure shows the numbers of the tables: means over seeds, with bands of one standard "
            "deviation.",
            (
                f"The paper's statement, {paper.CLAIMS['over-training']}: the accuracy should not "
                "fall with more epochs."
            ),
        ),
        {"over_training": axes},
    )


def draw_over_epochs(lines, ax, numbers, title):
    """Draw accuracies over the number of epochs per task.

    Parameters
    ----------
    lines : dict of str to ndarray, shape (seeds, len(numbers))
        Accuracies in percent by the name of the line.
    ax : matplotlib.axes.Axes
    numbers : sequence of int
        The numbers of epochs.
    title : str
    """
    labels = ("epochs per task", "test accuracy (%)", title)
    pictures.bands(lines, ax, list(numbers), *labels, log=True)


def _over_epochs(results, benchmark, name, numbers, number):
    """Return a number for every seed and number of epochs, shape (seeds, epochs), or None.

    NaN stands for a run that is missing; None if all are.
    """
    values = np.full((results.choice.seeds, len(numbers)), np.nan)
    places = {f"{name}-{n}": i for i, n in enumerate(numbers)}
    for m in results.measured:
        if m.cell.row.key in places and m.cell.benchmark.name == benchmark.name:
            values[m.cell.seed, places[m.cell.row.key]] = number(m)
    return None if np.isnan(values).all() else values


OWN = Row("npbcl", "own mask", "npbcl", {"shared_mask": False})
# One mask for all tasks.
SHARED = (
    Row("npbcl-shared-mask", "one mask: the first task's", "npbcl", {"shared_mask": True}),
    Row("npbcl-joint-mask", "one mask, learned jointly", "npbcl", {"shared_mask": "joint"}),
    Row("npbcl-all-ones", "all ones", "npbcl", {"shared_mask": "ones"}),
)


@target(FOUR, lambda quick: (OWN, *SHARED, REFERENCE))
def shared_mask(results):
    """Compare one mask per task with one mask for all tasks, the paper's ablation."""
    tables = _final_and_backward(results, "one mask for all")
    costs = []
    for b in results.benchmarks:
        for row in SHARED:
            for name, number in (
                ("at the end", findings.final_accuracy),
                ("as learned", findings.accuracy_as_learned),
            ):
                label = f"{row.label}, {name}"
                one, own = (
                    results.entry(each, b, number, b.label, label=label) for each in (row, OWN)
                )
                costs.append(paired.difference(one, own))
    costs = [cost for cost in costs if cost is not None]
    tables.append(Table("What one mask for all tasks costs, points, seed by seed", tuple(costs)))
    return Summary(
        tuple(tables),
        (
            f"The paper's statement, {paper.CLAIMS['shared-mask']}; it gives no numbers, and does "
            "not say how the mask is learned. Here it is the first task's, or it is learned "
            "jointly: each task continues from the last posterior of the mask, which is also its "
            "prior, and the last mask serves all tasks. With all ones there are no masks, and the "
            "method is VCL with the settings of NPBCL.",
        ),
        {"shared_mask": pictures.compared(results, tables[0].entries, 22)},
    )


# The estimators of :mod:`ibpcl.inference.binary_masks`; the first is the paper's.
MASK_GRADIENTS = tuple(
    Row(f"npbcl-{key.replace('_', '-')}", label, "npbcl", {"mask_gradient": key})
    for key, label in (
        ("concrete", "concrete, relaxed masks"),
        ("straight_through", "straight-through"),
        ("score", "score function, baseline"),
        ("arm", "ARM"),
        ("disarm", "DisARM"),
        ("rebar", "REBAR"),
    )
)


def _estimators(quick):
    """Return the rows; in a quick look with two samples, as a baseline needs at least two."""
    least = {"samples": 2} if quick else {}
    return [row._replace(settings=row.settings | least) for row in MASK_GRADIENTS]


@target(("split-mnist",), _estimators)
def mask_gradients(results):
    """Compare the estimators of the gradient at the masks' log-odds, in the learner."""
    tables = _final_and_backward(results, "gradient of the masks")
    used = [
        results.entry(row, b, lambda m: measures.used_by_task(m).mean(), b.label, SHARE)
        for row in results.rows
        for b in results.benchmarks
        if results.of(row, b)
    ]
    seconds = [
        results.entry(row, b, lambda m: m.values["seconds"]["train"], b.label, SECONDS)
        for row in results.rows
        for b in results.benchmarks
        if results.of(row, b)
    ]
    tables.append(Table("Weights that a task uses, percent: gradient of the masks", tuple(used)))
    tables.append(Table("Training, seconds: gradient of the masks", tuple(seconds)))
    return Summary(
        tuple(tables),
        (
            "The paper relaxes the masks (Sec. 4.4). All other rows draw binary masks in training; "
            "all of these but straight-through have unbiased gradients. The settings are those "
            "that a search found for the first row, and the hard masks of a task are cut in the "
            "same way in all rows.",
        ),
        {"mask_gradients": pictures.compared(results, tables[0].entries, 22)},
    )


LINKS = tuple(
    Row(
        f"npbcl-{link}-{short}",
        f"{link}, {short}",
        "npbcl",
        {"mask_link": link, "mask_kl_weight": weight},
    )
    for link in ("logit", "log")
    for short, weight in (("1", 1.0), ("1/784", 1 / 784))
)


@target(("split-mnist",), lambda quick: LINKS)
def mask_kl(results):
    """Compare weights 1 and 1/784 of the masks' divergence, and the links logit and log."""
    tables = []
    drawn = {}
    for b in results.benchmarks:
        entries = []
        by_row = {}
        shape = None
        names = None
        for row in results.rows_on(b):
            entries += _mask_entries(results, row, b)
            m = results.of(row, b)[0]
            by_row[row.label] = [task[0] for task in measures.masks(m)]
            shape = measures.image_shape(m)
            names = m.values["tasks"]
        entries.sort(key=lambda entry: MEASURES.index(entry.row))
        tables.append(
            Table(
                f"{b.label}: link of the masks' prior, weight of their divergence", tuple(entries)
            )
        )
        drawn[f"pixels_{b.name}"] = pictures.pixel_maps(by_row, shape, names)
    return Summary(
        tuple(tables),
        (
            "Accuracy, densities and sharing in percent, backward transfer in points; densities "
            "are means over tasks, sharing is with one earlier task. The ELBO has weight 1; the "
            "paper has the link logit.",
            f"Numbers of the changed code: {paper.CODE}; its other settings differ from those of "
            "NPBCL.",
        ),
        drawn,
    )


MEASURES = (
    "final accuracy",
    "backward transfer",
    "density",
    "dead pixels",
    "live pixels",
    "correlation",
    "sharing",
    "chance",
)


def _mask_entries(results, row, b):
    """Return the entries of one variant, a column of the table."""
    link = row.settings["mask_link"]
    weight = row.settings["mask_kl_weight"]
    on_pixels = [measures.on_pixels(m) for m in results.of(row, b)]
    dead, live, correlation = (tuple(values) for values in zip(*on_pixels, strict=True))

    def column(number):
        return tuple(float(number(m)) for m in results.of(row, b))

    def printed(name):
        return paper.authors_code(link, weight, name) if b.name == "split-mnist" else None

    columns = (
        (column(findings.final_accuracy), PERCENT, printed("accuracy")),
        (column(findings.backward_transfer), POINTS, None),
        (column(lambda m: measures.used_by_task(m).mean()), SHARE, None),
        (dead, SHARE, printed("dead")),
        (live, SHARE, printed("live")),
        (correlation, CORRELATION, None),
        (column(measures.pairwise_sharing), SHARE, printed("sharing")),
        (column(measures.pairwise_chance), SHARE, None),
    )
    return [
        Entry(name, row.label, values, unit, theirs)
        for name, (values, unit, theirs) in zip(MEASURES, columns, strict=True)
    ]
