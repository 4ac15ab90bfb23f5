"""Work on several hand-ins at the same time: each judge in a process of its own pool."""

import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from ibpcl.errors import UserError
from ibpcl.processors import usable


def over(function, items, jobs=None):
    """Yield ``function(item)`` for each item, in order; function and items must be picklable.

    Parameters
    ----------
    function : callable
    items : list
    jobs : int, optional
        Processes; by default as many as there are processors that this process may use.

    Raises
    ------
    UserError
        If a process is ended from outside.
    """
    jobs = min(jobs or usable(), len(items))
    if jobs < 2:
        yield from map(function, items)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _single_threaded) as pool:
        try:
            yield from pool.map(function, items)
        except BrokenProcessPool:
            raise UserError("class: a process of the judge was ended from outside (too little memory?); run the same "
                            "command again, perhaps with --jobs 1: it goes on where it stopped") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _single_threaded():
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
