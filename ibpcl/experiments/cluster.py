"""Workers of a Dask cluster: new ones on this machine, or those of an existing scheduler.

Dask comes with the extra ``cluster`` of this package; no other module needs it.
"""

import contextlib
import importlib.metadata
import logging
from pathlib import Path

import ibpcl
from ibpcl.errors import UserError
from ibpcl.experiments.sweep import Workers
from ibpcl.inference.backend import why_not
from ibpcl.processors import usable

# Number of workers that may die on a run before it is given up.
DEATHS = 3
# After this time without an answer, a worker is killed and replaced.
SILENCE = "60s"
# An interrupt from the terminal reaches workers too; they ignore it, because the command ends them.
# The package is imported before the first run: a worker does not answer while it imports.
PREPARED = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import ibpcl.experiments.cells"
)
# Seconds within which a scheduler must answer.
PATIENCE = 10
# Up to these sizes in bytes, the C library of Linux keeps freed memory for the next array.  Dask
# sets the first one to 64 KiB.  Then each large array gets new pages, which the system must clear
# first.
KEPT_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 2**30, "MALLOC_MMAP_THRESHOLD_": 2**25}


@contextlib.contextmanager
def local(number, threads=None):
    """Start worker processes on this machine, and end them when the ``with`` block ends.

    Parameters
    ----------
    number : int
        Number of workers; each does one run at a time.
    threads : int, optional
        Threads of each worker; by default its share of the cores.

    Yields
    ------
    workers : ibpcl.experiments.sweep.Workers
        The workers.
    dashboard : str
        Address of Dask's dashboard.

    Raises
    ------
    UserError
        If Dask is not installed.
    """
    dask, distributed = _imported()
    share = None
    # Only compiled kernels use several threads.
    if why_not() is None:
        share = max(1, usable() // number)
    settings = {
        "distributed.scheduler.worker-ttl": SILENCE,
        "distributed.scheduler.allowed-failures": DEATHS - 1,
        # Dask checks only once, this long after a worker died, whether there is another one; if
        # not, it never replaces it.
        "distributed.deploy.lost-worker-timeout": "1000 days",
        **{f"distributed.nanny.pre-spawn-environ.{name}": v for name, v in KEPT_MEMORY.items()},
    }
    # Failures are reported by this package in one line; Dask's own log would fill a page.
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=":0",
            memory_limit=None,
            silence_logs=logging.CRITICAL,
            preload=[PREPARED],
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield _workers(client, threads or share), client.dashboard_link


@contextlib.contextmanager
def remote(scheduler, threads=None):
    """Use the workers of an existing scheduler while the ``with`` block runs.

    Parameters
    ----------
    scheduler : str
        Its address, such as ``tcp://host:8786``, or the file that ``dask scheduler
        --scheduler-file`` wrote.
    threads : int, optional
        Threads of each worker; all that it may use if not given.

    Yields
    ------
    workers : ibpcl.experiments.sweep.Workers
        The workers.
    dashboard : str
        Address of Dask's dashboard.

    Raises
    ------
    UserError
        If the scheduler does not answer, its workers have another version of this package, or Dask
        is not installed.
    """
    _, distributed = _imported()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    target = {"scheduler_file": scheduler} if Path(scheduler).is_file() else {"address": scheduler}
    try:
        client = distributed.Client(**target, timeout=PATIENCE)
    # No answer, or not an address.
    except (OSError, ValueError) as error:
        raise UserError(
            f"`scheduler`: no scheduler answers at {scheduler}; start one with `dask scheduler`, "
            "and name its address or its file"
        ) from error
    with client:
        _check(client)
        yield _workers(client, threads), client.dashboard_link


def _imported():
    try:
        import dask
        import distributed
    except ModuleNotFoundError as error:
        raise UserError(
            f"`workers` and `scheduler` need {error.name}, which is not installed (pip install "
            "dask distributed)"
        ) from error
    return dask, distributed


def _workers(client, threads):
    return Workers(client.get_executor(pure=False), threads, lambda: len(client.nthreads()))


def _check(client):
    """Refuse workers that lack this package, have another version, or do several runs at once."""
    for address, number in client.nthreads().items():
        if number != 1:
            raise UserError(
                f"the worker {address} does {number} runs at once, but a run uses several threads "
                "itself; start the worker with `dask worker --nthreads 1`"
            )
    # A function of the standard library: it also exists where the package is missing.
    versions = client.run(importlib.metadata.version, "ibpcl", on_error="return")
    for address, version in versions.items():
        if version != ibpcl.__version__:
            has = (
                "does not have ibpcl" if isinstance(version, Exception) else f"has ibpcl {version}"
            )
            raise UserError(
                f"the worker {address} {has}, but this process has {ibpcl.__version__}; install "
                "the same version there"
            )
