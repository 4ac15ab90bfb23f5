"""Students: the list of a class, and the folder of a student's results."""

import hashlib
import re
import unicodedata
from collections import defaultdict
from typing import NamedTuple

from ibpcl.classroom.assignments.ids import folded, shown, variant_id
from ibpcl.classroom.intake.headings import headings
from ibpcl.classroom.intake.spreadsheet import column_key, read_rows
from ibpcl.errors import UserError

# The first of these columns in a table contains the ids.
# Headings of the column with the ids, the best first.
ID_COLUMNS = (
    *headings("id"),
    "username",
    "userid",
    "loginid",
    "sisloginid",
    "netid",
    "login",
    "user",
    "id",
    "identifier",
    *headings("login"),
    *headings("address"),
    "name",
    "fullname",
)
OTHER_COLUMNS = {
    name: field
    for field, meaning in (
        ("name", "full name"),
        ("last_name", "last name"),
        ("first_name", "first name"),
        ("email", "address"),
        ("identifier", "identifier"),
        ("username", "login"),
        ("group", "group"),
    )
    for name in headings(meaning)
    if name != "student"  # a column of ids in a class list
}
DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10)),
}
RESULT_FILES = re.compile(
    r"(?i)\.(json|html?|csv|tsv|zip|txt|md|pdf|py|ipynb|tmp)$|^(export|feedback)-"
)
LEAST_DIGITS = 4  # of an id within a longer name; shorter ones may be the number of a sheet
MOST_FOLDER_BYTES = 120  # of a folder's name; file systems allow 255, and a path has more parts


class Student(NamedTuple):
    """A student in the list of a class; all but the id may be empty.

    Attributes
    ----------
    id : str
        The id, as :func:`shown` writes it.
    last_name, first_name, name, email, identifier, username, group : str
        Further columns; ``identifier`` is the platform's, such as Moodle's ``Participant 7``.
    cells : tuple of str
        All cells of the student's row.
    """

    id: str
    last_name: str = ""
    first_name: str = ""
    name: str = ""
    email: str = ""
    identifier: str = ""
    username: str = ""
    group: str = ""
    cells: tuple = ()

    @property
    def full_name(self):
        """Full name, first name first; empty if unknown."""
        return f"{self.first_name} {self.last_name}".strip() or self.name


def folder_name(student):
    """Return the name of the folder that holds a student's results.

    The name is the id if that is a valid folder name on every system and not the name of a result
    file.  Otherwise it ends in ``~`` and four hexadecimal digits, so that two students never share
    a folder.

    Parameters
    ----------
    student : str
        Id of the student.

    Returns
    -------
    str

    Examples
    --------
    >>> folder_name("o'brien"), folder_name("con")[:4], folder_name("grading.json")[:13]
    ("o'brien", 'con~', 'grading.json~')
    """
    name = shown(student)
    safe = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", name).rstrip(". ")
    safe = safe.encode()[:MOST_FOLDER_BYTES].decode(errors="ignore")
    odd = (
        safe != name
        or not safe
        or safe[0] in ".-~"
        or safe.partition(".")[0].casefold() in DEVICES
        or RESULT_FILES.search(safe)
    )
    if not odd:
        return safe
    mark = hashlib.sha256(folded(student).encode()).hexdigest()[:4]
    return f"{safe.lstrip('.-~')}~{mark}"


class Match(NamedTuple):
    """The students whom a text may mean.

    Attributes
    ----------
    students : tuple of Student
        One, or several if the name is not unique.
    is_group : bool
        Whether the text names all of them.
    notes : tuple of str
        A contradiction within the text.
    """

    students: tuple
    is_group: bool = False
    notes: tuple = ()


class Roster:
    """The students of a class, found by id or by any other cell of their rows.

    Parameters
    ----------
    students : list of Student
        The students; of equal ids, the first counts.

    Attributes
    ----------
    students : list of Student
        The students, each id once.
    """

    def __init__(self, students=()):
        self.students = list(
            {folded(student.id): student for student in reversed(list(students))}.values()
        )[::-1]
        self._ids = {folded(student.id): student for student in self.students}
        self._spelled = _unique((variant_id(student.id), student) for student in self.students)
        self._folders = {folded(folder_name(student.id)): student for student in self.students}
        self._aliases = _unique(
            (alias, student) for student in self.students for alias in _aliases(student)
        )
        self._names = [
            (
                student,
                set(name_key(student.full_name).split()),
                {_squashed(student.last_name + student.first_name), _squashed(student.full_name)}
                - {""},
            )
            for student in self.students
        ]
        self._logins = [
            (word, student)
            for student in self.students
            for word in map(folded, (student.id, student.username, student.email))
            if len(word) > 1 and not (word.isdecimal() and len(word) < LEAST_DIGITS)
        ]
        self._groups = defaultdict(list)
        for student in self.students:
            # Moodle's list of participants writes all groups of a student into one cell.
            for name in {student.group, *re.split(r"[,;]", student.group)}:
                if name.strip():
                    self._groups[folded(name)].append(student)
        self._numbers = _unique(
            (number, student)
            for student in self.students
            for number in re.findall(r"\d+$", student.identifier)
        )

    def __len__(self):
        return len(self.students)

    def get(self, student):
        """Return the student with this id, or None.

        Parameters
        ----------
        student : str
            An id, in any spelling that file names leave.

        Returns
        -------
        Student or None
        """
        key = folded(student)
        return (
            self._ids.get(key) or self._folders.get(key) or self._spelled.get(variant_id(student))
        )

    def match(self, *words):
        """Return the only student with one of these ids, addresses or names.

        Parameters
        ----------
        *words : str
            Ids, addresses and names.

        Returns
        -------
        Student or None
            None if no student or several students match.
        """
        for word in filter(None, words):
            found = (
                self.get(word)
                or self._aliases.get(folded(word))
                or self._aliases.get(name_key(word))
            )
            if found is not None:
                return found
        return None

    def with_number(self, number):
        """Return the student with this number of a participant, or None.

        Parameters
        ----------
        number : str
            The platform's number, such as that of Moodle's ``Participant 7``.

        Returns
        -------
        Student or None
        """
        return self._numbers.get(number) if number else None

    def find(self, text):
        """Return the students whose group, login or name stands in a text.

        Parameters
        ----------
        text : str
            Name of a file or folder, such as ``"Byron, Ada(ab12)"``.

        Returns
        -------
        Match
        """
        exact = self.match(text)
        if exact is not None:
            return Match((exact,))
        key = folded(text)
        if key in self._groups:
            return Match(tuple(self._groups[key]), is_group=True)
        logins = self._with_login(key)
        # A name that consists of logins is none, and a login that is a word of a name is none.
        named = [
            each
            for each in self._with_name(text)
            if not (each in logins.values() and name_key(each.full_name) in logins)
        ]
        told = {word for each in named for word in name_key(each.full_name).split()}
        stated = tuple(dict.fromkeys(each for word, each in logins.items() if word not in told))
        both = tuple(each for each in stated if each in named)
        if stated and named and not both:
            note = f"{shown(text)!r} has the login of {stated[0].id}, and another name"
            return Match(stated, len(stated) > 1, (note,))
        return Match(both or stated or tuple(named), not both and len(stated) > 1)

    def _with_login(self, key):
        """Return {login: student} for each id, login or address in a text, between other signs."""
        found = {}
        for word, student in self._logins:
            if word in key:
                at = re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", key)
                if at is not None:
                    found[at.span()] = student
        outer = [
            (begin, end)
            for begin, end in found
            if not any(
                (first, last) != (begin, end) and first <= begin and end <= last
                for first, last in found
            )
        ]
        return {key[begin:end]: found[begin, end] for begin, end in sorted(outer)}

    def _with_name(self, text):
        """Return the students most of whose names stand in a text, in any order."""
        words = set(name_key(text).split())
        squashed = _squashed(text)
        best = 0
        found = []
        for student, own, orders in self._names:
            if squashed in orders:
                own = {squashed}
            elif not own or not own <= words:
                continue
            if len(own) > best:
                best = len(own)
                found = []
            if len(own) == best:
                found.append(student)
        return found


def _squashed(text):
    """Return the letters and digits of a name, as Canvas writes it."""
    return name_key("".join(re.findall(r"\w", text)))


def name_key(name):
    """Return a name without order, accents and punctuation, which differ between platforms.

    Parameters
    ----------
    name : str
        A full name.

    Returns
    -------
    str

    Examples
    --------
    >>> name_key("Müller, Dora") == name_key("dora muller")
    True
    """
    plain = unicodedata.normalize("NFKD", folded(name).casefold())
    words = re.findall(
        r"\w+", "".join(each for each in plain if not unicodedata.combining(each)).replace("'", "")
    )
    return " ".join(sorted(words))


def read_students(path):
    """Read the list of a class: one id per line, or a table with or without a header.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    roster : Roster
        The students.
    notes : list of str
        One line for each unused row: a repeated id, a row without an id.

    Raises
    ------
    UserError
        If the file cannot be read, or names no student.
    """
    rows = [row for row in read_rows(path) if not row[0].startswith("# ")]
    columns = (
        {column_key(cell): at for at, cell in reversed(list(enumerate(rows[0])))} if rows else {}
    )
    known = [name for name in ID_COLUMNS if name in columns]
    # Canvas: "Student" is the name, "ID" an internal number, and the second row contains the
    # possible points.
    if "student" in known and ("sisuserid" in known or "sisloginid" in known):
        columns["name"] = columns.pop("student")
        known = [name for name in known if name not in ("student", "id")]
    place = columns[known[0]] if known else 0
    fields = (
        {OTHER_COLUMNS[key]: at for key, at in columns.items() if key in OTHER_COLUMNS}
        if known
        else {}
    )
    students = []
    notes = []
    lines = {}
    for number, row in enumerate(rows[1:] if known else rows, start=2 if known else 1):
        student = _student(row, place, fields, known)
        key = folded(student.id)
        if not key:
            if not any("points possible" in cell.casefold() for cell in row):
                notes.append(f"{path}: row {number} has no id")
        elif key in lines:
            notes.append(f"{path}: row {number}: {student.id} already has row {lines[key]}")
        else:
            lines[key] = number
            students.append(student)
    if not students:
        raise UserError(
            f"class: {path} names no student: write one id per line, or a table with a column "
            "student_id"
        )
    return Roster(students), notes


def _student(row, place, fields, known):
    """Return the student of a row."""
    cell = row[place] if place < len(row) else ""
    if known and known[0] == "orgdefinedid":
        # Brightspace's protection against spreadsheets
        cell = cell.removeprefix("#")
    about = {name: row[at] for name, at in fields.items() if at < len(row)}
    if not known:
        about["email"] = next((cell for cell in row[1:] if "@" in cell), "")
        about["name"] = " ".join(cell for cell in row[1:3] if "@" not in cell)
    student = Student(shown(cell), **about)
    return student._replace(cells=tuple(row))


def _aliases(student):
    """Return all words by which a student is known, as :func:`folded` writes them."""
    words = [
        *student.cells,
        student.email,
        student.email.partition("@")[0],
        student.username,
        student.identifier,
        name_key(student.full_name),
        name_key(student.name),
        *re.findall(r"\d+$", student.identifier),
    ]
    return {folded(word) for word in words if word}


def _unique(pairs):
    """Return {key: student} for the keys that belong to one student only."""
    students = {}
    for key, student in pairs:
        students[key] = student if students.get(key, student) is student else None
    return {key: student for key, student in students.items() if student is not None and key}
