"""The lines of mistakes in gradients, from a second run that never affects the points.

The judge sees only values.  To find a line, the checker must see the text and run it step by step.
So it runs beside the hand-in, in a separate worker that has :mod:`ibpcl.verify` but neither the
derivations of the package nor a reference.  The hand-in could forge the findings.  Therefore a line
must exist in the hand-in, sentences are shortened and freed of control characters, and pages escape
them.  The inputs are public, so they reveal nothing; for a hidden task only the line is shown.

A mistake of the whole gradient, such as a sign, belongs to no single line.  The line that assigns
the gradient is reported instead.
"""

import ast
import re
import time
from pathlib import Path

from ibpcl import errors
from ibpcl.classroom.assignments import variants
from ibpcl.classroom.judging.running.cleaning import clean
from ibpcl.classroom.judging.running.client import Worker
from ibpcl.storage import read_text
from ibpcl.verify import check

SECONDS = 15.0  # for all gradients of a hand-in
NOWHERE = ("ok", "wrong", "zero", "missing")  # kinds that no line can be given for
BAR = '''class tqdm:
    def __init__(self, *_, **__): pass
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def update(self, *_): pass
'''


def add_lines(case, verdicts):
    """Add the lines of mistakes to the verdicts on wrong gradients, without changing the points.

    Parameters
    ----------
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    verdicts : list of Verdict
        Changed in place.
    """
    wrong = {
        verdict.task: verdict
        for verdict in verdicts
        if verdict.kind == "vjp" and verdict.state in ("wrong", "partial")
    }
    if not wrong:
        return
    answers = dict.fromkeys(wrong, ())
    try:
        for name, each in _asked(case, wrong):
            answers[name] = each
    # a hint that fails must not cost the grade
    except Exception:
        pass
    for name, verdict in wrong.items():
        task = case.assignment.task(name)
        messages = places(answers[name], task, case.submission)
        for part in verdict.parts:
            line = made_at(case.submission.source, task.function, task.wrt.index(part.name))
            if part.kind not in NOWHERE and line:
                messages.setdefault(
                    part.name, f"line {line} of {case.submission.file} computes this gradient"
                )
        verdict.lines = [f"{name}: {words}" for name, words in messages.items()]


def _asked(case, names):
    """Yield task id and the worker's answer for each wrong gradient; a SubmissionError ends it."""
    end = time.monotonic() + SECONDS
    with Worker(
        case.submission.source,
        case.submission.file,
        case.session.sandbox,
        SECONDS,
        case.assignment.limits["memory_mb"],
        library=library(),
    ) as worker:
        for name in names:
            task = case.assignment.task(name)
            rng = variants.generator(variants.PUBLIC, "", case.assignment.name, name, "small", 0)
            inputs = case.assignment.maker(task.inputs)(rng, "small")
            worker.per_call = max(0.0, end - time.monotonic())
            yield (
                name,
                worker.locate(
                    check.__module__,
                    task.function,
                    task.forward,
                    inputs,
                    task.wrt,
                    worker.per_call / 2,
                ),
            )


def places(found, task, submission):
    """Return a sentence for each input from the worker's answer.

    Parameters
    ----------
    found : object
        The worker's answer, which must not be trusted; malformed entries are skipped.
    task : Task
        A task of kind ``vjp``.
    submission : Submission
        The hand-in.

    Returns
    -------
    dict of str to str
        Input to sentence.
    """
    lines = submission.source.splitlines()
    messages = {}
    for item in found if isinstance(found, (list, tuple)) else ():
        if (
            not isinstance(item, (list, tuple))
            or len(item) != 3
            or not all(type(text) is str for text in item)
        ):
            continue
        name, words, where = item
        number = re.match(r"line (\d{1,6})\b", where)
        if name not in task.wrt or number is None or not 0 < int(number[1]) <= len(lines):
            continue
        place = f"look at line {int(number[1])} of {submission.file}"
        own = clean(lines[int(number[1]) - 1].strip())
        messages[name] = place if task.visibility == "hidden" else f"{clean(words)}; {place}: {own}"
    return messages


def made_at(source, function, position):
    """Return the line in which a gradient function computes one of its gradients.

    Parameters
    ----------
    source : str
        Python text.
    function : str
        Name of the gradient function.
    position : int
        Position of the gradient in the definitions tuple.

    Returns
    -------
    int
        Line, from 1; 0 if it cannot be determined.

    Examples
    --------
    >>> made_at("def f_vjp(dout, cache):\\n    dx = dout\\n    return dx, -dout", "f_vjp", 0)
    2
    """
    definitions = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == function
    ]
    returns = [
        node.value
        for each in definitions[-1:]
        for node in ast.walk(each)
        if isinstance(node, ast.Return)
    ]
    parts = [
        part
        for value in returns[-1:]
        for part in (value.elts if isinstance(value, ast.Tuple) else [value])
    ]
    if position >= len(parts) or parts[position] is None:
        return 0
    name = parts[position].id if isinstance(parts[position], ast.Name) else ""
    made = [
        node.lineno
        for node in ast.walk(definitions[-1])
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name
    ]
    return max(made, default=parts[position].lineno)


def library():
    """Return the modules of the checker as texts, with a progress bar that shows nothing.

    The packages' ``__init__`` modules are empty, because importing everything would take longer
    than the check.

    Returns
    -------
    dict of str to str
        Dotted name to text.
    """
    root = Path(errors.__file__).parent
    rooms = ("codeview", "sandbox", "verify")
    alone = (root / "errors.py", root / "palette.py")
    files = [*alone, *(file for room in rooms for file in (root / room).rglob("*.py"))]
    texts = {
        path.relative_to(root.parent).with_suffix("").as_posix(): read_text(path)
        for path in sorted(files)
    }
    return {
        "ibpcl": "",
        "tqdm": BAR,
        **{name.removesuffix("/__init__").replace("/", "."): text for name, text in texts.items()},
        "ibpcl.verify": "",
    }
