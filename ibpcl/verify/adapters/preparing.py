"""Objects in the state before a forward call: with parameters, without traces of earlier calls."""

import numpy as np

from ibpcl.verify.adapters import draws, leaves
from ibpcl.verify.adapters import vocabulary as words
from ibpcl.verify.adapters.construction import PlainStep, set_up_methods
from ibpcl.verify.adapters.signatures import parameters_of


def kept_output(holder):
    """Return the output that a forward without a result has stored in an attribute.

    Parameters
    ----------
    holder : object
        The object after the forward.

    Returns
    -------
    ndarray, float or None
        None if there is no such attribute.
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
    """Return the optimizers in the attributes of a layer that the checker has put there.

    Parameters
    ----------
    holder : object
        The layer.

    Returns
    -------
    list of PlainStep
        The optimizers.
    """
    return [item for _, item in leaves.children(holder) if isinstance(item, PlainStep)]


def initialized(before, after):
    """Return a copy of an object whose initialization method has created its parameters.

    Parameters
    ----------
    before : object
        The object before its first forward.
    after : object
        A copy after a forward.  Sizes that are missing in ``before`` are taken from it.

    Returns
    -------
    object or None
        None if the object has no such method, or the method raises.
    """
    made = leaves.duplicate(before)
    for step, value in leaves.children(before):
        if value is None and isinstance(getattr(after, step, None), (int, str, tuple)):
            setattr(made, step, getattr(after, step))
    for name in set_up_methods(type(before)):
        method = getattr(made, name)
        if not parameters_of(method).required:
            try:
                draws.repeated(method)
            except Exception:  # the caller tries another way
                return None
            return made
    return None


def prepared(before, after):
    """Return a copy of an object with everything that its first forward has created permanently.

    These are values that were None, flags, and missing items in collections of parameters.  Lists
    and counters, in which a forward stores values for its backward, are left out.

    Parameters
    ----------
    before : object
        The object before its first forward.
    after : object
        A copy after a forward.

    Returns
    -------
    object
        The prepared copy.
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
                keep = is_holder or (isinstance(step, str) and words.is_learned(step))
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
