"""Judging in the process of the tests, as in a browser tab: for tests of marks, words and names.

Nothing is started, so a test takes a third of the time.  No limit holds and no file is hidden:
tests of the box start processes, and ``tests/classroom/judging/test_here.py`` compares both.
"""

import contextlib
import sys
import warnings

import numpy as np
import pytest

from ibpcl.classroom.intake.reading import process
from ibpcl.classroom.judging.running import client, parallel
from ibpcl.sandbox import local


class NoMatplotlib:
    """A finder that lacks Matplotlib, as a box does."""

    @staticmethod
    def find_spec(name, *_):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")


class Worker(local.Worker):
    """A worker in this process that leaves the settings of this process as they are."""

    def ask(self, *arguments, **request):
        with warnings.catch_warnings(), np.errstate(), pytest.MonkeyPatch.context() as patch:
            warnings.simplefilter("ignore")  # a box prints them
            for name in ("matplotlib", "matplotlib.pyplot"):
                patch.delitem(sys.modules, name, raising=False)
            patch.setattr(sys, "meta_path", [NoMatplotlib, *sys.meta_path])
            return super().ask(*arguments, **request)


@contextlib.contextmanager
def judged_here():
    """Read and judge hand-ins in this process."""
    over = parallel.over

    def one_by_one(function, items, jobs=None, seconds=None, failed=None, apart=True):
        return over(function, items, 1, seconds, failed, apart=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "IN_A_TAB", True)
        patch.setattr(local, "Worker", Worker)
        patch.setattr(process, "_readers", {})
        patch.setattr(parallel, "over", one_by_one)
        patch.setattr(client, "probe", lambda name: "")
        yield
