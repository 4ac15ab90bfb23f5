"""Targets about the masks: their pixels, their sharing between tasks, and the capacity in use."""

import numpy as np

from ibpcl.evaluation import figures
from ibpcl.evaluation.figures import canvas
from ibpcl.evaluation.figures.networks import states
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary, learner
from ibpcl.experiments.tables import CORRELATION, COUNT, SHARE, Entry, Table
from ibpcl.paper import numbers as paper
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import FOUR, OURS, target


def _entries(results, benchmark, names, units, number):
    """Return the entries of several numbers that one function computes, in the benchmark's row."""
    values = np.array([number(m) for m in results.of(OURS, benchmark)], float)
    return [
        Entry(benchmark.label, name, tuple(values[:, i]), unit)
        for i, (name, unit) in enumerate(zip(names, units, strict=True))
    ]


# Networks that are small enough to draw: 16 pixels, and layers that grow from four units.
GROWING = {"tasks": 3, "hidden": (4,), "expand": True, "empty_units": 2}
CLASSIFIER = Row("npbcl", "classifier", "npbcl", {**GROWING, "alpha": 3.0})
AUTOENCODER = Row(
    "generative",
    "autoencoder",
    "vae_npbcl",
    {**GROWING, "latent": 3, "alpha": 6.0, "latent_alpha": 10.0, "mask_kl_weight": 0.01},
)


@target(("split-tiny-glyphs",), lambda quick: (CLASSIFIER, AUTOENCODER))
def small_networks(results):
    """Draw the paper's two pictures of its model from small networks of the first seed."""
    entries = []
    drawn = {}
    panels = []
    for b in results.benchmarks:
        for row in results.rows_on(b):
            cells_ = results.of(row, b)
            names = cells_[0].values["tasks"]
            entries += _weights(row, cells_)
            by_layer = _masked_layers(cells_[0])
            if row == CLASSIFIER:
                first = by_layer["hidden"]
                classes = learner(cells_[0]).context.network_of(0).outputs
                drawn["structure_evolution"] = figures.network_structure(first, classes, names)
                head = (classes, 1)
            else:
                head = measures.image_shape(cells_[0])
            panels.append((by_layer, head, names, row.label))
    widths = [1 + 0.4 * len(by_layer) for by_layer, *_ in panels]
    axes = canvas.new_axes(
        75 * sum(widths) / 1.65, 86, 1, len(panels), squeeze=False, width_ratios=widths
    )
    for ax, letter, (*parts, label) in zip(axes[0], "abcd", panels, strict=False):
        figures.network_schematic(*parts, f"({letter}) {label}", ax=ax)
    drawn["structure_schematics"] = axes
    return Summary(
        (Table("Weights with masks, and units of the hidden layers", tuple(entries)),),
        (
            "New: used for the first time. Reused: an earlier task uses it too. In the schematics, "
            "a weight of the codes is one of their mean or of their scale.",
        ),
        drawn,
    )


def _masked_layers(m):
    """Return the masks of each layer of a small network by its name, one per task."""
    context = learner(m).context
    tasks = [context.masks(t) for t in range(m.cell.config.tasks)]
    if "mean" in tasks[0]:
        return {
            "encoder": [task["encoder0"] for task in tasks],
            "codes": [task["mean"] | task["scale"] for task in tasks],
            "decoder": [task["decoder0"] for task in tasks],
        }
    return {"hidden": [task["hidden0"] for task in tasks]}


def _weights(row, cells_):
    """Return how many weights each task uses for the first time and again, and the units."""
    entries = []
    for t in range(cells_[0].cell.config.tasks):
        counts = {"weights, new": [], "weights, reused": [], "units": []}
        for m in cells_:
            layers = list(zip(*measures.masks(m), strict=True))
            found = [states(layer)[t] for layer in layers]
            for state in ("new", "reused"):
                counts[f"weights, {state}"].append(sum((layer == state).sum() for layer in found))
            counts["units"].append(layers[0][t].shape[1])
        entries += [
            Entry(f"{row.label}: {what}", f"task {t + 1}", tuple(map(float, values)), COUNT)
            for what, values in counts.items()
        ]
    return entries


@target(("split-mnist", "split-notmnist", "split-fashion-mnist"), lambda quick: (OURS,))
def masks(results):
    """Show on which pixels and columns the masks lie: tables, and figures of the first seed."""
    entries = []
    columns = []
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
            (SHARE, SHARE, CORRELATION),
            measures.on_pixels,
        )
        first = results.first(b)
        layers = [task[0] for task in measures.masks(first)]
        names = first.values["tasks"]
        for what, number in (
            ("columns in use", measures.columns_used),
            ("weights in the first tenth", measures.first_columns),
        ):
            by_task = [(f"task {t + 1}", SHARE) for t in range(len(names))]
            columns += [
                entry._replace(row=f"{b.label}, {what}")
                for entry in _entries(results, b, *zip(*by_task, strict=True), number)
            ]
        shape = measures.image_shape(first)
        drawn[f"masks_{b.name}"] = figures.mask_matrices(layers, names)
        drawn[f"units_{b.name}"] = figures.receptive_fields(layers, names, image_shape=shape)
        drawn[f"pixels_{b.name}"] = pictures.pixel_maps({b.label: layers}, shape, names)
    return Summary(
        (
            Table("Density of the masks, percent of the weights; mean over tasks", tuple(entries)),
            Table("Columns of the first layer's masks, percent", tuple(columns)),
        ),
        (
            "Columns are hidden units. Weights in the first tenth: the part of a task's weights "
            "that lies in the first tenth of the columns; it is 10 percent if their order makes "
            "no difference.",
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
            "union of all earlier ones. Chance: independent masks with the same densities. Chance "
            "of any: the share of all weights in that union.",
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
