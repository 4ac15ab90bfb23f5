"""The speed-up by several workers in a comparison: ``python -m ibpcl.bench.workers [WORKERS ...]``.

Every number of workers does the same eight runs in turn, three times: EWC on rendered glyphs with
eight seeds, on one thread each. The output has the median times, without the start of the workers,
and the efficiency: the time of one worker divided by n times the time of n workers.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from ibpcl.experiments import cells, cluster
from ibpcl.experiments.benchmarks import BENCHMARKS, Row
from ibpcl.experiments.choice import Choice

SEEDS = 8
ROUNDS = 3


def measure(numbers, folder, seeds=SEEDS, rounds=ROUNDS, assignments=None):
    """Measure the time of a comparison for several numbers of workers.

    Parameters
    ----------
    numbers : sequence of int
        Numbers of workers.
    folder : path-like
        Folder for the runs.
    seeds, rounds : int
        Number of runs per round, and of rounds.
    assignments : dict of str to str, optional
        Keys of the runs, with values as text.

    Returns
    -------
    seconds : dict of int to list of float
        For each number of workers, one time per round.
    """
    seconds = {number: [] for number in numbers}
    for turn, number in ((turn, number) for turn in range(rounds) for number in numbers):
        out = Path(folder, f"{turn}-{number}")
        with cluster.local(number, 1) as (workers, _):
            # Load images and kernels first.
            _run(workers, out / "warm", number, assignments)
            seconds[number].append(_run(workers, out / "timed", seeds, assignments))
    return seconds


def _run(workers, out, seeds, assignments):
    """Return the time of the runs in seconds."""
    planned = cells.plan(
        [Row("ewc", "ewc", "ewc")],
        [BENCHMARKS["split-glyphs"]],
        Choice(seeds, assignments=assignments or {}, out=out),
    )
    start = time.perf_counter()
    cells.measure(planned, False, workers=workers)
    return time.perf_counter() - start


def main(numbers):
    """Measure, and print one line per number of workers.

    Parameters
    ----------
    numbers : sequence of int
        Numbers of workers; 1 is among them.
    """
    with tempfile.TemporaryDirectory() as folder:
        medians = {
            number: statistics.median(times) for number, times in measure(numbers, folder).items()
        }
    for number, seconds in medians.items():
        efficiency = medians[1] / seconds / number
        noun = "workers" if number > 1 else "worker"
        print(f"{number} {noun}: {seconds:.1f} s, efficiency {efficiency:.0%}")


if __name__ == "__main__":
    main(sorted({1, *map(int, sys.argv[1:] or ["2"])}))
