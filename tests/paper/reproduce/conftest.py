"""A small image set in the place of every real one, for every test of the targets."""

import pytest


@pytest.fixture(autouse=True)
def _small(small_images):
    pass
