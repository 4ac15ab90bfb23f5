"""The referee assignment: gradients with planted mistakes, different for each student.

The student names, locates and corrects each mistake, and refutes the gradient at one point.  The
mistakes of ``mistakes.toml`` are planted in the right pairs of ``bank.py``.  The course key and the
student's id select one for each task of kind ``referee``, never two in the same function.
"""

import ast
import functools

import numpy as np

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.assignment import Task, module
from ibpcl.classroom.intake import submission as submissions
from ibpcl.classroom.judging.comparing import as_tuple, is_real
from ibpcl.classroom.judging.gradients import judge_gradient
from ibpcl.classroom.judging.marking import EXHIBIT, UNNAMED, settle
from ibpcl.classroom.judging.rewriting import rewritten
from ibpcl.classroom.judging.running import bounds
from ibpcl.classroom.judging.running.client import SubmissionError
from ibpcl.classroom.judging.running.session import described, is_blank
from ibpcl.classroom.judging.verdict import Part, Verdict
from ibpcl.errors import UserError
from ibpcl.storage import read_text, read_toml

EVIDENCE = dict(zip(("kind", "line", "mended gradient", "proof"), EXHIBIT, strict=True))
# What can be guessed: one kind fits most mistakes, and almost any point refutes a wrong gradient.
GUESSED = {"kind", "proof"}
BESIDE = "right, but it counts only beside the right line or a mended gradient"
REFUTED = 1e-3  # relative error at which a point refutes a gradient
CHANGE = 1e-9  # relative change of the inputs that shows how large a gradient of zero may be
ROUNDED = 1e-3  # share of the effect of that change which is rounding
MOST_NUMBERS = 10_000  # numbers in a proof's point
MOST_ENTRIES = 200_000  # entries of the point's arrays once they are broadcast against each other
PROOF_MB = 256  # megabytes that the judge may use to compute with the point
LARGEST_INTEGER = 1000  # largest absolute value of an integer in the point
HINTS = {
    "kind": (
        "compare the planted gradient with differences, input by input; which simple change would "
        "correct it?"
    ),
    "line": "give the number of the line in exhibits.py",
    "mended gradient": "check it with `ibpcl check FILE:FUNCTION` before you hand in",
    "proof": (
        "return inputs and a cotangent at which the planted gradient is wrong by more than a "
        "thousandth"
    ),
}


def tasks_of(assignment):
    """Return the tasks of kind ``referee``.

    Parameters
    ----------
    assignment : Assignment
        Any assignment.

    Returns
    -------
    list of Task
    """
    return [task for task in assignment.tasks if task.kind == "referee"]


def chosen(assignment, key, student):
    """Return the planted mistakes of a student.

    Parameters
    ----------
    assignment : Assignment
        A referee assignment.
    key : bytes
        The course key; the public key selects the same mistakes for all students.
    student : str
        Id of the student.

    Returns
    -------
    dict of str to dict
        Task id to entry of ``mistakes.toml``.

    Raises
    ------
    UserError
        If the tasks outnumber the functions with mistakes.
    """
    every = read_toml(assignment.path("mistakes.toml"))["mistake"]
    order = variants.generator(
        key, "" if key == variants.PUBLIC else student, assignment.name, "exhibits"
    ).permutation(len(every))
    mistakes = {}
    used = set()
    for task in tasks_of(assignment):
        mistake = next((every[at] for at in order if every[at]["function"] not in used), None)
        if mistake is None:
            raise UserError(f"class: {assignment.name}: fewer functions with mistakes than tasks")
        mistakes[task.id] = mistake
        used.add(mistake["function"])
    return mistakes


def exhibits(assignment, mistakes, key=variants.PUBLIC, student="", mended=False):
    """Return the text of the exhibits, in other words for each student, and the lines of mistakes.

    Parameters
    ----------
    assignment : Assignment
        A referee assignment.
    mistakes : dict of str to dict
        Task id to entry of ``mistakes.toml``.
    key : bytes
        The course key, which chooses the words.
    student : str
        Id of the student, for the same purpose.
    mended : bool
        Whether to leave the mistakes out.

    Returns
    -------
    text : str
        Python text of the pairs with the mistakes.
    lines : dict of str to int
        Task id to line in this text.

    Raises
    ------
    UserError
        If the text that a mistake replaces does not occur exactly once in ``bank.py``.
    """
    names = {
        name for each in mistakes.values() for name in (each["function"], each["function"] + "_vjp")
    }
    text = _only(read_text(assignment.path("bank.py")), names)
    for at, mistake in enumerate(mistakes.values()):
        if (count := text.count(mistake["replace"])) != 1:
            raise UserError(
                f"class: {assignment.name}: mistake {mistake['label']!r}: its text occurs {count} "
                "times in bank.py, not once"
            )
        text = text.replace(mistake["replace"], f"\0{at}\0")
    lines = {}
    for number in sorted(range(len(mistakes)), key=lambda at: text.index(f"\0{at}\0")):
        task, mistake = list(mistakes.items())[number]
        before = text[: text.index(f"\0{number}\0")].count("\n") + 1
        lines[task] = before + _first_difference(mistake["replace"], mistake["by"])
        text = text.replace(f"\0{number}\0", mistake["replace" if mended else "by"])
    student = "" if key == variants.PUBLIC else student
    words = functools.partial(variants.generator, key, student, assignment.name, "words")
    return rewritten(text, words, lines)


def judge_referee(task, verdict, case):
    """Judge a student's report on one exhibit: kind, line, corrected gradient, and refuting point.

    Kind and point can be guessed, so they earn their shares only beside the line or the gradient.

    Parameters
    ----------
    task : Task
        A task of kind ``referee``.
    verdict : Verdict
        Receives the parts and points.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    mistakes = chosen(case.assignment, case.key, case.submission.student)
    mistake = mistakes[task.id]
    planted, lines = exhibits(case.assignment, mistakes, case.key, case.submission.student)
    answers = submissions.literals(case.submission.source).get("ANSWERS")
    answer = answers.get(task.id) if isinstance(answers, dict) else None
    answer = answer if isinstance(answer, dict) else {}
    findings = {
        "kind": ("ok", "")
        if answer.get("kind") in set(mistake["kinds"]) - set(UNNAMED)
        else ("wrong", "not the kind of the mistake"),
        "line": ("ok", "")
        if answer.get("line") == lines[task.id]
        else ("wrong", "not the line of the mistake"),
        "mended gradient": _mended(task, mistake, case),
        "proof": _proof(task, mistake, case, planted),
    }
    if not any(kind == "ok" for name, (kind, _) in findings.items() if name not in GUESSED):
        findings |= {name: ("not_counted", BESIDE) for name in GUESSED if findings[name][0] == "ok"}
    for name, (kind, words) in findings.items():
        verdict.parts.append(
            Part(
                name,
                kind,
                words,
                HINTS[name] if kind == "wrong" else "",
            )
        )
        if kind != "wrong":
            row = EVIDENCE[name] if kind == "ok" else "no_substance"
            case.marking.earn(verdict.parts[-1], row)
        verdict.words += [f"{name}: {words}"] if kind != "ok" else []
    verdict.details.append(f"planted: {mistake['label']}, line {lines[task.id]}")
    settle(verdict)


def pasted(assignment, source):
    """Return flags for gradients that are the text of the bank, which no exhibit has.

    A mended exhibit has the words that the course key chose.

    Parameters
    ----------
    assignment : Assignment
        Any assignment.
    source : str
        Text of the hand-in.

    Returns
    -------
    list of str
    """
    if not tasks_of(assignment):
        return []
    bank = _gradients(assignment.source())
    return [
        f"line {line}: {name} is the package's own text, and not a corrected exhibit"
        for name, (line, body) in _gradients(source).items()
        if body == bank.get(name, (0, ""))[1]
    ]


def _gradients(text):
    """Return line and code of each gradient in a text that parses, by name."""
    return {
        node.name: (node.lineno, ast.unparse(node.body[ast.get_docstring(node) is not None :]))
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_vjp")
    }


def gradient_task(task, mistake):
    """Return the task of judging one pair of the bank as an ordinary gradient.

    Parameters
    ----------
    task : Task
        A task of kind ``referee``.
    mistake : dict
        Entry of ``mistakes.toml`` that names the pair.

    Returns
    -------
    Task
        A hidden task of kind ``vjp``.
    """
    return Task(
        task.id,
        "vjp",
        task.title,
        task.points,
        f"{mistake['function']}_vjp",
        mistake["function"],
        wrt=tuple(mistake["wrt"]),
        rtol=mistake.get("rtol", 1e-8),
        visibility="hidden",
        inputs=mistake["inputs"],
    )


def _mended(task, mistake, case):
    gradient = gradient_task(task, mistake)
    verdict = Verdict.of(gradient)
    try:
        judge_gradient(gradient, verdict, case)
    except SubmissionError as error:
        return "wrong", f"{mistake['function']}_vjp {described(error, True, case.submission.file)}"
    return ("ok", "") if verdict.state == "right" else ("wrong", "the gradient is not right yet")


def _proof(task, mistake, case, planted):
    """Return whether the point that the student gives refutes the planted gradient."""
    name = f"proof_{task.id}"
    try:
        given = case.session.plain(name, ())
    except SubmissionError as error:
        if is_blank(error):
            return "wrong", "not filled in yet"
        return "wrong", f"{name} {described(error, False, case.submission.file)}"
    right = case.reference
    wrong = module(planted, "exhibits")
    function = mistake["function"]
    try:
        inputs, dout = given
        inputs = tuple(inputs.values()) if isinstance(inputs, dict) else tuple(inputs)
    except (TypeError, ValueError) as error:
        return "wrong", f"the functions cannot be evaluated there: {type(error).__name__}"
    pairs = [(getattr(side, function), getattr(side, f"{function}_vjp")) for side in (right, wrong)]
    reason = refutes(pairs, inputs, dout)
    return ("wrong", reason) if reason else ("ok", "")


def refutes(pairs, inputs, dout, asked="the inputs and the cotangent"):
    """Return why a point does not refute a gradient, "" if it does.

    Parameters
    ----------
    pairs : list of (callable, callable)
        The right function with its gradient, and the planted ones.
    inputs : tuple
        Point of a student: anything may be in it.
    dout : object
        Cotangent; likewise.
    asked : str
        The task of the student, as the reason names it.

    Returns
    -------
    reason : str
    """
    try:
        if sum(map(np.size, inputs)) + np.size(dout) > MOST_NUMBERS:
            return f"more than {MOST_NUMBERS} numbers"
        if bounds.entries((*inputs, *as_tuple(dout))) > MOST_ENTRIES:
            return f"its arrays have more than {MOST_ENTRIES} entries when they are broadcast"
        if not all(
            is_real(value)
            and np.all(np.isfinite(value))
            and (np.asarray(value).dtype.kind == "f" or np.all(np.abs(value) <= LARGEST_INTEGER))
            for value in (*inputs, *as_tuple(dout))
        ):
            return f"{asked} must be finite real arrays, or integers up to {LARGEST_INTEGER}"
        with np.errstate(all="ignore"), bounds.memory(PROOF_MB):
            gaps = _gaps(pairs, inputs, dout)
            if not any(gap > REFUTED for gap, _ in gaps):
                undefined = any(np.isnan(gap) for gap, _ in gaps)
                return (
                    "the right gradient is not finite at these inputs, so they are not in the "
                    "domain of the function"
                    if undefined
                    else "the given gradient is right at these inputs"
                )
            floors = _floors(pairs[0], inputs, dout)
    # The point comes from the student, so any error is possible.
    except Exception as error:
        return f"the functions cannot be evaluated there: {type(error).__name__}"
    if any(gap > REFUTED and size > floor for (gap, size), floor in zip(gaps, floors, strict=True)):
        return ""
    return (
        "the gradients differ there only by rounding: both are zero, so the given one is right at "
        "these inputs"
    )


def _gaps(pairs, inputs, dout):
    """Return the relative and the absolute difference of two gradients, for each input."""
    gradients = []
    for forward, pull in pairs:
        _, cache = forward(*map(np.copy, inputs))
        gradients.append(as_tuple(pull(dout, cache)))
    return [_gap(a, b) for a, b in zip(*gradients, strict=True)]


def _gap(right, wrong):
    right = np.asarray(right, dtype=float)
    wrong = np.asarray(wrong, dtype=float)
    if not np.all(np.isfinite(right)):
        return np.nan, np.nan  # a point outside the domain refutes nothing
    if right.shape != wrong.shape or not np.all(np.isfinite(wrong)):
        return np.inf, np.inf
    size = np.max(np.abs(right), initial=0.0)
    gap = float(np.max(np.abs(right - wrong), initial=0.0))
    return (gap / size if size else float(np.any(wrong))), gap


def _floors(pair, inputs, dout):
    """Return for each input the size of gradients that are zero up to rounding.

    Rounding changes a gradient as slight changes of the inputs do.  So the gradient is computed
    again after relative changes of the inputs and of the cotangent.
    """
    rng = np.random.default_rng(0)

    def moved(value, kinds):
        if isinstance(value, tuple):
            return tuple(moved(each, kinds) for each in value)
        value = np.asarray(value)
        if value.dtype.kind not in kinds:
            return value.copy()
        return (value * (1 + CHANGE * rng.uniform(-1, 1, value.shape)))[()]

    def gradients(kinds=""):
        forward, pull = pair
        _, cache = forward(*(moved(value, kinds) for value in inputs))
        return [np.asarray(g, dtype=float) for g in as_tuple(pull(moved(dout, kinds), cache))]

    here = gradients()
    try:
        there = gradients("fiu")
    except Exception:  # whole numbers may be labels
        there = gradients("f")
    return [
        ROUNDED * float(np.nan_to_num(np.max(np.abs(a - b), initial=0.0), posinf=0.0))
        for a, b in zip(here, there, strict=True)
    ]


def _only(text, kept):
    """Return a text without the public functions that are not ``kept``."""
    lines = text.splitlines(keepends=True)
    for node in reversed(ast.parse(text).body):
        if (
            isinstance(node, ast.FunctionDef)
            and not node.name.startswith("_")
            and node.name not in kept
        ):
            end = node.end_lineno
            while end < len(lines) and not lines[end].strip():
                end += 1  # and the blank lines below it
            del lines[node.lineno - 1 : end]
    return "".join(lines).rstrip() + "\n"


def _first_difference(a, b):
    """Return the index of the first line in which two texts differ."""
    rows = zip(a.splitlines(), b.splitlines(), strict=False)
    return next((at for at, (x, y) in enumerate(rows) if x != y), min(a.count("\n"), b.count("\n")))
