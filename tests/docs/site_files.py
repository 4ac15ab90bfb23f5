"""The folder of the built site, and a parser of its pages."""

import os
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("IBPCL_SITE", ROOT / "docs" / "_build" / "html"))
built = pytest.mark.skipif(
    not (SITE / "index.html").exists(),
    reason="the site is not built: the command is under 'Build the site' in the README",
)


class Page(HTMLParser):
    """The parsed content of a page: text, links, loaded files, ids, and pictures with their
    descriptions.
    """

    def __init__(self, html):
        super().__init__()
        self.html = html
        self.links = []
        self.loads = []
        self.ids = {""}
        self.pictures = []
        self.parts = []
        self.feed(html)
        self.text = "".join(self.parts)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag in ("a", "area") and values.get("href"):
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") in (
            "stylesheet",
            "icon",
            "preload",
            "prefetch",
            "preconnect",
        ):
            self.loads.append(values["href"])
        if values.get("src"):
            self.loads.append(values["src"])
        if tag == "img":
            self.pictures.append((values.get("src"), values.get("alt")))
        elif tag == "svg" and values.get("role") == "img":
            self.pictures.append(("svg", values.get("aria-label")))

    def handle_data(self, data):
        self.parts.append(data)


def read(site):
    """Return the pages of a site by their paths."""
    return {
        path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if "_static" not in path.parts
    }
