"""Guards that make a right gradient inexact: an epsilon, a cast to float32, a rounded number.

If ``log(p + 1e-8)`` is differentiated as ``log(p)``, the error comes from the guard and is not a
mistake.  Guards are found in the source of the forward and of the gradient function.  They are
removed from both, or made so small that they do not count.  If the gradient is right then, the
guard explains the difference.
"""

import ast
from typing import NamedTuple

import numpy as np

from ibpcl.verify.diagnosis.bench import Recording
from ibpcl.verify.diagnosis.source import Code, executed_by
from ibpcl.verify.edits.edit import in_place, name_of, put

LARGEST = 1e-3  # an epsilon above this is a constant of the model
# Factors that make guards smaller.  The second is used if the function fails with the first.
SCALES = (1e-6, 1e-2)
CASTS = ("float32", "float16", "single", "half", "f4", "f2", "<f4", "<f2")
LETTERS = ("f", "e")  # NumPy's codes for float32 and float16, as in dtype="f"
BOUNDS = ("maximum", "minimum", "fmax", "fmin", "max", "min", "clip", "where")
DIVIDING = (
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "power",
    "divide",
    "true_divide",
    "reciprocal",
    "norm",
    "cholesky",
    "inv",
    "solve",
    "slogdet",
)
DECIMALS = 3  # rounding to fewer decimals makes a step function, which is not a guard


class Guard(NamedTuple):
    """A guard in the source.

    Attributes
    ----------
    words : str
        Name of the guard, such as "the guard 1e-08".
    line : str
        Its source line.
    put : callable
        ``put(scale)`` returns its replacement: (parent, field, index, new node).
    """

    words: str
    line: str
    put: object


def guards_of(code, values, casts=True):
    """Return the guards in the source of a function.

    Parameters
    ----------
    code : Code
        Source of the function.
    values : dict
        The first value of each place: :attr:`ibpcl.verify.diagnosis.bench.Recording.values`.
    casts : bool
        Whether casts to small types count.  They do not count in a gradient function whose forward
        has none.

    Returns
    -------
    list of Guard
    """
    guards = [
        guard
        for number, place in enumerate(code.places)
        for guard in [_epsilon(code, place, values.get(number)) or _rounding(code, place)]
        if guard
    ]
    for tree in code.trees.values() if casts else ():
        guards += _casts(code, tree)
    return guards


def _epsilon(code, place, value):
    """Return the guard at a place with a tiny number, added or as a bound; None elsewhere."""
    node = place.node
    parent = place.parent
    if not isinstance(node, (ast.Constant, ast.Name, ast.Attribute)):
        return None
    value = node.value if isinstance(node, ast.Constant) else value
    if not isinstance(value, (float, int, np.floating)) or isinstance(value, bool):
        return None
    bound = (
        isinstance(parent, ast.Call) and place.field == "args" and name_of(parent.func) in BOUNDS
    )
    bound = bound or (
        isinstance(parent, ast.keyword) and parent.arg in ("a_min", "a_max", "min", "max")
    )
    bound = bound or isinstance(parent, ast.Compare)
    name = ast.unparse(node)
    shown = f"{value:g}" if isinstance(node, ast.Constant) else f"{name} = {value:g}"
    if 0 < value <= LARGEST and (bound or _is_added(code, place)) and not _is_step(code, value):
        return Guard(
            f"the guard {shown}",
            code.line(node),
            lambda scale: in_place(place, _times(node, scale)),
        )
    if 0 < 1 - value <= LARGEST and bound:
        return Guard(
            f"the bound {shown}",
            code.line(node),
            lambda scale: in_place(place, ast.Constant(float(1 - (1 - value) * scale))),
        )
    return None


def _is_added(code, place):
    """Return whether a number is added inside a log, a root or a divisor, or to a diagonal."""
    parent = place.parent
    if not isinstance(parent, ast.BinOp):
        return False
    other = parent.right if parent.left is place.node else parent.left
    if isinstance(parent.op, ast.Mult):  # a jitter, 1e-6 * np.eye(n)
        return isinstance(other, ast.Call) and name_of(other.func) in ("eye", "identity")
    if not isinstance(parent.op, (ast.Add, ast.Sub)):
        return False
    tree = code.trees[place.function]
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    # a bound, as in clip(p, eps, 1 - eps), but not a factor 1 + size
    if isinstance(other, ast.Constant):
        return isinstance(above.get(parent), ast.Call) and name_of(above[parent].func) in BOUNDS
    node = parent
    while node in above and not isinstance(node, ast.stmt):
        node, child = above[node], node
        if _is_sharp(node, child):
            return True
    if isinstance(node, ast.Return):
        return True
    names = {
        child_node.id
        for target in getattr(node, "targets", [])
        for child_node in ast.walk(target)
        if isinstance(child_node, ast.Name)
    }
    names |= {
        child_node.attr
        for target in getattr(node, "targets", [])
        for child_node in [target]
        if isinstance(child_node, ast.Attribute)
    }
    return any(
        _is_sharp(outer, inner)
        for outer in ast.walk(tree)
        for inner in ast.iter_child_nodes(outer)
        if names
        & {
            getattr(child_node, "id", getattr(child_node, "attr", ""))
            for child_node in ast.walk(inner)
        }
    )


def _is_sharp(node, child):
    """Return whether a node is a logarithm, a root or a power of ``child``, or is divided by it."""
    if isinstance(node, ast.Call):
        return name_of(node.func) in DIVIDING and child is not node.func
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Div) and child is node.value
    return isinstance(node, ast.BinOp) and (
        (isinstance(node.op, ast.Div) and child is node.right)
        or (isinstance(node.op, ast.Pow) and child is node.left)
    )


def _times(node, scale):
    """Return the node of a product with a number."""
    return ast.BinOp(node, ast.Mult(), ast.Constant(scale))


def _is_step(code, value):
    """Return whether the source also divides by a number, as by the step of a difference."""
    for tree in code.trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                numbers = [
                    child.value
                    for child in ast.walk(node.right)
                    if isinstance(child, ast.Constant) and isinstance(child.value, float)
                ]
                if any(number in (value, 2 * value) for number in numbers) and not any(
                    isinstance(child, ast.Add) for child in ast.walk(node.right)
                ):
                    return True
    return False


def _rounding(code, place):
    """Return the guard of a call that rounds to some decimals, None for other places."""
    node = place.node
    if not isinstance(node, ast.Call) or name_of(node.func) not in ("round", "around", "round_"):
        return None
    values = [
        *node.args[1:],
        *(word.value for word in node.keywords if word.arg in ("decimals", "ndigits")),
    ]
    if isinstance(node.func, ast.Attribute) and not (
        isinstance(node.func.value, ast.Name) and node.func.value.id in ("np", "numpy")
    ):
        inner = node.func.value
        values = [*node.args, *values]
    else:
        inner = node.args[0] if node.args else None
    if inner is None or not any(
        isinstance(v, ast.Constant) and isinstance(v.value, int) and v.value >= DECIMALS
        for v in values
    ):
        return None
    return Guard("the rounding", code.line(node), lambda scale: in_place(place, inner))


def _casts(code, tree):
    """Return the casts to small types in a tree."""
    guards = []
    own = _own_names(tree)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
                name = (
                    child.attr
                    if isinstance(child, ast.Attribute)
                    else child.id
                    if isinstance(child, ast.Name)
                    else child.value
                    if isinstance(child, ast.Constant)
                    else None
                )
                is_code = (
                    name in LETTERS and isinstance(parent, ast.keyword) and parent.arg == "dtype"
                )
                if not isinstance(name, str) or not (is_code or name in CASTS):
                    continue
                if name in own and not isinstance(child, ast.Constant):
                    continue
                new = (
                    ast.Attribute(child.value, "float64", ast.Load())
                    if isinstance(child, ast.Attribute)
                    else ast.Constant("float64")
                    if isinstance(child, ast.Constant)
                    else ast.Name("float", ast.Load())
                )
                wide = ast.copy_location(new, child)
                words = "float16" if name in ("half", "e", "f2", "<f2", "float16") else "float32"
                guards.append(
                    Guard(
                        words, code.line(child), lambda scale, put=(parent, field, index, wide): put
                    )
                )
    return guards


def _own_names(tree):
    """Return the names of variables, attributes and arguments that a tree assigns."""
    stored = [node for node in ast.walk(tree) if isinstance(getattr(node, "ctx", None), ast.Store)]
    return {
        *(node.id for node in stored if isinstance(node, ast.Name)),
        *(node.attr for node in stored if isinstance(node, ast.Attribute)),
        *(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)),
    }


class _Side(NamedTuple):
    """One function of a pair.

    Attributes
    ----------
    function : callable
        The forward or the gradient function.
    executed : set of code
        The code objects that it runs.
    values : dict
        The values of its places.
    casts : bool
        Whether its casts to small types count as guards.
    count : int
        Number of its guards.
    """

    function: object
    executed: set
    values: dict
    casts: bool
    count: int


class Cleaned:
    """A pair without its guards.

    Parameters
    ----------
    problem : Problem
        The pair.
    w : ndarray, shape (M,)
        A cotangent of all outputs.

    Attributes
    ----------
    problem : Problem or None
        The pair with every guard removed or made small.  None without guards, or if the
        pair does not work without them.
    guards : list of Guard
        The guards of the forward, followed by those of the gradient function.
    """

    def __init__(self, problem, w):
        self.problem = None
        self.guards = []
        self.sides = []
        casts = True
        for function, run in (
            (problem.f, lambda f: problem.with_forward(f).call()),
            (problem.f_vjp, lambda g: problem.with_gradient(g).gradients(w)),
        ):
            try:
                executed = executed_by(lambda run=run, function=function: run(function))
                code = Code(unwrapped(function), executed)
                values = Recording(code, run).values
            except Exception:  # no source, or it does not run again
                self.sides.append(None)
                continue
            guards = guards_of(code, values, casts)
            casts = any(guard.words.startswith("float") for guard in guards)
            self.guards += guards
            self.sides.append(
                _Side(function, executed, values, casts or not self.sides, len(guards))
            )
        self.original = problem
        self.w = w
        for scale in SCALES if self.guards else ():
            self.problem = self._without(scale)
            if self.problem is not None:
                self.scale = scale
                break

    def _without(self, scale, only=None):
        """Return the pair with all guards scaled, or only one of them; None if it fails then."""
        functions = []
        start = 0
        for side, plain in zip(self.sides, (self.original.f, self.original.f_vjp), strict=True):
            if side is None:
                functions.append(plain)
                continue
            chosen = [n for n in range(side.count) if only is None or n == only - start]
            start += side.count
            functions.append(
                changed(
                    side.function,
                    side.executed,
                    lambda code, side=side, chosen=tuple(chosen): _apply(code, side, chosen, scale),
                )
                if chosen
                else plain
            )
        problem = self.original.with_forward(functions[0]).with_gradient(functions[1])
        try:
            with np.errstate(all="ignore"):
                vector = problem.vector()
                gradients = problem.gradients(self.w)
        except Exception:  # a changed function may do anything at all
            return None
        finite = all(
            np.all(np.isfinite(np.asarray(g, dtype=float))) for g in gradients if g is not None
        )
        return problem if np.all(np.isfinite(vector)) and finite else None

    def that_matter(self, j, gap):
        """Return the guards that contribute to the error of a gradient.

        Parameters
        ----------
        j : int
            Position of the input.
        gap : float
            Largest absolute error of its gradient.

        Returns
        -------
        list of Guard
            Those that change the gradient or the differences of the forward by more than 2% of the
            error. All guards if none does.
        """
        guards = []
        plain = self._claims(self.original, j)
        for number, guard in enumerate(self.guards):
            problem = self._without(self.scale, number)
            if (
                problem is not None
                and np.max(np.abs(self._claims(problem, j) - plain), initial=0.0) > 0.02 * gap
            ):
                guards.append(guard)
        return guards or self.guards

    def _claims(self, problem, j):
        """Return the gradient of one input and differences of the forward, as one vector."""
        x = np.asarray(problem.point[j])
        got = np.asarray(problem.gradients(self.w)[problem.wrt.index(j)], dtype=float).ravel()
        step = 1e-5 * (np.max(np.abs(x), initial=0.0) or 1.0)
        func = problem.function_of(j)
        slopes = [
            self.w @ (func(x + step * direction) - func(x - step * direction)) / (2 * step)
            for direction in _directions(x.shape)
        ]
        return np.concatenate([got, np.nan_to_num(slopes)])


def _directions(shape):
    """Return three fixed directions of signs."""
    rng = np.random.default_rng(3)
    return [rng.choice([-1.0, 1.0], shape) for _ in range(3)]


def _apply(code, side, chosen, scale):
    """Put scaled guards into the trees of a function."""
    guards = guards_of(code, side.values, side.casts)
    for number in chosen:
        put(*guards[number].put(scale))


def changed(function, executed, change):
    """Return a changed version of a function.

    Parameters
    ----------
    function : callable
        The original function.
    executed : set of code
        The code objects that it runs.
    change : callable
        ``change(code)`` changes the trees of the function's
        :class:`ibpcl.verify.diagnosis.source.Code`.

    Returns
    -------
    callable
        The compiled function.  Its attribute ``changes`` lets ``Code`` read it with the change.
    """
    plain = unwrapped(function)
    code = Code(plain, executed)
    change(code)
    compiled = code.compile()

    def changed_function(*arguments, **options):
        return compiled(*arguments, **options)

    changed_function.__name__ = getattr(function, "__name__", "f")
    base, known, first = getattr(plain, "changes", (plain, frozenset(), None))

    def both(code):
        if first is not None:
            first(code)
        change(code)

    changed_function.changes = (base, known | executed, both)
    return changed_function


def unwrapped(function):
    """Return the function inside decorators that keep it as ``__wrapped__``.

    Parameters
    ----------
    function : callable
        A function, possibly decorated.

    Returns
    -------
    callable
        A function made by :func:`changed` is returned as it is.
    """
    while hasattr(function, "__wrapped__") and not hasattr(function, "changes"):
        function = function.__wrapped__
    return function


def in_words(guards):
    """Return a description of guards with their lines.

    Parameters
    ----------
    guards : list of Guard
        The guards.

    Returns
    -------
    str
        Such as "the guard 1e-08 in line 7 and float32 in line 9".
    """
    return " and ".join(
        dict.fromkeys(f"{guard.words} in {guard.line.split(':')[0]}" for guard in guards)
    )
