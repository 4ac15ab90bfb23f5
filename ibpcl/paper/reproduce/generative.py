"""Targets about generative models: likelihoods over time, codes as a representation, samples."""

import numpy as np

from ibpcl import checkpoints
from ibpcl.evaluation import codes, figures
from ibpcl.evaluation.figures import canvas
from ibpcl.experiments import findings, run_figures
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.folder import IMAGES
from ibpcl.experiments.generative import labelled
from ibpcl.experiments.streams import make_stream
from ibpcl.experiments.tables import NATS, NUMBER, PERCENT, SHARE, Entry, Table
from ibpcl.methods.npbcl_settings import IMAGE_PRESETS
from ibpcl.paper import numbers as paper
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import GENERATIVE_ROWS, target

BOTH = ("vae-mnist", "vae-notmnist")
IN_THE_END = (  # a column, its number, and its unit
    ("log p(x)", lambda m: m.values["average_log_likelihood"], NATS),
    ("change", lambda m: m.values["backward_transfer"], NATS),
    ("worth", lambda m: np.median(m.values["final"]["effective_samples"]), NUMBER),
    ("reconstruction", lambda m: m.values["average_reconstruction"], NATS),
)
CODES = (("samples", "sampled codes"), ("means", "mean codes"))
# The printed settings and ours, what lies between them alone, and VCL with its own rates and with
# ours.
PRINTED_ROWS = (
    *GENERATIVE_ROWS[:-1],
    Row("vcl-0.001", "VCL, divergence 0.001", "vae_vcl", {"weight_kl_weight": 0.001}),
    Row(
        "vcl-schedule",
        "the same, our rates",
        "vae_vcl",
        {"weight_kl_weight": 0.001, "rate": 0.01, "warm_up": 0.3},
    ),
    Row("paper", "as printed", "vae_npbcl", IMAGE_PRESETS["paper"]),
    Row("unweighted", "unweighted", "vae_npbcl", IMAGE_PRESETS["unweighted"]),
    Row("weights-1", "ours, weights' divergence 1", "vae_npbcl", {"weight_kl_weight": 1.0}),
    Row("not-held", "ours, used weights not held", "vae_npbcl", {"hold_used": False}),
    GENERATIVE_ROWS[-1],
)


@target(BOTH, lambda quick: GENERATIVE_ROWS, family="vae")
def likelihood(results):
    """Compare how probable the test images of every task are, after every task."""
    tables = []
    drawn = {}
    for b in results.benchmarks:
        rows = results.rows_on(b)
        entries = (
            results.entry(row, b, number, column, unit)
            for row in rows
            for column, number, unit in IN_THE_END
        )
        tables.append(
            Table(
                f"{b.label}: test images in the end, nats per image, mean over tasks",
                tuple(entries),
            )
        )
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
            f"log p(x): importance sampling, {', '.join(map(str, samples))} samples an image, as "
            "many as `worth` equal ones (median); too low on average, the more so the less they "
            f"are worth. Its standard error over test images is {errors}. Change: mean over "
            "earlier tasks and later moments of the difference from right after a task was "
            "learned. Reconstruction: what the paper's released code calls a log-likelihood; it "
            f"pays nothing for the codes. Of single tasks: {', '.join(map(str, few))} samples an "
            "image.",
            f"The paper's figures have no numbers; its statement, {paper.CLAIMS['likelihood']}.",
            "Bernoulli likelihoods of grey pixels are not densities of images: they compare "
            "models of the same images, and nothing else.",
        ),
        drawn,
    )


@target(BOTH, lambda quick: PRINTED_ROWS, family="vae")
def as_printed(results):
    """Compare the printed settings with ours: how probable test images are, what is used, and whose
    the codes are.
    """
    tables = []
    drawn = {}
    for b in results.benchmarks:
        entries = []
        for row in results.rows_on(b):
            entries += [
                results.entry(row, b, number, column, unit) for column, number, unit in IN_THE_END
            ]
            if row.method == "vae_npbcl":
                entries += [
                    results.entry(row, b, lambda m: measures.used_by_task(m).mean(), "used", SHARE),
                    results.entry(row, b, measures.pairwise_sharing, "shared", SHARE),
                ]
        tables.append(Table(f"{b.label}: test images in the end", tuple(entries)))
        tables += [
            Table(
                f"{b.label}: k-NN error, {way}, {words}, percent",
                tuple(_knn_entries(results, b, kind, (way,))),
            )
            for way in codes.WAYS
            for kind, words in CODES
        ]
        drawn |= {
            f"samples_{b.name}": _pictures(results.of(row, b)[0])[0]
            for row in results.rows_on(b)
            if row.key == "paper"
        }
    return Summary(
        tuple(tables),
        (
            "Columns as of the target likelihood; and of NPBCL how much of the masked weights a "
            "task uses, and how much of that one earlier task uses too, percent. k-NN: who "
            "encodes a test image as of the target knn.",
            f"The paper's k-NN errors, beside the oracle's: {paper.KNN_PLACE}.",
        ),
        drawn,
    )


@target(BOTH, lambda quick: GENERATIVE_ROWS, family="vae")
def neighbours(results):
    """Compare how well the neighbours of a code tell its class."""
    tables = []
    axes = pictures.panels(len(results.benchmarks), width=110, height=70)
    for ax, b in zip(axes, results.benchmarks, strict=True):
        for kind, words in CODES:
            tables.append(
                Table(
                    f"{b.label}: k-NN error, {words}, percent",
                    tuple(_knn_entries(results, b, kind)),
                )
            )
        tables.append(
            Table(
                f"{b.label}: what gives the class away, percent", tuple(_leak_entries(results, b))
            )
        )
        last = results.rows_on(b)[-1]  # ours, if it was measured
        run_figures.few_labels(results.of(last, b)[0].values["few_labels"], ax)
        ax.set_title(f"{b.label}, {last.label}", fontsize=canvas.LABEL, color=canvas.INK)
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            "Who encodes a test image: oracle, the encoder (or mask) of its true class, as in "
            "the paper's released code; inferred, that of the class under which the image is "
            "most probable; common, that of the last task for all. Only the last two could be "
            "used on an image whose class is not known.",
            "Same images: images of the first class pushed through every encoder; the error of "
            "telling from the code which encoder it was. Near 0 the code shows its encoder "
            "whatever the image shows; chance is 1 - 1/T.",
            f"The paper's place: {paper.KNN_PLACE}.",
        ),
        {"few_labels": axes},
    )


@target(BOTH, lambda quick: GENERATIVE_ROWS, family="vae")
def samples(results):
    """Show what is drawn from each task's prior, and reconstructed, after every task."""
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
            "Samples are mean images at codes drawn from each task's prior, the same codes in "
            "every row. (The pictures of the paper's released code are drawn around the mean "
            "code of the test images instead.)",
            f"The paper's statement, {paper.CLAIMS['samples']}.",
        ),
        drawn,
    )


def _pictures(m):
    """Return what a cell's tasks look like: samples of their priors, and reconstructions."""
    arrays = checkpoints.read_npz(m.cell.folder / IMAGES)
    names = m.values["tasks"]
    shape = measures.image_shape(m)
    return run_figures.samples(arrays, names, shape), run_figures.reconstructions(
        arrays, names, shape
    )


def drawn_rows(quick):
    """Return ours, and VCL, which the paper draws too; this is refused where scikit-learn is
    missing.
    """
    codes.require_tsne()
    return tuple(row for row in GENERATIVE_ROWS if row.key in ("vcl", "npbcl"))


@target(BOTH, drawn_rows, family="vae")
def maps(results):
    """Draw three maps of the codes for each row and benchmark, of the first seed."""
    entries = []
    drawn = {}
    for b in results.benchmarks:
        for row in results.rows_on(b):
            first = results.of(row, b)[0]
            names, images, found_codes = coded(first)
            maps = {
                run_figures.ENCODERS[way]: codes.tsne(points, first.cell.seed)
                for way, points in found_codes.items()
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
            "Each point is the mean code of a test image. Groups that appear with the encoder of "
            "the true class alone are groups of encoders, not of images.",
            f"The paper's statement, {paper.CLAIMS['tsne']}.",
        ),
        drawn,
    )


def coded(m):
    """Return the names of a cell's classes, its images, and the codes of its test images, encoded
    in three ways.
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


def _knn_entries(results, b, kind, ways=codes.WAYS):
    first = results.first(b).values["knn"]
    places = sorted((k, i) for i, k in enumerate(first["neighbours"]))
    for row in results.rows_on(b):
        for way in ways:
            for k, i in places:
                printed = paper.knn(row.key, b.name, k) if way == "oracle" else None
                values = tuple(100 * m.values["knn"][way][kind][i] for m in results.of(row, b))
                yield Entry(f"{row.label}, {way}", f"{k}-NN", values, PERCENT, printed)
    for k, i in places:
        yield Entry("pixels", f"{k}-NN", (100 * first["pixels"][i],))


def _leak_entries(results, b):
    for row in results.rows_on(b):
        knn = results.first(b).values["knn"]
        # else there are too few images for three
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
    """Draw the mean log-likelihood of the tasks so far, a line per method with a band over
    seeds.
    """
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
    """Draw the log-likelihood of each task from when it was learned on, a panel per task, a line
    per method.
    """
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
