"""Report of a run, a table, or a folder of runs: one self-contained HTML page.

``report.html`` contains everything, loads nothing, and has at most :data:`MOST` bytes. It is made
from the files of the folder.
"""

import base64
import contextlib
import hashlib
import re
import warnings
from datetime import datetime
from pathlib import Path

import ibpcl
from ibpcl import shell, storage
from ibpcl.errors import UserError
from ibpcl.experiments import captions, sections
from ibpcl.experiments.blocks import ENVIRONMENT, Code, Header, Paragraph, Section, Table
from ibpcl.experiments.folder import REPORT, table_of
from ibpcl.experiments.inspection import command, read, runs_in
from ibpcl.experiments.journal import HISTORY
from ibpcl.experiments.pictures import figures
from ibpcl.experiments.presets import PRESETS

TEMPLATE = "report.html"
# The page loads nothing, and the only script that runs is the template's own.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{}'"
MOST = 1_000_000  # bytes of a page
MAPS = ("accuracy_matrix", "likelihood_matrix")  # figures that a page has as tables
# Upper limit for the bytes of a figure without its picture.
CAPTION = 2000
TABLE = "table.json"


def write(folder, to=None):
    """Write the report of a folder: of its run, its table, or all runs inside it.

    Parameters
    ----------
    folder : path-like
        The folder.
    to : path-like, optional
        The file to write; ``report.html`` in the folder if not given.

    Returns
    -------
    path : Path
        The file.

    Raises
    ------
    UserError
        If the folder holds no run and no table, or its files are damaged or of another version.
    """
    folder = Path(folder)
    path = folder / REPORT if to is None else Path(to)
    try:
        kind = of_run if table_of(folder) else of_table if (folder / TABLE).is_file() else of_folder
        text = kind(folder)
    except (UserError, OSError):
        raise
    except KeyError as error:
        raise UserError(
            f"{folder}: its files lack {error}; another version than {ibpcl.__version__} wrote "
            "them: run it again"
        ) from error
    except Exception as error:  # the files may come from anywhere
        raise UserError(
            f"{folder}: its files are damaged: {type(error).__name__}: {error}"
        ) from error
    # The folder may come from another person: a link in it is replaced, not followed.
    storage.write_bytes(path, _encoded(text), follow=to is not None)
    return path


@contextlib.contextmanager
def kept(folder):
    """Write the report of a run's folder when the ``with`` block ends, also after an error.

    Parameters
    ----------
    folder : path-like or None
        The folder; None to write no report.
    """
    try:
        yield
    except BaseException:
        if folder is not None and Path(folder, HISTORY).exists():
            with contextlib.suppress(Exception):  # report the error of the run, not this one
                write(folder)
        raise
    if folder is not None:
        write_if_possible(folder)


def write_if_possible(folder):
    """Write the report of a folder with complete results; a failure becomes a warning.

    Parameters
    ----------
    folder : Path
        The folder.
    """
    try:
        write(folder)
    except Exception as error:  # such as a damaged figure, or a full disk
        warnings.warn(
            f"{folder / REPORT} could not be written ({type(error).__name__}: {error}); `ibpcl "
            f"report {folder}` writes it",
            stacklevel=2,
        )


def of_run(folder):
    """Return the page of a run.

    Parameters
    ----------
    folder : Path
        The folder of a run, finished or not.

    Returns
    -------
    html : str
        The page.
    """
    run = read(folder)
    name = run.table["method"]
    experiment = run.table["experiment"]
    about = f" · {PRESETS[experiment].sentence}" if experiment in PRESETS else ""
    header = Header(
        title=f"{experiment}, {name.rpartition(':')[2]}, seed {run.table['seed']}",
        state="finished" if run.finished else "not finished",
        is_open=not run.finished,
        about=f"{_date(run.written)}{about}",
        tiles=sections.tiles(run),
    )
    R = run.matrix
    maps = MAPS if R is not None and len(R) <= sections.MOST_TASKS else ()
    before = [
        Section(
            "Method and command", [Paragraph(sections.who(name)), *sections.repeated(command(run))]
        )
    ]
    if not run.finished:
        hint = f"The run is {run.place}. If no process is running it, this command continues it:"
        resume = shell.command_line(["ibpcl", "run", "--resume", str(folder)])
        before.append(Section("Not finished", [Paragraph(hint), Code((resume,))]))
    if run.problems:
        before.append(Section("Damaged", [Paragraph(problem) for problem in run.problems]))
    if summary := sections.sentences(run):
        before.append(Section("Summary", [Paragraph(summary)]))
    if maps:
        title = f"{sections.MEASURES[run.measure].capitalize()} after each task"
        before.append(Section(title, [sections.matrix(run)]))
    after = [
        sections.objective(run),
        sections.settings(run),
        sections.times(run),
        sections.versions([run.result]),
        sections.use(run),
    ]
    pictures = [
        (folder / f"{name}.png", caption)
        for name, caption in captions.OF_RUNS.items()
        if name not in maps
    ]
    return _page(header, before, pictures, after, folder)


def of_table(folder):
    """Return the page of a comparison, or of a table or figure of the paper.

    Parameters
    ----------
    folder : Path
        A folder with ``table.json``.

    Returns
    -------
    html : str
        The page.
    """
    content = storage.read_json(folder / TABLE)
    cells = content["cells"]
    chosen = [f"{content['seeds']} seed{'s' if content['seeds'] > 1 else ''}"]
    if content["tuned"]:
        chosen.append("with the settings of a search, if one was made")
    chosen += [f"{key} = {value}" for key, value in content["settings"].items()]
    sentence = content.get("what", "several methods on the same tasks")
    quick = content.get("quick")
    header = Header(
        title=f"Reproduction: {content['target']}"
        if "target" in content
        else f"Comparison: {content['experiment']}",
        state="a quick look: it shows the order of the methods at most, not their numbers"
        if quick
        else "",
        is_open=True,
        about=f"{sentence} · {', '.join(chosen)} · {_date((folder / TABLE).stat().st_mtime)}",
    )
    seconds = sum({cell["folder"]: cell["seconds"] for cell in cells}.values())
    runs = f"{len(cells)} run{'s' if len(cells) > 1 else ''}"
    took = f"{runs}, {seconds:.0f} s of training and testing in all."
    tables = [
        Table(f"{table['caption']}.", table["header"], table["lines"], sortable=True)
        for table in content["tables"]
    ]
    before = [
        Section("Command", [*sections.repeated(content["command"]), Paragraph(took)]),
        Section("Result", [*tables, *map(Paragraph, content["notes"])]),
    ]
    if content["failures"]:
        failed = [
            Paragraph(f"{failure['cell']}: {failure['reason']}") for failure in content["failures"]
        ]
        before.append(Section("Not trained", failed))
    runs = [
        (read(place), cell["row"])
        for cell in cells
        if (place := _beside(folder, cell["folder"])) is not None
    ]
    after = []
    if runs:
        beside = sections.side_by_side(*zip(*runs, strict=True))
        after.append(Section("Runs side by side", [beside]))
    after += [
        Section("Settings that differ from the default", [sections.changes(cells)]),
        sections.versions(cells),
    ]
    # Only files of this folder, whatever paths the table contains.
    files = [folder / Path(name).name for name in content["pictures"]]
    pictures = [(path, captions.of_table(path.stem)) for path in files]
    return _page(header, before, pictures, after, folder)


def _beside(folder, name):
    """Return the folder of a table's run, or None if it is a link or outside the table's parent
    folder.
    """
    place = folder / name
    outside = not place.resolve().is_relative_to(folder.resolve().parent)
    return None if outside or place.is_symlink() or table_of(place) is None else place


def of_folder(folder):
    """Return the page of all runs directly inside a folder, or in its ``cells``.

    Parameters
    ----------
    folder : Path
        The folder, such as that of a comparison in progress.

    Returns
    -------
    html : str
        The page.

    Raises
    ------
    UserError
        If the folder holds no run.
    """
    runs = runs_in(folder)
    if not runs:
        raise UserError(f"{folder}: this folder holds no run and no table")
    finished = sum(run.finished for run in runs)
    count = f"{len(runs)} run{'s' if len(runs) > 1 else ''}, {finished} finished"
    header = Header(
        title=f"Runs in {folder.resolve().name}",
        state="",
        is_open=False,
        about=f"{count} · {_date(runs[-1].written)}",
    )
    before = [Section("Runs side by side", [sections.side_by_side(runs)])]
    after = [sections.versions([run.result for run in runs])]
    return _page(header, before, [], after, folder)


def _page(header, before, pictures, after, folder):
    """Return the whole page; figures fill the space that the other sections leave."""

    def whole(drawn):
        middle = Section("Figures", drawn) if drawn else None
        return _rendered(header, [*before, middle, *after], folder)

    room = MOST - len(_encoded(whole([]))) - CAPTION * len(pictures)
    return whole(figures(pictures, room))


def _rendered(header, parts, folder):
    """Return a page from the template; the content policy allows its own script by its digest."""
    source, *_ = ENVIRONMENT.loader.get_source(ENVIRONMENT, TEMPLATE)
    script = re.search(r"<script>(.*?)</script>", source, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    footer = (
        f"Written by ibpcl {ibpcl.__version__} from the files of {folder}. This page loads no "
        "other files."
    )
    return ENVIRONMENT.get_template(TEMPLATE).render(
        header=header,
        sections=[part for part in parts if part is not None],
        policy=POLICY.format(digest),
        footer=footer,
    )


def _slug(title):
    return re.sub(r"\W+", "-", title.lower())


ENVIRONMENT.filters["slug"] = _slug


def _encoded(text):
    """Return text as bytes; the name of a folder may contain characters outside Unicode."""
    return text.encode("utf-8", "replace")


def _date(seconds):
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M %Z}"
