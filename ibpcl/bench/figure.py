"""The benchmark as a figure: parts of a step, comparison with frameworks, scaling, and sparsity."""

import numpy as np

from ibpcl.evaluation.figures.canvas import MARKERS, PALETTE, legend, new_axes, save, style
from ibpcl.plotting import styled

STEPS = (
    "step, two classes",
    "step",
    "products",
    "step, whole network",
    "step, dense",
    "torch eager",
    "jax jit",
    "torch.compile",
    "step, NumPy backend",
)


@styled
def draw(found, path):
    """Write the figure of a benchmark.

    Parameters
    ----------
    found : dict
        From :func:`ibpcl.bench.measure.everything`.
    path : path-like
        A PNG, PDF or SVG file.
    """
    axes = new_axes(width=180, height=150, rows=2, columns=2)
    times = found["milliseconds"]
    prefix = "part: "
    _bars(
        axes[0, 0],
        {
            name.removeprefix(prefix): value
            for name, value in times.items()
            if name.startswith(prefix)
        },
    )
    style(axes[0, 0], "ms", title="Parts of the step")
    _bars(axes[0, 1], {name: times[name] for name in STEPS if name in times}, log=True)
    style(axes[0, 1], "ms", title="Steps, and the dense products alone")
    for i, (axis, one) in enumerate(found["scaling"].items()):
        sizes = np.array(one["sizes"])
        slope = one["slope"]
        label = axis if slope is None else f"{axis}: slope {slope:.2f}"
        axes[1, 0].loglog(
            sizes / sizes[-1],
            one["milliseconds"],
            color=PALETTE[i],
            marker=MARKERS[i],
            markersize=3,
            linewidth=1,
            label=label,
        )
    for axis in (axes[1, 0].xaxis, axes[1, 0].yaxis):
        _plain_numbers(axis)
    legend(axes[1, 0], loc="upper left")
    style(axes[1, 0], "size, as a share of the largest", "ms", "Scaling")
    rows = [
        row
        for row in found["densities"]
        if row["products"] == "layer" and row["columns"] == found["sizes"]["K"]
    ]
    x = [row["density"] for row in rows]
    for i, (key, label) in enumerate(
        (("sparse_over_dense", "always sparse"), ("chosen_over_dense", "as chosen"))
    ):
        axes[1, 1].plot(
            x,
            [row[key] for row in rows],
            color=PALETTE[i],
            marker=MARKERS[i],
            markersize=3,
            linewidth=1,
            label=label,
        )
    axes[1, 1].axhline(1.0, color=PALETTE[-1], linewidth=0.6)
    if rows:  # none without Numba
        axes[1, 1].axvline(rows[0]["densest"], color=PALETTE[-1], linewidth=0.6, linestyle=":")
        legend(axes[1, 1], loc="upper left")
    style(axes[1, 1], "density of the inputs", "time over BLAS's", "The layer's two products")
    save(axes, path)


def _bars(ax, values, log=False):
    """Draw numbers next to their names: as bars from 0, or as points on a log axis."""
    names = list(values)
    if log:
        ax.plot(list(values.values()), names, "o", markersize=4, color=PALETTE[0])
        ax.grid(axis="y", linewidth=0.4)
        ax.set_xscale("log")
        _plain_numbers(ax.xaxis)
    else:
        ax.barh(names, list(values.values()), color=PALETTE[0])
    ax.invert_yaxis()


def _plain_numbers(axis):
    """Label a log axis with 10, 20, 50, 100; powers of ten would be too few, and all multiples
    overlap.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
