"""Slides of a tutorial: its marked cells, with the output of a run, as a deck for reveal.js.

A cell is marked by Jupyter's own key, ``slideshow={"slide_type": "slide"}``, in the line that
begins it.  Of a marked text, a slide shows the heading, the formulas, the lists, the questions and
the first sentence of each paragraph; the whole text goes into the speaker's notes.  A sentence with
a number stays in the notes: every number on a slide is part of a formula, of code, of a question or
of what the run printed.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import jinja2
from markupsafe import Markup

from ibpcl.classroom.feedback.prose import to_html
from ibpcl.errors import UserError
from ibpcl.storage import read_json, write_json, write_text

MOST_LINES = 11  # of text on a slide
MOST_CODE = 16  # lines of code, and of output
MOST_TOGETHER = 24  # lines of both on one slide
LINE = 62  # characters
MOST_OF_AN_ASIDE = 6  # lines
REVEAL = ("dist/reset.css", "dist/reveal.css", "dist/theme/white.css", "dist/reveal.js")
NOTES = "plugin/notes"
MARK = {"slide_type": "slide"}
SECONDS = 900  # that a tutorial may take on a busy machine
ENVIRONMENT = jinja2.Environment(
    autoescape=True,
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "items",
    "ordered_list_open": "items",
    "blockquote_open": "quote",
    "table_open": "table",
    "fence": "code",
    "html_block": "answer",
}  # names of markdown-it
# What a digit may belong to on a slide, without being the result of a run.
NO_CLAIM = re.compile(
    r"\$[^$]*\$|`[^`]*`|\b(?:Eqs?|Secs?|Figs?)\.\s*\d+(?:\.\d+)*|\bAlgorithm \d+"
    r"|\b[Tt]utorials? \d+|\b[12]\d{3}\b|\bsupplement [A-G](?:\.\d+)?|\bfloat(?:32|64)\b"
)


@dataclass
class Slide:
    """One slide.

    Attributes
    ----------
    title : str
        Markdown.
    html : list of str
        Blocks of the slide.
    notes : str
        Markdown, for the speaker.
    lines : int
        Lines that the blocks take.
    is_aside : bool
        Whether it has nothing but a sentence or two, which the speaker can say.
    """

    title: str
    html: list = field(default_factory=list)
    notes: str = ""
    lines: int = 0
    is_aside: bool = True


def cells_of(text):
    """Return the cells of a tutorial.

    Parameters
    ----------
    text : str
        A script in the percent format.

    Returns
    -------
    cells : list of nbformat.NotebookNode

    Raises
    ------
    UserError
        If jupytext is not installed, or the tutorial marks no cell.
    """
    try:
        import jupytext
    except ImportError as error:
        raise _missing("jupytext") from error
    cells = jupytext.reads(text, fmt="py:percent").cells
    if not any(is_marked(cell) for cell in cells):
        raise UserError("class course: no cell of the tutorial is marked as a slide")
    return cells


def _missing(package):
    """Return the error that names a package of the extra."""
    return UserError(
        f"class course: slides need {package}, which comes with the extra: "
        "pip install '.[classroom]'"
    )


def is_marked(cell):
    """Return whether a cell is marked as a slide.

    Parameters
    ----------
    cell : nbformat.NotebookNode

    Returns
    -------
    is_marked : bool
    """
    return cell.metadata.get("slideshow", {}).get("slide_type") == "slide"


def run(cells, name):
    """Run the code cells of a tutorial in a child process.

    Parameters
    ----------
    cells : list of nbformat.NotebookNode
    name : str
        Name of the tutorial, for messages.

    Returns
    -------
    shown : list of dict
        ``text`` and ``figures`` of each code cell, in their order.

    Raises
    ------
    UserError
        If a cell raises an exception.
    """
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    with TemporaryDirectory() as folder:
        source = Path(folder, "cells.json")
        target = Path(folder, "shown.json")
        write_json(source, code)
        command = [sys.executable, "-m", "ibpcl.course.running", str(source), str(target)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise UserError(f"class course: tutorial {name} takes more than {SECONDS} s") from error
        if done.returncode or not target.exists():
            last = done.stderr.strip().splitlines()[-1:] or ["it ended without a message"]
            raise UserError(f"class course: tutorial {name} does not run: {last[0]}")
        return read_json(target)


def deck(cells, shown):
    """Return the slides of a tutorial.

    Parameters
    ----------
    cells : list of nbformat.NotebookNode
    shown : list of dict
        From :func:`run`.

    Returns
    -------
    slides : list of Slide

    Raises
    ------
    UserError
        If markdown-it-py is not installed.
    """
    slides = []
    outputs = iter(shown)
    title = ""
    for cell in cells:
        output = next(outputs) if cell.cell_type == "code" else None
        if not is_marked(cell):
            if cell.cell_type == "markdown" and (
                found := re.findall(r"^#+ (.+)$", cell.source, re.M)
            ):
                title = found[-1]
            continue
        if output is not None:
            slides += _code_slides(cell, output, title)
            continue
        for made in _text_slides(cell.source, title):
            if slides and made.is_aside and made.title == slides[-1].title:
                slides[-1].notes += made.notes
            else:
                slides.append(made)
            title = made.title
    return slides


def _text_slides(source, title):
    """Return the slides of a text cell: one per section, or more where it is long."""
    slides = []
    slide = Slide(title)
    for kind, text in _blocks(source):
        if kind == "heading":
            slides.append(slide)
            title = text.lstrip("# ")
            slide = Slide(title)
            continue
        slide.notes += f"{text}\n\n"
        shown = _shown(kind, text)
        if not shown:
            continue
        lines = _lines(kind, shown)
        if slide.lines and slide.lines + lines > MOST_LINES:
            slides.append(slide)
            slide = Slide(title)
        slide.html.append(to_html(shown))
        slide.lines += lines
        slide.is_aside = slide.is_aside and kind == "paragraph" and slide.lines <= MOST_OF_AN_ASIDE
    slides.append(slide)
    return [each for each in slides if each.html]


def _blocks(source):
    """Return a text as blocks, each with its kind."""
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise _missing("markdown-it-py") from error
    formulas = re.findall(r"\$\$.*?\$\$", source, re.DOTALL)
    numbers = iter(range(len(formulas)))
    # a line of a formula may begin like a list
    source = re.sub(
        r"\$\$.*?\$\$", lambda _: f"\ue000{next(numbers)}\ue001", source, flags=re.DOTALL
    )
    lines = source.splitlines()
    blocks = []
    inside = False
    for token in MarkdownIt("commonmark").enable("table").parse(source):
        if token.level or token.map is None or token.type not in KINDS:
            continue
        text = "\n".join(lines[token.map[0] : token.map[1]]).strip()
        # an answer is a paragraph between two blocks of HTML
        inside = (inside or "<details" in text) and "</details>" not in text
        kind = "answer" if inside else KINDS[token.type]
        pieces = re.split("(\ue000\\d+\ue001)", text) if kind == "paragraph" else [text]
        for piece in filter(str.strip, pieces):
            whole = re.sub(
                "\ue000(\\d+)\ue001", lambda match: formulas[int(match[1])], piece.strip()
            )
            blocks.append(("formula" if whole.startswith("$$") else kind, whole))
    return blocks


def _shown(kind, text):
    """Return the part of a block that a slide shows; the rest is for the speaker."""
    if kind in ("formula", "code", "table"):
        return text
    if kind == "quote":
        return re.sub(r"^> ?", "", text, flags=re.MULTILINE)
    if kind == "items":
        return "" if has_number(text) else text
    if kind == "answer":
        return ""
    sentence = re.split(r"(?<=[.?!:])\s+(?=[A-Z*$`\"])", " ".join(text.split()))[0]
    return "" if has_number(sentence) else sentence


def has_number(text):
    """Return whether a text contains a number that only a run can show.

    Parameters
    ----------
    text : str
        Markdown.

    Returns
    -------
    has_number : bool

    Examples
    --------
    >>> has_number("It fell to 53 %."), has_number("See Eq. 8: $x_1 = 2$.")
    (True, False)
    """
    return bool(re.search(r"\d", NO_CLAIM.sub("", re.sub(r"^\s*\d+\. ", "", text, flags=re.M))))


def _lines(kind, text):
    """Return about how many lines a block takes on a slide."""
    if kind == "formula":
        return 2 * text.count(r"\\") + 2
    if kind in ("code", "table"):
        return text.count("\n") + 1
    plain = re.sub(r"\$[^$]*\$", "xxxxxxxx", text)
    parts = re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", plain)
    return sum(-(-len(" ".join(part.split())) // LINE) for part in parts) + 1


def _code_slides(cell, output, title):
    """Return the slides of a code cell: its code, if it is shown, and what it printed and drew."""
    hidden = "hide-input" in cell.metadata.get("tags", [])
    slide = Slide(title)
    code = cell.source.splitlines()
    if not hidden and len(code) <= MOST_CODE:
        slide.html.append(str(Markup("<pre class='code'>{}</pre>").format(cell.source)))
    printed = output["text"].rstrip("\n").splitlines()
    if len(printed) > MOST_CODE:
        printed = [*printed[:MOST_CODE], "..."]
    made = [slide]
    if printed:
        if slide.html and len(printed) + len(code) > MOST_TOGETHER:
            made.append(Slide(title))
        text = "\n".join(printed)
        made[-1].html.append(str(Markup("<pre class='output'>{}</pre>").format(text)))
    alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
    pictures = [
        Slide(
            title,
            [str(Markup('<img src="data:image/png;base64,{}" alt="{}">').format(picture, alt))],
            alt,
        )
        for picture in output["figures"]
    ]
    return [each for each in (*made, *pictures) if each.html]


def page(title, slides, reveal):
    """Return a deck as a page.

    Parameters
    ----------
    title : str
        Title of the tutorial.
    slides : list of Slide
    reveal : str
        Address of the folder of reveal.js, relative to the page.

    Returns
    -------
    html : str
    """
    rows = [
        {
            "title": Markup(to_html(each.title)),
            "blocks": [Markup(block) for block in each.html],
            "notes": Markup(to_html(each.notes)),
        }
        for each in slides
    ]
    return ENVIRONMENT.get_template("slides.html").render(title=title, slides=rows, reveal=reveal)


def reveal_folder():
    """Return the folder of reveal.js, which the package ``sphinx-revealjs`` ships.

    Returns
    -------
    folder : pathlib.Path

    Raises
    ------
    UserError
        If the package is not installed.
    """
    spec = importlib.util.find_spec("sphinx_revealjs")
    if spec is None:
        raise UserError(
            "class course: slides need reveal.js, which comes with the extra: "
            "pip install '.[classroom]' (or leave the slides out with --no-slides)"
        )
    return Path(spec.origin).parent / "_static" / "revealjs"


def copy_reveal(folder):
    """Copy the files of reveal.js that a deck loads.

    Parameters
    ----------
    folder : pathlib.Path
        New folder.
    """
    source = reveal_folder()
    for name in (*REVEAL, "LICENSE"):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target)
    shutil.copytree(source / "dist/theme/fonts", folder / "dist/theme/fonts", dirs_exist_ok=True)
    shutil.copytree(source / NOTES, folder / NOTES, dirs_exist_ok=True)


def write(path, text, name):
    """Run a tutorial and write its slides.

    Parameters
    ----------
    path : pathlib.Path
        The page; reveal.js is expected in the folder ``reveal.js`` beside it.
    text : str
        The tutorial.
    name : str
        Name of the tutorial.

    Returns
    -------
    count : int
        Number of slides.

    Raises
    ------
    UserError
        If the tutorial does not run, or marks no cell.
    """
    cells = cells_of(text)
    slides = deck(cells, run(cells, name))
    title = re.search(r"^# # (.+)$", text, re.MULTILINE)[1]
    write_text(path, page(title, slides, "reveal.js"))
    return len(slides)
