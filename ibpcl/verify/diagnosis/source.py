"""A function's source as syntax trees that can be changed, watched and compiled again.

The checker explains a wrong gradient by changing the student's code in one place and running it
again, and by holding single values of the forward constant.  Both work on the syntax tree of the
function and of the functions of its own file that it calls, so every finding has a line.
"""

import ast
import contextlib
import copy
import inspect
import linecache
import sys
import textwrap
import types
from functools import cached_property, lru_cache

import numpy as np

from ibpcl.verify.doors import notebooks
from ibpcl.verify.doors.pair import Adapted

WATCH = "__watch__"
MOST_ITEMS = 20  # of a cache, a list or an object
LAYOUT = (
    "zeros",
    "ones",
    "empty",
    "full",
    "reshape",
    "swapaxes",
    "moveaxis",
    "transpose",
    "expand_dims",
    "eye",
    "squeeze",
)
_VALUES = (
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.IfExp,
    ast.Compare,
)


class Code:
    """A function, a bound method or an adapter around them, with the helpers of its file that it
    calls.

    ``trees`` has the tree of each by its name, the function first, with the line numbers of the
    file; ``places`` every expression in them that has a value.  Methods of classes in the file are
    read, too: those called on ``self``, and those of ``executed``, the code objects that a call of
    the function has run.  Raises ``ValueError`` if the source can't be read: built-in, compiled, or
    typed into a plain interpreter.
    """

    def __init__(self, function, executed=()):
        self.adapters = []
        owner = None
        changes = getattr(function, "changes", None)
        # a changed version of a function: read that, and change it
        if changes is not None:
            function, executed, change = changes
        while isinstance(function, Adapted):
            self.adapters.append(function)
            owner = function.owner
            function = function.source
        self.bound = getattr(function, "__self__", None) if inspect.ismethod(function) else None
        self.function = function.__func__ if inspect.ismethod(function) else function
        if not isinstance(self.function, types.FunctionType):
            raise ValueError(f"no Python source: {function!r}")
        self.scope = {}
        self.trees = {}
        self.owners = {}
        self.executed = executed
        self._add(self.function, owner or (type(self.bound) if self.bound is not None else None))
        self.name = next(iter(self.trees))
        self.owners.pop(self.name, None)
        self.file = self.function.__code__.co_filename
        self.places = [place for tree in self.trees.values() for place in _places(tree)]
        for number, place in enumerate(self.places):
            place.node.place = number  # survives a deep copy
        if changes is not None:
            change(self)

    def _add(self, function, owner=None):
        """Add a function, or a method of a class, and what it calls in its file."""
        key = function.__name__ if owner is None else f"{owner.__name__}__{function.__name__}"
        if key in self.trees:
            return
        if "__class__" in function.__code__.co_freevars:
            raise ValueError(f"{function.__qualname__} calls super()")
        tree = _parsed(function)
        self.trees[tree.name if tree.name == "lambda_" else key] = tree
        if tree.name != "lambda_":
            tree.name = key
        if owner is not None:
            self.owners[key] = (owner, function.__name__)
        around = dict(inspect.getclosurevars(function).nonlocals)
        self.scope.update(around)
        known = {**function.__globals__, **around}
        classes = [
            value
            for value in known.values()
            if isinstance(value, type) and value.__module__ == function.__module__
        ]
        for node in ast.walk(tree):
            for called, kind in _called(node, known, owner, classes, self.executed):
                if (
                    called.__module__ == function.__module__
                    and called is not function
                    and called.__code__.co_filename == function.__code__.co_filename
                ):
                    with contextlib.suppress(ValueError):
                        self._add(called, kind)

    def compile(self):
        """Return the function made from its trees, as they are now, in a copy of its namespace."""
        return self._made(compile(ast.Module(list(self.trees.values()), []), self.file, "exec"))

    def _made(self, compiled, **extra):
        namespace = {**self.function.__globals__, **self.scope, **extra}
        exec(compiled, namespace)
        made = namespace[self.name]
        made.__defaults__ = made.__defaults__ or self.function.__defaults__
        made = types.MethodType(made, self.bound) if self.bound is not None else made
        made = self._with_methods(made, namespace) if self.owners else made
        for adapter in reversed(self.adapters):
            made = adapter.around(made)
        return made

    def _with_methods(self, made, namespace):
        """Return a function during whose calls the methods of its classes are those of the
        trees.
        """

        def function(*arguments, **options):
            with contextlib.ExitStack() as stack:
                for key, (owner, name) in self.owners.items():
                    stack.callback(setattr, owner, name, vars(owner)[name])
                    setattr(owner, name, namespace[key])
                return made(*arguments, **options)

        return function

    def watched(self):
        """Return a function ``make(hook)`` of the same code that hands every value to a hook.

        ``hook(place, value, scope)`` is called with the number of the place, its value and the
        local variables there; what it returns is used in place of the value.
        """
        return lambda hook: self._made(self._watched, **{WATCH: hook})

    @cached_property
    def _watched(self):
        trees = [_Watching().visit(copy.deepcopy(tree)) for tree in self.trees.values()]
        return compile(ast.fix_missing_locations(ast.Module(trees, [])), self.file, "exec")

    def line(self, node):
        """Return the source line of a node as "line 12: dw = x.T @ dout"."""
        text = linecache.getline(self.file, node.lineno).strip()
        place = notebooks.place(self.file, node.lineno)
        return f"{place}: {text}" if text else place


class Place:
    """An expression in a tree: its node, its parent and the field and index at which that holds it,
    its statement.

    ``inside`` is what it is part of ("formula", "index", "axis", "range" or "layout"), ``whole``
    whether it is all that a name is given or that is returned, ``around`` the subscript around an
    index, else the node itself.
    """

    def __init__(self, node, parent, field, index, statement, function, inside, around):
        self.node = node
        self.parent = parent
        self.field = field
        self.index = index
        self.statement = statement
        self.function = function
        self.inside = inside
        self.around = around
        self.whole = parent is statement or (
            isinstance(parent, ast.Tuple) and isinstance(statement, ast.Return)
        )
        self.watched = not isinstance(node, ast.Constant)

    @cached_property
    def text(self):
        """The expression as source."""
        return ast.unparse(self.node)


def _called(node, known, owner, classes, executed):
    """Yield (function, its class or None): what an expression may call, as far as its source is
    worth reading.
    """
    if isinstance(node, ast.Name):
        value = known.get(node.id)
        if isinstance(value, types.FunctionType):
            yield value, None
    elif isinstance(node, ast.Attribute):
        holder = known.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(node.value, ast.Name) and node.value.id == "self" and owner is not None:
            kinds = owner.__mro__
        elif holder is not None:
            kinds = () if inspect.ismodule(holder) else getattr(type(holder), "__mro__", ())
        else:
            kinds = [
                kind
                for kind in classes
                if getattr(vars(kind).get(node.attr), "__code__", None) in executed
            ]
        for kind in kinds:
            if isinstance(vars(kind).get(node.attr), types.FunctionType):
                yield vars(kind)[node.attr], kind
                if isinstance(kinds, tuple):  # the first in the order of inheritance
                    break


def executed_by(call):
    """Return the code objects of the Python functions that a call runs.

    >>> executed_by(lambda: is_array(1.0)) >= {is_array.__code__}
    True
    """
    found = set()
    before = sys.getprofile()

    def note(frame, event, argument):
        if event == "call":
            found.add(frame.f_code)

    sys.setprofile(note)
    try:
        call()
    except Exception:  # code under check may raise anything
        return found
    finally:
        sys.setprofile(before if callable(before) else None)  # that of cProfile cannot be set again
    return found


def _parsed(function):
    """Return the tree of a function without docstring, decorators and annotations; a lambda becomes
    a function.
    """
    if function.__name__ == "<lambda>":
        return _parsed_lambda(function)
    try:
        lines, start = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError) as error:
        raise ValueError(f"no source for {function.__qualname__}") from error
    ast.increment_lineno(tree, max(start, 1) - 1)
    made = tree.body[0]
    if not isinstance(made, ast.FunctionDef):
        raise ValueError(f"no plain function: {function.__qualname__}")
    made.decorator_list = []
    made.returns = None
    if ast.get_docstring(made) is not None and len(made.body) > 1:
        del made.body[0]
    return made


def _parsed_lambda(function):
    """Return the tree of a lambda as that of a function.

    The whole file is read, because a lambda may stand in the middle of a call that covers several
    lines.  Lambdas on one line differ by the places of their instructions.
    """
    code = function.__code__
    try:
        lines, _ = inspect.findsource(function)
        tree = _parsed_file("".join(lines))
    except (OSError, TypeError, SyntaxError) as error:
        raise ValueError(f"no source for {function.__qualname__}") from error
    places = set(code.co_positions())
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and _span(node.body) in places
        and [a.arg for a in node.args.args] == list(inspect.signature(function).parameters)
    ]
    if len(found) != 1:
        raise ValueError("a lambda that cannot be told from others on its line")
    chosen = copy.deepcopy(found[0])
    made = ast.parse("def lambda_(): pass").body[0]
    made.args = chosen.args
    made.body = [ast.copy_location(ast.Return(chosen.body), chosen)]
    return ast.copy_location(made, chosen)


@lru_cache(maxsize=4)
def _parsed_file(text):
    return ast.parse(text)


def _span(node):
    """Return where a node stands, as ``co_positions`` of a code object does."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _places(tree):
    """Return the places of a function in the order of its source."""
    found = []

    def visit(node, statement, inside, around):
        for field, value in ast.iter_fields(node):
            for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                if not isinstance(child, ast.AST) or isinstance(
                    child, (ast.arguments, ast.Lambda, ast.FunctionDef)
                ):
                    continue
                # what is written to is not a value, but its indices are
                if field in ("target", "targets"):
                    if isinstance(child, ast.Subscript):
                        visit(child, node, "target", None)
                    continue
                if inside == "target" and field == "value":
                    continue
                inner = child if isinstance(child, ast.stmt) else statement
                part, shown = _part(node, child, field, inside, around)
                if _watchable(child, node, field):
                    found.append(
                        Place(child, node, field, index, inner, tree.name, part, shown or child)
                    )
                visit(child, inner, part, shown)

    visit(tree, None, "formula", None)
    return found


def _part(node, child, field, inside, around):
    """Return what a child is part of, and the expression that shows it."""
    if isinstance(node, ast.Subscript) and field == "slice":
        return "index", node
    if isinstance(node, ast.keyword):
        return ("axis" if node.arg == "axis" else "layout"), around
    if isinstance(node, ast.Call) and field == "args":
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        if name in ("range", "arange"):
            return "range", node
        if name in LAYOUT and not (isinstance(node.func, ast.Attribute) and child is node.args[0]):
            return "layout", around
    return inside, around


def _watchable(node, parent, field):
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if not isinstance(node, _VALUES) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(parent, ast.Call) and field == "func":
        return False
    return not (
        isinstance(parent, ast.Attribute)
        and isinstance(node, ast.Name)
        and node.id in ("np", "numpy", "scipy")
    )


class _Watching(ast.NodeTransformer):
    """Wrap every place into a call of the hook."""

    def visit(self, node):
        number = getattr(node, "place", None)
        node = self.generic_visit(node)
        if number is None or isinstance(node, ast.Constant):
            return node
        names = ast.Call(ast.Name("locals", ast.Load()), [], [])
        return ast.copy_location(
            ast.Call(ast.Name(WATCH, ast.Load()), [ast.Constant(number), node, names], []), node
        )


def items_of(name, value):
    """Return (text, item) for what a cache, a list or an object holds."""
    if isinstance(value, (tuple, list)):
        return [(f"{name}[{n}]", item) for n, item in enumerate(value[:MOST_ITEMS])]
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", item) for key, item in list(value.items())[:MOST_ITEMS]]
    return [
        (f"{name}.{key}", item)
        for key, item in list(getattr(value, "__dict__", {}).items())[:MOST_ITEMS]
    ]


def is_array(value):
    """Return whether a value is an array or number of floating-point or complex type."""
    return (
        isinstance(value, (np.ndarray, np.generic, float, complex))
        and np.asarray(value).dtype.kind in "fc"
    )
