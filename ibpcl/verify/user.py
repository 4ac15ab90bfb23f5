"""Check pairs that a user has written: ``path/to/mine.py:function``, with ``function_vjp`` beside it.

The inputs come from ``check_inputs()`` in that file, which returns a dict (name to value; a dict may serve several
functions) or a tuple, or they are drawn, normal, in shapes given on the command line.

The file runs in a process of its own, which sends back what it found, a line for each pair: :func:`serve` there,
:class:`FileRun` here.  A verdict is made here, of the kinds that were sent; a file that ends its process, or replaces
parts of this package, has no verdict by that.  This is no sandbox.  The file's code has the user's rights, and a
hostile one can forge a message; the work of others is for ``ibpcl class grade``.
"""

import ast
import importlib.util
import inspect
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ibpcl.errors import UserError
from ibpcl.verify import check
from ibpcl.verify.curves import Curve
from ibpcl.verify.problem import TimeUp, make_problem, shaped_like
from ibpcl.verify.report import InputVerdict, Report, plain
from ibpcl.verify.trap import Interrupted, Trap, converse, limit

START = "import sys; sys.path[:] = {path!r}; from ibpcl.verify.user import serve; serve(sys.argv[1])"


def is_file(target):
    """Return whether a target names a file rather than a check.

    >>> is_file("mine.py:softmax"), is_file("mine.py"), is_file("gradients/gaussian.kl")
    (True, True, False)
    """
    return target.endswith(".py") or target.rpartition(":")[0].endswith(".py")


def split(target):
    """Return the path and the function that a target names; the function is empty if it names all.

    >>> split("mine.py:softmax_vjp"), split("mine.py")
    (('mine.py', 'softmax'), ('mine.py', ''))
    """
    path, _, name = (target, "", "") if target.endswith(".py") else target.rpartition(":")
    return path, name.removesuffix("_vjp")


def binds(path, name):
    """Return whether a file binds a name at its top level, without running it; of an unreadable file, assume so."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True                                          # the file itself is the mistake to speak of
    return any(name in _names_of(statement) for statement in _statements(tree))


def _statements(node):
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, (ast.If, ast.Try, ast.With)):
            yield from _statements(child)


def _names_of(statement):
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, ast.ImportFrom):
        return {item.asname or item.name for item in statement.names}
    if isinstance(statement, ast.Assign):
        return {node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return set()


@dataclass
class Checked:
    """What came of one pair, or of a file as a whole.

    Attributes
    ----------
    title : str
        ``path:function``.
    report : Report or None
        None if the pair could not be judged.
    state : str
        Without a report: "wrong" (it raises, or ends the process), "undecided" (no time) or "refused" (something is
        missing that the command needs).
    words : str
        Without a report: why.
    seconds : float
    """

    title: str
    report: Report | None = None
    state: str = ""
    words: str = ""
    seconds: float = 0.0

    @property
    def verdict(self):
        """One of "ok", "wrong", "undecided" and "refused"."""
        return self.report.verdict if self.report is not None else self.state

    @property
    def curves(self):
        """The curves of the report."""
        return self.report.curves if self.report is not None else {}

    def text(self):
        """Return everything there is to say, as lines."""
        if self.report is not None:
            text = self.report.text()
            return text.replace(": undecided", ": UNDECIDED", 1) if self.verdict == "undecided" else text
        first, *rest = self.words.splitlines()
        return "\n".join([f"{self.title}: {self.verdict.upper()}: {first}", *(f"  {line}" for line in rest)])

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
        entry = {"group": "yours", "name": self.title, "seconds": self.seconds, "ok": self.verdict == "ok",
                 "verdict": self.verdict, "words": self.words,
                 "numbers": self.report.to_dict() if self.report is not None else {}}
        return entry if self.report is not None else {**entry, "error": self.words}


@dataclass
class FileRun:
    """The pairs of a file, checked in a process of its own; iterating runs it and yields a :class:`Checked` for each.

    A pair that ends the process, or that hangs and can't be interrupted, costs its own verdict only: the pairs after
    it are checked in a new process.

    Parameters
    ----------
    path : str
    names : sequence of str
        The functions; all that have a gradient if empty.
    shapes : dict of str to tuple of int
        Shapes of inputs to draw; ``()`` is a number.
    wrt : sequence of str, optional
        The inputs whose gradients ``function_vjp`` returns, in its order; by default all floating-point ones.
    seed : int
        Of drawn inputs, cotangents and directions.
    timeout : float
        Seconds for each pair, and for the import of the file.
    curves : bool
        Whether the V-curves and Taylor plots are wanted, for a page.
    """

    path: str
    names: tuple = ()
    shapes: dict = field(default_factory=dict)
    wrt: tuple | None = None
    seed: int = 0
    timeout: float = 120.0
    curves: bool = False
    left_out: list = field(default_factory=list, init=False)

    def __iter__(self):
        remaining, known = list(self.names), False
        while remaining or not known:
            count, current = len(remaining), None
            for message in converse(self._command(remaining), self.timeout):
                event, name = message.get("event"), message.get("name")
                if event == "refused":
                    yield checked(self.path, message)
                    return
                if event == "pairs" and not known:
                    remaining, self.left_out, known = list(message["names"]), list(message["left_out"]), True
                    count = len(remaining)
                elif event == "begin":
                    current = name
                elif event == "verdict" and name == current and name in remaining:
                    remaining.remove(name)
                    current = None
                    yield checked(f"{self.path}:{name}", message)
            state, words = self._silence(message)
            if current in remaining:
                remaining.remove(current)
                yield Checked(f"{self.path}:{current}", None, state, words)
            elif not known:
                yield Checked(self.path, None, state, words)
                return
            elif len(remaining) == count:                   # a new process would come no further
                yield from (Checked(f"{self.path}:{name}", None, state, words) for name in remaining)
                return

    def _silence(self, last):
        """Return state and words for what the last process has not said."""
        if last["event"] == "late":
            return "undecided", f"not finished within {self.timeout:g} s"
        code = last["code"]
        how = f"ended the process with exit code {code}" if code >= 0 else f"ended the process by signal {-code}"
        return "wrong", f"no verdict: the file {how}"

    def _command(self, names):
        request = {"path": self.path, "names": names, "shapes": self.shapes, "wrt": self.wrt, "seed": self.seed,
                   "timeout": self.timeout, "curves": self.curves}
        return [sys.executable, "-c", START.format(path=sys.path), json.dumps(request)]


def checked(title, message):
    """Return what a message says of a pair; one that is not complete is no verdict."""
    with Trap() as trap:
        seconds = float(message.get("seconds", 0.0))
        if "report" not in message:
            state = message["state"] if message["state"] in ("wrong", "undecided", "refused") else "wrong"
            return Checked(title, None, state, str(message["words"]), seconds)
        sent = message["report"]
        inputs = [InputVerdict(item["name"], item["kind"], item["words"], item["hint"], float(item["error"]),
                               _restored(item["numbers"])) for item in sent["inputs"]]
        if not inputs:
            raise ValueError("a report without inputs")
        report = Report(title, inputs, sent["problems"], sent["notes"], _restored(sent["numbers"]))
        report.curves = {name: Drawn.restored(curves) for name, curves in message.get("curves", {}).items()}
        report.text()                                       # which needs every part
        return Checked(title, report, seconds=seconds)
    return Checked(title, None, "wrong", f"no verdict: what the process sent is not complete ({trap})")


def _restored(value):
    """Undo :func:`ibpcl.verify.report.plain`: tuples, and what is not finite.

    >>> _restored({"a": ["nan", 1, "x"]})
    {'a': (nan, 1, 'x')}
    """
    if isinstance(value, dict):
        return {key: _restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(map(_restored, value))
    return float(value) if isinstance(value, str) and value in ("nan", "inf", "-inf") else value


@dataclass
class Drawn:
    """Curves that were computed elsewhere, with what a page needs of :class:`ibpcl.verify.curves.Curves`."""

    curves: dict

    @classmethod
    def sent(cls, curves):
        """Return the curves as plain values."""
        return {"v": plain(list(curves.v_curve())), "truth": plain(list(curves.v_curve_of_truth())),
                "1": plain(list(curves.taylor(1))), "2": plain(list(curves.taylor(2)))}

    @classmethod
    def restored(cls, sent):
        """Return the object from plain values."""
        return cls({key: Curve(*(np.asarray(_restored(part), dtype=float) for part in parts))
                    for key, parts in sent.items()})

    def v_curve(self):
        """Return the curve against the claimed gradient."""
        return self.curves["v"]

    def v_curve_of_truth(self):
        """Return the curve against the extrapolated derivative."""
        return self.curves["truth"]

    def taylor(self, order=1):
        """Return the Taylor remainder."""
        return self.curves[str(order)]


def serve(request):
    """Check the pairs of a file, in the process that is there for this, and print the messages on standard output.

    What the file itself prints goes to standard error.
    """
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace", line_buffering=True)

    def send(event, **content):
        channel.write(json.dumps({"event": event, **content}) + "\n")
        channel.flush()

    send("ready")
    options = json.loads(request)
    try:
        _serve(send, options.pop("path"), **options)
    except (UserError, Interrupted) as error:
        send("refused", words=str(error), state="refused" if isinstance(error, UserError) else "undecided")
    except KeyboardInterrupt:
        os._exit(130)                                       # the command that waits says what there is to say
    sys.stdout.flush()
    os._exit(0)                                             # what the file leaves for the exit is not waited for


def _serve(send, path, names, shapes, wrt, seed, timeout, curves):
    with limit(timeout):
        module = load(path)
    pairs = pairs_of(module)
    names = names or pairs
    refuse_names(module, path, names, shapes)
    send("pairs", names=names, left_out=[] if names != pairs else alone_in(module))
    for name in names:
        start = time.perf_counter()
        send("begin", name=name)
        own = {key: tuple(shape) for key, shape in shapes.items() if key in parameters_of(module, name)}
        try:
            with limit(timeout):
                report = check_function(module, path, name, own, wrt, seed, timeout)
            content = as_message(report)
            if curves:
                send("draws")                               # which has its own time
                content["curves"] = as_curves(report, timeout)
        except UserError as error:
            content = {"state": "refused", "words": str(error)}
        except NoVerdict as error:
            content = {"state": error.state, "words": str(error)}
        except Interrupted as error:
            content = {"state": "undecided", "words": str(error)}
        send("verdict", name=name, seconds=time.perf_counter() - start, **content)


def load(path):
    """Import a file by its path; what it imports from its own folder is found."""
    file = Path(path).resolve()
    if not file.is_file():
        raise UserError(f"check: there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"checked_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module                          # dataclasses and pickles look their module up
    sys.path.insert(0, str(file.parent))
    try:
        with Trap() as trap:
            spec.loader.exec_module(module)
    finally:
        if str(file.parent) in sys.path:
            sys.path.remove(str(file.parent))
    if trap.error is not None:
        raise UserError(f"check: {path} cannot be imported\n{trap.within(file)}") from trap.error
    return module


def pairs_of(module):
    """Return the names of the functions of a module that have a ``_vjp`` beside them."""
    return [name for name, value in vars(module).items()
            if callable(value) and callable(getattr(module, f"{name}_vjp", None))]


def alone_in(module):
    """Return the public functions that a module defines and that have no ``_vjp`` beside them."""
    pairs = pairs_of(module)
    return [name for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__ and name not in pairs
            and not name.startswith("_") and name.removesuffix("_vjp") not in pairs and name != "check_inputs"]


def refuse_names(module, path, names, shapes):
    """Refuse functions that are not there, and shapes of inputs that no function has."""
    every = ", ".join(pairs_of(module)) or "none with a gradient"
    if not names:
        raise UserError(f"check: {path} has no function f with an f_vjp beside it")
    for name in names:
        if not callable(getattr(module, name, None)):
            raise UserError(f"check: {path} has no function {name!r} (it has: {every})")
    known = list(dict.fromkeys(key for name in names for key in parameters_of(module, name)))
    unknown = [key for key in shapes if key not in known]
    if unknown:
        raise UserError(f"check: --shape names {unknown[0]!r}, which is no parameter of {' or '.join(names)} "
                        f"({', '.join(known)})")


def parameters_of(module, name):
    """Return the parameters of a function by name."""
    with Trap() as trap:
        every = inspect.signature(getattr(module, name)).parameters
    if trap.error is not None:                               # built-in functions have no signature
        return {}
    return {key: p for key, p in every.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)}


class NoVerdict(Exception):
    """A pair could not be judged; ``state`` is what that makes of it, "wrong" or "undecided"."""

    def __init__(self, state, words):
        super().__init__(words)
        self.state = state


def check_function(module, path, name, shapes, wrt, seed, timeout):
    """Check one pair of a loaded file and return its report.

    Raises
    ------
    UserError
        If its gradient or its inputs are missing, or the pair does not have the form that can be checked.
    NoVerdict
        If it raises.
    """
    f, f_vjp = getattr(module, name), getattr(module, f"{name}_vjp", None)
    if not callable(f_vjp):
        raise UserError(f"check: {path} has no {name}_vjp, the gradient of {name}: write it beside {name}")
    inputs = make_inputs(module, path, name, shapes, seed)
    with Trap() as trap:
        return judged(f, f_vjp, inputs, wrt, seed=seed % 2**32, timeout=timeout)
    file = Path(module.__file__)
    if isinstance(trap.error, TimeUp):
        raise NoVerdict("undecided", str(trap.error))
    if trap.touches(file):
        raise NoVerdict("wrong", f"it raises\n{trap.within(file)}")
    if isinstance(trap.error, (ValueError, TypeError)):
        words = str(trap.error).removeprefix("check: ").replace("pass wrt=(...)", "pass --wrt")
        raise UserError(f"check: {path}:{name}: {words}") from trap.error
    raise NoVerdict("undecided", f"the checker itself failed: {trap}")


def as_message(report):
    """Return a report as plain values, by its attributes: properties and methods may have been replaced."""
    return {"report": {
        "problems": plain(report.problems), "notes": list(report.notes), "numbers": plain(report.numbers),
        "inputs": [{"name": item.name, "kind": item.kind, "words": item.words, "hint": item.hint,
                    "error": plain(item.error), "numbers": plain(item.numbers)} for item in report.inputs]}}


def as_curves(report, timeout):
    """Return the curves of a report as plain values; those that raise or take too long are left out."""
    curves = {}
    try:
        with limit(timeout):
            for name, drawn in report.curves.items():
                with Trap():
                    curves[name] = Drawn.sent(drawn)
    except Interrupted:
        pass
    return curves


def judged(f, f_vjp, inputs, wrt, **options):
    """Check a pair; gradients that are missing get a verdict of their own, the others are judged.

    Fewer gradients than inputs, in a tuple and without ``wrt``, are taken for those of the first inputs.
    """
    with Trap() as trap:
        report = check(f, f_vjp, inputs, wrt, **options)
        nothing = [item for item in report.inputs if item.kind == "wrong_shape"]
        if not nothing:
            return report
    if isinstance(trap.error, (ValueError, TypeError)) and (wrt is not None or "stacked" in str(trap.error)):
        raise trap.error
    if trap.error is not None and not isinstance(trap.error, (ValueError, TypeError)):
        raise trap.error
    with Trap() as again:
        names, there, missing = gradients_there(f, f_vjp, inputs, wrt)
    if again.error is not None or not missing:
        if trap.error is not None:
            raise trap.error
        return report
    if trap.error is not None:
        report = check(f, f_vjp, inputs, there, **options) if there else Report("", [])
    found = {item.name: item for item in report.inputs if item.name not in missing}
    report.inputs = [found.get(name) or InputVerdict(
        name, "missing_term", f"no gradient was returned for {name}", "return it, or pass --wrt with the names of the "
        "inputs that the gradient is for, in its order") for name in names]
    return report


def gradients_there(f, f_vjp, inputs, wrt):
    """Call a pair once: the inputs to differentiate, those that have a gradient, and those that have none."""
    problem = make_problem(f, f_vjp, inputs, wrt)
    outputs, several, cache = problem.call()
    returned = f_vjp(shaped_like(np.ones(sum(out.size for out in outputs)), outputs, several), cache)
    names = [problem.names[j] for j in problem.wrt]
    if isinstance(returned, dict):
        keys = {str(key).removeprefix("grad_").removeprefix("d_"): key for key in returned}
        keys = {**{key.removeprefix("d"): original for key, original in keys.items() if key not in names}, **keys}
        if unknown := set(keys) - set(names) - {f"d{name}" for name in names}:
            raise KeyError(*unknown)
        there = [name for name in names if name in keys]
        missing = [name for name in names if name not in keys or returned[keys[name]] is None]
    else:
        parts = tuple(returned) if isinstance(returned, (tuple, list)) else () if returned is None else (returned,)
        if len(parts) > len(names):
            raise ValueError("more gradients than inputs")
        there = names[:len(parts)]
        missing = [name for name, part in zip(names, parts, strict=False) if part is None] + names[len(parts):]
    return names, there, missing


def make_inputs(module, path, name, shapes, seed):
    """Collect the inputs of a function, in the order of its parameters: a dict, or the tuple that the file returns."""
    file, given, parameters = Path(module.__file__), {}, parameters_of(module, name)
    if hasattr(module, "check_inputs"):
        with Trap() as trap:
            given = module.check_inputs()
        if trap.error is not None:
            raise UserError(f"check: {path}: check_inputs() raises\n{trap.within(file)}") from trap.error
        if not isinstance(given, (dict, tuple, list)):
            raise UserError(f"check: {path}: check_inputs() must return a dict or a tuple, got {type(given).__name__}")
        if not isinstance(given, dict):
            if not shapes:
                return tuple(given)
            given = dict(zip(parameters, given, strict=False))
    rng = np.random.default_rng(seed % 2**32)
    drawn = {key: rng.normal(size=shape) if shape else float(rng.normal()) for key, shape in shapes.items()}
    values = {**given, **drawn}
    inputs = {key: values[key] for key in parameters if key in values}
    missing = [key for key, p in parameters.items() if key not in values and p.default is p.empty]
    if missing:
        sizes = " ".join(f"--shape {key}=3,4" for key in missing)
        raise UserError(f"check: {path}:{name}: no value for {', '.join(missing)}; let a function check_inputs() "
                        f"in the file return a dict with {'it' if len(missing) == 1 else 'them'}, or pass {sizes}")
    if list(inputs) != list(parameters)[:len(inputs)]:
        raise UserError(f"check: {path}:{name}: give a value for every parameter before {list(inputs)[-1]!r}")
    return inputs


def parse_shapes(texts):
    """Read ``x=3,4`` as {"x": (3, 4)}; ``tau=`` is a number.

    >>> parse_shapes(["x=3,4", "tau="])
    {'x': (3, 4), 'tau': ()}
    """
    shapes = {}
    for text in texts:
        name, equals, sizes = text.partition("=")
        parts = [part.strip() for part in sizes.split(",") if part.strip()]
        if not name or not equals or not all(part.isdecimal() and int(part) > 0 for part in parts):
            raise UserError("check: --shape takes NAME=SIZES of at least 1, such as x=3,4 (or tau= for a number), "
                            f"got {text!r}")
        shapes[name.strip()] = tuple(map(int, parts))
    return shapes
