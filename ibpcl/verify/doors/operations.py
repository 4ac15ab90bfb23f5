"""Operations that the class of a user's own automatic differentiation may have.

Each method or function that makes a recorded object from others becomes an :class:`Operation`.  An
operation that also takes an axis, a shape or an index becomes several, one for each choice.
"""

import ast
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.signatures import parameters_of, tree_of

BACKWARDS = ("backward", "backprop", "backpropagate", "backward_pass")
BINARY = ("__add__", "__sub__", "__mul__", "__truediv__", "__matmul__")
REFLECTED = ("__radd__", "__rsub__", "__rmul__", "__rtruediv__")  # a number stands on the left
PRODUCTS = ("matmul", "dot", "mm")
OTHERS = ("other", "o", "b", "y", "rhs", "tensor", "that", "right")
EXPONENTS = ("n", "p", "k", "power", "exponent", "scalar")
AXIS = ("axis", "dim", "axes")
KEPT = ("keepdims", "keepdim")
# Parameters of an operation that hold no objects.
SETTINGS = (*AXIS, *KEPT, "scalar", "dims", "dim0", "dim1", "shape", "newshape", "size")
SETTINGS += ("idx", "idxs", "index", "indices", "item", "key")
LISTS = ("concatenate", "concat", "cat", "stack", "hstack", "vstack")
# Words in the names of methods that show or write something.
SHOWING = {"plot", "draw", "show", "print", "save", "dump", "write", "visualize", "render"}
# Methods without arguments through which no gradient passes.
SILENT = ("detach", "clone", "copy", "zerograd", "zerosgrad", "item", "numpy", "tonumpy")
SILENT += ("argmax", "argmin", "argsort", "data", "value", "array")
NUMBER = 1.5
EXPONENT = 3
EQUAL = ((3, 4), (3, 4))
MATRICES = ((3, 4), (4, 5))
ROWS = ((3, 4), (4,))
BATCH = ((2, 3, 4), (4, 5))
COLUMNS = ((6, 1), (6, 1))  # of a binary loss, which has one output per example
CUBE = ((2, 3, 4),)  # with a third axis, a permutation differs from its inverse
ORDER = (2, 0, 1)
# Images and kernels, with the channels last and first.
CONVOLUTIONS = (((2, 5, 5, 3), (3, 3, 3, 4)), ((2, 3, 5, 5), (4, 3, 3, 3)))
# Names of the methods with the value and the gradient in a class of one operation.
RULES = (("compute", "gradient"), ("forward", "backward"))
# Indices, as a user writes them.  A row that is chosen twice gets two gradients.
INDICES = {
    "1": 1,
    "1:3": slice(1, 3),
    ":, 1": (slice(None), 1),
    "[0, 0, 2]": np.array([0, 0, 2]),
}


class Rule(NamedTuple):
    """A class that holds the value and the gradient of one operation.

    Attributes
    ----------
    kind : type
        The class.
    forward, backward : str
        Names of its methods.
    call : callable
        What the user calls: ``kind.apply``, or a function that makes an object of the class.
    """

    kind: type
    forward: str
    backward: str
    call: object

    @property
    def value(self):
        """The user's function for the value."""
        return getattr(self.kind, self.forward)

    @property
    def gradient(self):
        """The user's function for the gradient."""
        return getattr(self.kind, self.backward)

    @property
    def parameters(self):
        """Parameters of the value, without the object or a context."""
        return parameters_of(self.value, skip=1)


class Operation(NamedTuple):
    """An operation on the objects of a class that records how they were computed.

    Attributes
    ----------
    kind : type
        The class.
    name : str
        Name in the report.
    source : callable
        The user's function: an unbound method, or a function of the module.
    arity : int
        Number of objects that it takes.
    shapes : tuple of tuple
        Shapes of the objects, if they hold arrays.
    arguments : tuple
        What it takes after the objects.
    keywords : mapping of str to object
        What it takes by name.
    is_of_list : bool
        Whether it takes the objects as one list.
    is_pass : bool
        Whether ``source`` is the backward pass.  The operation is then a given expression.
    rule : Rule or None
        The class of which ``source`` is the gradient, if there is one for the operation.
    """

    kind: type
    name: str
    source: object
    arity: int
    shapes: tuple = EQUAL
    arguments: tuple = ()
    keywords: Mapping = MappingProxyType({})
    is_of_list: bool = False
    is_pass: bool = False
    rule: Rule | None = None

    @property
    def base(self):
        """Name without the arguments that are not objects: ``Tensor.sum`` for all its axes."""
        return self.name.partition(" (")[0]

    @property
    def owner(self):
        """The class whose methods hold the value and the gradient."""
        return self.kind if self.rule is None else self.rule.kind

    @property
    def aliases(self):
        """Other names by which a user may ask for it."""
        called = "apply" if self.rule is None else self.rule.call.__name__
        short = self.base.rpartition(".")[2]
        return (self.base, short) if called == "apply" else (self.base, short, called)

    @property
    def names(self):
        """Names of the objects that it takes."""
        if self.is_pass:
            return ("a", "b")
        if self.rule is None:
            every = parameters_of(self.source).every
        else:
            every = self.rule.parameters.required
        if self.is_of_list:
            holder = next(iter(every), "tensors")
            return tuple(f"{holder}[{n}]" for n in range(self.arity))
        more = [name for name in ("x", "y") if name not in every]  # for `*inputs`
        return tuple([*every, *more][: self.arity])

    def result(self, source, nodes):
        """Return the resulting object, with ``source`` in the place of the user's function.

        Parameters
        ----------
        source : callable
            Takes the place of the user's function.
        nodes : tuple of object
            The objects that the operation takes.

        Returns
        -------
        object
            The resulting object.
        """
        if self.is_pass:
            first, second = nodes
            product = first * second
            return (product + first) * product
        called = source if self.rule is None else self.rule.call
        objects = [list(nodes)] if self.is_of_list else nodes
        return called(*objects, *self.arguments, **self.keywords)


def operations_of(kind, backward, holds_arrays, module):
    """Yield the operations that a class and its module may have.

    Parameters
    ----------
    kind : type
        The class.
    backward : str
        Name of its backward pass.
    holds_arrays : bool
        Whether its objects may hold arrays.
    module : module
        The module in which functions on the objects are looked for.

    Yields
    ------
    Operation
        An operation that may turn out not to work.
    """
    if kind.__module__ == module.__name__:
        yield from methods_of(kind, backward, holds_arrays)
    for name, source in vars(module).items():
        if getattr(source, "__module__", None) != module.__name__:
            continue
        plain = Operation(kind, name, source, 2, _shapes_of(name))
        rule = _rule_of(source)
        if rule is not None:
            plain = plain._replace(name=rule.kind.__name__, source=rule.gradient, rule=rule)
        elif not inspect.isfunction(source) or not _records(source, kind):
            continue
        is_class = inspect.isclass(source)
        parameters = rule.parameters if is_class else parameters_of(source)
        objects = [one for one in parameters.required if words.plain(one) not in SETTINGS]
        if objects or is_class:
            plain = plain._replace(arity=len(objects) or 2)
            yield from _choices(plain, parameters, len(objects), holds_arrays)


def _shapes_of(name):
    """Return shapes of two objects for a function, according to its name."""
    if words.plain(name) in PRODUCTS:
        return MATRICES
    return COLUMNS if {"binary", "bce", "logistic"} & set(words.tokens(name)) else EQUAL


def methods_of(kind, backward, holds_arrays):
    """Yield the methods of a class that may be operations, and its backward pass.

    Parameters
    ----------
    kind : type
        The class.
    backward : str
        Name of its backward pass.
    holds_arrays : bool
        Whether its objects may hold arrays.

    Yields
    ------
    Operation
        An operation that may turn out not to work.
    """
    for name in dict.fromkeys(name for base in kind.__mro__[:-1] for name in vars(base)):
        source = source_of(kind, name)
        if source is None or name in BACKWARDS:
            continue
        plain = Operation(kind, f"{kind.__name__}.{name}", source, 1)
        rule = _applied_by(source)
        if rule is not None:  # its gradient and the details of its value are there
            plain = plain._replace(source=rule.gradient, rule=rule)
        is_static = isinstance(inspect.getattr_static(kind, name), staticmethod)
        parameters = parameters_of(source, skip=0 if is_static else 1)
        required = parameters.required
        is_public = (
            not name.startswith("_")
            and SHOWING.isdisjoint(words.tokens(name))
            and "grad" not in words.tokens(name)
            and _returns_something(source)
        )
        is_product = words.plain(name) in PRODUCTS
        if is_static:
            if words.plain(name) in LISTS:
                yield from _choices(plain, parameters, 0, holds_arrays)
        elif name in BINARY or (is_public and len(required) == 1 and required[0] in OTHERS):
            both = plain._replace(arity=2, shapes=MATRICES if is_product else EQUAL)
            yield both
            if holds_arrays and not is_product:
                yield both._replace(name=f"{plain.name} (broadcast)", shapes=ROWS)
            yield from _batches(both)
        elif name in REFLECTED:
            yield plain._replace(arguments=(NUMBER,))
        elif name == "__pow__" or (is_public and len(required) == 1 and required[0] in EXPONENTS):
            yield plain._replace(arguments=(EXPONENT,))
        elif name in ("__neg__", "__getitem__") or (is_public and words.plain(name) not in SILENT):
            yield from _choices(plain, parameters, 0, holds_arrays)
    if source_of(kind, "__add__") and source_of(kind, "__mul__"):
        title = f"{kind.__name__}.{backward}"
        yield Operation(kind, title, source_of(kind, backward), 2, is_pass=True)


def _choices(plain, parameters, n_objects, holds_arrays):
    """Yield an operation without further arguments, and with each choice of them.

    The objects are the first ``n_objects`` of the parameters.
    """
    required = parameters.required[n_objects:]
    called = plain.aliases[-1] if plain.rule is not None else plain.name
    action = words.plain(called.rpartition(".")[2])
    if not required and action not in LISTS:
        if action.endswith(("conv", "conv2d")):
            yield from (plain._replace(shapes=shapes) for shapes in CONVOLUTIONS)
        yield plain
        yield from _batches(plain)
    for one in _with_settings(plain, action, parameters, required) if holds_arrays else ():
        names = (required + parameters.optional)[: len(one.arguments)]
        # `apply` may take objects alone by position
        if one.rule is not None and 0 < len(one.arguments) == len(names):
            by_name = dict(zip(names, one.arguments, strict=True))
            yield one._replace(arguments=(), keywords={**by_name, **one.keywords})
        yield one


def _with_settings(plain, action, parameters, required):
    """Yield an operation with each choice of an axis, a shape, an order or an index."""
    others = required + parameters.optional

    def chosen(text, *arguments, shapes=plain.shapes, keywords=plain.keywords):
        return plain._replace(
            name=f"{plain.name} ({text})", shapes=shapes, arguments=arguments, keywords=keywords
        )

    def tupled(value):
        return value if parameters.open_ended else (value,)

    axis = next((one for one in parameters.every if one in AXIS), None)
    kept = next((one for one in parameters.every if one in KEPT), None)
    if action in LISTS:
        yield plain._replace(arity=2, is_of_list=not parameters.open_ended)
    elif action.endswith(("getitem", "slice")):
        for text, index in INDICES.items():
            yield chosen(text, index)
    elif action.endswith(("reshape", "view")):
        yield chosen("4, 3", *tupled((4, 3)))
    elif action.endswith(("transpose", "permute")):
        if len(others) == 2 and not parameters.open_ended:
            yield chosen("0, 2", 0, 2, shapes=CUBE)
        elif others or parameters.open_ended:
            yield chosen("2, 0, 1", *tupled(ORDER), shapes=CUBE)
            yield chosen("0, 2", *tupled((0, 2)), shapes=CUBE)  # two axes that change places
    elif action == "swapaxes":
        yield chosen("0, 2", 0, 2, shapes=CUBE)
    elif action in ("broadcastto", "expand"):
        yield chosen("3, 4", *tupled((3, 4)), shapes=((3, 1),))
    elif action == "squeeze":
        yield chosen("1", 1, shapes=((3, 1, 4),))
    elif action in ("clip", "clamp"):
        yield chosen("-0.5, 0.5", -0.5, 0.5)
    elif len(required) == 1 and required[0] in EXPONENTS:
        yield plain._replace(arguments=(EXPONENT,))
    elif axis is not None and set(required) <= {axis, kept}:
        for n, is_kept in ((0, False), (1, False), (1, True)):
            if kept is None and is_kept:
                continue
            chosen_axis = (n,) if axis == "axes" else n
            values = {axis: chosen_axis} if kept is None else {axis: chosen_axis, kept: is_kept}
            text = f"{axis}={chosen_axis}" + (f", {kept}=True" if is_kept else "")
            given = [values.pop(one) for one in required]
            yield chosen(text, *given, keywords=values)


def _applied_by(method):
    """Return the rule of which a method returns ``apply`` of its parameters; None for others."""
    tree = tree_of(method)
    body = [] if tree is None else [node for node in tree.body if not _is_docstring(node)]
    if len(body) != 1 or not isinstance(body[0], ast.Return):
        return None
    call = body[0].value
    if not (
        isinstance(call, ast.Call)
        and getattr(call.func, "attr", "") == "apply"
        and [getattr(one, "id", None) for one in call.args] == parameters_of(method).every
    ):
        return None
    return _rule_of(method.__globals__.get(getattr(call.func.value, "id", "")))


def _rule_of(value):
    """Return the rule of an applied class, or of a function that makes an object and calls it."""
    if inspect.isclass(value):
        return Rule(value, "forward", "backward", value.apply) if is_applied(value) else None
    nodes = ast.walk(tree_of(value) or ast.Module([], [])) if inspect.isfunction(value) else ()
    for node in nodes:
        if (
            isinstance(node, ast.Return)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Call)
        ):
            kind = value.__globals__.get(getattr(node.value.func.func, "id", ""))
            for forward, backward in RULES:
                methods = (getattr(kind, forward, None), getattr(kind, backward, None))
                if inspect.isclass(kind) and all(map(inspect.isfunction, methods)):
                    return Rule(kind, forward, backward, value)
    return None


def _batches(plain):
    """Yield a product of a batch of matrices with one matrix, if its gradient looks at shapes."""
    nodes = ast.walk(tree_of(plain.source) or ast.Module([], []))
    if plain.shapes is MATRICES and any(
        getattr(node, "attr", "") in ("ndim", "shape") for node in nodes
    ):
        yield plain._replace(name=f"{plain.name} (batch)", shapes=BATCH)


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_applied(kind):
    """Return whether a class is an operation that is called by ``kind.apply(...)``.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    bool
        True if ``forward`` and ``backward`` are methods of objects that ``apply`` makes.
    """
    return all(
        inspect.isfunction(getattr(kind, name, None)) for name in ("forward", "backward")
    ) and inspect.ismethod(getattr(kind, "apply", None))


def source_of(kind, name):
    """Return a method of the user's class, or the function behind a property.

    Parameters
    ----------
    kind : type
        The class.
    name : str
        Name of the method.

    Returns
    -------
    function or None
        None if the class does not define it.
    """
    if not any(name in vars(base) for base in kind.__mro__[:-1]):
        return None
    found = inspect.getattr_static(kind, name)
    found = found.fget if isinstance(found, property) else found
    found = found.__func__ if isinstance(found, staticmethod) else found
    return found if inspect.isfunction(found) else None


def _returns_something(function):
    tree = tree_of(function)
    return tree is None or any(
        isinstance(node, ast.Return) and node.value is not None for node in ast.walk(tree)
    )


def _records(function, kind):
    """Return whether a function makes an object of a class, and defines a function for it."""
    tree = tree_of(function)
    nodes = [] if tree is None else [node for node in ast.walk(tree) if node is not tree]
    return any(
        isinstance(node, ast.Call) and getattr(node.func, "id", None) == kind.__name__
        for node in nodes
    ) and any(isinstance(node, (ast.FunctionDef, ast.Lambda)) for node in nodes)
