"""Every tutorial runs from start to end without a warning, shows a figure, and is a well-formed percent-format script."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "tutorials"
TUTORIALS = sorted(FOLDER.glob("*.py"))
TIME_LIMIT = 60                                              # seconds: a tutorial must not make its reader wait

# Each script gets an interpreter and a namespace of its own.  Showing a figure draws it into a file instead of opening
# a window, so that a figure that cannot be drawn is an error as well.
RUNNER = """
import runpy, sys, warnings
import matplotlib
matplotlib.use("agg")
from matplotlib import pyplot as plt

def show(*args, **kwargs):
    for number in plt.get_fignums():
        plt.figure(number).savefig(f"figure_{len(shown)}.png")
        shown.append(number)
    plt.close("all")

shown = []
plt.show = show
warnings.simplefilter("error")
runpy.run_path(sys.argv[1], run_name="__main__")
if plt.get_fignums():
    sys.exit("a figure was made and never shown")
"""


def run(script, folder):
    """Run a script in ``folder`` with nothing but a time limit in common with this process."""
    environment = {**os.environ, "MPLCONFIGDIR": str(folder / "matplotlib"), "PYTHONPATH": str(FOLDER.parent)}
    return subprocess.run([sys.executable, "-c", RUNNER, str(script)], cwd=folder, env=environment, timeout=TIME_LIMIT,
                          capture_output=True, text=True, encoding="utf-8", check=False)


def cells(text):
    """Split a percent-format script into (kind, lines) and raise ``ValueError`` where it is not one."""
    lines = text.split("\n")
    if not lines[0].startswith("# %%"):
        raise ValueError(f"line 1: a cell must begin here, got {lines[0]!r}")
    found = []
    for number, line in enumerate(lines, 1):
        if line.startswith("# %%"):
            if line not in ("# %%", "# %% [markdown]"):
                raise ValueError(f"line {number}: unknown cell marker {line!r}")
            found.append((line.removeprefix("# %%").strip(" []") or "code", []))
            continue
        kind, body = found[-1]
        if kind == "markdown" and line and not line.startswith("# ") and line != "#":
            raise ValueError(f"line {number}: code in a text cell: {line!r}")
        body.append(line)
    return found


def check_format(text):
    """Raise ``ValueError`` unless ``text`` is a tutorial: it begins with text, has code, and ends clean."""
    found = cells(text)
    if found[0][0] != "markdown" or not found[0][1][0].startswith("# # "):
        raise ValueError("a tutorial begins with a text cell, and that with a title")
    if not any(kind == "code" for kind, _ in found):
        raise ValueError("a tutorial has code cells")
    for kind, body in found:
        if not any(line.strip("# ") for line in body):
            raise ValueError(f"there is an empty {kind} cell")
        if kind == "markdown" and "\n".join(body).count("$") % 2:
            raise ValueError(f"unbalanced $ in the text cell that begins with {body[0]!r}")
    if not text.endswith("\n") or text.endswith("\n\n"):
        raise ValueError("the file must end with one newline")


def test_there_are_tutorials():
    assert TUTORIALS, f"no scripts in {FOLDER}"


@pytest.mark.parametrize("script", TUTORIALS, ids=lambda script: script.stem)
def test_tutorial_runs_and_shows_figures(script, tmp_path):
    result = run(script, tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert result.stdout.strip()
    figures = list(tmp_path.glob("figure_*.png"))
    assert figures
    assert {path for path in tmp_path.iterdir() if path.name != "matplotlib"} == set(figures)     # nothing left behind


@pytest.mark.parametrize("script", TUTORIALS, ids=lambda script: script.stem)
def test_tutorial_is_in_percent_format(script):
    check_format(script.read_text(encoding="utf-8"))


@pytest.mark.parametrize("script", TUTORIALS, ids=lambda script: script.stem)
def test_tutorial_verifies_catches_a_mistake_and_ends_with_exercises(script):
    found = cells(script.read_text(encoding="utf-8"))
    assert any(line.startswith("# ## Exercises") for line in found[-1][1])
    code = "\n".join(line for kind, body in found if kind == "code" for line in body)
    assert "from ibpcl.verify import" in code


@pytest.mark.parametrize(("code", "message"), [
    ("import warnings\nwarnings.warn('beware')\n", "beware"),
    ("import numpy\nnumpy.log(numpy.zeros(1))\n", "divide by zero"),
    ("import matplotlib.pyplot as plt\nplt.subplots()\n", "never shown"),
    ("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.title('$\\\\frac$')\nplt.show()\n", "ParseFatalException"),
    ("name\n", "NameError"),
])
def test_a_broken_script_fails(code, message, tmp_path):
    script = tmp_path / "broken.py"
    script.write_text(code, encoding="utf-8")
    result = run(script, tmp_path)
    assert result.returncode != 0
    assert message in result.stderr


GOOD = "# %% [markdown]\n# # Title\n#\n# Text with $x$.\n\n# %%\nx = 1\n"


def test_a_good_script_passes_the_format_check():
    check_format(GOOD)


@pytest.mark.parametrize("text", [
    GOOD.replace("# %% [markdown]\n", ""),                   # does not begin with a cell
    GOOD.replace("# # Title\n", "# Title\n"),                # no title
    GOOD.replace(" [markdown]", ""),                         # begins with code
    GOOD.split("\n# %%\n")[0],                               # no code
    GOOD.replace("# Text", "Text"),                          # code in a text cell
    GOOD.replace("$x$", "$x"),                               # formula left open
    GOOD.replace("# %%\n", "# %% [code]\n"),                 # unknown marker
    GOOD + "\n", GOOD.rstrip("\n"), GOOD + "\n# %%\n",       # does not end clean
])
def test_a_malformed_script_fails_the_format_check(text):
    with pytest.raises(ValueError):
        check_format(text)
