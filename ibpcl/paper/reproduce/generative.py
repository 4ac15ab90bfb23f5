"""Targets about generative models: likelihoods over time, codes as representations, samples."""

import numpy as np

from ibpcl import checkpoints
from ibpcl.evaluation import codes, figures
from ibpcl.evaluation.figures import canvas
from ibpcl.experiments import findings, paired, run_figures
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.config import keys
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.folder import IMAGES
from ibpcl.experiments.generative import labelled
from ibpcl.experiments.presets import PRESETS
from ibpcl.experiments.streams import make_stream
from ibpcl.experiments.tables import (
    NATS,
    NUMBER,
    PERCENT,
    PRINTED_PERCENT,
    SHARE,
    Entry,
    Table,
)
from ibpcl.methods.npbcl_settings import IMAGE_PRESETS
from ibpcl.paper import numbers as paper
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import AS_PRINTED, GENERATIVE_ROWS, PRINTED_LONGER, target

BOTH = ("vae-mnist", "vae-notmnist")
# Columns at the end of the stream: name, function of a cell, unit.
IN_THE_END = (
    ("log p(x)", lambda m: m.values["average_log_likelihood"], NATS),
    ("change", lambda m: m.values["backward_transfer"], NATS),
    ("worth", lambda m: np.median(m.values["final"]["effective_samples"]), NUMBER),
    ("reconstruction", lambda m: m.values["average_reconstruction"], NATS),
)
TABLE_OF_PAPER = (
    "The table as in the paper has sampled codes and the encoder of the true class (oracle), which "
    "the released code uses, with the printed numbers beside the measured ones."
)
CODES = (("samples", "sampled codes"), ("means", "mean codes"))
# The rows of the other targets, settings between the printed ones and ours, and VCL with its rates
# and with ours.
BASELINES = tuple(row for row in GENERATIVE_ROWS if row.method != "vae_npbcl")
OURS = next(row for row in GENERATIVE_ROWS if row.key == "npbcl")
VCL_CHANGED = (
    Row("vcl-0.001", "VCL, divergence 0.001", "vae_vcl", {"weight_kl_weight": 0.001}),
    Row(
        "vcl-schedule",
        "the same, our rates",
        "vae_vcl",
        {"weight_kl_weight": 0.001, "rate": 0.01, "warm_up": 0.3},
    ),
)
UNWEIGHTED = Row("unweighted", "unweighted", "vae_npbcl", IMAGE_PRESETS["unweighted"])
PRINTED_ROWS = (
    *BASELINES,
    *VCL_CHANGED,
    AS_PRINTED,
    PRINTED_LONGER,
    UNWEIGHTED,
    Row("weights-1", "ours, weights' divergence 1", "vae_npbcl", {"weight_kl_weight": 1.0}),
    Row("not-held", "ours, used weights not held", "vae_npbcl", {"hold_used": False}),
    OURS,
)
# The networks of the digits: the defaults of all settings that the experiment with five letters
# changes.
LARGE = {
    name: keys("vae_npbcl")[name].default for name in PRESETS["vae-glyphs"].methods["vae_npbcl"]
}
# All methods that learn images, and ours with other settings. Five letters take minutes.
LETTER_ROWS = (
    Row("naive", "naive", "vae_naive"),
    Row("ewc", "EWC", "vae_ewc"),
    *(
        Row(f"ewc-{decay}", f"EWC, decay {decay}", "vae_ewc", {"decay": decay})
        for decay in (0.9, 0.5)
    ),
    Row("si", "SI", "vae_si"),
    Row("imm", "IMM (mode)", "vae_imm"),
    Row("laplace", "online Laplace", "vae_laplace"),
    Row("vcl", "VCL", "vae_vcl"),
    *VCL_CHANGED,
    *(
        Row(f"{key}-large", f"{label}, large", "vae_npbcl", {**LARGE, **IMAGE_PRESETS[key]})
        for key, label in (("paper", AS_PRINTED.label), ("unweighted", "unweighted"))
    ),
    AS_PRINTED,
    UNWEIGHTED,
    OURS,
)


def without_longer(rows, quick):
    """Return the rows for a quick or a full run: a quick one leaves out the row of 100 epochs.

    Parameters
    ----------
    rows : sequence of ibpcl.experiments.benchmarks.Row
        All rows.
    quick : bool
        Whether the run is a quick one.

    Returns
    -------
    rows : tuple of ibpcl.experiments.benchmarks.Row
    """
    return tuple(row for row in rows if row != PRINTED_LONGER or not quick)


def generative_rows(quick):
    """Return the rows of all targets except ``generative``, which share their runs.

    Parameters
    ----------
    quick : bool
        Whether the run is a quick one.

    Returns
    -------
    rows : tuple of ibpcl.experiments.benchmarks.Row
    """
    return without_longer(GENERATIVE_ROWS, quick)


@target(BOTH, generative_rows, family="vae")
def likelihood(results):
    """Compare the log-likelihood of each task's test images after every task."""
    tables = []
    drawn = {}
    for b in results.benchmarks:
        rows = results.rows_on(b)
        entries = (
            results.entry(row, b, number, column, unit)
            for row in rows
            for column, number, unit in IN_THE_END
        )
        in_the_end = Table(
            f"{b.label}: test images in the end, nats per image, mean over tasks", tuple(entries)
        )
        compared = paired.reference(rows)
        title = f"{b.label}: difference from {compared}, nats per image"
        tables += [in_the_end, *paired.differences(in_the_end, compared, title)]
        tables += [
            Table(
                f"{b.label}, {row.label}: log p(x), nats per image",
                tuple(_task_entries(results, row, b)),
            )
            for row in rows
        ]
        drawn[f"likelihood_{b.name}"] = _means(
            {row.label: _matrices(results, row, b) for row in rows}, b.label
        )
        drawn[f"tasks_{b.name}"] = _tasks(
            {row.label: _matrices(results, row, b) for row in rows},
            results.first(b).values["tasks"],
        )
    errors = ", ".join(
        sorted({f"{m.values['average_standard_error']:.1f}" for m in results.measured})
    )
    samples, few = (
        sorted({m.values[name] for m in results.measured})
        for name in ("final_samples", "likelihood_samples")
    )
    return Summary(
        tuple(tables),
        (
            f"log p(x): importance sampling with {', '.join(map(str, samples))} samples per image, "
            "which are worth as many equal samples as `worth` says (median). It is too low on "
            "average, by more if the samples are worth less. Its standard error over test images "
            f"is {errors}. Change: difference from right after a task was learned, mean over "
            "earlier tasks and later moments. Reconstruction: the score that the paper's released "
            "code calls a log-likelihood; it does not count the cost of the codes. Single tasks: "
            f"{', '.join(map(str, few))} samples per image.",
            f"The paper's figures have no numbers; its statement, {paper.CLAIMS['likelihood']}.",
            "Bernoulli likelihoods of grey pixels are not densities of images. They can only "
            "compare models of the same images.",
        ),
        drawn,
    )


@target(BOTH, lambda quick: without_longer(PRINTED_ROWS, quick), family="vae")
def as_printed(results):
    """Compare the printed settings with the defaults: likelihoods, weights in use, k-NN errors."""
    tables = []
    drawn = {}
    for b in results.benchmarks:
        tables.append(
            Table(f"{b.label}: test images in the end", tuple(_end_and_use_entries(results, b)))
        )
        tables.append(_beside_printed(results, b))
        tables += [
            Table(
                f"{b.label}: k-NN error, {way}, {label}, percent",
                tuple(_knn_entries(results, b, kind, (way,))),
            )
            for way in codes.WAYS
            for kind, label in CODES
        ]
        drawn |= {
            f"samples_{b.name}": _pictures(results.of(row, b)[0])[0]
            for row in results.rows_on(b)
            if row.key == "paper"
        }
    return Summary(
        tuple(tables),
        (
            "Columns are those of the target likelihood. For NPBCL there are also the share of the "
            "masked weights that a task uses, and the part of it that one earlier task uses as "
            "well, in percent. The choices of encoder for k-NN are those of the target knn.",
            f"{TABLE_OF_PAPER} The paper's numbers: {paper.KNN_PLACE}.",
        ),
        drawn,
    )


@target(("vae-glyphs",), lambda quick: LETTER_ROWS, family="vae")
def letters(results):
    """Compare all methods that learn images, and settings of NPBCL, on five drawn letters."""
    tables = []
    for b in results.benchmarks:
        tables += [
            Table(f"{b.label}: test images in the end", tuple(_end_and_use_entries(results, b))),
            Table(
                f"{b.label}: 3-NN error, mean codes, percent",
                tuple(
                    results.entry(row, b, lambda m, way=way: _error(m, way), way, PERCENT)
                    for row in results.rows_on(b)
                    for way in codes.WAYS
                ),
            ),
        ]
    return Summary(
        tuple(tables),
        (
            "Columns are those of the targets generative and knn. Rows named large have the "
            "networks of the digits, and their other defaults; the other rows have the defaults "
            "of vae-glyphs.",
        ),
        {},
    )


def _error(m, way, neighbours=3):
    """Return the k-NN error of the mean codes with a choice of encoder, in percent."""
    knn = m.values["knn"]
    return 100 * knn[way]["means"][knn["neighbours"].index(neighbours)]


def _end_and_use_entries(results, b):
    """Yield the entries of a table of test images in the end; NPBCL have the weights in use too."""
    for row in results.rows_on(b):
        yield from (
            results.entry(row, b, number, column, unit) for column, number, unit in IN_THE_END
        )
        if row.method == "vae_npbcl":
            yield results.entry(row, b, lambda m: measures.used_by_task(m).mean(), "used", SHARE)
            yield results.entry(row, b, measures.pairwise_sharing, "shared", SHARE)


@target(BOTH, generative_rows, family="vae")
def neighbours(results):
    """Compare k-NN errors of the codes with three choices of encoder."""
    tables = []
    axes = pictures.panels(len(results.benchmarks), width=110, height=70)
    for ax, b in zip(axes, results.benchmarks, strict=True):
        tables.append(_beside_printed(results, b))
        for kind, label in CODES:
            tables.append(
                Table(
                    f"{b.label}: k-NN error, {label}, percent",
                    tuple(_knn_entries(results, b, kind)),
                )
            )
        tables.append(
            Table(
                f"{b.label}: what gives the class away, percent", tuple(_leak_entries(results, b))
            )
        )
        rows = results.rows_on(b)
        drawn = OURS if OURS in rows else rows[-1]
        run_figures.few_labels(results.of(drawn, b)[0].values["few_labels"], ax)
        ax.set_title(f"{b.label}, {drawn.label}", fontsize=canvas.LABEL, color=canvas.INK)
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            "Encoder of a test image: oracle, the encoder (or mask) of its true class, as in "
            "the paper's released code; inferred, the encoder of the class under which the image "
            "is most probable; common, the last task's encoder for all images. Only the last two "
            "can be used if the class of an image is unknown.",
            "Same images: the error of recognizing the encoder from the code when images of the "
            "first class are encoded by every encoder. Near 0, a code reveals its encoder, "
            "whatever the image shows; chance is 1 - 1/T.",
            f"{TABLE_OF_PAPER} The paper's numbers: {paper.KNN_PLACE}.",
        ),
        {"few_labels": axes},
    )


@target(BOTH, generative_rows, family="vae")
def samples(results):
    """Show samples of each task's prior, and reconstructions, after every task."""
    entries = []
    drawn = {}
    for b in results.benchmarks:
        for row in results.rows_on(b):
            entries.append(
                results.entry(row, b, lambda m: m.values["average_reconstruction"], b.label, NATS)
            )
            drawn |= dict(
                zip(
                    (f"samples_{b.name}_{row.key}", f"reconstructions_{b.name}_{row.key}"),
                    _pictures(results.of(row, b)[0]),
                    strict=True,
                )
            )
    return Summary(
        (
            Table(
                "Reconstruction score in the end, nats per image, mean over tasks", tuple(entries)
            ),
        ),
        (
            "Samples are mean images at codes drawn from each task's prior, with the same codes "
            "in every row. (The paper's released code draws around the mean code of the test "
            "images instead.)",
            f"The paper's statement, {paper.CLAIMS['samples']}.",
        ),
        drawn,
    )


def _pictures(m):
    """Return two figures of a cell: samples of the tasks' priors, and reconstructions."""
    arrays = checkpoints.read_npz(m.cell.folder / IMAGES)
    names = m.values["tasks"]
    shape = measures.image_shape(m)
    return run_figures.samples(arrays, names, shape), run_figures.reconstructions(
        arrays, names, shape
    )


def mapped_rows(quick):
    """Return the rows of which maps can be drawn.

    Parameters
    ----------
    quick : bool
        Whether the run is a quick one.

    Returns
    -------
    rows : tuple of ibpcl.experiments.benchmarks.Row

    Raises
    ------
    UserError
        If scikit-learn is missing.
    """
    codes.require_tsne()
    return generative_rows(quick)


# The paper shows VCL and ours.
@target(BOTH, mapped_rows, family="vae", shown=("vcl", "npbcl"))
def maps(results):
    """Draw three maps of the first seed's codes for each row and benchmark."""
    entries = []
    drawn = {}
    for b in results.benchmarks:
        for row in results.rows_on(b):
            first = results.of(row, b)[0]
            names, images, codes_by_way = coded(first)
            maps = {
                run_figures.ENCODERS[way]: codes.tsne(points, first.cell.seed)
                for way, points in codes_by_way.items()
            }
            drawn[f"tsne_{b.name}_{row.key}"] = figures.code_maps(maps, images.test_labels, names)
            entries += [
                Entry(f"{row.label}, {way}", b.label, (100 * error,))
                for way in codes.WAYS
                for error in first.values["knn"][way]["means"][:1]
            ]
    return Summary(
        (Table("3-NN error of the codes themselves, mean codes, percent", tuple(entries)),),
        (
            "Each point is the mean code of a test image. Groups that only appear with the encoder "
            "of the true class are groups of encoders, not of images.",
            f"The paper's statement, {paper.CLAIMS['tsne']}.",
        ),
        drawn,
    )


def coded(m):
    """Return the classes of a cell, its images, and the codes of its test images.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    names : sequence of str
        The classes.
    images : ibpcl.experiments.generative.Labelled
        Training and test images with labels.
    codes : dict
        The codes of the test images for each choice of encoder.
    """
    config = m.cell.config
    learner = findings.learner(m)
    stream = make_stream(m.cell.config)
    models = [learner.latent_model(t) for t in range(len(stream))]
    images = labelled(stream, config.measurement)
    results = {}
    for way in codes.WAYS:
        tasks = codes.choose_tasks(
            way,
            models,
            images.x_test,
            images.test_labels,
            config.measurement.inference_samples,
            config.seed,
        )
        results[way] = codes.encode(models, images.x_test, tasks)
    return m.values["tasks"], images, results


def _printed_error(row, b, neighbours):
    """Return the k-NN error that the paper prints for a row; all rows of NPBCL have the same."""
    key = OURS.key if row in (AS_PRINTED, PRINTED_LONGER) else row.key
    return paper.knn(key, b.name, neighbours)


def _beside_printed(results, b):
    """Return the paper's table of k-NN errors: our numbers, and the printed ones beside them."""
    first = results.first(b).values["knn"]["neighbours"]
    places = sorted((k, i) for i, k in enumerate(first) if k in paper.KNN_NEIGHBOURS)
    entries = []
    for row in results.rows_on(b):
        for k, i in places:
            values = tuple(
                100 * m.values["knn"]["oracle"]["samples"][i] for m in results.of(row, b)
            )
            entries.append(Entry(row.label, f"{k}-NN", values))
            printed = _printed_error(row, b, k)
            if printed is not None:
                entries.append(Entry(row.label, f"{k}-NN paper", (printed.value,), PRINTED_PERCENT))
    return Table(
        f"{b.label}: k-NN error as in the paper's table, percent", tuple(entries), "method"
    )


def _knn_entries(results, b, kind, ways=codes.WAYS):
    first = results.first(b).values["knn"]
    places = sorted((k, i) for i, k in enumerate(first["neighbours"]))
    for row in results.rows_on(b):
        for way in ways:
            for k, i in places:
                printed = _printed_error(row, b, k) if way == "oracle" else None
                values = tuple(100 * m.values["knn"][way][kind][i] for m in results.of(row, b))
                yield Entry(f"{row.label}, {way}", f"{k}-NN", values, PERCENT, printed)
    for k, i in places:
        # The same for every seed and row: the images alone decide.
        seeds = tuple(sorted({m.cell.seed for m in results.measured if m.cell.benchmark == b}))
        yield Entry("pixels", f"{k}-NN", (100 * first["pixels"][i],) * len(seeds), seeds=seeds)


def _leak_entries(results, b):
    for row in results.rows_on(b):
        knn = results.first(b).values["knn"]
        # Otherwise there are too few images for three neighbours.
        if len(knn["mask_leak"]) > 1:
            yield results.entry(
                row,
                b,
                lambda m: 100 * m.values["knn"]["mask_leak"][0],
                f"same images, {knn['neighbours'][0]}-NN",
            )
        yield results.entry(
            row, b, lambda m: 100 * m.values["knn"]["task_inference"], "class not inferred"
        )


def _task_entries(results, row, b):
    matrices = _matrices(results, row, b)
    for j, name in enumerate(results.first(b).values["tasks"]):
        yield Entry(name, "after its task", tuple(matrices[:, j, j]), NATS)
        yield Entry(name, "in the end", tuple(matrices[:, -1, j]), NATS)


def _matrices(results, row, b):
    return np.array([m.values["log_likelihood_matrix"] for m in results.of(row, b)], float)


def _means(matrices, title):
    """Draw the mean log-likelihood of the tasks so far, with a band over seeds."""
    ax = canvas.new_axes(width=110, height=66)
    lines = {
        name: np.array([[one[t, : t + 1].mean() for t in range(len(one))] for one in R])
        for name, R in matrices.items()
    }
    tasks = max(R.shape[-1] for R in matrices.values())
    pictures.bands(
        lines,
        ax,
        list(range(1, tasks + 1)),
        "tasks learned",
        "mean log-likelihood so far\n(nats per image)",
        title,
        percent=False,
    )
    canvas.legend(ax)
    return ax


def _tasks(matrices, names):
    """Draw each task's log-likelihood since it was learned: one panel per task."""
    axes = pictures.panels(len(names), width=42, height=38, columns=5)
    for j, (ax, name) in enumerate(zip(axes, names, strict=True)):
        last_row = j + 5 >= len(names)
        first_column = j % 5 == 0
        pictures.bands(
            {method: R[:, j:, j] for method, R in matrices.items()},
            ax,
            list(range(1, len(names) + 1)),
            "tasks learned" if last_row else None,
            "nats per image" if first_column else None,
            name,
            percent=False,
        )
    pictures.one_legend(axes)
    return axes
