"""The student's functions in place of the package's primitives."""

import builtins
import hashlib
import importlib
import linecache
from types import ModuleType

from tqdm import tqdm

from ibpcl.classroom.assignments.slices import sliced
from ibpcl.errors import UserError
from ibpcl.inference.backend import OwnPrimitives
from ibpcl.learn.broken import runnable
from ibpcl.learn.chapters import chapters
from ibpcl.learn.checking import DONE, judge_file
from ibpcl.learn.folder import FOLDER, Folder

PATIENCE = 2.0  # seconds after which a progress bar appears on a terminal


class FailedCheck(UserError):
    """A function of the student fails its check."""


def backend(folder=FOLDER, unchecked=False, only=None):
    """Return a backend that computes with a student's functions where they exist.

    Every function of the folder that belongs to an exercise is checked first.  Functions that are
    not filled in yet are passed over: the reference functions stand in for them.

    Parameters
    ----------
    folder : path-like
        The student's folder.
    unchecked : bool
        Whether to use functions that fail their check.
    only : collection of str, optional
        Modules such as ``sticks`` and functions such as ``gaussian.kl``: no others are checked and
        used.  By default all.

    Returns
    -------
    backend : ibpcl.inference.backend.OwnPrimitives
        Give it to :func:`ibpcl.run` or :func:`ibpcl.learner` as ``backend``.

    Raises
    ------
    FailedCheck
        If a function fails its check; the message has its verdict.
    UserError
        If no function is filled in.
    """
    student = Folder(folder)
    student.require()
    functions = {}
    refused = []
    # the bar is shown on a terminal only
    for chapter, stem, exercises in tqdm(
        _files(student, only), "check", unit=" files", delay=PATIENCE, leave=False, disable=None
    ):
        verdicts = judge_file(student, chapter, stem, exercises)
        for tasks in map(chapter.exercises.get, exercises):
            found = [verdicts[task.id] for task in tasks]
            if found[0].state == "missing":
                continue
            wrong = [each for each in found if each.state != DONE]
            if wrong and not unchecked:
                at = found.index(wrong[0])
                words = [line for line in wrong[0].words if not line.endswith(": right")]
                reason = "; ".join(words) or wrong[0].state
                refused.append(f"{stem}.{tasks[at].function}: {reason}")
                continue
            if any(verdict.state == "missing" for verdict in found):
                continue
            names = dict.fromkeys(task.function for task in tasks)
            functions.setdefault(stem, []).extend(names)
    if refused:
        raise FailedCheck(
            f"{student.path}: {len(refused)} of your functions failed their check: "
            + " | ".join(refused)
        )
    if not functions and only is None:
        raise UserError(f"{student.path}: no function is filled in yet; `ibpcl learn` shows where")
    return load(student, functions)


def _files(student, only):
    """Return the files of each chapter: the chapter, the file's stem, numbers of exercises."""
    files = {}
    for chapter in chapters():
        for number, tasks in chapter.exercises.items():
            stem = tasks[0].module
            if not stem or not student.file(stem).exists():
                continue
            if only is None or {stem, f"{stem}.{tasks[0].function}"} & set(only):
                found = files.setdefault((chapter.number, stem), (chapter, stem, []))
                found[2].append(number)
    return list(files.values())


def load(student, functions):
    """Load some functions of a student's folder without checking them.

    Parameters
    ----------
    student : ibpcl.learn.folder.Folder
    functions : dict of str to list of str
        Names by module.

    Returns
    -------
    backend : ibpcl.inference.backend.OwnPrimitives
    """
    sources = {stem: runnable(student.source(stem) or "").source for stem in functions}
    packages = student.packages
    text = "\n".join(sliced(sources[stem], names) for stem, names in sorted(functions.items()))
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    made = OwnPrimitives({}, str(student.path), sha256)

    def import_(name, *rest):
        """Import a module; the student's package and the primitives are the backend itself."""
        if name in (*packages, "ibpcl.primitives"):
            return made
        return importlib.__import__(name, *rest)

    for stem, names in functions.items():
        module = ModuleType(f"{student.package}.{stem}")
        module.__file__ = str(student.file(stem))
        module.__builtins__ = {**vars(builtins), "__import__": import_}
        source = sources[stem]
        linecache.cache[module.__file__] = (
            len(source),
            None,
            source.splitlines(keepends=True),
            module.__file__,
        )
        exec(compile(source, module.__file__, "exec"), vars(module))
        made.replace(stem, {name: getattr(module, name) for name in names})
    return made
