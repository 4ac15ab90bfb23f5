"""Every hand-in in ``attacks/`` fails in words: no points, no crash, no hang, nothing written, read or sent.

The first line of each says what it is added to (the stub, or the reference), the most points it may earn, and what
the feedback must say.
"""

import json
import os
import re
import socket
import time
from pathlib import Path

import numpy as np
import pytest

from ibpcl.classroom import client, sandbox
from ibpcl.classroom.assignment import find
from ibpcl.classroom.feedback import feedback, lines
from ibpcl.classroom.judge import judge
from ibpcl.classroom.selftest import hand_in
from ibpcl.classroom.stubs import stub

ATTACKS = sorted(Path(__file__).with_name("attacks").glob("*.py"))
KEY = b"the key of the attacks"
SECRET = "the derivation of another student"
SECONDS = 45
# What can be tried here; the rest is reported as skipped, with the reason.
BOXES = [pytest.param(name, marks=pytest.mark.skipif(bool(client.probe(name)), reason=f"{name}: {client.probe(name)}"))
         for name in ("bubblewrap", "landlock")]


@pytest.fixture(scope="module")
def assignment():
    return find("01_gaussian_weights")


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        yield server


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("path", ATTACKS, ids=lambda path: path.stem)
def test_attack_fails_in_words(path, box, assignment, tmp_path, listener, monkeypatch):
    monkeypatch.setenv("IBPCL_SECRET", SECRET)
    secret = tmp_path / "neighbour.py"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    text = path.read_text()
    head = dict(item.strip().split(": ", 1) for item in text.splitlines()[0].removeprefix("# ").split("; ", 2))
    expected, _, flag = head["expect"].partition("; flag: ")
    base = stub(assignment) if head["base"] == "stub" else assignment.source()
    fills = {"@secret@": str(secret), "@folder@": str(tmp_path), "@judge@": str(os.getpid()),
             "@package@": str(sandbox.INSIDE.parents[2]), "@port@": str(listener.getsockname()[1]),
             "@learned@": learned(assignment)}
    for name, value in fills.items():
        text = text.replace(name, value)
    start, before = time.monotonic(), set(tmp_path.iterdir())
    result = judge(assignment, hand_in(assignment, base + "\n\n" + text), box, KEY, "base")
    assert time.monotonic() - start < SECONDS
    told = "\n".join(lines(result, "full")).replace("\n    ", " | ")
    assert re.search(expected, told), told
    assert result.score is None or result.score <= float(head["most"]), told
    assert not result.reason.startswith("the judge failed"), result.reason
    page = feedback(result, assignment, "full")
    assert SECRET not in told + page + json.dumps(result.to_dict())
    assert "LEAK" not in told + page and "FOUND" not in told
    assert set(tmp_path.iterdir()) == before and secret.stat().st_mode & 0o777 == 0o600
    assert not any(Path(place, "forged.json").exists() for place in ("/tmp", "/dev/shm", "."))
    with pytest.raises(TimeoutError):
        listener.accept()
    if flag:
        assert any(flag in each for each in result.flags), result.flags


def learned(assignment):
    """Return the outputs at the public points as the text of a dict by shape: what a student could learn by heart."""
    task, reference = assignment.task("1a"), assignment.reference()
    from ibpcl.classroom import variants
    from ibpcl.classroom.forwards import SIZES
    found = {}
    for at, size in enumerate(SIZES):
        rng = variants.generator(variants.PUBLIC, "", assignment.name, task.id, size, at)
        inputs = assignment.maker(task.inputs)(rng, size)
        found[np.shape(inputs["eps"])] = reference.sample(*inputs.values())[0].ravel().tolist()
    return repr(found)


def test_without_a_box_grading_is_refused_and_the_risk_is_told():
    with pytest.raises(Exception, match=r"no sandbox works here .*--sandbox none.*it can read the course key"):
        sandbox.choose("auto", lambda name: "not here")
    assert sandbox.choose("none") == "none"
