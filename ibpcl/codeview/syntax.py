"""The source of a function as syntax trees that can be changed, watched and compiled again.

The checker explains a wrong gradient in two ways.  It changes the student's code in one place and
runs it again, and it holds single values of the forward constant.  Both work on the syntax trees of
the function and of the functions of the user's files that it calls, so every finding has a line.
"""

import __future__

import ast
import contextlib
import copy
import inspect
import sys
import textwrap
import types
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from ibpcl.codeview.location import (
    keep_spans,
    located,
    replacements,
    span_of,
)

# Folders with files that are not the user's: this package, Python and its libraries.
LIBRARIES = (Path(__file__).parents[1], sys.prefix, sys.base_prefix)
WATCH = "__watch__"
VERSION = "__codeview_version__"  # attribute of a changed function: the original and the trees
MOST_NUMBERS = 300_000  # largest number of numbers recorded at one place, over all its calls
MOST_ITEMS = 20  # largest number of items read from a cache, a list or an object
OTHER = object()  # stands for a value that is neither an array nor a number
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
    """The source of a function and of the helpers that it calls, in its file or in other files.

    Methods of classes there are helpers if they are called on ``self`` or if ``executed`` contains
    them.  A helper may be called by another name, or as an attribute of its module, as in
    ``layers.affine_backward(dout, cache)``.  A function of another file is left out if one of its
    global names has another meaning in the function's own file.

    Parameters
    ----------
    function : callable
        A function, a lambda, a bound method, or an adapter around one of them: an
        object with the function as ``source``, its class as ``owner``, and ``around(function)``,
        which adapts another version.
    executed : set of code, optional
        Code objects that a call of the function has run; see :func:`executed_by`.

    Attributes
    ----------
    trees : dict
        The syntax tree of each function by its name, with the line numbers of the file.  The
        function itself is the first.
    places : list of Place
        Every expression in the trees that has a value, in the order of the source.
    name : str
        Name of the function in ``trees``.
    file : str
        File name of the source.

    Raises
    ------
    ValueError
        If the source cannot be read: the function is built-in, compiled, calls ``super()``, or was
        typed into an interpreter that does not keep its lines.
    """

    def __init__(self, function, executed=()):
        self.adapters = []
        owner = None
        # a version of a function: read the original, with the trees of the version
        original, known, trees = getattr(function, VERSION, (function, (), {}))
        function = self.original = original
        executed = {*known, *executed}
        while hasattr(function, "around"):
            self.adapters.append(function)
            owner = function.owner
            function = function.source
        self.bound = getattr(function, "__self__", None) if inspect.ismethod(function) else None
        self.function = function.__func__ if inspect.ismethod(function) else function
        if not isinstance(self.function, types.FunctionType):
            raise ValueError(f"Code: function must be written in Python, got {function!r}")
        self.scope = {}
        self.trees = {}
        self.owners = {}
        self.aliases = {}
        self.executed = executed
        self.file = self.function.__code__.co_filename
        self._add(self.function, owner or (type(self.bound) if self.bound is not None else None))
        self.name = next(iter(self.trees))
        self.owners.pop(self.name, None)
        self.trees.update(copy.deepcopy(trees))
        self._number()

    def _number(self):
        """Number the places of the trees."""
        self.places = [place for tree in self.trees.values() for place in _places(tree)]
        for number, place in enumerate(self.places):
            place.node.place = number  # survives a deep copy

    def _add(self, function, owner=None):
        """Add a function or a method, and the functions of its file that it calls."""
        key = _key(function, owner)
        if key in self.trees:
            return
        if "__class__" in function.__code__.co_freevars:
            raise ValueError(
                f"Code: {function.__qualname__} calls super(), so it cannot be compiled again"
            )
        tree = _parsed(function)
        if function.__code__.co_filename != self.file:
            for node in ast.walk(tree):
                node.file = function.__code__.co_filename
        self.trees[tree.name if tree.name == "lambda_" else key] = tree
        if tree.name != "lambda_":
            tree.name = key
        if owner is not None:
            self.owners[key] = (owner, function.__name__)
        closure = dict(inspect.getclosurevars(function).nonlocals)
        self.scope.update(closure)
        visible = {**function.__globals__, **closure}
        classes = [value for value in visible.values() if isinstance(value, type)]
        for node in ast.walk(tree):
            for called, kind in _called(node, visible, owner, classes, self.executed):
                if called is not function and self._is_helper(called, function):
                    with contextlib.suppress(ValueError):
                        self._add(called, kind)
                        if isinstance(node, ast.Name) and node.id != called.__name__:
                            self.aliases[node.id] = _key(called, kind)

    def _is_helper(self, called, function):
        """Return whether a function belongs to the same file, or to another one that fits."""
        file = called.__code__.co_filename
        if file == function.__code__.co_filename:
            if called.__module__ != function.__module__:
                return False
            if file == self.file:  # its global names are known
                return True
        elif is_library(file):
            return False
        known = {**self.function.__globals__, **self.scope}
        needed = {
            name: called.__globals__[name]
            for name in called.__code__.co_names
            if name in called.__globals__
        }
        if any(known.get(name, value) is not value for name, value in needed.items()):
            return False
        self.scope.update(needed)
        return True

    def compile(self):
        """Return the function compiled from the present trees, in a copy of its namespace.

        Returns
        -------
        callable
            Bound and adapted like the original.
        """
        return self._made(self._compiled(list(self.trees.values())))

    def version(self, puts):
        """Return the function with some nodes replaced.

        Parameters
        ----------
        puts : sequence of tuple
            The replaced nodes; see :func:`put`.  They are put back afterwards.

        Returns
        -------
        callable
            :class:`Code` can read it again.
        """
        undo = [put(*item) for item in puts]
        try:
            compiled = self.compile()
            trees = copy.deepcopy(self.trees)
        finally:
            for item in reversed(undo):
                put(*item)

        def function(*arguments, **options):
            return compiled(*arguments, **options)

        function.__name__ = getattr(self.original, "__name__", "f")
        setattr(function, VERSION, (self.original, self.executed, trees))
        return function

    def _compiled(self, trees):
        """Return compiled trees.  Annotations are not evaluated: their names may be missing."""
        flag = __future__.annotations.compiler_flag
        return compile(ast.Module(trees, []), self.file, "exec", flag, dont_inherit=True)

    def _made(self, compiled, **extra):
        """Return the function that compiled trees define, bound and adapted like the original."""
        namespace = {**self.function.__globals__, **self.scope, **extra}
        exec(compiled, namespace)
        namespace.update((alias, namespace[key]) for alias, key in self.aliases.items())
        made = namespace[self.name]
        made.__defaults__ = made.__defaults__ or self.function.__defaults__
        made = types.MethodType(made, self.bound) if self.bound is not None else made
        made = self._with_methods(made, namespace) if self.owners else made
        for adapter in reversed(self.adapters):
            made = adapter.around(made)
        return made

    def _with_methods(self, made, namespace):
        """Return a function during whose calls classes and modules have the trees' functions."""

        def function(*arguments, **options):
            with contextlib.ExitStack() as stack:
                for key, (owner, name) in self.owners.items():
                    stack.callback(setattr, owner, name, vars(owner)[name])
                    setattr(owner, name, namespace[key])
                return made(*arguments, **options)

        return function

    def watched(self):
        """Return a maker of the same function with every value handed to a hook.

        Returns
        -------
        callable
            ``make(hook)`` returns the watched function.  During its calls, ``hook(number, value,
            scope)`` gets the number of a place, its value and the local variables there.  The
            result of the hook replaces the value.
        """
        return lambda hook: self._made(self._watched, **{WATCH: hook})

    @cached_property
    def _watched(self):
        """The trees compiled with a call of the hook around every place."""
        trees = [_Watching().visit(copy.deepcopy(tree)) for tree in self.trees.values()]
        return self._compiled([ast.fix_missing_locations(tree) for tree in trees])

    def location(self, node):
        """Return the place of a node; as a text, "line 12: dw = x.T @ dout".

        Parameters
        ----------
        node : ast.AST
            A node of one of the trees.

        Returns
        -------
        Location
        """
        file = getattr(node, "file", self.file)
        line = span_of(node)[0]
        around = [
            name
            for name, tree in self.trees.items()
            if getattr(tree, "file", self.file) == file and tree.lineno <= line <= tree.end_lineno
        ]
        name = around[-1] if around else self.name
        name = self.function.__qualname__ if name == self.name else name
        return located(file, span_of(node), function=name, foreign=file != self.file)

    def repair(self, edit):
        """Return the text that makes an edit in the user's file.

        Parameters
        ----------
        edit : ibpcl.codeview.rewrite.Edit
            The edit, which is not made in the trees at present.

        Returns
        -------
        tuple of Replacement
            Empty if a text has several lines.
        """
        return replacements(edit.puts, self.location, text_of)


@dataclass(eq=False)
class Place:
    """An expression, a statement or a target in a syntax tree, and where it stands.

    Attributes
    ----------
    node : ast.AST
        The expression or statement.
    parent : ast.AST
        The node that contains it.
    field : str
        Name of the field of the parent that contains it.
    index : int or None
        Index in that field, None if the field is not a list.
    statement : ast.stmt or None
        The statement around an expression.
    function : str
        Name of the function around it, a key of ``Code.trees``.
    inside : {"formula", "index", "axis", "range", "layout", "target"}
        The role of an expression.
    around : ast.AST or None
        The subscript around an index, otherwise the node itself or the call that shows it.
    again : bool
        Whether the target of a statement had a value before.
    """

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    statement: ast.stmt | None = None
    function: str = ""
    inside: str = "formula"
    around: ast.AST | None = None
    again: bool = False

    @property
    def whole(self):
        """True if a statement assigns or returns the expression alone or in a tuple."""
        items = isinstance(self.parent, ast.Tuple) and isinstance(self.statement, ast.Return)
        return self.parent is self.statement or items

    @property
    def watched(self):
        """True if the value of the place is recorded, as for all but constants."""
        return not isinstance(self.node, ast.Constant)

    @cached_property
    def text(self):
        """The expression as source text."""
        return text_of(self.node)


def text_of(node):
    """Return an expression or a statement as source text, with numbers as the user wrote them.

    Parameters
    ----------
    node : ast.AST
        A node of a tree of :class:`Code`, perhaps changed.

    Returns
    -------
    str

    Examples
    --------
    >>> number = ast.parse("1e-5", mode="eval").body
    >>> number.text = "1e-5"
    >>> text_of(ast.BinOp(ast.Name("x"), ast.Add(), number))
    'x + 1e-5'
    """
    if any(getattr(part, "text", None) for part in ast.walk(node)):
        node = _Quoting().visit(copy.deepcopy(node))
    return ast.unparse(node)


class _Quoting(ast.NodeTransformer):
    """Replace every number by its text in the user's file."""

    def visit(self, node):
        text = getattr(node, "text", None)
        name = text and ast.copy_location(ast.Name(text, ast.Load()), node)
        return name or self.generic_visit(node)


def _keep_texts(tree, lines):
    """Give each number its text in the source if Python would write it in another way."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            line = lines[node.lineno - 1].encode()
            text = line[node.col_offset : node.end_col_offset].decode()
            if text != repr(node.value):
                node.text = text


def _key(function, owner):
    """Return the name under which a function, perhaps of a class or a module, is compiled."""
    holder = "" if owner is None else f"{owner.__name__.replace('.', '_')}__"
    return holder + function.__name__


def _called(node, visible, owner, classes, executed):
    """Yield (function, its class, module or None) for the functions that an expression may call."""
    if isinstance(node, ast.Name):
        value = visible.get(node.id)
        if isinstance(value, types.FunctionType):
            yield value, None
    elif isinstance(node, ast.Attribute):
        holder = visible.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(node.value, ast.Name) and node.value.id == "self" and isinstance(owner, type):
            kinds = owner.__mro__
        elif inspect.ismodule(holder):
            kinds = (holder,)
        elif holder is not None:
            kinds = getattr(type(holder), "__mro__", ())
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
    >>> is_library(np.__file__), is_library("homework/layers.py")
    (True, False)
    """
    return "site-packages" in Path(file).parts or any(map(Path(file).is_relative_to, LIBRARIES))


def executed_by(call):
    """Return the code objects of the Python functions that a call runs.

    Parameters
    ----------
    call : callable
        Called without arguments.  Exceptions end the call and are ignored.

    Returns
    -------
    set of code

    Examples
    --------
    >>> executed_by(lambda: is_array(1.0)) >= {is_array.__code__}
    True
    """
    executed = set()
    before = sys.getprofile()

    def note(frame, event, argument):
        if event == "call":
            executed.add(frame.f_code)

    sys.setprofile(note)
    try:
        call()
    except (Exception, SystemExit):  # code under check may raise anything
        return executed
    finally:
        # the profiler of cProfile is not callable and cannot be set again
        sys.setprofile(before if callable(before) else None)
    return executed


def read(function, run):
    """Return the source of a function and of the helpers that it calls.

    Parameters
    ----------
    function : callable
        The function, possibly decorated.
    run : callable
        ``run(function)`` calls it, to see which helpers run.

    Returns
    -------
    Code or None
        None if the source cannot be read.

    Examples
    --------
    >>> read(np.sin, lambda f: f(1.0)) is None
    True
    """
    try:
        return Code(unwrapped(function), executed_by(lambda: run(function)))
    except (ValueError, SyntaxError):
        return None


def _parsed(function):
    """Return the tree of a function without docstring, decorators and return annotation.

    A lambda becomes a function.
    """
    if function.__name__ == "<lambda>":
        return _parsed_lambda(function)
    try:
        lines, start = inspect.getsourcelines(function)
        text = textwrap.dedent("".join(lines))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError) as error:
        raise ValueError(f"Code: cannot read the source of {function.__qualname__}") from error
    _keep_texts(tree, text.splitlines())
    ast.increment_lineno(tree, max(start, 1) - 1)
    keep_spans(tree, len(lines[0]) - len(lines[0].lstrip()))
    made = tree.body[0]
    if not isinstance(made, ast.FunctionDef):
        raise ValueError(
            f"Code: {function.__qualname__} must be defined by def or lambda, got "
            f"{type(made).__name__}"
        )
    made.decorator_list = []
    made.returns = None
    if ast.get_docstring(made) is not None and len(made.body) > 1:
        del made.body[0]
    return made


def _parsed_lambda(function):
    """Return the tree of a lambda, as that of a function.

    The whole file is parsed, because a lambda may stand in the middle of a call that covers several
    lines.  Lambdas on the same line are distinguished by the positions of their instructions.
    """
    code = function.__code__
    try:
        lines, _ = inspect.findsource(function)
        tree = _parsed_file("".join(lines))
    except (OSError, TypeError, SyntaxError) as error:
        raise ValueError(f"Code: cannot read the source of {function.__qualname__}") from error
    positions = set(code.co_positions())
    candidates = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and _span(node.body) in positions
        and [a.arg for a in node.args.args] == list(inspect.signature(function).parameters)
    ]
    if len(candidates) != 1:
        raise ValueError("Code: several lambdas on one line cannot be distinguished")
    chosen = copy.deepcopy(candidates[0])
    made = ast.parse("def lambda_(): pass").body[0]
    made.args = chosen.args
    made.body = [ast.copy_location(ast.Return(chosen.body), chosen)]
    return ast.copy_location(made, chosen)


@lru_cache(maxsize=4)
def _parsed_file(text):
    """Return the tree of a file; the last four are kept."""
    tree = ast.parse(text)
    _keep_texts(tree, text.splitlines())
    keep_spans(tree)
    return tree


def _span(node):
    """Return the position of a node in the form of ``co_positions`` of a code object."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _places(tree):
    """Return the places of a function in the order of its source."""
    places = []

    def visit(node, statement, inside, around):
        for child, field, index in children_of(node):
            if not isinstance(child, ast.AST) or isinstance(child, ast.arguments):
                continue
            # a target of an assignment has no value, but its indices have
            if field in ("target", "targets"):
                if isinstance(child, ast.Subscript):
                    visit(child, node, "target", None)
                continue
            if inside == "target" and field == "value":
                continue
            inner = child if isinstance(child, ast.stmt) else statement
            role, display = _part(node, child, field, inside, around)
            if _watchable(child, node, field):
                shown = display or child
                places.append(Place(child, node, field, index, inner, tree.name, role, shown))
            visit(child, inner, role, display)

    visit(tree, None, "formula", None)
    return places


def _part(node, child, field, inside, around):
    """Return the role of a child node, and the expression that shows it in a message."""
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
    """Return whether an expression is a place: it has a value that can be a number or an array."""
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


def children_of(node):
    """Yield every value in the fields of a node, with its place.

    Parameters
    ----------
    node : ast.AST
        The node.

    Yields
    ------
    child : object
        A node or another value.
    field : str
        Name of the field.
    index : int or None
        Index in that field, None if the field is not a list.
    """
    for field, value in ast.iter_fields(node):
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            yield child, field, index


def statements_in(tree):
    """Yield every statement inside a tree, with its place.

    Parameters
    ----------
    tree : ast.AST
        The tree.

    Yields
    ------
    node : ast.stmt
        The statement.
    parent : ast.AST
        The node that contains it.
    field : str
        "body" or "orelse".
    index : int
        Index in that field.
    """
    for parent, field in product(ast.walk(tree), ("body", "orelse")):
        statements = getattr(parent, field, None)
        for index, node in enumerate(statements if isinstance(statements, list) else ()):
            yield node, parent, field, index


def names_in(node, context=ast.Load):
    """Return the names in a part of the source that are read, or stored.

    Parameters
    ----------
    node : ast.AST
        The part.
    context : type
        ``ast.Load`` for names that are read, ``ast.Store`` for names that are assigned.

    Returns
    -------
    set of str

    Examples
    --------
    >>> sorted(names_in(ast.parse("y = x + w")))
    ['w', 'x']
    """
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, context)
    }


def items_of(name, value, most=MOST_ITEMS):
    """Return the items of a container or the attributes of an object, with their source texts.

    Parameters
    ----------
    name : str
        Source text of the container.
    value : object
        A tuple, a list, a dict, or an object with attributes.
    most : int or None
        Largest number of items; None for all.

    Returns
    -------
    list of tuple
        Pairs such as ``("cache[0]", item)``.
    """
    if isinstance(value, (tuple, list)):
        return [(f"{name}[{n}]", item) for n, item in enumerate(value[:most])]
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", item) for key, item in list(value.items())[:most]]
    return [
        (f"{name}.{key}", item) for key, item in list(getattr(value, "__dict__", {}).items())[:most]
    ]


def is_array(value):
    """Return whether a value is an array or a number of floating-point or complex type.

    Parameters
    ----------
    value : object
        Any value.

    Returns
    -------
    bool
    """
    return (
        isinstance(value, (np.ndarray, np.generic, float, complex))
        and np.asarray(value).dtype.kind in "fc"
    )


class Recording:
    """The values of all places of a function in one run.

    Parameters
    ----------
    code : Code
        The function, whose places are watched.
    run : callable
        ``run(function)`` calls the watched function.

    Attributes
    ----------
    values : dict
        First value of each place, by its number, :data:`OTHER` for a value that is neither an array
        nor a number, and for an array of more than ``MOST_NUMBERS`` entries.
    series : dict
        All values of each place whose values are arrays or numbers, at most ``MOST_NUMBERS`` in
        all.
    counts : dict
        Number of values of each place.
    executed : int
        Number of values of all places.
    scopes : dict
        The local variables of each function, by its name, when its last place was evaluated.
    """

    def __init__(self, code, run):
        self.values = {}
        self.series = {}
        self.scopes = {}
        self.counts = {}
        functions = {number: place.function for number, place in enumerate(code.places)}

        def hook(place, value, scope):
            self.counts[place] = self.counts.get(place, 0) + 1
            self.scopes[functions[place]] = scope
            is_numeric = isinstance(value, (np.ndarray, np.generic, int, float, complex))
            if is_numeric and np.size(value) * self.counts[place] <= MOST_NUMBERS:
                stored = np.array(value) if isinstance(value, np.ndarray) else value
                self.values.setdefault(place, stored)
                self.series.setdefault(place, []).append(stored)
            else:
                self.values.setdefault(place, OTHER)
            return value

        run(code.watched()(hook))
        self.series = {
            place: values
            for place, values in self.series.items()
            if len(values) == self.counts[place]
        }
        self.executed = sum(self.counts.values())


def putting(series):
    """Return a hook that replaces the values of some places in one run of a watched function.

    Parameters
    ----------
    series : dict
        For each place, by its number, one value for each time that it is evaluated.

    Returns
    -------
    callable
        A hook for :meth:`Code.watched`.  A value stays if there is none to replace it, or one that
        is no array of its shape.
    """
    left = {place: iter(values) for place, values in series.items()}

    def hook(number, value, scope):
        new = next(left[number], None) if number in left else None
        if not is_array(new) or np.shape(new) != np.shape(value):
            return value
        return np.array(new) if isinstance(value, np.ndarray) else new

    return hook


def unwrapped(function):
    """Return the function inside decorators that keep it as ``__wrapped__``.

    Parameters
    ----------
    function : callable
        A function, possibly decorated.

    Returns
    -------
    callable
        A function made by :meth:`Code.version` is returned as it is.
    """
    while hasattr(function, "__wrapped__") and not hasattr(function, VERSION):
        function = function.__wrapped__
    return function


def put(parent, field, index, new):
    """Replace one node of a syntax tree.

    Parameters
    ----------
    parent : ast.AST
        The node that contains the old node.
    field : str
        Name of the field of the parent.
    index : int or None
        Index in that field, None if the field is not a list.
    new : ast.AST
        The new node.

    Returns
    -------
    tuple
        (parent, field, index, old node), which undoes the replacement.
    """
    old = getattr(parent, field) if index is None else getattr(parent, field)[index]
    ast.fix_missing_locations(new)
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new
    return parent, field, index, old


def parsed(text):
    """Return the syntax tree of an expression.

    Parameters
    ----------
    text : str
        Source of the expression.

    Returns
    -------
    ast.expr
    """
    return ast.parse(text, mode="eval").body


def name_of(function):
    """Return the name of a called function, without its module or object.

    Parameters
    ----------
    function : ast.expr
        The ``func`` of a call.

    Returns
    -------
    str
        Empty if the function has no name.
    """
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def value_at(node, values):
    """Return the recorded value of an expression.

    Parameters
    ----------
    node : ast.AST
        A node of the source.
    values : dict
        The recorded value of each place, by its number.

    Returns
    -------
    object
        None if no value was recorded.
    """
    return values.get(getattr(node, "place", None))


def is_numeric(value, kinds="fc"):
    """Return whether a value is an array or a number of some kinds.

    Parameters
    ----------
    value : object
        Any value.
    kinds : str
        Codes of NumPy's kinds, such as "f" and "c".

    Returns
    -------
    bool
    """
    return (
        isinstance(value, (np.ndarray, np.generic, float, int))
        and np.asarray(value).dtype.kind in kinds
    )
