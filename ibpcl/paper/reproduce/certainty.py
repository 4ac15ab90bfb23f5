"""Targets about uncertainty: calibration, inference of an example's task, links of likelihoods."""

from functools import wraps
from typing import NamedTuple

import numpy as np

from ibpcl.evaluation import codes, confidence, figures
from ibpcl.evaluation.confidence import RULES
from ibpcl.evaluation.figures import canvas
from ibpcl.experiments import findings
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary, learner
from ibpcl.experiments.streams import groups_of, make_stream
from ibpcl.experiments.tables import (
    FRACTION,
    NATS_PER_EXAMPLE,
    PERCENT,
    SCORE,
    Entry,
    Table,
)
from ibpcl.methods import GENERATIVE
from ibpcl.models.likelihoods import Classes, mean_over_samples
from ibpcl.numerics import logsumexp
from ibpcl.paper.reproduce import pictures
from ibpcl.paper.reproduce.rows import OTHERS, OURS, REFERENCE, target

SPLIT = ("split-mnist", "split-fashion-mnist")
ROWS = (OURS, next(row for row in OTHERS if row.key == "vcl"), REFERENCE)
LINKS_CLAIM = (
    'Sec. 3.2: for classification, the likelihood "can be Bernoulli with a probit or logistic link"'
)
# Ours with each likelihood of two classes (Sec. 3.2); the first is the default.
LINKS = tuple(
    Row(f"npbcl-{link}", f"ours, {link}", "npbcl", {"likelihood": link})
    for link in ("softmax", "logistic", "probit")
)
# A prediction with a larger probability is called sure.
SURE = 0.95
# All classes, one after another.
IMAGES = Row("generative", "p(x | task)", "vae_npbcl", {"tasks": 10})
BY_IMAGES = ("p(x | task), our head", "p(x | class) alone")


class Predicted(NamedTuple):
    """The predictions of each task's head for the test examples of all tasks.

    Attributes
    ----------
    heads : tuple of Classes
        The predictions of each task's head for all N examples.
    tasks, labels : ndarray, shape (N,)
        The true task and the true label in that task.
    rules : tuple of str
        The rules by which a task can be inferred from the predictions.
    names : tuple of str
        The names of the tasks.
    """

    heads: tuple[Classes, ...]
    tasks: np.ndarray
    labels: np.ndarray
    rules: tuple[str, ...]
    names: tuple[str, ...]

    def own(self):
        """Return each head's probabilities for its own task's examples, with their labels."""
        return [
            (head.probabilities[self.tasks == t], self.labels[self.tasks == t])
            for t, head in enumerate(self.heads)
        ]


def predicted(m):
    """Return the :class:`Predicted` of a cell for all test examples, at the end of the stream.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    predicted : Predicted
    """
    learned = learner(m)
    stream = make_stream(m.cell.config)
    tests = [(stream[t].x_test, stream[t].y_test) for t in range(len(stream))]
    x, labels = (np.concatenate(arrays) for arrays in zip(*tests, strict=True))
    tasks = np.repeat(np.arange(len(tests)), [len(labels) for _, labels in tests])
    if hasattr(learned, "predict_with_uncertainty"):
        heads = [learned.predict_with_uncertainty(x, t) for t in range(len(tests))]
        rules = RULES
    else:
        # Only the mean is known, so no uncertainty can be attributed to the weights.
        means = [
            np.maximum(learned.predict(x, t), np.finfo(np.float32).tiny) for t in range(len(tests))
        ]
        heads = [mean_over_samples(np.log(mean)[None]) for mean in means]
        rules = RULES[:2]
    return Predicted(tuple(heads), tasks, labels, rules, tuple(m.values["tasks"]))


def inferred(results, chosen):
    """Return the accuracy of chosen tasks, and of the classes that their heads predict.

    Parameters
    ----------
    results : Predicted
    chosen : ndarray of int, shape (N,)
        The chosen task of each example.

    Returns
    -------
    task, label : float
        Percent of the examples whose task is right, and whose task and class are right.
    """
    of_task = results.tasks == chosen
    right = of_task & (confidence.classes_by_task(results.heads, chosen) == results.labels)
    return 100 * float(of_task.mean()), 100 * float(right.mean())


def by_images(m, results, stream, pairs):
    """Return task and class accuracy when a generative model infers the task.

    The model of each class gives log p(x | class); the density of a task is the mean of the
    densities of its two classes.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        The cell of the generative model.
    results : Predicted
        The predictions of the supervised heads.
    stream : sequence of Task
        The tasks of ``results``.
    pairs : sequence of (int, int)
        The classes of each task, as the generative model numbers them.

    Returns
    -------
    with_heads, alone : tuple of float
        Task and class accuracy in percent: with the class of the supervised head, and with the most
        probable class.
    """
    config = m.cell.config
    learned = learner(m)
    x = np.concatenate([stream[t].x_test for t in range(len(stream))])
    models = [learned.latent_model(label) for pair in pairs for label in pair]
    scores = codes.task_scores(models, x, config.measurement.inference_samples, config.seed)
    best = scores.argmax(axis=1)
    truth = np.array(pairs)[results.tasks, results.labels]
    tasks = logsumexp(scores.reshape(len(x), len(pairs), 2), axis=2).argmax(axis=1)
    alone = 100 * float((best // 2 == results.tasks).mean()), 100 * float((best == truth).mean())
    return inferred(results, tasks), alone


def remembered(measure):
    """Return a measure that is computed once per cell, because every table so far repeats it.

    Parameters
    ----------
    measure : callable
        ``measure(*cells)`` returns a result of :class:`ibpcl.experiments.cells.Measured` cells.

    Returns
    -------
    measure : callable
        With the same arguments and the same results.
    """
    known = {}

    @wraps(measure)
    def of(*measured):
        key = tuple(m.cell.folder for m in measured)
        if key not in known:
            known[key] = measure(*measured)
        return known[key]

    return of


@remembered
def _with_heads(m, ours):
    config = ours.cell.config
    return by_images(m, predicted(ours), make_stream(config), groups_of(config))


@target(SPLIT, lambda quick: (*ROWS, IMAGES))
def without_task_names(results):
    """Compare ways to infer the task of a test image, by task and class accuracy."""
    tables = []
    benchmarks = [b for b in results.benchmarks if b.family == "task"]
    for b in benchmarks:
        entries = []
        for row in (row for row in results.rows_on(b) if row.method not in GENERATIVE):
            of_seeds = [predicted(m) for m in results.of(row, b)]
            entries += _both(
                f"{row.label}, told the task", [inferred(each, each.tasks) for each in of_seeds]
            )
            for rule in of_seeds[0].rules:
                entries += _both(
                    f"{row.label}, {rule}",
                    [inferred(each, confidence.infer_tasks(each.heads, rule)) for each in of_seeds],
                )
        for label, pairs in by_image_models(results, b):
            entries += _both(label, pairs)
        tables.append(Table(f"{b.label}: of all test images, percent", tuple(entries)))
    axes = pictures.panels(len(tables), height=22 + 3 * max(len(table.entries) for table in tables))
    for ax, b, table in zip(axes, benchmarks, tables, strict=True):
        pictures.compare([entry for entry in table.entries if entry.column == "class"], ax, b.label)
    return Summary(
        tuple(tables),
        (
            "Task: the share of the images whose task is inferred correctly. Class: the share "
            "whose class is then predicted correctly as well. Chance levels are 1 / number of "
            "tasks and 1 / number of classes.",
            "Entropy and confidence: the head with the smallest entropy of its mean prediction, "
            "or with the largest probability; with two classes both choose the same head. Mutual "
            "information: the head whose prediction depends least on which weights are drawn.",
            "p(x | task): the generative model of the same images, one class after another "
            "(`ibpcl reproduce knn`). It chooses the task whose two classes make the image most "
            "probable, with the class of NPBCL's head, or simply the most probable class.",
        ),
        {"class": axes},
    )


def _both(label, pairs):
    return [
        Entry(label, name, values)
        for name, values in zip(("task", "class"), zip(*pairs, strict=True), strict=True)
    ]


def by_image_models(results, b):
    """Return the accuracies when generative models of the same images infer the task.

    Parameters
    ----------
    results : ibpcl.experiments.findings.Results
        They include cells of the row :data:`IMAGES`, and of ours on ``b``.
    b : Benchmark
        A benchmark with one head per task.

    Returns
    -------
    rows : list of (str, tuple of (float, float))
        The label of each row in :data:`BY_IMAGES`, and task and class accuracy for each seed that
        both have; empty without such cells.
    """
    ours = {m.cell.seed: m for m in results.of(OURS, b)}
    cells = [
        m
        for m in results.measured
        if m.cell.row.key == IMAGES.key
        and m.cell.seed in ours
        and m.cell.config.dataset == ours[m.cell.seed].cell.config.dataset
    ]
    values = [_with_heads(m, ours[m.cell.seed]) for m in cells]
    return list(zip(BY_IMAGES, zip(*values, strict=True), strict=False))


@target(SPLIT, lambda quick: ROWS)
def calibration(results):
    """Compare calibration, and how well uncertainty detects images of other tasks."""
    tables = []
    drawn = {}
    for b in results.benchmarks:
        means = []
        tasks = []
        areas = []
        axes = pictures.panels(len(results.rows_on(b)), width=70, height=70, columns=3)
        for ax, row in zip(axes, results.rows_on(b), strict=True):
            of_seeds = [predicted(m) for m in results.of(row, b)]
            errors = np.array(
                [
                    [100 * confidence.expected_calibration_error(*own) for own in each.own()]
                    for each in of_seeds
                ]
            )
            scores = np.array(
                [[confidence.brier_score(*own) for own in each.own()] for each in of_seeds]
            )
            means += [
                Entry(row.label, "ECE", tuple(errors.mean(axis=1))),
                Entry(row.label, "largest ECE", tuple(errors.max(axis=1))),
                Entry(row.label, "Brier", tuple(scores.mean(axis=1)), SCORE),
                *(
                    Entry(row.label, f"sure, {whose}", values)
                    for whose, values in zip(
                        ("own", "others"), zip(*map(sure, of_seeds), strict=True), strict=True
                    )
                ),
            ]
            tasks += [
                Entry(row.label, name, tuple(errors[:, t]))
                for t, name in enumerate(of_seeds[0].names)
            ]
            for rule in of_seeds[0].rules:
                by_kind = zip(*(out_of_task(each, rule) for each in of_seeds), strict=True)
                areas += [
                    Entry(f"{row.label}, {rule}", when, values, FRACTION)
                    for when, values in zip(("all", "earlier", "later"), by_kind, strict=True)
                ]
            figures.class_reliability(
                [confidence.reliability_bins(*own) for own in of_seeds[0].own()],
                of_seeds[0].names,
                ax,
            )
            ax.set_title(row.label, fontsize=canvas.LABEL, color=canvas.INK)
        pictures.one_legend(axes)
        drawn[f"reliability_{b.name}"] = axes
        tables += [
            Table(
                f"{b.label}: calibration on each task's own test images, mean over tasks",
                tuple(means),
            ),
            Table(f"{b.label}: expected calibration error of each task, percent", tuple(tasks)),
            Table(
                f"{b.label}: AUROC of doubt, images of other tasks against own ones", tuple(areas)
            ),
        ]
    return Summary(
        tuple(tables),
        (
            f"ECE: expected calibration error, {confidence.BINS} bins of equal width, percent. "
            "Brier: mean squared distance from the right answer, 0 to 2. Both use each task's own "
            "head. Sure: the share of images whose predicted class has a probability above "
            f"{SURE}, for a head's own task and for all others, percent.",
            "AUROC: the probability that a head is less certain about an image of another task "
            "than about one of its own task, averaged over all pairs of a head and another task; "
            "0.5 is chance. Earlier and later: images of tasks learned before and after the "
            "head's task. All at the end of the stream.",
            "The figures show the first seed; larger markers stand for bins with more examples.",
        ),
        drawn,
    )


@target(("split-mnist",), lambda quick: LINKS)
def links(results):
    """Compare the likelihoods of two classes: softmax, logistic and probit."""
    tables = []
    drawn = {}
    for b in results.benchmarks:
        entries = []
        rows = results.rows_on(b)
        axes = pictures.panels(len(rows), width=70, height=70, columns=3)
        for ax, row in zip(axes, rows, strict=True):
            of_seeds = [predicted(m).own() for m in results.of(row, b)]
            entries.append(results.entry(row, b, findings.final_accuracy, "accuracy"))
            entries += [
                Entry(
                    row.label,
                    column,
                    tuple(
                        scale * float(np.mean([score(*own) for own in each])) for each in of_seeds
                    ),
                    unit,
                )
                for column, score, scale, unit in QUALITIES
            ]
            figures.class_reliability(
                [confidence.reliability_bins(*own) for own in of_seeds[0]],
                results.first(b).values["tasks"],
                ax,
            )
            ax.set_title(row.label, fontsize=canvas.LABEL, color=canvas.INK)
        pictures.one_legend(axes)
        drawn[f"reliability_{b.name}"] = axes
        tables.append(
            Table(
                f"{b.label}: each task's own test images in the end, mean over tasks",
                tuple(entries),
            )
        )
    return Summary(
        tuple(tables),
        (
            f"The paper's statement, {LINKS_CLAIM}. It does not state the likelihood of its "
            "experiments. The default is a softmax with two outputs; the other two have one.",
            "Accuracy in percent. ECE: expected calibration error, percent, with "
            f"{confidence.BINS} bins of equal width. Brier: mean squared distance from the right "
            "answer, 0 to 2. NLL: mean negative log probability of the true class, nats per "
            "example.",
            "The figures show the first seed; larger markers stand for bins with more examples.",
        ),
        drawn,
    )


# Columns: name, function of probabilities and labels, factor, unit.
QUALITIES = (
    ("ECE", confidence.expected_calibration_error, 100, PERCENT),
    ("Brier", confidence.brier_score, 1, SCORE),
    ("NLL", confidence.negative_log_likelihood, 1, NATS_PER_EXAMPLE),
)


def sure(results):
    """Return the share of predictions with a probability above ``SURE``, in percent.

    Parameters
    ----------
    results : Predicted

    Returns
    -------
    own, others : float
        For images of the head's own task, and for images of other tasks.
    """
    confidences = np.stack([head.probabilities.max(axis=1) for head in results.heads])
    own = results.tasks == np.arange(len(results.heads))[:, None]
    return tuple(100 * float((confidences[those] > SURE).mean()) for those in (own, ~own))


def out_of_task(results, rule):
    """Return the area under the ROC curve for detecting images of other tasks.

    Parameters
    ----------
    results : Predicted
    rule : str
        One of ``results.rules``, the measure of uncertainty.

    Returns
    -------
    all, earlier, later : float
        Means over all pairs of a head and another task, and over the pairs whose task is earlier
        or later than the head's.
    """
    areas = {}
    tasks = range(len(results.heads))
    for t in tasks:
        doubts = confidence.doubt(results.heads[t], rule)
        areas |= {
            (t, other): confidence.auroc(doubts[results.tasks == t], doubts[results.tasks == other])
            for other in tasks
            if other != t
        }
    kinds = (
        areas,
        [pair for pair in areas if pair[1] < pair[0]],
        [pair for pair in areas if pair[1] > pair[0]],
    )
    return tuple(float(np.mean([areas[pair] for pair in kind])) for kind in kinds)
