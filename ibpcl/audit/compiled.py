"""Mistakes in functions that Numba compiles.

Compiled code cannot be changed in place, and without the compiler much of it does not run.  So each
change is written to a file beside the original, which is loaded and compiled as a whole.  Bounds
are checked in compiled code here, so that a wrong index raises an exception instead of writing
into other memory.
"""

import ast
import inspect
import os
from pathlib import Path

import numpy as np

from ibpcl.audit.comparing import SAME, Result, gaps, key_of
from ibpcl.audit.comparing import distance as distance_of
from ibpcl.audit.points import PATIENCE, gradients_at, makers_of, points_near, rounded
from ibpcl.codeview.location import keep_spans, located, replacements
from ibpcl.codeview.planting import planted
from ibpcl.codeview.syntax import span_of, text_of
from ibpcl.errors import UserError
from ibpcl.verify.adapters import discovery, loading
from ibpcl.verify.adapters.vocabulary import BACKWARD_WORDS, tokens
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.prepare import prepare
from ibpcl.verify.running.trap import limit

MOST = 60  # changes of one function that are compiled: each takes a second or more
ORDER = 75  # seed of the order of lines and kinds
LEAST = 1e-5  # relative difference of outputs that differ, in single precision as well
CALLS = 6  # calls of the project's tests whose arguments are points: a call costs little
COMPILING = 60.0  # seconds to load and compile a changed file
CHANGED = "_changed_"  # in the name of a changed file, before the number of the change


def environment(folder):
    """Return the environment of a process that compiles changed files.

    Parameters
    ----------
    folder : Path
        The copy of the project, which also holds the machine code.

    Returns
    -------
    dict of str to str
    """
    cache = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder / ".numba_cache")}
    return {**os.environ, **cache}


def unfinished(path):
    """Return the number of the change during whose trial the process has ended.

    Its file is removed.

    Parameters
    ----------
    path : Path
        The file, in the copy of the project.

    Returns
    -------
    int or None
        None if no changed file is left.
    """
    left = sorted(path.parent.glob(f"{path.stem}{CHANGED}*.py"))
    for file in left:
        file.unlink()
    return int(left[0].stem.rpartition("_")[2]) if left else None


class Compiled:
    """The functions of a file that a gradient runs, at least one of which Numba compiles.

    Parameters
    ----------
    module : module
        The loaded file.
    target : ibpcl.verify.adapters.target.Target
        The forward and its gradient.
    path : str
        The file.

    Attributes
    ----------
    functions : dict of str to ast.FunctionDef
        All functions of the file, by name.
    trees : dict of str to ast.FunctionDef
        Those that the gradient or the forward runs.  A forward may compute slopes for the gradient.
    own : set of str
        Names of those that the gradient runs and the forward does not.
    is_compiled : bool
        Whether Numba compiles one of the functions that the gradient runs.
    is_wrapped : bool
        Whether a decorator has put another function around the gradient.
    name : str
        Name of the gradient function.
    """

    def __init__(self, module, target, path):
        self.path = Path(path)
        self.text = self.path.read_text(encoding="utf-8")
        tree = ast.parse(self.text)
        keep_spans(tree)
        functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
        self.functions = functions
        self.name = _name_of(target.gradient)
        forward = _name_of(target.forward)
        # the forward may put functions of the gradient into the cache, such as one for each case
        handed = set(filter(_is_backward, _reached(functions, [forward])))
        reached = _reached(functions, [self.name, *handed])
        self.is_compiled = any(_is_numba(getattr(module, name, None)) for name in reached)
        shared = _reached(functions, [forward], handed)
        self.own = reached - shared
        self.is_wrapped = inspect.unwrap(target.gradient) is not target.gradient
        self.trees = {name: functions[name] for name in functions if name in reached | shared}

    def edits(self):
        """Return changes of the functions, spread over lines and kinds.

        Those of functions that the forward runs as well come last, and only if there are few
        others: most of them change the output.

        Returns
        -------
        list of tuple
            The name of a function and an edit.
        """
        own = self._spread(self.own)
        return own if len(own) >= MOST else own + self._spread(set(self.trees) - self.own)

    def _spread(self, names):
        """Return the changes of some functions in a drawn order: the first are spread too."""
        groups = {}
        for name, tree in self.trees.items():
            for edit in planted(tree) if name in names else ():
                groups.setdefault((name, edit.node.lineno, edit.kind), []).append((name, edit))
        places = np.random.default_rng(ORDER).permutation(len(groups))
        rounds = [
            (depth, at, each)
            for at, group in zip(places, groups.values(), strict=True)
            for depth, each in enumerate(group)
        ]
        return [each for *_, each in sorted(rounds, key=lambda item: item[:2])]

    def callers(self, name):
        """Return the lines of the functions of the file that run one of them, and of itself.

        Parameters
        ----------
        name : str
            The function.

        Returns
        -------
        list of list of int
            First and last line of each body.
        """
        return [
            [each.body[0].lineno, each.end_lineno]
            for each in self.functions.values()
            if name in _reached(self.functions, [each.name])
        ]

    def location(self, node):
        """Return the place of a node in the file."""
        name = next(
            name
            for name, tree in self.trees.items()
            if tree.lineno <= node.lineno <= tree.end_lineno
        )
        return located(str(self.path), span_of(node), function=name, foreign=False)

    def repair(self, edit):
        """Return the changes of the file that make an edit."""
        return replacements(edit.puts, self.location, text_of)


def _name_of(function):
    """Return the name of a function as its file defines it."""
    return getattr(inspect.unwrap(getattr(function, "py_func", function)), "__name__", "")


def _is_numba(value):
    """Return whether Numba has made an object, such as a compiled function."""
    return type(value).__module__.partition(".")[0] == "numba"


def _is_backward(name):
    """Return whether the name of a function says that it computes gradients."""
    return not BACKWARD_WORDS.isdisjoint(tokens(name))


def _reached(functions, names, without=()):
    """Return the functions of a file that some of them name, directly or indirectly."""
    found = set()
    waiting = [name for name in names if name in functions]
    while waiting:
        at = waiting.pop()
        if at in found or at in without:
            continue
        found.add(at)
        waiting += [
            each.id
            for statement in functions[at].body
            for each in ast.walk(statement)
            if isinstance(each, ast.Name) and each.id in functions
        ]
    return found


def plant(code, module, target, calls, seed, most, replaced, mutant_of, without=()):
    """Return the mistakes in a gradient that Numba compiles, with their effects.

    Parameters
    ----------
    code : Compiled
        Its functions.
    module : module
        The loaded file.
    target : ibpcl.verify.adapters.target.Target
        The forward and its gradient.
    calls : list of dict
        Written arguments of calls of the forward.
    seed : int
        Seed of the cotangents and of further points.
    most : int
        The number of mistakes that will be tried; 0 for all.
    replaced : callable
        ``replaced(text, replacements)`` returns the changed text.
    mutant_of : callable
        ``mutant_of(code, name, edit, replacements, results)`` returns a mistake as a dict.
    without : collection of int
        Numbers of changes that end the process; they count as those that raise.

    Returns
    -------
    dict
        As :func:`ibpcl.audit.planting.plant` returns, with ``compiled``, which is True, and
        ``left``, the number of changes of the gradient's own functions that were not compiled.

    Raises
    ------
    UserError
        If no inputs are known for which the pair runs.
    """
    given = _points(module, target, calls, seed)
    counts = dict.fromkeys(("planted", "equivalent", "repeated", "raising", "forward"), 0)
    seen = {}
    edits = code.edits()
    left = sum(name in code.own for name, _ in edits)
    for n, (name, edit) in enumerate(edits[:MOST]):
        if most and len(seen) == most:
            break
        left -= name in code.own
        parts = code.repair(edit)
        if not parts:
            continue
        counts["planted"] += 1
        if n in without:
            counts["raising"] += 1
            continue
        text = replaced(code.text, parts)
        verdict, results = _compared(code, text, n, target.name, calls, seed, given)
        key = key_of(results)
        if verdict == "wrong" and key not in seen:
            mutant = mutant_of(code, name, edit, parts, results)
            seen[key] = {**mutant, "callers": code.callers(name)}
        else:
            counts["repeated" if verdict == "wrong" else verdict] += 1
    return {
        **counts,
        "compiled": True,
        "left": left,
        "line": code.trees[code.name].lineno,
        "mutants": list(seen.values()),
    }


def _points(module, target, calls, seed):
    """Return numbers of makers of inputs for which the pair runs, each with points near them."""
    rng = np.random.default_rng([seed, 75])
    found = []
    refused = None
    for number, make in enumerate(makers_of(module, target, calls, seed)):
        try:
            prepared = prepare(make())
            if prepared.raised is not None:
                raise UserError(f"the gradient function raises {prepared.raised!r}")
            if prepared.is_unfit:
                raise UserError(prepared.mistakes[0].words)
            points = points_near(rounded(prepared.problem), target, rng)
            found.append((number, _single(points) if _are_single(calls) else points))
        except (TimeUp, KeyboardInterrupt):
            raise
        except Exception as error:  # other inputs may work
            refused = refused or error
        if len(found) == CALLS:
            break
    if not found:
        raise refused
    return found


def _are_single(calls):
    """Return whether the tests call the forward with arrays of single precision only."""
    types = {
        value["dtype"]
        for call in calls
        for value in call.values()
        if value.get("dtype", "").startswith("float")
    }
    return types == {"float32"}


def _single(points):
    """Return points with inputs of single precision, for which other code may be compiled."""
    made = []
    for point in points:
        inputs = [
            value.astype(np.float32) if getattr(value, "dtype", None) == np.float64 else value
            for value in point.problem.point
        ]
        problem = point.problem.at(inputs)
        made.append(point._replace(problem=problem, right=gradients_at(problem, point.w)))
    return made


def _compared(code, text, n, name, calls, seed, given):
    """Return the verdict on a changed file, and its result at each point."""
    file = code.path.with_name(f"{code.path.stem}{CHANGED}{n}.py")
    file.write_text(text, encoding="utf-8")
    try:
        return _of_file(file, name, calls, seed, given)
    finally:
        file.unlink()


def _of_file(file, name, calls, seed, given):
    """Return the verdict on a changed file, which may do anything, and its result at each point."""
    results = []
    try:
        with limit(COMPILING):
            module = loading.load(str(file), COMPILING).module
            target = discovery.find(discovery.targets_in(module), name)
            makers = list(makers_of(module, target, calls, seed))
            made = [(makers[number](), point) for number, points in given for point in points]
    except (TimeUp, Exception, SystemExit):
        return "raising", []
    for changed, point in made:
        problem = changed.at(point.problem.point)
        try:
            with limit(PATIENCE):
                if distance_of(problem.vector(), point.problem.value, 0.0) > LEAST:
                    return "forward", []
                found = gradients_at(problem, point.w)
        except (TimeUp, Exception, SystemExit):
            results.append(Result(point, _with(changed), (), -1.0))
            continue
        results.append(Result(point, _with(changed), found, max(gaps(found, point), default=0.0)))
    far = max((result.far for result in results), default=0.0)
    if far < 0:
        return "raising", []
    return "wrong" if far > SAME else "equivalent", results


def _with(changed):
    """Return a function that gives the changed pair at the inputs of another."""
    return lambda problem: changed.at(problem.point)
