"""Downloads of learning platforms, separated into one unit per participant.

The table ``platforms.toml`` has a row for each pattern of names.  A platform is recognized if most
files follow its rows.  Without one, each entry of the folder is a unit, named by its file or
folder.
"""

import functools
import os
import re
from collections import defaultdict
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ibpcl.classroom.assignments.ids import folded
from ibpcl.classroom.intake.choosing import SUFFIXES, VERSION, natural
from ibpcl.classroom.intake.units import Piece, Unit, files_in, is_program
from ibpcl.storage import read_text, read_toml

COPY = re.compile(r"\s*(\(\d+\)|- (copy|kopie)( \(\d+\))?)$", re.IGNORECASE)
PLAIN = "folder"  # the platform of a folder that follows no row
WRAPPERS = re.compile(
    r"(?i)(submitted|submissions?|hand-?ins|.*[-_]submissions?|assignment_\d+_export)"
)
METADATA = "submission_metadata.yml"  # Gradescope's table of submitters
MOST_METADATA = 64 << 20
MOST_SAMPLED = 2000  # files by which a platform is recognized


class Row(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    platform : str
        Name of the platform.
    pattern : re.Pattern
        Matches a path from the participant's file or folder on; ``here`` is what the row matches.
    marker : re.Pattern or None
        Matches a path that the participant's folder must contain.
    late : re.Pattern or None
        Found in the name of a late file.
    times : tuple of str
        Formats of the group ``time``, and of the first line of a file ``clock``.
    utc : bool
        Whether the times are in UTC.
    """

    platform: str
    pattern: re.Pattern
    marker: re.Pattern | None
    late: re.Pattern | None
    times: tuple
    utc: bool

    def place(self, path, others=()):
        """Return where a path names its participant, or None.

        Parameters
        ----------
        path : str
            A path in the download, below any number of other folders.
        others : collection of str
            Folders that contain the row's marker.

        Returns
        -------
        Place or None
        """
        parts = path.split("/")
        for at in range(len(parts)):
            match = self.pattern.fullmatch("/".join(parts[at:]))
            if match is None or (self.marker and "/".join(parts[: at + 1]) not in others):
                continue
            groups = {name: text for name, text in match.groupdict().items() if text}
            late = self.late is not None and self.late.search(groups["here"]) is not None
            return Place(self, "/".join(parts[:at]), groups, late)
        return None

    def moment(self, text):
        """Return the ISO date and time in a text; empty if it has none of the formats.

        Parameters
        ----------
        text : str
            Text that begins with a date and time.

        Returns
        -------
        str
        """
        for form in self.times:
            try:
                moment = datetime.strptime(" ".join(text.split()), form)
            except ValueError:
                continue
            moment = moment.replace(tzinfo=UTC) if self.utc else moment.astimezone()
            return moment.isoformat(timespec="seconds")
        return ""


class Place(NamedTuple):
    """Where a path names its participant.

    Attributes
    ----------
    row : Row
        The row that the path follows.
    above : str
        The folders above the participant's file or folder.
    groups : dict of str to str
        The named groups of the pattern that are not empty.
    late : bool
        Whether the name says that the file is late.
    """

    row: Row
    above: str
    groups: dict
    late: bool


class Download(NamedTuple):
    """A download of a class, separated by participants.

    Attributes
    ----------
    platform : str
        One of :func:`platforms`.
    units : list of Unit
        The files of each participant.
    ignored : list of (str, str)
        Name of each other entry, and the reason why it was passed over.
    """

    platform: str
    units: list
    ignored: list


@functools.cache
def rows():
    """Return the table.

    Returns
    -------
    tuple of Row
    """

    def compiled(pattern):
        return re.compile(pattern) if pattern else None

    table = read_toml(Path(__file__).with_name("platforms.toml"))["row"]
    return tuple(
        Row(
            row["platform"],
            re.compile(rf"(?P<here>{row['pattern']})(?:/.+)?"),
            compiled(row.get("marker")),
            compiled(row.get("late")),
            tuple(row.get("times", ())),
            row.get("utc", False),
        )
        for row in table
    )


def platforms():
    """Return the names of all platforms.

    Returns
    -------
    tuple of str
    """
    return (*dict.fromkeys(row.platform for row in rows()), PLAIN)


def separated(folder, platform=None, fixed=None):
    """Return the units of a download.

    Parameters
    ----------
    folder : path-like
        The unpacked download.
    platform : str, optional
        One of :func:`platforms`; by default, the one that most files follow.
    fixed : dict of str to str, optional
        Subfolder to student, if ``ibpcl class collect`` made the folder.

    Returns
    -------
    Download
    """
    files = files_in(folder)
    platform, places = (PLAIN, {}) if fixed else recognized(files, platform)
    depth = _depth(files, places, fixed)
    read = _Reader(files, places, platform, depth)
    entries = {}  # units by the entry of the class's folder that they come from
    ignored = []
    rest = defaultdict(list)
    for path in files.paths:
        entry = "/".join(path.split("/")[: depth + 1])
        place = places.get(path)
        if place is None:
            rest[entry].append(path)
        elif {"clock", "receipt"} & set(place.groups):
            ignored.append((read.below(path), "a file of the platform"))
        else:
            entries[entry] = read.add(path, place)
    for entry in sorted(rest, key=natural):
        paths = rest[entry]
        name = PurePosixPath(entry).name
        is_folder = paths != [entry] or files.paths[entry].is_dir()
        whole = (platform == PLAIN and is_folder) or any(map(is_program, paths))
        if entry in entries:
            ignored += [(read.below(path), "outside the platform's pattern") for path in paths]
        elif whole and not name.startswith("."):
            entries[entry] = read.add_plain(entry, paths, is_folder, fixed or {})
        else:
            ignored.append((read.below(entry), _why(name, is_folder)))
    for path, reason in files.ignored.items():
        owner = entries.get("/".join(path.split("/")[: depth + 1]))
        (owner.ignored if owner else ignored).append((read.below(path), reason))
    return Download(platform, list(read.units.values()), ignored)


def recognized(files, platform=None):
    """Return the first platform whose rows most files follow, and the place of each file.

    Parameters
    ----------
    files : Files
        The files of the download.
    platform : str, optional
        The platform, if it is known.

    Returns
    -------
    platform : str
    places : dict of str to Place
        By path; files that follow no row are left out.
    """
    paths = [path for path in files.paths if not PurePosixPath(path).name.startswith(".")]
    sample = paths[:: 1 + len(paths) // MOST_SAMPLED]
    found = {name: {} for name in platforms()}
    for row in rows():
        if platform in (None, row.platform):
            folders = marked(row, files)
            for path in sample if platform is None else paths:
                place = row.place(path, folders)
                if place is not None:
                    found[row.platform].setdefault(path, place)
    if platform is not None:
        return platform, found[platform]
    best = next((name for name in found if 2 * len(found[name]) > len(sample)), PLAIN)
    if best == PLAIN:
        return PLAIN, {}
    return recognized(files, best) if len(sample) < len(paths) else (best, found[best])


class _Reader:
    """The units of a download while its files are read one by one."""

    def __init__(self, files, places, platform, depth):
        self.files = files
        self.depth = depth
        self.units = {}
        self.submissions = _submissions(files) if platform == "gradescope" else {}
        self.prefix = ""
        if platform == "github":
            self.prefix = common_prefix({place.groups["name"] for place in places.values()})
        self.clocks = {
            path.rpartition("/")[0]: place.row.moment(read_text(files.paths[path])[:40])
            for path, place in places.items()
            if "clock" in place.groups
        }

    def below(self, path):
        """Return a path below the folder of the class."""
        return "/".join(path.split("/")[self.depth :]) or path

    def add(self, path, place):
        """Add a file that follows a row, and return its unit."""
        groups = place.groups
        number = groups.get("number", "")
        members, created = self.submissions.get(number, ((), ""))
        login = groups.get("login") or groups.get("email") or ""
        name = groups.get("name", "").strip(" _")
        words = members[0] if len(members) == 1 else ()
        student = login or next(iter(words), "") or name.removeprefix(self.prefix)
        unit = Unit(
            number or folded(login or name),
            student or groups["here"],
            number=number,
            logins=tuple(filter(None, (login, *words))),
            names=(name,) if name else (),
            members=members if len(members) > 1 else (),
            known=True,
        )
        unit = self.units.setdefault(unit.key, unit)
        folders = [str(folder) for folder in PurePosixPath(path).parents]
        clock = next((self.clocks[folder] for folder in folders if folder in self.clocks), "")
        time = place.row.moment(groups.get("time", "")) or created or clock
        attempt = groups.get("attempt") or groups.get("time", "")
        number = groups.get("order", "")
        order = (time, natural(attempt), int(number) if number.isdecimal() else 0)
        self._add_piece(unit, path, attempt=attempt, order=order, late=place.late, time=time)
        return unit

    def add_plain(self, entry, paths, is_folder, fixed):
        """Add a file or folder that follows no row, and return its unit."""
        name = PurePosixPath(entry).name
        if name in fixed:
            unit = Unit(folded(fixed[name]), fixed[name], known=True, fixed=True)
        else:
            name = name if is_folder else bare(name)
            unit = Unit(folded(name), name, names=(name,))
        unit = self.units.setdefault(unit.key, unit)
        for path in paths:
            self._add_piece(unit, path)
        return unit

    def _add_piece(self, unit, path, **about):
        if self.files.paths[path].is_file():
            unit.pieces.append(Piece(self.files.paths[path], self.below(path), **about))


def bare(name, versions=False):
    """Return the name of a file without its suffixes and the mark of a copy.

    Parameters
    ----------
    name : str
        Name of a file.
    versions : bool
        Whether to leave out the number of a version, too.

    Returns
    -------
    str

    Examples
    --------
    >>> bare("ada (2).ipynb"), bare("hw-2.py.txt")
    ('ada', 'hw-2')
    """
    name = SUFFIXES.sub("", name)
    return (VERSION if versions else COPY).sub("", name).strip() or name


def common_prefix(names):
    """Return the common prefix of names, up to and including its last hyphen.

    Parameters
    ----------
    names : collection of str
        Names of all repositories.

    Returns
    -------
    str
        Empty if there are fewer than two names.
    """
    if len(names) < 2:
        return ""
    first = min(names).split("-")[:-1]
    last = max(names).split("-")
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(f"{word}-" for word, _ in same)


def _depth(files, places, fixed):
    """Return the number of folders around the folder of the class."""
    if fixed:
        return 0
    if places:
        return len(_shared(place.above for place in places.values()))
    folders = _shared(files.paths)
    return max((at for at, name in enumerate(folders, 1) if WRAPPERS.fullmatch(name)), default=0)


def _shared(paths):
    """Return the folders with which all paths begin."""
    return os.path.commonpath([f"./{path}" for path in paths] or ["."]).split("/")[1:]


def marked(row, files):
    """Return the folders that contain the marker of a row.

    Parameters
    ----------
    row : Row
        The row.
    files : Files
        The files of the download.

    Returns
    -------
    collection of str
    """
    if row.marker is None:
        return ()
    folders = set()
    for path in (*files.paths, *files.ignored):
        parts = path.split("/")
        for at in range(1, len(parts)):
            if row.marker.fullmatch("/".join(parts[at:])):
                folders.add("/".join(parts[:at]))
    return folders


def _submissions(files):
    """Return the submitters and the time of each submission in Gradescope's metadata.

    Returns {number: (members, time)}; each member is a tuple of ids, addresses and names.
    """
    path = next((file for path, file in files.paths.items() if path.endswith(METADATA)), None)
    if path is None or path.stat().st_size > MOST_METADATA:
        return {}
    found = {}
    section = ""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if start := re.match(r"submission_(\d+):", line):
            members = []
            times = []
            found[start[1]] = (members, times)
        if key := re.match(r"  :?(\w+):\s*(.*)$", line):
            section = key[1]  # submitters of the submission itself, not of its history
        if found and key and section == "created_at":
            times.append(_iso(key[2]))
        if found and section == "submitters":
            if re.match(r"\s*- ", line):
                members.append({})
            entry = re.match(r"\s*(?:- )?:?(name|sid|email):\s*(.*)$", line)
            if entry and members:
                members[-1][entry[1]] = entry[2].strip().strip("'\"")
    return {
        number: (tuple(map(_words, members)), times[0] if times else "")
        for number, (members, times) in found.items()
    }


def _words(member):
    return tuple(filter(None, (member.get("sid"), member.get("email"), member.get("name"))))


def _iso(text):
    """Return a time such as ``2026-11-03 20:00:00.000000000 -05:00`` in ISO form, or ""."""
    match = re.match(r"'?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\S* ([+-]\d\d:\d\d|Z)", text)
    return "T".join(match[1].split()) + match[2].replace("Z", "+00:00") if match else ""


def _why(name, is_folder):
    if is_folder:
        return "a folder that no student's name can be read from"
    suffix = PurePosixPath(name).suffix
    if suffix and not is_program(name):
        return f"a {suffix} file"
    return "no student's name can be read from it"
