"""``ibpcl learn``: the guided path."""

import textwrap

from ibpcl import console

FAILED = 1
WIDTH = 80  # columns of a terminal
EPILOG = """\
Without an action, the chapters, what is done, and the next step are shown.

exit code:     0 success, 1 an exercise is not right yet, 2 a mistake in the command
"""


def add_parser(subparsers):
    """Add ``learn`` to the subparsers of the command line.

    Parameters
    ----------
    subparsers : argparse._SubParsersAction
    """
    from argparse import RawDescriptionHelpFormatter

    parser = subparsers.add_parser(
        "learn",
        help="the guided path: exercises in which your own code becomes the method",
        description="A path of chapters.  Each chapter belongs to a tutorial and has exercises.\n"
        "The functions that you write and that pass their checks are used in later chapters.",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command="learn", action=None)
    _folder(parser, default="my_ibpcl")
    parser.add_argument("--json", action="store_true", help="print the same as JSON only")
    actions = parser.add_subparsers(
        title="actions", metavar="ACTION", dest="action", parser_class=type(parser)
    )

    def action(name, text, metavar, optional=True):
        made = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        made.set_defaults(command="learn")
        made.add_argument(
            "item", metavar=metavar, nargs="?" if optional else None, help=f"{metavar} of the path"
        )
        _folder(made)
        return made

    start = action("start", "write the exercises of a chapter into your folder", "N")
    start.add_argument("--notebook", action="store_true", help="write them as a notebook")
    check = action("check", "check all exercises of a chapter", "N")
    check.add_argument("--json", action="store_true", help="print the verdicts as JSON only")
    action("hint", "show the next hint of an exercise", "N.K", optional=False)
    action("solution", "show the solution of an exercise that you have tried", "N.K", False)
    action("milestone", "run something real on your functions", "N")


def _folder(parser, default=None):
    """Add the option for the folder; an action keeps the value that stands before it."""
    from argparse import SUPPRESS

    parser.add_argument(
        "--folder",
        metavar="DIR",
        default=default or SUPPRESS,
        help="your folder, a Python package (default: my_ibpcl)",
    )


def execute(options):
    """Run one action and return the exit code.

    Parameters
    ----------
    options : argparse.Namespace

    Returns
    -------
    code : int or None
    """
    return ACTIONS[options.action](options)


def run_show(options):
    """Print the chapters, what is done, and the next step."""
    from ibpcl.learn.folder import Folder
    from ibpcl.learn.path import next_step, overview

    student = Folder(options.folder)
    rows = overview(student)
    if options.json:
        _print_json(
            {
                "folder": str(student.path),
                "next": next_step(student),
                "chapters": [
                    {
                        "number": row.chapter.number,
                        "title": row.chapter.title,
                        "reading": row.chapter.reading,
                        "minutes": row.chapter.minutes,
                        "needs": row.chapter.needs,
                        "unlocks": row.chapter.unlocks,
                        "done": row.done,
                        "exercises": row.exercises,
                        "open": row.open,
                    }
                    for row in rows
                ],
            }
        )
        return
    print(f"{'':>3} {'minutes':>7}  {'done':>5}  {'needs':<8} chapter, and what it makes possible")
    for row in rows:
        chapter = row.chapter
        needs = ", ".join(map(str, chapter.needs)) or "-"
        head = f"{chapter.number:>3} {chapter.minutes:>7}  {f'{row.done}/{row.exercises}':>5}  "
        print(f"{head}{needs:<8} {chapter.title}")
        indent = " " * len(f"{head}{'':<8} ")
        print(
            textwrap.fill(chapter.unlocks, WIDTH, initial_indent=indent, subsequent_indent=indent)
        )
    print(f"\nnext: {next_step(student)}")


def run_start(options):
    """Write the exercises of a chapter."""
    from ibpcl.learn.chapters import chapter_of, chapters
    from ibpcl.learn.folder import Folder
    from ibpcl.learn.notebook import write_notebook
    from ibpcl.learn.path import where

    student = Folder(options.folder)
    chapter = chapter_of(options.item) if options.item is not None else _next(student, chapters())
    missing = [n for n in chapter.needs if n not in student.started]
    if options.notebook:
        path = write_notebook(student, chapter)
        print(f"wrote {path}")
    else:
        written, kept = student.start(chapter)
        for name in written:
            print(f"wrote {student.path / name}")
        for name in kept:
            print(f"kept  {student.path / name}: all its exercises are there")
    if missing:
        console.tell(
            f"ibpcl: chapter {chapter.number} builds on chapter "
            f"{', '.join(map(str, missing))}, which you have not started; the package's functions "
            "stand in for yours"
        )
    print(f"next: fill in the functions, then `ibpcl learn check {chapter.number}{where(student)}`")


def _next(student, chapters):
    """Return the first chapter that has not been started."""
    new = [chapter for chapter in chapters if chapter.number not in student.started]
    return new[0] if new else chapters[-1]


def run_check(options):
    """Check a chapter and print the verdicts."""
    from ibpcl.learn.folder import Folder
    from ibpcl.learn.notebook import as_text, check
    from ibpcl.learn.path import next_step

    verdicts = check(options.item, options.folder)
    if options.json:
        _print_json(
            [
                {
                    "exercise": each.exercise,
                    "title": each.title,
                    "state": each.state,
                    "lines": each.lines,
                }
                for each in verdicts.checked
            ]
        )
        return None if verdicts.ok else FAILED
    print(f"chapter {verdicts.chapter.number}: {verdicts.chapter.title}\n")
    print(as_text(verdicts.checked))
    done = sum(each.ok for each in verdicts.checked)
    print(f"\n{done} of {len(verdicts.checked)} exercises are done")
    if verdicts.ok and verdicts.chapter.milestone:
        print(f"milestone: `ibpcl learn milestone {verdicts.chapter.number}`")
    print(f"next: {next_step(Folder(options.folder), verdicts.chapter.number)}")
    return None if verdicts.ok else FAILED


def run_hint(options):
    """Print a hint."""
    from ibpcl.learn.folder import Folder
    from ibpcl.learn.path import hint

    print(textwrap.fill(hint(Folder(options.folder), options.item), 96))


def run_solution(options):
    """Print a solution."""
    from ibpcl.learn.folder import Folder
    from ibpcl.learn.path import solution

    print(solution(Folder(options.folder), options.item))


def run_milestone(options):
    """Run a milestone on the student's functions; write its figure into the folder."""
    from ibpcl.learn.folder import Folder
    from ibpcl.learn.milestones import run
    from ibpcl.learn.own import FailedCheck

    student = Folder(options.folder)
    try:
        done, figure = run(student, options.item)
    except FailedCheck as error:
        console.tell(f"ibpcl: {error}")
        return FAILED
    print(done.title)
    for line in done.lines:
        print(f"  {line}")
    print(f"figure: {figure}")
    return None


def _print_json(value):
    from ibpcl.storage import json_text

    print(json_text(value, indent=2))


ACTIONS = {
    None: run_show,
    "start": run_start,
    "check": run_check,
    "hint": run_hint,
    "solution": run_solution,
    "milestone": run_milestone,
}
