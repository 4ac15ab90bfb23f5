"""A user's file as a module: a Python file or a notebook, without statements that raise."""

import ast
import contextlib
import functools
import importlib.util
import io
import linecache
import sys
import types
from pathlib import Path
from typing import NamedTuple

import numpy

from ibpcl.errors import UserError
from ibpcl.verify.adapters import notebooks
from ibpcl.verify.adapters.refusals import raised
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.running.trap import limit

# Folders with files that are not the user's: this package, Python and its libraries.
LIBRARIES = (Path(__file__).parents[2], sys.prefix, sys.base_prefix)
ANCESTORS = 5  # folders above a file in which its imports are searched
SECONDS = 10.0  # time limit for a statement of a file; longer ones train something
# Stands for the text that a program learns from.
TEXT = "the quick brown fox jumps over the lazy dog\n" * 4
# Libraries with the functions of NumPy. NumPy takes their place if they are not installed.
LIKE_NUMPY = ("autograd.numpy", "cupy", "jax.numpy")
# Names that NumPy has removed, and what they were.
REMOVED = {
    "float": float,
    "int": int,
    "bool": bool,
    "object": object,
    "complex": complex,
    "str": str,
    "float_": numpy.float64,
    "complex_": numpy.complex128,
    "Inf": numpy.inf,
    "infty": numpy.inf,
    "NaN": numpy.nan,
    "product": numpy.prod,
    "cumproduct": numpy.cumprod,
    "alltrue": numpy.all,
    "sometrue": numpy.any,
    "row_stack": numpy.vstack,
    "in1d": numpy.isin,
    "mat": numpy.asmatrix,
    "round_": numpy.round,
    "asfarray": lambda a: numpy.asarray(a, float),
    "msort": lambda a: numpy.sort(a, axis=0),
}
# Statements that are run even after another one has raised.
DEFINITIONS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
)


class Loaded(NamedTuple):
    """A module, and the statements of its file that raised.

    Attributes
    ----------
    module : module
        The module.
    failures : list of str
        One sentence for each statement that raised, in the order of the file.
    first : BaseException or None
        The first exception.
    """

    module: types.ModuleType
    failures: list
    first: BaseException | None


def load(path):
    """Run a file, or the code cells of a notebook, as a module.

    A statement that raises is skipped, because a missing data set should not prevent the check of a
    derivation.  After it, only definitions, imports and assignments are run.  The same holds for
    the files beside it that it imports.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    Loaded
        The module and the skipped statements.

    Raises
    ------
    UserError
        If there is no such file, it is not Python, or it ends the process.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise UserError(f"check: there is no file {path}")
    is_notebook = file.suffix == ".ipynb"
    tree = _parsed(file, path, is_notebook)
    module = _module(file, _levels(tree))
    failures = _restored(tree, file)
    _convert_arrays(tree, module)
    first = _run_all(tree, module, file, path, is_notebook, failures)
    return Loaded(module, failures, first)


def _restored(tree, file):
    """Restore names that NumPy has removed; return sentences about those that a file uses."""
    for name, meaning in REMOVED.items():
        if name not in vars(numpy):
            setattr(numpy, name, meaning)
    old = {
        node.attr: node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in REMOVED
        and vars(numpy)[node.attr] is REMOVED[node.attr]
        and getattr(node.value, "id", "") in ("np", "numpy")
    }
    return [
        f"{notebooks.place(file, node.lineno)}: NumPy has removed np.{name}; here it still works"
        for name, node in old.items()
    ]


def _convert_arrays(tree, module):
    """Let ``float(b)`` and ``int(b)`` take arrays of size one, as before NumPy 2.4.

    Only in files that call these names and do nothing else with them, such as ``dtype=float``.
    """
    nodes = list(ast.walk(tree))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for kind in (float, int):
        uses = [one for one in nodes if isinstance(one, ast.Name) and one.id == kind.__name__]
        if uses and all(id(one) in called for one in uses):
            vars(module)[kind.__name__] = functools.partial(_number, kind)


def _number(kind, *values):
    """Return ``kind(*values)``, where the only value may be an array with one entry."""
    if len(values) == 1 and isinstance(values[0], numpy.ndarray) and values[0].size == 1:
        return kind(values[0].item())
    return kind(*values)


def _run_all(tree, module, file, path, is_notebook, failures, inside=""):
    """Run the statements of a file, and return the first error.

    Sentences about statements that raise are appended to ``failures``; they name the file
    ``inside``, if there is one.
    """
    flags = _future_flags(tree)
    first = None
    for statement in tree.body:
        if (first is not None and not isinstance(statement, DEFINITIONS)) or (
            is_notebook and notebooks.shows_only(statement)
        ):
            continue
        error = _run(statement, module, file, flags, is_notebook)
        if error is not None and _run_imported(statement, module, failures):
            error = _run(statement, module, file, flags, is_notebook)
        if isinstance(error, FileNotFoundError) and Path(str(error.filename)).suffix == ".txt":
            name = Path(error.filename).name
            first = first or error  # the program does not learn from this text
            vars(module)["open"] = _open_or_text
            error = _run(statement, module, file, flags, is_notebook)
            where = notebooks.place(file, statement.lineno) + inside
            failures.append(f"{where}: {name} is missing; a short text takes its place")
        if isinstance(error, ModuleNotFoundError) and _stands_in(statement, module):
            names = " and ".join(_imported(statement))
            where = notebooks.place(file, statement.lineno) + inside
            failures.append(f"{where}: NumPy takes the place of {names}, which is not installed")
            continue
        if isinstance(error, SystemExit):
            where = notebooks.place(file, statement.lineno)
            raise UserError(
                f"check: {path} ends the process in {where} (SystemExit: {error}): put the code "
                'of a program under `if __name__ == "__main__":`'
            )
        if error is not None:
            where = notebooks.place(file, statement.lineno) + inside
            failures.append(f"{where} was skipped: {raised(error, 'it')}")
            first = first or error
    return first


def is_library(file):
    """Return whether a file belongs to Python, an installed package or this package.

    Parameters
    ----------
    file : str or Path
        The file.

    Returns
    -------
    bool
        False for the user's files.

    Examples
    --------
    >>> is_library(numpy.__file__), is_library("homework/layers.py")
    (True, False)
    """
    return "site-packages" in Path(file).parts or any(map(Path(file).is_relative_to, LIBRARIES))


def source_of(path):
    """Return the Python source of a file or notebook.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    bytes or str
        The source; text for a notebook.

    Raises
    ------
    UserError
        If a notebook cannot be read.
    OSError
        If a file cannot be read.
    """
    if str(path).endswith(".ipynb"):
        return notebooks.joined(notebooks.read(path))
    return Path(path).read_bytes()


def _parsed(file, path, is_notebook):
    """Return the syntax tree of a file, and make its lines available to reports."""
    try:
        source = source_of(file)
        if is_notebook:
            linecache.cache[str(file)] = (
                len(source),
                None,
                source.splitlines(keepends=True),
                str(file),
            )
        return compile(source, str(file), "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        where = f" in line {error.lineno}: {(error.text or '').strip()}" if error.lineno else ""
        raise UserError(f"check: {path} is not Python: SyntaxError{where} ({error.msg})") from error
    except UserError:
        raise
    except (OSError, ValueError) as error:
        raise UserError(f"check: {path} cannot be read: {error}") from error


def _future_flags(tree):
    import __future__

    names = [
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    ]
    flags = 0
    for name in names:
        flags |= getattr(__future__, name).compiler_flag
    return flags


def _levels(tree):
    """Return the most dots before a relative import, as in ``from ..layers import Dense``."""
    return max(
        (node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)), default=0
    )


def _module(file, levels):
    """Return an empty module for a file, prepared for imports from its folder and package.

    The package has as many folders as the relative imports need, also without ``__init__.py``.
    """
    spec = (
        importlib.util.spec_from_file_location(f"checked_{file.stem}", file)
        if file.suffix == ".py"
        else None
    )
    module = (
        importlib.util.module_from_spec(spec) if spec else types.ModuleType(f"checked_{file.stem}")
    )
    module.__file__ = str(file)
    sys.modules[module.__name__] = module  # dataclasses and pickles look their module up
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    parts = []
    folder = file.parent
    while (folder / "__init__.py").is_file() or len(parts) < levels:
        parts.insert(0, folder.name)
        folder = folder.parent
    if parts:
        sys.path.append(str(folder))
        module.__package__ = ".".join(parts)
        module.__spec__ = None
        for n in range(len(parts)):  # packages are not run: an __init__ may import everything
            name = ".".join(parts[: n + 1])
            if name not in sys.modules:
                package = types.ModuleType(name)
                package.__path__ = [str(folder.joinpath(*parts[: n + 1]))]
                package.__getattr__ = _filling(package)
                sys.modules[name] = package
    for name in {file.stem, ".".join([*parts, file.stem])}:
        known = getattr(sys.modules.get(name), "__name__", "checked_")
        if known.startswith("checked_") and name not in sys.stdlib_module_names:
            sys.modules[name] = module  # other files of the project import this one
            above, _, last = name.rpartition(".")
            if above:
                setattr(sys.modules[above], last, module)
    return module


def _filling(package):
    """Return a function that looks up a missing name of an empty package after running it."""

    def missing(name):
        if not name.startswith("__"):
            _fill(package.__name__)
            if name not in vars(package):  # its import was skipped, or came too early
                with contextlib.suppress(Exception):
                    importlib.import_module(f"{package.__name__}.{name}")
            if name in vars(package):
                return vars(package)[name]
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")

    return missing


def _run(statement, module, file, flags, is_notebook):
    """Run one statement of a file; return the exception that it raises, or None."""
    compiled = compile(ast.Module([statement], []), str(file), "exec", flags, dont_inherit=True)
    for _ in range(ANCESTORS):
        try:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                exec(compiled, vars(module))
            else:
                with limit(SECONDS):
                    exec(compiled, vars(module))
        except ModuleNotFoundError as error:
            if not _add_ancestor(error.name, file, _imported(statement)):
                return error
        except ImportError as error:
            if not _fill(error.name):
                return error
        except TimeUp as up:
            return up
        except (Exception, SystemExit) as error:
            return error
        else:
            return None
    return None


def _run_imported(statement, module, failures):
    """Run the files of an import that failed, without their statements that raise.

    Return whether there was such a file.  Installed packages are left out.
    """
    names = _imported(statement)
    if isinstance(statement, ast.ImportFrom) and statement.level:
        dots = "." * statement.level
        names = [dots + name for name in names]
    ran = False
    for name in names:
        try:
            full = importlib.util.resolve_name(name, module.__package__)
            spec = None if full in sys.modules else importlib.util.find_spec(full)
        except Exception:  # a package above it may fail as well
            continue
        if spec is None or not str(spec.origin).endswith(".py") or is_library(spec.origin):
            continue
        made = importlib.util.module_from_spec(spec)
        file = Path(spec.origin)
        try:
            tree = _parsed(file, file, False)
        except UserError:
            continue
        sys.modules[full] = made
        above, _, last = full.rpartition(".")
        if above in sys.modules:
            setattr(sys.modules[above], last, made)
        inner = []
        _run_all(tree, made, file, file.name, False, inner, f" of {file.name}")
        failures += [one for one in inner if one not in failures]
        ran = True
    return ran


def _open_or_text(name, mode="r", *arguments, **options):
    """Open a file; return a short text instead of a missing text file."""
    try:
        return open(name, mode, *arguments, **options)
    except FileNotFoundError:
        if mode not in ("r", "rt") or Path(str(name)).suffix != ".txt":
            raise
        return io.StringIO(TEXT)


def _stands_in(statement, module):
    """Import NumPy under the names of libraries like it; return whether that was all."""
    if not isinstance(statement, ast.Import) or not all(
        alias.asname and alias.name in LIKE_NUMPY for alias in statement.names
    ):
        return False
    for alias in statement.names:
        setattr(module, alias.asname, numpy)
    return True


def _fill(name):
    """Run the ``__init__.py`` of an empty package; return whether there was one to run.

    Statements that raise are skipped, as in the file itself.
    """
    package = sys.modules.get(name)
    folders = list(getattr(package, "__path__", ()))
    file = Path(folders[0], "__init__.py") if folders else None
    if file is None or hasattr(package, "__file__") or not file.is_file():
        return False
    package.__file__ = str(file)
    package.__package__ = name
    try:
        tree = _parsed(file, file, False)
    except UserError:
        return False
    for statement in tree.body:
        _run(statement, package, file, _future_flags(tree), False)
    return True


def _imported(statement):
    """Return the full names of the modules that a statement imports."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return [statement.module] if isinstance(statement, ast.ImportFrom) and statement.module else []


def _add_ancestor(name, file, imported):
    """Make a module importable from a folder above the file; return whether it was found.

    A folder that has the whole path of an imported module comes before one that has only its first
    part: ``net/net.py`` does not hide ``net/layers/dense.py``.
    """
    top = (name or "").partition(".")[0]
    folders = [
        folder
        for folder in list(file.parents)[1 : 1 + ANCESTORS]
        if top and ((folder / f"{top}.py").is_file() or any((folder / top).glob("*")))
    ]
    paths = [Path(*other.split(".")) for other in imported if other.partition(".")[0] == top]
    folders.sort(
        key=lambda folder: (
            not any(
                (folder / path).is_dir() or (folder / path).with_suffix(".py").is_file()
                for path in paths
            )
        )
    )
    for folder in folders:
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
            return True
    return False
