"""``python -m benchmarks.comparison.course``: one assignment and three hand-ins in three graders.

The assignment is the example of ``docs/classroom-authoring.md``.  For Otter-Grader and nbgrader, a
test compares both functions with the values of the solution, at one public and one hidden input, as
a teacher would write it.  A grader that is not installed is left out.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "classroom-authoring.md"
HAND_INS = sorted((HERE / "hand_ins").glob("*.py"))
BLOCK = re.compile(r"```\{code-block\} \w+\n:caption: (squash/\S+)\n(.*?)\n```", re.DOTALL)
# The first task is worth 10 points and the second 20; the third, a text, is graded by a person.
POINTS = {"squash": 10, "squash_vjp": 20}
ASSERTIONS = {
    "squash": "np.testing.assert_allclose(squash(x, gain)[0], {y})",
    "squash_vjp": """\
dx, dgain = squash_vjp(dy, squash(x, gain)[1])
np.testing.assert_allclose(dx, {dx})
np.testing.assert_allclose(dgain, {dgain})""",
}


def command(*words, cwd):
    """Return what a command of an installed program prints.

    Parameters
    ----------
    *words : str
        A module of this interpreter and its arguments.
    cwd : Path
        Where it runs.

    Returns
    -------
    text : str
    """
    # Some graders start further programs of the same environment.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": path},
    )
    return done.stdout + done.stderr


def assertions(seed):
    """Return the test of each function at inputs that a seed draws, as Python source.

    Parameters
    ----------
    seed : int
        Seed of the inputs.

    Returns
    -------
    tests : dict of str to str
        The source for each function.
    """
    solution = {}
    exec((HERE / "hand_ins" / "right.py").read_text(), solution)  # our own file
    np = solution["np"]
    rng = np.random.default_rng(seed)
    x, gain, dy = rng.standard_normal((4, 3)), rng.uniform(0.5, 2, 3), rng.standard_normal((4, 3))
    y, cache = solution["squash"](x, gain)
    dx, dgain = solution["squash_vjp"](dy, cache)
    values = {"y": y.tolist(), "dx": dx.tolist(), "dgain": dgain.tolist()}
    head = "".join(
        f"{name} = np.array({value.tolist()})\n"
        for name, value in (("x", x), ("gain", gain), ("dy", dy))
    )
    return {name: head + text.format(**values) for name, text in ASSERTIONS.items()}


def notebook(*cells):
    """Return a notebook as a dict.

    Parameters
    ----------
    *cells : (str, dict)
        Source and metadata of each code cell.

    Returns
    -------
    nb : dict
        Format 4.5.
    """
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{i}",
                "metadata": metadata,
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
            for i, (source, metadata) in enumerate(cells)
        ],
    }


def ibpcl(folder):
    """Grade the hand-ins with ``ibpcl class``.

    Parameters
    ----------
    folder : Path
        An empty folder.

    Returns
    -------
    answers : dict of str to str
        For each hand-in.
    """
    for name, text in BLOCK.findall(PAGE.read_text()):
        if "variants" in name:
            continue  # all three hand-ins are of one variant
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(re.sub("(?m)^logistic = .*", "", text) + "\n")
    names = [path.stem for path in HAND_INS]
    (folder / "students.txt").write_text("\n".join(names))
    command("ibpcl", "class", "key", "course.key", cwd=folder)
    new = "class new squash --students students.txt --out stubs --key course.key"
    command("ibpcl", *new.split(), cwd=folder)
    for path in HAND_INS:
        stub = (folder / "stubs" / path.stem / "squash.py").read_text()
        place = folder / "hand-ins" / path.stem / "squash.py"
        place.parent.mkdir(parents=True)
        place.write_text(stub[: stub.index("def squash(")] + path.read_text())
    grade = "class grade squash hand-ins --out grades --key course.key"
    printed = command("ibpcl", *grade.split(), cwd=folder)
    why = [
        f"class why {path.stem} {task} --in grades" for path in HAND_INS for task in ("9a", "9b")
    ]
    return {"all": printed, **{one: command("ibpcl", *one.split(), cwd=folder) for one in why}}


def otter(folder):
    """Grade the hand-ins with Otter-Grader.

    Parameters
    ----------
    folder : Path
        An empty folder.

    Returns
    -------
    answers : dict of str to str
        For each hand-in.
    """
    (folder / "tests").mkdir()
    public, hidden = assertions(0), assertions(1)
    for name, points in POINTS.items():
        lines = ["from otter.test_files import test_case", "", "OK_FORMAT = False", ""]
        lines += [f'name = "{name}"', f"points = {points}", ""]
        for title, text, secret in (("public", public, False), ("hidden", hidden, True)):
            lines += [f"@test_case(hidden={secret})", f"def test_{title}(squash, squash_vjp, np):"]
            lines += [f"    {line}" for line in text[name].splitlines()] + [""]
        (folder / "tests" / f"{name}.py").write_text("\n".join(lines))
    command("otter", "generate", "-t", "tests", "-o", "grader.zip", "--no-environment", cwd=folder)
    answers = {}
    for path in HAND_INS:
        cells = [path.read_text(), "import otter\ngrader = otter.Notebook()"]
        cells += [f'grader.check("{name}")' for name in POINTS]
        (folder / f"{path.stem}.ipynb").write_text(
            json.dumps(notebook(*((cell, {}) for cell in cells)))
        )
        said = command("otter", "run", f"{path.stem}.ipynb", "-a", "grader.zip", cwd=folder)
        answers[path.stem] = said[max(0, said.find("Total Score")) :].partition("[IPKernel")[0]
    return answers


def nbgrader(folder):
    """Grade the hand-ins with nbgrader.

    Parameters
    ----------
    folder : Path
        An empty folder.

    Returns
    -------
    answers : dict of str to str
        For each hand-in.
    """
    public, hidden = assertions(0), assertions(1)

    def cells(solution):
        yield (
            f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION",
            {"nbgrader": {**GRADED, "grade_id": "code", "grade": False, "solution": True}},
        )
        for name, points in POINTS.items():
            yield (
                f"{public[name]}\n### BEGIN HIDDEN TESTS\n{hidden[name]}\n### END HIDDEN TESTS",
                {
                    "nbgrader": {
                        **GRADED,
                        "grade_id": name,
                        "grade": True,
                        "solution": False,
                        "locked": True,
                        "points": points,
                    }
                },
            )

    (folder / "nbgrader_config.py").write_text(
        "c = get_config()\nc.CourseDirectory.course_id = 'course'\n"
    )
    source = folder / "source" / "squash" / "squash.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(json.dumps(notebook(*cells((HERE / "hand_ins" / "right.py").read_text()))))
    command("nbgrader", "generate_assignment", "squash", cwd=folder)
    release = json.loads((folder / "release" / "squash" / "squash.ipynb").read_text())
    for path in HAND_INS:
        release["cells"][0]["source"] = path.read_text()
        place = folder / "submitted" / path.stem / "squash" / "squash.ipynb"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(release))
    said = command("nbgrader", "autograde", "squash", cwd=folder)
    command("nbgrader", "export", cwd=folder)
    grades = folder / "grades.csv"
    return {"all": grades.read_text() if grades.exists() else said}


GRADED = {"schema_version": 3, "task": False, "locked": False}
GRADERS = {"ibpcl": ibpcl, "otter": otter, "nbgrader": nbgrader}


def main():
    """Print the answers of each installed grader."""
    for name, grader in GRADERS.items():
        if importlib.util.find_spec(name) is None:
            print(f"{name}: not installed\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}\n")
            for title, answer in grader(Path(folder)).items():
                print(
                    "".join(f"    {line}".rstrip() + "\n" for line in [title, *answer.splitlines()])
                )


if __name__ == "__main__":
    main()
