"""Assignments: tasks, variants, reference solution, inputs and statement, read from a folder."""

import functools
import importlib.util
import linecache
import re
import types
from dataclasses import dataclass, field, fields
from pathlib import Path

from ibpcl.classroom.assignments.merging import merged
from ibpcl.classroom.assignments.slices import imports, sliced
from ibpcl.errors import UserError
from ibpcl.storage import read_text, read_toml


def _teacher():
    """Return the folder of the package with the files that only teachers have, or None."""
    spec = importlib.util.find_spec("ibpcl_teacher")
    if spec is not None and spec.origin:
        return Path(spec.origin).parent
    return SOURCE if SOURCE.is_dir() else None


FOLDER = Path(__file__).parent
SOURCE = Path(__file__).parents[3] / "teacher" / "ibpcl_teacher"  # in a copy of the source
CHAPTERS = Path(__file__).parents[2] / "learn" / "chapters"  # assignments of the guided path
PRIMITIVES = Path(__file__).parents[2] / "primitives"
TEACHER = _teacher()
KINDS = (
    "forward",
    "vjp",
    "extremes",
    "proof",
    "step",
    "text",
    "referee",
    "test",
    "number",
    "choice",
    "prediction",
    "counterexample",
)
PLAIN = ("proof", "step")  # kinds whose functions return a value without a cache
SOLUTIONS = ("bank.py", "reference.py")  # files
ANSWERS = ("number", "choice", "prediction", "counterexample")  # kinds without an input
VISIBILITIES = ("public", "hidden")
IMPORTS = ("numpy", "scipy", "math")
LIMITS = {"seconds": 60, "memory_mb": 1024}  # of a hand-in; an assignment may set others


@dataclass(frozen=True)
class Task:
    """One task of an assignment.

    Attributes
    ----------
    id : str
        A number and a letter, such as ``"1a"``.
    kind : str
        One of :data:`KINDS`.
    title : str
        Title for students.
    points : float
        Points of a right answer.
    function : str
        Name of the student's function.
    forward : str
        For a gradient, the name of the forward that it belongs to; for a test, that of the forward
        whose gradients it tests.
    needs : tuple of str
        Ids of the tasks without which this one cannot be judged.
    wrt : tuple of str
        The inputs with respect to which the gradient is taken.
    rtol : float
        Largest relative error allowed.
    visibility : {"public", "hidden"}
        Whether students can check the task themselves.
    inputs : str
        The function of ``inputs.py`` that makes the inputs.
    hints : tuple of str
        Hints, from a vague one to one that nearly solves the task.
    independent_of : tuple of str
        Functions that raise an exception while a proof runs.
    integral : bool
        Whether a proof must integrate or sum over nodes; one that does not is flagged.
    rubric : tuple of dict
        Grading criteria of a written task, each with ``points`` and ``text``.
    module : str
        Module of :mod:`ibpcl.primitives` that has the reference; "" if ``reference.py`` has it.
    choices : tuple of str
        Answers to choose from; the first is "a".
    because : str
        Explanation that is shown with a right answer.
    exhibit : str
        Gradient of ``reference.py`` that a counterexample must refute.

    Notes
    -----
    The attributes are the keys of ``[[task]]`` in ``assignment.toml``.
    """

    id: str
    kind: str
    title: str
    points: float
    function: str = ""
    forward: str = ""
    needs: tuple = ()
    wrt: tuple = ()
    rtol: float = 1e-9
    visibility: str = "public"
    inputs: str = ""
    hints: tuple = ()
    independent_of: tuple = ()
    integral: bool = False
    rubric: tuple = ()
    module: str = ""
    choices: tuple = ()
    because: str = ""
    exhibit: str = ""

    @property
    def is_plain(self):
        """True if the function returns its value alone, without a cache."""
        return self.kind in PLAIN


@dataclass(frozen=True)
class Assignment:
    """An assignment: one folder.

    Attributes
    ----------
    name : str
        Name of the folder.
    folder : pathlib.Path
        The folder.
    title : str
        Title for students.
    hours : float
        Estimated working time of a student.
    points : float
        Points of all tasks together.
    tasks : tuple of Task
        The tasks, in the order of ``assignment.toml``.
    variants : dict of str to str
        Name of each variant to the sentence that describes it for students.
    imports : tuple of str
        Packages that a hand-in may import.
    limits : dict
        ``seconds`` and ``memory_mb`` that a hand-in may use.
    exact_shapes : bool
        Whether a result with additional axes of length one is wrong.  Otherwise it counts, and the
        verdict says so.
    any_own_parts : bool
        Whether a function is right that fits a wrong function of the same file which it calls.
        Otherwise that one must be recognizable, so that guesses earn no points.
    """

    name: str
    folder: Path
    title: str
    hours: float
    points: float
    tasks: tuple
    variants: dict
    imports: tuple = IMPORTS
    limits: dict = field(default_factory=dict)
    library: dict = field(default_factory=dict)  # modules for the hand-in, as texts by name
    exact_shapes: bool = False
    any_own_parts: bool = False

    @property
    def file(self):
        """Name of the file that a student hands in."""
        return re.sub(r"^\d+_", "", self.name) + ".py"

    def task(self, name):
        """Return the task with this id.

        Parameters
        ----------
        name : str
            Id of a task of this assignment.

        Returns
        -------
        Task
        """
        return next(task for task in self.tasks if task.id == name)

    @functools.cached_property
    def files(self):
        """Path of each file by its name in the assignment, those that only teachers have last."""
        places = [self.folder]
        if TEACHER is not None and self.folder.parent == FOLDER:
            places.append(TEACHER / self.name)
        return {
            path.relative_to(place).as_posix(): path
            for place in places
            for path in sorted(place.rglob("*"))
            if path.suffix in (".py", ".toml", ".md") and "__pycache__" not in path.parts
        }

    @property
    def has_solution(self):
        """True if the solution is installed; students' installations of the package lack it."""
        return any(name in self.files for name in SOLUTIONS) or any(t.module for t in self.tasks)

    def path(self, name):
        """Return the path of a file of the assignment.

        Parameters
        ----------
        name : str
            Name of the file, such as ``"inputs.py"``.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        UserError
            If the file does not exist.
        """
        if name not in self.files:
            raise UserError(
                f"class: {self.name} has no {name} here: only teachers have it, with the package "
                "ibpcl-teacher, which is the folder `teacher` of the source"
            )
        return self.files[name]

    def source(self, variant="base"):
        """Return the text of the reference solution in a variant.

        Parameters
        ----------
        variant : str
            Name of the variant.

        Returns
        -------
        str
            Python text.  For a referee, the right pairs come first.

        Raises
        ------
        UserError
            If the assignment has no such variant.
        """
        parts = [name for name in SOLUTIONS if name in self.files]
        if not self.has_solution:
            parts = ["reference.py"]  # only teachers have it
        base = "\n\n".join([read_text(self.path(name)) for name in parts] + self._primitives())
        if variant == "base":
            return base
        if variant not in self.variants:
            raise UserError(
                f"class: {self.name} has no variant {variant!r}; it has {', '.join(self.variants)}"
            )
        return merged(base, read_text(self.path(f"variants/{variant}.py")), variant)

    def _primitives(self):
        """Return the functions of the package's primitives that tasks ask for, module by module."""
        names = {}
        for task in self.tasks:
            if task.module:
                names.setdefault(task.module, []).append(task.function)
        found = []
        for module, functions in names.items():
            source = read_text(PRIMITIVES / f"{module}.py")
            found.append("\n".join(imports(source)) + "\n\n\n" + sliced(source, functions))
        return found

    def reference(self, variant="base"):
        """Return the reference solution in a variant, as a module.

        Parameters
        ----------
        variant : str
            Name of the variant.

        Returns
        -------
        types.ModuleType
        """
        return module(self.source(variant), f"{self.name}_{variant}")

    def maker(self, name):
        """Return the function of ``inputs.py`` with this name.

        Parameters
        ----------
        name : str
            Name of the function.

        Returns
        -------
        callable
            ``maker(rng, size)`` returns the inputs as a dict.
        """
        return getattr(_inputs(self.path("inputs.py")), name)

    def statement(self, variant="base"):
        """Return the statement, with the passages of this variant only.

        Parameters
        ----------
        variant : str
            Name of the variant.

        Returns
        -------
        str
            Markdown.
        """
        text = read_text(self.folder / "statement.md")
        return re.sub(
            r"<!-- variant: (.*?) -->\n?(.*?)<!-- end -->\n?",
            lambda match: match[2] if variant in re.split(r"[,\s]+", match[1]) else "",
            text,
            flags=re.DOTALL,
        )


def functions_of(assignment):
    """Return the names of the functions that a hand-in must define.

    Parameters
    ----------
    assignment : Assignment
        The assignment.

    Returns
    -------
    set of str
        Functions of the tasks; for a referee, its proofs.
    """
    functions = {task.function for task in assignment.tasks if task.function}
    return functions or {f"proof_{task.id}" for task in assignment.tasks}


def names():
    """Return the names of the package's assignments, in order.

    Returns
    -------
    list of str
    """
    return sorted(path.parent.name for path in FOLDER.glob("*/assignment.toml"))


def named(name):
    """Return the package's assignment with this name or number, or None.

    Parameters
    ----------
    name : str
        Full name, number, or name without the number.  A path is never looked up.

    Returns
    -------
    Assignment or None
    """
    for each in names():
        number, _, word = each.partition("_")
        if name in (each, word, number) or (
            name.isdecimal() and number.isdecimal() and int(name) == int(number)
        ):
            return load(FOLDER / each)
    if (CHAPTERS / name / "assignment.toml").is_file() and re.fullmatch(r"chapter_\d\d", name):
        return load(CHAPTERS / name)
    return None


def find(name):
    """Return the assignment with this name, number, or folder.

    Parameters
    ----------
    name : str or path-like
        Name or number of an assignment of the package, or the path of a folder.

    Returns
    -------
    Assignment

    Raises
    ------
    UserError
        If the assignment does not exist, or its ``assignment.toml`` is inconsistent.
    """
    if (Path(name) / "assignment.toml").is_file():
        return load(Path(name).resolve())
    assignment = named(str(name))
    if assignment is not None:
        return assignment
    raise UserError(
        f"class: unknown assignment {name!r}; `ibpcl class list` lists them, or give a folder "
        "with an assignment.toml"
    )


@functools.cache
def load(folder):
    """Return the assignment in a folder.

    Parameters
    ----------
    folder : pathlib.Path
        A folder with ``assignment.toml``.

    Returns
    -------
    Assignment

    Raises
    ------
    UserError
        If ``assignment.toml`` is inconsistent: an unknown key, two tasks with one id, points that
        do not add up, or a task without a required key.
    """
    table = read_toml(folder / "assignment.toml")
    known = {item.name for item in fields(Task)}
    tasks = []
    for entry in table.get("task", ()):
        if unknown := set(entry) - known:
            raise UserError(
                f"class: {folder.name}: task {entry.get('id')}: unknown key {sorted(unknown)[0]}"
            )
        tasks.append(
            Task(
                **{
                    key: tuple(value) if isinstance(value, list) else value
                    for key, value in entry.items()
                }
            )
        )
    limits = {**LIMITS, **table.get("limits", {})}
    assignment = Assignment(
        folder.name,
        folder,
        table["title"],
        table["hours"],
        table["points"],
        tuple(tasks),
        table.get("variants", {"base": ""}),
        tuple(table.get("imports", IMPORTS)),
        limits,
        parts_library(without={task.module for task in tasks})
        if any(task.module for task in tasks)
        else {},
    )
    _refuse_misfits(assignment)
    return assignment


def parts_library(without=()):
    """Return the package's primitives as texts by name, for compositions that call them.

    Parameters
    ----------
    without : collection of str
        Modules to leave out, because a hand-in is to write them.

    Returns
    -------
    library : dict of str to str
    """
    library = dict.fromkeys(("ibpcl", "ibpcl.primitives"), "")
    library["ibpcl.numerics"] = read_text(PRIMITIVES.parent / "numerics.py")
    for path in PRIMITIVES.glob("[a-z]*.py"):
        if path.stem not in without:
            library[f"ibpcl.primitives.{path.stem}"] = read_text(path)
    return library


def _refuse_misfits(assignment):
    ids = [task.id for task in assignment.tasks]
    total = sum(task.points for task in assignment.tasks)
    if len(set(ids)) < len(ids):
        raise UserError(f"class: {assignment.name}: two tasks have the same id")
    if total != assignment.points:
        raise UserError(
            f"class: {assignment.name}: the tasks' points add up to {total}, not "
            f"{assignment.points}"
        )
    for task in assignment.tasks:
        where = f"class: {assignment.name}: task {task.id}"
        if task.kind not in KINDS:
            raise UserError(f"{where}: kind must be one of {', '.join(KINDS)}, got {task.kind!r}")
        if task.visibility not in VISIBILITIES:
            raise UserError(
                f"{where}: visibility must be public or hidden, got {task.visibility!r}"
            )
        if set(task.needs) - set(ids):
            raise UserError(f"{where}: needs names a task that does not exist")
        if any(
            not isinstance(item, dict)
            or not isinstance(item.get("points"), (int, float))
            or not isinstance(item.get("text"), str)
            for item in task.rubric
        ):
            raise UserError(f"{where}: each item of rubric must have points, a number, and text")
        if task.kind in ("forward", "vjp", "extremes", *PLAIN) and not (
            task.function and task.inputs
        ):
            raise UserError(f"{where}: function and inputs must be given")
        if task.kind in ANSWERS and not task.function:
            raise UserError(f"{where}: function must be given")
        if task.kind in ("choice", "prediction") and not task.choices:
            raise UserError(f"{where}: choices must be given")
        if task.kind == "test" and not (task.function and task.forward and task.inputs):
            raise UserError(f"{where}: function, forward and inputs must be given")
        if task.kind == "counterexample" and not (task.forward and task.exhibit):
            raise UserError(f"{where}: forward and exhibit must be given")


def module(source, name):
    """Run a trusted text and return it as a module.

    The source stays readable through :mod:`linecache`, so the checker can name the lines of a
    backward pass.

    Parameters
    ----------
    source : str
        Python text.  It is executed, so it must be trusted.
    name : str
        Name of the module.

    Returns
    -------
    types.ModuleType
    """
    made = types.ModuleType(name)
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), made.__dict__)
    return made


@functools.cache
def _inputs(path):
    return module(read_text(path), f"{path.parent.name}_inputs")
