"""A browser, and what must not be found on a page in it."""

import importlib.util
import shutil
from pathlib import Path

import pytest

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
MISSING = [
    name
    for name, found in (
        ("a Chromium", CHROMIUM),
        ("playwright", importlib.util.find_spec("playwright")),
        ("axe_playwright_python", importlib.util.find_spec("axe_playwright_python")),
    )
    if not found
]
needs_chromium = pytest.mark.skipif(
    bool(MISSING), reason=f"missing: {', '.join(MISSING)} (extra 'browser')"
)

# Elements that stick out of the page to the right, unless they are in a box that scrolls.
STICKING_OUT = """() => [...document.querySelectorAll('main *')].filter(each => {
  if (each.getBoundingClientRect().right <= innerWidth + 1 || !each.checkVisibility()) return false;
  for (let box = each; box && box.tagName !== 'MAIN'; box = box.parentElement)
    if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(box).overflowX)
        && box.getBoundingClientRect().right <= innerWidth + 1) return false;
  return each.getBoundingClientRect().width > 0;
}).slice(0, 5).map(each => each.outerHTML.slice(0, 120))"""
# The contrast of colours takes three quarters of the time, and is looked at apart.
AXE = """async ([but, coloured]) => (await axe.run({exclude: [...but, ...coloured]},
  {resultTypes: ['violations'],
    preload: false, runOnly: ['color-contrast']})).violations
  .concat((await axe.run({exclude: but}, {resultTypes: ['violations'], preload: false,
    rules: {'color-contrast': {enabled: false}}})).violations)
  .filter(each => ['serious', 'critical'].includes(each.impact))
  .map(each => [each.id, each.nodes.length, each.nodes[0].html.slice(0, 200),
    each.nodes[0].failureSummary])"""


def serious(page, but=(), coloured=()):
    """Return what axe-core finds on a page that is serious or critical, but for some, and the
    colours of others.
    """
    package = Path(importlib.util.find_spec("axe_playwright_python").origin).parent
    page.evaluate((package / "axe.min.js").read_text(encoding="utf-8"))
    return page.evaluate(AXE, [list(but), list(coloured)])
