"""What training did: the objective that is trained, its parts, and the bound."""

import itertools

import numpy as np

from ibpcl.plotting import styled

from . import canvas

COST = {
    "kl_weights": "KL of weights",
    "kl_masks": "KL of masks",
    "kl_sticks": "KL of sticks",
    "kl_latent": "KL of codes",
    "penalty": "penalty",
}
# Whose weight in the objective each divergence has; one without a name here has weight 1.
WEIGHTS = {
    "kl_weights": "weight_kl_weight",
    "kl_masks": "mask_kl_weight",
    "kl_sticks": "stick_kl_weight",
    "kl_latent": "beta",
}
HEIGHT = 33  # of a panel, mm


@styled
def training_history(history, weights=None, task_names=None, axes=None):
    r"""Draw what training maximized, its parts, and the bound: a panel each, tasks and phases
    marked.

    .. math:: \mathcal J = \mathbb E[\log p(y)] - \sum_i w_i \mathrm{KL}_i - \text{penalty}, \qquad
              \mathrm{ELBO} = \mathbb E[\log p(y)] - \sum_i \mathrm{KL}_i

    Parameters
    ----------
    history : dict of str to sequence
        Columns of ``history.csv``, in nats for the whole task: ``log_likelihood`` and any of
        ``elbo``, ``kl_weights``, ``kl_masks``, ``kl_sticks``, ``kl_latent``, ``penalty``, ``task``,
        ``phase``.
    weights : dict of str to float, optional
        The weights of the divergences in the objective, as ``elbo_weights`` in ``result.json``; 1
        if not given. Written above the panels.
    axes : sequence of Axes, optional
        One a panel: one, or four for a history with divergences.

    Returns
    -------
    ndarray of Axes
        Objective, log-likelihood, weighted divergences, bound; only the log-likelihood where
        nothing else is trained.

    Raises
    ------
    ValueError
        If ``history`` has no column ``log_likelihood``, or columns differ in length.
    """
    columns = {name: np.asarray(values) for name, values in history.items()}
    if "log_likelihood" not in columns:
        raise ValueError(
            f"figures.training_history: history must have log_likelihood, got {list(columns)}"
        )
    if len({column.shape for column in columns.values()}) != 1:
        raise ValueError(
            "figures.training_history: columns of history must have one length, "
            f"got { ({name: column.shape for name, column in columns.items()}) }"
        )
    fit = columns["log_likelihood"]
    where = np.arange(1, columns["log_likelihood"].size + 1)
    objective, costs = weighted(columns, weights)
    panels = [("log-likelihood", {r"$\mathbb{E}[\log p(y)]$": fit}, canvas.PALETTE[1:])]
    if costs:
        bound = columns.get("elbo", fit - sum(columns[name] for name in WEIGHTS if name in columns))
        panels = [
            ("objective", {"what is trained": objective}, canvas.PALETTE),
            *panels,
            ("divergences", costs, canvas.PALETTE[2:]),
            ("bound", {"ELBO, all weights 1": bound}, canvas.INK),
        ]
    if axes is None:
        axes = canvas.new_axes(
            150, 14 + HEIGHT * len(panels), rows=len(panels), sharex=True, squeeze=False
        )
    axes = canvas.given_axes(axes, len(panels), "figures.training_history")
    for ax, (title, lines, colors) in zip(axes, panels, strict=True):
        for i, (label, values) in enumerate(lines.items()):
            ax.plot(
                where,
                values,
                color=colors if isinstance(colors, str) else colors[i],
                linewidth=1.2,
                label=label,
            )
        canvas.style(ax, ylabel=f"{title}\n(nats)", grid="y")
        if title != "divergences":
            _stretch(ax, np.concatenate(list(lines.values())))
        _mark(ax, where, columns, named=ax is axes[0])
        canvas.legend(ax)
    _name_tasks(axes[0], where, columns.get("task"), task_names)
    axes[-1].set_xlabel("epoch, all tasks", fontsize=canvas.LABEL)
    return axes


def weighted(columns, weights=None):
    """Return what is trained, and the divergences in it that are not zero, times their weights, by
    their names.

    Parameters
    ----------
    columns : dict of str to ndarray
        Of ``history.csv``.
    weights : dict of str to float, optional
        As in :func:`training_history`.

    Examples
    --------
    >>> weighted({"log_likelihood": np.array([-3.0]), "kl_masks": np.array([10.0])},
    ...     {"mask_kl_weight": 0.1})
    (array([-4.]), {'0.1 × KL of masks': array([1.])})
    """
    costs = {}
    for name, words in COST.items():
        if name in columns and np.any(columns[name]):
            factor = float((weights or {}).get(WEIGHTS.get(name), 1.0))
            costs[words if factor == 1 else f"{factor:.2g} × {words}"] = factor * columns[name]
    return columns["log_likelihood"] - sum(costs.values()), costs


def _stretch(ax, values):
    """Show small changes near 0 beside large ones: a scale that is linear near 0 and logarithmic
    far from it.
    """
    from matplotlib.ticker import EngFormatter, NullLocator

    sizes = np.abs(values[np.isfinite(values)])
    if sizes.size and sizes.max() > 20 * max(np.median(sizes), 1e-12):
        linear = max(np.median(sizes), 1e-3 * sizes.max())
        ax.set_yscale("asinh", linear_width=linear)
        decades = 10.0 ** np.arange(np.ceil(np.log10(linear)), np.floor(np.log10(sizes.max())) + 1)
        low, high = ax.get_ylim()
        ax.set_yticks([tick for tick in (*-decades, 0.0, *decades) if low <= tick <= high])
        ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(EngFormatter(sep=" "))  # 12 k for 12000


def _mark(ax, where, columns, named):
    """Draw a line where a task begins, and shade the epochs of fine-tuning, which is named once."""
    for start in where[1:][_changes(columns.get("task"), where.size)]:
        ax.axvline(start - 0.5, color=canvas.INK, linewidth=0.6, linestyle=":")
    phase = columns.get("phase")
    if phase is not None:
        edges = [0, *(np.flatnonzero(_changes(phase, where.size)) + 1), where.size]
        for first, last in itertools.pairwise(edges):
            if phase[first] == "finetune":
                ax.axvspan(
                    where[first] - 0.5,
                    where[last - 1] + 0.5,
                    color=canvas.EMPTY,
                    zorder=0,
                    label="fine-tuning, masks fixed" if named else None,
                )
                named = False


def _name_tasks(ax, where, task, names):
    """Write the name of each task over its records."""
    if task is None or names is None:
        return
    for t in np.unique(task):
        middle = where[task == t].mean()
        ax.annotate(
            str(names[int(t)]),
            (middle, 1.03),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=canvas.TICK,
            color=canvas.INK,
            annotation_clip=False,
        )


def _changes(column, size):
    """Return where a column changes, for all records but the first."""
    return np.zeros(max(size - 1, 0), dtype=bool) if column is None else column[1:] != column[:-1]
