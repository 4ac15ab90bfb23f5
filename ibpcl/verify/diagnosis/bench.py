"""Run changed gradient functions on every trial, and see whose gradients they make right."""

import linecache

import numpy as np

from ibpcl.verify.diagnosis.evidence import close
from ibpcl.verify.diagnosis.source import Code, executed_by
from ibpcl.verify.witnesses.problem import copied, gradients_in_order, shaped_like

# seconds, about: to compile a function, and to run one expression of it
COMPILING = 3e-4
RUNNING = 2e-6
# seconds that each search may take, by these numbers
QUICK = 0.15
EDITING = 0.8
FILLING = 0.4
SHELL = "<gradient without source>"
OTHER = object()  # stands for a value that is no array or number


class Bench:
    """What changed functions are tried on: the cotangents and caches of all trials."""

    def __init__(self, evidence):
        self.evidence = evidence
        self.runs = 0
        self.forward = [problem.call() for problem in evidence.problems]

    def gradients(self, f_vjp, t):
        """Return the gradients of a function in trial ``t``, or None if it raises; its arguments
        are copies.
        """
        p, row = self.evidence.trials[t]
        self.runs += 1
        with np.errstate(all="ignore"):
            try:
                problem = self.evidence.problems[p]
                outputs, several, cache = problem.call() if problem.renewed else self.forward[p]
                result = f_vjp(shaped_like(self.evidence.w[row], outputs, several), copied(cache))
                return tuple(
                    np.asarray(g) for g in gradients_in_order(result, self.evidence.problem)
                )
            except Exception:  # a changed function may do anything at all
                return None

    def mended(self, f_vjp, inputs):
        """Return which of ``inputs`` a changed function makes right in every trial."""
        for t in range(len(self.evidence.trials)):
            result = self.gradients(f_vjp, t)
            if result is None or len(result) != len(self.evidence.problem.wrt):
                return []
            inputs = [j for j in inputs if self._right(j, t, result)]
            if not inputs:
                return []
        return inputs

    def _right(self, j, t, result):
        value, allowed = self.evidence.expected(j, t)
        array = result[self.evidence.problem.wrt.index(j)]
        return (
            array.shape == value.shape
            and array.dtype.kind in "fiub"
            and close(array, value, allowed)
        )

    def code(self):
        """Return the source of the gradient function, or of a shell around it; None if neither
        repeats the gradient.
        """
        plain = self.evidence.gradients[0]
        problem = self.evidence.problem
        executed = executed_by(lambda: problem.gradients(self.evidence.w[0]))
        for source in (lambda: problem.f_vjp, lambda: shell_of(problem)):
            try:
                code = Code(source(), executed)
                again = self.gradients(code.compile(), 0)
            except (ValueError, SyntaxError, NameError, RecursionError):
                continue
            if (
                again is not None
                and len(again) == len(plain)
                and all(
                    b is not None
                    and a.shape == b.shape
                    and np.allclose(a, b, rtol=1e-10, atol=0, equal_nan=True)
                    for a, b in zip(again, plain, strict=True)
                    if b is None or b.dtype.kind in "fiub"
                )
            ):
                return code
        return None


def shell_of(problem):
    """Return a function that hands ``dout`` on to a gradient function without source, and names
    what that returns.
    """
    names = [problem.names[j] for j in problem.wrt]
    results = ", ".join(
        f"d{name}" if name.isidentifier() else f"gradient_{n}" for n, name in enumerate(names)
    )
    text = (
        f"def shell(dout, cache):\n    {results}, = gradients_of(dout, cache)\n    return "
        f"{results},\n"
    )
    linecache.cache[SHELL] = (len(text), None, text.splitlines(keepends=True), SHELL)
    namespace = {
        "gradients_of": lambda dout, cache: gradients_in_order(problem.f_vjp(dout, cache), problem)
    }
    exec(compile(text, SHELL, "exec"), namespace)
    return namespace["shell"]


def affordable(seconds, executed, compiling=COMPILING):
    """Return how often a function may be run that executes so many expressions: the same on every
    machine.
    """
    return int(seconds / (5e-5 + compiling + RUNNING * executed))


class Recording:
    """The values of all places of a function in one run, and the variables of each function when it
    returned.

    ``values`` has the first value of each place (:data:`OTHER` for what is no array or number),
    ``series`` all of those that are numbers, ``counts`` how many there were, ``executed`` the
    number of all, ``scopes`` the variables.
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
            if isinstance(value, (np.ndarray, np.generic, int, float, complex)):
                kept = np.array(value) if isinstance(value, np.ndarray) else value
                self.values.setdefault(place, kept)
                self.series.setdefault(place, []).append(kept)
            else:
                self.values.setdefault(place, OTHER)
            return value

        run(code.watched()(hook))
        self.executed = sum(self.counts.values())


def find_edits(bench, code, edits, wrong, needed, most, found):
    """Find for each wrong input the simplest edit that makes it right, preferring one that mends
    all, and spoils none.

    It tries ``edits``, simplest first, with so many runs at most, until those of ``needed`` are
    explained, puts (edit, cost) for each input into ``found``, and returns the edits that were not
    tried.
    """
    start = bench.runs
    tried = 0
    everything = list(bench.evidence.problem.wrt)
    right = [j for j in everything if j not in bench.evidence.wrong]
    for edit in edits:
        if bench.runs - start > most:
            break
        if all(j in found and found[j][0].rank < edit.rank - 2 for j in needed):
            # a much simpler edit for each of them is known
            break
        tried += 1
        mends = try_edit(bench, code, edit, wrong)
        if not mends:
            continue
        spoiled = len(right) - len(try_edit(bench, code, edit, right)) if right else 0
        cost = (0 if len(mends) == len(wrong) and not spoiled else 1) + 2 * bool(spoiled)
        for j in mends:
            if j not in found or cost < found[j][1]:
                found[j] = (edit, cost)
        if cost == 0:
            break
    return edits[tried:]


def try_edit(bench, code, edit, inputs):
    """Return which inputs an edit makes right."""
    undo = edit.swap()
    try:
        changed = code.compile()
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return []
    finally:
        undo.swap()
    return bench.mended(changed, inputs)
