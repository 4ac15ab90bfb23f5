"""Slides: built from marked cells, with the numbers of a run and no others."""

import html
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import ibpcl
from ibpcl.course import slides
from ibpcl.errors import UserError

FOLDER = Path(ibpcl.__file__).parents[1] / "tutorials"
MARK = 'slideshow={"slide_type": "slide"}'
SCRIPT = f'''\
# %% [markdown] {MARK}
# # 1. A title
#
# The first sentence. The second sentence.
#
# It fell to 53 percent. This is not on the slide.
#
# $$ x = 1
#    + 2 $$
#
# - one item
# - another item
#
# <details><summary>Answer</summary>
#
# Seven.
#
# </details>

# %% {MARK}
value = 6 * 7
print("value", value)

# %%
print("not marked")

# %% [markdown]
# ## A heading
#
# Not marked.

# %% {MARK} tags=["hide-input"] mystnb={{"image": {{"alt": "A line."}}}}
import matplotlib.pyplot as plt

plt.plot([0, 1], [0, value])
plt.show()
'''


@pytest.fixture(scope="module")
def deck():
    cells = slides.cells_of(SCRIPT)
    return slides.deck(cells, slides.run(cells, "made"))


@pytest.mark.processes(reason="a tutorial runs in a process")
def test_a_slide_shows_a_part_and_the_notes_have_all(deck):
    first = " ".join(deck[0].html)
    assert "The first sentence." in first and "The second sentence." not in first
    assert "53" not in first and "Seven" not in first and "one item" in first
    assert all(words in deck[0].notes for words in ("second sentence", "53 percent", "Seven"))
    assert "<math" in first and "$" not in first


def test_code_and_its_output_are_those_of_the_run(deck):
    shown = " ".join(deck[1].html)
    assert "6 * 7" in shown and "value 42" in shown
    assert "not marked" not in " ".join(block for each in deck for block in each.html)


def test_a_figure_has_its_alternative_text_and_the_last_heading(deck):
    assert deck[-1].title == "A heading"
    assert 'alt="A line."' in deck[-1].html[0] and "data:image/png" in deck[-1].html[0]
    assert "plt.plot" not in deck[-1].html[0]


def test_the_page_loads_nothing_from_the_network(deck):
    page = slides.page("A title", deck, "reveal.js")
    assert page.count("<section>") == len(deck)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)


def test_a_tutorial_without_marks_is_refused():
    with pytest.raises(UserError, match="marked"):
        slides.cells_of(SCRIPT.replace(" " + MARK, ""))


@pytest.mark.slow(reason="a tutorial runs in a process")
def test_a_tutorial_that_fails_is_named():
    cells = slides.cells_of(SCRIPT.replace("6 * 7", "1 / 0"))
    with pytest.raises(UserError, match=r"made .*ZeroDivisionError"):
        slides.run(cells, "made")


@pytest.mark.parametrize(
    ("module", "package"), [("jupytext", "jupytext"), ("markdown_it", "markdown-it-py")]
)
def test_a_missing_reader_is_named(monkeypatch, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=package):
        slides.deck(slides.cells_of(SCRIPT), [])


def test_missing_reveal_is_named(monkeypatch):
    monkeypatch.setattr(slides.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"reveal\.js"):
        slides.reveal_folder()


def test_the_files_of_reveal_are_copied(tmp_path):
    if importlib.util.find_spec("sphinx_revealjs") is None:
        pytest.skip("sphinx-revealjs comes with the extra 'test'")
    slides.copy_reveal(tmp_path / "reveal.js")
    page = slides.page("t", [slides.Slide("t", ["<p>x</p>"])], "reveal.js")
    for name in re.findall(r'(?:src|href)="(reveal\.js/[^"]+)"', page):
        assert (tmp_path / name).is_file(), name
    theme = (tmp_path / "reveal.js/dist/theme/white.css").read_text(encoding="utf-8")
    for name in re.findall(r"url\((?:\"|')?\.?/?(fonts/[^)\"']+)", theme):
        assert (tmp_path / "reveal.js/dist/theme" / name).is_file(), name


def without_run(name):
    """The deck of a tutorial with empty outputs."""
    cells = slides.cells_of((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    count = sum(cell.cell_type == "code" for cell in cells)
    return cells, slides.deck(cells, [{"text": "", "figures": []}] * count)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_numbers_outside_of_formulas_code_and_questions_are_those_of_a_run(name):
    """Without a run, no sentence of a slide has a number."""
    _, made = without_run(name)
    assert len(made) >= 8
    for slide in made:
        for block in slide.html:
            if "Stop and predict" in block or block.startswith("<pre"):
                continue
            words = re.sub(
                r"<math.*?</math>|<code>.*?</code>|<table>.*?</table>", "", block, flags=re.S
            )
            words = html.unescape(re.sub(r"<[^>]+>", "", words))
            assert not slides.has_number(words), (slide.title, words)


def test_a_number_in_a_sentence_would_be_noticed():
    assert slides.has_number("The mean falls to 4.5.") and not slides.has_number("Eq. 8 of $x_1$")
