"""Tutorials are run as their readers run them."""

import pytest


@pytest.fixture(autouse=True)
def with_figures(figures):
    """Let a tutorial's runs draw the figures that it shows."""
