"""The actions of ``ibpcl class`` after grading: ``report``, ``similar`` and ``export``."""

import sys
from pathlib import Path

from ibpcl.errors import UserError

FORMATS = (
    "csv",
    "moodle",
    "canvas",
    "blackboard",
    "brightspace",
    "gradescope",
)
FOLDER = ("DIR", "folder of results from `ibpcl class grade --out`")


def add_actions(action, json):
    """Add the actions to the parser of ``ibpcl class``.

    Parameters
    ----------
    action : callable
        ``action(name, text, *positional)`` adds an action and returns its parser.
    json : callable
        Adds ``--json`` to a parser.
    """
    report = action(
        "report", "print a summary of a graded class, and update its pages and tables", FOLDER
    )
    report.add_argument(
        "--due", metavar="DATE", help="due date, such as 2026-11-20T18:00; 'none' removes it"
    )
    report.add_argument(
        "--late-penalty",
        type=float,
        metavar="PERCENT",
        help="percentage of all points deducted for each started day of delay (default: 0)",
    )
    report.add_argument(
        "--late-at-most",
        type=float,
        metavar="PERCENT",
        help="maximum percentage deducted in all (default: 100)",
    )
    report.add_argument(
        "--anonymous",
        action="store_true",
        help="show numbers instead of student ids on the page of derivations",
    )
    json(report)
    page = action(
        "by-hand", "open a page on which you grade derivations, and which saves them", FOLDER
    )
    page.add_argument(
        "--anonymous", action="store_true", help="show numbers instead of student ids"
    )
    page.add_argument(
        "--port",
        type=int,
        default=0,
        metavar="N",
        help="port on this machine (default: a free one)",
    )
    page.add_argument(
        "--no-browser", action="store_true", help="only print the address of the page"
    )
    why = action(
        "why",
        "print how the points of a task follow from the evidence",
        ("ID", "id of the student"),
        ("TASK", "id of the task, such as 3b"),
    )
    why.add_argument(
        "--in",
        metavar="DIR",
        dest="dir",
        default=".",
        help="folder of results (default: this folder, or the only one in it)",
    )
    similar = action("similar", "list groups of similar hand-ins", FOLDER)
    similar.add_argument(
        "--at-least",
        type=float,
        default=0.6,
        metavar="SHARE",
        help="minimum share of common code, from 0 to 1 (default: 0.6)",
    )
    similar.add_argument(
        "--dolos", metavar="ZIP", help="also write the texts as a zip that Dolos reads"
    )
    json(similar)
    export = action("export", "write the points for a learning platform", FOLDER)
    export.add_argument(
        "--to",
        choices=FORMATS,
        required=True,
        metavar="PLATFORM",
        help=f"the platform: {', '.join(FORMATS)}",
    )
    export.add_argument("--out", metavar="PATH", help="file or folder (default: DIR/export-FORMAT)")
    export.add_argument(
        "--worksheet",
        "--gradebook",
        metavar="FILE",
        dest="worksheet",
        help="table downloaded from the platform, into which the points are filled",
    )
    export.add_argument(
        "--column",
        metavar="NAME",
        help="column of that table for the points, if several are possible",
    )
    export.add_argument(
        "--roster",
        metavar="CSV",
        help="names of the students: a table with the columns student_id, last_name, first_name, "
        "email, identifier, username",
    )
    export.add_argument(
        "--feedback-zip",
        metavar="ZIP",
        help="also write the feedback pages, with the file names that the platform expects",
    )
    export.add_argument(
        "--downloads",
        metavar="PATH",
        help="folder or zip of the hand-ins as downloaded; --feedback-zip needs it for canvas and "
        "brightspace",
    )


def run_report(options, folder=None):
    """Print a summary of a class, and write its pages and tables again.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the action.
    folder : path-like, optional
        The folder of results; ``options.dir`` if not given.

    Returns
    -------
    code : int
        0 if every hand-in is graded, else 1.
    """
    from ibpcl.classroom.feedback import class_page, derivations_page, records
    from ibpcl.classroom.intake import late
    from ibpcl.classroom.judging import similarity
    from ibpcl.storage import write_bytes, write_text

    folder = Path(folder or options.dir)
    given = [getattr(options, name, None) for name in ("due", "late_penalty", "late_at_most")]
    if any(value is not None for value in given):
        records.load(folder)  # refuses any other folder
        late.keep(folder, *given)
    found = records.load(folder)
    sources = similarity.sources(folder)
    pairs = similarity.of_class(sources, found.assignment)
    clusters = similarity.clusters(pairs)
    by_hand = records.rewrite(found)
    page = class_page.class_page(
        found.results,
        found.assignment,
        clusters,
        found.policy,
        found.missing,
        found.skipped,
        found.earlier,
        found.notes,
    )
    write_text(folder / "class.html", page)
    write_bytes(folder / "class.csv", class_page.class_csv(found.results, found.assignment))
    derivations = derivations_page.derivations_page(found, getattr(options, "anonymous", False))
    if derivations:
        write_text(folder / "derivations.html", derivations)
    graded = [result.score for result in found.results if result.status == "graded"]
    complete = len(graded) == len(found.results) and not found.table.notes
    if options.json:
        _print_json(
            {
                "sandbox": found.settings.get("sandbox", ""),
                "page": str(folder / "class.html"),
                "csv": str(folder / "class.csv"),
                "by_hand": str(by_hand),
                "derivations": str(folder / "derivations.html") if derivations else None,
                "results": [result.to_dict() for result in found.results],
                "alike": [pair._asdict() for pair in pairs],
                "clusters": [cluster._asdict() for cluster in clusters],
                "notes": found.notes,
            }
        )
        return 0 if complete else 1
    _summary(found, graded, clusters, by_hand, bool(derivations))
    return 0 if complete else 1


def _summary(found, graded, clusters, by_hand, derivations):
    """Print the summary of a class."""
    from ibpcl.classroom.feedback.plain_words import plain_reason, points, reason_group

    mean = (
        f", mean {sum(graded) / len(graded):.1f} of {points(found.assignment.points)} points"
        if graded
        else ""
    )
    sandbox = found.settings.get("sandbox", "")
    print(f"{len(graded)} of {len(found.results)} graded{mean}; sandbox: {sandbox}")
    groups = {}
    for result in found.results:
        if result.status != "graded":
            groups.setdefault(reason_group(result), []).append(result)
    for group in groups.values():
        names = ", ".join(result.student for result in group)
        print(f"  {names}: not graded: {plain_reason(group[0].reason)}")
    for note in found.notes:
        print(f"  {note}")
    waiting = sum(result.pending for result in found.results)
    if waiting:
        where = f"open {found.folder / 'derivations.html'}, or " if derivations else ""
        print(
            f"{points(waiting)} points must be given by hand: {where}fill in {by_hand}, then run "
            "`ibpcl class report`"
        )
    late = sum(result.late_days > 0 for result in found.results)
    if found.policy.due:
        print(f"due {found.policy.due}: {late} late")
    flagged = sum(bool(result.flags) for result in found.results)
    print(
        f"{flagged} with flags, {len(clusters)} groups that look alike; see "
        f"{found.folder / 'class.html'} and "
        f"{found.folder / 'class.csv'}"
    )


def run_by_hand(options):
    """Serve the page of derivations on this machine until the teacher ends it.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class by-hand``.

    Returns
    -------
    code : int
        That of ``ibpcl class report``, which runs afterwards.
    """
    import webbrowser

    from ibpcl.classroom.feedback.by_hand_server import Server

    with Server(Path(options.dir), options.anonymous, options.port) as server:
        print(f"{server.address}\nEntries are saved in {options.dir}. Ctrl-C ends.", flush=True)
        if not options.no_browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    options.json = False
    return run_report(options)


def run_why(options):
    """Print how the points of a task follow from the evidence.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class why``.
    """
    from ibpcl.classroom.feedback import records, why

    folder = Path(options.dir)
    if not (folder / records.SETTINGS).exists():
        inside = [path.parent for path in folder.glob(f"*/{records.SETTINGS}")]
        folder = inside[0] if len(inside) == 1 else folder
    found = records.load(folder)
    result, verdict = why.find(found, options.id, options.task)
    print("\n".join(why.lines(found, result, verdict)))


def run_similar(options):
    """Print groups of hand-ins that are similar to each other or to published solutions.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class similar``.
    """
    from ibpcl.classroom.feedback import records
    from ibpcl.classroom.judging import similarity

    assignment = records.load(options.dir).assignment
    sources = similarity.sources(Path(options.dir))
    if options.dolos:
        similarity.write_dolos(sources, assignment, options.dolos)
    pairs = similarity.of_class(sources, assignment, options.at_least)
    if options.json:
        _print_json([pair._asdict() for pair in pairs])
        return
    for cluster in similarity.clusters(pairs):
        functions = f"  ({', '.join(cluster.functions)})" if cluster.functions else ""
        print(f"{cluster.share:4.0%}  {', '.join(cluster.names)}{functions}")
    if options.dolos:
        print(f"{options.dolos}: compare the texts with Dolos")


def run_export(options):
    """Write the points for another system.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl class export``.

    Returns
    -------
    code : int
        0 if the points of every student are written, else 1.
    """
    from ibpcl.classroom.feedback import exports, pages_zip, records
    from ibpcl.classroom.intake.students import read_students
    from ibpcl.cli.execution import in_words_of

    found = records.load(options.dir)
    records.rewrite(found)
    notes = list(found.notes)
    roster = found.roster
    if options.roster:
        roster, more = read_students(options.roster)
        notes += more
    if options.downloads and not options.feedback_zip:
        raise UserError("class: --downloads needs --feedback-zip")
    out = Path(options.out or Path(options.dir, f"export-{options.to}"))
    written = exports.write(
        found.results,
        found.assignment,
        options.to,
        out,
        roster,
        found.settings["level"],
        options.worksheet,
        options.column,
    )
    print(written.path)
    missing = []
    if options.feedback_zip:
        missing = pages_zip.write(
            found, options.to, options.feedback_zip, written.filled, roster, options.downloads
        )
        print(options.feedback_zip)
    waiting = sum(result.pending > 0 for result in found.results)
    if waiting:
        notes.append(f"{waiting} students lack points that are given by hand, and count as 0")
    for note in [*notes, *written.notes, *missing]:
        print(f"ibpcl: {in_words_of(options, note)}", file=sys.stderr)
    return 0 if written.complete and not missing and not found.table.notes else 1


def _print_json(value):
    from ibpcl.storage import json_text

    print(json_text(value, indent=2))
