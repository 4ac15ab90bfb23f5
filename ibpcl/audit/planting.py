"""Mistakes planted into the gradient functions of a file, with what they change in the numbers.

The program runs in a child process (:mod:`ibpcl.sandbox`).  It loads a file of the copied project,
finds the gradient functions as ``ibpcl check`` does, and gets inputs for them: those that the file
declares, those with which the project's own tests call the forward, or a guess.  Each mistake of
:func:`ibpcl.codeview.planting.planted` is then judged by its numbers:

- a mistake that gives the same gradients at every point is *equivalent* and is left out;
- mistakes that give the same wrong gradients at every point are one mistake, since no test of the
  numbers tells them apart;
- a mistake that raises an exception at every point is left out, since every test that calls the
  function sees it.  Some points have square matrices, at which a missing transpose raises nothing.
"""

import ast
import contextlib
import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.planting import SENTENCES, planted
from ibpcl.codeview.rewrite import Edit
from ibpcl.codeview.search import after
from ibpcl.codeview.syntax import read, text_of
from ibpcl.errors import UserError
from ibpcl.verify.adapters import discovery, loading
from ibpcl.verify.adapters.forms import recognised
from ibpcl.verify.adapters.inputs import given_inputs, ready
from ibpcl.verify.adapters.loss import returns_gradients
from ibpcl.verify.adapters.methods import methods_of
from ibpcl.verify.check import check_pair
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.derivative.problem import Problem, make_problem
from ibpcl.verify.derivative.second_point import neighbour
from ibpcl.verify.prepare import prepare
from ibpcl.verify.running.checking import first_lines
from ibpcl.verify.running.trap import Trap, limit

# Gradients that differ by less, relative to the largest entry, are the same numbers: a test of
# single precision cannot see the difference.
SAME = 1e-4
NEIGHBOURS = 3  # points near each given one
COTANGENTS = 2  # at each point
CALLS = 3  # calls of the project's tests, or a guess, whose arguments are points
UNCHANGED = 1e-9  # relative difference of outputs that are the same
DIGITS = 6  # significant digits in which equal gradients of two mistakes agree
CHECKING = 20.0  # seconds to check the gradient without a mistake
PATIENCE = 2.0  # seconds for one mistake: it may loop for ever
SHORT = (2, 3)  # lengths to which all axes are cut: square matrices, and less to paste
SHOWS = 0.01  # error at which a mistake shows clearly
SHOWN = 4  # significant digits of the gradients that a reader sees
DECIMALS = 2  # of the inputs and cotangents that a reader pastes


class Program:
    """The requests to the child process.

    Attributes
    ----------
    file : str
        Empty: an error of the program names no line.
    """

    file = ""

    def functions(self, path):
        """Return the names of the forward functions of a file, and the lines of all functions.

        Parameters
        ----------
        path : str
            The file, in the copy of the project.

        Returns
        -------
        dict
            ``targets``, names; ``forwards``, names of functions whose arguments are inputs;
            ``failures``, sentences about statements that raise.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = loading.load(path)
            targets = discovery.targets_in(loaded.module)
        forwards = [
            target.forward.__name__
            for target in targets.values()
            if hasattr(target.forward, "__code__")
        ]
        return {
            "targets": list(targets),
            "forwards": forwards,
            "failures": [str(failure) for failure in loaded.failures],
        }

    def plant(self, path, names, calls, seed, timeout):
        """Plant mistakes into the gradient functions of a file, one function after another.

        Parameters
        ----------
        path : str
            The file, in the copy of the project.
        names : list of str
            The functions; all that have a gradient if empty.
        calls : dict of str to list of dict
            Arguments with which the project's tests call a function, by its name.
        seed : int
            Seed of the cotangents and of further points.
        timeout : float
            Seconds for each function.

        Yields
        ------
        dict
            :meth:`Planted.to_dict` for each function, or ``state`` "left out" with a reason.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = loading.load(path)
            targets = discovery.targets_in(loaded.module)
        for name in names or list(targets):
            target = discovery.find(targets, name)
            if target is None:
                yield {"name": name, "state": "left out", "words": "there is no such function"}
                continue
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                yield _of_target(loaded.module, target, path, calls, seed, timeout)


def _of_target(module, target, path, calls, seed, timeout):
    """Return the message about one gradient function."""
    try:
        with Trap() as trap, limit(timeout), first_lines():
            families = families_of(module, target, calls.get(target.name, []), seed)
            note = _note(families[0].points[0].problem)
            return {"name": target.name, "state": "planted", "note": note, **plant(families, path)}
    except TimeUp as up:
        return {"name": target.name, "state": "left out", "words": f"not judged: {up}"}
    reason = getattr(trap.error, "reason", None) or str(trap.error) or type(trap.error).__name__
    words = reason if isinstance(trap.error, UserError) else f"not judged: {reason}"
    return {"name": target.name, "state": "left out", "words": " ".join(words.split())}


def _note(problem):
    """Return a remark if the gradient is wrong before any change."""
    with Trap():
        report = check_pair(
            problem.f,
            problem.f_vjp,
            problem.point,
            [problem.names[j] for j in problem.wrt],
            names=problem.names,
            timeout=CHECKING,
        )
        if report.verdict == "wrong":
            return "the gradient is wrong before any change; run `ibpcl check` on the file"
    return ""


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
    """

    problem: Problem
    w: np.ndarray
    right: tuple


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
        problem, w, _ = points[0]
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
    for make in (*_of_calls(module, target, calls), lambda: _ready(module, target, seed)):
        try:
            prepared = prepare(make())
            if prepared.raised is not None:
                raise UserError(f"the gradient function raises {prepared.raised!r}")
            if prepared.is_unfit:
                raise UserError(prepared.mistakes[0].words)
            families.append(Family(_points_near(_rounded(prepared.problem), target, rng)))
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


def _points_near(problem, target, rng):
    """Return a pair at its inputs, near them, and at inputs whose axes have one length.

    A missing transpose raises an exception unless a matrix is square, as it is in many tests.
    """
    points = []
    near = [neighbour(problem, rng) for _ in range(NEIGHBOURS)]
    alike = [problem.at([_cut(value, length) for value in problem.point]) for length in SHORT]
    for at in (
        problem,
        *(_rounded(each) for each in near if each is not None),
        *(each for each in alike if _runs(each)),
    ):
        for _ in range(COTANGENTS):
            w = np.round(rng.standard_normal(at.value.size), DECIMALS)
            w = np.where(w == 0, 0.5, w)
            if _is_loss(target) and w.size == 1:
                w = np.ones(1)  # it takes no cotangent
            points.append(Point(at, w, _gradients(at, w)))
    return points


def _runs(problem):
    """Return whether a pair runs at its inputs, with finite numbers."""
    try:
        with limit(PATIENCE):
            value = problem.value
            gradients = _gradients(problem, np.ones(value.size))
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
    for values in sorted((_read_arguments(call) for call in calls), key=_hides):

        def recognised_at(values=values):
            pair = recognised(target.code(values))
            return make_problem(
                pair.forward, pair.backward, pair.inputs, pair.wrt, names=pair.names
            )

        def standard_at(values=values):
            return make_problem(target.forward, target.gradient, values)

        yield recognised_at
        if target.gradient is not None:
            yield standard_at


def _ready(module, target, seed):
    """Return the pair at declared or guessed inputs."""
    pair = ready(module, target, {}, seed, None)
    return make_problem(pair.forward, pair.backward, pair.inputs, pair.wrt, names=pair.names)


def _read_arguments(call):
    """Return the arguments that :func:`ibpcl.audit.agent.written` has written."""
    return {name: _read(value) for name, value in call.items()}


def _read(value):
    [(kind, inner), *rest] = value.items()
    if kind == "value":
        return inner
    if kind == "dict":
        return {key: _read(item) for key, item in inner.items()}
    if kind in ("tuple", "list"):
        items = [_read(item) for item in inner]
        return tuple(items) if kind == "tuple" else items
    rest = dict(rest)
    array = np.array(inner, dtype=rest["dtype"]).reshape(rest["shape"])
    return array if array.ndim else array[()]


def _hides(values):
    """Return how much inputs hide: axes of length 0 or 1, and then their size."""
    arrays = [value for value in values.values() if isinstance(value, np.ndarray)]
    short = sum(size < 2 for array in arrays for size in array.shape)
    scalars = sum(np.ndim(value) == 0 for value in values.values() if np.size(value) == 1)
    return (not arrays, short, scalars, sum(array.size for array in arrays))


def _rounded(problem):
    """Return a pair at inputs of few digits, which are easy to paste, if it runs there."""
    point = [
        np.round(value, DECIMALS)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
        else value
        for value in problem.point
    ]
    near = problem.at(point)
    return near if _runs(near) and near.value.shape == problem.value.shape else problem


def plant(families, path):
    """Return the mistakes in a gradient function, with what they change.

    Parameters
    ----------
    families : list of Family
        The points of comparison.
    path : str
        The file into which mistakes are planted.

    Returns
    -------
    dict
        ``planted``, ``equivalent``, ``repeated``, ``raising`` and ``forward``, numbers of mistakes;
        ``mutants``, one dict for each mistake that is left; ``line``, where the gradient function
        begins.

    Raises
    ------
    UserError
        If the source cannot be read.
    """
    code = families[0].backward
    if code is None:
        raise UserError("its source cannot be read as Python")
    names = [name for name in code.trees if name in _own(code, path)]
    if code.name not in names:
        raise UserError("its source is in another file")
    counts = dict.fromkeys(("planted", "equivalent", "repeated", "raising", "forward"), 0)
    seen = {}
    for name in names:
        if name in families[0].shared and name != code.name:
            continue  # a helper of the forward: a mistake in it changes the forward as well
        for n, (edit, _) in enumerate(families[0].edits(name)):
            replacements = code.repair(edit)
            if not replacements or not _is_faithful(code, name, edit, replacements, path):
                continue
            counts["planted"] += 1
            verdict, results = _compared(families, name, n)
            if verdict != "wrong":
                counts[verdict] += 1
                continue
            key = _key(results)
            if key in seen:
                counts["repeated"] += 1
                continue
            seen[key] = _mutant(code, name, Planted(edit, replacements, results))
    return {
        **counts,
        "line": code.location(code.trees[code.name]).line,
        "mutants": list(seen.values()),
    }


def _own(code, path):
    """Return the functions of a source that are in a file."""
    file = Path(path).resolve()
    return {
        name
        for name, tree in code.trees.items()
        if Path(getattr(tree, "file", code.file)).resolve() == file
    }


class Result(NamedTuple):
    """The gradients with a mistake at one point.

    Attributes
    ----------
    point : Point
        The point.
    changed : callable
        ``changed(problem)`` returns the pair with the mistake.
    found : tuple of ndarray
        The gradients.
    far : float
        Their largest error, relative to the largest entry; negative if an exception was raised.
    """

    point: Point
    changed: Callable
    found: tuple
    far: float


def _gradients(problem, w):
    """Return gradients as arrays."""
    return tuple(
        np.asarray(each, dtype=object if each is None else None) for each in problem.gradients(w)
    )


def _compared(families, name, n):
    """Return the verdict on a mistake, and its result at each point.

    The verdict is "wrong", "equivalent", "raising", or "forward" if the outputs change as well.
    """
    results = []
    for family in families:
        if family.backward is None or name not in family.backward.trees:
            continue  # with these inputs, the helper does not run
        changed = family.changed(name, n)
        if changed is None:
            return "raising", []
        for point in family.points:
            problem = changed(point.problem)
            try:
                with limit(PATIENCE):
                    if problem.f is not point.problem.f:
                        value = problem.vector()
                        if _distance(value, point.problem.value) > UNCHANGED:
                            return "forward", []
                    found = _gradients(problem, point.w)
            except (TimeUp, Exception, SystemExit):  # a mistake may do anything
                results.append(Result(point, changed, (), -1.0))
                continue
            results.append(Result(point, changed, found, _far(found, point.right)))
    far = max((result.far for result in results), default=0.0)
    if far < 0:
        return "raising", []
    return "wrong" if far > SAME else "equivalent", results


def _far(found, right):
    """Return the largest error of some gradients."""
    if len(found) != len(right):
        return np.inf
    return max((_distance(got, true) for got, true in zip(found, right, strict=True)), default=0.0)


def _distance(got, true):
    """Return the largest difference, relative to the largest entry; infinite for other shapes."""
    if got.shape != true.shape or got.dtype.kind not in "fiub" or true.dtype.kind not in "fiub":
        return 0.0 if got.dtype.kind == true.dtype.kind == "O" else np.inf
    if got.size == 0:
        return 0.0
    difference = np.abs(got.astype(float) - true.astype(float))
    if not np.all(np.isfinite(difference)):
        return 0.0 if np.array_equal(got, true, equal_nan=True) else np.inf
    scale = np.abs(true).max()
    return float(difference.max() / (scale if scale > 0 else 1.0))


def _key(results):
    """Return a text that is equal for the same gradients at all points."""
    made = hashlib.sha256()
    for result in results:
        made.update(b"raised" if result.far < 0 else b"")
        for each in result.found:
            made.update(str(each.shape).encode())
            if each.dtype.kind in "fiub":
                numbers = each.astype(float).ravel()
                size = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0) or 1.0
                made.update((np.round(numbers / size, DIGITS) + 0.0).tobytes())
                made.update(f"{size:.{DIGITS - 1}e}".encode())
    return made.hexdigest()


def _is_faithful(code, name, edit, replacements, path):
    """Return whether the changed text of the file is the changed function."""
    text = replaced(Path(path).read_text(encoding="utf-8"), replacements)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(text)
    except SyntaxError:
        return False
    undo = edit.swap()
    try:
        changed = code.trees[name]
        wanted = [ast.dump(part) for part in changed.body]
    finally:
        undo.swap()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno == changed.lineno:
            return [ast.dump(part) for part in node.body[-len(wanted) :]] == wanted
    return False


def replaced(text, replacements):
    """Return the text of a file with some parts replaced.

    Parameters
    ----------
    text : str
        The text.
    replacements : sequence of Replacement or dict
        Parts of the text, as places, and what stands there instead.

    Returns
    -------
    str
    """
    lines = text.splitlines(keepends=True)
    starts = np.concatenate([[0], np.cumsum([len(line) for line in lines])]).astype(int)
    parts = []
    for part in replacements:
        where = part.where
        begin = starts[where.line - 1] + where.column - 1
        end = starts[where.end_line - 1] + where.end_column - 1
        parts.append((int(begin), int(end), part.text))
    for begin, end, new in sorted(parts, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


class Planted(NamedTuple):
    """A mistake whose gradients are wrong.

    Attributes
    ----------
    edit : Edit
        The change of the syntax tree.
    replacements : tuple of Replacement
        The change of the file.
    results : list of Result
        The gradients at each point.
    """

    edit: Edit
    replacements: tuple
    results: list


def _mutant(code, name, mistake):
    """Return a planted mistake as a dict, with a point at which it shows."""
    edit = mistake.edit
    far = max(result.far for result in mistake.results)
    best = min(
        mistake.results,
        key=lambda result: (
            result.far < far / 10,
            sum(map(np.size, result.point.problem.point)),
            -result.far,
        ),
    )
    shown = _small(best)
    where = code.location(edit.node)
    parent, field, index, _ = edit.puts[0]
    old = getattr(parent, field) if index is None else getattr(parent, field)[index]
    new = edit.puts[0][3]
    return {
        "kind": edit.kind,
        "sentence": SENTENCES[edit.kind],
        "function": where.function,
        "line": where.line,
        "end_line": where.end_line,
        "statement": _statement(code.trees[name], edit.node.lineno),
        "old": text_of(old),
        "new": text_of(new),
        "places": len(edit.puts),
        "replacements": [
            {
                "line": part.where.line,
                "column": part.where.column,
                "end_line": part.where.end_line,
                "end_column": part.where.end_column,
                "text": part.text,
            }
            for part in mistake.replacements
        ],
        "off": _finite(far),
        "wrt": [name for name, _, _ in _wrong(shown)],
        "paste": to_paste(shown),
    }


def _statement(tree, line):
    """Return the first and last line of the smallest statement with a line."""
    around = [
        (node.end_lineno - node.lineno, node.lineno, node.end_lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno
    ]
    return list(min(around)[1:]) if around else [line, line]


def _wrong(result):
    """Return the input, the right and the wrong gradient, for each that differs."""
    problem = result.point.problem
    return [
        (problem.names[j], true, got)
        for j, true, got in zip(problem.wrt, result.point.right, result.found, strict=False)
        if _distance(got, true) > SAME
    ]


def _small(result):
    """Return the result at a point with shorter axes if the mistake shows there as well."""
    point = result.point
    for longest in SHORT:
        problem = point.problem.at([_cut(value, longest) for value in point.problem.point])
        try:
            with limit(PATIENCE):
                w = np.resize(point.w, problem.value.size)
                right = _gradients(problem, w)
                found = _gradients(result.changed(problem), w)
        except (TimeUp, Exception, SystemExit):  # these sizes do not fit each other
            continue
        far = _far(found, right)
        finite = all(np.all(np.isfinite(each)) for each in right if each.dtype.kind == "f")
        if w.size and finite and far > SHOWS:
            return Result(Point(problem, w, right), result.changed, found, far)
    return result


def _cut(value, longest):
    """Return an array without the entries beyond a length of each axis; labels stay in range."""
    if not isinstance(value, np.ndarray):
        return value
    cut = value[tuple(slice(longest) for _ in range(value.ndim))]
    return cut % longest if cut.dtype.kind in "iu" else cut.copy()


def _finite(number):
    return float(number) if np.isfinite(number) else None


def to_paste(shown):
    """Return an input and a cotangent at which a mistake shows, as lines of Python.

    Parameters
    ----------
    shown : Result
        The gradients at a point.

    Returns
    -------
    list of str
    """
    problem = shown.point.problem
    lines = [
        f"{_name(name)} = {_text(value)}"
        for name, value in zip(problem.names, problem.point, strict=True)
    ]
    outputs, several, _ = problem.call()
    start = 0
    cotangents = []
    for out in outputs:
        cotangents.append(_text(shown.point.w[start : start + out.size].reshape(out.shape)))
        start += out.size
    if not _is_one(shown.point.w):
        lines.append(f"dout = ({', '.join(cotangents)},)" if several else f"dout = {cotangents[0]}")
    for name, true, got in _wrong(shown):
        lines.append(f"# right:            d{_name(name)} = {_text(true, SHOWN)}")
        lines.append(f"# with the mistake: d{_name(name)} = {_text(got, SHOWN)}")
    return lines


def _is_one(w):
    """Return whether a cotangent is that of a loss that takes none."""
    return w.size == 1 and w[0] == 1


def _name(name):
    """Return the name of an input as one of Python: ``params["w"]`` becomes ``params_w``."""
    kept = "".join(letter if letter.isalnum() else " " for letter in name)
    return "_".join(kept.split())


def _text(value, digits=None):
    """Return a value as Python."""
    if isinstance(value, np.ndarray) and value.ndim:
        numbers = (
            value if digits is None or value.dtype.kind != "f" else _significant(value, digits)
        )
        with contextlib.suppress(ValueError):
            text = np.array2string(
                numbers, separator=", ", threshold=10**9, floatmode="unique", max_line_width=88
            )
            return f"np.array({' '.join(text.split())})"
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    return f"{value:.{digits}g}" if digits and isinstance(value, float) else repr(value)


def _significant(values, digits):
    """Return numbers rounded to significant digits of the largest."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return np.round(values, digits - 1 - int(np.floor(np.log10(largest)))) if largest else values
