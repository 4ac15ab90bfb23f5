"""Every tutorial runs to its end without a warning, shows a figure, and is a well-formed percent-format script."""

import re
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
import logging, runpy, sys, warnings
import matplotlib
logging.getLogger("matplotlib").setLevel(logging.ERROR)      # a new machine says that it builds the font cache
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
    """Run a script in ``folder`` and return the finished process; ``TimeoutExpired`` if it takes too long."""
    return subprocess.run([sys.executable, "-X", "utf8", "-c", RUNNER, str(script)], cwd=folder, timeout=TIME_LIMIT,
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


def check_formulas(body):
    """Raise ``ValueError`` if a formula is left open, or if its second line would be read as the item of a list."""
    dollars = 0
    for line in body:
        if dollars % 2 and re.match(r"# +([-+*]|\d+[.)]) ", line):
            raise ValueError(f"a formula continues in a line that looks like the item of a list: {line!r}")
        dollars += line.count("$")
    if dollars % 2:
        raise ValueError(f"unbalanced $ in the text cell that begins with {body[0]!r}")


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
        if kind == "markdown":
            check_formulas(body)
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
    assert set(tmp_path.iterdir()) == set(figures), "the tutorial left files behind"


@pytest.mark.parametrize("script", TUTORIALS, ids=lambda script: script.stem)
def test_tutorial_is_in_percent_format(script):
    check_format(script.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("code", "message"), [
    ("import warnings\nwarnings.warn('beware')\n", "beware"),
    ("import numpy\nnumpy.log(numpy.zeros(1))\n", "divide by zero"),
    ("import matplotlib.pyplot as plt\nplt.subplots()\n", "never shown"),
    ("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.title('$\\\\frac$')\nplt.show()\n", "Expected \\frac"),
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
    GOOD.replace("$x$", "$x\n# - y$"),                       # formula that turns into a list
    GOOD.replace("# %%\n", "# %% [code]\n"),                 # unknown marker
    GOOD + "\n", GOOD.rstrip("\n"), GOOD + "\n# %%\n",       # does not end clean
])
def test_a_malformed_script_fails_the_format_check(text):
    with pytest.raises(ValueError):
        check_format(text)
