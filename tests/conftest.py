"""What all tests share: a Hypothesis profile without a deadline, a small image set, and settings of
a run that takes a moment.
"""

import contextlib
import json
import os
import sys
import time
from dataclasses import fields

import numpy as np
import pytest
from drawing import without_figures
from hypothesis import settings

from ibpcl import blas_threads, processors
from ibpcl.data import registry
from ibpcl.data.dataset import Dataset
from ibpcl.errors import UserError
from ibpcl.inference import backend
from tests import started

# The same examples on every run; five times as many with --hypothesis-profile thorough.
settings.register_profile("ibpcl", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=200)
settings.load_profile("ibpcl")


def load_small(name, data_dir=None, seed=0):
    """Ten classes of 4 x 4 images, each with a bright pixel of its own; no files are read.

    The first test image is from training, and the second is blank.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for count in (200, 100):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = rng.integers(0, 60, (count, 16), dtype=np.uint8)
        images[np.arange(count), labels] = 255
        parts += [images.reshape(count, 4, 4), labels]
    parts[2][0] = parts[0][0]
    parts[2][1] = 255
    return Dataset(name, *parts, tuple("ABCDEFGHIJ"))


COMPILATION = 600  # seconds, at most
# Hundreds of processes import the package; without compiled files each takes twice as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Runs write thousands of files. No test outlives a power cut, so none waits for the disk; those of
# ``test_storage`` record the calls.
os.fsync = lambda descriptor: None


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist, too
def pytest_xdist_auto_num_workers():
    """Return the number of cores that this process may use."""
    return processors.usable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Note the tests that are slow or start processes and do not say why, for ``test_started``."""
    started.unexplained = [fault for item in items for fault in started.without_reason(item)]
    started.quick = [
        item.nodeid
        for item in items
        if item.get_closest_marker("starts") and not item.get_closest_marker("slow")
    ]


@pytest.fixture(autouse=True)
def few_processes(request):
    """Refuse a test that starts a process and has no mark."""
    with started.refused(request.node):
        yield


def pytest_sessionstart():
    """Compile the kernels in the first worker, if they are not there, and let all others wait for
    them.

    BLAS has one thread in a worker, and in what that starts: further ones would only wait, by
    spinning.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if not worker:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for library in blas_threads.libraries():
        library.set(1)
    if backend.why_not() is not None:
        return
    from ibpcl.kernels import machine_code

    if worker == "gw0":
        backend.backend()
    deadline = time.monotonic() + COMPILATION
    while not machine_code.store.complete and time.monotonic() < deadline:
        time.sleep(0.1)
        machine_code.store = machine_code.choose()


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Compute in one thread where pytest-xdist has a worker for each core: further ones would wait
    for each other.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ or backend.why_not() is not None:
        yield
    else:
        from ibpcl.kernels import threads

        threads.set_count(1)
        yield
        threads.set_count(None)


@pytest.fixture
def no_figures():
    """Let the runs of a test draw no figures."""
    with without_figures():
        yield


@pytest.fixture
def checked_here(monkeypatch):
    """Let ``ibpcl check`` check a file in this process, for tests of its verdict alone."""
    from ibpcl.verify.running import checking, user

    def messages(run, names):
        of_run = {each.name: getattr(run, each.name) for each in fields(user.Request)}
        request = user.Request(**{**of_run, "names": names})
        try:
            with contextlib.redirect_stdout(sys.stderr):
                sent = json.dumps(list(checking.messages(request)))
        except UserError as error:
            return [{"event": "refused", "state": "refused", "words": str(error)}]
        return json.loads(sent)

    monkeypatch.setattr(user.FileRun, "_messages", messages)


@pytest.fixture
def tiny():
    """Keys with their texts, as a user would set them."""
    return {
        "hidden": "6",
        "samples": "1",
        "prediction_samples": "2",
        "epochs": "2",
        "finetune_epochs": "1",
        "batch": "20",
        "backend": "numpy",
        "tasks": "3",
        "independent.hidden": "6",
        "independent.epochs": "3",
        "alpha": "200",
        "mask_link": "logit",
        "coreset_size": "10",
    }


@pytest.fixture
def small_images(monkeypatch):
    """Put a small image set in the place of every real one."""
    monkeypatch.setattr(registry, "load", load_small)
