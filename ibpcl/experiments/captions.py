"""The figures of runs and tables in words: their titles, what is drawn, for those who do not see
it, how to read it.
"""

from typing import NamedTuple


class Caption(NamedTuple):
    """The title of a figure, its alternative text, and a sentence on how to read it."""

    title: str
    alt: str
    sentence: str


MASKS = "A picture for each task: the share of the hidden units that use each input."
IMAGES = "Rows of small images, a row after each task, two columns for each task."
OVER_TASKS = "A line chart over the number of tasks learned, a line for each method."
BY_ROW = "A dot for each row of the table with its deviation over seeds, a panel for each data set."
MAP = "A matrix of coloured cells: the test result on each task, after each task."
# Of runs: PNG files in their folders, in the order of the page.
OF_RUNS = {
    "accuracy_curves": Caption(
        "Each task's test result, after each task",
        "A line chart: the test result of each task after each later task, and their mean.",
        (
            "A level line is a task that is not forgotten; the mean also moves when an easier or "
            "harder task joins it."
        ),
    ),
    "accuracy_matrix": Caption(
        "Test results after each task",
        MAP,
        "A column that keeps its colour is a task that is not forgotten.",
    ),
    "history": Caption(
        "Training",
        "Line charts over all epochs, tasks marked: the objective, the log-likelihood, the "
        "weighted divergences and the bound, where the method has them.",
        "The objective should rise within each phase; the bound has all divergences at weight one.",
    ),
    "masks": Caption(
        "Inputs that the first layer uses",
        MASKS,
        "Dark inputs are used by many units, blank ones by none; the numbers are the share of the "
        "weights that is on, and the units in use.",
    ),
    "receptive_fields": Caption(
        "Masks of single units",
        "A grid of small masks: a row for each task, a column for each of some hidden units.",
        "Each picture shows the inputs that a unit uses for a task: blue for the first time, "
        "orange if an earlier task used them too.",
    ),
    "sharing": Caption(
        "Use of the network, and what tasks share",
        (
            "How much of the network each task uses, how much of that is new, and what each pair "
            "of tasks shares."
        ),
        "A task that shares more than chance builds on what earlier tasks have learned.",
    ),
    "reliability": Caption(
        "Coverage of predictive intervals",
        (
            "Two charts of observed against nominal coverage, a line for each task: as "
            "predicted, and recalibrated."
        ),
        (
            "On the diagonal, coverage is nominal; below it, intervals are too narrow. The grey "
            "band is chance."
        ),
    ),
    "intervals": Caption(
        "A line through all strips, with recalibrated intervals",
        (
            "A line chart of elevation along one latitude: observations, prediction, and bands "
            "of 50 and 90 %."
        ),
        "Half of the observations should lie in the dark band and nine of ten in the light one.",
    ),
    "likelihood_curves": Caption(
        "Log-likelihood of each task, after each task",
        (
            "Line charts over the number of tasks learned: the log-likelihood of each task, and "
            "its change since then."
        ),
        "A level line is a model that is not forgotten.",
    ),
    "likelihood_matrix": Caption(
        "Log-likelihood", MAP, "A column that keeps its colour is a task that is not forgotten."
    ),
    "few_labels": Caption(
        "Error of a classifier on codes with few labels",
        "A line chart: classification error over the number of labelled images per class, a line "
        "for each way to encode and one for pixels.",
        "Codes are useful where their error lies below that of pixels.",
    ),
    "samples": Caption(
        "Samples of each task's model",
        IMAGES,
        "Samples of each task's model, from the same codes in every row: what changes down a "
        "column has been forgotten or improved.",
    ),
    "reconstructions": Caption(
        "Reconstructions of each task's images",
        IMAGES,
        "Test images and their reconstructions: what changes down a column has been "
        "forgotten or improved.",
    ),
}
# Of tables, alternative texts and sentences by the beginning of the file's name; of several the
# longest counts.
OF_TABLES = {
    "accuracy": (BY_ROW, "Filled dots are measured here, hollow diamonds are reported elsewhere."),
    "backward_transfer": (BY_ROW, "Left of zero is forgetting."),
    "class": (BY_ROW, "The share of images whose class is found among the classes of all tasks."),
    "ladder": (BY_ROW, "Each row changes one setting more than the row above it."),
    "claims": (BY_ROW, "Left of zero, what is changed costs accuracy."),
    "expansion": (BY_ROW, "A network that grows beside one that is large from the beginning."),
    "long-stream": (
        OVER_TASKS,
        "Beside it the share of the network's weights that some task uses.",
    ),
    "shared_mask": (BY_ROW, "One mask for all tasks beside a mask for each."),
    "curves": (
        OVER_TASKS,
        "The mean accuracy on the tasks seen so far; bands are deviations over seeds; hollow "
        "markers, if any, are the paper's values.",
    ),
    "forgetting": (
        OVER_TASKS,
        "A panel for each task: a line that falls is a task that is forgotten.",
    ),
    "likelihood": (OVER_TASKS, "The mean log-likelihood on the tasks seen so far, nats per image."),
    "tasks": (OVER_TASKS, "A panel for each task: a line that falls is a task that is forgotten."),
    "tsne": (
        "Maps of the codes of test images, coloured by class, a map for each way to encode.",
        "Classes that lie apart can be recognized by their codes.",
    ),
    "units": (
        "A grid of small masks: a row for each task, a column for each of some hidden units.",
        "Blue inputs are used for the first time, orange ones by an earlier task too.",
    ),
    "pixels": (MASKS, "Masks should lie where the images of a task have something to see."),
    "masks": (
        "A picture for each task: its mask, inputs by hidden units.",
        "Each dot is a weight that the task uses.",
    ),
    "sharing": (
        "A coloured matrix for each data set: the share of a task's weights that another uses too.",
        "Numbers above those of chance, in the last row, are tasks that build on each other.",
    ),
    "capacity": (
        "Bars of what each task uses of the network and a line of what all tasks so far use, a "
        "panel for each data set.",
        "A line that flattens leaves room for more tasks.",
    ),
    "over_training": (
        "A line chart of accuracy over the number of epochs per task, a line for each method.",
        "A line that falls to the right forgets more the longer it trains.",
    ),
}


def of_table(name):
    """Return the caption of a table's figure by its name; a plain one if there is none.

    >>> of_table("forgetting_split-mnist").alt == OVER_TASKS, of_table("novel")[:2]
    (True, ('Novel', 'A figure: novel.'))
    """
    title = name.replace("_", " ")
    captions = {key: one[1:] for key, one in OF_RUNS.items()} | OF_TABLES
    known = [key for key in captions if name == key or name.startswith(f"{key}_")]
    return Caption(
        title.capitalize(),
        *(captions[max(known, key=len)] if known else (f"A figure: {title}.", "")),
    )
