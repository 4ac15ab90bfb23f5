"""State that a pair keeps between calls: found in its functions, and restored before every forward.

With a layer object, a dict of gradients, a mutable default argument or a random generator at the
top of a file, a call depends on earlier calls.  If the state is restored, every forward starts like
the first one.
"""

import copy
import dis
import functools
import inspect
import random
import sys
import types
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters.pair import Adapted

GENERATORS = (np.random.Generator, np.random.RandomState)
MOST_FUNCTIONS = 60  # functions of a pair, with helpers, that are searched
MOST_DEPTH = 6  # depth of nested values that are compared
MOST_NUMBERS = 1_000_000  # a larger global array counts as data, not as state


class Holder(NamedTuple):
    """A mutable value, or a global variable that a function assigns.

    Attributes
    ----------
    name : str
        Name in a sentence, such as "`grads`" or "a default argument of `f_vjp`".
    value : object
        The mutable value; None for a global variable that is assigned.
    namespace : dict or None
        The namespace of a global variable that is assigned.
    owned : bool
        Whether the value is an object of a class, which users create and reset.
    """

    name: str
    value: object
    namespace: dict | None
    owned: bool


class State:
    """The state that functions keep between calls, as it is when this object is created.

    Parameters
    ----------
    *functions : callable
        The functions.  Helpers that they name are searched as well.
    draws : bool
        Whether to include random generators, also the global ones of NumPy and Python.

    Attributes
    ----------
    holders : list of Holder
        The values and variables that keep state.
    saved : list of object
        Copies of their content.
    """

    def __init__(self, *functions, draws=False):
        self.holders = [
            holder
            for holder in _holders(functions)
            if draws or not isinstance(holder.value, GENERATORS)
        ]
        known = {}
        self.saved = self._copies(known)
        # Every object that was copied, with its copy.  The originals are restored in place,
        # because others may refer to them, as an optimizer refers to the arrays of its layers.
        self._pairs = [
            (original, known[id(original)])
            for originals in known.pop("alive", [])
            for original in originals or ()
            if id(original) in known
        ]
        self._originals = {id(copied): original for original, copied in self._pairs}
        self._generators = None
        if draws:
            self._generators = (np.random.get_state(), random.getstate())  # noqa: NPY002

    def _copies(self, known):
        values = [
            h.value if h.namespace is None else h.namespace.get(_bare(h.name)) for h in self.holders
        ]
        return [_copied(value, known) for value in values]

    def restore(self, arrays=False):
        """Restore the state at the time when this object was created.

        Parameters
        ----------
        arrays : bool
            Whether the original arrays in objects come back.  Otherwise, the objects get new
            arrays, so that gradients which a call has returned keep their values.
        """
        held = {id(holder.value) for holder in self.holders}
        new = {}

        def part(value):
            original = self._originals.get(id(value), value)
            if arrays or not isinstance(original, np.ndarray) or id(original) in held:
                return original
            if id(value) not in new:
                new[id(value)] = np.array(value) if value.dtype != object else _mapped(part, value)
            return new[id(value)]

        for original, copied in self._pairs:
            if part(copied) is original:
                _put_back(original, copied, part)
        for holder, value in zip(self.holders, self.saved, strict=True):
            if holder.namespace is not None:
                holder.namespace[_bare(holder.name)] = part(value)
        if self._generators is not None:
            np.random.set_state(self._generators[0])  # noqa: NPY002
            random.setstate(self._generators[1])

    def changed(self):
        """Return the holders whose content has changed."""
        now = self._copies({})
        return [
            holder
            for holder, before, after in zip(self.holders, self.saved, now, strict=True)
            if not _equal(before, after)
        ]

    def before(self, function):
        """Return a version of a function that restores the state before each call.

        Parameters
        ----------
        function : callable
            The function.

        Returns
        -------
        callable
            The version, with the same arguments and result.
        """

        @functools.wraps(function)
        def renewed(*arguments, **options):
            self.restore()
            return function(*arguments, **options)

        return renewed


def _bare(name):
    return name.strip("`")


def _holders(functions):
    """Return the holders of functions and of the helpers that they name."""
    holders = []
    seen = set()
    waiting = list(functions)
    while waiting and len(seen) < MOST_FUNCTIONS:
        function = waiting.pop()
        while isinstance(function, Adapted):
            function = function.source
        if inspect.ismethod(function):
            holders.append(
                Holder(
                    f"the {type(function.__self__).__name__} object", function.__self__, None, True
                )
            )
            function = function.__func__
        function = inspect.unwrap(function) if callable(function) else function
        if not isinstance(function, types.FunctionType) or id(function) in seen:
            continue
        seen.add(id(function))
        more, helpers = _of_function(function)
        holders += more
        waiting += helpers
    unique = {
        (id(h.value), id(h.namespace), h.name if h.value is None else ""): h
        for h in reversed(holders)
    }
    return list(reversed(unique.values()))


def _of_function(function):
    """Return the holders that a function itself names, and the helpers that it may call."""
    name = function.__name__
    holders = []
    helpers = []
    holders.append(Holder(f"an attribute of `{name}`", function.__dict__, None, False))
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        if _mutable(value):
            holders.append(Holder(f"a default argument of `{name}`", value, None, _owned(value)))
    read = set()
    written = set()
    for code in _codes(function.__code__):
        read |= set(code.co_names)
        written |= {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}
    named = {key: function.__globals__[key] for key in sorted(read) if key in function.__globals__}
    named.update(inspect.getclosurevars(function).nonlocals)
    for key, value in named.items():
        if key in written and key in function.__globals__:
            holders.append(Holder(f"`{key}`", None, function.__globals__, _owned(value)))
        elif _mutable(value):
            holders.append(Holder(f"`{key}`", value, None, _owned(value)))
        elif isinstance(value, (types.FunctionType, types.MethodType, Adapted)):
            helpers.append(value)
        elif isinstance(value, type) and value.__module__ == function.__module__:
            helpers += [
                item for item in vars(value).values() if isinstance(item, types.FunctionType)
            ]
    return holders, helpers


def _codes(code):
    """Yield a code object and those of nested functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _mutable(value):
    if isinstance(value, np.ndarray):
        return value.size <= MOST_NUMBERS
    return isinstance(value, (list, dict, set, *GENERATORS)) or _owned(value)


def _owned(value):
    """Return whether a value is an object of a class written in Python, with attributes."""
    kind = type(value)
    module = sys.modules.get(kind.__module__)
    return (
        hasattr(value, "__dict__")
        and not isinstance(
            value,
            (type, types.ModuleType, types.FunctionType, types.MethodType, np.ndarray, Adapted),
        )
        and getattr(module, "__file__", None) is not None
        and kind.__module__.split(".")[0] not in ("numpy", "scipy")
    )


def _copied(value, known):
    """Return a deep copy of a value; a value that cannot be copied is returned itself.

    ``known`` maps addresses of objects to copies that exist already, and is extended.
    """
    # a separate dict, so that a failed copy leaves no incomplete parts in ``known``
    more = dict(known)
    try:
        copied = copy.deepcopy(value, more)
    except Exception:  # generators, modules, locks
        return value
    # keep the originals alive, so that no other object gets their address
    known.setdefault("alive", []).append(more.pop(id(more), None))
    known.update(more)
    return copied


def _put_back(now, saved, part):
    """Give a value the content of its copy; ``part`` maps copies of parts to the parts."""
    if isinstance(now, np.random.Generator):
        now.bit_generator.state = saved.bit_generator.state
    elif isinstance(now, np.random.RandomState):
        now.set_state(saved.get_state())
    elif isinstance(now, list):
        now[:] = map(part, saved)
    elif isinstance(now, dict):
        content = {part(key): part(item) for key, item in saved.items()}
        now.clear()
        now.update(content)
    elif isinstance(now, set):
        content = set(map(part, saved))
        now.clear()
        now.update(content)
    elif isinstance(now, np.ndarray):
        if now.flags.writeable and now.shape == saved.shape:
            now[...] = saved if saved.dtype != object else _mapped(part, saved)
    elif hasattr(now, "__dict__") and not isinstance(now, (type, types.ModuleType)):
        _put_back(vars(now), vars(saved), part)


def _mapped(part, array):
    """Return an array of objects with the parts of its entries."""
    mapped = np.empty(array.shape, object)
    for index, item in np.ndenumerate(array):
        mapped[index] = part(item)
    return mapped


def _equal(a, b, depth=0):
    """Return whether two values are equal; values that cannot be compared count as equal."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return same_bits(a, b)
    if isinstance(a, np.random.Generator):
        return a.bit_generator.state == b.bit_generator.state
    if depth > MOST_DEPTH:
        return True
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key], depth + 1) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(_equal(x, y, depth + 1) for x, y in zip(a, b, strict=True))
    if isinstance(a, (int, float, complex, str, bytes, bool, set)):
        return a == b or (a != a and b != b)
    return not hasattr(a, "__dict__") or _equal(vars(a), vars(b), depth + 1)


def same_bits(a, b):
    """Return whether two arrays are equal bit for bit.

    Parameters
    ----------
    a, b : array_like
        The arrays.  NaN equals NaN, and two arrays of objects count as equal.

    Returns
    -------
    bool
    """
    a = np.asarray(a)
    b = np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.kind == "O":
        return a.dtype.kind == "O"
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))


def restored(problem, state):
    """Return a problem whose forward starts from the same state at every call.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    state : State
        The state of its functions.

    Returns
    -------
    Problem
        A new problem, with ``renewed`` set.
    """
    return replace(problem, f=state.before(problem.f), renewed=True)
