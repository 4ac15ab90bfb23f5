"""Workers of a Dask cluster: one that a command starts on this machine, or an existing one.

Dask is an extra, ``pip install 'ibpcl[cluster]'``; no other module knows of it.
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

# of the workers of a run, after which it is given up
DEATHS = 3
# of a worker, after which it is killed and replaced
SILENCE = "60s"
# An interrupt from the terminal reaches workers, too, but is for the command, which ends them.  A
# worker that imports the package when it gets its first run would be silent as long as that takes.
PREPARED = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import ibpcl.experiments.cells"
)
# seconds until a scheduler must have answered
PATIENCE = 10


@contextlib.contextmanager
def local(number, threads=None):
    """Start ``number`` worker processes on this machine, each for one run at a time, and end them
    with the ``with``.

    Yields the :class:`ibpcl.experiments.sweep.Workers` and the address of Dask's own pages about
    them.  Each has ``threads``, or its share of the cores.
    """
    dask, distributed = _imported()
    share = None
    # else there are no kernels to share the cores
    if why_not() is None:
        share = max(1, usable() // number)
    chosen = {
        "distributed.scheduler.worker-ttl": SILENCE,
        "distributed.scheduler.allowed-failures": DEATHS - 1,
        # Dask looks once, so long after a death, whether there is a worker again, and if not
        # never replaces it.
        "distributed.deploy.lost-worker-timeout": "1000 days",
    }
    # What fails is named by us, in a line; Dask's own report of it would be a page.
    with (
        dask.config.set(chosen),
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
    """Use the workers of an existing scheduler; yields as :func:`local`.

    ``scheduler`` is its address, such as ``tcp://host:8786``, or the file that it wrote (``dask
    scheduler --scheduler-file``).  A UserError if it does not answer, or its workers cannot work
    for this command.
    """
    _, distributed = _imported()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    where = {"scheduler_file": scheduler} if Path(scheduler).is_file() else {"address": scheduler}
    try:
        client = distributed.Client(**where, timeout=PATIENCE)
    # no scheduler answers, or it is no address
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
            f"`workers` and `scheduler` need {error.name}: pip install 'ibpcl[cluster]'"
        ) from error
    return dask, distributed


def _workers(client, threads):
    return Workers(client.get_executor(pure=False), threads, lambda: len(client.nthreads()))


def _check(client):
    """Refuse workers that have another version, or none, or would do several runs at once."""
    for address, number in client.nthreads().items():
        if number != 1:
            raise UserError(
                f"the worker {address} does {number} runs at once, and a run has threads of its "
                "own; start it with `dask worker --nthreads 1`"
            )
    # A function of Python's: it is there where the package is missing.
    found = client.run(importlib.metadata.version, "ibpcl", on_error="return")
    for address, version in found.items():
        if version != ibpcl.__version__:
            has = (
                "does not have ibpcl" if isinstance(version, Exception) else f"has ibpcl {version}"
            )
            raise UserError(
                f"the worker {address} {has}, this command is {ibpcl.__version__}; install it there"
            )
