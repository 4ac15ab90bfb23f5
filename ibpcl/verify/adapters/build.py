"""Construction of a :class:`Pair` from a way to run the user's code, which all adapters share.

An adapter describes the code as a :class:`Routine`.  :func:`build` calls it once, finds out which
gradient belongs to which input and what it differentiates, and returns the pair.  No number is
compared with the truth here.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.adapters import leaves, meaning, reading
from ibpcl.verify.adapters.pair import Adapted, Pair
from ibpcl.verify.adapters.refusals import FormError, raised

LOSS_WORDS = frozenset(
    {"loss", "losses", "cost", "costs", "error", "errors", "objective", "entropy"}
    | {"nll", "mse", "mae", "bce", "crossentropy"}
)


class Routine(NamedTuple):
    """A way to run the user's code.

    Attributes
    ----------
    forward, backward : callable
        The user's functions.  One function with two tasks, such as a loss with its gradient, stands
        in both places.
    title : str
        Name of the gradient function, for messages.
    evaluate : callable
        ``evaluate(forward, values, held)`` returns the output and the cache.  ``values`` belong to
        ``inputs``; ``held`` is a dict with the values of some ``parameters``.
    pull : callable
        ``pull(backward, dout, cache)`` returns the gradients in any form.
    assign : callable
        ``assign(result)`` returns the :class:`~ibpcl.verify.adapters.reading.Assignment` of a
        result of ``pull``.
    inputs : list of Leaf
        The arguments.
    usage : str
        The expected form, for messages.
    takes_cotangent : bool
        Whether the gradient function takes ``dout``.
    parameters : sequence of Leaf
        Further arrays that may have a gradient, such as the weights of a layer.
    returned_names : str, list or None
        Names in the ``return`` of the gradient function.
    is_loss : bool
        Whether a name says that the forward is a loss, whose entries are often averaged.
    name : str
        Name of the forward.
    owner : type or None
        The class if the functions are methods.
    assumed, declare : str
        What this reading of the code assumes, and what the user writes so that only it remains.
    unjudged : callable or None
        ``unjudged(found)`` returns further sentences about gradients that are not judged.
    omits : bool
        Whether the gradient function may leave out the gradients of data, although it takes
        ``dout``.
    expected : set of str or None
        Names of the leaves that surely have a gradient, for a gradient function that raises.  By
        default, all but labels, noise and settings.
    is_averaged : bool
        Whether the code says that the mean of the outputs is differentiated.
    notes : callable or None
        ``notes(found, mode)`` returns the notes of the report in place of the usual ones.
    """

    forward: Callable
    backward: Callable
    title: str
    evaluate: Callable
    pull: Callable
    assign: Callable
    inputs: list
    usage: str
    takes_cotangent: bool = True
    parameters: tuple = ()
    returned_names: object = None
    is_loss: bool = False
    name: str = "f"
    owner: type | None = None
    assumed: str = ""
    declare: str = ""
    unjudged: Callable | None = None
    notes: Callable | None = None
    expected: set | None = None
    omits: bool = False
    is_averaged: bool = False

    @property
    def owners(self):
        """The leaves that may have a gradient."""
        return [*self.moved, *self.parameters]

    @property
    def moved(self):
        """The floating-point inputs."""
        return [leaf for leaf in self.inputs if reading.is_moved(leaf)]

    def all_unjudged(self, found):
        """Return sentences about gradients that cannot be judged.

        Parameters
        ----------
        found : Assignment
            Which result is the gradient of which input.

        Returns
        -------
        list of str
            One sentence each.
        """
        takes_all = self.takes_cotangent and not self.omits
        sentences = reading.unjudged(found, self.moved, takes_all)
        return [*sentences, *(self.unjudged(found) if self.unjudged else ())]

    def usual_notes(self, found, mode):
        """Return what the report notes about a reading.

        Parameters
        ----------
        found : Assignment
            Which result is the gradient of which input.
        mode : str
            Key of :data:`ibpcl.verify.adapters.meaning.MODES`.

        Returns
        -------
        list of str
            What the result is taken as, and inputs that are treated as data.
        """
        notes = [meaning.MODES[mode].format(name=self.title)] if meaning.MODES[mode] else []
        fixed = [leaf.name for leaf in self.moved if leaf.name not in found.paths]
        if fixed and not self.all_unjudged(found):
            notes.append(
                f"no gradient is returned for {', '.join(fixed)}, which is treated as data"
            )
        return notes


def build(routine):
    """Return the pair of a routine.

    Parameters
    ----------
    routine : Routine
        The user's code.

    Returns
    -------
    Pair
        The forward and its gradient.  If the gradients may be those of several functions of the
        output, or in two orders, the pair has alternatives or excuses.

    Raises
    ------
    FormError
        If the forward raises or returns no floating-point array, or if the gradient function is not
        implemented or returns no gradient of an input.
    """
    values = [leaves.duplicate(leaf.value) for leaf in routine.inputs]
    out, cache = evaluated(
        lambda: routine.evaluate(routine.forward, values, {}), routine.name, routine.usage
    )
    require_output(out, routine.name, routine.title, routine.usage)
    try:
        returned = routine.pull(routine.backward, cotangent(out, 0), cache)
    except NotImplementedError as error:
        raise FormError(raised(error, routine.title), in_gradient=True) from error
    except (Exception, SystemExit) as error:  # the mistake is found when the pair is judged
        return replace(_pair(routine, "vjp", None), raised=error)
    if returned is None:
        raise FormError(unfinished(routine.title), in_gradient=True)
    found = routine.assign(returned)
    if not found.paths:
        _refuse_objects(routine, returned)
        inputs = ", ".join(leaf.name for leaf in routine.inputs)
        raise FormError(
            f"{routine.title} returns no gradient of {inputs}",
            routine.usage,
            in_gradient=True,
        )
    if found.positions is not None:
        return _in_two_orders(routine, found)
    by_name = {leaf.name: leaf for leaf in routine.owners}
    unknown = [name for name in found.paths if name not in by_name]
    if unknown:
        raise FormError(
            f"{routine.title} stores gradients of plain numbers: {', '.join(unknown)}; "
            "make them arrays, as in np.array(0.5)",
            routine.usage,
            in_gradient=True,
        )
    matched = [(by_name[name], reading.at(returned, path)) for name, path in found.paths.items()]
    if (
        isinstance(returned, dict)
        and len(returned) > len(found.paths)
        and not routine.takes_cotangent
        and all(np.array_equal(leaf.value, gradient) for leaf, gradient in matched)
    ):
        raise FormError(
            f"{routine.title} returns its own inputs ({', '.join(found.paths)}) beside other "
            "values, as a cache does, and no gradient function was found for it",
            routine.usage,
            in_gradient=True,
        )
    main = out[0] if isinstance(out, tuple) else out
    modes = meaning.modes_of(main, matched, routine.takes_cotangent, routine.is_loss)
    if routine.is_averaged:
        modes = sorted(modes, key="mean".__ne__)
    return _of_modes(routine, modes, found)


def evaluated(call, title, usage):
    """Call a user's forward.

    Parameters
    ----------
    call : callable
        A function without arguments.
    title : str
        Name of the forward, for the message.
    usage : str
        The expected form, for the message.

    Returns
    -------
    object
        The result of the call.

    Raises
    ------
    FormError
        If the forward raises.
    """
    try:
        return call()
    except (Exception, SystemExit) as error:  # code under check may raise anything
        raise FormError(raised(error, title), usage) from error


def unfinished(title):
    """Return the message for a function that returns nothing.

    Parameters
    ----------
    title : str
        Name of the function.

    Returns
    -------
    str
        One line.
    """
    return f"{title} returns None: it is not implemented yet, or its return statement is missing"


def require_output(out, name, title, usage):
    """Raise an error for a forward without a floating-point output.

    Parameters
    ----------
    out : object
        What the forward returned as its output.
    name, title : str
        Names of the forward and of the gradient function, for the message.
    usage : str
        The expected form, for the message.

    Raises
    ------
    FormError
        If no part of the output is a floating-point array or number.
    """
    parts = out if isinstance(out, (tuple, list)) else (out,)
    if any(map(leaves.is_array, parts)):
        return
    if out is None:
        raise FormError(unfinished(name), in_gradient=True)
    if isinstance(out, (np.ndarray, np.generic, int)):
        raise FormError(
            f"{name} returns only {np.asarray(out).dtype}, which has no derivative; return floats"
        )
    raise FormError(
        f"{name} returns no output, only a {type(out).__name__}; write a function of the "
        f"same inputs that returns the output that {title} differentiates; {usage}"
    )


def cotangent(out, seed):
    """Return a standard normal cotangent for an output.

    Parameters
    ----------
    out : ndarray, float or tuple
        The output, or several in a tuple.
    seed : int
        Seed for the cotangent.

    Returns
    -------
    ndarray, float or tuple
        One array or number for each output.
    """
    rng = np.random.default_rng(seed)
    outs = out if isinstance(out, tuple) else (out,)
    parts = [rng.standard_normal(np.shape(part)) for part in outs]
    parts = [part if part.ndim else float(part) for part in parts]
    return tuple(parts) if isinstance(out, tuple) else parts[0]


def joined(made):
    """Return the first of several pairs, which has the others as alternatives.

    Parameters
    ----------
    made : list of Pair
        One pair for each reading.

    Returns
    -------
    Pair
        The likeliest reading.
    """
    first, *others = made
    return replace(first, alternatives=(*first.alternatives, *others))


def _refuse_objects(routine, returned):
    """Raise an error for a gradient that is an array of something else than numbers."""
    for value in returned if isinstance(returned, tuple) else (returned,):
        if isinstance(value, np.ndarray) and value.dtype.kind in "OUSV":
            other = next((one for one in value.flat if isinstance(one, str)), value.flat[0])
            raise FormError(
                f"{routine.title} must return numbers, but its gradient of "
                f"{', '.join(leaf.name for leaf in routine.owners)} is an array of {value.dtype} "
                f"with {other!r} in it",
                in_gradient=True,
            )


def _of_modes(routine, modes, found):
    """Return the pair of gradients that may be those of several functions of the output.

    A second meaning is an alternative to the sum, and otherwise an excuse.
    """
    if len(modes) == 1:
        return _pair(routine, modes[0], found)
    first, second = (
        replace(
            _pair(routine, mode, found),
            assumed=f"it is the gradient of {meaning.MEANT[mode]}",
            declare=f"let {routine.name} return what is differentiated",
        )
        for mode in modes
    )
    if modes[0] == "sum":
        return replace(first, alternatives=(second,))
    return replace(first, excuses=(second,))


def _in_two_orders(routine, found):
    """Return the pair of gradients whose names contradict their order: right only if both are."""
    made = []
    for paths in (found.positions, found.paths):
        order = sorted(paths, key=paths.get)
        text = ", ".join(order)
        mode = "vjp" if routine.takes_cotangent else "loss"
        pair = _pair(routine, mode, reading.Assignment(paths, []))
        made.append(
            replace(
                pair,
                assumed=f"the gradients stand in the order {text}",
                declare=f"say so with wrt (--wrt {text})",
            )
        )
    return joined(made)


def _pair(routine, mode, found):
    """Return the pair of one meaning; without ``found`` if the gradient function has raised."""
    if found is None:
        judged = [leaf for leaf in routine.owners if not reading.is_fixed(leaf)] or routine.owners
        names = routine.expected or {leaf.name for leaf in judged}
    else:
        names = set(found.paths)
    held = [leaf for leaf in routine.parameters if leaf.name in names]
    every = [*routine.inputs, *held]
    wrt = tuple(leaf.name for leaf in every if leaf.name in names)
    shapes = {leaf.name: np.shape(leaf.value) for leaf in every}
    n_inputs = len(routine.inputs)

    def forward(source, *values):
        by_name = {leaf.name: value for leaf, value in zip(held, values[n_inputs:], strict=True)}
        out, cache = routine.evaluate(source, values[:n_inputs], by_name)
        return meaning.reduced(mode, out), cache

    def backward(source, dout, cache):
        result = routine.pull(source, dout, cache)
        paths = (found or routine.assign(result)).paths
        gradients = [reading.at(result, paths[name]) if name in paths else None for name in wrt]
        return tuple(
            None if gradient is None else meaning.pulled(mode, dout, gradient, shapes[name])
            for name, gradient in zip(wrt, gradients, strict=True)
        )

    return Pair(
        Adapted(routine.forward, forward, routine.owner),
        Adapted(routine.backward, backward, routine.owner),
        tuple(leaf.name for leaf in every),
        (routine.forward, routine.backward),
        tuple(leaf.value for leaf in every),
        wrt,
        tuple((routine.notes or routine.usual_notes)(found, mode)) if found is not None else (),
        tuple(routine.all_unjudged(found)) if found is not None else (),
        routine.assumed,
        routine.declare,
        mode,
    )
