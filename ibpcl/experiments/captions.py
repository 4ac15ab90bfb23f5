"""Captions of the figures of runs and tables: titles, alternative texts, and how to read them."""

from typing import NamedTuple


class Caption(NamedTuple):
    """The caption of a figure.

    Attributes
    ----------
    title : str
        Its title.
    alt : str
        Its alternative text, for readers who do not see the figure.
    sentence : str
        How to read it.
    """

    title: str
    alt: str
    sentence: str


MASKS = "One picture per task: each pixel shows the share of the hidden units that use this input."
IMAGES = "Rows of small images: one row after each task, two columns per task."
OVER_TASKS = "A line chart over the number of tasks learned, with one line per method."
BY_ROW = (
    "One dot per row of the table, with its standard deviation over seeds; one panel per data set."
)
MAP = "A matrix of coloured cells: the test result on each task, after each task."
# Figures of a run, by the names of their PNG files, in the order of the report.
OF_RUNS = {
    "accuracy_curves": Caption(
        "Each task's test result, after each task",
        "A line chart: the test result of each task after each later task, and their mean.",
        (
            "A level line is a task that is not forgotten. The mean also moves when an easier or "
            "harder task joins."
        ),
    ),
    "accuracy_matrix": Caption(
        "Test results after each task",
        MAP,
        "A column that keeps its colour is a task that is not forgotten.",
    ),
    "history": Caption(
        "Training",
        "Line charts over all epochs, with the tasks marked: the objective, the log-likelihood, "
        "the weighted KL divergences and the ELBO, where the method has them.",
        "The objective is what training maximizes; it should rise within each phase. The ELBO "
        "counts every KL divergence with weight one.",
    ),
    "scores": Caption(
        "Score of each minibatch before it was learned",
        "A line chart over all minibatches, with the true boundaries of the tasks, their "
        "cross-fades, and the minibatches where the learner began a new task.",
        "The score falls where a task begins that the current weights do not know.",
    ),
    "masks": Caption(
        "Inputs that the first layer uses",
        MASKS,
        "Many units use the dark inputs, no unit uses the white ones. The numbers give the share "
        "of the weights that the task uses, and the units in use.",
    ),
    "receptive_fields": Caption(
        "Masks of single units",
        "A grid of small masks: one row per task, one column for each of some hidden units.",
        "Each picture shows the inputs that one unit uses for one task: blue if for the first "
        "time, orange if an earlier task used them too.",
    ),
    "filters": Caption(
        "Filters of the first convolution",
        "A grid of small pictures with coloured frames: one row per task, one column per filter.",
        "A picture shows the weights of a filter that the task uses, green above 0 and pink below. "
        "The frame is blue if the task is the first to use the filter, and orange if an earlier "
        "task used it too.",
    ),
    "sharing": Caption(
        "Use of the network, and sharing between tasks",
        (
            "How much of the network each task uses, how much of that is new, and the share of "
            "weights that each pair of tasks has in common."
        ),
        "A task that shares more weights than by chance builds on earlier tasks.",
    ),
    "reliability": Caption(
        "Coverage of predictive intervals",
        (
            "Two charts of observed against nominal coverage, one line per task: as predicted, "
            "and recalibrated."
        ),
        (
            "On the diagonal, coverage is as nominal; below it, intervals are too narrow. The "
            "grey band shows the variation expected by chance."
        ),
    ),
    "intervals": Caption(
        "A line through all strips, with recalibrated intervals",
        (
            "A line chart of elevation along one latitude: observations, prediction, and "
            "intervals of 50 and 90 %."
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
        "A line chart: classification error over the number of labelled images per class, one "
        "line per encoder and one for pixels.",
        "Codes are useful where their error is below the error of pixels.",
    ),
    "samples": Caption(
        "Samples of each task's model",
        IMAGES,
        "Samples of each task's model, from the same codes in every row. A change down a column "
        "is forgetting or improvement.",
    ),
    "reconstructions": Caption(
        "Reconstructions of each task's images",
        IMAGES,
        "Test images and their reconstructions. A change down a column is forgetting or "
        "improvement.",
    ),
}
# Alternative texts and sentences of the figures of tables, by the beginning of the file's name. The
# longest beginning that fits counts.
OF_TABLES = {
    "accuracy": (BY_ROW, "Filled dots are measured here, hollow diamonds are reported elsewhere."),
    "backward_transfer": (BY_ROW, "Left of zero is forgetting."),
    "class": (
        BY_ROW,
        "The share of images whose class is recognized among the classes of all tasks.",
    ),
    "scenarios": (
        "A dot plot: one row per method, one mark per scenario, one panel per data set.",
        "The further left the mark of a scenario, the more the method needs the task of an image.",
    ),
    "convolutions": (
        "A dot plot: one row per network, one mark per scenario, one panel per data set.",
        "Compare a network of convolutions with the dense one of the same start.",
    ),
    "mask_gradients": (BY_ROW, "Each row has another estimator of the gradient of the masks."),
    "ladder": (BY_ROW, "Each row changes one setting more than the row above it."),
    "claims": (BY_ROW, "Left of zero, the change costs accuracy."),
    "expansion": (BY_ROW, "A growing network compared with one that is large from the beginning."),
    "long-stream": (
        OVER_TASKS,
        "A second panel shows the share of the network's weights that at least one task uses.",
    ),
    "orders": (
        BY_ROW,
        "One mark for seeds that learn the published tasks, one for seeds that draw their order.",
    ),
    "coresets": (BY_ROW, "Coresets of each task, compared with one that is chosen again."),
    "alpha": (
        "A line chart over the number of tasks learned, with one line per rule for alpha.",
        "The share of the network's weights that at least one task uses.",
    ),
    "priors": (
        OVER_TASKS,
        "The prior of the masks or scales decides how many weights a task uses.",
    ),
    "natural-gradients": (
        "A line per optimizer, with one mark per number of epochs.",
        "The further up and left, the more accuracy for the same time.",
    ),
    "linear-probe": (
        BY_ROW,
        "Right of zero, earlier tasks help to recognize the classes of new ones.",
    ),
    "probe-over-tasks": (
        OVER_TASKS,
        "The accuracy of a linear classifier on further tasks, minus that on the untrained "
        "network. Above zero, the learned tasks help.",
    ),
    "shared_mask": (BY_ROW, "One mask for all tasks, compared with one mask per task."),
    "curves": (
        OVER_TASKS,
        "The mean accuracy on the tasks seen so far. Bands show the standard deviation over "
        "seeds; hollow markers, if any, are the paper's values.",
    ),
    "by_task": (
        OVER_TASKS,
        "The accuracy on each task, measured again after every new task, with one panel per "
        "method; the first seed. A falling line is a task that is forgotten.",
    ),
    "forgetting": (
        OVER_TASKS,
        "One panel per task: a falling line is a task that is forgotten.",
    ),
    "likelihood": (OVER_TASKS, "The mean log-likelihood on the tasks seen so far, nats per image."),
    "tasks": (OVER_TASKS, "One panel per task: a falling line is a task that is forgotten."),
    "tsne": (
        "Maps of the codes of test images, coloured by class, one map per encoder.",
        "Classes that lie apart can be recognized by their codes.",
    ),
    "structure_evolution": (
        "Three drawings of a network, one per task: dots are units, lines are the weights that "
        "the task uses. The layer grows from task to task.",
        "Blue is new in the task, orange was used before, grey is used by earlier tasks only, and "
        "hollow units are free.",
    ),
    "structure_schematics": (
        "Drawings of a classifier and of an autoencoder: grey shared weights, above them one mask "
        "per task and layer, and at the right one head per task.",
        "Tasks share the grey weights. Each task has its own masks and its own head.",
    ),
    "units": (
        "A grid of small masks: one row per task, one column for each of some hidden units.",
        "Blue inputs are used for the first time, orange ones by an earlier task too.",
    ),
    "pixels": (MASKS, "Masks should cover the pixels that differ between the images of a task."),
    "masks": (
        "One picture per task: its mask, inputs by hidden units.",
        "Each dot is a weight that the task uses.",
    ),
    "sharing": (
        "One coloured matrix per data set: the share of a task's weights that another uses too.",
        "Tasks build on each other where the number exceeds that by chance, in the last row.",
    ),
    "capacity": (
        "Bars for the share of the network that each task uses, a line for the share that all "
        "tasks so far use; one panel per data set.",
        "A line that flattens leaves room for more tasks.",
    ),
    "blended": (
        "One row per data set: accuracy over time for each method, and the score of every "
        "minibatch with the true and the detected starts of tasks.",
        "Grey bands are cross-fades, dashed lines true boundaries, triangles detected ones.",
    ),
    "over_training": (
        "A line chart of accuracy over the number of epochs per task, with one line per method.",
        "If a line falls to the right, the method forgets more the longer it trains.",
    ),
}


def of_table(name):
    """Return the caption of a table's figure.

    Parameters
    ----------
    name : str
        Name of the figure's file, without its extension.

    Returns
    -------
    caption : Caption
        The caption of the figure whose name begins like this one, or a plain one.

    Examples
    --------
    >>> of_table("forgetting_split-mnist").alt == OVER_TASKS, of_table("novel")[:2]
    (True, ('Novel', 'A figure: novel.'))
    """
    title = name.replace("_", " ")
    captions = {key: caption[1:] for key, caption in OF_RUNS.items()} | OF_TABLES
    matches = [key for key in captions if name == key or name.startswith(f"{key}_")]
    return Caption(
        title.capitalize(),
        *(captions[max(matches, key=len)] if matches else (f"A figure: {title}.", "")),
    )
