"""Runs without figures, which take most of a small run's time."""

from contextlib import contextmanager

import pytest

from ibpcl.experiments import run_figures


@contextmanager
def without_figures():
    """Let runs draw no figures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_figures, "draw", lambda *arguments: None)
        yield
