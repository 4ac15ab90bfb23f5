"""Beyond the paper: one head for all tasks, so that what is forgotten cannot hide behind a head of its own."""

from ibpcl.experiments import findings
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import PERCENT, POINTS, Table
from ibpcl.methods import ABOUT
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import ONE_HEAD, method_rows


class Domain:
    """Final mean accuracy and backward transfer with one head, of every method that can do that."""

    benchmarks = ONE_HEAD
    family = "domain"

    @staticmethod
    def rows(quick):
        """Return all methods that can have one head for all tasks."""
        return tuple(row for row in method_rows() if "domain" in ABOUT[row.method].can)

    @staticmethod
    def summarize(found):
        """Make one table, two columns a benchmark, and the curves, a panel a benchmark."""
        entries, axes = [], pictures.panels(len(found.benchmarks))
        for row in found.rows:
            for b in found.benchmarks:
                if found.of(row, b):
                    entries += [found.entry(row, b, findings.final_accuracy, b.label, PERCENT),
                                found.entry(row, b, findings.backward_transfer, f"{b.label} BWT", POINTS)]
        for ax, b in zip(axes, found.benchmarks, strict=True):
            pictures.curves({row.label: [findings.matrix(m) for m in found.of(row, b)] for row in found.rows_on(b)}, ax,
                            b.label)
        pictures.one_legend(axes)
        table = Table("Final mean accuracy, percent, and backward transfer, points", tuple(entries), "method")
        return Summary((table,), (
            "One head for all tasks. Permuted-10: ten permutations of the pixels of MNIST, ten classes. Pairs: 0/1 to "
            "8/9 as five tasks with two classes, the first and the second of a pair, so that the same output means "
            "another digit in every task; chance is 50 %.",
            f"At a test no method is told which task an example is of{_told(found)}.",
        ), {"curves": axes})


def _told(found):
    """Return which rows are told all the same, because they have something for each task: a mask."""
    told = {m.cell.row.label for m in found.measured if measures.has_masks(m)}
    return f", but for those with a mask a task: {', '.join(sorted(told))}" if told else ""
