"""Helpers for the tests of the tutorials: a script's cells, its run, and the numbers of its text
that tests hold.
"""

import contextlib
import functools
import io
import re
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[2] / "tutorials"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# seconds: a tutorial must not make its reader wait
TIME_LIMIT = 60
GREEK = re.compile(r"\b(alpha|beta|epsilon|lambda|mu|omega|phi|pi|psi|rho|sigma|tau|theta|Omega)\b")
# A cell that draws a figure is folded on the site, and describes its figure.
# A cell that a slide is made of is marked.
MARKER = re.compile(
    r'# %%( \[markdown\])?(?: slideshow=\{"slide_type": "slide"\})?'
    r'(?: tags=\["hide-input"\] mystnb=(\{.*\}))?'
)
# Not a claim about a run: formulas, code, links, references to sections, years, names of things.
NO_CLAIM = (
    r"\$\$.*?\$\$",
    r"\$.*?\$",
    r"`.*?`",
    r"\]\([^)\s]*\)",
    r"</?\w+>",
    r"\b(?:Eqs?|Secs?|Figs?)\.\s*\d+(?:\.\d+)*(?:(?:,| to| and)\s+\d+(?:\.\d+)*)*",
    r"\bAlgorithm \d+",
    r"\b[Tt]utorials?\s+\d+(?:(?:,| to| and)\s+\d+)*",
    r"\b[Ee]xercises?\s+\d+(?:(?:,| to| and)\s+\d+)*",
    r"\*\*Time:\*\* about \d+ minutes",
    r"\bsupplement [A-G](?:\.\d+)?",
    r"\b[12]\d{3}\b",
    r"\bfloat(?:32|64)\b",
    r"\b\d-NN\b",
    r"\btasks?\s+\d\b",
)


class Cell(NamedTuple):
    """A cell of a percent-format script: "markdown" or "code", the JSON of its metadata, and its
    lines.
    """

    kind: str
    metadata: str
    lines: list


class Shown(NamedTuple):
    """The texts of a figure: titles, axis labels, and the texts of legends and annotations."""

    titles: list
    labels: list
    texts: list


class Run(NamedTuple):
    """A whole run of a tutorial: its names, printed text and figures, its CPU time in seconds, and
    the files that it left behind.
    """

    names: dict
    printed: str
    figures: list
    seconds: float
    left: list


def cells(text):
    """Split a percent-format script into cells; raise ``ValueError`` where it is not one."""
    lines = text.split("\n")
    if not lines[0].startswith("# %%"):
        raise ValueError(f"line 1: a cell must begin here, got {lines[0]!r}")
    script = []
    for number, line in enumerate(lines, 1):
        if line.startswith("# %%"):
            marker = MARKER.fullmatch(line)
            if marker is None:
                raise ValueError(f"line {number}: unknown cell marker {line!r}")
            script.append(Cell("markdown" if marker[1] else "code", marker[2] or "", []))
            continue
        if script[-1].kind == "markdown" and line and not line.startswith("# ") and line != "#":
            raise ValueError(f"line {number}: code in a text cell: {line!r}")
        script[-1].lines.append(line)
    return script


def prose(text):
    """Return a script's text cells as paragraphs of one line each, without the comment signs."""
    paragraphs = []
    for cell in cells(text):
        if cell.kind == "markdown":
            body = "\n".join(
                line.removeprefix("#").removeprefix(" ").removeprefix("> ") for line in cell.lines
            )
            body = re.sub(
                r"\$\$.*?\$\$", lambda formula: formula[0].replace("\n", " "), body, flags=re.DOTALL
            )
            paragraphs += [
                " ".join(part.split())
                for part in re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )", body)
            ]
    return [part for part in paragraphs if part]


def sentences_with_numbers(text):
    """Return the sentences of a script's text with a number that only a run can show.

    >>> text = "# %% [markdown]\\n# # T\\n#\\n# It is $2 x$. It fell to 7 %.  See tutorial 3.\\n"
    >>> sentences_with_numbers(text)
    ['It fell to 7 %.']
    """
    sentences = []
    for paragraph in prose(text):
        if not paragraph.startswith("#"):
            hidden, kept = hide(re.sub(r"^(\d+\.|\*|-) ", "", paragraph))
            sentences += [
                show(part, kept)
                for part in re.split(r"(?<=[.:?!)])\s+(?=[\"*A-Z\x00(])", hidden)
                if re.search(r"\d", part)
            ]
    return sentences


def hide(text):
    """Replace everything that is not a claim by marks; return the text, and what each mark stands
    for.
    """
    kept = []

    def mark(match):
        kept.append(match[0])
        return f"\x00{chr(0xE000 + len(kept) - 1)}"

    for pattern in NO_CLAIM:
        text = re.sub(pattern, mark, text)
    return text, kept


def show(text, kept):
    """Undo :func:`hide`."""
    while "\x00" in text:
        text = re.sub("\x00(.)", lambda match: kept[ord(match[1]) - 0xE000], text)
    return text


@functools.cache
def run(stem):
    """Run a tutorial whole in an empty folder, with warnings as errors, and return its
    :class:`Run`.
    """
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    script = FOLDER / f"{stem}.py"
    shown = []
    printed = io.StringIO()
    names = {"__name__": "__main__"}

    def show():
        for number in plt.get_fignums():
            figure = plt.figure(number)
            # a figure that cannot be drawn is an error
            figure.canvas.draw()
            shown.append(read(figure))
        plt.close("all")

    original = plt.show
    plt.show = show
    start = time.process_time()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.chdir(folder),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(printed),
            plt.rc_context(),
        ):
            warnings.simplefilter("error")
            exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), names)
            if plt.get_fignums():
                raise AssertionError("a figure was made and never shown")
            left = [path.name for path in Path(folder).iterdir()]
    finally:
        plt.show = original
        plt.close("all")
    return Run(names, printed.getvalue(), shown, time.process_time() - start, left)


def read(figure):
    """Return the texts of a figure."""
    titles = [figure.get_suptitle()]
    labels = []
    texts = []
    for axes in figure.axes:
        titles += [axes.get_title(place) for place in ("left", "center", "right")]
        labels += [axes.get_xlabel(), axes.get_ylabel()]
        texts += [text.get_text() for text in axes.texts]
        texts += (
            [text.get_text() for text in axes.get_legend().get_texts()] if axes.get_legend() else []
        )
    return Shown(*([text for text in group if text] for group in (titles, labels, texts)))


class Tutorial:
    """A tutorial and the numbers of its text that tests hold.

    ``@tutorial.holds("14.98%", "5 on average")`` above a test notes that the test fails if one of
    these numbers is not what the tutorial's code computes.  A fragment is a number with the unit or
    the word beside it, as short as possible, so that the sentence around it can be edited.

    Parameters
    ----------
    file : str
        Path of the test module: ``test_05_buffet.py`` is about ``05_buffet.py``.

    Attributes
    ----------
    stem : str
        Name of the tutorial's file without its suffix.
    text : str
        The script.
    fragments : list of str
        The fragments that tests hold.
    """

    def __init__(self, file):
        self.stem = Path(file).stem.removeprefix("test_")
        self.text = (FOLDER / f"{self.stem}.py").read_text(encoding="utf-8")
        self.fragments = []

    def holds(self, *fragments):
        """Note which numbers of the text the test below holds."""
        for fragment in fragments:
            if re.fullmatch(r"[\d.,\s]*", fragment):
                raise ValueError(
                    f"a fragment needs a unit or a word beside its number: {fragment!r}"
                )
        self.fragments += fragments
        return lambda test: test

    def __getitem__(self, name):
        return self.names[name]

    @property
    def names(self):
        """The names of the finished run."""
        return run(self.stem).names

    @property
    def printed(self):
        """The text that the run printed."""
        return run(self.stem).printed

    def check(self):
        """Raise ``AssertionError`` unless the tutorial runs in time, its figures can be read, and
        tests hold its numbers.
        """
        finished = run(self.stem)
        missing, unheld = self.missing()
        assert not missing, f"the tutorial does not contain {missing}"
        assert not unheld, f"no test holds the numbers of {unheld}"
        assert finished.printed.strip() and finished.figures, (
            "a tutorial prints something and shows a figure"
        )
        assert finished.seconds < TIME_LIMIT, f"it took {finished.seconds:.0f} s"
        assert not finished.left, f"it left files behind: {finished.left}"
        for figure in finished.figures:
            assert figure.titles, f"a figure without a title: {figure}"
            named = [
                text
                for text in (*figure.titles, *figure.labels, *figure.texts)
                if GREEK.search(re.sub(r"\$.*?\$", "", text))
            ]
            assert not named, f"Greek letters belong between dollars: {named}"

    def missing(self):
        """Return the fragments that the text does not contain, and the sentences with a number that
        no fragment covers.
        """
        text = " ".join(prose(self.text))
        missing = [fragment for fragment in self.fragments if fragment not in text]
        return missing, sentences_not_held(self.text, self.fragments)


def sentences_not_held(text, fragments):
    """Return the sentences of a script's text with a number that no fragment covers.

    >>> text = "# %% [markdown]\\n# # T\\n#\\n# It fell from 9% to 7% in 3 s.\\n"
    >>> sentences_not_held(text, ["from 9%", "7%"])
    ['It fell from 9% to 7% in 3 s.']
    >>> sentences_not_held(text, ["from 9%", "7%", "3 s"])
    []
    """
    unheld = []
    for sentence in sentences_with_numbers(text):
        rest = sentence
        # The longest fragment first; none begins in the middle of a number.
        for fragment in sorted(fragments, key=len, reverse=True):
            rest = re.sub(rf"(?<![\d.]){re.escape(fragment)}", "\x01", rest)
        if re.search(r"\d", hide(rest)[0]):
            unheld.append(sentence)
    return unheld
