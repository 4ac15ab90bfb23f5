"""Regression: the terrain around Vancouver Island, with predictive intervals (Sec. 3.2)."""

import numpy as np
from scipy.special import ndtri

from ibpcl.data.terrain import TerrainStream, to_elevation
from ibpcl.evaluation import calibration
from ibpcl.experiments import findings, run_figures
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.result import covered
from ibpcl.experiments.streams import make_stream
from ibpcl.experiments.tables import FRACTION, PERCENT, WHOLE, Entry, Table
from ibpcl.paper.reproduce.rows import OURS, target

LIKELIHOOD = 'Sec. 3.2: "For regression, Lik can be Gaussian with some noise variance"'
KINDS = (("as_predicted", "as predicted"), ("recalibrated", "recalibrated"))
LEVELS = (0.5, 0.9)
# Half-widths of the intervals of a Gaussian, in standard deviations.
GAUSSIAN = ndtri((1 + np.array(LEVELS)) / 2)
# Names of the ranges of heights, and the height in metres at which each ends.
HEIGHTS = (
    ("below -100 m", -100.0),
    ("-100 to 0 m", 0.0),
    ("0 to 300 m", 300.0),
    ("above 300 m", np.inf),
)


@target(("terrain",), lambda quick: (OURS,), family="regression")
def regression(results):
    """Measure the fit and the predictive intervals of each strip, and the intervals by height."""
    tables = []
    drawn = {}
    for b in results.benchmarks:
        measured = results.of(OURS, b)
        first = measured[0]
        drawn |= {
            f"reliability_{b.name}": run_figures.reliability(first.values),
            f"intervals_{b.name}": run_figures.intervals(
                first.values, findings.learner(first), TerrainStream(first.cell.config.tasks)
            ),
        }
        rows = {
            "R², percent": (_fit, PERCENT),
            "noise, learned": (_noise, FRACTION),
            **{
                f"{100 * level:.0f} % interval holds, {label}": (
                    lambda m, kind=kind, level=level: _held(m, kind, level),
                    PERCENT,
                )
                for kind, label in KINDS
                for level in LEVELS
            },
        }
        entries = []
        for label, (numbers, unit) in rows.items():
            of_seeds = [numbers(m) for m in measured]
            entries += [
                Entry(label, column, tuple(each[column] for each in of_seeds), unit)
                for column in of_seeds[0]
            ]
        tables.append(Table(f"{b.label}: test cells, at the end", tuple(entries), "measure"))
        tables.append(Table(f"{b.label}: intervals by height", tuple(_by_height(measured))))
    return Summary(
        tuple(tables),
        (
            f"The paper's statement, {LIKELIHOOD}. It reports no regression.",
            "R²: share of the variance of a strip's test targets that is predicted. Noise: its "
            "standard deviation, in units of the target. An interval holds if it contains the "
            "target. Recalibrated: in the table of strips, the widths come from one half of a "
            "strip's test cells and are tested on the other half, and vice versa; in the table of "
            "heights, they come from all test cells of the strip.",
            "The figures show the first seed.",
        ),
        drawn,
    )


def _fit(m):
    """Return R² of each strip at the end, and its mean, in percent."""
    last = 100 * findings.matrix(m)[-1]
    return dict(zip(m.values["tasks"], last, strict=True)) | {"all": findings.final_accuracy(m)}


def _noise(m):
    """Return the standard deviation of each strip's noise."""
    noise = (sigma for (sigma,) in m.values["noise_sigma"])
    return dict(zip(m.values["tasks"], noise, strict=True))


def _held(m, kind, level):
    """Return the share of the test cells inside the intervals of a level, in percent."""
    coverage = m.values["coverage"]
    place = coverage["levels"].index(level)
    shares = (100 * shares[place] for shares in coverage[kind])
    return dict(zip(m.values["tasks"], shares, strict=True)) | {
        "all": 100 * covered(coverage, kind)[level]
    }


def _by_height(measured):
    """Return the entries of the table of heights."""
    of_seeds = [_test_cells(m) for m in measured]
    low = -np.inf
    for label, high in HEIGHTS:
        inside = [(low <= heights) & (heights < high) for heights, _ in of_seeds]
        yield Entry(label, "cells", tuple(int(each.sum()) for each in inside), WHOLE)
        for place, level in enumerate(LEVELS):
            for kind, name in KINDS:
                shares = (
                    float(held[kind][each, place].mean())
                    for (_, held), each in zip(of_seeds, inside, strict=True)
                )
                column = f"{100 * level:.0f} % interval, {name}"
                yield Entry(label, column, tuple(100 * share for share in shares))
        low = high


def _test_cells(m):
    """Return the height of each test cell in metres, and which of its intervals hold."""
    learner = findings.learner(m)
    stream = make_stream(m.cell.config)
    heights = []
    held = {kind: [] for kind, _ in KINDS}
    for t in range(len(stream)):
        task = stream[t]
        prediction = learner.predict_with_uncertainty(task.x_test, t)
        mean, sigma = (array.astype(float) for array in (prediction.mean, prediction.sigma))
        errors = np.abs((task.y_test - mean) / sigma)
        scales = calibration.interval_scales(mean, sigma, task.y_test, LEVELS)
        # The grid has whole metres; the way to a target and back leaves them inexact.
        heights.append(np.round(to_elevation(task.y_test)[:, 0]))
        held["as_predicted"].append(errors <= GAUSSIAN)
        held["recalibrated"].append(errors <= scales)
    return np.concatenate(heights), {kind: np.concatenate(rows) for kind, rows in held.items()}
