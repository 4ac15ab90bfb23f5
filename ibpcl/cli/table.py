"""The accuracy matrix on the terminal: one row per task, as the tasks are learned."""

import numpy as np

WIDTH = 80
CELL = 7  # " 100.00"
# Width of the number of the task, and of the columns mean, used and seconds.
MARGINS = 3 + 3 * 8


def percent(fraction, places=2):
    """Return a fraction as a percentage.

    Parameters
    ----------
    fraction : float
        The fraction; NaN gives a dash.
    places : int
        Number of decimal places.

    Returns
    -------
    text : str
        The percentage.

    Examples
    --------
    >>> percent(0.98765), percent(float("nan"))
    ('98.77 %', '-')
    """
    return "-" if np.isnan(fraction) else f"{100 * fraction:.{places}f} %"


class AccuracyTable:
    """Formats the accuracies on all tasks so far, one line per task.

    If the tasks do not fit into a line, it shows the accuracy on the newest task and the lowest
    one.

    Parameters
    ----------
    names : sequence of str
        Names of the tasks, in order.
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
        """Return the line after a task.

        Parameters
        ----------
        report : ibpcl.experiments.run.Report
            The results after the task.

        Returns
        -------
        line : str
            The line.
        """
        done = report.progress
        t = report.progress.task
        so_far, places, middle = self.results(report)
        cells = so_far if self.full else (so_far[t], so_far.min())[: len(self.short)]
        blank = len(self.names) - t - 1 if self.full else 0
        # Rounded as in result.json.
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
        """Return the numbers of the line after a task.

        Parameters
        ----------
        report : ibpcl.experiments.run.Report
            The results after the task.

        Returns
        -------
        results : ndarray
            Accuracy on each task so far, in percent.
        places : int
            Number of decimal places.
        used : str
            Share of the weights that the task uses, in percent.
        """
        done = report.progress
        used = "-" if report.mask_density is None else f"{100 * report.mask_density:.1f}"
        return 100 * done.accuracy[done.task, : done.task + 1], 2, used

    def _line(self, number, name, cells, *last):
        middle = "".join(f"{cell:>{CELL}}" for cell in cells)
        return f"{number:>2} {name:<{self.name_width}}{middle}" + "".join(
            f"{text:>8}" for text in last
        )


class LikelihoodTable(AccuracyTable):
    """Formats the log-likelihoods of all tasks so far, in nats per image, one line per task.

    If the tasks do not fit into a line, it shows the newest one. Further columns: the mean over all
    tasks so far, and the mean change of earlier tasks since they were learned.

    Parameters
    ----------
    names : sequence of str
        Names of the tasks, in order.
    """

    short = ("newest",)
    last = ("mean", "change", "seconds")

    def results(self, report):
        """Return the numbers of the line after a task.

        Parameters
        ----------
        report : ibpcl.experiments.run.Report
            The results after the task.

        Returns
        -------
        results : ndarray
            Log-likelihood of each task so far, in nats per image.
        places : int
            Number of decimal places.
        change : str
            Mean change of earlier tasks, in nats per image.
        """
        t = report.progress.task
        R = report.progress.log_likelihood
        change = f"{np.mean((R[t] - R.diagonal())[:t]):+.2f}" if t else "-"
        return R[t, : t + 1], 1, change
