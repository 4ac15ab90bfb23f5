"""The built site in a browser: no error, no outside request, no overflow, no accessibility
problem.
"""

import os
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from chromium import STICKING_OUT, needs_chromium, serious
from site_files import ROOT, SITE, built

pytestmark = [built, needs_chromium]

TUTORIAL = min((ROOT / "tutorials").glob("[0-9]*.py")).stem
PAGES = ("index.html", f"tutorials/{TUTORIAL}.html", "derivations/kumaraswamy.html", "explore.html")
VIEWS = [
    (name, scheme, width) for name in PAGES for scheme in ("light", "dark") for width in (1280, 360)
]
VIEWS += [
    ("tutorials/index.html", "light", 1280),
    ("tutorials/index.html", "dark", 360),
    ("assignments/index.html", "light", 360),
    ("paper/index.html", "light", 360),
    ("reference/commands.html", "dark", 360),
    ("reproduction.html", "light", 360),
    ("paper/claims.html", "light", 360),
    ("research.html", "dark", 1280),
]
SHOTS = os.environ.get("IBPCL_SCREENSHOTS")  # folder for screenshots


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line on standard error for each."""

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def opened(browser, address):
    """A function that opens a page and returns it. Script errors and outside requests fail the
    test.
    """
    contexts = []
    wrong = []

    def open_page(name, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
        page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((address, "data:"))
                else wrong.append(f"request to {request.url}")
            ),
        )
        page.goto(f"{address}/{name}")
        if options.get("java_script_enabled", True):
            page.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.parametrize(("name", "scheme", "width"), VIEWS)
def test_a_page_fits_and_is_accessible(opened, name, scheme, width):
    page = opened(name, color_scheme=scheme, viewport={"width": width, "height": 800})
    if SHOTS:
        page.screenshot(
            path=Path(SHOTS, f"{name.replace('/', '-')}-{scheme}-{width}.png"), full_page=True
        )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(STICKING_OUT) == []
    # Formulas have the colours of their text, and code the same ones at every width; both are
    # thousands of elements.
    assert serious(page, ["mjx-container"], [".highlight pre"] * (width == 360)) == []


@pytest.mark.parametrize(
    ("box", "found"),
    [("", True), ("overflow-x: auto", False), ("overflow-x: auto; width: 800px", True)],
)
def test_what_sticks_out_is_found(browser, box, found):
    page = browser.new_page(viewport={"width": 360, "height": 800})
    page.set_content(f'<main><div style="{box}"><div style="width: 900px">wide</div></div></main>')
    assert bool(page.evaluate(STICKING_OUT)) == found
    page.close()


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<img src="data:,">', "image-alt"),
        ('<p style="color: #aaa; background: #fff">pale</p>', "color-contrast"),
        ('<input type="range">', "label"),
    ],
)
def test_what_shuts_somebody_out_is_found(browser, html, found):
    page = browser.new_page()
    page.set_content(f'<html lang="en"><title>x</title><main>{html}</main></html>')
    assert [name for name, *_ in serious(page)] == [found]
    page.close()


@pytest.mark.parametrize("name", ["method.html", "tutorials/index.html"])
def test_the_contents_of_a_page_are_visible_on_a_small_laptop(opened, name):
    page = opened(name, viewport={"width": 1280, "height": 800})
    box = page.locator("#pst-page-toc-nav").bounding_box()
    article = page.locator("article").bounding_box()
    assert article["x"] + article["width"] <= box["x"] and box["x"] + box["width"] <= 1280


def test_a_row_of_a_table_is_a_card_on_a_phone(opened):
    page = opened("paper/claims.html", viewport={"width": 390, "height": 800})
    table = page.locator("table.cards").last
    cell = table.locator("tbody tr").first.locator("td").nth(1)
    assert cell.get_attribute("data-column") == table.locator("thead th").nth(1).text_content()
    assert cell.bounding_box()["width"] > 250 and table.bounding_box()["width"] <= 390


def test_formulas_are_set(opened):
    page = opened("derivations/kumaraswamy.html")
    assert page.locator("mjx-container").count() > 20
    assert page.locator("mjx-merror").count() == 0


def test_sliders_are_moved_by_the_keyboard(opened):
    page = opened("explore.html")
    figures = page.locator("figure.explore")
    assert figures.count() == 4
    for figure in figures.all():
        for slider in figure.locator("input[type=range]").all():
            slider.focus()
            page.keyboard.press("Home")
            before = figure.locator(".words").inner_text(), figure.locator("svg").inner_html()
            page.keyboard.press("End")
            assert figure.locator(".words").inner_text() != before[0]
            assert figure.locator("svg").inner_html() != before[1]
            assert (
                slider.get_attribute("aria-valuetext")
                == figure.locator("output")
                .nth(int(slider.get_attribute("data-number")))
                .inner_text()
            )


def test_without_scripts_the_pictures_stay(opened):
    page = opened("explore.html", java_script_enabled=False)
    assert page.locator("figure.explore input").count() == 0
    for figure in page.locator("figure.explore").all():
        assert figure.locator("svg").is_visible() and figure.locator("noscript").is_visible()
        drawn = [
            path.get_attribute("d")
            for path in figure.locator("svg path:not(.grid):not(.tick)").all()
        ]
        assert all(len(each) > 5 for each in drawn) and re.search(
            r"\d", figure.locator(".words").inner_text()
        )


def test_the_search_finds_a_name(opened):
    page = opened("search.html?q=kumaraswamy")
    page.wait_for_selector("#search-results li a")
    assert "derivations/kumaraswamy" in page.content()


def test_the_theme_is_switched_by_hand(opened):
    page = opened("index.html", color_scheme="light", viewport={"width": 1280, "height": 800})
    colours = set()
    for mode in ("dark", "light"):
        page.locator("button.theme-switch-button:visible").first.click()
        page.locator(f".dropdown-menu:visible [data-mode={mode}]:visible").first.click()
        colours.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2


@pytest.mark.skipif(
    not (SITE / "_static" / "pyodide").is_dir(), reason="the site was built without IBPCL_PYODIDE"
)
def test_a_gradient_is_checked_in_the_browser(opened):
    page = opened("explore.html", viewport={"width": 1280, "height": 800})
    source = page.locator("#browser-source")
    words = page.locator("form.browser-check pre")

    def verdict(text):
        source.fill(text)
        page.click("form.browser-check button[type=submit]")
        page.wait_for_function(
            "!document.querySelector('form.browser-check button').disabled", timeout=120_000
        )
        return words.inner_text()

    wrong = source.input_value()
    assert (
        "WRONG for 2 of 2 inputs" in verdict(wrong)
        and "line 12: da = dh * (1 - h)" in words.inner_text()
    )
    assert verdict(wrong.replace("1 - h)", "1 - h * h)")).startswith("f: ok, score 1.00")
    assert "went wrong" in verdict("import os\nos._exit(0)")
    assert "cannot be imported" in verdict("x = (")  # in a new Python

    source.fill("while True: pass")
    page.click("form.browser-check button[type=submit]")
    page.click("form.browser-check button:has-text('Stop')")
    assert words.inner_text() == "Stopped."
