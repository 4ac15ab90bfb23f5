"""Operations of a user's own automatic differentiation, such as a class ``Value`` or ``Tensor``.

An object of such a class holds a number or an array, and records how it was computed.
``out.backward()`` goes through the record in reverse and adds gradients to the attribute ``grad``
of every object.  Each operation, such as ``Value.__mul__`` or ``Tensor.relu``, becomes a pair: its
forward is the value of the result, and its backward returns the gradients of the objects that it
takes.  The record itself is checked with an expression in which a result is used twice.
"""

import ast
import contextlib
import importlib
import inspect
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.loading import is_library
from ibpcl.verify.doors.operations import (
    BACKWARDS,
    PRODUCTS,
    Operation,
    is_applied,
    methods_of,
    operations_of,
    source_of,
)
from ibpcl.verify.doors.pair import Adapted, Pair
from ibpcl.verify.doors.pairs import fits
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.signatures import method_parameters, parameters_of, tree_of
from ibpcl.verify.doors.target import Target

VALUES = ("data", "cached_data", "value", "val", "array", "_data", "_value", "x", "v")
GRADIENTS = ("grad", "gradient", "_grad", "grads", "derivative", "adjoint")
# NumPy with float64 in the place of smaller types, in which differences would be too coarse.
DOUBLE = types.ModuleType("numpy")
DOUBLE.__getattr__ = lambda name: getattr(np, name)
SMALL = (np.float32, np.float16)
DOUBLE.float32 = DOUBLE.float16 = DOUBLE.single = DOUBLE.half = np.float64
# Words for functions of positive numbers.
POSITIVE = frozenset({"log", "log2", "log10", "ln", "sqrt", "rsqrt"})
ENTRIES = 6  # single numbers for which an operation is checked


class Record(NamedTuple):
    """Names of the attributes and methods by which objects of a class are made and read.

    Attributes
    ----------
    kind : type
        The class.
    value, gradient, backward : str
        Names of the attributes with the value and the gradient, and of the backward pass.
    options : dict of str to bool
        Options of the constructor.
    holds_arrays : bool
        Whether an object may hold an array.
    start : str
        What the backward pass takes: "array" or "object" for the gradient of its output, "" for
        nothing; "kept" if it begins with the gradient that its output holds.
    is_of_sums : bool
        Whether the backward pass begins at single numbers only.
    is_widened : bool
        Whether the objects would hold float32 if the user's code got it.
    """

    kind: type
    value: str
    gradient: str
    backward: str
    options: dict
    holds_arrays: bool
    start: str = ""
    is_of_sums: bool = False
    is_widened: bool = False

    def made(self, value):
        """Return an object that holds a value.

        Parameters
        ----------
        value : ndarray or float
            The value.

        Returns
        -------
        object
            A new object without a record.
        """
        return self.kind(self.held(value), **self.options)

    def held(self, value):
        """Return a value as an object of the class holds it.

        Parameters
        ----------
        value : ndarray or float
            The value.

        Returns
        -------
        ndarray or float
            A new array, or a number, which no code can change in place.
        """
        return np.array(value) if self.holds_arrays else np.asarray(value).item()

    def read(self, holder):
        """Return the value of an object as an array.

        Parameters
        ----------
        holder : object
            The object.

        Returns
        -------
        ndarray
            Its value, as floating-point or complex numbers.
        """
        value = np.asarray(getattr(holder, self.value))
        return value if value.dtype.kind in "fc" else value.astype(float)

    def gradient_of(self, holder):
        """Return the gradient of an object after a backward pass; zero if there is none.

        Parameters
        ----------
        holder : object
            The object.

        Returns
        -------
        ndarray
            Its gradient.
        """
        found = getattr(holder, self.gradient, None)
        found = getattr(found, self.value) if isinstance(found, self.kind) else found
        return np.zeros(self.read(holder).shape) if found is None else np.asarray(found)

    def nodes(self, values):
        """Return new objects: one tuple of them, or one for each entry of the values.

        Parameters
        ----------
        values : sequence of ndarray
            The values of the objects that an operation takes.

        Returns
        -------
        list of tuple
            One tuple for each call of the operation.
        """
        if self.holds_arrays:
            return [tuple(map(self.made, values))]
        return [tuple(map(self.made, entries)) for entries in zip(*values, strict=True)]


def targets_in(module):
    """Return the operations of the classes of a module that record how values were computed.

    Parameters
    ----------
    module : module
        The module.

    Returns
    -------
    dict of str to Target
        The targets by name.
    """
    targets = {}
    for kind in _classes(module):
        record = record_of(kind) if is_users(kind) else None
        every = [] if record is None else list(operations_of(*_described(record), module))
        works = [
            one
            for one in every
            if _values(record, one) is not None
            or isinstance(_failure(record, one), NotImplementedError)
        ]
        # if nothing works, sums and products show why
        works = works or [
            one
            for one in every
            if one.name.endswith(("__add__", "__mul__")) and _failure(record, one) is not None
        ]
        if any(_reaches(record, one) for one in works):
            for one in works:
                target = Target(one.name, "operation", one, aliases=one.aliases)
                targets.setdefault(one.name, target)
    return targets


def _classes(module):
    """Return the classes of a module, and those that its operations import in ``apply``."""
    classes = [value for value in list(vars(module).values()) if inspect.isclass(value)]
    for source in {kind.apply.__func__ for kind in classes if is_applied(kind)}:
        for node in ast.walk(tree_of(source) or ast.Module([], [])):
            if isinstance(node, ast.ImportFrom):
                with contextlib.suppress(Exception):  # code under check may raise anything
                    path = "." * node.level + (node.module or "")
                    home = importlib.import_module(path, module.__package__)
                    found = [getattr(home, alias.name, None) for alias in node.names]
                    classes += [one for one in found if inspect.isclass(one)]
    return list(dict.fromkeys(classes))


def _described(record):
    """Return what `operations_of` and `methods_of` need to know of a record."""
    return record.kind, record.backward, record.holds_arrays


def _reaches(record, one):
    """Return whether any gradient reaches an object that an operation takes."""
    try:
        pair = _pair(record, one, record.start != "", False)
        out, cache = pair.forward(*pair.inputs)
        return any(map(np.any, pair.backward(np.ones(np.shape(out)), cache)))
    except Exception:  # code under check may raise anything
        return True


def record_of(kind):
    """Return how the objects of a class are made and read.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    Record or None
        None if the objects do not record how they were computed.
    """
    backward = next(
        (
            name
            for name in BACKWARDS
            if inspect.isfunction(getattr(kind, name, None))
            and not method_parameters(kind, name).required
        ),
        None,
    )
    if backward is None:
        return None
    parameters = parameters_of(kind.__init__, skip=1)
    options = {name: True for name in parameters.every if words.plain(name) == "requiresgrad"}
    is_widened = _uses_double(kind)
    for given in (np.array([0.25, 0.5]), 0.25) if _is_for_arrays(kind, options) else (0.25,):
        try:
            holder = kind(given, **options)
        except Exception:  # it may take another kind of value
            continue
        value = next((name for name in VALUES if _holds(holder, name, given)), None)
        gradient = next((name for name in GRADIENTS if _may_have(holder, name)), None)
        if value is not None and gradient is not None:
            changes = [] if is_widened else for_double(kind)
            for changed, attribute, new in changes:
                setattr(changed, attribute, new)
            if changes:
                return record_of(kind)
            record = Record(
                kind, value, gradient, backward, options, np.ndim(given) > 0, is_widened=is_widened
            )
            return record._replace(
                start=_start_of(record, given), is_of_sums=_is_of_sums(record, given)
            )
    return None


def _is_for_arrays(kind, options):
    """Return whether a class is meant for arrays: it makes them, or has operations of them."""
    annotations = getattr(kind.__init__, "__annotations__", {})
    if any("array" in str(one) for one in annotations.values()) or any(
        hasattr(kind, name) for name in ("__matmul__", "shape", "sum", "T", *PRODUCTS)
    ):
        return True
    try:
        holder = kind([0.25, 0.5], **options)
    except Exception:  # it takes numbers only
        return False
    return any(isinstance(getattr(holder, name, None), np.ndarray) for name in VALUES)


def is_users(kind):
    """Return whether a class or function is the user's own: from no library, and not built in.

    Parameters
    ----------
    kind : type or function
        The class or function.

    Returns
    -------
    bool
        True for classes of the user's files, notebooks and interactive sessions.
    """
    return kind.__module__ == "__main__" or _is_of_user(sys.modules.get(kind.__module__))


def _is_of_user(module):
    file = getattr(module, "__file__", None)
    return file is not None and not is_library(Path(file).resolve())


def for_double(kind):
    """Return the attributes by which a project gets float64 for float32 from NumPy.

    Parameters
    ----------
    kind : type
        A class of the project.

    Returns
    -------
    list of tuple
        A module or function, the name of its attribute, and the new value; empty if the project
        does not ask for float32.
    """
    home = sys.modules[kind.__module__]
    if _is_of_user(home):
        parts = [part for part in (home.__package__ or "").split(".") if part]
        project = Path(home.__file__).resolve().parents[len(parts)]
        modules = [
            module
            for module in list(sys.modules.values())
            if _is_of_user(module) and Path(module.__file__).resolve().is_relative_to(project)
        ]
    else:  # an interactive session
        modules = [home]
    if not _asks_for_float32(kind) and not any(map(_asks_for_float32, modules)):
        return []
    changes = []
    for module in modules:
        for name, value in list(vars(module).items()):
            if value is np:
                changes.append((module, name, DOUBLE))
            elif any(value is small for small in SMALL):
                changes.append((module, name, np.float64))
            for held in vars(value).values() if inspect.isclass(value) else [value]:
                for function in _functions_in(held):
                    changes += _doubled_parts(function)
    return changes


def _functions_in(value):
    """Yield the function of a method or a property, and those that a decorator has wrapped."""
    value = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    if inspect.isfunction(value) and is_users(value):
        yield value
        for cell in value.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                if cell.cell_contents is not value:
                    yield from _functions_in(cell.cell_contents)


def _doubled_parts(function):
    """Return the attributes by which a function uses float64 for float32, also by their names."""
    changes = []
    if function.__defaults__:
        changes.append((function, "__defaults__", tuple(map(_doubled, function.__defaults__))))
    if function.__kwdefaults__:
        kept = {name: _doubled(value) for name, value in function.__kwdefaults__.items()}
        changes.append((function, "__kwdefaults__", kept))
    code = _doubled_code(function.__code__)
    if code is not function.__code__:
        changes.append((function, "__code__", code))
    return changes


def _doubled_code(code):
    """Return compiled code with float64 for float32 in its constants and its nested functions."""
    constants = tuple(
        _doubled_code(one) if isinstance(one, types.CodeType) else _doubled(one)
        for one in code.co_consts
    )
    same = all(a is b for a, b in zip(constants, code.co_consts, strict=True))
    return code if same else code.replace(co_consts=constants)


def _asks_for_float32(source):
    try:
        used = source if inspect.ismodule(source) else sys.modules[source.__module__]
        has_numpy = any(value is np or value is np.float32 for value in vars(used).values())
        return has_numpy and "float32" in inspect.getsource(source)
    except Exception:  # a file that is not there, or values that do not compare
        return False


def _doubled(default):
    """Return float64 for a smaller type or its name; other values stay."""
    if isinstance(default, str) and default in ("float32", "float16"):
        return "float64"
    return np.float64 if any(default is small for small in SMALL) else default


def _uses_double(kind):
    return any(value is DOUBLE for value in vars(sys.modules[kind.__module__]).values())


def _may_have(holder, name):
    """Return whether an object has an attribute, or its class announces it by an annotation."""
    return hasattr(holder, name) or any(
        name in getattr(kind, "__annotations__", {}) for kind in type(holder).__mro__
    )


def _holds(holder, name, given):
    try:
        value = getattr(holder, name)
        return np.shape(value) == np.shape(given) and bool(np.all(np.asarray(value) == given))
    except Exception:  # code under check may raise anything
        return False


def _start_of(record, given):
    """Return what a backward pass takes, found by the gradient of an object itself."""
    optional = method_parameters(record.kind, record.backward).optional
    weight = 3 * np.asarray(given)
    ways = [("array", record.held), ("object", record.made)]
    # a single object may keep either; what it keeps by itself shows what operations expect
    if _keeps_object(record, given):
        ways.reverse()
    if optional and words.is_cotangent(optional[0]):
        for start, wrapped in ways:
            try:
                holder = record.made(given)
                getattr(holder, record.backward)(wrapped(weight))
                if np.array_equal(record.gradient_of(holder), weight):
                    return start
            except Exception:  # it may take the other, or neither
                continue
    try:
        holder = record.made(given)
        getattr(holder, record.backward)()
        return "" if np.any(record.gradient_of(holder)) else "kept"
    except Exception:  # it may ask for a single number
        return ""


def _keeps_object(record, given):
    """Return whether the gradient after a backward pass is an object of the class."""
    holder = record.made(given)
    with contextlib.suppress(Exception):  # it may ask for a single number
        getattr(holder, record.backward)()
    return isinstance(getattr(holder, record.gradient, None), record.kind)


def _is_of_sums(record, given):
    """Return whether a backward pass raises at an object with several numbers."""
    try:
        getattr(record.made(given), record.backward)()
    except Exception:  # it may ask for a single number
        return source_of(record.kind, "sum") is not None
    return False


def _values(record, one):
    """Return values for which an operation makes a new object, of both signs if possible.

    None if it works for no values: it may be another kind of method.
    """
    if not 0 < one.arity < 3:
        return None
    rng = np.random.default_rng(5)
    shapes = one.shapes[: one.arity] if record.holds_arrays else [(ENTRIES,)] * one.arity
    sizes = [rng.uniform(0.3, 0.9, shape) for shape in shapes]
    signs = [rng.choice([-1.0, 1.0], shape) for shape in shapes]
    signed = [a * b for a, b in zip(sizes, signs, strict=True)]
    labels = [n for n, name in enumerate(one.names[: len(shapes)]) if words.is_label(name)]
    if labels:  # the other input may be a probability
        classes = [_labels(a.shape) if n in labels else a for n, a in enumerate(sizes)]
        choices = [classes, sizes, signed]
    else:  # a logarithm may cut negative numbers off
        is_positive = not POSITIVE.isdisjoint(words.tokens(one.base.rpartition(".")[2]))
        choices = [sizes, signed] if is_positive else [signed, sizes]
    for values in choices:
        try:
            with np.errstate(all="ignore"):
                if all(
                    isinstance(out, record.kind)
                    and not any(out is node for node in nodes)
                    and not (record.holds_arrays and _are_integers(record, out))
                    and np.all(np.isfinite(record.read(out)))
                    for nodes in record.nodes(values)
                    for out in [one.result(one.source, nodes)]
                ):
                    return values
        except Exception:  # it may need positive values, or be no operation
            continue
    return None


def _halves(record, one):
    """Return 0.5 in every entry of the objects that an operation takes."""
    shapes = one.shapes[: one.arity] if record.holds_arrays else [(ENTRIES,)] * one.arity
    return [np.full(shape, 0.5) for shape in shapes]


def _failure(record, one):
    """Return the exception that an operation raises at simple values; None if it raises none."""
    try:
        one.result(one.source, record.nodes(_halves(record, one))[0])
    except Exception as error:  # code under check may raise anything
        return error
    return None


def _labels(shape):
    """Return labels as 0 and 1, with one 1 in each row of several columns."""
    rows = np.arange(shape[0])
    n_classes = shape[-1] if len(shape) > 1 else 1
    if n_classes == 1:
        return (rows % 2).astype(float).reshape(shape)
    return np.broadcast_to(np.eye(n_classes)[rows % n_classes], shape).copy()


def _are_integers(record, holder):
    return np.asarray(getattr(holder, record.value)).dtype.kind not in "fc"


def pair_of_operation(one):
    """Return the pair of an operation.

    Parameters
    ----------
    one : Operation
        The operation.

    Returns
    -------
    Pair
        The forward and its gradient.

    Raises
    ------
    FormError
        If the backward pass raises.
    """
    record = record_of(one.kind)
    if one.is_pass:
        return _pair(record, one, record.start != "" or _starts_with_product(record), False)
    weighted = is_weighted(record)
    doubled = allows_reuse(record, weighted, one.source)
    pair = _pair(record, one, weighted, doubled)
    if doubled and not fits(pair) and _is_right(record, one, weighted, False):
        once = _pair(record, one, weighted, False)
        return replace(pair, notes=(on_reuse(record, once, pair), *pair.notes))
    return pair


def allows_reuse(record, weighted, source):
    """Return whether gradients of two uses of an object are added in an operation.

    Parameters
    ----------
    record : Record
        How objects are made and read.
    weighted : bool
        Whether a backward pass can begin with any gradient of its output.
    source : callable
        An operation that is not asked.

    Returns
    -------
    bool
        True if sums or products are right where they are done twice with the same objects.
    """
    return bool(_passes(record)) and any(
        other.source is not source and _is_right(record, other, weighted, True)
        for other in _sum_and_product(record)
    )


def is_weighted(record):
    """Return whether a backward pass can begin with any gradient of its output.

    Parameters
    ----------
    record : Record
        How objects are made and read.

    Returns
    -------
    bool
        False if it takes no gradient, and its record is wrong: then only a backward pass of one
        step shows what an operation does.
    """
    return record.start != "" or any(
        _is_right(record, other, _starts_with_product(record), False) for other in _passes(record)
    )


def _starts_with_product(record):
    """Return whether products are right, so that a pass can begin at the product with a weight."""
    return _is_right(record, _sum_and_product(record)[1], False, False)


def _sum_and_product(record):
    return tuple(
        Operation(record.kind, name, source_of(record.kind, name), 2)
        for name in ("__add__", "__mul__")
    )


def _passes(record):
    return [other for other in methods_of(*_described(record)) if other.is_pass]


def on_reuse(record, once, twice):
    """Return why gradients may be right if the objects are used once, and wrong for two uses.

    Parameters
    ----------
    record : Record
        How objects are made and read.
    once, twice : Pair
        An operation, and the sum of two results of it for the same objects.

    Returns
    -------
    str
        A sentence for the report.
    """
    gradients = []
    for pair in (once, twice):
        out, cache = pair.forward(*pair.inputs)
        gradients.append(pair.backward(np.ones(np.shape(out)), cache))
    if any(np.any(a) and np.allclose(a, b) for a, b in zip(*gradients, strict=True)):
        return (
            "used once, its gradient is right; the gradient of a second use replaces that of the "
            f"first instead of being added: self.{record.gradient} += ..."
        )
    return (
        "used once, its gradient is right; used twice, it is wrong: two objects may share one "
        f"array in {record.gradient}, which += changes in place"
    )


def _is_right(record, one, weighted, doubled):
    """Return whether an operation has the right gradients; False if its backward pass raises."""
    try:
        return fits(_pair(record, one, weighted, doubled))
    except FormError:
        return False


def _pair(record, one, weighted, doubled):
    """Return the pair of an operation.

    With ``weighted``, the backward pass gets the cotangent, or begins with the product of the
    output and the cotangent.  Otherwise, it begins at the output with ones, and the forward is the
    sum of the output's entries.  With ``doubled``, the operation is done twice with the same
    objects, and its results are added, so that the gradients must accumulate.
    """
    values = _values(record, one) or _halves(record, one)
    first = one.source if one.rule is None else one.rule.value

    def result(source, nodes):
        out = one.result(source, nodes)
        return out + one.result(source, nodes) if doubled else out

    def with_same_value(source, nodes):
        if source is not one.source and not one.is_pass:
            values = [record.read(one.result(each, nodes)) for each in (source, one.source)]
            if not np.array_equal(*values):
                raise ValueError("the value of an operation must not change with its gradient")
        return result(source, nodes)

    def forward(source, *arrays):
        with _with_method(one.rule, "forward", source):
            outs = [result(source, nodes) for nodes in record.nodes(arrays)]
        out = (
            record.read(outs[0]) if record.holds_arrays else np.array(list(map(record.read, outs)))
        )
        return (out if weighted else out.sum()), arrays

    def backward(source, dout, arrays):
        sets = record.nodes(arrays)
        weights = [dout] if record.holds_arrays or not weighted else np.ravel(dout)
        start = source if one.is_pass else getattr(one.kind, record.backward)
        with _with_method(one.rule, "backward", source):
            for n, nodes in enumerate(sets):
                weight = weights[n] if weighted else None
                run_backward(record, start, with_same_value(source, nodes), weight)
        by_input = zip(*sets, strict=True)
        if record.holds_arrays:
            gradients = [record.gradient_of(*nodes) for nodes in by_input]
        else:
            gradients = [np.array(list(map(record.gradient_of, nodes))) for nodes in by_input]
        return tuple(gradients) if weighted else tuple(dout * array for array in gradients)

    try:
        out, cache = forward(first, *values)
        gradients = backward(one.source, np.ones(np.shape(out)), cache)
    except Exception as error:
        # compiled code may be made for float32 alone
        if record.is_widened and isinstance(error, TypeError) and "cast" in str(error):
            raise FormError(
                f"check: with float64 in the place of float32, {raised(error, one.name)}"
            ) from None
        raise FormError(f"check: {raised(error, one.name)}", in_gradient=True) from error
    names = one.names
    labels = [
        n for n, name in enumerate(names) if words.is_label(name) and not np.any(gradients[n])
    ]
    learned = [n for n in range(one.arity) if n not in labels]
    notes = ["the expression is (c + a) * c with c = a * b"] if one.is_pass else []
    notes += (
        ["it is done twice with the same objects, and the results are added"] if doubled else []
    )
    notes += [f"no gradient reaches {names[n]}, which is treated as data" for n in labels]
    if record.is_widened:
        notes.append("it was computed with float64 in the place of float32")
    if not weighted:
        notes.append(f"the gradient is that of the sum: out.{record.backward}() begins with ones")
    elif record.start == "kept":
        notes.append(f"out.{record.gradient} is set to dout before out.{record.backward}()")
    elif not record.start:
        notes.append(f"the backward pass begins at out * dout, by (out * dout).{record.backward}()")
    return Pair(
        Adapted(first, forward, one.owner),
        Adapted(
            one.source,
            lambda *arguments: tuple(backward(*arguments)[n] for n in learned),
            one.owner,
        ),
        names,
        (first, one.source),
        None,
        tuple(values),
        tuple(names[n] for n in learned),
        tuple(notes),
    )


def _with_method(rule, role, source):
    """Put a version of the forward or backward of a rule into its class, for the calls inside."""
    if rule is None:
        return contextlib.nullcontext()
    name = getattr(rule, role)
    is_static = isinstance(inspect.getattr_static(rule.kind, name), staticmethod)
    return mock.patch.object(rule.kind, name, staticmethod(source) if is_static else source)


def run_backward(record, start, out, weight):
    """Run the backward pass from an output.

    Parameters
    ----------
    record : Record
        How objects are made and read.
    start : callable
        The backward pass, an unbound method.
    out : object
        The output.
    weight : ndarray, float or None
        The gradient of the output; None for ones.
    """
    if record.start == "kept":
        ones = np.ones(np.shape(record.read(out)))
        setattr(out, record.gradient, ones if weight is None else np.array(weight))
        start(out)
    elif weight is None:
        start(out.sum() if record.is_of_sums else out)
    elif record.start:
        start(out, record.held(weight) if record.start == "array" else record.made(weight))
    else:
        product = out * record.made(weight)
        start(product.sum() if record.is_of_sums else product)
