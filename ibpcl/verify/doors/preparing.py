"""Objects as they are before a forward: with their parameters made, and without traces of an
earlier call.
"""

import inspect

import numpy as np

from ibpcl.verify.doors import draws, leaves
from ibpcl.verify.doors import vocabulary as words
from ibpcl.verify.doors.construction import SET_UP, PlainStep
from ibpcl.verify.doors.signatures import parameters_of


def kept_output(holder):
    """Return the output that a forward without a result has left in an attribute, None if there is
    none.
    """
    return next(
        (
            value
            for step, value in leaves.children(holder)
            if words.plain(step) in words.KEPT_OUTPUTS and leaves.is_array(value)
        ),
        None,
    )


def plain_steps(holder):
    """Return every :class:`~ibpcl.verify.doors.construction.PlainStep` that a layer was given as
    its optimizer.
    """
    return [item for _, item in leaves.children(holder) if isinstance(item, PlainStep)]


def initialized(before, after):
    """Return an object whose own method for that has made its parameters, None if it has no such
    method.

    Sizes that the first forward learned from its input are taken from ``after``.
    """
    made = leaves.duplicate(before)
    for step, value in leaves.children(before):
        if value is None and isinstance(getattr(after, step, None), (int, str, tuple)):
            setattr(made, step, getattr(after, step))
    for name in SET_UP:
        method = getattr(made, name, None)
        if inspect.ismethod(method) and not parameters_of(method).required:
            try:
                draws.repeated(method)
            except Exception:  # the other way is tried
                return None
            return made
    return None


def prepared(before, after):
    """Return an object as it is before a forward, with everything that its first forward has made
    for good.

    These are values that were None, flags, and items that were missing in the holders of
    parameters.  What a forward keeps for its backward, in lists and counters, is left out.
    """
    made = leaves.duplicate(before)
    source = leaves.duplicate(after)
    waiting = [(made, source, False)]
    while waiting:
        old, new, is_holder = waiting.pop()
        known = dict(leaves.children(old))
        for step, value in leaves.children(new):
            earlier = known.get(step)
            named = isinstance(step, str) and words.plain(step) in (
                words.PARAMETER_HOLDERS | words.GRADIENT_HOLDERS
            )
            if step not in known:
                if isinstance(value, (list, int)) and not is_holder and isinstance(old, dict):
                    leaves.put(old, (step,), type(value)())
                keep = is_holder or (
                    isinstance(step, str) and any(words.same(step, name) for name in ("W", "b"))
                )
            else:
                keep = (
                    earlier is None
                    or isinstance(value, bool)
                    or (isinstance(value, dict) and named)
                )
            if keep and not (isinstance(earlier, list) or isinstance(value, list)):
                leaves.put(old, (step,), value)
            elif (
                earlier is not None
                and not isinstance(value, (np.ndarray, list, tuple))
                and type(value) is type(earlier)
                and leaves.children(value)
            ):
                waiting.append((earlier, value, named))
    return made
