"""How much faster several workers do the runs of a comparison: ``python -m ibpcl.bench.workers
[WORKERS ...]``.

Every number of workers does the same eight runs, EWC on rendered glyphs with eight seeds, on one
thread each; in turns, three times.  Printed are the medians of the times, without the start of the
workers, and the efficiency: the time that one worker takes over n times the time that n workers
take.
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
    """Return the seconds that each number of workers takes, a list with one per round.

    Parameters
    ----------
    numbers : sequence of int
        Of workers.
    folder : path-like
        For the runs.
    seeds, rounds : int
        Runs of a round; rounds.
    assignments : dict of str to str, optional
        Keys of the runs.
    """
    found = {number: [] for number in numbers}
    for turn, number in ((turn, number) for turn in range(rounds) for number in numbers):
        place = Path(folder, f"{turn}-{number}")
        with cluster.local(number, 1) as (workers, _):
            # loads images and machine code
            _run(workers, place / "warm", number, assignments)
            found[number].append(_run(workers, place / "timed", seeds, assignments))
    return found


def _run(workers, out, seeds, assignments):
    """Return how many seconds the runs take."""
    planned = cells.plan(
        [Row("ewc", "ewc", "ewc")],
        [BENCHMARKS["split-glyphs"]],
        Choice(seeds, assignments=assignments or {}, out=out),
    )
    start = time.perf_counter()
    cells.measure(planned, False, workers=workers)
    return time.perf_counter() - start


def main(numbers):
    """Measure, and print a line for each number of workers."""
    with tempfile.TemporaryDirectory() as folder:
        medians = {
            number: statistics.median(times) for number, times in measure(numbers, folder).items()
        }
    for number, seconds in medians.items():
        efficiency = medians[1] / seconds / number
        print(f"{number} worker{'s' * (number > 1)}: {seconds:.1f} s, efficiency {efficiency:.0%}")


if __name__ == "__main__":
    main(sorted({1, *map(int, sys.argv[1:] or ["2"])}))
