"""Facts about a hand-in from its text alone: names, imports, functions, and reasons for refusal."""

import ast
import re
import sys
import time
import warnings

from ibpcl.classroom.intake.reading import escapes, notebooks
from ibpcl.classroom.intake.reading.newer import newer_syntax
from ibpcl.classroom.intake.reading.texts import clean

NAMES = ("ASSIGNMENT", "VARIANT", "STUDENT", "DERIVATION")
OLD_NAMES = {"FORM": "VARIANT"}  # in stubs handed out before version 1.0
# Common modules of the standard library that neither open files nor start programs.
HARMLESS = (
    "__future__",
    "abc",
    "cmath",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "itertools",
    "json",
    "logging",
    "math",
    "numbers",
    "operator",
    "pprint",
    "random",
    "re",
    "statistics",
    "string",
    "sys",
    "textwrap",
    "time",
    "timeit",
    "typing",
    "typing_extensions",
    "unittest",
    "warnings",
)
# Packages for scratch work.  They do not exist in the sandbox, so their import fails there without
# consequences.
SCRATCH = (
    "matplotlib",
    "mpl_toolkits",
    "seaborn",
    "pandas",
    "plotly",
    "bokeh",
    "altair",
    "PIL",
    "IPython",
    "ipywidgets",
    "tqdm",
    "google",
    "pytest",
    "sympy",
    "sklearn",
    "nbformat",
    "jupyter",
    "ipytest",
)
CATCHING = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
# Seconds of processor time for parsing, plus some for each million characters, because a text is
# parsed several times.
MOST_PARSING = 1.5
MORE_PARSING = 5.0
MOST_FOUND = 200  # of each kind that is reported
MOST_ANSWERS = 2000  # nodes in the literal of ANSWERS


def inspect(source):
    """Return the facts about a text as plain values.

    Parameters
    ----------
    source : str
        Python text; of a notebook, its cells as one text.

    Returns
    -------
    dict
        ``error`` is None or ``[line, words]``; ``said`` has the constants that the kit uses;
        ``imports`` and ``uses`` are lists of ``[line, name]`` that may have to be refused;
        ``suspicions`` of ``[line, words]``; ``functions`` is {name: whether it is filled in},
        ``methods`` {name: its class}; ``skipped`` and ``markdown`` have the reasons for skipped
        cells and the texts of Markdown cells.
    """
    facts = {
        "error": None,
        "said": {},
        "imports": [],
        "uses": [],
        "suspicions": [],
        "functions": {},
        "methods": {},
        "skipped": notebooks.skipped(source)[:MOST_FOUND],
        "markdown": notebooks.markdown(source),
    }
    start = time.process_time()
    try:
        tree = _parsed(source)
        if time.process_time() - start > MOST_PARSING + MORE_PARSING * len(source) / 1e6:
            facts["error"] = [
                0,
                "takes Python too long to parse; is one expression or f-string very long?",
            ]
            return facts
        facts["said"] = {name: value for node in tree.body for name, value in _said(node)}
        guard = _Guards(tree)
        for node in ast.walk(tree):
            _look(node, guard, facts)
        facts["methods"] = {
            each.name: node.name
            for node in tree.body
            if isinstance(node, ast.ClassDef)
            for each in node.body
            if isinstance(each, ast.FunctionDef)
        }
        facts["functions"] = {
            node.name: not _is_blank(node)
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
        }
        facts["uses"] = [list(pair) for pair in escapes.uses(tree)[:MOST_FOUND]]
        facts["suspicions"] = [list(pair) for pair in escapes.packed(tree)[:MOST_FOUND]]
    except SyntaxError as error:
        words = newer_syntax(source, error) or clean(error.msg or "")
        facts["error"] = [error.lineno or 0, f"is not Python: {words}"]
        facts["said"] = _said_by_lines(source)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        facts["error"] = [0, f"is not Python: {clean(str(error)) or type(error).__name__}"]
        facts["said"] = _said_by_lines(source)
    return facts


def _parsed(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
        # of a notebook each cell was compiled already
        if not source.startswith(notebooks.FIRST_LINE):
            compile(tree, "handin", "exec", dont_inherit=True)
    return tree


def _said(node):
    """Yield name and value of a constant that the kit uses."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or len(targets) != 1:
        return
    name = targets[0].id if isinstance(targets[0], ast.Name) else ""
    name = OLD_NAMES.get(name, name)
    if name in NAMES and isinstance(node.value, ast.Constant):
        value = node.value.value
        if isinstance(value, int) and abs(value) < 10**30:
            value = str(value)  # STUDENT = 12345
        if isinstance(value, str):
            yield name, clean(value)
    if name == "ANSWERS" and node.value is not None:
        nodes = sum(1 for _ in zip(ast.walk(node.value), range(MOST_ANSWERS + 1), strict=False))
        try:
            answers = ast.literal_eval(node.value) if nodes <= MOST_ANSWERS else None
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            answers = None
        if isinstance(answers, dict):
            yield name, _plain(answers)


def _plain(value):
    """Return a literal in a form that JSON can hold: numbers, texts and dictionaries of these."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, int) and abs(value) >= 1 << 53:
        return None
    if isinstance(value, str):
        return clean(value)
    return value if value is None or isinstance(value, (int, float)) else None


def _said_by_lines(source):
    """Return the constants of a text that does not parse, read line by line, to identify its
    author.
    """
    constants = {}
    for name in (*NAMES[:3], *OLD_NAMES):
        match = re.search(
            rf"^{name}\s*=\s*([\"'])([^\"'\n\\]{{0,200}})\1", source, flags=re.MULTILINE
        )
        if match:
            constants[OLD_NAMES.get(name, name)] = clean(match[2])
    return constants


def _look(node, guard, facts):
    """Add the imports of a node that may have to be refused."""
    for name in _imported(node):
        top = name.split(".")[0]
        if (
            top not in HARMLESS
            and not guard.holds(node, name)
            and len(facts["imports"]) < MOST_FOUND
        ):
            facts["imports"].append([node.lineno, clean(name)])


def _imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["" if node.level else node.module or ""]
    return []


def _bound(node):
    """Return the names that an import defines; "*" stands for all names of a module."""
    return {alias.asname or alias.name.split(".")[0] for alias in node.names}


class _Guards:
    """The imports of a module that never run in the sandbox, that nothing uses, or whose failure is
    caught.

    The sandbox has only the standard library, NumPy and SciPy.  So the import of another package in
    a ``try`` fails there, as it does on a machine without that package.
    """

    def __init__(self, tree):
        self.never = set()
        self.caught = set()
        renamed = any(
            isinstance(node, ast.Name)
            and node.id in ("__name__", "TYPE_CHECKING")
            and not isinstance(node.ctx, ast.Load)
            for node in ast.walk(tree)
        )
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and not renamed and _is_main(node.test):
                self.never.update(id(inner) for each in node.body for inner in ast.walk(each))
            if isinstance(node, ast.Try) and any(map(_catches, node.handlers)):
                self.caught.update(id(inner) for each in node.body for inner in ast.walk(each))
        self.used = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and id(node) not in self.never
        }

    def holds(self, node, name):
        """Return whether the import of a module at this node is harmless.

        Parameters
        ----------
        node : ast.AST
            The import.
        name : str
            Name of the module.

        Returns
        -------
        bool
        """
        package = name.split(".")[0]
        if package in SCRATCH or id(node) in self.never:
            return True
        if package in sys.stdlib_module_names:
            return not _bound(node) & {"*", *self.used}
        return id(node) in self.caught


def _is_main(test):
    """Return whether a condition is ``__name__ == "__main__"`` or ``TYPE_CHECKING``."""
    if isinstance(test, ast.Name):
        return test.id == "TYPE_CHECKING"
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq)
        and {ast.dump(test.left), ast.dump(test.comparators[0])}
        == {ast.dump(ast.Name("__name__", ast.Load())), ast.dump(ast.Constant("__main__"))}
    )


def _catches(handler):
    """Return whether an exception handler catches a failed import."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in CATCHING) for kind in kinds
    )


def _is_blank(node):
    """Return whether a function contains only documentation and NotImplementedError, as in the
    stub.
    """
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return all(
        isinstance(each, ast.Pass) or _raises_not_implemented(each) or _is_ellipsis(each)
        for each in body
    )


def _raises_not_implemented(node):
    if not isinstance(node, ast.Raise):
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _is_ellipsis(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
