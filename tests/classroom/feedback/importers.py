"""What learning platforms do with a table: their importers' rules, written down from their sources.

Moodle: ``mod/assign/feedback/offline/importgradeslib.php`` (``init``, ``next``) and
``locallib.php`` (``process_import_grades``); feedback files:
``mod/assign/feedback/file/importziplib.php``. Canvas: ``lib/gradebook_importer.rb``.  Brightspace
and Blackboard: their documentation.
"""

import csv
import io
import re


def moodle_grades(
    data,
    participants,
    words=("Participant ", "Identifier", "Grade", "Last modified (grade)"),
    highest=100.0,
):
    """Return {participant: grade} that Moodle stores; None if it refuses the worksheet.

    ``words`` are Moodle's strings ``hiddenuser``, ``recordid``, ``grade`` and ``lastmodifiedgrade``
    in the teacher's language.
    """
    hidden, recordid, grade, modified = words
    text = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").strip()
    rows = list(csv.reader(io.StringIO(text)))
    head = rows[0]
    if {recordid, grade, modified} - set(head):
        return None
    stored = {}
    for row in rows[1:]:
        if len(row) != len(head):
            return None  # csvlib: csvinvalidcolsnum
        participant = row[head.index(recordid)][len(hidden) :]
        if participant not in participants:
            continue
        value = row[head.index(grade)].replace(" ", "").replace(",", ".")
        if value and 0 <= float(value) <= highest:
            stored[participant] = float(value)
    return stored


def moodle_feedback(names, participants):
    """Return {participant: file name} for the names in a zip of feedback files."""
    stored = {}
    for name in names:
        parts = name.split("/")
        while parts:
            info = parts.pop(0).split("_", 4)
            if len(info) < 4 or not info[1].isdecimal() or info[1] not in participants:
                continue
            if info[2:4] != ["assignsubmission", "file"]:
                continue
            parts.insert(0, info[4] if len(info) > 4 else "")
            stored[info[1]] = "/".join(parts).lstrip("/")
            break
    return stored


def canvas_grades(data, students, assignments):
    """Return {canvas id: {assignment id: grade}} that Canvas stores; None if it refuses the
    file.
    """
    text = data.decode("utf-8")
    lines = text.splitlines()[:3]
    widths = {
        separator: {len(next(csv.reader([line], delimiter=separator))) for line in lines}
        for separator in ";,"
    }
    counts = {
        separator: min(found) if len(found) == 1 else 0 for separator, found in widths.items()
    }
    delimiter = ";" if counts[";"] > counts[","] else ","
    rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    head = rows[0]
    if not (len(head) > 3 and "Student" in head[0] and "ID" in head[1] and "Section" in head):
        return None
    first = head.index("Section") + 1
    totals = re.compile(
        "Current Score|Current Points|Current Grade|Final Score|Final Points|"
        "Final Grade|Override Score|Override Grade|Override Status"
    )
    columns = {}
    for at in range(first, len(head)):
        found = re.search(r"\((\d+)\)$", head[at])
        if found and not totals.search(head[at]):
            columns[at] = found[1]
    stored = {}
    read_only = set()
    for row in rows[1:]:
        if not any(cell.strip(" ;,") for cell in row):
            continue
        if "Points Possible" in row[0]:
            read_only = {at for at in columns if re.search(r"read\s+only", row[at])}
            continue
        if all(
            re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", cell, re.IGNORECASE) for cell in row
        ):
            continue
        assert row[1] in students, f"Canvas would make a new student of {row}"
        stored[row[1]] = {
            name: decimal(row[at])
            for at, name in columns.items()
            if at not in read_only and name in assignments
        }
    return stored


def decimal(cell):
    """Return a cell as Canvas's converter ``decimal_comma_to_period`` leaves it."""
    if not re.fullmatch(r"-?[0-9.,]+%?", cell):
        return cell
    *whole, last = re.split("[,.]", cell)
    return f"{''.join(whole)}.{last}" if whole else last


def canvas_files(names, attachments):
    """Return {user: name} for re-uploaded files; ``attachments`` has the attachment of each
    user.
    """
    stored = {}
    for name in names:
        base = name.rpartition("/")[2]
        numbers = [part for part in base.split("_") if part.isdecimal()][:2]
        if len(numbers) == 2 and attachments.get(numbers[0]) == numbers[1]:
            stored[numbers[0]] = name
    return stored


def brightspace_grades(data):
    """Return {OrgDefinedId: points} that Brightspace imports; None if it refuses the file."""
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    head = rows[0]
    items = [at for at, name in enumerate(head) if re.search(r".+ Points Grade\b", name)]
    if (
        head[0] not in ("OrgDefinedId", "Username")
        or not items
        or head[-1] != "End-of-Line Indicator"
        or any(row[-1] != "#" for row in rows[1:])
    ):
        return None
    return {row[0].removeprefix("#"): float(row[items[0]]) for row in rows[1:] if row[items[0]]}
