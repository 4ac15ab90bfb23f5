"""What the tests of the tutorials share: a script by its cells, its run, and which of its sentences
a test holds.
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
MARKER = re.compile(r'# %%(?: \[markdown\]| mystnb=(\{.*\}))?')
# What is no claim about a run: formulas, code, links, where something stands, years, names of
# things.
NO_CLAIM = (
    r"\$\$.*?\$\$",
    r"\$.*?\$",
    r"`.*?`",
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
    """What can be read in a figure: titles, axis labels, and the texts of legends and
    annotations.
    """

    titles: list
    labels: list
    texts: list


class Run(NamedTuple):
    """A whole run of a tutorial: its names, what it printed, what it showed, its CPU time in
    seconds, files left.
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
    found = []
    for number, line in enumerate(lines, 1):
        if line.startswith("# %%"):
            marker = MARKER.fullmatch(line)
            if marker is None:
                raise ValueError(f"line {number}: unknown cell marker {line!r}")
            found.append(Cell("markdown" if line.endswith("]") else "code", marker[1] or "", []))
            continue
        if found[-1].kind == "markdown" and line and not line.startswith("# ") and line != "#":
            raise ValueError(f"line {number}: code in a text cell: {line!r}")
        found[-1].lines.append(line)
    return found


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
    """Return the sentences of a script's text that name a number which only a run can show.

    >>> text = "# %% [markdown]\\n# # T\\n#\\n# It is $2 x$. It fell to 7 %.  See tutorial 3.\\n"
    >>> sentences_with_numbers(text)
    ['It fell to 7 %.']
    """
    found = []
    for paragraph in prose(text):
        if not paragraph.startswith("#"):
            hidden, kept = hide(re.sub(r"^(\d+\.|\*|-) ", "", paragraph))
            found += [
                show(part, kept)
                for part in re.split(r"(?<=[.:?!)])\s+(?=[\"*A-Z\x00(])", hidden)
                if re.search(r"\d", part)
            ]
    return found


def hide(text):
    """Put marks in the place of what is no claim; return the text, and what each mark stands
    for.
    """
    kept = []

    def mark(found):
        kept.append(found[0])
        return f"\x00{chr(0xE000 + len(kept) - 1)}"

    for pattern in NO_CLAIM:
        text = re.sub(pattern, mark, text)
    return text, kept


def show(text, kept):
    """Undo :func:`hide`."""
    while "\x00" in text:
        text = re.sub("\x00(.)", lambda place: kept[ord(place[1]) - 0xE000], text)
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
    """Return what can be read in a figure."""
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
    return Shown(*([text for text in found if text] for found in (titles, labels, texts)))


class Tutorial:
    """A tutorial whose sentences are held: ``@tutorial.says("a sentence")`` above the test that
    holds it.
    """

    def __init__(self, file):
        self.stem = Path(file).stem.removeprefix("test_")
        self.text = (FOLDER / f"{self.stem}.py").read_text(encoding="utf-8")
        self.quotes = []

    def says(self, *quotes):
        """Note what the test below holds, in the tutorial's own words."""
        self.quotes += [" ".join(quote.split()) for quote in quotes]
        return lambda test: test

    def __getitem__(self, name):
        return self.names[name]

    @property
    def names(self):
        """The names of the finished run."""
        return run(self.stem).names

    @property
    def printed(self):
        """What the run printed."""
        return run(self.stem).printed

    def check(self):
        """Raise ``AssertionError`` unless it runs in time, shows figures to be read, and has its
        numbers held.
        """
        made, (strange, unheld) = run(self.stem), self.missing()
        assert not strange, f"the tutorial does not say {strange}"
        assert not unheld, f"no test holds {unheld}"
        assert made.printed.strip() and made.figures, (
            "a tutorial prints something and shows a figure"
        )
        assert made.seconds < TIME_LIMIT, f"it took {made.seconds:.0f} s"
        assert not made.left, f"it left files behind: {made.left}"
        for figure in made.figures:
            assert figure.titles, f"a figure without a title: {figure}"
            named = [
                text
                for text in (*figure.titles, *figure.labels, *figure.texts)
                if GREEK.search(re.sub(r"\$.*?\$", "", text))
            ]
            assert not named, f"Greek letters belong between dollars: {named}"

    def missing(self):
        """Return quotes that the tutorial does not have, and sentences with numbers that no quote
        is from.
        """
        said = " ".join(prose(self.text))
        strange = [quote for quote in self.quotes if quote not in said]
        unheld = [
            sentence
            for sentence in sentences_with_numbers(self.text)
            if not any(quote in sentence or sentence in quote for quote in self.quotes)
        ]
        return strange, unheld
