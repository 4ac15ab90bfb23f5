"""A zip that grades on Gradescope: the judge, one assignment, the course key, and two scripts."""

import importlib.metadata
from pathlib import Path

from ibpcl import __version__
from ibpcl.classroom.assignments.variants import PUBLIC
from ibpcl.classroom.judging import marking
from ibpcl.storage import json_text, read_text, write_bytes, zipped

ROOT = Path(__file__).parents[2]
PARTS = (
    "__init__.py",
    "errors.py",
    "storage.py",
    "processors.py",
    "codeview",
    "sandbox",
    "verify",
    "classroom",
)
SETUP = """#!/usr/bin/env bash
# Runs once, when the image is built.
set -e
apt-get update
apt-get install -y bubblewrap || true
apt-get install -y python3.12 python3.12-venv || apt-get install -y python3.11 python3.11-venv
for python in python3.12 python3.11; do
    if command -v $python > /dev/null; then break; fi
done
$python -m venv /autograder/venv
/autograder/venv/bin/pip install {requirements}
chmod -R go-rwx /autograder/source
"""
RUN = """#!/usr/bin/env bash
# Runs for every hand-in.  The judge runs as root; the hand-in runs in a sandbox without access to
# this folder.
exec /autograder/venv/bin/python /autograder/source/run.py /autograder
"""
SCRIPT = '''"""Grade one hand-in on Gradescope; results.json is written whatever happens."""

import json
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
sys.path.insert(0, str(SOURCE))


def main(root):
    """Grade the files in ``root/submission`` and write ``root/results/results.json``."""
    out = Path(root, "results", "results.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        result = graded(Path(root))
    except Exception as error:
        result = {
            "output": f"not graded: {type(error).__name__}: {error}",
            "output_format": "text",
            "visibility": "visible",
            "stdout_visibility": "hidden",
            "extra_data": {"status": "not graded"},
        }
    out.write_text(json.dumps(result, indent=1))


def graded(root):
    """Return the content of results.json."""
    from ibpcl.classroom.assignments import variants
    from ibpcl.classroom.feedback import exports
    from ibpcl.classroom.intake import collecting
    from ibpcl.classroom.judging.running import client
    from ibpcl.classroom.assignments.assignment import find
    from ibpcl.classroom.judging.judge import judge
    from ibpcl.sandbox import boxes
    settings = json.loads((SOURCE / "settings.json").read_text())
    metadata = json.loads((root / "submission_metadata.json").read_text())
    user = metadata["users"][0]
    student = str(user.get("email") or user["id"])
    assignment = find(str(SOURCE / "ibpcl" / "classroom" / "assignments" / settings["assignment"]))
    key = bytes.fromhex(settings["key"]) if settings["key"] else variants.PUBLIC
    sandbox = boxes.choose(settings["sandbox"], client.probe)
    names = (user.get("name"), student.split("@")[0])
    found = collecting.submission_of(root / "submission", assignment, student, key, names)
    locate = settings["level"] in ("line", "full")
    result = judge(assignment, found, sandbox, key, figures=False, locate=locate)
    return exports.gradescope(result, assignment, settings["level"])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "/autograder")
'''


def gradescope(assignment, out, key, level="kind", sandbox="auto", scheme=marking.FILE):
    """Write the zip for Gradescope's "Configure autograder".

    The zip holds the course key and the solution: upload it there and nowhere else.  The same
    arguments give the same zip, byte for byte.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    out : path-like
        Path of the zip.
    key : bytes
        The course key.
    level : {"none", "kind", "line", "full"}
        Level of hints.
    sandbox : {"auto", "bubblewrap", "landlock", "none"}
        Box that hand-ins run in.
    scheme : path-like
        File with the marking scheme.
    """
    marking.read(scheme)
    requirements = " ".join(
        f"{name}=={importlib.metadata.version(name)}" for name in ("numpy", "scipy")
    )
    settings = {
        "assignment": assignment.name,
        "level": level,
        "sandbox": sandbox,
        "version": __version__,
        "key": "" if key == PUBLIC else key.hex(),
    }
    files = {
        "setup.sh": SETUP.format(requirements=requirements),
        "run_autograder": RUN,
        "run.py": SCRIPT,
        "settings.json": json_text(settings, indent=1) + "\n",
    }
    for name, path in _package(assignment):
        files[name] = path.read_text(encoding="utf-8")
    files["ibpcl/classroom/judging/marking.toml"] = read_text(scheme)
    write_bytes(out, zipped(files, ("setup.sh", "run_autograder")))


def _package(assignment):
    """Yield name in the zip and path of the modules of the judge and the tables that they read."""
    skipped = ROOT / "classroom" / "assignments"
    for part in PARTS:
        inside = sorted(
            path for path in (ROOT / part).rglob("*") if path.suffix in (".py", ".toml")
        )
        for path in inside or [ROOT / part]:
            if not path.is_relative_to(skipped) or path.parent == skipped:
                yield f"ibpcl/{path.relative_to(ROOT).as_posix()}", path
    for name, path in assignment.files.items():
        yield f"ibpcl/classroom/assignments/{assignment.name}/{name}", path
