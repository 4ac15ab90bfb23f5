"""Pages for learners: tutorials with folded drawing code, solutions, assignments, and links
between them.

The links come from the table in :mod:`paths`. Pages are written before Sphinx reads its sources,
and only if their text has changed.
"""

import ast
import hashlib
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import jupytext
import paths

import ibpcl

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
FEEDBACK = DOCS / "_build" / "static" / "feedback-sample.html"
# Folders that hold generated pages only.
FOLDERS = ("assignments", "solutions")
PROMPTS = {
    "code_prompt_show": "Show the code of this figure",
    "code_prompt_hide": "Hide the code of this figure",
}
# Settings of Matplotlib draw nothing.
DRAWING = re.compile(r"\bplt\.(?!rcParams|style\b|rc\(|cycler|colormaps)")
EXERCISE = re.compile(r"^# Exercises? (\d+)[.:]? *(.*)$")


def setup(app):
    """Connect the generator and the links."""
    app.connect("config-inited", generate, priority=400)
    # before the links of other pages are adapted
    app.connect("source-read", add_links, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def generate(app, config):
    """Write the pages of assignments and solutions, and the sample of a feedback page."""
    pages = {**assignment_pages(), **solution_pages()}
    for folder in FOLDERS:
        for path in (DOCS / folder).glob("*"):
            if path.relative_to(DOCS).as_posix() not in pages:
                path.unlink()
    for name, text in pages.items():
        _write(DOCS / name, text)
    write_feedback()


def _write(path, text):
    """Write a file if its text has changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


# --- tutorials ------------------------------------------------------------------------------------


def notebook(text):
    """Read a tutorial as a notebook whose drawing code is folded.

    A cell that uses ``plt.`` is split before its first statement that does so. The second half is
    folded on the page; its figure stays visible. A cell with the tag ``hide-input`` is folded as a
    whole.

    Parameters
    ----------
    text : str
        A script in the percent format.

    Returns
    -------
    nbformat.NotebookNode
        The notebook.
    """
    made = jupytext.reads(text, fmt="py:percent")
    cells = []
    for cell in made.cells:
        cells += _split(cell) if cell.cell_type == "code" else [cell]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    made.cells = cells
    return made


def _split(cell):
    """Return a code cell as one or two cells, the last one folded if it draws."""
    line = drawing_starts(cell.source)
    if line is None:
        return [cell]
    tags = cell.metadata.get("tags", [])
    if "hide-input" in tags:
        line = 0
    lines = cell.source.splitlines()
    before = "\n".join(lines[:line]).rstrip()
    folded = cell.copy()
    folded["source"] = "\n".join(lines[line:])
    folded["metadata"] = {
        **cell.metadata,
        "tags": list(dict.fromkeys([*tags, "hide-input"])),
        "mystnb": {**cell.metadata.get("mystnb", {}), **PROMPTS},
    }
    if not before:
        return [folded]
    visible = cell.copy()
    visible["source"] = before
    visible["metadata"] = {}
    return [visible, folded]


def drawing_starts(source):
    """Return the index of the line at which the drawing of a cell starts; None if it draws nothing.

    >>> drawing_starts("x = 1\\n\\nplt.plot(x)")
    2
    >>> drawing_starts("import matplotlib.pyplot as plt\\nplt.rcParams['font.size'] = 9\\nx = 1")
    """
    if not DRAWING.search(source):
        return None
    lines = source.splitlines()
    try:
        statements = ast.parse(source).body
    except SyntaxError:  # a command of IPython
        return 0
    for statement in statements:
        text = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        if DRAWING.search(text):
            first = statement.lineno - 1
            while first and lines[first - 1].startswith("#"):  # its comment
                first -= 1
            return first
    return None


def add_links(app, docname, source):
    """Add the links of the learning path to a tutorial or a derivation, and headings to the list of
    derivations."""
    folder, _, name = docname.partition("/")
    if folder in ("tutorials", "derivations"):
        for module in (paths.__file__, __file__):
            app.env.note_dependency(str(Path(module).resolve()))
    if folder == "tutorials" and (links := paths.tutorial_links(name)):
        source[0] = re.sub(
            r"^(# # .+\n)",
            lambda match: f"{match[1]}#\n# {links}\n",
            source[0],
            count=1,
            flags=re.MULTILINE,
        )
    elif docname == "derivations/index":
        for title, names in paths.DERIVATIONS.items():
            entry = f"\n:doc:`{names[0]} <{names[0]}>`\n"
            source[0] = source[0].replace(entry, f"\n{title}\n{'-' * len(title)}\n{entry}")
    elif folder == "derivations":
        links = paths.derivation_links(name, tutorials="Derived step by step" not in source[0])
        source[0] = re.sub(
            r"(\n\.\. automodule:: .+\n(?: +:.+\n)*)",
            lambda match: f"{match[1]}\n.. seealso:: {links}\n",
            source[0],
            count=1,
        )


# --- solutions ------------------------------------------------------------------------------------


def solution_pages():
    """Return the solutions of the exercises as pages, {path: text}."""
    pages = {}
    rows = []
    for row in paths.present():
        path = ROOT / "tutorials" / "solutions" / f"{row.name}.py"
        if not path.exists():
            continue
        pages[f"solutions/{row.name}.md"] = solution_page(row, path.read_text(encoding="utf-8"))
        rows.append(f"- [{row.number}. {row.title}]({row.name}.md)")
    listed = "\n".join(Path(name).stem for name in pages)
    pages["solutions/index.md"] = "\n\n".join(
        [
            "# Solutions",
            "Try an exercise before you open its solution. Every page is a script that runs: "
            "`python tutorials/solutions/02_gaussian_weights.py` prints its results, and "
            "`ibpcl check tutorials/solutions/02_gaussian_weights.py` checks its gradients.",
            "\n".join(rows),
            f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
        ]
    )
    return pages


def solution_page(row, text):
    """Return the page of one script of solutions: a heading for each exercise, its comment as
    text, its code.
    """
    body = ast.parse(text).body
    intro = ast.get_docstring(ast.parse(text)) or ""
    parts = [
        f"# Solutions of tutorial {row.number}",
        f"[{row.title}](/tutorials/{row.name}.py) has the exercises. "
        f"{{download}}`Download the script </tutorials/solutions/{row.name}.py>`.",
        intro.partition("\n\n")[2],
    ]
    code = []

    def flush():
        block = "\n".join(code).strip("\n")
        code.clear()
        if block:
            parts.append(f"```python\n{block}\n```")

    lines = text.splitlines()[body[0].end_lineno if intro else 0 :]
    at = 0
    while at < len(lines):
        match = EXERCISE.match(lines[at])
        if not match:
            if lines[at].startswith("def main("):
                flush()
                parts.append("## Run the solutions")
            code.append(lines[at])
            at += 1
            continue
        flush()
        words = [match[2]]
        at += 1
        while at < len(lines) and lines[at].startswith("#") and not EXERCISE.match(lines[at]):
            words.append(lines[at][1:].strip())
            at += 1
        text = " ".join(" ".join(words).split())
        title, mark, rest = re.fullmatch(r"(.*?)(?:([.?])(?: (.*))?)?", text).groups("")
        parts += [f"## Exercise {match[1]}: {title}{mark.strip('.')}", rest]
    flush()
    return "\n\n".join(part for part in parts if part) + "\n"


# --- assignments ----------------------------------------------------------------------------------


def assignment_pages():
    """Return the statements of the assignments as pages, {path: text}."""
    known = paths.assignments()
    rows = [
        "| | assignment | hours | points | after tutorial |",
        "|--:|:--|--:|--:|:--|",
    ]
    pages = {}
    for number, assignment in known.items():
        before = [row for row in paths.present() if number in row.assignments]
        links = ", ".join(f"[{row.number}](/tutorials/{row.name}.py)" for row in before)
        rows.append(
            f"| {number} | [{assignment.title}]({assignment.name}.md) | {assignment.hours:g} | "
            f"{assignment.points:g} | {links} |"
        )
        pages[f"assignments/{assignment.name}.md"] = assignment_page(assignment, before)
    pages["assignments/index.md"] = "\n\n".join(
        [
            "# Assignments",
            "Ten assignments lead from one Gaussian weight to continual learning and images. "
            "Each has a statement, a file to complete, and checks that run on your own machine. "
            "Grading explains every mistake that it can name. In a course, your teacher gives you "
            "the files. Alone, make them with the solutions, in the folder of the source:",
            "```sh\npip install ./teacher\nibpcl class new 1 --out homework\nibpcl class check "
            "homework/gaussian_weights.py\n```",
            "\n".join(rows),
            'This <a href="../_static/feedback-sample.html">sample feedback page</a> belongs to a '
            "file with two mistakes. [For students](/classroom-students.md) explains the files "
            "and the rules, [for teachers](/classroom-teachers.md) the grading.",
            "```{toctree}\n:hidden:\n\n"
            + "\n".join(each.name for each in known.values())
            + "\n```\n",
        ]
    )
    return pages


def assignment_page(assignment, before):
    """Return the page of one assignment: its statement in the base form, and what leads to it."""
    title, _, text = assignment.statement("base").partition("\n")
    number = assignment.name.partition("_")[0].lstrip("0")
    variants = "; ".join(
        f"*{name}*: {words}" for name, words in assignment.variants.items() if name != "base"
    )
    links = ", ".join(f"[{row.number}. {row.title}](/tutorials/{row.name}.py)" for row in before)
    command = (
        f"```sh\nibpcl class new {number} --out homework      # statement, stub and public checks\n"
        f"ibpcl class check homework/{assignment.file}\n```"
    )
    parts = [
        title,
        *([f"**Prepare with tutorial** {links}."] if links else []),
        command,
        text.strip(),
        *(
            [
                "## Variants",
                "In a course, students can get different variants of this assignment. The text "
                f"above is the base variant. The others are {variants}.",
            ]
            if variants
            else []
        ),
    ]
    return "\n\n".join(parts) + "\n"


# Changes of the reference solution of assignment 1, as (right, wrong).
MISTAKES = (
    ("return dv.sum(axis=0), (dv * noise)", "return dv.sum(axis=0), -(dv * noise)"),
    (
        "(shift * shift / 2 + (excess / 2 - log_ratio)).sum(), (",
        "(shift * shift / 2).sum() + (excess / 2 - log_ratio).sum(), (",
    ),
)


def write_feedback():
    """Write a sample of a feedback page: assignment 1 with planted mistakes, judged when the site
    is built. The page is kept until the code of the classroom changes.
    """
    folder = Path(ibpcl.__file__).parent
    sources = sorted((folder / "classroom").rglob("*")) + sorted((folder / "verify").rglob("*.py"))
    digest = hashlib.sha256(
        b"".join(path.read_bytes() for path in sources if path.suffix in (".py", ".md", ".toml"))
        + Path(__file__).read_bytes()
    ).hexdigest()
    seal = DOCS / "_build" / "feedback-sample.json"
    if FEEDBACK.exists() and seal.exists() and json.loads(seal.read_text("utf-8")) == digest:
        return
    _write(FEEDBACK, sample_feedback())
    _write(seal, json.dumps(digest))


def sample_feedback():
    """Return the feedback page of a hand-in with the planted mistakes.

    Raises
    ------
    RuntimeError
        If a mistake no longer fits the reference solution.
    """
    from ibpcl.classroom import check_file
    from ibpcl.classroom.assignments.assignment import find
    from ibpcl.classroom.feedback.student_page import feedback

    assignment = find("1")
    source = assignment.source("base")
    for right, wrong in MISTAKES:
        if right not in source:
            raise RuntimeError(f"lessons: the reference solution does not contain {right!r}")
        source = source.replace(right, wrong)
    text = f'ASSIGNMENT = "{assignment.name}"\nVARIANT = "base"\n\n{source}'
    with TemporaryDirectory() as folder:
        path = Path(folder, assignment.file)
        path.write_text(text, encoding="utf-8")
        result = check_file(path)
    return feedback(result, assignment, "kind", text, name="A sample hand-in")
