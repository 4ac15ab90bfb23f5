"""A user's file as a module: a Python file or a notebook, without statements that raise."""

import ast
import contextlib
import importlib.util
import linecache
import sys
import types
from pathlib import Path
from typing import NamedTuple

from ibpcl.codeview import notebook
from ibpcl.codeview.syntax import is_library
from ibpcl.errors import UserError
from ibpcl.verify.adapters.refusals import raised
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.running.trap import limit

ANCESTORS = 5  # folders above a file in which its imports are searched
SECONDS = 10.0  # time limit for a statement of a file; longer ones train something
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


def load(path, seconds=None):
    """Run a file, or the code cells of a notebook, as a module.

    A statement that raises is skipped, because a missing data set should not prevent the check of a
    derivation.  After it, only definitions, imports and assignments are run.  The same holds for
    the files beside it that it imports.

    Parameters
    ----------
    path : str or path-like
        The file.
    seconds : float, optional
        Time limit for each statement; ten seconds if not given.

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
    failures = []
    seconds = SECONDS if seconds is None else seconds
    first = _run_all(tree, module, file, path, is_notebook, failures, seconds)
    return Loaded(module, failures, first)


def _run_all(tree, module, file, path, is_notebook, failures, seconds, inside=""):
    """Run the statements of a file, and return the first error.

    Sentences about statements that raise are appended to ``failures``; they name the file
    ``inside``, if there is one.
    """
    flags = _future_flags(tree)
    first = None
    for statement in tree.body:
        if (first is not None and not isinstance(statement, DEFINITIONS)) or (
            is_notebook and notebook.shows_only(statement)
        ):
            continue
        error = _run(statement, module, file, flags, seconds)
        if error is not None and _run_imported(statement, module, failures, seconds):
            error = _run(statement, module, file, flags, seconds)
        if isinstance(error, SystemExit):
            where = notebook.place(file, statement.lineno)
            raise UserError(
                f"check: {path} ends the process in {where} (SystemExit: {error}): put the code "
                'of a program under `if __name__ == "__main__":`'
            )
        if error is not None:
            where = notebook.place(file, statement.lineno) + inside
            failures.append(f"{where} was skipped: {raised(error, 'it')}")
            first = first or error
    return first


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
        return notebook.read(path)
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


def _run(statement, module, file, flags, seconds):
    """Run one statement of a file; return the exception that it raises, or None."""
    compiled = compile(ast.Module([statement], []), str(file), "exec", flags, dont_inherit=True)
    for _ in range(ANCESTORS):
        try:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                exec(compiled, vars(module))
            else:
                with limit(seconds):
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


def _run_imported(statement, module, failures, seconds):
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
        _run_all(tree, made, file, file.name, False, inner, seconds, f" of {file.name}")
        failures += [one for one in inner if one not in failures]
        ran = True
    return ran


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
        _run(statement, package, file, _future_flags(tree), SECONDS)
    return True


def _imported(statement):
    """Return the full names of the modules that a statement imports."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return [statement.module] if isinstance(statement, ast.ImportFrom) and statement.module else []


def _add_ancestor(name, file, imported):
    """Make a module importable from a folder above the file; return whether it was found.

    A folder that has the whole path of an imported module comes before one that has only its first
    part: ``net/net.py`` does not hide ``net/layers/dense.py``.  A package comes before a file.
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
            ),
            not (folder / top / "__init__.py").is_file(),
        )
    )
    for folder in folders:
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
            return True
    return False
