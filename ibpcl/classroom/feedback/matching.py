"""Matching of a platform's rows to students: by id first, then by address, then by name."""

import re

from ibpcl.classroom.assignments.ids import folded
from ibpcl.classroom.feedback.by_hand import finder
from ibpcl.classroom.intake.students import name_key


class Matcher:
    """Finds students of a class by the ids, addresses and names of a platform.

    Parameters
    ----------
    students : sequence of str
        Ids as they were graded.
    roster : ibpcl.classroom.intake.students.Roster, optional
        List of the class, with further ids, addresses and names.
    """

    def __init__(self, students, roster=None):
        self.students = list(students)
        self.roster = roster
        self._find = finder(self.students)
        self._names = {}
        for student in self.students:
            listed = roster.get(student) if roster is not None else None
            names = {name_key(student)} | ({name_key(listed.full_name)} if listed else set())
            for name in names - {""}:
                self._names.setdefault(name, set()).add(student)

    def by_id(self, *words):
        """Return the student with one of these ids or addresses.

        The part of an address before ``@`` counts as an id.

        Parameters
        ----------
        *words : str
            Ids and addresses.

        Returns
        -------
        str
            Id of the student; empty if none matches.
        """
        words = [word.strip() for word in words if word and word.strip()]
        for word in [*words, *(word.partition("@")[0] for word in words if "@" in word)]:
            if found := self._find(word):
                return found
        for word in words:
            listed = self.roster.match(word) if self.roster is not None else None
            if listed is not None and (found := self._find(listed.id)):
                return found
        return ""

    def by_name(self, *names):
        """Return the only student with one of these names, in any order of the words.

        Parameters
        ----------
        *names : str
            Full names.

        Returns
        -------
        str
            Id of the student; empty if none or several match.
        """
        for name in names:
            students = self._names.get(name_key(name), set()) if name else set()
            if len(students) == 1:
                return next(iter(students))
        return ""


def assigned(rows, matcher):
    """Match rows to students.

    Parameters
    ----------
    rows : dict of int to (list of str, list of str)
        For each row, its ids and addresses, and its names.
    matcher : Matcher
        Finds the students.

    Returns
    -------
    matches : dict of str to int
        Student to row.
    notes : list of str
        Notes on students with several rows.
    """
    claims = {}
    for number, (ids, names) in rows.items():
        by_id = matcher.by_id(*ids)
        found = by_id or matcher.by_name(*names)
        if found:
            claims.setdefault(found, {}).setdefault(bool(by_id), []).append(number)
    matches = {}
    notes = []
    for student, kinds in claims.items():
        numbers = kinds.get(True) or kinds.get(False)
        if len(numbers) > 1:
            notes.append(
                f"rows {', '.join(str(number + 1) for number in numbers)} are all about "
                f"{student}: none of them is filled in"
            )
        else:
            matches[student] = numbers[0]
    return matches, notes


def number_at_end(text):
    """Return the number at the end of a text, such as Moodle's ``Participant 7``.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The digits; empty if there are none.

    Examples
    --------
    >>> number_at_end("Participant 7"), number_at_end("Teilnehmer/in1234567")
    ('7', '1234567')
    """
    match = re.search(r"(\d+)\s*$", folded(text))
    return match[1] if match else ""
