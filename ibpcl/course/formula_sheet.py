"""A formula sheet of two pages: the paper's functions and their gradients, as a PDF.

The rows are in ``formulas.toml``.  Matplotlib sets the formulas and writes the file, so no LaTeX is
needed.
"""

import io
from pathlib import Path

from ibpcl.errors import UserError
from ibpcl.plotting import styled
from ibpcl.storage import read_toml, write_bytes

PAPER = (8.27, 11.69)  # A4, in inches
PAGES = 2
COLUMNS = 2
MARGIN = 0.5  # inches
TOP = 0.35  # below the top of the title, inches
GUTTER = 0.3  # between columns, inches
SIZES = {"title": 14, "section": 12, "name": 7.5, "formula": 9.8, "text": 9.8}  # points
INDENT = {"forward": 0.0, "gradient": 0.14}  # inches
GAP = {"section": 0.10, "name": 0.055, "forward": 0.035, "gradient": 0.03, "text": 0.045}  # inches


def rows():
    """Return the sections of the sheet.

    Returns
    -------
    sections : list of dict
        With ``title`` and ``row``; ``page`` where a page begins, ``column`` where a column does.
    """
    return read_toml(Path(__file__).with_name("formulas.toml"))["section"]


def write(path, sections=None):
    """Write the formula sheet.

    Parameters
    ----------
    path : path
        The PDF.
    sections : list of dict, optional
        As :func:`rows` returns them; by default, those of the package.

    Raises
    ------
    UserError
        If the formulas do not fit on two pages.
    """
    write_bytes(path, _pdf(rows() if sections is None else sections))


@styled
def _pdf(sections):
    """Return the bytes of the PDF, the same for the same formulas."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure

    data = io.BytesIO()
    with (
        rc_context(
            {"mathtext.fontset": "stix", "font.family": "STIXGeneral", "text.usetex": False}
        ),
        PdfPages(data, metadata={"CreationDate": None, "Title": "ibpcl: formulas"}) as pdf,
    ):
        for number in range(1, PAGES + 1):
            figure = Figure(figsize=PAPER)
            _title(figure, number)
            _fill(figure, [each for each in sections if _page_of(sections, each) == number])
            pdf.savefig(figure)
    return data.getvalue()


def _page_of(sections, section):
    """Return the page of a section: the last one that a section up to it names."""
    page = 1
    for each in sections:
        page = each.get("page", page)
        if each is section:
            return page
    return page


def _title(figure, number):
    height = PAPER[1]
    figure.text(
        MARGIN / PAPER[0],
        1 - MARGIN / height,
        "Bayesian structural adaptation: formulas and gradients",
        size=SIZES["title"],
        weight="bold",
        va="top",
    )
    figure.text(
        1 - MARGIN / PAPER[0],
        1 - MARGIN / height,
        f"ibpcl, page {number} of {PAGES}",
        size=SIZES["text"],
        va="top",
        ha="right",
    )


def _fill(figure, sections):
    """Set sections into the columns of a page, one block after another."""
    place = _Place(figure)
    for section in sections:
        blocks = [_lines(row) for row in section["row"]]
        if section.get("column", 1) > place.column + 1:
            place.next_column()
        heading = [("section", section["title"])]
        place.put(heading + blocks[0])  # a heading never stands alone at the end of a column
        for block in blocks[1:]:
            place.put(block)


def _lines(row):
    """Return a row as lines, each with its kind and text."""
    if "text" in row:
        return [("text", row["text"])]
    lines = [("name", row.get("function") or row["name"])]
    lines.append(("forward", f"${row['forward']}$".removesuffix("$$")))
    lines += [("gradient", f"${each}$".removesuffix("$$")) for each in row.get("gradients", ())]
    return lines


class _Place:
    """The place on a page where the next block goes."""

    def __init__(self, figure):
        self.figure = figure
        self.column = 0
        self.top = TOP + MARGIN  # inches below the top edge
        self.width = (PAPER[0] - 2 * MARGIN - (COLUMNS - 1) * GUTTER) / COLUMNS

    def next_column(self):
        """Begin the next column."""
        self.column += 1
        self.top = TOP + MARGIN

    def put(self, block):
        """Draw a block of lines; begin the next column if it does not fit."""
        texts = [self._text(kind, words) for kind, words in block]
        heights = [self._height(text, words) for text, (_, words) in zip(texts, block, strict=True)]
        gaps = [GAP[kind] for kind, _ in block]
        if self.top + sum(heights) + sum(gaps) > PAPER[1] - MARGIN:
            self.next_column()
        if self.column == COLUMNS:
            raise UserError(f"formula sheet: {block[0][1]!r} does not fit on its page")
        for text, (kind, _), height, gap in zip(texts, block, heights, gaps, strict=True):
            self.top += gap
            left = MARGIN + self.column * (self.width + GUTTER) + INDENT.get(kind, 0.0)
            text.set_position((left / PAPER[0], 1 - self.top / PAPER[1]))
            self.top += height

    def _text(self, kind, words):
        size = SIZES.get(kind, SIZES["formula"])
        style = {"section": {"weight": "bold"}, "name": {"family": "monospace", "color": "0.35"}}
        return self.figure.text(0, 0, words, size=size, va="top", **style.get(kind, {}))

    def _height(self, text, words):
        """Return the height of a text in inches; raise an error if it is wider than a column."""
        box = text.get_window_extent()
        if box.width / self.figure.dpi > self.width:
            raise UserError(f"formula sheet: {words!r} is wider than a column")
        return box.height / self.figure.dpi
