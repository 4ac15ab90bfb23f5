"""All tutorials have one form: an opening, questions with answers, described figures, and
exercises with solutions that pass `ibpcl check`.
"""

import json
import re
from pathlib import Path

import pytest
from quick import quick
from tutorial import FOLDER, SCRIPTS, cells, prose, sentences_with_numbers

from ibpcl.verify.running import checking
from ibpcl.verify.running.user import Request

each = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
CODE_WIDTH = 88  # columns that the site shows without scrolling


def check_formulas(body):
    """Raise ``ValueError`` if a formula is left open, or if its second line would be read as the
    item of a list.
    """
    dollars = 0
    for line in body:
        if dollars % 2 and re.match(r"# +([-+*]|\d+[.)]) ", line):
            raise ValueError(
                f"a formula continues in a line that looks like the item of a list: {line!r}"
            )
        dollars += line.count("$")
    if dollars % 2:
        raise ValueError(f"unbalanced $ in the text cell that begins with {body[0]!r}")


def check_format(text):
    """Raise ``ValueError`` unless ``text`` is a percent-format script that begins with a title and
    ends clean.
    """
    script = cells(text)
    if script[0].kind != "markdown" or not script[0].lines[0].startswith("# # "):
        raise ValueError("a tutorial begins with a text cell, and that with a title")
    if not any(cell.kind == "code" for cell in script):
        raise ValueError("a tutorial has code cells")
    for cell in script:
        if not any(line.strip("# ") for line in cell.lines):
            raise ValueError(f"there is an empty {cell.kind} cell")
        if cell.kind == "markdown":
            check_formulas(cell.lines)
        # A formula or the row of a table may be longer, and the alt text of a figure is one line.
        limit = CODE_WIDTH if cell.kind == "code" else 120
        if any(len(line) > limit for line in cell.lines):
            raise ValueError(f"a line is longer than {limit}: {max(cell.lines, key=len)!r}")
        drawing = cell.kind == "code" and "plt.subplots(" in "\n".join(cell.lines)
        if drawing and "plt.show()" not in cell.lines:
            raise ValueError(
                f"the cell that begins with {cell.lines[0]!r} does not show its figure"
            )
    if not text.endswith("\n") or text.endswith("\n\n"):
        raise ValueError("the file must end with one newline")


def check_teaching(text):
    """Raise ``ValueError`` unless a tutorial opens, asks and sets exercises as all of them do."""
    opening = " ".join(line.lstrip("# ") for line in cells(text)[0].lines)
    paragraphs = prose(text)
    for wanted in (
        r"\*\*Prerequisites:\*\*",
        r"\*\*Time:\*\* about \d+ minutes",
        r"\*\*You will be able to\*\*",
    ):
        if not re.search(wanted, opening):
            raise ValueError(f"the opening does not match {wanted}")
    asked, folded = (
        sum(part.startswith(sign) for part in paragraphs)
        for sign in ("**Stop and predict.**", "<details>")
    )
    if not 2 <= asked <= 4 or folded != asked:
        raise ValueError(
            f"two to four questions with a folded answer each, got {asked} and {folded}"
        )
    if text.count("</details>") != folded or text.count("<summary>Answer</summary>") != folded:
        raise ValueError("a folded answer is <details><summary>Answer</summary> ... </details>")
    if "# ## Exercises" not in text:
        raise ValueError("there are no exercises")


def check_alt(text):
    """Raise ``ValueError`` unless each cell that shows a figure describes it, in the metadata that
    MyST-NB reads.
    """
    for cell in cells(text):
        shows = "plt.show()" in cell.lines
        alt = json.loads(cell.metadata)["image"]["alt"] if cell.metadata else ""
        if shows != (len(alt) >= 30):
            raise ValueError(
                f"a cell that shows a figure says in its alt text what is to be seen, got {alt!r} "
                f"over {cell.lines[:1]}"
            )


def exercises(text):
    """Return the numbers and titles of a tutorial's exercises: ``# 1. **Title.** ...``."""
    section = text.split("# ## Exercises")[1]
    return [
        (int(number), title)
        for number, title in re.findall(r"^# (\d+)\. \*\*(.+?)[.?]\*\* \S", section, re.MULTILINE)
    ]


def solved(text):
    """Return the numbers and titles of the exercises in a file of solutions."""
    return [
        (int(number), title)
        for number, title in re.findall(r"^# Exercise (\d+): (.+)[.?]$", text, re.MULTILINE)
    ]


def test_there_are_twenty_tutorials_and_each_is_run_by_its_own_tests():
    assert [script.stem[:2] for script in SCRIPTS] == [f"{number:02}" for number in range(20)]
    for script in SCRIPTS:
        assert "    tutorial.check()\n" in Path(__file__).with_name(
            f"test_{script.name}"
        ).read_text(encoding="utf-8")


@each
def test_tutorial_has_the_form_of_all(script):
    text = script.read_text(encoding="utf-8")
    check_format(text)
    check_teaching(text)
    check_alt(text)
    assert text.partition("\n")[2].startswith(f"# # {int(script.stem[:2])}. ")


@each
def test_every_exercise_has_a_solution_that_passes_the_check(script):
    solutions = FOLDER / "solutions" / script.name
    text = solutions.read_text(encoding="utf-8")
    asked = exercises(script.read_text(encoding="utf-8"))
    assert [number for number, _ in asked] == list(range(1, len(asked) + 1)) and len(asked) >= 3
    assert solved(text) == asked
    assert max(map(len, text.splitlines())) <= CODE_WIDTH
    results = checking.results_here(Request(str(solutions)))
    assert results
    assert not [result.text() for result in results if result.verdict != "ok"]


@pytest.mark.parametrize(
    "script",
    quick(
        ["00_prerequisites", "06_sticks"],
        SCRIPTS,
        "solutions are run as a whole, some of them train",
        name=lambda script: script.stem,
    ),
)
def test_solutions_print_a_result_for_every_exercise(script, capsys):
    solutions = FOLDER / "solutions" / script.name
    names = {"__name__": "__main__", "__file__": str(solutions)}
    exec(compile(solutions.read_text(encoding="utf-8"), str(solutions), "exec"), names)
    printed = capsys.readouterr().out
    for number, _ in exercises(script.read_text(encoding="utf-8")):
        assert f"{number}. " in printed


GOOD = "# %% [markdown]\n# # Title\n#\n# Text with $x$.\n\n# %%\nx = 1\n"
TAUGHT = GOOD.replace(
    "# Text",
    """# **Prerequisites:** none.  **Time:** about 5 minutes.
#
# **You will be able to**
#
# - read.
#
# > **Stop and predict.**  What?
#
# <details><summary>Answer</summary>
#
# This.
#
# </details>
#
# > **Stop and predict.**  Why?
#
# <details><summary>Answer</summary>
#
# Therefore.
#
# </details>
#
# ## Exercises
#
# 1. **One.** Do it.
#
# Text""",
)
SHOWING = (
    '# %% tags=["hide-input"] mystnb={"image": {"alt": "A line that rises from left to right."}}\n'
    "plt.show()\n"
)


def test_a_good_script_passes():
    check_format(TAUGHT + SHOWING)
    check_teaching(TAUGHT)
    check_alt(GOOD + SHOWING)
    assert exercises(TAUGHT) == [(1, "One")]


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("# %% [markdown]\n", ""),  # does not begin with a cell
        GOOD.replace("# # Title\n", "# Title\n"),  # no title
        GOOD.replace(" [markdown]", ""),  # begins with code
        GOOD.split("\n# %%\n")[0],  # no code
        GOOD.replace("# Text", "Text"),  # code in a text cell
        GOOD.replace("$x$", "$x"),  # formula left open
        GOOD.replace("$x$", "$x\n# - y$"),  # formula that turns into a list
        GOOD.replace("# %%\n", "# %% [code]\n"),  # unknown marker
        GOOD + "#" * 89 + "\n",  # a long line of code
        GOOD.replace("# Text", "# " + "Text " * 24),  # a long line of text
        GOOD + "figure, axes = plt.subplots()\n",  # a figure that is not shown
        GOOD + "\n",
        GOOD.rstrip("\n"),
        GOOD + "\n# %%\n",  # does not end clean
    ],
)
def test_a_malformed_script_fails_the_format_check(text):
    with pytest.raises(ValueError):
        check_format(text)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        TAUGHT.replace("**Time:** about 5 minutes", ""),
        TAUGHT.replace("**You will be able to**", ""),
        TAUGHT.replace("</details>", "", 1),
        TAUGHT.replace("> **Stop and predict.**  Why?", "Why?"),
        TAUGHT.replace("## Exercises", "## More"),
        TAUGHT.replace("**Prerequisites:** none.", ""),
    ],
)
def test_a_tutorial_that_does_not_teach_fails(text):
    with pytest.raises(ValueError):
        check_teaching(text)


@pytest.mark.parametrize(
    "text",
    [
        GOOD + "# %%\nplt.show()\n",
        GOOD + SHOWING.replace("A line that rises from left to right.", "A line."),
        GOOD + SHOWING.replace("plt.show()\n", "x = 2\n"),
    ],
)
def test_a_figure_without_a_description_fails(text):
    with pytest.raises(ValueError):
        check_alt(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The loss fell to 0.3 nats.", 1),
        ("It has $3$ sides, see Eq. 11, Sec. 4.2 and tutorial 5.", 0),
        ("Nothing here.  About 88 % of them moved.", 1),
        ("`x[3]` is shown by Kumar et al. (2021).", 0),
        ("* a list with 3 items\n# * one without", 1),
        ("Over two\n# lines there are 12 of them.  And 13!", 2),
    ],
)
def test_sentences_with_numbers_are_found(text, count):
    assert len(sentences_with_numbers(f"# %% [markdown]\n# # T 1\n#\n# {text}\n")) == count
