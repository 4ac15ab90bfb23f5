"""Measurements that need a new process: importing, compiling, and the memory of a step.

``python -m ibpcl.bench.fresh SIZES...`` prints one line of JSON.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MB = 2**20


def measure(sizes, folder):
    """Measure in a new process.

    Parameters
    ----------
    sizes : ibpcl.bench.problem.Sizes
        Sizes of the step.
    folder : path-like
        Folder for the compiled kernels.

    Returns
    -------
    values : dict of str to float
        Seconds and MB.
    """
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-m", "ibpcl.bench.fresh", *map(str, sizes)]
    done = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, encoding="utf-8"
    )
    return json.loads(done.stdout)


def cold_and_cached(sizes):
    """Measure the first run after an installation, and the next one.

    Parameters
    ----------
    sizes : ibpcl.bench.problem.Sizes
        Sizes of the step.

    Returns
    -------
    cold, cached : dict of str to float
        From :func:`measure`.
    """
    with tempfile.TemporaryDirectory() as folder:
        return measure(sizes, folder), measure(sizes, folder)


def import_seconds(rounds):
    """Return the median time of ``import ibpcl`` in a new process.

    Parameters
    ----------
    rounds : int
        Number of processes.

    Returns
    -------
    seconds : float
        The median.
    """
    code = "import time; t = time.perf_counter(); import ibpcl; print(time.perf_counter() - t)"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        for _ in range(rounds)
    ]
    return statistics.median(float(run.stdout) for run in runs)


def highest_mb(reset=False):
    """Return the largest resident memory of this process so far.

    Parameters
    ----------
    reset : bool
        Whether to reset the maximum first.

    Returns
    -------
    megabytes : float or None
        In MB of 2^20 bytes; None where Linux does not provide it.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    if reset:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))[1]) * 1024 / MB


def main(arguments):
    """Measure in this process, and print one line of JSON.

    Parameters
    ----------
    arguments : list of str
        The sizes S, N, D, K and C.
    """
    start = time.perf_counter()
    import ibpcl  # noqa: F401 - its time is what is measured

    imported = time.perf_counter()
    from ibpcl.bench.problem import MNIST_DENSITY, Problem, Sizes, random_images
    from ibpcl.inference.backend import backend

    sizes = Sizes(*map(int, arguments))
    tiny = sizes._replace(S=1, N=8, D=20, K=min(sizes.K, 8))
    Problem(tiny, random_images(tiny, MNIST_DENSITY), backend()).step()
    compiled = time.perf_counter()
    problem = Problem(sizes, random_images(sizes, MNIST_DENSITY), backend())
    before = highest_mb(reset=True)
    for _ in range(3):
        problem.step()
    after = highest_mb()
    print(
        json.dumps(
            {
                "import_s": imported - start,
                "compile_s": compiled - imported,
                "peak_step_mb": None if after is None else after - before,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1:])
