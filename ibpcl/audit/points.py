"""Points at which the gradients of a function are compared, and the mistakes in its source.

Inputs come from the file itself, from calls of the forward by the project's tests, or from a guess.
Each is moved several times, and its axes are cut to one length: at square matrices, a missing
transpose raises no exception.
"""

import contextlib
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.planting import planted
from ibpcl.codeview.search import after
from ibpcl.codeview.syntax import read
from ibpcl.errors import UserError
from ibpcl.verify.adapters.forms import recognised
from ibpcl.verify.adapters.inputs import given_inputs, ready
from ibpcl.verify.adapters.loss import returns_gradients
from ibpcl.verify.adapters.methods import methods_of
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.derivative.problem import Problem, make_problem
from ibpcl.verify.derivative.second_point import neighbour
from ibpcl.verify.prepare import prepare
from ibpcl.verify.running.trap import limit

NEIGHBOURS = 3  # points near each given one
CALLS = 2  # calls of the project's tests, or a guess, whose arguments are points
PATIENCE = 2.0  # seconds for one mistake: it may loop for ever
SHORT = (2, 3)  # lengths to which all axes are cut
DECIMALS = 2  # of the inputs and cotangents that a reader pastes


class Point(NamedTuple):
    """A point with a cotangent, at which gradients are compared.

    Attributes
    ----------
    problem : Problem
        The pair at the point.
    w : ndarray, shape (M,)
        The cotangent of all outputs.
    right : tuple of ndarray
        The gradients without a mistake.
    sizes : tuple of float
        The largest entry of each gradient at all points of the same kind.
    """

    problem: Problem
    w: np.ndarray
    right: tuple
    sizes: tuple


class Family:
    """A pair at points with inputs of the same kind, and the mistakes in its source.

    Parameters
    ----------
    points : list of Point
        The points.

    Attributes
    ----------
    backward, forward : Code or None
        The source of the two functions; None if it cannot be read.
    """

    def __init__(self, points):
        self.points = points
        problem, w = points[0][:2]
        self.backward = read(problem.f_vjp, lambda f: problem.with_gradient(f).gradients(w))
        self.forward = read(problem.f, lambda f: problem.with_forward(f).call())
        self._edits = {}

    def edits(self, name):
        """Return the mistakes in one of the functions, each with its twin in the forward.

        Parameters
        ----------
        name : str
            Name of the function in the trees of the source.

        Returns
        -------
        list of (Edit, Edit or None)
            In an order that depends on the source alone.  A twin is the same change of a function
            that is the forward as well, such as one that returns a loss with its gradient.
        """
        if name not in self._edits:
            edits = planted(self.backward.trees[name])
            twins = planted(self.forward.trees[name]) if name in self.shared else None
            self._edits[name] = list(zip(edits, twins or [None] * len(edits), strict=False))
        return self._edits[name]

    def require_the_same(self):
        """Compile the gradient function without a mistake, and compare: it must change nothing.

        Raises
        ------
        UserError
            If the source cannot be read, or gives other gradients.
        """
        if self.backward is None:
            raise UserError("its source cannot be read as Python")
        gradient = self.backward.compile()
        for point in self.points:
            found = gradients_at(point.problem.with_gradient(gradient), point.w)
            if len(found) != len(point.right) or not all(
                np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
                for a, b in zip(found, point.right, strict=True)
            ):
                raise UserError("its source, compiled again, gives other gradients each time")

    @property
    def shared(self):
        """The functions that the forward runs as well."""
        if self.forward is None:
            return set()
        places = set(map(_place, self._trees(self.forward)))
        return {
            name
            for name, tree in self.backward.trees.items()
            if _place((tree, self.backward)) in places
        }

    @staticmethod
    def _trees(code):
        return [(tree, code) for tree in code.trees.values()]

    def changed(self, name, n):
        """Return the pair with a mistake.

        Parameters
        ----------
        name : str
            Name of the function.
        n : int
            Number of the mistake.

        Returns
        -------
        callable or None
            ``changed(problem)`` returns a problem; None if the change does not compile.
        """
        edit, twin = self.edits(name)[n]
        gradient = after(self.backward, edit)
        if gradient is None or twin is None:
            return gradient and (lambda problem: problem.with_gradient(gradient))
        function = after(self.forward, twin)
        return function and (lambda problem: problem.with_forward(function).with_gradient(gradient))


def _place(item):
    """Return the file and the line of a function."""
    tree, code = item
    return getattr(tree, "file", code.file), tree.lineno


def families_of(module, target, calls, seed):
    """Return points at which the gradients of a function are compared.

    Parameters
    ----------
    module : module
        The user's file as a module.
    target : ibpcl.verify.adapters.target.Target
        The forward and its gradient.
    calls : list of dict
        Written arguments of calls of the forward.
    seed : int
        Seed of the cotangents and of further points.

    Returns
    -------
    list of Family

    Raises
    ------
    UserError
        If no inputs are known for which the pair runs.
    """
    rng = np.random.default_rng([seed, 75])
    families = []
    refused = None
    for make in makers_of(module, target, calls, seed):
        try:
            prepared = prepare(make())
            if prepared.raised is not None:
                raise UserError(f"the gradient function raises {prepared.raised!r}")
            if prepared.is_unfit:
                raise UserError(prepared.mistakes[0].words)
            family = Family(points_near(rounded(prepared.problem), target, rng))
            family.require_the_same()
            families.append(family)
        except (TimeUp, KeyboardInterrupt):
            raise
        except Exception as error:  # other inputs may work
            refused = refused or error
            continue
        if len(families) == CALLS:
            break
    if not families:
        raise refused
    return families


def makers_of(module, target, calls, seed):
    """Yield functions that return the pair at inputs: those of calls, then declared or guessed.

    Parameters
    ----------
    module : module
        The user's file as a module.
    target : ibpcl.verify.adapters.target.Target
        The forward and its gradient.
    calls : list of dict
        Written arguments of calls of the forward.
    seed : int
        Seed of guessed inputs.

    Yields
    ------
    callable
        ``make()`` returns a problem.
    """
    yield from _of_calls(module, target, calls)
    yield lambda: _ready(module, target, seed)


def points_near(problem, target, rng):
    """Return a pair at its inputs, near them, and at inputs whose axes have one length.

    A missing transpose raises an exception unless a matrix is square, as it is in many tests.

    Parameters
    ----------
    problem : Problem
        The pair at its inputs.
    target : ibpcl.verify.adapters.target.Target
        The forward and its gradient.
    rng : numpy.random.Generator
        Draws the points and the cotangents.

    Returns
    -------
    list of Point
    """
    points = []
    near = [neighbour(problem, rng) for _ in range(NEIGHBOURS)]
    alike = [problem.at([cut(value, length) for value in problem.point]) for length in SHORT]
    for at in (
        problem,
        *(rounded(each) for each in near if each is not None),
        *(each for each in alike if _runs(each)),
    ):
        w = np.round(rng.standard_normal(at.value.size), DECIMALS)
        w = np.where(w == 0, 0.5, w)
        if _is_loss(target) and w.size == 1:
            w = np.ones(1)  # it takes no cotangent
        points.append(Point(at, w, gradients_at(at, w), ()))
    every = [point.right for point in points]
    sizes = tuple(max(map(_size, several)) for several in zip(*every, strict=True))
    return [point._replace(sizes=sizes) for point in points]


def _size(gradient):
    """Return the largest absolute entry of a gradient; 0 if its entries are not numbers."""
    return float(np.abs(gradient).max(initial=0.0)) if gradient.dtype.kind in "fiub" else 0.0


def _runs(problem):
    """Return whether a pair runs at its inputs, with finite numbers."""
    try:
        with limit(PATIENCE):
            value = problem.value
            gradients = gradients_at(problem, np.ones(value.size))
    except (TimeUp, Exception, SystemExit):
        return False
    numbers = [value, *(each for each in gradients if each.dtype.kind == "f")]
    return value.size > 0 and all(np.all(np.isfinite(each)) for each in numbers)


def _is_loss(target):
    """Return whether a function returns its own gradient, without a cotangent."""
    if target.gradient is not None:
        return False
    if target.kind is not None:
        return target.method is not None and not methods_of(target.kind)
    return returns_gradients(target.forward)


def _of_calls(module, target, calls):
    """Yield makers of the pair at the arguments of calls; those that hide little come first."""
    if given_inputs(module, target):
        return
    for values in sorted(_readable(calls, vars(module)), key=_hides):
        inputs = {name: value for name, value in values.items() if name != "self"}
        of = target._replace(forward=values["self"]) if "self" in values else target

        def recognised_at(of=of, inputs=inputs):
            pair = recognised(of.code(inputs))
            return make_problem(
                pair.forward, pair.backward, pair.inputs, pair.wrt, names=pair.names
            )

        def standard_at(values=values):
            return make_problem(target.forward, target.gradient, values)

        yield recognised_at
        if target.gradient is not None:
            yield standard_at


def _readable(calls, names):
    """Yield the arguments of calls whose classes and functions the file knows."""
    for call in calls:
        with contextlib.suppress(KeyError, TypeError, ValueError):
            yield read_arguments(call, names)


def _ready(module, target, seed):
    """Return the pair at declared or guessed inputs."""
    pair = ready(module, target, {}, seed, None)
    return make_problem(pair.forward, pair.backward, pair.inputs, pair.wrt, names=pair.names)


def read_arguments(call, names):
    """Return the arguments that :func:`ibpcl.audit.agent.written` has written.

    Parameters
    ----------
    call : dict of str to dict
        The written arguments.
    names : dict of str to object
        The classes and functions of the file.

    Returns
    -------
    dict of str to object

    Raises
    ------
    KeyError
        If a class or a function has no name there.
    """
    return {name: _read(value, names) for name, value in call.items()}


def _read(value, names):
    kind = next(iter(value))
    inner = value[kind]
    if kind == "value":
        return inner
    if kind == "name":
        return names[inner]
    if kind == "random":
        seeded = {"Generator": np.random.default_rng, "RandomState": np.random.RandomState}
        return seeded[inner](0)
    if kind == "dict":
        return {key: _read(item, names) for key, item in inner.items()}
    if kind == "object":
        made = object.__new__(names[inner])
        made.__dict__.update({key: _read(item, names) for key, item in value["state"].items()})
        return made
    if kind in ("tuple", "list"):
        items = [_read(item, names) for item in inner]
        return tuple(items) if kind == "tuple" else items
    array = np.array(inner, dtype=value["dtype"]).reshape(value["shape"])
    return array if array.ndim else array[()]


def _hides(values):
    """Return how much inputs hide: axes of length 0 or 1, and then their size."""
    arrays = [value for value in values.values() if isinstance(value, np.ndarray)]
    short = sum(size < 2 for array in arrays for size in array.shape)
    scalars = sum(np.ndim(value) == 0 for value in values.values() if np.size(value) == 1)
    return (not arrays, short, scalars, sum(array.size for array in arrays))


def rounded(problem):
    """Return a pair at inputs of few digits, which are easy to paste, if it runs there.

    Parameters
    ----------
    problem : Problem
        The pair at its inputs.

    Returns
    -------
    Problem
    """
    point = [
        np.round(value, DECIMALS)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
        else value
        for value in problem.point
    ]
    near = problem.at(point)
    return near if _runs(near) and near.value.shape == problem.value.shape else problem


def cut(value, longest):
    """Return an array without the entries beyond a length of each axis; labels stay in range.

    Parameters
    ----------
    value : object
        The array; other values are returned as they are.
    longest : int
        The length.

    Returns
    -------
    object
    """
    if not isinstance(value, np.ndarray):
        return value
    cut = value[tuple(slice(longest) for _ in range(value.ndim))]
    return cut % longest if cut.dtype.kind in "iu" else cut.copy()


def gradients_at(problem, w):
    """Return the gradients of a pair as arrays.

    Parameters
    ----------
    problem : Problem
        The pair at a point.
    w : ndarray, shape (M,)
        The cotangent of all outputs.

    Returns
    -------
    tuple of ndarray
        An array of objects for a missing gradient, and for an object such as a layer.
    """
    return tuple(map(_as_array, problem.gradients(w)))


def _as_array(gradient):
    """Return a gradient as an array, of objects unless it consists of numbers.

    A network of layers has a length and items as well, but it is not a list of numbers.
    """
    numbers = (np.ndarray, np.generic, int, float, complex, list, tuple)
    is_known = isinstance(gradient, numbers) or hasattr(gradient, "__array__")
    return np.asarray(gradient, dtype=None if is_known else object)
