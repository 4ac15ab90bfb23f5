"""Targets about the masks: their pixels, their sharing between tasks, and the capacity in use."""

import numpy as np

from ibpcl.evaluation import figures
from ibpcl.evaluation.figures import canvas
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import CORRELATION, SHARE, Entry, Table
from ibpcl.paper import numbers as paper
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import FOUR, OURS, target


def _entries(results, benchmark, names, number, units):
    """Return the entries of several numbers that one function computes, in the benchmark's row."""
    values = np.array([number(m) for m in results.of(OURS, benchmark)], float)
    return [
        Entry(benchmark.label, name, tuple(values[:, i]), unit)
        for i, (name, unit) in enumerate(zip(names, units, strict=True))
    ]


@target(("split-mnist", "split-notmnist", "split-fashion-mnist"), lambda quick: (OURS,))
def masks(results):
    """Show on which pixels the masks lie: a table, and three figures of the first seed."""
    entries = []
    drawn = {}
    for b in results.benchmarks:
        entries.append(
            results.entry(
                OURS, b, lambda m: measures.used_by_task(m).mean(), "density", SHARE, label=b.label
            )
        )
        entries += _entries(
            results,
            b,
            ("dead pixels", "live pixels", "correlation"),
            measures.on_pixels,
            (SHARE, SHARE, CORRELATION),
        )
        first = results.first(b)
        layers = [task[0] for task in measures.masks(first)]
        names = first.values["tasks"]
        shape = measures.image_shape(first)
        drawn[f"masks_{b.name}"] = figures.mask_matrices(layers, names)
        drawn[f"units_{b.name}"] = figures.receptive_fields(layers, names, image_shape=shape)
        drawn[f"pixels_{b.name}"] = pictures.pixel_maps({b.label: layers}, shape, names)
    return Summary(
        (Table("Density of the masks, percent of the weights; mean over tasks", tuple(entries)),),
        (
            "Dead pixels are 0 in every training image of the task, live ones above 0.1 on "
            "average. The correlation, over pixels, is between the share of units that use a pixel "
            "and the pixel's mean.",
            f"The paper's statement, {paper.CLAIMS['masks']}.",
        ),
        drawn,
    )


@target(FOUR, lambda quick: (OURS,))
def sharing(results):
    """Compare the share of weights that tasks have in common with the chance level."""
    entries = []
    axes = pictures.panels(len(results.benchmarks), height=74)
    for ax, b in zip(axes, results.benchmarks, strict=True):
        for name, number in (
            ("with one", measures.pairwise_sharing),
            ("chance", measures.pairwise_chance),
            ("with any", measures.sharing_with_earlier),
            ("chance of any", measures.chance_with_earlier),
        ):
            entries.append(results.entry(OURS, b, number, name, SHARE, label=b.label))
        first = results.first(b)
        # Permutations are numbered, because their names are too long.
        names = None if first.cell.config.stream == "permuted" else first.values["tasks"]
        figures.sharing_matrix(measures.masks(first), names, ax=ax)
        ax.set_title(b.label, fontsize=canvas.LABEL, color=canvas.INK)
    return Summary(
        (Table("Share of a task's weights that earlier tasks use too, percent", tuple(entries)),),
        (
            "With one: the mean over all pairs of a task and one earlier task. With any: with the "
            "union of all earlier ones. Chance: independent masks with the same densities.",
            f"The paper's statement, {paper.CLAIMS['sharing']}. Its figures have no numbers.",
        ),
        {"sharing": axes},
    )


@target(FOUR, lambda quick: (OURS,))
def capacity(results):
    """Show the share of the network that each task uses, and that is in use after it."""
    used = []
    full = []
    axes = pictures.panels(len(results.benchmarks))
    for ax, b in zip(axes, results.benchmarks, strict=True):
        cells = results.of(OURS, b)
        printed = paper.FIRST_TASK_SHARE if b.name in ("split-notmnist", "permuted-mnist") else None
        for entries, number in ((used, measures.used_by_task), (full, measures.filled)):
            values = np.array([number(m) for m in cells])
            entries += [
                Entry(b.label, f"{t + 1}", tuple(values[:, t]), SHARE, printed if t == 0 else None)
                for t in range(values.shape[1])
            ]
        figures.share_used(measures.masks(results.first(b)), None, ax=ax)
        ax.get_legend().remove()
        ax.set_title(b.label, fontsize=canvas.LABEL, color=canvas.INK)
    pictures.one_legend(axes)
    return Summary(
        (
            Table("Weights that task t uses, percent of the network", tuple(used), "task"),
            Table("Weights in use after task t, percent of the network", tuple(full), "after task"),
        ),
        (
            f"The paper's number is a bound: {paper.FIRST_TASK_SHARE.place}. The prior alone "
            "expects 14.98 %, the mean of 200 probabilities with alpha = 30.",
            f"The paper's statement, {paper.CLAIMS['capacity']}.",
        ),
        {"capacity": axes},
    )
