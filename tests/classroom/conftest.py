"""Its presence puts this folder on the path, where the tests of all rooms find what they share."""

import here
import pytest


@pytest.fixture(scope="session", autouse=True)
def patient():
    """Give the search for a line more time than a busy machine needs."""
    from ibpcl.classroom.judging.running import lines

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "SECONDS", 300.0)
        yield


@pytest.fixture(autouse=True)
def judged_here(request):
    """Judge hand-ins in this process, unless the test is slow or about processes."""
    if any(mark.name in ("slow", "processes") for mark in request.node.iter_markers()):
        yield
    else:
        with here.judged_here():
            yield
