"""The processor time of the tests by folder: ``python -m pytest -n 0 -p tests.processor_time``.

It does not depend on what else the machine does, as the durations of ``--durations`` do.  The time
of a test includes its fixtures and the processes that it starts and waits for.  The processes are
those that :mod:`tests.started` counts.
"""

import os
from collections import Counter

import pytest

from tests import started

seconds = Counter()
tests = Counter()
starts = Counter()
at_first = None


def now():
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Add the time of a test to that of its folder."""
    folder = "/".join(item.nodeid.partition("::")[0].split("/")[:-1])
    before, at = now(), len(started.events)
    result = yield
    seconds[folder] += now() - before
    tests[folder] += 1
    starts[folder] += len(started.events) - at
    return result


def pytest_collection_finish():
    """Note the time of imports and collection."""
    global at_first
    at_first = now()


def pytest_terminal_summary(terminalreporter):
    """Print the table."""
    terminalreporter.write_sep("=", "processor time")
    terminalreporter.write_line(f"{at_first:8.1f} s  imports and collection")
    for folder, value in seconds.most_common():
        terminalreporter.write_line(
            f"{value:8.1f} s {tests[folder]:6d} tests {starts[folder]:4d} processes  {folder}"
        )
    terminalreporter.write_line(
        f"{sum(seconds.values()):8.1f} s {sum(tests.values()):6d} tests "
        f"{len(started.events):4d} processes, those of the collection with them"
    )
