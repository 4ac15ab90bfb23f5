"""Slides in Chromium: reveal.js shows them, and nothing sticks out of a slide."""

import importlib.util
import sys
from pathlib import Path

import pytest

import ibpcl
from ibpcl.course import slides

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
from chromium import CHROMIUM, needs_chromium

TUTORIALS = sorted((Path(ibpcl.__file__).parents[1] / "tutorials").glob("*.py"))
pytestmark = needs_chromium
SIZE = (965, 705)  # of a slide, with a few pixels for rounding
TOO_LARGE = """([width, height]) => Array.from({length: Reveal.getTotalSlides()}, (_, at) => {
  Reveal.slide(at);
  const slide = Reveal.getCurrentSlide();
  return [at + 1, slide.scrollWidth, slide.scrollHeight];
}).filter(([, w, h]) => w > width || h > height)"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if importlib.util.find_spec("sphinx_revealjs") is None:
        pytest.skip("sphinx-revealjs comes with the extra 'test'")
    from playwright.sync_api import sync_playwright

    folder = tmp_path_factory.mktemp("slides")
    slides.copy_reveal(folder / "reveal.js")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.folder = folder
        page.faults = []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("requestfailed", lambda request: page.faults.append(request.url))
        yield page
        browser.close()


def shown(page, name, made):
    """Open a deck; return the slides that are too large."""
    path = page.folder / f"{name}.html"
    path.write_text(slides.page(name, made, "reveal.js"), encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    return page.evaluate(TOO_LARGE, list(SIZE))


@pytest.mark.parametrize("script", TUTORIALS, ids=lambda path: path.stem)
def test_no_text_sticks_out_of_a_slide(script, page):
    """With as much output as a slide may have."""
    cells = slides.cells_of(script.read_text(encoding="utf-8"))
    printed = "\n".join(["x" * 80] * slides.MOST_CODE)
    count = sum(cell.cell_type == "code" for cell in cells)
    made = slides.deck(cells, [{"text": printed, "figures": []}] * count)
    assert shown(page, script.stem, made) == [] and page.faults == []


def test_text_that_sticks_out_would_be_noticed(page):
    assert shown(page, "long", [slides.Slide("t", ["<p>x</p>" * 60])])
