"""The figures of runs and tables in words: what is drawn, for those who do not see it, and how to read it."""

from typing import NamedTuple


class Caption(NamedTuple):
    """The alternative text of a figure, and a sentence on how to read it."""

    alt: str
    sentence: str


MASKS = "A picture for each task: the share of the hidden units that use each input."
IMAGES = "Rows of small images, a row after each task, two columns for each task."
OVER_TASKS = "A line chart over the number of tasks learned, a line for each method."
BY_ROW = "A dot for each row of the table with its deviation over seeds, a panel for each data set."
MAP = "A matrix of coloured cells: the test result on each task, after each task."
# By the beginning of the file's name; of several the longest counts.  First those of runs.
CAPTIONS = {
    "accuracy_matrix": Caption(MAP, "A column that keeps its colour is a task that is not forgotten."),
    "likelihood_matrix": Caption(MAP, "A column that keeps its colour is a task that is not forgotten."),
    "accuracy_curves": Caption(
        "A line chart: the test result of each task after each later task, and their mean.",
        "A level line is a task that is not forgotten; the mean also moves when an easier or harder task joins it."),
    "history": Caption(
        "Line charts over all epochs, tasks marked: the objective, the log-likelihood, the weighted divergences and "
        "the bound, where the method has them.",
        "The objective should rise within each phase; the bound has all divergences at weight one."),
    "masks": Caption(MASKS, "Dark inputs are used by many units, blank ones by none; the numbers are the share of the "
                            "weights that is on, and the units in use."),
    "receptive_fields": Caption(
        "A grid of small masks: a row for each task, a column for each of some hidden units.",
        "Each picture shows the inputs that a unit uses for a task: blue for the first time, orange if an earlier task "
        "used them too."),
    "sharing": Caption(
        "How much of the network each task uses, how much of that is new, and what each pair of tasks shares.",
        "A task that shares more than chance builds on what earlier tasks have learned."),
    "reliability": Caption(
        "Two charts of observed against nominal coverage, a line for each task: as predicted, and recalibrated.",
        "On the diagonal, coverage is nominal; below it, intervals are too narrow. The grey band is chance."),
    "intervals": Caption(
        "A line chart of elevation along one latitude: observations, prediction, and bands of 50 and 90 %.",
        "Half of the observations should lie in the dark band and nine of ten in the light one."),
    "likelihood_curves": Caption(
        "Line charts over the number of tasks learned: the log-likelihood of each task, and its change since then.",
        "A level line is a model that is not forgotten."),
    "few_labels": Caption(
        "A line chart: classification error over the number of labelled images per class, a line for each way to "
        "encode and one for pixels.",
        "Codes are useful where their error lies below that of pixels."),
    "samples": Caption(IMAGES, "Samples of each task's model, from the same codes in every row: what changes down a "
                               "column has been forgotten or improved."),
    "reconstructions": Caption(IMAGES, "Test images and their reconstructions: what changes down a column has been "
                                       "forgotten or improved."),
}
OF_TABLES = {
    "accuracy": Caption(BY_ROW, "Filled dots are measured here, hollow diamonds are reported elsewhere."),
    "backward_transfer": Caption(BY_ROW, "Left of zero is forgetting."),
    "class": Caption(BY_ROW, "The share of images whose class is found among the classes of all tasks."),
    "ladder": Caption(BY_ROW, "Each row changes one setting more than the row above it."),
    "claims": Caption(BY_ROW, "Left of zero, what is changed costs accuracy."),
    "expansion": Caption(BY_ROW, "A network that grows beside one that is large from the beginning."),
    "long-stream": Caption(OVER_TASKS, "Beside it the share of the network's weights that some task uses."),
    "shared_mask": Caption(BY_ROW, "One mask for all tasks beside a mask for each."),
    "curves": Caption(OVER_TASKS, "The mean accuracy on the tasks seen so far; bands are deviations over seeds; hollow "
                                  "markers, if any, are the paper's values."),
    "forgetting": Caption(OVER_TASKS, "A panel for each task: a line that falls is a task that is forgotten."),
    "likelihood": Caption(OVER_TASKS, "The mean log-likelihood on the tasks seen so far, nats per image."),
    "tasks": Caption(OVER_TASKS, "A panel for each task: a line that falls is a task that is forgotten."),
    "tsne": Caption("Maps of the codes of test images, coloured by class, a map for each way to encode.",
                    "Classes that lie apart can be recognized by their codes."),
    "units": Caption("A grid of small masks: a row for each task, a column for each of some hidden units.",
                     "Blue inputs are used for the first time, orange ones by an earlier task too."),
    "pixels": Caption(MASKS, "Masks should lie where the images of a task have something to see."),
    "masks": Caption("A picture for each task: its mask, inputs by hidden units.",
                     "Each dot is a weight that the task uses."),
    "sharing": Caption("A coloured matrix for each data set: the share of a task's weights that another uses too.",
                       "Numbers above those of chance, in the last row, are tasks that build on each other."),
    "capacity": Caption("Bars of what each task uses of the network and a line of what all tasks so far use, a panel "
                        "for each data set.", "A line that flattens leaves room for more tasks."),
    "over_training": Caption("A line chart of accuracy over the number of epochs per task, a line for each method.",
                             "A line that falls to the right forgets more the longer it trains."),
}


def caption(name, of_table=False):
    """Return the caption of a figure of a run, or of a table, by its name; a plain one if there is none.

    >>> caption("forgetting_split-mnist", of_table=True) == OF_TABLES["forgetting"], caption("novel").alt
    (True, 'A figure: novel.')
    """
    captions = CAPTIONS | (OF_TABLES if of_table else {})
    known = [key for key in captions if name == key or name.startswith(f"{key}_")]
    return captions[max(known, key=len)] if known else Caption(f"A figure: {name.replace('_', ' ')}.", "")
