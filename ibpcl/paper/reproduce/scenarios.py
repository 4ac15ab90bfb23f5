"""A target beyond the paper: the three scenarios of continual learning in one table.

van de Ven and Tolias (2019), "Three scenarios for continual learning", distinguish what a learner
knows about a test example: its task (task-incremental), only that the problem is the same in every
task (domain-incremental), or nothing, so that it must name one of all classes seen so far
(class-incremental).
"""

from ibpcl.evaluation import confidence
from ibpcl.experiments import findings
from ibpcl.experiments.benchmarks import BENCHMARKS
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import Entry, Table
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.certainty import (
    IMAGES,
    SPLIT,
    by_image_models,
    inferred,
    predicted,
    remembered,
)
from ibpcl.paper.reproduce.rows import EXACT, REFERENCE, method_rows, target

DOMAIN = "domain"
INFERRED = "class, inferred task"
NOTES = (
    "Task: one head per task, and the task of a test image is known; chance is 50 %. Domain: one "
    "head with two outputs, the first and the second class of every pair, and the task is unknown; "
    "chance is 50 %.",
    "Class: one softmax over all classes seen so far, and the task is unknown. Classes that no "
    "task has shown yet have probability 0 and no gradient. After five tasks there are ten "
    "classes, so chance is 10 %, and a learner that knows only the classes of the last task "
    "reaches 20 %.",
    "Class, inferred task: the learner of the column task, while the task is unknown. The head "
    "whose prediction has the least entropy names the class; task and class must be right. After "
    "five tasks, chance is 10 %, or 20 % if only the task is a guess.",
    "Methods with one mask per task (NPBCL) also infer the mask by the least entropy in the "
    "columns domain and class. The row mask known shows the domain when the task of a test "
    "image selects the mask.",
    "p(x | task) and p(x | class): a generative model of the same images, one class after "
    "another (`ibpcl reproduce knn`). It chooses the task whose two classes make the image "
    "most probable, with the class of NPBCL's head, or simply the most probable class.",
    "Exact, random features: the labels are regressed on random ReLU features, with the exact "
    "posterior of one task as the prior of the next. With one head this is joint training, "
    "whatever the order of the tasks.",
    "The column class, inferred task and the domain with inferred masks count all test images "
    "alike. All other values are means over the tasks.",
)


@remembered
def without_task(m):
    """Return the accuracy when the task of each test example is inferred by the least entropy.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A cell with one head per task, or with one head and one mask per task.

    Returns
    -------
    accuracy : float
        Percent of all test examples. With one head per task, the task must be right, too.
    """
    results = predicted(m)
    chosen = confidence.infer_tasks(results.heads, "entropy")
    if m.cell.benchmark.family == "task":
        return inferred(results, chosen)[1]
    classes = confidence.classes_by_task(results.heads, chosen)
    return 100 * float((classes == results.labels).mean())


def final_without_task(m):
    """Return the final accuracy of a cell with one head, without knowledge of the task.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A cell with one head for all tasks.

    Returns
    -------
    accuracy : float
        Percent. If each task has a mask, it is inferred by the least entropy.
    """
    return without_task(m) if measures.has_masks(m) else findings.final_accuracy(m)


@target(
    SPLIT,
    lambda quick: (*method_rows(REFERENCE, EXACT), IMAGES),
    also=("domain", "class", "vae"),
)
def scenarios(results):
    """Compare all methods in the three scenarios, with the task inferred in two ways."""
    of_images = {}
    for b in results.benchmarks:
        of_images.setdefault(b.name.partition("-")[2], {})[b.family] = b
    tables = []
    for images, families in of_images.items():
        label = BENCHMARKS[f"split-{images}"].label
        entries = tuple(_entries(results, families))
        # A table so far may lack the other data set.
        if entries:
            tables.append(Table(f"{label}: final accuracy, percent", entries, "method"))
    return Summary(tuple(tables), NOTES, {"scenarios": draw(tables, len(results.rows))})


def draw(tables, rows):
    """Draw a panel for each data set: a line per method, a mark per scenario.

    Parameters
    ----------
    tables : sequence of ibpcl.experiments.tables.Table
        Final accuracies in percent.
    rows : int
        The largest number of rows of a table.

    Returns
    -------
    axes : ndarray of matplotlib.axes.Axes
    """
    axes = pictures.panels(max(1, len(tables)), height=26 + 4 * rows)
    for ax, table in zip(axes, tables, strict=False):
        pictures.compare(table.entries, ax, table.title.partition(":")[0])
    pictures.one_legend(axes)
    return axes


def _entries(results, families):
    """Return the entries of one data set, given by its benchmarks of each family."""
    task = families.get("task")
    domain = families.get("domain")
    columns = (
        (task, "task", findings.final_accuracy),
        (domain, DOMAIN, final_without_task),
        (families.get("class"), "class", findings.final_accuracy),
        (task, INFERRED, without_task),
    )
    entries = []
    for row in (row for row in results.rows if row.key != IMAGES.key):
        entries += [
            results.entry(row, benchmark, number, column)
            for benchmark, column, number in columns
            if benchmark and results.of(row, benchmark)
        ]
        if domain and any(map(measures.has_masks, results.of(row, domain))):
            label = measures.mask_known(row)
            entries.append(results.entry(row, domain, findings.final_accuracy, DOMAIN, label=label))
    by_images = by_image_models(results, task) if task else []
    return entries + [
        Entry(label, INFERRED, tuple(right for _, right in pairs)) for label, pairs in by_images
    ]
