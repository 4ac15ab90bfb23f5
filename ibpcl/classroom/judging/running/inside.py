"""The program in a hand-in's sandbox: runs its functions for the judge, and has no right answers.

Everything here shares a process with the hand-in, so the judge does not trust the answers: it
compares numbers.  Caches stay here; the judge refers to them by number.  The module is sent as
text (see :mod:`ibpcl.sandbox`) and imports only the standard library and NumPy.
"""

import __future__

import ast
import builtins
import importlib
import linecache
import re
import signal
import sys
import time
import types
from collections import OrderedDict

import numpy as np

try:
    from sandbox import child, frames  # in the sandbox
except ImportError:
    from ibpcl.sandbox import child, frames

MOST_CACHES = 64
MOST_WORDS = 1000
# how the reader begins the text of a notebook
NOTEBOOK = "# %% notebook\n"
CELL = re.compile(r"^# %% (?:code cell (\d+)|\[markdown\])$", re.MULTILINE)
MOST_CELL_SECONDS = 5.0  # processor time
MOST_SKIPPED = 50
MOST_GRADIENTS = 64
MOST_SIGNS = 5


def _sign(value):
    """Return what a value shows about how a gradient is computed, or ""."""
    for each in value[:MOST_SIGNS] if isinstance(value, (tuple, list)) else (value,):
        kind = type(each)
        if isinstance(each, (complex, np.complexfloating)) or (
            isinstance(each, np.ndarray) and each.dtype.kind == "c"
        ):
            return "computes with complex numbers"
        if kind.__module__ == "handin" and hasattr(kind, "__mul__") and not isinstance(each, tuple):
            return f"computes with numbers of the class {kind.__name__}"
    return ""


def _changed(before, after):
    """Return whether an array differs from its earlier copy by more than rounding."""
    pairs = zip(before, after, strict=True)
    arrays = [(a, b) for a, b in pairs if isinstance(b, np.ndarray) and b.dtype.kind in "biufc"]
    return any(
        a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
        for a, b in arrays
    )


class Program:
    """A loaded hand-in and the caches of its last forward calls.

    Its methods are the requests of the judge; their arguments are those of
    :class:`ibpcl.classroom.judging.running.client.Worker`.  Durations are processor time.

    Attributes
    ----------
    file : str
        Name of the hand-in's file.
    """

    def __init__(self):
        self.module = None
        self.file = ""
        self.caches = OrderedDict()
        self.last = 0

    def load(self, source, file, lenient=False):
        """Run the hand-in's module.

        Parameters
        ----------
        source : str
            Text of the module.
        file : str
            Name of its file, for messages.
        lenient : bool
            Whether failures are not reported, because the judge has changed the text; of a
            notebook, whether statements instead of cells are skipped.

        Returns
        -------
        dict
            The reply: ``loaded`` and ``skipped``.
        """
        self.module = types.ModuleType("handin")
        self.file = file
        self.module.__file__ = file
        sys.modules["handin"] = self.module  # dataclasses look their module up
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        builtins.display = builtins.get_ipython = _Nothing()
        if source.startswith(NOTEBOOK):
            return {
                "loaded": True,
                "skipped": run_cells(source, file, self.module.__dict__, lenient),
            }
        failures = run_statements(ast.parse(source, file), file, self.module.__dict__)
        return {"loaded": True, "skipped": [] if lenient else failures[:MOST_SKIPPED]}

    def function(self, name):
        """Return a function of the hand-in.

        Parameters
        ----------
        name : str
            Name of the function.

        Returns
        -------
        callable

        Raises
        ------
        AttributeError
            If the hand-in does not define it.
        """
        if not callable(getattr(self.module, name, None)):
            raise AttributeError(f"there is no function {name}")  # the judge looks for these words
        return getattr(self.module, name)

    def forward(self, function, inputs):
        """Call ``out, cache = f(*inputs)`` and store the cache.

        Parameters
        ----------
        function : str
            Name of the forward.
        inputs : sequence
            Its arguments.

        Returns
        -------
        dict
            The reply: ``out``, ``cache`` (its number), ``seconds`` and ``changed``.
        """
        before = frames.pack({"inputs": inputs})
        start = time.process_time()
        result = self.function(function)(*inputs)
        seconds = time.process_time() - start
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(f"{function} must return a pair: out, cache")
        self.last += 1
        self.caches[self.last] = result[1]
        while len(self.caches) > MOST_CACHES:
            self.caches.popitem(last=False)
        return {
            "out": result[0],
            "cache": self.last,
            "seconds": seconds,
            "changed": before != frames.pack({"inputs": inputs}),
        }

    def pull(self, function, dout, cache):
        """Call ``f_vjp(dout, cache)`` with a stored cache; excess gradients are cut off.

        Parameters
        ----------
        function : str
            Name of the gradient function.
        dout : object
            Gradient at the output.
        cache : int
            Number of a stored cache.

        Returns
        -------
        dict
            The reply: ``out``, ``seconds`` and ``changed``.
        """
        before = frames.pack({"dout": dout})
        start = time.process_time()
        out = self.function(function)(dout, self.caches[cache])
        seconds = time.process_time() - start
        if isinstance(out, (tuple, list)) and len(out) > MOST_GRADIENTS:
            out = out[:MOST_GRADIENTS]
        return {"out": out, "seconds": seconds, "changed": before != frames.pack({"dout": dout})}

    def plain(self, function, inputs, without):
        """Call a function that returns a value without a cache.

        Parameters
        ----------
        function : str
            Name of the function.
        inputs : sequence
            Its arguments.
        without : sequence of str
            Functions that raise an exception meanwhile.

        Returns
        -------
        dict
            The reply: ``out``, ``seconds`` and ``changed``.
        """

        def refused(*_, **__):
            raise RuntimeError(
                f"{function} must not use {' or '.join(without)}: it is a second, independent way"
            )

        originals = {
            name: getattr(self.module, name) for name in without if hasattr(self.module, name)
        }
        vars(self.module).update(dict.fromkeys(originals, refused))
        before = [value.copy() if isinstance(value, np.ndarray) else value for value in inputs]
        try:
            start = time.process_time()
            out = self.function(function)(*inputs)
            seconds = time.process_time() - start
            return {"out": out, "seconds": seconds, "changed": _changed(before, inputs)}
        finally:
            vars(self.module).update(originals)

    def calls(self, function, dout, cache):
        """Call ``f_vjp`` and count the calls of the hand-in's functions meanwhile.

        Parameters
        ----------
        function : str
            Name of the gradient function.
        dout : object
            Gradient at the output.
        cache : int
            Number of a stored cache.

        Returns
        -------
        dict
            The reply: ``counts``, a dict of function to number of calls, and ``signs``, a list of
            line and description where it computes with complex numbers or own numbers.
        """
        counts = {}
        signs = {}

        def look(frame, event, value):
            if frame.f_code.co_filename != self.file:
                return
            if event == "call":
                counts[frame.f_code.co_name] = counts.get(frame.f_code.co_name, 0) + 1
            elif event == "return":
                for each in (value, *frame.f_locals.values()):
                    if sign := _sign(each):
                        signs.setdefault(frame.f_code.co_firstlineno, sign)

        sys.setprofile(look)
        try:
            self.function(function)(dout, self.caches[cache])
        finally:
            sys.setprofile(None)
        return {
            "counts": dict(list(counts.items())[:100]),
            "signs": list(signs.items())[:MOST_SIGNS],
        }

    def locate(self, checker, function, forward, inputs, wrt, seconds):
        """Run the checker on a gradient function and its forward, with access to their text.

        Parameters
        ----------
        checker : str
            Module that has the function ``check``.
        function, forward : str
            Names of the gradient function and its forward.
        inputs : dict
            Inputs of the forward by name.
        wrt : sequence of str
            The inputs with respect to which the gradient is taken.
        seconds : float
            Seconds for the check.

        Returns
        -------
        dict
            The reply: ``found`` has the input, the description and the place of each mistake with
            a known place.
        """
        check = importlib.import_module(checker).check  # a text that the judge has sent
        report = check(
            self.function(forward),
            self.function(function),
            tuple(inputs.values()),
            list(wrt),
            names=list(inputs),
            timeout=seconds,
        )
        return {
            "found": [
                (item.name, item.words[:MOST_WORDS], str(item.where)[:MOST_WORDS])
                for item in report.inputs
                if not item.ok and item.where
            ]
        }


class _Nothing:
    """A substitute for ``display`` and ``get_ipython`` that accepts every call and does nothing."""

    def __call__(self, *_, **__):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def run_statements(tree, file, space):
    """Run the statements of a module one by one, and skip those that raise an exception.

    Parameters
    ----------
    tree : ast.Module
        Syntax tree of the module.
    file : str
        Name of its file, for messages.
    space : dict
        Namespace of the module.

    Returns
    -------
    list of (int, int, str, str)
        Zero, line, exception and message of each failure.

    Raises
    ------
    TimeoutError
        If the time is up.
    """
    flags = 0
    failures = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            flags |= sum(getattr(__future__, item.name).compiler_flag for item in node.names)
        try:
            exec(compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True), space)
        except TimeoutError:
            raise
        except BaseException as error:  # also exit(), which ends only the statement
            kind = type(error).__name__[:100]
            failures.append((0, node.lineno, kind, child.message_of(error)[:200]))
    return failures


def run_cells(source, file, space, lenient=False):
    """Run the code cells of a notebook in order; a failing cell is skipped from the failing line.

    A cell that failed runs once more at the end if it defines a missing name, because authors do
    not always run notebooks from top to bottom.

    Parameters
    ----------
    source : str
        Text of the notebook in cells.
    file : str
        Name of its file, for messages.
    space : dict
        Namespace of the module.
    lenient : bool
        Whether statements that raise an exception are skipped.

    Returns
    -------
    list of (int, int, str, str)
        Cell, line of the text, exception and message of each failure.
    """
    failed = {}
    again = []
    for number, tree in _cells(source, file):
        failure = _run_cell(tree, file, space, lenient)
        if failure is not None:
            failed[number] = failure
            again.append((number, tree))
    for number, tree in again:
        if any(name not in space for name in _defined(tree)):
            failure = _run_cell(tree, file, space, lenient)
            if failure is None:
                del failed[number]
            else:
                failed[number] = failure
    return [(number, *failure) for number, failure in failed.items()][:MOST_SKIPPED]


def _cells(source, file):
    """Yield number and syntax tree of each code cell; lines are those of the whole text."""
    heads = list(CELL.finditer(source))
    for at, head in enumerate(heads):
        end = heads[at + 1].start() if at + 1 < len(heads) else len(source)
        if head[1]:
            above = source.count("\n", 0, head.end())
            yield int(head[1]), ast.parse("\n" * above + source[head.end() : end], file)


def _run_cell(tree, file, space, lenient):
    """Run the statements of a cell; return line, exception and message of a failure.

    A failing import is ignored, because the sandbox has only NumPy and SciPy, while scratch cells
    draw figures.
    """
    failure = None
    timed = hasattr(signal, "setitimer")
    if timed:
        signal.signal(signal.SIGPROF, _late)
        signal.setitimer(signal.ITIMER_PROF, MOST_CELL_SECONDS)
    try:
        if lenient:
            run_statements(tree, file, space)
            return None
        for node in tree.body:
            try:
                exec(compile(ast.Module([node], []), file, "exec", dont_inherit=True), space)
            except ImportError as error:
                failure = failure or (node.lineno, type(error).__name__, str(error)[:200])
                if not isinstance(node, (ast.Import, ast.ImportFrom)):
                    return failure
    except BaseException as error:  # exit() in a cell ends only the cell
        return child.line_in(error, file), type(error).__name__[:100], child.message_of(error)[:200]
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return failure


def _late(*_):
    raise TimeoutError(f"the cell takes more than {MOST_CELL_SECONDS:.0f} s")


def _defined(tree):
    """Return the names of the functions and simple variables that a cell defines."""
    names = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return names + [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
