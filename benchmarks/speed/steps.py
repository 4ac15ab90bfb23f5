"""Processor time of gradient steps on one thread, divided by that of their matrix products.

``ibpcl bench`` measures how long a step takes, and needs a quiet machine.  This program counts the
time of the processor, which other processes change less::

    OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python -m benchmarks.speed.steps --data-dir DIR
"""

import argparse
import os
import sys
import time
from typing import NamedTuple

from ibpcl.bench import autoencoder
from ibpcl.bench.measure import FIRST_PAIR, QUICK, Plan
from ibpcl.bench.problem import Problem, images, random_images
from ibpcl.bench.timing import interleave
from ibpcl.inference.backend import backend

ONE_THREAD = "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"


class Row(NamedTuple):
    """One line of the table.

    Attributes
    ----------
    name : str
        Which step was measured.
    milliseconds : float
        Median processor time of a step.
    ratio : float
        Median ratio of a step and its products.
    """

    name: str
    milliseconds: float
    ratio: float


def rows(plan, data_dir=None):
    """Measure the steps of the classifier and of the autoencoder.

    Parameters
    ----------
    plan : ibpcl.bench.measure.Plan
        Sizes and numbers of rounds.
    data_dir : str, optional
        Folder of the image files.

    Returns
    -------
    rows : list of Row
        One per kind of step.
    """
    ten = images(None, data_dir)
    dense = random_images(plan.sizes._replace(D=ten.x.shape[1]), 1.0)
    problems = {
        "classifier, ten classes": Problem(plan.sizes, ten, backend()),
        "classifier, two classes": Problem(plan.sizes, images(FIRST_PAIR, data_dir), backend()),
        "classifier, dense inputs": Problem(plan.sizes, dense, backend()),
    }
    functions = {name: problem.step for name, problem in problems.items()}
    functions["products"] = problems["classifier, ten classes"].products()
    times = interleave(functions, plan.rounds, time.process_time)
    found = [Row(name, times.median(name), times.ratio(name, "products")) for name in problems]
    values = autoencoder.measure(plan, data_dir, time.process_time)
    return found + [
        Row(
            f"autoencoder, {phase}",
            values[f"vae_{phase}_step_ms"],
            values[f"vae_{phase}_step_over_products"],
        )
        for phase in ("masked", "finetune")
    ]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=Plan().rounds, help="rounds of measurements")
    parser.add_argument("--data-dir", help="folder of the image files")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: whether it works")
    arguments = parser.parse_args()
    if any(os.environ.get(variable) != "1" for variable in ONE_THREAD):
        parser.error(f"set {' and '.join(f'{variable}=1' for variable in ONE_THREAD)}")
    plan = QUICK if arguments.quick else Plan(rounds=arguments.rounds)
    print(f"{'processor time of a step':28}{'ms':>9}  over its products")
    for row in rows(plan, arguments.data_dir):
        print(f"{row.name:28}{row.milliseconds:9.2f}  {row.ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
