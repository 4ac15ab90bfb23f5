"""Reports in SARIF 2.1.0, from which editors and code hosts underline mistakes.

A mistake in a notebook has no line that an editor could show: its place is the notebook, and the
message and the logical location name the cell.
"""

from pathlib import Path
from typing import NamedTuple

from ibpcl.codeview.location import NOWHERE, Location
from ibpcl.verify.reports.kinds import TABLE, UNFIT_TABLE, Kind
from ibpcl.verify.reports.text import grouped

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"wrong": "error", "undecided": "warning"}


class Result(NamedTuple):
    """A mistake, or a remark, for one line of an editor.

    Attributes
    ----------
    level : {"error", "warning", "note"}
        "error" for what is wrong.
    kind : str
        Kind of the mistake: the name of the rule.
    words : str
        The sentence.
    hint : str
        Advice on where to look first.
    where : Location
        Its place; false if unknown.
    repair : tuple of Replacement
        The text that repairs the source.
    """

    level: str
    kind: str
    words: str
    hint: str
    where: Location = NOWHERE
    repair: tuple = ()


def log(items, version):
    """Return the verdicts on a user's files as a SARIF log.

    Parameters
    ----------
    items : sequence of (str, ibpcl.verify.running.user.Checked)
        Each file with a verdict.
    version : str
        Version of the program.

    Returns
    -------
    dict
        The log, which ``json.dumps`` accepts.
    """
    refused = [(path, item.words) for path, item in items if item.verdict == "refused"]
    found = [(path, result) for path, item in items for result in _results(item)]
    return log_of(found, refused, "ibpcl check", version)


def log_of(found, refused, program, version):
    """Return results on a user's files as a SARIF log.

    Parameters
    ----------
    found : sequence of (str, Result)
        Each file with a mistake or a remark.
    refused : sequence of (str, str)
        Each file that could not be judged, with the reason.
    program, version : str
        Name and version of the program.

    Returns
    -------
    dict
        The log, which ``json.dumps`` accepts.
    """
    rules = {**TABLE, **UNFIT_TABLE}
    for _, result in found:
        rules.setdefault(result.kind, Kind(result.kind.replace("_", " "), result.hint))
    names = list(rules)
    driver = {
        "name": program,
        "version": version,
        "rules": [_rule(name, kind) for name, kind in rules.items()],
    }
    notifications = [
        {
            "level": "error",
            "message": {"text": words},
            "locations": [{"physicalLocation": {"artifactLocation": _file(path)}}],
        }
        for path, words in refused
    ]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
        "results": [
            {"ruleIndex": names.index(result.kind), **_result(path, result)}
            for path, result in found
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _results(item):
    """Yield the results of one verdict."""
    if item.report is not None:
        yield from _of_report(item.report)
    elif item.forwards is not None:
        for verdict in item.forwards.items:
            if not verdict.ok:
                level = LEVELS[verdict.verdict]
                words = f"{verdict.name}: {verdict.words}"
                place = (verdict.where, verdict.repair)
                yield Result(level, verdict.kind, words, verdict.hint, *place)
    elif item.verdict in ("wrong", "undecided"):
        kind = "raises" if item.verdict == "wrong" else "undecided"
        yield Result(LEVELS[item.verdict], kind, item.words, TABLE[kind].hint, item.where)


def _of_report(report):
    """Yield the results of the report on a pair; without a place, that of the gradient function."""
    for group in grouped([item for item in report.inputs if not item.ok]):
        first = group[0]
        words = f"{', '.join(item.name for item in group)}: {first.words}"
        where = first.where or report.where
        yield Result(LEVELS[first.verdict], first.kind, words, first.hint, where, first.repair)
    kinds = {item.kind for item in report.inputs}
    for finding in report.problems:
        if finding.kind not in kinds:
            level = "warning" if finding.kind in UNFIT_TABLE else "error"
            yield Result(level, finding.kind, finding.words, finding.hint, report.where)
    for finding in report.habits:
        where = finding.where or report.where
        yield Result("note", finding.kind, finding.words, finding.hint, where)
    for words in report.unjudged:
        hint = TABLE["undecided"].hint
        yield Result("warning", "undecided", f"not judged: {words}", hint, report.where)


def _rule(name, kind):
    return {
        "id": name,
        "shortDescription": {"text": kind.meaning},
        "help": {"text": kind.hint},
    }


def _result(path, result):
    """Return a result as SARIF writes it."""
    where = result.where
    cell = f"{where.position}: " if where.cell else ""
    made = {
        "ruleId": result.kind,
        "level": result.level,
        "message": {"text": f"{cell}{result.words}\nhint: {result.hint}"},
        "locations": [_location(path, where)],
    }
    if result.repair and not any(part.where.cell for part in result.repair):
        made["fixes"] = [_fix(result.repair)]
    return made


def _fix(repair):
    """Return the texts that repair a file, as a change of it."""
    shown = " and ".join(f"`{part.text}`" for part in repair)
    replacements = [
        {"deletedRegion": _region(part.where), "insertedContent": {"text": part.text}}
        for part in repair
    ]
    change = {"artifactLocation": _file(repair[0].where.file), "replacements": replacements}
    return {"description": {"text": f"write {shown}"}, "artifactChanges": [change]}


def _location(path, where):
    """Return a place as SARIF writes it; the file alone if nothing else is known."""
    physical = {"artifactLocation": _file(where.file or path)}
    logical = []
    if where.cell:
        logical.append({"name": f"cell {where.cell}, line {where.line}", "kind": "cell"})
    elif where:
        physical["region"] = _region(where)
    if where.function:
        logical.append({"name": where.function, "kind": "function"})
    return {"physicalLocation": physical, **({"logicalLocations": logical} if logical else {})}


def _region(where):
    lines = {"startLine": where.line, "endLine": where.end_line}
    if not where.column:
        return lines
    return {**lines, "startColumn": where.column, "endColumn": where.end_column}


def _file(path):
    """Return a file relative to the working directory, or its whole address."""
    path = Path(path).resolve()
    here = Path.cwd().resolve()
    if path.is_relative_to(here):
        # the address without "file:///" and the folder
        return {"uri": path.as_uri().removeprefix(here.as_uri()).lstrip("/")}
    return {"uri": path.as_uri()}
