"""The list of tutorials, exercises and assignments in ``tutorials/README.md``.

``python -m ibpcl.learn.listing`` writes it.  Titles, times, what a tutorial needs and what follows
are those of the chapters: the table ``[chapter]`` in ``chapters/*/assignment.toml``.
"""

from pathlib import Path

import ibpcl
from ibpcl.classroom.assignments import assignment
from ibpcl.learn.chapters import chapters
from ibpcl.storage import write_text

FILE = Path(ibpcl.__file__).parents[1] / "tutorials" / "README.md"
HEAD = """\
# Tutorials

<!-- `python -m ibpcl.learn.listing` writes this file from the tables [chapter] in
     ibpcl/learn/chapters/*/assignment.toml. -->

Each tutorial is a script that runs offline in less than a minute. An editor such as VS Code,
Spyder or PyCharm runs its cells one by one, and `jupytext` opens it as a notebook. The number of a
tutorial is that of its chapter of the [guided path](../docs/guided-path.md):
`ibpcl learn start 2` writes the exercises of tutorial 2, and `ibpcl learn check 2` checks them.
Solutions are in [solutions](solutions).

Times are in minutes: for the tutorial with its questions, and for its exercises.

"""


def listing():
    """Return the text of ``tutorials/README.md``.

    Returns
    -------
    text : str
        Markdown.
    """
    known = [assignment.find(name) for name in assignment.names()]
    titles = {each.name.partition("_")[0].lstrip("0"): each.title for each in known}
    lines = [
        "| | tutorial | reading | exercises | needs | leads to | assignments |",
        "| --: | :-- | --: | --: | :-- | :-- | :-- |",
    ]
    for chapter in chapters():
        later = [each.number for each in chapters() if chapter.number in each.needs]
        cells = (
            chapter.number,
            f"[{chapter.title}]({chapter.tutorial}.py)",
            chapter.reading,
            chapter.minutes,
            _numbers(chapter.needs),
            _numbers(later),
            "; ".join(f"{n}. {titles[str(n)]}" for n in chapter.assignments),
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return HEAD + "\n".join(lines) + "\n"


def _numbers(numbers):
    return ", ".join(map(str, numbers))


if __name__ == "__main__":
    write_text(FILE, listing())
