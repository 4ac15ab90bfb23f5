"""The built site, read as files: links have targets, nothing is loaded from another site, and every
picture has a description.
"""

import re
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from site_files import ROOT, SITE, Page, built, read

pytestmark = built


@pytest.fixture(scope="module")
def pages():
    return read(SITE)


def dead(pages):
    """Return the links of pages whose file or anchor does not exist, as (page, link)."""
    found = []
    for name, page in pages.items():
        for link in page.links:
            if urlsplit(link).scheme or link.startswith("//"):
                continue
            path, anchor = urldefrag(urljoin(name, link))
            path = unquote(path)
            target = pages.get(path)
            if (target is None and not (SITE / path).is_file()) or (
                target is not None and anchor and unquote(anchor) not in target.ids
            ):
                found.append((name, link))
    return found


def foreign(pages):
    """Return the files that pages load from other sites, as (page, address)."""
    return [
        (name, each)
        for name, page in pages.items()
        for each in page.loads
        if re.match(r"(\w+:)?//", each)
    ]


def wordless(pages):
    """Return the pictures without a description, or with a file name as description, as (page,
    source).
    """
    return [
        (name, source)
        for name, page in pages.items()
        for source, alt in page.pictures
        if not alt or not alt.strip() or alt == source or re.search(r"\.(png|svg|jpe?g)$", alt)
    ]


def test_every_link_leads_somewhere(pages):
    assert sum(len(page.links) for page in pages.values()) > 1000
    assert dead(pages) == []


def test_nothing_is_loaded_from_another_site(pages):
    assert foreign(pages) == []
    for sheet in SITE.rglob("*.css"):
        assert not re.search(
            r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")
        ), sheet


def test_every_picture_has_words(pages):
    assert sum(len(page.pictures) for page in pages.values()) > 20
    assert wordless(pages) == []


@pytest.mark.parametrize(
    ("html", "check"),
    [
        ('<a href="gone.html">x</a>', dead),
        ('<a href="index.html#gone">x</a>', dead),
        ('<a href="#gone">x</a>', dead),
        ('<img src="http://elsewhere.org/a.png" alt="a">', foreign),
        ('<script src="//elsewhere.org/a.js"></script>', foreign),
        ('<link rel="stylesheet" href="https://elsewhere.org/a.css">', foreign),
        ('<img src="a.png">', wordless),
        ('<img src="a.png" alt="">', wordless),
        ('<img src="x/a.png" alt="a.png">', wordless),
        ('<svg role="img"><path/></svg>', wordless),
    ],
)
def test_a_planted_mistake_is_found(html, check):
    assert len(check({"index.html": Page(html)})) == 1


@pytest.mark.parametrize(
    "html",
    [
        (
            '<a id="here" href="#here">x</a><a href="index.html">x</a><a '
            'href="https://elsewhere.org">x</a>'
        ),
        (
            '<img src="a.png" alt="A curve."><svg role="img" aria-label="A curve."></svg><svg '
            'aria-hidden="true"></svg>'
        ),
    ],
)
def test_what_is_right_is_let_through(html):
    page = {"index.html": Page(html)}
    assert dead(page) == foreign(page) == wordless(page) == []


def test_every_primitive_has_a_page_with_its_proofs_and_curves(pages):
    for path in (ROOT / "ibpcl" / "primitives").glob("[!_]*.py"):
        page = pages[f"derivations/{path.stem}.html"]
        pairs = len(
            re.findall(r"^def (?!_)\w+_vjp\(", path.read_text(encoding="utf-8"), re.MULTILINE)
        )
        assert page.text.count("checked") >= pairs, path.stem
        assert sum("V-curve" in alt for _, alt in page.pictures) >= pairs, path.stem


def test_every_equation_and_erratum_is_on_the_pages_of_the_paper(pages):
    from ibpcl.paper.equations import EQUATIONS
    from ibpcl.paper.errata import ERRATA, NOTES

    def words(text):
        """Return text on one line, with straight quotes and three dots, as in the source."""
        for typeset, plain in (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("…", "...")):
            text = text.replace(typeset, plain)
        return " ".join(text.split())

    text = words(pages["paper/index.html"].text)
    for equation in EQUATIONS:
        assert " ".join((equation.tex or equation.formula[1:]).split()) in text
    page = pages["paper/errata.html"]
    text = words(page.text)
    assert {entry.name for entry in (*ERRATA, *NOTES)} <= set(page.ids)
    assert all(erratum.title in text for erratum in ERRATA)


def test_every_tutorial_is_there_with_what_it_printed_and_its_downloads(pages):
    for path in (ROOT / "tutorials").glob("*.py"):
        page = pages[f"tutorials/{path.stem}.html"]
        for ending in ("ipynb", "py"):
            assert any(link.endswith(f"/{path.stem}.{ending}") for link in page.links), (
                path.stem,
                ending,
            )
        assert "cell_output" in page.html, path.stem
        assert "Traceback (most recent call last)" not in page.text, path.stem


SECTIONS = ["Learn", "Teach", "Check", "Method", "Reference"]
MENU = re.compile(r'<nav class="bd-docs-nav.*?</nav>', re.DOTALL)
TOP = re.compile(r'<ul class="bd-navbar-elements.*?</ul>', re.DOTALL)


def entries(pattern, html):
    """Return the entries of a menu of a page, as text."""
    found = pattern.search(html)
    links = re.findall(r"<a [^>]*>(.*?)</a>", found[0], re.DOTALL) if found else []
    return [" ".join(re.sub(r"<[^>]+>", "", link).split()) for link in links]


def test_the_top_bar_has_the_sections_and_a_menu_has_at_most_25_entries(pages):
    for name, page in pages.items():
        assert entries(TOP, page.html) == SECTIONS, name
        assert len(entries(MENU, page.html)) <= 25, name
    assert entries(MENU, pages["learn.html"].html)[1] == "Try it with sliders"


def test_every_page_is_reached_from_a_menu_or_an_index(pages):
    listed = {
        link.split("#")[0].rpartition("/")[2] for page in pages.values() for link in page.links
    }
    assert {name.rpartition("/")[2] for name in pages} <= listed | {"index.html"}


def test_every_command_is_described(pages):
    from ibpcl.cli.parser import parser

    (commands,) = (
        action.choices for action in parser()._actions if isinstance(action.choices, dict)
    )
    assert all(f"ibpcl {name}" in pages["reference/commands.html"].text for name in commands)
