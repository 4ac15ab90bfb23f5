"""The student's functions in place of the package's primitives."""

import builtins
import hashlib
import importlib
import linecache
from types import ModuleType

from ibpcl.classroom.assignments.slices import sliced
from ibpcl.errors import UserError
from ibpcl.inference.backend import OwnPrimitives
from ibpcl.learn.broken import runnable
from ibpcl.learn.chapters import chapters
from ibpcl.learn.checking import DONE, judge_file
from ibpcl.learn.folder import FOLDER, Folder


def backend(folder=FOLDER, unchecked=False):
    """Return a backend that computes with a student's functions where they exist.

    Every function of the folder that belongs to an exercise is checked first.  Functions that are
    not filled in yet are passed over: the reference functions stand in for them.

    Parameters
    ----------
    folder : path-like
        The student's folder.
    unchecked : bool
        Whether to use functions that fail their check.

    Returns
    -------
    backend : ibpcl.inference.backend.OwnPrimitives
        Give it to :func:`ibpcl.run` or :func:`ibpcl.learner` as ``backend``.

    Raises
    ------
    UserError
        If a function fails its check; the message has its verdict.  If no function is filled in.
    """
    student = Folder(folder)
    student.require()
    functions = {}
    refused = []
    for chapter in chapters():
        for stem in chapter.files:
            if stem == chapter.assignment.name or not student.file(stem).exists():
                continue
            verdicts = judge_file(student, chapter, stem)
            for tasks in chapter.exercises.values():
                if tasks[0].module != stem:
                    continue
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
        raise UserError(
            f"{student.path}: {len(refused)} of your functions failed their check: "
            + " | ".join(refused)
        )
    if not functions:
        raise UserError(f"{student.path}: no function is filled in yet; `ibpcl learn` shows where")
    return load(student, functions)


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
