"""The judge: points and an explanation for each task of a hand-in."""

import time
import traceback
from dataclasses import replace
from functools import cached_property

import numpy as np

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.intake import submission as submissions
from ibpcl.classroom.judging import (
    answers,
    at_home,
    independence,
    marking,
    other_variants,
    referee,
    underived,
    written_tests,
)
from ibpcl.classroom.judging.examples import add_examples
from ibpcl.classroom.judging.forwards import (
    follow_proof,
    judge_extremes,
    judge_forward,
    judge_step,
)
from ibpcl.classroom.judging.gradients import judge_gradient
from ibpcl.classroom.judging.large import judge_at_large
from ibpcl.classroom.judging.running import bounds
from ibpcl.classroom.judging.running.accepting import as_array
from ibpcl.classroom.judging.running.client import SubmissionError, Waiting
from ibpcl.classroom.judging.running.lines import add_lines
from ibpcl.classroom.judging.running.session import Session, described, is_blank
from ibpcl.classroom.judging.verdict import Result, Verdict

JUDGES = {
    "forward": judge_forward,
    "proof": judge_forward,
    "step": judge_step,
    "extremes": judge_extremes,
    "vjp": judge_gradient,
    "referee": referee.judge_referee,
    "test": written_tests.judge_test,
    "number": answers.judge_number,
    "choice": answers.judge_choice,
    "prediction": answers.judge_prediction,
    "counterexample": answers.judge_counterexample,
}
# how the reason begins if a hand-in is not judged yet; the next run judges it again
AGAIN = "not judged yet"
MOST_CALLS = 20  # a gradient that calls its forward this often is flagged
SLOW = 50.0  # a gradient this many times slower than its forward is flagged


class Case:
    """One hand-in before the judge: its variant, its session, and the findings so far.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    submission : Submission
        The hand-in.
    key : bytes
        The course key.
    variant : str
        Name of the variant that the hand-in is judged in.
    session : Session
        Calls the functions of the hand-in in its sandbox.
    figures : bool
        Whether the figures of public gradients are drawn.
    scheme : ibpcl.classroom.judging.marking.Marking, optional
        The marking scheme; by default, that of the package.
    values : dict, optional
        Recorded values, which take the place of the solution on a student's machine.

    Attributes
    ----------
    judges : dict of str to callable
        Kind of a task to its judge.
    wrong : dict of str to ibpcl.classroom.judging.partial_credit.PartialCredit
        Findings about each wrong function.
    seen : dict of str to list of ibpcl.classroom.judging.naming.naming_forwards.Seen
        The values that each wrong proof returned.
    """

    def __init__(
        self, assignment, submission, key, variant, session, figures, scheme=None, values=None
    ):
        self.assignment = assignment
        self.submission = submission
        self.key = key
        self.variant = variant
        self.session = session
        self.figures = figures
        self.marking = scheme or marking.default()
        self.values = values
        self.judges = JUDGES if values is None else {**JUDGES, **at_home.JUDGES}
        self.wrong = {}
        self.seen = {}

    @cached_property
    def reference(self):
        """Reference solution in the student's variant, or the recorded values."""
        if self.values is not None:
            return at_home.Recorded(self.assignment, self.values)
        return self.assignment.reference(self.variant)

    @property
    def student(self):
        """Id of the student whose variant is judged; empty under the public key, which has one
        variant for all students.
        """
        return "" if self.key == variants.PUBLIC else self.submission.student

    def rng(self, task, *what):
        """Return the random generator for a purpose within a task.

        Parameters
        ----------
        task : Task
            The task.
        *what
            Words and numbers that name the purpose.

        Returns
        -------
        numpy.random.Generator
        """
        return variants.generator(self.key, self.student, self.assignment.name, task.id, *what)

    def seed(self, task, at):
        """Return a seed for the checker.

        Parameters
        ----------
        task : Task
            The task.
        at : int
            Number of the point.

        Returns
        -------
        int
        """
        return int(self.rng(task, "seed", at).integers(2**31))

    def inputs(self, task, size, at):
        """Return the inputs of a task at one point.

        Parameters
        ----------
        task : Task
            The task.
        size : {"small", "odd", "large", "extreme"}
            Kind of the point.
        at : int
            Number of the point.

        Returns
        -------
        dict of str to ndarray or number
            The inputs by name, in the order of the function's parameters.
        """
        return self.assignment.maker(task.inputs)(self.rng(task, size, at), size)

    def function(self, task, variant=None):
        """Return the reference's function of a task, without its cache.

        Parameters
        ----------
        task : Task
            The task.
        variant : str, optional
            Name of the variant; by default the student's.

        Returns
        -------
        callable
            Takes the inputs and returns the output alone.
        """
        reference = self.reference if variant is None else self.assignment.reference(variant)
        made = getattr(reference, task.function)
        return made if task.is_plain else lambda *inputs: made(*inputs)[0]

    def expected(self, task, inputs):
        """Return the reference's output, whose size the session then expects.

        Parameters
        ----------
        task : Task
            The task.
        inputs : dict of str to ndarray or number
            The inputs by name.

        Returns
        -------
        ndarray, number or tuple of these
        """
        with np.errstate(all="ignore"):
            out = getattr(self.reference, task.function)(*inputs.values())
        out = out if task.is_plain else out[0]
        self.session.expect(out)
        return out

    def returned(self, task, inputs):
        """Return the hand-in's output.

        Parameters
        ----------
        task : Task
            The task.
        inputs : dict of str to ndarray or number
            The inputs by name.

        Returns
        -------
        object
        """
        if task.is_plain:
            out = self.session.plain(task.function, inputs.values(), task.independent_of)
            return as_array(out) if isinstance(out, list) else out
        return self.session.forward(task.function, inputs.values())[0]


@bounds.memory(bounds.JUDGE_MB)
def judge(
    assignment,
    submission,
    sandbox,
    key=variants.PUBLIC,
    variant=None,
    public_only=False,
    figures=True,
    locate=False,
    scheme=None,
    values=None,
):
    """Judge one hand-in.

    Parameters
    ----------
    assignment : Assignment
        The assignment.
    submission : Submission
        The hand-in.
    sandbox : str
        Name of the sandbox that the hand-in runs in, one of :data:`ibpcl.sandbox.boxes.NAMES`.
    key : bytes
        The course key, which decides the variant and the inputs.
    variant : str, optional
        Name of the variant; by default the one that follows from key and student.
    public_only : bool
        Whether hidden tasks are left out.
    figures : bool
        Whether the figures of public gradients are drawn.
    locate : bool
        Whether the lines of mistakes in gradients are searched for, in a second, unscored run.
    scheme : ibpcl.classroom.judging.marking.Marking, optional
        The marking scheme; by default, that of the package.
    values : dict, optional
        What :func:`ibpcl.classroom.judging.at_home.recorded` returned, if the solution is not
        here; then only public tasks can be judged.

    Returns
    -------
    Result
        The verdicts.  If judging fails, ``status`` is ``"not graded"`` and ``reason`` gives the
        cause; no exception of the hand-in is passed on.

    Notes
    -----
    The memory that this process may use for one hand-in is limited by
    :data:`ibpcl.classroom.judging.running.bounds.JUDGE_MB`.
    """
    start = time.monotonic()
    variant = variant or variants.variant_of(assignment, key, submission.student)
    result = Result(
        assignment.name, submission.student, variant, submission.sha256, sandbox=sandbox
    )
    refusal = submissions.refuse(submission.source, assignment.imports)
    if refusal is not None:
        place = submission.place(refusal.line) if refusal.line else submission.file
        return _not_graded(result, f"{place} {refusal.words}", start)
    session = Session(submission, assignment, sandbox)
    case = Case(assignment, submission, key, variant, session, figures, scheme, values)
    try:
        tasks = [
            task for task in assignment.tasks if not public_only or task.visibility == "public"
        ]
        proofs = judge_proofs(tasks, case)
        session.start()
        result.flags += _claims(submission, assignment, variant) + _copies(tasks, submission)
        result.flags += referee.pasted(assignment, submission.source) if not public_only else []
        for task in tasks:
            result.verdicts.append(proofs.get(task.id) or judge_task(task, case, result.verdicts))
        for verdict in result.verdicts:
            follow_proof(assignment.task(verdict.task), verdict, case)
        other_variants.withdraw(case, result.verdicts)
        if not public_only:
            result.flags += _numerical(case, result.verdicts)
        add_examples(case, result.verdicts)
    except Waiting as error:
        where = f"{error.task}: " if error.task else ""
        return _not_graded(
            result,
            f"{AGAIN}: {where}{submission.file} ends without an answer: {error}, but without "
            "computing for long: the program waits, or the machine is too busy; run the same "
            "command again",
            start,
        )
    except SubmissionError as error:
        return _not_graded(
            result,
            f"{submission.file} cannot be loaded: it {described(error, False, submission.file)}",
            start,
        )
    except Exception as error:  # a bug of the judge must not cost the student points
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        return _not_graded(
            result, f"the judge failed: {type(error).__name__}: {error} ({place})", start
        )
    finally:
        session.close()
        result.notes = [*submissions.notes(submission, assignment), *session.skipped]
    if locate:
        add_lines(case, result.verdicts)
    result.seconds = round(time.monotonic() - start, 2)
    return result


def judge_proofs(tasks, case):
    """Judge the proofs that must not use other functions of the hand-in.

    They are judged first, in a process that has never loaded the text of these functions.

    Parameters
    ----------
    tasks : list of Task
        All tasks that are judged.
    case : Case
        The hand-in.

    Returns
    -------
    dict of str to Verdict
        Task id to verdict, for these proofs only.
    """
    return {
        task.id: judge_task(task, case, [])
        for task in tasks
        if task.kind == "proof" and task.independent_of and not task.needs
    }


def judge_task(task, case, before):
    """Return the verdict on one task.

    Parameters
    ----------
    task : Task
        The task.
    case : Case
        The hand-in.
    before : list of Verdict
        Verdicts on the tasks judged before.

    Returns
    -------
    Verdict
    """
    verdict = Verdict.of(task)
    start = time.monotonic()
    if task.kind == "text":
        return _text(task, verdict, case)
    states = {item.task: item.state for item in before}
    for needed in task.needs:
        if (state := states.get(needed)) in ("raises", "missing", "not judged"):
            verdict.state = "not judged"
            verdict.words = [
                f"not judged because {needed} "
                + {"raises": "raises", "missing": "is missing"}.get(state, "was not judged")
            ]
            return verdict
    hidden = task.visibility == "hidden"
    try:
        # wrong answers overflow; the verdict reports it, so NumPy's warnings are not needed
        with np.errstate(all="ignore"):
            case.judges[task.kind](task, verdict, case)
    except Waiting as error:
        error.task = task.id
        raise
    except SubmissionError as error:
        verdict.points = 0.0
        verdict.parts = []
        verdict.figures = []
        verdict.state = "missing" if is_blank(error) else "raises"
        words = (
            "not filled in yet"
            if verdict.state == "missing"
            else described(error, hidden, case.submission.file)
        )
        verdict.words = [f"{task.function} {words}" if verdict.state == "raises" else words]
        more = f"; {error.details}" if getattr(error, "details", "") else ""
        verdict.details = [f"{error.name}: {error.message} (line {error.line}){more}"]
    verdict.seconds = round(time.monotonic() - start, 2)
    return verdict


def _text(task, verdict, case):
    """Return the verdict on a written task: left to a person, or missing."""
    text = submissions.derivation(case.submission.source, case.assignment)
    verdict.state = "by hand" if text else "missing"
    verdict.words = [] if verdict.state == "by hand" else ["DERIVATION is empty"]
    verdict.details = [text[:20000]] if verdict.state == "by hand" else []
    return verdict


def _claims(submission, assignment, variant):
    """Return flags for constants such as STUDENT and VARIANT that differ from the expected ones."""
    said = submissions.literals(submission.source)
    expected = {"STUDENT": submission.student, "VARIANT": variant, "ASSIGNMENT": assignment.name}
    return [
        f"{name} in the file is {str(said[name])[:60]!r}, judged as {value!r}"
        for name, value in expected.items()
        if name in said and said[name] not in ("", value)
    ]


def _copies(tasks, submission):
    """Return flags for proofs that repeat the text of a function that they must not use."""
    return [
        f"{task.function} repeats the text of {name} under another name"
        for task in tasks
        if task.kind == "proof"
        for name in independence.copies(submission.source, task.independent_of, task.function)
    ]


def _numerical(case, verdicts):
    """Return flags for gradients that may have been computed numerically, judging by their text,
    calls and running time.
    """
    flags = [
        f"line {line}: {words}"
        for line, words in (
            *submissions.suspicions(case.submission.source),
            *underived.flags(case.submission.source, case.assignment),
        )
    ]
    for verdict in verdicts:
        task = case.assignment.task(verdict.task)
        if task.kind != "vjp" or verdict.state not in ("right", "partial"):
            continue
        inputs = case.inputs(task, "large", 0)
        out = case.expected(replace(task, function=task.forward), inputs)
        if isinstance(out, tuple):
            continue
        dout = case.rng(task, "cost").standard_normal(np.shape(out))
        dout = dout if dout.ndim else dout[()]
        try:
            _, cache, forward_seconds = case.session.forward(task.forward, inputs.values())
            gradients, seconds = case.session.pull(
                task.function, task.forward, inputs.values(), dout, cache
            )
            judge_at_large(task, verdict, case, inputs, dout, gradients)
            counts, signs = case.session.calls(task.function, task.forward, inputs.values(), dout)
        except SubmissionError as error:
            flags.append(
                f"{task.function} at large inputs {described(error, False, case.submission.file)}"
            )
            continue
        flags += [
            f"{task.function} calls {name} {count} times at large inputs"
            for name, count in counts.items()
            if count >= MOST_CALLS and name != task.function
        ]
        flags += [
            f"line {line}: {task.function} {words} while it runs"
            for line, words in signs
            if not any(flag.startswith(f"line {line}:") for flag in flags)
        ]
        if seconds > SLOW * max(forward_seconds, 1e-3):
            flags.append(
                f"{task.function} takes {seconds / max(forward_seconds, 1e-3):.0f} times as long "
                f"as {task.forward} at large inputs"
            )
    return flags


def _not_graded(result, reason, start):
    result.status = "not graded"
    result.reason = reason
    result.verdicts = []
    result.seconds = round(time.monotonic() - start, 2)
    return result
