"""Consistency checks of an assignment: statement, variants, docstrings and tasks must agree.

Nothing here runs a hand-in.  Each finding is one sentence that names the file and the correction.
"""

import ast
import re

from ibpcl.classroom.assignments.merging import MATH
from ibpcl.classroom.feedback.plain_text import sections
from ibpcl.errors import UserError
from ibpcl.storage import read_text

PASSAGE = re.compile(r"<!-- variant: (.*?) -->\n?(.*?)<!-- end -->\n?", re.DOTALL)
OPENING = re.compile(r"<!--\s*variant\b")


def problems(assignment):
    """Return the inconsistencies in the folder of an assignment.

    Parameters
    ----------
    assignment : Assignment
        The assignment.

    Returns
    -------
    list of str
        One sentence each; empty if the folder is consistent.
    """
    return [
        *_files(assignment),
        *_passages(assignment),
        *_tasks(assignment),
        *_docstrings(assignment),
        *_rubrics(assignment),
    ]


def _files(assignment):
    """Compare the files in ``variants/`` with ``[variants]``."""
    listed = set(assignment.variants) - {"base"}
    variants = re.compile(r"variants/([^/]*)\.py")
    present = {found[1] for found in map(variants.fullmatch, assignment.files) if found}
    for name in sorted(present - listed):
        yield (
            f"variants/{name}.py is never used: add `{name} = \"...\"` to [variants] in "
            "assignment.toml"
        )
    for name in sorted(listed - present):
        yield f"the variant {name} of [variants] has no file variants/{name}.py"


def _passages(assignment):
    """Check that every variant has its passage wherever the variants differ."""
    text = read_text(assignment.folder / "statement.md")
    passages = list(PASSAGE.finditer(text))
    if len(OPENING.findall(text)) != len(passages):
        yield (
            "statement.md: a passage is not closed: each begins with `<!-- variant: NAME -->` and "
            "ends with `<!-- end -->`, each on a separate line"
        )
    groups = []
    end = None
    for passage in passages:
        if end is None or text[end : passage.start()].strip():
            groups.append([])
        groups[-1].append(passage)
        end = passage.end()
    mentioned = set()
    for group in groups:
        line = text[: group[0].start()].count("\n") + 1
        names = [name for passage in group for name in re.split(r"[,\s]+", passage[1].strip())]
        mentioned |= set(names)
        for name in sorted(set(names) - set(assignment.variants)):
            yield f"statement.md, line {line}: unknown variant {name!r}"
        for name in sorted(set(assignment.variants) - set(names)) if len(group) > 1 else ():
            yield (
                f"statement.md, line {line}: the variant {name} has no passage here, but "
                f"{', '.join(sorted(set(names)))} have"
            )
    for name in sorted(set(assignment.variants) - mentioned) if groups else ():
        yield f"statement.md has no passage for the variant {name}"


def _tasks(assignment):
    """Compare the tasks of the statement, in every variant, with those of ``assignment.toml``."""
    reported = set()
    for variant in assignment.variants:
        asked = sections(assignment.statement(variant))
        ids = [task.id for task in assignment.tasks]
        places = {name: name if name in asked else exercise(name) for name in ids}
        problems = [
            f"statement.md has no section `## Task {name}`, in the variant {variant}"
            for name in ids
            if places[name] not in asked
        ]
        problems += [
            f"statement.md asks for task {name}, which is not in assignment.toml"
            for name in asked
            if name not in places.values()
        ]
        for task in assignment.tasks:
            text = asked.get(places[task.id], "")
            pair = task.kind == "extremes"  # the section may describe the pair as a whole
            if task.function and text and task.function not in text and not pair:
                problems.append(
                    f"statement.md, task {task.id}: the function `{task.function}` is not named"
                )
        for words in problems:
            key = words.partition(", in the variant")[0]
            if key not in reported:
                reported.add(key)
                yield words


def exercise(task_id):
    """Return the exercise that a task belongs to: its id without a letter at the end.

    Parameters
    ----------
    task_id : str

    Returns
    -------
    exercise : str

    Examples
    --------
    >>> exercise("2.1b"), exercise("2.4")
    ('2.1', '2.4')
    """
    return re.sub(r"[a-z]+$", "", task_id)


def _docstrings(assignment):
    """Find functions whose body a variant replaces, but whose formula is still that of the base."""
    if "reference.py" not in assignment.files:
        return
    base = _functions(read_text(assignment.files["reference.py"]))
    for variant in sorted(set(assignment.variants) - {"base"}):
        fragment = assignment.files.get(f"variants/{variant}.py")
        if fragment is None:
            continue
        try:
            made = _functions(assignment.source(variant))
            replaced = _functions(read_text(fragment))
        except (SyntaxError, UserError) as error:
            yield f"variants/{variant}.py cannot be used: {error}"
            continue
        public = [name for name in replaced if name in base and not name.startswith("_")]
        if public and all(_same_docstring(base, made, name) for name in public):
            yield (
                f"variants/{variant}.py: all docstrings are those of the base variant, so the stub "
                "describes the base variant; add WORDS or docstrings"
            )
        for name in public:
            if name not in made:
                continue
            before, after = (
                ast.get_docstring(each[name], clean=False) or "" for each in (base, made)
            )
            formula = MATH.search(before)
            if formula and formula[0] in after and not ast.get_docstring(replaced[name]):
                yield (
                    f"variants/{variant}.py, {name}: the docstring still has the formula of the "
                    "base variant; give the function a docstring that begins with `.. math::`"
                )


def _same_docstring(base, made, name):
    return name in made and ast.get_docstring(base[name]) == ast.get_docstring(made[name])


def _rubrics(assignment):
    """Check that the items of a rubric add up to the points of their task."""
    for task in assignment.tasks:
        total = sum(item["points"] for item in task.rubric)
        if task.rubric and total != task.points:
            yield (
                f"assignment.toml, task {task.id}: the rubric adds up to {total:g} points, the "
                f"task has {task.points:g}"
            )


def _functions(source):
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
