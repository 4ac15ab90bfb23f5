"""Attribution of a hand-in to a student when the file, the platform and the roster may disagree."""

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.ids import shown, variant_id
from ibpcl.classroom.intake.submission import has_words
from ibpcl.errors import UserError


def student_of(unit, said, roster, claims, owners, assignment, key):
    """Return the student of a unit.

    Parameters
    ----------
    unit : ibpcl.classroom.intake.units.Unit
        Files that a platform keeps for one student.
    said : dict
        Constants in the file that counts.
    roster : ibpcl.classroom.intake.students.Roster
        List of the class; may be empty.
    claims : dict of str to list of Unit
        For each id that files name in STUDENT, the units of these files.
    owners : dict of str to Unit
        For each id that the platform gives, its unit.
    assignment : Assignment or None
        The assignment.
    key : bytes
        The course key.

    Returns
    -------
    student : str
        Id of the student.
    note : str
        A note for the teacher if the names contradict each other, else empty.
    """
    written = shown(said.get("STUDENT", "")) if has_words(said.get("STUDENT", "")) else ""
    known = roster.match(unit.student, *unit.words) if len(roster) else None
    meant = roster.match(written) if len(roster) and written else None
    if known is not None:
        differs = written and variant_id(written) != variant_id(known.id)
        return (
            known.id,
            f"STUDENT in the file is {written[:60]!r}, not {known.id!r}" if differs else "",
        )
    own = shown(unit.student)
    if unit.fixed:
        return own, ""
    if not written or variant_id(written) == variant_id(own):
        return written or own, ""
    others = [
        each
        for each in [*claims.get(variant_id(written), ()), owners.get(variant_id(written))]
        if each is not None and each.key != unit.key
    ]
    if others and not (
        related(written, unit) and not any(related(written, each) for each in others)
    ):
        other = others[0].student
        return own, f"STUDENT in the file is {written[:60]!r}, as in that of {other}; is it a copy?"
    if unit.certain and len(roster) and meant is None:
        return own, f"STUDENT in the file is {written[:60]!r}, who is not in the roster"
    form = said.get("FORM")
    if (
        unit.certain
        and assignment is not None
        and key != variants.PUBLIC
        and form
        and (
            variants.form_of(assignment, key, own)
            == form
            != variants.form_of(assignment, key, written)
        )
    ):
        return own, f"STUDENT in the file is {written[:60]!r}, but the form is that of {own!r}"
    note = f"{own} is taken for {written!r}, the STUDENT in the file" if unit.certain else ""
    return meant.id if meant is not None else written, note


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
    return any(
        plain in variant_id(word).replace("_", "") for word in (unit.student, *unit.words) if plain
    )


def refuse_contradiction(found, assignment, key):
    """Raise an error if most hand-ins have forms that do not follow from the key.

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
        If at least two hand-ins, and more than half, name a form that the key gives neither to
        their student nor to the student they name.
    """
    with_form = [each for each in found if each.said.get("FORM") in assignment.forms]
    wrong = [
        each
        for each in with_form
        if all(
            each.said["FORM"] != variants.form_of(assignment, key, student)
            for student in (each.student, each.said.get("STUDENT") or each.student)
        )
    ]
    if len(wrong) < 2 or 2 * len(wrong) <= len(with_form):
        return
    example = wrong[0]
    given = variants.form_of(assignment, key, example.student)
    hint = (
        "was `key` forgotten?"
        if key == variants.PUBLIC
        else (
            "is it the key of this course? are the ids those of `ibpcl class new` (`platform`, "
            "`roster`)?"
        )
    )
    raise UserError(
        f"class: {len(wrong)} of {len(with_form)} hand-ins have a form that does not follow from "
        f"the key: {example.origin} is taken for {example.student!r}, whose form is {given!r}, but "
        f"its FORM is {example.said['FORM']!r}; {hint}"
    )
