"""The ELBO and its parts during training."""

import numpy as np

from . import canvas

FIT = {"elbo": "ELBO", "log_likelihood": "log-likelihood"}
COST = {"kl_weights": "KL of weights", "kl_masks": "KL of masks", "kl_sticks": "KL of sticks",
        "kl_latent": "KL of codes"}


def training_history(history, x=None, xlabel=None, axes=None):
    r"""Draw the ELBO and the expected log-likelihood above, and below the KL terms that lie between them.

    .. math:: \mathrm{ELBO} = \mathbb E[\log p(y)] - \mathrm{KL_{weights}} - \mathrm{KL_{masks}} - \mathrm{KL_{sticks}}

    Parameters
    ----------
    history : dict of str to sequence
        Columns of ``history.csv``, in nats for the whole task: any of ``elbo``, ``log_likelihood``, ``kl_weights``,
        ``kl_masks``, ``kl_sticks``, ``kl_latent``.  Where a column ``task`` changes, a line is drawn.
    x : str, optional
        The column to draw over; the number of the record by default.
    xlabel : str, optional
        Its name with unit.
    axes : two Axes, optional

    Returns
    -------
    ndarray of Axes, shape (2,)

    Raises
    ------
    ValueError
        If ``history`` has none of the columns, or not the column ``x``, or columns differ in length.
    """
    columns = {name: np.asarray(values) for name, values in history.items()}
    known = [name for name in (FIT | COST) if name in columns]
    if not known:
        raise ValueError(f"figures.training_history: history must have one of {list(FIT | COST)}, got {list(columns)}")
    if x is not None and x not in columns:
        raise ValueError(f"figures.training_history: x must be a column of history, one of {list(columns)}, got {x!r}")
    if len({column.shape for column in columns.values()}) != 1:
        raise ValueError("figures.training_history: columns of history must have one length, "
                         f"got {({name: column.shape for name, column in columns.items()})}")
    where = np.arange(1, columns[known[0]].size + 1) if x is None else columns[x]
    if axes is None:
        axes = canvas.new_axes(height=90, rows=2, sharex=True)
    axes = canvas.given_axes(axes, 2, "figures.training_history")
    for ax, names, first in ((axes[0], FIT, 0), (axes[1], COST, 2)):
        for i, name in enumerate(names):
            if name in columns and (name != "kl_latent" or columns[name].any()):       # a classifier has no codes
                ax.plot(where, columns[name], color=canvas.PALETTE[first + i], linewidth=1.2, label=names[name])
        canvas.style(ax, ylabel="nats per task", grid="y")
        _short_numbers(ax.yaxis)
        if ax.lines:
            canvas.legend(ax)
        for start in where[1:][_changes(columns.get("task"), where.size)]:
            ax.axvline(start, color=canvas.INK, linewidth=0.6, linestyle=":")
    axes[1].set_xlabel(xlabel or x or "record", fontsize=canvas.LABEL)
    return axes


def _changes(task, size):
    """Return where a new task begins, for all records but the first."""
    return np.zeros(max(size - 1, 0), dtype=bool) if task is None else task[1:] != task[:-1]


def _short_numbers(axis):
    """Write 12 k for 12000."""
    from matplotlib.ticker import EngFormatter

    axis.set_major_formatter(EngFormatter(sep=" "))
