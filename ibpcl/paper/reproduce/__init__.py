"""The paper's tables and figures by name: which runs each needs, what it measures, and the paper's
value beside it.

A target is a list of rows and benchmarks, from which :mod:`ibpcl.experiments.cells` makes resumable
runs; ``measures`` computes their numbers, the target turns these into tables and pictures, and
``target`` runs and writes one.  Nothing heavy is imported here: the command line's help lists the
targets.
"""

TARGETS = {
    "ladder": "from the printed settings to ours, one change at a time",
    "claims": "what the paper says of its parts and never measures: each left out",
    "accuracy": "the paper's table of final mean accuracies",
    "metrics": "Acc, FWT and BWT on permuted MNIST, with the right denominators",
    "curves": "mean accuracy on the tasks seen so far, after each task",
    "forgetting": "accuracy on each task while later ones are learned",
    "domain": "beyond the paper: one head for all tasks, where forgetting shows",
    "masks": "which pixels the masks lie on",
    "sharing": "share of a task's weights that others use too",
    "capacity": "share of the network that is in use after each task",
    "expansion": "a network that grows from 50 units beside one of 200",
    "long-stream": "thirty permutations: accuracy, and what is left of the network",
    "over-training": "what more epochs per task do to earlier tasks",
    "shared-mask": "one mask for all tasks instead of one each",
    "mask-kl": "the masks' divergence at weight 1 or less, logit or log link",
    "without-task-names": "beyond the paper: which task a test image is of, inferred",
    "calibration": "beyond the paper: how certain predictions are, also on other tasks",
    "generative": "generative: the printed settings beside ours, VCL at our weights",
    "likelihood": "generative: log p(x) of every task after every later one",
    "knn": "generative: classes told by the neighbours of a code, in three ways",
    "samples": "generative: samples and reconstructions after every task",
    "tsne": "generative: maps of the codes (extra `analysis`)",
}
GENERATIVE_TARGETS = ("generative", "likelihood", "knn", "samples", "tsne")
