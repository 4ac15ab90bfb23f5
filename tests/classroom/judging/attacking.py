"""Judge a hand-in of ``attacks/`` and report what it earned, said and left behind."""

import json
import os
import re
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.assignment import find
from ibpcl.classroom.authoring.selftest import submission_of
from ibpcl.classroom.authoring.stubs import stub
from ibpcl.classroom.feedback.student_page import feedback, lines
from ibpcl.classroom.judging import similarity
from ibpcl.classroom.judging.forwards import SIZES
from ibpcl.classroom.judging.judge import judge
from ibpcl.classroom.judging.running import client
from ibpcl.sandbox import boxes

KEY = b"the key of the attacks"
SECRET = "the derivation of another student"


class Attempt(NamedTuple):
    """What came of one attack.

    ``exported`` has the words on right tasks, too; ``changed`` and ``connected`` tell of its deeds
    outside its box.
    """

    expected: str
    never: str
    flag: str
    most: float
    score: float | None
    reason: str
    told: str
    exported: str
    shown: str
    everything: str
    flags: list
    changed: bool
    connected: bool
    seconds: float


def attempt(job):
    """Judge one attack: ``job`` is its path, the box, and an empty folder."""
    path, box, folder = job
    head = header(path)
    text = path.read_text()
    assignment = find("01_gaussian_weights")
    # of one call, so that an endless loop ends soon
    if "seconds" in head:
        limits = {"seconds": 20, "seconds_per_call": float(head["seconds"])}
        assignment = replace(assignment, limits={**assignment.limits, **limits})
    variant = head.get("variant", "base")
    secret = Path(folder, "neighbour.py")
    secret.write_text(SECRET)
    secret.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        neighbour = assignment.source("bits")
        fills = {
            "@secret@": str(secret),
            "@folder@": str(folder),
            "@judge@": str(os.getpid()),
            "@package@": str(boxes.HERE.parents[1]),
            "@port@": str(server.getsockname()[1]),
            "@learned@": learned(assignment),
            "@neighbour@": neighbour,
            "@primitive@": re.sub(
                r"from ibpcl.*\n", "", (similarity.PRIMITIVES / "gaussian.py").read_text()
            ),
        }
        for name, value in fills.items():
            text = text.replace(name, value)
        base = stub(assignment, variant) if head["base"] == "stub" else assignment.source(variant)
        source = base + "\n\n" + text
        start = time.monotonic()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("IBPCL_SECRET", SECRET)
            result = judge(
                assignment, submission_of(assignment, source), box, KEY, variant, figures=False
            )
        seconds = time.monotonic() - start
        connected = _knocked(server)
    page = feedback(result, assignment, "full")
    told = "\n".join(lines(result, "full")).replace("\n    ", " | ")
    exported = "\n".join(words for verdict in result.verdicts for words in verdict.words)
    expected, _, flag = head["expect"].partition("; flag: ")
    flags = [*result.flags, *(alike(source, neighbour, assignment) if "eve" in flag else ())]
    forged = any(Path(place, "forged.json").exists() for place in ("/tmp", "/dev/shm", "."))
    changed = (
        forged or list(Path(folder).iterdir()) != [secret] or secret.stat().st_mode & 0o777 != 0o600
    )
    return Attempt(
        expected,
        head.get("never", ""),
        flag,
        float(head["most"]),
        result.score,
        result.reason,
        told,
        exported,
        told + page,
        told + page + json.dumps(result.to_dict()),
        flags,
        changed,
        connected,
        seconds,
    )


def alike(source, neighbour, assignment):
    """Return what the class page says of hand-ins that look alike."""
    found = [
        *similarity.copied({"eve": source}, assignment),
        *similarity.pairs({"eve": source, "ned": neighbour}),
    ]
    return [f"{pair.first} and {pair.second} are alike" for pair in found]


def header(path):
    """Return the first line of an attack as a dict."""
    first, _, expected = path.read_text().splitlines()[0].removeprefix("# ").partition("; expect: ")
    return {**dict(re.findall(r"(\w+): ([^;]+)", first)), "expect": expected}


def learned(assignment):
    """Return the outputs at the public points as the text of a dict by shape: what a student could
    learn by heart.
    """
    task = assignment.task("1a")
    reference = assignment.reference()
    found = {}
    for at, size in enumerate(SIZES):
        rng = variants.generator(variants.PUBLIC, "", assignment.name, task.id, size, at)
        inputs = assignment.maker(task.inputs)(rng, size)
        found[np.shape(inputs["eps"])] = reference.sample(*inputs.values())[0].ravel().tolist()
    return repr(found)


def has_tree(box):
    """Return whether a box has a file tree of its own: whether an existing file outside is not
    there.
    """
    text = f"import os\ndef f():\n    return os.path.exists({__file__!r})\n"
    with client.Worker(text, "tree.py", box) as worker:
        return not worker.plain("f", ())


def _knocked(server):
    try:
        server.accept()
    except TimeoutError:
        return False
    return True
