"""Searches for a name and checks of one function have more time than a slow machine needs."""

import pytest

from ibpcl.verify.distributions import checking, repair


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Raise the limits of processor time, so that no verdict or name depends on the machine."""
    monkeypatch.setattr(checking, "ITEM_SECONDS", 300.0)
    monkeypatch.setattr(repair, "NAME_SECONDS", 60.0)
