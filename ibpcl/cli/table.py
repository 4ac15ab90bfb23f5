"""The accuracy matrix as it grows, a row per task, within 80 columns."""

import numpy as np

WIDTH = 80
CELL = 7  # " 100.00"
# the number of the task, then mean, used and seconds
MARGINS = 3 + 3 * 8


def percent(fraction, places=2):
    """Write a fraction as a percentage, a dash for one that was not measured.

    >>> percent(0.98765), percent(float("nan"))
    ('98.77 %', '-')
    """
    return "-" if np.isnan(fraction) else f"{100 * fraction:.{places}f} %"


class AccuracyTable:
    """Prints the accuracy on every task so far; with too many tasks for a line, the newest, and the
    lowest of all.

    Parameters
    ----------
    names : sequence of str
        Of the tasks, in their order.
    """

    short = ("newest", "lowest")
    last = ("mean", "used %", "seconds")

    def __init__(self, names):
        self.names = names
        self.name_width = max(4, *map(len, names))
        self.full = MARGINS + self.name_width + CELL * len(names) <= WIDTH

    def header(self):
        """Return the line of column names."""
        cells = map(str, range(1, len(self.names) + 1)) if self.full else self.short
        return self._line("", "task", cells, *self.last)

    def row(self, report):
        """Return the line of a task from its :class:`ibpcl.experiments.run.Report`."""
        done = report.progress
        t = report.progress.task
        so_far, places, middle = self.results(report)
        cells = so_far if self.full else (so_far[t], so_far.min())[: len(self.short)]
        blank = len(self.names) - t - 1 if self.full else 0
        # as the result has them
        seconds = round(done.train_seconds, 3) + round(done.test_seconds, 3)
        return self._line(
            str(t + 1),
            done.name,
            [*(f"{value:.{places}f}" for value in cells), *[""] * blank],
            f"{so_far.mean():.{places}f}",
            middle,
            f"{seconds:.1f}",
        )

    def results(self, report):
        """Return the results so far, their decimal places, and the last column but one."""
        done = report.progress
        used = "-" if report.mask_density is None else f"{100 * report.mask_density:.1f}"
        return 100 * done.accuracy[done.task, : done.task + 1], 2, used

    def _line(self, number, name, cells, *last):
        middle = "".join(f"{cell:>{CELL}}" for cell in cells)
        return f"{number:>2} {name:<{self.name_width}}{middle}" + "".join(
            f"{text:>8}" for text in last
        )


class LikelihoodTable(AccuracyTable):
    """Prints the log-likelihood of every task so far, nats per image; with too many tasks for a
    line, of the newest.

    Behind it stand the mean of all tasks so far, and how far the earlier ones have moved since they
    were learned.
    """

    short = ("newest",)
    last = ("mean", "change", "seconds")

    def results(self, report):
        """Return the results so far, their decimal places, and the last column but one."""
        t = report.progress.task
        R = report.progress.log_likelihood
        change = f"{np.mean((R[t] - R.diagonal())[:t]):+.2f}" if t else "-"
        return R[t, : t + 1], 1, change
