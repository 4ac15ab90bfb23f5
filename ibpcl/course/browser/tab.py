"""Functions that the page of the browser course calls.  Each returns a text or JSON.

The reader's folder is an ordinary folder of the guided path, in the file system of the tab.  After
every change the page gets all its files and keeps them in the browser.
"""

import io
import json
import re
import traceback
import zipfile
from pathlib import Path

from ibpcl.errors import UserError
from ibpcl.learn.chapters import chapter_of, chapters
from ibpcl.learn.checking import check_chapter
from ibpcl.learn.folder import FOLDER, PROGRESS, Folder
from ibpcl.learn.path import hint as next_hint
from ibpcl.learn.path import overview
from ibpcl.storage import write_text

LAST_CHAPTER = 6
LAST_TUTORIAL = 5
TUTORIALS = Path(__file__).parents[3] / "tutorials"  # where the page unpacks them
MOST_BYTES = 5 << 20  # of a folder that is restored
NAME = re.compile(r"(?:[A-Za-z_]\w*\.(?:py|ipynb)|progress\.json)")
_runners = {}


def restore(files):
    """Write the files that the browser has kept.

    Parameters
    ----------
    files : str
        JSON: text by name.

    Returns
    -------
    state : str
        See :func:`state`.
    """
    for name, text in json.loads(files).items():
        _write(name, text)
    return state()


def _write(name, text):
    if not NAME.fullmatch(name):
        raise UserError(f"browser: {name!r} is not a file of the folder {FOLDER}")
    Path(FOLDER).mkdir(exist_ok=True)
    write_text(Path(FOLDER) / name, text)


def state():
    """Return the state of the path, and all files of the folder.

    Returns
    -------
    state : str
        JSON with ``chapters`` and ``files``.
    """
    student = Folder(FOLDER)
    rows = [
        {
            "number": row.chapter.number,
            "title": row.chapter.title,
            "done": row.done,
            "exercises": {
                number: tasks[0].title for number, tasks in row.chapter.exercises.items()
            },
            "minutes": row.chapter.minutes,
            "started": row.chapter.number in student.started,
            "files": [f"{stem}.py" for stem in row.chapter.files],
        }
        for row in overview(student)
        if row.chapter.number <= LAST_CHAPTER
    ]
    folder = Path(FOLDER)
    files = {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*.*"))}
    return json.dumps({"chapters": rows, "files": files})


def start(number):
    """Write the exercises of a chapter; existing functions stay.

    Parameters
    ----------
    number : int

    Returns
    -------
    state : str
    """
    Folder(FOLDER).start(chapter_of(number))
    return state()


def save(name, text):
    """Write a file of the folder.

    Parameters
    ----------
    name, text : str

    Returns
    -------
    state : str

    Raises
    ------
    UserError
        If it is not a file of the folder.
    """
    _write(name, text)
    return state()


def check(number):
    """Check a chapter.

    Parameters
    ----------
    number : int

    Returns
    -------
    verdicts : str
        JSON: exercise, title, state and lines of each exercise, and the state of the path.
    """
    checked = check_chapter(Folder(FOLDER), chapter_of(number))
    rows = [
        {"exercise": c.exercise, "title": c.title, "state": c.state, "lines": c.lines}
        for c in checked
    ]
    return json.dumps({"verdicts": rows} | json.loads(state()))


def hint(exercise):
    """Return the next hint of an exercise.

    Parameters
    ----------
    exercise : str

    Returns
    -------
    line : str
    """
    return next_hint(Folder(FOLDER), exercise)


def export():
    """Return the folder as a zip, which ``ibpcl learn`` reads after it is unpacked.

    Returns
    -------
    data : bytes
    """
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(Path(FOLDER).glob("*.*")):
            archive.write(path, f"{FOLDER}/{path.name}")
    return data.getvalue()


def take(data):
    """Replace the folder by that of a zip.

    Parameters
    ----------
    data : bytes
        A zip with a folder of the guided path, such as :func:`export` returns.

    Returns
    -------
    state : str

    Raises
    ------
    UserError
        If it is not such a zip; the folder is then unchanged.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
            if sum(item.file_size for item in archive.infolist()) > MOST_BYTES:
                raise UserError("browser: the zip is too large for a folder of the path")
            found = {
                item.filename.rpartition("/")[2]: archive.read(item).decode("utf-8")
                for item in archive.infolist()
                if NAME.fullmatch(item.filename.rpartition("/")[2])
            }
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise UserError(f"browser: this is not a zip of a folder of the path: {error}") from None
    if PROGRESS not in found:
        raise UserError(f"browser: the zip has no {PROGRESS}, so it is not a folder of the path")
    kept = {path: path.read_bytes() for path in Path(FOLDER).glob("*.*")}
    try:
        for path in kept:
            path.unlink()
        for name, text in found.items():
            _write(name, text)
        return state()
    except UserError:
        for path in Path(FOLDER).glob("*.*"):
            path.unlink()
        for path, content in kept.items():
            path.write_bytes(content)
        raise


def verdict(source):
    """Check the reader's own functions, as ``ibpcl check`` does.

    Parameters
    ----------
    source : str
        Text of a file.

    Returns
    -------
    words : str
    """
    from ibpcl.verify.running import checking, user

    Path("mine.py").write_text(source, encoding="utf-8")
    found = checking.results_here(user.Request("mine.py", timeout=60.0))
    return "\n\n".join(item.text() for item in found).replace("mine.py:", "")


def tutorial(number):
    """Return the cells of a tutorial.

    Parameters
    ----------
    number : int

    Returns
    -------
    cells : str
        JSON: ``html`` of a text, or ``code``.
    """
    from ibpcl.classroom.feedback.prose import to_html

    text = (TUTORIALS / f"{chapter_of(number).tutorial}.py").read_text("utf-8")
    cells = []
    for cell in re.split(r"^(?=# %%)", text, flags=re.MULTILINE)[1:]:
        line, _, body = cell.partition("\n")
        if "[markdown]" in line:
            words = re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE)
            words = re.sub(r"</?(?:details|summary)>", "", words)
            cells.append({"html": to_html(words)})
        elif body.strip():
            cells.append({"code": body.strip()})
    _runners.pop(number, None)
    return json.dumps(cells)


def run(number, code):
    """Run a cell of a tutorial; its names are kept for the next one.

    Parameters
    ----------
    number : int
        The tutorial.
    code : str

    Returns
    -------
    shown : str
        JSON: ``text``, ``figures``, and ``error`` if it raised an exception.
    """
    from ibpcl.course.running import Runner

    if number not in _runners:
        _runners[number] = Runner()
    try:
        return json.dumps(_runners[number](code))
    except Exception as error:
        words = "".join(traceback.format_exception_only(error)).strip()
        return json.dumps({"text": "", "figures": [], "error": words})


def names():
    """Return the tutorials that the course has.

    Returns
    -------
    rows : str
        JSON: number and title.
    """
    return json.dumps(
        [[each.number, each.title] for each in chapters() if each.number <= LAST_TUTORIAL]
    )
