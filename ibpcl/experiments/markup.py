"""HTML for one page without any outside file: text is escaped where it joins, tables sort and
scroll, images embed.
"""

import base64
import hashlib
import io
import re
from html import escape
from pathlib import Path
from string import Template

TEMPLATE = Path(__file__).with_name("page.html")
# Nothing is loaded from anywhere, and no script runs but the template's own.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{}'"
PNG_START = b"\x89PNG\r\n\x1a\n"
# bytes and pixels of a figure; ours have 2 million
LARGEST = 20_000_000
PIXELS = 20_000_000
COLORS = 128  # of a figure that must be made smaller


class Html(str):
    """What is HTML already; any other text is escaped when it becomes a part of it."""


def join(*parts):
    """Return parts, or lists of parts, one after another as HTML.

    >>> join("a < b", Html("<br>"))
    'a &lt; b<br>'
    """
    return Html(
        "".join(
            join(*part)
            if isinstance(part, list | tuple)
            else part
            if isinstance(part, Html)
            else escape(str(part))
            for part in parts
        )
    )


def tag(name, *parts, **attributes):
    """Return an element; a trailing underscore of an attribute's name is dropped, others become
    dashes.

    >>> tag("a", "<b>", class_="x", aria_label='"')
    '<a class="x" aria-label="&quot;">&lt;b&gt;</a>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>" + ("" if name == "img" else f"{join(*parts)}</{name}>"))


def section(title, *parts):
    """Return a section with a heading, which the page's list of contents names."""
    return tag("section", tag("h2", title), *parts, id=re.sub(r"\W+", "-", title.lower()))


def table(label, head, rows, sortable=False, text=(), class_=None):
    """Return a table in a box that scrolls; a sentence above it, ``label``, does not.

    ``rows`` are of texts, numbers or whole ``td`` elements; one whose first cell begins with spaces
    belongs to the one above.  ``text`` are the columns that are aligned to the left, besides the
    first.
    """
    top = [
        tag(
            "th",
            tag("button", name, type="button") if sortable and name else name,
            scope="col",
            class_="text" if i in text else None,
        )
        for i, name in enumerate(head)
    ]
    groups = []
    for first, *cells in rows:
        sub = str(first).startswith("  ")
        line = tag(
            "tr",
            tag("th", first, scope="row"),
            [
                cell
                if isinstance(cell, Html)
                else tag("td", cell, class_="text" if i in text else None)
                for i, cell in enumerate(cells, 1)
            ],
            class_="sub" if sub else None,
        )
        groups[-1:] = [[*groups[-1], line]] if sub and groups else [*groups[-1:], [line]]
    names = " ".join(filter(None, (class_, "sortable" if sortable else None))) or None
    return join(
        tag("p", label, class_="soft") if label else "",
        tag(
            "div",
            tag(
                "table",
                tag("thead", tag("tr", top)),
                [tag("tbody", group) for group in groups],
                class_=names,
            ),
            class_="wide",
            role="region",
            aria_label=label or f"Table: {', '.join(head)}",
            tabindex=0,
        ),
    )


def figures(pictures, most):
    """Return PNG files with their captions as embedded figures, ``most`` bytes: with fewer colours,
    or only named.

    The folder may come from another person: what is a link, no PNG or too large is only named.
    """
    found = []
    parts = []
    for path, caption in pictures:
        problem = refused(path)
        if problem is None:
            found.append((path, caption, path.read_bytes()))
        elif problem:
            parts.append(tag("p", f"{path.name} is left out: it {problem}."))
    few = sum(len(data) for *_, data in found) * 4 / 3 > most
    for path, (title, alt, sentence), data in found:
        data = base64.b64encode(fewer_colors(data) if few else data).decode()
        most -= len(data)
        picture = (
            tag("img", src=f"data:image/png;base64,{data}", alt=f"{title}. {alt}")
            if most >= 0
            else tag("p", f"{path.name} is too large for this page; it is in the folder.")
        )
        most += 0 if most >= 0 else len(data)
        parts.append(
            tag("figure", picture, tag("figcaption", tag("strong", f"{title}."), f" {sentence}"))
        )
    return parts


def refused(path):
    """Return why a figure is not read, in words; None if it is, empty text if there is no such
    file.

    Nothing of the picture is decoded: its header says how large it is.
    """
    if path.is_symlink():
        return "is a link"
    if not path.is_file():
        return ""
    if path.stat().st_size > LARGEST:
        return f"has more than {LARGEST // 10**6} MB"
    with open(path, "rb") as file:
        start = file.read(24)
    if start[:8] != PNG_START or start[12:16] != b"IHDR":
        return "is not a PNG file"
    width, height = (int.from_bytes(start[i : i + 4], "big") for i in (16, 20))
    return (
        f"has {width} x {height} pixels" if width * height > PIXELS or not width * height else None
    )


def fewer_colors(data):
    """Return a PNG with a palette: a third of the bytes, for charts without a loss that shows."""
    from PIL import Image  # Matplotlib needs it for its own PNGs

    small = io.BytesIO()
    try:
        # a guess would let others decode it
        with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
            picture.convert("RGB").quantize(COLORS).save(small, "PNG", optimize=True)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        # damaged: the browser shows what it can
        return data
    return small.getvalue()


def page(title, sections, footer):
    """Return the whole page: the template with its parts, and a list of contents above the
    sections.
    """
    template = TEMPLATE.read_text(encoding="utf-8")
    script = re.search(r"<script>(.*?)</script>", template, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    top, *rest = sections
    names = re.findall(r'<section id="([^"]*)"><h2>(.*?)</h2>', "".join(rest))
    links = tag(
        "nav",
        [tag("a", Html(name), href=f"#{place}") for place, name in names],
        aria_label="Contents",
    )
    return Template(template).substitute(
        title=escape(title),
        policy=escape(POLICY.format(digest)),
        body=join(top, links, rest),
        footer=join(footer),
    )
