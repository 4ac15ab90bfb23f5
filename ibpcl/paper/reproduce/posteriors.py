"""Posteriors of the weights beside the mean field: low rank plus diagonal, and a full head."""

from ibpcl.experiments import findings
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import COUNT, PERCENT, POINTS, SECONDS, Table
from ibpcl.paper.reproduce import measures
from ibpcl.paper.reproduce.priors import storage_in_kb
from ibpcl.paper.reproduce.rows import OURS, VCL, target

ROWS = (
    VCL,
    Row("vcl-rank-1", "VCL, rank 1", "vcl", {"rank": 1}),
    Row("vcl-rank-4", "VCL, rank 4", "vcl", {"rank": 4}),
    Row("vcl-full-head", "VCL, full head", "vcl", {"full_head": True}),
    OURS,
    Row("npbcl-full-head", "ours, full head", "npbcl", {"full_head": True}),
)
COLUMNS = (
    ("accuracy", findings.final_accuracy, PERCENT),
    ("transfer", findings.backward_transfer, POINTS),
    ("storage, kB", storage_in_kb, COUNT),
    ("training", measures.train_seconds, SECONDS),
)


@target(("split-mnist", "split-fashion-mnist"), lambda quick: ROWS)
def posteriors(results):
    """Compare covariances of the weights by accuracy, transfer, storage and time."""
    tables = [
        Table(
            f"{b.label}: posteriors",
            tuple(
                results.entry(row, b, number, column, unit)
                for row in results.rows_on(b)
                for column, number, unit in COLUMNS
            ),
        )
        for b in results.benchmarks
    ]
    return Summary(
        tuple(tables),
        (
            "Rank: common parts of the weights of each layer. Full head: a full covariance of the "
            "weights of a task's head. Storage: all arrays after the last task.",
        ),
        {},
    )
