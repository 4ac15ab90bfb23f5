"""The action ``ibpcl class collect``: find the hand-ins of a class.

Its options for hand-ins are shared with ``grade``.
"""

import sys
from pathlib import Path

# Names of the rows in `platforms.toml`; a test compares them.
PLATFORMS = (
    "moodle",
    "canvas",
    "gradescope",
    "blackboard",
    "brightspace",
    "ilias",
    "sakai",
    "autolab",
    "teams",
    "takeout",
    "schoology",
    "nbgrader",
    "github",
    "folder",
)
MOST_SHOWN = 12  # maximum number of lines per kind in the summary of a collection


def add_collect(action, download, key, json):
    """Add ``collect`` to the parser of ``ibpcl class``.

    Parameters
    ----------
    action : callable
        ``action(name, text, *positional)`` adds an action and returns its parser.
    download : (str, str)
        Name and help text of the argument for the hand-ins.
    key, json : callable
        Add ``--key`` and ``--json`` to a parser.
    """
    collect = action(
        "collect", "find the hand-in of each student in a download, without grading", download
    )
    collect.add_argument(
        "--out", metavar="DIR", help="new folder for the hand-ins, one folder per student"
    )
    collect.add_argument(
        "--assignment", metavar="HW", help="the assignment (default: the one named in most files)"
    )
    add_options(collect)
    key(collect)
    json(collect)


def add_options(command):
    """Add the options that ``collect`` and ``grade`` share.

    Parameters
    ----------
    command : argparse.ArgumentParser
        The parser of the action.
    """
    command.add_argument(
        "--from",
        choices=PLATFORMS,
        dest="platform",
        metavar="PLATFORM",
        help=f"origin of the hand-ins: {', '.join(PLATFORMS)} (default: guessed from the file "
        "names)",
    )
    command.add_argument(
        "--roster",
        metavar="FILE",
        help="list of the class, to match ids and to report who is missing (default: "
        "the list that `ibpcl class new` kept next to the key)",
    )
    command.add_argument(
        "--any-variant",
        action="store_true",
        help="accept hand-ins whose variant of the assignment does not fit the key",
    )


def kept_list(key):
    """Return the path of the list of students that is kept next to a course key.

    Parameters
    ----------
    key : path-like
        The file of the key.

    Returns
    -------
    path : Path
        The list.
    """
    path = Path(key)
    return path.with_name(f"{path.stem}.students.csv")


def roster_of(options):
    """Return the list of the class; print its unused rows.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the action.

    Returns
    -------
    roster : ibpcl.classroom.intake.students.Roster
        Empty without a list.
    """
    from ibpcl.classroom.intake.students import Roster, read_students

    path = (
        Path(options.roster) if options.roster else kept_list(options.key) if options.key else None
    )
    if path is None or (not options.roster and not path.exists()):
        return Roster()
    roster, notes = read_students(path)
    for note in notes:
        print(f"ibpcl: row not used: {note}", file=sys.stderr)
    return roster


def run_collect(options):
    """Print the hand-ins of each student, and write them to a folder.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class collect``.

    Returns
    -------
    code : int
        0 if every student has a hand-in and the download was read as a class, else 1.
    """
    from ibpcl.classroom.assignments import variants
    from ibpcl.classroom.assignments.assignment import find
    from ibpcl.classroom.intake import collected, collecting
    from ibpcl.storage import json_text

    roster = roster_of(options)
    key = variants.read_key(options.key) if options.key else variants.PUBLIC
    assignment = find(options.assignment) if options.assignment else None
    if assignment is None:
        first = collecting.collect(options.submissions, None, key, options.platform, roster)
        assignment = collected.most_named(first)
    collection = collecting.collect(
        options.submissions,
        assignment,
        key,
        options.platform,
        roster,
        options.any_variant or not options.key,
    )
    if options.out:
        collected.write(collection, options.out)
    table = collection.to_dict()
    print_problems(table, options.json)
    if options.json:
        print(json_text(table, indent=2))
    else:
        print(
            f"{table['platform']}: {len(table['students'])} students"
            + (f", assignment {assignment.name}" if assignment is not None else "")
        )
        for found in table["students"]:
            _print_student(found)
        print_left_out(table)
        if options.out:
            print(f"written to {options.out}")
    complete = all(found["attempts"] for found in table["students"])
    return 0 if complete and not table["problems"] else 1


def print_problems(collection, json):
    """Print the signs that a download was not read as a class.

    Parameters
    ----------
    collection : dict
        The collection as plain values.
    json : bool
        Whether standard output is kept for JSON.
    """
    for problem in collection["problems"][:MOST_SHOWN]:
        print(f"not read as a class: {problem}", file=sys.stderr if json else sys.stdout)


def _print_student(found):
    """Print the file that counts for a student, and notes for the teacher."""
    last = found["attempts"][-1] if found["attempts"] else {"file": found["reason"], "late": False}
    print(f"  {found['student']:<24} {last['file']}" + ("  late" if last["late"] else ""))
    for note in found["notes"]:
        print(f"  {'':<24}   {note}")


def print_left_out(collection):
    """Print the files that were skipped, and the students without a hand-in.

    Parameters
    ----------
    collection : dict
        The collection as plain values.
    """
    from ibpcl.classroom.intake.printable import printable

    names = {}
    for name, reason in collection["ignored"]:
        names.setdefault((name, reason), 0)
    for found in collection["students"]:
        for name, reason in found["ignored"]:
            short = (name.rpartition("/")[2] or name, reason)
            names[short] = names.get(short, 0) + 1
    lines = [
        f"{name} ({reason})" + (f", {count} times" if count > 1 else "")
        for (name, reason), count in names.items()
    ]
    missing = [f"{each['student']} {each['name']}".strip() for each in collection["missing"]]
    for title, each in (
        ("skipped", lines),
        ("did not hand in", missing),
        ("not in the roster", collection["unknown"]),
    ):
        if each:
            print(f"{title}: {len(each)}")
            print("\n".join(f"  {printable(line)}" for line in each[:MOST_SHOWN]))
            if len(each) > MOST_SHOWN:
                print(f"  and {len(each) - MOST_SHOWN} more")
