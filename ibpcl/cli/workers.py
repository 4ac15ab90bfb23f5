"""``--workers``, ``--scheduler`` and ``--threads``: who does the runs of ``compare``, ``tune`` and ``reproduce``."""

import contextlib
import os
from pathlib import Path

from tqdm import tqdm

from ibpcl.errors import UserError


@contextlib.contextmanager
def hired(options):
    """Give the workers that the command line asks for to a ``with``, or None; say where to look at them.

    Raises
    ------
    UserError
        If they cannot be had.
    """
    if options.workers is options.scheduler is None:
        if options.threads is not None:
            raise UserError("--threads is for each worker: it goes with --workers or --scheduler")
        yield None
        return
    from ibpcl.experiments import cluster

    with (cluster.local(options.workers, options.threads) if options.scheduler is None
          else cluster.remote(options.scheduler, options.threads)) as (workers, dashboard):
        if not options.json:
            tqdm.write(f"{workers.count()} workers; Dask's dashboard: {dashboard}")
        yield workers


def data_dir(options):
    """Return the folder of the image files, such that workers that were started elsewhere find it too."""
    if options.scheduler is None:
        return options.data_dir
    where = options.data_dir or os.environ.get("IBPCL_DATA")
    return where and str(Path(where).absolute())
