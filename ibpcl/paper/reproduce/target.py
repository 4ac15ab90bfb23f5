"""Run one target: train its cells, and write its tables and figures."""

from dataclasses import replace

from ibpcl.errors import UserError, nearest
from ibpcl.experiments import cells
from ibpcl.experiments.benchmarks import benchmark, select
from ibpcl.experiments.findings import epochs, gather
from ibpcl.experiments.report import Report, heading, write
from ibpcl.experiments.tuned import tuned
from ibpcl.methods import ABOUT, GENERATIVE, method
from ibpcl.paper.reproduce import (
    TARGETS,
    accuracy,
    alpha,
    blended,
    certainty,
    claims,
    convolutions,
    coresets,
    few_labels,
    generative,
    ladder,
    long_stream,
    natural,
    orders,
    posteriors,
    priors,
    probe,
    regression,
    scenarios,
    structure,
    variants,
)
from ibpcl.paper.reproduce.rows import OURS, OURS_SEARCHED
from ibpcl.plotting import styled

KINDS = {
    "ladder": ladder.ladder,
    "claims": claims.claims,
    "accuracy": accuracy.final,
    "metrics": accuracy.other_metrics,
    "linear-probe": probe.linear_probe,
    "probe-over-tasks": probe.probe_over_tasks,
    "orders": orders.orders,
    "curves": accuracy.curves,
    "forgetting": accuracy.forgetting,
    "domain": accuracy.domain,
    "scenarios": scenarios.scenarios,
    "convolutions": convolutions.convolutions,
    "structure": structure.small_networks,
    "masks": structure.masks,
    "sharing": structure.sharing,
    "capacity": structure.capacity,
    "expansion": variants.expansion,
    "long-stream": long_stream.long_stream,
    "blended": blended.blended,
    "over-training": variants.over_training,
    "shared-mask": variants.shared_mask,
    "priors": priors.priors,
    "few-labels": few_labels.few_labels,
    "posteriors": posteriors.posteriors,
    "natural-gradients": natural.natural_gradients,
    "alpha": alpha.alpha,
    "coresets": coresets.coresets,
    "mask-gradients": variants.mask_gradients,
    "mask-kl": variants.mask_kl,
    "without-task-names": certainty.without_task_names,
    "calibration": certainty.calibration,
    "links": certainty.links,
    "regression": regression.regression,
    "generative": generative.as_printed,
    "likelihood": generative.likelihood,
    "knn": generative.neighbours,
    "samples": generative.samples,
    "letters": generative.letters,
    "tsne": generative.maps,
}
# The ability of a method that a family of benchmarks needs; the others need "domain".
NEEDED = {"task": "task", "probe": "task", "shuffled": "task", "regression": "regression"}
QUICK_NOTE = (
    "QUICK RUN: small data, few samples; rankings may be indicative, do not quote the numbers."
)


def reproduce(target, choice, progress=None, on_cell=None, workers=None):
    """Run the missing cells of a target, and write its tables and figures.

    Parameters
    ----------
    target : str
        A name of :data:`ibpcl.paper.reproduce.TARGETS`.
    choice : ibpcl.experiments.choice.Choice
        Seeds, settings, data sets, and the folder for the results.
    progress, on_cell, workers
        As in :func:`ibpcl.experiments.cells.measure`.

    Returns
    -------
    report : ibpcl.experiments.report.Report
        Its ``folder`` contains ``table.md``, ``table.json``, ``values.csv`` and the figures.

    Raises
    ------
    UserError
        If the target, a row, a data set or a key does not exist, or if data are missing.
    TrainingError
        If no cell could be trained.
    """
    if target not in KINDS:
        raise UserError(
            f"unknown target {target!r}{nearest(target, TARGETS)} (known: {', '.join(TARGETS)})"
        )
    kind = KINDS[target]
    offered = kind.rows(choice.quick)
    rows = select(
        (*offered, OURS_SEARCHED) if choice.tuned and OURS in offered else offered,
        kind.shown if choice.methods is None else choice.methods,
    )
    if not rows:
        raise UserError("`methods` names no row")
    choice.check_used(rows)
    chosen = (benchmark(name, kind.family) for name in choice.datasets or kind.benchmarks)
    benchmarks = list({b.name: b for b in chosen}.values())
    images = [row for row in rows if row.method in GENERATIVE]
    # Generative models learn the same images, one class after another.
    also = kind.also or ("vae",) * (kind.family == "task" and bool(images))
    benchmarks += [
        benchmark(b.name.removeprefix("split-"), family)
        for family in also
        if family != "vae" or images
        for b in benchmarks
        # all permutations have the same classes, so no later task brings new ones
        if not (family == "class" and b.name.startswith("permuted"))
    ]
    planned = [
        cell
        for b in benchmarks
        for row in rows
        if _fits(row, b)
        if row != OURS_SEARCHED or tuned(b.experiment, row.method)
        for cell in cells.plan((row,), (b,), _of(row, choice))
    ]
    left_out = [cell for cell in planned if choice.methods is None and cells.hoards(cell)]
    wanted = [cell for cell in planned if cell not in left_out]
    title = heading(f"{target}: {TARGETS[target]}", choice, f"preset {choice.preset or 'default'}")

    @styled
    def publish(results, *remarks):
        summary = kind.summarize(results)
        summary = summary._replace(
            notes=(*remarks, *summary.notes, *epochs(results), *_not_run(left_out))
        )
        report = Report(
            target,
            f"{QUICK_NOTE}\n\n{title}" if choice.quick else title,
            summary,
            choice.out / (f"{target}-quick" if choice.quick else target),
            results.failures,
        )
        write(
            report,
            {
                "target": target,
                "what": TARGETS[target],
                "quick": choice.quick,
                "command": ["ibpcl", "reproduce", target, *choice.words()],
                "preset": choice.preset or "default",
                "tuned": choice.tuned,
                "seeds": choice.seeds,
                "settings": choice.assignments,
            },
            results.measured,
        )
        return report

    return publish(gather(wanted, choice, rows, benchmarks, progress, on_cell, workers, publish))


def _fits(row, b):
    """Return whether the method of a row can learn a benchmark."""
    if b.family == "vae":
        return row.method in GENERATIVE
    needed = NEEDED.get(b.family, "domain")
    if row.method in GENERATIVE:
        return False
    # A reference that is not in the table of methods names its abilities itself.
    of = ABOUT[row.method] if row.method in ABOUT else method(row.method).learner
    return needed in of.can


def _of(row, choice):
    """Return the choice for a row: with ``tuned``, only the row of the common search is tuned."""
    if not choice.tuned:
        return choice
    return replace(choice, preset=None if row == OURS_SEARCHED else choice.preset or "default")


def _not_run(left_out):
    """Return a note for each row that was left out because it stores too much data."""
    return [
        (
            f"{row}, {label}: not run, because it stores all training data (gigabytes); name it "
            "in `methods` to run it."
        )
        for row, label in dict.fromkeys((cell.row.label, cell.benchmark.label) for cell in left_out)
    ]
