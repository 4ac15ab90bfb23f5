"""Functions that return their output with a function for the gradient: ``out, pull = f(x, w)``.

``pull(dout)`` returns the gradients of ``sum(dout * out)``.  It is a closure: it keeps everything
that it needs, without a cache.
"""

import ast
import inspect

import numpy as np

from ibpcl.verify.doors import leaves, reading
from ibpcl.verify.doors.arguments import Arguments, is_moved
from ibpcl.verify.doors.pair import Adapted, Pair
from ibpcl.verify.doors.pairs import fits
from ibpcl.verify.doors.refusals import FormError, raised
from ibpcl.verify.doors.signatures import returned_names, tree_of
from ibpcl.verify.doors.ways import cotangent


def returns_closure(function):
    """Return whether a function returns a value followed by a function that it defines.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    bool
        False if the source is not available.
    """
    tree = tree_of(function) if inspect.isroutine(function) else None
    names = None if tree is None else returned_names(tree)
    if not isinstance(names, list) or len(names) != 2:
        return False
    inner = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node is not tree
    ]
    inner += [
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    return names[1] in inner


def pair_of_closure(function, given, keywords=()):
    """Return the pair of a function that returns its output and a function for the gradient.

    Parameters
    ----------
    function : callable
        The function.
    given : dict of str to object
        Its arguments by name.
    keywords : tuple of str
        Names of keyword-only arguments.

    Returns
    -------
    Pair
        The forward and its gradient.

    Raises
    ------
    FormError
        If a function raises, or returns no gradient of an input.
    """
    arguments = Arguments(given, tuple(keywords))
    title = getattr(function, "__name__", "f")
    usage = (
        f"expected: out, pull = {title}({', '.join(given)}) and gradients from pull(dout), called "
        f"as ibpcl.check({title}, ({', '.join(given)},))"
    )
    moved = [leaf for leaf in arguments.spread if is_moved(leaf)]
    plain = [leaf.value for leaf in arguments.spread]

    def run(called, values):
        return arguments.passed_to(called, arguments.rebuilt(values))

    in_gradient = False
    try:
        out, pull = run(function, [leaves.duplicate(value) for value in plain])
        in_gradient = True
        result = pull(cotangent(out, 0))
    except (Exception, SystemExit) as error:
        raise FormError(f"check: {raised(error, title)}; {usage}", in_gradient) from error
    entries = reading.entries_of(result, returned_names(pull))
    readings = reading.alternatives(entries, moved) or [
        reading.assigned(entries, moved, ordered=True)
    ]
    if not readings[0]:
        raise FormError(f"check: {title} returns no gradient of {', '.join(given)}; {usage}", True)

    def pair_of(paths):
        def forward(called, *values):
            out, _ = run(called, values)
            return out, values

        def backward(called, dout, values):
            _, pull = run(called, [leaves.duplicate(value) for value in values])
            result = pull(dout)
            gradients = (reading.at(result, path) for path in paths.values())
            return tuple(None if item is None else np.asarray(item) for item in gradients)

        left = [leaf.name for leaf in moved if leaf.name not in paths]
        return Pair(
            Adapted(function, forward),
            Adapted(function, backward),
            tuple(leaf.name for leaf in arguments.spread),
            (function, function),
            None,
            tuple(plain),
            tuple(paths),
            (f"no gradient is returned for {', '.join(left)}, which is treated as data",)
            if left
            else (),
        )

    pairs = [pair_of(paths) for paths in readings]
    return next((pair for pair in pairs if len(pairs) > 1 and fits(pair)), pairs[0])
