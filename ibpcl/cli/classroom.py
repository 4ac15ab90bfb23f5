"""The command ``ibpcl class``: assignments for students, and grading for teachers."""

import contextlib
import sys
from argparse import RawDescriptionHelpFormatter
from dataclasses import asdict
from pathlib import Path

from ibpcl import console
from ibpcl.cli import class_records
from ibpcl.cli.class_collection import (
    MOST_SHOWN,
    add_collect,
    add_options,
    kept_list,
    print_left_out,
    print_problems,
    roster_of,
    run_collect,
)
from ibpcl.cli.class_records import run_by_hand, run_export, run_report, run_similar, run_why
from ibpcl.errors import UserError

EPILOG = """\
for students:  list, new, check, submit
for teachers:  key, course, selftest, collect, grade, by-hand, why, report,
               similar, export, pack, marking, solution
HW             an assignment: its number or name from `ibpcl class list`, or a
               folder with your own assignment

exit code:     0 success, 1 something is wrong or not graded, 2 a mistake in the
               command
"""
BOXES = ("auto", "bubblewrap", "landlock", "none")
LEVELS = ("none", "kind", "line", "full")


def add_parser(subparsers):
    """Add ``class`` to the subparsers of the command line.

    Parameters
    ----------
    subparsers : object
        The return value of ``ArgumentParser.add_subparsers``.
    """
    parser = subparsers.add_parser(
        "class",
        help="assignments: hand out, check, hand in, grade, export",
        epilog=EPILOG,
        description="Programming assignments on the derivations of the paper, with automatic\n"
        "grading and explanations.",
        formatter_class=RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(
        title="actions", metavar="ACTION", required=True, dest="action", parser_class=type(parser)
    )

    def action(name, text, *positional):
        one = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        one.set_defaults(command="classroom")
        for each, meaning in positional:
            one.add_argument(each.lower(), metavar=each, help=meaning)
        return one

    homework = ("HW", "a number or name from `ibpcl class list`, or a folder of your own")
    _json(action("list", "list the assignments"))
    action("key", "make the secret key of a course", ("FILE", "new file for the key"))
    course = action(
        "course",
        "write a course: syllabi, slides, quizzes, notes and a formula sheet",
        ("OUT", "new folder; an interrupted command continues there"),
    )
    course.add_argument(
        "--weeks",
        type=int,
        nargs="+",
        default=(6, 10, 14),
        metavar="N",
        help="lengths of the courses that get a syllabus: 6, 10 or 14 (default: all)",
    )
    course.add_argument(
        "--no-slides",
        action="store_true",
        help="leave out the slides, for which all tutorials are run",
    )
    course.add_argument(
        "--tutorials",
        metavar="DIR",
        help="folder of the tutorials (default: that of the source, or the current folder's)",
    )
    new = action("new", "write an assignment: statement, stub and public checks", homework)
    new.add_argument(
        "--out",
        metavar="DIR",
        required=True,
        help="new folder; with --students, a folder that gets one folder per student",
    )
    new.add_argument(
        "--student", metavar="ID", default=None, help="write the variant of this student"
    )
    new.add_argument(
        "--students",
        metavar="FILE",
        help="list of the class, one id per line or a table: write one folder per student",
    )
    new.add_argument(
        "--variant", metavar="NAME", help="variant of the assignment (default: chosen by the key)"
    )
    _key(new)
    check = action(
        "check", "check the public tasks in your file", ("FILE", "your .py file or notebook")
    )
    check.add_argument(
        "--html", metavar="PAGE", help="also write the feedback as a page with figures"
    )
    check.add_argument(
        "--assignment", metavar="HW", help="folder of the assignment, if it is your own"
    )
    _json(check)
    submit = action(
        "submit", "pack your file as a zip, for handing in", ("FILE", "your .py file or notebook")
    )
    submit.add_argument(
        "--out", metavar="ZIP", help="the zip (default: next to your file, with its name)"
    )
    submit.add_argument(
        "--assignment", metavar="HW", help="folder of the assignment, if it is your own"
    )
    selftest = action(
        "selftest", "test an assignment: grade stub, solution and planted mistakes", homework
    )
    _box(selftest)
    _json(selftest)
    download = (
        "SUBMISSIONS",
        "folder or zip with one file or folder per student, such as a learning platform's download",
    )
    add_collect(action, download, _key, _json)
    grade = action("grade", "grade a folder of hand-ins", homework, download)
    grade.add_argument(
        "--out", metavar="DIR", required=True, help="folder for the results and pages"
    )
    grade.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="number of hand-ins graded at the same time (default: one per processor)",
    )
    grade.add_argument(
        "--attempt",
        choices=("last", "best"),
        default="last",
        help="the attempt that counts, of several (default: last)",
    )
    add_options(grade)
    _grading(grade)
    _json(grade)
    class_records.add_actions(action, _json)
    pack = action("pack", "make a zip that grades an assignment on another system", homework)
    pack.add_argument(
        "--for", choices=("gradescope",), required=True, dest="system", help="the system"
    )
    pack.add_argument("--out", metavar="ZIP", help="the zip (default: HW-SYSTEM.zip)")
    _grading(pack)
    action("marking", "print the marking scheme, to read it or to change a copy")
    solution = action("solution", "print the reference solution", homework)
    solution.add_argument(
        "--variant",
        default="base",
        metavar="NAME",
        help="the variant of the assignment (default: base)",
    )


def _grading(command):
    command.add_argument(
        "--hints",
        choices=LEVELS,
        default="kind",
        help="detail of the feedback: no hints, the kind of mistake, its line, or everything "
        "(default: kind)",
    )
    command.add_argument(
        "--marking",
        metavar="FILE",
        help="marking scheme: a changed copy of what `ibpcl class marking` prints",
    )
    _box(command)
    _key(command)


def _key(command):
    command.add_argument(
        "--key",
        metavar="FILE",
        help="the course key, from which every student gets their own variant",
    )


def _box(command):
    command.add_argument(
        "--sandbox",
        choices=BOXES,
        default="auto",
        help="sandbox in which hand-ins run (default: auto, the first one that works)",
    )


def _json(command):
    command.add_argument("--json", action="store_true", help="print the result as JSON only")


def _print_json(value):
    from ibpcl.storage import json_text

    print(json_text(value, indent=2))


def execute(options):
    """Run one action and return its exit code.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class``.

    Returns
    -------
    code : int or None
        None for success.
    """
    return ACTIONS[options.action](options)


def run_list(options):
    """Print the assignments.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class list``.
    """
    from ibpcl.classroom.assignments.assignment import find, names

    found = {name: find(name) for name in names()}
    if options.json:
        _print_json(
            [
                {
                    "name": name,
                    "title": one.title,
                    "tasks": [task.id for task in one.tasks],
                    "points": one.points,
                    "hours": one.hours,
                    "variants": one.variants,
                }
                for name, one in found.items()
            ]
        )
        return
    for name, one in found.items():
        print(
            f"{name:<24} {one.title}: {len(one.tasks)} tasks, {one.points:g} points, about "
            f"{one.hours:g} hours\n{'':<24} variants: {', '.join(one.variants)}"
        )


def run_key(options):
    """Make the secret key of a course.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class key``.
    """
    from ibpcl.classroom.assignments import variants

    variants.make_key(options.file)
    print(
        f"wrote {options.file}: keep it, and keep it secret; the variant of every student depends "
        f"on it (fingerprint {variants.fingerprint(variants.read_key(options.file))})"
    )


def run_course(options):
    """Write the kit of a course.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class course``.
    """
    from ibpcl.course import kit

    with_slides = not options.no_slides
    weeks = tuple(dict.fromkeys(options.weeks))
    with _bar(kit.parts(weeks, with_slides), "part") as bar:

        def step(name):
            bar.set_postfix_str(name)
            bar.update()

        folder = kit.write(options.out, weeks, with_slides, options.tutorials, step)
    print(f"{folder}: begin with README.md")


def run_new(options):
    """Write an assignment for students.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class new``.
    """
    from ibpcl.classroom.authoring import handout

    assignment = _assignment(options)
    key = _read_key(options)
    if options.students and options.student:
        raise UserError("class: give --student or --students, not both")
    if not options.students:
        for path in handout.new(
            assignment, options.out, options.student or "", key, options.variant
        ):
            print(path)
    else:
        _new_class(assignment, key, options)
    if handout.as_notebook("", assignment) is None:
        print(
            "ibpcl: no notebook was written, because jupytext is not installed (pip install "
            "jupytext)",
            file=sys.stderr,
        )


def _new_class(assignment, key, options):
    """Write a folder for each student of a list; keep the list next to the key."""
    from ibpcl.classroom.authoring import handout
    from ibpcl.classroom.intake.students import folder_name, read_students

    roster, notes = read_students(options.students)
    written = 0
    kept = 0
    for student in roster.students:
        folder = Path(options.out, folder_name(student.id))
        if folder.is_dir() and any(folder.iterdir()):
            kept += 1
        else:
            handout.new(assignment, folder, student.id, key, options.variant)
            written += 1
    print(
        f"{written} folders in {options.out}"
        + (f", {kept} existed already and are unchanged" if kept else "")
    )
    for note in notes:
        print(f"ibpcl: row not used: {note}", file=sys.stderr)
    if options.key:
        path = kept_list(options.key)
        total = handout.add_students(path, roster)
        print(
            f"{path} lists the {len(total)} students of the course; with it, `ibpcl class grade` "
            "reports who did not hand in"
        )


def run_check(options):
    """Check the public tasks of a file.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class check``.

    Returns
    -------
    code : int
        0 for full points, else 1.
    """
    from ibpcl.classroom import check_file
    from ibpcl.classroom.assignments.assignment import find
    from ibpcl.classroom.feedback.student_page import feedback, lines
    from ibpcl.storage import write_text

    assignment = find(options.assignment) if options.assignment else None
    result = check_file(options.file, assignment)
    assignment = assignment or find(result.assignment)
    hidden = (
        [task for task in assignment.tasks if task.visibility == "hidden"]
        if result.status == "graded"
        else []
    )
    if result.sandbox == "none" and result.status == "graded":
        print(
            "ibpcl: no sandbox works on this machine, so your file ran without one",
            file=sys.stderr,
        )
    if options.html:
        write_text(
            options.html, feedback(result, assignment, "kind", _text_of(options.file, assignment))
        )
    if options.json:
        _print_json({**result.to_dict(), "not_checked": [task.id for task in hidden]})
        return 0 if result.status == "graded" and result.score == result.most else 1
    if result.status == "graded" and not result.verdicts:
        print(
            "\n".join(f"note: {note}" for note in result.notes)
            + ("\n" if result.notes else "")
            + "the file can be graded, but all its tasks are hidden: check your gradients with "
            f"`ibpcl check {options.file}:FUNCTION`"
        )
        return 0
    print("\n".join(lines(result)))
    if result.status != "graded":
        print(f"ibpcl: fix this before you hand in: {result.reason}", file=sys.stderr)
    if hidden:
        print(
            f"not checked here: {', '.join(task.id for task in hidden)} "
            f"({sum(task.points for task in hidden):g} points). These tasks are graded later on "
            "hidden inputs: test them yourself"
        )
    return 0 if result.status == "graded" and result.score == result.most else 1


def _text_of(file, assignment):
    """Return the text of a file as it is graded, for its page."""
    from ibpcl.classroom.intake import submission as submissions

    return submissions.read(Path(file), assignment=assignment).source


def run_submit(options):
    """Pack a file for handing in.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class submit``.
    """
    from ibpcl.classroom.authoring import handout

    assignment = _find(options.assignment) if options.assignment else None
    path, digest, warnings = handout.submit(options.file, options.out, assignment)
    for warning in warnings:
        print(f"ibpcl: {warning}", file=sys.stderr)
    print(
        f"{path}\nsha256 {digest}\nKeep the hash: it identifies the file that you handed in. The "
        "page with your grade shows it too."
    )


def run_selftest(options):
    """Grade the stub, the reference and planted mistakes of an assignment.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class selftest``.

    Returns
    -------
    code : int
        0 if all are graded as expected, else 1.
    """
    from ibpcl.classroom.authoring import selftest

    assignment = _assignment(options)
    sandbox = _choose(options)
    outcomes = []
    with _bar(len(selftest.cases(assignment))) as bar:
        for outcome in selftest.run(assignment, sandbox):
            outcomes.append(outcome)
            if not options.json:
                bar.write(
                    f"{'ok   ' if outcome.ok else 'WRONG'}  {outcome.label}: {outcome.words}",
                    file=sys.stdout,
                )
            bar.update()
    named = [outcome.named for outcome in outcomes if outcome.named is not None]
    ok = all(outcome.ok for outcome in outcomes) and sum(named) >= selftest.NAMED_AT_LEAST * len(
        named
    )
    if options.json:
        _print_json(
            {
                "assignment": assignment.name,
                "ok": ok,
                "sandbox": sandbox,
                "hand_ins": list(map(asdict, outcomes)),
            }
        )
    else:
        print(
            f"{assignment.name}: {'ok' if ok else 'WRONG'}; {sum(named)} of {len(named)} planted "
            f"mistakes identified; sandbox: {sandbox}"
        )
    return 0 if ok else 1


def run_grade(options):
    """Grade a folder of hand-ins.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class grade``.

    Returns
    -------
    code : int
        0 if every hand-in is graded and the download was read as a class, else 1.
    """
    from ibpcl.classroom import grading
    from ibpcl.classroom.judging import marking
    from ibpcl.storage import read_json

    assignment = _assignment(options)
    sandbox = _choose(options)
    key = _read_key(options)
    if not options.key:
        print(
            "ibpcl: without --key, all students have the same variant, and the inputs are public",
            file=sys.stderr,
        )
    with _bar(None) as bar:

        def show(done, total, result):
            bar.total = total
            bar.update(done - bar.n)
            bar.set_postfix_str(result.student)

        grading.grade(
            assignment,
            options.submissions,
            options.out,
            sandbox,
            key,
            options.hints,
            options.jobs,
            show,
            options.platform,
            roster_of(options),
            options.attempt,
            options.any_variant,
            apart=True,
            scheme=marking.read(options.marking or marking.FILE),
        )
    collection = read_json(Path(options.out, grading.COLLECTION))
    print_problems(collection, options.json)
    code = run_report(options, options.out) or int(bool(collection["problems"]))
    if not options.json:
        print_left_out(collection)
        if others := grading.not_among(options.out):
            print(
                "graded earlier, but not among these hand-ins: "
                f"{', '.join(others[:MOST_SHOWN])}; delete their folders in {options.out} if they "
                "do not count"
            )
    return code


def run_pack(options):
    """Make a zip that grades an assignment on another system.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class pack``.
    """
    from ibpcl.classroom.authoring import packing
    from ibpcl.classroom.judging import marking

    assignment = _assignment(options)
    out = options.out or f"{assignment.name}-{options.system}.zip"
    packing.gradescope(
        assignment,
        Path(out),
        _read_key(options),
        options.hints,
        options.sandbox,
        options.marking or marking.FILE,
    )
    print(out)


def run_marking(options):
    """Print the marking scheme.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class marking``.
    """
    from ibpcl.classroom.judging import marking
    from ibpcl.storage import read_text

    print(read_text(marking.FILE), end="")


def run_solution(options):
    """Print the reference solution of an assignment, as a file that ``check`` accepts.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class solution``.
    """
    from ibpcl.classroom.authoring.handout import solution

    print(solution(_assignment(options), options.variant), end="")


def _assignment(options):
    return _find(options.hw)


def _find(name):
    from ibpcl.classroom.assignments.assignment import find

    return find(name)


def _read_key(options):
    from ibpcl.classroom.assignments import variants

    return variants.read_key(options.key) if options.key else variants.PUBLIC


def _choose(options):
    from ibpcl.classroom.judging.running import client
    from ibpcl.sandbox import boxes

    sandbox = boxes.choose(options.sandbox, client.probe)
    if sandbox == "none":
        print(f"ibpcl: no sandbox: {boxes.RISK}", file=sys.stderr)
    if sandbox == "landlock":
        print(f"ibpcl: {boxes.VISIBLE}", file=sys.stderr)
    return sandbox


@contextlib.contextmanager
def _bar(total, unit="hand-in"):
    from tqdm import tqdm

    with tqdm(
        total=total, unit=unit, leave=False, file=sys.stderr, disable=console.bar_is_off(None)
    ) as bar:
        yield bar


ACTIONS = {
    "list": run_list,
    "key": run_key,
    "course": run_course,
    "new": run_new,
    "check": run_check,
    "submit": run_submit,
    "selftest": run_selftest,
    "collect": run_collect,
    "grade": run_grade,
    "by-hand": run_by_hand,
    "why": run_why,
    "report": run_report,
    "similar": run_similar,
    "export": run_export,
    "pack": run_pack,
    "marking": run_marking,
    "solution": run_solution,
}
