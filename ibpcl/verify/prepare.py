"""First step of a check: call a pair as programs do, before any derivative is measured."""

from typing import NamedTuple

import numpy as np

from ibpcl.verify import requirements as form
from ibpcl.verify.agreement import Terms
from ibpcl.verify.derivative.contract import nonlinear_inputs
from ibpcl.verify.derivative.problem import Problem, is_float
from ibpcl.verify.derivative.second_point import neighbour
from ibpcl.verify.limits import without_limits
from ibpcl.verify.reports.kinds import UNFIT
from ibpcl.verify.reports.words import Note
from ibpcl.verify.restoring import State
from ibpcl.verify.side_effects import inspect_uses

# Separates the cotangents from inputs that the user has drawn with the same seed.
STREAM = 20_211


class Prepared(NamedTuple):
    """A pair with its inputs, after it has been called in several ways.

    Attributes
    ----------
    problem : Problem
        The pair and the point, called in a way in which its numbers can be judged.
    terms : Terms
        The terms on which its gradients are compared.
    raised : BaseException or None
        What the gradient function raises.  Then nothing else is known.
    near : Problem or None
        The pair at a second point.
    mistakes : list of Finding
        Side effects that change numbers in normal use.
    habits : list of Finding
        Side effects and limits that do not.
    notes : list of Note
        Remarks on the inputs.
    limit : tuple of (Problem, Finding) or None
        The pair without limits of its gradient, such as clipping, and the finding on them.
    bent : dict of int to str, or None
        What shows that a gradient, without limits, is not linear in the cotangent, by position of
        the input; None if this was not tested.
    state : State or None
        What the functions keep between calls, as it was before the first.
    """

    problem: Problem
    terms: Terms
    raised: BaseException | None = None
    near: Problem | None = None
    mistakes: tuple = ()
    habits: tuple = ()
    notes: tuple = ()
    limit: tuple | None = None
    bent: dict | None = None
    state: State | None = None

    @property
    def is_unfit(self):
        """True if the forward cannot be checked."""
        return bool(self.mistakes) and self.mistakes[0].kind in UNFIT

    @property
    def free(self):
        """The pair without limits of its gradient."""
        return self.problem if self.limit is None else self.limit[0]


def prepare(problem, wrt=None, rtol=None, seed=0, mode="auto", candidates=None):
    """Call a pair in several ways.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    wrt : sequence of int or str, optional
        The inputs that the user has selected, for messages.
    rtol : float, optional
        Relative tolerance.
    seed : int
        Seed for the random cotangents and directions.
    mode : {"auto", "full", "directional"}
        Every entry, random directions, or a choice by size and cost.
    candidates : dict of str to ndarray, optional
        Further arrays that a missing term or factor might consist of.

    Returns
    -------
    Prepared
        The pair, how it is called, and its side effects.

    Raises
    ------
    TypeError, ValueError
        If the outputs or the gradients cannot be judged.
    """
    state = State(problem.f, problem.f_vjp)
    drawn = State(problem.f, problem.f_vjp, draws=True)
    form.refuse_outputs(problem.base[0])
    rng = np.random.default_rng([seed, STREAM])
    w = rng.standard_normal((3, problem.value.size))
    terms = Terms(w, rng, rtol, mode, candidates or {})
    raised = form.require_gradients(problem, w[0], wrt)
    if raised is not None:
        return Prepared(problem, terms, raised)
    near = neighbour(problem, rng)
    uses = inspect_uses(problem, w[0], near, state, drawn)
    problem = uses.problem
    near = near and near.called_as(problem)
    mistakes = tuple(uses.mistakes)
    habits = tuple(uses.habits)
    prepared = Prepared(problem, terms, None, near, mistakes, habits, state=state)
    if prepared.is_unfit:
        return prepared
    prepared = prepared._replace(notes=tuple(_converted(problem)))
    if mistakes:
        return prepared
    bent = nonlinear_inputs(problem, w[0])
    free, finding = without_limits(problem, w[0], bent)
    if finding is None:
        return prepared._replace(bent=bent)
    return prepared._replace(habits=(*habits, finding), limit=(free, finding), bent={})


def _converted(problem):
    """Yield a note for each input that was given in a smaller type than float64."""
    for name, value in zip(problem.names, problem.native, strict=True):
        if is_float(value) and np.asarray(value).dtype.itemsize < 8:
            yield Note(f"{name}: converted to float64 for the check")


def blind_spots(problem, near):
    """Return warnings about inputs that hide certain mistakes.

    Right gradients are compared once more at a point nearby. A pattern that the point nearby does
    not have hides nothing.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    near : Problem or None
        The pair at a second point.

    Returns
    -------
    list of Note
        The warnings.
    """
    notes = []
    for j in problem.wrt:
        x, other = (np.asarray(at.point[j]) for at in (problem, problem if near is None else near))
        name = problem.names[j]
        if (
            x.ndim == 2
            and x.shape[0] == x.shape[1] > 1
            and np.array_equal(x, x.T)
            and np.array_equal(other, other.T)
        ):
            notes.append(Note(f"{name} is symmetric: a missing transpose can't be seen there"))
        elif x.size and np.all(x == 1) and np.all(other == 1):
            words = "is 1 everywhere: a missing factor or power of it can't be seen there"
            notes.append(Note(f"{name} {words}"))
        single = [
            axis for axis, n in enumerate(x.shape) if n == 1 and _is_free(problem, j, x, axis)
        ]
        if single and x.size > 1:
            axes = ", ".join(map(str, single))
            words = f"has size 1 along axis {axes}: a missing sum or mean over it can't be seen"
            notes.append(Note(f"{name} {words}"))
    return notes


def _is_free(problem, j, x, axis):
    """Return whether an axis of size 1 may be longer, and the outputs are then longer as well.

    The size-1 axis of a bias that is added to every row of a batch is not free.
    """
    try:
        with np.errstate(all="ignore"):
            longer = problem.at(problem.with_input(j, np.repeat(x, 2, axis))).vector()
    except Exception:  # a function that needs its shapes may raise anything
        return False
    return longer.size != problem.value.size
