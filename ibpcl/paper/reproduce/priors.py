"""The Indian buffet process beside the horseshoe: accuracy, forgetting, sparsity and storage."""

import numpy as np

from ibpcl.experiments import findings
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import COUNT, PERCENT, POINTS, SHARE, Table
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import OURS, target

# As long as it takes until scales have moved; ours has 50 epochs per task.
LONG = {"epochs": 30, "rate": 0.003}
ROWS = (
    Row("vcl", "VCL", "vcl", LONG),
    Row("ibp_vcl", "IBP-VCL", "ibp_vcl", LONG),
    Row("horseshoe", "horseshoe", "horseshoe", LONG),
    Row(
        "horseshoe-weights",
        "horseshoe, weights",
        "horseshoe",
        LONG | {"scales": "weights", "scale_rate": 0.01},
    ),
    OURS,
)


def weights_in_use(m):
    """Return the share of the hidden weights that a task uses, the mean over tasks in percent.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    share : float
        Percent of the weights; 100 if the method has no masks.
    """
    if not measures.has_masks(m):
        return 100.0
    return 100 * float(np.mean([np.mean(task) for task in m.values["mask_density"]]))


def storage_in_kb(m):
    """Return the size of everything that was learned after the last task, in kB.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    size : float
        The size of the arrays of the learner's state.
    """
    return sum(value.nbytes for value in findings.learner(m).state().values()) / 1000


COLUMNS = (
    ("accuracy", findings.final_accuracy, PERCENT),
    ("transfer", findings.backward_transfer, POINTS),
    ("weights in use", weights_in_use, SHARE),
    ("storage, kB", storage_in_kb, COUNT),
)


@target(("split-mnist", "split-fashion-mnist"), lambda quick: ROWS)
def priors(results):
    """Compare priors that make a network sparse."""
    tables = []
    axes = pictures.panels(max(1, len(results.benchmarks)), height=60)
    for ax, b in zip(np.ravel(axes), results.benchmarks, strict=False):
        entries = [
            results.entry(row, b, number, column, unit)
            for row in results.rows_on(b)
            for column, number, unit in COLUMNS
        ]
        tables.append(Table(f"{b.label}: priors", tuple(entries)))
        curves = {
            row.label: np.array([findings.matrix(m) for m in results.of(row, b)])
            for row in results.rows_on(b)
        }
        pictures.curves(curves, ax, b.label)
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            "Weights in use: of the hidden layers, mean over tasks. IBP-VCL draws its masks anew "
            "for each example and has no fixed ones. Storage: all arrays after the last task.",
        ),
        {"priors": axes},
    )
