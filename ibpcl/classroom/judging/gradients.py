"""The judge for gradient functions, which are checked with :func:`ibpcl.verify.check` over a pipe.

The reference's forward is differentiated: it runs in this process, and is fast and trusted.  Only
the gradient under test, and the forward that makes its cache, run in the sandbox.
"""

import re

import numpy as np

from ibpcl.classroom.judging.comparing import HINTS, as_tuple, compare, is_real
from ibpcl.classroom.judging.marking import settle
from ibpcl.classroom.judging.naming.naming_gradients import trivial_truths, weigh
from ibpcl.classroom.judging.partial_credit import PartialCredit
from ibpcl.classroom.judging.running.client import Ended, SubmissionError
from ibpcl.classroom.judging.verdict import Part, in_words
from ibpcl.verify import check_pair
from ibpcl.verify.agreement import KEEPDIMS

SIZES = ("small", "odd", "small")
UNFIT = {"changes_cotangent": "overwrites its argument dout: write into a copy"}


class Inputs:
    """A substitute for a cache in the judge's process: the inputs of the hand-in's forward.

    Parameters
    ----------
    values : iterable of ndarray or number
        The inputs; arrays are copied.

    Attributes
    ----------
    values : list
        The inputs.
    cache : tuple or None
        The hand-in's cache for these inputs; None if its forward must still be called.
    """

    def __init__(self, values):
        self.values = [np.array(v) if isinstance(v, np.ndarray) else v for v in values]
        self.cache = None


class Forward:
    """A forward for the checker, with the inputs in place of a cache.

    Parameters
    ----------
    call : callable
        ``out, cache = call(*inputs)``; the cache is None if the hand-in's forward must still be
        called.
    function : callable, optional
        Function whose source shows which path a gradient leaves out.

    Attributes
    ----------
    hides_source : bool
        True: the source is the reference's, so the verdict does not quote it.
    """

    hides_source = True

    def __init__(self, call, function=None):
        self.call = call
        self.__name__ = "forward"
        if function is not None:
            self.__wrapped__ = function

    def __call__(self, *inputs):
        """Return the output and the substitute for the cache.

        Parameters
        ----------
        *inputs
            Arguments of the forward.

        Returns
        -------
        out : ndarray or tuple of ndarray
        cache : Inputs
        """
        stand_in = Inputs(inputs)
        out, stand_in.cache = self.call(*inputs)
        return out, stand_in


class Gradient:
    """The gradient under test, for the checker; it always returns the expected number of gradients.

    Parameters
    ----------
    task : Task
        A task of kind ``vjp``.
    session : ibpcl.classroom.judging.running.session.Session
        Calls the hand-in.
    chosen : sequence of int
        Positions in ``task.wrt`` of the gradients to return.
    inputs : dict of str to ndarray or number
        Inputs of the forward by name.

    Attributes
    ----------
    returned : int or None
        Number of gradients in the last answer.
    missing : list of int
        Positions of gradients in the last answer that are not arrays of real numbers.
    """

    def __init__(self, task, session, chosen, inputs):
        self.task = task
        self.session = session
        self.chosen = chosen
        self.returned = None
        self.missing = []
        self.places = [list(inputs).index(name) for name in task.wrt]
        self.__name__ = task.function

    def __call__(self, dout, stand_in):
        """Return the gradients of the chosen inputs.

        Parameters
        ----------
        dout : ndarray or tuple of ndarray
            Gradient at the output.
        stand_in : Inputs
            Substitute for the cache.

        Returns
        -------
        tuple of ndarray
            Zeros in place of missing gradients.
        """
        plain = tuple(map(_plain, dout)) if isinstance(dout, tuple) else _plain(dout)
        out, _ = self.session.pull(
            self.task.function, self.task.forward, stand_in.values, plain, stand_in.cache
        )
        gradients = list(as_tuple(out))
        self.returned = len(gradients)
        gradients += [None] * (len(self.task.wrt) - len(gradients))
        self.missing = [n for n, g in enumerate(gradients) if not is_real(g)]
        # A gradient that is not an array of real numbers becomes zero here, and is reported as
        # missing afterwards.
        return tuple(
            np.zeros(np.shape(stand_in.values[self.places[n]]))
            if n in self.missing
            else gradients[n]
            for n in self.chosen
        )


def judge_gradient(task, verdict, case):
    """Judge a gradient by the derivative of the reference's forward.

    Parameters
    ----------
    task : Task
        A task of kind ``vjp``.
    verdict : Verdict
        Receives the parts and points.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    known = case.wrong.get(task.forward)
    if known and known.explanation and known.explanation.kind == "noisy_forward":
        verdict.state = "not judged"
        verdict.words = [f"not judged because {task.forward} draws random numbers"]
        return
    reference = getattr(case.reference, task.forward)
    forward = Forward(lambda *values: (reference(*values)[0], None), reference)
    parts = wrong_parts_of(forward, task, verdict, case)
    if parts is None:
        return
    if parts:
        _follow(task, parts, case)
    if any(not part.follows for part in parts.values()):
        weigh(task, parts, case)
    if parts:
        case.wrong[task.function] = PartialCredit(
            task.id, None, all(part.share for part in parts.values())
        )
    _refuse_what_shapes_say(task, parts, case)
    conclude(task, parts, verdict, case)


def wrong_parts_of(forward, task, verdict, case):
    """Compare a gradient with the derivative of a forward at several points, input by input.

    The first point at which the gradient of an input is wrong decides its mistake.

    Parameters
    ----------
    forward : Forward
        The forward.
    task : Task
        A task of kind ``vjp``.
    verdict : Verdict
        Receives figures and sentences.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.

    Returns
    -------
    dict of str to ibpcl.classroom.judging.verdict.Part, or None
        Input to part, for the wrong gradients; None if the check cannot decide.
    """
    hidden = task.visibility == "hidden"
    parts = {}
    for at, size in enumerate(SIZES):
        inputs = case.inputs(task, size, at)
        left = [n for n, name in enumerate(task.wrt) if name not in parts]
        if not left:
            break
        gradient = Gradient(task, case.session, left, inputs)
        dout, first, idle = _pulled(gradient, forward, inputs, case.rng(task, "idle", at))
        if at and not gradient.missing and _is_right(first, left, task, case, inputs, dout):
            continue  # the first point has shown that nothing but the values can be wrong
        report = _checked(forward, gradient, inputs, task, left, case.seed(task, at))
        for n, what, item in zip(left, idle, report.inputs, strict=True):
            if n in gradient.missing:
                parts[item.name] = Part(
                    item.name, "missing", f"the gradient of {item.name} is not a real array"
                )
            elif not item.ok:
                parts[item.name] = _part(item, what, size, case.marking)
        _problems(report, task, parts, left)
        if at == 0 and case.figures and not hidden:
            verdict.figures += figures(report)
        if gradient.returned is not None and gradient.returned != len(task.wrt) and at == 0:
            count = "more" if hidden and gradient.returned > len(task.wrt) else gradient.returned
            verdict.words.append(
                f"{task.function} returns {count} gradients; it must return those of "
                f"{', '.join(task.wrt)}, in this order"
            )
        if any(getattr(each, "undecided", False) for each in (report, *report.inputs)):
            verdict.state = "by hand"
            verdict.words = ["the check cannot decide this task; your teacher will"]
            return None
    return parts


def conclude(task, parts, verdict, case):
    """Set points and sentences of a gradient, whose inputs without a part are right.

    Parameters
    ----------
    task : Task
        A task of kind ``vjp``.
    parts : dict of str to ibpcl.classroom.judging.verdict.Part
        Input to part, for the wrong gradients; completed in place.
    verdict : Verdict
        Receives the parts and points.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    hidden = task.visibility == "hidden"
    if task.function in case.session.overwritten:
        for name in set(task.wrt) - set(parts):
            parts[name] = Part(name, "changes_cotangent", UNFIT["changes_cotangent"])
            case.marking.earn(parts[name], "overwrites_its_argument")
    reshaped = case.session.accepted.reshaped
    for name in set(task.wrt) - set(parts):
        shape = reshaped.get((task.function, name))
        if shape and case.assignment.exact_shapes:
            parts[name] = Part(name, "wrong_shape", f"right numbers, but {shape}", KEEPDIMS)
            continue
        parts[name] = Part(name, "ok", f"right, although {shape}" if shape else "right")
        case.marking.earn(parts[name], "right")
    verdict.parts = [parts[name] for name in task.wrt]
    settle(verdict)
    for part in verdict.parts:
        if part.kind != "ok":
            verdict.details.append(f"{part.name}: {part.kind}: {part.words}")
        if part.fits_own:
            part.hint = ""
            continue
        description = in_words(part.kind) if hidden else part.words
        verdict.words.append(f"{part.name}: {description}")
    following = ", ".join(part.name for part in verdict.parts if part.fits_own)
    if following:
        verdict.words.append(
            f"{following}: right for your own {task.forward}; correct {task.forward} first"
        )


def _checked(forward, gradient, inputs, task, left, seed):
    with np.errstate(all="ignore"):
        return check_pair(
            forward,
            gradient,
            tuple(inputs.values()),
            [task.wrt[n] for n in left],
            names=list(inputs),
            rtol=task.rtol,
            seed=seed,
        )


def _part(item, idle, size, marking):
    """Return the part of an input with a wrong gradient; :func:`weigh` sets the final share."""
    kind = "zero" if idle == "zero" and item.kind == "missing_term" else item.kind
    hint = HINTS["zero"] if kind == "zero" else item.hint or HINTS.get(kind, "")
    words = item.words + (f" (at {size} shapes)" if size != "small" else "")
    part = Part(item.name, kind, words, hint)
    if not idle:
        marking.earn(part, "unnamed_mistake_in_a_gradient", min(1.0, 2 * item.score))
    return part


def _problems(report, task, parts, left):
    """Turn problems of the pair as a whole into parts without points."""
    for problem in report.problems:
        if problem.kind in UNFIT:
            # impossible over a pipe; the worker reports it
            continue
        for n in left:
            name = task.wrt[n]
            parts[name] = Part(name, problem.kind, problem.words, problem.hint)


def _is_right(gradients, left, task, case, inputs, dout):
    """Return whether the gradients left to judge are those of the reference at one point."""
    right = getattr(case.reference, task.function, None)
    if right is None:
        return False
    with np.errstate(all="ignore"):
        _, cache = getattr(case.reference, task.forward)(*inputs.values())
        truths = as_tuple(right(dout, cache))
    return all(
        compare(gradient, truths[n], task.rtol)[0] == "ok"
        for n, gradient in zip(left, gradients, strict=True)
    )


def _pulled(gradient, forward, inputs, rng):
    """Return a cotangent, the gradients for it, and for each of these what it depends on.

    That is "zero" if it is zero, "cotangent" if it depends on the cotangent alone, or "".
    """
    out, stand_in = forward(*inputs.values())
    dout = (
        tuple(rng.standard_normal(np.shape(part)) for part in out)
        if isinstance(out, tuple)
        else rng.standard_normal(np.shape(out))
    )
    first = gradient(dout, stand_in)
    # Slightly smaller inputs: positive numbers stay positive, and probabilities and one-hot rows
    # stay nearly normalized.
    moved = [
        v * (1 - 1e-3)
        if isinstance(v, (np.ndarray, float)) and np.asarray(v).dtype.kind == "f"
        else v
        for v in inputs.values()
    ]
    try:
        second = gradient(dout, Inputs(moved))
    except Ended:
        raise
    except SubmissionError:
        second = [None] * len(first)
    idle = [
        "zero" if not np.any(a) else "cotangent" if np.array_equal(a, b) else ""
        for a, b in zip(first, second, strict=True)
    ]
    return dout, first, idle


def _follow(task, parts, case):
    """Find gradients that fit the student's own forward.

    They earn credit if that forward is recognizably the required one.
    """
    if task.forward not in case.wrong:
        return
    names = [name for name in task.wrt if name in parts]
    left = [n for n, name in enumerate(task.wrt) if name in names]
    if not left:
        return
    inputs = case.inputs(task, SIZES[0], 0)
    try:
        own = Forward(lambda *values: case.session.forward(task.forward, values)[:2])
        gradient = Gradient(task, case.session, left, inputs)
        report = _checked(own, gradient, inputs, task, left, case.seed(task, 0))
    except Ended:
        raise
    except (ValueError, TypeError, SubmissionError):  # the student's forward cannot be checked
        return
    fitting = [parts[item.name] for item in report.inputs if item.ok and not report.problems]
    if any(part.kind != "zero" for part in fitting) or len(names) < len(task.wrt):
        for part in fitting:
            part.fits_own = True
            part.follows = case.wrong[task.forward].recognized
            if part.follows:
                case.marking.raise_to(part, "fits_own_forward")


def _refuse_what_shapes_say(task, parts, case):
    """Withhold the points of right gradients that names and shapes alone suggest, unless another
    part shows knowledge.
    """
    known = task.forward not in case.wrong or case.wrong[task.forward].recognized
    if known or any(part.share for part in parts.values()):
        return
    right = [name for name in task.wrt if name not in parts]
    trivial = trivial_truths(task, case, right)
    if len(trivial) < len(right):
        return
    for name in right:
        words = (
            f"right, but the shapes alone suggest it: it counts once {task.forward} is "
            "recognizably the required function"
        )
        parts[name] = Part(name, "not_counted", words, evidence="no_substance")


def figures(report):
    """Return the figures of a check.

    Parameters
    ----------
    report : ibpcl.verify.Report
        Report of a check.

    Returns
    -------
    list of str
        For each input that is not right a heading ``<h3>`` and its figures in SVG; for all inputs
        if all are right.
    """
    parts = r'<h3>.*?</h3>|<p class="no-curve">.*?</p>|<svg.*?</svg>'
    return re.findall(parts, report.figures, flags=re.DOTALL)


def _plain(dout):
    array = np.array(dout, dtype=float, subok=False)
    return array if array.ndim else array[()]
