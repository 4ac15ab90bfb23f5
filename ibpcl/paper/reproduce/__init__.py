"""The laboratory: targets that reproduce the paper's tables and figures, with the paper's values.

A target lists rows and benchmarks, from which :mod:`ibpcl.experiments.cells` makes resumable runs.
``measures`` computes numbers from a run, the target arranges them in tables and figures, and
``target`` runs a target and writes its files. This module imports nothing, because the help of the
command line lists the targets.
"""

TARGETS = {
    "ladder": "from the printed settings to the defaults, one change at a time",
    "claims": "ablations: parts that the paper says help, without measuring them",
    "accuracy": "the paper's table of final mean accuracies",
    "metrics": "Acc, FWT and BWT on permuted MNIST, with the right denominators",
    "linear-probe": "forward transfer: a linear classifier on the representation",
    "probe-over-tasks": "the same classifier after each number of learned tasks",
    "orders": "other orders of the tasks and other permutations, drawn by each seed",
    "curves": "mean accuracy on the tasks seen so far, after each task",
    "forgetting": "accuracy on each task while later ones are learned",
    "domain": "beyond the paper: one head for all tasks, where forgetting shows",
    "scenarios": "beyond the paper: task-, domain- and class-incremental, all methods",
    "convolutions": "beyond the paper: convolutions beside a dense network of the same size",
    "structure": "drawings of a small growing network: its weights, masks and heads",
    "masks": "which pixels the masks lie on",
    "sharing": "share of a task's weights that other tasks use as well",
    "capacity": "share of the network in use after each task",
    "expansion": "networks that grow from 50 units in three ways, beside one of 200",
    "long-stream": "thirty permutations: accuracy, and the share of the network in use",
    "blended": "beyond the paper: tasks that fade into one another, unannounced",
    "over-training": "the effect of more epochs per task on earlier tasks",
    "shared-mask": "one mask for all tasks instead of one per task",
    "priors": "beyond the paper: the IBP beside the horseshoe prior",
    "few-labels": "beyond the paper: few labels per task, semi-supervised and not",
    "posteriors": "beyond the paper: correlated weights beside the mean field",
    "natural-gradients": "beyond the paper: accuracy against time, natural gradients or Adam",
    "alpha": "rules for alpha: fixed, maximum, increments, learned",
    "coresets": "a coreset per task, or one for all tasks that is chosen again",
    "mask-gradients": "six estimators of the gradient of the masks, in the learner",
    "mask-kl": "the masks' divergence at weight 1 or less, logit or log link",
    "without-task-names": "beyond the paper: accuracy when the task must be inferred",
    "calibration": "beyond the paper: calibration, and certainty on other tasks",
    "links": "the likelihood of two classes: softmax, logistic or probit",
    "regression": "beyond the paper: heights of terrain, with intervals, strip by strip",
    "generative": "generative: the printed settings beside the defaults, VCL at the same weights",
    "likelihood": "generative: log p(x) of every task after every later one",
    "knn": "generative: k-NN error of the codes, with three choices of encoder",
    "samples": "generative: samples and reconstructions after every task",
    "letters": "generative: all methods that learn images, on five drawn letters",
    "tsne": "generative: maps of the codes (extra `analysis`)",
}
GENERATIVE_TARGETS = ("generative", "likelihood", "knn", "samples", "letters", "tsne")
