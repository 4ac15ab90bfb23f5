"""One row of the table of the paper's claims, its verdicts, and the marks in its text.

No measured number is typed in the table. Where one belongs, a mark ``[[record | table | row |
column]]`` names its place in ``docs/results/<record>.csv``. Rows and columns can be lists,
separated by semicolons.
"""

from typing import NamedTuple

VERDICTS = {
    "reproduced": "our result agrees with the paper",
    "reproduced with other settings": "our result agrees, with settings that the paper does not "
    "print",
    "reproduced on some data sets": "our result agrees on at least one data set, and not on "
    "another",
    "reproduced in one respect": "one half of the statement holds, and the other does not or was "
    "not measured; or only a weaker statement holds",
    "not reproduced": "our result disagrees with the paper, or does not show the effect",
    "corrected": "the statement or formula is wrong; the errata show it and have the right one",
    "true by construction": "it follows from the definition of the model or from the program; "
    "numbers are only examples",
    "nothing to reduce": "the statement says that a part of the method reduces forgetting, or that "
    "old tasks gain by it. Our default forgets next to nothing without that part, so it cannot "
    "test this. The row below has the printed settings, where something is forgotten",
    "not testable": "the paper gives no result to compare with, or names no quantity that could be "
    "measured",
}
PARTS = ("tables and figures", "claims")
FIGURES, TEXT = PARTS
# With which settings a row measures: our default, or every setting that the paper prints.
SETTINGS = ("our default", "printed")
OURS, PRINTED = SETTINGS


class Terms(NamedTuple):
    """Whether the methods of a record were compared on equal terms.

    Attributes
    ----------
    kind : str
        "one method" if only variants of one method are compared, or "unequal".
    words : str
        What differs, or why nothing does: a clause without a full stop.
    """

    kind: str
    words: str


_ABLATION = Terms("one method", "settings and epochs as the rows name them")
_DEFAULT = Terms(
    "one method",
    "the settings were found in 409 recorded runs, which saw all tasks before a setting was fixed, "
    "and early settings had been judged on the test images of Split MNIST",
)
_TUNED = Terms(
    "unequal",
    "the other methods have twelve trials each on validation data, and NPBCL the default that 409 "
    "recorded runs found; each search scored the whole stream",
)
_DEFAULTS = Terms(
    "unequal",
    "the other methods have their default settings with 5 or 10 epochs, and NPBCL its default that "
    "was searched, with 50 (15 on Permuted MNIST)",
)
_IMAGES = Terms(
    "unequal",
    "the settings of NPBCL come from a manual search with 17 recorded runs; naive training has "
    "four, EWC one and VCL none; the printed settings were not searched",
)
_BESIDE = Terms(
    "unequal",
    "rows of NPBCL are compared with one another; other methods beside them have their default "
    "settings with 5 or 10 epochs",
)
_BY_HAND = Terms("unequal", "the settings of each method were set once, by hand, and not searched")
# The terms of every record that a claim or a bold finding of a page names.
TERMS = {
    "accuracy": _DEFAULT,
    "accuracy-tuned": _TUNED,
    "transfer": Terms(
        "one method",
        "both rows have the same settings, which were searched for the sequence of tasks and not "
        "for fresh networks",
    ),
    "metrics": _ABLATION,
    "metrics-tuned": _TUNED,
    "forgetting": _DEFAULTS,
    "forgetting-tuned": _TUNED,
    "scenarios": Terms(
        "unequal", f"{_DEFAULTS.words}; exact regression has no epochs and was not searched"
    ),
    "scenarios-tuned": Terms("unequal", f"{_TUNED.words}; exact regression was not searched"),
    "calibration-tuned": _TUNED,
    "probe-over-tasks": Terms(
        "unequal",
        f"{_DEFAULTS.words}. The rows of NPBCL with the same masks are on equal terms: the "
        "untrained network has the masks of the learned one",
    ),
    "shared-mask": _BESIDE,
    "without-task-names": _DEFAULTS,
    "without-task-names-tuned": _TUNED,
    "over-training": Terms(
        "unequal",
        "in each row, NPBCL has its searched default with equal numbers of epochs for masked "
        "training and for fine-tuning, and VCL its untuned settings without fine-tuning",
    ),
    "ladder": Terms(
        "one method",
        "settings and epochs as the rows name them; the printed settings were not searched, and "
        "tuned "
        "methods of other records beside them have twelve trials each",
    ),
    "expansion": _BESIDE,
    "coresets": _BESIDE,
    "likelihood": _IMAGES,
    "knn": _IMAGES,
    "generative": _IMAGES,
    "long-stream": Terms(
        "unequal",
        "all methods have 50 epochs per task; the settings of NPBCL were searched, those of the "
        "others were not",
    ),
    "fashion-resplit": _TUNED,
    "regression": _ABLATION,
    "structure": _ABLATION,
    "exact": _BY_HAND,
    "natural-gradients": _BY_HAND,
    "letters": _IMAGES,
    "npbcl_search": _ABLATION,
    **dict.fromkeys(
        (
            "alpha",
            "capacity",
            "capacity-printed",
            "claims",
            "claims-printed",
            "links",
            "mask-kl",
            "masks",
            "masks-alpha-10",
            "masks-printed",
            "sharing",
            "sharing-printed",
        ),
        _ABLATION,
    ),
}

# Rows, columns and titles of the records. All lists of data sets have this order.
SETS = "Split MNIST; notMNIST; Permuted MNIST; Fashion MNIST"
THREE = "Split MNIST; notMNIST; Permuted MNIST"
ORDER = "Split MNIST, notMNIST, Permuted MNIST and Fashion MNIST"
ORDER_OF_THREE = "Split MNIST, notMNIST and Permuted MNIST"
FINAL = "Final mean accuracy, percent"
METRICS = "Permuted MNIST: Acc and FWT in percent, BWT in points"
ABLATION = "Change of the final accuracy, points, seed by seed"
COLUMNS = "Columns of the first layer's masks, percent"
DENSITY = "Density of the masks, percent of the weights; mean over tasks"
SHARING = "Share of a task's weights that earlier tasks use too, percent"
GROWING = "Final mean accuracy, percent: growing and fixed"
IN_THE_END = "{}: test images in the end, nats per image, mean over tasks"
VARIANTS = "{}: test images in the end"


class Claim(NamedTuple):
    """One table, figure or claim of the paper.

    Attributes
    ----------
    part : str
        The section of the page, one of :data:`PARTS`.
    place : str
        Where it is in the paper: section, and the caption of a table or figure.
    printed : str
        The paper's sentence, in quotation marks, or its numbers.
    ours : str
        Our result in words, with marks in place of numbers.
    verdict : str
        A key of :data:`VERDICTS`.
    command : str
        The command that measures it. Empty if nothing is measured.
    settings : str
        One of :data:`SETTINGS`. Rows that two settings answer differently stand twice.
    evidence : tuple of str
        Files that support the result, besides the records of the marks: tests and figures, with
        paths from the root of the repository.
    page : str
        The section of the site with the details, ``page.md#anchor``. Empty if there is none.
    """

    part: str
    place: str
    printed: str
    ours: str
    verdict: str
    command: str = ""
    evidence: tuple = ()
    page: str = ""
    settings: str = OURS

    @property
    def label(self):
        """The place, and the settings unless they are our default."""
        return f"{self.place}, at the printed settings" if self.settings == PRINTED else self.place


def entry(record, table, rows, columns):
    """Return the mark for entries of a record.

    Parameters
    ----------
    record, table : str
        Name of the record and title of the table.
    rows, columns : str
        One name each, or several with "; " between them.

    Returns
    -------
    mark : str

    Examples
    --------
    >>> entry("ladder", "Split MNIST: accuracy", "paper", "accuracy")
    '[[ladder | Split MNIST: accuracy | paper | accuracy]]'
    """
    return f"[[{record} | {table} | {rows} | {columns}]]"


def final(rows, record="accuracy"):
    """Return the mark for final mean accuracies on the four data sets.

    Parameters
    ----------
    rows : str
        Labels of methods.
    record : str
        "accuracy", or "accuracy-tuned" for methods with the settings of a search.

    Returns
    -------
    mark : str
    """
    return entry(record, FINAL, rows, SETS)


def ablation(rows, sets=SETS, record="claims"):
    """Return the mark for changes of the final accuracy by changed settings.

    Parameters
    ----------
    rows : str
        What is changed.
    sets : str
        The data sets.
    record : str
        "claims" for changes of our default, or "claims-printed" for those of the printed settings.

    Returns
    -------
    mark : str
    """
    return entry(record, ABLATION, rows, sets)
