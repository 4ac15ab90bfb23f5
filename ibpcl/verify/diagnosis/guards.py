"""Guards and constants that keep a right gradient from being exact: an epsilon, a cast to float32,
a rounded number.

``log(p + 1e-8)`` differentiated as ``log(p)`` is off by the guard, not by a mistake.  Guards are
found in the source of the forward and of the gradient, and taken away (or made so small that they
do not count) in both.  If the gradient is right then, the guard explains the difference.
"""

import ast
from typing import NamedTuple

import numpy as np

from ibpcl.verify.diagnosis.bench import Recording
from ibpcl.verify.diagnosis.source import Code, executed_by
from ibpcl.verify.edits.edit import in_place, name_of

LARGEST = 1e-3  # an epsilon above this is a number of the model
# by which guards are made smaller: the second where the first leaves the domain
SCALES = (1e-6, 1e-2)
CASTS = ("float32", "float16", "single", "half", "f4", "f2", "<f4", "<f2")
LETTERS = ("f", "e")  # for float32 and float16, as in dtype="f"
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
DECIMALS = 3  # round(x, 3) and finer is a matter of display; coarser is a step function


class Guard(NamedTuple):
    """One guard: what it is called, where it is, and what is put in its place for a scale."""

    words: str
    line: str
    put: object  # put(scale) -> (parent, field, index, new node)


def guards_of(code, values, casts=True):
    """Return the guards in the source of a function.

    Parameters
    ----------
    code : Code
    values : dict
        The first value of each place, as :class:`ibpcl.verify.diagnosis.bench.Recording` has it.
    casts : bool
        Whether casts to small types count: not in a gradient whose forward has none.
    """
    found = [
        guard
        for number, place in enumerate(code.places)
        for guard in [_epsilon(code, place, values.get(number)) or _rounding(code, place)]
        if guard
    ]
    for tree in code.trees.values() if casts else ():
        found += _casts(code, tree)
    return found


def _epsilon(code, place, value):
    """Return the guard that a place is, None if it is none: a tiny number added, or a bound of a
    clip.
    """
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
    """Return whether a number is added inside a logarithm, a root or a divisor, or to a
    diagonal.
    """
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
    # a bound, clip(p, eps, 1 - eps), but no factor 1 + size
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
        part.id
        for target in getattr(node, "targets", [])
        for part in ast.walk(target)
        if isinstance(part, ast.Name)
    }
    names |= {
        part.attr
        for target in getattr(node, "targets", [])
        for part in [target]
        if isinstance(part, ast.Attribute)
    }
    return any(
        _is_sharp(outer, inner)
        for outer in ast.walk(tree)
        for inner in ast.iter_child_nodes(outer)
        if names & {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(inner)}
    )


def _is_sharp(node, child):
    """Return whether a node is a logarithm, a root, a power or a quotient with ``child`` as
    divisor.
    """
    if isinstance(node, ast.Call):
        return name_of(node.func) in DIVIDING and child is not node.func
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Div) and child is node.value
    return isinstance(node, ast.BinOp) and (
        (isinstance(node.op, ast.Div) and child is node.right)
        or (isinstance(node.op, ast.Pow) and child is node.left)
    )


def _times(node, scale):
    return ast.BinOp(node, ast.Mult(), ast.Constant(scale))


def _is_step(code, value):
    """Return whether something is divided by the number, too: it is the step of a difference."""
    for tree in code.trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                numbers = [
                    part.value
                    for part in ast.walk(node.right)
                    if isinstance(part, ast.Constant) and isinstance(part.value, float)
                ]
                if any(number in (value, 2 * value) for number in numbers) and not any(
                    isinstance(part, ast.Add) for part in ast.walk(node.right)
                ):
                    return True
    return False


def _rounding(code, place):
    """Return the guard that a rounding to some decimals is."""
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
    found = []
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
                letter = (
                    name in LETTERS and isinstance(parent, ast.keyword) and parent.arg == "dtype"
                )
                if not isinstance(name, str) or not (letter or name in CASTS):
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
                found.append(
                    Guard(
                        words, code.line(child), lambda scale, put=(parent, field, index, wide): put
                    )
                )
    return found


class _Side(NamedTuple):
    """A function of a pair: what it has executed, the values of its places, and how many guards it
    has.
    """

    function: object
    executed: set
    values: dict
    casts: bool
    count: int


class Cleaned:
    """A pair without its guards.

    Attributes
    ----------
    problem : Problem
        The pair with every guard taken away.
    guards : list of Guard
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
            # no source, or one that does not run again
            except Exception:
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
        """Return the pair with its guards scaled, or only one of them; None if it does not work
        then.
        """
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
        """Return the guards that move the gradient of input ``j``, or what it is compared with, by
        a share of a gap.
        """
        names = []
        plain = self._claims(self.original, j)
        for number, guard in enumerate(self.guards):
            problem = self._without(self.scale, number)
            if (
                problem is not None
                and np.max(np.abs(self._claims(problem, j) - plain), initial=0.0) > 0.02 * gap
            ):
                names.append(guard)
        return names or self.guards

    def _claims(self, problem, j):
        """Return the gradient of input ``j``, and differences of the forward, as one vector."""
        x = np.asarray(problem.point[j])
        got = np.asarray(problem.gradients(self.w)[problem.wrt.index(j)], dtype=float).ravel()
        h = 1e-5 * (np.max(np.abs(x), initial=0.0) or 1.0)
        func = problem.function_of(j)
        slopes = [
            self.w @ (func(x + h * d) - func(x - h * d)) / (2 * h) for d in _directions(x.shape)
        ]
        return np.concatenate([got, np.nan_to_num(slopes)])


def _directions(shape):
    rng = np.random.default_rng(3)
    return [rng.choice([-1.0, 1.0], shape) for _ in range(3)]


def _apply(code, side, chosen, scale):
    """Put scaled guards into the trees of a function."""
    guards = guards_of(code, side.values, side.casts)
    for number in chosen:
        parent, field, index, new = guards[number].put(scale)
        ast.fix_missing_locations(new)
        if index is None:
            setattr(parent, field, new)
        else:
            getattr(parent, field)[index] = new


def changed(function, executed, change):
    """Return a changed version of a function, whose source :class:`Code` reads with the change in
    it.
    """
    plain = unwrapped(function)
    code = Code(plain, executed)
    change(code)
    compiled = code.compile()

    def made(*arguments, **options):
        return compiled(*arguments, **options)

    made.__name__ = getattr(function, "__name__", "f")
    made.changes = (plain, executed, change)
    return made


def unwrapped(function):
    """Return the function that others only wrap; a changed one is left as it is."""
    while hasattr(function, "__wrapped__") and not hasattr(function, "changes"):
        function = function.__wrapped__
    return function


def in_words(guards):
    """Return guards as words: "the guard 1e-08 in line 7 and float32 in line 9"."""
    return " and ".join(
        dict.fromkeys(f"{guard.words} in {guard.line.split(':')[0]}" for guard in guards)
    )
