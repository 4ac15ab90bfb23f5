"""Whose submission is it?  Evidence in order of rank: the platform, the class list, the file.

1. What the platform states itself: the participant's number, a login, an e-mail address.
2. Names and logins in the names of files and folders, if the class list knows them.
3. The line ``STUDENT`` of the file.  If several participants claim one student, the file keeps the
   claim whose variant is the student's; a participant whom the platform knows is never displaced.
4. The best name in the download.

Whatever contradicts the decision is a note for the teacher.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.ids import folded, shown, variant_id
from ibpcl.classroom.intake.platforms import bare
from ibpcl.classroom.intake.submission import has_words
from ibpcl.errors import UserError

SHOWN = 60  # characters of a STUDENT line in notes


class Identity(NamedTuple):
    """The decision whose submission a unit is.

    Attributes
    ----------
    students : tuple of str
        Ids; more than one for the members of a group.
    notes : tuple of str
        Whatever contradicts the decision.
    is_name : bool
        Whether nothing but the best name in the download decided.
    """

    students: tuple
    notes: tuple = ()
    is_name: bool = False


class Evidence(NamedTuple):
    """Everything that says whose submission a unit is.

    Attributes
    ----------
    unit : ibpcl.classroom.intake.units.Unit
        The files, with what the platform states.
    written : str
        Id in the line STUDENT; empty if there is none.
    variant : str
        The variant that the file names.
    """

    unit: object
    written: str
    variant: str

    @classmethod
    def of(cls, unit, said, roster):
        """Return the evidence about a unit.

        Parameters
        ----------
        unit : ibpcl.classroom.intake.units.Unit
            The files.
        said : dict
            The constants in the file that counts.
        roster : Roster
            List of the class, which knows other names of a student.

        Returns
        -------
        Evidence
        """
        written = shown(said.get("STUDENT", ""))
        written = written if has_words(written) else ""
        meant = roster.match(written) if written else None
        return cls(unit, meant.id if meant else written, said.get("VARIANT", ""))


class Deciding:
    """The decisions about all units of a class.

    Parameters
    ----------
    evidence : list of Evidence
        One for each unit.
    roster : Roster
        List of the class; may be empty.
    assignment : Assignment or None
        The assignment.
    key : bytes
        The course key.
    """

    def __init__(self, evidence, roster, assignment, key):
        self.evidence = evidence
        self.roster = roster
        self.assignment = assignment
        self.key = key
        self.names = Counter(folded(each.unit.student) for each in evidence)

    def identities(self):
        """Return the decision about each unit.

        Returns
        -------
        list of Identity
        """
        found = [self._by_platform(each.unit) for each in self.evidence]
        self._one_per_participant(found)
        self._by_file(found)
        self._by_name(found)
        return found

    def _by_platform(self, unit):
        """Return the decision from the platform's ids and the class list, or None."""
        if unit.fixed:
            return Identity((unit.student,))
        if unit.members:
            listed = [self.roster.match(*words) for words in unit.members]
            pairs = zip(listed, unit.members, strict=True)
            return Identity(tuple(each.id if each else words[0] for each, words in pairs))
        for student in (self.roster.match(*unit.logins), self.roster.with_number(unit.number)):
            if student is not None:
                return Identity((student.id,))
        for name in unit.names:
            match = self.roster.find(name)
            if len(match.students) == 1 or match.is_group:
                return Identity(tuple(each.id for each in match.students), match.notes)
        return None

    def _one_per_participant(self, found):
        """Keep one of several participants whom the class list takes for the same student."""
        same = defaultdict(list)
        for at, identity in enumerate(found):
            unit = self.evidence[at].unit
            if identity is not None and unit.number and not (unit.logins or unit.members):
                same[identity.students].append(at)
        for students, places in same.items():
            best = self._best(students[0], places)
            for at in places:
                if at != best:
                    other = self.evidence[best].unit.number
                    note = f"participant {other} is taken for {students[0]}; who is this one?"
                    found[at] = self._own(at, note)

    def _by_file(self, found):
        """Decide by the line STUDENT for units that the platform leaves open."""
        claims = defaultdict(list)
        owners = {
            variant_id(student): at
            for at, identity in enumerate(found)
            if identity is not None
            for student in identity.students
        }
        for at, identity in enumerate(found):
            each = self.evidence[at]
            if identity is None and not each.written:
                owners.setdefault(variant_id(each.unit.student), at)
            elif identity is None:
                claims[variant_id(each.written)].append(at)
            elif each.written and variant_id(each.written) not in map(
                variant_id, identity.students
            ):
                found[at] = self._noted(identity, f"{_says(each)}, not {identity.students[0]!r}")
        for student, places in claims.items():
            owner = owners.get(student)
            best = self._best(student, places) if owner is None else owner
            for at in places:
                each = self.evidence[at]
                if owner is None and (at == best or self._same_source(at, best)):
                    found[at] = self._accepted(each)
                else:
                    other = self.evidence[best].unit
                    note = f"{_says(each)}, as in that of {_title(other)}; is it a copy?"
                    found[at] = self._own(at, note)
            alike = [at for at in places if self._fit(student, at) == self._fit(student, best)]
            if owner is None and any(
                at != best and not self._same_source(at, best) for at in alike
            ):
                first = self.evidence[best]
                found[best] = self._noted(
                    found[best], f"several claim to be {first.written!r}; the first is believed"
                )

    def _by_name(self, found):
        """Decide by the best name for units that nothing else identifies, each for itself."""
        taken = {
            folded(student): at
            for at, identity in enumerate(found)
            if identity is not None and not identity.is_name
            for student in identity.students
        }
        for at, identity in enumerate(found):
            if identity is None:
                found[at] = self._own(at, "")
            if found[at].is_name and taken.setdefault(folded(found[at].students[0]), at) != at:
                found[at] = found[at]._replace(students=(f"{found[at].students[0]} (2)",))

    def _accepted(self, each):
        """Return the decision about the only claim to a student."""
        unit, written, _ = each
        own = shown(unit.student)
        stated = {own, *(login.partition("@")[0] for login in unit.logins)}
        if variant_id(written) in map(variant_id, stated):
            return Identity((written,))
        listed = self.roster.get(written) is not None
        if unit.logins and len(self.roster) and not listed:
            return Identity((own,), (f"{_says(each)}, who is not in the class list",))
        fits = self.fits(each, written)
        if not listed and unit.logins and not (fits and not self.fits(each, own)):
            return Identity((own,), (f"{_says(each)}, not {own!r}",))
        if not unit.number and not fits and self.fits(each, own):
            return Identity((own,), (f"{_says(each)}, but the variant is that of {own!r}",))
        note = "" if unit.number else f"{own} is taken for {written!r}, the STUDENT in the file"
        return Identity((written,), (note,) if note else ())

    def _best(self, student, places):
        """Return the unit that fits a student best; the first of equals."""
        return max(places, key=lambda at: (self._fit(student, at), -at))

    def _fit(self, student, at):
        """Return how well a unit fits a student: by STUDENT, its own name, variant, and parts of
        the name.
        """
        each = self.evidence[at]
        return (
            variant_id(each.written) == variant_id(student),
            variant_id(each.unit.student) == variant_id(student),
            self.fits(each, student),
            related(student, each.unit),
        )

    def _own(self, at, note):
        """Return the decision for the best name in the download."""
        unit = self.evidence[at].unit
        name = shown(unit.student)
        possible = [each.id for name in unit.names for each in self.roster.find(name).students]
        if unit.number and (possible or self.names[folded(name)] > 1):
            name = _title(unit)
        if len(possible) > 1:
            note = f"{name} may be {' or '.join(possible[:5])}" + (f"; {note}" if note else "")
        return Identity((name,), (note,) if note else (), is_name=True)

    def _noted(self, identity, note):
        return identity._replace(notes=(*identity.notes, note))

    def _same_source(self, at, other):
        """Return whether two units differ only in the mark of a copy, such as ``hw-1``."""
        one, two = (self.evidence[each].unit for each in (at, other))
        return not (one.number or two.number) and version_free(one) == version_free(two)

    def fits(self, each, student):
        """Return whether the variant in the file is that of a student.

        Parameters
        ----------
        each : Evidence
            The evidence about a unit.
        student : str
            Id of the student.

        Returns
        -------
        bool
            False if the key is public, or the file names no variant.
        """
        if self.assignment is None or self.key == variants.PUBLIC or not each.variant:
            return False
        return variants.variant_of(self.assignment, self.key, student) == each.variant


def version_free(unit):
    """Return the name of a unit without the number of a version at its end.

    Parameters
    ----------
    unit : ibpcl.classroom.intake.units.Unit
        The unit.

    Returns
    -------
    str
    """
    return bare(unit.student, versions=True).casefold()


def _says(each):
    return f"STUDENT in the file is {each.written[:SHOWN]!r}"


def _title(unit):
    return f"{unit.student} {unit.number}".strip()


def related(named, unit):
    """Return whether an id looks like a part of the name on the platform.

    Parameters
    ----------
    named : str
        The id.
    unit : ibpcl.classroom.intake.units.Unit
        Files that a platform keeps for one student, with the student's names.

    Returns
    -------
    bool
    """
    plain = variant_id(named).replace("_", "")
    words = (unit.student, *unit.logins, *unit.names)
    return bool(plain) and any(plain in variant_id(word).replace("_", "") for word in words)


def refuse_contradiction(found, assignment, key):
    """Raise an error if most hand-ins have variants that do not follow from the key.

    Parameters
    ----------
    found : list of ibpcl.classroom.intake.collecting.Found
        The hand-ins of a class.
    assignment : Assignment
        The assignment.
    key : bytes
        The course key.

    Raises
    ------
    UserError
        If at least two hand-ins, and more than half, name a variant that the key gives neither to
        their student nor to the student they name.
    """
    with_variant = [each for each in found if each.said.get("VARIANT") in assignment.variants]
    wrong = [
        each
        for each in with_variant
        if all(
            each.said["VARIANT"] != variants.variant_of(assignment, key, student)
            for student in (each.student, each.said.get("STUDENT") or each.student)
        )
    ]
    if len(wrong) < 2 or 2 * len(wrong) <= len(with_variant):
        return
    example = wrong[0]
    given = variants.variant_of(assignment, key, example.student)
    hint = (
        "was `key` forgotten?"
        if key == variants.PUBLIC
        else (
            "is it the key of this course? are the ids those of `ibpcl class new` (`platform`, "
            "`roster`)?"
        )
    )
    raise UserError(
        f"class: {len(wrong)} of {len(with_variant)} hand-ins have a variant that does not follow "
        f"from the key: {example.origin} is taken for {example.student!r}, whose variant is "
        f"{given!r}, but its VARIANT is {example.said['VARIANT']!r}; {hint}"
    )
