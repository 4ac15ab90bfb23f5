"""Check a student's exercises with the judge of the classroom."""

import ast
import hashlib
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from ibpcl.classroom.assignments.assignment import IMPORTS, parts_library
from ibpcl.classroom.assignments.slices import imports, sliced
from ibpcl.classroom.feedback.plain_words import plain_hint
from ibpcl.classroom.intake.submission import Submission
from ibpcl.classroom.judging.judge import AGAIN, judge
from ibpcl.classroom.judging.verdict import Verdict
from ibpcl.errors import UserError
from ibpcl.learn.broken import misfit, runnable
from ibpcl.learn.chapters import chapters
from ibpcl.storage import write_text

SECONDS = 60  # of all functions of a file
SECONDS_PER_CALL = 5
DONE = "right"
UNDECIDED = "the check cannot decide whether this gradient is right"
NOT_LOADED = "cannot be loaded"  # in the judge's reason


@dataclass
class Checked:
    """The verdict on one exercise.

    Attributes
    ----------
    exercise, title : str
    state : str
        ``right``, ``partial``, ``wrong``, ``raises``, ``missing`` or ``not judged``: the worst of
        its tasks.
    lines : list of str
        What the judge says, a line for each task and remark.
    verdicts : list of ibpcl.classroom.judging.verdict.Verdict
    was_done : bool
        Whether the exercise was done before this check.
    """

    exercise: str
    title: str
    state: str
    lines: list = field(default_factory=list)
    verdicts: list = field(default_factory=list)
    was_done: bool = False

    @property
    def ok(self):
        """True if the exercise is done."""
        return self.state == DONE


ORDER = ("raises", "wrong", "partial", "not judged", "missing", "right")


def check_chapter(folder, chapter):
    """Check all exercises of a chapter, and record the result.

    Parameters
    ----------
    folder : ibpcl.learn.folder.Folder
    chapter : ibpcl.learn.chapters.Chapter

    Returns
    -------
    checked : list of Checked
        One for each exercise, in their order.

    Raises
    ------
    UserError
        If the chapter has not been started.
    """
    folder.require()
    notebook = folder.path / f"{chapter.assignment.name}.ipynb"
    if notebook.exists():
        verdicts = _of_notebook(folder, chapter, notebook)
    else:
        if not any(folder.file(stem).exists() for stem in chapter.files):
            raise UserError(
                f"learn: chapter {chapter.number} has not been started: `ibpcl learn start "
                f"{chapter.number}` writes its exercises"
            )
        verdicts = {}
        for stem in chapter.files:
            verdicts |= judge_file(folder, chapter, stem)
    checked = [joined(number, tasks, verdicts) for number, tasks in chapter.exercises.items()]
    for each in checked:
        _record(folder, each, chapter.exercises[each.exercise])
    folder.save()
    return checked


def judge_file(folder, chapter, stem, exercises=None):
    """Judge the functions of one of the student's files.

    Parameters
    ----------
    folder : ibpcl.learn.folder.Folder
    chapter : ibpcl.learn.chapters.Chapter
    stem : str
        One of the chapter's files.
    exercises : collection of str, optional
        Numbers of the exercises to judge; by default all of this file.

    Returns
    -------
    verdicts : dict of str to ibpcl.classroom.judging.verdict.Verdict
        By task.
    """
    path = folder.file(stem)
    tasks = [
        task
        for number, group in chapter.exercises.items()
        if exercises is None or number in exercises
        for task in group
        if chapter.file_of(task) == stem
    ]
    try:
        source = folder.source(stem) or ""
    except UserError as error:
        return {task.id: _refused(task, str(error).removeprefix("learn: ")) for task in tasks}
    return judge_text(folder, chapter, tasks, source, path)


def _of_notebook(folder, chapter, path):
    """Judge a chapter in a notebook; primitives that are right are copied to their modules."""
    source = notebook_source(path)
    verdicts = judge_text(folder, chapter, chapter.assignment.tasks, source, path)
    source = runnable(source).source
    for stem in chapter.files:
        tasks = [task for task in chapter.assignment.tasks if chapter.file_of(task) == stem]
        names = [task.function for task in tasks if verdicts[task.id].state == DONE]
        if stem == chapter.assignment.name or len(names) < len(tasks) or folder.file(stem).exists():
            continue
        text = "\n".join(imports(source)) + "\n\n\n" + sliced(source, names) + "\n"
        write_text(folder.file(stem), text)
    return verdicts


def notebook_source(path):
    """Return the code of a notebook as the classroom reads it.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    source : str
    """
    from ibpcl.classroom.intake import submission as submissions

    return submissions.read(Path(path)).source


def judge_text(folder, chapter, tasks, source, path):
    """Judge the functions in a text.

    A function that is not Python, cannot be judged, or does not fit costs its own exercise only.

    Parameters
    ----------
    folder : ibpcl.learn.folder.Folder
    chapter : ibpcl.learn.chapters.Chapter
    tasks : list of ibpcl.classroom.assignments.assignment.Task
        Tasks of the chapter that the text answers.
    source : str
        Text of the functions.
    path : pathlib.Path
        Its file.

    Returns
    -------
    verdicts : dict of str to ibpcl.classroom.judging.verdict.Verdict
        By task.
    """
    functions = {task.id: task.function for task in tasks}
    text, reasons = runnable(source)
    rest = reasons.get("", "")
    verdicts = {}
    for task in tasks:
        reason = reasons.get(task.function, "" if text else rest)
        if reason:
            verdicts[task.id] = _refused(task, f"{task.function} cannot be read: {reason}")
    # a gradient without its function, and the two at extreme inputs, cannot be called
    for task in tasks if verdicts else ():
        unread = [each for each in task.needs if each in verdicts]
        if task.kind in ("vjp", "extremes") and unread and task.id not in verdicts:
            reason = f"not judged because {functions[unread[0]]} cannot be read"
            verdicts[task.id] = _refused(task, reason, "not judged")
    left = [task for task in tasks if task.id not in verdicts]
    if left:
        verdicts |= _judged(folder, chapter, left, text, path)
    _explain_imports(folder, text, verdicts.values())
    for verdict in verdicts.values():
        if verdict.state == "by hand":  # the path has no teacher
            verdict.state = "not judged"
            verdict.words = [UNDECIDED]
    for verdict in verdicts.values():  # a student knows the functions, not the ids of the tasks
        verdict.words = [
            re.sub(
                r"(?<=^not judged because )\S+",
                lambda found: functions.get(found[0], found[0]),
                words,
            )
            for words in verdict.words
        ]
    is_notebook = path.suffix == ".ipynb"
    references = {
        node.name: node
        for node in ast.parse(chapter.assignment.source()).body
        if isinstance(node, ast.FunctionDef)
    }
    for task in left:
        verdict = verdicts[task.id]
        reason = "" if is_notebook else misfit(task, text, references[task.function])
        if reason and verdict.state != "missing":
            verdict.state = "wrong"
            verdict.points = 0.0
            verdict.words = [words for words in verdict.words if not words.endswith("right")]
            verdict.words.insert(0, reason)
    return verdicts


def _explain_imports(folder, text, verdicts):
    """Explain a name that is missing because the student's own package does not have it.

    Only the functions of exercises can be imported, because each file is judged by itself.
    """
    own = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(folder.packages):
            own |= {alias.asname or alias.name: node.module for alias in node.names}
    packages = "|".join(map(re.escape, folder.packages))
    attribute = re.compile(rf"module '((?:{packages})\.\w+)' has no attribute '(\w+)'")
    for verdict in verdicts:
        for at, words in enumerate(verdict.words):
            missing = re.search(r"name '(\w+)' is not defined", words)
            lacking = attribute.search(words)
            if missing and missing[1] in own:
                name = missing[1]
                module = own[name]
            elif lacking:
                module, name = lacking.groups()
            else:
                continue
            verdict.words[at] = (
                f"{words}: {module} gives other files the functions of its exercises only; copy "
                f"{name} into this file"
            )


def _refused(task, reason, state="raises"):
    """Return the verdict on a task whose function cannot be judged."""
    verdict = Verdict.of(task)
    verdict.state = state
    verdict.words = [reason]
    return verdict


def _judged(folder, chapter, tasks, source, path):
    """Return the verdicts on some tasks by their ids; if judging fails, exercise by exercise."""
    known = {task.id for task in tasks}
    tasks = [replace(task, needs=tuple(n for n in task.needs if n in known)) for task in tasks]
    result = _result(folder, chapter, tasks, source, path)
    if result.status == "graded":
        return {verdict.task: verdict for verdict in result.verdicts}
    groups = _exercises(chapter, tasks)
    # a file that cannot be loaded cannot be loaded for any exercise
    if len(groups) > 1 and NOT_LOADED not in result.reason:
        verdicts = {}
        for group in groups:
            verdicts |= _judged(folder, chapter, group, source, path)
        return verdicts
    state = "not judged" if result.reason.startswith(AGAIN) else "raises"
    return {task.id: _refused(task, result.reason, state) for task in tasks}


def _exercises(chapter, tasks):
    """Return the given tasks by exercise."""
    ids = {task.id: task for task in tasks}
    groups = [
        [ids[task.id] for task in exercise if task.id in ids]
        for exercise in chapter.exercises.values()
    ]
    return [group for group in groups if group]


def _result(folder, chapter, tasks, source, path):
    """Return the judge's result for some tasks of a chapter."""
    assignment = replace(
        chapter.assignment,
        tasks=tuple(tasks),
        imports=(*IMPORTS, *folder.packages, "ibpcl"),
        limits={
            "seconds": SECONDS,
            "seconds_per_call": SECONDS_PER_CALL,
            "memory_mb": chapter.assignment.limits["memory_mb"],
        },
        library=library_of(folder),
        exact_shapes=True,
        any_own_parts=True,
    )
    sha256 = hashlib.sha256(source.encode()).hexdigest()
    submissions = Submission("", Path(path), Path(path).name, source, sha256)
    return judge(assignment, submissions, "none", variant="base", figures=False)


def library_of(folder):
    """Return the modules that a student's functions may import, as texts by name.

    A module of the student's package has the reference functions, and in place of those that have
    passed their check the student's own.

    Parameters
    ----------
    folder : ibpcl.learn.folder.Folder

    Returns
    -------
    library : dict of str to str
    """
    library = parts_library()
    library |= dict.fromkeys(folder.packages, "")
    own = passed(folder)
    library["own"] = ""
    for name in [name for name in library if name.startswith("ibpcl.primitives.")]:
        stem = name.rpartition(".")[2]
        lines = [f"from {name} import *"]
        if own.get(stem):
            library[f"own.{stem}"] = runnable(folder.source(stem)).source
            lines.append(f"from own.{stem} import {', '.join(own[stem])}")
        library |= {f"{each}.{stem}": "\n".join(lines) for each in folder.packages}
    return library


def passed(folder):
    """Return the functions that have passed their check and have not changed since.

    Parameters
    ----------
    folder : ibpcl.learn.folder.Folder

    Returns
    -------
    functions : dict of str to list of str
        By module of the student's package, gradients included.
    """
    found = {}
    for chapter in chapters():
        for number, tasks in chapter.exercises.items():
            if not tasks[0].module or folder.entry(number)["state"] != DONE:
                continue
            stem = tasks[0].module
            if folder.entry(number).get("sha256") == text_sha256(folder, stem, tasks):
                found.setdefault(stem, []).extend(dict.fromkeys(task.function for task in tasks))
    return found


def text_sha256(folder, stem, tasks):
    """Return the hash of the text of some functions with everything that they need.

    Parameters
    ----------
    folder : ibpcl.learn.folder.Folder
    stem : str
    tasks : list of ibpcl.classroom.assignments.assignment.Task

    Returns
    -------
    sha256 : str
        "" if the file cannot be read.
    """
    try:
        source = runnable(folder.source(stem) or "").source
    except UserError:
        return ""
    text = sliced(source, [task.function for task in tasks])
    return hashlib.sha256(text.encode()).hexdigest()


def joined(number, tasks, verdicts):
    """Join the verdicts on the tasks of an exercise.

    Parameters
    ----------
    number : str
        The exercise, such as ``2.1``.
    tasks : list of ibpcl.classroom.assignments.assignment.Task
    verdicts : dict of str to ibpcl.classroom.judging.verdict.Verdict
        By task.

    Returns
    -------
    checked : Checked
    """
    found = [verdicts[task.id] for task in tasks]
    state = min((verdict.state for verdict in found), key=ORDER.index)
    if found[0].state == "missing":
        state = "missing"
    lines = []
    for task, verdict in zip(tasks, found, strict=True):
        for words in verdict.words:
            # what is right needs no words, unless it is right for another, wrong function
            idle = verdict.state == DONE and len(found) > 1 and "your own" not in words
            if words == "right" or idle:
                continue
            named = len(found) == 1 or words.startswith(task.function)
            lines.append(words if named else f"{task.function}: {words}")
        lines += [f"hint: {plain_hint(part.hint)}" for part in verdict.parts if part.hint]
    return Checked(number, tasks[0].title, state, list(dict.fromkeys(lines)), found)


def _record(folder, checked, tasks):
    """Write the verdict on an exercise into the record of progress."""
    entry = folder.entry(checked.exercise)
    checked.was_done = entry["state"] == DONE
    if checked.state == "missing":
        entry["state"] = "new"
        return
    entry["state"] = checked.state
    entry["tries"] += 1
    if checked.ok and tasks[0].module:
        entry["sha256"] = text_sha256(folder, tasks[0].module, tasks)
